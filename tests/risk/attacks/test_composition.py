"""Several releases of the same people."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.analysis.release import load_release
from pramana.errors import InvalidNumber, NotCovered
from pramana.evaluation.audit import attack
from pramana.guarantees.claims import Claim
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture
from pramana.release.certificate import Certificate
from pramana.risk.attacks.linkage import exact_posterior
from pramana.risk.attacks.repeated_releases import compose_releases, earlier_releases
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema


def certificate(
    retention: float, *, records: int = 100, anonymity_set: int | None = None
) -> Certificate:
    matrix = UniformMixture.of(("f", "m"), retention=retention)
    mechanism = Mechanism((Step(("sex",), matrix),))
    anonymity_set = anonymity_set or records
    return Certificate(
        schema=Schema((Column("sex", Role.KEY, Categories(("f", "m")), missing="refuse"),)),
        kind="published",
        mechanism=mechanism,
        method="retention",
        records=records,
        anonymity_set=anonymity_set,
        claims=(Claim(PkAnonymity.of(mechanism, anonymity_set=anonymity_set)),),
    )


def test_two_coins_by_hand():
    """gamma 3 twice: epsilon 2 ln 3, k = 1 + 99 / 81."""
    found = compose_releases([certificate(0.5), certificate(0.5)])

    assert found.epsilon.epsilon == pytest.approx(2 * math.log(3))
    assert found.k.k == pytest.approx(1 + 99 / 81)
    assert found.breach.rho2 == pytest.approx(0.9 / (0.9 + 0.9))


def test_one_release_is_itself():
    """The limit case: nothing to compose."""
    found = compose_releases([certificate(0.3)])

    assert (found.k.k, found.epsilon.epsilon) == found.alone[0]


def test_no_pairing_exceeds_what_remains():
    """All releases of three people, twice: the worst posterior is 1/k of the composition."""
    coin = UniformMixture.of(("f", "m"), retention=0.5).values
    worst = 0.0
    for truth in np.ndindex(2, 2, 2):
        for first in np.ndindex(2, 2, 2):
            for second in np.ndindex(2, 2, 2):
                likelihood = coin[list(truth)][:, list(first)] * coin[list(truth)][:, list(second)]
                worst = max(worst, exact_posterior(likelihood).max())
    found = compose_releases([certificate(0.5, records=3)] * 2)

    assert worst == pytest.approx(1 / found.k.k)


def test_the_smallest_anonymity_set_counts():
    """k is computed in the smaller of the anonymity sets."""
    found = compose_releases([certificate(0.5), certificate(0.5, anonymity_set=10)])

    assert found.k.k == pytest.approx(1 + 9 / 81)


def test_epsilon_without_bound_is_null_in_json():
    """A release as it is has no epsilon."""
    found = compose_releases([certificate(1.0)])

    assert found.epsilon == DifferentialPrivacy(epsilon=math.inf)
    assert found.to_json()["together"]["epsilon"] is None


def test_other_people_and_withheld_matrices_are_refused():
    """Other numbers of records are other people; without matrices nothing can be composed."""
    with pytest.raises(InvalidNumber, match="100, 90"):
        compose_releases([certificate(0.5), certificate(0.5, records=90)])
    with pytest.raises(NotCovered, match="method retention publishes none"):
        compose_releases([replace(certificate(0.5), kind="withheld", mechanism=None)])
    with pytest.raises(InvalidNumber, match="at least one"):
        compose_releases([])


def test_earlier_releases_are_found_beside_the_new_one(tmp_path):
    """A folder with the same columns and number of records is named; others are not."""
    for name, made in (("old", certificate(0.5)), ("other", certificate(0.5, records=7))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "certificate.json").write_bytes(made.to_bytes())
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "certificate.json").write_text("{")

    found = earlier_releases(tmp_path / "new", certificate(0.2))

    assert [folder.name for folder in found] == ["old"]


def other(role: Role, name: str, *, key: str = "sex", records: int = 100, anonymity_set: int = 20):
    """A release of one randomised key and one column that is shown as it is."""
    made = certificate(0.5, records=records, anonymity_set=anonymity_set)
    first = Column(key, Role.KEY, Categories(("f", "m")), missing="refuse")
    matrix = UniformMixture.of(("f", "m"), retention=0.5)
    return replace(
        made,
        schema=Schema((first, Column(name, role))),
        mechanism=Mechanism((Step((key,), matrix),)),
    )


def test_columns_of_two_releases_may_leave_a_person_alone():
    """One shows the town, the other the job: both may be known, and nothing is left of k."""
    found = compose_releases([other(Role.PUBLIC, "town"), other(Role.PUBLIC, "job")])

    assert found.anonymity_set == found.k.k == 1
    assert "job, town" in found.sentences()[-1]


def test_a_key_that_another_release_shows_is_known():
    """Sensitive in one, a key in the other: who knows keys knows it, and finds groups of one."""
    found = compose_releases([other(Role.SENSITIVE, "age"), other(Role.PUBLIC, "job", key="age")])

    assert found.k.k == 1


def test_a_sensitive_column_that_both_show_leaves_the_anonymity_set():
    """It ties the records of the two together; nobody knows it."""
    found = compose_releases([other(Role.SENSITIVE, "income"), other(Role.SENSITIVE, "income")])

    assert found.anonymity_set == 20
    assert found.k.k == pytest.approx(1 + 19 / 81)


def test_the_release_that_shows_all_that_is_known_says_the_anonymity_set():
    """One shows the town and the other nothing: the groups of the first count."""
    found = compose_releases([other(Role.PUBLIC, "town", anonymity_set=7), certificate(0.5)])

    assert found.anonymity_set == 7


def test_a_column_that_two_show_may_hold_other_values():
    """One name, nothing known of what is shown: alone. The same of everybody: the smaller
    anonymity set.
    """
    two = [other(Role.PUBLIC, "town"), other(Role.PUBLIC, "town", anonymity_set=30)]

    assert compose_releases(two).anonymity_set == compose_releases(two).promised.k == 1
    assert compose_releases(two, owned=[{"income": "one"}, {"income": "another"}]).k.k == 1
    assert compose_releases(two, owned=[{"income": "one"}, {"number": "one"}]).k.k == 1
    assert compose_releases(two, owned=[{"income": "one"}] * 2).anonymity_set == 20


def test_which_rule_applies_is_said_first():
    """Nothing ties two coins together: each keeps its k, central epsilons add."""
    found = compose_releases([certificate(0.5), certificate(0.3)])

    assert found.promised.rule == "apart"
    assert found.promised.k == min(k for k, _ in found.alone) > found.k.k
    assert "Each keeps its k" in found.sentences()[1]
    tied = compose_releases([other(Role.SENSITIVE, "income"), other(Role.SENSITIVE, "income")])
    assert tied.promised.rule == tied.to_json()["promised"]["rule"] == "tied"
    assert tied.promised.k == tied.k.k


@pytest.mark.parametrize(
    "formats", [("csv", "parquet"), ("parquet", "feather"), ("feather", "csv")]
)
def test_releases_without_kept_columns_are_composed(tmp_path, formats):
    """Whatever file they lie in: nothing is shown as it is, so nothing of it need be read."""
    table = pa.table({"sex": ["f", "m"] * 50})
    schema = certificate(0.5).schema
    plan = pm.design(schema, pm.DifferentialPrivacy(epsilon=1.0), data=table, method="retention")
    for name in formats:
        pm.protect(table, plan, to=tmp_path / name, file_format=name)
    releases = [load_release(tmp_path / name) for name in formats]
    found = attack("composition", *releases)

    assert found.figures["promised"]["rule"] == "apart"
    assert 1.99 < found.figures["together"]["epsilon"] <= 2.0 + 1e-9
