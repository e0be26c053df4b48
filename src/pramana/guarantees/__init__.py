"""Guarantees: privacy notions with their numbers, computed from integers and rounded against us."""

from pramana.guarantees.base import Guarantee
from pramana.guarantees.breach import PrivacyBreach
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity

__all__ = ["DifferentialPrivacy", "Guarantee", "PkAnonymity", "PrivacyBreach"]
