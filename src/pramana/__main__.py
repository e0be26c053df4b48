"""The program, as ``pramana`` or ``python -m pramana``."""

from __future__ import annotations

import os
import signal

__all__ = ["main"]


def main() -> None:
    """Run one command; told to end while it is still being loaded, it ends without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Work is shared out among threads of our own: those of the library for matrices would wait for
    # each other beside them, over and over, with all processors busy at nothing.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pramana.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
