"""The risk of a whole released file, and the one verdict that follows from it."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.schema.opened_table import OpenedTable
from pramana.verification import whole_file
from pramana.verification.whole_file import Colour, is_amount, unchanged_by_chance, uniqueness

KEYS = {"sex": ("F", "M"), "region": ("n", "e", "s", "w")}


def opened(**columns: object) -> OpenedTable:
    return OpenedTable.of_arrow(pa.table(columns))


def survey(records: int = 3000) -> dict[str, np.ndarray]:
    """A survey with many columns that are left unchanged, as wide files are."""
    rng = np.random.default_rng(4)
    people = {name: rng.choice(values, records) for name, values in KEYS.items()}
    return people | {f"q{n}": rng.integers(0, 7, records) for n in range(12)}


def protected(people: dict[str, np.ndarray], *, k: float = 5, **options: object) -> pm.Release:
    keys = [pm.Column(n, pm.Role.KEY, pm.Categories(v)) for n, v in KEYS.items()]
    rest = [pm.Column(name, pm.Role.SENSITIVE) for name in people if name not in KEYS]
    schema = pm.Schema((*keys, *rest))
    plan = pm.design(schema, pm.PkAnonymity(k=k), records=len(people["sex"]))
    return pm.protect(pa.table(people), plan, **options)


def unique_on(people: dict[str, np.ndarray], columns: tuple[str, ...]) -> int:
    """A second count, row by row."""
    rows = list(zip(*(people[name].tolist() for name in columns), strict=True))
    return sum(rows.count(row) == 1 for row in rows)


def test_a_k_of_one_allows_nobody_to_be_found():
    """1/k = 100 % would call a file green in which everybody is unique."""
    release = protected(survey(), k=1)
    assert whole_file.uniqueness_bound(release.certificate) == whole_file.NO_K
    publishable = whole_file.verdict_of(release.certificate, release.file_risk)
    assert publishable.colour is Colour.AMBER
    assert "The guarantees do not cover" in publishable.sentence


def test_people_are_counted_exactly():
    """By hand: of five people, the pairs (a, 1) and (b, 2) are unique; no single value is."""
    risk = uniqueness(opened(x=["a", "a", "b", "b", "a"], y=[1, 2, 2, 1, 2]), ["x", "y"])
    assert [(s.columns, s.unique, s.people) for s in risk.subsets] == [
        (("x",), 0, 5),
        (("x", "y"), 3, 5),
    ]
    assert risk.subsets[1].sentence() == (
        "An attacker who knows x and y of a person finds 3 of 5 people (60 %)."
    )


def test_the_worst_subsets_are_found_and_counted_as_a_second_count_does():
    """Of all pairs of a small table, none finds more people than the one that is named."""
    people = {name: values[:300] for name, values in survey().items()}
    risk = uniqueness(opened(**people), list(people))
    by_width = {len(subset.columns): subset for subset in risk.subsets}
    for subset in risk.subsets:
        assert subset.unique == unique_on(people, subset.columns)
    assert by_width[2].unique == max(unique_on(people, pair) for pair in combinations(people, 2))


def test_a_large_file_is_counted_in_a_sample_of_whole_classes(monkeypatch):
    """Shares of the sample are those of the file up to chance (five standard errors), and said."""
    rng = np.random.default_rng(8)
    table = opened(a=rng.integers(0, 300, 40_000), b=rng.integers(0, 300, 40_000))
    exact = uniqueness(table, ["a", "b"])
    monkeypatch.setattr(whole_file, "COUNTED", 10_000)
    sampled = uniqueness(table, ["a", "b"])
    assert not exact.sampled
    assert sampled.sampled
    assert sampled.worst is not None
    assert exact.worst is not None
    assert 9_000 < sampled.worst.people < 11_000
    assert abs(sampled.worst.share - exact.worst.share) < 5 * (0.25 / 10_000) ** 0.5
    assert uniqueness(table, ["a", "b"]) == sampled


@pytest.mark.parametrize(
    ("values", "amount"),
    [
        (np.random.default_rng(1).permutation(5000) + 1400, False),  # numbers in sequence
        (np.random.default_rng(1).choice(60_000, 10_000, replace=False), False),  # never twice
        (np.random.default_rng(1).lognormal(9, 0.5, 4000).astype(int), True),  # incomes
        (np.random.default_rng(1).normal(70, 10, 4000), True),  # weights of bodies
        (np.random.default_rng(1).choice(9 * 10**8, 2000, replace=False) + 10**8, False),
        (np.array([f"p{n}" for n in range(50)]), False),
    ],
)
def test_amounts_and_identifiers_are_told_apart(values, amount):
    """Assigned numbers repeat less than chance lets numbers repeat; texts are no amounts."""
    assert is_amount(opened(x=values), "x") == amount


def test_many_unchanged_columns_are_amber_everywhere(tmp_path):
    """Whatever the guarantee of the keys: protect, verify and audit give the same verdict."""
    people = survey()
    release = protected(people, to=tmp_path / "r")
    verdict = release.verify()
    audit = pm.audit(release, original=pa.table(people))
    assert verdict.valid
    assert release.publishable.colour is Colour.AMBER
    assert verdict.publishable == release.publishable == audit.publishable
    assert verdict.to_json()["publishable"]["colour"] == "amber"
    assert release.file_risk.worst is not None
    assert release.file_risk.worst.share > 0.9


def test_green_is_for_releases_whose_guarantee_covers_what_is_known():
    """One unchanged column with few values makes nobody unique."""
    people = {name: survey()[name] for name in ("sex", "region", "q1")}
    release = protected(people)
    assert release.publishable.colour is Colour.GREEN
    assert [s.unique for s in release.file_risk.subsets] == [0]


def test_a_release_without_unchanged_columns_has_no_risk_of_them():
    """Then the guarantee covers every column."""
    people = {name: survey()[name] for name in ("sex", "region")}
    release = protected(people)
    assert release.publishable.colour is Colour.GREEN
    assert release.file_risk.subsets == ()


def test_a_target_that_protects_nobody_is_not_green():
    """k = 1 allows everybody to be linked, however few columns are released unchanged."""
    people = {name: values for name, values in survey(400).items() if name in ("sex", "region")}
    schema = pm.describe(pa.table(people), keys=list(people))
    release = pm.protect(pa.table(people), pm.design(schema, pm.PkAnonymity(1), records=400))
    assert release.publishable.colour == "amber"
    assert "protects nobody" in release.publishable.sentence


def test_an_unchanged_column_without_a_finite_number_is_verified(tmp_path):
    """Nothing is divided by the number of its values."""
    people = {"sex": ["F", "M"] * 50, "x": [np.inf, -np.inf] * 50}
    schema = pm.describe(pa.table(people), keys=["sex"], sensitive=["x"])
    plan = pm.design(schema, pm.PkAnonymity(5), data=pa.table(people), method="retention")
    pm.protect(pa.table(people), plan, to=tmp_path / "out", accept_risk=["x"])
    assert pm.verify(tmp_path / "out").valid


def test_an_identifier_in_an_older_release_is_red(tmp_path, monkeypatch):
    """Verification says so from the folder alone, though every check passes."""
    people = {"sex": survey()["sex"], "region": survey()["region"], "number": np.arange(3000)}
    monkeypatch.setattr("pramana.protecting.require_covered", lambda *_: None)
    verdict = protected(people, to=tmp_path / "r").verify()
    assert verdict.valid
    assert verdict.publishable is not None
    assert verdict.publishable.colour is Colour.RED
    assert verdict.risk is not None
    assert verdict.risk.identifiers[0].columns == ("number",)


def test_a_check_that_fails_is_red(tmp_path):
    """Whatever the risk of the file."""
    release = protected({name: survey()[name] for name in KEYS}, to=tmp_path / "r")
    data = tmp_path / "r" / "data.parquet"
    data.write_bytes(data.read_bytes()[:-1] + b"x")
    publishable = release.verify().publishable
    assert publishable is not None
    assert publishable.colour is Colour.RED


def test_of_numbers_drawn_inside_bins_only_the_bins_are_known(tmp_path):
    """Every drawn number is unique, and nobody knows it of a person."""
    people = survey(600)
    columns = [pm.Column(n, pm.Role.KEY, pm.Categories(v)) for n, v in KEYS.items()]
    income = pm.Column("income", pm.Role.SENSITIVE, pm.Bins((0, 10, 20, 60), "draw"))
    table = {name: people[name] for name in KEYS}
    table["income"] = np.random.default_rng(1).uniform(0, 60, 600)
    plan = pm.design(pm.Schema((*columns, income)), pm.PkAnonymity(k=5), records=600)
    pm.protect(pa.table(table), plan, to=tmp_path / "release")
    verdict = pm.verify(tmp_path / "release")

    assert len(set(pm.load(tmp_path / "release").opened.to_arrow()["income"].to_pylist())) == 600
    assert [subset.unique for subset in verdict.risk.subsets] == [0]
    assert verdict.publishable.colour is Colour.GREEN


@pytest.mark.parametrize("said", [True, False])
def test_unchanged_unique_records_are_said_where_they_tell_more(said, tmp_path):
    """Members of a group have equal keys; an amount alone finds everybody, keys or not."""
    rng = np.random.default_rng(2)
    ill = rng.integers(0, 40, 600) if said else rng.normal(size=600)
    people = pa.table({
        "age": rng.integers(0, 2, 600), "ill": ill, "job": rng.integers(0, 3, 600)
    })  # fmt: skip
    columns = [pm.Column(name, pm.Role.SENSITIVE) for name in ("ill", "job")]
    schema = pm.Schema((pm.Column("age", pm.Role.KEY), *columns))
    plan = pm.design(schema, pm.KAnonymity(k=2), data=people, method="permute")
    pm.protect(people, plan, to=tmp_path / "r", seed=1)
    verdict = pm.verify(tmp_path / "r").publishable

    assert ("are unique in the original data" in verdict.sentence) == said
    assert verdict.colour is Colour.AMBER


@pytest.mark.parametrize(("ages", "colour"), [(2, "amber"), (100_000, "green")])
def test_a_method_that_leaves_unique_records_unchanged_is_not_green(ages, colour, tmp_path):
    """Groups of equal ages change nothing; groups of many ages leave one in k by chance."""
    rng = np.random.default_rng(2)
    people = pa.table({"age": rng.integers(0, ages, 4000), "ill": rng.integers(0, 40, 4000)})
    schema = pm.Schema((pm.Column("age", pm.Role.KEY), pm.Column("ill", pm.Role.SENSITIVE)))
    plan = pm.design(schema, pm.KAnonymity(k=5), data=people, method="resample")
    pm.protect(people, plan, to=tmp_path / "r")
    verdict = pm.verify(tmp_path / "r").publishable

    assert str(verdict.colour) == colour
    if colour == "green":
        asserted = "K-anonymity is asserted by the owner and cannot be recomputed from the release"
        assert verdict.sentence.startswith(asserted)


def test_records_that_equal_others_by_chance_are_counted(monkeypatch):
    """By hand, and as often as among tables whose keys are assigned at random."""
    schema = pm.Schema(
        (
            pm.Column("a", pm.Role.KEY, pm.Categories(tuple(range(1, 9)))),
            pm.Column("s", pm.Role.SENSITIVE),
        )
    )
    # (1, x) and (2, y) are unique: 3 x 3 and 1 x 1 of four; (1, y) is there twice.
    by_hand = opened(a=[1, 1, 1, 2], s=["x", "y", "y", "y"])
    expected = (-np.expm1(-3 * 1 / 4) - np.expm1(-1 * 3 / 4)) / 2
    monkeypatch.setattr(whole_file, "MOST_BY_CHANCE", 1)
    assert unchanged_by_chance(schema, by_hand)[0] == pytest.approx(expected)
    monkeypatch.undo()
    assert expected > 0.5
    assert unchanged_by_chance(schema, by_hand)[0] == 0  # it would hide that nothing was changed
    assert unchanged_by_chance(schema, opened(a=[1, 1], s=["x", "x"])) == (0, 0)

    rng = np.random.default_rng(5)
    age, pay = rng.integers(1, 9, 2000), rng.integers(0, 900, 2000)
    table = {(a, p) for a, p in zip(age.tolist(), pay.tolist(), strict=True)}
    counts = Counter(zip(age.tolist(), pay.tolist(), strict=True))
    unique = {record for record in table if counts[record] == 1}
    found = [
        len(unique & set(zip(rng.permutation(age).tolist(), pay.tolist(), strict=True)))
        / len(unique)
        for _ in range(200)
    ]
    stated, _ = unchanged_by_chance(schema, opened(a=age, s=pay))
    assert stated == pytest.approx(np.mean(found), abs=0.02)


@pytest.mark.parametrize(("method", "colour"), [("permute", "green"), ("identical", "amber")])
def test_records_that_are_equal_by_chance_do_not_count_against_a_release(method, colour, tmp_path):
    """In one group many unique records return by chance alone; with groups of one age, all do."""
    rng = np.random.default_rng(2)
    people = pa.table({"age": rng.integers(0, 8, 2000), "ill": rng.integers(0, 500, 2000)})
    schema = pm.Schema((pm.Column("age", pm.Role.KEY), pm.Column("ill", pm.Role.SENSITIVE)))
    least = 2000 if method == "permute" else None
    plan = pm.design(schema, pm.KAnonymity(k=5), data=people, method=pm.Permute(min_size=least))
    pm.protect(people, plan, to=tmp_path / "r")
    verdict = pm.verify(tmp_path / "r").publishable
    assert str(verdict.colour) == colour
    assert ("if keys were assigned at random" in verdict.sentence) == (colour == "green")


@pytest.mark.parametrize(("role", "colour"), [("public", "amber"), ("sensitive", "green")])
def test_many_columns_count_together(role, colour, tmp_path):
    """Ten yes-or-no columns: known ones decide the colour, sensitive ones are stated."""
    draw = np.random.default_rng(3)
    table = pa.table(
        {"a": draw.choice(["x", "y"], 900)}
        | {f"q{at}": draw.choice(["yes", "no"], 900) for at in range(14)}
    )
    names = [f"q{at}" for at in range(14)]
    schema = pm.describe(table, keys=["a"], **{role: names})
    plan = pm.design(schema, pm.DifferentialPrivacy(1), data=table, method="retention")
    release = pm.protect(table, plan, to=tmp_path / "release")
    verdict = release.verify().publishable
    assert str(verdict.colour) == colour
    assert "11 more columns" in verdict.sentence
    found = release.file_risk
    widest = found.worst if role == "public" else found.together
    assert widest.columns == tuple(names)
    alone = table.select(names).group_by(names).aggregate([([], "count_all")])["count_all"]
    assert widest.unique == alone.to_pylist().count(1)
