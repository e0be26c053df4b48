"""The local engine does what every engine must do."""

from __future__ import annotations

import pytest

from pramana.engine.local import LocalTable
from tests.conformance.checks import CHECKS


def local(table):
    """On one machine, with several threads."""
    return LocalTable.of(table, threads=3)


def spilling(table):
    """With so little memory that everything goes through the temporary file."""
    return LocalTable.of(table, threads=2, memory=1)


@pytest.mark.parametrize("engine", [local, spilling])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_conformance(check, engine, tmp_path):
    """See the docstring of each check."""
    check(engine, tmp_path)
