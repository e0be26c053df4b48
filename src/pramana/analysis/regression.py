"""Regressions of the truth from randomised records, by corrected scores.

On the truth a coefficient vector b is the root of a sum of scores, sum_i psi(b; t_i, z_i), with t
the columns that were randomised and z the others. A record with truth t is released as r with
probability P_tr; with B = P^-1,

    u(b; r, z) = sum_t B_rt psi(b; t, z)      has mean      psi(b; t, z)

whatever the truth: the corrected scores of the release sum to those of the truth, up to noise of
mean 0. Their root is consistent for what the same regression of the truth would give, without any
assumption on how the randomised columns are distributed or on the errors [Nakamura90]. The spread
of the u gives the standard errors (a sandwich), the randomisation included.

Records with the same released values have the same u but for the response, so that sums over cells
are all that is needed.

Intervals reach to the values that a test of the scores refutes. An estimate and this many standard
errors to both sides are right where the scores are straight lines in the coefficients and their
spread is the same along the interval. Through strong noise they are not: a coefficient far out
comes with a large standard error, from the same noise; and that of a steep effect, or of a rare
response, comes out small or runs away. But at every value the sum of the scores is a sum of
independent terms, of mean 0 if the value is true. So each value is judged by its own score and
spread, the other coefficients brought to where their scores are 0, and what is left of these taken
off [Neyman59]. Where no value however large is refuted, the interval has no end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, TypeAlias, cast

import numpy as np

from pramana.analysis.question import Inference
from pramana.analysis.variance import NOTHING, half_a_record
from pramana.base.rounding import require_choice
from pramana.errors import NotCovered
from pramana.types import FloatArray, IntArray

Family: TypeAlias = Literal["linear", "logistic", "poisson"]
FAMILIES: tuple[Family, ...] = ("linear", "logistic", "poisson")

AT_ONCE, HELD = 4_000_000, 400_000
"""So many numbers of the design are worked on at a time, and up to so many are laid out once."""

WEAKEST = 4.0
"""The information of the release in its weakest direction must be this many of its own standard
errors away from none; below that, intervals around the root hold too rarely."""

SURE = 30.0
"""From this many on, the spread of the scores changes next to nothing along an interval."""

MOST_NUMBERS = 500_000_000
"""Times the coefficients: where the design has more, a spread for every value takes minutes."""

ROUNDING = 1e-13
"""Squares below this part of the largest of what they are made of are 0 but for rounding."""

MOST_ROUNDS = 60
LARGEST = 30.0
"""Linear predictors beyond this are cut: exp would overflow on the way to the root."""


SYNONYMS: dict[str, Family] = {"binomial": "logistic", "gaussian": "linear", "ols": "linear"}
"""What other packages call the families."""


def family_named(name: str) -> Family:
    """The family of a name, which other packages may have given it."""
    family = SYNONYMS.get(name, name)
    require_choice("family", family, FAMILIES)
    return cast("Family", family)


class _Link(Protocol):
    def __call__(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]: ...


def _linear(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    return eta, np.ones_like(eta)


def _logistic(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = 1 / (1 + np.exp(-_within_reach(eta)))
    return mean, mean * (1 - mean)


def _poisson(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = np.exp(_within_reach(eta))
    return mean, mean


def _within_reach(eta: FloatArray) -> FloatArray:
    """Neither below nor above what has an exponential; a third of the time of np.clip."""
    found: FloatArray = np.minimum(np.maximum(eta, -LARGEST), LARGEST)
    return found


LINKS: dict[Family, _Link] = {"linear": _linear, "logistic": _logistic, "poisson": _poisson}


Chunk: TypeAlias = tuple[slice, FloatArray, FloatArray, FloatArray]
"""Some cells: which, weights of their truths, design, response."""


@dataclass(frozen=True, eq=False)
class CorrectedScores:
    """Released records by cells, and the design of every truth that a cell can come from.

    Attributes:
        family: of the model.
        design: one row of the model matrix for each kind of kept values and each truth.
        response: the response of each of these, or ``None`` where it is summed up in ``wy``.
        kept: for each cell the kind of its kept values.
        undone: for each randomised step the rows of B, and the row that each cell has.
        n: how many records each cell has.
        w: sums of weights of each cell; likewise ``ww``, ``wy``, ``wwy`` and ``wwyy``.
        apart: the draw that each cell comes from, where records of several draws are put together,
            the number of each given; their scores have means of their own.
        rounding: of least squares, for each number that was rounded by chance and each row of the
            design: how the row, and in the last place its response, rises with the number, times
            the error of rounding.
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
        return int(self.design.shape[2])

    @property
    def numbers(self) -> int:
        """How many numbers of the design all cells go through."""
        return len(self.kept) * int(self.design.shape[1]) * self.size

    def chunks(self) -> Iterable[Chunk]:
        """Some cells at a time: which, weights of their truths, design, response."""
        return self._only if self.numbers <= HELD else self._chunks()

    @cached_property
    def _only(self) -> tuple[Chunk, ...]:
        """Of few cells, which are gone through many times: all of them."""
        return tuple(self._chunks())

    def _chunks(self) -> Iterator[Chunk]:
        truths, size = self.design.shape[1:]
        step = max(1, AT_ONCE // (truths * size))
        for begin in range(0, len(self.kept), step):
            part = slice(begin, begin + step)
            kept = self.kept[part]
            weights = np.ones((len(kept), 1))
            for rows, seen in self.undone:
                own = rows[seen[part]]
                weights = (weights[:, :, None] * own[:, None, :]).reshape(len(kept), -1)
            y = np.zeros((1, 1)) if self.response is None else self.response[kept]
            yield part, weights, self.design[kept], y

    def _said(self, *, positive: bool) -> tuple[tuple[FloatArray, ...], ...]:
        """What all cells of a kind say about each truth together, some truths at a time.

        Design, response, weights, and weights times the response: sums of scores need no more, so
        that cells are gone through once.
        """
        from scipy.sparse import csr_array

        shape = self.design.shape[:2]
        weight, value = np.zeros(shape), np.zeros(shape)
        for part, weights, _, _ in self.chunks():
            if positive:
                weights = np.maximum(weights, 0)
                known = weights.sum(axis=1, keepdims=True)  # 0 for who speaks against all of them
                weights = weights / np.where(known > 0, known, 1.0)
            kept, cells = self.kept[part], np.arange(len(weights))
            for total, own in ((weight, self.w[part]), (value, self.wy[part])):
                total += csr_array((own, (kept, cells)), shape=(shape[0], len(cells))) @ weights
        design = self.design.reshape(-1, self.size)
        response = np.zeros(1) if self.response is None else self.response.ravel()
        response = np.broadcast_to(response, len(design))
        step = max(1, AT_ONCE // self.size)
        starts = range(0, len(design), step)
        each = (design, response, weight.ravel(), value.ravel())
        return tuple(tuple(own[at : at + step] for own in each) for at in starts)

    @property
    def truths(self) -> FloatArray:
        """The estimated weight of each truth, over all kinds of kept values."""
        weights = np.concatenate([own for _, _, own, _ in self._corrected])
        return np.asarray(weights.reshape(self.design.shape[:2]).sum(axis=0))

    @cached_property
    def _corrected(self) -> tuple[tuple[FloatArray, ...], ...]:
        return self._said(positive=False)

    @cached_property
    def _positive(self) -> tuple[tuple[FloatArray, ...], ...]:
        return self._said(positive=True)

    def at(self, beta: FloatArray, *, positive: bool = False) -> tuple[FloatArray, FloatArray]:
        """The sum of the scores, and its derivative.

        With ``positive`` weights the scores are those of no one, but they always have a root.
        """
        link, size = LINKS[self.family], self.size
        score, slope = np.zeros(size), np.zeros((size, size))
        for x, y, own, value in self._positive if positive else self._corrected:
            mean, rise = link(x @ beta)
            score += (own * (y - mean) + value) @ x
            slope += (x * (own * rise)[:, None]).T @ x
        if self.rounding is not None:  # (z + e) (y - (z + e) b) has the mean z (y - z b) - b var(e)
            weights = np.concatenate([own for _, _, own, _ in self._corrected])
            for layer in self.rounding:
                x = layer[:, :size]
                score -= (weights * (layer[:, size] - x @ beta)) @ x
                slope -= (x * weights[:, None]).T @ x
        return score, slope

    def spread(self, beta: FloatArray, *, infer: Inference) -> FloatArray:
        """The covariance of the sum of scores: of records and their draws, or of the draws alone.

        About these records, what the scores of the truth would spread by themselves is taken off;
        it is estimated like any other sum over the truth. Scores of records that were drawn apart
        spread around the mean of their draw.
        """
        link = LINKS[self.family]
        total = np.zeros((self.size, self.size))
        draws = np.zeros(len(self.n), dtype=np.int64) if self.apart is None else self.apart
        drawn = np.bincount(draws, weights=self.n)
        sums, several = np.zeros((len(drawn), self.size)), (drawn > 1) & (self.apart is not None)
        more = np.where(several, drawn / np.maximum(drawn - 1, 1), 1.0)[draws]
        for part, weights, x, y in self.chunks():
            mean, _ = link(x @ beta)
            rest = y - mean
            up = np.einsum("ct,ctp->cp", weights, x)
            own = np.einsum("ct,ctp->cp", weights * rest, x)
            for rises, off in self._rounded(part, beta):
                own -= np.einsum("ct,ctp->cp", weights * off, rises)
            np.add.at(sums, draws[part], up * self.wy[part, None] + own * self.w[part, None])
            ww, wwy, wwyy = (more[part] * s[part] for s in (self.ww, self.wwy, self.wwyy))
            cross = (up * wwy[:, None]).T @ own
            total += (up * wwyy[:, None]).T @ up + cross + cross.T + (own * ww[:, None]).T @ own
            if infer == "records":
                square = (
                    self.wwyy[part, None]
                    + 2 * self.wwy[part, None] * rest
                    + self.ww[part, None] * rest**2
                )
                flat = x.reshape(-1, self.size)
                total -= (flat * (weights * square).reshape(-1, 1)).T @ flat
                for rises, off in self._rounded(part, beta):
                    still = rises * rest[..., None] + x * off[..., None]
                    seen = np.einsum("ctp,ctq,ct->cpq", still, still, weights)
                    both = np.einsum("ctp,ctq,ct->cpq", rises, still, weights)
                    value = np.einsum("ctp,ctq,ct->cpq", rises, rises, weights)
                    total += np.tensordot(self.ww[part], seen, 1)
                    total += np.tensordot(self.wwyy[part], value, 1)
                    total += np.tensordot(self.wwy[part], both + both.transpose(0, 2, 1), 1)
        share = np.where(several, 1 / np.maximum(drawn - 1, 1), 0.0)
        return total - (sums * share[:, None]).T @ sums

    def _rounded(self, part: slice, beta: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """For each rounded number the rise of the design, and of what is left, in each truth."""
        shape = (*self.design.shape[:2], self.size + 1)
        for layer in () if self.rounding is None else self.rounding:
            own = layer.reshape(shape)[self.kept[part]]
            yield own[..., :-1], own[..., -1] - own[..., :-1] @ beta

    def step(self, beta: FloatArray, along: FloatArray) -> FloatArray:
        """What one record that moves changes of some combinations of the scores.

        A record stands for people of its cell, who leave for other truths with the chances that
        the inverse tells up to their sign, where few move. It is the root of a mean square over
        all moves, each by what it adds to the variance: those that change nothing do not count.
        """
        link = LINKS[self.family]
        second, fourth = np.zeros(along.shape[1]), np.zeros(along.shape[1])
        for part, weights, x, y in self.chunks():
            mean, _ = link(x @ beta)
            n, ww, wwy, wwyy = (s[part, None, None] for s in (self.n, self.ww, self.wwy, self.wwyy))
            counts = x @ along
            rounding = counts**2 * (wwyy + ww * (y**2 + mean**2)[:, :, None]) * ROUNDING
            own = counts * (y - mean)[:, :, None]
            here = weights.argmax(axis=1)[:, None, None]
            up, own = (side - np.take_along_axis(side, here, axis=1) for side in (counts, own))
            squares = up**2 * wwyy + 2 * up * own * wwy + own**2 * ww
            squares[squares <= rounding] = 0.0
            chance = np.where(np.abs(weights) > NOTHING, np.abs(weights), 0.0)
            second += np.einsum("ct,ctp->p", chance, squares)
            fourth += np.einsum("ct,ctp->p", chance, squares**2 / n)
        return np.sqrt(fourth / np.where(second > 0, second, 1.0))

    def unsure(self, covariance: FloatArray) -> FloatArray:
        """Standard errors of all linear predictors."""
        step = max(1, AT_ONCE // (int(self.design.shape[1]) * self.size))
        parts = [self.design[at : at + step] for at in range(0, len(self.design), step)]
        found = [np.einsum("ktp,ktp->kt", part @ covariance, part) for part in parts]
        return np.asarray(np.sqrt(np.maximum(np.concatenate(found), 0)), dtype=np.float64)

    def fitted(self, infer: Inference) -> float:
        """How much more scores spread than those at the root, which was fitted to them."""
        return self.records / max(self.records - self.size, 1.0) if infer == "population" else 1.0

    def certainty(self, direction: FloatArray, beta: FloatArray) -> float:
        """How many standard errors the information along a direction is away from none."""
        link = LINKS[self.family]
        found, square = 0.0, 0.0
        for part, weights, x, _ in self.chunks():
            _, rise = link(x @ beta)
            each = (weights * rise * (x @ direction) ** 2).sum(axis=1)
            found += float(self.w[part] @ each)
            square += float(self.ww[part] @ each**2)
        return found / math.sqrt(max(square, 1e-300))


@dataclass(frozen=True, eq=False)
class Solution:
    """The root of the corrected scores, and how sure it is."""

    coefficients: FloatArray
    covariance: FloatArray
    reach: FloatArray
    from_zero: FloatArray


def solve_scores(
    scores: CorrectedScores, names: tuple[str, ...], *, infer: Inference, z: float
) -> Solution:
    """Find the root; refused where the release does not tell it."""
    beta = np.zeros(scores.size)
    if scores.family != "linear":
        beta = _root(scores, beta, names, positive=True)
    beta = _root(scores, beta, names, positive=False)
    _, slope = scores.at(beta)
    if scores.family != "linear":
        _require_finite(scores, np.abs(scores.design @ beta), beta, names)
    sure = _require_identified(scores, slope, beta, names)
    spread = scores.spread(beta, infer=infer) * scores.fitted(infer)
    inverse = np.asarray(np.linalg.inv(slope), dtype=np.float64)
    covariance = inverse @ spread @ inverse.T
    se = np.sqrt(np.maximum(np.diag(covariance), 0))
    if scores.family != "linear":
        _require_finite(scores, scores.unsure(covariance), se, names)
    step = np.zeros_like(se)
    if infer == "records" and scores.undone:  # the luck of a sample is no matter of single records
        step = scores.step(beta, inverse.T)
    _require_errors(se, step, names)
    steady = sure >= SURE or scores.numbers * scores.size >= MOST_NUMBERS
    if steady and (scores.family == "linear" or not scores.undone):
        half = half_a_record(se, step)
        off = np.maximum(np.abs(beta) - half, 0)
        from_zero = np.divide(off, se, out=np.where(off > 0, np.inf, 0.0), where=se > 0)
        return Solution(beta, covariance, np.tile(z * se + half, (2, 1)), from_zero)
    tests = Tests(
        scores, beta, se, step / np.diag(inverse), infer=infer, spread=spread if steady else None
    )
    return Solution(beta, covariance, *tests.ends(z))


def _root(
    scores: CorrectedScores, beta: FloatArray, names: tuple[str, ...], *, positive: bool
) -> FloatArray:
    """Newton's steps, halved where the scores would grow."""
    score, slope = scores.at(beta, positive=positive)
    for _ in range(MOST_ROUNDS):
        scale = _scale(slope)
        step = (
            np.linalg.lstsq(slope / scale[:, None] / scale, score / scale, rcond=1e-13)[0] / scale
        )
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
        f"The scores of {', '.join(names)} have no root that could be found: randomisation leaves "
        "too little to fit this model. Use fewer randomised columns, or coarser ones."
    )


def _scale(slope: FloatArray) -> FloatArray:
    diagonal = np.abs(np.diag(slope))
    return np.sqrt(np.where(diagonal > 0, diagonal, 1.0))


def _require_finite(
    scores: CorrectedScores, far: FloatArray, each: FloatArray, names: tuple[str, ...]
) -> None:
    """Refuse a root that ran away: estimated counts of 0 and below have no logarithm.

    ``far`` is how far linear predictors are off, or may be, by what ``each`` coefficient is.
    """
    if float(far.max()) < LARGEST:
        return
    kind, truth = np.unravel_index(int(far.argmax()), far.shape)
    pushed = np.abs(scores.design[kind, truth] * each)
    blamed = [names[place] for place in np.argsort(-pushed) if pushed[place] > pushed.max() / 3]
    raise NotCovered(
        f"The release does not tell a finite coefficient of {', '.join(blamed)}: after "
        "randomisation hardly anyone, or everyone, with such values has the response. Leave it "
        "out, or merge rare values."
    )


def _require_identified(
    scores: CorrectedScores, slope: FloatArray, beta: FloatArray, names: tuple[str, ...]
) -> float:
    """How many standard errors its weakest information is away from none."""
    scale = _scale(slope)
    values, vectors = np.linalg.eigh((slope + slope.T) / 2 / scale[:, None] / scale)
    direction = vectors[:, 0] / scale
    sure = scores.certainty(direction, beta) if values[0] > 1e-9 else 0.0
    if sure >= WEAKEST:
        return sure
    strength = np.abs(vectors[:, 0])
    blamed = [names[place] for place in np.argsort(-strength) if strength[place] > 0.3]
    reason = "after randomisation their information cannot be told from none"
    if not scores.undone:
        same = values[0] <= 1e-9
        reason = "they say the same, or nobody has them" if same else "too few records have them"
    raise NotCovered(
        f"The release does not identify {', '.join(blamed)}: {reason}. Leave one of them out, or "
        "merge rare values."
    )


def _require_errors(se: FloatArray, step: FloatArray, names: tuple[str, ...]) -> None:
    """Refuse an error of 0 where a record that moves would change the coefficient."""
    unknown = [name for name, own, one in zip(names, se, step, strict=True) if one > 0 and own == 0]
    if unknown:
        raise NotCovered(
            f"The release does not tell the error of {', '.join(unknown)}: too few records that "
            "randomisation may have moved are seen. Ask about more records, or merge rare values."
        )


# -- intervals ----------------------------------------------------------------------------

MOST_TRIES, MOST_STEPS = 40, 25

NEAR = 0.01
"""An end is where the test says so, up to this part of the quantile."""

ASIDE = 1e-9
"""An end is known up to ``NEAR`` only: 0 that lies close to one is put clearly to its own side, so
that p-values are not 0.05 but for rounding."""

BEYOND = 4.0
"""So many times as far as the end, 0 is refuted beyond doubt, and by how much is not looked for."""

FLAT = 1.005
"""Where twice the distance is refuted by less than this many times as much, there is no end."""


@dataclass(frozen=True, eq=False)
class Tests:
    """Tests of all values that coefficients may have.

    Attributes:
        scores: of the model.
        root: of the scores.
        se: standard errors there.
        step: what one record that moves changes of each score, the others' part taken off.
        infer: about the records or the population.
        spread: of the scores, where that at the root serves for all values.
    """

    scores: CorrectedScores
    root: FloatArray
    se: FloatArray
    step: FloatArray
    infer: Inference
    spread: FloatArray | None

    def ends(self, z: float) -> tuple[FloatArray, FloatArray]:
        """How far each interval goes below and above the root, and how far off 0 each is.

        A value is refuted by ``z`` standard errors of its score; so is 0 if it lies outside.
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
                found = path.refuted(distance) if distance < BEYOND * end else math.nan
                found = distance / float(self.se[place]) if math.isnan(found) else max(found, 0.0)
                inside = distance <= end
                from_zero[place] = min(found, z - ASIDE) if inside else max(found, z + ASIDE)
        return reach, from_zero


@dataclass
class _Path:
    """Values of one coefficient to one side of the root, with the others that go along."""

    tests: Tests
    place: int
    sign: float
    others: IntArray = field(init=False)
    aside: tuple[IntArray, ...] = field(init=False)
    here: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.others = np.flatnonzero(np.arange(len(self.tests.root)) != self.place)
        self.aside = np.ix_(self.others, self.others)
        self.here = self.tests.root

    def end(self, begin: float, z: float) -> float:
        """The nearest distance that is refuted; ``begin`` where the scores do not tell."""
        inside, before = 0.0, 0.0
        outside, beyond = math.inf, math.inf
        tried = begin
        for _ in range(MOST_TRIES):
            found = self.refuted(tried)
            if math.isnan(found):
                return begin if tried <= begin else math.inf
            if abs(found - z) < NEAR * z:
                return tried
            if found > z:
                outside, beyond = tried, found
            elif outside == math.inf and tried > begin and not found > FLAT * before:
                return math.inf
            else:
                inside, before = tried, found
            part = (z - before) / (beyond - before)
            step = inside if outside == math.inf else (outside - inside) * min(max(part, 0.1), 0.9)
            tried = inside + step
        return tried

    def refuted(self, distance: float) -> float:
        """By how many standard errors the score at this distance is off 0, but for half a record.

        Where few records move the score is one of few numbers, and the next one may be true.
        """
        tests, beta = self.tests, self._along(distance)
        score, slope = tests.scores.at(beta)
        combined = np.ones(len(beta))
        combined[self.others] = -_solved(slope[self.aside], slope[self.others, self.place])
        spread = tests.spread
        if spread is None:
            fitted = tests.scores.fitted(tests.infer)
            spread = tests.scores.spread(beta, infer=tests.infer) * fitted
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
        unsure = se > 0  # of a coefficient that is sure, any step will do
        for _ in range(MOST_STEPS):
            score, slope = self.tests.scores.at(beta)
            step = _solved(slope[self.aside], score[self.others])
            sizes = np.abs(step[unsure]) / se[unsure]
            most = float(np.max(sizes, initial=0.0))
            beta[self.others] += step / max(1.0, most)
            if most < NEAR:
                break
        self.here = beta
        return beta


def _solved(slope: FloatArray, score: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.lstsq(slope, score, rcond=1e-13)[0], dtype=np.float64)
