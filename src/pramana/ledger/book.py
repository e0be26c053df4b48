"""The ledger: which table, which plan, when, and what was promised; what all promise together.

It is for the steward, who keeps it beside the truth, and holds no truth: all that is entered is in
the certificate anyway, but for the date and the keyed fingerprints of the columns.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pramana.errors import DoesNotHold, NotARelease
from pramana.guarantees.composition import Disclosure, Together, compose
from pramana.ledger.chain import Chain
from pramana.numeric import require_number, text_down, text_up
from pramana.release.certificate import Certificate
from pramana.release.disclosed import disclosed

__all__ = ["Budget", "Ledger", "LedgerEntry"]


@dataclass(frozen=True)
class Budget:
    """What all releases of one table together must still promise.

    >>> Budget(epsilon=1, k=10)
    Budget(epsilon=1, k=10, allow_uncovered=False)

    Attributes:
        epsilon: the most that central epsilon may come to.
        k: the least that k may come to.
        allow_uncovered: go on where no rule says what the releases promise together; it counts as
            exceeded otherwise.
    """

    epsilon: float | None = None
    k: float | None = None
    allow_uncovered: bool = False

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            require_number("the budget of epsilon", self.epsilon, low=0)
        if self.k is not None:
            require_number("the budget of k", self.k, low=1)

    def require(self, found: Together) -> None:
        """Refuse what exceeds it."""
        epsilon = None if found.central is None else found.central.epsilon
        self._require("epsilon", self.epsilon, epsilon, found)
        self._require("k", self.k, found.k, found)

    def _require(
        self, name: str, most: float | None, number: float | None, found: Together
    ) -> None:
        if most is None:
            return
        if number is None:
            if self.allow_uncovered:
                return
            why = "; ".join(found.uncovered) or "no rule covers them"
            raise DoesNotHold(
                f"The budget of {name} counts as exceeded: what all {found.releases} releases of "
                f"this table promise together is not known ({why}). Nothing was written; "
                "--allow-uncovered goes on all the same."
            )
        if number > most if name == "epsilon" else number < most:
            words = (
                f"a central epsilon of {text_up(number)}, above the budget of {most:g}"
                if name == "epsilon"
                else f"k = {text_down(number)}, below the budget of {most:g}"
            )
            raise DoesNotHold(
                f"With this release, all {found.releases} of this table together would have "
                f"{words}. Nothing was written."
            )


@dataclass(frozen=True)
class LedgerEntry:
    """One release.

    Attributes:
        date: when, in UTC.
        people: the name of the people, where the steward gave one.
        columns: keyed fingerprints of the columns of the true table, by name.
        plan: method, options, what was asked, which columns were randomised and which kept.
        promised: what the certificate claims, by name.
        release: the SHA-256 of the certificate.
        disclosed: all that composing needs.
    """

    date: str
    people: str | None
    columns: Mapping[str, str]
    plan: Mapping[str, Any]
    promised: Mapping[str, Any]
    release: str
    disclosed: Disclosure

    @classmethod
    def of(
        cls, certificate: Certificate, *, columns: Mapping[str, str], people: str | None
    ) -> LedgerEntry:
        """That of a release, now."""
        schema = certificate.true_schema
        asked = {claim.name: claim.asked.to_json() for claim in certificate.claims if claim.asked}
        return cls(
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            people=people,
            columns=dict(columns),
            plan={
                "method": certificate.method,
                "options": dict(certificate.options),
                "asked": asked,
                "randomised": [column.name for column in schema.randomised],
                "kept": [column.name for column in schema.released_as_is],
            },
            promised={claim.name: claim.attained.to_json() for claim in certificate.claims},
            release=hashlib.sha256(certificate.to_bytes()).hexdigest(),
            disclosed=disclosed(certificate),
        )

    def same_table(self, other: LedgerEntry) -> bool:
        """The same name of the people; or as many records, and a column that is the same."""
        if self.people is not None and self.people == other.people:
            return True
        shared = set(self.columns.items()) & set(other.columns.items())
        return self.disclosed.records == other.disclosed.records and bool(shared)

    def to_json(self) -> dict[str, Any]:
        """A line of the ledger."""
        return {
            "date": self.date,
            "people": self.people,
            "columns": dict(self.columns),
            "plan": dict(self.plan),
            "promised": dict(self.promised),
            "release": self.release,
            "disclosed": self.disclosed.to_json(),
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> LedgerEntry:
        """The reverse of :meth:`to_json`."""
        try:
            parts = {name: form[name] for name in cls.__dataclass_fields__ if name != "disclosed"}
            return cls(**parts, disclosed=Disclosure.from_json(form["disclosed"]))
        except (KeyError, TypeError, ValueError):
            raise NotARelease(
                "An entry of the ledger cannot be read; a newer pramana may have written it."
            ) from None


@dataclass(frozen=True)
class Ledger:
    """All entries, in order; ``Ledger.load`` checks that none was changed.

    Attributes:
        path: where it lies.
        entries: release after release.
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
        return cls(chain.path, tuple(map(LedgerEntry.from_json, chain.lines)))

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """Which entries are of the same table, by position."""
        groups: list[list[int]] = []
        for place, entry in enumerate(self.entries):
            near = [g for g in groups if any(entry.same_table(self.entries[p]) for p in g)]
            groups = [g for g in groups if g not in near]
            groups.append(sorted([place, *(p for g in near for p in g)]))
        return tuple(sorted(tuple(group) for group in groups))

    def together(self, *places: int) -> Together:
        """What these entries promise together; without any, all of the table of the last one."""
        if not places and self.entries:
            last = len(self.entries) - 1
            places = next(table for table in self.tables if last in table)
        return compose([self.entries[place].disclosed for place in places])

    def with_entry(self, entry: LedgerEntry) -> Ledger:
        """With one more, in memory."""
        return Ledger(self.path, (*self.entries, entry))

    def to_json(self) -> dict[str, Any]:
        """A plain form, without fingerprints."""
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
                entry.date[:16].replace("T", " "),
                entry.people or f"table {tables[place]}",
                f"{entry.disclosed.records:,}",
                str(entry.plan["method"]),
                ", ".join(entry.plan["randomised"]),
                ", ".join(entry.plan["kept"]) or "none",
                *_dials(entry.disclosed),
            )
            for place, entry in enumerate(self.entries)
        ]

    @staticmethod
    def numbers(table: Sequence[int]) -> str:
        """Which entries they are, in words."""
        names = ", ".join(str(place + 1) for place in table)
        return f"entr{'ies' if len(table) > 1 else 'y'} {names}"

    def __repr__(self) -> str:
        return f"<Ledger: {len(self.entries)} entries, {len(self.tables)} tables>"


HEADS = (
    "", "date", "of", "records", "method", "randomised", "kept", "k", "local", "central",
)  # fmt: skip


def _dials(one: Disclosure) -> tuple[str, str, str]:
    """The three numbers of a release by itself, as text."""
    alone = compose([one])
    k = "" if alone.k is None else text_down(alone.k)
    if alone.central is None:
        return k, "", ""
    local, central = (
        "no bound" if math.isinf(number) else text_up(number)
        for number in (alone.local, alone.central.epsilon)
    )
    return k, local, central
