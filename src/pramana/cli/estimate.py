"""``pramana estimate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pramana.cli.asking import (
    AsCsv,
    CountMethod,
    Filter,
    Infer,
    Level,
    ShareOf,
    Simultaneous,
    Unweighted,
)
from pramana.cli.options import AsJson, ReleaseFolder, names_of, option
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.estimation.results import Estimate
    from pramana.readings.release import Release

__all__ = ["estimate"]


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
    share: Annotated[
        ShareOf | None, option("--share", "Shares of all, or within a row or column.")
    ] = None,
    method: Annotated[
        CountMethod, option("--method", "inverse is unbiased; auto takes the best for the table.")
    ] = CountMethod.AUTO,
    level: Level = 0.95,
    infer: Annotated[
        Infer, option("--infer", "About these records, or the population behind them.")
    ] = Infer.RECORDS,
    simultaneous: Simultaneous = False,
    unweighted: Unweighted = False,
    independence: Annotated[
        bool, option("--independence", "Chi-square test: are the two columns independent?")
    ] = False,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Tables, means and totals of the truth, from a release alone.

    Undoes the randomisation and states the error of every number. Columns released as they are
    and randomised ones can be crossed and filtered alike; filters speak of true values.

    Example:
      pramana estimate release/ --by sex,age --share row
      pramana estimate release/ --by sex --mean income --where region=north
      pramana estimate release/ --by sex,region --independence
    """
    from pramana import api
    from pramana.cli.estimates import show_estimate, show_independence, write_csv
    from pramana.cli.rendering import show_json

    columns = names_of(by)
    release = api.load(folder)
    if independence:
        if len(columns) != 2:
            raise InputError("--independence is about two columns: give --by with two of them.")
        test = release.independence(*columns, where=where, weighted=not unweighted)
        show_json(test.to_json()) if as_json else show_independence(test)
        return
    asked: dict[str, Any] = {
        "where": where,
        "level": level,
        "infer": infer.value,
        "simultaneous": simultaneous,
        "weighted": not unweighted,
    }
    shares = {"method": method.value, "share": share.value if share else False}
    found = _asked(release, columns, mean, total, asked, shares)
    if as_json:
        show_json(found.to_json())
    elif as_csv:
        write_csv(found)
    else:
        show_estimate(found)


def _asked(
    release: Release,
    columns: list[str],
    mean: str | None,
    total: str | None,
    asked: dict[str, Any],
    shares: dict[str, Any],
) -> Estimate:
    if mean is not None and total is not None:
        raise InputError("Ask for --mean or for --total, one at a time.")
    if mean is not None:
        return release.mean(mean, by=columns, **asked)
    if total is not None:
        return release.total(total, by=columns, **asked)
    if not columns:
        raise InputError("Say what to estimate: --by COLUMNS, --mean COLUMN or --total COLUMN.")
    return release.crosstab(*columns, **shares, **asked)
