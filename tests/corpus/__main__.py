"""Precision and recall of the roles that ``describe`` proposes: ``python -m tests.corpus``."""

from __future__ import annotations

import sys
from dataclasses import replace

from pramana.io.opening import open_table
from pramana.schema.describe import describe
from pramana.schema.domains import Labels
from pramana.schema.roles import Role
from tests.corpus.files import FILES, LookAlike, accepted
from tests.corpus.scores import scores


def proposed(file: LookAlike) -> dict[str, str]:
    """The role of each column; of what is dropped for its risk alone, the role without that."""
    opened = replace(open_table(file.table), labels=Labels(variables=file.labels))
    found = describe(opened).profiles
    return {
        own.name: "sensitive"
        if getattr(own, "withheld", False)
        else str(own.role if own.role.traits.released else Role.IDENTIFIER)
        for own in found
    }


def main() -> None:
    """Print what is wrong in each file, then precision and recall of each role."""
    rows = []
    for make in FILES:
        file = make()
        found = proposed(file)
        rows += [(accepted(file.roles, name), role) for name, role in found.items()]
        wrong = {n: r for n, r in found.items() if r not in accepted(file.roles, n)}
        right = 1 - len(wrong) / len(found)
        said = "; ".join(f"{n}: {r}, not {file.roles[n]}" for n, r in wrong.items())
        sys.stdout.write(f"{file.name:30} {right:6.1%}  {said}\n")
    for role, own in scores(rows).items():
        sys.stdout.write(
            f"{role:12} precision {own.precision:6.1%}  recall {own.recall:6.1%}  "
            f"({own.columns} columns)\n"
        )


if __name__ == "__main__":
    main()
