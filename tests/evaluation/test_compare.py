"""Scenarios side by side."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.release.people import SCHEMA, people

from pramana import api
from pramana.base.measured_share import Measured
from pramana.errors import InvalidNumber
from pramana.evaluation.compare import Comparison
from pramana.evaluation.trials import DRAWS, MethodTrial, Scenario, scenarios_of
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.schema.domains import Bins, Categories
from pramana.schema.origins import DataChoices
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema


@pytest.fixture(scope="module")
def found() -> Comparison:
    done: list[int] = []
    comparison = api.compare(
        people(800),
        SCHEMA,
        methods=["retention", "resample"],
        k=[2, 200, 10_000],
        progress=done.append,
    )
    assert sum(done) == 6
    return comparison


def outcome(name: str, risk: float, loss: float) -> MethodTrial:
    hits = round(risk * 1000)
    return MethodTrial(
        Scenario(name, "k = 2", PkAnonymity(k=2)),
        attained={"pk-anonymity": {"k": 2.0}},
        risk=Measured.of("nearest record", hits=hits, trials=1000),
        losses={"tables": [loss]},
    )


@pytest.mark.deep
def test_more_privacy_costs_more(found):
    """k = 200 has less measured risk and more loss than k = 2, for the same method."""
    weak, strong = found.outcomes[0], found.outcomes[1]

    assert strong.loss > weak.loss
    assert strong.risk.value < weak.risk.value
    assert weak.attained["pk-anonymity"]["k"] >= 2
    assert not any(o.risk.broken for o in found.outcomes if o.risk is not None)


def test_groups_are_formed_by_the_responses_of_a_scenario():
    """What is designed and compared is what the scenario names."""
    made = api.compare(people(800), SCHEMA, methods=["resample"], k=[5], asked=["income by region"])
    plain, named = made.outcomes
    assert (plain.plan.method.responses, named.plan.method.responses) == ((), ("income",))
    assert named.scenario.title == "resample --response income"


def test_losses_are_means_of_several_draws_and_say_how_far_one_lies(found):
    """A figure of one draw could be luck: mean and standard deviation, by hand and of real ones."""
    one = replace(outcome("a", 0.1, 0.0), losses={"x": [0.1, 0.3], "y": [0.2, 0.6]})
    assert one.loss == pytest.approx(0.3)  # draws of 0.15 and 0.45
    assert one.spread == pytest.approx(0.3 / 2**0.5)
    assert outcome("a", 0.1, 0.2).spread is None
    assert any("30 ± 21 %" in cell for cell in Comparison((one,)).rows()[1][0])

    drawn = [o for o in found.outcomes if o.attained]
    assert all(len(own) == DRAWS for o in drawn for own in o.losses.values())
    assert all(o.spread > 0 for o in drawn)
    assert f"over {DRAWS} releases of each scenario" in " ".join(found.sentences())


def test_what_cannot_be_met_is_noted_and_does_not_stop_the_rest(found):
    """k above the number of records: refused with the reason."""
    refused = [o for o in found.outcomes if not o.attained]

    assert [o.scenario.target for o in refused] == ["k = 10000", "k = 10000"]
    assert all(o.note for o in refused)


def test_the_frontier_by_hand():
    """Three scenarios, one of them beaten in both; of the two left the nearer to zero is chosen."""
    good, cheap, bad = outcome("a", 0.1, 0.2), outcome("b", 0.4, 0.1), outcome("c", 0.5, 0.3)
    comparison = Comparison((good, cheap, bad))

    assert comparison.frontier == (good, cheap)
    assert comparison.recommended in comparison.frontier
    assert "Worse in both: c, k = 2" in " ".join(comparison.sentences())


def test_at_the_same_promise_less_loss_is_recommended():
    """Risks of 1 % and 0.1 % both keep k = 2; one of 60 % does not, and risk is weighed again."""
    near, far = outcome("near", 0.001, 0.3), outcome("far", 0.01, 0.1)
    assert Comparison((near, far)).recommended is far
    assert Comparison((far, near)).recommended is far
    broken = outcome("broken", 0.6, 0.1)
    assert Comparison((near, broken)).recommended is near
    other = replace(far, scenario=Scenario("far", "k = 10", PkAnonymity(k=10)))
    assert Comparison((near, other)).recommended is near  # another promise


def test_a_scenario_that_nobody_would_take_changes_no_recommendation():
    """Ten times the loss is ten times the loss, also beside a scenario that loses far more; of two
    alone the one with less risk is taken, whichever comes first."""
    figures = {2: (0.867, 0.005), 3: (0.177, 0.027), 4: (0.024, 0.274), 5: (0.02, 0.585)}
    copies, middle, private, noise = (
        replace(outcome("a", *own), scenario=Scenario("a", f"k = {k}", PkAnonymity(k=k)))
        for k, own in figures.items()
    )
    assert Comparison((middle, private, copies)).recommended is middle
    assert Comparison((middle, private, copies, noise)).recommended is middle
    assert Comparison((copies, middle)).recommended is middle
    assert Comparison((middle, copies)).recommended is middle
    nothing = replace(copies, losses={"tables": [0.0]})
    assert Comparison((nothing, middle, private)).recommended is middle


def test_nothing_measured_is_said():
    """No recommendation out of thin air."""
    empty = Comparison((MethodTrial(Scenario("a", "k = 2", PkAnonymity(k=2)), note="refused"),))

    assert empty.recommended is None
    assert empty.sentences() == ["No scenario could be measured; see the notes."]


def test_a_target_means_for_each_method_what_it_promises():
    """One in k is k, alpha or xi; epsilon is for retention alone."""
    methods = ["retention", "optimal", "inverse-frequency", "resample"]
    made = scenarios_of(SCHEMA, methods=methods, k=[10], epsilon=[2])

    assert [type(s.guarantee) for s in made] == [
        PkAnonymity, SpontaneousRecognition, CorrectMatch, KAnonymity, DifferentialPrivacy,
    ]  # fmt: skip
    assert made[1].guarantee.alpha == 0.1
    with pytest.raises(InvalidNumber, match="needs methods and targets"):
        scenarios_of(SCHEMA, methods=["optimal"], epsilon=[2])


def test_rows_and_page_show_every_scenario(found):
    """One row a scenario; the page has the plot with its words and loads nothing."""
    heads, rows = found.rows()
    page = found.to_html()

    assert len(rows) == 6
    assert len(heads) == len(rows[0])
    assert "retention, k = 2: loss" in page
    assert "Recommendation" in page
    assert "http" not in page


def test_lists_that_were_read_off_the_data_are_named_beside_the_epsilons():
    """Once, in the recommendation; nothing where all were declared."""
    plain = outcome("a", 0.1, 0.1)
    said = Comparison((replace(plain, choices=DataChoices(read=("job",))),)).sentences()
    words = "does not cover the list of values of job, which was read off the data"
    assert any(words in one for one in said)
    assert not any("public" in one for one in Comparison((plain,)).sentences())


@pytest.mark.parametrize("verb", ["compare", "advise"])
def test_missing_values_that_a_release_keeps_stop_no_comparison(verb):
    """A sensitive number in bins with empty cells, of which the schema says nothing."""
    table = pa.table(
        {
            "sex": ["F", "M"] * 100,
            "region": (["n", "s", "w"] * 67)[:200],
            "income": [None, 10.0, 20.0, 30.0] * 50,
        }
    )
    schema = Schema(
        (
            Column("sex", Role.KEY, Categories(("F", "M"))),
            Column("region", Role.KEY, Categories(("n", "s", "w"))),
            Column("income", Role.SENSITIVE, Bins((0, 15, 40))),
        )
    )
    plan = api.design(schema, PkAnonymity(k=3), data=table)
    release = api.protect(table, plan, seed=1, accept_risk=["income"])

    assert release.crosstab("income").records == 200
    if verb == "compare":
        assert api.compare(table, schema, methods=["retention"], k=[3]).outcomes[0].losses
    else:
        assert api.advise(table, schema, k=3, methods=["retention"]).shown()
