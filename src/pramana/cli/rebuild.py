"""``pramana rebuild``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from pramana.cli.options import AsJson
from pramana.errors import OutputExists

__all__ = ["rebuild"]


def rebuild(
    folder: Annotated[
        Path, typer.Argument(metavar="RELEASE", show_default=False, help="A release folder.")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", show_default=False, help="Where to write."),
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="posterior|rank",
            help="posterior brings dependence between columns back, rank margins only.",
        ),
    ] = "posterior",
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="NUMBER", show_default=False, help="Draw the same again."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a table for any learner, from a release alone.

    Draws true values for each record, given all that was released of it and the estimated
    distribution. No row of the table is anyone's truth.

    Example:
      pramana rebuild release/ -o mining.parquet
    """
    from pramana import api
    from pramana.cli.rendering import bullet, out, show_json
    from pramana.formats.base import format_of
    from pramana.formats.door import write_table
    from pramana.randomness import Keystream
    from pramana.readings.published import REBUILT

    if output.exists() and not force:
        raise OutputExists(f"{output} exists already. Choose another name, or use --force.")
    file_format = format_of(output)
    release = api.load(folder)
    keystream = Keystream.from_system() if seed is None else Keystream.from_seed(seed)
    table = release.rebuilt(keystream, method=cast("Any", method))
    write_table(table, output, file_format=file_format)
    if as_json:
        form = {"file": str(output), "records": table.num_rows, "method": method, "note": REBUILT}
        show_json(form)
        return
    console = out()
    bullet(console, f"{table.num_rows:,} records in {output}.")
    bullet(console, REBUILT)
