"""A table for any learner: each released record gets values again that the truth could have had.

    rank       one attribute at a time [Dowd, Alg. 2]: sort the records by the released value and
               hand out the estimated true counts in that order, which chance decides between
               equal values. Margins come back, dependence between columns does not.
    posterior  draw each record's values from their distribution given the whole released record
               and a model of the whole table that brings no more dependence than records held out
               confirm (modelled.py): latent classes, or margins alone; where there is much to go
               by, the joint table if it is small enough (joint.py), or all pairs (pairwise.py).

A rebuilt record is nobody's: it is a draw from what the release allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from pramana.errors import InvalidTable
from pramana.estimation.channels import Channels
from pramana.estimation.layout import Layout
from pramana.estimation.modelled import draw_from_model
from pramana.estimation.ranked import ranked
from pramana.numeric import require_choice
from pramana.randomness import Keystream
from pramana.types import IntArray

__all__ = ["REBUILDS", "Rebuild", "Rebuilt", "rebuild_records"]

Rebuild = Literal["posterior", "rank"]
REBUILDS: tuple[Rebuild, ...] = ("posterior", "rank")


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Rebuilt records, and how they came about.

    Attributes:
        columns: The columns, in the order of ``codes``.
        codes: One array of codes a column.
        method: ``posterior`` or ``rank``.
        why: One sentence on the model behind the draws.
    """

    columns: tuple[str, ...]
    codes: tuple[NDArray[Any], ...]
    method: str
    why: str


def rebuild_records(
    codes: Sequence[NDArray[Any]],
    layout: Layout,
    *,
    keystream: Keystream,
    method: Rebuild = "posterior",
) -> Rebuilt:
    """Rebuild records that are given as one array of released codes a column of ``layout``."""
    require_choice("method", method, REBUILDS)
    if not codes or len(codes[0]) == 0:
        raise InvalidTable("There are no released records to rebuild.")
    channels = Channels(layout.only(range(len(layout.axes))))
    places = layout.positions(codes)
    if method == "rank":
        found = ranked(places, channels, keystream)
        why = "one column at a time: margins come back, dependence between columns does not."
    else:
        found, how = draw_from_model(places, channels, keystream)
        why = f"drawn given each whole released record and a model of the whole table: {how}"
    rebuilt = [column for axis, place in zip(layout.axes, found, strict=True)
               for column in _codes(layout, axis.columns, place)]  # fmt: skip
    same_kind = [new.astype(old.dtype) for new, old in zip(rebuilt, codes, strict=True)]
    return Rebuilt(layout.columns, tuple(same_kind), method, why)


def _codes(layout: Layout, columns: tuple[str, ...], places: IntArray) -> list[IntArray]:
    """The code of each column at each position of an axis."""
    axis = next(axis for axis in layout.axes if axis.columns == columns)
    return [own[places] for own in layout.codes_of(axis)]
