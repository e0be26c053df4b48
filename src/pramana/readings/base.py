"""What an analyst may ask of a release, and who answers.

What a released record still tells depends on what was done to it. There is one reading for each
kind of release, and it answers every verb: with a number and its error, with a number and the
reason why no error can be stated, or with a refusal that says what to do instead. A kind of release
has one name, in ``KINDS`` of release/kinds.py and here in ``READINGS``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from pramana.engines.sums import Condition
from pramana.errors import InputError, InvalidNumber
from pramana.estimation.question import USUAL, Question
from pramana.registry import Registry

if TYPE_CHECKING:
    import pyarrow as pa

    from pramana.estimation.counts import CountMethod
    from pramana.estimation.independence import IndependenceTest
    from pramana.estimation.rebuild import Rebuild
    from pramana.estimation.regression import Family
    from pramana.estimation.regression_results import Regression
    from pramana.estimation.results import Estimate
    from pramana.matrices.mechanism import Mechanism
    from pramana.randomness import Keystream
    from pramana.readings.records import ReleasedRecords

__all__ = ["READINGS", "VERBS", "Asked", "Reading", "about_records", "reading_of"]

VERBS: Final = (
    "counts",
    "mean",
    "total",
    "proportion",
    "quantile",
    "independence",
    "rebuild",
    "channel",
    "regress",
)


@dataclass(frozen=True)
class Asked:
    """What a question is about.

    Attributes:
        by: the columns of the table.
        where: which records, by their true values.
        question: what the intervals shall mean.
        weighted: whether the weights of the release are used, where it has any.
        beyond: asks whether values lie beyond a number, instead of the values themselves.
    """

    by: tuple[str, ...]
    where: tuple[Condition, ...] = ()
    question: Question = USUAL
    weighted: bool = True
    beyond: Condition | None = None

    def __post_init__(self) -> None:
        if not all(isinstance(name, str) for name in self.by):
            raise InputError("Columns are asked for by their names, as in crosstab('sex', 'age').")
        if len(set(self.by)) < len(self.by):
            raise InvalidNumber("Each column must be asked for once.")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that it names."""
        return (*self.by, *(condition.column for condition in self.where))


def about_records(asked: Asked) -> Asked:
    """The same question about these records alone."""
    return replace(asked, question=replace(asked.question, infer="records"))


class Reading(Protocol):
    """The answers of one kind of release; made from its records."""

    unbiased: ClassVar[CountMethod]
    """How counts are estimated without bias."""

    def __init__(self, records: ReleasedRecords) -> None:
        """A reading of these records."""

    def counts(self, asked: Asked, *, method: CountMethod, share: bool) -> Estimate:
        """Counts, or shares, of the true table."""

    def mean(self, asked: Asked, of: str) -> Estimate:
        """Means of a column in the cells of the true table."""

    def total(self, asked: Asked, of: str) -> Estimate:
        """Totals of a column in the cells of the true table."""

    def proportion(self, asked: Asked, beyond: Condition) -> Estimate:
        """Shares of the records of each cell whose value lies beyond a number."""

    def quantile(self, asked: Asked, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Quantiles of a column in the cells of the true table."""

    def independence(self, asked: Asked) -> IndependenceTest:
        """Whether the two columns of the true table are independent."""

    def rebuild(self, keystream: Keystream, *, method: Rebuild) -> pa.Table:
        """Records for any learner, drawn from what the release allows."""

    def channel(self) -> Mechanism:
        """What a learner that draws the truth of whole records has to undo."""

    def regress(self, asked: Asked, formula: str, *, family: Family) -> Regression:
        """A model of the truth; ``asked`` has filter, level and weights."""


READINGS: Registry[type[Reading]] = Registry(
    "pramana.readings",
    {
        "published": "pramana.readings.published:PublishedReading",
        "withheld": "pramana.readings.withheld:WithheldReading",
        "groups": "pramana.readings.groups:GroupsReading",
        "reports": "pramana.readings.reports:ReportsReading",
        "sealed": "pramana.readings.sealed:SealedReading",
    },
)
"""Readings by the kind of release."""


def reading_of(records: ReleasedRecords) -> Reading:
    """The one that the kind of the release names."""
    return READINGS[records.certificate.kind](records)
