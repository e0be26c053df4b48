"""Draw true records from the model of the whole table, given what was released of each.

The model (pramana.model) decides by records held out how much dependence can be told from noise:
where none can, records get the estimated margins and nothing that is not there. It is for thin
releases, in which a cell of a typical pair of columns has the weight of few records: n p_a**2
p_b**2 over the number of cells, p being what the matrices keep. Where there is more to go by, or
columns stand beside that are released as they are, the estimated tables tell more of the dependence
than classes do.
"""

from __future__ import annotations

import itertools

import numpy as np

from pramana.estimation.channels import Channels
from pramana.estimation.joint import likelihood_of
from pramana.model.choose import fit_model
from pramana.model.drawing import draw_given
from pramana.model.observed import Answers, Feature, Observed
from pramana.randomness import Keystream
from pramana.types import FloatArray, IntArray

__all__ = ["draw_from_model"]

THIN = 2.0
"""Below so many effective records in a cell of the median pair, a release is thin."""

MOST_NUMBERS = 250_000
"""Different released records times columns: with more, a fit to whole records takes minutes."""


def draw_from_model(
    places: list[IntArray], channels: Channels, keystream: Keystream
) -> tuple[list[IntArray], str] | None:
    """The records and how they were drawn; ``None`` where the model is not the one to take.

    It knows no matrices that differ by stratum, and would take minutes for very many records.
    """
    axes = range(len(places))
    plain = any(axis.step is None for axis in channels.layout.axes)
    if plain or len(places) < 2 or any(len(channels.closure((axis,))) > 1 for axis in axes):
        return None
    features = tuple(_feature(axis, places, channels) for axis in axes)
    if _effective(features, len(places[0])) >= THIN:
        return None
    answers = Answers.of_records(axes, places, base=0.0, gain=1.0)
    if answers.cells.size > MOST_NUMBERS:
        return None
    observed = Observed(channels.layout.shape, features, (answers,))
    blend = fit_model(observed, keystream, quick=True)
    model = blend.merged()
    if len(model.weights) == 1:
        pairs = zip(places, model.profiles, strict=True)
        return [_handed_out(seen, margin[:, 0]) for seen, margin in pairs], blend.why
    return draw_given(blend, features, places, keystream), blend.why


def _handed_out(seen: IntArray, margin: FloatArray) -> IntArray:
    """The margin, handed out to records in the order of what was released of them: as by rank."""
    ends = np.rint(np.cumsum(margin / margin.sum()) * len(seen)).astype(np.int64)
    found = np.empty(len(seen), dtype=np.int64)
    found[np.argsort(seen, kind="stable")] = np.searchsorted(ends, np.arange(len(seen)), "right")
    return found


def _effective(features: tuple[Feature, ...], records: int) -> float:
    """The weight of a cell of the median pair of axes, in records released as they are."""
    kept = [1.0 if own.base is None else 1.0 - float(own.base.sum()) for own in features]
    share = [part**2 / own.size for part, own in zip(kept, features, strict=True)]
    return records * float(np.median([a * b for a, b in itertools.combinations(share, 2)]))


def _feature(axis: int, places: list[IntArray], channels: Channels) -> Feature:
    """What is seen of an axis: its value through the matrix."""
    rows, _ = likelihood_of(axis, places, channels)
    return Feature.of_channel(axis, np.ascontiguousarray(rows.T))
