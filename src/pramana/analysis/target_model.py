"""Draw original records from a model built around the column that is to be learned.

The model has one table for every attribute and the target. Where two attributes clearly depend on
each other within the classes, one of them has a table with the other and the target instead; these
pairs form a tree, the strongest ones first [Friedman97]. A record is drawn from its distribution
given all its released values: sums go up the tree, draws go down.

Tables are estimated by the regularised EM. The tree is found on released records: independence
given the class survives randomisation, so a dependence found there is real, and one too weak to be
found would be too weak to be estimated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.layout import Layout
from pramana.analysis.regularised_em import fit
from pramana.analysis.synthesis_draws import likelihood_of
from pramana.base.randomness import Keystream, Stream
from pramana.schema.joint_cells import cell_counts
from pramana.types import FloatArray, IntArray

CLEAR = 5.0
"""A pair gets its own table if chi-square is so many standard deviations above independence."""

MOST_CELLS = 4_000
"""Larger tables of a pair and the target are not estimated."""

CHUNK = 8_192


@dataclass(frozen=True, eq=False)
class TargetModel:
    """Axes in an order in which each comes after its parent, and their tables.

    Attributes:
        target: The axis of the target.
        order: The other axes.
        parents: The parent of each axis, or ``None`` where it depends on the target alone.
        tables: For each axis the probabilities [target, value] or [target, parent, value].
        shares: The distribution of the target.
    """

    target: int
    order: tuple[int, ...]
    parents: dict[int, int | None]
    tables: dict[int, FloatArray] = field(repr=False)
    shares: FloatArray = field(repr=False)


def fit_target_model(places: list[IntArray], channels: Channels, *, target: int) -> TargetModel:
    """Find the tree and estimate its tables from released records."""
    order, parents = _tree(places, channels.layout, target)

    def estimated(axes: tuple[int, ...]) -> FloatArray:
        """The original table of some axes; axes that their matrices depend on are summed out."""
        others = [axis for axis in channels.closure(axes) if axis not in axes]
        sub = Channels(channels.layout.only([*axes, *others]))
        released = cell_counts([places[axis] for axis in (*axes, *others)], sub.layout.shape)
        table = fit(released, sub) if sub.randomised else released
        return np.asarray(table.sum(axis=tuple(range(len(axes), table.ndim))))

    shares, tables = estimated((target,)), {}
    for axis in order:
        parent = parents[axis]
        table = estimated((target, axis) if parent is None else (target, parent, axis))
        # Without any record, the shares given the target, or equal ones.
        fallback = table.sum(axis=tuple(range(1, table.ndim - 1)), keepdims=True) + 1e-9
        filled = table + 1e-9 * fallback / fallback.sum(axis=-1, keepdims=True)
        tables[axis] = filled / filled.sum(axis=-1, keepdims=True)
    return TargetModel(target, order, parents, tables, shares / shares.sum())


def _tree(
    places: list[IntArray], layout: Layout, target: int
) -> tuple[tuple[int, ...], dict[int, int | None]]:
    """The strongest tree of clear pairs, and an order in which parents come first."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

    axes = [axis for axis in range(len(places)) if axis != target]
    edges = []
    for first, second in combinations(range(len(axes)), 2):
        strength = _strength(places, layout, (target, axes[first], axes[second]))
        if strength > 0:
            edges.append((first, second, -strength))
    rows, columns, weights = np.array(edges).T if edges else np.empty((3, 0))
    graph = coo_matrix((weights, (rows.astype(int), columns.astype(int))), shape=[len(axes)] * 2)
    tree = minimum_spanning_tree(graph.tocsr())
    parents: dict[int, int | None] = {}
    for root, axis in enumerate(axes):
        if axis not in parents:
            reached, above = breadth_first_order(tree, root, directed=False)
            for place in reached.tolist():
                parents[axes[place]] = axes[above[place]] if above[place] >= 0 else None
    return tuple(parents), parents


def _strength(places: list[IntArray], layout: Layout, axes: tuple[int, int, int]) -> float:
    """By how much chi-square within the classes exceeds what independence gives; 0 if unclear."""
    shape = [layout.shape[axis] for axis in axes]
    if prod(shape) > min(MOST_CELLS, len(places[0])):
        return 0.0
    table = cell_counts([places[axis] for axis in axes], shape)
    totals = table.sum(axis=(1, 2), keepdims=True)
    expected = table.sum(axis=2, keepdims=True) * table.sum(axis=1, keepdims=True)
    expected /= np.maximum(totals, 1)
    square = np.square(table - expected) / np.where(expected > 0, expected, 1)
    used = ((table.sum(axis=2) > 0).sum(axis=1) - 1) * ((table.sum(axis=1) > 0).sum(axis=1) - 1)
    freedom = float(np.maximum(used, 0).sum())
    excess = float(square.sum()) - freedom
    return excess if freedom and excess > CLEAR * (2 * freedom) ** 0.5 else 0.0


SeenValues = list[tuple[FloatArray, IntArray]]


def draw_records(
    places: list[IntArray],
    channels: Channels,
    model: TargetModel,
    *,
    keystream: Keystream,
    draws: int = 1,
) -> Iterator[list[IntArray]]:
    """``draws`` synthetic tables, each a list with one array of positions an axis."""
    records = len(places[0])
    seen = [likelihood_of(axis, places, channels) for axis in range(len(places))]
    for draw in range(draws):
        result = [np.empty(records, dtype=np.int64) for _ in places]
        for begin in range(0, records, CHUNK):
            rows = np.arange(begin, min(begin + CHUNK, records))
            # One number for each record, axis and draw: chunks never change a result.
            uniforms = {
                axis: keystream.uniforms(Stream("rebuild", axis, "draw", draw), begin, len(rows))
                for axis in (model.target, *model.order)
            }
            _draw_chunk(rows, seen, channels, model, uniforms, result)
        yield result


def _draw_chunk(
    rows: IntArray,
    seen: SeenValues,
    channels: Channels,
    model: TargetModel,
    uniforms: dict[int, FloatArray],
    result: list[IntArray],
) -> None:
    """Draw the class of each record, then its other values down the tree."""
    likelihood, released = seen[model.target]
    classes = released[rows]
    if channels.layout.axes[model.target].step is not None:
        weights = np.stack(
            [_upward(rows, seen, model, level)[1] for level in range(model.shares.size)], axis=1
        )
        weights += np.log(model.shares * likelihood[classes] + 1e-300)
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        classes = _choice(weights, uniforms[model.target])
    result[model.target][rows] = classes
    for level in np.unique(classes):
        some = np.flatnonzero(classes == level)
        messages, _ = _upward(rows[some], seen, model, level)
        for axis in model.order:
            table, parent = model.tables[axis][level], model.parents[axis]
            prior = table if parent is None else table[result[parent][rows[some]]]
            result[axis][rows[some]] = _choice(messages[axis] * prior, uniforms[axis][some])


def _upward(
    rows: IntArray, seen: SeenValues, model: TargetModel, level: int
) -> tuple[dict[int, FloatArray], FloatArray]:
    """The likelihood of each value given the records and the branches below; the log of all."""
    messages = {axis: seen[axis][0][seen[axis][1][rows]] for axis in model.order}
    total = np.zeros(len(rows))
    for axis in reversed(model.order):
        table, parent = model.tables[axis][level], model.parents[axis]
        message = messages[axis] @ (table if parent is None else table.T)
        if parent is None:
            total += np.log(message)
            continue
        largest = message.max(axis=1, keepdims=True)
        total += np.log(largest[:, 0])
        messages[parent] = messages[parent] * (message / largest)
    return messages, total


def _choice(weights: FloatArray, uniform: FloatArray) -> Any:
    """A position for each row, with probabilities in proportion to its weights."""
    steps = np.cumsum(weights, axis=1)
    return (steps[:, :-1] <= (uniform * steps[:, -1])[:, None]).sum(axis=1)
