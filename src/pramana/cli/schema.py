"""``pramana schema``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pramana.cli.options import AsJson, argument, option
from pramana.errors import InputError

__all__ = ["schema"]


def schema(
    path: Annotated[Path | None, argument("A schema file to check.", metavar="[TOML]")] = None,
    form: Annotated[
        bool, option("--json-schema", "Print the form of schema files for editors.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a schema file, or print the form that all of them have.

    What is wrong is said with its line and key. docs/reference/schema.md has every entry.

    Example:
      pramana schema schema.toml
      pramana schema --json-schema > pramana.schema.json
    """
    from pramana.cli.rendering import out, show_json
    from pramana.table.json_schema import json_schema
    from pramana.table.schema import Schema

    if form == (path is not None):
        raise InputError("Give a schema file to check, or --json-schema.")
    if path is None:
        show_json(json_schema())
        return
    found = Schema.load(path)
    if as_json:
        rows = [{"column": c.name, "role": str(c.role)} | c.recoding.to_dict()
                for c in found.columns]  # fmt: skip
        show_json({"valid": True, "columns": rows})
    else:
        out().print(str(found), markup=False)
