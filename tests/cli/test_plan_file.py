"""``--plan`` and ``design --save-plan``: what was decided, handed on as a file."""

from __future__ import annotations

from pathlib import Path

from pramana import load
from pramana.methods.plan import PlanFile
from tests.cli.conftest import Run

GIVEN = "people.csv --schema schema.toml --method retention --k 3 --spread equal"


def test_a_plan_that_was_saved_makes_the_same_release(steward: Path, run: Run) -> None:
    """Target, method and options; the schema is found beside the plan, from any folder."""
    (steward / "plans").mkdir()
    assert run(f"design {GIVEN} --save-plan plans/plan.toml").code == 0
    saved = PlanFile.load(steward / "plans" / "plan.toml")
    assert saved == PlanFile("../schema.toml", {"k": 3.0}, "retention", {"spread": "equal"})
    assert run(f"protect {GIVEN} --seed 1 -o one").code == 0
    found = run("protect people.csv --plan plans/plan.toml --seed 1 -o two")
    assert found.code == 0, found
    one, two = ((steward / name / "data.csv").read_bytes() for name in ("one", "two"))
    assert one == two
    certificates = [load(steward / name).certificate for name in ("one", "two")]
    assert certificates[0].mechanism == certificates[1].mechanism


def test_an_option_counts_before_the_plan(steward: Path, run: Run) -> None:
    """A target, a method and a schema that are given besides."""
    PlanFile("schema.toml", {"k": 3}, "retention").save(steward / "plan.toml")
    stated = run("design people.csv --plan plan.toml --json").json
    other = run("design people.csv --plan plan.toml --k 5 --method attribute-sampling --json").json
    assert (stated["method"], other["method"]) == ("retention", "attribute-sampling")
    assert [own["guarantees"][0]["asked"]["k"] for own in (stated, other)] == [3, 5]
    refused = run("design people.csv --plan plan.toml --schema none.toml")
    assert "none.toml does not exist" in refused.err


def test_copies_of_a_plan_are_written(steward: Path, run: Run) -> None:
    """Beside those that options name."""
    PlanFile("schema.toml", {"k": 3}, copies=("csv",)).save(steward / "plan.toml")
    found = run("protect people.csv --plan plan.toml --format parquet --stata -o out")
    assert found.code == 0, found
    assert {"data.csv", "data.dta"} <= {path.name for path in (steward / "out").iterdir()}


def test_what_is_asked_in_a_plan_is_compared(steward: Path, run: Run) -> None:
    """As ``--ask`` states it."""
    asked = "sex*region"
    PlanFile("schema.toml", {"k": 3}, asked=(asked,)).save(steward / "plan.toml")
    found = run("compare people.csv --plan plan.toml --k 3 --method retention --json").json
    same = run(
        f"compare people.csv --schema schema.toml --k 3 --method retention --ask {asked} --json"
    ).json
    kinds = [set(own["scenarios"][0]["losses"]) for own in (found, same)]
    assert kinds[0] == kinds[1]


def test_a_plan_is_refused_in_a_line(steward: Path, run: Run) -> None:
    """One that is not there, one with an unknown entry, one that is there already."""
    assert "plan.toml does not exist" in run("protect people.csv --plan plan.toml -o out").err
    (steward / "plan.toml").write_text("[target]\nj = 3\n")
    refused = run("protect people.csv --plan plan.toml -o out")
    assert refused.code == 2
    assert "'j' is no entry of [target]" in refused.err
    assert "exists" in run(f"design {GIVEN} --save-plan plan.toml").err
