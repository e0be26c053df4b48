"""From the numbers on the command line to a plan: the one place where options become guarantees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pramana.cli.options import names_of, require_schema
from pramana.errors import InputError, InvalidTable

if TYPE_CHECKING:
    from pramana.guarantees import Guarantee
    from pramana.matrices.grouping import Grouping
    from pramana.methods import Plan

__all__ = ["Targets", "grouping_of", "make_plan"]

Choices: TypeAlias = tuple[tuple[str, ...], ...]

FEWEST = 2


@dataclass(frozen=True)
class Targets:
    """The numbers that were asked for, each ``None`` where it was not."""

    k: float | None = None
    epsilon: float | None = None
    rho1: float | None = None
    rho2: float | None = None
    alpha: float | None = None
    width: int | None = None
    xi: float | None = None

    def __post_init__(self) -> None:
        if (self.rho1 is None) != (self.rho2 is None):
            raise InputError("--rho1 and --rho2 state one target together: give both.")
        if self.width is not None and self.alpha is None:
            raise InputError("--width says how many keys --alpha speaks of: give --alpha too.")

    def guarantees(self, choices: Choices = (), *, method: str | None = None) -> list[Guarantee]:
        """The guarantees asked, in the order of the options; ``choices`` are the schema's.

        With a method that forms groups, k is that of k-anonymity.
        """
        from pramana.guarantees import DifferentialPrivacy, PkAnonymity, PrivacyBreach
        from pramana.guarantees.k_anonymity import KAnonymity
        from pramana.methods.grouped import GROUPED_METHODS

        asked: list[Guarantee] = []
        if self.k is not None and method in GROUPED_METHODS:
            asked.append(KAnonymity(k=cast("int", self.k)))
        elif self.k is not None:
            asked.append(PkAnonymity(k=self.k))
        if self.epsilon is not None:
            asked.append(DifferentialPrivacy(epsilon=self.epsilon))
        if self.rho1 is not None and self.rho2 is not None:
            asked.append(PrivacyBreach(rho1=self.rho1, rho2=self.rho2))
        return asked + self._resting_on_data(choices)

    def _resting_on_data(self, choices: Choices) -> list[Guarantee]:
        """Targets whose number depends on who is in the table."""
        asked: list[Guarantee] = []
        if self.alpha is not None:
            from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition

            width = 3 if self.width is None else self.width
            asked.append(SpontaneousRecognition(self.alpha, width=width, choices=choices))
        if self.xi is not None:
            from pramana.guarantees.correct_match import CorrectMatch

            asked.append(CorrectMatch(xi=self.xi))
        return asked


def grouping_of(
    method: str | None,
    *,
    k: float | None,
    clustering: str | None,
    responses: list[str] | None,
    response_weight: float | None,
    max_size: int | None,
    distinct: int | None,
    closeness: float | None,
) -> Grouping | None:
    """How groups are formed, where anything was said about it."""
    from pramana.matrices.grouping import Grouping
    from pramana.methods.grouped import GROUPED_METHODS

    given = {
        "clustering": clustering,
        "responses": tuple(names_of(responses)) or None,
        "response_weight": response_weight,
        "max_size": max_size,
        "distinct": distinct,
        "closeness": closeness,
    }
    stated: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not stated:
        return None
    if method not in GROUPED_METHODS or k is None:
        raise InputError(
            f"Options about groups go with --k and --method {', '.join(GROUPED_METHODS)}."
        )
    return Grouping(method, int(k), **stated)


def make_plan(
    targets: Targets,
    *,
    schema: Path | None,
    table: Any,
    records: int | None = None,
    **how: Any,
) -> Plan:
    """The plan for a table, or for a number of records that are yet to be collected."""
    from pramana import api
    from pramana.table import Schema

    if table is not None and records is not None:
        raise InputError("The table tells the number of records: give FILE or --records, not both.")
    described = Schema.load(require_schema(schema, table))
    asked = targets.guarantees(described.choices, method=how.get("method"))
    plan = api.design(described, *asked, data=table, records=records, **how)
    if plan.records < FEWEST:
        raise InvalidTable("A release needs at least two records, got 1: nobody hides alone.")
    return plan
