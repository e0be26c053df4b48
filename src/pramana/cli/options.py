"""Options of verbs: their docstrings list them, and typer takes them from there.

A verb's parameters have simple types and defaults. Its docstring explains each under ``Options``,
or under ``Seldom`` where only ``--help-all`` shows it. Shared options are explained here once.

From the options of a command to a plan: which targets, which method, which people.
"""

from __future__ import annotations

import builtins
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import cleandoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_type_hints

import typer

from pramana import Replicates, Schema, api
from pramana.base.text import as_file, parts_of, pasted
from pramana.cli.commands import (
    SELDOM,
    CliTargets,
    engine_names,
    format_names,
    method_names,
    options_by_flag,
)
from pramana.errors import Infeasible, InputError, InvalidTable

if TYPE_CHECKING:
    from pramana.evaluation.cli_hints import CliHints
    from pramana.methods.base import Method
    from pramana.methods.plan import Plan
    from pramana.schema.schema import Schema
    from pramana.types import Form, TableLike


DOES_NOT_HOLD = 1
"""The exit code where a guarantee or a check does not hold."""

SHARED = """
Options:
  table FILE: The original data: CSV, Parquet, Arrow, SPSS, Stata, SAS, Excel, R.
  folder RELEASE: A release folder.
  --schema TOML: What each column is, as 'pramana describe' writes it.
  --method NAME: One of the methods below; the default depends on the target.
  --where FILTER: sex=F, region=north|south or income>=50000; may repeat.
  --level NUMBER: Confidence level of the intervals.
  --json: Print the result as one JSON object.

Seldom:
  --plan TOML: A file with schema, target, method and planned analyses; options take precedence.
  --origin WORD: Origin of method and target: declared, read-off or trials. The certificate
    states it.
  --simultaneous: All intervals hold together.
  --unweighted: Count every record once, whatever its weight.
  --replicates COLUMNS: Columns of replicate weights: PWGTP* or names with commas.
  --replication: How they were made; the ACS uses sdr.
  --fay NUMBER: For --replication fay: what a half keeps.
  --encoding NAME: Encoding of original data that are not UTF-8, such as cp1252.
  --rename: Make duplicate column names of the original data unique.
  --csv: Print the table as CSV.
"""

Infer: TypeAlias = Literal["records", "population"]
"""What intervals are about."""

Replication: TypeAlias = Literal["brr", "fay", "jackknife", "bootstrap", "sdr"]
"""How replicate weights were made."""


def listed_methods(incomplete: str) -> list[str]:
    """For completion of the last of several names with commas between them."""
    before, comma, _ = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in method_names()]


COMPLETIONS = {"format_": format_names, "engine": engine_names}


def with_options(verb: Callable[..., None], *, shared: str = "") -> Callable[..., None]:
    """The verb, annotated for typer with the options that its docstring lists."""
    texts = (SHARED, shared, verb.__doc__ or "")
    listed = {name: entry for text in texts for name, entry in _options_in(text)}
    hints = get_type_hints(verb)
    for name, parameter in signature(verb).parameters.items():
        if name not in listed:
            continue  # the context of the command
        flags, metavar, text, panel = listed[name]
        if flags:
            several = "list" in str(hints[name])
            methods = listed_methods if several else method_names
            complete = methods if name == "method" and metavar else COMPLETIONS.get(name)
            info = typer.Option(
                *flags, help=text, metavar=metavar, rich_help_panel=panel, autocompletion=complete
            )
        else:
            optional = metavar and parameter.default is not parameter.empty
            info = typer.Argument(
                help=text,
                metavar=f"[{metavar}]" if optional else metavar,
                show_default=False,
                case_sensitive=False,
            )
        verb.__annotations__[name] = Annotated[hints[name], info]
    return verb


def _options_in(
    text: str,
) -> Iterator[tuple[str, tuple[list[str], str | None, str, str | None]]]:
    """The parameter of each option that a docstring lists; its flags, metavar, help and panel."""
    for block in cleandoc(text).split("\n\n"):
        head, _, entries = block.partition(":\n")
        if head not in ("Options", SELDOM):
            continue
        for entry in re.split(r"^  (?=\S)", entries, flags=re.MULTILINE)[1:]:
            start, _, line = " ".join(entry.split()).partition(": ")
            words = start.split()
            flags = [word for word in words if word.startswith("-")]
            name = (flags or words)[0].partition("/")[0].strip("-").replace("-", "_")
            metavar = " ".join(words[len(flags) or 1 :])
            panel = SELDOM if head == SELDOM else None
            name = f"{name}_" if hasattr(builtins, name) else name
            yield name, (flags, metavar or None, line, panel)


def help_of(verb: Callable[..., None]) -> str:
    """The docstring without its options; the lines of its example stay unchanged."""
    blocks = cleandoc(verb.__doc__ or "").split("\n\n")
    told = [block for block in blocks if not block.startswith(("Options:", f"{SELDOM}:"))]
    return "\n\n".join(told).replace("\n\nExample:", "\n\n\b\nExample:")


def original_data(path: Path | None, encoding: str | None, rename: bool = False) -> Any:
    """The path of the original data, or what is read there in the declared encoding."""
    if path is None or (encoding is None and not rename):
        return path
    return api.read(path, encoding=encoding, rename=rename)


def reading(encoding: str | None, rename: bool) -> tuple[str, ...]:
    """How the original data were read, as words of a command to paste.

    >>> reading("cp1252", True), reading(None, False)
    (('--encoding', 'cp1252', '--rename'), ())
    """
    words = ("--encoding", encoding) if encoding else ()
    return (*words, "--rename") if rename else words


def names_of(lists: list[str] | None) -> list[str]:
    """Column names from options that may repeat and may hold several, separated by commas.

    >>> names_of(["sex, age", "region", '"pets, if any"'])
    ['sex', 'age', 'region', 'pets, if any']
    """
    return [name for part in lists or () for name in parts_of(part)]


def require_schema(schema: Path | None, table: Path | None) -> Path:
    """Nothing is decided silently: without a schema there is advice and no guess."""
    if schema is None:
        file = "FILE" if table is None else as_file(str(table))
        look = pasted(["pramana", "describe", file, "-o", "schema.toml"])
        raise InputError(
            "A schema must say what each column is, and none was given. Look at what is suggested "
            f"and add --schema schema.toml: {look}"
        )
    return schema


def replicates_of(
    columns: list[str] | None, kind: Replication, fay: float | None
) -> Replicates | None:
    """Replicate weights as they were named, or none."""
    names = names_of(columns)
    if not names:
        return None
    return Replicates(names[0] if len(names) == 1 else tuple(names), kind=kind, fay=fay)


FEWEST = 2
DECLARED = "declared"
TABLES = "--tables"
"""By itself this option chooses no method: it says what the choice is to be made for."""

PAIRS = "pairs"


@dataclass(frozen=True)
class Stated:
    """What a command was given, by its options and by a plan file.

    Attributes:
        targets: targets and the options of methods.
        schema: where it lies.
        method: where one is named.
        copies: further formats of the released data.
        origin: where method and target come from.
    """

    targets: CliTargets
    schema: Path | None
    method: str | None
    copies: tuple[str, ...] = ()
    origin: str = DECLARED

    @classmethod
    def of(
        cls,
        targets: CliTargets,
        *,
        schema: Path | None,
        method: str | None,
        plan: Path | None = None,
        origin: str = DECLARED,
    ) -> Stated:
        """An option counts before what the plan file says; of two origins the weaker one."""
        if plan is None:
            return cls(targets, schema, method, origin=api.origin_named(origin))

        found = api.PlanFile.load(plan)
        given = {name: value for name, value in targets.numbers.items() if value is not None}
        options = {f"--{name}": value for name, value in found.options.items()}
        return cls(
            CliTargets(
                {**targets.numbers, **found.target, **given}, {**options, **targets.options}
            ),
            schema or found.schema_beside(plan),
            method or found.method or None,
            found.copies,
            api.Provenance.weakest(api.origin_named(origin), api.origin_named(found.origin)),
        )

    def hints(
        self, table: Path | None, reading: tuple[str, ...], people: tuple[str, ...] = ()
    ) -> CliHints:
        """What was given, for commands that follow from it."""
        numbers, options = self.targets.numbers, dict(self.targets.options)
        asked = [(own.flag, numbers.get(own.field)) for own in api.cli_options()]
        tables = options.pop(TABLES, ())
        how = () if self.method is None else ("--method", self.method)
        return api.CliHints(
            str(self.schema),
            None if table is None else str(table),
            reading,
            tuple(w for flag, n in asked if n is not None for w in (flag, f"{n:.12g}")),
            (*how, *(word for own in options.items() for word in _words(*own))),
            people,
            tables if isinstance(tables, str) else ",".join(tables),
            api.origin_named(self.origin),
        )

    def save(self, place: Path, *, force: bool) -> None:
        """As a plan file; what was asked for is in the tables of the schema."""
        schema = require_schema(self.schema, None)
        numbers = {name: own for name, own in self.targets.numbers.items() if own is not None}
        options = {flag[2:]: _plain(own) for flag, own in self.targets.options.items()}
        beside = os.path.relpath(schema, place.parent)
        made = api.PlanFile(
            Path(beside).as_posix(), numbers, self.method or "", options, origin=self.origin
        )
        made.save(place, force=force)


def _plain(value: object) -> object:
    """A value of an option as a file takes it."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _words(flag: str, value: object) -> Iterator[str]:
    """An option as words of a command."""
    if value is True:
        yield flag
        return
    for own in value if isinstance(value, list | tuple) else (value,):
        yield from (flag, str(own))


def plan_for(
    stated: Stated,
    *,
    table: TableLike | None,
    records: int | None = None,
    smallest_group: int | None = None,
    looked_at: bool = False,
    hints: CliHints | None = None,
) -> tuple[Plan, Any]:
    """The plan, and the table that it was made for: opened, to be handed on.

    A refusal ends with what to paste where ``pasting`` says how files were named.
    """
    asked, schema, method = stated.targets, stated.schema, stated.method
    if method is not None and method not in api.METHODS:
        raise InputError(f"--method must be one of {', '.join(api.METHODS)}, got '{method}'.")
    if table is not None and records is not None:
        raise InputError("The table tells the number of records: give FILE or --records, not both.")
    named = None if hints is None or hints.table is None else Path(hints.table)
    described = Schema.load(require_schema(schema, named))
    method = method or _told_by(asked)
    aims = None if method is None else api.METHODS[method].aims
    guarantees = api.guarantees_from_options(asked.numbers, aims=aims, schema=described)
    chosen: Method | None = None
    options = dict(asked.options)
    if TABLES in options and method not in options_by_flag()[TABLES]:
        described = _with_tables(described, options.pop(TABLES))
    if method is not None or options:
        kind = (
            api.METHODS[method]
            if method
            else api.usual_method([guarantee.name for guarantee in guarantees])
        )
        chosen = method_of(kind, options)
    opened = None if table is None else api.open_source(table, schema=described)
    with way_out_shown(hints or api.CliHints(str(schema))):
        plan = api.design(
            described,
            *guarantees,
            data=opened,
            records=records,
            smallest_group=smallest_group,
            method=chosen,
            looked_at=looked_at,
            origin=stated.origin,
        )
    if plan.records < FEWEST:
        raise InvalidTable("A release needs at least two records, got 1: nobody hides alone.")
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


def _with_tables(schema: Schema, texts: Sequence[str]) -> Schema:
    """The schema with the tables that will be asked for; the word pairs stands for all pairs."""
    names = [column.name for column in schema.randomised]
    tables: list[tuple[str, ...]] = []
    for table in api.tables_of(texts):
        all_pairs = table == (PAIRS,) and PAIRS not in names
        tables += itertools.combinations(names, 2) if all_pairs else [table]
    return replace(schema, tables=tuple(tables))


def method_of(method: type[Method], options: Form) -> Method:
    """The method with the options that were given; those of another method are refused."""
    known = options_by_flag() if options else {}
    stated: Form = {}
    for flag, value in options.items():
        option = known[flag].get(method.name)
        if option is None:
            raise InputError(
                f"{flag} is no option of method {method.name}: it goes with --method "
                f"{' or '.join(known[flag])}."
            )
        stated[option.name] = option.read(value) if option.read else value
    return method(**stated)


def _told_by(asked: CliTargets) -> str | None:
    """The method that an option stands for by itself, where none is stated."""
    known = options_by_flag() if asked.options else {}
    told = (
        name for flag in asked.options for name, option in known[flag].items() if option.chooses
    )
    return next(told, None)
