"""k-anonymity: groups of at least k records, and new keys that keep the distribution."""

from pramana.kanonymity.clustering import Groups, cluster, form_groups
from pramana.kanonymity.distance import Key
from pramana.kanonymity.diversity import Sensitive
from pramana.kanonymity.release import RELEASE_METHODS, donors, new_keys
from pramana.kanonymity.tables import Anonymised, anonymise, key_of

__all__ = [
    "RELEASE_METHODS",
    "Anonymised",
    "Groups",
    "Key",
    "Sensitive",
    "anonymise",
    "cluster",
    "donors",
    "form_groups",
    "key_of",
    "new_keys",
]
