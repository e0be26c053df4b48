"""Every number of privacy that is printed, read back, is on the safe side."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pramana as pm
from pramana.base.rounding import log_of
from pramana.base.text import exp_text_up, floor_text, percent_down, percent_up, text_down, text_up
from pramana.guarantees.base import Guarantee
from pramana.guarantees.claims import GUARANTEES

shares = st.floats(0, 1, exclude_min=True, exclude_max=True)
numbers = st.floats(0, 1e300, exclude_min=True)
counts = st.floats(1, 1e15)


def exact(number: float) -> Fraction:
    """What is written where a float is written."""
    return Fraction(repr(number))


def printed(text: str) -> list[Fraction]:
    """All numbers in a text."""
    found = re.findall(r"\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?", text)
    return [Fraction(Decimal(number.replace(",", ""))) for number in found]


@given(numbers, st.integers(1, 12))
@example(2.9999, 3)
@example(5e-324, 3)
@example(0.1, 1)
def test_texts_enclose_the_number(number, digits):
    """Down is at or below, up at or above, within a unit of the last digit."""
    (low,), (high,) = printed(text_down(number, digits)), printed(text_up(number, digits))

    assert low <= exact(number) <= high
    assert high - low <= exact(number) * Fraction(10) ** (1 - digits)


@given(st.fractions(0, 1), st.integers(2, 6))
@example(1 / Fraction(2.9999), 3)
def test_percentages_enclose_the_share(share, digits):
    """Fractions are compared as they are."""
    (low,) = printed(percent_down(share, digits))
    (high,) = printed(percent_up(share, digits))

    assert low <= 100 * share <= high


@given(counts)
@example(99.99)
def test_a_number_of_people_is_never_more_than_it_is(k):
    """Whole above ten, two decimals below."""
    (shown,) = printed(floor_text(k))

    assert exact(k) - 1 < shown <= exact(k)


@given(st.floats(0, 1000))
def test_an_exponential_is_never_less_than_it_is(exponent):
    """Eighty digits are the judge."""
    (shown,) = printed(exp_text_up(exponent))
    with localcontext(prec=80):
        truth = Decimal(exponent).exp()
        assert Decimal(shown.numerator) / Decimal(shown.denominator) >= truth
        assert shown <= Fraction(truth) * Fraction(1002, 1000)


def test_a_k_just_below_three_is_not_flattered():
    """1 in 2.9999 is more than a third; 33.3 % is less."""
    assert percent_up(1 / Fraction(2.9999)) == "33.4 %"
    assert "33.4 %" in pm.PkAnonymity(k=2.9999).sentence()
    assert "k = 2.99:" in pm.PkAnonymity(k=2.9999).sentence()
    assert pm.PkAnonymity(k=2.9999999).shown() == {"k": "2.99999"}


# -- every sentence of every guarantee -----------------------------------------------------------


def _pk(found: pm.PkAnonymity, seen: list[Fraction]) -> None:
    k, percent = seen
    assert k <= exact(found.k)
    assert percent / 100 >= 1 / exact(found.k)


def _epsilon(found: pm.DifferentialPrivacy, seen: list[Fraction]) -> None:
    epsilon, factor = seen
    with localcontext(prec=80):
        assert factor >= Fraction(Decimal(found.epsilon).exp()) * (1 - Fraction(1, 10**70))
    assert epsilon >= exact(found.epsilon)


def _rho(found: pm.PrivacyBreach, seen: list[Fraction]) -> None:
    before, after = seen[1:4:2]  # rho1 and rho2 hold digits
    assert before / 100 <= exact(found.rho1)
    assert after / 100 >= exact(found.rho2)


def _alpha(found: pm.SpontaneousRecognition, seen: list[Fraction]) -> None:
    assert seen[0] / 100 >= exact(found.alpha)


def _xi(found: pm.CorrectMatch, seen: list[Fraction]) -> None:
    assert seen == [max(seen)]
    assert seen[0] >= exact(found.xi)


def _groups(found: pm.KAnonymity, seen: list[Fraction]) -> None:
    assert seen == [found.k, 1, found.k]


def _shuffled(found: Guarantee, seen: list[Fraction]) -> None:
    shown_epsilon, shown_delta, factor = seen[:3]
    epsilon, delta = found.to_json()["epsilon"], found.to_json().get("delta", 0.0)
    with localcontext(prec=80):
        assert factor >= Fraction(Decimal(epsilon).exp()) * (1 - Fraction(1, 10**70))
    assert shown_epsilon >= exact(epsilon)
    assert shown_delta >= exact(float(delta))


def _made(name: str, *letters: float) -> Guarantee:
    return GUARANTEES[name](*letters)


SENTENCES: dict[str, tuple[st.SearchStrategy[tuple[float, ...]], Callable[..., None]]] = {
    "pk-anonymity": (st.tuples(st.floats(1.01, 1e12)), _pk),
    "differential-privacy": (st.tuples(st.floats(0, 600)), _epsilon),
    "privacy-breach": (st.tuples(shares, shares).map(sorted).map(tuple), _rho),
    "spontaneous-recognition": (st.tuples(shares), _alpha),
    "correct-match": (st.tuples(shares), _xi),
    "k-anonymity": (st.tuples(st.integers(2, 10**9)), _groups),
    "shuffled-privacy": (st.tuples(st.floats(0, 50), st.floats(0, 0.01)), _shuffled),
}


@pytest.mark.parametrize("name", sorted(GUARANTEES))
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_every_number_in_a_sentence_is_on_the_safe_side(name, data):
    """With exact arithmetic as judge; a sentence without numbers promises nothing."""
    strategy, check = SENTENCES[name]
    found = _made(name, *data.draw(strategy))
    sentence = found.sentence()
    if sentence.startswith("No "):
        return
    check(found, printed(sentence))


@pytest.mark.parametrize("name", sorted(GUARANTEES))
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_every_number_in_a_table_is_on_the_safe_side(name, data):
    """Each letter says which side that is."""
    found = _made(name, *data.draw(SENTENCES[name][0]))
    up = {
        getattr(letter, "number", None) or letter.field: letter.up for letter in found.cli_options
    }
    for letter, text in found.shown().items():
        value = found.to_json()[letter]
        if value is None or letter not in up:
            continue
        (shown,) = printed(text)
        assert shown >= exact(value) if up[letter] else shown <= exact(value)


def test_the_smallest_prior_does_not_crash():
    """Nothing overflows: neither the number, nor its sentence, nor a design for it."""
    column = pm.Column("a", pm.Role.KEY, pm.Categories(("p", "q")))
    asked = pm.PrivacyBreach(rho1=5e-324, rho2=0.5)
    plan = pm.design(pm.Schema((column,)), asked, records=100)

    assert plan.claims[0].holds
    assert "5e-322 %" in asked.sentence()
    assert math.isfinite(log_of(asked.gamma))
    assert pm.PrivacyBreach.of(plan.mechanism, rho1=5e-324).rho2 <= 0.5


# -- lists of values that were read off the data ---------------------------------------------------

READ_OFF = "It does not cover the list of values of b, which was read off the data."


def _read_off() -> tuple[pm.Schema, pa.Table]:
    """One key whose values are declared, and one whose are not."""
    declared = pm.Column("a", pm.Role.KEY, pm.Categories(("p", "q")), missing="refuse")
    table = pa.table({"a": ["p", "q"] * 50, "b": ["x", "y", "z", "z"] * 25})
    return pm.Schema((declared, pm.Column("b", pm.Role.KEY))), table


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
@pytest.mark.deep(every=2)
def test_what_compares_tables_says_which_lists_it_takes_as_public(method, tmp_path):
    """In plan, certificate, README, report and at verification; what fixes the table does not."""
    schema, table = _read_off()
    plan = pm.design(schema, pm.PkAnonymity(k=2), data=table, method=method)
    release = pm.protect(table, plan, to=tmp_path / "one")
    resting = {"differential-privacy", "privacy-breach", "shuffled-privacy"}
    said = {
        own["name"]: own["sentence"].endswith(READ_OFF)
        for own in release.certificate.to_json()["guarantees"]
    }

    assert resting <= said.keys()
    assert {name for name, told in said.items() if told} == resting
    for text in (str(plan), str(release.certificate), (tmp_path / "one" / "README.md").read_text()):
        assert " ".join(text.split()).count(READ_OFF) == len(resting)
    assert pm.report(release, external=True).html.count(READ_OFF) == len(resting)
    assert pm.verify(tmp_path / "one").valid


def test_lists_that_are_declared_are_not_spoken_of():
    """Nothing is added where nothing was read off."""
    schema, table = _read_off()
    plan = pm.design(
        pm.Schema(schema.columns[:1]),
        pm.PkAnonymity(k=2),
        data=table.select(["a"]),
        method="retention",
    )

    assert "as public" not in str(plan)


def test_a_certificate_without_those_words_does_not_load(tmp_path):
    """Its words follow from its schema, and are compared."""
    schema, table = _read_off()
    plan = pm.design(schema, pm.PkAnonymity(k=2), data=table, method="retention")
    pm.protect(table, plan, to=tmp_path / "one")
    place = tmp_path / "one" / "certificate.json"
    place.write_text(place.read_text().replace(f" {READ_OFF}", ""))

    assert not pm.verify(tmp_path / "one").valid


@pytest.mark.parametrize("kind", [pm.PkAnonymity, pm.DifferentialPrivacy])
def test_a_whole_number_is_written_alike_however_it_was_asked_for(kind, tmp_path):
    """The command line reads 3.0 and Python 3: with one seed both write the same certificate."""
    people = pa.table({"sex": [f"{at % 2}" for at in range(60)]})
    schema = pm.Schema((pm.Column("sex", pm.Role.KEY, pm.Categories(("0", "1"))),))
    for number in (3, 3.0):
        plan = pm.design(schema, kind(number), data=people, method="retention")
        pm.protect(people, plan, to=tmp_path / repr(number), seed=1)
    made = [(tmp_path / own / "certificate.json").read_bytes() for own in ("3", "3.0")]
    assert made[0] == made[1]
