"""k-anonymity: groups of at least k records, and new keys that keep the distribution."""

from pramana.kanonymity.clustering import Groups, cluster, form_groups
from pramana.kanonymity.distance import Key
from pramana.kanonymity.diversity import Sensitive

__all__ = ["Groups", "Key", "Sensitive", "cluster", "form_groups"]
