"""The process: signals, limits on memory and processor time, worker threads, servers, isolation.

Memory is limited to 2 GiB a command, or to PRAMANA_MEMORY. Tables in CSV and Parquet are read,
shuffled and written in parts; what does not fit goes to an unnamed temporary file. Other formats
are held whole, and a file that would exceed the limit is refused.

``python -c`` and ``python -m`` put the working folder first on the import path. Inside the release
of a stranger, a file named ``json.py`` would then be executed in place of the standard library's.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from types import FrameType
from typing import Final, Protocol, TypeVar

from pramana.errors import InputError, InvalidNumber, TooLarge

ENDING: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Ctrl-C, a request to terminate, and a closed terminal; not every system has all three."""

IMPORTING: Final = "<frozen importlib._bootstrap>"
RETRY_SECONDS: Final = 0.01


class Interruption(KeyboardInterrupt):
    """A signal asked the process to end.

    A separate class: where a ``KeyboardInterrupt`` passes through ``exec`` (dataclasses use
    it), the interpreter ends by SIGINT, whatever exit code the program chose.
    """


@contextmanager
def handle_ending_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Install a handler of the ending signals, in the main thread; ignored ones stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    previous = {number: signal.signal(number, handler) for number in heeded}
    try:
        yield
    finally:
        for number, previous_handler in previous.items():
            signal.signal(number, previous_handler)


@contextmanager
def interrupt_on_signals(received: list[int]) -> Iterator[None]:
    """Raise :class:`Interruption` at an ending signal, and append its number to ``received``."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        if not defer_during_import(number, frame):
            received.append(number)
            raise Interruption

    with handle_ending_signals(interrupt):
        yield


@contextmanager
def defer_signals() -> Iterator[None]:
    """Deliver signals that end the process, or that have a handler, after the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    previous = {number: signal.getsignal(number) for number in signal.valid_signals()}
    deferred = {
        number: handler
        for number, handler in previous.items()
        if callable(handler) or (number in ENDING and handler is signal.SIG_DFL)
    }
    for number in deferred:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in deferred.items():
            signal.signal(number, handler)
        for pending in sorted(set(received), key=lambda pending: pending not in ENDING):
            signal.raise_signal(pending)


def defer_during_import(number: int, frame: FrameType | None) -> bool:
    """Whether the signal arrived during an import; it is then sent again a moment later.

    An exception raised inside the import system may leave its lock held, and every other thread
    that imports anything then waits forever.
    """
    while frame is not None and frame.f_code.co_filename != IMPORTING:
        frame = frame.f_back
    if frame is None:
        return False
    retry = threading.Timer(RETRY_SECONDS, os.kill, (os.getpid(), number))
    retry.daemon = True
    retry.start()
    return True


PORTS: Final = 2**16


class Stoppable(Protocol):
    """A server that checks a flag from time to time."""

    should_exit: bool


@contextmanager
def stop_on_signals(server: Stoppable) -> Iterator[None]:
    """Stop a server at a signal, also before it listens.

    Uvicorn installs its own handlers only once it listens; an exception raised while it builds its
    event loop would end in complaints about what was left half done.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        server.should_exit = True

    with handle_ending_signals(stop):
        yield


def listener_at(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 takes a free one."""
    if not 0 <= port < PORTS:
        raise InvalidNumber(f"A port is a number from 0 to {PORTS - 1}, got {port}.")
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    try:
        return socket.create_server((name, port), family=family)
    except OSError as error:
        raise InputError(f"Cannot listen at {host}:{port}: {error.strerror}.") from None


INSTALLED: Final = Path(__file__).resolve().parents[1]
"""The folder from which this package was imported."""


def isolate_children() -> None:
    """Keep the working folder off the import path of all Python processes started from now on."""
    os.environ["PYTHONSAFEPATH"] = "1"


def import_path() -> list[str]:
    """The import path of this process without the working folder, for a process started with -I.

    Relative entries depend on the working folder and are left out. The working folder itself stays
    only if this package was imported from there, as in a checkout of the sources.
    """
    absolute = [place for place in map(str, sys.path) if Path(place).is_absolute()]
    try:
        working = Path.cwd().resolve()
    except OSError:  # the working folder has been removed
        return absolute
    left_out = {working} - {INSTALLED}
    return [place for place in absolute if Path(place).resolve() not in left_out]


DEFAULT: Final = 2 * 2**30
LEAST: Final = 2**29
"""The libraries alone take most of it."""

RESERVED: Final = 2 * 2**30
"""Address space that libraries reserve without using it as memory, mostly for threads."""

RESERVED_BY_READER: Final = 2**30
"""The same for a subprocess that reads with one thread."""

CONTROL_GROUPS: Final = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
UNITS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def give_back() -> None:
    """Return unused memory of this thread, in Arrow and the C library, to the system."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def memory_bound() -> int:
    """The limit in bytes: PRAMANA_MEMORY, or 2 GiB, or three quarters of the system's if less.

    >>> memory_bound() >= LEAST
    True
    """
    value = os.environ.get("PRAMANA_MEMORY", "").strip()
    if not value:
        return min(DEFAULT, 3 * _system_memory() // 4)
    parts = re.fullmatch(r"(\d{1,12})\s*([KMGT]?)(i?B)?", value, flags=re.IGNORECASE)
    size = int(parts[1]) * 1024 ** UNITS[parts[2].upper()] if parts else 0
    if size < LEAST:
        raise InvalidNumber(
            f"PRAMANA_MEMORY must be a size of at least {LEAST >> 20}M, such as 4G, got {value!r}."
        )
    return size


@cache
def _system_memory() -> int:
    """The memory of the machine, or the limit of its control group if that is lower."""
    sizes = [DEFAULT * 2]
    with suppress(OSError, ValueError, AttributeError):
        sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for place in CONTROL_GROUPS:
        with suppress(OSError, ValueError):  # no such file, or no limit
            sizes.append(int(Path(place).read_text()))
    return min(sizes)


def require_some() -> None:
    """Refuse to start where libraries would crash for lack of memory."""
    bound = memory_bound()
    if bound < LEAST:
        raise TooLarge(
            f"The system gives this process {_system_memory() >> 20} MiB of memory, and "
            f"{LEAST * 4 // 3 >> 20} MiB are the least. Give it more."
        )
    space = _address_space()
    if space is not None and space < bound + RESERVED:
        raise TooLarge(
            f"The address space of this process is limited to {space >> 20} MiB (ulimit -v), and "
            f"{(bound + RESERVED) >> 20} MiB are needed: libraries break down with less. Raise the "
            "limit, or set PRAMANA_MEMORY lower."
        )


def _address_space() -> int | None:
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def limit_memory() -> None:
    """Limit the address space of this process, which reads files that may unpack to any size."""
    with suppress(ImportError, OSError, ValueError):  # not a POSIX system, or less already
        import resource

        most, hard = memory_bound() + RESERVED_BY_READER, resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def limit_processor(seconds: float) -> None:
    """End this process after this many more seconds of processor time, without a core dump."""
    with suppress(ImportError, OSError, ValueError):  # not a POSIX system, or less already
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), hard))


def require_addresses(size: int, *, what: str) -> None:
    """Refuse to reserve more address space than the process may have."""
    space = _address_space()
    if space is not None and space < size:
        raise TooLarge(
            f"{what} reserve {size >> 30} GiB of addresses, without memory behind them, and the "
            f"address space of this process is limited to {space >> 20} MiB. Lift that limit "
            "(ulimit -v unlimited)."
        )


def require_memory(size: int, *, what: str) -> None:
    """Refuse a table that must be held whole and exceeds the limit."""
    bound = memory_bound()
    if size > bound:
        raise TooLarge(
            f"{what} takes about {size / 2**30:.1f} GiB of memory: its format is held whole, and "
            f"{bound / 2**30:.1f} GiB are allowed. Convert it to Parquet or CSV, which are read in "
            "parts, or allow more memory (PRAMANA_MEMORY=8G)."
        )


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
    threads: int | None = None,
    cells: Callable[[Item], int] | None = None,
) -> Iterator[Result]:
    """Results of ``function`` for all items, in their order, computed by worker threads.

    Arrow, NumPy, compiled loops and the keystream release the interpreter lock. An error is raised
    where its result would have come; work that has not begun is then dropped.

    Args:
        function: what is done to an item.
        items: taken as results are, at most two a thread ahead.
        threads: the number of worker threads, by default one for each processor; with one, the
            calling thread does the work.
        cells: the number of cells of an item. Where it is given, fewer items are taken ahead, so
            that all of them together take at most an eighth of the memory allowed.
    """
    threads = threads or default_threads()
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
