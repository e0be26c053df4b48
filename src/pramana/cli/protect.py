"""``pramana protect``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape

from pramana import api
from pramana.base.atomic_files import free_name
from pramana.base.text import as_file, as_list, listed, pasted
from pramana.cli.commands import format_names
from pramana.cli.options import (
    Stated,
    plan_for,
    reading,
)
from pramana.cli.rendering import (
    bullet,
    note,
    out,
    plan_made,
    progress_bar,
    show_json,
    show_promises,
    show_publishable,
)
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.analysis.release import Release
    from pramana.guarantees.composition import Together
    from pramana.ledger.ledger import Budget
    from pramana.methods.plan import Plan
    from pramana.risk.unchanged import UnchangedRecords
    from pramana.types import Form

MOST_NAMED = 3
"""The largest number of neighbouring releases that are named."""

PASSES = 2
"""Every record is reported once when it is randomised and once when it is written."""


def protect(
    context: typer.Context,
    table: Path,
    schema: Path | None = None,
    plan: Path | None = None,
    output: Path | None = None,
    method: str | None = None,
    origin: str = "declared",
    format_: str | None = None,
    force: bool = False,
    sign: Path | None = None,
    seed: int | None = None,
    engine: str = "local",
    master: str | None = None,
    ledger: Path | None = None,
    budget_epsilon: float | None = None,
    budget_delta: float | None = None,
    budget_k: float | None = None,
    allow_uncovered: bool = False,
    people: str | None = None,
    steward_folder: Path | None = None,
    accept_risk: list[str] | None = None,
    csv: bool = False,
    stata: bool = False,
    spss: bool = False,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Write a release: randomised, shuffled, with a certificate.

    The folder contains the data and a certificate that anyone can check. It is written completely
    or not at all.

    Options:
      --output -o FOLDER: Output folder.

    Seldom:
      --format: Format of the released data; by default the format of FILE.
      --force: Replace an existing release.
      --sign KEY: Sign the certificate.
      --seed NUMBER: For tests only: anyone who knows the seed can undo the release.
      --engine: Execution engine.
      --master URL: The cluster of the engine, such as local[2] or spark://host:7077.
      --ledger FILE: Enter the release in this ledger; begins one if there is none.
      --budget-epsilon NUMBER: Refuse if all releases of the table together exceed this central
        epsilon.
      --budget-delta NUMBER: The delta of that budget; 1e-5, or one record where that is less.
      --budget-k NUMBER: Refuse if all releases of the table together fall below this k.
      --allow-uncovered: Continue even if no rule states what the releases guarantee together.
      --people NAME: With --ledger: a name for the people, if the columns do not identify them.
      --steward-folder FOLDER: Keep the plan and the matrices here, for you alone and apart from
        the release.
      --accept-risk COLUMN: Release this column unchanged although it identifies people; may be
        repeated.
      --csv: Also write the same records as CSV.
      --stata: Also write the same records as a Stata file.
      --spss: Also write the same records as an SPSS file.

    Example:
      pramana protect people.csv --schema schema.toml --k 100 --epsilon 6 -o release/
      pramana protect people.csv --schema schema.toml --k 5 --method resample -o release/
      pramana protect people.csv --plan plan.toml -o release/
      pramana protect s3a://bucket/people --schema schema.toml --k 100 -o release/ --engine spark
    """
    place, form = _place(output), _format(format_)
    api.require_free(place, force=force)
    data = api.read(table, engine=engine, master=master, encoding=encoding, rename=rename)
    stated = Stated.of(context.obj, schema=schema, method=method, plan=plan, origin=origin)
    hints = stated.hints(table, reading(encoding, rename))
    made, opened = plan_for(stated, table=data, looked_at=True, hints=hints)
    forms = {"csv": csv, "dta": stata, "sav": spss}
    told: list[UnchangedRecords] = []
    with progress_bar("Protecting", total=PASSES * made.records) as advance:
        release = api.protect(
            opened,
            made,
            to=place,
            file_format=form,
            seed=seed,
            force=force,
            sign_with=sign,
            ledger=ledger,
            budget=_budget(budget_epsilon, budget_k, budget_delta, allow_uncovered),
            people=people,
            copies=[*(own for own, on in forms.items() if on), *stated.copies],
            steward_folder=steward_folder,
            accept_risk=accept_risk or (),
            progress=advance,
            seen=told.append,
        )
    seen = told[0] if told else None
    if json:
        copies = None if seen is None else seen.to_json()
        kept = {} if ledger is None else {"together": _together(ledger).to_json()}
        risk = {"risk": release.file_risk.to_json(), "publishable": release.publishable.to_json()}
        show_json(_to_json(made, release, place) | {"verbatim": copies} | risk | kept)
    else:
        _show(made, release, place, seen)
        apart = release.certificate.nature.withholds_matrices
        for line in _then(made, place, table, reading(encoding, rename), apart=apart):
            note(line)
    if steward_folder is not None:
        note(f"{steward_folder} is for you alone: it must not be published with {place}.")
    if ledger is None:
        _warn_of_others(release, place)
    elif not json:
        _show_together(ledger)


def _budget(
    epsilon: float | None, k: float | None, delta: float | None, allow_uncovered: bool
) -> Budget | None:
    stated = allow_uncovered or not (epsilon is None and k is None and delta is None)
    return api.Budget(epsilon, k, allow_uncovered, delta) if stated else None


def _together(ledger: Path) -> Together:
    """The guarantees of all releases of this table, including the new one."""
    return api.Ledger.load(ledger).together()


def _show_together(ledger: Path) -> None:
    console = out()
    console.print(f"By the ledger {ledger}, all releases of this table together:", markup=False)
    for sentence in _together(ledger).sentences():
        bullet(console, sentence)


def _warn_of_others(release: Release, place: Path) -> None:
    """Several releases of the same people add up: say so if one is next to the new one."""
    others = api.earlier_releases(release)
    if not others:
        return
    names = listed([other.name for other in others], MOST_NAMED)
    have, are = ("has", "it is") if len(others) == 1 else ("have", "they are")
    said = (
        f"{names} {have} the same columns and number of records. If {are} of the "
        "same people, all together protect less"
    )
    known = api.composable(release, others)
    if not known:
        note(f"{said}; how much less cannot be computed from what their certificates state.")
        return
    words = ["pramana", "attack", "composition", *(as_file(str(own)) for own in (place, *known))]
    note(f"{said}: {pasted(words)}")


def _place(to: Path | None) -> Path:
    if to is None:
        raise InputError("A release needs a place: give a folder with -o.")
    return to


def _format(name: str | None) -> Any:
    if name is not None and name not in format_names():
        raise InputError(f"--format must be one of {', '.join(format_names())}, got '{name}'.")
    return name


def _to_json(plan: Plan, release: Release, place: Path) -> Form:
    certificate = release.certificate
    return plan_made(plan, certificate) | {
        "release": str(place),
        "data": None if certificate.data is None else certificate.data.name,
        "signed": certificate.signature is not None,
        "for_publication": not certificate.reproducible,
    }


def _show(plan: Plan, release: Release, place: Path, seen: UnchangedRecords | None) -> None:
    console = out()
    data = release.certificate.data
    files = [own.name for own in (data, *release.certificate.copies) if own is not None]
    name = ", ".join(files)
    console.print(f"[bold]{escape(str(place))}[/] holds {release.records:,} released records.")
    console.print(
        f"  {escape(name)}, certificate.json, and README.md with what explains them: publish the "
        "folder unchanged."
    )
    show_promises(console, plan, release.certificate)
    if seen is not None:
        bullet(console, seen.sentence())
        warning = seen.warning(release.certificate.suggested_share)
        told = not release.certificate.nature.shows_matrices  # a notice has said so
        if warning is not None and not told:
            bullet(console, warning, style="yellow")
    show_publishable(console, release.publishable)


SURELY_TOLD = 20
"""From this expected number on, an attribute set is reported at least once."""


def _first_asked(plan: Plan) -> Sequence[str]:
    """A table to begin with: one that will be asked for, or that reports tell best, or of keys."""
    known = {*plan.schema.names}
    wanted = next((own for own in plan.wanted if known.issuperset(own)), ())
    sets = plan.to_json().get("sets")
    if wanted or sets is None:
        return wanted or [column.name for column in plan.schema.randomised][:2]
    told = [one for one in sets if one["share"] * plan.records >= SURELY_TOLD]
    pairs = [one for one in told if len(one["columns"]) > 1] or told
    return min(pairs, key=lambda one: one["cells"])["columns"] if pairs else ()


def _then(
    plan: Plan, place: Path, table: Path, read: tuple[str, ...], *, apart: bool
) -> Iterator[str]:
    """What to do with a release, as commands: check it, ask it, explain it.

    ``apart`` are columns whose matrices are withheld: each answers by itself, without weights.
    """
    folder = as_file(str(place))
    yield f"Check it: {pasted(['pramana', 'verify', folder])}"
    if asked := _first_asked(plan)[: 1 if apart else None]:
        more = ["--unweighted"] if apart and plan.schema.weight is not None else []
        yield f"Ask it: {pasted(['pramana', 'estimate', folder, '--by', as_list(asked), *more])}"
    true, page = as_file(str(table)), free_name("report", ".html")
    words = ["pramana", "report", folder, "--original", true, *read, "-o", page]
    yield f"Explain it: {pasted(words)}"
