"""The audit of a table or of a release: which one, and by which columns."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.assess.choices import MissingValues
from pramana.assess.release_audit import ReleaseAudit, audit_release
from pramana.errors import InvalidNumber
from pramana.matrices.mechanism import Mechanism
from pramana.readings.release import Release
from pramana.risk.asked import AskedRecords
from pramana.risk.table_audit import TableAudit, audit_table
from pramana.table.completing import settle_missing
from pramana.table.opened import OpenedTable
from pramana.table.schema import ASKED, Role, Schema
from pramana.types import Say

__all__ = ["audit_any"]


def audit_any(
    given: OpenedTable | Release,
    *,
    keys: Sequence[str] | None,
    k: float,
    sensitive: Sequence[str] | None,
    weight: str | None,
    schema: Schema | None,
    missing: MissingValues,
    width: int,
    original: OpenedTable | None,
    mechanism: Mechanism | None,
    household: str | None,
    belongs: bool,
    progress: Say | None,
) -> TableAudit | ReleaseAudit:
    """As ``pramana.audit``."""
    release = given if isinstance(given, Release) else None
    if release is not None and original is not None:
        return audit_release(
            release, original, k=k, mechanism=mechanism, sensitive=sensitive,
            household=household, belongs=belongs, progress=progress,
        )  # fmt: skip
    if original is not None:
        raise InvalidNumber("--original goes with a release folder, and a table was given.")
    asked = None
    if release is not None:
        asked = AskedRecords.of(release.certificate.mechanism, release.opened)
    if schema is not None and not isinstance(given, Release):
        schema = settle_missing(schema, given)  # as design would
    described = schema if release is None or schema is not None else release.certificate.schema
    hidden = list(sensitive or ())
    if sensitive is None:
        hidden = _sensitive(described, marked=asked is not None)
    return audit_table(
        given.opened if isinstance(given, Release) else given,
        keys=list(keys) if keys else _keys(described),
        k=k,
        sensitive=hidden,
        weight=weight or _weight(described),
        missing=missing.value,
        width=width,
        schema=described,
        released=release is not None,
        household=household or (None if described is None else described.household),
        asked=asked,
    )


def _keys(schema: Schema | None) -> list[str]:
    found = [] if schema is None else [column.name for column in schema.keys]
    if not found:
        raise InvalidNumber(
            "Say by which columns a person could be recognised: --keys region,sex,age, or a schema."
        )
    return found


def _sensitive(schema: Schema | None, *, marked: bool) -> list[str]:
    """Those of the schema; what a record was asked for is nothing that a person has."""
    columns = () if schema is None else schema.columns
    found = [column.name for column in columns if column.role is Role.SENSITIVE]
    return [name for name in found if not (marked and name == ASKED)]


def _weight(schema: Schema | None) -> str | None:
    return None if schema is None or schema.weight is None else schema.weight.name
