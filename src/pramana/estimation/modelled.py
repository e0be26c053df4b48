"""Draw true records from a model of the whole table, given what was released of each.

Three kinds of model are weighed by the exact likelihood of records held out: independent columns,
latent classes (pramana.model), and, where classes find dependence and the table is small enough,
the whole joint table by the regularised EM, which knows dependence of every form. Where no
dependence can be told from noise, records get the estimated margins and nothing that is not there.

A release is rich where a cell of a typical pair of columns has the weight of many records:
n p_a**2 p_b**2 over the number of cells, p being what the matrices keep. There the estimated tables
themselves may tell more than a few classes can: the joint table, or, where that is too large, all
pairs (pairwise.py), if pairs of records held out are more likely by them.
"""

from __future__ import annotations

import itertools
from math import prod

import numpy as np

from pramana.estimation.channels import Channels
from pramana.estimation.joint import draw_given_table, likelihood_of
from pramana.estimation.pairwise import draw_from_pairs
from pramana.estimation.ranked import ranked
from pramana.estimation.regularised_em import fit
from pramana.model.choose import fit_model, refit
from pramana.model.drawing import draw_given
from pramana.model.latent_classes import Blend
from pramana.model.observed import Feature
from pramana.model.whole_records import MOST_HELD, WholeRecords
from pramana.randomness import Keystream
from pramana.table.cells import cell_counts
from pramana.types import FloatArray, IntArray

__all__ = ["JOINT_CELLS", "draw_from_model"]

JOINT_CELLS = 200_000
"""Up to so many cells the whole joint distribution is a candidate."""

RICH = 40.0
"""From so many effective records in a cell of the median pair on, a release is rich.

Below it pairs were worse than classes on every truth tried, by a half to three times; up to some
400 they still are on most, and above that better where each column follows from the one before it.
"""

TINY = 1e-300
PARTS = 3
"""One part of so many is held out to choose between classes, pairs and the joint table."""

MOST_TRIED = 50_000
"""So many records are enough to choose between classes and pairs."""


def draw_from_model(
    places: list[IntArray], channels: Channels, keystream: Keystream
) -> tuple[list[IntArray], str]:
    """The records, and how they were drawn."""
    evidence = _evidence(places, channels)
    small = prod(evidence.sizes) <= JOINT_CELLS
    rich = _weight(evidence) >= RICH
    if rich and small:
        return _from_joint(evidence, channels, keystream), "the estimated joint distribution."
    blend = fit_model(evidence, keystream)
    if rich and _pairs_are_better(evidence, channels, blend, keystream):
        return draw_from_pairs(places, channels, keystream), "all estimated pairs of columns."
    if not blend.settings:
        return ranked(places, channels, keystream, fitted=True), blend.why
    if small and _joint_is_better(evidence, channels, blend, keystream):
        why = "the joint distribution, which explains records held out better than latent classes."
        return _from_joint(evidence, channels, keystream), why
    return _drawn(evidence, blend, keystream), blend.why


def _weight(evidence: WholeRecords) -> float:
    """The weight of a cell of the median pair of axes, in records released as they are."""
    features = evidence.channels[0]
    kept = [1.0 if own.base is None else 1.0 - float(own.base.sum()) for own in features]
    share = [part**2 / own.size for part, own in zip(kept, features, strict=True)]
    pairs = [a * b for a, b in itertools.combinations(share, 2)]
    return len(evidence.group) * float(np.median(pairs or share))


def _from_joint(evidence: WholeRecords, channels: Channels, keystream: Keystream) -> list[IntArray]:
    """Every record drawn given the joint distribution by the regularised EM."""
    table = cell_counts(evidence.codes, evidence.sizes)
    if channels.randomised:
        table = fit(table, channels).table
    return draw_given_table(list(evidence.codes), table, channels, keystream)


def _evidence(places: list[IntArray], channels: Channels) -> WholeRecords:
    """The records with what is seen of each axis, by stratum where matrices depend on it."""
    axes = range(len(places))
    seen = [likelihood_of(axis, places, channels) for axis in axes]
    sizes = channels.layout.shape
    strata = [codes // size for (_, codes), size in zip(seen, sizes, strict=True)]
    patterns, group = np.unique(np.stack(strata, axis=1), axis=0, return_inverse=True)
    features = tuple(
        tuple(_feature(axis, seen[axis][0], int(pattern[axis]), channels) for axis in axes)
        for pattern in patterns
    )
    return WholeRecords(sizes, features, group.ravel().astype(np.int64), tuple(places))


def _feature(axis: int, rows: FloatArray, stratum: int, channels: Channels) -> Feature:
    """What is seen of an axis in a stratum: its value through the matrix."""
    size = channels.layout.shape[axis]
    if channels.layout.axes[axis].step is None:
        return Feature(axis, size)
    own = rows[stratum * size : (stratum + 1) * size]
    return Feature.of_channel(axis, np.ascontiguousarray(own.T))


def _drawn(evidence: WholeRecords, blend: Blend, keystream: Keystream) -> list[IntArray]:
    found = [np.empty_like(codes) for codes in evidence.codes]
    for number, features in enumerate(evidence.channels):
        rows = np.flatnonzero(evidence.group == number)
        seen = [codes[rows] for codes in evidence.codes]
        drawn = draw_given(blend, features, seen, keystream, group=number)
        for whole, part in zip(found, drawn, strict=True):
            whole[rows] = part
    return found


# -- pairs and the joint table, beside classes ---------------------------------------------


def _pairs_are_better(
    evidence: WholeRecords, channels: Channels, blend: Blend, keystream: Keystream
) -> bool:
    """Whether pairs of columns of records held out are more likely by all estimated pairs."""
    pairs = list(itertools.combinations(range(len(evidence.sizes)), 2))
    if any(channels.closure(pair) != pair for pair in pairs):
        return False
    rest, held = next(evidence.parts(PARTS, keystream))
    rest, held = rest[:MOST_TRIED], held[:MOST_TRIED]
    if blend.settings:
        climbs = refit(evidence.fitted(rest), blend.settings, keystream)
        blend = Blend(tuple(model for climb in climbs for model in climb.models()), "")
    drawn = draw_from_pairs([codes[rest] for codes in evidence.codes], channels, keystream)
    gain = 0.0
    for pair in pairs:
        own = Channels(channels.layout.only(pair))
        if own.randomised:
            shape = own.layout.shape
            tables = (cell_counts([drawn[axis] for axis in pair], shape), blend.table(list(pair)))
            seen = cell_counts([evidence.codes[axis][held] for axis in pair], shape)
            ours, theirs = (
                np.log(own.forward(table + table.mean() / len(rest)) / table.sum())
                for table in tables
            )
            gain += float((seen * (ours - theirs)).sum())
    return gain > 0


def _joint_is_better(
    evidence: WholeRecords, channels: Channels, blend: Blend, keystream: Keystream
) -> bool:
    """Whether the joint table makes records held out more likely than the classes do."""
    rest, held = next(evidence.parts(PARTS, keystream))
    if not len(rest) or not len(held):
        return False
    held = held[:MOST_HELD]
    climbs = refit(evidence.fitted(rest), blend.settings, keystream)
    judged = evidence.judged(held)
    chances = np.mean([np.exp(climb.held_out(judged)) for climb in climbs], axis=0)
    classes = climbs[0].held_counts(judged) @ np.log(np.maximum(chances, TINY))
    table = fit(
        cell_counts([codes[rest] for codes in evidence.codes], evidence.sizes), channels
    ).table
    own = tuple(codes[held] for codes in evidence.codes)
    logs = np.log(np.maximum(channels.forward(table)[own], TINY))
    if evidence.kept:
        others = tuple(axis for axis in range(table.ndim) if axis not in evidence.kept)
        beside = table.sum(axis=others)[tuple(own[axis] for axis in evidence.kept)]
        logs -= np.log(np.maximum(beside, TINY))
    else:
        logs -= np.log(table.sum())
    return float(logs.sum()) > float(classes)
