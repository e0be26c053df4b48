"""From the numbers on the command line to a plan: the one place where options become guarantees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramana.cli.options import require_schema
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.designs import Plan
    from pramana.guarantees import Guarantee

__all__ = ["Targets", "make_plan"]


@dataclass(frozen=True)
class Targets:
    """The numbers that were asked for, each ``None`` where it was not."""

    k: float | None = None
    epsilon: float | None = None
    rho1: float | None = None
    rho2: float | None = None

    def guarantees(self) -> list[Guarantee]:
        """The guarantees asked, in the order of the options."""
        from pramana.guarantees import DifferentialPrivacy, PkAnonymity, PrivacyBreach

        if (self.rho1 is None) != (self.rho2 is None):
            raise InputError("--rho1 and --rho2 state one target together: give both.")
        asked: list[Guarantee] = []
        if self.k is not None:
            asked.append(PkAnonymity(k=self.k))
        if self.epsilon is not None:
            asked.append(DifferentialPrivacy(epsilon=self.epsilon))
        if self.rho1 is not None and self.rho2 is not None:
            asked.append(PrivacyBreach(rho1=self.rho1, rho2=self.rho2))
        return asked


def make_plan(
    targets: Targets,
    *,
    schema: Path | None,
    table: Path | None,
    records: int | None = None,
    **how: Any,
) -> Plan:
    """The plan for a table, or for a number of records that are yet to be collected."""
    from pramana import api
    from pramana.table import Schema

    if table is not None and records is not None:
        raise InputError("The table tells the number of records: give FILE or --records, not both.")
    described = Schema.load(require_schema(schema, table))
    asked = targets.guarantees()
    return api.design(described, *asked, data=table, records=records, **how)
