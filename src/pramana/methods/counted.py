"""What methods share that choose their matrices by looking at the data.

Far fewer records change than under a matrix for all possible data; in exchange the guarantees rest
on counts that are not published, and only the owner can recompute them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import ClassVar, Final, TypeVar

import numpy as np

from pramana.errors import Infeasible
from pramana.guarantees.base import Guarantee
from pramana.methods.base import Method
from pramana.numeric import coarse_up
from pramana.release.certificate import Certificate
from pramana.table.counts import Counts
from pramana.types import Entries, Form

__all__ = ["Withheld", "as_they_stand", "fingerprint", "the_only"]

Target = TypeVar("Target", bound=Guarantee)


def fingerprint(counts: Counts) -> str:
    """Tells whether two tables have the same counts, in whatever order their records are."""
    names = [[repr(label) for label in own] for own in counts.labels]
    orders = [sorted(range(len(own)), key=own.__getitem__) for own in names]
    labels = [[own[at] for at in order] for own, order in zip(names, orders, strict=True)]
    cells = np.empty(counts.cells.shape, dtype=np.int64)
    for axis, order in enumerate(orders):
        cells[:, axis] = np.argsort(order)[counts.cells[:, axis]]
    rows = np.lexsort(cells.T[::-1])
    digest = hashlib.sha256(repr((counts.columns, labels)).encode())
    digest.update(cells[rows].tobytes())
    digest.update(np.asarray(counts.numbers, dtype=np.int64)[rows].tobytes())
    return digest.hexdigest()


def the_only(asked: Sequence[Guarantee], kind: type[Target], *, method: str) -> Target:
    """The one target of a method; another one is refused."""
    own = [guarantee for guarantee in asked if isinstance(guarantee, kind)]
    others = [guarantee.name for guarantee in asked if not isinstance(guarantee, kind)]
    if len(own) != 1 or others:
        raise Infeasible(
            f"Method {method} aims at {kind.name} alone"
            + (f", and cannot promise {' and '.join(others)} with it." if others else ".")
            + f" State one {fields(kind)[0].name}, or choose another method."  # type: ignore[arg-type]
        )
    return own[0]


AS_THEY_STAND: Final = {"frequencies": "unbiased as they stand"}


def as_they_stand(
    variances: Mapping[str, Sequence[float]], *, least: Callable[[int], float]
) -> Form:
    """What analysts are told: one standard error for all values of a column.

    It is the largest of them on a grid of 1, 2, 5, 10, ...: one a value would tell which are rare,
    and digits would tell the counts. It is never below ``least`` of the number of values, the
    error that the method has where nothing stands out: else a small one would tell that
    something does.
    """
    errors = {
        name: [coarse_up(math.sqrt(max(least(len(own)) ** 2, *own)))] * len(own)
        for name, own in variances.items()
    }
    return {**AS_THEY_STAND, "standard_errors": errors}


class Withheld(Method):
    """Matrices that are not published, because the counts could be read off them."""

    kind: ClassVar[str] = "withheld"
    tells: ClassVar[frozenset[str] | None] = frozenset({"standard_errors", "verbatim"})
    keeps_rules: ClassVar[bool] = False
    data_dependent: ClassVar[bool] = True

    @classmethod
    def follows(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """How frequencies are to be read."""
        del certificate  # it is the same in all
        return {}, AS_THEY_STAND
