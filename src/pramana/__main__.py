"""The program, as ``pramana`` or ``python -m pramana``."""

from __future__ import annotations

import signal

__all__ = ["main"]


def main() -> None:
    """Run one command; told to end while it is still being loaded, it ends without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pramana.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
