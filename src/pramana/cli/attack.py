"""``pramana attack``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pramana.api import AttackName
from pramana.cli.options import AsJson, Encoding, Rename, argument, option, told

__all__ = ["attack"]

DOES_NOT_HOLD = 1


def attack(
    name: Annotated[AttackName, argument("What to try.", case_sensitive=False)],
    releases: Annotated[
        list[Path], argument("A release folder; several for composition.", metavar="RELEASE...")
    ],
    knowledge: Annotated[
        Path | None,
        option(
            "--knowledge",
            "What the attacker knows of the truth; in the worst case the original, by either name.",
            short="--original",
            metavar="FILE",
        ),
    ] = None,
    times: Annotated[
        int, option("--times", "repeated: perturbations in all.", metavar="NUMBER")
    ] = 8,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Try to break a release with what an attacker would have.

    linkage: the strongest linker, who knows the true table and the matrices. repeated: perturb the
    release again and again. recovery: filter the noise out. composition: several releases of the
    same people, what of k and epsilon remains. Leaves with 1 if a promise is broken.

    Example:
      pramana attack linkage release/ --original people.csv
      pramana attack composition release-2023/ release-2024/
    """
    from pramana import api
    from pramana.cli.rendering import bullet, out, show_json

    found = api.attack(name, *releases, knowledge=told(knowledge, encoding, rename), times=times)
    if as_json:
        show_json(found.to_json())
    else:
        console = out()
        for sentence in found.sentences:
            bullet(console, sentence)
    if not found.holds:
        raise typer.Exit(DOES_NOT_HOLD)
