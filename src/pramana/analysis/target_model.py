"""Draw original records from a model built around the column that is to be learned.

Whoever learns a class wants each attribute's dependence on the class to come back first, then that
between attributes within a class. The model has one table for every attribute and the target, and,
where released records show that two attributes depend on each other within the classes, one for
the pair and the target; the pairs form a tree, the strongest ones first [Friedman97]. A record is
drawn from its distribution given all that was released of it: sums go up the tree, draws go down.

Tables are estimated by the regularised expectation-maximisation of ``estimation``. The tree is
found on released records: independence given the class survives randomisation, so what is found
there is real, and what is too weak to be found would be too weak to be estimated.
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
"""How many standard deviations a pair must stand out to get a table of its own."""

MOST_CELLS = 4_000
"""Larger tables of a pair and the target are not estimated."""

CHUNK = 8_192


@dataclass(frozen=True, eq=False)
class TargetModel:
    """Axes in an order in which each comes after its parent, and their tables.

    Attributes:
        target: the axis of the target.
        order: the other axes.
        parents: the parent of each axis, or ``None`` where it depends on the target alone.
        tables: for each axis the probabilities [target, own] or [target, parent, own].
        shares: the distribution of the target.
    """

    target: int
    order: tuple[int, ...]
    parents: dict[int, int | None]
    tables: dict[int, FloatArray] = field(repr=False)
    shares: FloatArray = field(repr=False)


def fit_target_model(places: list[IntArray], channels: Channels, *, target: int) -> TargetModel:
    """Find the tree and estimate its tables from released records."""
    layout = channels.layout
    order, parents = _tree(places, layout, target)
    shares = _estimated((target,), places, channels)
    tables = {}
    for axis in order:
        parent = parents[axis]
        axes = (target, axis) if parent is None else (target, parent, axis)
        tables[axis] = _conditional(_estimated(axes, places, channels))
    return TargetModel(target, order, parents, tables, shares / shares.sum())


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


# -- the tree ------------------------------------------------------------------------------


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
    order: list[int] = []
    parents: dict[int, int | None] = {}
    for root in range(len(axes)):
        if axes[root] in parents:
            continue
        reached, above = breadth_first_order(tree, root, directed=False)
        for own in reached.tolist():
            order.append(axes[own])
            parents[axes[own]] = axes[above[own]] if above[own] >= 0 else None
    return tuple(order), parents


def _strength(places: list[IntArray], layout: Layout, axes: tuple[int, int, int]) -> float:
    """By how much chi-square within the classes exceeds what independence gives; 0 if unclear."""
    shape = [layout.shape[axis] for axis in axes]
    records = len(places[0])
    if prod(shape) > min(MOST_CELLS, records):
        return 0.0
    table = _counted(places, layout, axes)
    totals = table.sum(axis=(1, 2), keepdims=True)
    expected = table.sum(axis=2, keepdims=True) * table.sum(axis=1, keepdims=True)
    expected /= np.maximum(totals, 1)
    square = np.square(table - expected) / np.where(expected > 0, expected, 1)
    used = ((table.sum(axis=2) > 0).sum(axis=1) - 1) * ((table.sum(axis=1) > 0).sum(axis=1) - 1)
    freedom = float(np.maximum(used, 0).sum())
    excess = float(square.sum()) - freedom
    return excess if freedom and excess > CLEAR * (2 * freedom) ** 0.5 else 0.0


def _counted(places: list[IntArray], layout: Layout, axes: tuple[int, ...]) -> FloatArray:
    shape = tuple(layout.shape[axis] for axis in axes)
    return cell_counts([places[axis] for axis in axes], shape)


# -- the tables ----------------------------------------------------------------------------


def _estimated(axes: tuple[int, ...], places: list[IntArray], channels: Channels) -> FloatArray:
    """The original table of some axes; those that their matrices depend on are summed out again."""
    closed = channels.closure(axes)
    ordered = (*axes, *(axis for axis in closed if axis not in axes))
    sub = Channels(channels.layout.only(ordered))
    released = _counted(places, channels.layout, ordered)
    table = fit(released, sub) if sub.randomised else released
    summed: FloatArray = table.sum(axis=tuple(range(len(axes), table.ndim)))
    return summed


def _conditional(table: FloatArray) -> FloatArray:
    """Shares along the last axis; where there is nothing, those given the target, or all alike."""
    fallback = table.sum(axis=tuple(range(1, table.ndim - 1)), keepdims=True) + 1e-9
    filled = table + 1e-9 * fallback / fallback.sum(axis=-1, keepdims=True)
    shares: FloatArray = filled / filled.sum(axis=-1, keepdims=True)
    return shares


# -- the draws -----------------------------------------------------------------------------


SeenValues = list[tuple[FloatArray, IntArray]]


def _draw_chunk(
    rows: IntArray,
    seen: SeenValues,
    channels: Channels,
    model: TargetModel,
    uniforms: dict[int, FloatArray],
    result: list[IntArray],
) -> None:
    likelihood, own = seen[model.target]
    classes = own[rows]
    if channels.layout.axes[model.target].step is not None:
        weights = np.stack(
            [_upward(rows, seen, model, level)[1] for level in range(model.shares.size)], axis=1
        )
        weights += np.log(model.shares * likelihood[classes] + 1e-300)
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        classes = _one_of(weights, uniforms[model.target])
    result[model.target][rows] = classes
    for level in np.unique(classes):
        some = np.flatnonzero(classes == level)
        messages, _ = _upward(rows[some], seen, model, level)
        for axis in model.order:
            table, parent = model.tables[axis][level], model.parents[axis]
            prior = table if parent is None else table[result[parent][rows[some]]]
            result[axis][rows[some]] = _one_of(messages[axis] * prior, uniforms[axis][some])


def _upward(
    rows: IntArray, seen: SeenValues, model: TargetModel, level: int
) -> tuple[dict[int, FloatArray], FloatArray]:
    """What the records and the branches below say of each value, and the log of the whole."""
    messages = {axis: seen[axis][0][seen[axis][1][rows]] for axis in model.order}
    total = np.zeros(len(rows))
    for axis in reversed(model.order):
        table, parent = model.tables[axis][level], model.parents[axis]
        said = messages[axis] @ (table if parent is None else table.T)
        if parent is None:
            total += np.log(said)
            continue
        largest = said.max(axis=1, keepdims=True)
        total += np.log(largest[:, 0])
        messages[parent] = messages[parent] * (said / largest)
    return messages, total


def _one_of(weights: FloatArray, uniform: FloatArray) -> Any:
    """A position for each row, with probabilities in proportion to its weights."""
    steps = np.cumsum(weights, axis=1)
    return (steps[:, :-1] <= (uniform * steps[:, -1])[:, None]).sum(axis=1)
