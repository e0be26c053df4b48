"""``pramana demo``, ``pramana experiment`` and ``pramana studio``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pramana.base.text import in_shell, program
from pramana.cli.options import DOES_NOT_HOLD, AsJson, argument, option
from pramana.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from pramana.experiments.demonstration import Demonstration
    from pramana.experiments.harness import Size

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
    """Run all steps once on a synthetic population.

    Makes them, protects them, checks the release, and shows what came of it. Writes demo-data/ (the
    true table and its schema) and demo-release/ (what could be published) into the present folder.
    A fixed seed makes it come out the same every time.

    Example:
      pramana demo
    """
    from pramana.cli.rendering import plan_made, progress_bar, show_json
    from pramana.experiments import demonstrate

    with progress_bar("Protecting", total=PASSES * records) as advance:
        done = demonstrate(data=DATA, to=RELEASE, records=records, k=k, progress=advance)
    if as_json:
        form = plan_made(done.plan, done.release.certificate)
        show_json(form | {"release": str(RELEASE), "verify": done.verdict.to_json()})
    else:
        _show(done)


def _show(done: Demonstration) -> None:
    from pramana.cli.rendering import out, show_promises, show_publishable

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
    passed = sum(check.ok for check in done.verdict.checks)
    outcome = "all of them passed" if done.verdict.valid else "[bold red]not all passed[/]"
    console.print(f"Verified from the release alone: {passed} checks, {outcome}.")
    if done.verdict.publishable is not None:
        show_publishable(console, done.verdict.publishable)
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


VERBS = ("list", "run")


def experiment(
    verb: Annotated[str, argument("List the experiments, or run one.", metavar="list|run")],
    name: Annotated[
        str | None,
        argument(
            "For run: cator, dowd, ghatak, ikarashi or wei, after the papers.", metavar="[NAME]"
        ),
    ] = None,
    output: Annotated[
        Path | None, option("--output", "Where to write.", short="-o", metavar="FOLDER")
    ] = None,
    data: Annotated[
        Path | None,
        option(
            "--data",
            "Real data; PRAMANA_DATA where not given; generated without either.",
            metavar="FOLDER",
        ),
    ] = None,
    quick: Annotated[bool, option("--quick", "Small sizes, under a minute.")] = False,
    full: Annotated[
        bool, option("--full", "As many trials as in the paper: hours for dowd and wei.")
    ] = False,
    seed: Annotated[
        int, option("--seed", "The same seed, the same numbers.", metavar="NUMBER")
    ] = 2026,
    as_json: AsJson = False,
) -> None:
    """Reproduce tables and figures of the papers and check them.

    A run writes CSV files, figures (PNG and SVG) and README.md, a page that puts the numbers beside
    those that the paper prints. Leaves with 1 if a finding of the paper does not hold.

    Example:
      pramana experiment list
      pramana experiment run ghatak --quick -o out/ghatak
      pramana experiment run dowd --data data/ -o out/dowd
    """
    if verb not in VERBS:
        raise InputError(f"experiment takes 'list' or 'run NAME', got '{verb}'.")
    if verb == "list":
        _list(as_json=as_json)
        return
    if name is None or output is None:
        raise InputError("experiment run needs a NAME and a folder to write to: -o FOLDER.")
    if quick and full:
        raise InputError("experiment run takes --quick or --full, not both.")
    size: Size = "quick" if quick else "full" if full else "usual"
    _run(name, output, data=data, size=size, seed=seed, as_json=as_json)


def _list(*, as_json: bool) -> None:
    from pramana.cli.rendering import out, show_json, table_of
    from pramana.experiments import EXPERIMENTS, title

    titles = {name: title(name) for name in EXPERIMENTS}
    if as_json:
        show_json({"experiments": titles})
    else:
        out().print(table_of(("experiment", "about"), list(titles.items())))


def _run(
    name: str, output: Path, *, data: Path | None, size: Size, seed: int, as_json: bool
) -> None:
    from pramana.cli.rendering import bullet, note, out, progress_bar, show_json
    from pramana.experiments import count_steps, run_experiment

    with progress_bar(f"Experiment {name}", total=count_steps(name, size=size)) as advance:
        outcome = run_experiment(name, to=output, data=data, size=size, seed=seed, progress=advance)
    if as_json:
        show_json({"experiment": name, "output": str(output)} | outcome.to_json())
    else:
        console = out()
        console.print(f"Data: {outcome.data}.", markup=False)
        for found in outcome.findings:
            style = "green" if found.holds else ("yellow" if found.settled else "bold red")
            bullet(
                console,
                f"{found.question} {found.answer.capitalize()}. Paper: {found.paper}. "
                f"Here: {found.ours}. Counts as the same: {found.threshold}.",
                style=style,
            )
        note(f"Tables, figures and {output / 'README.md'} are written.")
    if not all(found.settled for found in outcome.findings):
        raise typer.Exit(DOES_NOT_HOLD)


def studio(
    folder: Annotated[Path, argument("Where the tables lie.", metavar="[FOLDER]")] = Path(),
    port: Annotated[int, option("--port", "0 takes a free one.", metavar="NUMBER")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser.")
    ] = True,
    database: Annotated[
        str | None,
        option("--database", "Where surveys keep answers that no folder has.", metavar="URL"),
    ] = None,
    host: Annotated[
        str, option("--host", "Where to listen, if not on this machine alone.", metavar="NAME")
    ] = "127.0.0.1",
    certificate: Annotated[
        Path | None, option("--tls-cert", "With --host: the certificate.", metavar="FILE")
    ] = None,
    key: Annotated[
        Path | None, option("--tls-key", "With --host: its key.", metavar="FILE")
    ] = None,
    understood: Annotated[
        bool, option("--i-understand", "With --host: that others can reach the true table.")
    ] = False,
) -> None:
    """Protect and analyse tables in the browser.

    Listens on this machine alone, for whoever has the address that is printed. The session is kept
    in the folder, and can be closed and opened again.

    Example:
      pramana studio
      pramana studio survey/ --no-browser
    """
    from pramana.studio import Listening, serve_studio

    at = Listening(host, port, certificate, key, understood)

    def tell(address: str) -> None:
        typer.echo(f"Pramana studio: {address}")
        typer.echo("Press Ctrl+C to close it.")

    serve_studio(folder, at, browser=browser, tell=tell, database=database)
