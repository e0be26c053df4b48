"""``pramana learn``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pramana.cli.options import AsJson, Encoding, ReleaseFolder, Rename, option, told

if TYPE_CHECKING:
    from pramana.analysis.trees import LearnedTree

__all__ = ["learn"]


def learn(
    folder: ReleaseFolder,
    target: Annotated[str, option("--target", "What to predict.", metavar="NAME")],
    test: Annotated[
        Path | None,
        option("--test", "Clean records with the release's columns, to test on.", metavar="FILE"),
    ] = None,
    synthesis: Annotated[
        str,
        option(
            "--synthesis",
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
      pramana learn release/ --target class --test clean.csv
    """
    from pramana import learn_tree
    from pramana.cli.rendering import show_json

    learned = learn_tree(
        folder,
        target=target,
        test=told(test, encoding, rename),
        synthesis=cast("Any", synthesis),
        draws=draws,
        seed=seed,
    )
    if as_json:
        show_json(learned.to_json())
    else:
        _show(learned, depth)


def _show(learned: LearnedTree, depth: int) -> None:
    from pramana.base.text import records_that
    from pramana.cli.rendering import bullet, out

    console = out()
    times = "" if learned.draws == 1 else f", drawn {learned.draws} times"
    console.print(
        f"{learned.target} from {len(learned.features)} features of {learned.records:,} released "
        f"records ({learned.synthesis}{times}).",
        markup=False,
    )
    found = learned.accuracy
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
    console.print(learned.rules(depth).rstrip(), markup=False, soft_wrap=True)
