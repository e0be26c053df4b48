"""``pramana synthesize``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pramana.cli.options import AsJson, RebuildMethod, ReleaseFolder, option

__all__ = ["synthesize"]


def synthesize(
    folder: ReleaseFolder,
    output: Annotated[Path, option("--output", "Where to write.", short="-o", metavar="FILE")],
    method: Annotated[
        RebuildMethod,
        option("--method", "posterior brings dependence between columns back, rank margins only."),
    ] = RebuildMethod.POSTERIOR,
    seed: Annotated[int | None, option("--seed", "Draw the same again.", metavar="NUMBER")] = None,
    force: Annotated[bool, option("--force", "Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a table for any learner, from a release alone.

    Draws true values for each record, given all that was released of it and the estimated
    distribution. No row of the table is anyone's truth.

    Example:
      pramana synthesize release/ -o mining.parquet
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
