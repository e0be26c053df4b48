"""Tables of estimates with their errors, how they are shown, and their calibration.

Estimated counts are calibrated to published totals, as survey offices calibrate weights. A margin
says that the cells with a value v of a column have the share s_v of the whole table:
sum_(cells with v) t - s_v sum t = 0. All margins together are B t = 0. Of estimates t with the
covariance V,

    t - V B' (B V B')^-1 B t

fulfils them and has the least variance among linear corrections; its covariance is
V - V B' (B V B')^-1 B V [Deming40]. It uses released counts and published totals alone, so that no
guarantee changes. Totals of values are corrected by the same formula, with their covariance with
B t in place of V B': the generalised regression estimator, whose error is that of residuals.
"""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from pramana.analysis.estimate_charts import estimate_chart
from pramana.analysis.layout import Layout
from pramana.analysis.question import Inference, Question, quantile, students
from pramana.analysis.variance import Contrast, JointErrors, TwoCells, half_a_record
from pramana.base.rounding import require_choice
from pramana.base.translation import gettext
from pramana.errors import (
    InputError,
    InvalidNumber,
    InvalidTable,
    NotCovered,
    TooLarge,
    UnknownCell,
    UnknownColumn,
    harmless,
)
from pramana.io.opening import open_table
from pramana.mechanisms.transition import Label
from pramana.schema.domains import Labels, label_key, label_text
from pramana.types import FloatArray, Form

FIGURES: Final = ("estimate", "se", "low", "high")

SHRUNK_FIGURES: Final = ("estimate", "unbiased", "se", "low", "high")

MOST_NAMED: Final = 8
"""Labels that a message lists."""

MOST_LINES: Final = 40
"""Cells that are printed; all of them are in ``cells``."""


INTERNAL = frozenset({"by_groups", "of", "spoken", "stacked", "together", "without_interval"})
"""What completion leaves out: it is for the estimators, not for analysts."""


class DataFrames(ABC):
    """A result as data frames, one row a number."""

    like: Any = None

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """One row a number, with its labels or name."""

    def to_frame(self, like: Any = None) -> Any:
        """One row a number, as a data frame of the kind that was released, or like ``like``.

        A release that was loaded from a folder, or made from a file or in an engine, gives PyArrow
        tables.
        """
        return frame_of(self.to_arrow(), self.like if like is None else like)

    def to_pandas(self) -> Any:
        """One row a number, as a data frame of pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """One row a number, as a data frame of Polars."""
        import polars

        return polars.from_arrow(self.to_arrow())


@dataclass(frozen=True, eq=False)
class Estimate(DataFrames):
    """A table of estimates with standard errors and intervals.

    Attributes:
        by: The columns of the table.
        labels: The labels of each of them.
        what: What is estimated: ``count``, ``share``, ``mean of income``, ``total of cost``.
        method: ``unbiased``, ``clipped``, ``shrunk``, ``calibrated`` or ``as released``.
        why: One sentence: how the method was chosen and what its errors mean.
        level: The level of the intervals.
        infer: ``records`` or ``population``.
        estimate: One number per cell, shaped by the labels; so are the next three.
        se: Standard errors of the unbiased estimates.
        low: Lower ends of the intervals.
        high: Upper ends of the intervals.
        records: The number of released records behind the table.
        simultaneous: Whether all intervals hold together with probability ``level``.
        no_interval: Why no error can be stated, where none can; the intervals are ``nan`` then.
        weight: The column by which records are weighted, if they are.
        like: A data frame of the kind that ``to_frame`` gives.
        together: How the unbiased numbers err together, where that is known.
        unbiased: The unbiased estimates to which ``se`` and the intervals belong; where
            ``estimate`` was not shrunk, the same numbers.
        spoken: What the codes of a labelled file mean.
    """

    by: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    what: str
    method: str
    why: str
    level: float
    infer: Inference
    estimate: FloatArray = field(repr=False)
    se: FloatArray = field(repr=False)
    low: FloatArray = field(repr=False)
    high: FloatArray = field(repr=False)
    records: int
    simultaneous: bool = False
    no_interval: str = ""
    weight: str | None = None
    like: Any = field(default=None, repr=False)
    together: JointErrors | None = field(default=None, repr=False)
    unbiased: FloatArray = field(default=None, repr=False)  # type: ignore[arg-type]
    spoken: Labels = field(default_factory=Labels, repr=False)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - INTERNAL)

    def __post_init__(self) -> None:
        if self.unbiased is None:  # it is the estimate where none is given
            object.__setattr__(self, "unbiased", self.estimate)
        for name in SHRUNK_FIGURES:
            array = np.array(getattr(self, name), dtype=np.float64)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        known = ~(np.isnan(self.estimate) | np.isnan(self.low) | np.isnan(self.high))
        for name, worst in (("low", np.minimum), ("high", np.maximum)):
            # Unbiased counts may be below 0, and shrunken ones outside the interval.
            end = getattr(self, name)
            wide = np.where(known, worst(end, self.estimate), end)
            wide.flags.writeable = False
            object.__setattr__(self, name, wide)

    @classmethod
    def of(
        cls,
        by: tuple[str, ...],
        labels: Sequence[tuple[Label, ...]],
        figures: Sequence[FloatArray],
        question: Question,
        *,
        records: float,
        **more: Any,
    ) -> Estimate:
        """From estimate, se, low and high, shaped by the labels; ``more`` are further fields."""
        more |= dict(zip(FIGURES, figures, strict=True))
        return cls(
            by=by,
            labels=tuple(labels),
            level=question.level,
            infer=question.infer,
            records=round(records),
            simultaneous=question.simultaneous,
            **more,
        )

    @classmethod
    def by_groups(
        cls,
        layout: Layout,
        figures: Sequence[FloatArray],
        question: Question,
        *,
        unbiased: FloatArray | None = None,
        **more: Any,
    ) -> Estimate:
        """From numbers by group of a layout; impossible combinations become 0."""
        table = None if unbiased is None else layout.lay_out(unbiased)
        laid_out = [layout.lay_out(figure) for figure in figures]
        return cls.of(layout.by, layout.by_labels, laid_out, question, unbiased=table, **more)

    @classmethod
    def stacked(
        cls,
        name: str,
        labels: Sequence[Label],
        estimates: Sequence[Estimate],
        what: str,
        *,
        last: bool = False,
    ) -> Estimate:
        """Estimates of the same groups in one table, with a first or ``last`` column of labels."""
        if not estimates or len({estimate.labels for estimate in estimates}) > 1:
            raise InvalidTable("Name at least one column; all must have the same groups.")
        first = estimates[0]
        figures: dict[str, Any] = {
            figure: np.stack([getattr(e, figure) for e in estimates], axis=-1 if last else 0)
            for figure in SHRUNK_FIGURES
        }
        methods = {estimate.method for estimate in estimates}
        return replace(
            first,
            by=(*first.by, name) if last else (name, *first.by),
            labels=(*first.labels, tuple(labels)) if last else (tuple(labels), *first.labels),
            what=what,
            method=first.method if len(methods) == 1 else "unbiased and shrunk",
            together=None,
            **figures,
        )

    def without_interval(self, reason: str, **more: Any) -> Estimate:
        """The same numbers without errors, and why there are none."""
        unknown = np.full(self.estimate.shape, math.nan)
        return replace(
            self, se=unknown, low=unknown, high=unknown, together=None, no_interval=reason, **more
        )

    def __len__(self) -> int:
        return self.estimate.size

    @property
    def names(self) -> tuple[str, ...]:
        """The columns as cells and tables name them: one called ``low`` becomes ``low_``."""
        return tuple(f"{name}_" if name in SHRUNK_FIGURES else name for name in self.by)

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of a cell's numbers; ``unbiased`` is one where the estimate was shrunk."""
        same = np.array_equal(self.estimate, self.unbiased, equal_nan=True)
        return FIGURES if same else SHRUNK_FIGURES

    @property
    def cells(self) -> Iterator[Form]:
        """One mapping per cell: its labels, then estimate, se, low, high.

        Where the estimate was shrunk, the unbiased one comes after it.
        """
        figures = self.figures
        for index in np.ndindex(self.estimate.shape):
            cell: Form = {
                name: labels[place]
                for name, labels, place in zip(self.names, self.labels, index, strict=True)
            }
            for name in figures:
                cell[name] = float(getattr(self, name)[index])
            yield cell

    def cell(self, *values: Label, **named: Label) -> Form:
        """The cell with these labels, in the order of ``by`` or by the names of its columns.

        ``cell("F", "old")`` and ``cell(sex="F", age="old")`` are the same. A label may be given as
        its text.
        """
        index = self._place(*values, **named)
        return {name: float(getattr(self, name)[index]) for name in self.figures}

    def __getitem__(self, values: Label | tuple[Label, ...]) -> Form:
        """The same: ``table["F", "old"]``."""
        return self.cell(*(values if isinstance(values, tuple) else (values,)))

    def _place(self, *values: Label, **named: Label) -> tuple[int, ...]:
        asked = list(values)
        if named:
            expected = self.by[len(asked) :]
            if set(named) != set(expected):
                raise UnknownCell(
                    "The table has no such cell: name the labels of {expected}, got {named}.",
                    code="wrong-names-of-columns",
                    expected=", ".join(expected),
                    named=", ".join(named),
                )
            asked += [named[name] for name in expected]
        if len(asked) != len(self.by):
            raise UnknownCell(
                "The table has no such cell: its cells have {count} labels, of {by}, and {given} "
                "were given.",
                code="wrong-number-of-labels",
                count=len(self.by),
                by=", ".join(self.by) or "no column",
                given=len(asked),
            )
        return tuple(map(self._label_place, self.by, self.labels, asked))

    @staticmethod
    def _label_place(name: str, labels: tuple[Label, ...], asked: Label) -> int:
        """The place of a label, or of the one that reads the same."""
        alike = [
            label == asked and isinstance(label, bool) == isinstance(asked, bool)
            for label in labels
        ]
        if not any(alike):
            alike = [label_key(label) == label_key(asked) for label in labels]
        if not any(alike):
            listed = ", ".join(_text(label) for label in labels[:MOST_NAMED])
            more = ", ..." if len(labels) > MOST_NAMED else ""
            raise UnknownCell(
                "The table has no such cell: {text!r} is no label of '{column}'. Its labels are "
                "{listed}{more}.",
                column=name,
                text=_text(asked),
                listed=listed,
                more=more,
            )
        return alike.index(True)

    def difference(
        self,
        first: Label | tuple[Label, ...],
        second: Label | tuple[Label, ...],
        *,
        level: float | None = None,
    ) -> Contrast:
        """The unbiased number of one cell minus the number of another, with an interval.

        The error includes the covariance of the two numbers. The error of shrinking is unknown: the
        unbiased numbers are compared. Cells are given by their labels, in a tuple in the order of
        ``by`` where there are several; the default level is the level of the table.
        """
        return self._contrast(first, second, "less", level)

    def ratio(
        self,
        first: Label | tuple[Label, ...],
        second: Label | tuple[Label, ...],
        *,
        level: float | None = None,
    ) -> Contrast:
        """The unbiased ratio of the numbers of two cells, as ``difference`` [Fieller]."""
        return self._contrast(first, second, "over", level)

    def calibrate(self, margins: Margins) -> Estimate:
        """The same table with published totals as its margins, and smaller errors.

        Margins are shares of all records of the table. They are those of the file where the table
        is about its records, and those of the population where it is about that.

        Args:
            margins: The total of every value of some columns: a mapping, or a file with the
                columns column, value and total.
        """
        errors, whole = self.together, float(self.unbiased.sum())
        shares = self.what == "share" and math.isclose(whole, 1)
        if errors is None or errors.covariance is None or not (self.what == "count" or shares):
            raise NotCovered(
                "Tables of counts and of shares of all records are calibrated, where their "
                "covariance is known. Ask for counts by a method with published matrices."
            )
        if not whole > 0:
            raise NotCovered("The estimated total is not above 0: margins have no shares of it.")
        by_name = dict(zip(self.by, self.labels, strict=True))
        known = margins_of(margins, by_name, where="column of the table")
        places = {self.by.index(name): totals for name, totals in known.items()}
        made = calibrated(replace(errors, numbers=self.unbiased), places)
        assert made.covariance is not None  # noqa: S101 - calibrated made it
        units = [unit.reshape(self.estimate.shape) for unit in np.eye(self.estimate.size)]
        se = np.sqrt(np.maximum(np.diag(made.covariance(units)), 0)).reshape(self.estimate.shape)
        z = quantile(self.level, numbers=self.estimate.size if self.simultaneous else 1)
        z = max(students(z, made.degrees), made.least_z)
        below = above = z * se + half_a_record(se, made.step)
        if made.unseen is not None:
            below, above = map(np.maximum, made.unseen(z), (below, above))
        total = errors.covariance([np.ones(self.estimate.shape)])[0, 0]
        most = whole if total <= 1e-18 * whole**2 else math.inf  # it is known exactly
        return replace(
            self,
            estimate=made.numbers,
            unbiased=made.numbers,
            se=se,
            low=np.maximum(made.numbers - below, 0),
            high=np.minimum(made.numbers + above, most),
            method="calibrated",
            why=f"the unbiased table with the published margins of {', '.join(known)}. {self.why}",
            together=made,
        )

    def _contrast(
        self,
        first: Label | tuple[Label, ...],
        second: Label | tuple[Label, ...],
        word: str,
        level: float | None,
    ) -> Contrast:
        cells = (cell if isinstance(cell, tuple) else (cell,) for cell in (first, second))
        places = [self._place(*cell) for cell in cells]
        names = [
            ", ".join(_text(labels[at]) for labels, at in zip(self.labels, place, strict=True))
            for place in places
        ]
        level = self.level if level is None else level
        errors = self.together or JointErrors(self.unbiased)
        pair = TwoCells.of(errors, self.se, places, level)
        estimate, se, low, high = pair.difference() if word == "less" else pair.ratio()
        if self.no_interval:
            why = gettext("no interval: {why}", why=self.no_interval)
        elif math.isnan(estimate) and math.isinf(high):
            why = gettext(
                "the second cell has the estimate 0 but may hold records: there is no upper end."
            )
        elif errors.covariance is None:
            why = gettext(
                "the covariance of the two numbers is unknown: the error is an upper bound."
            )
        else:
            why = gettext("both numbers come from the same random draws; the error includes this.")
            if "unbiased" in self.figures:
                why = gettext("of the unbiased numbers; {why}", why=why)
        what = f"{self.what}, {names[0]} {word} {names[1]}"
        return Contrast(what, estimate, se, low, high, level, why, self.weight)

    def to_json(self) -> Form:
        """As JSON; numbers that do not exist (a mean of nobody) become null."""
        cells = [
            {
                key: None if key in SHRUNK_FIGURES and not math.isfinite(value) else value
                for key, value in cell.items()
            }
            for cell in self.cells
        ]
        return {
            "by": list(self.by),
            "what": self.what,
            "method": self.method,
            "why": self.why,
            "level": self.level,
            "infer": self.infer,
            "simultaneous": self.simultaneous,
            "records": self.records,
            "weight": self.weight,
            "no_interval": self.no_interval or None,
            "cells": cells,
        }

    def to_arrow(self) -> pa.Table:
        """One row per cell."""
        columns = self._label_columns(len(self.by))
        for name in self.figures:
            columns[name] = pa.array(getattr(self, name).ravel())
        return pa.table(columns)

    def _label_columns(self, number: int) -> Form:
        """The labels of the first columns, one row per combination."""
        grid = np.indices(self.estimate.shape[:number]).reshape(
            number, math.prod(self.estimate.shape[:number])
        )
        return {
            name: _arrow([labels[place] for place in places.tolist()])
            for name, labels, places in zip(self.names, self.labels, grid, strict=False)
        }

    def conf_int(self) -> Any:
        """The ends of the intervals, one row per cell, as a data frame like ``to_frame``."""
        return frame_of(self.to_arrow().select([*self.names, "low", "high"]), self.like)

    def to_wide(self, figure: str = "estimate") -> Any:
        """The last column across, the others down, as a data frame like ``to_frame``.

        Args:
            figure: ``estimate``, ``se``, ``low`` or ``high``.
        """
        require_choice("figure", figure, SHRUNK_FIGURES)
        if len(self.by) < 2:
            raise InvalidNumber("A wide table has two columns or more; to_frame gives this one.")
        values = getattr(self, figure)
        columns = self._label_columns(len(self.by) - 1)
        for at, label in enumerate(self.labels[-1]):
            name = f"{self.by[-1]}={_text(label)}"
            if name in columns:  # a value that reads as the word for missing
                name = f"{self.by[-1]} {_text(label)}"
            columns[name] = pa.array(values[..., at].ravel())
        return frame_of(pa.table(columns), self.like)

    def plot(self) -> Any:
        """A chart of a table of one or two columns, with an interval for each number (Altair).

        It shows itself in notebooks; ``chart.save("table.svg")`` writes it.
        """
        return estimate_chart(self)

    def _rows(self, most: int | None = None) -> Iterator[list[str]]:
        """The head and the cells as they are shown."""
        yield [*self.by, self.what, *self.figures[1:]]
        words = self.words
        for cell in islice(self.cells, most):
            labels = (words[name][cell[name]] for name in self.names)
            yield [*labels, *(_figure(cell[name]) for name in self.figures)]

    def __repr__(self) -> str:
        lines = text_table(self._rows(MOST_LINES), left=len(self.by))
        if len(self) > MOST_LINES:
            lines.append(gettext("... {count:,} more cells", count=len(self) - MOST_LINES))
        return "\n".join([*lines, harmless(self.note)])

    @property
    def words(self) -> dict[str, dict[Label, str]]:
        """The shown text of each label: codes of a labelled file with their words."""
        return {
            name: dict(zip(of_axis, self.spoken.codes_with_labels(column, of_axis), strict=True))
            for name, column, of_axis in zip(self.names, self.by, self.labels, strict=True)
        }

    @property
    def note(self) -> str:
        """The method, and the meaning of the intervals or why there are none."""
        weighted = gettext(" Weighted by {weight}.", weight=self.weight) if self.weight else ""
        intervals = self.no_interval and gettext("No interval: {why}", why=self.no_interval)
        about = gettext("these records") if self.infer == "records" else gettext("the population")
        meaning = intervals or gettext(
            "Intervals at level {level:g}, about {about}.", level=self.level, about=about
        )
        return f"{gettext(self.method)}: {self.why}{weighted} {meaning}"

    def _repr_html_(self) -> str:
        return html_table(self._rows(), self.note)


def text_table(rows: Iterable[Sequence[str]], *, left: int) -> list[str]:
    """Aligned lines: the first columns to the left, the others to the right."""
    shown = [[harmless(entry) for entry in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [
        "  ".join(
            entry.ljust(width) if at < left else entry.rjust(width)
            for at, (entry, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    ]


def html_table(rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table whose first row is its head, in HTML."""
    head, *body = ([html.escape(entry) for entry in row] for row in rows)
    header = "".join(f"<th>{entry}</th>" for entry in head)
    lines = (f"<tr>{''.join(f'<td>{entry}</td>' for entry in row)}</tr>" for row in body)
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{header}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def frame_of(table: pa.Table, like: Any) -> Any:
    """A table as a data frame of the kind of ``like``; PyArrow where there is none.

    There is none for a file, nor for what lies in an engine, as a relation of DuckDB does.
    """
    import narwhals as nw

    known = nw.from_native(like, pass_through=True)
    backend = known.implementation if isinstance(known, nw.DataFrame | nw.LazyFrame) else None
    if backend not in (nw.Implementation.PANDAS, nw.Implementation.POLARS,
                       nw.Implementation.MODIN, nw.Implementation.CUDF):  # fmt: skip
        return table
    return nw.from_arrow(table, backend=backend).to_native()


def _arrow(labels: list[Label]) -> pa.Array:
    """Labels of one type keep it; labels of several types become text."""
    try:
        return pa.array(labels)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if label is None else label_text(label) for label in labels])


def _text(label: Label) -> str:
    return "missing" if label is None else str(label)


def _figure(value: float) -> str:
    if not math.isfinite(value):
        return "?"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


MOST_CELLS = 2_000
"""Cells whose covariance matrix is inverted."""

Margins: TypeAlias = str | Path | Mapping[str, Mapping[Label, float]]
"""Published totals by column and value: a mapping, or a file of column, value and total."""


def calibrated(
    errors: JointErrors,
    margins: Mapping[int, FloatArray],
    *,
    counted: FloatArray | float = 1.0,
    summed: tuple[int, ...] = (),
) -> JointErrors:
    """The numbers with these shares of the values of some axes, and how they err then.

    Args:
        errors: The numbers.
        margins: The shares, by axis.
        counted: What each number adds to the count of records, along the last axis.
        summed: Axes that are summed out afterwards.
    """
    shape, cells = errors.numbers.shape, errors.numbers.size
    if cells > MOST_CELLS:
        raise TooLarge(
            "Tables of up to {most_cells:,} cells are calibrated, got {cells:,}.",
            most_cells=MOST_CELLS,
            cells=cells,
        )
    assert errors.covariance is not None  # noqa: S101 - the caller has looked
    constraints = []
    for axis, shares in margins.items():
        places = np.indices(shape)[axis]
        constraints += [((places == v) - share) * counted for v, share in enumerate(shares)]
    kept = [size for axis, size in enumerate(shape) if axis not in summed]
    single = [1 if axis in summed else size for axis, size in enumerate(shape)]
    number = math.prod(kept)
    units = np.broadcast_to(np.eye(number).reshape(number, *single), (number, *shape))
    covariance = errors.covariance([*units, *constraints])
    bound, start = np.array(constraints).reshape(len(constraints), -1), errors.numbers.ravel()
    missed, whole = bound @ start, float(np.abs(errors.numbers * counted).sum())
    values, vectors = np.linalg.eigh(covariance[number:, number:])
    noisy = values > 1e-9 * whole  # others have no error
    inverse = (vectors[:, noisy] / values[noisy]) @ vectors[:, noisy].T
    if np.abs(missed - covariance[number:, number:] @ inverse @ missed).max() > 1e-6 * whole:
        raise NotCovered(
            "The margins contradict counts that the release states without an error. Check the "
            "margins of columns that were released unchanged."
        )
    correction = units.reshape(number, cells) - covariance[:number, number:] @ inverse @ bound
    numbers = (correction @ start).reshape(kept)
    covariance_of = partial(_corrected, errors, correction)
    made = JointErrors(numbers, covariance_of, degrees=errors.degrees, least_z=errors.least_z)
    return made if summed else replace(made, step=errors.step, unseen=errors.unseen)


def _corrected(
    errors: JointErrors, correction: FloatArray, contrasts: Sequence[FloatArray]
) -> FloatArray:
    """The covariance of combinations of corrected numbers."""
    assert errors.covariance is not None  # noqa: S101 - looked at before
    parts = [contrast.ravel() @ correction for contrast in contrasts]
    return errors.covariance([part.reshape(errors.numbers.shape) for part in parts])


def totals_of(source: Margins) -> dict[str, dict[str, object]]:
    """The published totals by column and by the text of each value."""
    totals: dict[str, dict[str, object]] = {}
    if isinstance(source, Mapping):
        for name, values in source.items():
            totals[name] = {label_text(label): total for label, total in values.items()}
    else:
        table = open_table(source).to_arrow()
        if set(table.column_names) != {"column", "value", "total"}:
            raise InputError("A file of margins must have the columns column, value and total.")
        for row in table.to_pylist():
            by_label = totals.setdefault(str(row["column"]), {})
            label = label_text(row["value"])
            if label in by_label:
                raise InvalidNumber(
                    "Margins of '{row}' give a value twice.",
                    column=str(row["column"]),
                    row=row["column"],
                )
            by_label[label] = row["total"]
    return totals


def margins_of(
    source: Margins, columns: Mapping[str, Sequence[Label]], *, where: str
) -> dict[str, FloatArray]:
    """The published share of each value of some columns, in the order of their labels."""
    totals = totals_of(source)
    for name in totals:
        if name not in columns:
            raise UnknownColumn(
                "Margins name '{column}', which is no {where}.", column=name, where=where
            )
    return {name: _shares(name, columns[name], by_label) for name, by_label in totals.items()}


def _shares(name: str, values: Sequence[Label], totals: Mapping[str, object]) -> FloatArray:
    labels = [label_text(label) for label in values]
    if set(totals) != set(labels):
        lacking, strange = len(set(labels) - set(totals)), len(set(totals) - set(labels))
        raise InvalidNumber(
            "Margins of '{column}' must give each of its {count} values once: {lacking} are "
            "missing, {strange} are none of its values.",
            column=name,
            count=len(labels),
            lacking=lacking,
            strange=strange,
        )
    given = [totals[label] for label in labels]
    numbers = np.array([float(t) if isinstance(t, int | float) else math.nan for t in given])
    if not ((numbers >= 0) & (numbers < math.inf)).all():
        raise InvalidNumber("Margins of '{column}' must be numbers of 0 or more.", column=name)
    if not numbers.sum() > 0:
        raise InvalidNumber("Margins of '{column}' must not all be 0.", column=name)
    return np.asarray(numbers / numbers.sum())
