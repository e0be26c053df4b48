"""``pramana advise`` and ``pramana compare``: methods and targets tried on a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pramana.base.atomic_files import require_free, write_whole
from pramana.base.text import tables_in
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
from pramana.errors import Infeasible, InputError

if TYPE_CHECKING:
    from pramana.evaluation.advise import Advice
    from pramana.evaluation.cli_hints import Hint
    from pramana.evaluation.compare import Comparison


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
    ask: Annotated[
        list[str] | None,
        option("--ask", "What will be asked: sex*age, 'income by sex', 'income ~ age'."),
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
    """Compare all methods on your table and recommend one.

    Each method is aimed at one chance in k, as its own promise says it; its release is attacked and
    asked for your tables, and thrown away. Shows the truth beside what each would give, which is
    for your eyes only.

    Example:
      pramana advise people.csv --schema schema.toml
      pramana advise people.csv --schema schema.toml --k 100 --tables sex*age,region*education
      pramana advise people.csv --schema schema.toml --ask "income by region" --ask "income ~ age"
    """
    from pramana import api
    from pramana.cli.rendering import progress_bar, show_json
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
            asked=ask or (),
            methods=methods,
            progress=advance,
        )
    commands = found.commands(str(table), str(place), read)
    if as_json:
        show_json(found.to_json() | {"commands": commands})
    else:
        _show_advice(found, commands, found.further(hints))


def _show_advice(found: Advice, commands: list[str], further: list[Hint]) -> None:
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
            notes.setdefault(one.note, []).append(one.scenario.title)
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


def compare(
    table: TableFile,
    schema: SchemaFile = None,
    plan: Annotated[
        Path | None,
        option("--plan", "Schema and what will be asked, from a plan file.", metavar="TOML"),
    ] = None,
    k: Annotated[list[str] | None, option("--k", "Targets, as 10,100.", metavar="NUMBERS")] = None,
    epsilon: Annotated[
        list[str] | None, option("--epsilon", "Targets, as 2,6.", metavar="NUMBERS")
    ] = None,
    method: Annotated[
        list[str] | None,
        option(
            "--method",
            "Designs to compare; where not given, those that hold whatever the data are.",
            metavar="NAMES",
            complete=listed_methods,
        ),
    ] = None,
    ask: Annotated[
        list[str] | None,
        option("--ask", "What will be asked: sex*age, 'income by sex', 'income ~ age'."),
    ] = None,
    output: Annotated[
        Path | None, option("--output", "Write a page with the plot.", short="-o", metavar="HTML")
    ] = None,
    force: Annotated[bool, option("--force", "Replace an existing file.")] = False,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Compare targets and methods on a table.

    Each scenario is designed, protected several times, attacked and compared with the truth;
    nothing is published. Shows what is attained, how often the strongest link is right, what is
    lost, and which scenarios nothing else beats. For method optimal, one in k means alpha = 1/k,
    for inverse-frequency xi = 1/k.

    Example:
      pramana compare people.csv --schema s.toml --k 10,100 --method retention,resample
    """
    from pramana import api
    from pramana.cli.rendering import note, progress_bar, show_json

    if output is not None:
        require_free(output, force=force, reads=[table, schema, plan])
    if plan is not None:
        found_there = api.PlanFile.load(plan)
        schema = schema or found_there.schema_beside(plan)
        ask = ask or list(found_there.asked)
    place = require_schema(schema, table)
    methods = names_of(method) or list(api.compared())
    targets = _numbers("--k", k), _numbers("--epsilon", epsilon)
    with progress_bar("Scenarios", total=len(methods) * sum(map(len, targets))) as advance:
        found = api.compare(
            told(table, encoding, rename),
            place,
            methods=methods,
            k=targets[0],
            epsilon=targets[1],
            asked=ask or (),
            progress=advance,
        )
    if output is not None and not found.refused:
        write_whole(output, found.to_html(), force=force)
        note(f"{output} holds the page; it contains figures of the true table.")
    reasons = {outcome.note for outcome in found.outcomes} if found.refused else set()
    if len(reasons) == 1:
        raise Infeasible(f"Every scenario was refused: {reasons.pop()}")
    if as_json:
        show_json(found.to_json())
    else:
        _show_comparison(found)
    if reasons:
        raise Infeasible("Every scenario was refused, for the reasons told with each.")


def _numbers(option: str, texts: list[str] | None) -> list[float]:
    try:
        return [float(text) for text in names_of(texts)]
    except ValueError:
        raise InputError(f"{option} takes numbers, separated by commas, such as 10,100.") from None


def _show_comparison(found: Comparison) -> None:
    from pramana.cli.rendering import bullet, out, table_of

    console = out()
    heads, rows = found.rows()
    console.print(table_of(heads, rows, right=heads[2:-1]))
    console.print()
    for sentence in found.sentences():
        bullet(console, sentence, style="green")
    for outcome in found.outcomes:
        if outcome.note:
            bullet(console, f"{outcome.scenario.name}: {outcome.note}")
