"""The nearest record where matrices are withheld: the owner knows records again by what stayed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.analysis.releases import released, truth

from pramana.base.randomness import Keystream
from pramana.errors import NotCovered
from pramana.evaluation.audit import audit_release
from pramana.io.opening import open_table
from pramana.risk.attacks.microaggregated import withheld_linkage


@pytest.fixture
def release():
    """By method invariant, which publishes no matrices."""
    return released("invariant")


def linked(release, table):
    """The attack on a table in the place of the released one."""
    return withheld_linkage(
        release.certificate,
        open_table(truth()),
        open_table(table),
        keystream=Keystream.from_seed(1),
    )


def test_records_are_known_again_whatever_their_order(release):
    """If nothing is changed, a person is found as often as nobody else has the same keys."""
    order = np.random.default_rng(3).permutation(truth().num_rows)
    found = linked(release, truth().take(pa.array(order)))

    rows = list(
        zip(*(truth()[name].to_pylist() for name in ("a", "b", "c", "region")), strict=True)
    )
    alone = [1 / rows.count(row) for row in rows]
    assert found.low <= np.mean(alone) <= found.high
    assert found.trials > 1_000


def test_keys_that_say_nothing_link_nobody(release):
    """Keys handed round by chance leave guessing."""
    random = np.random.default_rng(4)
    table = truth()
    for name in ("a", "b", "c"):
        at = table.schema.get_field_index(name)
        mixed = table[name].take(pa.array(random.permutation(table.num_rows)))
        table = table.set_column(at, name, mixed)
    assert linked(release, table).low <= linked(release, table).baseline


def test_without_columns_as_they_are_nobody_is_known_again(release):
    """Then there is a note in the place of a figure."""
    table = truth()
    for name in ("inc", "ill"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, pa.array([table[name][0].as_py()] * table.num_rows))
    with pytest.raises(NotCovered, match="can be recognised"):
        linked(release, table)


def test_an_audit_gives_what_needs_no_matrices(release):
    """And says what is missing, and that no guarantee was tested."""
    found = audit_release(release, open_table(truth()))

    assert [one.name for one in found.measured] == ["nearest record"]
    assert found.unchanged.share > 0
    assert "were not measured" in found.notes[0]
    assert found.verdict == "no guarantee was tested"
