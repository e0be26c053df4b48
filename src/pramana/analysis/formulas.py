"""Fit a regression formula to released records.

The formula is evaluated once on a grid: every combination of kept values that occurs, crossed with
every original value of the randomised columns. A randomised column cut into bins takes the centres
of its bins as values; written as ``C(age)`` it is categorical. Records whose original value is
missing in a column of the model are left out, as a regression of the original data would do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.analysis.category_models import INTERCEPT, CategoryModel, category_response
from pramana.analysis.channels import channel_of
from pramana.analysis.features import Attribute, codes_in_test, raw_records
from pramana.analysis.formula_syntax import Term, parse_formula, require_released
from pramana.analysis.layout import Axis, Layout
from pramana.analysis.numbers import GapShape, rounding_variance
from pramana.analysis.question import Question, recoded_words, require_values
from pramana.analysis.regression import LINKS, CorrectedScores, Family, solve_scores
from pramana.analysis.regression_results import Regression
from pramana.analysis.released_records import ReleasedRecords
from pramana.base.translation import gettext, noop
from pramana.engine.base import SUMS, open_source, sums_in
from pramana.errors import InvalidNumber, InvalidTable, NotCovered, TooLarge
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Label, TransitionMatrix
from pramana.schema.domains import Bins
from pramana.schema.opened_table import is_number, one_array
from pramana.schema.schema import Column
from pramana.types import BoolArray, FloatArray, IntArray, TableLike

MOST_NUMBERS = 60_000_000
"""The largest grid: cells of kept values times original values times coefficients."""

MOST_WORK = 50_000_000_000
"""Cells times original values times coefficients: more would take many minutes."""

MOST_POSITIONS = 4_000
"""The inverse of a larger matrix is not written out."""


@dataclass(frozen=True)
class Model:
    """A formula with its two sides."""

    text: str
    left: tuple[Term, ...]
    right: tuple[Term, ...]

    @classmethod
    def of(cls, text: str) -> Model:
        """Parse a formula with a response on its left."""
        left, right = parse_formula(text)
        return cls(text, tuple(left), tuple(right))

    @cached_property
    def response(self) -> tuple[str, ...]:
        """The columns on the left."""
        return tuple(sorted(columns_of(self.left)))

    @cached_property
    def covariates(self) -> tuple[str, ...]:
        """The columns on the right."""
        return tuple(sorted(columns_of(self.right)))

    def evaluate(self, frame: Any, terms: Sequence[Term]) -> tuple[tuple[str, ...], FloatArray]:
        """The terms of one side on every row of a frame, categories as indicator columns.

        Formulaic is handed columns that are evaluated already, and never a text to evaluate.
        """
        import pandas as pd
        from formulaic import SimpleFormula
        from formulaic.errors import FormulaicError
        from formulaic.parser import types

        intercept = types.Term([types.Factor("1", eval_method="literal")])
        looked_up = [
            types.Term([types.Factor(factor.text, eval_method="lookup") for factor in term])
            if term
            else intercept
            for term in terms
        ]
        factors = dict.fromkeys(factor for term in terms for factor in term)
        try:
            with np.errstate(all="ignore"):  # values without a number are refused below
                columns = {factor.text: factor.evaluate(frame) for factor in factors}
                data = pd.DataFrame(columns, index=frame.index)
                formula = SimpleFormula(looked_up, _ordering="none")
                matrix = formula.get_model_matrix(data, context={}, na_action="raise")
        except InvalidNumber:
            raise
        except (FormulaicError, ValueError, TypeError, KeyError) as error:
            raise InvalidNumber(
                "The formula {text!r} cannot be evaluated ({kind}): functions take numbers, and "
                "columns of text are categories.",
                text=self.text,
                kind=type(error).__name__,
            ) from None
        values = np.asarray(matrix, dtype=np.float64)
        if not values.size:
            raise InvalidNumber(
                "The formula {text!r} has nothing to fit on one side of ~.", text=self.text
            )
        if not np.isfinite(values).all():
            raise InvalidNumber(
                "The formula {text!r} has no finite number for some values of its columns, as a "
                "logarithm has none of 0. Filter them out, or use another function.",
                text=self.text,
            )
        return tuple(map(str, matrix.columns)), values.reshape(len(frame), -1)

    def as_categories(self, name: str) -> list[bool]:
        """Whether a column is written as ``C(name)``, each time that it is named."""
        factors = [factor for term in (*self.left, *self.right) for factor in term]
        return [factor.categories == name for factor in factors if name in factor.columns]


def columns_of(terms: Iterable[Term]) -> set[str]:
    """The columns that some terms name."""
    return {name for term in terms for factor in term for name in factor.columns}


def variables_of(text: str) -> tuple[str, ...]:
    """All columns that a formula names."""
    model = Model.of(text)
    return tuple(dict.fromkeys((*model.response, *model.covariates)))


@dataclass(frozen=True)
class ModelAsked:
    """A model to fit, and how each of its columns enters.

    Attributes:
        model: The formula.
        family: The family.
        changed: The columns that were randomised.
        kept: The columns that were released unchanged.
        summed: The response, if sums of its values are enough.
        question: The filter, the weights and the level.
    """

    model: Model
    family: Family
    changed: tuple[str, ...]
    kept: tuple[str, ...]
    summed: str | None
    question: Question


@dataclass(frozen=True, eq=False)
class ModelCells:
    """Released records by cells, and the original values that each cell can have.

    Attributes:
        table: One row per cell: kept columns and sums.
        names: The randomised columns.
        truths: Their values; ``None`` where an original value is left out of the model.
        undone: For each factor its rows, and the row that each cell has (CorrectedScores).
        basis: What makes the estimates right.
        apart: The draw of each cell, if there were several draws of fixed size.
        squares: Whether squares of scores can be estimated as well.
        errors: What the standard errors are.
    """

    table: pa.Table
    names: tuple[str, ...]
    truths: list[tuple[Label, ...]]
    undone: tuple[tuple[FloatArray, IntArray], ...]
    basis: str
    apart: IntArray | None = None
    squares: bool = True
    errors: str = noop("robust standard errors")


def fit_formula(
    records: ReleasedRecords,
    text: str,
    question: Question,
    *,
    family: Family,
    cells: Callable[[ModelAsked], ModelCells],
) -> Regression:
    """Fit the model to the original data behind the records.

    ``cells`` gives the records by cells: it differs by how they were randomised.
    """
    model = Model.of(text)
    names = (*model.response, *model.covariates)
    require_released(text, names, records.opened.schema.names)
    records.require_without_noise(model.covariates)
    changed = tuple(records.changed(names))
    columns = {name: records.certificate.schema.column(name) for name in names}
    require_values(*([columns[n] for n in side] for side in (model.response, model.covariates)))
    centred = [name for name in columns if uses_centres(columns[name], model)]
    for name in set(centred) & set(model.response):
        raise NotCovered(
            "'{column}' left in bins, so that there is no model of its values. Ask for shares of "
            "the bins by groups, or write C({column}) for the bins as categories.",
            column=name,
        )
    summed = _summed_response(records, model, changed, family)
    kept = tuple(name for name in columns if name not in changed and name != summed)
    released = cells(ModelAsked(model, family, changed, kept, summed, question))
    if not released.table.num_rows:
        raise InvalidTable("No released record has a value in every column of the model.")
    frame, kinds, present = _grid(records, model, released, kept, question)
    sides = _sides(model, frame, family, summed, columns)
    numbers = len(present) * sides.equations * len(sides.names)
    _require_size(len(kinds), numbers, max(len(kinds) * numbers, sides.design.size))
    design, response = sides.rows()
    sums = dict.fromkeys(SUMS, np.zeros(released.table.num_rows)) | sums_in(released.table)
    if not all(np.isfinite(values).all() for values in sums.values()):
        raise InvalidNumber("The response or the weight of some records is not finite.")
    scores = CorrectedScores(
        family=family,
        design=_where_present(design, present),
        response=None if response is None else _where_present(response, present),
        kept=kinds,
        undone=released.undone,
        apart=released.apart,
        **{name: sums[name] for name in SUMS},
    )
    rounding, *extremes = _rounding(model, frame, released, columns, sides, scores)
    scores = replace(scores, rounding=rounding)
    if not released.squares:
        question = replace(question, infer="population")
    names = sides.names
    solve = partial(solve_scores, names=names, infer=question.infer, z=question.z(len(names)))
    solution = solve(scores)
    for extreme in extremes:
        solution = solution.widened(partial(solve, replace(scores, rounding=extreme)))
    basis = f"{sides.event}{released.basis}"
    remarks = _remarks(model, family, columns, changed, centred)
    if extremes:
        remarks += gettext(
            " A grid is coarse, and rounding adds much to the variance: intervals are valid "
            "wherever the numbers lie between points, standard errors are not. Use more points."
        )
    grid = frame[list(model.covariates)].drop_duplicates()
    return Regression(
        formula=text,
        family=family,
        names=names,
        categories=() if sides.categories is None else sides.categories.categories,
        coefficients=solution.coefficients,
        covariance=solution.covariance,
        reach=solution.reach,
        from_zero=solution.from_zero,
        question=question,
        records=round(scores.records),
        why=f"{basis}; {gettext(released.errors)}.{remarks}",
        basis=basis,
        predictor=Predictor(model, tuple(columns.values()), grid, sides),
    )


def _where_present(rows: FloatArray, present: BoolArray) -> FloatArray:
    """Rows of the grid by kind of kept values and original value; 0 where a value is missing."""
    rows = rows.reshape(-1, len(present), *rows.shape[1:])
    return np.asarray(rows * present.reshape(-1, *[1] * (rows.ndim - 2)))


def _remarks(
    model: Model,
    family: Family,
    columns: Mapping[str, Column],
    changed: Sequence[str],
    centred: Sequence[str],
) -> str:
    """What a reader must know of the columns.

    The number of records reveals the records without a value in unchanged columns only.
    """
    remarks = ""
    may_lack = [
        name
        for name in changed
        if {None, *columns[name].labels_for_missing} & {*columns[name].labels}
    ]
    if may_lack:
        remarks += gettext(
            " Records without {columns} are left out.", columns=gettext(" or ").join(may_lack)
        )
    remarks += recoded_words(columns.values())
    if centred:
        remarks += gettext(
            " The centre of each bin represents the values of {columns}: intervals do not "
            "include this error.",
            columns=gettext(" and ").join(centred),
        )
    rounded = [name for name in model.covariates if columns[name].gridded]
    if rounded:
        words = noop(
            " Rounding of {columns} to the grid is not corrected: intervals do not include this "
            "error."
        )
        if family == "linear":
            words = noop(
                " Rounding of {columns} to the grid is corrected as if numbers rose or fell evenly "
                "between points."
            )
        remarks += gettext(words, columns=gettext(" and ").join(rounded))
    return remarks


@dataclass(frozen=True, eq=False)
class Predictor:
    """What a fitted model needs to predict from records in original values."""

    model: Model
    columns: tuple[Column, ...]
    grid: Any
    sides: Sides

    def __call__(self, table: TableLike, coefficients: FloatArray) -> FloatArray:
        """The expected response of each record, or the probability of each category.

        It is nan where a covariate is missing or unknown.
        """
        import pandas as pd

        needed = [column for column in self.columns if column.name in self.model.covariates]
        attributes = [Attribute(c.name, None if c.domain is None else c.labels, c) for c in needed]
        if not attributes:  # an intercept alone, the same for every record
            return self.sides.mean(np.ones((open_source(table).rows, 1)), coefficients)
        rows = raw_records(attributes, table)
        values = {a.name: self._values(a, rows[a.name]) for a in attributes}
        new = pd.DataFrame(values, index=range(rows.num_rows))
        known = ~new.isna().any(axis=1).to_numpy()
        # The grid brings every category, so that each keeps its place and its reference.
        frame = pd.concat([new[known], self.grid[list(new.columns)]], ignore_index=True)
        names, design = self.model.evaluate(frame, self.model.right)
        if names != self.sides.terms:
            raise InvalidTable("The records must have no categories that the model does not know.")
        mean = self.sides.mean(design[: int(known.sum())], coefficients)
        expected = np.full((len(new), *mean.shape[1:]), np.nan)
        expected[known] = mean
        return expected

    def _values(self, attribute: Attribute, values: pa.ChunkedArray) -> Any:
        """A column as the grid has it: numbers as they are, categories by their labels."""
        import pandas as pd

        fitted = self.grid[attribute.name]
        if attribute.labels is None or (is_number(values.type) and fitted.dtype.kind in "if"):
            return one_array(values).to_pandas()
        labels = np.array([*attribute.labels, None], dtype=object)[codes_in_test(attribute, values)]
        if not isinstance(fitted.dtype, pd.CategoricalDtype):
            return pd.Series(labels)
        labels[~np.isin(labels, fitted.cat.categories.to_numpy())] = None  # outside the filter
        return pd.Series(pd.Categorical(labels, dtype=fitted.dtype))


def cells_of_steps(records: ReleasedRecords, mechanism: Mechanism, asked: ModelAsked) -> ModelCells:
    """Whole records that went through the steps of a mechanism."""
    about = replace(asked.question, by=asked.changed)
    cells = records.cells(about, mechanism, value=asked.summed, also=asked.kept)
    layout, whole = cells.layout, complete(cells.table, asked.kept)
    places = layout.positions([cells.codes[name][whole] for name in layout.columns])
    axes = [axis for axis in layout.axes if axis.step is not None]
    truths = itertools.product(*(axis.group_cells for axis in axes))
    return ModelCells(
        cells.table.filter(pa.array(whole)),
        tuple(name for axis in axes for name in axis.columns if name in layout.by),
        [tuple(itertools.chain(*parts)) for parts in truths],
        tuple(_undone(axis, axis.step, layout, places) for axis in axes if axis.step is not None),
        gettext("scores corrected for the published matrices")
        if asked.changed
        else gettext("these columns were released unchanged"),
    )


def uses_centres(column: Column, model: Model) -> bool:
    """Whether a model reads a column of bins as numbers, of which it knows the bins' centres."""
    domain = column.domain
    if not isinstance(domain, Bins) or all(model.as_categories(column.name)):
        return False
    return column.randomised or (column.binned and domain.release != "label")


def _summed_response(
    records: ReleasedRecords, model: Model, changed: Sequence[str], family: Family
) -> str | None:
    """The response, if sums of its values are enough: least squares of an unchanged number."""
    if family != "linear" or len(model.response) != 1:
        return None
    (name,) = model.response
    is_column = len(model.left) == 1 and [factor.is_column for factor in model.left[0]] == [True]
    if not is_column or name in changed or name in model.covariates:
        return None
    records.require(name)
    return name if is_number(records.opened.schema.field(name).type) else None


def complete(table: pa.Table, names: Sequence[str]) -> BoolArray:
    """Which rows have a value in each of the columns."""
    whole = np.ones(table.num_rows, dtype=np.bool_)
    for name in names:
        values = table.column(name).combine_chunks()
        whole &= ~np.asarray(values.is_null(nan_is_null=True)).astype(np.bool_)
    return whole


def _require_size(cells: int, each: int, numbers: int) -> None:
    if numbers > MOST_NUMBERS or cells * each > MOST_WORK:
        raise TooLarge(
            "The model has {numbers:,} numbers to work on ({cells:,} cells of records, each with "
            "{each:,}); at most {most_numbers:,}, and {most_work:,} for all cells, are served. "
            "Use fewer or coarser randomised columns, or round the kept ones.",
            numbers=numbers,
            cells=cells,
            each=each,
            most_numbers=MOST_NUMBERS,
            most_work=MOST_WORK,
        )


def _grid(
    records: ReleasedRecords,
    model: Model,
    cells: ModelCells,
    kept: Sequence[str],
    question: Question,
) -> tuple[Any, IntArray, BoolArray]:
    """Kinds of kept values crossed with original values; the kind of each cell; values present.

    Values outside the filter are no values of the model.
    """
    import pandas as pd

    table = cells.table
    values = {name: one_array(table.column(name)).to_pandas() for name in kept}
    kinds = pd.DataFrame(values, index=range(table.num_rows))
    which = np.zeros(table.num_rows, dtype=np.int64)
    if kept:
        which = kinds.groupby(list(kept), sort=False, observed=True).ngroup().to_numpy()
    kinds = kinds.iloc[np.unique(which, return_index=True)[1]].reset_index(drop=True)
    _require_size(table.num_rows, len(cells.truths), len(kinds) * len(cells.truths))
    inside = records.kept([c for c in question.where if c.column in cells.names])
    frame = kinds.loc[kinds.index.repeat(len(cells.truths))].reset_index(drop=True)
    present = np.ones(len(cells.truths), dtype=np.bool_)
    for place, name in enumerate(cells.names):
        column = records.certificate.schema.column(name)
        gone = (None, *column.labels_for_missing)
        known = tuple(label for label in inside.get(name, column.labels) if label not in gone)
        if not known:
            raise InvalidTable("No record can meet the filter. Loosen it.")
        labels = [original[place] for original in cells.truths]
        present &= np.array([label in known for label in labels], dtype=np.bool_)
        values = _values(column, model, labels, known)
        again = np.tile(np.arange(len(values)), len(kinds))
        frame[name] = values.iloc[again].reset_index(drop=True)
    return frame, which.astype(np.int64), present


def _values(column: Column, model: Model, labels: Sequence[Label], known: tuple[Label, ...]) -> Any:
    """The values of labels of a randomised column; any value where one is missing."""
    import pandas as pd

    filled, domain = [label if label in known else known[0] for label in labels], column.domain
    if isinstance(domain, Bins) and uses_centres(column, model):
        if not all(math.isfinite(edge) for edge in domain.edges):
            raise NotCovered(
                "'{column}' has bins without an end, which have no centre: write C({column}) to "
                "use the bins as categories.",
                column=column.name,
            )
        centres = dict(zip(domain.labels, domain.centres, strict=False))
        return pd.Series([float(centres[label]) for label in filled])
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in known):
        return pd.Series(filled)
    return pd.Series(pd.Categorical(filled, categories=known))


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides of a model on the grid of original values.

    Attributes:
        family: The family.
        terms: The names of the columns of the model matrix.
        design: The model matrix.
        response: The response, or ``None`` if its values are summed; codes of categories.
        event: The event of a logistic model, or the order of categories, in words.
        categories: The equations of a model of categories.
    """

    family: Family
    terms: tuple[str, ...]
    design: FloatArray
    response: FloatArray | None = None
    event: str = ""
    categories: CategoryModel | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return self.terms if self.categories is None else self.categories.names

    @property
    def equations(self) -> int:
        """The number of equations a record."""
        return 1 if self.categories is None else self.categories.equations

    def rows(self) -> tuple[FloatArray, FloatArray | None]:
        """Design and response of each equation, on the second axis."""
        if self.categories is None or self.response is None:
            return self.design[:, None], None if self.response is None else self.response[:, None]
        return self.categories.rows(self.design, self.response.astype(np.int64))

    def mean(self, design: FloatArray, coefficients: FloatArray) -> FloatArray:
        """The expected response by rows of the model matrix."""
        if self.categories is None:
            return LINKS[self.family](design @ coefficients)[0]
        return self.categories.probabilities(design, coefficients)


def _sides(
    model: Model, frame: Any, family: Family, summed: str | None, columns: Mapping[str, Column]
) -> Sides:
    """The model matrix and the response, unless it is summed."""
    terms, design = model.evaluate(frame, model.right)
    if family == "ordered" and INTERCEPT not in terms:
        raise InvalidNumber("An ordered model has thresholds as intercepts: leave - 1 or + 0 out.")
    if summed is not None:
        return Sides(family, terms, design)
    if family in ("multinomial", "ordered"):
        categories, codes = category_response(model.left, frame, columns, family)
        sign = " < " if family == "ordered" else ", "
        event = f"the categories are {sign.join(categories)}; "
        equations = CategoryModel(family, categories, terms)
        return Sides(family, terms, design, codes.astype(np.float64), event, equations)
    (names, response), event = model.evaluate(frame, model.left), ""
    if len(names) == 2 and family == "logistic":  # a category of two values: the last one is 1
        response, event = response[:, 1:], f"the event is {names[1]}; "
    if response.shape[1] != 1:
        more = {
            "logistic": " or a column of two values (categories: family='multinomial')",
            "linear": " (categories: family='multinomial')",
        }
        raise InvalidNumber(
            "The response of a {family} model must be one number{more}; got {count} columns.",
            family=family,
            more=more.get(family, ""),
            count=len(names),
        )
    values = response[:, 0]
    if family == "logistic" and not np.isin(values, (0.0, 1.0)).all():
        levels = np.unique(values)
        if len(levels) != 2:
            raise InvalidNumber(
                "The response of a logistic model must be 0 or 1, or have two values."
            )
        values, event = (values == levels[1]) * 1.0, f"the event is {names[0]} = {levels[1]:g}; "
    if family == "poisson" and (values < 0).any():
        raise InvalidNumber("The response of a Poisson model must not be negative.")
    return Sides(family, terms, design, values, event)


def _rounding(
    model: Model,
    frame: Any,
    cells: ModelCells,
    columns: Mapping[str, Column],
    sides: Sides,
    scores: CorrectedScores,
) -> list[FloatArray | None]:
    """How design and response rise with each number on a grid, times its error by rounding.

    One layer a number; rows are kinds of kept values by original values. Both must be straight
    lines in the number. First by the fitted distributions; if grids are coarse, then by all
    combinations of the least and the largest errors that the counts allow.
    """
    slopes: list[FloatArray] = []
    errors: list[list[FloatArray]] = []
    design, response = sides.design, sides.response
    before = np.column_stack([design, np.zeros(len(design)) if response is None else response])
    for place, name in enumerate(cells.names):
        if name not in columns or not columns[name].gridded:
            continue  # others are filtered on
        column = columns[name]
        codes = {label: at for at, label in enumerate(column.labels)}
        numbers = np.array([0.0 if v is None else float(str(v)) for v in column.labels])
        at = np.array([codes[original[place]] for original in cells.truths])
        counts = np.zeros(len(numbers))
        np.add.at(counts, at, scores.truths)
        shape = GapShape.of(column, counts)
        shapes = [shape, *(shape.extremes if name in model.covariates else ())]
        errors.append([np.sqrt(rounding_variance(column, numbers, s))[at] for s in shapes])
        rises = []
        for distance in (1.0, 2.0):
            moved = frame.assign(**{name: frame[name] + distance})
            after = [model.evaluate(moved, model.right)[1]]
            if response is None:
                after.append(np.zeros((len(design), 1)))
            else:
                values = _sides(model, moved, scores.family, None, columns).response
                after.append(np.asarray(values)[:, None])
            rises.append((np.hstack(after) - before) / distance)
        size = float(np.abs(rises[0]).max(initial=1e-300))
        straight = np.allclose(rises[0], rises[1], rtol=1e-6, atol=1e-6 * size)
        if not straight or any(model.as_categories(name)):
            raise NotCovered(
                "'{column}' was rounded to a grid by chance, which only straight lines in it "
                "allow to undo: write {column} itself, without functions, powers or C().",
                column=name,
            )
        slopes.append(rises[0])
    if not slopes or scores.family != "linear":
        return [None]
    choices = [[fitted for fitted, *_ in errors]]
    if any(len(parts) > 1 for parts in errors):
        choices += map(list, itertools.product(*(parts[1:] or parts for parts in errors)))
    times = len(frame) // len(errors[0][0])
    return [
        np.array([s * np.tile(e, times)[:, None] for s, e in zip(slopes, choice, strict=True)])
        for choice in choices
    ]


def _undone(
    axis: Axis, step: Step, layout: Layout, places: list[IntArray]
) -> tuple[FloatArray, IntArray]:
    """The rows of the inverse of a step, merged into original values, and the row of each cell."""
    place = layout.axes.index(axis)
    if axis.size > MOST_POSITIONS:
        raise TooLarge(
            "The columns {columns} were randomised together over {size:,} cells; regressions "
            "serve at most {most_positions:,}.",
            columns=", ".join(axis.columns),
            size=axis.size,
            most_positions=MOST_POSITIONS,
        )

    def inverse(matrix: TransitionMatrix) -> FloatArray:
        return channel_of(0, axis, matrix).along("solve", np.eye(axis.size)).T

    if step.matrix is not None:
        return inverse(step.matrix), places[place]
    strata = [next(i for i, a in enumerate(layout.axes) if a.columns == (n,)) for n in step.strata]
    number = np.zeros(len(places[place]), dtype=np.int64)
    for stratum in strata:
        number = number * layout.axes[stratum].size + places[stratum]
    cells = list(itertools.product(*([c[0] for c in layout.axes[s].cells] for s in strata)))
    inverses = {stratum: inverse(matrix) for stratum, matrix in step.by_stratum.items()}
    if any(cells[occurring] not in inverses for occurring in np.unique(number)):
        raise NotCovered(
            "Some released records of {columns} are in strata for which the certificate has no "
            "matrix. Filter on the strata that it has.",
            columns=", ".join(axis.columns),
        )
    nothing = np.zeros((axis.size, next(iter(inverses.values())).shape[1]))
    rows = np.concatenate([inverses.get(cell, nothing) for cell in cells])
    return rows, number * axis.size + places[place]
