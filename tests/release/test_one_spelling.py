"""The one spelling of a certificate is that of the library, byte by byte, however it is made."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.release.one_spelling import canonical

SINGLE = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.sampled_from('a"\\],[{}:\n \t\u2028é\U0001f600'), max_size=6)
)
VALUES = st.recursive(
    SINGLE,
    lambda own: (
        st.lists(own, max_size=4)
        | st.lists(st.lists(SINGLE, max_size=3), max_size=3)
        | st.lists(SINGLE, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), own, max_size=3)
        | st.dictionaries(st.integers(0, 20), own, max_size=2)
    ),
)


def by_the_library(form) -> bytes:
    text = json.dumps(form, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_it_is_that_of_the_library(form):
    assert canonical(form) == by_the_library(form)


@pytest.mark.parametrize(
    "cells",
    [
        [["a", "b"], ["],\n  [", '"],\n   ["'], [None, 1.5]],
        [("],", "["), ("[", "]")],
        [[], ["a"]],
        [["a"], []],
        [[["a"], "b"], ["c", "d"]],
        [[{}], [1]],
        ["a", ["b"]],
    ],
)
def test_cells_that_look_like_what_parts_them(cells):
    form = {"mechanism": [{"matrix": {"labels": cells}}]}
    assert canonical(form) == by_the_library(form)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_has_not_is_refused(number):
    for form in ({"a": number}, {"a": [number]}, {"a": [[number]]}):
        with pytest.raises(ValueError, match="JSON compliant"):
            canonical(form)


def test_what_the_library_spells_is_never_too_deep():
    form = deep = {"a": []}
    for _ in range(150):
        deep["a"].append({"b": [[{"a": [1, "x"]}]]})
        deep = deep["a"][-1]["b"][0][0]
    assert canonical(form) == by_the_library(form)
