"""Means and totals of a column released unchanged, by groups of randomised columns.

Sums are corrected like counts: the total of y over the records of group g is estimated without bias
by sum_l B_lg S_l, with S_l the sum of y over the records released as l. Its variance is the
variance of a count with y^2 in place of 1. A mean is the ratio of a total and a count, with
Fieller's interval, which is infinite where a group cannot be distinguished from an empty one.

Shrunken means. The mean c of all records that agree in unchanged columns is known. The difference
of a group from it is estimated by R_g = T_g - c N_g, with the variance v_g. For differences d_g of
variance t^2 the best linear estimate is

    d_g = N_g t^2 R_g / (N_g^2 t^2 + v_g).

The prior of t, in standard deviations of the values, is that of the dependence of two columns
(``USUAL_STRENGTH``); factors are averaged over the posterior. Several randomised columns have
effects first, and cells differ from their sum. Errors and intervals are those of the unbiased mean.

Values far from the others. Where one value exceeds the error of a total, that error has two modes:
either the value belongs to its group, or it was moved there, and then the estimated variance does
not show it. Such values are known, because the column is unchanged. They are taken out of sum and
variance and put back where they were released. Of H of them as many may belong elsewhere as a
binomial number, with the largest probability of leaving a cell, exceeds in one of twenty misses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from pramana.analysis.association import USUAL_STRENGTH
from pramana.analysis.channels import Channels, Unchanged
from pramana.analysis.counts import SHRINKAGE, SMALL_ERROR, expected_error, fitted_counts
from pramana.analysis.estimates import Estimate
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.question import USUAL, Inference, Question, what_of
from pramana.analysis.variance import Ends, Ratio, count_covariance, half_a_record, linear_errors
from pramana.base.translation import gettext, noop
from pramana.errors import InvalidTable, NotCovered
from pramana.types import BoolArray, FloatArray, IntArray

Figures = tuple[FloatArray, ...]
"""Estimate, standard error and ends of the interval, by group."""

GRID: Final = 64
"""Factors of shrinkage that are averaged over."""


def estimate_values(
    moments: Moments,
    layout: Layout,
    *,
    of: str,
    total: bool = False,
    question: Question = USUAL,
    noise: float = 0.0,
    far: FarValues | None = None,
    limits: Callable[[], tuple[float, float]] | None = None,
) -> Estimate:
    """The total or the mean of column ``of`` in every cell of ``layout.by``.

    ``moments`` are summed over the records that have a value; ``noise`` is the variance of what was
    added to each. Where a group cannot be distinguished from an empty one, the unbiased mean is
    ``nan`` and its interval infinite. Shrunken means stay within ``limits``: the range of the
    values.
    """
    if moments.count <= 0:
        raise InvalidTable(
            "No released record with a value of '{column}' is left. Does the filter select any?",
            column=of,
        )
    channels = Channels(layout)
    ratio = known = _ratio(moments, channels, "records", noise)
    if question.infer == "population":
        ratio = _ratio(moments, channels, "population", noise)
        ratio = ratio if total else ratio.at_least(known)
    z, weights = question.z(ratio.above.size), ratio.slopes
    numbers, (unbiased, se, low, high) = ratio.value, ratio.figures(z)
    if total:
        weights = np.ones_like(ratio.above), np.zeros_like(ratio.above)
        numbers = unbiased = ratio.above
        se = np.sqrt(ratio.v_above)
        low, high = unbiased - z * se, unbiased + z * se
    step = _step(moments, channels, None if total else ratio)
    half = half_a_record(se, step) * (question.infer == "records")
    figures: Figures = (unbiased, se, low - half, high + half)
    ends = None
    if far is not None:
        around = far.around(moments, channels, question, total=total)
        figures, ends = decided_by_few(figures, around, question)
    high, shown, why = figures[3], unbiased, gettext("these columns were released unchanged.")
    if channels.randomised and total:
        why = gettext("sums are corrected like counts; unbiased.")
    elif channels.randomised:
        shown, why = _shown_mean(moments, channels, known, figures, noise, question)
        shown = shown if limits is None or shown is unbiased else np.clip(shown, *limits())
    hidden = gettext(" Groups that noise hides have an interval without bound.")
    return Estimate.by_groups(
        layout,
        (shown, *figures[1:]),
        question,
        what=what_of(of, total=total),
        method="unbiased" if shown is unbiased else "shrunk",
        why=f"{why}{hidden if np.isinf(high).any() else ''}{gettext(DECIDED) if ends else ''}",
        records=moments.count,
        together=linear_errors(
            moments, channels, numbers, weights, infer=question.infer, unseen=ends
        ),
        unbiased=unbiased,
    )


def _ratio(moments: Moments, channels: Channels, infer: Inference, noise: float) -> Ratio:
    """Corrected totals over corrected counts.

    About these records noise adds its variance times the sum of w^2. About a population nothing is
    added: the released squares include it.
    """
    wy, wwy, wwyy = moments.values
    above, below = channels.solve(wy), channels.solve(moments.w)

    def covariance(products: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        return count_covariance(
            channels, products, first, second, records=moments.sample, infer=infer
        )

    v_above = covariance(wwyy, above, above)
    if noise and infer == "records":
        v_above = v_above + noise * np.maximum(channels.solve(moments.ww), 0)
    return Ratio(
        above,
        below,
        v_above=np.maximum(v_above, 0),
        cov=covariance(wwy, above, below),
        v_below=np.maximum(covariance(moments.ww, below, below), 0),
    )


def _step(moments: Moments, channels: Channels, ratio: Ratio | None) -> FloatArray:
    """By how much a record that moves into a group changes its total, or its mean by a ratio.

    It is a root mean square.
    """
    _, wwy, wwyy = moments.values
    people = np.maximum(channels.known(moments.records), 1.0)
    squares, below = channels.known(wwyy), np.ones(())
    with np.errstate(divide="ignore", invalid="ignore"):
        if ratio is not None:
            squares = squares - 2 * ratio.value * channels.known(wwy)
            squares, below = squares + ratio.value**2 * channels.known(moments.ww), ratio.below
        return np.asarray(np.sqrt(np.maximum(squares, 0) / people) / below)


# -- shrunken means -----------------------------------------------------------------------------


def is_shrunk(question: Question, error: float, *, bounded: bool) -> bool:
    """Whether means are shrunk: as asked, or where errors are large or an interval is infinite."""
    if question.method == "clipped":
        raise NotCovered(
            "Method clipped is for counts and shares, which cannot be below 0. Means are unbiased "
            "or shrunk: leave the method out."
        )
    return question.method == "shrunk" or (
        question.method == "auto" and (error > SMALL_ERROR or not bounded)
    )


def shrunken_words(error: float, *, bounded: bool) -> str:
    """Why means are shrunk, and what a shrunken mean is."""
    off = gettext("unbounded")
    if math.isfinite(error):
        off = gettext("{error:.2g} standard deviations of the values", error=error)
    reason = gettext("the expected error of the unbiased means is {error}.", error=off)
    if error <= SMALL_ERROR and not bounded:
        reason = gettext("the interval of at least one group has no bound.")
    words = gettext(
        "{reason} The means are shrunk. {shrinkage}", reason=reason, shrinkage=gettext(SHRINKAGE)
    )
    return f"{words} {gettext(ALIKE)}" if error >= 1 else words


ALIKE: Final = noop(
    "They are not reliable: noise exceeds the differences between groups. Ask for fewer columns, "
    "or use the intervals alone."
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
    known = (people > 0) & np.isfinite(se)
    if not known.any():
        return math.inf
    errors = se[known] * people[known]
    return expected_error(errors, deviation * float(people[known].sum())) if errors.any() else 0.0


def _shown_mean(
    moments: Moments,
    channels: Channels,
    ratio: Ratio,
    figures: Figures,
    noise: float,
    question: Question,
) -> tuple[FloatArray, str]:
    """The unbiased mean, or the shrunken one where it is better, and how it was made."""
    unbiased, se, _, high = figures
    deviation = deviation_of(moments.totals)
    error = relative_error(np.maximum(ratio.below, 0), se, deviation)
    bounded = bool(np.isfinite(high).all())
    if not is_shrunk(question, error, bounded=bounded):
        return unbiased, gettext("nearly unbiased: a corrected total divided by a corrected count.")
    return _shrunken(moments, channels, ratio, noise, deviation), shrunken_words(
        error, bounded=bounded
    )


def _shrunken(
    moments: Moments, channels: Channels, ratio: Ratio, noise: float, deviation: float
) -> FloatArray:
    """Means shrunk towards those of unchanged columns and the effects of each randomised one."""
    people = fitted_counts(moments, channels)
    free = [
        place
        for place, axis in enumerate(channels.layout.axes)
        if axis.step is not None and axis.group_cells[0] and min(axis.groups) >= 0
    ]
    others = {place: tuple(other for other in free if other != place) for place in free}
    margins: dict[int, FloatArray] = {}
    for place in free if len(free) > 1 else []:
        part, alone = _summed_over(moments, channels, others[place])
        about = _ratio(part, alone, "records", noise)
        number = people.sum(axis=others[place])
        shrunken = pulled(
            about, _known_mean(part, alone), number, strata=_strata(alone), deviation=deviation
        )
        margins[place] = np.expand_dims(shrunken, others[place])
    effects = {place: np.zeros_like(margin) for place, margin in margins.items()}
    for _ in range(30 if effects else 0):
        for place, margin in margins.items():
            rest = sum((effects[other] for other in others[place]), np.zeros(()))
            number = people.sum(axis=others[place], keepdims=True)
            moved = (people * rest).sum(axis=others[place], keepdims=True)
            effects[place] = margin - np.divide(
                moved, number, out=np.zeros_like(moved), where=number > 0
            )
    centre = _known_mean(moments, channels) + sum(effects.values(), np.zeros(()))
    return centre + pulled(ratio, centre, people, strata=_strata(channels), deviation=deviation)


def pulled(
    ratio: Ratio,
    centre: FloatArray,
    people: FloatArray,
    *,
    deviation: float,
    strata: int = 1,
) -> FloatArray:
    """The differences of means from ``centre``, shrunk by what noise explains.

    Args:
        ratio: Totals over counts, with their variances about these records.
        centre: What they are shrunk to.
        people: How many each group has, at least 0.
        deviation: The standard deviation of the values.
        strata: Groups of people by unchanged columns: in each of them residuals add up to 0.

    A group whose residual is far beyond its error keeps it; one that is all noise gives it up.

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
    factor = ((np.arange(GRID) + 0.5) / GRID)[:, None]
    between = factor / (1 - factor) / float(np.mean(people**2 / variance))
    spread = people**2 * between + variance
    share = max(1 - strata / sure.size, 0.0)
    fit = -share / 2 * (np.log(spread) + residual**2 / spread).sum(axis=1)
    # the density of t as a density of the factor
    fit -= 2 * np.log1p(np.sqrt(between[:, 0]) / (USUAL_STRENGTH * deviation))
    fit -= np.log(factor[:, 0]) / 2 + 1.5 * np.log1p(-factor[:, 0])
    weights = np.exp(fit - fit.max())
    sure[noisy] = weights @ (people * between * residual / spread) / weights.sum()
    return sure


def _known_mean(moments: Moments, channels: Channels) -> FloatArray:
    """For each group the mean of all records with the same unchanged values."""
    above, below = channels.known(moments.values[0]), channels.known(moments.w)
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)


def _strata(channels: Channels) -> int:
    """How many groups of records unchanged columns distinguish."""
    sizes = zip(channels.layout.grouped_shape, channels.each, strict=True)
    return math.prod(size for size, channel in sizes if isinstance(channel, Unchanged))


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
    sums = [table.sum(axis=places) for table in moments.tables.values()]
    return Moments(*sums, released=moments.released), Channels(fewer)


# -- values far from the others -----------------------------------------------------------------


MISPLACED: Final = 0.05
"""The part of the allowed misses for more values elsewhere than expected."""

DECIDED: Final = noop(
    " Some of these numbers depend on a few extreme values: their intervals allow for "
    "values that belong to another group than the released one."
)

Around = tuple[BoolArray, FloatArray, FloatArray]
"""Where far values decide, and the ends of the interval there, by group."""


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
    """The centre of values, sums about it, and the least square of a far value."""
    _, wwy, wwyy = moments.values
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
    # Far are five root mean squares, and what exceeds the error of the sum.
    least = np.maximum(5.0**2 * squares / people, 2 * about.v_above)
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
    ) -> Around:
        """Where the 50 largest decide, taken one by one, and the ends of the interval there."""
        from scipy.special import ndtr, ndtri

        centre, about, least = _scales(moments, channels, total=total)
        order = np.argsort(-np.abs(self.weights * (self.values - float(centre.mean()))))[:50]
        back, count, out, less, cross = (np.zeros_like(about.above) for _ in range(5))
        more, fewer = [], []
        for record in order:
            alone = np.zeros(channels.layout.shape)
            alone.flat[self.places[record]] = 1.0
            value = self.weights[record] * (self.values[record] - centre)
            far = (channels.known(alone) > 0) & (value**2 > least)
            value = np.where(far, value, 0.0)
            counts, here = channels.solve(alone), channels.merge(alone) > 0
            spread = channels.spread(alone) - counts
            out += counts * value
            less += spread * value**2
            cross += spread * value * self.weights[record]
            back += np.where(here, value, 0.0)
            count += far
            more.append(np.maximum(np.where(here, -value, value), 0))
            fewer.append(np.maximum(np.where(here, value, -value), 0))
        miss = 2 * float(ndtr(-question.z(about.above.size)))
        moved = _may_have_moved(count, channels, miss * MISPLACED)
        gains, losses = (_largest(np.stack(parts), moved) for parts in (more, fewer))
        z = float(-ndtri(miss * (1 - MISPLACED) / 2))
        bulk = replace(
            about,
            above=about.above - out + back,
            v_above=np.maximum(about.v_above - less, 0),
            cov=about.cov - cross,
        )
        if total:
            wide = z * np.sqrt(bulk.v_above)
            return count > 0, bulk.above - losses - wide, bulk.above + gains + wide
        lower = replace(bulk, above=bulk.above - losses).interval(z)[0]
        upper = replace(bulk, above=bulk.above + gains).interval(z)[1]
        return count > 0, centre + lower, centre + upper


def _may_have_moved(numbers: FloatArray, channels: Channels, miss: float) -> FloatArray:
    """How many of some records have left their cell at most, but for a probability ``miss``."""
    from scipy.special import bdtrc

    steps = [axis.step for axis in channels.layout.axes if axis.step is not None]
    staying = math.prod(min(float(m.diagonal.min()) for m in step.matrices) for step in steps)
    most = np.zeros_like(numbers)
    for number in np.unique(numbers[numbers > 0]):
        tails = bdtrc(np.arange(number), int(number), 1 - staying)
        most[numbers == number] = int((tails > miss).sum())
    return most


def _largest(parts: FloatArray, numbers: FloatArray) -> FloatArray:
    """The sum of the largest parts of each group, as many as ``numbers`` says."""
    ranked = -np.sort(-parts, axis=0)
    rank = np.arange(len(parts)).reshape(-1, *[1] * numbers.ndim)
    return np.asarray(np.where(rank < numbers, ranked, 0.0).sum(axis=0), dtype=np.float64)


def decided_by_few(
    figures: Figures, around: Around, question: Question
) -> tuple[Figures, Ends | None]:
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
        below, above = (
            np.where(decided, np.nan_to_num(np.maximum(end, 0), posinf=0), 0.0)
            for end in (estimate - low, high - estimate)
        )
    return (estimate, se, low, high), partial(_reach, below, above, z)


def _reach(
    below: FloatArray, above: FloatArray, z: float, wide: float
) -> tuple[FloatArray, FloatArray]:
    """Intervals of more errors reach farther in proportion."""
    return below * max(wide / z, 1.0), above * max(wide / z, 1.0)
