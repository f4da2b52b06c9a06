"""What of the promise a value would have broken, in a few words."""

from __future__ import annotations

CONSTRAINTS = (
    "support below k",
    "confidence above c",
    "stars in too little company",
    "k, c and p at finer levels",
    "protected value above c among all persons",
)
"""What a suppressed value broke, by its channel; what a finer column would; what a person would."""
SUPPORT, CONFIDENCE, STARS, FINER, BASE_RATE = CONSTRAINTS
