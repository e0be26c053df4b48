"""``pramana keygen``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pramana.cli.options import AsJson, argument

__all__ = ["keygen"]


def keygen(
    name: Annotated[Path, argument("The file of the secret key.", metavar="NAME")],
    as_json: AsJson = False,
) -> None:
    """Make a pair of keys for signatures.

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
