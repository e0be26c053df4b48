"""Loops that were compiled before: they are those of the source, and do what it does."""

from __future__ import annotations

import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest

from pramana.kanonymity import ahead, kernels, kernels_anneal
from pramana.kanonymity.anneal import PICKS
from pramana.kanonymity.groups import centres, group_sums, rank_within
from pramana.kanonymity.refine import neighbours_of, scratch

COMPILED = {
    "offers": kernels.offers,
    "link": kernels.link,
    "rework": kernels.rework,
    "anneal": kernels_anneal.anneal,
}


def world(seed):
    """Points in groups of four, and random words."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(120, 1 + seed % 3))
    labels = np.repeat(np.arange(30), 4)
    words = rng.integers(-(2**63), 2**63 - 1, size=4000)
    return points, labels, words


def linked(labels):
    lists = tuple(np.full(size, -1) for size in (60, labels.size, labels.size))
    return (*lists, np.zeros(60, np.int64))


def offers_of(seed):
    points, labels, _ = world(seed)
    middle, sizes = centres(points, labels), np.bincount(labels)
    near = np.random.default_rng(seed).integers(0, 120, size=(120, 5)).astype(np.int32)
    short = sizes * np.random.default_rng(seed).random(30) < 2
    return middle, sizes, short, labels, near, np.full(30, np.inf), np.zeros(30, np.int64)


def rework_of(seed):
    points, labels, words = world(seed)
    place, around = neighbours_of(centres(points, labels), 4)
    labels, lists = place[labels], linked(labels)
    kernels.link(labels, *lists)
    return points, labels, lists, 30, around, words[:30], (3, 9, 1e-12), scratch(3, 30)


def anneal_of(seed):
    points, labels, words = world(seed)
    place, members = rank_within(labels), np.zeros((30, 8), np.int64)
    members[labels, place] = np.arange(120)
    gaps = np.square(points - centres(points, labels)[labels]).sum(axis=1)
    inner = np.bincount(labels, gaps)
    near = np.random.default_rng(seed).integers(0, 120, size=(120, 6))
    picks = np.random.default_rng(seed).integers(0, 120, size=PICKS)
    state = (group_sums(points, labels), np.bincount(labels), inner, members, place)
    level = float(inner.sum())
    return (points, labels.copy(), labels.copy(), near, picks, words, state, (3, 8, 0.4, 0.999),
            (level, level))  # fmt: skip


GIVEN = {
    "offers": offers_of,
    "link": lambda seed: (world(seed)[1], *linked(world(seed)[1])),
    "rework": rework_of,
    "anneal": anneal_of,
}


def flat(values):
    return [own for v in values for own in (flat(v) if isinstance(v, tuple) else [v])]


@pytest.mark.parametrize("name", ahead.SOURCES)
def test_loops_are_made_of_the_source_as_it_is(name):
    """Whoever changes a loop compiles it anew: make loops."""
    assert (ahead.LOOPS / f"{name}.ll").read_text().startswith(ahead.MADE + ahead.source_mark())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ahead.SOURCES)
def test_a_loop_does_what_numba_makes_of_its_source(name, seed):
    """The same result and the same arrays, to the last bit, by the loop and by the compiler."""
    ours, theirs = GIVEN[name](seed), deepcopy(GIVEN[name](seed))
    before = deepcopy(ours)
    ready = ahead._ready(name)
    assert ready is not None
    assert ready.takes == " ".join(map(ahead.spelled, ours))

    found, expected = ahead.loop(name)(*ours), COMPILED[name](*theirs)
    if expected is not None:
        assert found == expected
    scrap = 11 if name == "rework" else 0  # what is left in working arrays is nobody's
    pairs = list(zip(flat(ours), flat(theirs), strict=True))
    for one, other in pairs[: len(pairs) - scrap]:
        assert np.array_equal(one, other)
    changed = zip(flat(before), flat(ours), strict=True)
    assert any(not np.array_equal(one, other) for one, other in changed)


def test_other_arrays_than_it_was_made_for_are_compiled_for():
    """Labels with gaps between them are no less right."""
    labels, lists = world(1)[1].repeat(2)[::2], linked(world(1)[1])
    expected = linked(world(1)[1])
    kernels.link(world(1)[1], *expected)
    ahead.loop("link")(labels, *lists)

    assert ahead.spelled(labels) == "gaps"
    for one, other in zip(lists, expected, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("old", "new"),
    [(ahead.MADE, ahead.MADE + "0"), (ahead.LLVM, ahead.LLVM + "9"), ("icmp", "icmq"),
     ("@pramana.link", "@other")],
)  # fmt: skip
def test_a_text_of_another_source_or_compiler_is_not_run(old, new):
    """Changed sources, a later LLVM, words that it does not know, and no such loop."""
    text = (ahead.LOOPS / "link.ll").read_text()
    ahead._Ready(text, "link")
    with pytest.raises((ValueError, RuntimeError)):
        ahead._Ready(text.replace(old, new), "link")


def test_the_first_clustering_compiles_nothing():
    """In a process of its own; Numba is not even loaded."""
    code = (
        "import sys, numpy as np, pramana as pm\n"
        "pm.cluster(np.random.default_rng(1).normal(size=(300, 2)), k=3)\n"
        "sys.exit('numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
