"""What all tests share."""

from __future__ import annotations

import gc
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.brief import brief
from tests.depth import DEEP, REST

# The same examples on every machine, and no verdict on how busy that machine is.
settings.register_profile(
    "deep",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("deep"), max_examples=6)
settings.load_profile("deep" if DEEP else "quick")


MEMORY, ROOM = Path("/dev/shm"), 4 * 2**30  # noqa: S108 - a file system, and no file
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    # Releases are flushed to the disk. Some tests would spend half of their time waiting for it.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_collection_finish() -> None:
    """What was imported stays to the end: the search for garbage need not walk through it.

    Nor need it walk often through what is left: tests are short.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


@pytest.fixture(scope="module")
def risk_accepted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Accept the risk of the unchanged columns that a module names in ``RISK_ACCEPTED``.

    They follow from others, or number the records so that a test finds them; ``protect`` refuses
    all other such columns. tests/risk looks at that.
    """
    from pramana.risk.unchanged import require_covered

    def with_accepted(schema: Any, table: Any, accepted: Sequence[str] = ()) -> None:
        unchanged = {column.name for column in schema.released_as_is}
        require_covered(schema, table, [*accepted, *unchanged & set(request.module.RISK_ACCEPTED)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pramana.protecting.require_covered", with_accepted)
        yield


TESTS = Path(__file__).parent
FIRST = ("test_faults.py", "test_benchmarks.py", "test_memory.py")
"""Where single tests take longest: begun last, one of them would be waited for by all others."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest first, all others in their order; not all of them, by the depth of the run.

    Whoever names a single test gets it.
    """
    if (REST or not DEEP) and not any("::" in argument for argument in config.args):
        quick = set(quickly(items))
        kept = {item for item in items if (REST and deeper(item)) or (item in quick) is not REST}
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    items.sort(key=lambda item: item.path.name not in FIRST)


def deeper(item: pytest.Item) -> bool:
    """Whether a quick test looks more deeply at full depth: a law, or one that asks for the depth.

    Every such test runs twice where a quick run comes first.
    """
    function, module = (getattr(item, name, None) for name in ("function", "module"))
    return hasattr(function, "hypothesis") or getattr(module, "DEEP", None) is DEEP


def quickly(items: list[pytest.Item]) -> list[pytest.Item]:
    """Tests that are not marked deep, or every n-th example of those marked ``deep(every=n)``.

    Of crossed parameters each value is in one example at least.
    """
    seen: set[tuple[object, ...]] = set()
    examples: Counter[str] = Counter()
    kept = []
    for item in items:
        if mark := item.get_closest_marker("deep"):
            test = item.nodeid.partition("[")[0]
            if "every" in mark.kwargs and examples[test] % mark.kwargs["every"] == 0:
                kept.append(item)
            examples[test] += 1
            continue
        values = set(crossed(item))
        if not values or values - seen:
            kept.append(item)
        seen |= values
    return kept


def crossed(item: pytest.Item) -> Iterator[tuple[object, ...]]:
    """The test with its value of each parameter, or of parameters that are stated together."""
    parameters = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    test = item.nodeid.partition("[")[0]
    for mark in item.iter_markers("parametrize"):
        stated = mark.args[0]
        names = re.split(r",\s*", stated) if isinstance(stated, str) else stated
        yield (test, *names, *(id(parameters.pop(name)) for name in names))
    for name, value in parameters.items():
        yield test, name, id(value)


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
