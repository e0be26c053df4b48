"""Progress bars: on stderr, and only where someone is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]

Advance = Callable[[int], None]


@contextmanager
def progress_bar(label: str, *, total: int | None) -> Iterator[Advance | None]:
    """A function that is told how many more records are done; ``None`` without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    # It draws itself when it is told something: a thread that draws would keep work from copies of
    # this process, which are made only where there is no other thread.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(label, total=total)

        def advance(records: int) -> None:
            bar.advance(task, records)
            bar.refresh()

        yield advance
