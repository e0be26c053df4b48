"""The guarantee of rounds that are shuffled each by itself, from the definition."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import pytest
from tests.guarantees.test_composition import excess, posterior, shuffled

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidMatrix
from pramana.guarantees.claims import guarantee_from_json
from pramana.guarantees.composition import Disclosure, Outline, compose
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy, central_epsilon
from pramana.mechanisms.mechanism import AttributeSet, ShuffledRounds, UniformMixture
from pramana.methods.shuffled_marginals import gaussian_variance

VALUES = {"a": ("x", "y"), "b": ("u", "v")}
RECORDS = list(itertools.product(*VALUES.values()))
DELTAS = (1e-3, 0.01, 0.05, 0.2)


def rounds_of(**ratios: float) -> ShuffledRounds:
    """Rounds by their columns, such as a=3 and ab=5."""
    sets = []
    for columns, ratio in ratios.items():
        cells = list(itertools.product(*(VALUES[name] for name in columns)))
        labels = tuple(cells) if len(columns) > 1 else tuple(cell[0] for cell in cells)
        sets.append(AttributeSet(tuple(columns), TOTAL, UniformMixture.of(labels, gamma=ratio)))
    return ShuffledRounds(sets=tuple(sets))


CASES = [rounds_of(a=3, b=2), rounds_of(a=2, ab=4), rounds_of(a=2, b=3, ab=1.5)]


def channel_of(one: AttributeSet) -> tuple[tuple[Fraction, ...], ...]:
    """The matrix as exact fractions."""
    labels = one.matrix.labels
    return tuple(tuple(one.matrix.probability(x, y) for y in labels) for x in labels)


def seen_in(one: AttributeSet, record: tuple[str, ...]) -> int:
    """The cell of a record in a round."""
    places = [list(VALUES).index(name) for name in one.columns]
    cell = tuple(record[at] for at in places)
    return one.matrix.labels.index(cell if len(cell) > 1 else cell[0])


def law_of(mechanism: ShuffledRounds, table) -> dict:
    """The exact law of the histograms of all rounds."""
    parts = [
        shuffled(channel_of(one), tuple(sorted(seen_in(one, record) for record in table)))
        for one in mechanism.sets
    ]
    law = {(): 1}
    for part in parts:
        law = {(*seen, own): p * q for seen, p in law.items() for own, q in part.items()}
    return law


@pytest.mark.parametrize("mechanism", CASES, ids=["a, b", "a, ab", "a, b, ab"])
@pytest.mark.parametrize("people", [2, 3, 4])
def test_no_exact_delta_is_above_the_composed_one(mechanism: ShuffledRounds, people: int) -> None:
    """All neighbours of whole records, all outcomes of all rounds, as whole numbers."""
    if people == 4 and len(mechanism.sets) == 3:
        people = 3  # four would take a minute
    stated = [ShuffledPrivacy.of(mechanism, anonymity_set=people, delta=d) for d in DELTAS]
    for rest in itertools.combinations_with_replacement(RECORDS, people - 1):
        for own, instead in itertools.permutations(RECORDS, 2):
            laws = law_of(mechanism, (own, *rest)), law_of(mechanism, (instead, *rest))
            for one in stated:
                assert excess(*laws, Fraction(math.exp(one.epsilon))) <= one.delta


@pytest.mark.parametrize("mechanism", CASES, ids=["a, b", "a, ab", "a, b, ab"])
def test_the_local_epsilon_is_the_sum_over_rounds_and_is_reached(mechanism) -> None:
    """What one person answers in all rounds, before any shuffle."""
    worst = Fraction(1)
    for own, instead in itertools.permutations(RECORDS, 2):
        ratio = Fraction(1)
        for one in mechanism.sets:
            rows = channel_of(one)[seen_in(one, own)], channel_of(one)[seen_in(one, instead)]
            ratio *= max(p / q for p, q in zip(*rows, strict=True))
        worst = max(worst, ratio)
    assert worst == mechanism.gamma
    assert DifferentialPrivacy.of(mechanism).epsilon >= math.log(worst)


@pytest.mark.parametrize("people", [2, 3])
def test_no_answer_is_linked_beyond_one_in_k(people: int) -> None:
    """Over all tables, all outcomes and all orders of both rounds; and it is reached."""
    mechanism = CASES[0]
    k = PkAnonymity.of(mechanism, anonymity_set=people).k
    channels, worst = [channel_of(one) for one in mechanism.sets], 0.0
    for table in itertools.product(range(2), repeat=people):
        outcomes = list(itertools.combinations_with_replacement(range(2), people))
        for seen in itertools.product(outcomes, repeat=2):
            found = posterior(channels, table, list(seen))
            for one, place in itertools.product(range(2), range(people)):
                linked = sum(float(v) for key, v in found.items() if key[one] == place)
                worst = max(worst, linked)
    assert worst == pytest.approx(1 / k)
    assert worst <= 1 / k * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.deep(every=3)
def test_many_records_come_to_the_gaussian_limit(epsilon: float) -> None:
    """Twelve rounds of a budget for Gaussian noise: within 3 % of its epsilon, and above."""
    people, delta, rounds = 200_000, 1e-6, 12
    own = gaussian_variance(epsilon, delta) * people / rounds
    sets = []
    for place in range(rounds):
        labels = tuple(range(3 + 5 * place))
        gamma = 1 + own / 4 + math.sqrt(own**2 / 16 + own * len(labels) / 2)
        matrix = UniformMixture.of(labels, gamma=gamma)
        sets.append(AttributeSet((f"c{place}",), TOTAL, matrix))
    found = ShuffledPrivacy.of(ShuffledRounds(sets=tuple(sets)), anonymity_set=people, delta=delta)
    assert 0.999 * epsilon <= found.epsilon <= 1.03 * epsilon


def test_one_round_more_costs_more_and_what_holds_is_found_again() -> None:
    """A law; and a number in a certificate is confirmed by itself."""
    fewer, more = (
        ShuffledPrivacy.of(case, anonymity_set=500, delta=1e-6) for case in (CASES[0], CASES[2])
    )
    assert 0 < fewer.epsilon < more.epsilon
    stated = ShuffledPrivacy(fewer.epsilon * 1.0001, 1e-6)
    again = ShuffledPrivacy.of(CASES[0], anonymity_set=500, delta=1e-6, most=stated.epsilon)
    assert again.epsilon <= stated.epsilon
    assert guarantee_from_json("shuffled-privacy", fewer.to_json()) == fewer


def test_every_record_is_asked_in_every_round() -> None:
    """Other weights are those of attribute sampling."""
    half = AttributeSet(("a",), TOTAL // 2, UniformMixture.of(VALUES["a"], gamma=2))
    for sets in ((half, half), ()):
        with pytest.raises(InvalidMatrix):
            ShuffledRounds(sets=sets)


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_the_outline_of_rounds_promises_no_more_than_the_rounds(rounds):
    """What a ledger composes is never below the exact number of the rounds themselves."""
    sets = tuple(
        AttributeSet((f"c{at}",), TOTAL, UniformMixture.of(("x", "y", "z"), gamma=3))
        for at in range(rounds)
    )
    mechanism = ShuffledRounds(sets)
    own = central_epsilon(mechanism, anonymity_set=1000, delta=1e-6)
    outline = Outline.of(mechanism)
    assert outline.gamma == mechanism.gamma
    assert outline.central(anonymity_set=1000, delta=1e-6).epsilon >= 0.99 * own
    twice = outline.with_outline(outline).central(anonymity_set=1000, delta=1e-6).epsilon
    assert twice > outline.central(anonymity_set=1000, delta=1e-6).epsilon


def disclosed(mechanism: ShuffledRounds, people: int, delta: float) -> Disclosure:
    """A release of rounds as a ledger has it."""
    columns = frozenset(name for one in mechanism.sets for name in one.columns)
    nothing = frozenset[str]()
    return Disclosure(
        method="shuffled-marginals",
        records=people,
        columns=columns,
        kept=nothing,
        keys=columns,
        known=nothing,
        anonymity_set=people,
        smallest_unchanged_group=people,
        outline=Outline.of(mechanism),
        central=ShuffledPrivacy.of(mechanism, anonymity_set=people, delta=delta),
    )


@pytest.mark.parametrize("delta", [0.005, 0.05, 0.1])
@pytest.mark.parametrize("people", [2, 3])
def test_no_exact_delta_of_two_releases_is_above_the_composed_one(people: int, delta: float):
    """All neighbours and all outcomes of all four rounds of two releases."""
    pair = CASES[0], CASES[1]
    stated = compose([disclosed(own, people, delta) for own in pair]).central
    assert stated is not None
    assert stated.delta is not None
    for rest in itertools.combinations_with_replacement(RECORDS, people - 1):
        for own, instead in itertools.permutations(RECORDS, 2):
            first, second = (
                {
                    (*a, *b): p * q
                    for a, p in law_of(pair[0], (person, *rest)).items()
                    for b, q in law_of(pair[1], (person, *rest)).items()
                }
                for person in (own, instead)
            )
            assert excess(first, second, Fraction(math.exp(stated.epsilon))) <= stated.delta


def test_rounds_of_several_releases_compose_as_gaussian_noise_does():
    """Four releases of epsilon 1 need 2 and not 4; a ledger keeps what it needs for that."""
    people, sizes = 5_000, range(2, 8)
    budget = gaussian_variance(1.0, 1e-6) * people / len(sizes)
    sets = []
    for place, size in enumerate(sizes):
        gamma = 1 + budget / 4 + math.sqrt(budget**2 / 16 + budget * size / 2)
        matrix = UniformMixture.of(tuple(range(size)), gamma=gamma)
        sets.append(AttributeSet((f"c{place}",), TOTAL, matrix))
    one = disclosed(ShuffledRounds(sets=tuple(sets)), people, 1e-6)
    again = Disclosure.from_json(json.loads(json.dumps(one.to_json())))
    together = compose([again] * 4)
    variance = 4 * gaussian_variance(one.central.epsilon, 1e-6)

    assert gaussian_variance(together.central.epsilon, 4e-6) == pytest.approx(variance, rel=0.03)
    assert together.central.epsilon < 0.52 * 4 * one.central.epsilon


def test_tied_rounds_count_every_round_of_a_person():
    """Whoever ties a release to others may tie its rounds: each adds its ratio to the swap."""
    outline = Outline.of(CASES[2])
    ratios = [Fraction(one.matrix.gamma) for one in CASES[2].sets]
    assert outline.with_outline(outline).swap == math.prod(1 / ratio**4 for ratio in ratios)
