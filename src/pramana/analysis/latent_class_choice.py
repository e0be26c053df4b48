"""Choose the number of latent classes, prior and steps by the likelihood of held-out records.

The records are parted in three; each part in turn is held out (of very many records, one part), and
the likelihood of fits to the other two is compared with that of independent columns. Classes are
doubled as long as that pays, with the priors that were not clearly behind. All settings that are
not clearly behind the best are fitted and averaged: which of them is nearest to the original data
is chance, and their errors differ. If one part alone is held out, the fewest classes within one
standard error are taken instead. Independence is taken unless the gain is twice its error and,
beyond that, more than the best of this many settings would have by chance (the logarithm of their
number).

``ReportsWithUnchanged`` is the evidence of reported and unchanged columns together. With z the
unchanged values and y the report of a set, the probability of both is in proportion to P(z) + gain
P(y, z). A model is fitted to every report with each unchanged column in turn (a composite
likelihood, in which a report counts once), and to all pairs of these columns; it is judged by the
likelihood of held-out reports given all unchanged columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from pramana.analysis.latent_classes import Blend, ClassClimb, FitSetting, margins_of
from pramana.analysis.observed import (
    MOST_HELD,
    Answers,
    Feature,
    Observed,
    WholeRecords,
    different,
)
from pramana.base.randomness import Keystream
from pramana.base.translation import gettext
from pramana.types import BoolArray, FloatArray, IntArray

INDEPENDENT = FitSetting(1, 1.0, 0)
FOLDS = 3
PULLS = (1.0, 4.0, 16.0)
CHECKS = (10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 480, 960)
"""Steps after which the likelihood of held-out records is computed."""

LARGE, MANY = 120_000, 100_000
"""From this many cells, or records, on, one part is held out once and two priors are tried:
with so much evidence, neither the choice nor the prior depends on chance."""


BEHIND = 3.0
"""A prior this many standard errors behind is clearly behind: it is not tried with more classes,
and such a number of classes is not averaged with better ones."""

WORK = 4.0e6
"""Numbers in memory at a step, about: more cells, fewer fits side by side."""

FITS = 12
"""The fits of each setting that are averaged in the end, if the work allows it."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The gain in log-likelihood of each held-out cell by a setting."""

    setting: FitSetting
    gains: FloatArray
    counts: FloatArray

    @property
    def total(self) -> float:
        """The gain of all held-out records."""
        return float(self.counts @ self.gains)

    def error(self, other: HeldOut | None = None) -> float:
        """The standard error of the gain, or of its difference to another setting's."""
        gains = self.gains if other is None else self.gains - other.gains
        records = self.counts.sum()
        mean = float(self.counts @ gains) / records
        return float(np.sqrt(self.counts @ (gains - mean) ** 2))


def fit_model(evidence: Evidence, keystream: Keystream) -> Blend:
    """The model of all axes, chosen and fitted: an average of several fits."""
    observed = evidence.whole
    chosen = choose(evidence, keystream) if len(observed.sizes) > 1 else None
    if chosen is None:
        margins = margins_of(observed, keystream)
        climb = ClassClimb(observed, margins, INDEPENDENT, keystream)
        return Blend(
            climb.models(), gettext("independent columns: held-out records show no dependence.")
        )
    settings, gain = chosen
    climbs = refit(observed, settings, keystream)
    models = tuple(model for climb in climbs for model in climb.models())
    why = gettext(
        "the average of {count} fits ({settings}). "
        "The log-likelihood of held-out records is {gain:,.0f} above independence.",
        count=len(models),
        settings=", ".join(map(str, settings)),
        gain=gain,
    )
    return Blend(models, why, settings)


def refit(
    observed: Observed, settings: Sequence[FitSetting], keystream: Keystream
) -> list[ClassClimb]:
    """Fits with settings already chosen, equally many of each."""
    most = max(setting.classes for setting in settings)
    number = _fits(observed, most, FITS)
    margins = margins_of(observed, keystream)
    return [ClassClimb(observed, margins, s, keystream, fits=number).run(s.steps) for s in settings]


def _fits(observed: Observed, classes: int, most: int) -> int:
    return int(np.clip(WORK // (_size(observed) * classes), 1, most))


def _size(observed: Observed) -> int:
    """The numbers of all cells."""
    return sum(answers.cells.size for answers in observed.answers)


def choose(evidence: Evidence, keystream: Keystream) -> tuple[tuple[FitSetting, ...], float] | None:
    """The settings to fit with and the gain of the best, or ``None`` for independence."""
    observed = evidence.whole
    large = evidence.dear or _size(observed) > LARGE or observed.records > MANY
    parts = itertools.islice(evidence.folds(FOLDS, keystream), 1 if large else FOLDS)
    folds = [_Fold(*part, keystream) for part in parts]
    if not folds:
        return None
    scores = _all_scores(folds, observed, keystream, large=large)
    best = max(scores, key=lambda score: score.total)
    if best.total <= 2 * best.error() + np.log(len(scores)):
        return None
    taken = [_simplest(scores, best)] if large else _not_behind(scores, best)
    return tuple(score.setting for score in taken), taken[0].total


def _all_scores(
    folds: list[_Fold], observed: Observed, keystream: Keystream, *, large: bool
) -> list[HeldOut]:
    """The scores of twice as many classes each time, as long as that pays."""
    pulls: tuple[float, ...] = PULLS[:2] if large else PULLS
    scores: list[HeldOut] = []
    classes, best = 2, 0.0
    while classes <= 64:
        fits = 1 if large else _fits(observed, classes, 4)
        latest = [
            score
            for pull in pulls
            for score in _scores(folds, FitSetting(classes, pull, 0), fits, keystream)
        ]
        scores += latest
        top = max(score.total for score in latest)
        if top <= best:
            break
        classes, best, pulls = classes * 2, top, _in_the_race(latest)
    return scores


def _in_the_race(scores: list[HeldOut]) -> tuple[float, ...]:
    """The priors whose best score is not clearly behind the best of all."""
    tops: dict[float, HeldOut] = {}
    for score in scores:
        pull = score.setting.pull
        tops[pull] = max(tops.get(pull, score), score, key=lambda tried: tried.total)
    best = max(tops.values(), key=lambda score: score.total)
    return tuple(
        pull for pull, top in tops.items() if best.total - top.total <= BEHIND * best.error(top)
    )


def _simplest(scores: list[HeldOut], best: HeldOut) -> HeldOut:
    """The best score with the fewest classes, within one standard error of the best score."""
    near = [score for score in scores if best.total - score.total <= best.error(score)]
    return min(near, key=lambda score: (score.setting.classes, -score.total))


def _not_behind(scores: list[HeldOut], best: HeldOut) -> list[HeldOut]:
    """The best score of each number of classes, unless clearly behind; best first."""
    tops: dict[int, HeldOut] = {}
    for score in sorted(scores, key=lambda score: -score.total):
        if best.total - score.total <= BEHIND * best.error(score):
            tops.setdefault(score.setting.classes, score)
    return list(tops.values())[:4]


class _Fold:
    """All but one part of the records, and that part."""

    def __init__(self, rest: Observed, held: Observed, keystream: Keystream) -> None:
        self.rest, self.held = rest, held
        self.margins = margins_of(rest, keystream)
        alone = ClassClimb(rest, self.margins, INDEPENDENT, keystream)
        self.independent = alone.held_out(held)
        self.counts = alone.held_counts(held)

    def path(
        self, setting: FitSetting, fits: int, keystream: Keystream
    ) -> Iterator[tuple[int, FloatArray]]:
        """After some numbers of steps, the gain of each held-out cell."""
        climb, done = ClassClimb(self.rest, self.margins, setting, keystream, fits=fits), 0
        for check in CHECKS:
            climb.run(check - done)
            done = check
            yield check, climb.held_out(self.held) - self.independent


def _scores(
    folds: list[_Fold], setting: FitSetting, fits: int, keystream: Keystream
) -> Iterator[HeldOut]:
    """The scores along the path of one setting, step by step, as long as they rise.

    A rise by less than the share 0.02 of the standard error is none.
    """
    paths = [fold.path(setting, fits, keystream) for fold in folds]
    counts = np.concatenate([fold.counts for fold in folds])
    best, worse = -np.inf, 0
    for parts in zip(*paths, strict=True):
        gains = np.concatenate([gain for _, gain in parts])
        score = HeldOut(replace(setting, steps=parts[0][0]), gains, counts)
        yield score
        worse = 0 if score.total > best + 0.02 * score.error() else worse + 1
        best = max(best, score.total)
        if worse == 2:
            return


@dataclass(frozen=True, eq=False)
class ReportsWithUnchanged:
    """Reports, and the unchanged columns of the same records.

    Attributes:
        sizes: The number of values of each axis; unchanged ones come last.
        features: What can be seen; unchanged columns come last, as they are.
        sets: For each set the records that report it, and their answers, one row per record.
        unchanged: One array of codes an unchanged column, one code per record.
    """

    dear: ClassVar[bool] = True

    sizes: tuple[int, ...]
    features: tuple[Feature, ...]
    sets: tuple[tuple[IntArray, Answers], ...]
    unchanged: tuple[IntArray, ...]

    @cached_property
    def whole(self) -> Observed:
        """All reports, to fit to."""
        return self._fitted(np.ones(len(self.unchanged[0]), dtype=bool))

    def folds(self, number: int, keystream: Keystream) -> Iterator[tuple[Observed, Observed]]:
        """The reports to fit to, and those to judge by."""
        part = keystream.integers("folds", 0, number, count=len(self.unchanged[0])).astype(np.int64)
        for held in range(number):
            if 0 < (part == held).sum() < len(part):
                yield self._fitted(part != held), self._judged(part == held)

    @property
    def _places(self) -> range:
        """The places of the unchanged features."""
        return range(len(self.features) - len(self.unchanged), len(self.features))

    def _fitted(self, some: BoolArray) -> Observed:
        unchanged = list(zip(self._places, self.unchanged, strict=True))
        answers, number = [], len(unchanged)
        for records, reports in self.sets:
            inside = some[records]
            rows = records[inside]
            for place, codes in unchanged:
                cells, counts = different([codes[rows], *reports.cells[inside].T])
                places = (place, *reports.features)
                counts = 1 / number * counts
                answers.append(Answers(places, cells, counts, 1.0, reports.gain, unchanged=1))
        for (first, left), (second, right) in itertools.combinations(unchanged, 2):
            cells, counts = different([left[some], right[some]])
            answers.append(Answers((first, second), cells, counts / (number - 1), 0.0, 1.0))
        return self._observed(answers)

    def _judged(self, some: BoolArray) -> Observed:
        most = MOST_HELD / max(int(some.sum()), 1)
        answers = []
        for records, reports in self.sets:
            rows = np.flatnonzero(some[records])
            rows = rows[: max(1, int(most * len(rows)))] if most < 1 else rows
            around = [codes[records[rows]] for codes in self.unchanged]
            cells, counts = different([*around, *reports.cells[rows].T])
            places, number = (*self._places, *reports.features), len(self.unchanged)
            answers.append(Answers(places, cells, counts, 1.0, reports.gain, unchanged=number))
        return self._observed(answers)

    def _observed(self, answers: Sequence[Answers]) -> Observed:
        some = tuple(answer for answer in answers if len(answer.counts))
        return Observed(self.sizes, self.features, some)


Evidence = Observed | WholeRecords | ReportsWithUnchanged
"""What a model is fitted to, ``whole``, and by random parts of which it is judged, ``folds``."""
