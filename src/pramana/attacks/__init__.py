"""Attacks on a release: one a file, from the release and what the attacker is said to know."""

from pramana.attacks.closest import MixedRecords, closest_risk, distance_to_closest
from pramana.attacks.composition import Composition, compose_releases, earlier_releases
from pramana.attacks.inference import SensitiveValues, inference_risk
from pramana.attacks.linkage import linkage_risks
from pramana.attacks.optimal import OptimalLinkage, exact_posterior, optimal_linkage
from pramana.attacks.records import Records, read_pair, require_belongs, require_matrices
from pramana.attacks.recovery import Recovery, recover, recovery_attack
from pramana.attacks.recovery_of_release import ReleaseRecovery, recovery_of_release
from pramana.attacks.repeated import RepeatedAttack, repeated_attack

__all__ = [
    "Composition",
    "MixedRecords",
    "OptimalLinkage",
    "Records",
    "Recovery",
    "ReleaseRecovery",
    "RepeatedAttack",
    "SensitiveValues",
    "closest_risk",
    "compose_releases",
    "distance_to_closest",
    "earlier_releases",
    "exact_posterior",
    "inference_risk",
    "linkage_risks",
    "optimal_linkage",
    "read_pair",
    "recover",
    "recovery_attack",
    "recovery_of_release",
    "repeated_attack",
    "require_belongs",
    "require_matrices",
]
