"""What a verb is given: a release or its folder, a schema or its file, the original data."""

from __future__ import annotations

from pathlib import Path

from pramana.analysis.release import Release, load_release
from pramana.engine.base import open_source, open_truth
from pramana.errors import InputError
from pramana.mechanisms.mechanism import Mechanism
from pramana.release.folder import CERTIFICATE, read_mechanism
from pramana.schema.joint_cells import cell_codes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import Schema
from pramana.types import TableLike

BESIDE_THE_ORIGINAL = "Matrices go with a release folder and its original (--original FILE)."


def release_of(given: Release | str | Path) -> Release:
    """The release, or that of a folder."""
    return load_release(given) if isinstance(given, str | Path) else given


def release_at(given: TableLike | Release) -> Release | None:
    """The release that was given, or that lies in a folder; ``None`` for anything else."""
    if isinstance(given, Release):
        return given
    folder = isinstance(given, str | Path) and (Path(given) / CERTIFICATE).is_file()
    return load_release(Path(str(given))) if folder else None


def schema_of(given: Schema | str | Path) -> Schema:
    """The schema, or that of a file."""
    return given if isinstance(given, Schema) else Schema.load(given)


def original_of(original: TableLike, release: Release) -> OpenedTable:
    """The original data, recoded as those of the release."""
    return open_truth(original, release.certificate.true_schema)


def table_of(table: TableLike, schema: Schema | None) -> OpenedTable:
    """A table that need not have all columns of the schema, recoded as far as it has them."""
    opened = open_source(table)
    return opened if schema is None else recoded(opened, schema)


def mechanism_of(
    mechanism: Mechanism | str | Path, release: Release | None, *, original: TableLike | None
) -> Mechanism:
    """The matrices of a release, which must move its columns."""
    if release is None or original is None:
        raise InputError(BESIDE_THE_ORIGINAL)
    if isinstance(mechanism, str | Path):
        mechanism = read_mechanism(Path(mechanism))
    schema = release.certificate.schema
    moved = {column.name for column in schema.randomised}
    if set(mechanism.columns) != moved:
        raise InputError(
            f"The matrices move {len(mechanism.columns)} columns, and not those that this release "
            f"randomises ({len(moved)}): they are of another one."
        )
    try:
        for step in mechanism.steps:
            cell_codes([schema.column(name).labels for name in step.columns], step.cells)
    except KeyError:
        raise InputError(
            "The matrices move values that this release does not list: they are of another one."
        ) from None
    if not set(mechanism.strata) <= set(schema.strata):
        raise InputError("The matrices have strata that this release has not: they are another's.")
    certificate = release.certificate
    published = certificate.mechanism
    if certificate.nature.grouped:
        raise InputError("Keys were replaced within groups, by no matrices: leave --mechanism out.")
    if published is not None:
        alike = {step.columns for step in mechanism} == {step.columns for step in published}
        # Those that were made from the data are published with decoys, and are kept without.
        if not alike or not (certificate.data_dependent or mechanism == published):
            raise InputError(
                "The certificate publishes its matrices, and these are others: they are of another "
                "release. Leave --mechanism out."
            )
    return mechanism
