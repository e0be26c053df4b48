"""Fit latent classes by expectation-maximisation on the exact likelihood of what was released.

The model of a record is P(x) = sum over classes r of q_r prod over axes j of theta_jr(x_j). For a
cell u of a answer with probability p_u, released c_u times, the likelihood is
c_u log(base + gain p_u): one step hands the mass w_u = c_u gain / (base + gain p_u) times
q_r prod theta to the classes and to the values seen, and adds pseudo-records in proportion to the
margins (a Dirichlet prior), so that a class about which little is known looks like everybody.
Columns beside, released as they are, are seen whether or not the answer comes from the base.

With several traits every record has a class of each, and each of its values comes from one of them:
theta_j of a combination of classes is sum over traits t of s_jt theta_jt of the class of trait t,
where the shares s_jt are fitted too. So what goes with age need not share its classes with what
goes with the place, and far fewer numbers are fitted than combinations have.

What comes from the base tells nothing and is left out, not shared out among all truths: the
likelihood climbed is the same, the steps are many times longer. Several fits from different
starts climb side by side in one array.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana.model.latent_classes import LatentClasses
from pramana.model.observed import Answers, Feature, Observed
from pramana.randomness import Keystream, Stream
from pramana.types import FloatArray, IntArray

__all__ = ["ClassClimb", "margins_of"]

TINY = 1e-300
LEAST = 1e-3
"""Added to every random start, as a share of the margin: no value begins at zero."""

CLASS_PRIOR = 1.0
"""Pseudo-records of each class."""

SHARE_PRIOR = 1.0
"""Pseudo-records of each trait for each axis."""


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
        scaled: FloatArray = profiles / np.repeat(np.maximum(sums, TINY), self.repeats, axis=0)
        return scaled

    def _seen(self) -> list[FloatArray]:
        """The probabilities of what is seen of each feature, by fits times classes."""
        return [
            feature.seen(self._rows(self.profiles, feature.axis))
            for feature in self.observed.features
        ]

    def _rows(self, array: FloatArray, axis: int) -> FloatArray:
        start = self.starts[axis]
        return array[start : start + self.repeats[axis]]

    def step(self) -> None:
        """One step of expectation and maximisation."""
        seen = self._seen()
        masses = [np.zeros_like(part) for part in seen]
        classes = np.zeros(self.weights.shape)
        for table in self.tables:
            classes += table.add_masses(seen, self.weights, masses)
        moved = np.zeros_like(self.profiles)
        for feature, own, mass in zip(self.observed.features, seen, masses, strict=True):
            target = self._rows(moved, feature.axis)
            if feature.moves is None:
                target += mass
            else:
                ratio = np.divide(mass, own, out=np.zeros_like(mass), where=own > 0)
                target += self._rows(self.profiles, feature.axis) * (feature.moves @ ratio)
        self._maximise(moved, classes.reshape(self.shape))

    def _maximise(self, moved: FloatArray, classes: FloatArray) -> None:
        """New shares of classes, and new distributions of values in them, from the mass handed out.

        The mass of a value goes to the traits in proportion to what each brought.
        """
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
            profiles = tuple(self._rows(own, axis).copy() for axis in range(len(self.repeats)))
            found.append(LatentClasses(self.weights[fit].copy(), profiles))
        return tuple(found)


def margins_of(observed: Observed, keystream: Keystream, *, steps: int = 100) -> FloatArray:
    """The most likely distribution of every axis if axes were independent, one below the other."""
    even = np.concatenate([np.full(size, 1 / size) for size in observed.sizes])
    climb = ClassClimb(observed, even, classes=1, pull=0.5, fits=1, keystream=keystream)
    return climb.run(steps).profiles[:, 0]


# -- cells of answers --------------------------------------------------------------------


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
        beside: So many features, the first ones, were released as they are.
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
        return self._incidence(self.rows[:, self.beside :])

    @cached_property
    def stands_beside(self):  # type: ignore[no-untyped-def]
        """The same of what stands beside."""
        return self._incidence(self.rows[:, : self.beside])

    def _incidence(self, rows: IntArray):  # type: ignore[no-untyped-def]
        from scipy.sparse import csr_array

        cells, width = rows.shape
        places = np.repeat(np.arange(cells), width)
        shape = (sum(self.sizes), cells)
        return csr_array((np.ones(cells * width), (rows.ravel(), places)), shape=shape)

    def _joints(
        self, seen: list[FloatArray], weights: FloatArray
    ) -> tuple[FloatArray | None, FloatArray]:
        """q_r prod theta of what stands beside each cell, and of all of it: by fits times classes.

        ``None`` where nothing stands beside.
        """
        stacked = np.concatenate(seen)
        joint = (stacked * weights.ravel()).take(self.rows[:, 0], axis=0)
        kept = None
        for place in range(1, self.rows.shape[1]):
            if place == self.beside:
                kept = joint.copy()
            joint *= stacked.take(self.rows[:, place], axis=0)
        return kept, joint

    def add_masses(
        self, seen: list[FloatArray], weights: FloatArray, masses: list[FloatArray]
    ) -> FloatArray:
        """Hand the mass of every cell to what was seen; its sum by class is given back."""
        kept, joint = self._joints(seen, weights)
        below = 1.0 if kept is None else _by_fit(kept, weights.shape)
        chance = self.base[:, None] * below + self.gain[:, None] * _by_fit(joint, weights.shape)
        share = self.counts[:, None] / np.maximum(chance, TINY)
        _scale(joint, share * self.gain[:, None], weights.shape)
        handed = self.told @ joint
        if kept is not None:
            _scale(kept, share * self.base[:, None], weights.shape)
            joint += kept
            handed += self.stands_beside @ joint
        start = 0
        for mass, size in zip(masses, self.sizes, strict=True):
            mass += handed[start : start + size]
            start += size
        classes: FloatArray = joint.sum(axis=0).reshape(weights.shape)
        return classes

    def log_likelihoods(self, seen: list[FloatArray], weights: FloatArray) -> FloatArray:
        """The log-likelihood of one release of each cell under the average of all fits."""
        kept, joint = self._joints(seen, weights)
        chance = joint.sum(axis=1) / len(weights)
        if kept is not None:
            chance /= np.maximum(kept.sum(axis=1) / len(weights), TINY)
        found: FloatArray = np.log(np.maximum(self.base + self.gain * chance, TINY))
        return found


# Sums along a short axis, and factors along it, take many times as long as a product of matrices.
SHORT = 8
"""Up to so many classes."""

PIECE = 8_192
"""A product of so many numbers is not handed to several threads, which wait for each other: of a
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
