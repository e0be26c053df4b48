"""``pramana studio``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pramana.cli.options import argument, option

__all__ = ["studio"]


def studio(
    folder: Annotated[Path, argument("Where the tables lie.", metavar="[FOLDER]")] = Path(),
    port: Annotated[int, option("--port", "0 takes a free one.", metavar="NUMBER")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser.")
    ] = True,
    database: Annotated[
        str | None,
        option("--database", "Where surveys keep answers that no folder has.", metavar="URL"),
    ] = None,
    host: Annotated[
        str, option("--host", "Where to listen, if not on this machine alone.", metavar="NAME")
    ] = "127.0.0.1",
    certificate: Annotated[
        Path | None, option("--tls-cert", "With --host: the certificate.", metavar="FILE")
    ] = None,
    key: Annotated[
        Path | None, option("--tls-key", "With --host: its key.", metavar="FILE")
    ] = None,
    understood: Annotated[
        bool, option("--i-understand", "With --host: that others can reach the true table.")
    ] = False,
) -> None:
    """Open the whole path in a browser: look, recode, choose, protect, check.

    Listens on this machine alone, for whoever has the address that is printed. The session is kept
    in the folder, and can be closed and opened again.

    Example:
      pramana studio
      pramana studio survey/ --no-browser
    """
    from pramana.studio import Listening, serve_studio

    at = Listening(host, port, certificate, key, understood)

    def tell(address: str) -> None:
        typer.echo(f"Pramana studio: {address}")
        typer.echo("Press Ctrl+C to close it.")

    serve_studio(folder, at, browser=browser, tell=tell, database=database)
