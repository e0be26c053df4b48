"""Who verifies chooses the sets of reports again: at every bound, each with the whole budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import pramana as pm
from pramana.guarantees import shuffled_privacy
from pramana.mechanisms.mechanism import AttributeSampler, ShuffledRounds
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.attribute_sampling import AttributeSampling
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from pramana.verification.checks import State
from pramana.verification.consistency import consistency_checks
from pramana.verification.record_checks import RecordScan


def world(sizes: tuple[int, ...], records: int) -> tuple[Schema, pa.Table]:
    """A table of evenly spread values."""
    columns = {f"c{n}": [f"v{(at * 7 + at // size) % size}" for at in range(records)]
               for n, size in enumerate(sizes)}  # fmt: skip
    schema = Schema(
        tuple(
            Column(f"c{n}", Role.KEY, Categories(tuple(f"v{v}" for v in range(size))))
            for n, size in enumerate(sizes)
        )
    )
    return schema, pa.table(columns)


@pytest.mark.parametrize(
    ("sizes", "rho1", "rho2"),
    [
        ((2, 2, 3), 0.2, 0.75),
        ((2, 2, 2), 0.2, 2 / 3),
        ((3, 3, 3), 0.1, 0.75),
        ((2, 2, 4), 0.2, 0.8),
    ],
)
def test_a_triple_of_as_many_cells_as_the_promise_allows_verifies(
    sizes: tuple[int, ...], rho1: float, rho2: float, tmp_path: Path
) -> None:
    """Gamma is a whole number there, and that of the rounded matrices a hair less."""
    schema, table = world(sizes, 300)
    plan = pm.design(
        schema,
        pm.PrivacyBreach(rho1, rho2),
        data=table,
        method=AttributeSampling(tables=("c0*c1*c2",)),
    )
    release = pm.protect(table, plan, to=tmp_path / "r")
    assert pm.verify(tmp_path / "r").valid
    assert AttributeSampling.reproduces_matrices(release.certificate)


def test_a_set_with_less_than_the_whole_budget_is_not_what_reports_choose() -> None:
    """Its matrix could be exchanged for noise, and its estimates for anything."""
    schema, table = world((2, 3, 4), 300)
    plan = pm.design(schema, pm.DifferentialPrivacy(2.0), data=table, method="attribute-sampling")
    certificate = pm.protect(table, plan, seed=1).certificate
    assert AttributeSampling.reproduces_matrices(certificate)
    mechanism = certificate.mechanism
    assert isinstance(mechanism, AttributeSampler)
    for at, one in enumerate(mechanism.sets):
        weaker = UniformMixture.of(one.matrix.labels, epsilon=1.0)
        sets = tuple(
            replace(own, matrix=weaker) if n == at else own for n, own in enumerate(mechanism.sets)
        )
        forged = replace(certificate, mechanism=replace(mechanism, sets=sets))
        assert AttributeSampling.reproduces_matrices(forged) is False


def test_a_report_that_rules_together_rule_out_does_not_verify(tmp_path: Path) -> None:
    """No rule names a = 1 with c = 1, and no record can have both: b would be neither 1 nor 2."""
    two = Categories((1, 2))
    schema = Schema(
        tuple(Column(name, Role.KEY, two) for name in "abcd"),
        impossible=(
            pm.Impossible.of({"a": [1], "b": [1]}),
            pm.Impossible.of({"b": [2], "c": [1]}),
        ),
        tables=(("a", "c"), ("b", "d")),
    )
    rows = [(1, 2, 2, 1), (2, 1, 1, 2), (2, 2, 2, 2), (2, 1, 2, 1)] * 100
    table = pa.table(dict(zip("abcd", map(list, zip(*rows, strict=True)), strict=True)))
    release = pm.protect(
        table, pm.design(schema, pm.PkAnonymity(10), data=table, method="attribute-sampling")
    )
    records = release.opened.to_arrow()
    release.save(tmp_path / "r")
    assert pm.verify(tmp_path / "r").valid
    mechanism = release.certificate.mechanism
    assert isinstance(mechanism, AttributeSampler)
    named = next(one.name for one in mechanism.sets if one.columns == ("a", "c"))
    ac = [at for at, mark in enumerate(records["reported"].to_pylist()) if mark == named]
    assert len(ac) > 50
    forged = {
        name: [1 if at in set(ac[:20]) and name in "ac" else value
               for at, value in enumerate(records[name].to_pylist())]
        for name in records.column_names
    }  # fmt: skip
    scan = RecordScan(release.certificate)
    counts = scan.count(pa.table(forged, schema=records.schema).to_batches())
    assert counts.impossible == 20


def test_nothing_is_computed_from_rounds_that_the_method_did_not_choose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A forger may list thousands of them, each with another matrix, of which each takes time."""
    schema, table = world((2, 3, 4), 300)
    plan = pm.design(schema, pm.ShuffledPrivacy(2.0), data=table, method="shuffled-marginals")
    certificate = pm.protect(table, plan).certificate
    assert all(check.ok for check in consistency_checks(certificate))
    mechanism = certificate.mechanism
    assert isinstance(mechanism, ShuffledRounds)
    sets = tuple(
        replace(one, matrix=UniformMixture.of(one.matrix.labels, gamma=3 + at))
        for at, one in enumerate(mechanism.sets)
    )
    forged = replace(certificate, mechanism=replace(mechanism, sets=sets))
    monkeypatch.setattr(shuffled_privacy, "rounds_epsilon", None)

    checks = list(consistency_checks(forged))

    assert "options" in {check.name for check in checks if not check.ok}
    assert {check.state for check in checks if check.kind == "guarantee"} == {State.ASSERTED}
