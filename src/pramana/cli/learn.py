"""``pramana regress``, ``pramana synthesize`` and ``pramana learn``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pramana.cli.options import (
    AsCsv,
    AsJson,
    Encoding,
    Fay,
    Filter,
    Infer,
    Level,
    ModelFamily,
    RebuildMethod,
    ReleaseFolder,
    Rename,
    ReplicateColumns,
    ReplicatesBy,
    ReplicationKind,
    Simultaneous,
    Unweighted,
    argument,
    option,
    replicates_of,
    told,
)

if TYPE_CHECKING:
    from pramana.analysis.learning import LearnedTree


def regress(
    folder: ReleaseFolder,
    formula: Annotated[
        str, argument("The model, such as 'income ~ age + C(region)'.", metavar="FORMULA")
    ],
    family: Annotated[
        ModelFamily, option("--family", "linear is least squares.")
    ] = ModelFamily.LINEAR,
    where: Filter = None,
    level: Level = 0.95,
    infer: Annotated[
        Infer, option("--infer", "About the population behind the records, or about them.")
    ] = Infer.POPULATION,
    simultaneous: Simultaneous = False,
    unweighted: Unweighted = False,
    replicates: ReplicateColumns = None,
    replication: ReplicatesBy = ReplicationKind.BRR,
    fay: Fay = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Fit a regression from a release.

    Columns on either side may be randomised: the scores of the model are corrected for the
    published matrices, and the randomisation is part of every standard error.

    Example:
      pramana regress release/ 'income ~ age + sex + C(region)'
      pramana regress release/ 'employed ~ age + sex' --family logistic
    """
    from pramana import api
    from pramana.cli.estimate import show_regression, write_csv
    from pramana.cli.rendering import show_json

    found = api.load(folder).regress(
        formula,
        family=family.value,
        where=where,
        level=level,
        infer=infer.value,
        simultaneous=simultaneous,
        weighted=not unweighted,
        replicates=replicates_of(replicates, replication, fay),
    )
    if as_json:
        show_json(found.to_json())
    elif as_csv:
        write_csv(found)
    else:
        show_regression(found)


def synthesize(
    folder: ReleaseFolder,
    output: Annotated[Path, option("--output", "Where to write.", short="-o", metavar="FILE")],
    method: Annotated[
        RebuildMethod,
        option("--method", "posterior brings dependence between columns back, rank margins only."),
    ] = RebuildMethod.POSTERIOR,
    seed: Annotated[int | None, option("--seed", "Draw the same again.", metavar="NUMBER")] = None,
    force: Annotated[bool, option("--force", "Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write synthetic records from a release.

    Draws true values for each record, given all that was released of it and the estimated
    distribution. No row of the table is anyone's truth.

    Example:
      pramana synthesize release/ -o mining.parquet
    """
    from pramana import api
    from pramana.cli.rendering import bullet, out, show_json

    written = api.load(folder).write_rebuilt(
        output,
        method=method.value,
        seed=seed,
        force=force,
    )
    if as_json:
        show_json({"file": str(output), "method": method.value, **written})
        return
    console = out()
    bullet(console, f"{written['records']:,} records in {output}.")
    bullet(console, str(written["note"]))


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
    target_population: Annotated[
        Path | None,
        option(
            "--target-population",
            "Records of another population that the model is for: it counts records by how much "
            "more frequent their like is there.",
            metavar="FILE",
        ),
    ] = None,
    ratio: Annotated[
        str,
        option(
            "--ratio",
            "How to estimate that: by a classifier, or by shares of cells.",
            metavar="classifier|nonparametric",
        ),
    ] = "classifier",
    depth: Annotated[int, option("--depth", "Levels of the tree to show.", metavar="NUMBER")] = 3,
    seed: Annotated[int | None, option("--seed", "Draw the same again.", metavar="NUMBER")] = None,
    encoding: Encoding = None,
    rename: Rename = False,
    as_json: AsJson = False,
) -> None:
    """Learn a decision tree from a release and test it on other records.

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
        target_population=told(target_population, encoding, rename),
        ratio=cast("Any", ratio),
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
