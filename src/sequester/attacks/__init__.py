"""Adversaries, simulated on data: re-identification, inference and what a promise leaves open."""

from sequester.attacks.attack import attack_tables as attack_tables
from sequester.attacks.context import hold_out as hold_out
from sequester.attacks.exposure import AttributeExposure as AttributeExposure
from sequester.attacks.exposure import Exposure as Exposure
from sequester.attacks.exposure import InferenceConfidence as InferenceConfidence
from sequester.attacks.exposure import Pattern as Pattern
from sequester.attacks.exposure import expose as expose
from sequester.attacks.exposure import expose_attributes as expose_attributes
from sequester.attacks.inference import Inference as Inference
from sequester.attacks.inference import Presence as Presence
from sequester.attacks.linkage import Linkage as Linkage
from sequester.attacks.risk import Proportion as Proportion
from sequester.attacks.risk import Risk as Risk
