"""Options of verbs: their docstrings list them, and typer takes them from there.

A verb's parameters have plain types and defaults. Its docstring explains each under ``Options``,
or under ``Seldom`` where only ``--help-all`` shows it. Shared options are explained here once.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator
from inspect import cleandoc, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

import typer

from pramana import Replicates, api
from pramana.base.text import as_file, parts_of, pasted
from pramana.cli.commands import SELDOM, engine_names, format_names, method_names
from pramana.errors import InputError

DOES_NOT_HOLD = 1
"""The exit code where a guarantee or a check does not hold."""

SHARED = """
Options:
  table FILE: The original data: CSV, Parquet, Arrow, SPSS, Stata, SAS, Excel, R.
  folder RELEASE: A release folder.
  --schema TOML: What each column is, as 'pramana describe' writes it.
  --method NAME: One of the methods below; the usual one for the target where not given.
  --where FILTER: sex=F, region=north|south or income>=50000; may repeat.
  --level NUMBER: Of the intervals.
  --json: Give the result as one JSON object.

Seldom:
  --plan TOML: A file with schema, target, method and planned analyses; options take precedence.
  --origin WORD: Where method and target come from: declared, read-off or trials. The certificate
    says it.
  --simultaneous: All intervals hold together.
  --unweighted: Count every record once, whatever its weight.
  --replicates COLUMNS: Columns of replicate weights: PWGTP* or names with commas.
  --replication: How they were made; sdr is that of the ACS.
  --fay NUMBER: For --replication fay: what a half keeps.
  --encoding NAME: Of original data that are text and not UTF-8, such as cp1252.
  --rename: Make duplicate column names of the original data unique.
  --csv: Give the table as CSV.
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
    """The docstring without its options; the lines of its example stay as they are."""
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
