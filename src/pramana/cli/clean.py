"""``pramana clean``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pramana.cli.options import AsJson, argument, option
from pramana.errors import InputError

__all__ = ["clean"]


def clean(
    folder: Annotated[Path, argument("Where something was written.", metavar="[FOLDER]")] = Path(),
    remove: Annotated[bool, option("--remove", "Remove what is shown.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show, and remove, what was left where writing was cut off.

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
