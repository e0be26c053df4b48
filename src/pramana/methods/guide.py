"""How many bins, and which gamma: the guide of [Dowd, Sec. 7].

A grid of (gamma, N) is tried by whoever holds data (see ``experiments.tree_grid``), and the
accuracy that a learner reaches is written beside each point. The guide then reads it:

    with a range of gamma alone: for each gamma the N of the highest accuracy, of these the least N;
    with an accuracy as well: of all points that reach it the least N, of these the least gamma.

Smaller N means smaller matrices, smaller gamma more privacy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pramana.base.rounding import require_number
from pramana.base.text import text_up
from pramana.errors import Infeasible, InvalidNumber
from pramana.mechanisms.mechanism import UniformMixture
from pramana.types import Form

GAMMAS = tuple(range(2, 22))
BINS = (5, 10, 15, *range(20, 101, 10))
"""The 240 combinations that the paper tries."""


@dataclass(frozen=True)
class GridPoint:
    """One combination that was tried.

    Attributes:
        gamma: the largest ratio of two probabilities in a column of the matrix.
        bins: the number N of bins; an attribute with fewer distinct values is not binned.
        accuracy: of a learner on clean records, averaged over data sets where there are several.
        error: of the estimated distributions, sum |estimate - truth| / records, on average.
    """

    gamma: float
    bins: int
    accuracy: float
    error: float

    @property
    def entropy(self) -> float:
        """Bits of the matrix [Dowd, Sec. 5.2].

        >>> round(GridPoint(gamma=5, bins=10, accuracy=0.8, error=0.1).entropy, 4)
        2.9781
        """
        return UniformMixture.of(tuple(range(self.bins)), gamma=self.gamma).entropy

    def to_json(self) -> Form:
        """One row of the table."""
        return {
            "gamma": self.gamma,
            "bins": self.bins,
            "entropy": self.entropy,
            "accuracy": self.accuracy,
            "error": self.error,
        }


@dataclass(frozen=True)
class Guide:
    """The grid, and how to choose from it."""

    points: tuple[GridPoint, ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise InvalidNumber("A guide needs at least one combination of gamma and N.")

    def choose(
        self, *, gammas: tuple[float, float] = (5, 12), accuracy: float | None = None
    ) -> GridPoint:
        """The combination to use.

        Args:
            gammas: the least and the greatest gamma that will do; the paper suggests 5 to 12.
            accuracy: the accuracy to reach; where no point does, the highest is taken.
        """
        low, high = gammas
        inside = [point for point in self.points if low <= point.gamma <= high]
        if not inside:
            tried = [point.gamma for point in self.points]
            raise Infeasible(
                f"No gamma between {low:g} and {high:g} was tried; the grid has "
                f"{text_up(min(tried), 6)} to {text_up(max(tried), 6)}."
            )
        if accuracy is None:
            inside = list(_best_of_each_gamma(inside))
        else:
            require_number("accuracy", accuracy, low=0, high=1)
            enough = [point for point in inside if point.accuracy >= accuracy]
            inside = enough or [max(inside, key=lambda p: p.accuracy)]
        return min(inside, key=lambda p: (p.bins, p.gamma))


def _best_of_each_gamma(points: Iterable[GridPoint]) -> Iterable[GridPoint]:
    best: dict[float, GridPoint] = {}
    for point in sorted(points, key=lambda p: p.bins):
        known = best.get(point.gamma)
        if known is None or point.accuracy > known.accuracy:
            best[point.gamma] = point
    return best.values()


def parse_range(text: str) -> tuple[float, float]:
    """``5:12``, or one number for both ends.

    >>> parse_range("5:12"), parse_range("8")
    ((5.0, 12.0), (8.0, 8.0))
    """
    parts = text.split(":")
    try:
        low, high = float(parts[0]), float(parts[-1])
    except ValueError:
        low, high = 1.0, 0.0
    if len(parts) > 2 or not 1 < low <= high < float("inf"):
        raise InvalidNumber(f"A range of gamma must read like 5:12, above 1, got {text!r}.")
    return low, high
