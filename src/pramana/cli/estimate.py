"""``pramana estimate``: tables, means and totals from a release."""

from __future__ import annotations

import csv
import itertools
import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pramana.base.text import percent
from pramana.cli.options import (
    AsCsv,
    AsJson,
    CountMethod,
    Fay,
    Filter,
    Infer,
    Level,
    ReleaseFolder,
    ReplicateColumns,
    ReplicatesBy,
    ReplicationKind,
    ShareOf,
    Simultaneous,
    Unweighted,
    names_of,
    option,
    replicates_of,
)
from pramana.cli.rendering import bullet, out, table_of
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.analysis.contrasts import Contrast
    from pramana.analysis.estimates import Estimate
    from pramana.analysis.independence import IndependenceTest
    from pramana.analysis.regression_results import Regression
    from pramana.analysis.release import Release
    from pramana.mechanisms.transition import Label
    from pramana.schema.domains import Labels
    from pramana.types import Form


def estimate(
    folder: ReleaseFolder,
    by: Annotated[
        list[str] | None,
        option("--by", "The columns of the table, with commas.", metavar="COLUMNS"),
    ] = None,
    where: Filter = None,
    mean: Annotated[
        str | None, option("--mean", "The mean of a column released as it is.", metavar="COLUMN")
    ] = None,
    total: Annotated[
        str | None, option("--total", "The total of a column released as it is.", metavar="COLUMN")
    ] = None,
    proportion: Annotated[
        str | None,
        option("--proportion", "Share beyond a number: 'income>=50000'.", metavar="COMPARISON"),
    ] = None,
    quantile: Annotated[
        str | None,
        option("--quantile", "Quantiles of a column released as it is.", metavar="COLUMN"),
    ] = None,
    at: Annotated[
        list[str] | None,
        option("--at", "Which quantiles, with commas: 0.5 if none.", metavar="SHARES", seldom=True),
    ] = None,
    share: Annotated[
        ShareOf | None, option("--share", "Shares of all, or within a row or column.")
    ] = None,
    method: Annotated[
        CountMethod,
        option("--method", "unbiased, clipped or shrunk; auto takes the best for the table."),
    ] = CountMethod.AUTO,
    level: Level = 0.95,
    infer: Annotated[
        Infer,
        option("--infer", "About these records, or the population behind them.", seldom=True),
    ] = Infer.RECORDS,
    simultaneous: Simultaneous = False,
    unweighted: Unweighted = False,
    replicates: ReplicateColumns = None,
    replication: ReplicatesBy = ReplicationKind.BRR,
    fay: Fay = None,
    independence: Annotated[
        bool,
        option("--independence", "Test by chi-square whether the two columns are independent."),
    ] = False,
    difference: Annotated[
        tuple[str, str] | None,
        option(
            "--difference",
            "One cell less another: F,north M,north.",
            metavar="CELL CELL",
            seldom=True,
        ),
    ] = None,
    ratio: Annotated[
        tuple[str, str] | None,
        option(
            "--ratio", "One cell over another: F,north M,north.", metavar="CELL CELL", seldom=True
        ),
    ] = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Estimate tables, means and totals from a release.

    Undoes the randomisation and states the error of every number. Columns released as they are
    and randomised ones can be crossed and filtered alike; filters speak of true values.

    Example:
      pramana estimate release/ --by sex,age --share row
      pramana estimate release/ --by sex --mean income --where region=north
      pramana estimate release/ --by sex --quantile income --at 0.25,0.5,0.75
      pramana estimate release/ --by sex --proportion 'income>=50000' --difference F M
      pramana estimate release/ --by sex,region --independence
    """
    from pramana import api
    from pramana.cli.rendering import show_json

    columns = names_of(by)
    of = {"mean": mean, "total": total, "proportion": proportion, "quantile": quantile}
    table_only = {"share": share, "method": None if method is CountMethod.AUTO else method}
    pair = {"difference": difference, "ratio": ratio}
    errors = {"infer": None if infer is Infer.RECORDS else infer, "replicates": replicates}
    if independence:
        _refuse_beside("--independence", of | table_only | pair | errors | {"csv": as_csv or None})
    for verb in (verb for verb, column in of.items() if column is not None):
        _refuse_beside(f"--{verb}", table_only)
    if difference or ratio:
        _refuse_beside("one cell beside another", {"csv": as_csv or None})
    release = api.load(folder)
    if independence:
        if len(columns) != 2:
            raise InputError("--independence is about two columns: give --by with two of them.")
        test = release.independence(*columns, where=where, weighted=not unweighted)
        show_json(test.to_json()) if as_json else show_independence(test)
        return
    asked: Form = {
        "where": where,
        "level": level,
        "infer": infer.value,
        "simultaneous": simultaneous,
        "weighted": not unweighted,
        "replicates": replicates_of(replicates, replication, fay),
    }
    shares = {"method": method.value, "share": share.value if share else False}
    found = _asked(release, columns, of, names_of(at), asked, shares)
    if difference or ratio:
        contrast = contrast_of(found, difference, ratio)
        show_json(contrast.to_json()) if as_json else show_contrast(contrast)
    elif as_json:
        show_json(found.to_json())
    elif as_csv:
        write_csv(found)
    else:
        show_estimate(found, release.certificate.labels)


def _refuse_beside(asked: str, others: Mapping[str, object]) -> None:
    """Refuse options that would say nothing here, and be passed over in silence."""
    given = [f"--{name}" for name, value in others.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)} says nothing about {asked}: leave one of them out.")


def _asked(
    release: Release,
    columns: list[str],
    of: dict[str, str | None],
    at: list[str],
    asked: Form,
    shares: Form,
) -> Estimate:
    """One question: what was named, or else the table."""
    named = {verb: column for verb, column in of.items() if column is not None}
    if len(named) > 1:
        raise InputError(
            f"Ask for {' or for '.join(f'--{verb}' for verb in named)}, one at a time."
        )
    if at and "quantile" not in named:
        raise InputError("--at says which quantiles: give --quantile COLUMN with it.")
    for verb, column in named.items():
        which = {"q": _shares(at)} if verb == "quantile" and at else {}
        found: Estimate = getattr(release, verb)(column, by=columns, **which, **asked)
        return found
    if not columns:
        raise InputError(
            "Say what to estimate: --by COLUMNS, --mean COLUMN, --total COLUMN, --quantile COLUMN "
            "or --proportion COMPARISON."
        )
    return release.crosstab(*columns, **shares, **asked)


def _shares(texts: list[str]) -> list[float]:
    try:
        return [float(text) for text in texts]
    except ValueError:
        raise InputError("--at takes shares between 0 and 1, with commas: 0.25,0.5.") from None


BAR = 24
"""The longest bar, in letters."""

MOST_ROWS = 200
"""So many cells are shown; --json and --csv give all of them."""


def show_estimate(estimate: Estimate, labels: Labels) -> None:
    """One row a cell; codes, by which cells are asked for, with their labels."""
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
    kind = "together" if estimate.simultaneous else "each"
    about = "these records" if estimate.infer == "records" else "the population behind them"
    bullet(console, f"Intervals hold {kind}, about {about}; {estimate.records:,.0f} records.")


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
        if ",".join(_label(label) for label in index) == text:
            return index
    raise InputError(
        f"The table of {', '.join(estimate.by)} has no such cell. Name it by one label for each "
        "column, with commas: F,north."
    )


def show_contrast(found: Contrast) -> None:
    """One line."""
    console = out()
    ends = (
        f" (se {_number(found.se)}), {percent(found.level, 6)} interval "
        f"{_ends(found.low, found.high)}"
    )
    bullet(console, f"{found.what}: {_number(found.estimate)}{ends if found.stated else ''}.")
    bullet(console, found.note)


def show_regression(found: Regression) -> None:
    """One row a coefficient."""
    console = out()
    console.print(f"{found.family}: {found.formula}")
    heads = ["", "coefficient", "se", "z", "p", f"{percent(found.question.level, 6)} interval"]
    rows = []
    for name in found.names:
        own = found[name]
        figures = [f"{own[key]:.5g}" for key in ("coefficient", "se")]
        low, high = (
            "no bound" if math.isinf(own[end]) else f"{own[end]:.5g}" for end in ("low", "high")
        )
        rows.append(
            (name, *figures, f"{own['z']:.2f}", f"{own['p_value']:.3g}", f"{low} to {high}")
        )
    console.print(table_of(heads, rows, right=heads[1:]))
    bullet(console, found.note)


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
    told = "are not independent" if test.p_value < 0.05 else "may be independent"
    bullet(console, f"At the level of 5 %, {test.by[0]} and {test.by[1]} {told}.")
    bullet(console, f"Valid because {test.why}")
    if test.weight:
        bullet(console, f"Weighted by {test.weight}.")


def write_csv(found: Estimate | Regression) -> None:
    """All rows on stdout, without letters that command a terminal."""
    from pramana.errors import harmless

    table = found.to_arrow()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for row in (table.column_names, *(tuple(row.values()) for row in table.to_pylist())):
        writer.writerow([harmless(value) if isinstance(value, str) else value for value in row])


def _label(label: object) -> str:
    return "missing" if label is None else str(label)


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
    return "█" * max(1, round(BAR * value / longest))
