"""Options of methods are refused by type, before anything is designed for them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from tests.analysis.releases import SCHEMA

import pramana as pm
from pramana import api
from pramana.methods.base import option, options_of

WRONG: dict[type, tuple[Any, ...]] = {
    bool: ("no", 1, None),
    int: ("3", 7.5, True),
    float: ("0.5", True, [0.5]),
    str: (5, True),
}
"""Values that are of another type, by the type of the option."""

SPOKEN = {"max_error": "the maximal error"}
NEEDED: dict[str, dict[str, Any]] = {"invariant": {"stay": 0.5}}

CASES = [
    pytest.param(name, one.name, value, id=f"{name}-{one.name}-{value!r}")
    for name, method in api.METHODS.items()
    for one in options_of(method)
    if one.read is None
    for value in WRONG[one.kind]
    if not (value is None and one.default is None)
]


@pytest.mark.parametrize(("name", "option", "value"), CASES)
def test_an_option_of_another_type_is_refused(name: str, option: str, value: Any) -> None:
    """When the method is made or when it is designed with, and the option is named."""
    targets = {"k-anonymity": pm.KAnonymity(5)}
    method = api.METHODS[name]
    asked = [targets[aim] for aim in method.aims if aim in targets]
    options = NEEDED.get(name, {}) | {option: value}
    words = SPOKEN.get(option, option)
    with pytest.raises(pm.PramanaError, match=words):
        pm.design(SCHEMA, *asked, records=600, method=method(**options))


@pytest.mark.parametrize(
    ("made", "kinds", "numbers"),
    [(pm.PkAnonymity, (np.int8, np.int64, np.float32), (5,)), (pm.KAnonymity, (np.int8,), (5,)),
     (pm.DifferentialPrivacy, (np.float32, np.int16), (2,)),
     (pm.PrivacyBreach, (np.float32,), (0.25, 0.5)), (pm.CorrectMatch, (np.float32,), (0.5,)),
     (pm.ShuffledPrivacy, (np.float32,), (2, 0.25)),
     (pm.SpontaneousRecognition, (np.float32,), (0.5, 2))],
)  # fmt: skip
def test_numbers_of_numpy_are_those_of_python(made: Any, kinds: Any, numbers: Any) -> None:
    """A k of eight bits overflowed, and one of 64 ended inside a fraction."""
    plain = made(*numbers)
    for kind in kinds:
        given = made(*map(kind, numbers))
        assert given == plain
        assert given.sentence() == plain.sentence()
        assert json.loads(json.dumps(given.to_json())) == plain.to_json()


def test_options_in_numbers_of_numpy_leave_as_those_of_python(tmp_path: Path) -> None:
    """They ended in the words of a library when the certificate was written."""
    values = ["f", "m"] * 20
    table = pa.table({"sex": values, "ill": list(range(40))})
    sex = pm.Column("sex", pm.Role.KEY, pm.Categories(("f", "m")), missing="refuse")
    schema = pm.Schema((sex, pm.Column("ill", pm.Role.SENSITIVE)))
    method = pm.Resample(distinct=np.int64(2), max_size=np.int16(40), closeness=np.float32(0.5))
    plan = pm.design(schema, pm.KAnonymity(np.int64(5)), data=table, method=method)
    pm.protect(table, plan, to=tmp_path / "release")

    assert pm.verify(tmp_path / "release")


@pytest.mark.parametrize("method", [pm.Retention, 5, object()], ids=["class", "number", "object"])
def test_what_is_no_method_is_refused(method: Any) -> None:
    """A class is not an object of it."""
    with pytest.raises(pm.InputError, match="A method is its name or an object"):
        pm.design(SCHEMA, pm.PkAnonymity(k=5), records=600, method=method)


def test_what_is_no_target_is_refused() -> None:
    """Not even if it reads like one."""
    with pytest.raises(pm.InputError, match="A target is a guarantee"):
        pm.design(SCHEMA, "k=5", records=600)  # type: ignore[arg-type]


def test_what_is_no_plan_is_refused() -> None:
    """The name of a plan file is none."""
    with pytest.raises(pm.InputError, match="The plan must come from design, got str"):
        pm.protect("people.csv", "plan.toml")  # type: ignore[arg-type]


def test_what_is_no_schema_is_refused() -> None:
    """The name of a schema file is none, whether there is a table or not."""
    for about in ({"data": "people.csv"}, {"records": 100}):
        with pytest.raises(pm.InputError, match="such as Schema.load.* got str"):
            pm.design("s.toml", pm.PkAnonymity(k=5), **about)


def test_tables_must_be_texts_or_lists() -> None:
    """A number names no table."""
    with pytest.raises(pm.InputError, match="Tables are texts"):
        pm.AttributeSampling(tables=5)  # type: ignore[arg-type]


def test_a_response_that_is_no_column_is_refused_by_the_design() -> None:
    """And not only when records are released."""
    with pytest.raises(pm.UnknownColumn, match="nope"):
        pm.design(
            SCHEMA,
            pm.KAnonymity(5),
            records=600,
            smallest_group=300,
            method=pm.Resample(responses=("nope",)),
        )


@dataclass(frozen=True)
class Ends(pm.Retention):
    """A method from outside that does not look at its options itself."""

    order: Literal["first", "last"] = option("first", "From which end.")


def test_a_word_that_is_none_of_the_choices_is_refused() -> None:
    """Also where the method does not look: its field says which words there are."""
    asked = partial(pm.design, SCHEMA, pm.PkAnonymity(k=5), records=1000, smallest_group=100)
    asked(method=Ends(order="last"))
    with pytest.raises(pm.InvalidNumber, match="order must be one of first, last, got 'middle'"):
        asked(method=Ends(order="middle"))
