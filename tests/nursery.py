"""Processes that begin in an instant: forked from one that has loaded what they use.

One that starts from nothing spends most of its time on loading libraries. These are processes by
themselves all the same, with numbers, signals, streams and exit codes of their own; whatever is
asked about how a program is loaded needs one that is started.
"""

from __future__ import annotations

from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerContext

__all__ = ["nursery"]


def nursery() -> ForkServerContext:
    """Where processes are forked; it is begun where it is not there, and ends with this one."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    forkserver.ensure_running()  # now: what begins it later may be deaf to signals
    return context
