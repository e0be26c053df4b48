"""Counting copies while records pass, on the way in and on the way out.

Every record is looked at once when it is read and once when it leaves, so that the owner is told
how much stands in a release word for word without another pass over either table.
"""

from __future__ import annotations

import errno
import os
import tempfile
import weakref
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.engines.base import Table
from pramana.risk.verbatim import Known, Verbatim, numbers_of, verbatim_of
from pramana.table.opened import OpenedTable, Part
from pramana.table.schema import Schema
from pramana.types import Words

__all__ = ["Watch"]

MOST_RECORDS: Final = 2**17
"""Of larger tables about so many records are looked at, chosen by their numbers: the same ones on
both sides. Shares are then off by about a tenth of a percent, for the owner's eyes."""


SIDES: Final = 2
HEAD: Final = 4
"""A note is a side, a place, how many records passed and how many numbers follow: then these."""


class Watch:
    """One number a record, by its place: of the truth as it is read, of what leaves.

    A place that passes twice counts once. Threads may look at several batches at a time, and so may
    copies of this process: what they see is noted in one nameless file, in memory where the system
    has such files.
    """

    def __init__(self, schema: Schema, records: int, *, most: int = MOST_RECORDS) -> None:
        self._columns = schema.released
        self._records = records
        self._limit = np.uint64(2**64 - 1 if records <= most else int(2**64 * (most / records)))
        self._known: tuple[Known, Known] = ({}, {})
        self._notes = _nameless_file()
        self._counting: Future[Verbatim | None] | None = None
        weakref.finalize(self, os.close, self._notes)

    def truth(self, opened: OpenedTable) -> OpenedTable:
        """The same table, looked at whenever all released columns are read together."""

        def parts(columns: Sequence[str]) -> Iterator[Part]:
            whole = {column.name for column in self._columns} <= set(columns)
            for part in opened.parts(columns):
                yield replace(part, load=partial(self._load, part)) if whole else part

        def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
            return self.truth(opened.fitted(text=text, coded=coded))

        return replace(opened, opener=parts, fit=None if opened.fit is None else fit)

    def released(self, table: Table) -> Table:
        """The same records, looked at as they leave."""
        return table.map_batches(partial(self._look, released=True), schema=table.schema())

    def count(self) -> None:
        """Begin to count, beside whatever else is done now that all records have passed."""
        pool = ThreadPoolExecutor(1)
        self._counting = pool.submit(self._counted)
        pool.shutdown(wait=False)

    def result(self) -> Verbatim | None:
        """What was counted; ``None`` unless all records have passed on both sides."""
        return self._counted() if self._counting is None else self._counting.result()

    def _counted(self) -> Verbatim | None:
        seen = self._seen()
        if any(sum(many for many, _ in own.values()) != self._records for own in seen):
            return None
        found = verbatim_of(*(np.concatenate([n for _, n in own.values()]) for own in seen))
        return replace(found, sampled=bool(self._limit < np.uint64(2**64 - 1)))

    def _seen(self) -> list[dict[int, tuple[int, Words]]]:
        """Of both sides how many records passed at each place, and their numbers.

        Whoever is killed leaves half a note, behind which nothing can be read.
        """
        size = os.fstat(self._notes).st_size // 8 * 8
        notes = np.frombuffer(os.pread(self._notes, size, 0), np.uint64)
        seen: list[dict[int, tuple[int, Words]]] = [{} for _ in range(SIDES)]
        while len(notes) >= HEAD:
            side, position, many, numbers = map(int, notes[:HEAD])
            if side >= SIDES or HEAD + numbers > len(notes):
                break
            seen[side][position] = many, notes[HEAD : HEAD + numbers]
            notes = notes[HEAD + numbers :]
        return seen

    def _load(self, part: Part) -> pa.RecordBatch:
        return self._look(part.load(), part.position, released=False)

    def _look(self, batch: pa.RecordBatch, position: int, *, released: bool) -> pa.RecordBatch:
        if batch.num_rows:
            known = self._known[released]
            numbers = numbers_of(self._columns, batch, released=released, known=known)
            if self._limit < np.uint64(2**64 - 1):
                numbers = numbers[numbers <= self._limit]
            self._note([released, position, batch.num_rows, len(numbers)], numbers)
        return batch

    def _note(self, head: list[int], numbers: Words) -> None:
        """In one call, so that no two notes are mixed."""
        note = np.concatenate([np.array(head, np.uint64), numbers])
        if os.write(self._notes, note.data.cast("B")) != note.nbytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _nameless_file() -> int:
    """Opened so that whatever is written comes behind what anybody has written before."""
    if hasattr(os, "memfd_create"):
        place = os.memfd_create("notes")
    else:
        with tempfile.TemporaryFile() as file:
            place = os.dup(file.fileno())
    with suppress(ImportError):  # other systems have no copies
        import fcntl

        fcntl.fcntl(place, fcntl.F_SETFL, os.O_APPEND)
    return place
