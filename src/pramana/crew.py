"""Copies of this process that work beside it, and results in the order of the work.

Threads of Python wait for each other after each step of arrays; two of them do ten million records
in four fifths of the time of one. Copies of the process wait for nobody, and begin with everything
that it holds: nothing is loaded twice, nothing is handed over but the number of a piece of work. So
they are made where it is safe and where there is enough to do; everywhere else threads work.

A copy has none of the other threads, and what these had locked stays so: it is made only where
there are none. It writes to nothing but its pipe and memory that is shared with it, and ends when
its work is done or nobody reads what it says. Whatever goes wrong in it (an error, a warning, its
end) goes wrong without a word: its piece of work is done once more here, where the same error is
raised as if there had been no copy.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import struct
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, NoReturn, TypeVar

from pramana.memory import keep_memory, memory_bound
from pramana.parallel import CELL_BYTES, do_meanwhile, in_order
from pramana.signals import ENDING, defer_signals

__all__ = ["LEAST_CELLS", "Hands", "in_copies"]

LEAST_CELLS: Final = 2**22
"""Less work than that is done before copies have paid for themselves."""

AHEAD: Final = 2
"""So many results of each copy may wait to be taken."""

NUMBER, MESSAGE = struct.Struct("<q"), struct.Struct("<qq")
TAKEN, FAILED = -1, -2
"""In place of the size of a result."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Hands(Generic[Item]):
    """Who does some work: copies of this process, or its threads.

    Attributes:
        items: The pieces of work.
        threads: How many work at once.
        cells: How many cells a piece has.
        copies: How many processes may do it as well; none is 0.
    """

    items: Iterable[Item]
    threads: int
    cells: Callable[[Item], int]
    copies: int = 0

    @classmethod
    def of(cls, items: Sequence[Item], threads: int, cells: Callable[[Item], int]) -> Hands[Item]:
        """Of pieces that copies can do: as many copies as are safe, and worth making.

        All together take an eighth of the memory allowed, as threads do.
        """
        sizes = [cells(item) for item in items]
        safe = (
            sys.platform == "linux"
            and threading.active_count() == 1
            and signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL  # else others wait for copies
        )
        if not safe or threads == 1 or len(items) < 2 or sum(sizes) < LEAST_CELLS:
            return cls(items, threads, cells)
        most = memory_bound() // (8 * CELL_BYTES) // max(sizes)
        copies = min(threads, len(items), most)
        return cls(items, threads, cells, copies if copies > 1 else 0)

    def each(self, function: Callable[[Item], Result], *, apart: bool) -> Iterator[Result]:
        """What ``function`` makes of all of it, in order; ``apart`` where a copy may do that."""
        if apart and self.copies:
            return in_copies(function, list(self.items), copies=self.copies)
        return in_order(function, self.items, threads=self.threads, cells=self.cells)


def in_copies(
    function: Callable[[Item], Result], items: Sequence[Item], *, copies: int
) -> Iterator[Result]:
    """``map`` by copies of this process; at most two results a copy wait to be taken.

    Results are pickled, items are not. What ``function`` leaves behind elsewhere is seen here only
    where the memory or the file is shared.
    """
    crew = _Crew(function, items)
    try:
        with defer_signals():
            crew.hire(copies)
        do_meanwhile()
        for number, item in enumerate(items):
            found = crew.result(number)
            yield function(item) if found is None else found[0]
    finally:
        with defer_signals():
            crew.dismiss()


class _Crew:
    """The copies, each with a pipe back; the numbers of what is to be done come by one pipe."""

    def __init__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self._function, self._items = function, items
        self._many, self._told = len(items), 0
        self._results: dict[int, tuple[Any] | None] = {}  # none: to be done here
        self._doing: dict[int, int] = {}  # which number, by the pipe of who does it
        self._lost = False  # whether somebody has ended before the work did
        self._members: dict[int, int] = {}  # process, by pipe
        self._numbers: int | None = None
        self._poll = select.poll()

    def hire(self, copies: int) -> None:
        """Make so many copies, or as many as the system has processes for, and tell them to work.

        A signal that anybody hears in between would be answered by a copy as well, or lost.
        """
        numbers, self._numbers = os.pipe()
        try:
            for _ in range(copies):
                self._hire(numbers)
            self._tell(AHEAD * copies + 1)
        finally:
            os.close(numbers)

    def _hire(self, numbers: int) -> None:
        heard, says = os.pipe()
        try:
            process = _fork()
            if not process:
                # Whoever holds one of these does not see that nobody else does.
                self._tell_the_end()
                for end in (heard, *self._members):
                    os.close(end)
                _work(self._function, self._items, numbers, says)
            self._members[heard] = process
            self._poll.register(heard, select.POLLIN)
        except OSError:  # no more processes: who is there does it
            os.close(heard)
        finally:
            os.close(says)

    def _tell(self, many: int) -> None:
        """Hand out the next numbers; after the last one, that there are no more."""
        end = min(self._told + many, self._many)
        if self._numbers is not None and self._told < end and self._members:
            said = b"".join(map(NUMBER.pack, range(self._told, end)))
            with suppress(BrokenPipeError):  # all have ended, and will be missed soon
                os.write(self._numbers, said)  # a few numbers fit into any pipe
        if end == self._many:
            self._tell_the_end()
        self._told = end

    def _tell_the_end(self) -> None:
        if self._numbers is not None:
            os.close(self._numbers)
        self._numbers = None

    def result(self, number: int) -> tuple[Any] | None:
        """The result of a number, in brackets; none where it is to be found here."""
        while number not in self._results and self._members:
            if self._lost and number not in self._doing.values():
                break
            for pipe, _ in self._poll.poll():
                self._hear(pipe)
        self._tell(1)
        return self._results.pop(number, None)

    def _hear(self, pipe: int) -> None:
        try:
            number, size = MESSAGE.unpack(_read(pipe, MESSAGE.size))
            if size == TAKEN:
                self._doing[pipe] = number
                return
            self._results[number] = None
            if size != FAILED:
                self._results[number] = (pickle.loads(_read(pipe, size)),)  # noqa: S301 our own
            del self._doing[pipe]
        except EOFError:  # it ended: with the work, or before, maybe with a number not yet told
            self._doing.pop(pipe, None)
            self._poll.unregister(pipe)
            os.close(pipe)
            self._lost |= not _ended_well(self._members.pop(pipe))

    def dismiss(self) -> None:
        """End whoever is still there, and wait for it."""
        self._tell_the_end()
        for process in self._members.values():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for pipe, process in self._members.items():
            os.close(pipe)
            _ended_well(process)
        self._members.clear()


def _ended_well(process: int) -> bool:
    """Wait for a process; whether it did all its work, as far as anybody can tell."""
    try:
        return os.waitpid(process, 0)[1] == 0
    except ChildProcessError:  # somebody else here waits for all processes
        return False


def _fork() -> int:
    with warnings.catch_warnings():  # of threads that libraries keep, which nobody asks in a copy
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _read(pipe: int, size: int) -> bytearray:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        got = os.readv(pipe, [rest])
        if not got:
            raise EOFError
        rest = rest[got:]
    return data


def _write(pipe: int, *data: bytes) -> None:
    for own in data:
        rest = memoryview(own)
        while rest:
            rest = rest[os.write(pipe, rest) :]


def _work(
    function: Callable[[Item], Result], items: Sequence[Item], numbers: int, says: int
) -> NoReturn:
    """What a copy does, and nothing after it: no handler and no cleaning up of the original."""
    ended = 1
    try:
        for one in signal.valid_signals():
            if one in ENDING or callable(signal.getsignal(one)):
                signal.signal(one, signal.SIG_DFL)
        gc.disable()  # it would walk through, and so copy, all that is shared
        keep_memory()
        warnings.simplefilter("error")
        while said := os.read(numbers, NUMBER.size):
            (number,) = NUMBER.unpack(said)
            _write(says, MESSAGE.pack(number, TAKEN))
            try:
                made = pickle.dumps(function(items[number]), protocol=5)
            except Exception:  # whatever it was, it is raised again where it is done once more
                _write(says, MESSAGE.pack(number, FAILED))
                continue
            _write(says, MESSAGE.pack(number, len(made)), made)
        ended = 0
    finally:
        os._exit(ended)
