"""Draw synthetic records from a release: values that the original records could have had.

    rank       one column at a time [Dowd, Alg. 2]: sort the records by the released value and
               assign the estimated original counts in that order, ties at random. Margins are
               restored, associations are not.
    posterior  draw the values of each record from their distribution given the whole released
               record and a model of the whole table, with only as much dependence as held-out
               records confirm.

The models of ``posterior`` are compared by the exact likelihood of held-out records: independent
columns, latent classes, and, if classes find dependence and the table is small enough, the whole
joint table by the regularised EM. If no dependence exceeds the noise, records get the estimated
margins alone.

A release is rich if a cell of a typical pair of columns has the weight of many records:
n p_a**2 p_b**2 over the number of cells, p being the retention. Then the joint table, if it is
small enough, holds more than a few classes can.

Unchanged columns join the model, because a published income says much about a randomised degree:
text and truth values by their values, numbers by ten bins of about equal mass. They stay unchanged.

Fits to several copies, each with the parameters of its model drawn anew, are pooled. With U the
mean of the variances of m fits and B the variance between the estimates, the variance of the mean
estimate is

    T = U + (1 + 1/m) B                                                     [Rubin87]

with Student's t on nu degrees of freedom, corrected for the size of the sample [Barnard99]. Proof,
and why the rule of fully synthetic data does not apply here: docs/proofs/pooling.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf, prod
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.analysis.channels import Channels
from pramana.analysis.estimates import html_table, text_table
from pramana.analysis.features import numbers_of
from pramana.analysis.latent_class_choice import fit_model, refit
from pramana.analysis.latent_classes import TINY, Blend
from pramana.analysis.layout import Layout
from pramana.analysis.numbers import drawn_numbers
from pramana.analysis.observed import MOST_HELD, Feature, WholeRecords
from pramana.analysis.regression_results import Coefficients
from pramana.analysis.regularised_em import fit
from pramana.analysis.synthesis_draws import draw_given, draw_given_table, likelihood_of, ranked
from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import require_choice, require_number
from pramana.errors import InputError, InvalidNumber, InvalidTable
from pramana.mechanisms.transition import Label
from pramana.schema.codec import decode
from pramana.schema.joint_cells import cell_counts
from pramana.schema.schema import Column
from pramana.types import FloatArray, IntArray

JOINT_CELLS = 200_000
"""Up to this many cells the whole joint distribution is a candidate."""


PARTS = 3
"""One part of this many is held out to choose between classes and the joint table."""

CHAIN, PRIOR_SHARE = 30, 0.1
"""The steps of the chain that draws a table, and the weight of its prior as a share of the records.

Measured: a prior of the weight of all records made standard errors a fifth too small.
"""


def draw_from_model(
    places: list[IntArray], channels: Channels, keystream: Keystream, *, redraw: bool = False
) -> tuple[list[IntArray], str]:
    """The records, and how they were drawn.

    With ``redraw`` the parameters of the model are a draw from their posterior, about
    (docs/proofs/pooling.md): by a chain where the whole joint table is small enough, otherwise by
    a fit to a sample of the records with replacement.
    """
    sizes = channels.layout.shape
    if redraw and prod(sizes) <= JOINT_CELLS:
        return _end_of_chain(places, channels, keystream), "the joint distribution."
    fitted = places
    if redraw:
        rows = resampled(len(places[0]), keystream)
        fitted = [place[rows] for place in places]
    evidence, fit_evidence = _evidence(places, channels), _evidence(fitted, channels)
    small = prod(evidence.sizes) <= JOINT_CELLS
    rich = _records_a_cell(evidence) >= 40.0  # effective records
    if rich and small:
        drawn = _from_joint(places, fit_evidence, channels, keystream)
        return drawn, "the estimated joint distribution."
    blend = fit_model(fit_evidence, keystream)
    if not blend.settings and not redraw:
        return ranked(places, channels, keystream, fitted=True), blend.why
    if small and blend.settings and _joint_is_better(fit_evidence, channels, blend, keystream):
        why = "the joint distribution, which explains records held out better than latent classes."
        return _from_joint(places, fit_evidence, channels, keystream), why
    drawn = [np.empty_like(codes) for codes in evidence.codes]
    for number, features in enumerate(evidence.channels):
        rows = np.flatnonzero(evidence.group == number)
        seen = [codes[rows] for codes in evidence.codes]
        parts = draw_given(blend, features, seen, keystream, group=number)
        for whole, part in zip(drawn, parts, strict=True):
            whole[rows] = part
    return drawn, blend.why


def _records_a_cell(evidence: WholeRecords) -> float:
    """The effective records in a cell of the median pair of axes."""
    features = evidence.channels[0]
    retention = [1.0 if f.base is None else 1.0 - float(f.base.sum()) for f in features]
    share = [kept**2 / f.size for kept, f in zip(retention, features, strict=True)]
    pairs = [a * b for a, b in combinations(share, 2)]
    return len(evidence.group) * float(np.median(pairs or share))


def _end_of_chain(
    places: list[IntArray], channels: Channels, keystream: Keystream
) -> list[IntArray]:
    """Draw the records given a table and a table given the records, in turn [Tanner87].

    The table has a Dirichlet prior around the estimate by the regularised EM.
    """
    from scipy.special import gammaincinv

    sizes, released = channels.layout.shape, cell_counts(places, channels.layout.shape)
    table = fit(released, channels) if channels.randomised else released
    prior = PRIOR_SHARE * table
    for step in range(CHAIN):
        drawn = draw_given_table(places, table, channels, keystream.apart(Stream("chain", step)))
        uniforms = keystream.uniforms(Stream("table", step), 0, table.size).reshape(sizes)
        table = gammaincinv(cell_counts(drawn, sizes) + prior + TINY, uniforms) + TINY
    return draw_given_table(places, table, channels, keystream)


def resampled(records: int, keystream: Keystream) -> IntArray:
    """The rows of a sample with replacement, as large as the records."""
    rows = keystream.integers(Stream("resample"), 0, records, count=records)
    return np.asarray(rows, dtype=np.int64)


def _from_joint(
    places: list[IntArray], evidence: WholeRecords, channels: Channels, keystream: Keystream
) -> list[IntArray]:
    """Every record drawn given the joint distribution by the regularised EM."""
    table = cell_counts(evidence.codes, evidence.sizes)
    if channels.randomised:
        table = fit(table, channels)
    return draw_given_table(places, table, channels, keystream)


def _evidence(places: list[IntArray], channels: Channels) -> WholeRecords:
    """The records with what is seen of each axis, by stratum where matrices depend on it."""
    axes, sizes = range(len(places)), channels.layout.shape
    seen = [likelihood_of(axis, places, channels) for axis in axes]
    strata = [codes // size for (_, codes), size in zip(seen, sizes, strict=True)]
    patterns, group = np.unique(np.stack(strata, axis=1), axis=0, return_inverse=True)

    def feature(axis: int, stratum: int) -> Feature:
        size = sizes[axis]
        if channels.layout.axes[axis].step is None:
            return Feature(axis, size)
        matrix = seen[axis][0][stratum * size : (stratum + 1) * size].T
        return Feature.of_channel(axis, np.ascontiguousarray(matrix))

    features = tuple(
        tuple(feature(axis, int(pattern[axis])) for axis in axes) for pattern in patterns
    )
    return WholeRecords(sizes, features, group.ravel().astype(np.int64), tuple(places))


def _joint_is_better(
    evidence: WholeRecords, channels: Channels, blend: Blend, keystream: Keystream
) -> bool:
    """Whether the joint table makes records held out more likely than the classes do."""
    rest, held = next(evidence.parts(PARTS, keystream))
    if not len(rest) or not len(held):
        return False
    held = held[:MOST_HELD]
    climbs = refit(evidence.fitted(rest), blend.settings, keystream)
    judged = evidence.judged(held)
    chances = np.mean([np.exp(climb.held_out(judged)) for climb in climbs], axis=0)
    classes = climbs[0].held_counts(judged) @ np.log(np.maximum(chances, TINY))
    table = fit(cell_counts([codes[rest] for codes in evidence.codes], evidence.sizes), channels)
    cells = tuple(codes[held] for codes in evidence.codes)
    logs = np.log(np.maximum(channels.forward(table)[cells], TINY))
    if evidence.kept:
        others = tuple(axis for axis in range(table.ndim) if axis not in evidence.kept)
        given = table.sum(axis=others)[tuple(cells[axis] for axis in evidence.kept)]
        logs -= np.log(np.maximum(given, TINY))
    else:
        logs -= np.log(table.sum())
    return float(logs.sum()) > float(classes)


SynthesisMethod = Literal["posterior", "rank"]
SYNTHESIS_METHODS: tuple[SynthesisMethod, ...] = ("posterior", "rank")


@dataclass(frozen=True, eq=False)
class SyntheticRecords:
    """Codes of synthetic records by column, and how they were drawn."""

    columns: tuple[str, ...]
    codes: tuple[NDArray[Any], ...]
    why: str


def synthesize_records(
    codes: Sequence[NDArray[Any]],
    layout: Layout,
    *,
    keystream: Keystream,
    method: SynthesisMethod = "posterior",
    redraw: bool = False,
) -> SyntheticRecords:
    """Draw synthetic records, given one array of released codes for each column of ``layout``.

    With ``redraw`` the parameters of the model are drawn as well.
    """
    require_choice("method", method, SYNTHESIS_METHODS)
    if not codes or len(codes[0]) == 0:
        raise InvalidTable("There are no released records to synthesize from.")
    channels = Channels(layout.only(range(len(layout.axes))))
    places = layout.positions(codes)
    if method == "rank":
        drawn = ranked(places, channels, keystream)
        why = "one column at a time: margins are reproduced, dependence between columns is not."
    else:
        drawn, how = draw_from_model(places, channels, keystream, redraw=redraw)
        why = f"drawn given each whole released record and a model of the whole table: {how}"
    synthesized = [
        codes_at_place[place]
        for axis, place in zip(layout.axes, drawn, strict=True)
        for codes_at_place in layout.codes_of(axis)
    ]
    same_kind = [new.astype(old.dtype) for new, old in zip(synthesized, codes, strict=True)]
    return SyntheticRecords(layout.columns, tuple(same_kind), why)


def with_drawn_column(
    table: pa.Table, column: Column, codes: NDArray[Any], keystream: Keystream
) -> pa.Table:
    """Replace a column of released records by the values of drawn codes."""
    words = keystream.words(Stream("rebuild", "inside", column.name), 0, len(codes))
    place = table.column_names.index(column.name)
    drawn = drawn_numbers if column.gridded else decode
    return table.set_column(place, column.name, drawn(column, np.asarray(codes), words))


MOST_VALUES = 40
"""A column of more values, as a name or a postcode, is too thinly spread to help."""

BINS = 10


@dataclass(frozen=True, eq=False)
class Companion:
    """An unchanged column as codes: labels, and the place of each record among them."""

    labels: tuple[Label, ...]
    codes: IntArray


def company_of(table: pa.Table, names: Sequence[str]) -> dict[str, Companion]:
    """Unchanged columns that can say something about the randomised ones."""
    companions = {name: companion_of(table.column(name)) for name in names}
    return {name: companion for name, companion in companions.items() if companion is not None}


def companion_of(column: pa.ChunkedArray) -> Companion | None:
    """The column as codes, or ``None`` if it has too many values to help.

    >>> companion = companion_of(pa.chunked_array([["a", None, "b", "a"]]))
    >>> companion.labels, companion.codes.tolist()
    (('a', 'b', None), [0, 2, 1, 0])
    """
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = numbers_of(column)
        known = numbers[~np.isnan(numbers)]
        if not len(known):
            return None
        edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS))
        codes = np.searchsorted(edges, numbers, side="right").astype(np.int64)
        codes[np.isnan(numbers)] = len(edges) + 1
        used, codes = np.unique(codes, return_inverse=True)
        return Companion(tuple(used.tolist()), codes.astype(np.int64))
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif not (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind)
    ):
        return None
    values = pc.unique(column).drop_null()
    if not 0 < len(values) <= MOST_VALUES:
        return None
    values = values.take(pc.sort_indices(values))
    places = pc.index_in(column, value_set=values).fill_null(len(values))
    missing = (None,) if column.null_count else ()
    codes = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return Companion((*values.to_pylist(), *missing), codes)


ROUNDING = 1e-12
"""A smaller share of the variance between copies is rounding error."""


@dataclass(frozen=True, eq=False)
class PooledFit(Coefficients):
    """Estimates combined over synthetic copies.

    Attributes:
        names: One name an estimate.
        coefficients: The mean of the estimates.
        covariance: Of the mean: within the copies, and between them.
        degrees: Degrees of freedom of each estimate.
        copies: The number of copies.
        level: Of the intervals.
    """

    names: tuple[str, ...]
    coefficients: FloatArray = field(repr=False)
    covariance: FloatArray = field(repr=False)
    degrees: FloatArray = field(repr=False)
    copies: int
    level: float = 0.95
    _formats: ClassVar[Mapping[str, str]] = {
        "coef": ".5g",
        "std err": ".5g",
        "t": ".3f",
        "df": ".3g",
        "P>|t|": ".5g",
    }

    @property
    def confidence(self) -> float:
        """The confidence level of the intervals."""
        return self.level

    @property
    def p_value(self) -> FloatArray:
        """Two-sided, of the hypothesis that the coefficient is 0."""
        from scipy.special import stdtr

        return np.asarray(2 * stdtr(self.degrees, -np.nan_to_num(np.abs(self.z), nan=0.0)))

    @property
    def _reach(self) -> FloatArray:
        from scipy.special import stdtrit

        return np.tile(stdtrit(self.degrees, (1 + self.level) / 2) * self.se, (2, 1))

    def to_arrow(self) -> pa.Table:
        """One row an estimate."""
        return pa.table({"name": list(self.names)} | self._columns())

    def to_pandas(self) -> Any:
        """One row an estimate, as a pandas data frame with the names as its index."""
        import pandas as pd

        return pd.DataFrame(self._columns(), index=list(self.names))

    def _columns(self) -> dict[str, FloatArray]:
        figures = {"coefficient": self.coefficients, "se": self.se, "t": self.z}
        ends = {"low": self.low, "high": self.high}
        return {**figures, "degrees": self.degrees, "p_value": self.p_value, **ends}

    def __repr__(self) -> str:
        return "\n".join([*text_table(self._rows(), left=1), self._note])

    def _repr_html_(self) -> str:
        return html_table(self._rows(), self._note)

    @property
    def _note(self) -> str:
        return f"{self.copies} synthetic copies; errors include the draws of the model."


def pool(fits: Iterable[Any], *, level: float = 0.95) -> PooledFit:
    """Combine fits of one model to the copies of ``release.synthesize(copies=m)``.

    Args:
        fits: One fit a copy: an object with ``params`` and ``cov_params()`` or ``bse``, as those of
            statsmodels and of ``release.regress``, or a pair of an estimate and its variance (or of
            several estimates and their variances or covariance matrix).
        level: Of the intervals.

    >>> pooled = pool([(1.0, 0.5), (2.0, 0.5), (3.0, 0.5)])
    >>> pooled.coefficients.tolist(), pooled.se.round(4).tolist()
    ([2.0], [1.354])
    """
    require_number("level", level, low=0, high=1)
    read = [_read(fit) for fit in fits]
    if len(read) < 2:
        raise InvalidNumber(f"At least 2 fits are needed, one for each copy, got {len(read)}.")
    names = read[0][0]
    if any(other != names for other, *_ in read):
        raise InputError(
            "All fits must have the same estimates in the same order. A rare category may be "
            "missing in a copy: declare all categories of a column before fitting."
        )
    estimates = np.stack([values for _, values, _, _ in read])
    within = np.mean([covariance for _, _, covariance, _ in read], axis=0)
    deviations, copies = estimates - estimates.mean(axis=0), len(read)
    between = (1 + 1 / copies) * deviations.T @ deviations / (copies - 1)
    complete = min(degrees for *_, degrees in read)
    degrees = _degrees(np.diag(within), np.diag(between), copies, complete)
    return PooledFit(names, estimates.mean(axis=0), within + between, degrees, copies, level)


def _degrees(within: FloatArray, between: FloatArray, copies: int, complete: float) -> FloatArray:
    """Degrees of freedom of each estimate [Barnard99]; ``complete`` are those of one copy."""
    total = within + between
    share = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    share = np.where(share > ROUNDING, share, 0.0)  # equal fits differ by rounding alone
    with np.errstate(divide="ignore"):
        by_copies = (copies - 1) / share**2
    if complete == inf:
        return np.asarray(by_copies)
    by_records = (complete + 1) / (complete + 3) * complete * (1 - share)
    with np.errstate(divide="ignore"):
        return np.asarray(1 / (1 / by_copies + 1 / by_records))


def _read(fit: Any) -> tuple[tuple[str, ...], FloatArray, FloatArray, float]:
    """The names, estimates, covariance and residual degrees of freedom of a fit."""
    if hasattr(fit, "params"):
        params = fit.params
        if hasattr(fit, "cov_params"):
            spread = np.asarray(fit.cov_params(), dtype=np.float64)
        else:
            spread = np.asarray(fit.bse, dtype=np.float64) ** 2
    elif isinstance(fit, tuple | list) and len(fit) == 2:
        params, spread = fit[0], np.asarray(fit[1], dtype=np.float64)
    else:
        raise InputError(
            "A fit must have params and cov_params() or bse, or be a pair of an estimate and its "
            f"variance, got {type(fit).__name__}."
        )
    if np.ndim(params) == 2:  # MNLogit of statsmodels has one column a category
        params = params.unstack() if hasattr(params, "unstack") else np.ravel(params, order="F")
    values = np.atleast_1d(np.asarray(params, dtype=np.float64)).ravel()
    if spread.size == values.size:
        spread = np.diag(spread.ravel(order="F"))
    if spread.shape != (values.size, values.size):
        raise InputError(
            f"A fit of {values.size} estimates must have as many variances, or their covariance "
            f"matrix, got {spread.size} numbers."
        )
    if not (
        np.isfinite(values).all() and np.isfinite(spread).all() and (np.diag(spread) >= 0).all()
    ):
        raise InvalidNumber("Estimates must be finite, and variances finite and 0 or more.")
    index = getattr(params, "index", None)
    names = index if index is not None and not callable(index) else range(1, values.size + 1)
    degrees = float(getattr(fit, "df_resid", inf) or inf)
    texts = (": ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in names)
    return tuple(texts), values, spread, degrees
