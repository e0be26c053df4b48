"""What is lost: distances between tables, associations, predictions, conclusions."""

from pramana.utility.association import correlation, cramers_v
from pramana.utility.distances import TableDistance, shares
from pramana.utility.overlap import interval_overlap, share_intervals
from pramana.utility.propensity import Propensity, propensity
from pramana.utility.trees import TreeAccuracy, tree_accuracy

__all__ = [
    "Propensity",
    "TableDistance",
    "TreeAccuracy",
    "correlation",
    "cramers_v",
    "interval_overlap",
    "propensity",
    "share_intervals",
    "shares",
    "tree_accuracy",
]
