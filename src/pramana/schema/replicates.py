"""Replicate weights: their columns, and the variance factor of each replication method.

Replicate weights identify the cluster and often the person. Released unchanged they count among the
known columns, unless the steward gives them the role sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from pramana.base.rounding import require_choice, require_number
from pramana.errors import InvalidNumber, UnknownColumn
from pramana.types import Form

Replication: TypeAlias = Literal["brr", "fay", "jackknife", "bootstrap", "sdr"]
"""Balanced half-samples, Fay's form of them, jackknife, bootstrap, successive differences (ACS)."""


@dataclass(frozen=True)
class Replicates:
    """Columns of replicate weights, and how they make a variance.

    >>> Replicates("PWGTP*", kind="sdr").columns_in(["PWGTP", "PWGTP1", "PWGTP10", "PWGTP2"])
    ('PWGTP1', 'PWGTP2', 'PWGTP10')

    Attributes:
        columns: their names, or one name with a star for the numbers at its end.
        kind: ``brr``, ``fay``, ``jackknife`` (one cluster left out at a time), ``bootstrap``, or
            ``sdr``: successive differences, as in the American Community Survey.
        fay: for ``fay``: how much of its weight a half-sample that is left out keeps.
        scale: what the sum of squares is multiplied by, where it is none of these.
    """

    columns: str | tuple[str, ...]
    kind: Replication = "brr"
    fay: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, str):
            object.__setattr__(self, "columns", tuple(self.columns))
        require_choice("kind of replicates", self.kind, get_args(Replication))
        if (self.kind == "fay") != (self.fay is not None):
            raise InvalidNumber("fay is stated for kind fay, and for no other.")
        if self.fay is not None:
            require_number("fay", self.fay, low=0, high=1, high_open=True)
        if self.scale is not None:
            require_number("scale", self.scale, low=0, low_open=True, high=np.inf, high_open=True)

    def columns_in(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns among those of a release; at least two."""
        found = self.columns
        if isinstance(found, str) and found.endswith("*"):
            ends = {name: re.fullmatch(re.escape(found[:-1]) + r"(\d+)", name) for name in names}
            numbers = {name: int(end.group(1)) for name, end in ends.items() if end is not None}
            found = tuple(sorted(numbers, key=lambda name: numbers[name]))
        found = (found,) if isinstance(found, str) else found
        lacking = [name for name in found if name not in names]
        if lacking or len({*found}) < max(2, len(found)):
            raise UnknownColumn(
                f"Replicate weights must be two or more columns of the table, each named once; "
                f"{len({*found})} are named, and {len(lacking)} of them are not there."
            )
        return found

    def named(self, names: Sequence[str]) -> Replicates:
        """The same with every column by its name."""
        return replace(self, columns=self.columns_in(names))

    def to_dict(self) -> Form:
        """As in a schema file and in a certificate."""
        columns = self.columns if isinstance(self.columns, str) else list(self.columns)
        more = {"fay": self.fay, "scale": self.scale}
        stated = {name: value for name, value in more.items() if value is not None}
        return {"columns": columns, "method": self.kind, **stated}

    def factor(self, number: int) -> float:
        """What the sum of squares over so many replicates is multiplied by."""
        if self.scale is not None:
            return self.scale
        if self.kind == "jackknife":
            return (number - 1) / number
        if self.kind == "sdr":
            return 4 / number
        return 1 / (number * (1 - (self.fay or 0.0)) ** 2)
