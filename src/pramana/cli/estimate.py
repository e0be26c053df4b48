"""``pramana estimate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from pramana.cli.options import AsJson, names_of
from pramana.errors import InputError

__all__ = ["estimate"]


def _option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, show_default=False, help=text)


def estimate(
    folder: Annotated[
        Path, typer.Argument(metavar="RELEASE", show_default=False, help="A release folder.")
    ],
    by: Annotated[
        list[str] | None, _option("--by", "COLUMNS", "The columns of the table, with commas.")
    ] = None,
    where: Annotated[
        list[str] | None,
        _option("--where", "FILTER", "sex=F, region=north|south or income>=50000; may repeat."),
    ] = None,
    mean: Annotated[
        str | None, _option("--mean", "COLUMN", "The mean of a column released as it is.")
    ] = None,
    total: Annotated[
        str | None, _option("--total", "COLUMN", "The total of a column released as it is.")
    ] = None,
    share: Annotated[bool, typer.Option("--share", help="Shares instead of counts.")] = False,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="auto|inverse|clipped|em",
            help="inverse is unbiased; auto takes the best for the table asked.",
        ),
    ] = "auto",
    level: Annotated[
        float, typer.Option("--level", metavar="NUMBER", help="Of the intervals.")
    ] = 0.95,
    infer: Annotated[
        str,
        typer.Option(
            "--infer",
            metavar="records|population",
            help="About these records, or about the population they were drawn from.",
        ),
    ] = "records",
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="All intervals of the table hold together.")
    ] = False,
    independence: Annotated[
        bool, typer.Option("--independence", help="Test whether the two columns are independent.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Give the table as CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tables, means and totals of the truth, from a release alone.

    Undoes the randomisation and states the error of every number. Columns released as they are
    and randomised ones can be crossed and filtered alike; filters speak of true values.

    Example:
      pramana estimate release/ --by sex,age
      pramana estimate release/ --by sex --mean income --where region=north
    """
    from pramana import api
    from pramana.cli.estimates import show_estimate, show_independence, write_csv
    from pramana.cli.rendering import show_json

    columns = names_of(by)
    release = api.load(folder)
    if independence:
        if len(columns) != 2:
            raise InputError("--independence is about two columns: give --by with two of them.")
        test = release.independence(*columns, where=where)
        show_json(test.to_json()) if as_json else show_independence(test)
        return
    if mean is not None and total is not None:
        raise InputError("Ask for --mean or for --total, one at a time.")
    if not columns and mean is None and total is None:
        raise InputError("Say what to estimate: --by COLUMNS, --mean COLUMN or --total COLUMN.")
    asked: dict[str, Any] = {
        "where": where,
        "level": level,
        "infer": cast("Any", infer),
        "simultaneous": simultaneous,
    }
    if mean is not None:
        found = release.mean(mean, by=columns, **asked)
    elif total is not None:
        found = release.total(total, by=columns, **asked)
    else:
        found = release.crosstab(*columns, method=cast("Any", method), share=share, **asked)
    if as_json:
        show_json(found.to_json())
    elif as_csv:
        write_csv(found)
    else:
        show_estimate(found)
