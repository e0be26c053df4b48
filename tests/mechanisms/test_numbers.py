"""Numbers on a grid: weights of rounding, the composite channel by brute force, releases."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from benchmarks._enumeration import true_delta

import pramana as pm
from pramana.base.randomness import Keystream
from pramana.errors import InvalidSchema, NotCovered, OutsideDomain
from pramana.evaluation.schema_suggestions import changed_columns
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.mechanisms.randomiser import Randomiser
from pramana.schema.codec import encode
from pramana.schema.domains import NumberGrid
from pramana.schema.recoded_table import merge_values
from pramana.schema.schema_file import read_schema, write_schema

GRIDS = (NumberGrid((0, 4)), NumberGrid((0, 4, 8)), NumberGrid((0, 2, 8)), NumberGrid((0, 1, 3, 8)))


def column_of(grid: NumberGrid, name: str = "income", **more) -> pm.Column:
    return pm.Column(name, pm.Role.SENSITIVE, grid, **{"missing": "refuse", **more})


def table(n: int = 4_000, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], n)
    income = np.minimum(np.round(random.lognormal(10, 0.6, n), -2), 100_000)
    return pa.table({"sex": sex, "income": income, "town": random.choice(["a", "b", "c"], n)})


SCHEMA = pm.Schema(
    (
        pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse"),
        pm.Column("town", pm.Role.KEY, pm.Categories(("a", "b", "c")), missing="refuse"),
        column_of(NumberGrid.even(0, 100_000, 6, step=100)),
    )
)


# -- weights of rounding ---------------------------------------------------------------------------


@pytest.mark.parametrize("grid", GRIDS)
def test_the_expectation_of_the_rounded_number_is_the_number(grid):
    """In fractions: off by less than the gap over 2**64, and weights fill all words."""
    for steps in range(grid.marks[-1] + 1):
        chances = grid.chances(steps)
        mean = Fraction(sum(int(point) * weight for point, weight in chances), 2**64)

        assert sum(weight for _, weight in chances) == 2**64
        assert 0 <= steps - mean < Fraction(8, 2**64)


@pytest.mark.parametrize("grid", GRIDS)
def test_the_sampler_compares_with_these_very_integers(grid):
    """The last word that rounds up, and the first that does not."""
    column = column_of(grid)
    for steps in range(grid.marks[-1] + 1):
        chances = grid.chances(steps)
        if len(chances) == 1:
            words = [0, 2**64 - 1]
            wanted = [chances[0][0]] * 2
        else:
            words = [chances[1][1] - 1, chances[1][1]]
            wanted = [chances[1][0], chances[0][0]]
        values = pa.array([float(steps)] * 2)

        codes = encode(column, values, np.array(words, dtype=np.uint64))

        assert [grid.labels[code] for code in codes] == wanted


def test_decimals_count_as_the_nearest_step():
    """Cents of a price, whatever floating numbers make of them; texts and dictionaries alike."""
    column = column_of(NumberGrid((0, 0.5, 2), step=0.01))
    words = np.full(3, 2**64 - 1, dtype=np.uint64)  # never up, but on a point
    values = ["0.49", "0.5", "1.999"]
    for array in (
        pa.array(values),
        pa.array([float(value) for value in values]),
        pa.array(values).dictionary_encode(),
    ):
        assert encode(column, array, words).tolist() == [0, 1, 2]


def test_large_gaps_are_exact():
    """A cell of 2**32 - 1 steps: the threshold is that of whole numbers of any size."""
    wide = 2**32 - 1
    grid = NumberGrid((0, wide))
    above = 3_000_000_001
    up = above * 2**64 // wide
    words = np.array([up - 1, up], dtype=np.uint64)

    assert grid.chances(above)[1] == (wide, up)
    assert encode(column_of(grid), pa.array([above] * 2), words).tolist() == [1, 0]


def test_what_lies_outside_the_range_is_refused_by_count():
    """And what is missing where nothing says what that means; codes outside are values."""
    column = column_of(NumberGrid((0, 10), missing_values=(-9,)))

    with pytest.raises(OutsideDomain, match="2 records"):
        encode(column, pa.array([-1, 5, 11]))
    with pytest.raises(OutsideDomain, match="missing"):
        encode(column, pa.array([None, 5]))
    assert encode(column, pa.array([-9, 1, 9])).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ("points = [0]", "two rising points"),
        ("points = [0, 3, 2]", "rising"),
        ("points = [0, 1.5]", "multiples of 1 above"),
        ("points = [0, 5]\nstep = 0", "above 0"),
        ("points = [0, 10000000000]\nstep = 0.1", "coarser step"),
        ("points = [0, 'a']", "must state points"),
        ("points = [0, 9]\nmissing_values = [5]", "outside its range"),
        ("range = [0, 9]", "needs grid"),
        ("range = [0, 9]\ngrid = 11", "no more than"),
        ("points = [0, 9]\nbins = [0, 9]", "must have one of"),
        ("points = [0, 9]\nrandomise = false", "must be randomised"),
        ("points = [0, 9]\nrelease = 'centre'", "points are released"),
    ],
)
def test_grids_that_are_none_are_refused_with_their_column(entries, words):
    """One line each, and the entry to look at."""
    with pytest.raises(InvalidSchema, match=words) as caught:
        read_schema(f"[columns.income]\nrole = 'sensitive'\n{entries}\n")
    assert caught.value.fields["column"] == "income"


def test_a_schema_file_says_it_in_either_way():
    """A range with a number of points, or the points; written and read again."""
    short = read_schema("[columns.a]\nrole='key'\nrange=[0,1]\ngrid=5\nstep=0.05\nrelease='grid'")
    long = read_schema("[columns.a]\nrole='key'\npoints=[0,0.25,0.5,0.75,1]\nstep=0.05")

    assert short == long == read_schema(write_schema(long))


# -- the composite channel by brute force ----------------------------------------------------------


def composite(grid: NumberGrid, matrix: pm.UniformMixture) -> list[list[Fraction]]:
    """The row of every number of the range, written down from the definition."""
    rows = dict(zip(grid.labels, matrix.weights.tolist(), strict=True))
    return [
        [
            Fraction(sum(weight * rows[point][seen] for point, weight in chances), 2**128)
            for seen in range(grid.size)
        ]
        for chances in map(grid.chances, range(grid.marks[-1] + 1))
    ]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_epsilon_of_all_pairs_of_numbers_is_that_of_the_matrix(grid, epsilon):
    """Never above what is stated, and reached on points."""
    matrix = pm.UniformMixture.of(grid.labels, epsilon=epsilon)
    rows = composite(grid, matrix)
    worst = max(
        own[seen] / other[seen]
        for own, other in itertools.permutations(rows, 2)
        for seen in range(grid.size)
    )

    assert worst == matrix.gamma
    assert math.log(worst) <= epsilon + 1e-12


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("grid", GRIDS[:3])
def test_k_over_all_tables_of_numbers(grid, n):
    """Every known table of numbers, every release: no link is surer than 1 in k."""
    matrix = pm.UniformMixture.of(grid.labels, retention=0.4)
    some = composite(grid, matrix)[:: 1 if n < 4 else 2]
    k = 1 + (n - 1) * matrix.anonymity_ratio
    worst = Fraction(0)
    for truth in itertools.combinations_with_replacement(range(len(some)), n - 1):
        for first, own in itertools.product(range(len(some)), range(grid.size)):
            people = [some[first], *(some[other] for other in truth)]
            for others in itertools.combinations_with_replacement(range(grid.size), n - 1):
                released = (own, *others)
                linked = total = Fraction(0)
                for order in itertools.permutations(range(n)):
                    chance = math.prod(people[s][released[order[s]]] for s in range(n))
                    total += chance
                    linked += chance if order[0] == 0 else 0
                worst = max(worst, linked / total)

    assert worst == 1 / k
    assert PkAnonymity.of(matrix, anonymity_set=n).k <= k


@pytest.mark.parametrize("grid", GRIDS)
def test_central_delta_over_all_tables_of_numbers(grid):
    """The true delta of up to four shuffled numbers, by enumeration, is at most the stated one."""
    other = {2: 3, 3: 2, 4: 1}[grid.size]
    matrix = pm.UniformMixture(grid.labels, other * 2**60)  # so many sixteenths
    mixture = np.full((grid.size,) * 2, other) + (16 - other * grid.size) * np.eye(
        grid.size, dtype=int
    )
    weights = [dict(grid.chances(steps)) for steps in range(grid.marks[-1] + 1)]
    parts = np.array([[own.get(z, 0) * 24 // 2**64 for z in grid.labels] for own in weights])
    parts[np.arange(len(parts)), parts.argmax(axis=1)] += 24 - parts.sum(axis=1)
    rows = (parts @ mixture).astype(np.int64)
    for people, epsilon in itertools.product((2, 3, 4), (0.2, 0.6)):
        factor = Fraction(math.exp(epsilon)).limit_denominator(1000)
        delta = float(true_delta(rows[:: 1 if people < 4 else 2], people, factor))
        if delta > 0:
            stated = ShuffledPrivacy.of(
                pm.Mechanism((pm.Step(("a",), matrix),)), anonymity_set=people, delta=delta
            )

            assert stated.epsilon >= math.log(factor) - 1e-9


# -- releases --------------------------------------------------------------------------------------


def test_the_channel_of_a_release_is_the_composite_one():
    """One number a hundred thousand times: what comes out is its row, to a few errors."""
    n, grid = 100_000, NumberGrid((0, 10, 40))
    schema = pm.Schema((column_of(grid),))
    matrix = pm.UniformMixture.of(grid.labels, retention=0.5)
    records = pa.record_batch({"income": pa.array([16] * n)})
    maker = Randomiser(
        schema,
        pm.Mechanism((pm.Step(("income",), matrix),)),
        records.schema,
        Keystream.from_seed(5),
    )
    row = np.array([float(part) for part in composite(grid, matrix)[16]])

    found = np.bincount(maker.encode(records, 0).column(0).to_numpy(), minlength=3) / n

    assert (np.abs(found - row) < 4.5 * np.sqrt(row * (1 - row) / n)).all()


def test_batches_do_not_change_a_seeded_release():
    """The word of a record is that of its position, however records are cut into batches."""
    records = table(1_000).select(["income"]).combine_chunks().to_batches()[0]
    grid = NumberGrid.even(0, 100_000, 6, step=100)
    schema = pm.Schema((column_of(grid),))
    mechanism = pm.Mechanism(
        (pm.Step(("income",), pm.UniformMixture.of(grid.labels, retention=0.5)),)
    )
    maker = Randomiser(schema, mechanism, records.schema, Keystream.from_seed(5))

    whole = maker.encode(records, 0).column(0).to_numpy()
    parts = [
        maker.encode(records.slice(at, 300), at).column(0).to_numpy() for at in range(0, 1000, 300)
    ]

    assert (whole == np.concatenate(parts)).all()


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
def test_a_release_holds_points_and_is_verified(method, tmp_path):
    """In the unit of the column, from a file and from memory alike, whatever the method."""
    plan = pm.design(SCHEMA, pm.DifferentialPrivacy(epsilon=4), data=table(), method=method)
    release = pm.protect(table(), plan, to=tmp_path / "release", seed=3)
    again = pm.protect(table(), plan, seed=3)

    values = set(release.opened.to_arrow().column("income").to_pylist()) - {None}
    assert values <= set(range(0, 100_001, 20_000))
    assert release.opened.to_arrow().to_pydict() == again.opened.to_arrow().to_pydict()
    assert pm.load(tmp_path / "release").certificate.schema == release.certificate.schema
    codebook = (tmp_path / "release" / "codebook.csv").read_text()
    assert "numbers in steps of 100 were rounded to them by chance" in codebook
    verdict = pm.verify(tmp_path / "release", original=table())
    assert not [c.name for c in verdict.checks if not c.ok]


def test_a_certificate_states_the_guarantee_of_a_column_of_points():
    """The same matrix as for a category of as many values, and so the same numbers."""
    points = SCHEMA.column("income").labels
    plain = SCHEMA.replace_columns(
        [
            pm.Column(
                "income", pm.Role.SENSITIVE, pm.Categories(points), missing="refuse", randomise=True
            )
        ]
    )
    plans = [
        pm.design(own, pm.DifferentialPrivacy(epsilon=3), records=4_000) for own in (SCHEMA, plain)
    ]

    assert plans[0].mechanism == plans[1].mechanism
    assert plans[0].attained == plans[1].attained


@pytest.mark.parametrize("asked", [pm.SpontaneousRecognition(0.2), pm.CorrectMatch(0.3)])
def test_what_rests_on_counts_is_refused(asked):
    """A number that chance rounds is in no cell that could be counted."""
    with pytest.raises(NotCovered, match="rounded at random to a grid"):
        pm.design(SCHEMA, asked, data=table())


def test_fewer_points_are_a_way_to_a_better_release():
    """Every second point stays, and both ends; values of a grid are never merged."""
    column = pm.NumberGrid.even(0, 100, 6, step=1)
    ways = list(changed_columns(column_of(column), None))

    assert [own.labels for _, _, own in ways[1:]] == [(0, 40, 80, 100)]
    with pytest.raises(InvalidSchema, match="categories to be merged"):
        merge_values(column_of(column), [0, 20], "low")


def test_an_exact_number_links_nobody():
    """Released as it is, a number finds its person; on a grid thousands have the same one."""
    records = table().append_column("person", pa.array(range(4_000)))
    numbers = np.asarray(records["income"]) + np.arange(4_000) / 4_000  # all different
    records = records.set_column(1, "income", pa.array(np.minimum(numbers, 100_000)))
    kept = SCHEMA.replace_columns([pm.Column("income", pm.Role.SENSITIVE)])
    found = []
    for schema in (kept, SCHEMA):
        plan = pm.design(schema, pm.PkAnonymity(k=10), data=records.drop(["person"]))
        risk = [column.name for column in plan.schema.released_as_is]
        release = pm.protect(records.drop(["person"]), plan, seed=2, accept_risk=risk)
        values, times = np.unique(
            release.opened.to_arrow()["income"].drop_null().to_numpy(), return_counts=True
        )
        found.append(int(np.isin(np.asarray(records["income"]), values[times == 1]).sum()))

    assert found[0] > 3_900
    assert found[1] == 0
