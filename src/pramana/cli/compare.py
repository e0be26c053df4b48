"""``pramana advise`` and ``compare``: methods and targets tried on a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pramana import api, experiments
from pramana.base.atomic_files import require_free, write_whole
from pramana.base.text import tables_in, text_up
from pramana.cli.options import names_of, numbers_of, original_data, reading, require_schema
from pramana.cli.plan import way_out_shown
from pramana.cli.rendering import (
    bullet,
    note,
    out,
    paste,
    progress_bar,
    show_json,
    side_by_side,
    table_of,
)
from pramana.errors import Infeasible, InputError

if TYPE_CHECKING:
    from pramana.evaluation.advise import Advice
    from pramana.evaluation.cli_hints import Hint
    from pramana.evaluation.compare import Comparison


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
      --method NAMES: Try these alone; all where not given.

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
    name, heads, rows = advice.beside()
    if name:
        console.print(f"Records by {name}, the largest cells:", markup=False)
        for own, part in side_by_side(heads, rows, fixed=2, width=console.width):
            console.print(table_of(own, part, right=own[1:]))
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
            f"Tried on {advice.used:,} of {advice.records:,} records, drawn by chance; with all of "
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
    attack, the loss, and the scenarios that no other one beats. For method optimal, one in k means
    alpha = 1/k, for inverse-frequency xi = 1/k.

    Options:
      --plan TOML: Schema and planned analyses, from a plan file.
      --k NUMBERS: Targets, as 10,100.
      --epsilon NUMBERS: Targets, as 2,6.
      --method NAMES: Methods to compare; all where not given, or with --epsilon the methods
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
        found_there = api.PlanFile.load(plan)
        schema = schema or found_there.schema_beside(plan)
        ask = ask or list(found_there.asked)
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
        note(f"{output} holds the page; it contains statistics of the original data.")
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
        raise InputError("The guide needs to know the class: add --target NAME.")
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
        + ("" if reached else " No combination reaches the accuracy asked; this is the highest."),
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
