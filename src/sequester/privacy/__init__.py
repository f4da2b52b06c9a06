"""The promises: what is true of a release, written apart from how it is reached."""

from sequester.privacy.channel import Channel
from sequester.privacy.kcp import KCPPrivacy
from sequester.privacy.model import PrivacyModel, Verdict
from sequester.privacy.sequence_k import SequenceKAnonymity

MODELS: dict[str, type[PrivacyModel]] = {
    "KCPPrivacy": KCPPrivacy,
    "SequenceKAnonymity": SequenceKAnonymity,
}
"""Every model, by the name that certificates give it."""

__all__ = ["MODELS", "Channel", "KCPPrivacy", "PrivacyModel", "SequenceKAnonymity", "Verdict"]
