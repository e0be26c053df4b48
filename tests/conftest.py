"""What all tests share."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import settings

from tests.brief import brief

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


TESTS = Path(__file__).parent
FIRST = ("test_faults.py", "test_benchmarks.py", "test_memory.py")
"""Where single tests take longest: begun last, one of them would be waited for by all others."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first; all others keep their order."""
    items.sort(key=lambda item: item.path.name not in FIRST)


PATIENT = {
    "docs",
    "experiments",
    "golden",
    "microaggregation",
    "test_asked_beside.py",
    "test_benchmarks.py",
}
"""Where it is asked what long work comes to, or where its figures are written down."""


@pytest.fixture(scope="module", autouse=True)
def briefly(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever figures long work would come to: the rest of the tests holds all the same."""
    with nullcontext() if PATIENT & {*request.path.relative_to(TESTS).parts} else brief():
        yield
