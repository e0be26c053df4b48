"""What all tests share."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Tests run side by side, and threads that wait by going round in circles would hold up each other.
for _library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_library, "1")

# The same examples on every machine, and no verdict on how busy that machine is.
settings.register_profile("pramana", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("pramana")


def pytest_collection_finish() -> None:
    """What was imported stays to the end: the search for garbage need not walk through it.

    Nor need it walk often through what is left: tests are short.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="module")
def few_tries() -> Iterator[None]:
    """Groups of few records are annealed for a tenth of the time, by the same code.

    For tests that hold whatever the groups are: how good they are is asked in tests/kanonymity.
    """
    from pramana.kanonymity import anneal

    with pytest.MonkeyPatch.context() as patch:
        for name in ("TRIES_A_RECORD", "TRIES_MOST"):
            patch.setattr(anneal, name, getattr(anneal, name) // 10)
        yield
