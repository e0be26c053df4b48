"""``pramana verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pramana.cli.options import AsJson, Encoding, ReleaseFolder, Rename, option, told

__all__ = ["verify"]

DOES_NOT_HOLD = 1


def verify(
    folder: ReleaseFolder,
    key: Annotated[Path | None, option("--key", "Who must have signed it.", metavar="PUB")] = None,
    original: Annotated[
        Path | None,
        option(
            "--original",
            "For the owner: the true table, to see whether the records fit the matrices.",
            metavar="FILE",
        ),
    ] = None,
    mechanism: Annotated[
        Path | None,
        option(
            "--mechanism",
            "With --original, where matrices are withheld: mechanism.json of --steward-folder.",
            metavar="FILE",
        ),
    ] = None,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Check a release from its folder alone.

    Is it whole, and does it keep what it promises? Looks at fingerprints, signature, number of
    records, that every value lies in its domain, and computes every guarantee again from the
    published matrices. Leaves with 1 if anything fails.

    Example:
      pramana verify release/
      pramana verify release/ --key office.key.pub --original people.csv
    """
    from pramana import api
    from pramana.cli.progress import progress_bar
    from pramana.cli.rendering import show_json, show_verdict

    with progress_bar("Checking records", total=None) as advance:
        verdict = api.verify(
            folder,
            key=key,
            original=told(original, encoding, rename),
            mechanism=mechanism,
            progress=advance,
        )
    if as_json:
        show_json(verdict.to_json())
    else:
        show_verdict(verdict)
    if not verdict.valid:
        raise typer.Exit(DOES_NOT_HOLD)
