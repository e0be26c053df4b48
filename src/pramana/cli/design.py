"""``pramana design``."""

from __future__ import annotations

import shlex
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
        out,
        show_json,
        show_matrices,
        show_plan,
    )
    from pramana.cli.targets import Stated, plan_for

    stated = Stated.of(context.obj, schema=schema, method=method, plan=plan)
    made, opened = plan_for(
        stated,
        table=told(table, encoding, rename),
        records=records,
        smallest_group=smallest_group,
    )
    if save_plan is not None:
        stated.save(save_plan, force=False)
    instead = api.reports_instead(made)
    if as_json:
        more: Form = {} if instead is None else {"instead": instead}
        here = None if opened is None else api.errors_here(made, opened)
        if here is not None:
            more["expected_errors_here"] = here.to_json()["tables"]
        more["ways"] = [way.to_json() for way in api.ways_out(made, opened=opened)]
        show_json(made.to_json() | more | (matrices_of_plan(made) if show_matrix else {}))
        return
    show_plan(made)
    if instead is not None:
        command = _command(stated.wishes.numbers, table, stated.schema, records) + reading(
            encoding, rename
        )
        bullet(out(), f"{instead} Try it: {command}")
    said = api.beforehand(
        made,
        opened,
        schema=None if stated.schema is None else str(stated.schema),
        table=None if table is None else str(table),
        reading=reading(encoding, rename),
    )
    for sentence in said:
        bullet(out(), sentence)
    if show_matrix:
        show_matrices(made)


def _command(numbers: Form, table: Path | None, schema: Path | None, records: int | None) -> str:
    """The same design by reports, to paste."""
    from pramana import api

    words = ["pramana", "design"]
    words += [str(table)] if table is not None else ["--records", str(records)]
    words += ["--schema", str(schema)]
    for letter in api.letters():
        if numbers.get(letter.field) is not None:
            words += [letter.flag, f"{numbers[letter.field]:.12g}"]
    return shlex.join([*words, "--method", "reports"])
