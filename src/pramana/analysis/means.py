"""Means and totals of a column released unchanged, by groups of randomised columns.

Sums are corrected like counts: the total of y over the records of group g is estimated by
sum_l B_lg S_l, with S_l the sum of y over the records released as l. It is unbiased, and its
variance is that of a count with y^2 in place of 1. A mean is the ratio of a total and a count; its
interval is Fieller's, which stays right where a group is small, and is infinite where a group
cannot be told well from an empty one.

Shrunken means. The mean of all records that agree in unchanged columns is known: c. What a group
differs from it is estimated by R_g = T_g - c N_g, whose variance v_g the matrices tell. With
differences d_g of variance t^2,

    d_g = N_g t^2 R_g / (N_g^2 t^2 + v_g)

is the nearest to them. Of t, in standard deviations of the values, the same is expected as of the
dependence of two columns (``USUAL_STRENGTH``), and the factors are averaged over what the data
leave. With several randomised columns each has effects first, and cells
differ from their sum. Standard errors and intervals stay those of the unbiased mean.

Values far from the others. Where one value is larger than the error of a total, that error has two
peaks: the value is in its group, or was moved, and then the estimated variance does not show it.
Such values are known, because the column is unchanged. They are taken out of sum and variance and
put back where they were released; of H of them as many may belong elsewhere as a binomial number
with the largest probability of leaving a cell exceeds in one of twenty of the misses allowed for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from pramana.analysis.association import USUAL_STRENGTH
from pramana.analysis.channels import Channels, Unchanged
from pramana.analysis.contrasts import Influence, Reach
from pramana.analysis.counts import (
    BESIDE,
    SMALL_ERROR,
    expected_error,
    fitted_counts,
)
from pramana.analysis.estimates import Estimate
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.question import USUAL, Inference, Question
from pramana.analysis.variance import Ratio, Sums, count_covariance, half_a_record, normal_interval
from pramana.errors import InvalidTable, NotCovered
from pramana.types import BoolArray, FloatArray, IntArray

GRID: Final = 64
"""Factors of shrinkage that are averaged over."""

ROUNDS: Final = 30
"""Of fitting the effects of several columns to their margins."""


def estimate_totals(
    moments: Moments,
    layout: Layout,
    *,
    of: str,
    question: Question = USUAL,
    noise: float = 0.0,
    far: FarValues | None = None,
) -> Estimate:
    """The total of column ``of`` in every cell of ``layout.by``; weighted where there are weights.

    ``moments`` are summed over the records that have a value; ``noise`` is the variance of what was
    added to each.
    """
    wy, _, wwyy = _values(moments, of)
    channels = Channels(layout)
    total = channels.solve(wy)
    sums = Sums(total, total, moments.sample)
    variance = count_covariance(channels, wwyy, sums, infer=question.infer)
    variance = variance + _noise(channels, moments, noise, question.infer)
    se = np.sqrt(np.maximum(variance, 0))
    low, high = normal_interval(total, se, z=question.z(total.size))
    people = np.maximum(channels.known(moments.records), 1.0)
    half = _half(se, np.sqrt(channels.known(wwyy) / people), question)
    figures, reach = (total, se, low - half, high + half), None
    if far is not None:
        around = far.around(moments, channels, question, total=True)
        figures, reach = decided_by_few(figures, around, question)
    return Estimate.of(
        layout,
        figures,
        question,
        what=f"total of {of}",
        method="unbiased",
        why=_why(channels, "sums are corrected like counts; unbiased.")
        + (DECIDED if reach else ""),
        records=moments.count,
        together=replace(Influence.of_totals(moments, channels, total, question.infer), told=reach),
    )


def estimate_means(
    moments: Moments,
    layout: Layout,
    *,
    of: str,
    question: Question = USUAL,
    noise: float = 0.0,
    far: FarValues | None = None,
) -> Estimate:
    """The mean of column ``of`` in every cell of ``layout.by``; weighted where there are weights.

    Where a group cannot be told well from an empty one, the mean can be anything: the unbiased one
    is ``nan``, and its interval infinite.
    """
    _values(moments, of)
    channels = Channels(layout)
    records = _ratio(moments, channels, "records", noise)
    ratio = records
    if question.infer == "population":
        ratio = _ratio(moments, channels, "population", noise).at_least(records)
    mean, se, low, high = ratio.told(question.z(ratio.above.size))
    half = _half(se, _step(moments, channels, ratio), question)
    low, high = low - half, high + half
    reach = None
    if far is not None:
        around = far.around(moments, channels, question, total=False)
        (_, se, low, high), reach = decided_by_few((mean, se, low, high), around, question)
    shrunken, why = (
        None,
        _why(channels, "a corrected total over a corrected count; nearly unbiased."),
    )
    if channels.randomised:
        deviation = deviation_of(moments.totals)
        error = relative_error(np.maximum(ratio.below, 0), se, deviation)
        if is_shrunk(question, error, bounded=bool(np.isfinite(high).all())):
            shrunken = _shrunken(moments, channels, records, noise, deviation)
            why = shrunken_words(error)
    return Estimate.of(
        layout,
        (mean if shrunken is None else shrunken, se, low, high),
        question,
        what=f"mean of {of}",
        method="unbiased" if shrunken is None else "shrunk",
        why=why + (UNBOUNDED if np.isinf(high).any() else "") + (DECIDED if reach else ""),
        records=moments.count,
        together=replace(Influence.of_means(moments, channels, ratio, question.infer), told=reach),
        unbiased=mean,
    )


def _ratio(moments: Moments, channels: Channels, infer: Inference, noise: float) -> Ratio:
    """Corrected totals over corrected counts."""
    wy, wwy, wwyy = _values(moments, "")
    above, below = channels.solve(wy), channels.solve(moments.w)

    def covariance(products: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        return count_covariance(
            channels, products, Sums(first, second, moments.sample), infer=infer
        )

    added = _noise(channels, moments, noise, infer)
    return Ratio(
        above,
        below,
        v_above=np.maximum(covariance(wwyy, above, above) + added, 0),
        cov=covariance(wwy, above, below),
        v_below=np.maximum(covariance(moments.ww, below, below), 0),
    )


# -- shrunken means -----------------------------------------------------------------------------


def is_shrunk(question: Question, error: float, *, bounded: bool) -> bool:
    """Whether means are shrunk: as asked, or where they are far off or without bounds otherwise."""
    if question.method == "clipped":
        raise NotCovered(
            "Method clipped is for counts and shares, which cannot be below 0. Means are unbiased "
            "or shrunk: leave the method out."
        )
    return question.method == "shrunk" or (
        question.method == "auto" and (error > SMALL_ERROR or not bounded)
    )


def shrunken_words(error: float) -> str:
    """What a shrunken mean is."""
    off = f"{error:.2g} standard deviations of the values" if math.isfinite(error) else "any amount"
    told = (
        f"undoing the matrices would be off by {off}: the estimate is shrunk towards common means "
        f"by what noise explains, {BESIDE}"
    )
    return f"{told} {ALIKE}" if error >= 1 else told


ALIKE: Final = (
    "Not reliable: noise is stronger than the differences between groups, so that all means are "
    "near the common one. Ask for fewer columns, or read the intervals alone."
)


def deviation_of(sums: Mapping[str, float]) -> float:
    """The standard deviation of values, from their sums over all records."""
    w, ww = max(sums["w"], 1e-300), max(sums["ww"], 1e-300)
    mean = sums["wy"] / w
    return math.sqrt(max(sums["wwyy"] - 2 * mean * sums["wwy"] + mean**2 * ww, 0) / ww)


def relative_error(people: FloatArray, se: FloatArray, deviation: float) -> float:
    """The expected error of unbiased means, by group size, in deviations of the values.

    Groups without bounds are left out; where there are no others it is infinite.
    """
    told = (people > 0) & np.isfinite(se)
    if not told.any():
        return math.inf
    errors = se[told] * people[told]
    return expected_error(errors, deviation * float(people[told].sum())) if errors.any() else 0.0


def _shrunken(
    moments: Moments, channels: Channels, ratio: Ratio, noise: float, deviation: float
) -> FloatArray:
    """Means shrunk towards those of unchanged columns and the effects of each randomised one."""
    known = _known_mean(moments, channels)
    people = fitted_counts(moments, channels)
    axes = channels.layout.axes
    free = [
        place
        for place, axis in enumerate(axes)
        if axis.step is not None and axis.group_cells[0] and min(axis.groups) >= 0
    ]
    effects: dict[int, FloatArray] = {}
    margins: dict[int, FloatArray] = {}
    others = {place: tuple(other for other in free if other != place) for place in free}
    for place in free if len(free) > 1 else []:
        part, alone = _summed_over(moments, channels, others[place])
        about = _ratio(part, alone, "records", noise)
        number = people.sum(axis=others[place])
        found = pulled(
            about, _known_mean(part, alone), number, strata=_strata(alone), deviation=deviation
        )
        margins[place] = np.expand_dims(found, others[place])
        effects[place] = np.zeros_like(margins[place])
    for _ in range(ROUNDS if effects else 0):
        for place, margin in margins.items():
            rest = sum((own for other, own in effects.items() if other != place), np.zeros(()))
            number = people.sum(axis=others[place], keepdims=True)
            moved = (people * rest).sum(axis=others[place], keepdims=True)
            effects[place] = margin - np.divide(
                moved, number, out=np.zeros_like(moved), where=number > 0
            )
    centre = known + sum(effects.values(), np.zeros(()))
    return centre + pulled(ratio, centre, people, strata=_strata(channels), deviation=deviation)


def pulled(
    ratio: Ratio,
    centre: FloatArray,
    people: FloatArray,
    *,
    deviation: float,
    strata: int = 1,
) -> FloatArray:
    """What means differ from ``centre``, shrunk by what noise explains.

    Args:
        ratio: Totals over counts, with their variances about these records.
        centre: What they are shrunk to.
        people: How many each group has, at least 0.
        deviation: That of the values.
        strata: Groups of people that are told apart: in each of them residuals add up to nothing.

    A group whose residual is far beyond its error stays; one that is all error gives way.

    >>> one = np.ones(4)
    >>> sums = Ratio(np.array([100.0, -100.0, 1.0, -1.0]), 10 * one, v_above=4 * one, cov=0 * one,
    ...              v_below=0 * one)
    >>> pulled(sums, 0 * one, 10 * one, deviation=10.0).round(2)
    array([ 9.92, -9.92,  0.1 , -0.1 ])
    """
    residual = ratio.above - centre * ratio.below
    variance = np.maximum(
        ratio.v_above - 2 * centre * ratio.cov + centre**2 * ratio.v_below, 0
    ) + np.zeros_like(residual)
    sure = np.divide(residual, people, out=np.zeros_like(residual), where=people > 0)
    noisy = (variance > 0) & (people > 0)
    if not noisy.any() or deviation <= 0:
        return sure
    residual, variance, people = residual[noisy], variance[noisy], people[noisy]
    typical = 1 / float(np.mean(people**2 / variance))
    usual = USUAL_STRENGTH * deviation
    share = max(1 - strata / sure.size, 0.0)
    found, best, whole = np.zeros_like(residual), -math.inf, 0.0
    for step in range(GRID):
        factor = (step + 0.5) / GRID
        between = typical * factor / (1 - factor)
        spread = people**2 * between + variance
        fit = -share / 2 * float((np.log(spread) + residual**2 / spread).sum())
        # the density of t as a density of the factor
        fit -= (
            2 * math.log1p(math.sqrt(between) / usual)
            + math.log(factor) / 2
            + 1.5 * math.log1p(-factor)
        )
        if fit > best:
            found, whole, best = found * math.exp(best - fit), whole * math.exp(best - fit), fit
        weight = math.exp(fit - best)
        found, whole = found + weight * people * between * residual / spread, whole + weight
    sure[noisy] = found / whole
    return sure


def _known_mean(moments: Moments, channels: Channels) -> FloatArray:
    """The mean of all records that each group cannot be told apart from."""
    wy, _, _ = _values(moments, "")
    above, below = channels.known(wy), channels.known(moments.w)
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)


def _strata(channels: Channels) -> int:
    """How many groups of people unchanged columns tell apart."""
    shape, each = channels.layout.grouped_shape, channels.each
    return math.prod(
        size for size, channel in zip(shape, each, strict=True) if isinstance(channel, Unchanged)
    )


def _summed_over(
    moments: Moments, channels: Channels, places: tuple[int, ...]
) -> tuple[Moments, Channels]:
    """The same without some axes."""
    layout = channels.layout
    gone = {name for place in places for name in layout.axes[place].columns}
    fewer = replace(
        layout,
        by=tuple(name for name in layout.by if name not in gone),
        axes=tuple(axis for place, axis in enumerate(layout.axes) if place not in places),
    )
    names = ("records", "w", "ww", "wy", "wwy", "wwyy")
    sums = [np.asarray(getattr(moments, name)).sum(axis=places) for name in names]
    return Moments(*sums, released=moments.released), Channels(fewer)


# -- values far from the others -----------------------------------------------------------------

FAR: Final = 5.0
"""A value is far from the others from this many root mean squares on."""

MOST_FAR: Final = 50
"""Of them the largest are looked at one by one."""

MISPLACED: Final = 0.05
"""The part of the misses allowed for that is left to more values elsewhere than counted on."""

DECIDED: Final = (
    " A few values far from the others decide some of these numbers: their intervals count with "
    "values that belong to another group than the one they were released in."
)


def far_limits(moments: Moments, layout: Layout, *, total: bool) -> tuple[float, float] | None:
    """Below and above which values are far from the others; none where nothing was randomised."""
    channels = Channels(layout)
    if not channels.randomised:
        return None
    centre, _, least = _scales(moments, channels, total=total)
    noisy = np.isfinite(least) & (least > 0)
    if not noisy.any():
        return None
    weight = math.sqrt(moments.totals["ww"] / moments.count)
    reach = float(np.sqrt(least[noisy].min())) / max(weight, 1e-300)
    return float(centre.min()) - reach, float(centre.max()) + reach


def _scales(
    moments: Moments, channels: Channels, *, total: bool
) -> tuple[FloatArray, Ratio, FloatArray]:
    """What values are measured from, sums about it, and the square from which on one is far."""
    _, wwy, wwyy = _values(moments, "")
    centre = _known_mean(moments, channels) * (not total)
    sums = _ratio(moments, channels, "records", 0.0)
    about = Ratio(
        sums.above - centre * sums.below,
        sums.below,
        v_above=np.maximum(sums.v_above - 2 * centre * sums.cov + centre**2 * sums.v_below, 0),
        cov=sums.cov - centre * sums.v_below,
        v_below=sums.v_below,
    )
    squares = channels.known(wwyy) - 2 * centre * channels.known(wwy)
    squares = squares + centre**2 * channels.known(moments.ww)
    people = np.maximum(channels.known(moments.records), 1.0)
    least = np.maximum(FAR**2 * squares / people, 2 * about.v_above)
    return centre, about, np.where(about.v_above > 0, least, np.inf)


@dataclass(frozen=True, eq=False)
class FarValues:
    """Released records whose values may be far from the others.

    Attributes:
        places: The position of each in the released table.
        weights: Their weights.
        values: Their values.
    """

    places: IntArray
    weights: FloatArray
    values: FloatArray

    def around(
        self, moments: Moments, channels: Channels, question: Question, *, total: bool
    ) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Where they decide, and the ends of the interval there, by group."""
        from scipy.special import ndtr, ndtri

        centre, about, least = _scales(moments, channels, total=total)
        order = np.argsort(-np.abs(self.weights * (self.values - float(centre.mean()))))[:MOST_FAR]
        off, count, out, less, cross = (np.zeros_like(about.above) for _ in range(5))
        more, fewer = [], []
        for place, weight, value in zip(
            self.places[order], self.weights[order], self.values[order], strict=True
        ):
            alone = np.zeros(channels.layout.shape)
            alone.flat[place] = 1.0
            own = weight * (value - centre)
            far = (channels.known(alone) > 0) & (own**2 > least)
            own = np.where(far, own, 0.0)
            counts, here = channels.solve(alone), channels.merge(alone) > 0
            spread = channels.spread(alone) - counts
            out += counts * own
            less += spread * own**2
            cross += spread * own * weight
            off += np.where(here, own, 0.0)
            count += far
            more.append(np.maximum(np.where(here, -own, own), 0))
            fewer.append(np.maximum(np.where(here, own, -own), 0))
        z = question.z(about.above.size)
        miss = 2 * float(ndtr(-z))
        moved = _may_have_moved(count, _leaving(channels), miss * MISPLACED)
        gains, losses = (_largest(np.stack(parts), moved) for parts in (more, fewer))
        z = float(-ndtri(miss * (1 - MISPLACED) / 2))
        bulk = replace(
            about,
            above=about.above - out + off,
            v_above=np.maximum(about.v_above - less, 0),
            cov=about.cov - cross,
        )
        lower = replace(bulk, above=bulk.above - losses)
        upper = replace(bulk, above=bulk.above + gains)
        if total:
            wide = z * np.sqrt(bulk.v_above)
            return count > 0, lower.above - wide, upper.above + wide
        return count > 0, centre + lower.interval(z)[0], centre + upper.interval(z)[1]


def _leaving(channels: Channels) -> float:
    """The largest probability that a record leaves its cell."""
    stays = 1.0
    for axis in channels.layout.axes:
        if axis.step is not None:
            stays *= min(float(matrix.diagonal.min()) for matrix in axis.step.matrices)
    return 1 - stays


def _may_have_moved(numbers: FloatArray, leaving: float, miss: float) -> FloatArray:
    """How many of some records have moved at most, but for a probability ``miss``."""
    from scipy.special import bdtrc

    found = np.zeros_like(numbers)
    for number in np.unique(numbers[numbers > 0]):
        most = 0
        while most < number and float(bdtrc(most, int(number), leaving)) > miss:
            most += 1
        found[numbers == number] = most
    return found


def _largest(parts: FloatArray, numbers: FloatArray) -> FloatArray:
    """The sum of the largest of each group, as many as are asked for."""
    ranked = -np.sort(-parts, axis=0)
    rank = np.arange(len(parts)).reshape(-1, *[1] * numbers.ndim)
    return np.asarray(np.where(rank < numbers, ranked, 0.0).sum(axis=0), dtype=np.float64)


Figures: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def decided_by_few(
    figures: Figures, around: tuple[BoolArray, FloatArray, FloatArray], question: Question
) -> tuple[Figures, Reach | None]:
    """Intervals, and errors to match, where a few values decide; and how far these reach."""
    estimate, se, low, high = figures
    decided, lower, upper = around
    decided = decided & np.isfinite(high)
    if not decided.any():
        return figures, None
    if question.infer == "population":  # which holds for these records too
        lower, upper = np.minimum(lower, low), np.maximum(upper, high)
    low, high = np.where(decided, lower, low), np.where(decided, upper, high)
    z = question.z(estimate.size)
    with np.errstate(invalid="ignore"):
        se = np.where(decided & np.isfinite(high - low), np.fmax(se, (high - low) / (2 * z)), se)
        ends = tuple(
            np.where(decided, np.nan_to_num(np.maximum(end, 0), posinf=0), 0.0)
            for end in (estimate - low, high - estimate)
        )
    return (estimate, se, low, high), Reach((ends[0], ends[1]), z)


# -- steps and noise ----------------------------------------------------------------------------


def _half(se: FloatArray, step: FloatArray, question: Question) -> FloatArray:
    """Where few records move; the luck of a sample is no matter of single records."""
    return half_a_record(se, step) if question.infer == "records" else np.zeros_like(se)


def _step(moments: Moments, channels: Channels, ratio: Ratio) -> FloatArray:
    """By how much a record that moves into a group changes its mean, as a mean square root."""
    yy, y, one = (channels.known(part) for part in (*_values(moments, "")[:0:-1], moments.ww))
    people = np.maximum(channels.known(moments.records), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = yy - 2 * ratio.value * y + ratio.value**2 * one
        step: FloatArray = np.sqrt(np.maximum(squares, 0) / people) / ratio.below
    return step


def _noise(channels: Channels, moments: Moments, noise: float, infer: Inference) -> FloatArray:
    """The variance that noise adds to a total of these records: noise times the sum of w^2.

    About a population nothing is added: released squares hold it already.
    """
    spread: FloatArray = np.zeros_like(channels.solve(moments.ww))
    if noise and infer == "records":
        spread = noise * np.maximum(channels.solve(moments.ww), 0)
    return spread


UNBOUNDED = " Groups that noise does not tell well from empty ones have no mean that can be told."


def _why(channels: Channels, corrected: str) -> str:
    return corrected if channels.randomised else "these columns were released as they are."


def _values(moments: Moments, of: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    if moments.wy is None or moments.wwy is None or moments.wwyy is None:
        raise InvalidTable(
            f"Means and totals of '{of}' need sums of its values and squares.", column=of
        )
    if moments.count <= 0:
        raise InvalidTable(
            f"No released record with a value of '{of}' is left. Does the filter select any?",
            column=of,
        )
    return moments.wy, moments.wwy, moments.wwyy
