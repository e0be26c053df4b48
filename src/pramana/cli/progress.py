"""Progress on stderr, where that is a terminal: a bar, or the current stage."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar", "stage_status"]

Advance = Callable[[int], None]


@contextmanager
def progress_bar(label: str, *, total: int | None) -> Iterator[Advance | None]:
    """A function that advances the bar by a number of records; ``None`` without a terminal."""
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


@contextmanager
def stage_status(label: str) -> Iterator[Callable[[str], None] | None]:
    """A function that shows the current stage; ``None`` without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(label)) as status:
        yield lambda text: status.update(escape(text))
