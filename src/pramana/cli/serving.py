"""Commands that serve until they are closed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["closing_with_terminal"]


@contextmanager
def closing_with_terminal() -> Iterator[None]:
    """A closed terminal (SIGHUP) closes a server as SIGTERM does: its library knows only that."""
    hangup = getattr(signal, "SIGHUP", None)
    main = threading.current_thread() is threading.main_thread()
    if hangup is None or not main or signal.getsignal(hangup) == signal.SIG_IGN:
        yield
        return
    before = signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(hangup, before)
