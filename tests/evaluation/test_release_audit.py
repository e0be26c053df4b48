"""The audit of a release by who holds the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.release.people import SCHEMA, people, plan

from pramana import api
from pramana.errors import DoesNotHold, InvalidTable, TooLarge, UnknownColumn
from pramana.evaluation.audit import audit_release
from pramana.guarantees.claims import Claim
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.opening import open_table


@pytest.fixture(scope="module")
def truth() -> pa.Table:
    return people(1500)


@pytest.fixture(scope="module")
def release(truth):
    return api.protect(truth, plan(20, records=1500), seed=1)


def test_every_attack_has_interval_baseline_and_bound(truth, release):
    """Linkers carry 1/k, inference a control, distances the even chance; nothing is broken."""
    found = audit_release(release, open_table(truth))
    by_name = {measured.name: measured for measured in found.measured}
    promised = next(
        c.attained.k for c in release.certificate.claims if c.attained.name == "pk-anonymity"
    )

    for name in ("nearest record", "likeliest record", "surest links"):
        assert by_name[name].bound == pytest.approx(1 / promised)
        assert by_name[name].low <= by_name[name].value <= by_name[name].high
    assert by_name["inference of income"].control is not None
    assert by_name["closer to members"].baseline == 0.5
    assert found.holds
    found.require()


def test_what_was_verified_is_not_checked_again_and_every_step_is_said(truth, release, tmp_path):
    """The owner's check takes long on many columns: it is made once, and tells how far it is."""
    release.save(tmp_path / "out")
    told: list[str] = []
    assert api.verify(tmp_path / "out", original=truth, say=told.append).valid
    assert len(told) > 3
    assert all(one.startswith("Checking against the original") for one in told)
    for belongs in (False, True):
        said: list[str] = []
        api.audit(tmp_path / "out", original=truth, belongs=belongs, progress=said.append)
        assert any("belongs" in one for one in said) is not belongs
        assert {f"Inferring 1 sensitive column, {own} %" for own in (0, 50, 100)} <= set(said)
    written: list[str] = []
    api.report(tmp_path / "out", original=truth, progress=written.append)
    assert {"Linking records", "Measuring the loss of utility"} <= set(written)
    assert not any("belongs" in one for one in written)


def test_a_household_is_found_with_one_of_its_people():
    """Everybody different and nothing changed: all are found; strong noise finds hardly any."""
    table = pa.table({
        "home": np.repeat(np.arange(40), 3),
        "a": [f"v{at % 11}" for at in range(120)],
        "b": [f"w{at % 12}" for at in range(120)],
    })  # fmt: skip
    schema = api.describe(table, keys=["a", "b"], identifiers=["home"]).schema
    for kept, least, most in ((1.0, 40.0, 40.0), (0.05, 0.0, 8.0)):
        made = api.design(schema, data=table, method=api.METHODS["retention"](retention=kept))
        found = api.audit(api.protect(table, made, seed=2), original=table, household="home")
        assert least <= found.households.expected <= most
        assert found.to_json()["households"]["households"] == 40
        assert "found if one of its people is" in "\n".join(found.sentences())
    with pytest.raises(UnknownColumn, match="no column 'nosuch'"):
        api.audit(api.protect(table, made, seed=2), original=table, household="nosuch")


def test_a_certificate_that_promises_too_much_is_an_error(truth):
    """Matrices that keep nearly everything under a promise of k = 500: the audit leaves with it."""
    weak = plan(1.001, records=1500)
    release = api.protect(truth, weak, seed=1)
    claims = (Claim(PkAnonymity(k=500)),)
    lying = replace(release, certificate=replace(release.certificate, claims=claims))
    found = audit_release(lying, open_table(truth))

    assert not found.holds
    with pytest.raises(DoesNotHold, match="pk-anonymity promises at most 0.2 %"):
        found.require()


def test_the_same_seed_gives_the_same_figures(truth, release):
    """An audit can be repeated."""
    one, two = (audit_release(release, open_table(truth)).to_json() for _ in range(2))

    assert one == two


def test_other_people_are_refused(release, truth):
    """More records, lacking columns, other regions, other values: said with counts."""
    with pytest.raises(InvalidTable, match="1,600 records where the release has 1,500"):
        audit_release(release, open_table(people(1600)))
    with pytest.raises(InvalidTable, match="lacks 1 of 5: income"):
        audit_release(release, open_table(truth.drop_columns(["income"])))
    with pytest.raises(InvalidTable, match="records differ in region"):
        audit_release(release, open_table(people(1500, seed=8)))
    swapped = truth.set_column(2, "age", pa.array(np.full(1500, 70)))
    with pytest.raises(DoesNotHold, match="does not belong to this release"):
        audit_release(release, open_table(swapped))


def test_withheld_matrices_leave_the_nearest_record(truth, release):
    """What needs no matrices is measured, and the rest is named; the steward can give them."""
    secret = replace(
        release, certificate=replace(release.certificate, kind="withheld", mechanism=None)
    )
    bare = audit_release(secret, open_table(truth))
    assert bare.unchanged.to_json() == audit_release(release, open_table(truth)).unchanged.to_json()
    assert any("strongest linker, inference" in note for note in bare.notes)
    assert {one.name for one in bare.measured} <= {"nearest record"}
    known = audit_release(secret, open_table(truth), mechanism=release.certificate.mechanism)

    assert known.holds


def test_too_few_records_are_said():
    """Five people give no interval."""
    few = people(5)
    schema = replace(SCHEMA, columns=tuple(c for c in SCHEMA.columns if c.name != "region"))
    table = few.drop_columns(["region"])
    release = api.protect(
        table, api.design(schema, PkAnonymity(k=2), records=5, method="retention"), seed=1
    )
    with pytest.raises(InvalidTable, match="at least 10 records to attack, and the release has 5"):
        audit_release(release, open_table(table))


def test_small_tables_leave_out_what_they_cannot_measure():
    """Sixteen people can be linked, but not split into members and controls: a note says so."""
    few = people(16)
    schema = replace(SCHEMA, columns=tuple(c for c in SCHEMA.columns if c.name != "region"))
    table = few.drop_columns(["region"])
    release = api.protect(
        table, api.design(schema, PkAnonymity(k=2), records=16, method="retention"), seed=1
    )
    found = audit_release(release, open_table(table))

    assert any("needs at least 10" in note for note in found.notes)
    assert any("halves of at least 10" in note for note in found.notes)


@pytest.mark.parametrize("method", ["resample", "permute", "gaussian"])
@pytest.mark.deep(every=3)
def test_grouped_releases_are_attacked_by_the_nearest_record(truth, method):
    """Groups are formed again on the same people; the link stays within 1/k [Wei, Sec. 4.3]."""
    release = api.protect(truth, api.design(SCHEMA, KAnonymity(k=5), data=truth, method=method))
    found = audit_release(release, open_table(truth))

    assert [measured.name for measured in found.measured] == ["nearest record"]
    assert found.measured[0].bound == pytest.approx(
        1 / next(c.attained.k for c in release.certificate.claims)
    )
    assert found.holds
    assert "without matrices" in found.notes[0]


def test_people_too_many_to_link_leave_the_other_attacks(truth, release, monkeypatch):
    """Distances are measured, and it is said that nobody was linked; households need links."""
    monkeypatch.setattr("pramana.risk.attacks.linkage.DENSE_CELLS", 0)
    monkeypatch.setattr("pramana.risk.attacks.scores.MOST_HALF", 0)
    monkeypatch.setattr("pramana.risk.attacks.linkage.MOST_PAIRS", 1)
    found = audit_release(release, open_table(truth))
    assert {"closer to members"} <= {measured.name for measured in found.measured}
    assert "nearest record" not in {measured.name for measured in found.measured}
    assert found.notes[0].startswith("Nobody was linked: ")
    assert "more than can be compared. Audit a sample" in found.notes[0]
    with pytest.raises(TooLarge, match="needs links of all people"):
        audit_release(release, open_table(truth), household=truth.column_names[0])
