"""Releases of one truth in two orders of its rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.base.randomness import Keystream, Stream
from pramana.engine.base import open_source
from pramana.methods.base import METHODS
from pramana.protecting import (
    _certificate,
    _drawn_once,
    _must_count_unchanged,
    _released_records,
    _with_unchanged_share,
)
from pramana.release.folder import complete_folder, data_name, release_folder

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


class ToPeople(Keystream):
    """Words that go with the people: row i of a table has those of person ``rows[i]``."""

    OF_ROWS = ("release", "asked", "report")

    def words(self, stream, start, count, out=None):
        """Those that are drawn by rows, in the order of the people; all others as they are."""
        own = stream == "shuffle" or (
            isinstance(stream, Stream) and stream._parts[0] in self.OF_ROWS
        )
        if not own:
            return super().words(stream, start, count, out)
        words = super().words(stream, 0, RECORDS)[self.rows[start : start + count]]
        if out is None:
            return words
        out[:] = words
        return out


PEOPLE = pa.table(
    {
        "sex": pa.array(RNG.choice(["F", "M"], RECORDS)).dictionary_encode(),
        "age": RNG.integers(0, 80, RECORDS),
        "region": RNG.choice(["north", "south"], RECORDS),
        "diagnosis": [f"text {number}" for number in range(RECORDS)],
        "home": RNG.permutation(RECORDS) // 3,
        "cost": RNG.integers(0, 900, RECORDS) / 4,
    }
)
KEYS = (
    pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
    pm.Column("age", pm.Role.KEY, pm.Bins((0, 20, 40, 80), release="draw")),
)
HOME = pm.Column("home", pm.Role.IDENTIFIER)
COST = pm.Column("cost", pm.Role.SENSITIVE, recoding=pm.Recoding(noise=pm.Noise("normal", 4.0)))
REST = (pm.Column("region", pm.Role.PUBLIC), pm.Column("diagnosis", pm.Role.SENSITIVE))
WAYS = {
    "whole": pm.Schema((*KEYS, *REST, HOME)),
    "strata": pm.Schema((*KEYS, *REST, HOME), strata=("region",)),
    "households": pm.Schema((*KEYS, REST[1], HOME), household="home"),
    "noise": pm.Schema((*KEYS, *REST, HOME, COST)),
}
FORMS = {"whole": ("parquet", "csv"), "noise": ("sav", "dta")}
EVEN = {
    column.name: pm.UniformMixture.of(column.labels, retention=0.5) for column in KEYS
}  # fmt: skip
HOW = {
    "retention": ("retention", (pm.PkAnonymity(k=5),)),
    "central": ("retention", (pm.ShuffledPrivacy(epsilon=3.0, delta=1e-3),)),
    "attribute-sampling": ("attribute-sampling", (pm.PkAnonymity(k=5),)),
    "optimal": ("optimal", (pm.SpontaneousRecognition(alpha=0.1, width=2),)),
    "inverse-frequency": ("inverse-frequency", (pm.CorrectMatch(xi=0.1),)),
    "invariant": (pm.Invariant(stay=0.5), ()),
    "matrix": (pm.GivenMatrices(EVEN), ()),
    "matrix-from-data": (pm.MatricesFromData(EVEN), ()),
} | {
    name: (name, (pm.KAnonymity(k=4),)) for name in ("resample", "permute", "gaussian", "centroid")
}


def written(folder, table, rows, method, asked, schema, file_format) -> dict[str, bytes]:
    """Every byte of a release whose words go with the people."""
    plan = pm.design(schema, *asked, data=table, method=method)
    opened = open_source(table, schema=plan.schema)
    keystream = ToPeople(bytes(range(32)), reproducible=False)  # no seed: central promises hold
    keystream.rows = rows
    made, plan = _released_records(plan, opened, keystream)
    if _must_count_unchanged(plan, opened):
        made = _drawn_once(made)
        plan = _with_unchanged_share(plan, opened, made.to_opened(), keystream)
    with release_folder(folder) as work:
        made.write(work / data_name(file_format), file_format=file_format)
        certificate = _certificate(plan, keystream, opened.labels, accepted_risk=())
        complete_folder(work, certificate, file_format=file_format)
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_every_method_is_tried():
    """A new method must be put here; shuffled marginals release counts, which have no order."""
    assert set(HOW) - {"central"} == set(METHODS) - {"shuffled-marginals"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", HOW)
@pytest.mark.filterwarnings("ignore::pramana.errors.Copies")
@pytest.mark.deep(every=6)
def test_two_orders_of_the_rows_give_the_same_bytes(tmp_path, name, way):
    """The same people with the same words: not a byte tells in which order they stood.

    No two people are alike in everything: such ones might exchange their words.
    """
    method, asked = HOW[name]
    schema = WAYS[way]
    people = PEOPLE.select([column.name for column in schema.columns])
    rows = np.random.default_rng(9).permutation(RECORDS)
    turned = people.take(pa.array(rows))
    for form in FORMS.get(way, ("feather",)):
        one = written(tmp_path / f"one {form}", people, np.arange(RECORDS), method, asked, schema,
                      form)  # fmt: skip
        two = written(tmp_path / f"two {form}", turned, rows, method, asked, schema, form)
        assert one == two
