"""What the commands of an analyst share: choices, and options spelled once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

from pramana.cli.options import option

__all__ = [
    "AsCsv",
    "CountMethod",
    "Filter",
    "Infer",
    "Level",
    "ModelFamily",
    "RebuildMethod",
    "ShareOf",
    "Simultaneous",
    "Unweighted",
]


class CountMethod(StrEnum):
    """How counts are estimated."""

    AUTO = "auto"
    INVERSE = "inverse"
    CLIPPED = "clipped"
    EM = "em"


class ShareOf(StrEnum):
    """What a share is a share of."""

    TOTAL = "total"
    ROW = "row"
    COLUMN = "column"


class Infer(StrEnum):
    """What intervals are about."""

    RECORDS = "records"
    POPULATION = "population"


class RebuildMethod(StrEnum):
    """How records are rebuilt."""

    POSTERIOR = "posterior"
    RANK = "rank"


class ModelFamily(StrEnum):
    """Which regression."""

    LINEAR = "linear"
    LOGISTIC = "logistic"
    POISSON = "poisson"


Filter: TypeAlias = Annotated[
    list[str] | None,
    option("--where", "sex=F, region=north|south or income>=50000; may repeat.", metavar="FILTER"),
]
Level: TypeAlias = Annotated[float, option("--level", "Of the intervals.", metavar="NUMBER")]
Simultaneous: TypeAlias = Annotated[
    bool, option("--simultaneous", "All intervals hold together.", seldom=True)
]
Unweighted: TypeAlias = Annotated[
    bool, option("--unweighted", "Count every record once, whatever its weight.")
]
AsCsv: TypeAlias = Annotated[bool, option("--csv", "Give the table as CSV.", seldom=True)]
