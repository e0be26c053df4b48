"""Draw synthetic records from an estimated distribution.

From a joint table: given the released record l, the original value k has probability proportional
to p_k prod_a P_a[k_a, l_a]. It is drawn axis by axis: the first from its margin, with the later
axes summed out through their matrices; the next given the first; and so on. Every sum is one line
of a table that was passed forward along the later axes, so a record costs the sum of the sizes, not
their product.

From margins: values are handed out in the order of the released values [Dowd, Alg. 2].

From latent classes, with as little noise as n records allow. Each record has exactly the
distribution of the model. Together they are spread evenly: classes get their number of records by
systematic sampling, and inside a class the values of an axis are handed out by levels of a sequence
that fills [0, 1) evenly (steps of the golden ratio from a random start), to records sorted by the
axes drawn before that matter most. Tables of one and two columns come out closer to the model than
tables of independent draws.

For learning, from a model built around the column that is to be learned. It has one table for every
attribute and the target. Where two attributes clearly depend on each other within the classes, one
of them has a table with the other and the target instead; these pairs form a tree, the strongest
ones first [Friedman97]. A record is drawn from its distribution given all its released values: sums
go up the tree, draws go down.

Tables are estimated by the regularised EM. The tree is found on released records: independence
given the class survives randomisation, so a dependence found there is real, and one too weak to be
found would be too weak to be estimated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.counts import clip
from pramana.analysis.latent_classes import TINY, Blend, LatentClasses
from pramana.analysis.layout import Layout
from pramana.analysis.observed import Feature
from pramana.analysis.regularised_em import fit, fitted_original
from pramana.base.randomness import Keystream, Stream
from pramana.schema.joint_cells import cell_counts, cell_numbers
from pramana.types import FloatArray, IntArray, Words


def draw_given_table(
    places: list[IntArray], table: FloatArray, channels: Channels, keystream: Keystream
) -> list[IntArray]:
    """Draw every record given its release and the distribution of the original data."""
    shape, records = channels.layout.shape, len(places[0])
    strides = np.array([int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))])
    # Axes that others depend on come first: they must be known when those are drawn.
    order = sorted(range(len(shape)), key=lambda axis: channels.layout.axes[axis].step is not None)
    current = list(places)  # released values, replaced by drawn ones as we go
    for at, axis in enumerate(order):
        if channels.layout.axes[axis].step is None:
            continue
        message = table
        for later in order[at + 1 :]:
            message = channels.each[later].along("forward", message)
        base = sum(
            (current[other] * strides[other] for other in range(len(shape)) if other != axis),
            start=np.zeros(records, dtype=np.int64),
        )
        likelihood, seen = likelihood_of(axis, places, channels)
        uniforms = keystream.uniforms(Stream("rebuild", axis), 0, records)
        lines = np.arange(shape[axis]) * strides[axis]
        flat = np.ascontiguousarray(message).ravel()
        drawn = np.empty(records, dtype=np.int64)
        step = max(1, BLOCK // shape[axis])
        for start in range(0, records, step):
            part = slice(start, start + step)
            weights = likelihood[seen[part]] * flat[base[part, None] + lines]
            possible = weights.any(axis=1)
            drawn[part] = np.where(possible, _choice(weights, uniforms[part]), places[axis][part])
        current[axis] = drawn
    return current


def _choice(weights: FloatArray, uniforms: FloatArray) -> IntArray:
    """A position for each row, with probabilities in proportion to its weights."""
    ends = np.cumsum(weights, axis=1)
    total = ends[:, -1]
    levels = np.minimum(uniforms * total, np.nextafter(total, 0))  # below the total, as rounded
    return np.asarray((ends <= levels[:, None]).sum(axis=1), dtype=np.int64)


def likelihood_of(
    axis: int, places: list[IntArray], channels: Channels
) -> tuple[FloatArray, IntArray]:
    """A table [what was seen, truth] of probabilities, and what was seen of every record.

    Where the matrix depends on a stratum, what was seen is the stratum and the value.
    """
    layout = channels.layout
    size = layout.shape[axis]
    strata = [place for place in channels.closure((axis,)) if place != axis]
    sub = Channels(layout.only([*strata, axis]))
    sizes = [layout.shape[place] for place in strata]
    seen = cell_numbers([places[place] for place in (*strata, axis)], [*sizes, size])
    rows = []
    for value in range(size):
        unit = np.zeros((*sizes, size))
        unit[..., value] = 1
        rows.append(sub.each[-1].along("forward", unit).reshape(-1, size))
    # rows[truth][stratum, released] -> [stratum, released, truth]
    table = np.stack(rows, axis=-1).reshape(-1, size)
    return np.ascontiguousarray(table), seen


def whole_numbers(shares: FloatArray, total: int) -> IntArray:
    """Integers in proportion to ``shares`` that sum to ``total``: largest remainders go up.

    >>> whole_numbers(np.array([0.5, 0.3, 0.2]), 7).tolist()
    [4, 2, 1]
    """
    exact = shares * (total / shares.sum())
    numbers: IntArray = np.floor(exact).astype(np.int64)
    short = total - int(numbers.sum())
    numbers[np.argsort(numbers - exact, kind="stable")[:short]] += 1
    return numbers


def ranked(
    places: list[IntArray],
    channels: Channels,
    keystream: Keystream,
    *,
    fitted: bool = False,
) -> list[IntArray]:
    """[Dowd, Alg. 2] on each axis alone; within strata if the matrix depends on them.

    It hands out unbiased counts with negative ones cut off or, if ``fitted``, those of the
    regularised EM, which have less error the more noise there is. Records with the same released
    value come in a random order, on each axis another: the order of the file would make independent
    axes dependent.
    """
    columns, sizes = [], channels.layout.shape
    for axis, seen in enumerate(places):
        if channels.layout.axes[axis].step is None:
            columns.append(seen)
            continue
        strata = [place for place in channels.closure((axis,)) if place != axis]
        shape = [sizes[place] for place in strata]
        group = cell_numbers([places[place] for place in strata], shape, records=len(seen))
        ties = keystream.words(Stream("rebuild", "ties", axis), 0, len(seen))
        table = np.bincount(group * sizes[axis] + seen, minlength=prod(shape) * sizes[axis])
        sub = Channels(channels.layout.only([*strata, axis]))
        released = table.reshape(*shape, sizes[axis]).astype(np.float64)
        estimates = fitted_original(released, sub) if fitted else sub.solve(released)
        handed = [
            _handed_out(estimate, counts)
            for estimate, counts in zip(
                estimates.reshape(-1, sizes[axis]), table.reshape(-1, sizes[axis]), strict=True
            )
        ]
        result = np.empty_like(seen)
        result[np.lexsort((ties, seen, group))] = np.concatenate(handed)
        columns.append(result)
    return columns


def _handed_out(estimate: FloatArray, counts: IntArray) -> IntArray:
    """As many values as there are records, in order, in proportion to an estimate cut at 0."""
    shares = estimate
    if not np.array_equal(estimate, counts):  # otherwise nothing was moved
        shares = clip(estimate)
        shares = shares if shares.any() else np.ones(len(shares))
    total = int(counts.sum())
    return np.repeat(np.arange(len(counts)), whole_numbers(shares, total) if total else 0)


# -- latent classes -----------------------------------------------------------------------

GOLDEN = (5**0.5 - 1) / 2
BLOCK = 2_000_000
"""Numbers that are worked on at once."""

KEYS = 2
"""Records are sorted by this many of the axes drawn before: more would change little."""


def draw_records(
    blend: Blend, records: int, keystream: Keystream, *, together: FloatArray | None = None
) -> list[IntArray]:
    """One array of values an axis, in random order of records.

    ``together`` says, axes by axes, how much a table of both matters; all alike if not given.
    """
    model = blend.merged()
    start = float(keystream.uniforms("draw classes", 0, 1)[0])
    levels = (np.arange(records) + start) / records
    classes = np.searchsorted(_cumulated(model.weights), levels, side="right")
    classes = np.minimum(classes, len(model.weights) - 1).astype(np.int64)
    drawn = _axes(model, len(model.profiles), classes, together, keystream)
    order = keystream.permutation(records, "draw order")
    return [column[order] for column in drawn]


def draw_with_unchanged(
    blend: Blend,
    seen: Sequence[IntArray],
    keystream: Keystream,
    *,
    together: FloatArray | None = None,
) -> list[IntArray]:
    """The values of the first axes of each record, given those of the last ones, in their order.

    First the class, by the likelihood of the given values; then the axes, spread evenly over the
    records of each class.
    """
    model, records = blend.merged(), len(seen[0])
    first = len(model.profiles) - len(seen)
    given = LatentClasses(model.weights, model.profiles[first:])
    features = [Feature(axis, len(profile)) for axis, profile in enumerate(given.profiles)]
    levels = keystream.uniforms(Stream("beside class"), 0, records)
    classes = _class_given(given, features, seen, levels)
    order = np.argsort(classes, kind="stable")
    drawn = _axes(model, first, classes[order], together, keystream)
    back = np.empty_like(order)
    back[order] = np.arange(records)
    return [column[back] for column in drawn]


def draw_given(
    blend: Blend,
    features: Sequence[Feature],
    seen: Sequence[IntArray],
    keystream: Keystream,
    *,
    group: int = 0,
) -> list[IntArray]:
    """The values of each record given the values seen: one feature an axis, one code per record.

    First the class, by the likelihood of the values seen; then each axis within the class. An axis
    that was seen as it is stays as it is. Each group of records has its own random numbers.
    """
    model, records = blend.merged(), len(seen[0])
    levels = keystream.uniforms(Stream("given class", group), 0, records)
    chosen = _class_given(model, features, seen, levels)
    drawn = []
    for axis, (feature, codes) in enumerate(zip(features, seen, strict=True)):
        if feature.moves is None or feature.base is None:
            drawn.append(codes)
            continue
        pairs, places = np.unique(chosen * feature.size + codes, return_inverse=True)
        classes, values = np.divmod(pairs, feature.size)
        channel = feature.moves + feature.base
        levels = keystream.uniforms(Stream("given", group, axis), 0, records)
        drawn.append(
            _value_at(model.profiles[axis][:, classes] * channel[:, values], places, levels)
        )
    return drawn


def _value_at(shares: FloatArray, columns: IntArray, levels: FloatArray) -> IntArray:
    """The value at a level of the distribution in a column of ``shares``, for each record.

    All records are one search: the distribution of column r is laid out in [r, r + 1).
    """
    size, number = shares.shape
    flat = (_cumulated(shares) + np.arange(number)).T.ravel()
    places = np.searchsorted(flat, levels + columns, side="right") - columns * size
    return np.asarray(np.clip(places, 0, size - 1), dtype=np.int64)


def _class_given(
    model: LatentClasses, features: Sequence[Feature], seen: Sequence[IntArray], levels: FloatArray
) -> IntArray:
    """A class for each record, drawn by how likely it makes all that was seen."""
    logs = [
        np.log(np.maximum(feature.seen(profile), TINY))
        for feature, profile in zip(features, model.profiles, strict=True)
    ]
    weights = np.log(np.maximum(model.weights, TINY))
    chosen = np.empty(len(levels), dtype=np.int64)
    step = max(1, BLOCK // len(weights))
    for start in range(0, len(levels), step):
        part = slice(start, start + step)
        total = weights + sum(log[codes[part]] for log, codes in zip(logs, seen, strict=True))
        chosen[part] = _choice(np.exp(total - total.max(axis=1, keepdims=True)), levels[part])
    return chosen


def _cumulated(shares: FloatArray) -> FloatArray:
    """Cumulated shares of each column, the last exactly 1."""
    sums: FloatArray = np.cumsum(shares, axis=0)
    sums /= sums[-1]
    return sums


def _axes(
    model: LatentClasses,
    number: int,
    classes: IntArray,
    together: FloatArray | None,
    keystream: Keystream,
) -> list[IntArray]:
    """The values of the first axes of records sorted by class.

    Each is spread evenly over those drawn before that matter most.
    """
    records, classes_of_model = len(classes), len(model.weights)
    sizes = np.bincount(classes, minlength=classes_of_model)
    firsts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    rank = np.arange(records) - firsts[classes]
    drawn: list[IntArray] = []
    for axis in range(number):
        before: list[int] = keystream.permutation(axis, Stream("draw keys", axis)).tolist()
        if together is not None:
            before.sort(key=lambda place: -together[axis, place])
        keys = [(drawn[place], len(model.profiles[place])) for place in before[:KEYS]]
        words = keystream.words(Stream("draw axis", axis), 0, records)
        starts = keystream.uniforms(Stream("draw starts", axis), 0, classes_of_model)
        levels = np.mod(rank * GOLDEN + starts[classes], 1.0)
        values = np.empty(records, dtype=np.int64)
        order = _order(classes, classes_of_model, keys, words)
        values[order] = _value_at(model.profiles[axis], classes, levels)
        drawn.append(values)
    return drawn


def _order(
    classes: IntArray, number: int, keys: Sequence[tuple[IntArray, int]], words: Words
) -> IntArray:
    """The order of records by class, then by codes with their sizes, then at random."""
    key, span = classes.astype(np.uint64), number
    for codes, size in keys:
        key = key * np.uint64(size) + codes.astype(np.uint64)
        span *= size
    bits = np.uint64(span.bit_length())
    return np.argsort((key << (np.uint64(64) - bits)) | (words >> bits))


CLEAR = 5.0
"""A pair gets its own table if chi-square is this many standard deviations above independence."""

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


def draw_given_target(
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
