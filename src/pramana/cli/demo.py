"""``pramana demo``, ``experiment``, ``studio``, ``keygen``, ``ledger`` and ``clean``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from pramana import api, experiments, make_keys
from pramana.base.atomic_files import leftovers, remove_leftovers
from pramana.base.text import in_shell, program
from pramana.cli.options import DOES_NOT_HOLD
from pramana.cli.rendering import (
    bullet,
    note,
    out,
    plan_made,
    progress_bar,
    show_json,
    show_promises,
    show_publishable,
    table_of,
)
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.experiments.harness import Size
    from pramana.experiments.population import Compared, Demonstration

DATA, RELEASE = Path("demo-data"), Path("demo-release")
NEXT = (
    f"describe {DATA}/people.parquet",
    f"design {DATA}/people.parquet --schema {DATA}/schema.toml --k 1000",
    f"verify {RELEASE} --original {DATA}/people.parquet",
)
PASSES = 2


def demo(
    records: int = 100000,
    k: float = 20,
    json: bool = False,
) -> None:
    """Run all steps once on a synthetic population.

    Protects the population, verifies the release and compares estimates with the original data.
    Writes demo-data/ (the original data and their schema) and demo-release/ (the release) into the
    current folder. A fixed seed makes the result reproducible.

    Options:
      --records N: Number of people.
      --k NUMBER: The target.

    Example:
      pramana demo
    """
    with progress_bar("Protecting", total=PASSES * records) as advance:
        done = experiments.demonstrate(
            data=DATA, to=RELEASE, records=records, k=k, progress=advance
        )
    if json:
        form = plan_made(done.plan, done.release.certificate)
        show_json(form | {"release": str(RELEASE), "verify": done.verdict.to_json()})
    else:
        _show(done)


def _show(done: Demonstration) -> None:
    console = out()
    plan = done.plan
    keys = ", ".join(column.name for column in plan.schema.randomised)
    console.print(
        f"[bold]{plan.records:,} people who do not exist[/], with the columns {keys}.\n"
        "Each value was kept or replaced at random, with probabilities from the design, "
        "and the records were shuffled.\nGuarantees:"
    )
    show_promises(console, plan, done.release.certificate)
    _show_compared("\nMarried people by age (the schema rules out married children):", done.married)
    _show_compared("Mean income by education (150,000 for incomes above it):", done.incomes)
    outcome = "all checks passed" if done.verdict.valid else "[bold red]not all checks passed[/]"
    console.print(f"Verified from the release alone: {outcome}. {done.verdict.counted()}")
    if done.verdict.publishable is not None:
        show_publishable(console, done.verdict.publishable)
    console.print(f"  {DATA}/     the original data and their schema, which a steward keeps")
    console.print(f"  {RELEASE}/  the data and the certificate (seeded, so a demonstration only)")
    console.print("[bold]Try next[/]")
    for command in NEXT:
        console.print(f"  {in_shell(program())} {command}", soft_wrap=True)


def _show_compared(title: str, groups: Sequence[Compared]) -> None:
    console = out()
    console.print(title)
    heads = ("", "original", "estimated from the release", "95 % interval")
    rows = [
        (
            compared.group,
            f"{compared.original:,.0f}",
            f"{compared.estimate:,.0f}",
            f"{compared.low:,.0f} to {compared.high:,.0f}",
        )
        for compared in groups
    ]
    console.print(table_of(heads, rows, right=heads[1:]))


def experiment(
    verb: Literal["list", "run"],
    name: str | None = None,
    output: Path | None = None,
    data: Path | None = None,
    quick: bool = False,
    full: bool = False,
    seed: int = 2026,
    json: bool = False,
) -> None:
    """Reproduce tables and figures of the papers and check them.

    A run writes CSV files, figures (PNG and SVG) and README.md, which compares the numbers with the
    printed ones. The exit code is 1 if a finding of the paper does not hold.

    Options:
      verb list|run: List the experiments, or run one.
      name NAME: For run: cator, dowd, ghatak, ikarashi or wei, after the papers.
      --output -o FOLDER: Output folder.
      --data FOLDER: Real data; by default PRAMANA_DATA, else synthetic data.
      --quick: Small sizes, under a minute.
      --full: As many trials as in the paper: hours for dowd and wei.
      --seed NUMBER: Makes the result reproducible.

    Example:
      pramana experiment list
      pramana experiment run ghatak --quick -o out/ghatak
      pramana experiment run dowd --data data/ -o out/dowd
    """
    if verb == "list":
        titles = {name: experiments.title(name) for name in experiments.EXPERIMENTS}
        if json:
            show_json({"experiments": titles})
        else:
            out().print(table_of(("experiment", "about"), list(titles.items())))
        return
    if name is None or output is None:
        raise InputError("experiment run needs a NAME and a folder to write to: -o FOLDER.")
    if quick and full:
        raise InputError("experiment run takes --quick or --full, not both.")
    size: Size = "quick" if quick else "full" if full else "usual"
    steps = experiments.count_steps(name, size=size)
    with progress_bar(f"Experiment {name}", total=steps) as advance:
        outcome = experiments.run_experiment(
            name, to=output, data=data, size=size, seed=seed, progress=advance
        )
    if json:
        show_json({"experiment": name, "output": str(output)} | outcome.to_json())
    else:
        console = out()
        console.print(f"Data: {outcome.data}.", markup=False)
        for finding in outcome.findings:
            bullet(
                console,
                f"{finding.question} {finding.answer.capitalize()}. Paper: {finding.paper}. "
                f"Here: {finding.ours}. Counts as the same: {finding.threshold}.",
                style="green" if finding.holds else "yellow" if finding.settled else "bold red",
            )
        note(f"Tables, figures and {output / 'README.md'} are written.")
    if not all(finding.settled for finding in outcome.findings):
        raise typer.Exit(DOES_NOT_HOLD)


def studio(
    folder: Path = Path(),
    port: int = 0,
    browser: bool = True,
    database: str | None = None,
    language: str | None = None,
    host: str = "127.0.0.1",
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    i_understand: bool = False,
) -> None:
    """Protect and analyse tables in the browser.

    Listens on this machine only. The printed address gives access. The session is stored in the
    folder: close the studio and continue later.

    Options:
      folder FOLDER: The folder of the tables.
      --port NUMBER: Port; 0 takes a free one.
      --browser/--no-browser: Open the browser.
      --database URL: Database of the answers to surveys, if not in a folder.
      --language CODE: Language of the pages: en or de; the default is the one of the browser.
      --host NAME: Address to listen at.
      --tls-cert FILE: With --host: the certificate.
      --tls-key FILE: With --host: its key.
      --i-understand: With --host: confirms that others can reach the original data.

    Example:
      pramana studio
      pramana studio survey/ --no-browser
    """
    from pramana.studio import Listening, serve_studio

    at = Listening(host, port, tls_cert, tls_key, i_understand)

    def tell(address: str) -> None:
        typer.echo(f"Pramana studio: {address}")
        typer.echo("Press Ctrl+C to close it.")

    serve_studio(folder, at, browser=browser, tell=tell, database=database, language=language)


def keygen(
    name: Path,
    json: bool = False,
) -> None:
    """Make a key pair for signatures.

    NAME signs releases and stays secret; NAME.pub checks them.

    Options:
      name NAME: The file of the secret key.

    Example:
      pramana keygen office.key
      pramana protect people.csv --schema schema.toml --k 100 -o release/ --sign office.key
      pramana verify release/ --key office.key.pub
    """
    private, public = make_keys(name)
    if json:
        show_json({"private": str(private), "public": str(public)})
        return
    typer.echo(f"{private}: keep it secret; 'pramana protect --sign {private}' uses it.")
    typer.echo(f"{public}: publish it; 'pramana verify --key {public}' uses it.")


def ledger(
    what: Literal["show", "check"],
    file: Path,
    json: bool = False,
) -> None:
    """Show the guarantees of all releases of a table together.

    'pramana protect --ledger L' enters each release. show: the entries, and the guarantees of all
    releases of each table together. check: test that no entry was changed, moved or removed; the
    exit code is 1 if one was. L.key stays with the steward.

    Options:
      what: What to do.
      file LEDGER: The ledger's file.

    Example:
      pramana protect people.csv --schema schema.toml --k 100 -o release/ --ledger office.ledger
      pramana ledger show office.ledger
      pramana ledger check office.ledger
    """
    ledger_file = api.Ledger.load(file)
    console = out()
    if what == "check":
        entries, tables = len(ledger_file.entries), len(ledger_file.tables)
        if json:
            form = {"ledger": str(file), "entries": entries}
            form |= {"unconfirmed": len(ledger_file.unconfirmed)}
            show_json(form | {"open_to_others": ledger_file.open_to_others, "holds": True})
            return
        console.print(
            f"{entries} entr{'y' if entries == 1 else 'ies'} of {tables} "
            f"table{'' if tables == 1 else 's'}: the chain is complete and unaltered."
        )
        for notice in (*ledger_file.unconfirmed, *ledger_file.open_to_others):
            note(notice)
        return
    if json:
        show_json(ledger_file.to_json())
        return
    heads, rows = ledger_file.rows()
    console.print(table_of(heads, rows, right=("", "records", *heads[-3:])))
    for number, table in enumerate(ledger_file.tables, start=1):
        console.print(f"\nTable {number}, {ledger_file.numbers(table)}:", markup=False)
        for sentence in ledger_file.together(*table).sentences():
            bullet(console, sentence)
    for notice in ledger_file.unconfirmed:
        note(notice)


def clean(
    folder: Path = Path(),
    remove: bool = False,
    json: bool = False,
) -> None:
    """Show and remove files left by interrupted writing.

    A killed process leaves a hidden folder next to its target and does not change the target.
    Folders of running processes are not touched.

    Options:
      folder FOLDER: The folder to search.
      --remove: Remove what is shown.

    Example:
      pramana clean results/
      pramana clean results/ --remove
    """
    if not folder.is_dir():
        raise InputError(f"{folder} must be a folder.")
    left = remove_leftovers(folder) if remove else leftovers(folder)
    if json:
        names = [str(one.folder) for one in left]
        show_json({"folder": str(folder), "leftovers": names, "removed": remove})
        return
    for one in left:
        typer.echo(f"{one.sentence()}.")
    if remove:
        typer.echo(f"{len(left)} removed.")
    elif left:
        note(f"Remove them: pramana clean {folder} --remove")
    else:
        typer.echo("No leftover files.")
