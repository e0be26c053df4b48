"""A place on a ledger while a release is made: nobody else enters anything meanwhile."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pramana.errors import DoesNotHold, InputError, Unconfirmed
from pramana.guarantees.composition import Together
from pramana.ledger.chain import Chain, beside, key_file, locked
from pramana.ledger.fingerprints import TablePrints, table_prints
from pramana.ledger.ledger import CONFIRMED, WITHDRAWN, Budget, Ledger, LedgerEntry, digest_of
from pramana.release.certificate import Certificate
from pramana.release.folder import CERTIFICATE, read_certificate
from pramana.schema.opened_table import OpenedTable
from pramana.types import Entries


@dataclass(frozen=True)
class Booking:
    """One release of one table that is about to be entered.

    Attributes:
        chain: the ledger so far, held.
        truth: the keyed fingerprints of the table.
        shown: those of the columns that are released as they are, recoded, where there are any.
        people: the name of its people, where there is one.
        folder: where the release will be, if anywhere.
    """

    chain: Chain
    truth: TablePrints
    shown: TablePrints | None
    people: str | None
    folder: Path | None

    def require(self, certificate: Certificate, budget: Budget | None) -> Together:
        """What the table's releases would promise together; refused beyond the budget."""
        ledger = Ledger.of(self.chain).with_entry(self._entry(certificate))
        found = ledger.together()
        if budget is not None:
            budget.require(found, records=certificate.records)
        return found

    @contextmanager
    def entered(self, certificate: Certificate) -> Iterator[None]:
        """Enter the release before it is made, and after it what came of it.

        Whatever stops the machine in between, the entry is there, and counts.
        """
        before = self._standing()
        try:
            entry = self._entry(certificate)
            chain = self.chain.grown(
                entry.to_json(), secret=entry.secret(), room=entry.secret_room()
            )
        except OSError as error:
            raise DoesNotHold(
                f"The release could not be entered in the ledger {self.chain.path} "
                f"({error.strerror}). Nothing was released."
            ) from None
        try:
            yield
        except BaseException:
            if self._standing() == before:
                _add(chain, {"line": WITHDRAWN})
            raise
        done = certificate if self.folder is None else read_certificate(self.folder)
        _add(chain, {"line": CONFIRMED, "release": digest_of(done, data=True)})

    def _standing(self) -> bytes | None:
        """The certificate at the place of the release."""
        place = None if self.folder is None else self.folder / CERTIFICATE
        return place.read_bytes() if place is not None and place.is_file() else None

    def _entry(self, certificate: Certificate) -> LedgerEntry:
        return LedgerEntry.of(
            certificate,
            truth=self.truth,
            shown=self.shown,
            people=self.people,
            folder=self.folder,
        )


def _add(chain: Chain, line: Entries) -> None:
    """Say what came of an entry; where that fails, the entry counts."""
    try:
        chain.grown(line)
    except OSError as error:
        warnings.warn(
            f"The ledger {chain.path} could not be written ({error.strerror}): the release is "
            "entered in it, and whether it stands is not.",
            Unconfirmed,
            stacklevel=4,
        )


@contextmanager
def booked(
    path: Path,
    opened: OpenedTable,
    *,
    people: str | None,
    folder: Path | None,
    kept: Sequence[str] = (),
) -> Iterator[Booking]:
    """Hold a ledger, which begins here if there is none, and look the table up.

    Args:
        path: of the ledger.
        opened: the table as it is released from, recoded.
        people: the name of its people, where there is one.
        folder: where the release will be, if anywhere.
        kept: the columns that are released as they are.
    """
    with locked(path):
        there = path.exists() or key_file(path).exists()
        chain = Chain.load(path) if there else Chain.new(path)
        for words in Ledger.of(chain).unconfirmed:
            warnings.warn(f"In the ledger {path}: {words}", Unconfirmed, stacklevel=4)
        truth = table_prints(opened.raw or opened, key=chain.key)
        shown = table_prints(opened, kept, key=chain.key, beside=truth.own) if kept else None
        yield Booking(chain, truth, shown, people, folder)


def require_apart(path: Path, folder: Path | None) -> None:
    """Refuse a ledger that would be published, or a release on top of one."""
    files = (path, *beside(path))
    links = [file.parent.resolve() / file.name for file in files]
    places = {*links, *(file.resolve() for file in files)}
    own = None if folder is None else folder.resolve()
    for place in places:
        inside = own is not None and (own == place or own in place.parents)
        if inside or (own is not None and place in own.parents):
            raise InputError(
                f"The ledger {path} and the release {folder} must lie apart: the folder of a "
                "release is published, and the ledger is not. Keep it beside the truth."
            )
    around = {parent for place in places for parent in place.parents}
    if any((parent / CERTIFICATE).is_file() for parent in around):
        raise InputError(
            f"The ledger {path} must not lie in the folder of a release, which is published. Keep "
            "it beside the truth."
        )
