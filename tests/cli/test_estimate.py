"""Tests of ``pramana estimate`` and ``pramana synthesize``."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pramana import api
from pramana.cli.app import main
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.schema.domains import Categories, Labels
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from tests.release.people import SCHEMA, people, plan

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"q2"}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release folder of 20,000 people."""
    folder = tmp_path_factory.mktemp("estimate") / "release"
    api.protect(people(20_000), plan(records=20_000), to=folder, seed=5)
    return str(folder)


def run(capsys, *arguments):
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


def test_a_table_in_json_in_csv_and_on_screen(capsys, release):
    """The same numbers in every form."""
    code, out, _ = run(capsys, "estimate", release, "--by", "sex,region", "--json")
    form = json.loads(out)
    assert code == 0
    assert {"by", "method", "level", "cells"} <= set(form)
    assert set(form["cells"][0]) == {"sex", "region", "estimate", "se", "low", "high"}

    _, out, _ = run(capsys, "estimate", release, "--by", "sex,region", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert float(rows[0]["estimate"]) == pytest.approx(form["cells"][0]["estimate"])

    _, out, _ = run(capsys, "estimate", release, "--by", "sex,region")
    assert "95 % interval" in out
    assert "Method" in out


def test_margins_calibrate_tables_and_means_and_nothing_else(capsys, release, tmp_path):
    """A file of totals; a quantile does not take it."""
    file = tmp_path / "totals.csv"
    counts = people(20_000)["sex"].value_counts().to_pylist()
    lines = [f"sex,{pair['values'] or ''},{pair['counts']}" for pair in counts]
    file.write_text("\n".join(["column,value,total", *lines]) + "\n")
    asked = ("estimate", release, "--by", "sex", "--margins", str(file))
    for more in ((), ("--mean", "income"), ("--total", "income")):
        _, out, _ = run(capsys, *asked, *more, "--json")
        assert json.loads(out)["method"] == "calibrated"
    code, _, err = run(capsys, *asked, "--quantile", "income")
    assert code == 2
    assert "--margins" in err


def test_means_totals_shares_and_a_test(capsys, release):
    """By groups and with filters."""
    for arguments in (
        ("--by", "sex", "--mean", "income", "--where", "region=north"),
        ("--total", "income"),
        ("--by", "age", "--share", "total", "--simultaneous", "--infer", "population"),
        ("--by", "sex,region", "--share", "row"),
        ("--by", "sex,region", "--independence"),
        ("--by", "sex", "--quantile", "income", "--at", "0.25,0.5"),
        ("--by", "sex", "--proportion", "income>=3000"),
        ("--by", "sex", "--mean", "income", "--ratio", "F", "M"),
        ("--by", "sex,region", "--share", "row", "--difference", "F,north", "M,north"),
    ):
        code, out, err = run(capsys, "estimate", release, *arguments, "--json")
        assert code == 0, err
        assert json.loads(out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Say what to estimate"),
        (("--by", "name"), "dropped or never there"),
        (("--mean", "region"), "column of numbers"),
        (("--mean", "income", "--total", "income"), "one at a time"),
        (("--by", "sex", "--where", "region=west"), "meets the filter"),
        (("--by", "sex", "--method", "magic"), "is not one of 'auto', 'unbiased'"),
        (("--by", "sex", "--infer", "everything"), "infer"),
        (("--by", "sex", "--independence"), "two columns"),
        (("--by", "sex", "--difference", "F", "X"), "has no cell 'X'"),
        (("--by", "sex", "--difference", "F", "X"), "Labels of sex: F, M"),
        (("--by", "sex", "--difference", "F", "M", "--ratio", "F", "M"), "one at a time"),
        (("--by", "sex", "--at", "0.5"), "--quantile"),
        (("--quantile", "income", "--at", "half"), "--at takes numbers"),
        (("--quantile", "income", "--at", "2"), "A quantile"),
        (("--quantile", "age"), "holds no numbers"),
        (("--proportion", "income!=3"), "income>=50000"),
        (("--proportion", "income>=inf"), "finite"),
        (
            ("--by", "sex", "--mean", "income", "--share", "row"),
            "--share does not apply to --mean",
        ),
        (("--by", "sex", "--total", "income", "--method", "shrunk"), "--method does not apply"),
        (
            ("--by", "sex,region", "--independence", "--mean", "income", "--infer", "population"),
            "--mean, --infer does not apply to --independence",
        ),
        (("--by", "sex", "--ratio", "F", "M", "--csv"), "--csv does not apply"),
    ],
)
def test_what_cannot_be_estimated_is_one_line(capsys, release, arguments, message):
    """Exit 2, one line, nothing on stdout."""
    code, out, err = run(capsys, "estimate", release, *arguments)

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_number_of_everybody_is_a_line_of_csv(capsys, release):
    """One row, without a column of groups."""
    code, out, err = run(capsys, "estimate", release, "--mean", "income", "--csv")

    assert code == 0, err
    assert out.splitlines()[0] == "estimate,se,low,high"
    assert len(out.splitlines()) == 2


@pytest.mark.parametrize("only", ["single", "widowed"])
def test_a_group_of_nobody_is_a_row_without_a_number(capsys, tmp_path, only):
    """Wherever it stands: of reports, who is filtered out has no mean."""
    reports = api.design(SCHEMA, PkAnonymity(k=3), data=people(2_000), method="attribute-sampling")
    api.protect(people(2_000), reports, to=tmp_path / "release", seed=5)
    asked = ("--by", '"marital"', "--mean", "income", "--where", f"marital={only}")
    unbiased = (*asked, "--method", "unbiased")
    code, out, err = run(capsys, "estimate", str(tmp_path / "release"), *unbiased)

    assert code == 0, err
    assert out.count(" - ") == 4
    assert out.count("█" * 20) == 1


def test_labels_stand_beside_the_codes_by_which_cells_are_asked_for(capsys, tmp_path):
    """On screen: the columns and values of a Stata or SPSS file in words, and its codes."""
    true = pa.table({"q1": [1, 2] * 200, "q2": [1, 2, 2, 9] * 100})
    asked = Schema(
        (
            Column("q1", Role.KEY, Categories((1, 2))),
            Column("q2", Role.SENSITIVE, Categories((1, 2, 9))),
        )
    )
    made = api.protect(true, api.design(asked, PkAnonymity(k=2), data=true), seed=1)
    words = Labels({"q1": "Sex"}, {"q1": {1: "Man", 2: "Woman"}, "q2": {9: "Refused"}})
    told = replace(made.certificate, labels=words)
    replace(made, certificate=told).save(tmp_path / "release")

    code, out, err = run(capsys, "estimate", str(tmp_path / "release"), "--by", "q1,q2")
    assert code == 0, err
    lines = [line.split("  ")[0] for line in out.splitlines()]
    assert "Sex (q1)" in lines
    assert {"1 Man", "2 Woman"} <= set(lines)
    assert "9 Refused" in out
    code, out, err = run(
        capsys, "estimate", str(tmp_path / "release"), "--by", "q1", "--difference", "1", "2"
    )
    assert code == 0, err


def test_the_chi_square_test_in_words(capsys, release):
    """Statistic, degrees of freedom, p-value, and what makes it valid."""
    code, out, _ = run(capsys, "estimate", release, "--by", "sex,region", "--independence")

    assert code == 0
    assert "Chi-square" in out
    assert "2 degrees of freedom, p = " in out
    assert "Valid because" in out


def test_regress_on_screen_in_json_and_in_csv(capsys, release):
    """Coefficients by name with their figures, the same in every form."""
    formula = "income ~ age + C(region)"
    code, out, err = run(capsys, "regress", release, formula, "--json")
    assert code == 0, err
    form = json.loads(out)
    names = [row["name"] for row in form["coefficients"]]
    assert names == ["Intercept", "age", "C(region)[T.south]"]

    _, out, _ = run(capsys, "regress", release, formula, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert float(rows[1]["coefficient"]) == pytest.approx(form["coefficients"][1]["coefficient"])

    _, out, _ = run(capsys, "regress", release, formula)
    assert "95 % interval" in out
    assert "corrected for the published matrices" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("income ~ age + (",), "must read like"),
        (("age + sex",), "response left of ~"),
        (("income ~ name",), "dropped or never there"),
        (("income ~ age", "--family", "cubic"), "is not one of 'linear'"),
        (("income ~ age", "--level", "3"), "level"),
    ],
)
def test_what_cannot_be_fitted_is_one_line(capsys, release, arguments, message):
    """Exit 2, one line, nothing on stdout."""
    code, out, err = run(capsys, "regress", release, *arguments)

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_choices_on_the_command_line_are_those_of_the_library():
    """A name that one of them knows and the other does not would be a trap."""
    from typing import get_args

    from pramana.analysis.question import METHODS, Inference
    from pramana.analysis.regression import FAMILIES
    from pramana.analysis.shares import SHARES
    from pramana.analysis.synthesis import SYNTHESIS_METHODS
    from pramana.cli.app import _command as command

    def choices(verb, name):
        parameters = {parameter.name: parameter for parameter in command(verb).params}
        return list(parameters[name].type.choices)

    assert choices("estimate", "method") == list(METHODS)
    assert choices("synthesize", "method") == list(SYNTHESIS_METHODS)
    assert choices("regress", "family") == list(FAMILIES)
    assert choices("regress", "infer") == list(get_args(Inference))
    assert set(choices("estimate", "share")) == {s for s in SHARES if isinstance(s, str)}


def test_a_folder_that_is_no_release(capsys, tmp_path):
    """One line that says so."""
    code, _, err = run(capsys, "estimate", str(tmp_path), "--by", "sex")

    assert code == 2
    assert "must be a release folder" in err


def test_rebuild_writes_a_table_that_says_what_it_is(capsys, release, tmp_path):
    """With a note in the file, the same again by seed, and never over an existing file."""
    target = tmp_path / "mining.parquet"
    code, out, _ = run(capsys, "synthesize", release, "-o", str(target), "--seed", "1", "--json")
    table = pq.read_table(target)

    assert code == 0
    assert "Unchanged columns come from real people" in json.loads(out)["note"]
    assert "Take estimates and errors from the release" in json.loads(out)["note"]
    assert b"Unchanged columns come from real people" in table.schema.metadata[b"pramana"]
    assert table.num_rows == 20_000
    assert table.column_names == ["sex", "age", "marital", "region", "income"]
    pairs = set(zip(table["age"].to_pylist(), table["marital"].to_pylist(), strict=True))
    assert ("[0, 16)", "married") not in pairs

    for name in ("x.foo", "x.rds", "x.csv.gz"):
        code, _, err = run(capsys, "synthesize", release, "-o", str(tmp_path / name))
        assert code == 2
        assert "of a format that is written: .csv, .tsv, .tab, .txt, .parquet" in err
        assert ".rds," not in err.partition("written: ")[2]

    code, _, err = run(capsys, "synthesize", release, "-o", str(target))
    assert code == 2
    assert "exists already" in err
    code, _, _ = run(
        capsys, "synthesize", release, "-o", str(target), "--force", "--method", "rank"
    )
    assert code == 0


def test_copies_are_in_one_file(capsys, release, tmp_path):
    """Those that Python draws from the same seed, one after the other; refused for ``rank``."""
    target = tmp_path / "copies.parquet"
    options = ("-o", str(target), "--seed", "1", "--copies", "2")
    assert run(capsys, "synthesize", release, *options)[0] == 0
    table = pq.read_table(target)
    assert table.column_names == ["copy", "sex", "age", "marital", "region", "income"]
    assert b"Unchanged columns come from real people" in table.schema.metadata[b"pramana"]
    drawn = api.load(release).synthesize(copies=2, seed=1)
    for number, copy in enumerate(drawn, start=1):
        part = table.filter(pc.equal(table["copy"], number)).drop(["copy"])
        assert part.to_pylist() == copy.to_pylist()
    code, _, err = run(capsys, "synthesize", release, *options, "--force", "--method", "rank")
    assert (code, "posterior" in err) == (2, True)


def test_csv_holds_no_formula(tmp_path, capsys):
    """A label of somebody else's release must not be computed by a spreadsheet."""
    table = pa.table({"a": ["=1+1", "b"] * 50})
    schema = Schema((Column("a", Role.KEY, Categories(("=1+1", "b"))),))
    api.protect(table, api.design(schema, PkAnonymity(k=5), data=table), to=tmp_path / "r", seed=1)
    _, out, err = run(capsys, "estimate", str(tmp_path / "r"), "--by", "a", "--csv")
    assert not err
    assert "\n'=1+1," in out
