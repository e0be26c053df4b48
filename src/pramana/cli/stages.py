"""What is being done right now: on stderr, and only where someone is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["stages"]


@contextmanager
def stages(label: str) -> Iterator[Callable[[str], None] | None]:
    """A function that is told what comes next; ``None`` without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(label)) as status:
        yield lambda text: status.update(escape(text))
