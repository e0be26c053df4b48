"""``pramana schema``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pramana.base.atomic_files import require_free, write_whole
from pramana.cli.options import (
    AsJson,
    Encoding,
    Rename,
    argument,
    names_of,
    option,
    reading,
    told,
)
from pramana.errors import InputError

__all__ = ["schema"]


def schema(
    path: Annotated[Path | None, argument("A schema file to check.", metavar="[TOML]")] = None,
    form: Annotated[
        bool, option("--json-schema", "Print the form of schema files for editors.")
    ] = False,
    without: Annotated[
        list[str] | None, option("--without", "Write it with these columns dropped.", metavar="A,B")
    ] = None,
    coarsen: Annotated[
        list[str] | None,
        option(
            "--coarsen",
            "Write it with half the bins, rarer values as one, or a weight in steps.",
            metavar="A,B",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        option("--table", "The true table, to see which values are rare.", metavar="FILE"),
    ] = None,
    to: Annotated[
        Path | None, option("--output", "Where to write it.", short="-o", metavar="TOML")
    ] = None,
    force: Annotated[bool, option("--force", "Replace an existing schema.")] = False,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Check a schema file, write a coarser one, or print the form of all of them.

    What is wrong is said with its line and key. docs/reference/schema.md has every entry.

    Example:
      pramana schema schema.toml
      pramana schema schema.toml --without town --coarsen age --table people.csv -o better.toml
      pramana schema --json-schema > pramana.schema.json
    """
    from pramana import Schema, api
    from pramana.cli.rendering import note, out, show_json

    dropped, coarser = names_of(without), names_of(coarsen)
    if form == (path is not None):
        raise InputError("Give a schema file to check, or --json-schema.")
    if bool(dropped or coarser) != (to is not None):
        raise InputError("What is changed by --without or --coarsen is written to --output.")
    if path is None:
        show_json(api.json_schema())
        return
    found = before = Schema.load(path)
    if to is not None:
        require_free(to, force=force, reads=[path])
        opened = None
        if table is not None:
            opened = api.open_source(told(table, encoding, rename), schema=found)
        text = api.changed_file(api.text_of(path), without=dropped, coarsen=coarser, opened=opened)
        write_whole(to, text, force=force)
        weight = found.weight
        if opened is not None and weight is not None and weight.name in coarser:
            coarse = api.coarse_weight_of(opened, weight.name)
            note("" if coarse is None else f"'{weight.name}' in steps: {coarse.shifted}.")
        before, found = found, Schema.load(to)
        then = ""
        if table is not None:
            k = 20 if opened is None else api.usual_k(opened.rows)
            about = api.CliHints(str(to), str(table), reading(encoding, rename), ("--k", str(k)))
            then = f" Design by it: {about.of('design')}"
        note(f"{to} is written.{then}")
    if as_json:
        rows = [{"column": c.name, "role": str(c.role)} | c.recoding.to_dict()
                for c in found.columns]  # fmt: skip
        show_json({"valid": True, "columns": rows})
    else:
        new = tuple(own for own in found.columns if own != before.column(own.name))
        out().print(str(Schema(new) if new else found), markup=False)
