"""``pramana protect``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pramana.base.atomic_files import free_name
from pramana.base.text import as_file, as_list, listed, pasted
from pramana.cli.commands import engine_names, format_names
from pramana.cli.options import (
    AsJson,
    Encoding,
    MethodName,
    OriginName,
    PlanPath,
    Rename,
    SchemaFile,
    TableFile,
    option,
    reading,
)
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.analysis.release import Release
    from pramana.guarantees.composition import Together
    from pramana.ledger.ledger import Budget
    from pramana.methods.plan import Plan
    from pramana.risk.unchanged_records import UnchangedRecords
    from pramana.types import Form

MOST_NAMED = 3
"""So many releases beside a new one are named."""

PASSES = 2
"""Every record is reported once when it is randomised and once when it is written."""


def protect(
    context: typer.Context,
    table: TableFile,
    schema: SchemaFile = None,
    plan: PlanPath = None,
    to: Annotated[
        Path | None, option("--output", "Where to.", short="-o", metavar="FOLDER")
    ] = None,
    method: MethodName = None,
    origin: OriginName = "declared",
    file_format: Annotated[
        str | None,
        option(
            "--format",
            "Of the released data; that of FILE where not given.",
            complete=format_names,
            seldom=True,
        ),
    ] = None,
    force: Annotated[bool, option("--force", "Replace an existing release.", seldom=True)] = False,
    sign: Annotated[
        Path | None, option("--sign", "Sign the certificate.", metavar="KEY", seldom=True)
    ] = None,
    seed: Annotated[
        int | None,
        option(
            "--seed",
            "For tests only: who knows the seed can undo the release.",
            metavar="NUMBER",
            seldom=True,
        ),
    ] = None,
    engine: Annotated[
        str, option("--engine", "Who does the work.", complete=engine_names, seldom=True)
    ] = "local",
    master: Annotated[
        str | None,
        option(
            "--master",
            "The cluster of the engine, such as local[2] or spark://host:7077.",
            metavar="URL",
            seldom=True,
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        option(
            "--ledger",
            "Enter the release in this ledger; begins one if there is none.",
            metavar="FILE",
            seldom=True,
        ),
    ] = None,
    budget_epsilon: Annotated[
        float | None,
        option(
            "--budget-epsilon",
            "Refuse if all releases of the table together exceed this central epsilon.",
            metavar="NUMBER",
            seldom=True,
        ),
    ] = None,
    budget_delta: Annotated[
        float | None,
        option(
            "--budget-delta",
            "The delta of that budget; 1e-5, or one record where that is less.",
            metavar="NUMBER",
            seldom=True,
        ),
    ] = None,
    budget_k: Annotated[
        float | None,
        option(
            "--budget-k",
            "Refuse if all releases of the table together fall below this k.",
            metavar="NUMBER",
            seldom=True,
        ),
    ] = None,
    allow_uncovered: Annotated[
        bool,
        option(
            "--allow-uncovered",
            "Go on where no rule says what the releases promise together.",
            seldom=True,
        ),
    ] = False,
    people: Annotated[
        str | None,
        option(
            "--people",
            "With --ledger: whose table it is, where its columns cannot tell.",
            metavar="NAME",
            seldom=True,
        ),
    ] = None,
    steward_folder: Annotated[
        Path | None,
        option(
            "--steward-folder",
            "Keep plan and true matrices here, for you alone and apart from the release.",
            metavar="FOLDER",
            seldom=True,
        ),
    ] = None,
    accept_risk: Annotated[
        list[str] | None,
        option(
            "--accept-risk",
            "Release this column unchanged although it identifies people; may be repeated.",
            metavar="COLUMN",
            seldom=True,
        ),
    ] = None,
    csv: Annotated[
        bool, option("--csv", "Also write the same records as CSV.", seldom=True)
    ] = False,
    stata: Annotated[
        bool, option("--stata", "Also write the same records as a Stata file.", seldom=True)
    ] = False,
    spss: Annotated[
        bool, option("--spss", "Also write the same records as an SPSS file.", seldom=True)
    ] = False,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Write a release: randomised, shuffled, with a certificate.

    The folder holds the data and a certificate that anyone can check. It can be published, and it
    appears whole or not at all.

    Example:
      pramana protect people.csv --schema schema.toml --k 100 --epsilon 6 -o release/
      pramana protect people.csv --schema schema.toml --k 5 --method resample -o release/
      pramana protect people.csv --plan plan.toml -o release/
      pramana protect s3a://bucket/people --schema schema.toml --k 100 -o release/ --engine spark
    """
    from pramana import api
    from pramana.cli.rendering import note, progress_bar, show_json
    from pramana.cli.targets import Stated, plan_for

    place, form = _place(to), _format(file_format)
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
    if as_json:
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
    elif not as_json:
        _show_together(ledger)


def _budget(
    epsilon: float | None, k: float | None, delta: float | None, allow_uncovered: bool
) -> Budget | None:
    from pramana import api

    stated = allow_uncovered or not (epsilon is None and k is None and delta is None)
    return api.Budget(epsilon, k, allow_uncovered, delta) if stated else None


def _together(ledger: Path) -> Together:
    """What all releases of this table promise, the new one among them."""
    from pramana import api

    return api.Ledger.load(ledger).together()


def _show_together(ledger: Path) -> None:
    from pramana.cli.rendering import bullet, out

    console = out()
    console.print(f"By the ledger {ledger}, all releases of this table together:", markup=False)
    for sentence in _together(ledger).sentences():
        bullet(console, sentence)


def _warn_of_others(release: Release, place: Path) -> None:
    """Several releases of the same people add up: say so where one lies beside the new one."""
    from pramana import api
    from pramana.cli.rendering import note

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
    from pramana.cli.rendering import plan_made

    certificate = release.certificate
    return plan_made(plan, certificate) | {
        "release": str(place),
        "data": None if certificate.data is None else certificate.data.name,
        "signed": certificate.signature is not None,
        "for_publication": not certificate.reproducible,
    }


def _show(plan: Plan, release: Release, place: Path, seen: UnchangedRecords | None) -> None:
    from rich.markup import escape

    from pramana.cli.rendering import bullet, out, show_promises, show_publishable

    console = out()
    data = release.certificate.data
    files = [own.name for own in (data, *release.certificate.copies) if own is not None]
    name = ", ".join(files)
    console.print(f"[bold]{escape(str(place))}[/] holds {release.records:,} released records.")
    console.print(
        f"  {escape(name)}, certificate.json, and README.md with what explains them: publish the "
        "folder as it is."
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
"""Of so many reports that are expected some come, whatever chance does."""


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
