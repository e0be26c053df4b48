"""``pramana experiment list`` and ``pramana experiment run NAME``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pramana.cli.options import AsJson, argument, option
from pramana.errors import InputError

__all__ = ["experiment"]

VERBS = ("list", "run")
DOES_NOT_HOLD = 1


def experiment(
    verb: Annotated[str, typer.Argument(metavar="list|run", show_default=False)],
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
    seed: Annotated[
        int, option("--seed", "The same seed, the same numbers.", metavar="NUMBER")
    ] = 2026,
    as_json: AsJson = False,
) -> None:
    """The papers' tables and figures made again, with checks that say yes or no.

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
    _run(name, output, data=data, quick=quick, seed=seed, as_json=as_json)


def _list(*, as_json: bool) -> None:
    from pramana.cli.rendering import out, show_json, table_of
    from pramana.experiments import EXPERIMENTS, title

    titles = {name: title(name) for name in EXPERIMENTS}
    if as_json:
        show_json({"experiments": titles})
    else:
        out().print(table_of(("experiment", "about"), list(titles.items())))


def _run(
    name: str, output: Path, *, data: Path | None, quick: bool, seed: int, as_json: bool
) -> None:
    from pramana.cli.progress import progress_bar
    from pramana.cli.rendering import bullet, note, out, show_json
    from pramana.experiments import count_steps, run_experiment

    with progress_bar(f"Experiment {name}", total=count_steps(name, quick=quick)) as advance:
        outcome = run_experiment(
            name, to=output, data=data, quick=quick, seed=seed, progress=advance
        )
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
