"""What answers and refusals say: numbers that are right, advice that helps in either language."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pramana import api
from pramana.errors import InvalidNumber, NotCovered
from pramana.guarantees.pk_anonymity import PkAnonymity
from tests.analysis.releases import SCHEMA, released, truth


def test_the_number_of_sets_is_of_those_behind_the_answer():
    """Of several, or of one; what a record was asked for is no column of the truth to filter by."""
    release = released("attribute-sampling")
    holding = [one.name for one in release.certificate.mechanism.sets if "a" in one.columns]
    assert len(holding) > 1
    assert f"of {len(holding)} attribute sets with these" in release.crosstab("a").why
    with pytest.raises(NotCovered, match="were drawn at random"):
        release.crosstab("a", where={"reported": holding[0]})
    schema = replace(SCHEMA, tables=(("a", "b"), ("c",)))
    plan = api.design(schema, PkAnonymity(k=5), data=truth(), method="attribute-sampling")
    only = api.protect(truth(), plan, seed=1).crosstab("a")
    assert "of 1 attribute set with these" in only.why


def test_dots_stand_for_labels_that_are_left_out():
    """And for nothing else."""
    release = released("retention")
    with pytest.raises(InvalidNumber, match=r"its labels: a0, a1\.$"):
        release.crosstab("b", where={"a": "zzz"})
    with pytest.raises(InvalidNumber, match=r"its labels: 0, 1, 2, 3, 4, 5, \.\.\.\.$"):
        release.crosstab("b", where={"c": "zzz"})


def test_columns_in_advice_can_be_typed():
    """As a list in Python, with commas on the command line."""
    said = released("resample").crosstab("a", "ill", where=["inc>=0"]).no_interval
    assert "responses=['ill', 'inc'], on the command line --response ill,inc." in said


def test_a_regression_on_keys_of_groups_is_not_promised_by_other_groups():
    """Responses would not help: only matrices do."""
    with pytest.raises(NotCovered, match="published matrices") as refused:
        released("resample").regress("inc ~ a")
    assert "response" not in str(refused.value)
