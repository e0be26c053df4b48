"""Labels of variables and values, from formats that have them into all that can hold them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import pramana as pm

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
