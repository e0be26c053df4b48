"""Targets that lie on no float's edge: met by the integers, or refused for what they are."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import Infeasible, InvalidNumber

SCHEMA = pm.Schema.from_toml(
    "".join(
        f'[columns.{name}]\nrole = "key"\ncategories = {values}\nmissing = "refuse"\n'
        for name, values in (("sex", '["F", "M"]'), ("age", '["young", "middle", "old"]'))
    )
)
DRAWN = random.Random(4)
TARGETS = [
    *((pm.PrivacyBreach(0.1, 0.5), 400), (pm.PkAnonymity(113.333), 339)),
    *(
        (pm.PrivacyBreach(before := DRAWN.uniform(0.01, 0.5), DRAWN.uniform(before, 0.99)), 400)
        for _ in range(50)
    ),
    *((pm.PkAnonymity(DRAWN.uniform(1.01, n - 1)), n) for n in DRAWN.sample(range(5, 10**6), 50)),
]


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
@pytest.mark.deep(every=2)
def test_what_is_feasible_is_met_whatever_the_rounding(method: str) -> None:
    """A hundred odd targets: what is certified of the integers implies each, and just so."""
    for target, records in TARGETS:
        plan = pm.design(SCHEMA, target, records=records, method=method)
        found = next(own for own in plan.attained if own.name == target.name)

        assert found.implies(target), target
        assert list(found.to_json().values()) == pytest.approx(
            list(target.to_json().values()), rel=1e-5
        )


@pytest.mark.parametrize("group", [0, 501, 100_000])
def test_the_smallest_group_is_one_of_the_records(group: int) -> None:
    """Nobody hides among more people than there are."""
    with pytest.raises(InvalidNumber, match=r"the smallest group must be a number in \[1, 500\]"):
        pm.design(
            SCHEMA, pm.DifferentialPrivacy(1), records=500, smallest_group=group, method="retention"
        )


ENDS = (
    *(pm.PrivacyBreach(rho1, 0.5) for rho1 in (5e-324, 1e-300, 1e-16)),
    *(pm.DifferentialPrivacy(epsilon) for epsilon in (800.0, 1e300, 40.0, 1e-9, 5e-324)),
    pm.PkAnonymity(math.nextafter(1, 2)),
)


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
@pytest.mark.deep(every=2)
def test_the_ends_of_the_floats_are_met_or_refused_and_what_is_made_verifies(
    method: str, tmp_path: Path
) -> None:
    """Next to no promise, and next to pure noise."""
    table = pa.table({"sex": ["F", "M"] * 60, "age": ["young", "middle", "old"] * 40})
    for number, target in enumerate(ENDS):
        try:
            plan = pm.design(SCHEMA, target, records=120, method=method)
        except Infeasible:
            assert target == pm.DifferentialPrivacy(5e-324)
            continue
        pm.protect(table, plan, to=tmp_path / str(number))
        assert pm.verify(tmp_path / str(number)).valid, target
