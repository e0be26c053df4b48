"""A child whose calls of the file system are counted, and that is killed at one of them (ptrace).

Linux on x86-64 only. The child is stopped at the entry of every call; at the one that was chosen it
is killed, so that the call is never made. Threads are followed, other processes are not.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys

TRACEME, PEEKUSER, SYSCALL, SETOPTIONS = 0, 3, 24, 0x4200
GOOD, CLONE, EXIT_KILL = 1, 8, 0x100000
WALL = 0x40000000
CALL_NUMBER, THIRD, SECOND = 15 * 8, 12 * 8, 13 * 8
CHANGES = {
    1: "write", 18: "pwrite64", 20: "writev", 73: "flock", 74: "fsync", 75: "fdatasync",
    77: "ftruncate", 82: "rename", 83: "mkdir", 84: "rmdir", 85: "creat", 86: "link", 87: "unlink",
    40: "sendfile", 76: "truncate", 88: "symlink", 90: "chmod", 91: "fchmod", 92: "chown",
    235: "utimes", 258: "mkdirat", 263: "unlinkat", 264: "renameat", 265: "linkat",
    266: "symlinkat", 268: "fchmodat", 280: "utimensat", 285: "fallocate", 296: "pwritev",
    316: "renameat2", 326: "copy_file_range", 328: "pwritev2", 437: "openat2", 452: "fchmodat2",
}  # fmt: skip
OPEN, OPENAT = 2, 257

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)


def can_trace() -> bool:
    """Whether this system is one that the numbers above are of."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def traced(child, *, kill_at=None, by=signal.SIGKILL, look=None) -> tuple[list[str], int]:
    """Run ``child`` in a fork; the calls that it made, and how it ended (as ``waitpid`` says).

    At the call ``kill_at`` it gets the signal ``by``. Before each call, while it waits, ``look`` is
    called with all calls so far.
    """
    number = os.fork()
    if not number:
        _libc.ptrace(TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        child()
        os._exit(255)  # not reached: the child leaves by itself
    os.waitpid(number, WALL)
    _libc.ptrace(SETOPTIONS, number, None, GOOD | CLONE | EXIT_KILL)
    _libc.ptrace(SYSCALL, number, None, None)
    seen: list[str] = []
    inside: set[int] = set()
    while True:
        own, status = os.waitpid(-1, WALL)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if own == number:
                return seen, status
            continue
        before = len(seen)
        passed = _stopped(own, status, inside, seen)
        if look is not None and len(seen) > before:
            look(seen)
        if kill_at is not None and len(seen) >= kill_at:
            os.kill(number, by)
            kill_at = None
        _libc.ptrace(SYSCALL, own, None, passed)


def _stopped(own: int, status: int, inside: set[int], seen: list[str]) -> int:
    """Take note of a call; the signal to hand on, if it was one that stopped the thread."""
    if os.WSTOPSIG(status) != signal.SIGTRAP | 0x80:
        event = os.WSTOPSIG(status) in (signal.SIGTRAP, signal.SIGSTOP)
        return 0 if event else os.WSTOPSIG(status)
    if own in inside:
        inside.discard(own)
        return 0
    inside.add(own)
    call = _libc.ptrace(PEEKUSER, own, CALL_NUMBER, None)
    if call in CHANGES:
        seen.append(CHANGES[call])
    elif call in (OPEN, OPENAT):
        flags = _libc.ptrace(PEEKUSER, own, THIRD if call == OPENAT else SECOND, None)
        if flags & (os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_RDWR):
            seen.append("open")
    return 0
