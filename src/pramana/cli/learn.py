"""``pramana mine``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pramana.cli.options import AsJson, Encoding, ReleaseFolder, Rename, option, told

if TYPE_CHECKING:
    from pramana.analysis.trees import MinedTree

__all__ = ["mine"]


def mine(
    folder: ReleaseFolder,
    target: Annotated[str, option("--target", "What to predict.", metavar="NAME")],
    test: Annotated[
        Path | None,
        option("--test", "Clean records with the release's columns, to test on.", metavar="FILE"),
    ] = None,
    rebuild: Annotated[
        str,
        option(
            "--rebuild",
            "Draw records around the target, one column at a time, or take them as released.",
            metavar="posterior|rank|none",
        ),
    ] = "posterior",
    draws: Annotated[
        int | None,
        option(
            "--draws",
            "Rebuilt tables to learn from; more for small releases where not given.",
            metavar="NUMBER",
        ),
    ] = None,
    depth: Annotated[int, option("--depth", "Levels of the tree to show.", metavar="NUMBER")] = 3,
    seed: Annotated[int | None, option("--seed", "Draw the same again.", metavar="NUMBER")] = None,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Learn a decision tree from a release alone, and test it on clean records.

    The records are rebuilt first: each is drawn from what the release allows, so that dependence on
    the target comes back. In Python any scikit-learn classifier can take the tree's place.

    Example:
      pramana mine release/ --target class --test clean.csv
    """
    from pramana import mine_tree
    from pramana.cli.rendering import show_json

    mined = mine_tree(
        folder,
        target=target,
        test=told(test, encoding, rename),
        rebuild=cast("Any", rebuild),
        draws=draws,
        seed=seed,
    )
    if as_json:
        show_json(mined.to_json())
    else:
        _show(mined, depth)


def _show(mined: MinedTree, depth: int) -> None:
    from pramana.base.text import records_that
    from pramana.cli.rendering import bullet, out

    console = out()
    times = "" if mined.draws == 1 else f", drawn {mined.draws} times"
    console.print(
        f"{mined.target} from {len(mined.features)} features of {mined.records:,} released "
        f"records ({mined.rebuild}{times}).",
        markup=False,
    )
    found = mined.accuracy
    if found is not None:
        gone = found.without_class
        left_out = f" {records_that(gone, 'has', 'have')} no class, left out." if gone else ""
        bullet(
            console,
            f"Right on {found.value:.1%} of {found.records:,} clean records "
            f"({found.low:.1%} to {found.high:.1%}); always saying the most frequent class would "
            f"be right on {found.baseline:.1%}.{left_out}",
            style="green",
        )
    console.print()
    console.print(mined.rules(depth).rstrip(), markup=False, soft_wrap=True)
