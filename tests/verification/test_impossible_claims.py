"""Claims that no release can keep, and words that no method gives: none of them verifies."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.guarantees.claims import Claim
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture
from pramana.release.certificate import Certificate
from pramana.release.certificate_fields import canonical
from pramana.release.kinds import METHOD_CLASSES
from pramana.schema.schema import Impossible
from pramana.verification.consistency import consistency_checks
from pramana.verification.verify import verify_folder

RECORDS = 500
SCHEMA = pm.Schema(
    (
        pm.Column("a", pm.Role.KEY, pm.Categories(("x", "y", "z")), missing="refuse"),
        pm.Column("b", pm.Role.KEY, pm.Categories(("p", "q")), missing="refuse"),
        pm.Column("s", pm.Role.SENSITIVE),
    )
)
HOW = {
    "retention": ("retention", pm.PkAnonymity(5)),
    "invariant": (pm.Invariant(stay=0.5), None),
    "inverse-frequency": ("inverse-frequency", pm.CorrectMatch(0.05)),
    "resample": ("resample", pm.KAnonymity(5)),
    "permute": ("permute", pm.KAnonymity(5)),
    "centroid": ("centroid", pm.KAnonymity(5)),
    "gaussian": ("gaussian", pm.KAnonymity(5)),
    "attribute-sampling": ("attribute-sampling", pm.PkAnonymity(5)),
    "optimal": ("optimal", pm.SpontaneousRecognition(0.1, 2)),
}


@cache
def people() -> pa.Table:
    """A small table."""
    chance = np.random.default_rng(2)
    return pa.table(
        {
            "a": chance.choice(list("xyz"), RECORDS, p=[0.6, 0.3, 0.1]),
            "b": chance.choice(list("pq"), RECORDS, p=[0.7, 0.3]),
            "s": chance.integers(0, 5, RECORDS),
        }
    )


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """One release of each method."""
    made = {}
    for name, (method, target) in HOW.items():
        asked = () if target is None else (target,)
        plan = pm.design(SCHEMA, *asked, data=people(), method=method)
        made[name] = pm.protect(people(), plan, to=tmp_path_factory.mktemp("r") / "r", seed=1)
    return made


def failed(release, **changes) -> set[str]:
    """The names of the checks that fail once the certificate says something else."""
    certificate = replace(release.certificate, **changes)
    path = release.folder / "certificate.json"
    before = path.read_bytes()
    path.write_bytes(certificate.to_bytes())
    try:
        found = {check.name for check in verify_folder(release.folder).checks if not check.ok}
        return found - {"explanations"}  # those of the folder follow from the sound certificate
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("name", HOW)
def test_what_a_method_makes_verifies(releases, name):
    """With every figure and word that it gives."""
    assert failed(releases[name]) == set()


IMPOSSIBLE = [
    pm.PkAnonymity(1e9), pm.PkAnonymity(RECORDS + 1), pm.KAnonymity(RECORDS + 1),
    pm.CorrectMatch(0.0), pm.CorrectMatch(1e-9), pm.CorrectMatch(0.999 / RECORDS),
    pm.SpontaneousRecognition(0.0, 1), pm.SpontaneousRecognition(1e-9, 2),
    pm.DifferentialPrivacy(0.0), pm.DifferentialPrivacy(1e-3), pm.PrivacyBreach(0.1, 0.1),
    pm.ShuffledPrivacy(1e-9, 0.0), pm.ShuffledPrivacy(1e-3, 1e-6),
]  # fmt: skip


@pytest.mark.parametrize("name", HOW)
@pytest.mark.parametrize("claimed", IMPOSSIBLE, ids=str)
@pytest.mark.deep(every=6)
def test_no_release_keeps_what_no_release_can(releases, name, claimed):
    """Whoever alone could compute the number, its bounds are anyone's."""
    for asked in (None, claimed):
        assert {claimed.name, "guarantees"} & failed(
            releases[name], claims=(Claim(claimed, asked),)
        )


def test_what_a_kind_of_release_never_offers_cannot_be_promised(releases):
    """A number within all bounds, of which not even the owner has what it takes."""
    k = pm.KAnonymity(2)
    for name, asked in (("retention", None), ("invariant", None), ("invariant", k)):
        certificate = replace(releases[name].certificate, claims=(Claim(k, asked),))
        (found,) = (own for own in consistency_checks(certificate) if own.name == k.name)
        assert not found.ok
        assert "cannot be guaranteed" in found.detail


@pytest.mark.parametrize(
    "claimed",
    [pm.SpontaneousRecognition(0.1, 3), pm.SpontaneousRecognition(0.1, 2, (("a", "none"),)),
     pm.SpontaneousRecognition(0.1, 2, (("s",),)), pm.SpontaneousRecognition(0.1, 2, (("a", "a"),)),
     pm.SpontaneousRecognition(0.1, 2, ((),))],
    ids=str,
)  # fmt: skip
def test_who_looks_at_keys_looks_at_keys_that_are_there(releases, claimed):
    """More of them than there are, or others, sound like a stronger promise."""
    assert failed(releases["optimal"], claims=(Claim(claimed, claimed),)) == {claimed.name}


def test_nobody_who_is_seen_as_he_is_hides_among_all(tmp_path):
    """A column that is released unchanged shows how many share a value: anyone can count them."""
    table = people().append_column("region", pa.array(["n"] * 490 + ["m"] * 10))
    schema = pm.Schema((*SCHEMA.columns, pm.Column("region", pm.Role.PUBLIC)))
    for number, asked in enumerate((pm.SpontaneousRecognition(0.1, 1), pm.CorrectMatch(0.1))):
        plan = pm.design(schema, asked, data=table)
        release = pm.protect(table, plan, to=tmp_path / str(number))
        stronger = replace(asked, **{"alpha" if number == 0 else "xi": 0.099})
        assert failed(release) == set()
        assert asked.name in failed(release, claims=(Claim(stronger, stronger),))


def test_a_figure_is_for_the_keys_that_were_asked_about(tmp_path):
    """What was computed for any one key is not so for any three."""
    table = people().append_column("region", pa.array(["n"] * 490 + ["m"] * 10))
    schema = pm.Schema((*SCHEMA.columns, pm.Column("region", pm.Role.PUBLIC)))
    asked = pm.SpontaneousRecognition(0.1, 1)
    release = pm.protect(table, pm.design(schema, asked, data=table), to=tmp_path / "r")
    wider = pm.SpontaneousRecognition(0.1, 3)

    assert failed(release, claims=(Claim(wider, asked),)) == {asked.name}


@pytest.mark.parametrize("width", [1.5, 2.000001, float("inf")])
def test_a_part_of_a_key_is_not_looked_at(width):
    """Keys are counted in whole numbers."""
    with pytest.raises(pm.InvalidNumber, match="width"):
        pm.SpontaneousRecognition(0.1, width)


@pytest.mark.parametrize("name", ["resample", "centroid", "inverse-frequency"])
def test_what_nobody_can_compute_is_stated_as_it_was_asked(releases, name):
    """A figure beyond what was asked would tell the counts, and nobody could check it."""
    (own,) = releases[name].certificate.claims
    assert own.asked == own.attained
    assert failed(releases[name], claims=(Claim(own.attained),)) == {own.name}


@pytest.mark.parametrize("name", ["invariant", "inverse-frequency", "centroid"])
def test_a_method_that_takes_no_rules_has_none_in_its_certificate(releases, name):
    """Not even one that the released records happen to keep."""
    rule = Impossible.of({"a": ["z"], "b": ["q"]})
    schema = replace(releases[name].certificate.schema, impossible=(rule,))
    assert {"method", "statistics"} & failed(releases[name], schema=schema)


def test_fixed_matrices_come_with_no_figure_of_the_truth(releases):
    """Not even a possible one, unless it was asked for."""
    own = releases["retention"].certificate.claims
    for extra in (pm.CorrectMatch(0.5), pm.SpontaneousRecognition(0.5, 2)):
        assert failed(releases["retention"], claims=(*own, Claim(extra))) == {extra.name}


@pytest.mark.parametrize("name", sorted({*HOW} - {"invariant"}))
def test_nobody_asks_a_method_for_what_it_does_not_aim_at(releases, name):
    """A possible number, said to have been asked for, beside the promises that were kept."""
    own = releases[name].certificate.claims
    extras = (
        pm.CorrectMatch(0.5), pm.SpontaneousRecognition(0.5, 2), pm.KAnonymity(2),
        pm.PkAnonymity(1.01), pm.DifferentialPrivacy(40.0), pm.PrivacyBreach(0.1, 0.99),
    )  # fmt: skip
    aims = METHOD_CLASSES[releases[name].certificate.method].aims
    for extra in (one for one in extras if one.name not in aims):
        rest = tuple(claim for claim in own if claim.name != extra.name)
        assert failed(releases[name], claims=(*rest, Claim(extra, extra))) >= {extra.name}


@pytest.mark.parametrize("name", HOW)
def test_a_method_that_nobody_knows_fails(releases, name):
    """Its word alone is worth nothing; registered, it is looked at like any other."""
    assert "method" in failed(releases[name], method="acme")
    kind = METHOD_CLASSES[releases[name].certificate.method]
    METHOD_CLASSES.register("acme", kind)
    try:
        assert "method" not in failed(releases[name], method="acme")
    finally:
        METHOD_CLASSES.unregister("acme")


@pytest.mark.parametrize("name", ["retention", "attribute-sampling", "optimal", "invariant"])
def test_words_and_figures_are_those_of_the_method(releases, name):
    """The expected error follows from the matrices, and no other method's figures are there."""
    told = releases[name].certificate.statistics
    wrong = "statistics"
    for words in (
        "All is fine.",
        "The expected error of a table of a is about 0.0001 % of the records.",
    ):
        assert failed(releases[name], expected_error=words) == {wrong}
    assert wrong in failed(releases[name], statistics={**told, "meaning": "k = 1,000,000"})
    assert wrong in failed(releases[name], options={"note": "promises everything"})
    if name in ("retention", "attribute-sampling"):
        assert failed(releases[name], expected_error=None) == {wrong}
        zero = {"records_at_most": 0.0, "unique_records_at_most": 0.0}
        assert wrong in failed(releases[name], statistics={"unchanged_records": zero})
        assert wrong in failed(releases[name], statistics={"standard_errors": {"a": [0.0] * 3}})


def test_rules_without_end_do_not_keep_anybody_waiting(releases):
    """Each strikes out millions of cells, again and again."""
    labels = {name: tuple(f"{name}{at}" for at in range(5_000)) for name in "ab"}
    half = {name: own[:2_500] for name, own in labels.items()}
    columns = tuple(
        pm.Column(name, pm.Role.KEY, pm.Categories(own), missing="refuse")
        for name, own in labels.items()
    )
    rules = tuple(Impossible(tuple(half.items())) for _ in range(100))
    step = Step(("a", "b"), UniformMixture.of((("a0", "b0"), ("a1", "b1")), retention=0.5))
    schema = pm.Schema((*columns, pm.Column("s", pm.Role.SENSITIVE)), impossible=rules)
    start = time.process_time()  # others may be at work on the machine
    found = failed(
        releases["retention"],
        schema=schema,
        mechanism=Mechanism((step,)),
        claims=(),
        smallest_unchanged_group=None,
    )
    assert "matrix of a x b" in found
    assert time.process_time() - start < 5


def _changed(form):
    """Every way to change one leaf of an object, to lose a name, and to add one."""
    for name, value in form.items():
        yield {other: own for other, own in form.items() if other != name}
        if isinstance(value, dict):
            yield from (form | {name: inner} for inner in _changed(value))
        elif isinstance(value, list) and value:
            yield from (form | {name: [*value[:-1], odd]} for odd in ("x", -1.0, 0.123, True))
            yield form | {name: [*value, value[-1]]}
        else:
            odd = ("Nobody can be harmed.", -1.0, 0.123, 12345, True, False, None, [], {})
            strange = (own for own in odd if repr(own) != repr(value))
            yield from (form | {name: own} for own in strange)
    yield form | {"more": "Nobody can be harmed."}


FREE = {
    "allow_unchanged": (True, False),  # allowed and not needed
    "max_size": (12345, None),  # an option that the method takes, whatever it is worth
    "response_weight": (0.123, 12345),
    "distinct": (12345,),
    "closeness": (0.123,),
    "unchanged_records": (None,),  # a cluster counts no copies, which the verdict says
}
"""Values of options that the method takes; they are told to be the owner's word."""


@pytest.mark.parametrize("name", HOW)
def test_every_figure_and_option_follows_or_is_the_owners_word(releases, name):
    """Words and values in their place: none verifies but options that the method itself takes."""
    certificate = releases[name].certificate
    for part in ("statistics", "options"):
        for form in _changed(dict(getattr(certificate, part))):
            checks = list(consistency_checks(replace(certificate, **{part: form})))
            if all(check.ok for check in checks):
                old = dict(getattr(certificate, part))
                (moved,) = (n for n in {*form, *old} if repr(form.get(n)) != repr(old.get(n)))
                assert moved not in form or form[moved] is not None or moved == "max_size"
                assert repr(form.get(moved)) in map(repr, FREE[moved]), (part, form)
                stated = {check.name for check in checks if check.state == "asserted"}
                assert stated & {"how groups were formed", "unchanged records"}


@pytest.mark.parametrize(("size", "check"), [(RECORDS, None), (RECORDS + 1, "statistics")])
def test_groups_are_not_larger_than_the_table(releases, size, check):
    """Whatever the sentence says that follows from the option."""
    certificate = releases["permute"].certificate
    (k,) = (claim.attained.k for claim in certificate.claims)
    meaning = certificate.statistics["meaning"].replace(f"at least {k}", f"at least {size:,}")
    assert meaning != certificate.statistics["meaning"]
    found = failed(
        releases["permute"],
        options={**certificate.options, "min_size": size},
        statistics={**certificate.statistics, "meaning": meaning},
    )
    assert found == (set() if check is None else {check}), found


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"distinct": 10**18}, "statistics"),
        ({"distinct": RECORDS + 1}, "statistics"),
        ({"distinct": 6}, "values of s"),  # there are five
        ({"distinct": 4, "max_size": 3}, "statistics"),
        ({"max_size": 3}, "statistics"),
        ({"distinct": 5}, None),
        ({"max_size": 5}, None),
    ],
)
@pytest.mark.parametrize("name", ["resample", "permute", "centroid", "gaussian"])
def test_groups_cannot_hold_more_than_there_is(releases, name, changes, check):
    """Values of a column: no more than released, than records, than the largest group."""
    options = dict(releases[name].certificate.options) | changes
    found = failed(releases[name], options=options)
    assert check in found if check else not found


@pytest.mark.parametrize("option", [{"distinct": 2}, {"closeness": 0.5}])
def test_groups_hold_nothing_of_columns_that_are_not_there(option):
    """Refused by the design, and by a check of a certificate."""
    table = people().rename_columns(["a", "b", "t"])
    schema = pm.Schema((*SCHEMA.columns[:2], pm.Column("t", pm.Role.PUBLIC)))
    with pytest.raises(pm.PramanaError, match="sensitive columns"):
        pm.design(schema, pm.KAnonymity(5), data=table, method=pm.Resample(**option))


@pytest.mark.parametrize("field", ["records_at_most", "unique_records_at_most"])
@pytest.mark.parametrize("name", ["resample", "inverse-frequency"])
def test_a_zero_below_zero_is_no_number(releases, name, field):
    """It equals zero, and no owner writes it."""
    figures = dict(releases[name].certificate.statistics)
    figures["unchanged_records"] = dict(figures["unchanged_records"]) | {field: -0.0}
    assert failed(releases[name], statistics=figures)


def test_no_number_of_a_certificate_may_be_a_zero_below_zero(releases):
    """Wherever a certificate has a number, put one there: none is valid."""
    for release in releases.values():
        form = release.certificate.to_json()
        assert sound(form)
        for path in numbers_in(form):
            changed = json.loads(json.dumps(form))
            at = changed
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = -0.0
            assert not sound(changed), path


def sound(form) -> bool:
    """Whether a certificate of this form, with a digest that fits, is read and fits together."""
    claim = canonical(form)
    digest = hashlib.sha256(claim).hexdigest()
    try:
        found = Certificate.from_bytes(canonical(form | {"digest": digest}))
    except pm.PramanaError:
        return False
    return all(check.ok for check in consistency_checks(found))


def numbers_in(form, path=()):
    """The paths of all numbers in a plain form."""
    if isinstance(form, dict | list):
        for step, own in form.items() if isinstance(form, dict) else enumerate(form):
            yield from numbers_in(own, (*path, step))
    elif isinstance(form, float | int) and not isinstance(form, bool):
        yield path


def test_what_only_the_owner_can_recompute_is_recomputed_with_the_original(tmp_path):
    """Withheld matrices are made again of the same table; of another one they cannot be."""
    schema = pm.Schema((replace(SCHEMA.columns[0], exempt=("x",)), *SCHEMA.columns[1:]))
    plan = pm.design(schema, pm.CorrectMatch(0.05), data=people(), method="inverse-frequency")
    kept = tmp_path / "kept"
    pm.protect(people(), plan, to=tmp_path / "release", steward_folder=kept)

    def settled(original, **kept) -> str:
        found = pm.verify(tmp_path / "release", original=original, **kept).checks
        (own,) = [check for check in found if check.name == "correct-match"]
        return str(own.state)

    assert settled(None) == "asserted"
    assert settled(people(), mechanism=kept) == "passed"
    assert settled(people()) == "asserted"  # others may have made the records
    rare = pa.array(["x", *["y"] * (RECORDS - 1)])  # who has x, which stays, is found by it
    assert settled(people().set_column(0, "a", rare)) == "failed"


def test_a_withheld_release_with_strata_is_recomputed_with_its_kept_matrices(tmp_path):
    """A certificate states no domain of a stratum: its values are read from the original."""
    region = pm.Column("region", pm.Role.PUBLIC, pm.Categories(("n", "s")), missing="refuse")
    schema = pm.Schema((region, *SCHEMA.columns), strata=("region",))
    values = pa.array([["n", "s"][at % 2] for at in range(RECORDS)])
    truth = people().append_column("region", values)
    plan = pm.design(schema, pm.CorrectMatch(0.3), data=truth, method="inverse-frequency")
    release, kept = tmp_path / "release", tmp_path / "kept"
    pm.protect(truth, plan, to=release, steward_folder=kept)

    verdict = pm.verify(release, original=truth, mechanism=kept)
    assert verdict.valid
    assert verdict.counts["guarantees_proven"] == 1


@pytest.mark.parametrize("name", [name for name in HOW if name not in ("gaussian", "resample")])
def test_nothing_is_said_to_be_recomputable_that_is_not(releases, name):
    """With the original, whatever is still only stated does not refer to the owner."""
    for check in pm.verify(releases[name].folder, original=people()).checks:
        assert "owner can" not in check.detail or str(check.state) != "asserted"


# -- words that would say more than holds ------------------------------------------------------


@pytest.mark.parametrize("name", HOW)
def test_what_no_folder_shows_is_the_owners_word(releases, name):
    """That records were drawn and shuffled at all; beside the original both are looked at."""
    release = releases[name]
    stated = {check.name for check in verify_folder(release.folder).of_state("asserted")}
    assert "shuffle" in stated
    certificate = release.certificate
    drawn = certificate.mechanism is not None or certificate.nature.withholds_matrices
    assert ("randomisation" in stated) == drawn

    details = {check.name: check.detail for check in pm.verify(release.folder).checks}
    found = pm.verify(release.folder, original=people()).checks
    assert [check.detail for check in found if check.name == "shuffle"] != [details["shuffle"]]
    alone = name == "invariant"  # whose matrices nobody can make again, unless they were kept
    assert ("randomisation" in {check.name for check in found}) == alone


@pytest.mark.parametrize("name", HOW)
def test_a_promise_about_linking_says_whom_it_does_not_speak_of(releases, name, tmp_path):
    """Sensitive columns stay with their record: who knows them finds it, at whatever k."""
    told = "Not covered: an attacker who knows a person's s (not randomised)."
    certificate = releases[name].certificate
    for claim in certificate.claims:
        linking = claim.name in ("pk-anonymity", "k-anonymity")
        hidden = claim.attained.link_bound is not None and claim.attained.link_bound < 0.99
        assert (told in claim.sentence(certificate.true_schema)) == (linking and hidden)
    form = json.dumps(certificate.to_json(), ensure_ascii=False)
    readme = (releases[name].folder / "README.md").read_text()
    assert form.count(told) == readme.count(told)


def test_nothing_is_said_of_the_unknown_where_all_is_randomised():
    """Nor of many columns one by one."""
    schema = pm.Schema(SCHEMA.columns[:2])
    (claim,) = pm.design(schema, pm.PkAnonymity(5), records=500, method="retention").claims[:1]
    assert "does not know" not in claim.sentence(schema)
    more = tuple(pm.Column(f"s{at}", pm.Role.SENSITIVE) for at in range(9))
    told = claim.sentence(pm.Schema((*schema.columns, *more)))
    assert "a person's s0, s1, s2, s3 and 5 more (not randomised)" in told


@pytest.mark.parametrize("name", HOW)
def test_a_anonymity_set_is_no_promise_and_records_may_read_as_the_truth(releases, name):
    """Neither is said: an anonymity set of 500 hides nobody by itself, and whole records may be
    copied.
    """
    certificate = releases[name].certificate
    for text in (
        certificate.to_bytes().decode(),
        (releases[name].folder / "README.md").read_text(),
    ):
        assert "hides among" not in text
        assert "no row" not in text
        assert "not its own" not in text
    if certificate.kind != "groups":
        assert (
            "The size of this set alone is not a guarantee."
            in certificate.to_json()["anonymity_set"]["statement"]
        )


def test_what_rests_on_counts_of_rounded_numbers_is_refused(tmp_path):
    """Not even the owner knows to which point of the grid a number was rounded."""
    draw = np.random.default_rng(1)
    people = pa.table({"income": draw.uniform(0, 100, 300), "sex": draw.choice(["F", "M"], 300)})
    income = pm.Column("income", pm.Role.KEY, pm.NumberGrid.even(0, 100, 5))
    schema = pm.Schema((income, pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")))))
    plan = pm.design(schema, pm.PkAnonymity(2), data=people, method="retention")
    release = pm.protect(people, plan, to=tmp_path / "release")

    assert failed(release) == set()
    for claim in (Claim(pm.CorrectMatch(0.5)), Claim(pm.SpontaneousRecognition(0.5, width=1))):
        assert claim.name in failed(release, data_dependent=True, claims=(claim,))
