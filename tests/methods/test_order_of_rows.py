"""Grouped releases of one truth in two orders of its rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm

RNG = np.random.default_rng(5)
RECORDS = 240
TRUTH = pa.table(
    {
        "height": pa.array(RNG.normal(170, 9, RECORDS), mask=RNG.random(RECORDS) < 0.05),
        "region": pa.array(RNG.choice(["north", "south", "east"], RECORDS)).dictionary_encode(),
        "diagnosis": [f"text {number % 97}" for number in range(RECORDS)],
    }
)


@pytest.mark.parametrize("method", ["resample", "permute", "gaussian", "centroid"])
@pytest.mark.filterwarnings("ignore::pramana.errors.Copies")
def test_the_order_of_the_truth_decides_nothing(method: str) -> None:
    """With the same words, the same records to the last digit, in an order that is shuffled."""
    schema = pm.describe(TRUTH, keys=["height", "region"], sensitive=["diagnosis"])
    turned = TRUTH.take(pa.array(RNG.permutation(RECORDS)))
    made = [
        pm.protect(table, pm.design(schema, pm.KAnonymity(k=4), data=table, method=method), seed=7)
        for table in (TRUTH, turned)
    ]
    one, two = (
        pa.table(release.table.to_pydict()).sort_by(
            [(name, "ascending") for name in TRUTH.schema.names]
        )
        for release in made
    )
    assert one.equals(two)
    assert made[0].certificate == made[1].certificate
