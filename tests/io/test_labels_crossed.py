"""Labels of variables and values, from formats that have them into all that can hold them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import pramana as pm
from pramana.errors import Notice
from pramana.schema.domains import Labels
from pramana.schema.opened_table import OpenedTable

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"half", "income", "place"}

VARIABLE = {"sex": "Sex of the person", "income": "Income in euros"}
VALUES = {"sex": {1.0: "male", 2.0: "female"}}

SCHEMA = """
[columns.sex]
role = "key"
categories = [1, 2]
[columns.income]
role = "sensitive"
"""


def labelled(path: Path) -> Path:
    """A file with labels of variables and values, by its ending."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"sex": random.integers(1, 3, 80).astype(float), "income": random.integers(1, 9, 80) * 10.0}
    )
    if path.suffix == ".sav":
        pyreadstat.write_sav(frame, str(path), column_labels=VARIABLE, variable_value_labels=VALUES)
    elif path.suffix == ".dta":
        pyreadstat.write_dta(
            frame.astype({"sex": int}),
            str(path),
            column_labels=[VARIABLE["sex"], VARIABLE["income"]],
            variable_value_labels={"sex": {1: "male", 2: "female"}},
        )
    elif path.suffix == ".xpt":
        pyreadstat.write_xport(frame, str(path), column_labels=VARIABLE)
    return path


def told_by(place: Path) -> tuple[dict[str, str], dict[float, str]]:
    """What another library reads in the released file."""
    reader = pyreadstat.read_sav if place.suffix == ".sav" else pyreadstat.read_dta
    _, about = reader(str(place))
    values = about.variable_value_labels["sex"]
    return about.column_names_to_labels, {float(code): label for code, label in values.items()}


@pytest.mark.parametrize("into", ["sav", "dta"])
@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_labels_come_out_where_they_went_in(tmp_path, ending, into):
    """Read by one format and released in another: labels of both kinds are there."""
    path = labelled(tmp_path / f"people.{ending}")
    schema = pm.Schema.from_toml(SCHEMA)
    plan = pm.design(schema, pm.PkAnonymity(3), data=path, method="retention")
    pm.protect(path, plan, to=tmp_path / "out", file_format=into)

    variables, values = told_by(tmp_path / "out" / f"data.{into}")

    assert variables == VARIABLE
    assert values == VALUES["sex"]


@pytest.mark.parametrize("into", ["sav", "dta"])
def test_labels_of_variables_come_out_of_sas_transport(tmp_path, into):
    """Such files label variables alone."""
    path = labelled(tmp_path / "people.xpt")
    plan = pm.design(pm.Schema.from_toml(SCHEMA), pm.PkAnonymity(3), data=path, method="retention")
    pm.protect(path, plan, to=tmp_path / "out", file_format=into)
    reader = pyreadstat.read_sav if into == "sav" else pyreadstat.read_dta

    _, about = reader(str(tmp_path / "out" / f"data.{into}"))

    assert about.column_names_to_labels == VARIABLE


LONG = ("Wie oft haben Sie in den letzten zwölf Monaten " * 6).rstrip()
"""Questions are this long: Stata keeps 80 letters, SPSS 256 bytes, of values 120."""


@pytest.mark.parametrize(
    ("into", "asked", "sex"),
    [("dta", LONG[:80].rstrip(), LONG), ("sav", LONG[:251], LONG[:118])],
    ids=["dta", "sav"],
)
def test_labels_that_a_format_cannot_hold_stop_no_release(tmp_path, into, asked, sex):
    """Cut or left out with a notice, and whole in the codebook; Stata refused the release."""
    frame = pd.DataFrame({"sex": [1, 2] * 30, "place": ["N", "S"] * 30, "half": [0.5, 2.0] * 30})
    people = pa.Table.from_pandas(frame, preserve_index=False)
    labels = Labels(
        {"sex": LONG},
        {"sex": {1: LONG, 2: "f"}, "place": {"N": "north"}, "half": {0.5: "half", 2: "two"}},
    )
    schema = pm.Schema.from_toml(
        'keys = ["sex"]\nsensitive = ["place", "half"]\ncolumns.sex.categories = [1, 2]'
    )
    opened = OpenedTable.of_arrow(people, labels=labels)
    plan = pm.design(schema, pm.PkAnonymity(3), data=opened, method="retention")

    with pytest.warns(Notice, match=r"cannot hold all labels of sex.*codebook.csv has them whole"):
        pm.protect(opened, plan, to=tmp_path / "out", file_format=into)

    reader = pyreadstat.read_sav if into == "sav" else pyreadstat.read_dta
    _, about = reader(str(tmp_path / "out" / f"data.{into}"))
    assert about.column_names_to_labels["sex"] == asked
    assert about.variable_value_labels["sex"] == {1: sex, 2: "f"}
    told = {0.5: "half", 2.0: "two"} if into == "sav" else {2: "two"}
    assert about.variable_value_labels["half"] == told
    assert LONG in (tmp_path / "out" / "codebook.csv").read_text()


@pytest.mark.parametrize("into", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_formats_without_labels_have_them_beside(tmp_path, ending, into):
    """The codebook of the folder says them, and who loads the release finds them again."""
    path = labelled(tmp_path / f"people.{ending}")
    plan = pm.design(pm.Schema.from_toml(SCHEMA), pm.PkAnonymity(3), data=path, method="retention")
    pm.protect(path, plan, to=tmp_path / "out", file_format=into)

    book = (tmp_path / "out" / "codebook.csv").read_text()
    assert all(label in book for label in (*VARIABLE.values(), "male", "female"))
    labels = pm.load(tmp_path / "out").certificate.labels
    assert labels.variables == VARIABLE


def listed(path: Path, order: list[float]) -> Path:
    """The same people, whose file lists the labels of values in this order."""
    frame = pd.DataFrame({"sex": [1.0, 2.0] * 40, "income": [float(n % 8) for n in range(80)]})
    labels = {code: f"step {code:g}" for code in order}
    pyreadstat.write_sav(frame, str(path), variable_value_labels={"income": labels} | VALUES)
    return path


@pytest.mark.parametrize("into", ["sav", "dta", "csv"])
def test_labels_leave_in_the_order_of_their_values(tmp_path, into):
    """Whoever makes labels while reading records lists them as these come: not a byte says so."""
    schema = pm.Schema.from_toml(SCHEMA)
    order = [float(n) for n in range(8)]
    folders = []
    for name, own in (("one", order), ("two", [5.0, *order[::-1]])):
        path = listed(tmp_path / f"{name}.sav", own)
        plan = pm.design(schema, pm.PkAnonymity(3), data=path, method="retention")
        folders.append(tmp_path / name)
        pm.protect(path, plan, to=folders[-1], file_format=into, seed=1)

    one, two = ({f.name: f.read_bytes() for f in sorted(own.iterdir())} for own in folders)
    assert one == two


@pytest.mark.parametrize("method", ["retention", "permute"])
@pytest.mark.filterwarnings("ignore::pramana.errors.Copies")
def test_labels_of_a_number_with_noise_do_not_leave(tmp_path, method):
    """Which of the labelled values occur in truth is what the noise hides."""
    path = listed(tmp_path / "people.sav", [float(n) for n in range(12)])
    schema = pm.Schema.from_toml(SCHEMA + 'noise = {distribution = "laplace", scale = 50}')
    asked = pm.KAnonymity(3) if method == "permute" else pm.PkAnonymity(3)
    plan = pm.design(schema, asked, data=path, method=method)
    release = pm.protect(path, plan, to=tmp_path / "out")

    assert set(release.certificate.labels.values) == {"sex"}
    assert "step" not in (tmp_path / "out" / "codebook.csv").read_text()
    assert b"step" not in (tmp_path / "out" / "data.sav").read_bytes()


def test_labels_of_keys_that_are_not_released_do_not_leave(tmp_path):
    """The centre of two groups: no other value of the key is shown, so none is named."""
    path = listed(tmp_path / "people.sav", [float(n) for n in range(8)])
    schema = pm.Schema(
        (pm.Column("income", pm.Role.KEY), pm.Column("sex", pm.Role.SENSITIVE)),
    )
    plan = pm.design(schema, pm.KAnonymity(30), data=path, method="centroid")
    release = pm.protect(path, plan)
    shown = set(release.table.to_pydict()["income"])

    assert set(release.certificate.labels.values.get("income", {})) <= shown
    assert set(release.certificate.labels.values["sex"]) == {1, 2}
