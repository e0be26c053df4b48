"""Limits on memory and processor time: 2 GiB a command, or the size in PRAMANA_MEMORY.

Tables in CSV and Parquet are read, shuffled and written in parts; what does not fit goes to an
unnamed temporary file. So the limit holds for any number of records and columns. Other formats are
held whole, and a file that would exceed the limit is refused.
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
            f"{LEAST * 4 // 3 >> 20} MiB are the least. Allow for more."
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
    """End this process after so many more seconds of processor time, without a core dump."""
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
            f"{bound / 2**30:.1f} GiB are allowed. Make it Parquet or CSV, which are read in "
            "parts, or allow for more (PRAMANA_MEMORY=8G)."
        )
