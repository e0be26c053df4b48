"""Tests of matrices that the steward brings."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import DoesNotHold, InputError, InvalidMatrix, NotCovered
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.mechanisms.transition import Dense
from pramana.methods.context import DesignContext
from pramana.methods.given import GivenMatrices, read_matrix
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Impossible, Schema

SEX = Column("sex", Role.KEY, Categories(("F", "M")), missing="refuse")


def given_design(schema, matrices, asked=(), *, records):
    """The plan of the method with these matrices."""
    return GivenMatrices(matrices).design(DesignContext(schema, records, records), asked)


def test_labels_decide_and_not_the_order(tmp_path):
    """A file in another order, with columns in yet another, gives the same probabilities."""
    path = tmp_path / "sex.csv"
    path.write_text("truth,F,M\nM,0.25,0.75\nF,0.875,0.125\n")
    plan = given_design(Schema((SEX,)), {"sex": read_matrix(path)}, records=100)
    matrix = plan.mechanism.step_of("sex").matrix

    assert matrix.labels == ("F", "M")
    assert matrix.probability("F", "M") == Fraction(1, 8)
    assert matrix.probability("M", "F") == Fraction(1, 4)


def test_what_it_guarantees_is_said_and_what_was_asked_is_checked():
    """gamma = 6 here, so epsilon 1.8 holds and 1.7 does not."""
    matrix = Dense.of(("F", "M"), [[0.875, 0.125], [0.25, 0.75]])
    schema = Schema((SEX,))
    plan = given_design(schema, {"sex": matrix}, [DifferentialPrivacy(epsilon=1.8)], records=100)

    assert PkAnonymity.of(matrix, anonymity_set=100) in plan.attained
    with pytest.raises(DoesNotHold, match=r"attains epsilon = 1\.79.*short of"):
        given_design(schema, {"sex": matrix}, [DifferentialPrivacy(epsilon=1.7)], records=100)


def test_json_and_missing_values(tmp_path):
    """Missing has the empty label in files."""
    column = Column("sex", Role.KEY, Categories(("F", "M")), missing="category")
    path = tmp_path / "sex.json"
    path.write_text(
        '{"labels": ["F", "M", ""], "values": [[0.5, 0.25, 0.25], [0, 1, 0], [0, 0, 1]]}'
    )
    plan = given_design(Schema((column,)), {"sex": read_matrix(path)}, records=9)

    assert plan.mechanism.steps[0].matrix.probability("F", None) == Fraction(1, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "equally many fields"),
        ("t,F\nF,0.5\nM,0.5\n", "square, got 2 x 1"),
        ("t,F,M\n", "rows of equally many fields"),
        ("t,F,M\nF,0.5,0.5\nM,0.5\n", "equally many fields"),
        ("t,F,M\nF,0.5,0.6\nM,0.5,0.5\n", "sum to 1, and 1 of 2 do not"),
        ("t,F,M\nF,1.5,-0.5\nM,0.5,0.5\n", "negative"),
        ("t,F,M\nF,half,0.5\nM,0.5,0.5\n", "must hold labels and numbers"),
        ("t,F,X\nF,0.5,0.5\nM,0.5,0.5\n", "same, distinct labels"),
    ],
)
def test_a_file_that_is_no_matrix_is_refused(tmp_path, text, message):
    """One line each."""
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(InvalidMatrix, match=message):
        read_matrix(path)


def test_matrices_that_do_not_fit_the_schema_are_refused(tmp_path):
    """Unknown labels, a lacking column, rules that single columns cannot keep, no such file."""
    stranger = Dense.of(("F", "X"), [[0.5, 0.5], [0.5, 0.5]])
    age = Column("age", Role.KEY, Categories(("young", "old")), missing="refuse")
    fair = Dense.of(("F", "M"), [[0.5, 0.5], [0.5, 0.5]])
    ruled = Schema((SEX, age), impossible=(Impossible.of({"sex": ["F"], "age": ["old"]}),))

    with pytest.raises(
        InvalidMatrix, match="1 of its labels are not in the schema and 1 are missing"
    ):
        given_design(Schema((SEX,)), {"sex": stranger}, records=9)
    with pytest.raises(InvalidMatrix, match="for each randomised column"):
        given_design(Schema((SEX, age)), {"sex": fair}, records=9)
    with pytest.raises(InvalidMatrix, match="impossible combinations"):
        given_design(
            ruled, {"sex": fair, "age": Dense.of(("young", "old"), [[1, 0], [0, 1]])}, records=9
        )
    with pytest.raises(InputError, match="cannot be read"):
        read_matrix(tmp_path / "absent.csv")


def test_matrices_that_were_made_from_the_data_promise_nothing_about_other_tables():
    """The steward says so by the method; otherwise the certificate says that it is assumed not."""
    matrix = Dense.of(("F", "M"), [[0.875, 0.125], [0.25, 0.75]])
    data = pa.table({"sex": ["F", "M"] * 50})
    made = pm.design(Schema((SEX,)), data=data, method=pm.MatricesFromData({"sex": matrix}))
    brought = pm.design(Schema((SEX,)), data=data, method=pm.GivenMatrices({"sex": matrix}))

    assert {claim.name for claim in made.claims} & {
        "differential-privacy",
        "privacy-breach",
    } == set()
    assert PkAnonymity.of(matrix, anonymity_set=100) in made.attained
    with pytest.raises(NotCovered, match="computed from this one"):
        pm.design(
            Schema((SEX,)),
            DifferentialPrivacy(epsilon=9),
            data=data,
            method=pm.MatricesFromData({"sex": matrix}),
        )
    assert "assumed not to have been made from the data" in brought.public["matrices"]
    assert pm.protect(data, made, seed=1).certificate.data_dependent
