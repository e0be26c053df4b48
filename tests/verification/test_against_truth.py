"""Tests of the owner's check: sound releases pass, unsound ones do not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana import api
from pramana.analysis.release import Release
from pramana.base.randomness import Keystream
from pramana.io.opening import open_table
from pramana.mechanisms.randomiser import Reporter
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.schema.schema import Impossible
from pramana.verification.checks import Check, Verdict
from pramana.verification.fit_tests import fit_counts
from pramana.verification.verify import against_original
from tests.release.people import people, plan


def failures(release, truth):
    """The names of the checks that fail."""
    checks = against_original(release.certificate, release.opened, open_table(truth))
    return [check.name for check in checks if not check.ok]


def test_a_sound_release_passes():
    """Values released as they are agree, and the randomised ones fit the matrices."""
    truth = people()

    assert failures(api.protect(truth, plan(), seed=1), truth) == []


def test_another_table_does_not_fit():
    """Other people with other incomes, and fewer of them."""
    release = api.protect(people(), plan(), seed=1)

    assert "income unchanged" in failures(release, people(seed=8))
    assert failures(release, people().slice(1)) == ["original records"]
    assert failures(release, people().drop(["income"])) == ["original columns"]


def test_values_that_were_not_randomised_are_found():
    """A column that was shuffled but never randomised does not fit its matrix."""
    truth = people(20_000)
    release = api.protect(truth, plan(records=20_000), seed=1)
    table = release.table
    honest = table.set_column(0, "sex", truth["sex"].take(np.arange(20_000)[::-1]))
    faked = Release(release.certificate, open_table(honest))

    assert [name for name in failures(faked, truth) if "sex" in name]


@pytest.mark.parametrize("wrong", [0.0, 0.05])
def test_the_level_holds_and_a_slightly_wrong_sampler_is_rejected(wrong):
    """2,000 simulated releases: p-values are uniform for a sound one, tiny for a wrong one."""
    matrix = UniformMixture.of(("a", "b", "c"), retention=0.4)
    actual = UniformMixture.of(("a", "b", "c"), retention=0.4 + wrong)
    truth = np.array([50_000.0, 30_000.0, 20_000.0])
    random = np.random.default_rng(5)
    released = sum(
        random.multinomial(int(t), row, size=2000)
        for t, row in zip(truth, actual.values, strict=True)
    )
    p_values = np.array([fit_counts(matrix.values, truth, row).p_value for row in released])

    rejected = (p_values < 0.05).mean()
    if wrong:
        assert rejected > 0.99
    else:  # 0.05 +- 4 standard errors
        assert abs(rejected - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 2000)


def test_a_transition_of_probability_zero_is_found():
    """One record where the matrices allow none is enough."""
    matrix = Dense.of("ab", [[1, 0], [0, 1]])
    truth, released = np.array([90.0, 10.0]), np.array([89.0, 11.0])

    assert fit_counts(matrix.values, truth, truth).p_value == 1
    assert fit_counts(matrix.values, truth, released).p_value == 0


def test_two_steps_that_move_together_are_found():
    """Each alone fits its matrix; together they do not."""
    coin = UniformMixture.of(("no", "yes"), retention=0.0)
    truth, tied = np.array([[1000.0, 0], [0, 1000]]), np.array([[990.0, 10], [12, 988]])

    alone = [fit_counts(coin.values, truth.sum(axis=axis), tied.sum(axis=axis)) for axis in (0, 1)]
    assert all(found.p_value > 0.1 for found in alone)
    both = np.kron(coin.values, coin.values)
    assert fit_counts(both, truth.ravel(), tied.ravel()).p_value < 1e-100


def test_the_joint_step_of_impossible_cells_fits():
    """Joint cells are counted in the order of the step, not of the product."""
    truth = people(20_000)
    release = api.protect(pa.table(truth), plan(records=20_000), seed=3)

    assert failures(release, truth) == []


def _reported(records=4_000):
    """People, a plan by reports, and a release."""
    truth = people(records)
    schema = plan(records=records).schema
    made = pm.design(
        schema, pm.DifferentialPrivacy(epsilon=4), data=truth, method="attribute-sampling"
    )
    return truth, made, api.protect(truth, made, seed=1)


def test_the_order_of_reports_is_looked_at():
    """A sound release passes; one that left every report in its person's place does not."""
    truth, made, release = _reported()
    assert failures(release, truth) == []
    reporter = Reporter(made.schema, made.mechanism, open_table(truth).schema,
                        Keystream.from_seed(3))  # fmt: skip
    batch = truth.combine_chunks().to_batches()[0]
    in_place = reporter.decode(reporter.encode(batch, 0), 0)
    table = pa.Table.from_batches([in_place]).select(release.table.column_names)

    found = failures(Release(release.certificate, open_table(table)), truth)
    assert "shuffle" in found
    backward = table.take(np.arange(table.num_rows)[::-1])
    assert "shuffle" in failures(Release(release.certificate, open_table(backward)), truth)


def test_a_value_that_rules_leave_no_room_for_is_no_fault_of_a_certificate(tmp_path):
    """Of a column with such a value, alone or beside a column that no rule names."""
    schema = pm.Schema(
        (
            pm.Column("a", pm.Role.KEY, pm.Categories(("x", "y", "never"))),
            pm.Column("b", pm.Role.KEY, pm.Categories((1, 2))),
            pm.Column("c", pm.Role.KEY, pm.Categories(("u", "v", "w"))),
        ),
        impossible=(Impossible.of({"a": ["never"], "b": [1, 2]}),),
    )
    random = np.random.default_rng(1)
    truth = pa.table({
        "a": random.choice(["x", "y"], 3_000), "b": random.choice([1, 2], 3_000),
        "c": random.choice(["u", "v", "w"], 3_000),
    })  # fmt: skip
    for method in (pm.AttributeSampling(tables=(("a", "c"), ("b",))), pm.Retention()):
        made = pm.design(schema, pm.PkAnonymity(k=600), data=truth, method=method)
        api.protect(truth, made, seed=1, to=tmp_path / method.name)

        verdict = api.verify(tmp_path / method.name, original=truth)
        assert verdict.valid, [check for check in verdict.checks if not check.ok]
    assert any(
        set(one.columns) in ({"a"}, {"a", "c"}) for one in _sets(tmp_path / "attribute-sampling")
    )


def _sets(folder):
    return api.load(folder).certificate.mechanism.sets


def test_each_test_of_transitions_and_reports_fails_by_itself():
    """With another original column of the same size, whatever the other tests say."""
    truth = people(20_000)
    whole = api.protect(truth, plan(records=20_000), seed=1)
    truth_of_reports, _, reports = _reported()
    for original, release, name in (
        (truth, whole, "transitions of "),
        (truth_of_reports, reports, "reports of "),
    ):
        place = original.column_names.index("sex")
        one = pa.chunked_array([pa.array(["F"] * original.num_rows)])
        other = original.set_column(place, "sex", one)
        found = failures(release, other)
        assert any(check.startswith(name) and "sex" in check for check in found), found


def test_a_column_whose_name_looks_like_a_check_hides_no_assertion():
    """What nobody has decided stays asserted, whatever columns are called."""
    asserted = (Check.asserted("shuffle", ""), Check.asserted("randomisation", ""))
    named = Check.decided("shuffle: x unchanged", True, "the same values")
    drawn = dataclasses.replace(
        Check.decided("randomisation: a left unchanged", True, ""), decides="randomisation"
    )

    assert Verdict(asserted).with_checks([named]).checks == (*asserted, named)
    assert Verdict(asserted).with_checks([drawn]).checks == (asserted[0], drawn)
