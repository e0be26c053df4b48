"""``pramana ledger``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pramana.cli.options import AsJson, argument

__all__ = ["ledger"]


class LedgerView(StrEnum):
    """What to do with a ledger."""

    SHOW = "show"
    CHECK = "check"


def ledger(
    what: Annotated[LedgerView, argument("What to do.", case_sensitive=False)],
    file: Annotated[Path, argument("The ledger's file.", metavar="LEDGER")],
    as_json: AsJson = False,
) -> None:
    """Say what all releases of a table promise together.

    'pramana protect --ledger L' enters each release. show: the entries, and for each table what its
    releases promise together. check: that no entry was changed, moved or removed. Leaves with 1 if
    one was. L.key beside it stays with the steward.

    Example:
      pramana protect people.csv --schema schema.toml --k 100 -o release/ --ledger office.ledger
      pramana ledger show office.ledger
      pramana ledger check office.ledger
    """
    from pramana import api
    from pramana.cli.rendering import bullet, note, out, show_json, table_of

    found = api.Ledger.load(file)
    console = out()
    if what is LedgerView.CHECK:
        entries, tables = len(found.entries), len(found.tables)
        many = (
            f"{entries} entr{'y' if entries == 1 else 'ies'} of "
            f"{tables} table{'' if tables == 1 else 's'}"
        )
        if as_json:
            unconfirmed = len(found.unconfirmed)
            show_json(
                {
                    "ledger": str(file),
                    "entries": entries,
                    "unconfirmed": unconfirmed,
                    "open_to_others": found.open_to_others,
                    "holds": True,
                }
            )
        else:
            console.print(f"{many}: each line follows the one before it, and none is missing.")
            for words in (*found.unconfirmed, *found.open_to_others):
                note(words)
        return
    if as_json:
        show_json(found.to_json())
        return
    heads, rows = found.rows()
    console.print(table_of(heads, rows, right=("", "records", *heads[-3:])))
    for number, table in enumerate(found.tables, start=1):
        console.print()
        console.print(f"Table {number}, {found.numbers(table)}:", markup=False)
        for sentence in found.together(*table).sentences():
            bullet(console, sentence)
    for words in found.unconfirmed:
        note(words)
