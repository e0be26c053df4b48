"""How far a fitted model would move if the records were drawn anew.

Released records are drawn from those there are, with replacement, and the model is fitted again
with the setting chosen before. What such a spread does not hold is what the model cannot express:
a table that depends in ways which few classes cannot follow is smoothed, each time alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pramana.model.choose import refit
from pramana.model.climb import ClassClimb, margins_of
from pramana.model.latent_classes import Blend
from pramana.model.observed import Answers, Observed
from pramana.randomness import Keystream, Stream
from pramana.types import FloatArray

__all__ = ["refitted_spread"]

DRAWS = 24
FITS = 3
"""Fits that are averaged each time."""


def refitted_spread(
    observed: Observed, blend: Blend, keystream: Keystream, figure: Callable[[Blend], FloatArray]
) -> FloatArray:
    """The standard deviation of what is read off the model, over records drawn anew."""
    drawn = np.stack([figure(_again(observed, blend, keystream, run)) for run in range(DRAWS)])
    spread: FloatArray = drawn.std(axis=0, ddof=1)
    return spread


def _again(observed: Observed, blend: Blend, keystream: Keystream, run: int) -> Blend:
    answers = tuple(
        _resampled(own, keystream, Stream("drawn anew", run, place))
        for place, own in enumerate(observed.answers)
    )
    other = Observed(observed.sizes, observed.features, answers)
    if blend.setting is not None:
        models = refit(other, blend.setting, keystream, fits=FITS).models()
    else:
        margins = margins_of(other, keystream)
        climb = ClassClimb(other, margins, classes=1, pull=1.0, fits=1, keystream=keystream)
        models = climb.models()
    return Blend(models, blend.why, blend.setting)


def _resampled(answers: Answers, keystream: Keystream, stream: Stream) -> Answers:
    """As many records, drawn from those there are."""
    ends = np.cumsum(answers.counts)
    levels = keystream.uniforms(stream, 0, round(float(ends[-1]))) * ends[-1]
    places = np.searchsorted(ends, levels, side="right")
    counts = np.bincount(places, minlength=len(ends)).astype(np.float64)
    return answers.with_counts(counts)
