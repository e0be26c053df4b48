"""A place on a ledger while a release is made: nobody else enters anything meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pramana.engines.choose import engine_for
from pramana.errors import DoesNotHold, NotCovered
from pramana.guarantees.composition import Together
from pramana.ledger.book import Budget, Ledger, LedgerEntry
from pramana.ledger.chain import Chain, key_file, locked
from pramana.ledger.prints import column_prints
from pramana.release.certificate import Certificate
from pramana.table.opened import OpenedTable
from pramana.table.schema import Schema

__all__ = ["Booking", "booked"]


@dataclass(frozen=True)
class Booking:
    """One release of one table that is about to be entered.

    Attributes:
        chain: the ledger so far, held.
        columns: the keyed fingerprints of the table.
        people: the name of its people, where there is one.
    """

    chain: Chain
    columns: Mapping[str, str]
    people: str | None

    def require(self, certificate: Certificate, budget: Budget | None) -> Together:
        """What the table's releases would promise together; refused beyond the budget."""
        ledger = Ledger.of(self.chain).with_entry(self._entry(certificate))
        found = ledger.together()
        if budget is not None:
            budget.require(found)
        return found

    def enter(self, certificate: Certificate) -> None:
        """Write the entry, when the release stands."""
        try:
            self.chain.grown(self._entry(certificate).to_json())
        except OSError as error:
            raise DoesNotHold(
                f"The release stands, and could not be entered in the ledger {self.chain.path} "
                f"({error.strerror}): withdraw it, or release again where there is room."
            ) from None

    def _entry(self, certificate: Certificate) -> LedgerEntry:
        return LedgerEntry.of(certificate, columns=self.columns, people=self.people)


@contextmanager
def booked(
    path: Path, opened: OpenedTable, schema: Schema, *, people: str | None
) -> Iterator[Booking]:
    """Hold a ledger, which begins here if there is none, and look the table up."""
    with locked(path):
        there = path.exists() or key_file(path).exists()
        chain = Chain.load(path) if there else Chain.new(path)
        spread = not engine_for(opened).on_one_machine
        if spread and people is None:
            raise NotCovered(
                "A table on Spark has no order by which a ledger could know it again: name its "
                "people (--people NAME)."
            )
        names = [] if spread else [column.name for column in schema.released]
        yield Booking(chain, column_prints(opened, names, key=chain.key), people)
