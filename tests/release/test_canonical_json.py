"""Canonical JSON is written in one form, and files that anyone may have made are read strictly."""

import pytest

from pramana.errors import NotARelease
from pramana.release.certificate_fields import Struct, canonical, converted, parse


def test_names_are_sorted_and_letters_written_as_they_are():
    expected = '{\n "a": null,\n "b": [\n  1,\n  "é"\n ]\n}\n'
    assert canonical({"b": [1, "é"], "a": None}) == expected.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_has_not_is_refused(number):
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical({"a": [number]})


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b'{"a": 1, "a": 1}', b'{"a": NaN}', b'{"a": 1e999}', b'"\\ud800"',
     b"1" * 40, b"[" * 100_000],
)  # fmt: skip
def test_what_is_not_strict_json_is_refused(content):
    with pytest.raises(NotARelease):
        parse(content, what="file.json")


class Point(Struct):
    x: int


@pytest.mark.parametrize("value", [{}, {"x": 1.5}, {"x": True}, {"x": 1, "y": 2}, [1], None])
def test_a_struct_has_its_fields_and_no_others(value):
    assert converted({"x": 1}, Point, what="point").x == 1
    with pytest.raises(NotARelease, match="point"):
        converted(value, Point, what="point")
