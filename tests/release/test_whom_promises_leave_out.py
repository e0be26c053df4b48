"""A promise says in its own sentence against whom it does not hold."""

from __future__ import annotations

import pyarrow as pa
import pytest

import pramana as pm
from pramana.guarantees.claims import Made
from pramana.methods.microaggregated import Centroid, Permute
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.schema.roles import Role
from pramana.schema.schema import Column

PEOPLE = pa.table(
    {
        "age": [float(at) for at in range(24)],
        "v": [float(at * 7 % 5) for at in range(24)],
        "w": [float(at * 5 % 3) for at in range(24)],
    }
)
SCHEMA = pm.Schema(
    (Column("age", Role.KEY), Column("v", Role.SENSITIVE), Column("w", Role.SENSITIVE))
)
BACK = "infers these values from the groups"


@pytest.mark.parametrize(
    ("method", "named"),
    [
        (Permute(), None),
        (Permute(response_weight=0.0, responses=("v",)), None),
        (Centroid(responses=("v",)), "also formed by v."),
        (Permute(distinct=2), "also formed by v, w."),
        (Permute(closeness=0.6), "also formed by v, w."),
    ],
)
def test_groups_that_looked_at_other_columns_say_so(method, named, tmp_path):
    """In the plan, the certificate as it is read again, and the README."""
    plan = pm.design(SCHEMA, pm.KAnonymity(k=3), data=PEOPLE, method=method)
    release = pm.protect(PEOPLE, plan).save(tmp_path / "release", file_format="csv")
    written = Certificate.from_bytes((tmp_path / "release" / "certificate.json").read_bytes())
    assert pm.verify(tmp_path / "release").valid
    for said in (
        plan.sentences()[0],
        plan.to_json()["guarantees"][0]["sentence"],
        release.certificate.sentences()[0],
        written.to_json()["guarantees"][0]["sentence"],
        (tmp_path / "release" / "README.md").read_text(),
    ):
        assert (BACK in said) == (named is not None)
        assert named is None or named in said


@pytest.mark.parametrize("odd", [5, "v", None, {"v": 1}, [["v"], 3]])
def test_options_of_another_package_are_no_columns(odd):
    """Whatever stands under the same name."""
    assert Made.of(SCHEMA, {"responses": odd}).looked_at == ()


def test_a_plan_of_matrices_formed_no_groups():
    """Nothing to work back from."""
    plan: Plan = pm.design(SCHEMA, pm.PkAnonymity(k=3), data=PEOPLE, method="retention")
    assert plan.made == Made()
    assert not any(BACK in said for said in plan.sentences())


ANSWERS = pm.Categories(("a", "b", "c", "d"))
REPORTED = pm.Schema(tuple(Column(name, Role.KEY, ANSWERS) for name in ("p", "q", "r")))
UNKNOWN = "knows which columns a person reported"


@pytest.mark.parametrize("method", ["attribute-sampling", "retention"])
def test_reports_say_that_questions_are_secret(method):
    """Where the anonymity set counts; what is said of one record by itself does not rest on it."""
    asked = pm.PkAnonymity(k=5), pm.ShuffledPrivacy(1.0)
    plan = pm.design(REPORTED, *asked, records=2000, method=method)
    for claim in plan.claims:
        anonymity_set = method == "attribute-sampling" and claim.name in (
            "pk-anonymity",
            "shuffled-privacy",
        )
        assert (UNKNOWN in plan.promise(claim)) == anonymity_set
    assert not pm.PkAnonymity(k=1).in_anonymity_set
    assert not pm.ShuffledPrivacy(1.0, 0.0).in_anonymity_set
