"""Work that is long for the sake of figures which few tests look at: less of it, by the same code.

Groups are annealed for a tenth of the time, and what tables are off by is told after a fifth of the
answers. How good groups are is asked in tests/microaggregation, how exactly errors are told where a
test says so itself. Charts, on the other hand, are looked through for mistakes in all tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pramana.base import charts as pictures

__all__ = ["brief", "work_briefly"]

pictures.LOOKED_THROUGH = True


@contextmanager
def brief() -> Iterator[None]:
    """What is done in here is done briefly."""
    from pramana.evaluation import questions as trials
    from pramana.microaggregation import refinement

    usual = {
        (place, name): getattr(place, name)
        for place, name in (
            (refinement, "TRIES_A_RECORD"),
            (refinement, "TRIES_MOST"),
            (trials, "ANSWERS"),
        )
    }
    try:
        for (place, name), number in usual.items():
            setattr(place, name, number // (5 if place is trials else 10))
        yield
    finally:
        for (place, name), number in usual.items():
            setattr(place, name, number)


def work_briefly(*given: Any) -> None:
    """What the worker of a studio does, in its own process."""
    from pramana.studio.worker import work

    with brief():
        work(*given)
