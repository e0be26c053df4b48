"""``pramana describe``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pramana.base.atomic_files import free_name, require_free
from pramana.base.name_lists import as_file, pasted
from pramana.cli.options import (
    AsJson,
    Encoding,
    Rename,
    TableFile,
    names_of,
    option,
    reading,
    told,
)

if TYPE_CHECKING:
    from pramana.schema.describe import Description

__all__ = ["describe"]


def _roles(name: str, text: str) -> Any:
    return typer.Option(name, metavar="A,B", show_default=False, help=text)


Names: TypeAlias = list[str] | None


def describe(
    table: TableFile,
    keys: Annotated[Names, _roles("--keys", "Columns by which a person is recognised.")] = None,
    sensitive: Annotated[Names, _roles("--sensitive", "Columns that no outsider knows.")] = None,
    public: Annotated[Names, _roles("--public", "Columns to release that others may know.")] = None,
    identifiers: Annotated[Names, _roles("--identifiers", "Columns to drop.")] = None,
    weight: Annotated[str | None, option("--weight", "Sampling weights.", metavar="NAME")] = None,
    household: Annotated[
        str | None, option("--household", "The number of a household.", metavar="NAME")
    ] = None,
    k: Annotated[
        int,
        option("--k", "Suggest recodings where fewer records hold a value.", metavar="NUMBER"),
    ] = 5,
    to: Annotated[
        Path | None, option("--output", "Write the schema here.", short="-o", metavar="TOML")
    ] = None,
    force: Annotated[bool, option("--force", "Replace an existing schema.")] = False,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Look at a table and suggest what each column is.

    What you name is taken as you say; the rest is a suggestion. Nothing is decided until you have
    looked at the schema file and used it.

    Example:
      pramana describe people.csv
      pramana describe people.csv --keys sex,age,region --sensitive income -o schema.toml
    """
    from pramana import api
    from pramana.cli.rendering import note, show_json

    if to is not None:
        require_free(to, force=force, reads=[table])
    found = api.describe(
        told(table, encoding, rename),
        keys=names_of(keys),
        sensitive=names_of(sensitive),
        public=names_of(public),
        identifiers=names_of(identifiers),
        weight=weight,
        household=household,
        k=k,
    )
    if to is not None:
        found.save(to, force=force)
    if as_json:
        show_json(_to_json(found, to))
    else:
        named = {"--keys": keys, "--sensitive": sensitive, "--public": public,
                 "--identifiers": identifiers}  # fmt: skip
        named |= {"--weight": [weight]} if weight else {}
        named |= {"--household": [household]} if household else {}
        given = [w for flag, texts in named.items() for text in texts or () for w in (flag, text)]
        read = reading(encoding, rename)
        _show(found)
        note(_next(found, as_file(str(table)), to, given, read, str(api.usual_k(found.records))))


def _to_json(found: Description, to: Path | None) -> dict[str, Any]:
    return {
        "records": found.records,
        "unique_on_keys": found.unique,
        "keys": [column.name for column in found.keys],
        "columns": found.rows(),
        "schema": None if to is None else str(to),
    }


def _next(
    found: Description,
    file: str,
    to: Path | None,
    given: Sequence[str],
    read: tuple[str, ...],
    k: str,
) -> str:
    """What to do then, as a command: write the schema, name keys, or design by it."""
    look = ["pramana", "describe", file, *given]
    if to is None:
        place = free_name("schema", ".toml")
        return f"Write the schema to edit: {pasted([*look, *read, '-o', place])}"
    place = as_file(str(to))
    if not found.keys:
        named = [*look, "--keys", "A,B", *read, "-o", place, "--force"]
        return f"{to} is written. It needs keys, which you name: {pasted(named)}"
    design = ["pramana", "design", file, "--schema", place, "--k", k, *read]
    return (
        f"{to} is written. Look at the roles and domains, correct them, then design: "
        f"{pasted(design)}"
    )


def _show(found: Description) -> None:
    from pramana.cli.rendering import bullet, out, table_of

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
        for profile in found.profiles
    ]
    console.print(table_of(heads, rows, right=("distinct", "missing")))
    for profile in found.profiles:
        for text in profile.notes:
            bullet(console, f"{profile.name}: {_cut(text)}")

    others = [profile.name for profile in found.profiles if profile.crowded_out]
    if others:
        bullet(
            console,
            f"{len(others)} columns are taken as unknown to outsiders and leave as they are, as "
            "people are recognised more easily by others: make one a key if they may know it."
            if others[1:]
            else f"{others[0]} is taken as unknown to outsiders and leaves as it is, as people are "
            "recognised more easily by others: make it a key if they may know it.",
        )
    console.print()
    names = ", ".join(column.name for column in found.keys)
    if not names:
        console.print("No key was found: name the columns that tell people apart with --keys.")
    else:
        console.print(
            f"{found.unique:,} of {found.records:,} records are the only one with their values of "
            f"{names}.",
            markup=False,
        )


MOST_LETTERS = 160


def _cut(text: str) -> str:
    """A note; long lists of values are cut, and said to be."""
    if len(text) <= MOST_LETTERS:
        return text
    shown = text[:MOST_LETTERS].rpartition(", ")[0]
    return f"{shown}, ... ({text.count(', ') - shown.count(', ')} more; all of them with -o)"
