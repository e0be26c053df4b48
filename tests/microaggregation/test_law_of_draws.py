"""What is drawn inside groups has the law that the pages and the paper give it.

``gaussian`` and ``sequential`` are simulated here again, from their definitions and by other means,
and the keys that the library draws are compared with that, group by group.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import pramana as pm
from pramana.base.randomness import Keystream
from pramana.io.opening import open_table
from pramana.microaggregation.anonymisation import draw_keys
from pramana.microaggregation.groups import Key
from pramana.microaggregation.rosenblatt import gaussian_donors

LEVEL = 1e-4
"""How often a sound draw would fail one of these tests, had its seed not been fixed."""

GROUPS = (
    ((0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 1, 0), (0, 0, 0)),
    ((2, 2, 1), (2, 2, 0), (1, 2, 2), (0, 1, 1)),
)
"""Three keys of the members of two groups; the second goes with the first, the third with it."""

COPIES = 3_000


def table():
    """So many groups of each kind, one after the other: keys by records, and who is where."""
    members = [member for group in GROUPS for member in group * COPIES]
    sizes = [len(group) for group in GROUPS for _ in range(COPIES)]
    return np.array(members, dtype=float), np.repeat(np.arange(len(sizes)), sizes)


def kind_of(labels):
    """Which of the groups above a record belongs to."""
    return labels // COPIES


# -- key after key -----------------------------------------------------------------------------


def chain_law(group, tree):
    """The chance of each combination: the first key as in the group, each other given its parent.

    ``tree`` lists keys with the key that they are drawn given, as docs/howto/k_anonymity.md says.
    """
    law = {(): Fraction(1)}
    drawn: list[int] = []
    for own, parent in tree:
        after: dict[tuple[int, ...], Fraction] = {}
        for values, chance in law.items():
            known = dict(zip(drawn, values, strict=True))
            fitting = [m for m in group if parent is None or m[parent] == known[parent]]
            for value, times in Counter(member[own] for member in fitting).items():
                key = (*values, value)
                after[key] = after.get(key, 0) + chance * Fraction(times, len(fitting))
        law, drawn = after, [*drawn, own]
    order = [drawn.index(place) for place in range(len(drawn))]
    return {tuple(values[at] for at in order): chance for values, chance in law.items()}


def information(keys, one, two):
    """How much two columns tell about each other."""
    n = len(keys)
    both = Counter(zip(keys[:, one], keys[:, two], strict=True))
    alone = [Counter(keys[:, place]) for place in (one, two)]
    return sum(
        c / n * np.log(c * n / alone[0][a] / alone[1][b]) for (a, b), c in both.items()
    )  # fmt: skip


def tree_by_definition(keys):
    """First the key that goes with the others most, then whichever goes most with one drawn."""
    width = keys.shape[1]
    ties = {(i, j): information(keys, i, j) for i in range(width) for j in range(width) if i != j}
    first = max(range(width), key=lambda i: sum(ties[i, j] for j in range(width) if j != i))
    tree, drawn = [(first, None)], [first]
    while len(drawn) < width:
        own, parent = max(
            ((i, j) for i in range(width) if i not in drawn for j in drawn), key=ties.get
        )
        tree.append((own, parent))
        drawn.append(own)
    return tree


def p_value(released, law):
    """Chi-square of combinations against their chances; nothing may occur that has none."""
    seen = Counter(map(tuple, released.astype(int).tolist()))
    assert set(seen) <= set(law)
    expected = np.array([float(chance) * len(released) for chance in law.values()])
    return stats.chisquare([seen[key] for key in law], expected).pvalue


def test_keys_drawn_one_after_the_other_have_the_law_of_the_tree():
    """Each group by itself; the tree is found by the definition, too."""
    truth, labels = table()
    keys = [Key(name, truth[:, at]) for at, name in enumerate("abc")]
    sources = draw_keys(keys, labels, Keystream.from_seed(3))
    released = np.column_stack([truth[source, at] for at, source in enumerate(sources)])
    tree = tree_by_definition(truth)
    for number, group in enumerate(GROUPS):
        own = released[kind_of(labels) == number]
        assert p_value(own, chain_law(group, tree)) > LEVEL
        for place in range(len(group)):  # whoever a record is of has no say
            assert p_value(own[place :: len(group)], chain_law(group, tree)) > LEVEL


def test_another_law_of_the_chain_is_noticed():
    """Teeth: whole members, and keys drawn each by itself, are not the law of the tree."""
    truth, labels = table()
    tree, random = tree_by_definition(truth), np.random.default_rng(1)
    group = GROUPS[0]
    members = np.array(group)
    whole = members[random.integers(0, len(group), 5 * COPIES)]
    apart = np.column_stack(
        [members[random.integers(0, len(group), 5 * COPIES), at] for at in range(3)]
    )
    law = chain_law(group, tree)
    for wrong in (whole, apart):
        shown = set(map(tuple, wrong.tolist()))
        assert not shown <= set(law) or p_value(wrong, law) < LEVEL
    assert len(labels) == len(truth)


# -- around the group --------------------------------------------------------------------------


def standard(keys):
    return (keys - keys.mean(axis=0)) / keys.std(axis=0)


def components(points, kinds, load):
    """Share, mean and covariance of each group, its diagonal loaded [Wei, sec. 3.2.2]."""
    found = []
    for kind in np.unique(kinds):
        own = points[kinds == kind]
        covariance = np.cov(own.T, bias=True).reshape(points.shape[1], -1)
        found.append((len(own) / len(points), own.mean(axis=0),
                      covariance + load * np.eye(points.shape[1])))  # fmt: skip
    return found


def conditional(parts, points, at):
    """F(x_at | keys before), by the textbook formula of conditional normals."""
    below, total = 0.0, 0.0
    before = points[:, :at]
    for share, mean, cov in parts:
        weight, centre, variance = share, mean[at], cov[at, at]
        if at:
            solve = np.linalg.solve(cov[:at, :at], cov[:at, at])
            centre = mean[at] + (before - mean[:at]) @ solve
            variance = cov[at, at] - cov[at, :at] @ solve
            weight = share * stats.multivariate_normal(mean[:at], cov[:at, :at]).pdf(before)
        below = below + weight * stats.norm.cdf((points[:, at] - centre) / np.sqrt(variance))
        total = total + weight
    return below / total


def simulated(keys, kinds, kind, draws, *, load=1 / 3, seed=1):
    """Released keys of one group by the paper: draw, to uniforms, to the quantiles of the keys."""
    points = standard(keys)
    parts = components(points, kinds, load)
    _, mean, cov = parts[kind]
    drawn = np.random.default_rng(seed).multivariate_normal(mean, cov, draws)
    found = np.zeros_like(drawn)
    uniforms = np.column_stack([conditional(parts, drawn, at) for at in range(keys.shape[1])])
    cells: dict[tuple[float, ...], np.ndarray] = {(): np.arange(draws)}
    for at in range(keys.shape[1]):
        after: dict[tuple[float, ...], np.ndarray] = {}
        for known, rows in cells.items():
            same = (keys[:, :at] == np.array(known)).all(axis=1) if at else np.ones(len(keys), bool)
            values, times = np.unique(keys[same, at], return_counts=True)
            steps = np.cumsum(times) / times.sum()  # the least value whose share reaches u
            picked = np.minimum(np.searchsorted(steps, uniforms[rows, at]), len(values) - 1)
            found[rows, at] = values[picked]
            for place, value in enumerate(values):
                after[(*known, value)] = rows[picked == place]
        cells = after
    return found


def two_sample(ours, theirs):
    """Chi-square of two lists of combinations."""
    counts = [Counter(map(tuple, own.tolist())) for own in (ours, theirs)]
    cells = [cell for cell in {*counts[0], *counts[1]} if counts[0][cell] + counts[1][cell] > 10]
    return stats.chi2_contingency([[own[cell] for cell in cells] for own in counts]).pvalue


def numbers(width):
    """Three groups far and near, of keys that hang together; few values first."""
    random = np.random.default_rng(4)
    kinds = np.repeat([0, 1, 2], 15_000)
    first = np.rint(random.normal([0, 1, 3], 1.0, (15_000, 3)).T.ravel())
    second = np.rint(first + random.normal(0, 2, 45_000)) if width > 1 else None
    keys = np.column_stack([first] if second is None else [first, second])
    return keys, kinds


@pytest.mark.parametrize("width", [1, 2])
def test_keys_drawn_around_a_group_have_the_law_of_the_paper(width):
    """Each group against a simulation by other means; less of the loading is noticed."""
    keys, kinds = numbers(width)
    named = [Key(name, keys[:, at]) for at, name in enumerate("ab"[:width])]
    source = gaussian_donors(named, kinds, Keystream.from_seed(5))
    for kind in range(3):
        own = keys[source[kinds == kind]]
        assert two_sample(own, simulated(keys, kinds, kind, 60_000)) > LEVEL
    wrong = simulated(keys, kinds, 0, 60_000, load=(0.8, 0.5)[width - 1] / 3)
    assert two_sample(keys[source[kinds == 0]], wrong) < LEVEL


@pytest.mark.parametrize("beside", [(1, 5, 7, 9), (7, 9, 5, 1)])
@pytest.mark.deep(every=2)
def test_who_joins_whom_does_not_hang_on_what_stands_beside_the_keys(beside):
    """Three people of one key and one of another: chance alone decides who goes with the fourth.

    Whoever knows all keys and how groups are formed would else work back who has which value. Of
    120 draws some 60 hand the fourth one's key to its partner, each of three in a third of them;
    fewer than 8 for one of them happen once in ten thousand.
    """
    schema = pm.Schema(
        (
            pm.Column("a", pm.Role.KEY, pm.Categories(("1", "2")), missing="refuse"),
            pm.Column("s", pm.Role.SENSITIVE),
        )
    )
    table = open_table(pa.table({"a": ["1", "1", "1", "2"], "s": list(beside)}), schema=schema)
    partners = [0] * 4
    for seed in range(120):
        words = Keystream.from_seed(seed)
        made = pm.Permute().regrouped(schema, table, k=2, keystream=words).table
        partners[made["a"].to_pylist().index("2")] += 1
    assert min(partners[:3]) >= 8, partners
