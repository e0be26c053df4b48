"""Households: promises by brute force over all pairings, risks as in sdcMicro, and refusals."""

from __future__ import annotations

import html
import itertools
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.guarantees.toy_surprise import Surprise

import pramana as pm
from pramana.errors import Infeasible, InvalidSchema
from pramana.guarantees.claims import household_scope, household_words
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.base import METHODS
from pramana.risk.frequencies import HouseholdRisk
from pramana.schema.schema import Schema

HOMES = [(0, 0), (0, 0, 1), (0, 0, 1, 1), (0, 0, 0, 1)]


def chance_of(matrix, truth, released):
    """P[truth -> released] of one record."""
    return matrix.probability(truth, released)


def household_posteriors(matrix, truths, homes):
    """Over all released tables and records: the probability that a record is of household 0.

    Every pairing of people and places is equally likely: summed over all of them.
    """
    n = len(truths)
    for released in itertools.product(matrix.labels, repeat=n):
        total, own = Fraction(0), [Fraction(0)] * n
        for order in itertools.permutations(range(n)):
            weight = Fraction(1)
            for place, person in enumerate(order):
                weight *= chance_of(matrix, truths[person], released[place])
            total += weight
            for place, person in enumerate(order):
                if homes[person] == 0:
                    own[place] += weight
        if total:
            yield max(part / total for part in own)


@pytest.mark.parametrize("homes", HOMES)
@pytest.mark.parametrize("retention", [0.1, 0.4])
def test_k_for_households_by_brute_force(homes, retention):
    """No released record is of a household's people beyond 1 in k / m, for every true table."""
    matrix = UniformMixture.of(("a", "b"), retention=retention)
    k = pm.PkAnonymity.of(matrix, anonymity_set=len(homes))
    bound = k.household(homes.count(0))["k"]

    for truths in itertools.product("ab", repeat=len(homes)):
        for posterior in household_posteriors(matrix, truths, homes):
            assert posterior <= Fraction(1) / Fraction(bound)


def test_the_bound_is_reached_where_all_are_alike():
    """Equal records: a household of two among four has one in two, k / m = 4 / 2."""
    matrix = UniformMixture.of(("a", "b"), retention=0.0)

    worst = max(household_posteriors(matrix, "aaaa", (0, 0, 1, 1)))

    assert worst == Fraction(1, 2)
    assert pm.PkAnonymity.of(matrix, anonymity_set=4).household(2) == {"k": 2.0}


@pytest.mark.parametrize("members", [1, 2, 3])
def test_epsilon_of_a_household_by_brute_force(members):
    """The largest ratio of the law of m records is e^(m eps), exactly that."""
    matrix = UniformMixture.of(("a", "b", "c"), retention=0.5)
    one = pm.DifferentialPrivacy.of(matrix)
    worst = Fraction(0)
    for first, second in itertools.product(itertools.product("abc", repeat=members), repeat=2):
        for seen in itertools.product("abc", repeat=members):
            up, down = Fraction(1), Fraction(1)
            for a, b, s in zip(first, second, seen, strict=True):
                up *= chance_of(matrix, a, s)
                down *= chance_of(matrix, b, s)
            worst = max(worst, up / down)

    assert np.log(float(worst)) == pytest.approx(one.household(members)["epsilon"])


def central_delta(matrix, one, other, epsilon):
    """Of the shuffled release of two tables: the sum of what exceeds e^eps, by counting."""
    law = []
    for truths in (one, other):
        found = {}
        for released in itertools.product(matrix.labels, repeat=len(truths)):
            weight = 1.0
            for truth, seen in zip(truths, released, strict=True):
                weight *= float(chance_of(matrix, truth, seen))
            key = tuple(sorted(released))
            found[key] = found.get(key, 0.0) + weight
        law.append(found)
    return sum(max(law[0][key] - np.exp(epsilon) * law[1][key], 0.0) for key in law[0])


def test_central_privacy_of_households_by_brute_force():
    """Two of four people exchanged: delta at 2 eps is within that of the proof."""
    matrix = UniformMixture.of(("a", "b"), retention=0.3)
    tables = list(itertools.product("ab", repeat=4))
    for epsilon in (0.1, 0.3):
        single = max(
            central_delta(matrix, one, other, epsilon)
            for one in tables
            for other in tables
            if sum(a != b for a, b in zip(one, other, strict=True)) == 1
        )
        double = max(
            central_delta(matrix, one, other, 2 * epsilon)
            for one in tables
            for other in tables
            if one[2:] == other[2:]
        )
        assert double <= pm.ShuffledPrivacy(epsilon, single).household(2)["delta"] + 1e-12


@pytest.mark.parametrize("epsilon", [0.0, 6.0, 200.0, 1e307])
def test_numbers_of_households_have_no_end_where_they_break(epsilon):
    """No delta stays none, exactly; one that grows beyond all numbers is 1; epsilons add."""
    none, some = (pm.ShuffledPrivacy(epsilon, d).household(130) for d in (0.0, 1e-6))

    assert none == {"epsilon": 130 * epsilon, "delta": 0.0}
    assert some["delta"] == (1.0 if epsilon else pytest.approx(130e-6))
    assert some["delta"] >= 130 * Fraction(1e-6) or some["delta"] == 1
    assert pm.DifferentialPrivacy(epsilon).household(130) == {"epsilon": 130 * epsilon}
    assert pm.ShuffledPrivacy(epsilon, 1e-6).household(1)["delta"] == 1e-6


def test_without_a_bound_for_a_person_there_is_none_for_a_household():
    """Nothing is promised, so that nothing is said."""
    for nothing in (pm.ShuffledPrivacy(math.inf, 0.0), pm.DifferentialPrivacy(math.inf),
                    pm.PkAnonymity(1), pm.KAnonymity(1), pm.PrivacyBreach(0.1, 1.0)):  # fmt: skip
        assert nothing.household(3) == {}
        assert household_words(nothing, (2, 4)) == ""


def test_risk_of_households_is_that_of_sdcmicro():
    """1 - prod (1 - r), written out; a certain member makes a certain household."""
    homes = np.array([7, 7, 3, 3, 3, 9])
    risk = np.array([0.5, 0.25, 0.1, 0.2, 0.0, 1.0])

    found = HouseholdRisk.of("hh", homes, risk)

    first, second = 1 - 0.5 * 0.75, 1 - 0.9 * 0.8
    assert found.households == 3
    assert found.largest == 3
    assert found.expected == pytest.approx(first + second + 1)
    assert found.people == pytest.approx(2 * first + 3 * second + 1)
    assert found.highest == 1.0


def people(homes=120, seed=2):
    """Households of one to four; region and tenure are theirs, sex and age each one's own."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 5, homes)
    home = np.repeat(np.arange(homes), sizes)
    return pa.table(
        {
            "hhid": [f"h{h}" for h in home],
            "region": generator.choice(["north", "south"], homes)[home],
            "sex": generator.choice(["F", "M"], len(home)),
            "tenure": generator.choice(["own", "rent"], homes)[home],
            "work": generator.choice(["no", "yes"], len(home)),
            "mood": generator.choice(["good", "bad"], len(home)),
        }
    )


SCHEMA = """
household = "hhid"
[columns.region]
role = "public"
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.work]
role = "key"
categories = ["no", "yes"]
[columns.tenure]
role = "public"
[columns.mood]
role = "sensitive"
"""


@pytest.mark.parametrize(("members", "rho1"), [(1, 0.1), (2, 0.25), (3, 0.02)])
def test_a_breach_of_a_household_by_brute_force(members, rho1):
    """Of all beliefs about the people of a household together, one reaches rho2, and none beyond.

    A fact is a set of true values; the belief that puts rho1 on one value of it and the rest on
    another one is the worst [Dowd, Sec. 5.1], so that all pairs of values are all beliefs.
    """
    matrix = UniformMixture.of(("a", "b", "c"), retention=0.5)
    one = pm.PrivacyBreach.of(matrix, rho1=rho1)
    worst, prior = Fraction(0), Fraction(rho1)
    tables = list(itertools.product("abc", repeat=members))
    for fact, other, seen in itertools.product(tables, repeat=3):
        likely, unlikely = (
            math.prod((chance_of(matrix, t, s) for t, s in zip(own, seen, strict=True)), start=part)
            for own, part in ((fact, prior), (other, 1 - prior))
        )
        worst = max(worst, likely / (likely + unlikely))

    found = one.household(members)
    assert found["rho1"] == rho1
    assert worst <= Fraction(found["rho2"])
    assert float(worst) == pytest.approx(found["rho2"], rel=1e-8)


def test_who_searches_for_each_of_a_household_is_right_no_more_often_than_promised():
    """Two people, one value each, three records: all releases and all picks, weighed."""
    matrix = UniformMixture.of(("a", "b"), retention=0.2)
    for truths in itertools.product("ab", repeat=3):
        counts = {label: truths.count(label) for label in "ab"}
        xi = pm.CorrectMatch.of(matrix, counts)
        right = Fraction(0)
        for released in itertools.product("ab", repeat=3):  # record i is of person i
            weight = math.prod(map(matrix.probability, truths, released), start=Fraction(1))
            miss = Fraction(1)  # picks apart; together they are right about one or more less often
            for person in (0, 1):
                same = [at for at in range(3) if released[at] == truths[person]]
                miss *= 1 - (Fraction(1, len(same)) if person in same else 0)
            right += weight * (1 - miss)
        assert right <= Fraction(xi.household(2)["xi"])


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("retention", pm.PkAnonymity(5)),
        ("attribute-sampling", pm.PkAnonymity(5)),
        ("optimal", pm.SpontaneousRecognition(0.2, width=2)),
        ("inverse-frequency", pm.CorrectMatch(0.3)),
        (pm.Invariant(stay=0.7), None),
        ("resample", pm.KAnonymity(5)),
        ("permute", pm.KAnonymity(5)),
        ("centroid", pm.KAnonymity(5)),
    ],
)
@pytest.mark.deep(every=4)
def test_every_method_drops_the_number_and_says_what_it_promises(tmp_path, method, target):
    """The number is in no release; design, certificate, README and report tell of households."""
    asked = [] if target is None else [target]
    plan = pm.design(Schema.from_toml(SCHEMA), *asked, data=people(), method=method)
    release = pm.protect(people(), plan, to=tmp_path / "release", seed=1)

    assert "hhid" not in release.table.column_names
    certificate = release.certificate
    assert certificate.schema.household is None
    assert certificate.households
    for claim in plan.claims:
        numbers = claim.attained.household(4)
        told = [f"{own} = {text}" for own, text in claim.attained.as_text(numbers).items()]
        end = f", that is {' and '.join(told)} for 4 members." if numbers else "linked to a person."
        if numbers and "k" in numbers:
            alone = math.ceil(claim.attained.k)
            end += f" Households of {alone} and more: no protection (k = 1)."
        assert plan.promise(claim).endswith(end)
    scope = household_scope(plan.schema)
    assert scope in plan.notices
    assert "values of mood that members share" in scope
    document = pm.report(tmp_path / "release").html
    text = html.unescape(re.sub(r"<[^>]+>", "", document)).replace("\xa0", " ")
    for words in (*map(certificate.promise, certificate.claims), scope):
        assert words in certificate.sentences()
        assert words in (tmp_path / "release" / "README.md").read_text()
        assert words in text
    verdict = pm.verify(tmp_path / "release")
    assert verdict
    assert "households" in {check.name for check in verdict.of_state("asserted")}


def test_a_promise_from_outside_that_knows_no_households_says_so():
    """It has no number for them, and none is made up."""
    own = Surprise(3.0)

    assert own.household(2) is None
    assert "no number for a household follows" in household_words(own, (2, 4))


def test_what_people_of_a_household_have_alike_is_taken_as_known():
    """Four households of four, two of a tenure: who knows who lives with whom finds a record more
    often than 1 in k of all, by counting; of those of the tenure it is 1 in k. So tenure is
    refused as a sensitive column, and taken as one that may be known."""
    matrix = UniformMixture.of(("a", "b"), retention=0.4)
    p, homes, members = matrix.probability("a", "a"), 4, 4
    zeros = (1, 0, 4, 4)  # how many of each household have an "a"; the first person has

    def pairings(size, of_a, seen_a):
        """The weight of all pairings of so many people and records, those with an a and seen."""
        return sum(
            math.comb(of_a, both) * math.comb(size - of_a, seen_a - both)
            * math.factorial(seen_a) * math.factorial(size - seen_a)
            * p ** (stay := both + size - seen_a - (of_a - both)) * (1 - p) ** (size - stay)
            for both in range(max(0, seen_a - size + of_a), min(of_a, seen_a) + 1)
        )  # fmt: skip

    total = first = Fraction(0)
    for renting in itertools.combinations(range(homes), 2):  # 1 of 8 seen as a; of the others all
        own, size = sum(zeros[h] for h in renting), 2 * members
        rest = pairings(size, sum(zeros) - own, size)
        total += rest * pairings(size, own, 1)
        if 0 in renting:  # the first person is that one
            first += rest * p * pairings(size - 1, own - 1, 0)
    found = first / total
    assert found > Fraction(2, 5) > 1 / Fraction(pm.PkAnonymity.of(matrix, anonymity_set=16).k)
    assert found <= 1 / Fraction(pm.PkAnonymity.of(matrix, anonymity_set=8).k)

    sensitive = SCHEMA.replace('tenure]\nrole = "public"', 'tenure]\nrole = "sensitive"')
    for method, target in (("retention", pm.PkAnonymity(3)), ("resample", pm.KAnonymity(3))):
        with pytest.raises(Infeasible, match="'tenure': equal .* and sensitive.*role public"):
            pm.design(Schema.from_toml(sensitive), target, data=people(), method=method)
    known = pm.design(Schema.from_toml(SCHEMA), pm.PkAnonymity(3), data=people())
    assert known.anonymity_set == smallest_together()


def test_a_value_of_the_household_would_break_k_of_groups_too():
    """Two households in each pair of three groups of four, one value each: 1 in 2, and not in 4."""
    lives = [(0, 1), (0, 1), (0, 2), (0, 2), (1, 2), (1, 2)]  # the groups of both members
    held = ["xxyy", "xxzz", "yyzz"]  # what is released of each group

    def fits(values):
        inside = ["".join(sorted(v for v, at in zip(values, lives, strict=True) if g in at))
                  for g in range(3)]  # fmt: skip
        return inside == held

    possible = [values for values in itertools.product("xyz", repeat=6) if fits(values)]
    assert {values[0] for values in possible} == {"x"}  # one of two records of the first group
    assert Fraction(1, held[0].count("x")) == Fraction(1, 2) > Fraction(1, len(held[0]))


def smallest_together():
    """How few people share what may be known of their household."""
    together = people().group_by(["region", "tenure"]).aggregate([([], "count_all")])
    return min(together["count_all"].to_pylist())


def test_the_crossing_forgets_no_method():
    """Matrices of one's own go the way of retention; gaussian takes numbers, as resample does."""
    crossed = {
        "retention",
        "attribute-sampling",
        "optimal",
        "inverse-frequency",
        "invariant",
        "resample",
    }
    crossed |= {"permute", "centroid"}
    crossed |= {
        "shuffled-marginals"
    }  # refuses what would stand beside an answer: test_shuffled_rounds.py
    assert set(METHODS) == crossed | {"matrix", "matrix-from-data", "gaussian"}


def test_a_column_that_numbers_households_again_is_refused():
    """A household's own income on each of its records; rounded it passes."""
    table = people()
    code = pa.array([1000 + int(h[1:]) for h in table["hhid"].to_pylist()])
    table = table.append_column("income", code)
    text = SCHEMA + '[columns.income]\nrole = "sensitive"\n'

    with pytest.raises(
        Infeasible, match="'income'.*distinguish .* households from all others"
    ) as found:
        pm.design(Schema.from_toml(text), pm.PkAnonymity(5), data=table, method="retention")
    assert "Round or bin" in str(found.value)
    rounded = Schema.from_toml(text.replace("sensitive", "public") + "round = 1000\n")
    assert pm.design(rounded, pm.PkAnonymity(5), data=table, method="retention").attained


def test_a_slip_in_one_record_does_not_hide_that_incomes_number_the_households():
    """One of them differs in its household, and all others are still told apart; what is rare is
    the same in most households, and is none of theirs."""
    table = people()
    homes = [int(h[1:]) for h in table["hhid"].to_pylist()]
    income = [1000 + home for home in homes]
    second = next(at for at in range(1, len(homes)) if homes[at] == homes[at - 1])
    income[second] = 7
    rare = [int(at % 70 == 0) for at in range(len(homes))]
    table = table.append_column("income", pa.array(income)).append_column("ill", pa.array(rare))
    text = SCHEMA + '[columns.ill]\nrole = "sensitive"\n'

    without = table.drop_columns(["income"])
    assert pm.design(Schema.from_toml(text), pm.PkAnonymity(5), data=without).attained
    text += '[columns.income]\nrole = "sensitive"\n'
    with pytest.raises(Infeasible, match="'income'.*distinguish .* households from all others"):
        pm.design(Schema.from_toml(text), pm.PkAnonymity(5), data=table, method="retention")


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("retention", pm.PkAnonymity(4)),
        ("attribute-sampling", pm.PkAnonymity(4)),
        ("resample", pm.KAnonymity(3)),
    ],
)
def test_protect_refuses_what_links_a_household_whatever_the_plan_has_seen(
    tmp_path, method, target
):
    """A plan for a number of records, or from a table that tells nobody: this table is asked."""
    homes, words = np.arange(40) // 2, np.random.default_rng(1)
    table = pa.table(
        {
            "home": homes,
            "sex": ["F", "M"] * 20,
            "age": words.integers(0, 2, 40),
            "income": 1000.5 + homes * 17.3,
        }
    )
    schema = Schema.from_toml(
        'household = "home"\n[columns.home]\nrole = "identifier"\n'
        '[columns.sex]\nrole = "key"\ncategories = ["F", "M"]\n'
        '[columns.age]\nrole = "key"\ncategories = [0, 1]\n'
        '[columns.income]\nrole = "sensitive"\n'
    )
    apart = table.set_column(3, "income", pa.array(words.integers(0, 3, 40) * 1.0))

    for seen in ({"records": 40}, {"data": apart}):
        plan = pm.design(schema, target, method=method, **seen)
        with pytest.raises(Infeasible, match="'income'.*distinguish 20 households from all others"):
            pm.protect(table, plan, to=tmp_path / "release")
    assert not any(tmp_path.iterdir())


def test_zeros_of_either_sign_do_not_hide_that_a_column_is_of_the_household():
    """Minus zero leaves as zero: the household that has both is told from all others."""
    homes = np.arange(40) // 2
    income = homes * 17.5
    income[1] = -0.0
    table = pa.table({"home": homes, "sex": ["F", "M"] * 20, "income": income})
    schema = Schema.from_toml(
        'household = "home"\n[columns.home]\nrole = "identifier"\n'
        '[columns.sex]\nrole = "key"\ncategories = ["F", "M"]\n'
        '[columns.income]\nrole = "sensitive"\n'
    )

    with pytest.raises(Infeasible, match="'income'.*distinguish 20 households from all others"):
        pm.design(schema, pm.PkAnonymity(4), data=table, method="retention")


PAY = SCHEMA + '[columns.pay]\nrole = "sensitive"\n'


def first_two(of_home, of_others, seed=2):
    """What two of each household have alike, and what each of its other people has instead."""
    table = people(seed=seed)
    homes = [int(h[1:]) for h in table["hhid"].to_pylist()]
    before = [homes[:at].count(home) for at, home in enumerate(homes)]
    pay = [of_home(h) if before[at] < 2 else of_others(at) for at, h in enumerate(homes)]
    return table.append_column("pay", pa.array(pay))


@pytest.mark.parametrize(
    "of_others", [lambda _: None, lambda _: 0, lambda at: at % 5, lambda at: 9000 + at]
)
def test_two_people_who_share_what_nobody_else_has_are_linked(of_others):
    """An income of the household that is empty, nothing, a code or an own one for its children."""
    table = first_two(lambda home: 1000 + home, of_others)

    with pytest.raises(
        Infeasible, match="'pay'.* equal for all or some .*distinguish .* from all others"
    ):
        pm.design(Schema.from_toml(PAY), pm.PkAnonymity(5), data=table, method="retention")


def test_two_columns_empty_for_different_people_do_not_hide_each_other():
    """One is empty for the first of a household, one for its last: each links the others."""
    table = first_two(lambda home: 1000 + home, lambda _: None)
    last = first_two(lambda home: 5000 + home, lambda _: None)["pay"].to_pylist()
    homes = table["hhid"].to_pylist()
    other = [None if homes.index(h) == at else last[at] for at, h in enumerate(homes)]
    table = table.append_column("rent", pa.array(other))
    text = PAY + '[columns.rent]\nrole = "sensitive"\n'

    with pytest.raises(Infeasible, match="'pay'.*distinguish .* households from all others"):
        pm.design(Schema.from_toml(text), pm.PkAnonymity(5), data=table, method="retention")


@pytest.mark.parametrize("name", ["age", "alike", "sex", "own", "gaps", "shared", "one each"])
def test_what_varies_within_households_or_is_common_passes(name):
    """Ages, of couples alike in every tenth; incomes of each one; what many households share."""
    generator = np.random.default_rng(4)
    homes = np.array([int(h[1:]) for h in people()["hhid"].to_pylist()])
    ages = generator.integers(0, 91, len(homes))
    alike = np.where((homes % 10 == 0) & (ages > 20), ages[homes], ages) // 5
    made = {
        "age": ages,
        "alike": alike,
        "sex": ages % 2,
        "own": generator.lognormal(10, 1, len(homes)).round(2),
        "gaps": [int(age) if at % 3 else None for at, age in enumerate(ages)],
        "shared": [int(h) % 6 if at % 3 else None for at, h in enumerate(homes)],
        "one each": [at if at % 4 == 0 else None for at in range(len(homes))],
    }
    table = people().append_column("pay", pa.array(made[name]))
    text = PAY.replace(
        'pay]\nrole = "sensitive"', 'pay]\nrole = "public"'
    )  # what is shared is known

    schema = Schema.from_toml(text if name == "shared" else PAY)
    plan = pm.design(schema, pm.PkAnonymity(2), data=table, method="retention")
    assert plan.attained


@pytest.mark.parametrize("method", ["retention", "attribute-sampling", "resample"])
def test_columns_of_the_household_are_refused_as_keys_with_the_reason(method):
    """Region is theirs: drawn for each person they would disagree, drawn once they are linked."""
    own = '[columns.region]\nrole = "key"\ncategories = ["north", "south"]\n'
    schema = Schema.from_toml(SCHEMA.replace('[columns.region]\nrole = "public"\n', own))
    target = pm.KAnonymity(5) if method == "resample" else pm.PkAnonymity(5)

    with pytest.raises(Infeasible, match="'region': equal for all members of a household") as found:
        pm.design(schema, target, data=people(), method=method)
    assert "role public" in str(found.value)
    apart = people().set_column(0, "hhid", people()["hhid"].take(np.roll(range(len(people())), 1)))
    assert pm.design(schema, target, data=apart, method=method).attained


def test_noise_on_a_number_of_the_household_is_refused():
    """Its people would each show another income of the same household."""
    table = people()
    income = [1000 + int(h[1:]) % 5 for h in table["hhid"].to_pylist()]
    table = table.append_column("income", pa.array(income))
    noise = '[columns.income]\nrole = "sensitive"\nnoise = {distribution = "normal", scale = 3}\n'

    with pytest.raises(Infeasible, match="'income': equal for all members of a household"):
        pm.design(Schema.from_toml(SCHEMA + noise), pm.PkAnonymity(5), data=table)


def test_a_column_of_the_household_stays_equal_within_it():
    """Region as it is: on every released record the region of its household, and k knows of it."""
    plan = pm.design(Schema.from_toml(SCHEMA), pm.PkAnonymity(5), data=people(), method="retention")
    release = pm.protect(people(), plan, seed=1)

    def share(table):
        return sorted(table["region"].to_pylist())

    assert share(release.table) == share(people())
    assert plan.anonymity_set == smallest_together()


def test_few_people_who_agree_by_chance_are_no_household_column():
    """Two households of two whose people have the same sex: that happens one time in four."""
    table = pa.table({"hhid": [1, 1, 2, 2, *range(3, 43)], "sex": ["F", "F", "M", "M", *"FM" * 20]})
    text = 'household = "hhid"\n[columns.sex]\nrole = "key"\ncategories = ["F", "M"]\n'

    assert pm.design(Schema.from_toml(text), pm.PkAnonymity(3), data=table).attained


def drawn_once(matrix, truths, homes):
    """As above with a coin a household besides: one toss that stands on each of its records."""
    n, labels = len(truths), list(itertools.product("01", matrix.labels))
    for released in itertools.product(labels, repeat=n):
        total, own = Fraction(0), [Fraction(0)] * n
        for order in itertools.permutations(range(n)):
            tosses = {(homes[person], released[place][0]) for place, person in enumerate(order)}
            if len(tosses) > len(set(homes)):
                continue
            weight = Fraction(1)
            for place, person in enumerate(order):
                weight *= chance_of(matrix, truths[person], released[place][1])
            total += weight
            for place, person in enumerate(order):
                if homes[person] == 0:
                    own[place] += weight
        if total:
            yield max(part / total for part in own)


def test_one_draw_a_household_would_break_the_promise():
    """Why it is not done: a column that is nothing but one toss a household links its records, and
    one of them is pinned on the household beyond m / k, which holds with tosses apart."""
    matrix, homes = UniformMixture.of(("a", "b"), retention=0.07), (0, 0, 1, 1)
    bound = Fraction(pm.PkAnonymity.of(matrix, anonymity_set=4).household(2)["k"])

    assert max(household_posteriors(matrix, "aabb", homes)) <= 1 / bound
    assert max(drawn_once(matrix, "aabb", homes)) > 1 / bound


def test_a_number_that_stays_is_refused_with_the_reason():
    """Linked records: the schema says why not."""
    with pytest.raises(InvalidSchema, match="keep the records of a household linked"):
        Schema.from_toml(SCHEMA + '[columns.hhid]\nrole = "public"\n')
    with pytest.raises(InvalidSchema, match="household must state"):
        Schema.from_toml(SCHEMA.replace('"hhid"', "3"))
    text = Schema.from_toml(SCHEMA).to_toml()
    assert Schema.from_toml(text).household == "hhid"


def test_audit_states_the_risk_of_households(tmp_path: Path):
    """From the schema, and by name; people without a number stand alone."""
    table = people().set_column(
        0, "hhid", pa.array([None, *people()["hhid"].to_pylist()[1:]], pa.string())
    )
    found = pm.audit(table, keys=["region", "sex"], household="hhid")

    assert found.households.households == len(set(table["hhid"].to_pylist()))
    assert "is found if one of its people is" in " ".join(found.sentences())
    by_schema = pm.audit(people(), schema=Schema.from_toml(SCHEMA))
    assert by_schema.to_json()["households"]["largest"] == 4
