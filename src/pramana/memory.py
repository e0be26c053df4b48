"""How much memory a command may take: 2 GiB, or what PRAMANA_MEMORY says; and a child's time.

Tables in CSV and Parquet are read, shuffled and written in parts, and what does not fit goes to a
nameless temporary file. So the bound holds for any number of records and columns; only a single
cell, or a few thousand records of one, can break it. Other formats are held whole, and refused
where they cannot be within it.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from pramana.errors import InvalidNumber, TooLarge

__all__ = [
    "LEAST",
    "give_back",
    "keep_memory",
    "limit_memory",
    "limit_processor",
    "memory_bound",
    "require_addresses",
    "require_memory",
    "require_some",
]

USUAL: Final = 2 * 2**30
LEAST: Final = 2**29
"""Libraries alone take most of less than that."""

OWN: Final = 2 * 2**30
"""Addresses that libraries take without memory behind them: threads have a share each."""

OF_CHILD: Final = 2**30
"""The same for a process that reads with a single thread."""

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # options of the C library's mallopt
KEPT: Final = 2**30
"""Less free memory than that is not given back, and blocks that are smaller are taken from it."""

GROUPS: Final = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
UNITS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def give_back() -> None:
    """Let the system have what Arrow and the C library keep of memory that nobody uses any more.

    Each thread of Arrow keeps its own: it is called in the one that did the work.
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # other libraries have no such function
        ctypes.CDLL(None).malloc_trim(0)


def keep_memory() -> None:
    """Let this process use again what it no longer uses, and give nothing of it back.

    For one that lives shortly: a quarter of its time would go to asking for memory again, which the
    system has to fill with zeros first. So Arrow has its memory where everybody else has it.
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.set_memory_pool(arrow.system_memory_pool())
    with suppress(AttributeError, OSError, TypeError):  # other libraries have no such function
        for option in (TRIM_THRESHOLD, MMAP_THRESHOLD):
            ctypes.CDLL(None).mallopt(option, KEPT)


def memory_bound() -> int:
    """Bytes: what was said, or the usual, or three quarters of what the system gives if less.

    >>> memory_bound() >= LEAST
    True
    """
    said = os.environ.get("PRAMANA_MEMORY", "").strip()
    if not said:
        return min(USUAL, 3 * _given() // 4)
    found = re.fullmatch(r"(\d{1,12})\s*([KMGT]?)(i?B)?", said, flags=re.IGNORECASE)
    size = int(found[1]) * 1024 ** UNITS[found[2].upper()] if found else 0
    if size < LEAST:
        raise InvalidNumber(
            f"PRAMANA_MEMORY must be a size of at least {LEAST >> 20}M, such as 4G, got {said!r}."
        )
    return size


@cache
def _given() -> int:
    """What the machine has, or the group of processes that this one belongs to may take."""
    sizes = [USUAL * 2]
    with suppress(OSError, ValueError, AttributeError):
        sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for place in GROUPS:
        with suppress(OSError, ValueError):  # none, or the word max
            sizes.append(int(Path(place).read_text()))
    return min(sizes)


def require_some() -> None:
    """Refuse to begin where libraries would break down for want of memory, in one line."""
    bound = memory_bound()
    if bound < LEAST:
        raise TooLarge(
            f"The system gives this process {_given() >> 20} MiB of memory, and "
            f"{LEAST * 4 // 3 >> 20} MiB are the least. Allow for more."
        )
    space = _space()
    if space is not None and space < bound + OWN:
        raise TooLarge(
            f"The address space of this process is limited to {space >> 20} MiB (ulimit -v), and "
            f"{(bound + OWN) >> 20} MiB are needed: libraries break down with less. Raise the "
            "limit, or set PRAMANA_MEMORY lower."
        )


def _space() -> int | None:
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def limit_memory() -> None:
    """Let this process, which reads what may unpack to anything, take no more than is allowed."""
    with suppress(ImportError, OSError, ValueError):  # not a POSIX system, or less already
        import resource

        most, hard = memory_bound() + OF_CHILD, resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def limit_processor(seconds: float) -> None:
    """End this process once it has worked so long from now on, and leave no image of its memory."""
    with suppress(ImportError, OSError, ValueError):  # not a POSIX system, or less already
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), hard))


def require_addresses(size: int, *, what: str) -> None:
    """Refuse what reserves addresses, without memory behind them, where these are limited."""
    space = _space()
    if space is not None and space < size:
        raise TooLarge(
            f"{what} reserve {size >> 30} GiB of addresses, without memory behind them, and the "
            f"address space of this process is limited to {space >> 20} MiB. Lift that limit "
            "(ulimit -v unlimited)."
        )


def require_memory(size: int, *, what: str) -> None:
    """Refuse what has to be held whole and does not fit."""
    bound = memory_bound()
    if size > bound:
        raise TooLarge(
            f"{what} takes about {size / 2**30:.1f} GiB of memory: its format is held whole, and "
            f"{bound / 2**30:.1f} GiB are allowed. Make it Parquet or CSV, which are read in "
            "parts, or allow for more (PRAMANA_MEMORY=8G)."
        )
