"""Tests of plans that look at the data: from a target to a release and its estimates."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest
from tests.release.people import SCHEMA, people

from pramana import api
from pramana.errors import DoesNotHold, Infeasible, InvalidNumber, InvalidSchema, NotCovered
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.io.opening import open_table
from pramana.methods.context import DesignContext, plan_for_table
from pramana.methods.frequency_preserving import Invariant
from pramana.schema.schema import Schema

PEOPLE = people(4000)
FREE = Schema(SCHEMA.columns)


@pytest.fixture(scope="module")
def recognition():
    """A plan for alpha = 0.05 that keeps children unmarried."""
    return api.design(SCHEMA, SpontaneousRecognition(alpha=0.05), data=PEOPLE)


@pytest.fixture(scope="module")
def match():
    """A plan for xi = 0.01."""
    return api.design(FREE, CorrectMatch(xi=0.01), data=PEOPLE)


def test_the_target_chooses_the_method(recognition, match):
    """alpha means optimal, xi means inverse-frequency; both say that they rest on the data."""
    assert (recognition.method.name, match.method.name) == ("optimal", "inverse-frequency")
    assert recognition.method.data_dependent
    assert match.method.kind == "withheld"
    form = recognition.to_json()
    assert {"loss", "expected_changes", "smallest_diagonal", "gap"} <= set(form)
    assert {"theta", "expected_changes", "smallest_diagonal", "gap"} <= set(match.to_json())
    assert all(claim.holds for claim in (*recognition.claims, *match.claims))


def test_an_optimal_release_is_verified_and_estimated(recognition, tmp_path):
    """The owner recomputes alpha, impossible cells stay empty, counts come back unbiased."""
    release = api.protect(PEOPLE, recognition, to=tmp_path / "release", seed=1)
    verdict = api.verify(tmp_path / "release", original=PEOPLE)
    truth = pc.sum(pc.equal(PEOPLE["sex"], "F")).as_py()
    cell = release.crosstab("sex", method="unbiased").cell("F")

    assert verdict.valid, verdict.to_json()
    settled = {check.name for check in verdict.checks if check.state == "passed"}
    assert "spontaneous-recognition" in settled
    assert abs(cell["estimate"] - truth) < 4.5 * cell["se"]
    assert release.crosstab("age", "marital").cell("[0, 16)", "married")["estimate"] == 0


def test_a_withheld_matrix_leaves_one_column_at_a_time(match, tmp_path):
    """Frequencies as they stand, with a rounded error; nothing that needs the matrix."""
    release = api.protect(PEOPLE, match, to=tmp_path / "release", seed=1)
    truth = pc.sum(pc.equal(PEOPLE["sex"], "F")).as_py()
    cell = release.crosstab("sex").cell("F")

    assert api.verify(tmp_path / "release").valid
    assert release.certificate.mechanism is None
    assert abs(cell["estimate"] - truth) < 4.5 * cell["se"]
    assert release.crosstab("region").cell("north")["se"] == 0
    with pytest.raises(NotCovered, match="one column at a time"):
        release.crosstab("sex", "age")
    with pytest.raises(NotCovered, match="published matrices"):
        release.synthesize()


def test_another_table_is_assessed_anew(recognition):
    """The guarantee rests on the data: for other people it is computed again, and may fail."""
    assert api.protect(PEOPLE, recognition, seed=1).certificate.claims[0].attained.alpha <= 0.05
    with pytest.raises(DoesNotHold, match="Design again with these data"):
        api.protect(people(1500, seed=8), recognition)


@pytest.mark.parametrize(
    ("method", "asked"),
    [(Invariant(stay=0.2), []), ("inverse-frequency", [CorrectMatch(xi=0.02)])],
    ids=str,
)
def test_a_plan_with_withheld_matrices_serves_the_counts_it_was_made_for(method, asked):
    """Of other people its tables are biased; of the same ones in another order they are not."""
    plan = api.design(FREE, *asked, data=PEOPLE, method=method)
    with pytest.raises(DoesNotHold, match="for the counts of another table.*Design again"):
        api.protect(people(4000, seed=8), plan)

    turned = PEOPLE.take(list(range(3999, -1, -1)))
    told = api.protect(turned, plan, seed=1).certificate.statistics
    assert told["standard_errors"] == plan.public["standard_errors"]


def test_published_matrices_of_another_table_keep_no_figure_of_it():
    """They are read as they are; the loss that was computed for other counts is not repeated."""
    plan = api.design(FREE, SpontaneousRecognition(alpha=0.6), data=PEOPLE)
    others = DesignContext.of(plan.schema, open_table(people(4000, seed=8)))
    found = plan_for_table(plan, others, seeded=False)

    assert plan.statistics["loss"] >= 0
    assert (dict(found.statistics), found.expected_error) == ({}, None)
    assert found.basis != plan.basis


def test_what_the_methods_cannot_do_is_refused():
    """Two kinds of targets at once, no data, rules that single columns cannot keep."""
    alpha, xi = SpontaneousRecognition(alpha=0.05), CorrectMatch(xi=0.01)
    with pytest.raises(Infeasible, match="aims at spontaneous-recognition alone"):
        api.design(FREE, alpha, PkAnonymity(k=5), data=PEOPLE, method="optimal")
    with pytest.raises(Infeasible, match="No method aims at .* together"):
        api.design(FREE, alpha, PkAnonymity(k=5), data=PEOPLE)
    with pytest.raises(InvalidNumber, match="give the data"):
        api.design(FREE, alpha, records=4000, smallest_group=100)
    with pytest.raises(InvalidSchema, match="impossible"):
        api.design(SCHEMA, xi, data=PEOPLE)
    with pytest.raises(InvalidNumber, match="alpha must be at least 1/n"):
        api.design(FREE, SpontaneousRecognition(alpha=1e-5), data=PEOPLE)


def test_invariant_matrices_keep_frequencies_in_every_stratum(tmp_path):
    """Withheld, with one matrix a region; no value stays with less than the stated chance."""
    schema = Schema(FREE.columns, strata=("region",))
    plan = api.design(schema, data=PEOPLE, method=Invariant(stay=0.8))
    release = api.protect(PEOPLE, plan, to=tmp_path / "release", seed=1)
    step = plan.mechanism.step_of("marital")

    assert len(step.by_stratum) == 2
    assert plan.statistics["smallest_diagonal"] >= 0.8
    assert api.verify(tmp_path / "release", original=PEOPLE).valid
    for region, matrix in step.by_stratum.items():
        part = PEOPLE.filter(pc.equal(PEOPLE["region"], region[0]))["marital"].to_pylist()
        times = [part.count(label) for label in matrix.labels]
        assert matrix.apply(times) == pytest.approx(times, rel=1e-12)
    truth = PEOPLE["marital"].to_pylist().count("married")
    cell = release.crosstab("marital").cell("married")
    assert abs(cell["estimate"] - truth) < 4.5 * cell["se"]
    with pytest.raises(InvalidNumber, match="needs the least chance to stay"):
        api.design(schema, data=PEOPLE, method="invariant")
