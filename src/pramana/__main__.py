"""The program, as ``pramana`` or ``python -m pramana``."""

from __future__ import annotations

import os
import signal
import sys

from pramana.base.processes import isolate_children

__all__ = ["main"]


def main() -> None:
    """Run one command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of Ctrl-C during imports
    # Our own threads share the work; with OpenBLAS's threads beside them, both wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    isolate_children()
    from pramana.cli.app import main as run_command

    run_command()


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder, which ``python -m`` puts there
    main()
