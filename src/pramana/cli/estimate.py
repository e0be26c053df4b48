"""``pramana estimate``, ``regress``, ``synthesize`` and ``learn``: analyses of a release."""

from __future__ import annotations

import csv
import itertools
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pramana import api
from pramana.base.text import listed, no_formula, percent, records_that
from pramana.cli.options import (
    Infer,
    Replication,
    names_of,
    numbers_of,
    original_data,
    replicates_of,
)
from pramana.cli.rendering import bullet, out, show_json, table_of
from pramana.errors import InputError, harmless

if TYPE_CHECKING:
    from pramana.analysis.association import IndependenceTest
    from pramana.analysis.estimates import Estimate
    from pramana.analysis.learning import LearnedTree
    from pramana.analysis.regression_results import Regression
    from pramana.analysis.release import Release
    from pramana.analysis.variance import Contrast
    from pramana.mechanisms.transition import Label
    from pramana.schema.domains import Labels
    from pramana.types import Form


def estimate(
    folder: Path,
    by: list[str] | None = None,
    where: list[str] | None = None,
    mean: str | None = None,
    total: str | None = None,
    proportion: str | None = None,
    quantile: str | None = None,
    at: list[str] | None = None,
    share: Literal["total", "row", "column"] | None = None,
    method: Literal["auto", "unbiased", "clipped", "shrunk"] = "auto",
    level: float = 0.95,
    infer: Infer = "records",
    simultaneous: bool = False,
    unweighted: bool = False,
    replicates: list[str] | None = None,
    replication: Replication = "brr",
    fay: float | None = None,
    independence: bool = False,
    margins: Path | None = None,
    difference: tuple[str, str] | None = None,
    ratio: tuple[str, str] | None = None,
    csv: bool = False,
    json: bool = False,
) -> None:
    """Estimate tables, means and totals from a release.

    Corrects for the randomisation and states the error of every number. Tables and filters accept
    randomised and unchanged columns. A filter refers to original values.

    Options:
      --by COLUMNS: The columns of the table, with commas.
      --mean COLUMN: Mean of a column of numbers.
      --total COLUMN: Total of a column of numbers.
      --proportion COMPARISON: Share above or below a number: 'income>=50000'.
      --quantile COLUMN: Quantiles of a column of numbers.
      --share: Shares of the total, of each row or of each column.
      --method: Estimator; auto takes unbiased or shrunk, by the expected error.
      --independence: Test by chi-square whether the two columns are independent.

    Advanced:
      --margins FILE: Published totals to calibrate to: a file of column, value, total.
      --at SHARES: Orders of the quantiles, with commas; by default 0.5.
      --infer: Intervals about the original records or about the population.
      --difference CELL CELL: Difference of two cells: F,north M,north.
      --ratio CELL CELL: Ratio of two cells: F,north M,north.

    Example:
      pramana estimate release/ --by sex,age --share row
      pramana estimate release/ --by sex --mean income --where region=north
      pramana estimate release/ --by sex --quantile income --at 0.25,0.5,0.75
      pramana estimate release/ --by sex --proportion 'income>=50000' --difference F M
      pramana estimate release/ --by sex,region --independence
    """
    columns = names_of(by)
    of = {"mean": mean, "total": total, "proportion": proportion, "quantile": quantile}
    table_only = {"share": share, "method": None if method == "auto" else method}
    shrinking = {"mean", "proportion"}  # by the methods of tables
    pair = {"difference": difference, "ratio": ratio}
    errors = {"infer": None if infer == "records" else infer, "replicates": replicates}
    if independence:
        _refuse_with("--independence", of | table_only | pair | errors | {"csv": csv or None})
    for verb in (verb for verb, column in of.items() if column is not None):
        _refuse_with(f"--{verb}", {"share": share} if verb in shrinking else table_only)
    if difference or ratio:
        _refuse_with("a comparison of two cells", {"csv": csv or None})
    release = api.load(folder)
    if independence:
        if len(columns) != 2:
            raise InputError("--independence is about two columns: give --by with two of them.")
        test = release.independence(*columns, where=where, weighted=not unweighted)
        show_json(test.to_json()) if json else show_independence(test)
        return
    asked: Form = {
        "where": where,
        "level": level,
        "infer": infer,
        "simultaneous": simultaneous,
        "weighted": not unweighted,
        "replicates": replicates_of(replicates, replication, fay),
    }
    shares = {"method": method, "share": share or False}
    if margins is not None:
        _refuse_with("--margins", {"quantile": quantile, "proportion": proportion})
    if mean or total:
        asked["margins"] = margins
    table = _asked(release, columns, of, at or [], asked, shares)
    if margins is not None and not (mean or total):
        table = table.calibrate(margins)
    if difference or ratio:
        contrast = contrast_of(table, difference, ratio)
        show_json(contrast.to_json()) if json else show_contrast(contrast)
    elif json:
        show_json(table.to_json())
    elif csv:
        write_csv(table)
    else:
        show_estimate(table, release.certificate.labels)


def regress(
    folder: Path,
    formula: str,
    family: Literal["linear", "logistic", "poisson", "multinomial", "ordered"] = "linear",
    where: list[str] | None = None,
    level: float = 0.95,
    infer: Infer = "population",
    simultaneous: bool = False,
    unweighted: bool = False,
    replicates: list[str] | None = None,
    replication: Replication = "brr",
    fay: float | None = None,
    csv: bool = False,
    json: bool = False,
) -> None:
    """Fit a regression from a release.

    Columns on either side may be randomised: the scores of the model are corrected for the
    published matrices, and the randomisation is part of every standard error.

    Options:
      formula FORMULA: The model, such as 'income ~ age + C(region)'.
      --family: linear is least squares; multinomial and ordered are logit models of three or more
        categories.
      --infer: Standard errors and intervals about the population or about the original records.

    Example:
      pramana regress release/ 'income ~ age + sex + C(region)'
      pramana regress release/ 'employed ~ age + sex' --family logistic
    """
    fit = api.load(folder).regress(
        formula,
        family=family,
        where=where,
        level=level,
        infer=infer,
        simultaneous=simultaneous,
        weighted=not unweighted,
        replicates=replicates_of(replicates, replication, fay),
    )
    if json:
        show_json(fit.to_json())
    elif csv:
        write_csv(fit)
    else:
        show_regression(fit)


def synthesize(
    folder: Path,
    output: Path,
    method: Literal["posterior", "rank"] = "posterior",
    seed: int | None = None,
    margins: Path | None = None,
    copies: int | None = None,
    force: bool = False,
    engine: str = "local",
    master: str | None = None,
    json: bool = False,
) -> None:
    """Write synthetic records from a release.

    Draws values for each record, given its released values and the estimated distribution of the
    original data. Randomised columns of a synthetic record do not describe a real
    person.

    Options:
      --output -o FILE: Output file.
      --method: posterior restores associations between columns, rank only margins.
      --seed NUMBER: Makes the result reproducible.
      --margins FILE: Published totals to rake to: a file of column, value, total.
      --copies NUMBER: Draw several tables into one file, numbered in a column copy, each with newly
        drawn parameters. Fit a model to each, and pool the fits.
      --force: Replace an existing file.

    Advanced:
      --engine: Execution engine.
      --master URL: The cluster of the engine, such as local[2] or spark://host:7077.

    Example:
      pramana synthesize release/ -o mining.parquet
      pramana synthesize release/ -o copies.csv --copies 10
    """
    written = api.load(folder).write_synthetic(
        output,
        method=method,
        seed=seed,
        force=force,
        margins=margins,
        copies=copies,
        engine=engine,
        master=master,
    )
    if json:
        show_json({"file": str(output), "method": method, **written})
        return
    console = out()
    bullet(console, f"{written['records']:,} records in {output}.")
    bullet(console, str(written["note"]))


def learn(
    folder: Path,
    target: str,
    test: Path | None = None,
    synthesis: str = "posterior",
    draws: int | None = None,
    target_population: Path | None = None,
    ratio: str = "classifier",
    depth: int = 3,
    seed: int | None = None,
    encoding: str | None = None,
    rename: bool = False,
    json: bool = False,
) -> None:
    """Learn a decision tree from a release and test it on other records.

    The tree is trained on synthetic records, which restore associations with the target. In Python
    any scikit-learn classifier can be used instead.

    Options:
      --target NAME: Column to predict.
      --test FILE: Original records with the columns of the release, to test on.
      --synthesis posterior|rank|none: How training records are drawn: from a model with the
        target, one column at a time, or not at all (the released records).
      --draws NUMBER: Synthetic tables to learn from; the default is larger for small releases.
      --target-population FILE: Records of another population in which the model will be used.
        Training records get the weight q(x) / p(x): their frequency there and in the release.
      --ratio classifier|nonparametric: How to estimate these weights: by a classifier, or by shares
        of cells.
      --depth NUMBER: Levels of the tree to show.
      --seed NUMBER: Makes the result reproducible.

    Example:
      pramana learn release/ --target class --test clean.csv
    """
    from pramana import learn_tree  # scikit-learn is an extra

    learned = learn_tree(
        folder,
        target=target,
        test=original_data(test, encoding, rename),
        synthesis=cast("Any", synthesis),
        draws=draws,
        seed=seed,
        target_population=original_data(target_population, encoding, rename),
        ratio=cast("Any", ratio),
    )
    if json:
        show_json(learned.to_json())
    else:
        _show_tree(learned, depth)


def _show_tree(learned: LearnedTree, depth: int) -> None:
    console = out()
    times = "" if learned.draws == 1 else f", drawn {learned.draws} times"
    console.print(
        f"{learned.target} from {len(learned.features)} features of {learned.records:,} released "
        f"records ({learned.synthesis}{times}).",
        markup=False,
    )
    if learned.weights:
        bullet(console, f"Weighted for the other population: {learned.weights}")
    accuracy = learned.accuracy
    if accuracy is not None:
        gone = accuracy.without_class
        left_out = f" {records_that(gone, 'has', 'have')} no class: left out." if gone else ""
        bullet(
            console,
            f"Accuracy on {accuracy.records:,} test records: {accuracy.value:.1%} "
            f"({accuracy.low:.1%} to {accuracy.high:.1%}). The most frequent class alone has "
            f"{accuracy.baseline:.1%}.{left_out}",
            style="green",
        )
    console.print()
    console.print(learned.rules(depth).rstrip(), markup=False, soft_wrap=True)


def _refuse_with(asked: str, others: Mapping[str, object]) -> None:
    """Refuse options that would be ignored."""
    given = [f"--{name}" for name, value in others.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)} does not apply to {asked}: leave one of them out.")


def _asked(
    release: Release,
    columns: list[str],
    of: dict[str, str | None],
    at: list[str],
    asked: Form,
    shares: Form,
) -> Estimate:
    """The mean, total, proportion or quantile that is named, or else the table."""
    named = {verb: column for verb, column in of.items() if column is not None}
    if len(named) > 1:
        verbs = " or for ".join(f"--{verb}" for verb in named)
        raise InputError(f"Ask for {verbs}, one at a time.")
    if at and "quantile" not in named:
        raise InputError("--at lists the quantiles of --quantile COLUMN: give that option too.")
    for verb, column in named.items():
        more: Form = {}
        if verb == "quantile" and at:
            more = {"q": numbers_of("--at", at, "0.25,0.5")}
        elif verb in ("mean", "proportion"):
            more = {"method": shares["method"]}
        estimated: Estimate = getattr(release, verb)(column, by=columns, **more, **asked)
        return estimated
    if not columns:
        raise InputError(
            "Say what to estimate: --by COLUMNS, --mean COLUMN, --total COLUMN, --quantile COLUMN "
            "or --proportion COMPARISON."
        )
    return release.crosstab(*columns, **shares, **asked)


MOST_ROWS = 200
"""The largest number of cells shown; --json and --csv give all of them."""


def show_estimate(estimate: Estimate, labels: Labels) -> None:
    """One row per cell; codes, by which cells are asked for, with their labels."""
    console = out()
    words = estimate.words
    cells = list(estimate.cells)
    numbers = (abs(cell["estimate"]) for cell in cells if cell["estimate"] is not None)
    longest = max(filter(math.isfinite, numbers), default=0.0)
    figures = [name for name in estimate.figures if name not in ("low", "high")]
    ends = [f"{percent(estimate.level, 6)} interval"]
    if estimate.no_interval:
        figures, ends = figures[:1], []
    heads = [*map(labels.title, estimate.by), estimate.what, *figures[1:], *ends, ""]
    rows = [
        (
            *(words[name][cell[name]] for name in estimate.names),
            *(_number(cell[name]) for name in figures),
            *(_ends(cell["low"], cell["high"]) for _ in ends),
            _bar(cell["estimate"], longest),
        )
        for cell in cells[:MOST_ROWS]
    ]
    console.print(table_of(heads, rows, right=heads[len(estimate.by) : -1]))
    if len(cells) > MOST_ROWS:
        bullet(console, f"{len(cells) - MOST_ROWS:,} more cells: use --json or --csv.")
    bullet(console, f"Method {estimate.method}: {estimate.why}")
    if estimate.weight:
        bullet(console, f"Weighted by {estimate.weight}.")
    if estimate.no_interval:
        bullet(console, f"No interval: {estimate.no_interval}")
        return
    kind = "Simultaneous intervals" if estimate.simultaneous else "Intervals for single cells"
    about = "the original records" if estimate.infer == "records" else "the population"
    bullet(console, f"{kind}, about {about}; {estimate.records:,.0f} records.")


def contrast_of(
    estimate: Estimate, difference: tuple[str, str] | None, ratio: tuple[str, str] | None
) -> Contrast:
    """Two cells of the table, named by their labels with commas."""
    if difference and ratio:
        raise InputError("Ask for --difference or for --ratio, one at a time.")
    first, second = (_cell(estimate, text) for text in difference or ratio or ("", ""))
    verb = estimate.difference if difference else estimate.ratio
    return verb(first, second)


def _cell(estimate: Estimate, text: str) -> tuple[Label, ...]:
    """Labels may hold commas themselves, so that every cell is compared with the text."""
    for index in itertools.product(*estimate.labels):
        if ",".join(("missing" if label is None else str(label)) for label in index) == text:
            return index
    labels = "; ".join(
        f"{name}: {listed(['missing' if label is None else str(label) for label in axis], 12)}"
        for name, axis in zip(estimate.by, estimate.labels, strict=True)
    )
    raise InputError(
        f"The table of {', '.join(estimate.by)} has no cell '{text}'. Name it by one label for "
        f"each column, with commas. Labels of {labels}."
    )


def show_contrast(contrast: Contrast) -> None:
    """One line."""
    console = out()
    ends = (
        f" (se {_number(contrast.se)}), {percent(contrast.level, 6)} interval "
        f"{_ends(contrast.low, contrast.high)}"
    )
    bullet(
        console, f"{contrast.what}: {_number(contrast.estimate)}{ends if contrast.stated else ''}."
    )
    bullet(console, contrast.note)


def show_regression(fit: Regression) -> None:
    """One row a coefficient."""
    console = out()
    console.print(f"{fit.family}: {fit.formula}")
    heads = ["", "coefficient", "se", "z", "p", f"{percent(fit.question.level, 6)} interval"]
    rows = []
    for name in fit.names:
        term = fit[name]
        figures = [f"{term[key]:.5g}" for key in ("coefficient", "se")]
        low, high = (
            "no bound" if math.isinf(term[end]) else f"{term[end]:.5g}" for end in ("low", "high")
        )
        rows.append(
            (name, *figures, f"{term['z']:.2f}", f"{term['p_value']:.3g}", f"{low} to {high}")
        )
    console.print(table_of(heads, rows, right=heads[1:]))
    bullet(console, fit.note)


def show_independence(test: IndependenceTest) -> None:
    """The test in words."""
    console = out()
    words = {
        "pearson": "Chi-square",
        "likelihood-ratio": "Likelihood ratio",
        "rao-scott": "Chi-square corrected for weights",
    }
    bullet(
        console,
        f"{words.get(test.method, test.method)} {test.statistic:,.4g} on {test.degrees:.4g} "
        f"degrees of freedom, p = {test.p_value:.3g}.",
    )
    verdict = "are not independent" if test.p_value < 0.05 else "may be independent"
    bullet(console, f"At the level of 5 %, {test.by[0]} and {test.by[1]} {verdict}.")
    bullet(console, f"Valid because {test.why}")
    if test.weight:
        bullet(console, f"Weighted by {test.weight}.")


def write_csv(result: Estimate | Regression) -> None:
    """All rows on stdout, without texts that command a terminal or a spreadsheet."""
    table = result.to_arrow()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for row in (table.column_names, *(tuple(row.values()) for row in table.to_pylist())):
        writer.writerow(
            [no_formula(harmless(value)) if isinstance(value, str) else value for value in row]
        )


def _ends(low: float, high: float) -> str:
    return (
        "no bound" if math.isinf(low) and math.isinf(high) else f"{_number(low)} to {_number(high)}"
    )


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "no bound"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.4g}"


def _bar(value: float | None, longest: float) -> str:
    if value is None or not longest or value <= 0 or not math.isfinite(value):
        return ""
    return "█" * max(1, round(24 * value / longest))  # the longest bar, in letters
