"""``pramana describe`` and ``pramana schema``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pramana import Schema, api
from pramana.base.atomic_files import free_name, require_free, write_whole
from pramana.base.rounding import as_whole
from pramana.base.text import as_file, pasted, percent_up
from pramana.cli.options import names_of, original_data, reading
from pramana.cli.rendering import bullet, note, out, show_json, table_of
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.schema.describe import Description


def describe(
    table: Path,
    keys: list[str] | None = None,
    sensitive: list[str] | None = None,
    public: list[str] | None = None,
    identifiers: list[str] | None = None,
    weight: str | None = None,
    household: str | None = None,
    suggest: bool = False,
    range_: list[str] | None = None,
    all_: bool = False,
    k: int = 5,
    output: Path | None = None,
    force: bool = False,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Suggest a role for each column of a table.

    Columns that you name get the role that you give. If you name keys, no other keys are suggested,
    unless you add --suggest. Other columns are released unchanged if few people are unique on them,
    and dropped otherwise. Each role has a reason. Check the schema file before you use it.

    Options:
      --keys A,B: Columns by which a person is recognised.
      --sensitive A,B: Columns that no outsider knows.
      --public A,B: Columns that outsiders know, to be released unchanged.
      --identifiers A,B: Columns to drop.
      --weight NAME: Sampling weights.
      --household NAME: The column with the household number.
      --suggest: Suggest keys in addition to those you name.
      --range NAME=LOW:HIGH: Round an amount to a grid in this public range and randomise it. NAME
        alone reads the range off the data.
      --k NUMBER: Suggest recodings of values with fewer records.
      --output -o TOML: Write the schema here.

    Advanced:
      --force: Replace an existing schema.
      --all: Show every column of a wide table.

    Example:
      pramana describe people.csv
      pramana describe people.csv --keys sex,age,region --sensitive income -o schema.toml
    """
    if output is not None:
        require_free(output, force=force, reads=[table])
    description = api.describe(
        original_data(table, encoding, rename),
        keys=names_of(keys),
        sensitive=names_of(sensitive),
        public=names_of(public),
        identifiers=names_of(identifiers),
        weight=weight,
        household=household,
        k=k,
        suggest=suggest,
        ranges=dict(map(_range, range_ or ())),
    )
    if output is not None:
        description.save(output, force=force)
    if json:
        form = {
            "records": description.records,
            "unique_on_keys": description.unique,
            "keys": [column.name for column in description.keys],
            "notices": list(description.notices),
            "columns": description.rows(),
            "schema": None if output is None else str(output),
        }
        show_json(form)
        return
    named = {"--keys": keys, "--sensitive": sensitive, "--public": public,
             "--identifiers": identifiers}  # fmt: skip
    named |= {"--weight": [weight]} if weight else {}
    named |= {"--household": [household]} if household else {}
    given = [w for flag, texts in named.items() for text in texts or () for w in (flag, text)]
    given += ["--suggest"] if suggest else []
    given += [word for text in range_ or () for word in ("--range", text)]
    if all_ or len(description.profiles) <= 60:  # columns of a table up to which each is shown
        _show_columns(description)
    else:
        _show_summary(description)
    _show_uniques(description)
    for notice in description.notices:
        note(notice)
    note(_next_step(description, as_file(str(table)), output, given, reading(encoding, rename)))


def _range(text: str) -> tuple[str, tuple[float, float] | None]:
    """``income=0:200000``, or ``income`` for a range read off the data."""
    name, _, ends = text.rpartition("=")
    if not name and ":" not in text:
        return text, None
    try:
        low, high = map(float, ends.split(":"))
    except ValueError:
        low = high = math.nan
    if not name or not -math.inf < low < high < math.inf:
        raise InputError(f"--range must read like income=0:200000, got {text!r}.")
    return name, (as_whole(low), as_whole(high))


def _next_step(
    description: Description, file: str, to: Path | None, given: Sequence[str], read: Sequence[str]
) -> str:
    """The next command: write the schema, name keys, or design by it."""
    look = ["pramana", "describe", file, *given]
    if to is None:
        place = free_name("schema", ".toml")
        return f"Write the schema to edit: {pasted([*look, *read, '-o', place])}"
    place = as_file(str(to))
    if not description.keys:
        named = [*look, "--keys", "A,B", *read, "-o", place, "--force"]
        return f"{to} is written. It has no keys yet: name them: {pasted(named)}"
    k = str(api.usual_k(description.records))
    advise = ["pramana", "advise", file, "--schema", place, "--k", k, *read]
    return (
        f"{to} is written. Check and correct its roles and domains. Then compare methods by the "
        f"questions that the release must answer (--ask 'income by region'): {pasted(advise)}"
    )


NAMED = 12
"""Columns of a role that are named in a summary."""


def _show_columns(description: Description) -> None:
    console = out()
    heads = ("column", "kind", "distinct", "missing", "role", "why")
    rows = [
        (
            profile.name,
            profile.kind,
            f"{profile.distinct:,}" if profile.exact else f"over {profile.distinct:,}",
            f"{profile.missing:,}",
            str(profile.role),
            profile.why,
        )
        for profile in description.profiles
    ]
    console.print(table_of(heads, rows, right=("distinct", "missing")))
    for profile in description.profiles:
        for text in profile.notes:
            bullet(console, f"{profile.name}: {_cut(text)}")


def _show_summary(description: Description) -> None:
    """How many columns have each role, and the first of them."""
    console = out()
    roles: dict[str, list[str]] = {}
    for profile in description.profiles:
        word = "dropped for its risk" if profile.withheld else str(profile.role)
        roles.setdefault(word, []).append(profile.name)
    rows = [
        (
            word,
            f"{len(names):,}",
            ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else ""),
        )
        for word, names in sorted(roles.items(), key=lambda entry: len(entry[1]))
    ]
    console.print(table_of(("role", "columns", "of them"), rows, right=("columns",)))
    number = len(description.profiles)
    bullet(console, f"{number:,} columns: --all shows each with its reason, -o writes them.")


def _show_uniques(description: Description) -> None:
    """How many people are unique on the keys, and on the unchanged columns."""
    console = out()
    console.print()
    names = ", ".join(column.name for column in description.keys)
    if names:
        console.print(
            f"{description.unique:,} of {description.records:,} records are unique on {names}.",
            markup=False,
        )
    else:
        console.print("No key was found: name the columns that identify people with --keys.")
    unchanged = [one for one in description.profiles if one.adds is not None and not one.withheld]
    if unchanged:
        unique, k = sum(one.adds or 0 for one in unchanged), api.usual_k(description.records)
        console.print(
            f"{unique:,} of {description.records:,} records "
            f"({percent_up(unique / description.records)}) are unique on the unchanged columns: "
            f"{', '.join(one.name for one in unchanged)}. A guarantee of k = {k} is 1/k = "
            f"{percent_up(1 / k)}; columns were chosen to stay below half of it.",
            markup=False,
        )


MOST_LETTERS = 160


def _cut(text: str) -> str:
    """A note, in which long lists of values are shortened and marked as such."""
    if len(text) <= MOST_LETTERS:
        return text
    shown = text[:MOST_LETTERS].rpartition(", ")[0]
    return f"{shown}, ... ({text.count(', ') - shown.count(', ')} more; all of them with -o)"


def schema(
    path: Path | None = None,
    json_schema: bool = False,
    without: list[str] | None = None,
    coarsen: list[str] | None = None,
    table: Path | None = None,
    output: Path | None = None,
    force: bool = False,
    origin: str = "declared",
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Check a schema file, write a coarser one, or print the JSON schema of the format.

    Errors name the entry. docs/reference/schema.md has every entry.

    Options:
      path TOML: A schema file to check.
      --json-schema: Print the JSON Schema of schema files, for editors.
      --without A,B: Write it with these columns dropped.
      --coarsen A,B: Write it with half the bins, rarer values as one, or a weight in steps.
      --table FILE: The original data, to see which values are rare.
      --output -o TOML: Output file.
      --force: Replace an existing schema.

    Example:
      pramana schema schema.toml
      pramana schema schema.toml --without town --coarsen age --table people.csv -o better.toml
      pramana schema --json-schema > pramana.schema.json
    """
    dropped, coarser = names_of(without), names_of(coarsen)
    if json_schema == (path is not None):
        raise InputError("Give a schema file to check, or --json-schema.")
    if bool(dropped or coarser) != (output is not None):
        raise InputError("--without and --coarsen need --output for the new schema.")
    if path is None:
        show_json(api.json_schema())
        return
    current = before = Schema.load(path)
    if output is not None:
        require_free(output, force=force, reads=[path])
        opened = None
        if table is not None:
            opened = api.open_source(original_data(table, encoding, rename), schema=current)
        text = api.changed_file(
            api.text_of(path), without=dropped, coarsen=coarser, opened=opened, origin=origin
        )
        write_whole(output, text, force=force)
        weight = current.weight
        if opened is not None and weight is not None and weight.name in coarser:
            coarse = api.coarse_weight_of(opened, weight.name)
            note("" if coarse is None else f"'{weight.name}' in steps: {coarse.shifted}.")
        before, current = current, Schema.load(output)
        then = ""
        if table is not None:
            k = 20 if opened is None else api.usual_k(opened.rows)
            about = api.CliHints(
                str(output), str(table), reading(encoding, rename), ("--k", str(k))
            )
            then = f" Design by it: {about.of('design')}"
        note(f"{output} is written.{then}")
    if json:
        rows = [{"column": c.name, "role": str(c.role)} | c.recoding.to_dict()
                for c in current.columns]  # fmt: skip
        show_json({"valid": True, "columns": rows})
    else:
        new = tuple(column for column in current.columns if column != before.column(column.name))
        out().print(str(Schema(new) if new else current), markup=False)
