"""``pramana compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pramana.base.atomic_files import require_free, write_whole
from pramana.cli.options import (
    AsJson,
    Encoding,
    Rename,
    SchemaFile,
    TableFile,
    listed_methods,
    names_of,
    option,
    require_schema,
    told,
)
from pramana.errors import Infeasible, InputError

if TYPE_CHECKING:
    from pramana.evaluation.compare import Comparison

__all__ = ["compare"]


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
    """Try several targets and methods on a table, and put them side by side.

    Each scenario is designed, protected several times, attacked and compared with the truth;
    nothing is published. Shows what is attained, how often the strongest link is right, what is
    lost, and which scenarios nothing else beats. For method optimal, one in k means alpha = 1/k,
    for inverse-frequency xi = 1/k.

    Example:
      pramana compare people.csv --schema s.toml --k 10,100 --method retention,resample
    """
    from pramana import api
    from pramana.cli.progress import progress_bar
    from pramana.cli.rendering import note, show_json

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
        _show(found)
    if reasons:
        raise Infeasible("Every scenario was refused, for the reasons told with each.")


def _numbers(option: str, texts: list[str] | None) -> list[float]:
    try:
        return [float(text) for text in names_of(texts)]
    except ValueError:
        raise InputError(f"{option} takes numbers, separated by commas, such as 10,100.") from None


def _show(found: Comparison) -> None:
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
