"""Values to codes and back."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidSchema, InvalidTable, OutsideDomain
from pramana.schema.codec import (
    code_dtype,
    count_refused,
    decode,
    encode,
    encode_released,
    partly_reported,
    places_among,
    released_type,
)
from pramana.schema.domains import Bins, Categories, label_text
from pramana.schema.roles import Role
from pramana.schema.schema import Column


def key(domain, missing=None):
    """A key called c."""
    return Column("c", Role.KEY, domain, missing=missing)


LETTERS = key(Categories(("a", "b", "c")), missing="category")
NUMBERS = key(Categories((1, 2, 3)))
AGES = key(Bins((0, 10, 20, 30)), missing="category")


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["c", "a", None, "b"]),
        pa.array(["c", "a", None, "b"], pa.large_string()),
        pa.array(["c", "a", None, "b"], pa.string_view()),
        pa.array([b"c", b"a", None, b"b"], pa.binary()),
        pa.array(["c", "a", None, "b"]).dictionary_encode(),
        pa.array(["c", "a", None, "b"]).dictionary_encode(null_encoding="encode"),
        pa.chunked_array([["c"], [], ["a", None, "b"]], pa.string()),
        pa.chunked_array([pa.array(["c", "a"]).dictionary_encode(),
                          pa.array([None, "b"]).dictionary_encode()]),
    ],
)  # fmt: skip
def test_text_in_every_dress_has_the_same_codes(array):
    """Plain, large, view, binary, dictionary and chunked text; missing is the last code."""
    assert encode(LETTERS, array).tolist() == [2, 0, 3, 1]
    assert encode(LETTERS, array).dtype == np.uint8


@pytest.mark.parametrize(
    "array",
    [pa.array([3, 1, 2], kind) for kind in
     (pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64())]
    + [pa.array(["3", "1", "2"]), pa.array([3, 1, 2], pa.decimal128(4, 1)),
       pa.array([3.0, 1.0, 2.0]).dictionary_encode()],
)  # fmt: skip
def test_numbers_are_found_by_their_text(array):
    """Whatever the type of the column, and whether the schema lists numbers or digits."""
    assert encode(NUMBERS, array).tolist() == [2, 0, 1]
    assert encode(key(Categories(("1", "2", "3"))), array).tolist() == [2, 0, 1]
    assert encode(key(Categories((1.0, 2.0, 3.0))), array).tolist() == [2, 0, 1]


def test_codes_with_leading_zeros_are_not_numbers():
    """01 and 1 are two categories; a number column never holds 01."""
    codes = key(Categories(("01", "1")))
    assert encode(codes, pa.array(["1", "01"])).tolist() == [1, 0]
    with pytest.raises(OutsideDomain, match="1 record of 'c'"):
        encode(key(Categories(("01", "02"))), pa.array([1]))
    with pytest.raises(OutsideDomain, match="1 record of 'c'"):
        encode(NUMBERS, pa.array(["1.0"]))


def test_truth_values():
    """As booleans, and under their usual spellings as text."""
    truth = key(Categories((False, True)))
    assert encode(truth, pa.array([True, False])).tolist() == [1, 0]
    assert encode(truth, pa.array(["true", "True", "TRUE", "false"])).tolist() == [1, 1, 1, 0]
    assert encode(key(Categories(("FALSE", "TRUE"))), pa.array([True, False])).tolist() == [1, 0]


def test_dates_are_found_by_their_iso_text():
    """Dates and midnight timestamps alike."""
    days = key(Categories(("2020-01-31", "2021-02-28")))
    given_days = [dt.date(2021, 2, 28), dt.date(2020, 1, 31)]
    for kind in (pa.date32(), pa.date64(), pa.timestamp("us"), pa.timestamp("ns")):
        assert encode(days, pa.array(given_days).cast(kind)).tolist() == [1, 0]
    moment = key(Categories(("2020-01-31 12:30:00", "x")))
    array = pa.array([dt.datetime(2020, 1, 31, 12, 30)], pa.timestamp("us"))
    assert encode(moment, array).tolist() == [0]


def test_bins_are_closed_below_and_the_last_also_above():
    """0 and 30 are inside, 10 belongs to the second bin; nan and null are missing."""
    array = pa.array([0, 9.99, 10, 29.5, 30, float("nan"), None])
    assert encode(AGES, array).tolist() == [0, 0, 1, 2, 2, 3, 3]
    assert encode(AGES, pa.array([0, 9, 10, 30])).tolist() == [0, 0, 1, 2]
    assert encode(AGES, pa.array([" 9", "1e1", None])).tolist() == [0, 1, 3]


def test_bins_of_something_else_are_refused():
    """Lists have no bins."""
    with pytest.raises(InvalidTable, match="'c' must hold numbers"):
        encode(AGES, pa.array([[1.0]]))


@pytest.mark.parametrize(
    ("column", "array"),
    [
        (LETTERS, pa.array(["a", "secret", "secret"])),
        (LETTERS, pa.array(["a", "secret", "secret"]).dictionary_encode()),
        (LETTERS, pa.array([1, 2], pa.int64())),
        (LETTERS, pa.array([[1], [2]])),
        (NUMBERS, pa.array([1, 77777, 88888])),
        (NUMBERS, pa.array([1, 7, 8, 2])),
        (NUMBERS, pa.array([1.5, 2.5])),
        (AGES, pa.array([-1, 31])),
        (AGES, pa.array([-1.0, 30.0001])),
        (AGES, pa.array(["secret", "1", "x"])),
        (AGES, pa.chunked_array([["-1"], ["31", "5"]])),
    ],
)
def test_values_outside_the_domain_are_counted_and_not_shown(column, array):
    """Column and number, never the value, in one line."""
    with pytest.raises(OutsideDomain, match="2 records of 'c' hold values outside") as caught:
        encode(column, array)
    assert "secret" not in str(caught.value)
    assert "7777" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert count_refused(column, array).outside == 2


@pytest.mark.parametrize("missing", ["refuse", None])
@pytest.mark.parametrize(
    "array", [pa.array([1, None, None]), pa.array(["1", None, None]).dictionary_encode()]
)
def test_missing_values_are_refused_unless_the_schema_allows_them(missing, array):
    """The message says what to set."""
    with pytest.raises(OutsideDomain, match=r"2 records of 'c' are missing.*category"):
        encode(key(Categories((1, 2)), missing), array)


@pytest.mark.parametrize("missing", ["refuse", "category"])
def test_missing_values_are_counted_alike_in_every_form(missing):
    """As plain text, and as a dictionary whose values are all in the domain."""
    column, plain = key(Categories(("a", "b")), missing), pa.array(["a", None, "b", None, None])
    found = [count_refused(column, array) for array in (plain, plain.dictionary_encode())]
    assert [(own.outside, own.missing) for own in found] == [(0, 3 * (missing == "refuse"))] * 2


def test_a_text_has_its_place_among_names():
    """Whatever form it comes in; negative where it is none of them, or missing."""
    names, texts = ("a*b", "a", "b*c"), pa.array(["a", "b*c", None, "c", "a*b", "a"])
    for array in (texts, texts.dictionary_encode(), texts.dictionary_encode()[1:]):
        expected = [names.index(own) if own in names else -1 for own in array.to_pylist()]
        assert np.maximum(places_among(names, array), -1).tolist() == expected
    broken = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a"]), safe=False)
    with pytest.raises(InvalidTable, match="outside its dictionary"):
        places_among(names, broken)


@pytest.mark.parametrize("kind", ["uint8", "int64", "float64"])
def test_what_is_not_told_leaves_nothing_behind(kind):
    """No number stays in the memory behind a missing value, whatever it was."""
    told = np.arange(19) % 3 == 0
    values = np.where(told, np.arange(19), np.inf if kind == "float64" else 77).astype(kind)
    found = partly_reported(values, told)
    found.validate(full=True)
    assert found.to_pylist() == [n if n % 3 == 0 else None for n in range(19)]
    assert not np.frombuffer(found.buffers()[1], kind)[~told].any()


def test_a_dictionary_may_list_values_that_do_not_occur():
    """Only values that occur can be outside."""
    array = pa.DictionaryArray.from_arrays([0, 1], ["a", "b", "unused"])
    assert encode(LETTERS, array).tolist() == [0, 1]


def test_codes_are_as_small_as_the_domain_allows():
    """One byte up to 256 labels, missing included."""
    assert [code_dtype(n) for n in (1, 256, 257, 65536, 65537)] == ["u1", "u1", "u2", "u2", "u4"]
    many = key(Categories(tuple(range(256))), missing="category")
    assert encode(many, pa.array([0, None])).dtype == np.uint16


def test_released_types():
    """Text and bins as dictionaries, numbers and truth values plain, mixtures as text."""
    text = pa.dictionary(pa.uint8(), pa.string())
    assert released_type(LETTERS) == text
    assert released_type(AGES) == text
    assert released_type(NUMBERS) == pa.int64()
    assert released_type(key(Categories((1, 2.5)))) == pa.float64()
    assert released_type(key(Categories((False, True)))) == pa.bool_()
    assert released_type(key(Categories((1, "x")))) == text
    assert released_type(key(Categories((10**30, 1)))) == text
    assert released_type(key(Bins((0, 5, 10), release="centre"))) == pa.float64()
    assert released_type(key(Bins((0, 10, 20), release="centre"))) == pa.int64()
    assert released_type(key(Bins((0, 10, 20), release="draw"))) == pa.float64()
    assert released_type(key(Bins((0, 10, 20), release="draw", integers=True))) == pa.int64()
    assert released_type(key(Categories(("1", "2")))) == text


def test_labels_stay_apart_in_their_type():
    """No cast merges two labels: '02' is not 2, and no floating number is 2**53 + 1."""
    codes = np.arange(3, dtype=np.uint8)
    for labels in (("1", "2", "02"), (1, 2, "02"), (2**53, 2**53 + 1, 0.5), (2**64, 2**64 + 1, 0)):
        released = decode(key(Categories(labels)), codes)
        assert released.to_pylist() == [label_text(label) for label in labels]
        assert encode(key(Categories(labels)), released).tolist() == [0, 1, 2]
    assert decode(key(Categories((2**64 - 1, 0))), codes[:2]).type == pa.uint64()


def test_missing_comes_back_as_null():
    """In dictionaries and in plain arrays."""
    assert decode(LETTERS, np.array([3, 0], np.uint8)).to_pylist() == [None, "a"]
    numbers = key(Categories((1, 2)), missing="keep")
    assert decode(numbers, np.array([2, 0], np.uint8)).to_pylist() == [None, 1]
    drawn = key(Bins((0, 10, 20), release="draw"), missing="category")
    words = np.zeros(2, np.uint64)
    assert decode(drawn, np.array([2, 1], np.uint8), words).to_pylist() == [None, 10]


def test_draws_fill_the_bin_evenly():
    """The lowest word gives the lower edge, the highest stays below the upper one."""
    column = key(Bins((0, 10, 20), release="draw"))
    codes = np.zeros(5, np.uint8)
    words = np.array([0, 2**62, 2**63, 3 * 2**62, 2**64 - 1], np.uint64)
    drawn = decode(column, codes, words).to_pylist()
    assert drawn[:4] == [0, 2.5, 5, 7.5]
    assert 9.99 < drawn[4] < 10
    column = key(Bins((0, 10, 20), release="draw", integers=True))
    assert decode(column, codes, words).to_pylist() == [0, 2, 5, 7, 9]
    last = decode(column, codes + 1, words).to_pylist()
    assert last == [10, 12, 15, 18, 20]  # eleven whole numbers, 10 to 20


def test_a_bin_without_whole_numbers_is_drawn_as_it_is():
    """(0.2, 0.8) holds no integer, so the column is drawn in fractions."""
    column = key(Bins((0.2, 0.8, 1.5), release="draw", integers=True))
    drawn = decode(column, np.zeros(1, np.uint8), np.zeros(1, np.uint64))
    assert drawn.to_pylist() == [0.2]


def test_drawing_needs_words():
    """One a value."""
    with pytest.raises(InvalidSchema, match="'c' needs one random word"):
        decode(key(Bins((0, 10, 20), release="draw")), np.zeros(2, np.uint8))


def test_a_column_without_a_domain_cannot_be_coded():
    """It says what to give."""
    with pytest.raises(InvalidSchema, match="'c' is not declared"):
        encode(Column("c", Role.KEY), pa.array([1]))


labels = st.text(max_size=4) | st.integers(-(10**6), 10**6) | st.booleans()
domains = st.one_of(
    st.builds(Categories, st.lists(labels, min_size=2, max_size=9, unique_by=label_text)),
    st.builds(
        Bins,
        st.lists(st.integers(-999, 999), min_size=3, max_size=50, unique=True).map(sorted),
        release=st.sampled_from(["label", "centre", "draw"]),
    ),
)


@given(domains, st.sampled_from([None, "category"]), st.data())
def test_released_values_have_the_codes_they_were_made_from(domain, missing, data):
    """decode then encode_released is the identity, whatever is released of a bin."""
    column = key(domain, missing)
    size = len(column.labels)
    codes = data.draw(st.lists(st.integers(0, size - 1), max_size=20))
    codes = np.array(codes, code_dtype(size))
    words = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=len(codes), max_size=len(codes)))
    released = decode(column, codes, np.array(words, np.uint64))
    assert encode_released(column, released).tolist() == codes.tolist()


@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=60, unique=True).map(sorted),
    st.lists(st.none() | st.floats(-60, 60) | st.integers(-60, 60).map(float)),
)
def test_bins_agree_with_the_definition(edges, values):
    """A second road: compare with every edge in plain Python."""
    column = key(Bins(tuple(edges)), missing="category")
    inside = [v for v in values if v is None or edges[0] <= v <= edges[-1]]
    expected = [
        len(edges) - 1 if v is None
        else next((i for i, e in enumerate(edges[1:]) if v < e), len(edges) - 2)
        for v in inside
    ]  # fmt: skip
    assert encode(column, pa.array(inside, pa.float64())).tolist() == expected
    assert count_refused(column, pa.array(values, pa.float64())).outside == len(values) - len(
        inside
    )


WHOLE = (
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()
)  # fmt: skip


def ends(kind):
    """The smallest and the largest number of a type."""
    info = np.iinfo(kind.to_pandas_dtype())
    return int(info.min), int(info.max)


@pytest.mark.parametrize("kind", WHOLE, ids=str)
@given(data=st.data())
def test_integers_of_every_width_keep_their_codes(kind, data):
    """Also where the span of the values does not fit into the type, or ends where the type does."""
    low, high = ends(kind)
    near = st.one_of(
        st.integers(low, min(low + 300, high)),
        st.integers(max(high - 300, low), high),
        st.integers(max(-120, low), 120),
    )
    labels = data.draw(st.lists(near, min_size=2, max_size=40, unique=True))
    values = data.draw(st.lists(st.sampled_from([*labels, None]), max_size=400))
    column = key(Categories(tuple(labels)), missing="category")
    expected = [len(labels) if value is None else labels.index(value) for value in values]

    assert encode(column, pa.array(values, kind)).tolist() == expected
    array = pa.array(values, kind)
    assert decode(column, encode(column, array)).to_pylist() == values


def test_ages_with_a_code_below_zero_stay_what_they_are():
    """0 to 99 and -99 span more than 8 bits hold."""
    ages = [-99, *range(100)] * 3
    column = key(Categories((*range(100), -99)))

    codes = encode(column, pa.array(ages, pa.int8()))
    assert decode(column, codes).to_pylist() == ages


@pytest.mark.parametrize(
    "edges", [(0, 2**62, 2**63), (2**63, 2**63 + 2**12, 2**64), (-(2**63), -8, 0)]
)
def test_draws_stay_in_bins_of_very_large_numbers(edges):
    """The largest and the smallest word, in each bin."""
    column = key(Bins(edges, release="draw", integers=True))
    codes = np.repeat(np.arange(len(edges) - 1), 2).astype(np.uint8)
    words = np.tile(np.array([0, 2**64 - 1], np.uint64), len(edges) - 1)
    drawn = decode(column, codes, words)

    assert [edges[c] <= v < edges[c + 1] for c, v in zip(codes, drawn.to_pylist(), strict=True)]
    assert encode_released(column, drawn).tolist() == codes.tolist()
