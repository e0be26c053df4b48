"""What the commands of an analyst share: choices, and options spelled once."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pramana.cli.options import names_of, option

if TYPE_CHECKING:
    from pramana.table.replicates import Replicates

__all__ = [
    "AsCsv",
    "CountMethod",
    "Fay",
    "Filter",
    "Infer",
    "Level",
    "ModelFamily",
    "RebuildMethod",
    "ReplicateColumns",
    "ReplicatesBy",
    "ReplicationKind",
    "ShareOf",
    "Simultaneous",
    "Unweighted",
    "replicates_of",
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


class ReplicationKind(StrEnum):
    """How replicate weights were made."""

    BRR = "brr"
    FAY = "fay"
    JACKKNIFE = "jackknife"
    BOOTSTRAP = "bootstrap"
    SDR = "sdr"


Filter: TypeAlias = Annotated[
    list[str] | None,
    option("--where", "sex=F, region=north|south or income>=50000; may repeat.", metavar="FILTER"),
]
Level: TypeAlias = Annotated[float, option("--level", "Of the intervals.", metavar="NUMBER")]
Simultaneous: TypeAlias = Annotated[
    bool, option("--simultaneous", "All intervals hold together.", seldom=True)
]
Unweighted: TypeAlias = Annotated[
    bool, option("--unweighted", "Count every record once, whatever its weight.", seldom=True)
]
ReplicateColumns: TypeAlias = Annotated[
    list[str] | None,
    option(
        "--replicates",
        "Columns of replicate weights: PWGTP* or names with commas.",
        metavar="COLUMNS",
        seldom=True,
    ),
]
ReplicatesBy: TypeAlias = Annotated[
    ReplicationKind,
    option("--replication", "How they were made; sdr is that of the ACS.", seldom=True),
]
Fay: TypeAlias = Annotated[
    float | None,
    option("--fay", "For --replication fay: what a half keeps.", metavar="NUMBER", seldom=True),
]
AsCsv: TypeAlias = Annotated[bool, option("--csv", "Give the table as CSV.", seldom=True)]


def replicates_of(
    columns: list[str] | None, kind: ReplicationKind, fay: float | None
) -> Replicates | None:
    """Replicate weights as they were named, or none."""
    from pramana import Replicates

    names = names_of(columns)
    if not names:
        return None
    starred = names[0] if len(names) == 1 else tuple(names)
    return Replicates(starred, kind=kind.value, fay=fay)
