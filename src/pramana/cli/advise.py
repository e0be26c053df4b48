"""``pramana advise``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

from pramana.cli.options import (
    AsJson,
    Encoding,
    Rename,
    SchemaFile,
    TableFile,
    names_of,
    option,
    reading,
    require_schema,
    told,
)

if TYPE_CHECKING:
    from pramana.assess.advise import Advice

__all__ = ["advise"]


def advise(
    table: TableFile,
    schema: SchemaFile = None,
    k: Annotated[
        float, option("--k", "Nobody shall be found with more than one in k.", metavar="NUMBER")
    ] = 20,
    tables: Annotated[
        list[str] | None,
        option("--tables", "What will be asked for, as sex*age,region*sex.", metavar="A*B,C*D"),
    ] = None,
    method: Annotated[
        list[str] | None,
        option("--method", "Try these alone; all where not given.", metavar="NAMES"),
    ] = None,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Try every method on your table and your questions, and say which one to take.

    Each method is aimed at one chance in k, as its own promise says it; its release is attacked and
    asked for your tables, and thrown away. Shows the truth beside what each would give, which is
    for your eyes only.

    Example:
      pramana advise people.csv --schema schema.toml
      pramana advise people.csv --schema schema.toml --k 100 --tables sex*age,region*education
    """
    from pramana import api
    from pramana.cli.progress import progress_bar
    from pramana.cli.rendering import show_json

    place = require_schema(schema, table)
    methods = names_of(method)
    total = len(methods) or sum(bool(one.aims) for one in api.METHODS.values())
    with progress_bar("Trying methods", total=total) as advance:
        found = api.advise(
            told(table, encoding, rename),
            place,
            k=k,
            tables=[text.split("*") for text in names_of(tables)],
            methods=methods,
            progress=advance,
        )
    more = reading(encoding, rename)
    commands = [f"{command}{more}" for command in found.commands(str(table), str(place))]
    if as_json:
        show_json(found.to_json() | {"commands": commands})
    else:
        _show(found, commands, schema=str(place), read=f" --table {shlex.quote(str(table))}{more}")


def _show(found: Advice, commands: list[str], *, schema: str, read: str) -> None:
    from pramana.cli.rendering import bullet, note, out, table_of

    console = out()
    heads, rows = found.rows()
    console.print(table_of(heads, rows, right=heads[2:-1]))
    console.print()
    name, heads, rows = found.beside()
    if name:
        console.print(f"Records by {name}, the largest cells:", markup=False)
        console.print(table_of(heads, rows, right=heads[1:]))
        console.print()
    for sentence in found.why():
        bullet(console, sentence, style="green")
    for way in found.ways:
        bullet(console, f"Better still at the same promise. {way.sentence(schema, read)}")
    notes: dict[str, list[str]] = {}
    for one in found.tried:
        if one.note:
            notes.setdefault(one.note, []).append(one.scenario.method)
    for said, methods in notes.items():
        bullet(console, f"{', '.join(methods)}: {said}")
    if found.used < found.records:
        bullet(
            console,
            f"Tried on {found.used:,} of {found.records:,} records, drawn by chance; with all of "
            "them randomised tables are off by less.",
        )
    for command in commands:
        note(command)
