"""How many classes, how strong a prior, how many steps: by the likelihood of records held out.

The records are parted in three; each part in turn is held out (of very many records, one part),
and the likelihood that fits to the other two give to it is compared with that of independent
columns. Classes are doubled as long as that pays, with the priors that were not clearly behind;
then two traits are tried beside one. All settings that are not clearly behind the best are fitted
and averaged: which of them is nearest to the truth is chance, and their errors are not the same.
Where one part alone is held out, the fewest classes within one standard error are taken instead.
Independence is taken unless the gain is twice its error and, beyond that, more than the best of so
many settings would have by chance (the logarithm of their number): a model never costs more than it
is known to bring.

Reports with columns beside them that were released unchanged, as evidence for one model.

With z what stands beside a report y of a set, the probability of both is in proportion to
P(z) + gain P(y, z): whatever the report says, z is true. A model is fitted to every report with
each column beside it in turn (a composite likelihood, in which a report counts once), and to all
pairs of these columns; it is judged by the likelihood of reports held out given all that stands
beside.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import ClassVar

import numpy as np

from pramana.analysis.latent_classes import Blend, ClassClimb, FitSetting, margins_of
from pramana.analysis.observed import MOST_HELD, Answers, Feature, FitEvidence, Observed, different
from pramana.base.randomness import Keystream
from pramana.types import FloatArray, IntArray

FOLDS = 3
PULLS = (1.0, 4.0, 16.0)
CHECKS = (10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 480, 960)
"""Steps after which the records held out are looked at."""

MOST_CLASSES = 64
LARGE = 120_000
"""From this many numbers of cells on one part is held out once and two priors are tried: with so
much to go by, neither the choice nor the prior hangs on chance."""

MANY = 100_000
"""The same from this many records on."""

FLAT = 0.02
"""Steps that bring less than this share of the standard error of the gain bring nothing."""

BEHIND = 3.0
"""What lies this many standard errors behind is clearly behind: such a prior is not tried with more
classes, and such a number of classes is not averaged with better ones."""

WORK = 4.0e6
"""About this many numbers a step: more cells, fewer fits side by side."""

FITS = 12
"""The fits of each setting that are averaged in the end, where the work allows it."""

MOST_AVERAGED = 4
"""The most settings that are averaged."""

TRAITS, TRAIT_CLASSES = 2, 4
"""Beside one trait of ever more classes, this many traits of this many classes each are tried,
where no more classes than these have together are best: with more to go by, classes of one trait
do."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a setting gave the records held out."""

    setting: FitSetting
    gains: FloatArray
    counts: FloatArray

    @property
    def total(self) -> float:
        """The gain of all records held out."""
        return float(self.counts @ self.gains)

    def error(self, other: HeldOut | None = None) -> float:
        """The standard error of the gain, or of its difference to another setting's."""
        gains = self.gains if other is None else self.gains - other.gains
        records = self.counts.sum()
        mean = float(self.counts @ gains) / records
        return float(np.sqrt(self.counts @ (gains - mean) ** 2))


def fit_model(evidence: FitEvidence, keystream: Keystream, *, fits: int = FITS) -> Blend:
    """The model of all axes, chosen and fitted: an average of several fits."""
    observed = evidence.whole
    chosen = choose(evidence, keystream) if len(observed.sizes) > 1 else None
    if chosen is None:
        margins = margins_of(observed, keystream)
        climb = ClassClimb(observed, margins, classes=1, pull=1.0, fits=1, keystream=keystream)
        return Blend(
            climb.models(), "independent columns: no dependence shows in what was held out."
        )
    settings, gain = chosen
    climbs = refit(observed, settings, keystream, fits=fits)
    models = tuple(model for climb in climbs for model in climb.models())
    why = (
        f"{' and '.join(map(str, settings))}, average of {len(models)} fits: "
        f"the log-likelihood of records held out is {gain:.0f} above independence."
    )
    return Blend(models, why, settings)


def refit(
    observed: Observed,
    settings: Sequence[FitSetting],
    keystream: Keystream,
    *,
    fits: int = FITS,
) -> list[ClassClimb]:
    """Fits with settings already chosen, equally many of each."""
    most = max(setting.classes**setting.traits for setting in settings)
    number = _fits(observed, most, fits)
    margins = margins_of(observed, keystream)
    return [
        ClassClimb(
            observed,
            margins,
            classes=setting.classes,
            pull=setting.pull,
            fits=number,
            keystream=keystream,
            traits=setting.traits,
        ).run(setting.steps)
        for setting in settings
    ]


def _fits(observed: Observed, classes: int, most: int) -> int:
    return int(np.clip(WORK // (_size(observed) * classes), 1, most))


def _size(observed: Observed) -> int:
    """The numbers that all cells take."""
    return sum(answers.cells.size for answers in observed.answers)


def choose(
    evidence: FitEvidence, keystream: Keystream
) -> tuple[tuple[FitSetting, ...], float] | None:
    """The settings to fit with and the gain of the best, or ``None`` for independence."""
    observed = evidence.whole
    large = evidence.dear or _size(observed) > LARGE or observed.records > MANY
    parts = islice(evidence.folds(FOLDS, keystream), 1 if large else FOLDS)
    folds = [_Fold(*part, keystream) for part in parts]
    if not folds:
        return None
    scores = _one_trait(folds, observed, keystream, large=large)
    best = max(scores, key=lambda score: score.total)
    if not large and best.total > 0 and best.setting.classes <= TRAITS * TRAIT_CLASSES:
        several = replace(best.setting, classes=TRAIT_CLASSES, traits=TRAITS)
        fits = _fits(observed, TRAIT_CLASSES**TRAITS, 4)
        scores += _scores(folds, several, fits, keystream)
    top = max(scores, key=lambda score: score.total)
    if top.total <= 2 * top.error() + np.log(len(scores)):
        return None
    taken = [_simplest(scores, top)] if large else _not_behind(scores, top)
    return tuple(score.setting for score in taken), taken[0].total


def _one_trait(
    folds: list[_Fold], observed: Observed, keystream: Keystream, *, large: bool
) -> list[HeldOut]:
    """The scores of twice as many classes each time, until that pays no more."""
    pulls: tuple[float, ...] = PULLS[:2] if large else PULLS
    scores: list[HeldOut] = []
    classes, best = 2, 0.0
    while classes <= MOST_CLASSES:
        fits = 1 if large else _fits(observed, classes, 4)
        found = [
            score
            for pull in pulls
            for score in _scores(folds, FitSetting(classes, pull, 0), fits, keystream)
        ]
        scores += found
        top = max(score.total for score in found)
        if top <= best:
            break
        classes, best, pulls = classes * 2, top, _in_the_race(found)
    return scores


def _in_the_race(found: list[HeldOut]) -> tuple[float, ...]:
    """The priors whose best score is not clearly below the best of all."""
    best = max(found, key=lambda score: score.total)
    tops: dict[float, HeldOut] = {}
    for score in found:
        pull = score.setting.pull
        tops[pull] = max(tops.get(pull, score), score, key=lambda own: own.total)
    return tuple(
        pull for pull, top in tops.items() if best.total - top.total <= BEHIND * best.error(top)
    )


def _simplest(scores: list[HeldOut], best: HeldOut) -> HeldOut:
    """Of the scores within one standard error of the best, the best one of the fewest classes."""
    near = [score for score in scores if best.total - score.total <= best.error(score)]
    return min(near, key=lambda score: (score.setting.classes, -score.total))


def _not_behind(scores: list[HeldOut], best: HeldOut) -> list[HeldOut]:
    """Of each number of classes and traits the best score, if not clearly behind the best of all.

    That one comes first.
    """
    tops: dict[tuple[int, int], HeldOut] = {}
    for score in sorted(scores, key=lambda score: -score.total):
        if best.total - score.total <= BEHIND * best.error(score):
            tops.setdefault((score.setting.classes, score.setting.traits), score)
    return list(tops.values())[:MOST_AVERAGED]


class _Fold:
    """All but one part of the records, and that part."""

    def __init__(self, rest: Observed, held: Observed, keystream: Keystream) -> None:
        self.rest, self.held = rest, held
        self.margins = margins_of(rest, keystream)
        alone = ClassClimb(rest, self.margins, classes=1, pull=1.0, fits=1, keystream=keystream)
        self.independent = alone.held_out(held)
        self.counts = alone.held_counts(held)

    def path(
        self, setting: FitSetting, fits: int, keystream: Keystream
    ) -> Iterator[tuple[int, FloatArray]]:
        """After some numbers of steps, the gain of each cell held out."""
        climb = ClassClimb(self.rest, self.margins, classes=setting.classes, pull=setting.pull,
                      fits=fits, keystream=keystream, traits=setting.traits)  # fmt: skip
        done = 0
        for check in CHECKS:
            climb.run(check - done)
            done = check
            yield check, climb.held_out(self.held) - self.independent


def _scores(
    folds: list[_Fold], setting: FitSetting, fits: int, keystream: Keystream
) -> Iterator[HeldOut]:
    """The scores along the path of one setting, step by step, until they rise no more."""
    paths = [fold.path(setting, fits, keystream) for fold in folds]
    counts = np.concatenate([fold.counts for fold in folds])
    best, worse = -np.inf, 0
    for parts in zip(*paths, strict=True):
        gains = np.concatenate([gain for _, gain in parts])
        score = HeldOut(replace(setting, steps=parts[0][0]), gains, counts)
        yield score
        worse = 0 if score.total > best + FLAT * score.error() else worse + 1
        best = max(best, score.total)
        if worse == 2:
            return


@dataclass(frozen=True, eq=False)
class ReportsBeside:
    """Reports, and what stands beside each.

    Attributes:
        sizes: How many values each axis has; those beside come last.
        features: What can be seen; the columns beside come last, as they are.
        sets: For each set the records asked for it, and their answers, one row a record.
        beside: One array of codes a column beside, one code a record.
    """

    dear: ClassVar[bool] = True

    sizes: tuple[int, ...]
    features: tuple[Feature, ...]
    sets: tuple[tuple[IntArray, Answers], ...]
    beside: tuple[IntArray, ...]

    @property
    def _own(self) -> range:
        """The places of the features beside."""
        return range(len(self.features) - len(self.beside), len(self.features))

    @cached_property
    def whole(self) -> Observed:
        """All reports, to fit to."""
        return self._fitted(np.ones(len(self.beside[0]), dtype=bool))

    def folds(self, number: int, keystream: Keystream) -> Iterator[tuple[Observed, Observed]]:
        """What to fit to, and the reports to judge by."""
        part = keystream.integers("folds", 0, number, count=len(self.beside[0])).astype(np.int64)
        for held in range(number):
            if 0 < (part == held).sum() < len(part):
                yield self._fitted(part != held), self._judged(part == held)

    def _fitted(self, some: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Observed:
        answers = []
        for records, one in self.sets:
            inside = some[records]
            cells, rows = one.cells[inside].T, records[inside]
            for place, codes in zip(self._own, self.beside, strict=True):
                answers.append(
                    self._answers((place, *one.features), [codes[rows], *cells], one.gain, 1)
                )
        pairs = itertools.combinations(zip(self._own, self.beside, strict=True), 2)
        for (first, left), (second, right) in pairs:
            plain = self._answers((first, second), [left[some], right[some]], 1.0, 0)
            answers.append(plain.with_counts(plain.counts / (len(self.beside) - 1)))
        return Observed(self.sizes, self.features, tuple(own for own in answers if len(own.counts)))

    def _judged(self, some: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Observed:
        most = MOST_HELD / max(int(some.sum()), 1)
        answers = []
        for records, one in self.sets:
            rows = np.flatnonzero(some[records])
            rows = rows[: max(1, int(most * len(rows)))] if most < 1 else rows
            around = [codes[records[rows]] for codes in self.beside]
            cells, counts = different([*around, *one.cells[rows].T])
            places = (*self._own, *one.features)
            answers.append(Answers(places, cells, counts, 1.0, one.gain, beside=len(self.beside)))
        return Observed(self.sizes, self.features, tuple(own for own in answers if len(own.counts)))

    def _answers(
        self, places: tuple[int, ...], codes: Sequence[IntArray], gain: float, beside: int
    ) -> Answers:
        cells, counts = different(codes)
        share = 1 / len(self.beside) if beside else 1.0
        base = 1.0 if beside else 0.0
        return Answers(places, cells, share * counts, base, gain, beside=beside)
