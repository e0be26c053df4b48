"""Draw synthetic records from an estimated distribution.

From a joint table: given the released record l, the truth k has probability proportional to
p_k prod_a P_a[k_a, l_a]. It is drawn axis by axis: the first from its margin, where the later axes
are summed out through their matrices; the next given the first; and so on. Every sum is one line of
a table that has been passed forward along the later axes, so a record costs the sum of the sizes,
not their product.

From margins: handed out to records in the order of what was released of them [Dowd, Alg. 2].

From latent classes, with as little noise as n records allow. Each record has exactly the
distribution of the model. Together they are spread evenly: classes get their number of records by
systematic sampling, and inside a class the values of an axis are handed out by levels of a sequence
that fills [0, 1) evenly (steps of the golden ratio from a random start), to the records in the
order of the axes drawn before: those first that are asked for most often together with it. Tables
of one and two columns come out closer to the model than those of independent draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.counts import clip
from pramana.analysis.latent_classes import Blend, LatentClasses
from pramana.analysis.observed import Feature
from pramana.analysis.regularised_em import fitted_truth
from pramana.base.randomness import Keystream, Stream
from pramana.schema.joint_cells import cell_numbers
from pramana.types import FloatArray, IntArray, Words


def draw_given_table(
    places: list[IntArray], table: FloatArray, channels: Channels, keystream: Keystream
) -> list[IntArray]:
    """Draw every record given its release and the distribution of the truth."""
    from pramana.analysis.kernels import draw_cells

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
        rows, seen = likelihood_of(axis, places, channels)
        drawn = np.empty(records, dtype=np.int64)
        uniforms = keystream.uniforms(Stream("rebuild", axis), 0, records)
        flat = np.ascontiguousarray(message).ravel()
        draw_cells(seen, rows, flat, base, int(strides[axis]), uniforms, drawn)
        current[axis] = drawn
    return current


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
    """[Dowd, Alg. 2], on each axis by itself; within strata where the matrix depends on them.

    What is handed out are unbiased counts with negative ones cut off, or, ``fitted``, those of the
    regularised EM, which is nearer to the truth the more noise there is.
    Records with the same released value come in an order of chance, on each axis another: that of
    the file would tie axes together that are independent.
    """
    found = []
    for axis, seen in enumerate(places):
        strata = [place for place in channels.closure((axis,)) if place != axis]
        shape = [channels.layout.shape[place] for place in strata]
        group = cell_numbers([places[place] for place in strata], shape, records=len(seen))
        ties = keystream.words(Stream("rebuild", "ties", axis), 0, len(seen))
        order = np.lexsort((ties, seen, group))
        found.append(_rank_groups(seen, group, order, axis, strata, channels, fitted))
    return found


def _rank_groups(
    seen: IntArray,
    group: IntArray,
    order: IntArray,
    axis: int,
    strata: list[int],
    channels: Channels,
    fitted: bool,
) -> IntArray:
    if channels.layout.axes[axis].step is None:
        return seen
    size, sizes = channels.layout.shape[axis], [channels.layout.shape[s] for s in strata]
    table = np.bincount(group * size + seen, minlength=prod(sizes) * size)
    sub = Channels(channels.layout.only([*strata, axis]))
    whole = table.reshape(*sizes, size).astype(np.float64)
    found = fitted_truth(whole, sub) if fitted else sub.solve(whole)
    estimates = found.reshape(-1, size)
    result = np.empty_like(seen)
    handed = [
        np.repeat(np.arange(size), whole_numbers(_shares(estimate, counts), counts.sum()))
        for estimate, counts in zip(estimates, table.reshape(-1, size), strict=True)
        if counts.any()
    ]
    result[order] = np.concatenate(handed)
    return result


def _shares(estimate: FloatArray, counts: IntArray) -> FloatArray:
    """What to hand out, in proportion: an estimate without negative counts.

    Where nothing was moved, the counts as they are.
    """
    if np.array_equal(estimate, counts):
        return estimate
    own = clip(estimate)
    return own if own.any() else np.ones(len(own))


# -- latent classes -----------------------------------------------------------------------

GOLDEN = (5**0.5 - 1) / 2
TINY = 1e-300
BLOCK = 2_000_000
"""Numbers that are worked on at once."""

KEYS = 2
"""By this many of the axes drawn before records are sorted: more would change little."""


def draw_records(
    blend: Blend, records: int, keystream: Keystream, *, together: FloatArray | None = None
) -> list[IntArray]:
    """One array of values an axis, in random order of records.

    Args:
        blend: the model.
        records: how many.
        keystream: where chance comes from.
        together: axes by axes, how much a table of both matters; all alike where not given.
    """
    model = blend.merged()
    cumulated = _cumulated(model.weights[:, None])[:, 0]
    start = float(keystream.uniforms("draw classes", 0, 1)[0])
    levels = (np.arange(records) + start) / records
    classes = np.minimum(
        np.searchsorted(cumulated, levels, side="right"), len(cumulated) - 1
    ).astype(np.int64)
    drawn = _axes(model, len(model.profiles), classes, together, keystream)
    order = keystream.permutation(records, "draw order")
    return [column[order] for column in drawn]


def draw_beside(
    blend: Blend,
    seen: Sequence[IntArray],
    keystream: Keystream,
    *,
    together: FloatArray | None = None,
) -> list[IntArray]:
    """The values of the first axes of each record, given those of the last ones, in their order.

    First the class, by how likely it makes what stands beside; then the axes, spread evenly over
    the records of each class.
    """
    model, records = blend.merged(), len(seen[0])
    first = len(model.profiles) - len(seen)
    beside = LatentClasses(model.weights, model.profiles[first:])
    features = [Feature(axis, len(profile)) for axis, profile in enumerate(beside.profiles)]
    levels = keystream.uniforms(Stream("beside class"), 0, records)
    chosen = _class_given(beside, features, seen, levels)
    order = np.argsort(chosen, kind="stable")
    classes = chosen[order]
    drawn = _axes(model, first, classes, together, keystream)
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
    """The values of each record given what was seen of it: one feature an axis, one code a record.

    First the class, by how likely it makes all that was seen; then each axis within the class. An
    axis that was seen as it is stays as it is. Groups of records draw from streams of their own.
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
        cumulated = _cumulated(model.profiles[axis][:, classes] * channel[:, values])
        levels = keystream.uniforms(Stream("given", group, axis), 0, records)
        flat = (cumulated + np.arange(len(pairs))).T.ravel()
        found = np.searchsorted(flat, levels + places, side="right") - places * len(cumulated)
        drawn.append(np.clip(found, 0, len(cumulated) - 1).astype(np.int64))
    return drawn


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
        total = np.exp(total - total.max(axis=1, keepdims=True))
        cumulated = np.cumsum(total, axis=1)
        below = cumulated < levels[part, None] * cumulated[:, -1:]
        chosen[part] = below.sum(axis=1)
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
    """The values of the first axes, each spread evenly over those drawn before that matter most."""
    drawn: list[IntArray] = []
    for axis in range(number):
        places: list[int] = keystream.permutation(axis, Stream("draw keys", axis)).tolist()
        if together is not None:
            places.sort(key=lambda place: -together[axis, place])
        before = [(place, drawn[place]) for place in places[:KEYS]]
        drawn.append(_axis(model, axis, classes, before, keystream))
    return drawn


def _axis(
    model: LatentClasses,
    axis: int,
    classes: IntArray,
    before: list[tuple[int, IntArray]],
    keystream: Keystream,
) -> IntArray:
    """The values of one axis, records of a class standing together."""
    records, number = len(classes), len(model.weights)
    sizes = np.bincount(classes, minlength=number)
    firsts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    order = np.argsort(_key(axis, classes, before, model, keystream))
    starts = keystream.uniforms(Stream("draw starts", axis), 0, number)
    rank = np.arange(records) - firsts[classes]
    levels = np.mod(rank * GOLDEN + starts[classes], 1.0)
    profile = _cumulated(model.profiles[axis])
    size = len(profile)
    # All classes in one search: the distribution of class r lies in [r, r + 1).
    flat = (profile + np.arange(number)).T.ravel()
    places = np.searchsorted(flat, levels + classes, side="right") - classes * size
    values = np.empty(records, dtype=np.int64)
    values[order] = np.clip(places, 0, size - 1)
    return values


def _key(
    axis: int,
    classes: IntArray,
    before: list[tuple[int, IntArray]],
    model: LatentClasses,
    keystream: Keystream,
) -> Words:
    """What to sort by: the class, then axes drawn before, then chance."""
    number = len(model.weights)
    key, span = classes.astype(np.uint64), number
    for place, values in before:
        size = len(model.profiles[place])
        key = key * np.uint64(size) + values.astype(np.uint64)
        span *= size
    bits = np.uint64(span.bit_length())
    words = keystream.words(Stream("draw axis", axis), 0, len(classes))
    mixed: Words = (key << (np.uint64(64) - bits)) | (words >> bits)
    return mixed
