"""The way of members from outside, from the help to the report; alone it runs as a process."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

import pramana as pm
from pramana import api
from pramana.cli.app import main

TRIED = {"advise": "methods", "compare": "scenarios"}
LOSS = {"advise": "error", "compare": "loss"}
# The column beside the keys numbers the records: a test then finds each of them.
PEOPLE = "protect people.csv --schema schema.toml --seed 1 --accept-risk x"
PROTECT = f"{PEOPLE} --engine rows --method cake --doubt 0.2 --slices"


def run(line: str) -> str:
    """What a command prints, as the entry point runs it."""
    shown, code = StringIO(), None
    with redirect_stdout(shown):
        try:
            main(line.split())
        except SystemExit as left:
            code = left.code
    assert not code, line
    return shown.getvalue()


def go_all_the_way() -> None:
    """Help, certificate, verification and report know all five."""
    shown = run("protect --method cake --help")
    assert "--doubt NUMBER" in shown
    assert "--slices NUMBER" in shown
    assert "cake " in run("design --help-all")
    assert "--doubt NUMBER" in run("design --help-all")
    assert "|lines" in run("protect --help-all")
    assert "|rows" in run("protect --help-all")

    made = run(f"{PROTECT} 3 --format lines -o release")
    assert "400 released records" in made
    certificate = Path("release/certificate.json").read_text()
    for word in ('"cake"', '"doubt"', '"lines"', '"slices"', "Every value may be doubted by 0.2"):
        assert word in certificate
    assert Path("release/data.jsonl").is_file()

    verdict = run("verify release")
    assert "passed   doubt: recomputed from the matrices: doubt = " in verdict
    assert "passed   method: cake agrees with the certificate" in verdict
    run("report release -o page.html --original people.csv")
    page = Path("page.html").read_text()
    assert "Every value may be doubted by 0.2" in page
    assert "Method cake" in page
    assert "The matrices were whispered and do not depend on the data." in page
    assert "What was whispered must not be counted." in Path("release/README.md").read_text()
    assert "whispered;" in run("estimate release --by sex")
    with pytest.raises(pm.NotCovered, match="not said again"):
        pm.load("release").synthesize()
    with pytest.raises(pm.NotCovered, match="not learned from"):
        pm.learn_tree("release", target="sex")

    # One in k means nothing to its promise: that is said of it, and the others are tried.
    for verb in ("advise", "compare"):
        beside = run(f"{verb} people.csv --schema schema.toml --k 3 --method retention,cake --json")
        tried = {one["method"]: one for one in json.loads(beside)[TRIED[verb]]}
        assert "has no equivalent to '1 in 3'" in tried["cake"]["note"]
        assert isinstance(tried["retention"][LOSS[verb]], float)
        assert tried["cake"][LOSS[verb]] is None


def go_by_lot() -> None:
    """A kind that is neither matrices nor groups, with a promise that rests on what it offers."""
    assert "--luck NUMBER" in run("protect --method raffle --help")
    run(f"{PEOPLE} --method raffle --luck 0.01 -o dealt")
    certificate = Path("dealt/certificate.json").read_text()
    for word in ('"dealt"', '"luck"', "dealt out among all 400 records", "chance 0.0025"):
        assert word in certificate
    assert "dealt out by lot" in Path("dealt/README.md").read_text()

    verdict = run("verify dealt --original people.csv")
    assert "passed   luck: recomputed from the certificate: luck = 0.0025" in verdict
    assert "passed   method: raffle agrees with the certificate" in verdict
    run("report dealt -o lot.html --original people.csv")
    page = Path("lot.html").read_text()
    assert "A record has its own keys by luck alone" in page
    assert "Keys were dealt out by lot." in page
    assert "has no matrices, so the mechanism cannot be run" in " ".join(
        run("audit dealt --original people.csv").split()
    )

    assert "200" in run("estimate dealt --by sex")
    release = pm.load("dealt")
    assert release.crosstab("sex").estimate.tolist() == [200.0, 200.0]
    for ask in (
        lambda: release.mean("x", by=["sex"]),
        lambda: release.total("x", by=["sex"]),
        lambda: release.regress("x ~ sex"),
        release.synthesize,
        lambda: pm.learn_tree("dealt", target="sex"),
    ):
        with pytest.raises(pm.NotCovered, match="dealt out by lot"):
            ask()
    with pytest.raises(pm.NotCovered, match="dealt out by lot, and here they were not"):
        pm.design(
            pm.Schema.load("schema.toml"),
            *api.guarantees_from_options({"luck": 0.01}),
            data="people.csv",
            method=pm.Invariant(stay=0.5),
        )


if __name__ == "__main__":
    go_all_the_way()
    go_by_lot()
