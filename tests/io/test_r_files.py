"""What R's data frames say by the attributes of their columns: dates, whole numbers, labels."""

from __future__ import annotations

import datetime as dt
import struct
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyreadstat
import pytest
from tests.io.r_files import Vector, frame, named, save_rda, save_rds

import pramana as pm
from pramana.api import open_source
from pramana.errors import InvalidTable, Notice

LABELLED = ["haven_labelled", "vctrs_vctr", "double"]
NA_WHOLE = -(2**31)


def bits(number: int) -> float:
    """A whole number of 64 bits as bit64 lays it down."""
    return struct.unpack(">d", struct.pack(">q", number))[0]


COLUMNS = {
    "sex": Vector([1.0, 2.0] * 30).with_(
        label="Sex of the person", labels=named({"male": 1.0, "female": 2.0}), class_=LABELLED
    ),
    "school": Vector([1.0, 3.0, 9.0] * 20).with_(
        labels=named({"low": 1.0, "high": 3.0, "refused": 9.0}),
        na_values=[9.0],
        class_=["haven_labelled_spss", *LABELLED],
    ),
    "place": Vector(["N", "S"] * 30).with_(
        labels=named({"north": "N", "south": "S"}),
        class_=["haven_labelled", "vctrs_vctr", "character"],
    ),
    "region": Vector([1, 2, NA_WHOLE] * 20).with_(levels=["east", "west"], class_="factor"),
    "born": Vector([7426.0, None, -365.0] * 20).with_(class_="Date"),
    "asked": Vector([0.25, None] * 30).with_(
        class_=["POSIXct", "POSIXt"], tzone="Europe/Vienna", label="Asked at"
    ),
    "seen": Vector([86400.0, 0.0] * 30).with_(class_=["POSIXct", "POSIXt"], tzone="UTC"),
    "number": Vector([bits(2**60 + 1), bits(-(2**63))] * 30).with_(class_="integer64"),
    "pay": Vector([1.5, None] * 30).with_(label="Pay"),
    "children": Vector([2.0, 0.0] * 30),
}
PEOPLE = frame(list(COLUMNS), list(COLUMNS.values()))


def test_columns_are_what_r_takes_them_for(tmp_path):
    """Days and seconds since 1970 came as numbers, and 64 bits as numbers near zero."""
    table = open_source(save_rds(tmp_path / "people.rds", PEOPLE)).to_arrow()

    assert table["born"].type == pa.date32()
    assert table["born"].to_pylist()[:3] == [dt.date(1990, 5, 2), None, dt.date(1969, 1, 1)]
    vienna = dt.datetime(1970, 1, 1, 1, 0, 0, 250_000, tzinfo=ZoneInfo("Europe/Vienna"))
    assert table["asked"].to_pylist()[:2] == [vienna, None]
    assert table["seen"].to_pylist()[0] == dt.datetime(1970, 1, 2)
    assert table["number"].to_pylist()[:2] == [2**60 + 1, None]
    assert table["region"].to_pylist()[:3] == ["east", "west", None]
    assert table["children"].type == table["sex"].type == pa.int64()
    assert table["pay"].to_pylist()[:2] == [1.5, None]


def test_codes_of_another_type_than_their_column_are_no_obstacle(tmp_path):
    """A half that only has a label beside whole numbers, and a number beside days."""
    half = Vector([1.0, 9.0]).with_(labels=named({"x": 9.5}), na_range=[9.0, 10.0], class_=LABELLED)
    days = Vector([1.0, 9.0]).with_(na_values=[9.0], class_="Date")
    people = frame(["half", "days"], [half, days])
    opened = open_source(save_rds(tmp_path / "people.rds", people))

    assert opened.labels.missing == {"half": (9, 9.5)}
    with pytest.warns(Notice, match="become missing"):
        assert opened.fitted(coded=()).to_arrow()["half"].to_pylist() == [1, None]


def test_times_are_those_of_r_or_refused(tmp_path):
    """In a zone that R does not know they are universal; there is no year 10**292."""
    here = Vector([0.0, 1.0]).with_(class_=["POSIXct", "POSIXt"], tzone="CEST")
    table = open_source(save_rds(tmp_path / "here.rds", frame(["t"], [here]))).to_arrow()
    assert table["t"].type == pa.timestamp("us")
    far = Vector([0.0, 1e300]).with_(class_=["POSIXct", "POSIXt"], tzone="UTC")
    with pytest.raises(InvalidTable):
        open_source(save_rds(tmp_path / "far.rds", frame(["t"], [far])))


@pytest.mark.parametrize("ending", ["rds", "rda"])
def test_labels_of_r_leave_with_a_release(tmp_path, ending):
    """As those of SPSS do: of columns, of numbers, of texts, and values that mean missing."""
    path = tmp_path / f"people.{ending}"
    if ending == "rds":
        save_rds(path, PEOPLE)
    else:
        save_rda(path, n=Vector([3]), people=PEOPLE)
    labels = open_source(path).labels
    assert labels.variables == {"sex": "Sex of the person", "asked": "Asked at", "pay": "Pay"}
    assert labels.values["place"] == {"N": "north", "S": "south"}
    assert labels.missing == {"school": (9,)}

    keys = ["sex", "school", "place", "born"]
    schema = pm.describe(path, keys=keys, sensitive=["pay", "region", "seen"])
    # No zone and no more than 53 bits in SPSS: these two stay away.
    schema = schema.replace_columns(pm.Column(n, pm.Role.IDENTIFIER) for n in ("asked", "number"))
    assert schema.column("school").domain.missing_values == (9,)
    assert schema.column("born").recoding.date == "year"
    plan = pm.design(schema, pm.PkAnonymity(3), data=path, method="retention")
    beside = ["pay", "region", "seen"]
    pm.protect(path, plan, to=tmp_path / "out", file_format="sav", accept_risk=beside)

    assert pm.verify(tmp_path / "out", original=path).valid
    _, about = pyreadstat.read_sav(str(tmp_path / "out" / "data.sav"), user_missing=True)
    assert about.column_names_to_labels["sex"] == "Sex of the person"
    assert about.variable_value_labels["school"] == {1: "low", 3: "high", 9: "refused"}
    assert about.missing_ranges["school"] == [{"lo": 9, "hi": 9}]


def test_a_column_of_several_values_a_record_is_refused(tmp_path):
    """A list, or a data frame inside of one."""
    inner = Vector([Vector([1.0, 2.0]), Vector([3.0, 4.0])]).with_(names=["a", "b"])
    path = save_rds(tmp_path / "p.rds", frame(["x", "y"], [Vector([1.0, 2.0]), inner]))

    with pytest.raises(InvalidTable, match="'y' holds more than one value a record"):
        open_source(path)
