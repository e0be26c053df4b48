"""Errors and notices carry a code and fields, which programs compare instead of sentences."""

from __future__ import annotations

import pickle
import re
import warnings

import pytest

from pramana import errors
from pramana.errors import Copies, Infeasible, InvalidSchema, Notice, PramanaError

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type)]
RAISED = [kind for kind in KINDS if issubclass(kind, PramanaError | Notice)]


@pytest.mark.parametrize("kind", RAISED)
def test_every_class_has_a_code_in_kebab_case(kind: type[PramanaError]) -> None:
    """Its own where none is given, and never that of another class."""
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.code)
    assert [other for other in RAISED if other.code == kind.code] == [kind]
    assert kind("x").code == kind.code
    assert kind("x", code="few-edges").code == "few-edges"


@pytest.mark.parametrize("kind", RAISED)
def test_code_and_fields_survive_another_process(kind: type[PramanaError]) -> None:
    """Also of classes that are a KeyError, an OSError or an ImportError."""
    error = pickle.loads(pickle.dumps(kind("No room.", code="full", column="age", count=3)))  # noqa: S301
    assert (str(error), error.code) == ("No room.", "full")
    assert error.fields == {"column": "age", "count": 3}


def test_an_error_in_other_words_keeps_code_and_fields() -> None:
    """More fields are added."""
    error = Infeasible("No.", code="too-few-alike", without=("age",)).reworded("Never.", limit=5)
    assert (type(error), str(error), error.code) == (Infeasible, "Never.", "too-few-alike")
    assert error.fields == {"without": ("age",), "limit": 5}


@pytest.mark.parametrize("message", [Copies("Many.", count=7), "Many."])
def test_a_notice_is_warned_with_its_fields(message: Copies | str) -> None:
    """As an object, or by its class."""
    with pytest.warns(Copies) as heard:
        warnings.warn(message, Copies, stacklevel=1)
    (notice,) = (warning.message for warning in heard)
    assert isinstance(notice, Copies)
    assert notice.code == "copies"
    assert notice.fields == ({} if isinstance(message, str) else {"count": 7})


def test_a_schema_error_names_column_and_entry() -> None:
    """Where its file is to be changed."""
    from pramana import Schema

    with pytest.raises(InvalidSchema) as refused:
        Schema.from_toml("[columns.age]\nrole = 'key'\nbins = [1]\n")
    assert {"column": "age", "entry": "bins"}.items() <= refused.value.fields.items()
