"""Tree accuracy ratio: how well does a tree learned on the release predict true records?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana.errors import InvalidNumber, MissingExtra
from pramana.types import BoolArray, Codes, Form

__all__ = ["TreeAccuracy", "tree_accuracy"]

FEWEST = 50


@dataclass(frozen=True)
class TreeAccuracy:
    """Accuracy on true records that neither tree has seen.

    Attributes:
        target: the column that is predicted.
        truth: of a tree learned on true records.
        released: of a tree learned on released ones.
        frequent: of always naming the most frequent value.
        rebuilt: of a tree learned on rebuilt records, where there are any.
    """

    target: str
    truth: float
    released: float
    frequent: float
    rebuilt: float | None = None

    @property
    def ratio(self) -> float:
        """What an analyst gets, rebuilt where possible, over the truth: near 1 nothing is lost."""
        best = self.released if self.rebuilt is None else self.rebuilt
        return best / self.truth if self.truth else 1.0

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "target": self.target,
            "truth": self.truth,
            "released": self.released,
            "rebuilt": self.rebuilt,
            "most_frequent": self.frequent,
            "ratio": self.ratio,
        }


def tree_accuracy(
    target: str,
    truth: tuple[Sequence[Codes], Codes],
    released: tuple[Sequence[Codes], Codes],
    *,
    held_out: BoolArray,
    rebuilt: tuple[Sequence[Codes], Codes] | None = None,
) -> TreeAccuracy:
    """Learn ``target`` from the other columns, once from each table.

    Args:
        target: its name.
        truth: codes of the other columns and of the target, true records.
        released: the same of the released records.
        held_out: which true records are kept for the test.
        rebuilt: the same of rebuilt records, where the matrices are published.
    """
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise MissingExtra("Tree accuracy needs an extra: pip install 'pramana[mining]'.") from None
    if held_out.sum() < FEWEST or (~held_out).sum() < FEWEST:
        raise InvalidNumber(
            f"Tree accuracy needs at least {FEWEST} records to learn from and as many to test on."
        )
    columns, wanted = np.stack(truth[0], axis=1), truth[1]
    seen, labels = np.stack(released[0], axis=1), released[1]

    def accuracy(x: Codes, y: Codes) -> float:
        tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=20, random_state=0)
        return float(tree.fit(x, y).score(columns[held_out], wanted[held_out]))

    frequent = np.bincount(wanted[~held_out]).argmax()
    return TreeAccuracy(
        target=target,
        truth=accuracy(columns[~held_out], wanted[~held_out]),
        released=accuracy(seen, labels),
        frequent=float((wanted[held_out] == frequent).mean()),
        rebuilt=None if rebuilt is None else accuracy(np.stack(rebuilt[0], axis=1), rebuilt[1]),
    )
