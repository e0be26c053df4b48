"""What a steward says will be asked, put to a release and to the truth.

A text is a table (``sex*age``), a mean (``income by region``) or a model (``income ~ age + sex``,
``logistic: work ~ age``). The truth answers as a release would in which nothing was changed, so
that both numbers are made in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import pyarrow as pa

from pramana.errors import InvalidNumber, PramanaError, UnknownColumn
from pramana.estimation.regression import FAMILIES, Family
from pramana.matrices.uniform_mixture import UniformMixture
from pramana.methods.base import Method
from pramana.methods.given import GivenMatrices
from pramana.readings.formulas import variables_of
from pramana.readings.release import Release
from pramana.spelling import as_table, tables_in
from pramana.table.schema import Schema
from pramana.types import FloatArray, Form

__all__ = ["QuestionLoss", "WillAsk", "as_it_is", "losses_of", "questions_of"]

Kind: TypeAlias = Literal["tables", "means", "models"]
Made: TypeAlias = Callable[[Schema, Method], Release]
"""Designs and makes a release of the true table."""


@dataclass(frozen=True)
class WillAsk:
    """One question.

    Attributes:
        text: as the steward wrote it.
        kind: of what.
        of: the column of a mean, or the formula of a model.
        by: the columns of a table, or the groups of a mean.
        family: of a model.
    """

    text: str
    kind: Kind
    of: str = ""
    by: tuple[str, ...] = ()
    family: Family = "linear"

    @classmethod
    def of_text(cls, text: str) -> WillAsk:
        """Read as it is written.

        >>> WillAsk.of_text("income by region*sex").by
        ('region', 'sex')
        """
        if "~" in text:
            family, colon, formula = text.partition(":")
            if not colon:
                return cls(text, "models", text)
            if family.strip() not in FAMILIES:
                raise InvalidNumber(f"A model is one of {', '.join(FAMILIES)}, got '{text}'.")
            return cls(text, "models", formula.strip(), family=cast(Family, family.strip()))
        of, by, groups = text.partition(" by ")
        names = tuple(name for table in tables_in(groups if by else of) for name in table)
        if not names or not all(names):
            raise InvalidNumber(
                f"'{text}' is no question: ask for a table as sex*age, a mean as income by region, "
                "a model as income ~ age + sex."
            )
        return cls(text, "means", of.strip(), names) if by else cls(text, "tables", by=names)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns whose joint values the answer hangs on."""
        if self.kind == "models":
            return variables_of(self.of)
        return tuple(dict.fromkeys((*self.by, *([self.of] if self.of else []))))

    def lost(self, release: Release, exact: Release) -> QuestionLoss:
        """How far the release's answer is from that of the truth; all of it where it has none."""
        truth = self._answer(exact)
        try:
            found = self._answer(release)
        except PramanaError:
            return QuestionLoss(self.text, self.kind, 1.0, answered=False)
        loss = float(np.nan_to_num(self._apart(found, truth, exact), nan=1.0))
        return QuestionLoss(self.text, self.kind, min(loss, 1.0), answered=True)

    def _answer(self, release: Release) -> Any:
        if self.kind == "tables":
            return release.crosstab(*self.by, share=True, weighted=False)
        if self.kind == "means":
            return release.mean(self.of, by=self.by, weighted=False)
        return release.regress(self.of, family=self.family, weighted=False)

    def _apart(self, found: Any, truth: Any, exact: Release) -> float:
        if self.kind == "models":
            if found.names != truth.names:
                return 1.0
            scale = np.where(truth.se > 0, truth.se, np.inf)
            off = np.abs(found.coefficients - truth.coefficients) / scale
            return float(off.sum() / max((np.abs(truth.coefficients) / scale).sum(), 1e-300))
        if found.labels != truth.labels:
            return 1.0
        off = np.abs(np.asarray(found.estimate) - np.asarray(truth.estimate))
        if self.kind == "tables":  # of a cell that nothing is told of, all its records are lost
            return float(np.where(np.isnan(off), 2 * np.asarray(truth.estimate), off).sum()) / 2
        weight = np.asarray(exact.crosstab(*self.by, share=True, weighted=False).estimate)
        share = np.minimum(np.nan_to_num(off / _spread(exact, self.of), nan=1.0), 1.0)
        return float((weight * share).sum())


@dataclass(frozen=True)
class QuestionLoss:
    """What a release loses of the answer to one question.

    Attributes:
        text: the question.
        kind: of what.
        loss: of a table the share of records in the wrong cell; of means how far they are off, as
            a share of the column's mean distance from its mean; of a model how far coefficients are
            off, as a share of their size, both in standard errors of the truth.
        answered: whether the release answers at all; where not, all is lost.
    """

    text: str
    kind: Kind
    loss: float
    answered: bool

    def to_json(self) -> Form:
        """A plain form."""
        return vars(self)


def _spread(exact: Release, name: str) -> float:
    values = exact.opened.to_arrow([name]).column(0).cast(pa.float64(), safe=False)
    numbers: FloatArray = values.to_numpy(zero_copy_only=False)
    return float(np.nanmean(np.abs(numbers - np.nanmean(numbers)))) or 1.0


def questions_of(texts: Sequence[str], schema: Schema) -> tuple[WillAsk, ...]:
    """Those that were stated, else the tables of the schema; of columns that are released."""
    stated = texts or [as_table(table, marks="*,") for table in schema.tables]
    found = tuple(map(WillAsk.of_text, stated))
    released = [column.name for column in schema.released]
    for own in found:
        for name in own.columns:
            if name not in released:
                raise UnknownColumn(
                    f"'{own.text}' asks for '{name}', which is not released. Columns: "
                    f"{', '.join(released)}."
                )
    return found


def as_it_is(schema: Schema, made: Made) -> Release:
    """A release in which every value stays what it is: what the truth answers."""
    plain = replace(schema, impossible=(), strata=(), tables=(), household=None)
    stays = {
        column.name: UniformMixture.of(column.labels, retention=1.0) for column in plain.randomised
    }
    return made(plain, GivenMatrices(stays))


def losses_of(
    release: Release, exact: Release | None, questions: Sequence[WillAsk]
) -> tuple[QuestionLoss, ...]:
    """Each question asked twice."""
    return () if exact is None else tuple(one.lost(release, exact) for one in questions)
