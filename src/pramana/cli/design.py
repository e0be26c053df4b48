"""``pramana design``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pramana.cli.guide import (
    Accuracy,
    Gamma,
    GuideOptions,
    GuideQuick,
    GuideTarget,
    GuideTest,
    show_guide,
)
from pramana.cli.options import (
    AsJson,
    Encoding,
    MethodName,
    PlanPath,
    Rename,
    SchemaFile,
    argument,
    option,
    reading,
    told,
)

if TYPE_CHECKING:
    from pramana.types import Form

__all__ = ["design"]


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
    """State a target; see what it takes and what it costs.

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

    stated = Stated.of(context.obj, schema=schema, method=method, plan=plan)
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
    if as_json:
        instead = api.alternative_summary(made)
        more: Form = {} if instead is None else {"instead": instead}
        here = None if opened is None else api.errors_on_data(made, opened)
        if here is not None:
            more["expected_errors_here"] = here.to_json()["tables"]
        more["ways"] = [way.to_json() for way in api.suggest_changes_if_poor(made, opened=opened)]
        show_json(made.to_json() | more | (matrices_of_plan(made) if show_matrix else {}))
        return
    show_plan(made)
    for told_so in api.preview_plan(made, opened, hints=hints):
        bullet(out(), told_so.words)
        paste(out(), told_so.command)
    if show_matrix:
        show_matrices(made)
    if table is not None:
        note(f"Make the release: {hints.release()}")


def _people(records: int | None, smallest_group: int | None) -> tuple[str, ...]:
    given = {"--records": records, "--smallest-group": smallest_group}
    return tuple(w for flag, n in given.items() if n is not None for w in (flag, str(n)))
