"""Several releases of the same people, against enumeration of all of them."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidNumber, NotARelease
from pramana.guarantees.composition import Disclosure, Outline, TiedReleases, compose, tied_groups
from pramana.guarantees.shuffled_bound import BlanketLaw, delta_of
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet, Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.schema.origins import DataChoices

Row = tuple[Fraction, ...]
Channel = tuple[Row, ...]


def coin(ratio: int) -> Channel:
    """Right with ratio to 1."""
    right, wrong = Fraction(ratio, ratio + 1), Fraction(1, ratio + 1)
    return ((right, wrong), (wrong, right))


def mixture(size: int, ratio: int) -> Channel:
    total = ratio + size - 1
    return tuple(
        tuple(Fraction(ratio if x == y else 1, total) for y in range(size)) for x in range(size)
    )


def product(first: Channel, second: Channel) -> Channel:
    """Both releases of the same truth as one value."""
    return tuple(tuple(a * b for a in p for b in q) for p, q in zip(first, second, strict=True))


@cache
def shuffled(channel: Channel, truths: tuple[int, ...]) -> dict[tuple[int, ...], int]:
    """The exact law of the multiset that is released, as whole numbers over their sum."""
    scale = math.lcm(*(p.denominator for row in channel for p in row))
    rows = [[int(p * scale) for p in row] for row in channel]
    law: dict[tuple[int, ...], int] = {(): 1}
    for truth in truths:
        new: dict[tuple[int, ...], int] = {}
        for seen, chance in law.items():
            for value, p in enumerate(rows[truth]):
                key = tuple(sorted((*seen, value)))
                new[key] = new.get(key, 0) + chance * p
        law = new
    return law


def excess(one: dict, other: dict, factor: Fraction) -> Fraction:
    """The exact delta at exp(epsilon) = factor, of one law over another."""
    whole, up, down = sum(one.values()), factor.numerator, factor.denominator
    assert whole == sum(other.values())
    return Fraction(sum(max(down * one[y] - up * other[y], 0) for y in one), down * whole)


def neighbours(values: int, people: int):
    """Tables that differ in the first person's truth."""
    for rest in itertools.combinations_with_replacement(range(values), people - 1):
        for own, instead in itertools.permutations(range(values), 2):
            yield (own, *rest), (instead, *rest)


def both(first: dict, second: dict) -> dict:
    """Two releases that are shuffled apart."""
    return {(y, z): p * q for y, p in first.items() for z, q in second.items()}


CHANNELS = [(coin(2), coin(2)), (coin(3), coin(9)), (mixture(3, 4), mixture(3, 2))]
FACTORS = [Fraction(1), Fraction(9, 8), Fraction(3, 2), Fraction(3)]


@pytest.mark.parametrize(("p", "q"), CHANNELS)
@pytest.mark.parametrize("people", [2, 3, 4])
def test_apart_central_privacy_adds(p: Channel, q: Channel, people: int) -> None:
    """Every pair of neighbours, every pair of factors: factors multiply, deltas add, exactly."""
    for one, other in neighbours(len(p), people):
        laws = [(shuffled(c, one), shuffled(c, other)) for c in (p, q)]
        joint = both(laws[0][0], laws[1][0]), both(laws[0][1], laws[1][1])
        for e, f in itertools.product(FACTORS, repeat=2):
            added = excess(*laws[0], e) + excess(*laws[1], f)
            assert excess(*joint, e * f) <= added


@pytest.mark.parametrize(("p", "q"), CHANNELS)
@pytest.mark.parametrize("people", [2, 3, 4])
@pytest.mark.deep(every=5)
def test_tied_central_privacy_is_that_of_the_product(p: Channel, q: Channel, people: int) -> None:
    """The product of the laws is at or above the truth, and that above releases apart."""
    law = BlanketLaw.of_steps(BlanketLaw.of_mixture(len(c), c[0][0] / c[0][1]) for c in (p, q))
    tied = product(p, q)
    for one, other in neighbours(len(p), people):
        laws = shuffled(tied, one), shuffled(tied, other)
        apart = [both(shuffled(p, x), shuffled(q, x)) for x in (one, other)]
        for factor in (*FACTORS, Fraction(6)):
            truth = excess(*laws, factor)
            assert excess(*apart, factor) <= truth
            assert float(truth) <= delta_of(law, anonymity_set=people, epsilon=math.log(factor))


def posterior(channels: list[Channel], truths: tuple[int, ...], seen: list[tuple[int, ...]]):
    """Over all orders of all releases: P(the first person holds record r of each), exactly."""
    people = len(truths)
    weights: dict[tuple[int, ...], Fraction] = {}
    for orders in itertools.product(itertools.permutations(range(people)), repeat=len(channels)):
        weight = Fraction(1)
        for channel, order, values in zip(channels, orders, seen, strict=True):
            for person, place in enumerate(order):
                weight *= channel[truths[person]][values[place]]
        key = tuple(order[0] for order in orders)
        weights[key] = weights.get(key, Fraction(0)) + weight
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


@pytest.mark.parametrize("people", [2, 3])
def test_apart_each_keeps_its_k_and_both_multiply(people: int) -> None:
    """All tables and all releases: at most 1/k1, 1/k2, and 1/(k1 k2) for both, each reached."""
    p, q = coin(2), coin(3)
    k1, k2 = 1 + Fraction(people - 1, 4), 1 + Fraction(people - 1, 9)
    worst = [Fraction(0)] * 3
    for truths in itertools.product(range(2), repeat=people):
        for first in itertools.combinations_with_replacement(range(2), people):
            for second in itertools.combinations_with_replacement(range(2), people):
                found = posterior([p, q], truths, [first, second])
                for place in range(people):
                    alone = sum(v for key, v in found.items() if key[0] == place)
                    other = sum(v for key, v in found.items() if key[1] == place)
                    worst[0], worst[1] = max(worst[0], alone), max(worst[1], other)
                worst[2] = max(worst[2], *found.values())

    assert worst == [1 / k1, 1 / k2, 1 / (k1 * k2)]


@pytest.mark.parametrize("people", [2, 3, 4])
def test_tied_k_is_that_of_the_product(people: int) -> None:
    """One order for both: the worst posterior is exactly 1 / (1 + (n - 1) m1 m2)."""
    tied = product(coin(2), coin(3))
    worst = Fraction(0)
    for truths in itertools.product(range(2), repeat=people):
        for seen in itertools.combinations_with_replacement(range(4), people):
            worst = max(worst, *posterior([tied], truths, [seen]).values())

    assert worst == 1 / (1 + Fraction(people - 1, 4 * 9))
    assert float(1 / worst) == pytest.approx(outline(2).with_outline(outline(3)).k(people))


def outline(ratio: int, size: int = 2) -> Outline:
    return Outline(
        Fraction(ratio), Fraction(1, ratio**2), (((Fraction(1), size, Fraction(ratio)),),)
    )


def disclosure(
    *, kept: str = "", randomised: str = "sex", ratio: float = 20.0, records: int = 100_000, **other
) -> Disclosure:
    """A release of one randomised column a letter or word, and kept ones."""
    mechanism = Mechanism(
        tuple(
            Step((name,), UniformMixture.of(("f", "m"), epsilon=math.log(ratio)))
            for name in randomised.split()
        )
    )
    anonymity_set = other.pop("anonymity_set", records)
    central = ShuffledPrivacy.of(mechanism, anonymity_set=anonymity_set, delta=1e-6)
    names = frozenset(kept.split())
    known = other.pop("known", names)
    other.setdefault("rows", "the same table")
    other.setdefault("forms", dict.fromkeys(names, "as it is"))
    return Disclosure(
        method="retention",
        records=records,
        columns=names | set(randomised.split()),
        kept=names,
        keys=frozenset(randomised.split()),
        known=known,
        anonymity_set=anonymity_set,
        smallest_unchanged_group=anonymity_set,
        outline=Outline.of(mechanism),
        central=central,
        **other,
    )


def test_the_example_of_the_page() -> None:
    """100,000 people, epsilon = 3 twice: .091 apart; tied the truth is above .24, the law .324."""
    one = disclosure(ratio=math.exp(3))
    apart = compose([one, one])
    assert apart.rule == "apart"
    assert apart.central is not None
    assert apart.central.epsilon == pytest.approx(0.091, abs=0.001)
    assert apart.central.delta == pytest.approx(2e-6)

    tied = compose([disclosure(ratio=math.exp(3), kept="panel", known=frozenset())] * 2)
    assert tied.rule == "tied"
    assert tied.central is not None
    assert tied.central.epsilon == pytest.approx(0.324, abs=0.001)

    # A lower bound of the truth: all others say no; count who says yes twice.
    wrong = 1 / (math.exp(3) + 1)
    counts = np.arange(2_000)
    others = binom.pmf(counts, 99_999, wrong**2)
    more = np.concatenate([[0.0], others[:-1]])
    yes = (1 - wrong) ** 2 * more + (1 - (1 - wrong) ** 2) * others
    no = wrong**2 * more + (1 - wrong**2) * others

    def too_much(epsilon: float) -> float:
        return float(np.maximum(no - math.exp(epsilon) * yes, 0).sum()) - 2e-6

    least = brentq(too_much, 0.01, 1.0)
    assert apart.central.epsilon < 0.24 < least < tied.central.epsilon


def test_apart_never_above_one_shuffle_of_all() -> None:
    """With little information each, the product law is below the sum, and holds for both cases."""
    few = [disclosure(ratio=1.2)] * 8
    found = compose(few)

    assert found.central is not None
    added = sum(one.central.epsilon for one in few if one.central)
    assert found.central.epsilon < 0.6 * added
    assert found.k == few[0].outline.k(100_000)  # type: ignore[union-attr]


def test_local_epsilons_add_in_both_cases() -> None:
    """Before the shuffle nothing is apart."""
    for one in (disclosure(), disclosure(kept="town", anonymity_set=50)):
        assert compose([one] * 3).local == pytest.approx(3 * math.log(20))


def test_groups_of_tied_releases_are_apart() -> None:
    """town ties two, directly or where one of them hides it; the third is by itself."""
    shown = disclosure(kept="town", anonymity_set=40)
    hidden = disclosure(randomised="sex town")
    other = disclosure(randomised="age", ratio=3.0)

    assert tied_groups([shown, other, hidden]) == ((0, 2), (1,))
    found = compose([shown, other, hidden])
    assert found.tied_by == ("town",)
    assert found.k == pytest.approx(1 + 39 / 20**6)
    assert found.every == pytest.approx(found.k * (1 + 99_999 / 9))


def test_a_chain_of_ties_is_one_group() -> None:
    """Each is tied to the next one only."""
    chain = [disclosure(kept=names) for names in ("a b", "b c", "c d")]

    assert tied_groups(chain) == ((0, 1, 2),)
    assert compose(chain).k == 1  # nobody has counted who shares a, b, c and d


def test_other_numbers_of_records_leave_no_anonymity_set_where_tied() -> None:
    """Who is in both is then known to be, and nobody has counted them."""
    found = compose(
        [
            disclosure(kept="town", anonymity_set=50),
            disclosure(kept="town", anonymity_set=40, records=90_000),
        ]
    )

    assert found.k == 1
    assert found.central == ShuffledPrivacy(found.local, 0.0)


def finest(first: np.ndarray, second: np.ndarray) -> int:
    """The smallest group that two columns form together, counted."""
    return int(np.unique(np.stack([first, second]), axis=1, return_counts=True)[1].min())


AGREEING = {
    "the same table": {"rows": "table"},
    "the same beside numbers": {"rows": None, "owned": {"number": "rows"}},
}
DISAGREEING = {
    "a year later": {"rows": "later"},
    "coarsened": {"forms": {"town": "merged"}},
    "not said": {"rows": None, "forms": {}},
    "nobody's own": {"rows": None},
    "of others": {"rows": None, "owned": {"number": "others"}},
    "another number": {"rows": None, "owned": {"income": "rows"}},
    "two numbers disagree": {"rows": None, "owned": {"number": "rows", "income": "others"}},
}


@pytest.mark.parametrize("how", AGREEING)
def test_columns_of_one_name_are_one_where_they_are_known_to_agree(how: str) -> None:
    """The smaller anonymity set, for k and for the central epsilon."""
    one = disclosure(kept="town", anonymity_set=40, ratio=3.0, **AGREEING[how])
    found = compose([one, one])

    assert found.k == pytest.approx(1 + 39 / 81)
    assert not found.uncounted
    assert found.anonymity_set == 40


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("how", DISAGREEING)
def test_columns_of_one_name_that_may_differ_leave_no_anonymity_set(how: str, told: bool) -> None:
    """Two halves of four people each, cut otherwise: someone is alone in both, and found."""
    assert finest(np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 1, 1, 0, 0, 0, 1])) == 1
    owned = {"number": "rows", "income": "rows"}
    first = {"rows": "table", "owned": owned if "numbers" in how else {"number": "rows"}}
    second = first | {"owned": {}} | DISAGREEING[how]
    one = disclosure(kept="town", anonymity_set=4, records=8, ratio=3.0, **first)
    other = disclosure(kept="town", anonymity_set=4, records=8, ratio=3.0, **second)
    found = compose([one, other], same_people=told)

    assert found.rule == "tied"
    assert found.k == 1
    assert found.central == ShuffledPrivacy(found.local, 0.0)
    assert "anonymity set of 1" in " ".join(found.sentences())


# -- who exchanged what with whom: worlds of people, from the definitions -------------------------


@dataclass(frozen=True)
class Wave:
    """A true table of some people in one year; the place in a list is the person.

    Attributes:
        shown: by column, what everybody's record shows.
        own: by column, a value of everybody's that is never released.
        answers: what is randomised.
    """

    shown: dict[str, tuple[int, ...]]
    own: dict[str, tuple[int, ...]]
    answers: tuple[int, ...]

    @property
    def rows(self) -> list[tuple[int, ...]]:
        """Everybody's whole row."""
        return list(zip(*self.shown.values(), *self.own.values(), self.answers, strict=True))

    def disclosed(self) -> Disclosure:
        """By fingerprints that tell exactly which rows there are, and how often."""
        people, names = len(self.answers), sorted(self.shown)
        towns = list(zip(*(self.shown[name] for name in names), strict=True))
        anonymity_set = min(towns.count(one) for one in towns)
        return Disclosure(
            method="retention", records=people, columns=frozenset({"answer", *names}),
            kept=frozenset(names), keys=frozenset({"answer"}), known=frozenset(names),
            anonymity_set=anonymity_set, smallest_unchanged_group=anonymity_set, outline=outline(2),
            rows=str((names, sorted(self.own), sorted(self.rows))),
            forms={name: str(sorted(self.shown[name])) for name in names},
            owned={str(sorted(own)): str(sorted(zip(own, towns, strict=True)))
                   for own in self.own.values() if len(set(own)) == people},
        )  # fmt: skip


def known_histories(waves: Sequence[Wave]) -> list[tuple[object, ...]]:
    """What is known of everybody over the years: a table that has the same rows is the same."""
    first = waves[0]
    histories = []
    for wave in waves:
        same = (sorted(wave.rows), sorted(wave.shown)) == (sorted(first.rows), sorted(first.shown))
        seen = first if same else wave
        histories.append(list(zip(*seen.shown.values(), strict=True)))
    return list(zip(*histories, strict=True))


def waves_of(chance: random.Random) -> list[Wave]:
    """Two to four years of two to four people: some move, two exchange, some numbers are kept."""
    people = chance.randint(2, 4)
    numbers = {
        name: tuple(chance.sample(range(10, 90), people)) for name in ("one", "two", "three")
    }
    numbers["shared"] = tuple(chance.choice([10, 20]) for _ in range(people))
    town = tuple(chance.choice("ns") for _ in range(people))
    answers = tuple(chance.choice("yn") for _ in range(people))
    found = []
    for _ in range(chance.randint(2, 4)):
        how = chance.random()
        if how < 0.4:
            place, other = chance.sample(range(people), 2)
            moved = list(town)
            moved[place], moved[other] = moved[other], moved[place]
            town = tuple(moved)
        elif how < 0.5:
            town = tuple(chance.choice("ns") for _ in range(people))
        if chance.random() < 0.5:
            answers = tuple(chance.choice("yn") for _ in range(people))
        kept = chance.sample(sorted(numbers), chance.randint(0, 2))
        found.append(Wave({"town": town}, {name: numbers[name] for name in kept}, answers))
    return found


def anonymity_set_of(releases: Sequence[Disclosure]) -> int:
    """Of all of them, which are tied."""
    assert tied_groups(releases) == (tuple(range(len(releases))),)
    found = TiedReleases(tuple(releases))
    assert found.anonymity_set == found.smallest_unchanged_group
    return found.anonymity_set


def test_no_exchange_of_people_goes_unseen() -> None:
    """3,000 worlds of up to four people and years: the anonymity set is never above who shares a
    history.

    In other orders of the releases it is the same; and where something says that nobody moved, it
    is found often enough.
    """
    chance = random.Random(16)
    alike = 0
    for _ in range(3_000):
        waves = waves_of(chance)
        histories = known_histories(waves)
        releases = [wave.disclosed() for wave in waves]
        anonymity_set = anonymity_set_of(releases)
        assert anonymity_set <= min(histories.count(own) for own in histories)
        assert (
            anonymity_set_of(releases[::-1])
            == anonymity_set_of(releases[1:] + releases[:1])
            == anonymity_set
        )
        alike += anonymity_set > 1

    assert alike > 100


def test_numbers_of_two_kinds_connect_three_years() -> None:
    """The first and second share one, the second and third another one: each step is proved."""
    town, answers = ("n", "n", "s", "s"), ("y", "n", "y", "n")
    one, two = {"one": (13, 52, 11, 70)}, {"two": (31, 30, 77, 29)}
    years = [Wave({"town": town}, own, answers) for own in (one, one | two, two)]
    for order in itertools.permutations(years):
        assert anonymity_set_of([wave.disclosed() for wave in order]) == 2
    for moved in (("s", "n", "n", "s"), ("n", "s", "s", "n")):
        for place in range(3):
            changed = [*years]
            changed[place] = replace(years[place], shown={"town": moved})
            for order in itertools.permutations(changed):
                assert anonymity_set_of([wave.disclosed() for wave in order]) == 1


def test_whoever_exchanged_is_found_for_certain() -> None:
    """Three people, two of whom exchanged towns; all releases and orders, records tied in pairs."""
    p, q = coin(2), coin(3)
    towns = [("n", "n", "s"), ("s", "n", "n")]
    answers = (0, 1, 1)
    worst = Fraction(0)
    for seen in itertools.product(itertools.product(range(2), repeat=2), repeat=3):
        weights: dict[int, Fraction] = {}
        for order in itertools.permutations(range(3)):  # whose the three pairs of records are
            fits = all(own[at] == own[person] for own in towns for at, person in enumerate(order))
            chance = Fraction(int(fits))
            for (first, second), person in zip(seen, order, strict=True):
                chance *= p[answers[person]][first] * q[answers[person]][second]
            weights[order[0]] = weights.get(order[0], Fraction(0)) + chance
        worst = max(worst, weights[0] / sum(weights.values()))

    assert worst == 1
    one, other = (Wave({"town": town}, {}, answers).disclosed() for town in towns)
    assert compose([one, other]).k == 1


def test_what_is_hidden_by_one_and_randomised_by_the_other_ties() -> None:
    """An income here, a randomised tax there that goes with it: k of the first is not kept.

    Two people. The first release shows incomes and tells the sexes half and half; the second one
    randomises sex and tax. Whoever holds income and tax to go together finds whose income it is.
    """
    sexes, half, nearly = (0, 1), Fraction(1, 2), coin(9)
    worst = Fraction(0)
    for seen in itertools.product(itertools.product(range(2), repeat=2), repeat=2):
        weights = [
            sum(
                math.prod(
                    nearly[sexes[person]][sex] * nearly[taxes[person]][tax]
                    for person, (sex, tax) in zip(order, seen, strict=True)
                )
                for order in itertools.permutations(range(2))
            )
            for taxes in ((0, 1), (1, 0))  # whose the income 0 is, and so the tax 0
        ]
        worst = max(worst, half * weights[0] / (half * sum(weights)))
    assert worst > half  # where k = 2 is what the first one has alone

    shows = disclosure(kept="income", known=frozenset(), ratio=1.0, records=2)
    hides = disclosure(randomised="sex tax", ratio=9.0, records=2, veiled=frozenset({"tax"}))
    for order in ([shows, hides], [hides, shows]):
        found = compose(order)
        assert found.rule == "tied"
        assert found.tied_by == ("income",)
        assert found.k <= 1 / worst
    assert compose([shows, replace(hides, veiled=frozenset())]).rule == "apart"
    assert compose([replace(hides, veiled=hides.keys)] * 2).rule == "apart"


def test_what_only_some_show_needs_the_same_people() -> None:
    """One shows nothing: who is in it must be known, by rows or because somebody says so."""
    shown = disclosure(kept="town", anonymity_set=40, rows=None)
    hidden = disclosure(randomised="sex town", rows=None)

    assert compose([shown, hidden]).k == 1
    assert compose([shown, hidden], same_people=True).k > 1


def test_lists_that_were_read_off_the_data_are_said_to_be_public() -> None:
    """In the sentence of the epsilon, wherever several are put together."""
    found = compose(
        [
            disclosure(choices=DataChoices(("sex",))),
            disclosure(randomised="age", choices=DataChoices(("age",))),
        ]
    )

    assert (
        "does not cover the lists of values of sex, age, which were read off the data"
        in " ".join(found.sentences())
    )
    assert "public" not in " ".join(compose([disclosure()]).sentences())


def test_what_no_rule_covers_is_said() -> None:
    """Groups, matrices made from the data, seeds."""
    one = disclosure()
    grouped = replace(one, outline=None, method="resample", alone=5.0, central=None)
    assert compose([grouped]).k == 5
    found = compose([one, grouped])
    assert found.rule == "none"
    assert found.k is found.central is None
    assert "resample publishes no matrices" in found.sentences()[-1]

    seen = compose([one, replace(one, data_dependent=True, central=None)])
    assert seen.k == compose([one, one]).k
    assert seen.central is None
    assert "made from the data" in seen.sentences()[-1]

    assert compose([replace(one, seeded=True)]).k is None
    with pytest.raises(InvalidNumber, match="at least one"):
        compose([])


@pytest.mark.parametrize(
    "mechanism",
    [
        Mechanism((Step(("a",), UniformMixture.of(("x", "y", "z"), retention=0.3)),)),
        Mechanism((Step(("a",), Dense.of(("x", "y"), [[0.8, 0.2], [0.4, 0.6]])),)),
        Mechanism((Step(("a",), UniformMixture.of(("x", "y"), retention=1.0)),)),
        AttributeSampler(
            (
                AttributeSet(("a",), TOTAL // 4, UniformMixture.of(("x", "y"), retention=0.5)),
                AttributeSet(("b",), 3 * (TOTAL // 4), UniformMixture.of((1, 2, 3), retention=0.4)),
            )
        ),
    ],
    ids=["mixture", "dense", "as it is", "attribute-sampling"],
)
def test_an_outline_is_what_the_mechanism_promises(mechanism: Mechanism) -> None:
    """The same numbers alone, also when read back; never below what is computed from all pairs."""
    found = Outline.from_json(Outline.of(mechanism).to_json())

    assert found == Outline.of(mechanism)
    assert found.swap == mechanism.anonymity_ratio
    if found.gamma is None:
        assert found.local_epsilon == math.inf
        assert found.central(anonymity_set=1_000, delta=1e-6).epsilon == math.inf
        return
    exact = ShuffledPrivacy.of(mechanism, anonymity_set=1_000, delta=1e-6)
    assert exact.epsilon <= found.central(anonymity_set=1_000, delta=1e-6).epsilon * (1 + 1e-3)
    assert found.central(anonymity_set=1_000, delta=1e-6).epsilon <= 1.5 * exact.epsilon


def test_an_outline_that_is_none_is_refused() -> None:
    """One line."""
    with pytest.raises(NotARelease, match="gamma, swap and steps"):
        Outline.from_json({"gamma": "1/0", "swap": "1", "steps": []})


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["", "town", "job"]), st.sampled_from([2.0, 20.0])),
        min_size=1,
        max_size=4,
    )
)
@pytest.mark.deep
def test_one_more_release_never_promises_more(given: list[tuple[str, float]]) -> None:
    """A law: k falls or stays, epsilons grow or stay, at the same delta."""
    releases = [disclosure(kept=kept, ratio=ratio, anonymity_set=500) for kept, ratio in given]
    before, after = compose(releases[:1]), compose(releases)

    assert after.k <= before.k  # type: ignore[operator]
    assert after.local >= before.local
    first, delta = releases[0], after.central.delta  # type: ignore[union-attr]
    alone = first.outline.central(  # type: ignore[union-attr]
        anonymity_set=first.smallest_unchanged_group, delta=delta
    )
    assert after.central.epsilon >= alone.epsilon * (1 - 1e-3)  # type: ignore[union-attr]


def test_what_is_disclosed_is_read_back() -> None:
    """For a file that keeps it."""
    one = disclosure(
        kept="town", anonymity_set=12, owned={"number": "rows"}, choices=DataChoices(("sex",))
    )

    assert Disclosure.from_json(one.to_json()) == one
