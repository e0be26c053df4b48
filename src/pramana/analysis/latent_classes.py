"""A mixture of products: people fall into classes within which columns are independent.

The cells of answers, and how one step of a fit hands their mass to classes and to what was seen.

Cells can be a grid: what stands beside (or the first feature) down, the rest across, with few of
its places empty. Then the probabilities of all places are one product of matrices, and so is the
mass handed back; the numbers of cells by classes are never written down, which takes a tenth of
the time. Where most places of the grid were never released, each cell goes by itself.

Fit latent classes by expectation-maximisation on the exact likelihood of what was released.

The model of a record is P(x) = sum over classes r of q_r prod over axes j of theta_jr(x_j). For a
cell u of a answer with probability p_u, released c_u times, the likelihood is
c_u log(base + gain p_u): one step hands the mass w_u = c_u gain / (base + gain p_u) times
q_r prod theta to the classes and to the values seen, and adds pseudo-records in proportion to the
margins (a Dirichlet prior), so that a class about which little is known looks like everybody.
Columns beside, released unchanged, are seen whether or not the answer comes from the base.

With several traits every record has a class of each, and each of its values comes from one of them:
theta_j of a combination of classes is sum over traits t of s_jt theta_jt of the class of trait t,
where the shares s_jt are fitted too. So what goes with age need not share its classes with what
goes with the place, and far fewer numbers are fitted than combinations have.

What comes from the base tells nothing and is left out, not shared out among all truths: the
likelihood climbed is the same, the steps are many times longer. Several fits from different
starts climb side by side in one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from pramana.analysis.observed import Answers, Feature, Observed
from pramana.base.randomness import Keystream, Stream
from pramana.types import FloatArray, IntArray


@dataclass(frozen=True)
class FitSetting:
    """How to fit: the classes of each trait, pseudo-records of the prior, steps, and traits."""

    classes: int
    pull: float
    steps: int
    traits: int = 1

    def __str__(self) -> str:
        if self.traits == 1:
            return f"{self.classes} latent classes"
        return f"{self.traits} latent traits of {self.classes} classes"


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """P(x) = sum over classes r of q_r prod over axes j of theta_jr(x_j).

    Attributes:
        weights: The share of each class.
        profiles: For each axis the distribution of its values in each class: values by classes.
    """

    weights: FloatArray
    profiles: tuple[FloatArray, ...]

    def table(self, axes: Sequence[int]) -> FloatArray:
        """The joint distribution of some axes."""
        joint = self.weights
        for axis in axes:
            joint = joint[..., None, :] * self.profiles[axis]
        table: FloatArray = joint.sum(axis=-1)
        return table


@dataclass(frozen=True, eq=False)
class Blend:
    """The average of several fits, each as good as the others.

    Attributes:
        models: The fits.
        why: One sentence on how they were chosen.
        settings: How they were fitted, the best first; none for independent columns.
    """

    models: tuple[LatentClasses, ...]
    why: str
    settings: tuple[FitSetting, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(len(profile) for profile in self.models[0].profiles)

    def merged(self) -> LatentClasses:
        """The same distribution as one model: the classes of all fits."""
        weights = np.concatenate([model.weights for model in self.models]) / len(self.models)
        profiles = tuple(
            np.concatenate(parts, axis=1)
            for parts in zip(*(model.profiles for model in self.models), strict=True)
        )
        return LatentClasses(weights, profiles)

    def raked(self, margins: Sequence[tuple[int, IntArray, FloatArray]]) -> Blend:
        """The distribution nearest to this one whose margins are these [Deming40].

        Args:
            margins: an axis, the group of each of its values, and the shares of the groups.
        """
        if not margins:
            return self
        model = self.merged()
        weights, profiles = model.weights, list(model.profiles)
        for _ in range(RAKINGS):
            furthest = 0.0
            for axis, groups, shares in margins:
                now = np.bincount(groups, profiles[axis] @ weights, len(shares))
                furthest = max(furthest, float(np.abs(now - shares).max()))
                factor = np.divide(shares, now, out=np.zeros(len(shares)), where=now > 0)
                scaled = profiles[axis] * factor[groups][:, None]
                inside = scaled.sum(axis=0)
                weights = weights * inside / (weights @ inside)
                profiles[axis] = scaled / np.maximum(inside, TINY)
            if furthest < RAKED:
                break
        return replace(self, models=(LatentClasses(weights, tuple(profiles)),))

    def table(self, axes: Sequence[int]) -> FloatArray:
        """The joint distribution of some axes."""
        parts = [model.table(axes) for model in self.models]
        mean: FloatArray = sum(parts[1:], start=parts[0]) / len(parts)
        return mean


TINY = 1e-300

RAKINGS, RAKED = 500, 1e-9
"""The most rounds of raking, and how far a margin may be off at the end."""

ROOMY = 4
"""A grid with more than this many places a cell is mostly empty: each cell goes by itself."""


def tables_of(observed: Observed) -> list[AnsweredCells]:
    """Questions of the same width and the same law, put together so that each is one array."""
    alike: dict[tuple[int, int], list[Answers]] = {}
    for answer in observed.answers:
        if len(answer.counts):
            alike.setdefault((len(answer.features), answer.beside), []).append(answer)
    return [AnsweredCells.of(group, observed.features) for group in alike.values()]


@dataclass(frozen=True, eq=False)
class AnsweredCells:
    """AnsweredCells of answers with equally many features.

    Attributes:
        rows: One row a cell, for each of its features the row of what was seen, all features
            stacked one below the other.
        beside: This many features, the first ones, were released unchanged.
    """

    rows: IntArray
    counts: FloatArray
    base: FloatArray
    gain: FloatArray
    sizes: tuple[int, ...]
    beside: int

    @classmethod
    def of(cls, answers: list[Answers], features: tuple[Feature, ...]) -> AnsweredCells:
        """Put answers together."""
        sizes = tuple(feature.size for feature in features)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        rows = [answer.cells + starts[list(answer.features)][None, :] for answer in answers]
        lengths = [len(answer.counts) for answer in answers]
        return cls(
            np.concatenate(rows),
            np.concatenate([answer.counts for answer in answers]),
            np.repeat([answer.base for answer in answers], lengths).astype(np.float64),
            np.repeat([answer.gain for answer in answers], lengths).astype(np.float64),
            sizes,
            answers[0].beside,
        )

    @cached_property
    def told(self):  # type: ignore[no-untyped-def]
        """Rows of what was answered by cells, 1 where a cell has it."""
        return _incidence(self.rows[:, self.beside :], sum(self.sizes))

    @cached_property
    def stands_beside(self):  # type: ignore[no-untyped-def]
        """The same of what stands beside."""
        return _incidence(self.rows[:, : self.beside], sum(self.sizes))

    @cached_property
    def grid(self) -> CellGrid | None:
        """The same cells as a grid, where few of its places are empty."""
        return CellGrid.of(self)

    def _joints(
        self, stacked: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray | None, FloatArray]:
        """q_r prod theta of what stands beside each cell, and of all of it: by fits times classes.

        ``None`` where nothing stands beside.
        """
        joint = (stacked * weights.ravel()).take(self.rows[:, 0], axis=0)
        kept = None
        for place in range(1, self.rows.shape[1]):
            if place == self.beside:
                kept = joint.copy()
            joint *= stacked.take(self.rows[:, place], axis=0)
        return kept, joint

    def handed(self, stacked: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mass of what was seen, all features one below the other, and of the classes."""
        road = self._handed if self.grid is None else self.grid.handed
        return road(stacked, weights)

    def _handed(self, stacked: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Cell by cell."""
        kept, joint = self._joints(stacked, weights)
        below = 1.0 if kept is None else _by_fit(kept, weights.shape)
        chance = self.base[:, None] * below + self.gain[:, None] * _by_fit(joint, weights.shape)
        share = self.counts[:, None] / np.maximum(chance, TINY)
        _scale(joint, share * self.gain[:, None], weights.shape)
        handed = self.told @ joint
        if kept is not None:
            _scale(kept, share * self.base[:, None], weights.shape)
            joint += kept
            handed += self.stands_beside @ joint
        return handed, np.add.reduce(joint, axis=0).reshape(weights.shape)

    def log_likelihoods(self, seen: list[FloatArray], weights: FloatArray) -> FloatArray:
        """The log-likelihood of one release of each cell under the average of all fits."""
        kept, joint = self._joints(np.concatenate(seen), weights)
        chance = joint.sum(axis=1) / len(weights)
        if kept is not None:
            chance /= np.maximum(kept.sum(axis=1) / len(weights), TINY)
        found: FloatArray = np.log(np.maximum(self.base + self.gain * chance, TINY))
        return found


@dataclass(frozen=True, eq=False)
class CellGrid:
    """Cells as a grid, with the law of each place; a place that was not released counts nothing.

    Attributes:
        down: For every row of the grid the rows of what was seen, as in ``AnsweredCells``.
        across: The same of its columns.
        split: Whether what stands beside is down, and all else across.
        size: How many values can be seen of all features.
    """

    down: IntArray
    across: IntArray
    counts: FloatArray
    base: FloatArray
    gain: FloatArray
    split: bool
    size: int

    @classmethod
    def of(cls, cells: AnsweredCells) -> CellGrid | None:
        """The grid of cells; ``None`` if it were mostly empty, or had two cells at one place."""
        cut = max(cells.beside, 1)
        if cells.rows.shape[1] == cut:
            return None
        down, rows = np.unique(cells.rows[:, :cut], axis=0, return_inverse=True)
        across, columns = np.unique(cells.rows[:, cut:], axis=0, return_inverse=True)
        shape = (len(down), len(across))
        places = rows.ravel() * shape[1] + columns.ravel()
        if shape[0] * shape[1] > ROOMY * len(places) or len(np.unique(places)) < len(places):
            return None
        counts, base, gain = (np.zeros(shape) for _ in range(3))
        counts.flat[places], base.flat[places] = cells.counts, cells.base
        gain.flat[places] = cells.gain
        beside = cells.beside > 0
        return cls(down, across, counts, base, gain, split=beside, size=sum(cells.sizes))

    @cached_property
    def _sides(self):  # type: ignore[no-untyped-def]
        """What was seen by rows and by columns of the grid; no sums where each has one feature."""
        return tuple(
            _run(rows[:, 0]) if rows.shape[1] == 1 else _incidence(rows, self.size)
            for rows in (self.down, self.across)
        )

    @cached_property
    def _plain(self) -> bool:
        """Whether all that was released comes from the model: nothing from a base."""
        return not (self.split or self.base.any() or (self.gain != 1)[self.counts > 0].any())

    def handed(self, stacked: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As of ``AnsweredCells``: everything by fits, rows or columns, and classes."""
        down, across = (
            self._along(rows, side, stacked, weights)
            for rows, side in zip((self.down, self.across), self._sides, strict=True)
        )
        down = down * weights[:, None]
        chance = down @ across.transpose(0, 2, 1)
        if self._plain:
            told = self.counts / np.maximum(chance, TINY)
        else:
            below = np.add.reduce(down, axis=2, keepdims=True) if self.split else 1.0
            chance = self.base * below + self.gain * chance
            share = self.counts / np.maximum(chance, TINY)
            told = share * self.gain
        across_mass = across * (told.transpose(0, 2, 1) @ down)
        factor = told @ across
        if self.split:
            factor += np.add.reduce(share * self.base, axis=2, keepdims=True)
        down_mass = down * factor
        handed = np.zeros((self.size, weights.size))
        for side, mass in zip(self._sides, (down_mass, across_mass), strict=True):
            flat = mass.transpose(1, 0, 2).reshape(mass.shape[1], -1)
            if isinstance(side, slice | np.ndarray):  # no two rows of a side have the same feature
                handed[side] += flat
            else:
                handed += side @ flat
        return handed, np.add.reduce(down_mass, axis=1)

    @staticmethod
    def _along(rows: IntArray, side: Any, stacked: FloatArray, weights: FloatArray) -> FloatArray:
        """The probability of what stands at each row (or column) of the grid."""
        joint = stacked[side] if isinstance(side, slice) else stacked.take(rows[:, 0], axis=0)
        for place in range(1, rows.shape[1]):
            joint *= stacked.take(rows[:, place], axis=0)
        return joint.reshape(-1, *weights.shape).transpose(1, 0, 2)


def _run(places: IntArray) -> slice | IntArray:
    """Places that follow each other, which are looked at where they lie; others as they are."""
    first, many = int(places[0]), len(places)
    if np.array_equal(places, np.arange(first, first + many)):
        return slice(first, first + many)
    return places


def _incidence(rows: IntArray, size: int):  # type: ignore[no-untyped-def]
    """What was seen by cells, 1 where a cell has it."""
    from scipy.sparse import csr_array

    cells, width = rows.shape
    places = np.repeat(np.arange(cells), width)
    return csr_array((np.ones(cells * width), (rows.ravel(), places)), shape=(size, cells))


# Sums along a short axis, and factors along it, take many times as long as a product of matrices.
SHORT = 8
"""Up to this many classes."""

PIECE = 8_192
"""A product of this many numbers is not handed to several threads, which wait for each other: of a
matrix and a vector the library does so from 9,216 on."""


def _by_fit(joint: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Sums over the classes of each fit."""
    if shape[1] > SHORT:
        summed: FloatArray = joint.reshape(-1, *shape).sum(axis=2)
        return summed
    return _product(joint.reshape(-1, shape[1]), np.ones((shape[1], 1))).reshape(-1, shape[0])


def _scale(joint: FloatArray, factors: FloatArray, shape: tuple[int, ...]) -> None:
    """Each class times the factor of its fit."""
    if shape[1] > SHORT:
        whole = joint.reshape(-1, *shape)
        whole *= factors[:, :, None]
    else:
        joint *= _product(factors.reshape(-1, 1), np.ones((1, shape[1]))).reshape(joint.shape)


def _product(left: FloatArray, right: FloatArray) -> FloatArray:
    found = np.empty((len(left), right.shape[1]))
    rows = PIECE // right.size
    for begin in range(0, len(left), rows):
        np.matmul(left[begin : begin + rows], right, out=found[begin : begin + rows])
    return found


LEAN = 0.3
"""Records of each value that are taken for granted, beyond the one of a prior that says nothing.

Measured on uneven and even margins, from much noise to little: with fewer strong noise makes a
margin one value, with more rare values become frequent.
"""

LEAST = 1e-3
"""Added to every random start, as a share of the margin: no value begins at zero."""

CLASS_PRIOR = 1.0
"""Pseudo-records of each class."""

SHARE_PRIOR = 1.0
"""Pseudo-records of each trait for each axis."""


PLENTY = 200.0
"""Records that tell something: from this many on less is taken for granted."""


class ClassClimb:
    """Several fits that climb side by side.

    Attributes:
        weights: Classes of all fits side by side: fits by classes, or by combinations of them
            where there are several traits.
        profiles: Values of all axes one below the other, by fits times classes.
        parts: The same of each trait by itself: values, fits, classes.
        shares: How much of each axis comes from each trait: axes by fits.
    """

    def __init__(
        self,
        observed: Observed,
        margins: FloatArray,
        *,
        classes: int,
        pull: float,
        fits: int,
        keystream: Keystream,
        traits: int = 1,
    ) -> None:
        self.observed, self.pull = observed, pull
        self.margins = margins
        self.starts = np.concatenate(([0], np.cumsum(observed.sizes)[:-1])).astype(np.int64)
        self.repeats = np.asarray(observed.sizes)
        self.axis_of = np.repeat(np.arange(len(self.repeats)), self.repeats)
        ends = np.cumsum(observed.sizes).tolist()
        self.places = [slice(*own) for own in zip([0, *ends], ends, strict=False)]
        self.prior = pull * margins[:, None]
        self.shape = (fits, *[classes] * traits)
        self.weights: FloatArray = np.full((fits, classes**traits), 1 / classes**traits)
        self.parts = [self._start(Stream("starts", trait), keystream) for trait in range(traits)]
        uniforms = keystream.uniforms("shares", 0, len(self.repeats) * fits * traits)
        shares = 1 - np.log1p(-uniforms).reshape(traits, -1, fits)
        self.shares: FloatArray = shares / shares.sum(axis=0)
        self.profiles: FloatArray = self._composed()
        self.tables = tuple(tables_of(observed))

    def _start(self, stream: Stream, keystream: Keystream) -> FloatArray:
        """A random start of one trait; one class begins, and stays, at the margins."""
        fits, classes = self.shape[:2]
        profiles = self.margins[:, None] * np.ones(fits * classes)
        if classes > 1:
            rows = len(self.margins)
            uniforms = keystream.uniforms(stream, 0, rows * fits * classes)
            profiles *= LEAST - np.log1p(-uniforms).reshape(rows, -1)
        return self._normalised(profiles).reshape(-1, fits, classes)

    def _along(self, trait: int, array: FloatArray) -> FloatArray:
        """Something by values, fits and classes of one trait, laid along that trait."""
        shape = [len(array), self.shape[0], *[1] * (len(self.shape) - 1)]
        shape[2 + trait] = array.shape[-1]
        return array.reshape(shape)

    def _shared(self, trait: int) -> FloatArray:
        """What a trait brings: values, fits, classes."""
        share = np.repeat(self.shares[trait], self.repeats, axis=0)
        found: FloatArray = self.parts[trait] * share[:, :, None]
        return found

    def _composed(self) -> FloatArray:
        """The distributions of values in each combination of classes."""
        brought = [self._along(trait, self._shared(trait)) for trait in range(len(self.parts))]
        whole: FloatArray = sum(brought[1:], start=brought[0])
        return whole.reshape(len(self.margins), -1)

    def _normalised(self, profiles: FloatArray) -> FloatArray:
        sums = np.add.reduceat(profiles, self.starts, axis=0)
        scaled: FloatArray = profiles / np.maximum(sums, TINY).take(self.axis_of, axis=0)
        return scaled

    def _seen(self) -> list[FloatArray]:
        """The probabilities of what is seen of each feature, by fits times classes."""
        profiles, places = self.profiles, self.places
        return [feature.seen(profiles[places[feature.axis]]) for feature in self.observed.features]

    def step(self) -> None:
        """One step of expectation and maximisation."""
        seen = np.concatenate(self._seen())
        mass, classes = self.tables[0].handed(seen, self.weights)
        for table in self.tables[1:]:
            more, others = table.handed(seen, self.weights)
            mass += more
            classes = classes + others
        ratio = np.divide(mass, seen, out=np.zeros(mass.shape), where=seen > 0)
        moved, start = np.zeros(self.profiles.shape), 0
        for feature in self.observed.features:
            own = slice(start, start + feature.size)
            start += feature.size
            place = self.places[feature.axis]
            target = moved[place]
            if feature.moves is None:
                target += mass[own]
            else:
                target += self.profiles[place] * (feature.moves @ ratio[own])
        self._maximise(moved, classes.reshape(self.shape))

    def _maximise(self, moved: FloatArray, classes: FloatArray) -> None:
        """New shares of classes, and new distributions of values in them, from the mass handed out.

        The mass of a value goes to the traits in proportion to what each brought.
        """
        if len(self.parts) == 1:  # which brings everything
            self.profiles = self._normalised(moved + self.prior)
            self.parts = [self.profiles.reshape(-1, *self.shape)]
            own = classes + CLASS_PRIOR
            self.weights = own / np.add.reduce(own, axis=1, keepdims=True)
            return
        ratio = np.divide(moved, self.profiles, out=np.zeros_like(moved), where=self.profiles > 0)
        ratio = ratio.reshape(-1, *self.shape)
        weights, totals = np.ones(self.shape), []
        for trait in range(len(self.parts)):
            others = tuple(axis for axis in range(1, len(self.shape)) if axis != 1 + trait)
            mass = self._shared(trait) * ratio.sum(axis=tuple(axis + 1 for axis in others))
            totals.append(np.add.reduceat(mass.sum(axis=2), self.starts, axis=0) + SHARE_PRIOR)
            mass += self.pull * self.margins[:, None, None]
            shape = mass.shape
            self.parts[trait] = self._normalised(mass.reshape(len(mass), -1)).reshape(shape)
            own = classes.sum(axis=others, keepdims=True) + CLASS_PRIOR
            weights = weights * (own / own.sum(axis=1 + trait, keepdims=True))
        self.shares = np.stack(totals) / sum(totals)
        self.weights = weights.reshape(len(weights), -1)
        self.profiles = self._composed()

    def run(self, steps: int) -> ClassClimb:
        """Many steps."""
        for _ in range(steps):
            self.step()
        return self

    def held_out(self, held: Observed) -> FloatArray:
        """The log-likelihood that the average of the fits gives one release of each cell held out.

        Given what stands beside it; in the order of :meth:`held_counts`.
        """
        seen = self._seen()
        parts = [table.log_likelihoods(seen, self.weights) for table in tables_of(held)]
        return np.concatenate(parts)

    @staticmethod
    def held_counts(held: Observed) -> FloatArray:
        """How often each cell was released."""
        return np.concatenate([table.counts for table in tables_of(held)])

    def models(self) -> tuple[LatentClasses, ...]:
        """The fits as models."""
        fits, classes = self.weights.shape
        found = []
        for fit in range(fits):
            own = self.profiles[:, fit * classes : (fit + 1) * classes]
            profiles = tuple(own[place].copy() for place in self.places)
            found.append(LatentClasses(self.weights[fit].copy(), profiles))
        return tuple(found)


def margins_of(observed: Observed, keystream: Keystream, *, steps: int = 100) -> FloatArray:
    """The most likely distribution of every axis if axes were independent, one below the other.

    Where there is noise alone, that would be a single value, whichever chance picks: a little of
    every value is taken for granted, and the less the more the records tell.
    """
    every = np.ones(sum(observed.sizes))
    pull = LEAN * min(1.0, PLENTY / max(_telling(observed), 1.0))
    climb = ClassClimb(observed, every, classes=1, pull=pull, fits=1, keystream=keystream)
    return climb.run(steps).profiles[:, 0]


def _telling(observed: Observed) -> float:
    """About how many records come from the truth and not from the base, were all cells alike."""
    found = 0.0
    for answers in observed.answers:
        cells = prod(observed.features[place].size for place in answers.features)
        found += float(answers.counts.sum()) * answers.gain / (answers.base * cells + answers.gain)
    return found
