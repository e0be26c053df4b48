"""Tests of what a release folder says about itself."""

from __future__ import annotations

import csv
import re
import runpy
import shlex
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from pramana import api
from pramana.errors import InputError, NotARelease
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.mechanisms.mechanism import Mechanism
from pramana.methods.frequency_preserving import Invariant
from pramana.release.certificate import Certificate
from pramana.release.documentation import LOADERS, _stata_text, explanations
from pramana.release.folder import fingerprint, write_explanations
from pramana.schema.domains import Bins, Categories, Labels
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from tests.release.people import people, plan

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"flag", "grade", "icd", "income", "member"}

SCHEMA = Schema((
    Column("sex", Role.KEY, Categories((1, 2), missing_values=(9,)), missing="category"),
    Column("age", Role.KEY, Bins((0, 30, 60, 90)), missing="refuse"),
    Column("region", Role.KEY, Categories(("north", "so\"u'th")), missing="refuse"),
    Column("income", Role.SENSITIVE),
))  # fmt: skip
SEXES = {1.0: "man", 2.0: "woman", 9.0: "refused"}


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """An SPSS file with labels."""
    draw = np.random.default_rng(1)
    rows = 500
    path = tmp_path_factory.mktemp("survey") / "survey.sav"
    pyreadstat.write_sav(
        pd.DataFrame({
            "sex": draw.choice([1.0, 2.0, 9.0, np.nan], rows, p=[0.45, 0.45, 0.05, 0.05]),
            "age": draw.integers(0, 90, rows).astype(float),
            "region": draw.choice(["north", "so\"u'th"], rows),
            "income": np.round(draw.lognormal(10, 1, rows)),
        }),
        str(path),
        column_labels={"sex": "Sex of `person`", "income": "Income\nof the year"},
        variable_value_labels={"sex": SEXES},
        missing_ranges={"sex": [9]},
    )  # fmt: skip
    return path


@pytest.fixture(scope="module")
def folders(survey, tmp_path_factory):
    """The same release in every format that can be written."""
    made = api.protect(
        survey, api.design(SCHEMA, PkAnonymity(k=3), data=survey, method="retention"), seed=1
    )
    place = tmp_path_factory.mktemp("folders")
    forms = ("csv", "parquet", "feather", "sav", "dta")
    return {form: made.save(place / form, file_format=form).folder for form in forms}


def test_the_first_line_says_how_to_estimate(folders):
    """Whoever opens the folder reads that before anything else."""
    first = (folders["csv"] / "README.md").read_text().splitlines()[0]
    assert first.startswith("Do not count these records directly. Estimate")
    assert "pramana estimate . --by" in first


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("retention", PkAnonymity(k=3)),
        ("attribute-sampling", PkAnonymity(k=3)),
        (Invariant(stay=0.6), None),
        ("resample", KAnonymity(k=3)),
    ],
)
def test_every_kind_of_release_says_what_is_promised_and_what_not(tmp_path, survey, method, target):
    """Each promise, the scope, the anonymity set, and why records must not be counted."""
    asked = () if target is None else (target,)
    made = api.design(SCHEMA, *asked, data=survey, method=method)
    release = api.protect(survey, made, to=tmp_path / "release", seed=1)

    text = (release.folder / "README.md").read_text()
    certificate = release.certificate
    assert certificate.nature.why_not in text
    assert all(sentence in text for sentence in certificate.sentences())
    form = certificate.to_json()
    assert form["scope"]["statement"] in text
    assert form["anonymity_set"]["statement"] in text
    assert "not for publication" in text  # a seed was used
    assert "may belong to another one" in text  # and some are unchanged
    assert api.verify(release.folder).valid


def test_the_codebook_lists_every_value_with_its_label(folders):
    """Columns, roles, treatment, domain, and which values stand for missing."""
    with (folders["csv"] / "codebook.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    sexes = [(r["value"], r["value_label"], r["kind"]) for r in rows if r["column"] == "sex"]
    assert sexes == [
        ("1", "man", "value"),
        ("2", "woman", "value"),
        ("9", "refused", "missing"),
        ("", "empty", "missing"),
    ]
    (income,) = (row for row in rows if row["column"] == "income")
    assert income["treatment"] == "released unchanged"
    assert income["label"] == "Income\nof the year"
    assert [r["value"] for r in rows if r["column"] == "age"] == ["[0, 30)", "[30, 60)", "[60, 90]"]


@pytest.mark.parametrize("form", ["csv", "parquet", "feather", "sav", "dta"])
def test_the_python_snippet_loads_records_with_labels(folders, form):
    """Run as it stands: categories in the order of the domain, by their labels."""
    records = runpy.run_path(str(folders[form] / "load.py"))["records"]

    assert len(records) == 500
    assert list(records["sex"].cat.categories) == ["man", "woman", "refused"]
    assert list(records["age"].cat.categories) == ["[0, 30)", "[30, 60)", "[60, 90]"]
    assert records["age"].cat.ordered
    assert records["age"].notna().all()
    assert set(records["region"]) == {"north", "so\"u'th"}
    assert records.attrs["labels"]["sex"] == "Sex of `person`"
    other = runpy.run_path(str(folders["parquet"] / "load.py"))["records"]
    assert (records["sex"].value_counts() == other["sex"].value_counts()).all()


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not here")
def test_the_r_snippet_loads_records_with_labels(folders):
    """Run as it stands."""
    code = 'source("load.R"); stopifnot(nrow(records) == 500, levels(records$sex)[1] == "man")'
    subprocess.run(["Rscript", "-e", code], cwd=folders["csv"], check=True)


CODES = {
    "county": ["01", "02", "11"],  # FIPS, as categories
    "icd": ["250.00", "250.10", "401.9"],
    "flag": ["T", "F", "T"],
    "grade": ["1E5", "2E3", "NA"],
    "income": [100000.0, 2.5, 3.0],
    "member": [True, False, True],
    "kind": ["1", "x", "1"],  # of categories that are a number and a text
}


@pytest.fixture(scope="module")
def codes(tmp_path_factory):
    """Texts that a reader takes for numbers or truth values, as CSV."""
    frame = pd.DataFrame({name: values * 100 for name, values in CODES.items()})
    schema = Schema((
        Column("county", Role.KEY, Categories(("01", "02", "11"))),
        Column("kind", Role.KEY, Categories((1, "x"))),
        *(Column(name, Role.SENSITIVE) for name in CODES if name not in ("county", "kind")),
    ))  # fmt: skip
    plan = api.design(schema, PkAnonymity(k=3), records=300, method="retention")
    release = api.protect(frame, plan, seed=1)
    return release.save(tmp_path_factory.mktemp("codes") / "release", file_format="csv").folder


def test_python_keeps_codes_that_look_like_numbers(codes):
    """Codes of counties and diseases keep their zeros; numbers are numbers."""
    records = runpy.run_path(str(codes / "load.py"))["records"]
    assert set(records["county"]) == {"01", "02", "11"}
    assert set(records["kind"]) == {"1", "x"}
    for name in ("icd", "flag", "grade", "income", "member"):
        assert set(records[name].tolist()) == set(CODES[name])
    assert records["income"].dtype == float
    assert records["member"].dtype == bool


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not here")
def test_r_keeps_codes_that_look_like_numbers(codes):
    """The same in R."""
    program = """source("load.R")
    stopifnot(setequal(records$county, c("01", "02", "11")), setequal(records$kind, c("1", "x")),
      setequal(records$icd, c("250.00", "250.10", "401.9")), setequal(records$flag, c("T", "F")),
      setequal(records$grade, c("1E5", "2E3", "NA")), is.numeric(records$income),
      setequal(records$income, c(100000, 2.5, 3)), is.logical(records$member))"""
    subprocess.run(["Rscript", "-e", program], cwd=codes, check=True)


def _pspp(folder, program: str) -> str:
    """What PSPP, which reads the language of SPSS, makes of a program."""
    (folder.parent / f"{folder.name}.sps").write_text(program)
    done = subprocess.run(
        ["pspp", "-O", "format=csv", f"../{folder.name}.sps"],
        cwd=folder, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("pspp") is None, reason="PSPP is not here")
def test_the_spss_snippet_loads_records_with_labels(folders):
    """Run by PSPP without a word changed: counts by label, values that stand for missing apart."""
    program = (folders["csv"] / "load.sps").read_text()
    out = _pspp(folders["csv"], program + "FREQUENCIES v1 v2 v3.\n")
    with (folders["csv"] / "data.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    men, refused = (sum(row["sex"] == code for row in rows) for code in ("1", "9"))
    assert f"\nValid,man,{men}," in out
    assert f",refused,{refused}," in out
    assert f"\nN,Valid,{sum(row['sex'] in ('1', '2') for row in rows)}\n" in out
    north = sum(row["region"] == "north" for row in rows)
    assert f"\nValid,north,{north}," in out
    assert "Sex of `person`" in out


@pytest.mark.skipif(shutil.which("pspp") is None, reason="PSPP is not here")
def test_a_copy_for_spss_is_loaded_by_the_snippet_as_it_stands(copied):
    """No word of it is changed."""
    program = (copied / "load.sps").read_text()
    out = _pspp(copied, program + "FREQUENCIES sex.\n")
    assert "\nValid,man," in out


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not here")
def test_a_copy_as_csv_is_loaded_by_plain_r(copied):
    """A release as Parquet would need a package; its copy needs none."""
    code = 'source("load.R"); stopifnot(nrow(records) == 500, is.ordered(records$age))'
    subprocess.run(["Rscript", "-e", code], cwd=copied, check=True)


@pytest.fixture(scope="module")
def copied(folders, tmp_path_factory):
    """A release as Parquet with all copies."""
    made = api.load(folders["parquet"])
    place = tmp_path_factory.mktemp("copied") / "release"
    return made.save(place, copies=["csv", "dta", "sav"]).folder


def test_copies_hold_the_same_records_and_are_checked(copied):
    """Each has its digest in the certificate; readers of every format find the same values."""
    certificate = api.load(copied).certificate
    assert [own.name for own in certificate.copies] == ["data.csv", "data.dta", "data.sav"]
    verdict = api.verify(copied)
    assert verdict.valid
    assert [c.name for c in verdict.checks if c.name.startswith("copy")] == [
        "copy data.csv", "copy data.dta", "copy data.sav",
    ]  # fmt: skip
    text = (copied / "README.md").read_text()
    assert "`data.dta`: the same records" in text
    assert (copied / "load.do").read_text().splitlines()[-1] == 'use `"data.dta"\', clear'


def test_a_copy_that_was_changed_or_holds_other_records_is_found(copied, tmp_path):
    """By its digest; and by its records where someone states the digest of another copy."""
    shutil.copytree(copied, tmp_path / "changed")
    path = tmp_path / "changed" / "data.csv"
    path.write_bytes(path.read_bytes().replace(b"north", b"NORTH", 1))
    found = [c.name for c in api.verify(tmp_path / "changed").checks if not c.ok]
    assert found == ["copy data.csv"]
    path.write_bytes(path.read_bytes() + b"x")
    assert not api.verify(tmp_path / "changed").valid
    path.unlink()
    assert not api.verify(tmp_path / "changed").valid

    other = tmp_path / "other"
    shutil.copytree(copied, other)
    lines = (other / "data.csv").read_text().splitlines(keepends=True)
    lines[1], lines[2] = lines[2], lines[1]
    (other / "data.csv").write_text("".join(lines))
    certificate = api.load(copied).certificate
    forged = fingerprint(other / "data.csv", "csv")
    copies = (forged, *certificate.copies[1:])
    changed = replace(certificate, copies=copies)
    (other / "certificate.json").write_bytes(changed.to_bytes())
    write_explanations(other, changed)
    found = {c.name: c.detail for c in api.verify(other).checks if not c.ok}
    assert found == {"copy data.csv": "holds other records than the data file"}


def test_what_cannot_be_a_copy_is_refused(copied, folders, tmp_path):
    """A format that cannot be written, another name, a copy without a folder."""
    made = api.load(folders["csv"])
    with pytest.raises(NotARelease, match="can be written as"):
        made.save(tmp_path / "release", copies=["sas7bdat"])
    assert not (tmp_path / "release").exists()
    again = made.save(tmp_path / "release", file_format="csv", copies=["csv"])
    assert not again.certificate.copies
    again.save(tmp_path / "release", force=True)
    certificate = api.load(copied).certificate
    for wrong in ("README.md", "data.parquet", "other.csv"):
        copies = (replace(certificate.copies[0], name=wrong),)
        with pytest.raises(NotARelease):
            Certificate.from_bytes(replace(certificate, copies=copies).to_bytes())
    with pytest.raises(InputError, match="folder"):
        api.protect(people(), plan(), copies=["csv"], seed=1)


def test_no_name_becomes_a_command(folders):
    """Names and labels from outside stay inside quotes in every language."""
    nasty = 'x"; system("id") #\n`shell\' $S .'
    certificate = api.load(folders["csv"]).certificate
    certificate = replace(certificate, labels=Labels({"sex": nasty}, {"sex": {1: nasty}}))
    texts = {name: own.decode() for name, own in explanations(certificate).items()}
    assert '"x\\U{000022}; system(\\U{000022}id\\U{000022}) #' in texts["load.R"]
    del texts["codebook.csv"]  # a quoted cell of it may hold two lines
    assert not any(line.startswith("`shell") for own in texts.values() for line in own.split("\n"))
    assert "`shell" not in texts["load.do"]
    assert "$S" not in texts["load.do"]
    compile(texts["load.py"], "load.py", "exec")


@pytest.mark.parametrize("name", ["a; touch x", "$(id)", "-x", "don't", "[a](http://b.c)", "*a*"])
def test_a_name_is_neither_a_command_nor_markdown_in_the_readme(folders, name):
    """The command to paste has one quoted argument, and text shows its characters."""
    certificate = api.load(folders["csv"]).certificate
    column = replace(certificate.schema.columns[0], name=name)
    schema = replace(certificate.schema, columns=(column, *certificate.schema.columns[1:]))
    step = replace(certificate.mechanism.steps[0], columns=(name,))
    mechanism = Mechanism((step, *certificate.mechanism.steps[1:]))
    labels = Labels({name: "see www.b.c or <b>me@b.c</b>"}, {})
    certificate = replace(certificate, schema=schema, mechanism=mechanism, labels=labels)
    text = explanations(certificate)["README.md"].decode()

    (command,) = re.findall(r"A first table, with errors: `(.*)`\.\n", text)
    words = shlex.split(command)
    assert words in (["pramana", "estimate", ".", "--by", name],
                     ["pramana", "estimate", ".", f"--by={name}"])  # fmt: skip
    prose = text.replace(command, "")
    for mark in ("[a](", "http://", "*a*", "www.b", "<b>", "me@b"):
        assert mark not in prose
    assert "`" not in explanations(replace(certificate, labels=Labels({name: "`"}, {})))[
        "README.md"
    ].decode().split("## Columns")[1].replace("\\`", "")


@pytest.mark.parametrize("text", ["'; shell id", "\"'; shell id", "/* all", "a // b", "`x'", "$x"])
def test_no_label_ends_a_literal_of_stata(text):
    """Nothing inside closes the compound quotes, begins a comment, or is expanded."""
    literal = _stata_text(text)
    assert literal.startswith('`"')
    assert literal.endswith("\"'")
    inside = literal[2:-2]
    assert not set('"`$') & set(inside)
    assert not inside.startswith("'")
    assert not re.search(r"/[/*]|\*/", inside)


def test_the_snippets_of_stata_and_spss_name_every_column(folders):
    """One label a column, one a value, in the spelling of the language."""
    stata = (folders["csv"] / "load.do").read_text()
    spss = (folders["csv"] / "load.sps").read_text()
    assert 'label define values1 9 `"refused"\', add' in stata
    assert "subinstr(`v3', char(34), uchar(8221), .)" in stata
    assert "label variable `v4' `\"Income of the year\"'" in stata
    assert "  v1 'Sex of `person`'" in spss
    assert "  'so\"u''th' 'so\"u''th'" in spss
    assert (folders["dta"] / "load.do").read_text().splitlines()[-1] == 'use `"data.dta"\', clear'
    assert (folders["sav"] / "load.sps").read_text().splitlines()[-1] == "GET FILE='data.sav'."


@pytest.mark.parametrize("name", ["README.md", "codebook.csv", *LOADERS])
def test_a_forged_explanation_is_found(tmp_path, name):
    """One changed word, a longer file, a link to another one."""
    folder = api.protect(people(), plan(), to=tmp_path / "release", seed=1).folder
    path = folder / name
    whole = path.read_bytes()
    for forged in (whole.replace(b"e", b"a", 1), whole + b"\n", b""):
        path.write_bytes(forged)
        verdict = api.verify(folder)
        assert [check.name for check in verdict.checks if not check.ok] == ["explanations"]
    path.unlink()
    assert api.verify(folder).valid
    (tmp_path / "elsewhere").write_bytes(whole)
    path.symlink_to(tmp_path / "elsewhere")
    assert not api.verify(folder).valid


def test_a_folder_and_a_saved_release_explain_themselves_alike(tmp_path):
    """``to=`` and ``save`` write the same bytes."""
    api.protect(people(), plan(), to=tmp_path / "a", seed=1, file_format="parquet")
    api.protect(people(), plan(), seed=1).save(tmp_path / "b")
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "b").iterdir())
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_no_cell_of_the_codebook_is_a_formula(tmp_path):
    """Names, labels and values that a spreadsheet would compute get an apostrophe; numbers none."""
    attack = '=HYPERLINK("http://example.org")'
    domain = Categories((attack, "+1+1", "-x", "@a", "plain", -8))
    schema = Schema((Column("=name", Role.KEY, domain),))
    table = pd.DataFrame({"=name": [str(value) for value in domain.values] * 20})
    plan = api.design(schema, PkAnonymity(k=5), data=table)
    api.protect(table, plan, to=tmp_path / "release", file_format="csv", seed=1)
    with (tmp_path / "release" / "codebook.csv").open(newline="") as file:
        rows = list(csv.reader(file))

    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]
    assert [row[6] for row in rows[1:]] == [f"'{attack}", "'+1+1", "'-x", "'@a", "plain", "-8"]
    assert api.verify(tmp_path / "release").valid
