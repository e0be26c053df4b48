"""``pramana rebuild``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pramana.cli.asking import RebuildMethod, ReleaseFolder
from pramana.cli.options import AsJson

__all__ = ["rebuild"]


def rebuild(
    folder: ReleaseFolder,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", show_default=False, help="Where to write."),
    ],
    method: Annotated[
        RebuildMethod,
        typer.Option(
            "--method", help="posterior brings dependence between columns back, rank margins only."
        ),
    ] = RebuildMethod.POSTERIOR,
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

    written = api.load(folder).write_rebuilt(
        output,
        method=method.value,
        seed=seed,
        force=force,
    )
    if as_json:
        show_json({"file": str(output), "method": method.value, **written})
        return
    console = out()
    bullet(console, f"{written['records']:,} records in {output}.")
    bullet(console, str(written["note"]))
