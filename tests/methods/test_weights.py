"""A weight that singles people out: how coarse it must be, said so that it can be pasted."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.api import open_source
from pramana.errors import Infeasible
from pramana.methods.weights import coarser_weight
from pramana.table.schema import Schema

SCHEMA = """
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.w]
role = "weight"
"""


def people(seed=0, records=2_000):
    """Weights as those of a household survey: a long tail of values that one person has."""
    generator = np.random.default_rng(seed)
    weights = np.round(generator.lognormal(4.5, 0.7, records)).astype(np.int64)
    return pa.table({"sex": generator.choice(["F", "M"], records), "w": weights})


@pytest.mark.parametrize("needed", [3, 10, 50])
def test_each_value_is_shared_and_no_finer_step_would_do(needed):
    """Written out: rounded, cut, and counted; half the decade's step leaves a rare value."""
    table = people()
    step, top = coarser_weight(open_source(table), "w", needed)
    values = np.asarray(table["w"], dtype=float)

    rounded = np.minimum(np.maximum(np.floor(values / step + 0.5), 1) * step, top)
    assert np.unique(rounded, return_counts=True)[1].min() >= needed
    assert top <= values.max() + step
    finer = [own for own in (1, 2, 5, 10, 20, 50, 100, 200) if own < step]
    for own in finer:
        levels = np.maximum(np.floor(values / own + 0.5), 1)
        people_at = np.unique(levels, return_counts=True)[1]
        above = np.cumsum(people_at[::-1])[::-1]
        cut = np.flatnonzero(above >= needed)[-1]
        assert (people_at[:cut] < needed).any()


def test_the_refusal_says_it_and_what_it_says_works():
    """The lines of the message go into the schema, and the same design holds."""
    with pytest.raises(Infeasible) as found:
        pm.design(Schema.from_toml(SCHEMA), pm.PkAnonymity(3), data=people(), method="retention")
    entries = re.search(r"\((round = \S+) and (top = \S+) in the schema\)", str(found.value))
    assert entries is not None, found.value

    coarse = Schema.from_toml(SCHEMA + "\n".join(entries.groups()) + "\n")
    assert pm.design(coarse, pm.PkAnonymity(3), data=people(), method="retention").crowd >= 3


def test_no_step_will_do_where_too_few_have_a_weight():
    """Fewer people than needed, or weights below zero: nothing is proposed."""
    few = open_source(pa.table({"w": [1.5, 2.5]}))
    assert coarser_weight(few, "w", 3) is None
    assert coarser_weight(open_source(pa.table({"w": [-1.0, 2.5]})), "w", 1) is None
