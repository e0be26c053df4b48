"""``pramana estimate``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

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
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.analysis.estimates import Estimate
    from pramana.analysis.release import Release
    from pramana.types import Form

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
        CountMethod, option("--method", "inverse is unbiased; auto takes the best for the table.")
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
        bool, option("--independence", "Chi-square test: are the two columns independent?")
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
    """Tables, means and totals of the truth, from a release alone.

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
    from pramana.cli.estimates import (
        contrast_of,
        show_contrast,
        show_estimate,
        show_independence,
        write_csv,
    )
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
