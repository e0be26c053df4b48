"""Worker threads: a parallel ``map`` with bounded memory, and thread pools that stop at once."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from itertools import chain, islice
from typing import Final, TypeVar

from pramana.base.limits import memory_bound

CELL_BYTES: Final = 24
"""What a cell takes on its way, about, copies included."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def default_threads() -> int:
    """One thread for each processor that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    threads: int,
    cells: Callable[[Item], int] | None = None,
) -> Iterator[Result]:
    """Results of ``function`` for all items, in their order, computed by worker threads.

    Arrow, NumPy, compiled loops and the keystream release the interpreter lock. An error is raised
    where its result would have come; work that has not begun is then dropped.

    Args:
        function: what is done to an item.
        items: taken as results are, at most two a thread ahead.
        threads: the number of worker threads; with one, the calling thread does the work.
        cells: the number of cells of an item. Where it is given, fewer items are taken ahead, so
            that all of them together take at most an eighth of the memory allowed.
    """
    if threads == 1:
        yield from map(function, items)
        return
    source = iter(items)
    start = list(islice(source, 2))
    if len(start) < 2:  # one piece of work is done before a thread has started
        yield from map(function, start)
        return
    waiting: deque[tuple[Future[Result], int]] = deque()  # and no name for what was taken: it goes
    held, most = 0, memory_bound() // (8 * CELL_BYTES)
    pool = ThreadPoolExecutor(threads)
    try:
        for item in chain(start, source):
            size = 0 if cells is None else cells(item)
            while waiting and (len(waiting) > 2 * threads or held + size > most):
                held -= waiting[0][1]
                yield waiting.popleft()[0].result()
            waiting.append((pool.submit(function, item), size))
            held += size
        while waiting:
            yield waiting.popleft()[0].result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def side_by_side(threads: int) -> Iterator[ThreadPoolExecutor]:
    """A thread pool that is not waited for if the block is left by an exception."""
    load_for_threads()
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def load_for_threads() -> None:
    """Load SciPy before threads could import parts of it at once, which fails."""
    import_module("scipy")
