"""The promises: what is true of a release, written apart from how it is reached."""

from sequester.privacy.kc import EquivalenceClass, KCPrivacy
from sequester.privacy.kcp import KCPPrivacy
from sequester.privacy.l_diversity import LDiversity, LEligibility
from sequester.privacy.model import Channel, PrivacyModel, RecordModel, Verdict
from sequester.privacy.mutual_information import MutualInformationPrivacy
from sequester.privacy.pattern_hiding import PatternHiding
from sequester.privacy.sequence_k import SequenceKAnonymity

MODELS: dict[str, type[PrivacyModel]] = {
    "KCPPrivacy": KCPPrivacy,
    "KCPrivacy": KCPrivacy,
    "PatternHiding": PatternHiding,
    "LDiversity": LDiversity,
    "LEligibility": LEligibility,
    "MutualInformationPrivacy": MutualInformationPrivacy,
    "SequenceKAnonymity": SequenceKAnonymity,
}
"""Every model, by the name that certificates give it."""

__all__ = [
    "MODELS",
    "Channel",
    "EquivalenceClass",
    "KCPPrivacy",
    "KCPrivacy",
    "LDiversity",
    "LEligibility",
    "MutualInformationPrivacy",
    "PatternHiding",
    "PrivacyModel",
    "RecordModel",
    "SequenceKAnonymity",
    "Verdict",
]
