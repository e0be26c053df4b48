"""How many classes, how strong a prior, how many steps: by the likelihood of records held out.

The records are parted in three; each part in turn is held out (of very many records, one part),
and the likelihood that fits to the other two give to it is compared with that of independent
columns. Classes are doubled as long as that pays, with the priors that were not clearly behind. Of
all settings within one standard error of the best the one with the fewest classes is taken, and
independence unless the gain is twice its error and, beyond that, more than the best of so many
settings would have by chance (the logarithm of their number): a model never costs more than it is
known to bring.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from pramana.model.climb import ClassClimb, margins_of
from pramana.model.latent_classes import Blend, FitSetting
from pramana.model.observed import FitEvidence, Observed
from pramana.randomness import Keystream
from pramana.types import FloatArray

__all__ = ["fit_model", "refit"]

FOLDS = 3
PULLS = (1.0, 4.0, 16.0)
CHECKS = (10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 480, 960)
"""Steps after which the records held out are looked at."""

MOST_CLASSES = 64
LARGE = 120_000
"""From so many numbers of cells on one part is held out once and two priors are tried: with so much
to go by, neither the choice nor the prior hangs on chance."""

MANY = 100_000
"""The same from so many records on."""

FLAT = 0.02
"""Steps that bring less than this share of the standard error of the gain bring nothing."""

BEHIND = 3.0
"""A prior that lies so many standard errors behind another is not tried with more classes."""

WORK = 4.0e6
"""About so many numbers a step: more cells, fewer fits side by side."""

FITS = 12
"""The fits that are averaged in the end, where the work allows it."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a setting gave the records held out.

    Attributes:
        gains: For each cell held out the gain in log-likelihood over independence.
        counts: How many records each cell has.
    """

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
    setting, gain = chosen
    models = refit(observed, setting, keystream, fits=fits).models()
    why = (
        f"{setting.classes} latent classes, average of {len(models)} fits: "
        f"the log-likelihood of records held out is {gain:.0f} above independence."
    )
    return Blend(models, why, setting)


def refit(
    observed: Observed, setting: FitSetting, keystream: Keystream, *, fits: int = FITS
) -> ClassClimb:
    """Fits with a setting already chosen."""
    climb = ClassClimb(
        observed,
        margins_of(observed, keystream),
        classes=setting.classes,
        pull=setting.pull,
        fits=_fits(observed, setting.classes, fits),
        keystream=keystream,
    )
    return climb.run(setting.steps)


def _fits(observed: Observed, classes: int, most: int) -> int:
    return int(np.clip(WORK // (_size(observed) * classes), 1, most))


def _size(observed: Observed) -> int:
    """The numbers that all cells take."""
    return sum(answers.cells.size for answers in observed.answers)


def choose(evidence: FitEvidence, keystream: Keystream) -> tuple[FitSetting, float] | None:
    """The setting to fit with and its gain, or ``None`` for independence."""
    observed = evidence.whole
    large = evidence.dear or _size(observed) > LARGE or observed.records > MANY
    parts = islice(evidence.folds(FOLDS, keystream), 1 if large else FOLDS)
    folds = [_Fold(*part, keystream) for part in parts]
    if not folds:
        return None
    pulls: tuple[float, ...] = PULLS[:2] if large else PULLS
    scores: list[HeldOut] = []
    classes, best = 2, 0.0
    while classes <= MOST_CLASSES:
        fits = 1 if large else _fits(observed, classes, 4)
        found = [
            score for pull in pulls for score in _scores(folds, classes, pull, fits, keystream)
        ]
        scores += found
        top = max(score.total for score in found)
        if top <= best:
            break
        classes, best, pulls = classes * 2, top, _in_the_race(found)
    return _simplest(scores)


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


def _simplest(scores: list[HeldOut]) -> tuple[FitSetting, float] | None:
    best = max(scores, key=lambda score: score.total)
    if best.total <= 2 * best.error() + np.log(len(scores)):
        return None
    near = [score for score in scores if best.total - score.total <= best.error(score)]
    fewest = min(score.setting.classes for score in near)
    taken = max(
        (score for score in near if score.setting.classes == fewest), key=lambda score: score.total
    )
    return taken.setting, taken.total


class _Fold:
    """All but one part of the records, and that part."""

    def __init__(self, rest: Observed, held: Observed, keystream: Keystream) -> None:
        self.rest, self.held = rest, held
        self.margins = margins_of(rest, keystream)
        alone = ClassClimb(rest, self.margins, classes=1, pull=1.0, fits=1, keystream=keystream)
        self.independent = alone.held_out(held)
        self.counts = alone.held_counts(held)

    def path(
        self, classes: int, pull: float, fits: int, keystream: Keystream
    ) -> Iterator[tuple[int, FloatArray]]:
        """After some numbers of steps, the gain of each cell held out."""
        climb = ClassClimb(self.rest, self.margins, classes=classes, pull=pull, fits=fits,
                      keystream=keystream)  # fmt: skip
        done = 0
        for check in CHECKS:
            climb.run(check - done)
            done = check
            yield check, climb.held_out(self.held) - self.independent


def _scores(
    folds: list[_Fold], classes: int, pull: float, fits: int, keystream: Keystream
) -> Iterator[HeldOut]:
    """The scores along the path of one number of classes and one prior, until they rise no more."""
    paths = [fold.path(classes, pull, fits, keystream) for fold in folds]
    counts = np.concatenate([fold.counts for fold in folds])
    best, worse = -np.inf, 0
    for parts in zip(*paths, strict=True):
        gains = np.concatenate([gain for _, gain in parts])
        score = HeldOut(FitSetting(classes, pull, parts[0][0]), gains, counts)
        yield score
        worse = 0 if score.total > best + FLAT * score.error() else worse + 1
        best = max(best, score.total)
        if worse == 2:
            return
