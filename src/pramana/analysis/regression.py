"""Regressions of original values from randomised records, by corrected scores.

On original data a coefficient vector b is the root of a sum of scores, sum_i psi(b; t_i, z_i), with
t the randomised columns and z the others. A record with original value t is released as r with
probability P_tr. With B = P^-1,

    u(b; r, z) = sum_t B_rt psi(b; t, z)      has mean      psi(b; t, z)

for every t: the corrected scores of the release sum to those of the original data, up to noise of
mean 0. Their root is consistent for the same regression of the original data, without any
assumption on the distribution of the randomised columns or on the errors [Nakamura90]. The spread
of the u gives the standard errors (a sandwich), randomisation included. Records with the same
released values have the same u but for the response, so sums over cells are all that is needed.

Intervals end at the values that a test of the scores rejects (docs/howto/regression.md). Each value
is tested by its own score and spread, with the other coefficients at the root of their scores, and
the part of the score that they explain taken off [Neyman59]. If no value however large is rejected,
the interval has no end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias, cast, get_args

import numpy as np

from pramana.analysis.question import Inference
from pramana.analysis.variance import NOTHING, half_a_record
from pramana.base.rounding import require_choice
from pramana.base.translation import gettext, noop
from pramana.errors import NotCovered
from pramana.types import FloatArray, IntArray

Family: TypeAlias = Literal["linear", "logistic", "poisson", "multinomial", "ordered"]
FAMILIES: tuple[Family, ...] = get_args(Family)
SYNONYMS: dict[str, Family] = {
    "binomial": "logistic",
    "gaussian": "linear",
    "mnlogit": "multinomial",
    "ols": "linear",
    "ordinal": "ordered",
}
"""Names of the families in other packages."""

AT_ONCE, HELD = 4_000_000, 400_000
"""Numbers of the design that are worked on at a time; up to this many are laid out once."""


SURE = 30.0
"""From this many on, the spread of the scores is practically constant along an interval."""


ROUNDING = 1e-13
"""Squares below this share of the largest of their terms are rounding errors."""

LARGEST = 30.0
"""Linear predictors are cut here: exp would overflow on the way to the root."""


def family_named(name: str) -> Family:
    """The family of a name, which may be that of another package."""
    family = SYNONYMS.get(name, name)
    require_choice("family", family, FAMILIES)
    return cast("Family", family)


def _logistic(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = 1 / (1 + np.exp(-_cut(eta)))
    return mean, mean * (1 - mean)


def _poisson(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = np.exp(_cut(eta))
    return mean, mean


def _multinomial(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities of all categories, on the last axis; the first predictor is 0."""
    odds = np.exp(_cut(eta))
    share = odds / odds.sum(axis=-1, keepdims=True)
    return share, share


def _ordered(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two logistic predictors and the gap between two thresholds (category_models.py)."""
    mean, rise = _logistic(eta)
    gap = np.clip(eta[..., 2], 1e-4, LARGEST)  # below, the score is continued linearly
    mean[..., 2], rise[..., 2] = -1 / np.expm1(gap), 1 / (4 * np.sinh(gap / 2) ** 2)
    mean[..., 2] += rise[..., 2] * (eta[..., 2] - gap)  # Newton's steps return from narrower gaps
    return mean, rise


def _cut(eta: FloatArray) -> FloatArray:
    return np.asarray(np.minimum(np.maximum(eta, -LARGEST), LARGEST))  # faster than np.clip


LINKS: dict[Family, Callable[[FloatArray], tuple[FloatArray, FloatArray]]] = {
    "linear": lambda eta: (eta, np.ones_like(eta)),
    "logistic": _logistic,
    "poisson": _poisson,
    "multinomial": _multinomial,
    "ordered": _ordered,
}
"""The mean of each equation's response and its derivative, by the linear predictors."""

Chunk: TypeAlias = tuple[slice, FloatArray, FloatArray, FloatArray]
"""Some cells: their places, the weights of their original values, design, response."""


@dataclass(frozen=True, eq=False)
class CorrectedScores:
    """Released records by cells, and the design of every original value of a cell.

    Attributes:
        family: The family of the model.
        design: Rows of the model matrix, one an equation, for each kind of kept values and each
            original value. Models of categories have several equations, others one.
        response: The response of each of these, or ``None`` if ``wy`` holds its sums.
        kept: For each cell the kind of its kept values.
        undone: For each randomised step the rows of B, and the row that each cell has.
        n: The number of records in each cell.
        w: Sums of weights of each cell; likewise ``ww``, ``wy``, ``wwy`` and ``wwyy``.
        apart: The draw of each cell, if records of several draws of fixed size are put together;
            the scores of each draw have their own mean.
        rounding: Of least squares, for each number on a grid and each row of the design: how the
            row, and in the last place its response, rises with the number, times its error.
    """

    family: Family
    design: FloatArray
    response: FloatArray | None
    kept: IntArray
    undone: tuple[tuple[FloatArray, IntArray], ...]
    n: FloatArray
    w: FloatArray
    ww: FloatArray
    wy: FloatArray
    wwy: FloatArray
    wwyy: FloatArray
    apart: IntArray | None = None
    rounding: FloatArray | None = None

    @property
    def records(self) -> float:
        """The number of records."""
        return float(self.n.sum())

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return int(self.design.shape[3])

    @property
    def equations(self) -> int:
        """The number of equations."""
        return int(self.design.shape[2])

    @property
    def numbers(self) -> int:
        """The numbers of the design that all cells need."""
        return len(self.kept) * int(np.prod(self.design.shape[1:]))

    def chunks(self) -> Iterable[Chunk]:
        """Some cells at a time; few cells are laid out once, as they are needed many times."""
        return self._all_chunks if self.numbers <= HELD else self._chunks()

    @cached_property
    def _all_chunks(self) -> tuple[Chunk, ...]:
        return tuple(self._chunks())

    def _chunks(self) -> Iterator[Chunk]:
        step = max(1, AT_ONCE // int(np.prod(self.design.shape[1:])))
        for begin in range(0, len(self.kept), step):
            part = slice(begin, begin + step)
            kept = self.kept[part]
            weights = np.ones((len(kept), 1))
            for rows, row_of_cell in self.undone:
                factor = rows[row_of_cell[part]]
                weights = (weights[:, :, None] * factor[:, None, :]).reshape(len(kept), -1)
            y = np.zeros((1, 1, 1)) if self.response is None else self.response[kept]
            yield part, weights, self.design[kept], y

    def _summed(self, *, positive: bool) -> tuple[tuple[FloatArray, ...], ...]:
        """Design, response, weight, and weight times response of each original value.

        Sums of scores need no more, so cells are gone through once. Rows come some at a time.
        """
        from scipy.sparse import csr_array

        shape = self.design.shape[:2]
        weight, value = np.zeros(shape), np.zeros(shape)
        for part, weights, _, _ in self.chunks():
            if positive:
                weights = np.maximum(weights, 0)
                total = weights.sum(axis=1, keepdims=True)  # 0 if all weights are negative
                weights = weights / np.where(total > 0, total, 1.0)
            kept, cells = self.kept[part], np.arange(len(weights))
            for total, summed in ((weight, self.w[part]), (value, self.wy[part])):
                total += csr_array((summed, (kept, cells)), shape=(shape[0], len(cells))) @ weights
        design = self.design.reshape(-1, self.equations, self.size)
        response = np.zeros(1) if self.response is None else self.response
        response = np.broadcast_to(response.reshape(-1, self.equations), design.shape[:2])
        step = max(1, AT_ONCE // (self.equations * self.size))
        columns = (design, response, weight.ravel(), value.ravel())
        return tuple(
            tuple(column[at : at + step] for column in columns)
            for at in range(0, len(design), step)
        )

    @cached_property
    def _corrected(self) -> tuple[tuple[FloatArray, ...], ...]:
        return self._summed(positive=False)

    @cached_property
    def _positive(self) -> tuple[tuple[FloatArray, ...], ...]:
        return self._summed(positive=True)

    @property
    def _weights(self) -> FloatArray:
        """The estimated weight of each row of the design."""
        return np.concatenate([weight for _, _, weight, _ in self._corrected])

    @property
    def truths(self) -> FloatArray:
        """The estimated weight of each original value, over all kinds of kept values."""
        return np.asarray(self._weights.reshape(self.design.shape[:2]).sum(axis=0))

    def at(self, beta: FloatArray, *, positive: bool = False) -> tuple[FloatArray, FloatArray]:
        """The sum of the scores, and its derivative.

        With ``positive`` weights the scores are biased, but they always have a root.
        """
        link, size = LINKS[self.family], self.size
        score, slope = np.zeros(size), np.zeros((size, size))
        for x, y, weight, value in self._positive if positive else self._corrected:
            mean, rise = link(x @ beta)
            score += (weight[:, None] * (y - mean) + value[:, None]).ravel() @ x.reshape(-1, size)
            x = self._varying(x, mean).reshape(-1, size)
            slope += (x * (weight[:, None] * rise).reshape(-1, 1)).T @ x
        if self.rounding is not None:  # (z + e) (y - (z + e) b) has the mean z (y - z b) - b var(e)
            weights = self._weights
            for layer in self.rounding:
                x = layer[:, :size]
                score -= (weights * (layer[:, size] - x @ beta)) @ x
                slope -= (x * weights[:, None]).T @ x
        return score, slope

    def _varying(self, x: FloatArray, mean: FloatArray) -> FloatArray:
        """The design, for a multinomial model less its mean over the categories of a record."""
        if self.family != "multinomial":
            return x
        return np.asarray(x - (mean[..., None, :] @ x))

    def _single(self, x: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The design and residual of one equation; several are added up to one, of residual 1."""
        if self.equations == 1:
            return x[:, :, 0], rest[:, :, 0]
        return np.einsum("ctjp,ctj->ctp", x, rest), np.ones(x.shape[:2])

    def spread(self, beta: FloatArray, *, infer: Inference) -> FloatArray:
        """The covariance of the sum of scores: of sampling and randomisation, or of the latter.

        About these records, the spread of the original scores is taken off; it is estimated like
        any other sum over the original data. Scores of records that were drawn apart spread around
        the mean of their draw.
        """
        link = LINKS[self.family]
        total = np.zeros((self.size, self.size))
        draws = np.zeros(len(self.n), dtype=np.int64) if self.apart is None else self.apart
        drawn = np.bincount(draws, weights=self.n)
        sums, several = np.zeros((len(drawn), self.size)), (drawn > 1) & (self.apart is not None)
        more = np.where(several, drawn / np.maximum(drawn - 1, 1), 1.0)[draws]
        for part, weights, x, y in self.chunks():
            mean, _ = link(x @ beta)
            x, rest = self._single(x, y - mean)
            up = np.einsum("ct,ctp->cp", weights, x)
            psi = np.einsum("ct,ctp->cp", weights * rest, x)
            for rises, off in self._rounded(part, beta):
                psi -= np.einsum("ct,ctp->cp", weights * off, rises)
            np.add.at(sums, draws[part], up * self.wy[part, None] + psi * self.w[part, None])
            ww, wwy, wwyy = (more[part] * s[part] for s in (self.ww, self.wwy, self.wwyy))
            cross = (up * wwy[:, None]).T @ psi
            total += (up * wwyy[:, None]).T @ up + cross + cross.T + (psi * ww[:, None]).T @ psi
            if infer == "records":
                ww, wwy, wwyy = (s[part] for s in (self.ww, self.wwy, self.wwyy))
                square = wwyy[:, None] + 2 * wwy[:, None] * rest + ww[:, None] * rest**2
                flat = x.reshape(-1, self.size)
                total -= (flat * (weights * square).reshape(-1, 1)).T @ flat
                for rises, off in self._rounded(part, beta):
                    still = rises * rest[..., None] + x * off[..., None]
                    seen = np.einsum("ctp,ctq,ct->cpq", still, still, weights)
                    both = np.einsum("ctp,ctq,ct->cpq", rises, still, weights)
                    value = np.einsum("ctp,ctq,ct->cpq", rises, rises, weights)
                    total += np.tensordot(ww, seen, 1)
                    total += np.tensordot(wwyy, value, 1)
                    total += np.tensordot(wwy, both + both.transpose(0, 2, 1), 1)
        share = np.where(several, 1 / np.maximum(drawn - 1, 1), 0.0)
        return total - (sums * share[:, None]).T @ sums

    def _rounded(self, part: slice, beta: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """For each rounded number the rise of the design and of the residual."""
        shape = (*self.design.shape[:2], self.size + 1)
        for layer in () if self.rounding is None else self.rounding:
            rises = layer.reshape(shape)[self.kept[part]]
            yield rises[..., :-1], rises[..., -1] - rises[..., :-1] @ beta

    def step(self, beta: FloatArray, along: FloatArray) -> FloatArray:
        """By how much one moved record changes some combinations of the scores.

        The chance of a move is the size of its entry in the inverse, where few records move. The
        step is a root mean square over all moves, each weighted by what it adds to the variance, so
        that moves which change nothing do not count.
        """
        link = LINKS[self.family]
        second, fourth = np.zeros(along.shape[1]), np.zeros(along.shape[1])
        for part, weights, x, y in self.chunks():
            mean, _ = link(x @ beta)
            n, ww, wwy, wwyy = (s[part, None, None] for s in (self.n, self.ww, self.wwy, self.wwyy))
            x, rest = self._single(x, y - mean)
            counts = x @ along
            largest = (y**2 + mean**2).max(axis=2)[:, :, None]
            rounding = counts**2 * (wwyy + ww * largest) * ROUNDING
            psi = counts * rest[:, :, None]
            here = weights.argmax(axis=1)[:, None, None]
            up, psi = (side - np.take_along_axis(side, here, axis=1) for side in (counts, psi))
            squares = up**2 * wwyy + 2 * up * psi * wwy + psi**2 * ww
            squares[squares <= rounding] = 0.0
            chance = np.where(np.abs(weights) > NOTHING, np.abs(weights), 0.0)
            second += np.einsum("ct,ctp->p", chance, squares)
            fourth += np.einsum("ct,ctp->p", chance, squares**2 / n)
        return np.sqrt(fourth / np.where(second > 0, second, 1.0))

    def predictor_errors(self, covariance: FloatArray) -> FloatArray:
        """Standard errors of all linear predictors."""
        step = max(1, AT_ONCE // int(np.prod(self.design.shape[1:])))
        parts = [self.design[at : at + step] for at in range(0, len(self.design), step)]
        variances = [np.einsum("ktjp,ktjp->ktj", part @ covariance, part) for part in parts]
        return np.asarray(np.sqrt(np.maximum(np.concatenate(variances), 0)), dtype=np.float64)

    def freedom_factor(self, infer: Inference) -> float:
        """By how much the spread at the root is too small, as the root was fitted to the scores."""
        return self.records / max(self.records - self.size, 1.0) if infer == "population" else 1.0

    def certainty(self, direction: FloatArray, beta: FloatArray) -> float:
        """The information along a direction, in its own standard errors."""
        link = LINKS[self.family]
        information, square = 0.0, 0.0
        for part, weights, x, _ in self.chunks():
            mean, rise = link(x @ beta)
            along = self._varying(x, mean) @ direction
            by_cell = (weights * (rise * along**2).sum(axis=2)).sum(axis=1)
            information += float(self.w[part] @ by_cell)
            square += float(self.ww[part] @ by_cell**2)
        return information / math.sqrt(max(square, 1e-300))


@dataclass(frozen=True, eq=False)
class Solution:
    """The root of the corrected scores and its accuracy.

    Attributes:
        coefficients: The root.
        covariance: Its covariance.
        reach: How far each interval goes below and above the root.
        from_zero: How many standard errors each coefficient is off 0, by the test of the interval.
    """

    coefficients: FloatArray
    covariance: FloatArray
    reach: FloatArray
    from_zero: FloatArray

    def widened(self, solve: Callable[[], Solution]) -> Solution:
        """With intervals that contain those of another solution; without ends if there is none."""
        try:
            other = solve()
        except NotCovered:
            nothing = np.zeros_like(self.from_zero)
            return replace(self, reach=np.full_like(self.reach, np.inf), from_zero=nothing)
        moved = other.coefficients - self.coefficients
        reach = np.maximum(self.reach, other.reach + np.stack([-moved, moved]))
        same = np.sign(self.coefficients) == np.sign(other.coefficients)
        nearer = np.minimum(self.from_zero, other.from_zero)
        return replace(self, reach=reach, from_zero=np.where(same, nearer, 0.0))


def solve_scores(
    scores: CorrectedScores, names: tuple[str, ...], *, infer: Inference, z: float
) -> Solution:
    """Find the root and its intervals; refused if the release does not determine it."""
    beta = np.zeros(scores.size)
    if scores.family != "linear":
        beta = _root(scores, beta, names, positive=True)
    beta = _root(scores, beta, names, positive=False)
    _, slope = scores.at(beta)
    if scores.family != "linear":
        _require_finite(scores, np.abs(scores.design @ beta), beta, names)
    sure = _require_identified(scores, slope, beta, names)
    spread = scores.spread(beta, infer=infer) * scores.freedom_factor(infer)
    inverse = np.asarray(np.linalg.inv(slope), dtype=np.float64)
    covariance = inverse @ spread @ inverse.T
    se = np.sqrt(np.maximum(np.diag(covariance), 0))
    if scores.family != "linear":
        _require_finite(scores, scores.predictor_errors(covariance), se, names)
    step = np.zeros_like(se)
    if infer == "records" and scores.undone:  # sampling is not a matter of single records
        step = scores.step(beta, inverse.T)
    unknown = [name for name, s, one in zip(names, se, step, strict=True) if one > 0 and s == 0]
    if unknown:
        raise NotCovered(
            "The release does not determine the error of {unknown}: too few of its records may "
            "have been changed by randomisation. Ask about more records, or merge rare values.",
            unknown=", ".join(unknown),
        )
    # The spread is constant along an interval, or takes too long to be computed again.
    steady = sure >= SURE or scores.numbers * scores.size >= 500_000_000
    if steady and (scores.family == "linear" or not scores.undone):
        half = half_a_record(se, step)
        off = np.maximum(np.abs(beta) - half, 0)
        from_zero = np.divide(off, se, out=np.where(off > 0, np.inf, 0.0), where=se > 0)
        return Solution(beta, covariance, np.tile(z * se + half, (2, 1)), from_zero)
    tests = ScoreTests(
        scores, beta, se, step / np.diag(inverse), infer=infer, spread=spread if steady else None
    )
    return Solution(beta, covariance, *tests.ends(z))


def _root(
    scores: CorrectedScores, beta: FloatArray, names: tuple[str, ...], *, positive: bool
) -> FloatArray:
    """Newton's steps, halved where the scores would grow."""
    score, slope = scores.at(beta, positive=positive)
    for _ in range(60):
        scale = _scale(slope)
        step = _solved(slope / scale[:, None] / scale, score / scale) / scale
        size, length = float(np.abs(score / scale).sum()), 1.0
        while length > 1e-4:
            new_score, new_slope = scores.at(beta + length * step, positive=positive)
            if float(np.abs(new_score / scale).sum()) < size:
                break
            length /= 2
        else:
            return beta
        beta, score, slope = beta + length * step, new_score, new_slope
        if float(np.abs(length * step * scale).max()) < 1e-9 * max(scores.records, 1.0) ** 0.5:
            return beta
    raise NotCovered(
        "The scores of {names} have no root: randomisation leaves too little to fit this model. "
        "Use fewer randomised columns, or coarser ones.",
        names=", ".join(names),
    )


def _solved(slope: FloatArray, score: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.lstsq(slope, score, rcond=1e-13)[0], dtype=np.float64)


def _scale(slope: FloatArray) -> FloatArray:
    diagonal = np.abs(np.diag(slope))
    return np.sqrt(np.where(diagonal > 0, diagonal, 1.0))


def _require_finite(
    scores: CorrectedScores, far: FloatArray, coefficients: FloatArray, names: tuple[str, ...]
) -> None:
    """Refuse a root that diverged: estimated counts of 0 and below have no logarithm.

    ``far`` holds linear predictors, or their errors, that the ``coefficients`` (errors) lead to.
    """
    if float(far.max()) < LARGEST:
        return
    row = np.unravel_index(int(far.argmax()), far.shape)
    pushed = np.abs(scores.design[row] * coefficients)
    blamed = [names[place] for place in np.argsort(-pushed) if pushed[place] > pushed.max() / 3]
    raise NotCovered(
        "The release does not determine a finite coefficient of {blamed}: after randomisation "
        "hardly anyone, or everyone, with such values has the response. Leave it out, or merge "
        "rare values.",
        blamed=", ".join(blamed),
    )


def _require_identified(
    scores: CorrectedScores, slope: FloatArray, beta: FloatArray, names: tuple[str, ...]
) -> float:
    """The weakest information, in its standard errors; refused if it has fewer than 4."""
    scale = _scale(slope)
    values, vectors = np.linalg.eigh((slope + slope.T) / 2 / scale[:, None] / scale)
    sure = scores.certainty(vectors[:, 0] / scale, beta) if values[0] > 1e-9 else 0.0
    if sure >= 4.0:
        return sure
    strength = np.abs(vectors[:, 0])
    blamed = [names[place] for place in np.argsort(-strength) if strength[place] > 0.3]
    reason = noop("after randomisation they contain no measurable information")
    if not scores.undone:
        same = values[0] <= 1e-9
        reason = noop("too few records have them")
        if same:
            reason = noop("they are collinear, or nobody has them")
    raise NotCovered(
        "The release does not identify {blamed}: {reason}. Leave one of them out, or merge rare "
        "values.",
        blamed=", ".join(blamed),
        reason=gettext(reason),
    )


# -- intervals ----------------------------------------------------------------------------

NEAR = 0.01
"""An end is found up to this share of the quantile."""

ASIDE = 1e-9
"""An end is known up to ``NEAR`` only: a 0 close to one is put clearly to its own side, so that no
p-value is 0.05 up to rounding."""


@dataclass(frozen=True, eq=False)
class ScoreTests:
    """Tests of all values that coefficients may have.

    Attributes:
        scores: The scores of the model.
        root: Their root.
        se: Standard errors there.
        step: By how much a moved record changes each score, the others' part taken off.
        infer: About the records or the population.
        spread: The spread of the scores, if that at the root serves for all values.
    """

    scores: CorrectedScores
    root: FloatArray
    se: FloatArray
    step: FloatArray
    infer: Inference
    spread: FloatArray | None

    def ends(self, z: float) -> tuple[FloatArray, FloatArray]:
        """How far each interval goes below and above the root, and how far off 0 each is.

        A value is rejected at ``z`` standard errors of its score; so is 0 outside the interval.
        """
        reach = np.tile(z * self.se, (2, 1))
        from_zero: FloatArray = np.where(self.root == 0, 0.0, math.inf)
        for side, place in np.ndindex(reach.shape):
            if not self.se[place] > 0:
                continue
            path, distance = _Path(self, place, (-1.0, 1.0)[side]), abs(float(self.root[place]))
            end = path.end(float(reach[side, place]), z)
            reach[side, place] = end
            if path.sign * self.root[place] < 0:
                # Far beyond the end 0 is rejected without an exact p-value.
                off = path.errors_at(distance) if distance < 4.0 * end else math.nan
                off = distance / float(self.se[place]) if math.isnan(off) else max(off, 0.0)
                from_zero[place] = min(off, z - ASIDE) if distance <= end else max(off, z + ASIDE)
        return reach, from_zero


class _Path:
    """Values of one coefficient to one side of the root; the others follow."""

    def __init__(self, tests: ScoreTests, place: int, sign: float) -> None:
        self.tests, self.place, self.sign = tests, place, sign
        self.others = np.flatnonzero(np.arange(len(tests.root)) != place)
        self.aside = np.ix_(self.others, self.others)
        self.here = tests.root

    def end(self, begin: float, z: float) -> float:
        """The nearest rejected distance; ``begin`` if the scores have no spread there."""
        inside, before = 0.0, 0.0
        outside, beyond = math.inf, math.inf
        tried = begin
        for _ in range(40):
            errors = self.errors_at(tried)
            if math.isnan(errors):
                return begin if tried <= begin else math.inf
            if abs(errors - z) < NEAR * z:
                return tried
            if errors > z:
                outside, beyond = tried, errors
            elif outside == math.inf and tried > begin and not errors > 1.005 * before:
                return math.inf  # twice the distance is hardly rejected more: there is no end
            else:
                inside, before = tried, errors
            part = (z - before) / (beyond - before)
            step = inside if outside == math.inf else (outside - inside) * min(max(part, 0.1), 0.9)
            tried = inside + step
        return tried

    def errors_at(self, distance: float) -> float:
        """How many standard errors the score at this distance is off 0, less half a record.

        If few records move, the score takes few values, and the next one may be the true one.
        """
        tests, beta = self.tests, self._along(distance)
        score, slope = tests.scores.at(beta)
        combined = np.ones(len(beta))
        combined[self.others] = -_solved(slope[self.aside], slope[self.others, self.place])
        spread = tests.spread
        if spread is None:
            factor = tests.scores.freedom_factor(tests.infer)
            spread = tests.scores.spread(beta, infer=tests.infer) * factor
        variance = float(combined @ spread @ combined)
        if not variance > 0:
            return math.nan
        error = math.sqrt(variance)
        half = float(half_a_record(np.array(error), float(tests.step[self.place])))
        return (-self.sign * float(combined @ score) - half) / error

    def _along(self, distance: float) -> FloatArray:
        """The coefficients at this distance, the scores of all others nearly 0."""
        beta = self.here.copy()
        beta[self.place] = self.tests.root[self.place] + self.sign * distance
        se = self.tests.se[self.others]
        unsure = se > 0  # a coefficient without error may take any step
        for _ in range(25):
            score, slope = self.tests.scores.at(beta)
            step = _solved(slope[self.aside], score[self.others])
            largest = float(np.max(np.abs(step[unsure]) / se[unsure], initial=0.0))
            beta[self.others] += step / max(1.0, largest)
            if largest < NEAR:
                break
        self.here = beta
        return beta
