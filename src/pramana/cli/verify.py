"""``pramana verify``, ``keygen``, ``ledger`` and ``clean``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pramana.cli.options import (
    DOES_NOT_HOLD,
    AsJson,
    Encoding,
    ReleaseFolder,
    Rename,
    argument,
    option,
    told,
)
from pramana.errors import InputError


def verify(
    folder: ReleaseFolder,
    key: Annotated[Path | None, option("--key", "Who must have signed it.", metavar="PUB")] = None,
    original: Annotated[
        Path | None,
        option(
            "--original",
            "For the owner: the true table, to see whether the records fit the matrices.",
            metavar="FILE",
        ),
    ] = None,
    mechanism: Annotated[
        Path | None,
        option(
            "--mechanism",
            "With --original, where matrices are withheld: mechanism.json of --steward-folder.",
            metavar="FILE",
        ),
    ] = None,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Check a release from its folder alone.

    Is it whole, and does it keep what it promises? Looks at fingerprints, signature, number of
    records, that every value lies in its domain, and computes every guarantee again from the
    published matrices. Leaves with 1 if anything fails.

    Example:
      pramana verify release/
      pramana verify release/ --key office.key.pub --original people.csv
    """
    from pramana import api
    from pramana.cli.rendering import progress_bar, show_json, show_verdict

    with progress_bar("Checking records", total=None) as advance:
        verdict = api.verify(
            folder,
            key=key,
            original=told(original, encoding, rename),
            mechanism=mechanism,
            progress=advance,
        )
    if as_json:
        show_json(verdict.to_json())
    else:
        show_verdict(verdict)
    if not verdict.valid:
        raise typer.Exit(DOES_NOT_HOLD)


def keygen(
    name: Annotated[Path, argument("The file of the secret key.", metavar="NAME")],
    as_json: AsJson = False,
) -> None:
    """Make a key pair for signatures.

    NAME signs releases and stays secret; NAME.pub checks them.

    Example:
      pramana keygen office.key
      pramana protect people.csv --schema schema.toml --k 100 -o release/ --sign office.key
      pramana verify release/ --key office.key.pub
    """
    from pramana import make_keys
    from pramana.cli.rendering import show_json

    private, public = make_keys(name)
    if as_json:
        show_json({"private": str(private), "public": str(public)})
        return
    typer.echo(f"{private}: keep it secret; 'pramana protect --sign {private}' uses it.")
    typer.echo(f"{public}: publish it; 'pramana verify --key {public}' uses it.")


class LedgerView(StrEnum):
    """What to do with a ledger."""

    SHOW = "show"
    CHECK = "check"


def ledger(
    what: Annotated[LedgerView, argument("What to do.", case_sensitive=False)],
    file: Annotated[Path, argument("The ledger's file.", metavar="LEDGER")],
    as_json: AsJson = False,
) -> None:
    """Show the guarantees of all releases of a table together.

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


def clean(
    folder: Annotated[Path, argument("Where something was written.", metavar="[FOLDER]")] = Path(),
    remove: Annotated[bool, option("--remove", "Remove what is shown.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show and remove files left by interrupted writing.

    A process that is killed leaves a hidden folder beside what it was writing, and the place itself
    as it was. Folders of processes that still run are not touched.

    Example:
      pramana clean results/
      pramana clean results/ --remove
    """
    from pramana.base.leftovers import leftovers, remove_leftovers
    from pramana.cli.rendering import note, show_json

    if not folder.is_dir():
        raise InputError(f"{folder} must be a folder, and is none.")
    found = remove_leftovers(folder) if remove else leftovers(folder)
    if as_json:
        names = [str(one.folder) for one in found]
        show_json({"folder": str(folder), "leftovers": names, "removed": remove})
        return
    for one in found:
        typer.echo(f"{one.sentence()}.")
    if remove:
        typer.echo(f"{len(found)} removed.")
    elif found:
        note(f"Remove them: pramana clean {folder} --remove")
    else:
        typer.echo("Nothing was left here.")
