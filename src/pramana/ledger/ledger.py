"""The ledger of releases: table, plan, date, guarantees; and what all of them guarantee together.

The steward keeps it with the original data. It holds no cell of them: what is entered is also in
the certificate, except for the date and the keyed fingerprints of the columns.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pramana.base.rounding import require_number
from pramana.base.text import counted, json_fields, text_down, text_up
from pramana.errors import DoesNotHold, InputError, NotARelease, PramanaError, Unconfirmed
from pramana.guarantees.composition import Disclosure, Together, compose
from pramana.ledger.chain import Chain, key_file, locked, readable_by_others, side_files
from pramana.ledger.fingerprints import SAMPLED, ColumnPrint, TablePrints, table_prints
from pramana.release.certificate import Certificate, disclosed
from pramana.release.folder import CERTIFICATE, read_certificate
from pramana.schema.opened_table import OpenedTable
from pramana.types import Entries, Form


@dataclass(frozen=True)
class Budget:
    """What all releases of one table together must still guarantee.

    >>> Budget(epsilon=1, k=10)
    Budget(epsilon=1, k=10, allow_uncovered=False, delta=None)

    Attributes:
        epsilon: the largest central epsilon of all.
        k: the smallest k of all.
        allow_uncovered: continue if no rule covers the releases together; otherwise this counts as
            exceeding the budget.
        delta: the largest delta of all; if not given, with an epsilon, ten times the usual one of a
            release: 1e-5, or one record if that is less.
    """

    epsilon: float | None = None
    k: float | None = None
    allow_uncovered: bool = False
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            require_number("the budget of epsilon", self.epsilon, low=0)
        if self.k is not None:
            require_number("the budget of k", self.k, low=1)
        if self.delta is not None:
            require_number("the budget of delta", self.delta, low=0, high=1, high_open=True)

    def require(self, together: Together, *, records: int) -> None:
        """Refuse what exceeds it."""
        who = "This release alone would"
        if together.releases > 1:
            all_of = "both" if together.releases == 2 else f"all {together.releases}"
            who = f"With this release, {all_of} releases of this table together would"
        if self.epsilon is not None or self.delta is not None:
            exceeded = self._exceeded_central(together, records)
            if exceeded is not None:
                raise DoesNotHold(f"{who} have {exceeded}. Nothing was written.")
        if self.k is not None:
            if together.k is None:
                self._require_covered("k", together)
            elif together.k < self.k:
                raise DoesNotHold(
                    f"{who} have k = {text_down(together.k)}, below the budget of "
                    f"{text_up(self.k)}. Nothing was written."
                )

    def _exceeded_central(self, together: Together, records: int) -> str | None:
        """The number that exceeds it; the local epsilon, which has no delta, is enough too."""
        if together.central is None:
            self._require_covered("epsilon", together)
            return None
        most = math.inf if self.epsilon is None else self.epsilon
        most_delta = min(1e-5, 1 / records) if self.delta is None else self.delta
        epsilon, delta = together.central.epsilon, together.central.delta or 0.0
        if together.local <= most < math.inf:
            return None
        if epsilon > most:
            budget = text_down(most)
            return f"a central epsilon of {text_up(epsilon)}, above the budget of {budget}"
        if delta > most_delta:
            return f"a delta of {text_up(delta, 3)}, above the budget of {text_down(most_delta, 3)}"
        return None

    def _require_covered(self, name: str, together: Together) -> None:
        if self.allow_uncovered:
            return
        why = "; ".join(together.uncovered) or "no rule covers them"
        raise DoesNotHold(
            f"The budget of {name} counts as exceeded: the combined guarantee of all "
            f"{together.releases} releases of this table is unknown ({why}). Nothing was written; "
            "--allow-uncovered releases all the same."
        )


@dataclass(frozen=True)
class LedgerEntry:
    """One release.

    Attributes:
        date: in UTC.
        people: the name of the people, if the steward gave one.
        columns: keyed fingerprints of the columns of the original table, by name.
        plan: method, options, targets, randomised columns and columns released unchanged.
        promised: the claims of the certificate, by name.
        intended: the SHA-256 of the certificate before there were data.
        folder: the planned place of the release; ``None`` for one in memory.
        disclosed: all that composition needs.
        release: the SHA-256 of the certificate of the finished release; ``None`` if nobody has
            confirmed that it was finished: it counts all the same.
    """

    date: str
    people: str | None
    columns: Mapping[str, ColumnPrint]
    plan: Entries
    promised: Entries
    intended: str
    folder: str | None
    disclosed: Disclosure
    release: str | None = None

    def same_table(self, other: LedgerEntry) -> bool:
        """Whether the tables of both entries may describe the same people.

        They may if they have the same name, or a column that only the same people can have (under
        any name), or as many records unless both have names and these differ.
        """
        if self.people is not None and self.people == other.people:
            return True
        pairs = ((a, b) for a in self.columns.values() for b in other.columns.values())
        if any(one.same_people(two) for one, two in pairs):
            return True
        named = self.people is not None and other.people is not None
        return self.disclosed.records == other.disclosed.records and not named

    def unconfirmed(self) -> str | None:
        """What is left of an unconfirmed release, in words; ``None`` if it is confirmed."""
        if self.release is not None:
            return None
        what = f"A release was begun on {self.date[:16].replace('T', ' ')} UTC"
        if self.folder is None:
            return f"{what}, in memory, and never confirmed: it counts as one."
        try:
            is_written = digest_of(read_certificate(Path(self.folder)), data=False) == self.intended
        except (PramanaError, OSError):
            is_written = False
        there = "it is there" if is_written else "it is not there (any more)"
        return f"{what} in {self.folder} and never confirmed: {there}, and counts as a release."

    def to_json(self) -> Form:
        """The readable part of a line; another line says that the release was finished."""
        return {"line": INTENDED} | json_fields(self, "date people plan promised intended folder")

    def secret(self) -> Form:
        """The part of a line that is encrypted: fingerprints, and what rests on them.

        One key serves all columns, so that a column is recognised under another name. Whoever can
        read the fingerprints and knows one column therefore knows the digests of its values in all
        others.
        """
        return {
            "columns": {name: column.to_json() for name, column in self.columns.items()},
            "disclosed": self.disclosed.to_json(),
        }

    def secret_room(self) -> int:
        """The length that the encrypted part is filled up to: from names and matrices alone."""
        names = {*self.columns, *self.disclosed.columns}
        outline = self.disclosed.outline
        ratios = 0 if outline is None else len(json.dumps(outline.to_json()))
        columns = sum(ROOM_OF_COLUMN + 8 * len(json.dumps(name)) for name in names)
        return ROOM_OF_COLUMN + ratios + columns

    @classmethod
    def from_json(cls, form: Entries) -> LedgerEntry:
        """The reverse of :meth:`to_json`."""
        keys = ("date", "people", "plan", "promised", "intended", "folder")
        return cls(
            **{name: form[name] for name in keys},
            columns={name: ColumnPrint.from_json(one) for name, one in form["columns"].items()},
            disclosed=Disclosure.from_json(form["disclosed"]),
        )


ROOM_OF_COLUMN = 8 * SAMPLED + 1024
"""The most letters of the fingerprints of a column, without its name."""

INTENDED, CONFIRMED, WITHDRAWN = "intended", "confirmed", "withdrawn"
"""The kinds of lines: a release is entered before it is made, and its outcome after."""


def digest_of(certificate: Certificate, *, data: bool) -> str:
    """The SHA-256 of a certificate, with or without the data file and the signature."""
    whole = certificate if data else replace(certificate, data=None, signature=None)
    return hashlib.sha256(whole.to_bytes()).hexdigest()


@dataclass(frozen=True)
class Ledger:
    """All entries, in order; ``Ledger.load`` checks that none was changed.

    Attributes:
        path: where it lies.
        entries: releases in order, without those that failed and were withdrawn.
    """

    path: Path
    entries: tuple[LedgerEntry, ...]

    @classmethod
    def load(cls, path: str | Path) -> Ledger:
        """The ledger in a file; one that was altered is refused."""
        return cls.of(Chain.load(Path(path)))

    @classmethod
    def of(cls, chain: Chain) -> Ledger:
        """From lines that were checked."""
        entries: list[LedgerEntry] = []
        try:
            for line in chain.lines:
                if line["line"] == INTENDED:
                    entries.append(LedgerEntry.from_json(chain.opened(line)))
                elif line["line"] == CONFIRMED:
                    entries[-1] = replace(entries[-1], release=line["release"])
                elif line["line"] == WITHDRAWN:
                    entries.pop()
                else:
                    raise KeyError(line["line"])
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise NotARelease(
                "An entry of the ledger cannot be read; a newer pramana may have written it."
            ) from None
        return cls(chain.path, tuple(entries))

    @property
    def unconfirmed(self) -> list[str]:
        """Releases that were begun and never confirmed, in words."""
        return [words for entry in self.entries if (words := entry.unconfirmed()) is not None]

    @property
    def open_to_others(self) -> list[str]:
        """Its files that other users may read, in words."""
        return [
            f"{file} can be read or written by others than its owner: chmod 600 {file}"
            for file in readable_by_others(self.path)
        ]

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """Positions of entries, those of the same table together."""
        groups: list[list[int]] = []
        for place, entry in enumerate(self.entries):
            near = [g for g in groups if any(entry.same_table(self.entries[p]) for p in g)]
            groups = [g for g in groups if g not in near]
            groups.append(sorted([place, *(p for g in near for p in g)]))
        return tuple(sorted(tuple(group) for group in groups))

    def together(self, *places: int) -> Together:
        """Composition of these entries; without any, of all of the last one's table."""
        if not places and self.entries:
            last = len(self.entries) - 1
            places = next(table for table in self.tables if last in table)
        return compose(marked([self.entries[place] for place in places]))

    def to_json(self) -> Form:
        """As JSON, without fingerprints."""
        return {
            "ledger": str(self.path),
            "entries": [
                {
                    "number": number,
                    "date": entry.date,
                    "people": entry.people,
                    "records": entry.disclosed.records,
                    "plan": dict(entry.plan),
                    "promised": dict(entry.promised),
                    "release": entry.release,
                    "confirmed": entry.release is not None,
                }
                for number, entry in enumerate(self.entries, start=1)
            ],
            "tables": [
                {"entries": [place + 1 for place in table], **self.together(*table).to_json()}
                for table in self.tables
            ],
        }

    def rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Heads and rows of a table of text."""
        tables = {place: t for t, table in enumerate(self.tables, start=1) for place in table}
        return HEADS, [
            (
                str(place + 1),
                entry.date[:16].replace("T", " ") + ("" if entry.release else " (begun)"),
                entry.people or f"table {tables[place]}",
                f"{entry.disclosed.records:,}",
                str(entry.plan["method"]),
                ", ".join(entry.plan["randomised"]),
                ", ".join(entry.plan["kept"]) or "none",
                *_numbers(entry.disclosed),
            )
            for place, entry in enumerate(self.entries)
        ]

    @staticmethod
    def numbers(table: Sequence[int]) -> str:
        """Which entries they are, in words."""
        names = ", ".join(str(place + 1) for place in table)
        return f"entr{'ies' if len(table) > 1 else 'y'} {names}"

    def __repr__(self) -> str:
        entries = counted(len(self.entries), "entry", "entries")
        return f"<Ledger: {entries}, {counted(len(self.tables), 'table')}>"


def marked(entries: Sequence[LedgerEntry]) -> list[Disclosure]:
    """The disclosures of entries, with columns recognised by their values under other names."""
    marks: list[dict[str, set[str]]] = [{} for _ in entries]
    for i, one in enumerate(entries):
        for j, two in enumerate(entries[:i]):
            same = one.disclosed.records == two.disclosed.records
            for a in one.disclosed.columns & one.columns.keys():
                for b in two.disclosed.columns & two.columns.keys():
                    unchanged = a in one.disclosed.kept or b in two.disclosed.kept
                    if unchanged and one.columns[a].like(two.columns[b], same_records=same):
                        marks[i].setdefault(a, set()).add(f"{j}.{b}")
                        marks[j].setdefault(b, set()).add(f"{j}.{b}")
    first: dict[str, str] = {}  # the name under which values were entered first
    disclosures = []
    for entry, marked in zip(entries, marks, strict=True):
        names = {}
        released = sorted(entry.disclosed.columns & entry.columns.keys())
        prints = [entry.columns[name].values for name in released]
        for name, values in zip(released, prints, strict=True):
            known = first.setdefault(values, name)
            if prints.count(values) == 1 and known not in entry.columns:
                names[name] = known
        shown = replace(entry.disclosed, marks={name: frozenset(m) for name, m in marked.items()})
        disclosures.append(shown.renamed(names))
    return disclosures


HEADS = (
    "", "date", "of", "records", "method", "randomised", "kept", "k", "local", "central",
)  # fmt: skip


def _numbers(release: Disclosure) -> tuple[str, str, str]:
    """k, local and central epsilon of a release by itself, as text."""
    alone = compose([release])
    k = "" if alone.k is None else text_down(alone.k)
    if alone.central is None:
        return k, "", ""
    local, central = (
        "no bound" if math.isinf(number) else text_up(number)
        for number in (alone.local, alone.central.epsilon)
    )
    return k, local, central


# -- entering a release ------------------------------------------------------------------------


@dataclass(frozen=True)
class Booking:
    """One release of one table that is about to be entered."""

    chain: Chain
    original: TablePrints
    shown: TablePrints | None
    people: str | None
    folder: Path | None

    def require(self, certificate: Certificate, budget: Budget | None) -> Together:
        """Composition of all releases of the table with this one; refused beyond the budget."""
        ledger = Ledger.of(self.chain)
        entries = (*ledger.entries, self._entry(certificate))
        together = replace(ledger, entries=entries).together()
        if budget is not None:
            budget.require(together, records=certificate.records)
        return together

    @contextmanager
    def entered(self, certificate: Certificate) -> Iterator[None]:
        """Enter the release before it is made, and its outcome afterwards.

        Whatever stops the machine in between, the entry is there, and counts.
        """
        before = self._certificate()
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
            if self._certificate() == before:
                _add(chain, {"line": WITHDRAWN})
            raise
        done = certificate if self.folder is None else read_certificate(self.folder)
        _add(chain, {"line": CONFIRMED, "release": digest_of(done, data=True)})

    def _certificate(self) -> bytes | None:
        """The certificate at the place of the release."""
        place = None if self.folder is None else self.folder / CERTIFICATE
        return place.read_bytes() if place is not None and place.is_file() else None

    def _entry(self, certificate: Certificate) -> LedgerEntry:
        """The entry of the release with this certificate, now."""
        schema = certificate.true_schema
        asked = {claim.name: claim.asked.to_json() for claim in certificate.claims if claim.asked}
        unchanged, shown = schema.released_as_is, self.shown
        forms: dict[str, str] = {}
        owned: dict[str, str] = {}
        if shown is not None and all(column.name in shown.columns for column in unchanged):
            for column in unchanged:  # values, and the bins and recoding that make them
                domain = column.domain if column.binned else None
                words = repr((column.name, column.recoding, domain)).encode()
                values = shown.columns[column.name].values
                forms[column.name] = f"{values}-{hashlib.sha256(words).hexdigest()}"
            columns = self.original.columns
            owned = {columns[name].values: total for name, total in shown.with_distinct.items()}
        return LedgerEntry(
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            people=self.people,
            columns=dict(self.original.columns),
            plan={
                "method": certificate.method,
                "options": dict(certificate.options),
                "asked": asked,
                "randomised": [column.name for column in schema.randomised],
                "kept": [column.name for column in schema.released_as_is],
            },
            promised={claim.name: claim.attained.to_json() for claim in certificate.claims},
            intended=digest_of(certificate, data=False),
            folder=None if self.folder is None else str(self.folder.absolute()),
            disclosed=replace(
                disclosed(certificate), rows=self.original.rows, forms=forms, owned=owned
            ),
        )


def _add(chain: Chain, line: Entries) -> None:
    """Enter the outcome of an entry; if that fails, the entry counts."""
    try:
        chain.grown(line)
    except OSError as error:
        warnings.warn(
            f"The ledger {chain.path} could not be written ({error.strerror}): the release is "
            "entered in it, but not its completion.",
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
    """Lock a ledger, which begins here if there is none, and take the table's fingerprints.

    Args:
        path: of the ledger.
        opened: the recoded table that is released.
        people: the name of its people, if there is one.
        folder: the place of the release, if it is written.
        kept: the columns that are released unchanged.
    """
    with locked(path):
        there = path.exists() or key_file(path).exists()
        chain = Chain.load(path) if there else Chain.new(path)
        for words in Ledger.of(chain).unconfirmed:
            warnings.warn(f"In the ledger {path}: {words}", Unconfirmed, stacklevel=4)
        original = table_prints(opened.raw or opened, key=chain.key)
        shown = table_prints(opened, kept, key=chain.key, extra=original.distinct) if kept else None
        yield Booking(chain, original, shown, people, folder)


def require_apart(path: Path, folder: Path | None) -> None:
    """Refuse a ledger that would be published, or a release on top of one."""
    files = (path, *side_files(path))
    places = {file.parent.resolve() / file.name for file in files}
    places |= {file.resolve() for file in files}
    release = None if folder is None else folder.resolve()
    for place in places:
        if release is not None and (release in (place, *place.parents) or place in release.parents):
            raise InputError(
                f"The ledger {path} and the release {folder} must be in different folders: the "
                "release is published, and the ledger is not. Keep the ledger with the original "
                "data."
            )
    around = {parent for place in places for parent in place.parents}
    if any((parent / CERTIFICATE).is_file() for parent in around):
        raise InputError(
            f"The ledger {path} must not be in the folder of a release, which is published. Keep "
            "it with the original data."
        )
