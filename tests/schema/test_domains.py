"""Categories and bins."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InputError, InvalidSchema
from pramana.schema.domains import Bins, Categories, find_label, label_text
from pramana.schema.roles import Role
from pramana.schema.schema import Column


@pytest.mark.parametrize(
    ("label", "text"),
    [(1, "1"), (1.0, "1"), (2.5, "2.5"), ("01", "01"), (True, "true"), (None, ""), (-0.0, "0")],
)
def test_text_of_a_label(label, text):
    """Whole numbers lose their point, codes keep their zeros."""
    assert label_text(label) == text


def test_bins_are_half_open_and_the_last_is_closed():
    """Integer edges stay integers in the labels, as in the form of the schema file."""
    assert Bins((20, 30, 40)).labels == ("[20, 30)", "[30, 40]")
    assert Bins((0, 0.5, 1)).labels == ("[0, 0.5)", "[0.5, 1]")


def test_one_bin_is_a_domain_of_one_value():
    """The limit case: two edges."""
    assert Bins((0, 1)).size == 1


def test_outer_bins_may_be_open_when_labels_are_released():
    """There is a label for [70, inf], but no centre and no draw."""
    assert Bins((0, 70, math.inf)).labels[-1] == "[70, inf]"
    for release in ("centre", "draw"):
        with pytest.raises(InvalidSchema, match="finite edges"):
            Bins((0, 70, math.inf), release=release)


def test_centres_are_integers_only_where_all_are():
    """A column of centres has one type."""
    assert Bins((0, 10, 20)).centres == (5, 15)
    assert all(isinstance(centre, int) for centre in Bins((0, 10, 20)).centres)
    assert Bins((0, 5, 10)).centres == (2.5, 7.5)


@pytest.mark.parametrize(
    "edges", [(), (1,), (1, 1), (2, 1), (1, 2, 2), (1, math.nan), ("1", "2"), (False, True)]
)
def test_bad_edges_are_refused(edges):
    """Fewer than two, equal, falling, nan, text: refused in one line."""
    with pytest.raises(InvalidSchema) as caught:
        Bins(edges)
    assert "\n" not in str(caught.value)


def test_unknown_release_is_refused():
    """Only label, centre and draw."""
    with pytest.raises(InvalidSchema, match="label, centre, draw"):
        Bins((0, 1), release="mean")


@pytest.mark.parametrize("values", [(), ("a", "a"), (1, 1.0), (1, "1"), (None,), (math.nan,)])
def test_bad_categories_are_refused(values):
    """No value, the same text twice, and values that are no labels."""
    with pytest.raises(InvalidSchema) as caught:
        Categories(values)
    assert "\n" not in str(caught.value)


def test_a_label_is_found_by_its_text():
    """The domain's own spelling comes back; a code with zeros is another value."""
    assert find_label(Categories((1, 2)), "2") == 2
    assert find_label(Categories(("1", "2")), 2.0) == "2"
    with pytest.raises(KeyError):
        find_label(Categories((1, 2)), "02")


@given(st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=20, unique=True).map(sorted))
def test_labels_of_bins_are_as_many_as_bins_and_differ(edges):
    """One label a bin, no two alike, and each is found again."""
    bins = Bins(tuple(edges))
    assert len(set(bins.labels)) == bins.size == len(edges) - 1
    assert all(find_label(bins, label) == label for label in bins.labels)
    assert all(a < c < b for a, c, b in zip(edges, bins.centres, edges[1:], strict=False))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Categories(("a\ud800", "b")),
        lambda: Bins((0, 1, 2), names=("low", "high\udfff"), release="label"),
        lambda: Column("a\ud800", Role.KEY),
    ],
)
def test_half_of_a_character_is_refused(make):
    """No file could hold it: the error comes before anything is written."""
    with pytest.raises(InputError, match="half of a character"):
        make()
