"""``pramana report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pramana.base.atomic_files import require_free
from pramana.cli.options import AsJson, Encoding, ReleaseFolder, Rename, option, told

__all__ = ["report"]


def report(
    folder: ReleaseFolder,
    output: Annotated[
        Path, option("--output", "Where to: .html, or .pdf.", short="-o", metavar="FILE")
    ],
    original: Annotated[
        Path | None,
        option(
            "--original",
            "For the owner: the true table, to measure attacks and what is lost.",
            metavar="FILE",
        ),
    ] = None,
    external: Annotated[
        bool, option("--external", "For publication: nothing but the release and its certificate.")
    ] = False,
    name: Annotated[
        str, option("--name", "The name of the data, for the title.", metavar="TEXT")
    ] = "",
    office: Annotated[str, option("--office", "Who releases the data.", metavar="TEXT")] = "",
    date: Annotated[
        str | None, option("--date", "Of the report; today where not given.", metavar="TEXT")
    ] = None,
    force: Annotated[bool, option("--force", "Replace an existing file.")] = False,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Write one document that explains a release: to the owner, or to everybody.

    One page to decide and sign by: a verdict, three numbers, a chart. Then an annex: what is
    promised and what is not, what was done to each column, how to analyse the data; with the
    original also what attacks achieve and what is lost. One file, without anything to load.

    Example:
      pramana report release/ --original people.csv -o internal.html
      pramana report release/ --external --name "Survey 2026" --office "Statistics" -o report.pdf
    """
    from pramana import api
    from pramana.cli.progress import stage_status
    from pramana.cli.rendering import note, out, show_json

    require_free(output, force=force, reads=[original])
    with stage_status("Writing the report") as say:
        made = api.report(
            folder,
            original=told(original, encoding, rename),
            external=external,
            name=name,
            office=office,
            date=date,
            progress=say,
        )
        made.save(output, force=force)
    if as_json:
        size = output.stat().st_size
        show_json({"report": str(output), "external": made.external, "bytes": size})
        return
    out().print(f"{output} holds the report.", markup=False)
    if not made.external:
        note("It contains figures of the true table: for the owner, not for publication.")
