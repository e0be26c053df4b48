"""``pramana advise``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pramana.base.name_lists import tables_in
from pramana.cli.options import (
    AsJson,
    Encoding,
    Rename,
    SchemaFile,
    TableFile,
    listed_methods,
    names_of,
    option,
    reading,
    require_schema,
    told,
)

if TYPE_CHECKING:
    from pramana.evaluation.advise import Advice
    from pramana.evaluation.cli_hints import Hint

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
        option(
            "--method",
            "Try these alone; all where not given.",
            metavar="NAMES",
            complete=listed_methods,
        ),
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
    from pramana.cli.targets import way_out_shown

    place = require_schema(schema, table)
    methods = names_of(method)
    total = len(methods) or sum(bool(one.aims) for one in api.METHODS.values())
    read = reading(encoding, rename)
    target, asked = ("--k", f"{k:.12g}"), ",".join(tables or ())
    hints = api.CliHints(str(place), str(table), read, target, tables=asked)
    with way_out_shown(hints), progress_bar("Trying methods", total=total) as advance:
        found = api.advise(
            told(table, encoding, rename),
            place,
            k=k,
            tables=[table for text in tables or () for table in tables_in(text)],
            methods=methods,
            progress=advance,
        )
    commands = found.commands(str(table), str(place), read)
    if as_json:
        show_json(found.to_json() | {"commands": commands})
    else:
        _show(found, commands, found.further(hints))


def _show(found: Advice, commands: list[str], further: list[Hint]) -> None:
    from pramana.cli.rendering import bullet, note, out, paste, side_by_side, table_of

    console = out()
    heads, rows = found.rows()
    console.print(table_of(heads, rows, right=heads[2:-1]))
    console.print()
    name, heads, rows = found.beside()
    if name:
        console.print(f"Records by {name}, the largest cells:", markup=False)
        for own, part in side_by_side(heads, rows, fixed=2, width=console.width):
            console.print(table_of(own, part, right=own[1:]))
            console.print()
    for sentence in found.why():
        bullet(console, sentence, style="green")
    for said in further:
        bullet(console, said.words)
        paste(console, said.command)
    notes: dict[str, list[str]] = {}
    for one in found.tried:
        if one.note and not one.left_out:
            notes.setdefault(one.note, []).append(one.scenario.method)
    for why, methods in notes.items():
        bullet(console, f"{', '.join(methods)}: {why}")
    if found.used < found.records:
        bullet(
            console,
            f"Tried on {found.used:,} of {found.records:,} records, drawn by chance; with all of "
            "them randomised tables are off by less.",
        )
    for command in commands:
        note(command)
