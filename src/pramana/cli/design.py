"""``pramana design``, with the guide to gamma and the number of bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pramana.base.text import text_up
from pramana.cli.options import (
    AsJson,
    Encoding,
    MethodName,
    OriginName,
    PlanPath,
    Rename,
    SchemaFile,
    argument,
    option,
    reading,
    told,
)
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.methods.choice import GridPoint
    from pramana.methods.plan import Plan
    from pramana.types import Form

Gamma: TypeAlias = Annotated[
    str | None,
    option(
        "--gamma",
        "Instead of a target: find gamma in this range, and the number of bins, for trees.",
        metavar="LOW:HIGH",
        seldom=True,
    ),
]
Accuracy: TypeAlias = Annotated[
    float | None,
    option(
        "--accuracy",
        "With --gamma: the accuracy that trees must reach on clean records.",
        metavar="SHARE",
        seldom=True,
    ),
]
GuideTarget: TypeAlias = Annotated[
    str | None,
    option(
        "--target",
        "With --gamma and FILE: the column of classes to learn.",
        metavar="NAME",
        seldom=True,
    ),
]
GuideTest: TypeAlias = Annotated[
    Path | None,
    option(
        "--test",
        "With --gamma and FILE: records to test on; a third of FILE where not given.",
        metavar="FILE",
        seldom=True,
    ),
]
GuideQuick: TypeAlias = Annotated[
    bool, option("--quick", "With --gamma: a small grid first.", seldom=True)
]


@dataclass(frozen=True)
class GuideOptions:
    """What was asked of the guide."""

    gamma: str
    accuracy: float | None
    target: str | None
    table: Path | None
    test: Path | None
    quick: bool


def show_guide(asked: GuideOptions, *, as_json: bool) -> None:
    """Try the grid, choose, and show the table behind the choice."""
    from pramana import api
    from pramana.cli.rendering import progress_bar, show_json
    from pramana.experiments import guide_of, reference_sets, table_sets, try_grid

    ends = api.parse_range(asked.gamma)
    if asked.table is not None and asked.target is None:
        raise InputError("The guide needs to know the class: add --target NAME.")
    sets = (
        reference_sets(quick=asked.quick)
        if asked.table is None
        else table_sets(asked.table, target=str(asked.target), test=asked.test)
    )
    gammas, bins = _grid(ends, quick=asked.quick)
    with progress_bar("Trying the grid", total=len(sets) * len(gammas) * len(bins)) as advance:
        trials = try_grid(sets, gammas=gammas, bins=bins, seed=2026, advance=advance)
    guide = guide_of(trials)
    choice = guide.choose(gammas=ends, accuracy=asked.accuracy)
    reached = asked.accuracy is None or choice.accuracy >= asked.accuracy
    if as_json:
        show_json(_form(choice.to_json(), [p.to_json() for p in guide.points], reached, sets))
        return
    _show(guide.points, choice, reached=reached, tried_on_data=asked.table is not None)


def _show(
    points: Sequence[GridPoint], choice: GridPoint, *, reached: bool, tried_on_data: bool
) -> None:
    """The grid as a table, and what to take."""
    from pramana.cli.rendering import bullet, out, table_of

    head = ("gamma", "bins", "entropy", "accuracy", "error")
    rows = [
        (
            text_up(p.gamma, 6),
            str(p.bins),
            f"{p.entropy:.3f}",
            f"{p.accuracy:.1%}",
            f"{p.error:.3f}",
        )
        for p in points
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
    if tried_on_data:
        bullet(
            console,
            "Trials on your records made this choice. If you release the same people by it, write "
            'origin = "trials" into the schema under each column that you bin: no epsilon covers '
            "the choice.",
        )


def _grid(ends: tuple[float, float], *, quick: bool) -> tuple[Sequence[float], Sequence[int]]:
    low, high = ends
    if quick:
        return sorted({low, high}), (5, 10)
    middle = round((low * high) ** 0.5)
    return sorted({low, float(middle), high}), (5, 10, 15, 20, 40)


def _form(choice: Form, grid: list[Form], reached: bool, sets: Sequence[Any]) -> Form:
    return {
        "method": "guide",
        "choice": choice,
        "reached": reached,
        "data": [one.name for one in sets],
        "grid": grid,
    }


def design(
    context: typer.Context,
    table: Annotated[
        Path | None, argument("The true table, where there is one.", metavar="[FILE]")
    ] = None,
    schema: SchemaFile = None,
    plan: PlanPath = None,
    records: Annotated[
        int | None,
        option(
            "--records", "How many records there will be, where there is no FILE yet.", metavar="N"
        ),
    ] = None,
    method: MethodName = None,
    origin: OriginName = "declared",
    blind: Annotated[
        bool | None,
        option(
            "--blind/--by-trials",
            "Compare other ways by the schema and expected errors alone, or by trials on FILE. "
            "Blind where an epsilon is the target.",
            seldom=True,
        ),
    ] = None,
    smallest_group: Annotated[
        int | None,
        option(
            "--smallest-group",
            "Without FILE: the fewest records that share the plain columns' values.",
            metavar="M",
            seldom=True,
        ),
    ] = None,
    show_matrix: Annotated[
        bool, option("--show-matrix", "Show every matrix with its labels.", seldom=True)
    ] = False,
    save_plan: Annotated[
        Path | None,
        option(
            "--save-plan", "Write target and method as a plan file.", metavar="TOML", seldom=True
        ),
    ] = None,
    gamma: Gamma = None,
    accuracy: Accuracy = None,
    target: GuideTarget = None,
    test: GuideTest = None,
    quick: GuideQuick = False,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Show the plan and the expected error for a target.

    Nothing is written, unless a plan file is asked for.

    Example:
      pramana design people.csv --schema schema.toml --k 100 --epsilon 6
      pramana design --schema schema.toml --records 100000 --k 100    (before collecting)
      pramana design people.csv --schema schema.toml --max-error 0.05
      pramana design people.csv --schema schema.toml --alpha 0.1      (from the data)
      pramana design numbers.csv --target class --gamma 5:12 --accuracy 0.8  (for trees)
    """
    if gamma is not None:
        show_guide(GuideOptions(gamma, accuracy, target, table, test, quick), as_json=as_json)
        return
    from pramana import api
    from pramana.cli.rendering import (
        bullet,
        matrices_of_plan,
        note,
        out,
        paste,
        show_json,
        show_matrices,
        show_plan,
    )
    from pramana.cli.targets import Stated, plan_for

    stated = Stated.of(context.obj, schema=schema, method=method, plan=plan, origin=origin)
    hints = stated.hints(table, reading(encoding, rename), _people(records, smallest_group))
    made, opened = plan_for(
        stated,
        table=told(table, encoding, rename),
        records=records,
        smallest_group=smallest_group,
        hints=hints,
    )
    if save_plan is not None:
        stated.save(save_plan, force=False)
    if blind is None:
        blind = made.aims_at_epsilon
    if blind:
        opened = None
    if as_json:
        show_json(_plan_form(made, opened) | (matrices_of_plan(made) if show_matrix else {}))
        return
    show_plan(made)
    for told_so in api.preview_plan(made, opened, hints=hints):
        bullet(out(), told_so.words)
        paste(out(), told_so.command)
    if show_matrix:
        show_matrices(made)
    if blind and table is not None:
        note("Compared by the schema and expected errors alone; --by-trials tries FILE itself.")
    if table is not None:
        note(f"Make the release: {hints.release()}")


def _plan_form(plan: Plan, opened: Any) -> Form:
    """The plan with its alternatives; tried on the table only where it is given."""
    from pramana import api

    form = plan.to_json()
    instead = api.alternative_summary(plan)
    if instead is not None:
        form["instead"] = instead
    here = None if opened is None else api.errors_on_data(plan, opened)
    if here is not None:
        form["expected_errors_here"] = here.to_json()["tables"]
    ways = api.suggest_changes_if_poor(plan, opened=opened)
    return form | {"ways": [way.to_json() for way in ways]}


def _people(records: int | None, smallest_group: int | None) -> tuple[str, ...]:
    given = {"--records": records, "--smallest-group": smallest_group}
    return tuple(w for flag, n in given.items() if n is not None for w in (flag, str(n)))
