"""Fit latent classes: within a class the columns of a record are independent.

The model of a record is P(x) = sum over classes r of q_r prod over axes j of theta_jr(x_j). It is
fitted by expectation-maximisation on the exact likelihood of what was released. For an answer u
with probability p_u, released c_u times, the log-likelihood is c_u log(base + gain p_u). One step
hands the mass w_u = c_u gain / (base + gain p_u) times q_r prod theta to the classes and to the
values seen, and adds pseudo-records in proportion to the margins (a Dirichlet prior), so that a
class without much evidence stays near the margins. Unchanged columns of the same record are seen
whether or not the answer comes from the base. Answers from the base carry no information and are
left out, not shared out among all values: the likelihood is the same, the steps are many times
longer.

Several fits from different starts climb side by side in one array.
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

TINY = 1e-300


LEAN = 0.3
"""Pseudo-records of each value of a margin, beyond the one of a uniform prior.

Measured on uneven and even margins, from much noise to little: with fewer strong noise makes a
margin one value, with more rare values become frequent.
"""


LEAST = 1e-3
"""Added to every random start, as a share of the margin: no value begins at zero."""


@dataclass(frozen=True)
class FitSetting:
    """How to fit: the number of classes, pseudo-records of the prior, and steps."""

    classes: int
    pull: float
    steps: int

    def __str__(self) -> str:
        return f"{self.classes} latent classes"


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
    """The average of several fits.

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
        """The number of values of each axis."""
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
        """The distribution nearest to this one with the given margins [Deming40].

        Args:
            margins: An axis, the group of each of its values, and the shares of the groups.
        """
        if not margins:
            return self
        model = self.merged()
        weights, profiles = model.weights, list(model.profiles)
        for _ in range(500):
            furthest = 0.0
            for axis, groups, shares in margins:
                now = np.bincount(groups, profiles[axis] @ weights, len(shares))
                furthest = max(furthest, float(np.abs(now - shares).max()))
                factor = np.divide(shares, now, out=np.zeros(len(shares)), where=now > 0)
                scaled = profiles[axis] * factor[groups][:, None]
                inside = scaled.sum(axis=0)
                weights = weights * inside / (weights @ inside)
                profiles[axis] = scaled / np.maximum(inside, TINY)
            if furthest < 1e-9:
                break
        return replace(self, models=(LatentClasses(weights, tuple(profiles)),))

    def table(self, axes: Sequence[int]) -> FloatArray:
        """The joint distribution of some axes."""
        return self.merged().table(axes)


def tables_of(observed: Observed) -> list[AnsweredCells]:
    """The cells of answers with equally many features, unchanged and in all, as one array each."""
    alike: dict[tuple[int, int], list[Answers]] = {}
    for answer in observed.answers:
        if len(answer.counts):
            alike.setdefault((len(answer.features), answer.unchanged), []).append(answer)
    return [AnsweredCells.of(group, observed.features) for group in alike.values()]


@dataclass(frozen=True, eq=False)
class AnsweredCells:
    """Released cells of answers with equally many features.

    Attributes:
        rows: One row per cell: for each of its features the row of the value seen, with all
            features stacked.
        counts: How often each cell was released.
        base: The ``base`` of each cell.
        gain: The ``gain`` of each cell.
        size: The number of rows of all features.
        unchanged: This many features, the first ones, were released unchanged.
    """

    rows: IntArray
    counts: FloatArray
    base: FloatArray
    gain: FloatArray
    size: int
    unchanged: int

    @classmethod
    def of(cls, answers: list[Answers], features: tuple[Feature, ...]) -> AnsweredCells:
        """Put answers together."""
        starts = np.cumsum([0, *(feature.size for feature in features)])
        rows = [answer.cells + starts[list(answer.features)][None, :] for answer in answers]
        lengths = [len(answer.counts) for answer in answers]
        return cls(
            np.concatenate(rows),
            np.concatenate([answer.counts for answer in answers]),
            np.repeat([answer.base for answer in answers], lengths).astype(np.float64),
            np.repeat([answer.gain for answer in answers], lengths).astype(np.float64),
            int(starts[-1]),
            answers[0].unchanged,
        )

    @cached_property
    def grid(self) -> CellGrid | None:
        """The same cells as a grid, unless most of its places would be empty."""
        return CellGrid.of(self)

    @cached_property
    def _incidences(self) -> tuple[Any, Any]:
        """Rows by cells, 1 where a cell has the value: of the answer and its unchanged columns."""
        answer, unchanged = self.rows[:, self.unchanged :], self.rows[:, : self.unchanged]
        return _incidence(answer, self.size), _incidence(unchanged, self.size)

    def _joints(
        self, stacked: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray | None, FloatArray]:
        """q_r prod theta of unchanged columns, and of all columns, by fits times classes.

        The first is ``None`` without unchanged columns.
        """
        joint = (stacked * weights.ravel()).take(self.rows[:, 0], axis=0)
        unchanged = None
        for place in range(1, self.rows.shape[1]):
            if place == self.unchanged:
                unchanged = joint.copy()
            joint *= stacked.take(self.rows[:, place], axis=0)
        return unchanged, joint

    def handed(self, stacked: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mass handed to the values seen, all features stacked, and to the classes."""
        if self.grid is not None:
            return self.grid.handed(stacked, weights)
        return self.handed_by_cell(stacked, weights)

    def handed_by_cell(
        self, stacked: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The same without a grid."""
        classes = weights.shape[1]

        def by_fit(joint: FloatArray) -> FloatArray:
            return np.asarray(np.einsum("cfr->cf", joint.reshape(-1, *weights.shape)))

        unchanged, joint = self._joints(stacked, weights)
        below = 1.0 if unchanged is None else by_fit(unchanged)
        chance = self.base[:, None] * below + self.gain[:, None] * by_fit(joint)
        share = self.counts[:, None] / np.maximum(chance, TINY)
        joint *= np.repeat(share * self.gain[:, None], classes, axis=1)
        of_answer, of_unchanged = self._incidences
        handed = of_answer @ joint
        if unchanged is not None:
            unchanged *= np.repeat(share * self.base[:, None], classes, axis=1)
            joint += unchanged
            handed += of_unchanged @ joint
        return handed, np.add.reduce(joint, axis=0).reshape(weights.shape)

    def log_likelihoods(self, seen: list[FloatArray], weights: FloatArray) -> FloatArray:
        """The log-likelihood of one release of each cell under the average of all fits."""
        unchanged, joint = self._joints(np.concatenate(seen), weights)
        chance = joint.sum(axis=1) / len(weights)
        if unchanged is not None:
            chance /= np.maximum(unchanged.sum(axis=1) / len(weights), TINY)
        logs: FloatArray = np.log(np.maximum(self.base + self.gain * chance, TINY))
        return logs


@dataclass(frozen=True, eq=False)
class CellGrid:
    """Cells as a grid: unchanged features (or the first feature) down, the rest across.

    The probabilities of all places are one product of matrices, and so is the mass handed back.
    The numbers of cells by classes are never written down, which takes a tenth of the time. A place
    that was not released has the count 0.

    Attributes:
        down: For every row of the grid the rows of the values seen, as in ``AnsweredCells``.
        across: The same of its columns.
        counts: How often each place was released.
        base: The ``base`` of each place.
        gain: The ``gain`` of each place.
        split: Whether unchanged features are down, and all others across.
        size: The number of rows of all features.
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
        """The grid of cells; ``None`` if it is mostly empty or has two cells at one place.

        Cells are worked on one by one then.
        """
        cut = max(cells.unchanged, 1)
        if cells.rows.shape[1] == cut:
            return None
        down, rows = np.unique(cells.rows[:, :cut], axis=0, return_inverse=True)
        across, columns = np.unique(cells.rows[:, cut:], axis=0, return_inverse=True)
        shape = (len(down), len(across))
        places = rows.ravel() * shape[1] + columns.ravel()
        if shape[0] * shape[1] > 4 * len(places) or len(np.unique(places)) < len(places):
            return None
        counts, base, gain = (np.zeros(shape) for _ in range(3))
        counts.flat[places], base.flat[places] = cells.counts, cells.base
        gain.flat[places] = cells.gain
        return cls(down, across, counts, base, gain, cells.unchanged > 0, cells.size)

    @cached_property
    def _incidences(self) -> tuple[Any, Any]:
        """Rows of values by rows and by columns of the grid; places if each has one feature."""
        down, across = (
            rows[:, 0] if rows.shape[1] == 1 else _incidence(rows, self.size)
            for rows in (self.down, self.across)
        )
        return down, across

    @cached_property
    def _without_base(self) -> bool:
        """Whether all that was released comes from the model."""
        return not (self.split or self.base.any() or (self.gain != 1)[self.counts > 0].any())

    def handed(self, stacked: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As of ``AnsweredCells``; arrays are by fits, rows or columns of the grid, and classes."""

        def along(rows: IntArray) -> FloatArray:
            """The probability of the values seen at each row (or column)."""
            joint = stacked.take(rows[:, 0], axis=0)
            for place in range(1, rows.shape[1]):
                joint *= stacked.take(rows[:, place], axis=0)
            return joint.reshape(-1, *weights.shape).transpose(1, 0, 2)

        down, across = along(self.down) * weights[:, None], along(self.across)
        chance = down @ across.transpose(0, 2, 1)
        if self._without_base:
            gained = self.counts / np.maximum(chance, TINY)
        else:
            below = np.add.reduce(down, axis=2, keepdims=True) if self.split else 1.0
            chance = self.base * below + self.gain * chance
            share = self.counts / np.maximum(chance, TINY)
            gained = share * self.gain
        across_mass = across * (gained.transpose(0, 2, 1) @ down)
        factor = gained @ across
        if self.split:
            factor += np.add.reduce(share * self.base, axis=2, keepdims=True)
        down_mass = down * factor
        handed = np.zeros((self.size, weights.size))
        for incidence, mass in zip(self._incidences, (down_mass, across_mass), strict=True):
            flat = mass.transpose(1, 0, 2).reshape(mass.shape[1], -1)
            if isinstance(incidence, np.ndarray):  # each value at one place only
                handed[incidence] += flat
            else:
                handed += incidence @ flat
        return handed, np.add.reduce(down_mass, axis=1)


def _incidence(rows: IntArray, size: int) -> Any:
    """Rows of values by cells, 1 where a cell has the value."""
    from scipy.sparse import csr_array

    cells, width = rows.shape
    places = np.repeat(np.arange(cells), width)
    return csr_array((np.ones(cells * width), (rows.ravel(), places)), shape=(size, cells))


class ClassClimb:
    """Several fits that climb side by side.

    Attributes:
        weights: The shares of the classes: fits by classes.
        profiles: Values of all axes one below the other, by fits times classes.
    """

    def __init__(
        self,
        observed: Observed,
        margins: FloatArray,
        setting: FitSetting,
        keystream: Keystream,
        *,
        fits: int = 1,
    ) -> None:
        self.observed, self.margins = observed, margins
        self.repeats = np.asarray(observed.sizes)
        ends = np.cumsum(observed.sizes)
        self.starts = (ends - self.repeats).astype(np.int64)
        self.axis_of = np.repeat(np.arange(len(self.repeats)), self.repeats)
        self.places = [slice(*ends) for ends in zip(self.starts, ends, strict=True)]
        self.prior = setting.pull * margins[:, None]
        self.weights: FloatArray = np.full((fits, setting.classes), 1 / setting.classes)
        self.profiles: FloatArray = self._start(keystream)
        self.tables = tuple(tables_of(observed))

    def _start(self, keystream: Keystream) -> FloatArray:
        """A random start; a single class starts at the margins."""
        fits, classes = self.weights.shape
        profiles = self.margins[:, None] * np.ones(fits * classes)
        if classes > 1:
            rows = len(self.margins)
            uniforms = keystream.uniforms(Stream("starts", 0), 0, rows * fits * classes)
            profiles *= LEAST - np.log1p(-uniforms).reshape(rows, -1)
        return self._normalised(profiles)

    def _normalised(self, profiles: FloatArray) -> FloatArray:
        sums = np.add.reduceat(profiles, self.starts, axis=0)
        scaled: FloatArray = profiles / np.maximum(sums, TINY).take(self.axis_of, axis=0)
        return scaled

    def _seen(self) -> list[FloatArray]:
        """The probabilities of the values seen of each feature, by fits times classes."""
        profiles, places = self.profiles, self.places
        return [feature.seen(profiles[places[feature.axis]]) for feature in self.observed.features]

    def step(self) -> None:
        """One step of expectation and maximisation."""
        seen = np.concatenate(self._seen())
        mass, classes = self.tables[0].handed(seen, self.weights)
        for table in self.tables[1:]:
            more_mass, more_classes = table.handed(seen, self.weights)
            mass += more_mass
            classes = classes + more_classes
        ratio = np.divide(mass, seen, out=np.zeros(mass.shape), where=seen > 0)
        moved, start = np.zeros(self.profiles.shape), 0
        for feature in self.observed.features:
            rows, place = slice(start, start + feature.size), self.places[feature.axis]
            start += feature.size
            if feature.moves is None:
                moved[place] += mass[rows]
            else:
                moved[place] += self.profiles[place] * (feature.moves @ ratio[rows])
        self.profiles = self._normalised(moved + self.prior)
        counts = classes + 1.0  # a pseudo-record of each class
        self.weights = counts / np.add.reduce(counts, axis=1, keepdims=True)

    def run(self, steps: int) -> ClassClimb:
        """Many steps."""
        for _ in range(steps):
            self.step()
        return self

    def held_out(self, held: Observed) -> FloatArray:
        """The log-likelihood of one release of each held-out cell under the average of the fits.

        It is given the unchanged columns, in the order of :meth:`held_counts`.
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
        models = []
        for fit in range(fits):
            columns = self.profiles[:, fit * classes : (fit + 1) * classes]
            profiles = tuple(columns[place].copy() for place in self.places)
            models.append(LatentClasses(self.weights[fit].copy(), profiles))
        return tuple(models)


def margins_of(observed: Observed, keystream: Keystream, *, steps: int = 100) -> FloatArray:
    """The most likely distribution of every axis under independence, one below the other.

    With noise alone the most likely margin is a single random value: pseudo-records of every value
    are added, fewer the more records are informative.
    """
    informative = 0.0  # records from the model and not from the base, if all cells were alike
    for answers in observed.answers:
        cells = prod(observed.features[place].size for place in answers.features)
        chance = answers.base * cells + answers.gain
        informative += float(answers.counts.sum()) * answers.gain / chance
    pull = LEAN * min(1.0, 200.0 / max(informative, 1.0))
    climb = ClassClimb(
        observed, np.ones(sum(observed.sizes)), FitSetting(1, pull, steps), keystream
    )
    return climb.run(steps).profiles[:, 0]
