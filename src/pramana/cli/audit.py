"""``pramana audit``, ``pramana attack`` and ``pramana report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pramana.api import AttackName, MissingValues
from pramana.base.atomic_files import require_free, whole_file
from pramana.base.text import text_up
from pramana.cli.options import (
    DOES_NOT_HOLD,
    AsJson,
    Encoding,
    ReleaseFolder,
    Rename,
    SchemaFile,
    argument,
    names_of,
    option,
    told,
)
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.evaluation.audit import ReleaseAudit
    from pramana.risk.table_audit import TableAudit

SHOWN = 12


def audit(
    table: Annotated[Path, argument("A table, or a release folder.", metavar="TABLE")],
    keys: Annotated[
        list[str] | None, option("--keys", "Who could be known by.", metavar="NAMES")
    ] = None,
    k: Annotated[
        float, option("--k", "A frequency below it is a violation.", metavar="NUMBER")
    ] = 2,
    sensitive: Annotated[
        list[str] | None, option("--sensitive", "What shall not be learned.", metavar="NAMES")
    ] = None,
    weight: Annotated[str | None, option("--weight", "Sampling weights.", metavar="NAME")] = None,
    household: Annotated[
        str | None, option("--household", "What numbers households.", metavar="NAME", seldom=True)
    ] = None,
    schema: SchemaFile = None,
    missing: Annotated[
        MissingValues, option("--missing", "Missing is a value of its own, or could be any value.")
    ] = MissingValues.CATEGORY,
    width: Annotated[
        int, option("--width", "Subsets of up to so many keys.", metavar="NUMBER")
    ] = 3,
    original: Annotated[
        Path | None,
        option(
            "--original",
            "For a release: the true table, to attack the mechanism on these very people.",
            metavar="FILE",
        ),
    ] = None,
    mechanism: Annotated[
        Path | None,
        option(
            "--mechanism",
            "For a release that withholds its matrices: mechanism.json of --steward-folder.",
            metavar="FILE",
            seldom=True,
        ),
    ] = None,
    records: Annotated[
        Path | None,
        option(
            "--records",
            "Of a table, for the owner alone: write the risk of every record as CSV.",
            metavar="FILE",
        ),
    ] = None,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Measure re-identification risk, attacks and guarantees.

    Of a table: frequencies, uniques, violations, risk in the population by sampling weights, what
    groups tell about sensitive columns, and the worst few keys. Of a release with its original:
    linkage, inference and distances with intervals, each beside guessing and the promise. Leaves
    with 1 if an attack breaks a promise.

    Example:
      pramana audit people.csv --keys region,sex,age --k 3
      pramana audit people.csv --schema schema.toml --records risks.csv
      pramana audit people.csv --schema schema.toml --weight weight
      pramana audit release/ --original people.csv
    """
    from pramana import api
    from pramana.cli.rendering import show_json, stage_status

    if records is not None:
        require_free(records, force=False, reads=[table])
    with stage_status("Auditing") as say:
        found = api.audit(
            table if original is not None else told(table, encoding, rename),
            keys=names_of(keys) or None,
            k=k,
            sensitive=names_of(sensitive) if sensitive else None,
            weight=weight,
            household=household,
            schema=schema,
            missing=missing,
            width=width,
            original=told(original, encoding, rename),
            mechanism=mechanism,
            progress=say,
        )
    if records is not None:
        _write_records(found, records)
    if as_json:
        show_json(found.to_json())
    elif isinstance(found, api.ReleaseAudit):
        _show_release(found)
    else:
        _show_table(found)
    if isinstance(found, api.ReleaseAudit) and not found.holds:
        raise typer.Exit(DOES_NOT_HOLD)


def _write_records(found: TableAudit | ReleaseAudit, records: Path) -> None:
    from pyarrow import csv

    individual = getattr(found, "individual", None)
    if individual is None:
        raise InputError("--records goes with a table, not with a release.")
    with whole_file(records) as place:
        csv.write_csv(individual.to_arrow(), place)


def _show_table(found: TableAudit) -> None:
    from pramana.cli.rendering import bullet, out, table_of

    console = out()
    for sentence in found.sentences():
        bullet(console, sentence)
    console.print()
    rows = [(word, f"{number:,}") for word, number in found.histogram.items()]
    console.print(table_of(("alike records", "records"), rows, right=("records",)))
    console.print()
    few = found.asked > 2  # fewer than two alike is unique
    subsets = [
        (
            ", ".join(subset.keys),
            *([f"{subset.violations:,}"] if few else []),
            f"{subset.uniques:,}",
            f"{subset.smallest:,}",
            "" if subset.expected is None else text_up(subset.expected),
        )
        for subset in found.subsets[:SHOWN]
    ]
    below = [f"fk < {text_up(found.asked, 6)}"] if few else []
    heads = ("worst keys", *below, "unique", "smallest", "expected")
    console.print(table_of(heads, subsets, right=heads[1:]))
    console.print(f"Missing values: {found.missing}.")


def _show_release(found: ReleaseAudit) -> None:
    from pramana.cli.rendering import bullet, out, table_of

    console = out()
    rows = [
        (measured.name, *measured.cells(), "BROKEN" if measured.broken else "")
        for measured in found.measured
    ]
    heads = ("attack", "right", "from", "to", "guessing", "not in it", "promised", "")
    console.print(table_of(heads, rows, right=heads[1:7]))
    for note in dict.fromkeys(measured.note for measured in found.measured):
        bullet(console, note)
    for note in found.notes:
        bullet(console, note)
    for sentence in found.seen:
        bullet(console, sentence)
    console.print(found.standing_out)
    verdict = "No promise is broken." if found.holds else "A promise is broken: do not publish."
    if not found.tested:
        verdict = "No promise was put to the test: none of these attacks is bounded by one."
    console.print(f"[bold {'green' if found.holds else 'red'}]{verdict}[/]")


def attack(
    name: Annotated[AttackName, argument("What to try.", case_sensitive=False)],
    releases: Annotated[
        list[Path], argument("A release folder; several for composition.", metavar="RELEASE...")
    ],
    knowledge: Annotated[
        Path | None,
        option(
            "--knowledge",
            "What the attacker knows of the truth; in the worst case the original, by either name.",
            short="--original",
            metavar="FILE",
        ),
    ] = None,
    times: Annotated[
        int, option("--times", "repeated: perturbations in all.", metavar="NUMBER")
    ] = 8,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Attack a release with the data that an attacker has.

    linkage: the strongest linker, who knows the true table and the matrices. repeated: perturb the
    release again and again. recovery: filter the noise out. composition: several releases of the
    same people, what of k and epsilon remains. Leaves with 1 if a promise is broken.

    Example:
      pramana attack linkage release/ --original people.csv
      pramana attack composition release-2023/ release-2024/
    """
    from pramana import api
    from pramana.cli.rendering import bullet, out, show_json

    found = api.attack(name, *releases, knowledge=told(knowledge, encoding, rename), times=times)
    if as_json:
        show_json(found.to_json())
    else:
        console = out()
        for sentence in found.sentences:
            bullet(console, sentence)
    if not found.holds:
        raise typer.Exit(DOES_NOT_HOLD)


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
    """Write a report on a release, for the owner or for everybody.

    One page to decide and sign by: a verdict, three numbers, a chart. Then an annex: what is
    promised and what is not, what was done to each column, how to analyse the data; with the
    original also what attacks achieve and what is lost. One file, without anything to load.

    Example:
      pramana report release/ --original people.csv -o internal.html
      pramana report release/ --external --name "Survey 2026" --office "Statistics" -o report.pdf
    """
    from pramana import api
    from pramana.cli.rendering import note, out, show_json, stage_status

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
