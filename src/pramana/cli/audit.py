"""``pramana audit``, ``attack``, ``report``, ``advise`` and ``compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pramana import api, experiments
from pramana.api import AttackName, MissingValues
from pramana.base.atomic_files import require_free, whole_file, write_whole
from pramana.base.text import tables_in, text_up
from pramana.cli.options import (
    DOES_NOT_HOLD,
    names_of,
    numbers_of,
    original_data,
    reading,
    require_schema,
)
from pramana.cli.plan import way_out_shown
from pramana.cli.rendering import (
    bullet,
    note,
    out,
    paste,
    progress_bar,
    show_json,
    side_by_side,
    stage_status,
    table_of,
)
from pramana.errors import Infeasible, InputError

if TYPE_CHECKING:
    from pramana.evaluation.advise import Advice
    from pramana.evaluation.audit import ReleaseAudit
    from pramana.evaluation.cli_hints import Hint
    from pramana.evaluation.compare import Comparison
    from pramana.risk.table_audit import TableAudit


SHOWN = 12


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
      --original FILE: For a release: the original data, to attack the mechanism on the same
        people.
      --records FILE: Of a table, for the owner alone: write the risk of every record as CSV.

    Advanced:
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
            raise InputError("--records is for a table, not for a release.")
        with whole_file(records, mode=0o600) as place:
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
    console.print(table_of(("group size", "records"), rows, right=("records",)))
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

    linkage: link records with the original data and the matrices. repeated: perturb the release
    several times. recovery: remove noise by filters. composition: compute k and epsilon of several
    releases of the same people. The exit code is 1 if a guarantee is exceeded.

    Options:
      name: The attack.
      releases RELEASE...: A release folder; several for composition.
      --knowledge --original FILE: The table that the attacker knows; in the worst case the
        original data.
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
    language: str = "en",
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
      --original FILE: For the owner: the original data, to measure attacks and losses.
      --external: For publication: uses the release and its certificate only.
      --name TEXT: Name of the data, for the title.
      --office TEXT: Office that releases the data.
      --language CODE: Language of the report: en or de.
      --evidence: Write a folder for review boards and catalogues: DDI, Croissant and more.
      --force: Replace an existing file.

    Advanced:
      --date TEXT: Date of the report; today by default.
      --rename: Make duplicate column names of the original data unique.

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
            language=language,
            progress=say,
        )
        made.save(output, force=force)
    if json:
        size = output.stat().st_size
        show_json({"report": str(output), "external": made.external, "bytes": size})
        return
    out().print(f"{output} contains the report.", markup=False)
    if not made.external:
        note("It contains statistics of the original data: for the owner, not for publication.")


def advise(
    table: Path,
    schema: Path | None = None,
    k: float = 20,
    tables: list[str] | None = None,
    ask: list[str] | None = None,
    method: list[str] | None = None,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Compare all methods on your table and recommend one.

    Each method is designed for a re-identification probability of 1/k. Its trial release is
    attacked, analysed and deleted. The output compares estimates with the original data: do not
    publish it.

    Options:
      --k NUMBER: Re-identification probability at most 1/k.
      --tables A*B,C*D: Planned tables, such as sex*age,region*sex.
      --ask: Planned analysis: sex*age, 'income by sex', 'income ~ age'.
      --method NAMES: Try only these; the default is all methods.

    Example:
      pramana advise people.csv --schema schema.toml
      pramana advise people.csv --schema schema.toml --k 100 --tables sex*age,region*education
      pramana advise people.csv --schema schema.toml --ask "income by region" --ask "income ~ age"
    """
    place = require_schema(schema, table)
    methods = names_of(method)
    total = len(methods) or sum(bool(one.aims) for one in api.METHODS.values())
    read = reading(encoding, rename)
    target, asked = ("--k", f"{k:.12g}"), ",".join(tables or ())
    hints = api.CliHints(str(place), str(table), read, target, tables=asked)
    with way_out_shown(hints), progress_bar("Trying methods", total=total) as advance:
        advice = api.advise(
            original_data(table, encoding, rename),
            place,
            k=k,
            tables=[table for text in tables or () for table in tables_in(text)],
            asked=ask or (),
            methods=methods,
            progress=advance,
        )
    commands = advice.commands(str(table), str(place), read)
    if json:
        show_json(advice.to_json() | {"commands": commands})
    else:
        _show_advice(advice, commands, advice.further(hints))


def _show_advice(advice: Advice, commands: list[str], further: list[Hint]) -> None:
    console = out()
    heads, rows = advice.rows()
    console.print(table_of(heads, rows, right=heads[2:-1]))
    console.print()
    name, heads, rows = advice.side_by_side()
    if name:
        console.print(f"Records by {name}, the largest cells:", markup=False)
        for part_heads, part in side_by_side(heads, rows, fixed=2, width=console.width):
            console.print(table_of(part_heads, part, right=part_heads[1:]))
            console.print()
    for sentence in advice.why():
        bullet(console, sentence, style="green")
    for hint in further:
        bullet(console, hint.words)
        paste(console, hint.command)
    notes: dict[str, list[str]] = {}
    for one in advice.tried:
        if one.note and not one.left_out:
            notes.setdefault(one.note, []).append(one.scenario.title)
    for why, methods in notes.items():
        bullet(console, f"{', '.join(methods)}: {why}")
    if advice.used < advice.records:
        bullet(
            console,
            f"Tried on {advice.used:,} of {advice.records:,} records, drawn at random; with all of "
            "them, tables of randomised columns have smaller errors.",
        )
    for command in commands:
        note(command)


def compare(
    table: Path,
    schema: Path | None = None,
    plan: Path | None = None,
    k: list[str] | None = None,
    epsilon: list[str] | None = None,
    method: list[str] | None = None,
    ask: list[str] | None = None,
    output: Path | None = None,
    force: bool = False,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Compare targets and methods on a table.

    Each scenario is designed, protected several times, attacked and compared with the original
    data; nothing is published. Shows the attained guarantee, the success of the strongest linking
    attack, the loss, and the frontier of risk and loss. For method optimal, --k means alpha = 1/k,
    for inverse-frequency xi = 1/k.

    Options:
      --plan TOML: Schema and planned analyses, from a plan file.
      --k NUMBERS: Targets, such as 10,100.
      --epsilon NUMBERS: Targets, such as 2,6.
      --method NAMES: Methods to compare; the default is all, or with --epsilon the methods
        that are not designed from the data.
      --ask: Planned analysis: sex*age, 'income by sex', 'income ~ age'.
      --output -o HTML: Write a page with the plot.
      --force: Replace an existing file.

    Example:
      pramana compare people.csv --schema s.toml --k 10,100 --method retention,resample
    """
    if output is not None:
        require_free(output, force=force, reads=[table, schema, plan])
    if plan is not None:
        plan_file = api.PlanFile.load(plan)
        schema = schema or plan_file.schema_path(plan)
        ask = ask or list(plan_file.asked)
    place = require_schema(schema, table)
    targets = numbers_of("--k", k, "10,100"), numbers_of("--epsilon", epsilon, "2,6")
    methods = names_of(method) or api.compared(fixed=bool(targets[1]))
    with progress_bar("Scenarios", total=len(methods) * sum(map(len, targets))) as advance:
        comparison = api.compare(
            original_data(table, encoding, rename),
            place,
            methods=methods,
            k=targets[0],
            epsilon=targets[1],
            asked=ask or (),
            progress=advance,
        )
    if output is not None and not comparison.refused:
        write_whole(output, comparison.to_html(), force=force)
        note(f"{output} contains the comparison, with statistics of the original data.")
    reasons = {outcome.note for outcome in comparison.outcomes} if comparison.refused else set()
    if len(reasons) == 1:
        raise Infeasible(f"Every scenario was refused: {reasons.pop()}")
    if json:
        show_json(comparison.to_json())
    else:
        _show_comparison(comparison)
    if reasons:
        raise Infeasible("Every scenario was refused, for the reasons given with each.")


def _show_comparison(comparison: Comparison) -> None:
    console = out()
    heads, rows = comparison.rows()
    console.print(table_of(heads, rows, right=heads[2:-1]))
    console.print()
    for sentence in comparison.sentences():
        bullet(console, sentence, style="green")
    for outcome in comparison.outcomes:
        if outcome.note:
            bullet(console, f"{outcome.scenario.name}: {outcome.note}")


def show_guide(
    gamma: str,
    accuracy: float | None,
    table: Path | None,
    *,
    target: str | None,
    test: Path | None,
    quick: bool,
    json: bool,
) -> None:
    """Try a grid of gammas and numbers of bins, choose, and show the table behind the choice."""
    low, high = ends = api.parse_range(gamma)
    if table is None:
        sets = experiments.reference_sets(quick=quick)
    elif target is None:
        raise InputError("The guide needs the class to predict: add --target NAME.")
    else:
        sets = experiments.table_sets(table, target=target, test=test)
    bins = (5, 10) if quick else (5, 10, 15, 20, 40)
    gammas = sorted({low, high} if quick else {low, float(round((low * high) ** 0.5)), high})
    with progress_bar("Trying the grid", total=len(sets) * len(gammas) * len(bins)) as advance:
        trials = experiments.try_grid(sets, gammas=gammas, bins=bins, seed=2026, advance=advance)
    guide = experiments.guide_of(trials)
    choice = guide.choose(gammas=ends, accuracy=accuracy)
    reached = accuracy is None or choice.accuracy >= accuracy
    if json:
        grid = [point.to_json() for point in guide.points]
        form = {"method": "guide", "choice": choice.to_json(), "reached": reached}
        show_json(form | {"data": [one.name for one in sets], "grid": grid})
        return
    head = ("gamma", "bins", "entropy", "accuracy", "error")
    rows = [
        (
            text_up(point.gamma, 6),
            str(point.bins),
            f"{point.entropy:.3f}",
            f"{point.accuracy:.1%}",
            f"{point.error:.3f}",
        )
        for point in guide.points
    ]
    console = out()
    console.print(table_of(head, rows, right=head))
    bullet(
        console,
        f"Take N = {choice.bins} bins and gamma = {text_up(choice.gamma, 6)}: accuracy "
        f"{choice.accuracy:.1%} on clean records, entropy {choice.entropy:.3f} bits."
        + ("" if reached else " No combination reaches this accuracy; it is the highest."),
        style="green" if reached else "bold red",
    )
    bullet(console, "An attribute with at most N distinct values is not binned.")
    if table is not None:
        bullet(
            console,
            "Trials on your records made this choice. If you release the same people by it, write "
            'origin = "trials" into the schema under each column that you bin: no epsilon covers '
            "the choice.",
        )
