"""Recoding on Spark: the workers recode as every other engine does."""

from __future__ import annotations

import pyarrow as pa

import pramana as pm
from pramana.api import open_source
from tests.schema.test_recoding_crossed import SCHEMA, judged, truth


def test_spark_recodes_as_the_judge_does(frame_of):
    """Also when the opened table is handed on."""
    schema = pm.Schema.from_toml(SCHEMA)
    opened = open_source(frame_of(pa.table(truth())), schema=schema)

    assert opened.to_arrow().to_pydict() == judged()
    assert open_source(opened, schema=schema).to_arrow().to_pydict() == judged()


def test_a_release_of_spark_has_recoded_values_with_noise(frame_of):
    """The same values as from memory, with the same seed, noise included."""
    schema = pm.Schema.from_toml(SCHEMA)
    table = pa.table(truth())
    asked = pm.PkAnonymity(k=3)
    plan = pm.design(schema, asked, data=table, method="retention")
    here = pm.protect(table, plan, seed=3).opened.to_arrow()
    there = pm.protect(frame_of(table), plan, seed=3).opened.to_arrow()

    assert there.to_pydict() == here.to_pydict()
