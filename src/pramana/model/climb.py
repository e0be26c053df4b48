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

from math import prod

import numpy as np

from pramana.model.cells import TINY, tables_of
from pramana.model.latent_classes import LatentClasses
from pramana.model.observed import Observed
from pramana.randomness import Keystream, Stream
from pramana.types import FloatArray

__all__ = ["LEAN", "ClassClimb", "margins_of"]

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
"""Records that tell something: from so many on less is taken for granted."""


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
