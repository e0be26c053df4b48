"""``pramana verify``, ``audit``, ``attack`` and ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pramana import api
from pramana.api import AttackName, MissingValues
from pramana.base.atomic_files import require_free, whole_file
from pramana.base.text import text_up
from pramana.cli.options import DOES_NOT_HOLD, names_of, original_data
from pramana.cli.rendering import (
    bullet,
    note,
    out,
    progress_bar,
    show_json,
    show_verdict,
    stage_status,
    table_of,
)
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.evaluation.audit import ReleaseAudit
    from pramana.risk.table_audit import TableAudit

SHOWN = 12


def verify(
    folder: Path,
    key: Path | None = None,
    original: Path | None = None,
    mechanism: Path | None = None,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Check a release from its folder alone.

    Checks digests, signature, number of records and domains, and recomputes every guarantee from
    the published matrices. The exit code is 1 if a check fails.

    Options:
      --key PUB: Public key of the signer.
      --original FILE: For the owner: the original data, to see whether the records fit the
        matrices.
      --mechanism FILE: With --original, where matrices are withheld: mechanism.json of
        --steward-folder.

    Example:
      pramana verify release/
      pramana verify release/ --key office.key.pub --original people.csv
    """
    with progress_bar("Checking records", total=None) as advance:
        verdict = api.verify(
            folder,
            key=key,
            original=original_data(original, encoding, rename),
            mechanism=mechanism,
            progress=advance,
        )
    if json:
        show_json(verdict.to_json())
    else:
        show_verdict(verdict)
    if not verdict.valid:
        raise typer.Exit(DOES_NOT_HOLD)


def audit(
    table: Path,
    keys: list[str] | None = None,
    k: float = 2,
    sensitive: list[str] | None = None,
    weight: str | None = None,
    household: str | None = None,
    schema: Path | None = None,
    missing: MissingValues = MissingValues.CATEGORY,
    width: int = 3,
    original: Path | None = None,
    mechanism: Path | None = None,
    records: Path | None = None,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Measure re-identification risk, attacks and guarantees.

    Of a table: frequencies, unique records, violations of k, population risk, l-diversity,
    t-closeness, and the riskiest combinations of keys. Of a release with its original data:
    attacks with intervals, compared with guessing and with the guarantee. The exit code is 1 if an
    attack exceeds a guarantee.

    Options:
      table TABLE: A table, or a release folder.
      --keys NAMES: Columns by which a person is recognised.
      --k NUMBER: A frequency below it is a violation.
      --sensitive NAMES: Columns that no outsider knows.
      --weight NAME: Sampling weights.
      --missing: Count a missing value as a category, or as any value.
      --width NUMBER: Largest number of keys in a subset.
      --original FILE: For a release: the original data, to attack the mechanism on these very
        people.
      --records FILE: Of a table, for the owner alone: write the risk of every record as CSV.

    Seldom:
      --household NAME: The number of a household.
      --mechanism FILE: For a release that withholds its matrices: mechanism.json of
        --steward-folder.

    Example:
      pramana audit people.csv --keys region,sex,age --k 3
      pramana audit people.csv --schema schema.toml --records risks.csv
      pramana audit people.csv --schema schema.toml --weight weight
      pramana audit release/ --original people.csv
    """
    if records is not None:
        require_free(records, force=False, reads=[table])
    with stage_status("Auditing") as say:
        result = api.audit(
            table if original is not None else original_data(table, encoding, rename),
            keys=names_of(keys) or None,
            k=k,
            sensitive=names_of(sensitive) if sensitive else None,
            weight=weight,
            household=household,
            schema=schema,
            missing=missing,
            width=width,
            original=original_data(original, encoding, rename),
            mechanism=mechanism,
            progress=say,
        )
    if records is not None:
        from pyarrow import csv

        individual = getattr(result, "individual", None)
        if individual is None:
            raise InputError("--records goes with a table, not with a release.")
        with whole_file(records) as place:
            csv.write_csv(individual.to_arrow(), place)
    if json:
        show_json(result.to_json())
    elif isinstance(result, api.ReleaseAudit):
        _show_release(result)
    else:
        _show_table(result)
    if isinstance(result, api.ReleaseAudit) and not result.holds:
        raise typer.Exit(DOES_NOT_HOLD)


def _show_table(audit: TableAudit) -> None:
    console = out()
    for sentence in audit.sentences():
        bullet(console, sentence)
    console.print()
    rows = [(word, f"{number:,}") for word, number in audit.histogram.items()]
    console.print(table_of(("alike records", "records"), rows, right=("records",)))
    console.print()
    below = [f"fk < {text_up(audit.asked, 6)}"] if audit.asked > 2 else []  # 1 alike is unique
    heads = ("worst keys", *below, "unique", "smallest", "expected")
    subsets = [
        (
            ", ".join(subset.keys),
            *(f"{subset.violations:,}" for _ in below),
            f"{subset.uniques:,}",
            f"{subset.smallest:,}",
            "" if subset.expected is None else text_up(subset.expected),
        )
        for subset in audit.subsets[:SHOWN]
    ]
    console.print(table_of(heads, subsets, right=heads[1:]))
    console.print(f"Missing values: {audit.missing}.")


def _show_release(audit: ReleaseAudit) -> None:
    console = out()
    rows = [(one.name, *one.cells(), "BROKEN" if one.broken else "") for one in audit.measured]
    heads = ("attack", "right", "from", "to", "guessing", "not in it", "guaranteed", "")
    console.print(table_of(heads, rows, right=heads[1:7]))
    notes = dict.fromkeys(measured.note for measured in audit.measured)
    for sentence in (*notes, *audit.notes, *audit.seen):
        bullet(console, sentence)
    console.print(audit.standing_out)
    verdict = "A guarantee is exceeded: do not publish."
    if audit.holds:
        verdict = "No guarantee is exceeded."
    if not audit.tested:
        verdict = "No guarantee was tested: none bounds these attacks."
    console.print(f"[bold {'green' if audit.holds else 'red'}]{verdict}[/]")


def attack(
    name: AttackName,
    releases: list[Path],
    knowledge: Path | None = None,
    times: int = 8,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Attack a release with the data that an attacker has.

    linkage: the strongest linker, who knows the original data and the matrices. repeated: perturb
    the release again and again. recovery: filter the noise out. composition: several releases of
    the same people, what of k and epsilon remains. The exit code is 1 if a guarantee is exceeded.

    Options:
      name: What to try.
      releases RELEASE...: A release folder; several for composition.
      --knowledge --original FILE: What the attacker knows of the original data; in the worst
        case all of it, by either name.
      --times NUMBER: For repeated: number of perturbations.

    Example:
      pramana attack linkage release/ --original people.csv
      pramana attack composition release-2023/ release-2024/
    """
    outcome = api.attack(
        name, *releases, knowledge=original_data(knowledge, encoding, rename), times=times
    )
    if json:
        show_json(outcome.to_json())
    else:
        console = out()
        for sentence in outcome.sentences:
            bullet(console, sentence)
    if not outcome.holds:
        raise typer.Exit(DOES_NOT_HOLD)


def report(
    folder: Path,
    output: Path,
    original: Path | None = None,
    external: bool = False,
    name: str = "",
    office: str = "",
    date: str | None = None,
    evidence: bool = False,
    force: bool = False,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Write a report on a release, for the owner or for publication.

    The first page is for the decision: verdict, three numbers, a chart. The annex has the
    guarantees, what they do not guarantee, the treatment of each column, and how to analyse the
    data; with the original data also attacks and losses. One self-contained file.

    Options:
      --output -o FILE: Output file: .html or .pdf.
      --original FILE: For the owner: the original data, to measure attacks and what is lost.
      --external: For publication: nothing but the release and its certificate.
      --name TEXT: Name of the data, for the title.
      --office TEXT: Office that releases the data.
      --date TEXT: Date of the report; today by default.
      --evidence: Write a folder for review boards and catalogues: DDI, Croissant and more.
      --force: Replace an existing file.

    Example:
      pramana report release/ --original people.csv -o internal.html
      pramana report release/ --external --name "Survey 2026" --office "Statistics" -o report.pdf
      pramana report release/ --evidence -o evidence/
    """
    if evidence:
        files = api.evidence(folder, output, force=force)
        if json:
            show_json({"evidence": [str(file) for file in files]})
        else:
            out().print(f"{output} holds {', '.join(file.name for file in files)}.", markup=False)
        return
    require_free(output, force=force, reads=[original])
    with stage_status("Writing the report") as say:
        made = api.report(
            folder,
            original=original_data(original, encoding, rename),
            external=external,
            name=name,
            office=office,
            date=date,
            progress=say,
        )
        made.save(output, force=force)
    if json:
        size = output.stat().st_size
        show_json({"report": str(output), "external": made.external, "bytes": size})
        return
    out().print(f"{output} holds the report.", markup=False)
    if not made.external:
        note("It contains statistics of the original data: for the owner, not for publication.")
