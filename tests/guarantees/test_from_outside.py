"""A guarantee from outside the package: one file, and every place knows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.guarantees import toy_surprise
from tests.guarantees.toy_surprise import Surprise

import pramana as pm
from pramana.cli.app import main
from pramana.evaluation.compare import scenarios_of
from pramana.guarantees.claims import GUARANTEES, cli_options


@pytest.fixture
def toy() -> Iterator[type[Surprise]]:
    """Known from here to the end of a test."""
    GUARANTEES.register("toy-surprise", Surprise)
    yield Surprise
    GUARANTEES.unregister("toy-surprise")


PEOPLE = pa.table({"sex": ["F", "M"] * 100, "region": ["n", "s", "s", "e"] * 50})
SCHEMA = pm.Schema(
    (
        pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
        pm.Column("region", pm.Role.KEY, pm.Categories(("n", "s", "e"))),
    )
)


def test_design_aims_at_it_and_every_plan_states_it(toy):
    """A method that turns one dial asks the guarantee how far; others are evaluated as well."""
    plan = pm.design(SCHEMA, toy(odds=5), data=PEOPLE, method="retention")
    (claim,) = (claim for claim in plan.claims if claim.name == "toy-surprise")

    assert claim.holds
    assert 4.9 < claim.attained.odds <= 5
    other = pm.design(SCHEMA, pm.PkAnonymity(k=2), data=PEOPLE, method="retention")
    assert "toy-surprise" in {claim.name for claim in other.claims}
    made = pm.design(SCHEMA, data=PEOPLE, method=pm.Invariant(stay=0.5))
    assert "toy-surprise" not in {claim.name for claim in made.claims}


def test_certificate_verification_and_report_state_it(toy, tmp_path):
    """Through the file and back; a certificate that says too much fails."""
    plan = pm.design(SCHEMA, toy(odds=5), data=PEOPLE, method="retention")
    pm.protect(PEOPLE, plan, to=tmp_path / "release")
    form = json.loads((tmp_path / "release" / "certificate.json").read_text())
    (entry,) = (one for one in form["guarantees"] if one["name"] == "toy-surprise")
    verdict = pm.verify(tmp_path / "release")
    page = pm.report(tmp_path / "release", external=True).html

    assert entry["attained"]["odds"] <= 5
    assert entry["checked_by"] == "anyone"
    assert verdict.valid
    assert any(check.name == "toy-surprise" for check in verdict.checks)
    assert "A toy says" in page
    assert Surprise.not_promised in page


def test_a_release_of_a_guarantee_that_nobody_knows_is_not_read(toy, tmp_path):
    """Where the package that brought it is not installed, nothing is guessed."""
    plan = pm.design(SCHEMA, toy(odds=5), data=PEOPLE, method="retention")
    pm.protect(PEOPLE, plan, to=tmp_path / "release")
    GUARANTEES.unregister("toy-surprise")
    try:
        verdict = pm.verify(tmp_path / "release")
    finally:
        GUARANTEES.register("toy-surprise", Surprise)
    assert not verdict.valid


def shown(capsys, *arguments) -> str:
    """What a command prints that goes well."""
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert left.value.code == 0, err
    return out


class Walked(Surprise):
    """One that knows of steps on whole records, and looks at each of them."""

    name = "toy-surprise"
    log_amplification = None

    @classmethod
    def evaluate(cls, evidence, *, asked=None):  # noqa: ARG003
        return cls(max((float(step.gamma) for step in evidence.mechanism), default=1.0))

    def met_by(self, evidence):
        return self.evaluate(evidence).implies(self)


def test_one_that_walks_through_steps_promises_nothing_about_reports():
    """Reports have none: one that found none would take records left as they are for noise."""
    GUARANTEES.register("toy-surprise", Walked)
    try:
        whole = pm.design(SCHEMA, Walked(odds=5), data=PEOPLE)
        assert whole.method.name == "retention"
        with pytest.raises(pm.NotCovered, match="one attribute set"):
            pm.design(SCHEMA, Walked(odds=5), data=PEOPLE, method="attribute-sampling")
        made = pm.design(SCHEMA, pm.PkAnonymity(k=20), data=PEOPLE, method="attribute-sampling")
        assert "toy-surprise" not in {claim.name for claim in made.claims}
    finally:
        GUARANTEES.unregister("toy-surprise")


def test_it_is_compared_by_the_number_that_its_letter_stands_for(toy, monkeypatch):
    """The letter is called --surprise-odds, and the number odds."""
    own = classmethod(lambda cls, k, *, schema=None: cls(odds=k))  # noqa: ARG005
    monkeypatch.setattr(toy, "one_in", own)
    monkeypatch.setattr(pm.Retention, "aims", ("toy-surprise",))

    (found,) = scenarios_of(SCHEMA, methods=["retention"], k=[5])

    assert found.target == "surprise_odds = 5"


def test_whoever_does_not_aim_at_a_target_says_what_it_takes(toy):
    """The one from outside among it."""
    with pytest.raises(pm.Infeasible, match="it takes k, epsilon, .*surprise odds"):
        pm.design(SCHEMA, pm.KAnonymity(k=5), data=PEOPLE, method="retention")


def test_the_command_line_offers_it(toy, tmp_path, capsys):
    """As an option with its help, and as a target."""
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    asked = ("--surprise-odds", "5", "--method", "retention")
    help_text = shown(capsys, "design", "--help-all")
    design = shown(capsys, "design", "--schema", tmp_path / "schema.toml", "--records", 200, *asked)

    assert "--surprise-odds" in {letter.flag for letter in cli_options()}
    assert "--surprise-odds" in help_text
    assert "Surprise nobody beyond these odds" in help_text
    assert "A toy says" in " ".join(design.split())


def test_an_installed_package_brings_one_by_an_entry_point(tmp_path):
    """Nothing has to be imported or registered by hand."""
    source = Path(toy_surprise.__file__).read_text()
    (tmp_path / "toy_surprise.py").write_text(source)
    about = tmp_path / "toy_surprise-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-surprise\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[pramana.guarantees]\ntoy-surprise = toy_surprise:Surprise\n"
    )
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", "from pramana.cli.app import main; main(['design', '--help-all'])"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert "--surprise-odds" in done.stdout, done.stderr
