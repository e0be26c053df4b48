"""Columns may have any name: those of sums, of figures, of letters that other languages read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.analysis.release import Release
from pramana.engine.base import open_source
from pramana.schema.schema import RESERVED

PLAIN = ("first", "second", "amount", "factor", "place")
HOSTILE = [
    ("n", "w", "ww", "wy", "wwy"),
    ("wwyy", "count_all", "group", "value", "w"),
    ("ww", "n", "w", "count_all", "estimate"),
    ("A", "a", "N", "n", "Se"),
    ('a"b', "a`b", "se", "records", "a.b c"),
]
"""Two keys, an amount, a weight and a plain column; the last two have letters that others read."""

RECORDS = 300


def world(names: tuple[str, ...]) -> tuple[pa.Table, pm.Schema]:
    """The same people, whatever the columns are called."""
    one, two, amount, factor, place = names
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            one: rng.choice(["p", "q"], RECORDS),
            two: rng.integers(1, 4, RECORDS),
            amount: rng.integers(1, 6, RECORDS) * 100,
            factor: rng.choice([2.0, 3.0], RECORDS),
            place: rng.choice(["x", "z"], RECORDS),
        }
    )
    columns = (
        pm.Column(one, pm.Role.KEY, pm.Categories(("p", "q")), missing="refuse"),
        pm.Column(two, pm.Role.KEY, pm.Categories((1, 2, 3)), missing="refuse"),
        pm.Column(amount, pm.Role.SENSITIVE),
        pm.Column(factor, pm.Role.WEIGHT),
        pm.Column(place, pm.Role.PUBLIC, pm.Categories(("x", "z")), missing="refuse"),
    )
    return table, pm.Schema(columns)


def answers(release: Any, names: tuple[str, ...], *, whole: bool) -> list[Any]:
    """What an analyst gets, as numbers."""
    one, two, amount, factor, place = names
    found = [
        release.crosstab(one, two),
        release.crosstab(one, place),
        release.crosstab(two, where=f"{place}=x"),
        release.mean(amount, by=[one]),
        release.total(amount, by=[two, place]),
        release.mean(factor, by=[place]),
        release.quantile(amount, by=[one]),
        release.proportion(f"{amount}>200", by=[one]),
    ]
    numbers = [np.asarray(part).tolist() for own in found for part in (own.estimate, own.se)]
    assert all(own.to_frame().num_rows == own.estimate.size for own in found)
    assert all(len(own.to_json()["cells"]) == own.estimate.size for own in found)
    if whole:
        numbers.append(release.independence(one, two, weighted=False).statistic)
        fitted = release.regress(f"`{amount}` ~ `{one}` + `{place}` + `{factor}`")
        numbers.append(sorted(np.asarray(fitted.coefficients).tolist()))
    return numbers


def released(names: tuple[str, ...], method: str, **where: Any) -> Any:
    """A release of these people."""
    table, schema = world(names)
    plan = pm.design(schema, pm.PkAnonymity(k=2), data=table, method=method)
    return pm.protect(table, plan, seed=1, **where)


@pytest.mark.parametrize("names", HOSTILE)
@pytest.mark.deep(every=5)
def test_no_answer_depends_on_what_a_column_is_called(names, tmp_path):
    """The very same released records, read under plain names: the same numbers."""
    release = released(names, "retention", to=tmp_path / "one")
    records = open_source(release.opened.to_arrow().rename_columns(PLAIN))
    plain = Release(released(PLAIN, "retention").certificate, records)
    # a formula cannot quote its own quote
    quotable = "`" not in "".join(names)
    found = answers(release, names, whole=quotable)

    for one, two in zip(found, answers(plain, PLAIN, whole=quotable), strict=True):
        assert np.allclose(one, two, equal_nan=True)
    assert pm.verify(tmp_path / "one", original=world(names)[0]).valid


@pytest.mark.parametrize("names", HOSTILE)
def test_reports_do_not_mind_either(names, tmp_path):
    """Every answer is there, and the release verifies."""
    release = released(names, "attribute-sampling", to=tmp_path / "one")

    assert all(np.isfinite(part).all() for part in answers(release, names, whole=False))
    assert pm.verify(tmp_path / "one", original=world(names)[0]).valid


@pytest.mark.parametrize("names", HOSTILE[:1] + HOSTILE[3:])
@pytest.mark.deep(every=3)
def test_nor_do_the_verbs_of_a_steward(names, tmp_path):
    """Describe, audit, attack, compare, report, the ledger, and the command that follows."""
    table, schema = world(names)
    one, two, amount, factor, _ = names
    assert set(pm.describe(table, keys=[one, two], weight=factor).schema.names) == set(names)
    assert pm.audit(table, keys=[one, two], sensitive=[amount], weight=factor)
    plan = pm.design(schema, pm.PkAnonymity(k=2), data=table, method="retention")
    release = pm.protect(table, plan, to=tmp_path / "one", ledger=tmp_path / "book")
    assert pm.audit(release, original=table)
    assert pm.attack("linkage", release, knowledge=table).holds
    assert pm.attack("composition", release, release)
    assert "<html" in str(pm.report(release, external=True).html)
    assert release.synthesize(seed=1).num_rows == RECORDS
    assert pm.Ledger.load(tmp_path / "book").entries


def test_the_names_of_sums_are_nobody_elses(tmp_path: Path):
    """A column that begins like them is refused, by its name, in a schema and in a file of one."""
    for name in (f"{RESERVED}n", f"{RESERVED.upper()}w"):
        with pytest.raises(pm.InvalidSchema, match="may have a name that begins"):
            pm.Column(name, pm.Role.PUBLIC)
    (tmp_path / "schema.toml").write_text(f'[columns."{RESERVED}n"]\nrole = "public"\n')
    with pytest.raises(pm.InvalidSchema, match="may have a name that begins"):
        pm.Schema.load(tmp_path / "schema.toml")
