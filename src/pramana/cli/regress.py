"""``pramana regress``."""

from __future__ import annotations

from typing import Annotated

from pramana.cli.options import (
    AsCsv,
    AsJson,
    Fay,
    Filter,
    Infer,
    Level,
    ModelFamily,
    ReleaseFolder,
    ReplicateColumns,
    ReplicatesBy,
    ReplicationKind,
    Simultaneous,
    Unweighted,
    argument,
    option,
    replicates_of,
)

__all__ = ["regress"]


def regress(
    folder: ReleaseFolder,
    formula: Annotated[str, argument("'income ~ age + C(region)'", metavar="FORMULA")],
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
    """A regression of the true records, from a release alone.

    Columns on either side may be randomised: the scores of the model are corrected for the
    published matrices, and the randomisation is part of every standard error.

    Example:
      pramana regress release/ 'income ~ age + sex + C(region)'
      pramana regress release/ 'employed ~ age + sex' --family logistic
    """
    from pramana import api
    from pramana.cli.estimates import show_regression, write_csv
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
