"""Trees are kept for the tests of this folder, and no longer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.architecture import source


@pytest.fixture(scope="package", autouse=True)
def trees() -> Iterator[None]:
    """Half a million nodes that nobody else needs are let go."""
    yield
    source.parsed.cache_clear()
    source.nodes.cache_clear()
