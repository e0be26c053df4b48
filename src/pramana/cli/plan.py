"""``pramana design``, ``protect`` and ``verify``: a plan, its release and the checks of it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape

from pramana import Schema, api
from pramana.base.atomic_files import free_name
from pramana.base.text import as_file, as_list, listed, pasted
from pramana.cli.options import (
    DOES_NOT_HOLD,
    format_names,
    options_by_flag,
    original_data,
    reading,
    require_schema,
)
from pramana.cli.rendering import (
    bullet,
    matrices_of_plan,
    note,
    out,
    paste,
    plan_made,
    progress_bar,
    show_json,
    show_matrices,
    show_plan,
    show_promises,
    show_publishable,
    show_verdict,
)
from pramana.errors import Infeasible, InputError, InvalidTable

if TYPE_CHECKING:
    from pramana.analysis.release import Release
    from pramana.evaluation.cli_hints import CliHints
    from pramana.methods.base import Method
    from pramana.methods.plan import Plan
    from pramana.risk.unchanged import UnchangedRecords
    from pramana.schema.schema import Schema as SchemaType
    from pramana.types import Form, TableLike

FEWEST_RECORDS = 2
TABLES = "--tables"
"""By itself this option chooses no method: it says what the choice is to be made for."""

MOST_NAMED = 3
"""The largest number of neighbouring releases that are named."""


@dataclass(frozen=True)
class Stated:
    """What a command was given, by its options and by a plan file.

    Attributes:
        targets: numbers of guarantees by field; ``None`` where not given.
        options: given options of methods by flag.
        schema: the file of the schema.
        method: if one is named.
        origin: where method and target come from.
        copies: further formats of the released data.
    """

    targets: Form
    options: Form
    schema: Path | None
    method: str | None
    origin: api.Provenance
    copies: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        context: typer.Context,
        schema: Path | None,
        method: str | None,
        plan: Path | None,
        origin: str,
    ) -> Stated:
        """An option takes precedence over the plan file; of two origins the weaker one counts."""
        targets, options = context.obj
        if plan is None:
            return cls(targets, options, schema, method, api.origin_named(origin))
        file = api.PlanFile.load(plan)
        given = {name: value for name, value in targets.items() if value is not None}
        return cls(
            {**targets, **file.target, **given},
            {**{f"--{name}": value for name, value in file.options.items()}, **options},
            schema or file.schema_path(plan),
            method or file.method or None,
            api.Provenance.weakest(api.origin_named(origin), api.origin_named(file.origin)),
            file.copies,
        )

    def hints(
        self, table: Path | None, read: tuple[str, ...], people: tuple[str, ...] = ()
    ) -> CliHints:
        """What was given, for commands that follow from it."""
        options = dict(self.options)
        tables = options.pop(TABLES, ())
        method = [] if self.method is None else ["--method", self.method]
        for flag, value in options.items():
            values = value if isinstance(value, list | tuple) else [value]
            method += [flag] if value is True else [w for v in values for w in (flag, str(v))]
        numbers = [(option.flag, self.targets.get(option.field)) for option in api.cli_options()]
        return api.CliHints(
            str(self.schema),
            None if table is None else str(table),
            read,
            tuple(w for flag, n in numbers if n is not None for w in (flag, f"{n:.12g}")),
            tuple(method),
            people,
            tables if isinstance(tables, str) else ",".join(tables),
            self.origin,
        )

    def save(self, place: Path) -> None:
        """Write a plan file; the planned tables are in the schema."""
        schema = require_schema(self.schema, None)
        api.PlanFile(
            Path(os.path.relpath(schema, place.parent)).as_posix(),
            {name: value for name, value in self.targets.items() if value is not None},
            self.method or "",
            {flag[2:]: _for_file(value) for flag, value in self.options.items()},
            origin=self.origin,
        ).save(place, force=False)


def _for_file(value: object) -> object:
    """A value of an option as a TOML file takes it."""
    if isinstance(value, list | tuple):
        return [_for_file(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def plan_for(
    stated: Stated,
    hints: CliHints,
    *,
    table: TableLike | None,
    records: int | None = None,
    smallest_group: int | None = None,
    looked_at: bool = False,
) -> tuple[Plan, Any]:
    """The plan, and the opened table that it was made for; a refusal ends with what to paste."""
    method, options = stated.method, dict(stated.options)
    if method is not None and method not in api.METHODS:
        raise InputError(f"--method must be one of {', '.join(api.METHODS)}, got '{method}'.")
    if table is not None and records is not None:
        raise InputError("The table tells the number of records: give FILE or --records, not both.")
    named = None if hints.table is None else Path(hints.table)
    schema = Schema.load(require_schema(stated.schema, named))
    known = options_by_flag() if options else {}
    if method is None:  # some options belong to one method
        chosen = (name for flag in options for name, one in known[flag].items() if one.chooses)
        method = next(chosen, None)
    aims = None if method is None else api.METHODS[method].aims
    guarantees = api.guarantees_from_options(stated.targets, aims=aims, schema=schema)
    if TABLES in options and method not in known[TABLES]:
        schema = _with_tables(schema, options.pop(TABLES))
    designed_by: Method | None = None
    if method is not None or options:
        names = [guarantee.name for guarantee in guarantees]
        kind = api.METHODS[method] if method else api.usual_method(names)
        designed_by = _method_of(kind, options)
    opened = None if table is None else api.open_source(table, schema=schema)
    with way_out_shown(hints):
        plan = api.design(
            schema,
            *guarantees,
            data=opened,
            records=records,
            smallest_group=smallest_group,
            method=designed_by,
            looked_at=looked_at,
            origin=stated.origin,
        )
    if plan.records < FEWEST_RECORDS:
        raise InvalidTable("A release needs at least two records, got 1.")
    return plan, opened


@contextmanager
def way_out_shown(hints: CliHints) -> Iterator[None]:
    """A refusal that other columns would lift ends with the command that changes or drops them."""
    try:
        yield
    except Infeasible as error:
        coarser = error.fields.get("coarser", ()) if hints.table is not None else ()
        names = coarser or error.fields.get("without", ())
        if not names:
            raise
        command = hints.coarser(names) if coarser else hints.without(names)
        them = "it" if len(names) == 1 else "them"
        verb = "coarsen" if coarser else "drop"
        raise error.reworded(f"{error} To {verb} {them}: {command}") from None


def _with_tables(schema: SchemaType, texts: list[str]) -> SchemaType:
    """The schema with the planned tables; the word pairs means all pairs of keys."""
    names = [column.name for column in schema.randomised]
    tables: list[tuple[str, ...]] = []
    for table in api.tables_of(texts):
        all_pairs = table == ("pairs",) and "pairs" not in names
        tables += itertools.combinations(names, 2) if all_pairs else [table]
    return replace(schema, tables=tuple(tables))


def _method_of(method: type[Method], options: Form) -> Method:
    """The method with the options that were given; options of another method are refused."""
    known = options_by_flag() if options else {}
    values: Form = {}
    for flag, value in options.items():
        option = known[flag].get(method.name)
        if option is None:
            raise InputError(
                f"{flag} is no option of method {method.name}: it is for --method "
                f"{' or '.join(known[flag])}."
            )
        values[option.name] = option.value(value)
    return method(**values)


def design(
    context: typer.Context,
    table: Path | None = None,
    schema: Path | None = None,
    plan: Path | None = None,
    records: int | None = None,
    method: str | None = None,
    origin: str = "declared",
    blind: bool | None = None,
    smallest_group: int | None = None,
    show_matrix: bool = False,
    save_plan: Path | None = None,
    gamma: str | None = None,
    accuracy: float | None = None,
    target: str | None = None,
    test: Path | None = None,
    quick: bool = False,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Show the plan and the expected error for a target.

    Nothing is written, unless a plan file is asked for.

    Options:
      table FILE: The original data, if they exist already.
      --records N: Expected number of records, if there is no FILE yet.

    Advanced:
      --blind/--by-trials: Compare alternatives by the schema and expected errors alone, or by
        trials on FILE. The default is blind if the target is an epsilon.
      --smallest-group M: Without FILE: the smallest number of records with the same public values.
      --show-matrix: Show every matrix with its labels.
      --save-plan TOML: Write target and method as a plan file.
      --gamma LOW:HIGH: Instead of a target: find gamma in this range, and the number of bins,
        for trees.
      --accuracy SHARE: With --gamma: the accuracy that trees must reach on clean records.
      --target NAME: With --gamma and FILE: the column of classes to learn.
      --test FILE: With --gamma and FILE: records to test on; by default a third of FILE.
      --quick: With --gamma: a small grid first.

    Example:
      pramana design people.csv --schema schema.toml --k 100 --epsilon 6
      pramana design --schema schema.toml --records 100000 --k 100    (before collecting)
      pramana design people.csv --schema schema.toml --max-error 0.05
      pramana design people.csv --schema schema.toml --alpha 0.1      (from the data)
      pramana design numbers.csv --target class --gamma 5:12 --accuracy 0.8  (for trees)
    """
    if gamma is not None:
        from pramana.cli.audit import show_guide

        show_guide(gamma, accuracy, table, target=target, test=test, quick=quick, json=json)
        return

    stated = Stated.of(context, schema, method, plan, origin)
    given = {"--records": records, "--smallest-group": smallest_group}
    people = tuple(w for flag, n in given.items() if n is not None for w in (flag, str(n)))
    hints = stated.hints(table, reading(encoding, rename), people)
    made, opened = plan_for(
        stated,
        hints,
        table=original_data(table, encoding, rename),
        records=records,
        smallest_group=smallest_group,
    )
    if save_plan is not None:
        stated.save(save_plan)
    if made.aims_at_epsilon if blind is None else blind:
        blind, opened = True, None
    if json:
        form = made.to_json()
        instead = api.alternative_summary(made)
        errors = None if opened is None else api.errors_on_data(made, opened)
        changes = api.suggest_changes_if_poor(made, opened=opened)
        form |= {} if instead is None else {"instead": instead}
        form |= {} if errors is None else {"expected_errors_here": errors.to_json()["tables"]}
        form["ways"] = [change.to_json() for change in changes]
        show_json(form | (matrices_of_plan(made) if show_matrix else {}))
        return
    show_plan(made)
    for hint in api.preview_plan(made, opened, hints=hints):
        bullet(out(), hint.words)
        paste(out(), hint.command)
    if show_matrix:
        show_matrices(made)
    if blind and table is not None:
        note(
            "Compared by the schema and expected errors alone; --by-trials tries the methods on "
            "FILE."
        )
    if table is not None:
        note(f"Make the release: {hints.release()}")


def protect(
    context: typer.Context,
    table: str,
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

    Advanced:
      --format: Format of the released data; by default the format of FILE.
      --force: Replace an existing release.
      --sign KEY: Sign the certificate.
      --seed NUMBER: For tests only: anyone who knows the seed can undo the release.
      --engine: Execution engine.
      --master URL: The cluster of the engine, such as local[2] or spark://host:7077.
      --ledger FILE: Enter the release in this ledger; creates it if it does not exist.
      --budget-epsilon NUMBER: Refuse if all releases of the table together exceed this central
        epsilon.
      --budget-delta NUMBER: Delta of this budget; by default the smaller of 1e-5 and 1/n for n
        records.
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
    if output is None:
        raise InputError("Give the output folder of the release with -o.")
    if format_ is not None and format_ not in format_names():
        raise InputError(f"--format must be one of {', '.join(format_names())}, got '{format_}'.")
    api.require_free(output, force=force)
    data = api.read(table, engine=engine, master=master, encoding=encoding, rename=rename)
    stated = Stated.of(context, schema, method, plan, origin)
    read = reading(encoding, rename)
    hints = stated.hints(Path(table), read)
    made, opened = plan_for(stated, hints, table=data, looked_at=True)
    copies = {"csv": csv, "dta": stata, "sav": spss}
    limits = (budget_epsilon, budget_k, budget_delta)
    budget = None
    if allow_uncovered or limits != (None, None, None):
        budget = api.Budget(budget_epsilon, budget_k, allow_uncovered, budget_delta)
    unchanged: list[UnchangedRecords] = []
    # Every record is reported once when it is randomised and once when it is written
    with progress_bar("Protecting", total=2 * made.records) as advance:
        release = api.protect(
            opened,
            made,
            to=output,
            file_format=format_,
            seed=seed,
            force=force,
            sign_with=sign,
            ledger=ledger,
            budget=budget,
            people=people,
            copies=[*(name for name, on in copies.items() if on), *stated.copies],
            steward_folder=steward_folder,
            accept_risk=accept_risk or (),
            progress=advance,
            seen=unchanged.append,
        )
    together = None if ledger is None else api.Ledger.load(ledger).together()
    if json:
        certificate = release.certificate
        form = plan_made(made, certificate) | {
            "release": str(output),
            "data": None if certificate.data is None else certificate.data.name,
            "signed": certificate.signature is not None,
            "for_publication": not certificate.reproducible,
            "unchanged_records": unchanged[0].to_json() if unchanged else None,
            "risk": release.file_risk.to_json(),
            "publishable": release.publishable.to_json(),
        }
        show_json(form | ({} if together is None else {"together": together.to_json()}))
    else:
        _show_release(made, release, output, unchanged[0] if unchanged else None)
        _show_next_steps(made, release, output, Path(table), read)
    if steward_folder is not None:
        note(f"{steward_folder} is for you alone: it must not be published with {output}.")
    if together is None:
        _warn_of_others(release, output)
    elif not json:
        console = out()
        console.print(f"By the ledger {ledger}, all releases of this table together:", markup=False)
        for sentence in together.sentences():
            bullet(console, sentence)


def _show_release(
    plan: Plan, release: Release, place: Path, unchanged: UnchangedRecords | None
) -> None:
    console = out()
    certificate = release.certificate
    files = [data.name for data in (certificate.data, *certificate.copies) if data is not None]
    console.print(f"[bold]{escape(str(place))}[/] holds {release.records:,} released records.")
    console.print(
        f"  {escape(', '.join(files))}, certificate.json, README.md and their documentation. "
        "Publish the folder unchanged."
    )
    show_promises(console, plan, certificate)
    if unchanged is not None:
        bullet(console, unchanged.sentence())
        warning = unchanged.warning(certificate.suggested_share)
        if warning is not None and certificate.nature.shows_matrices:  # else a notice has said so
            bullet(console, warning, style="yellow")
    show_publishable(console, release.publishable)


def _show_next_steps(
    plan: Plan, release: Release, place: Path, table: Path, read: tuple[str, ...]
) -> None:
    """Commands that verify the release, estimate a table and write a report."""
    folder = as_file(str(place))
    note(f"Verify: {pasted(['pramana', 'verify', folder])}")
    names = plan.schema.names
    keys = tuple(column.name for column in plan.schema.randomised)[:2]
    sets = [tuple(one["columns"]) for one in plan.to_json().get("sets", ())]
    # Of attribute sets, the most frequent pair is reported best.
    usual = next((columns for columns in sets if len(columns) > 1), (*sets, keys)[0])
    columns = next((table for table in plan.wanted if {*table} <= {*names}), usual)
    more = []
    if release.certificate.nature.withholds_matrices:  # each column answers alone, unweighted
        columns = columns[:1]
        more = ["--unweighted"] if plan.schema.weight is not None else []
    if columns:
        words = ["pramana", "estimate", folder, "--by", as_list(columns), *more]
        note(f"Estimate: {pasted(words)}")
    page = free_name("report", ".html")
    words = ["pramana", "report", folder, "--original", as_file(str(table)), *read, "-o", page]
    note(f"Report: {pasted(words)}")


def _warn_of_others(release: Release, place: Path) -> None:
    """Several releases of the same people protect less: say so if one is next to the new one."""
    others = api.earlier_releases(release)
    if not others:
        return
    names = listed([other.name for other in others], MOST_NAMED)
    have, they = ("has", "it contains") if len(others) == 1 else ("have", "they contain")
    warning = (
        f"{names} {have} the same columns and number of records. If {they} the "
        "same people, all releases together guarantee less"
    )
    composable = api.composable(release, others)
    if not composable:
        note(f"{warning}; how much less cannot be computed from their certificates.")
        return
    folders = [as_file(str(folder)) for folder in (place, *composable)]
    note(f"{warning}: {pasted(['pramana', 'attack', 'composition', *folders])}")


def verify(
    folder: Path,
    key: Path | None = None,
    original: Path | None = None,
    mechanism: Path | None = None,
    engine: str = "local",
    master: str | None = None,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Check a release from its folder alone.

    Checks digests, signature, number of records and domains. Recomputes the guarantees that follow
    from published matrices. The exit code is 1 if a check fails.

    Options:
      --key PUB: Public key of the signer.
      --original FILE: For the owner: the original data, to test randomisation and shuffle.
      --mechanism FILE: With --original, where matrices are withheld: mechanism.json of
        --steward-folder.

    Advanced:
      --engine: Execution engine.
      --master URL: The cluster of the engine, such as local[2] or spark://host:7077.

    Example:
      pramana verify release/
      pramana verify release/ --key office.key.pub --original people.csv
    """
    with progress_bar("Checking records", total=None) as advance:
        verdict = api.verify(
            folder,
            key=key,
            original=original_data(original, encoding, rename),
            mechanism=mechanism,
            engine=engine,
            master=master,
            progress=advance,
        )
    if json:
        show_json(verdict.to_json())
    else:
        show_verdict(verdict)
    if not verdict.valid:
        raise typer.Exit(DOES_NOT_HOLD)
