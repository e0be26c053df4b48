"""Guarantees: privacy notions with their numbers, computed from integers and rounded against us."""

from pramana.guarantees.base import Guarantee
from pramana.guarantees.breach import PrivacyBreach
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition

__all__ = [
    "CorrectMatch",
    "DifferentialPrivacy",
    "Guarantee",
    "KAnonymity",
    "PkAnonymity",
    "PrivacyBreach",
    "ShuffledPrivacy",
    "SpontaneousRecognition",
]
