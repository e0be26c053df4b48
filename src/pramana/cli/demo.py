"""``pramana demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pramana.base.name_lists import in_shell, program
from pramana.cli.options import AsJson, option

if TYPE_CHECKING:
    from rich.console import Console

    from pramana.experiments.demonstration import Demonstration

__all__ = ["demo"]

DATA, RELEASE = Path("demo-data"), Path("demo-release")
NEXT = (
    f"describe {DATA}/people.parquet",
    f"design {DATA}/people.parquet --schema {DATA}/schema.toml --k 1000",
    f"verify {RELEASE} --original {DATA}/people.parquet",
)
PASSES = 2


def demo(
    records: Annotated[int, option("--records", "How many people to make.", metavar="N")] = 100_000,
    k: Annotated[float, option("--k", "The target.", metavar="NUMBER")] = 100,
    as_json: AsJson = False,
) -> None:
    """The whole way once, on people who do not exist.

    Makes them, protects them, checks the release, and shows what came of it. Writes demo-data/ (the
    true table and its schema) and demo-release/ (what could be published) into the present folder.
    A fixed seed makes it come out the same every time.

    Example:
      pramana demo
    """
    from pramana.cli.progress import progress_bar
    from pramana.cli.rendering import plan_made, show_json
    from pramana.experiments import demonstrate

    with progress_bar("Protecting", total=PASSES * records) as advance:
        done = demonstrate(data=DATA, to=RELEASE, records=records, k=k, progress=advance)
    if as_json:
        form = plan_made(done.plan, done.release.certificate)
        show_json(form | {"release": str(RELEASE), "verify": done.verdict.to_json()})
    else:
        _show(done)


def _show(done: Demonstration) -> None:
    from pramana.cli.rendering import out, show_promises

    console = out()
    plan = done.plan
    keys = ", ".join(column.name for column in plan.schema.randomised)
    console.print(
        f"[bold]{plan.records:,} people who do not exist[/], each known by {keys}.\n"
        "Each of these values was kept or drawn anew by a chance that the design chose, then the "
        "records were shuffled.\nWhat that promises:"
    )
    show_promises(console, plan, done.release.certificate)
    _show_table(console, done)
    good = sum(check.ok for check in done.verdict.checks)
    verdict = "every one holds" if done.verdict.valid else "[bold red]not all hold[/]"
    console.print(f"Verified from the release alone: {good} checks, {verdict}.")
    console.print(f"  {DATA}/     the true table and its schema, which a steward keeps")
    console.print(f"  {RELEASE}/  the data and the certificate (seeded, so a demonstration only)")
    console.print("[bold]Try next[/]")
    for command in NEXT:
        console.print(f"  {in_shell(program())} {command}", soft_wrap=True)


def _show_table(console: Console, done: Demonstration) -> None:
    from pramana.cli.rendering import table_of

    console.print("\nMarried people by age (the schema says that children are not):")
    console.print(
        table_of(
            ("age", "truth", "released", "estimated from the release", "95 % interval"),
            [
                (
                    line.age,
                    f"{line.truth:,}",
                    f"{line.released:,}",
                    f"{line.estimate:,.0f}",
                    f"{line.low:,.0f} to {line.high:,.0f}",
                )
                for line in done.lines
            ],
            right=("truth", "released", "estimated from the release", "95 % interval"),
        )
    )
