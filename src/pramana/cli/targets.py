"""From the numbers on the command line to a plan: the one place where options become guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pramana.cli.options import require_schema
from pramana.errors import InputError, InvalidTable

if TYPE_CHECKING:
    from pramana.guarantees import Guarantee
    from pramana.methods import Plan
    from pramana.methods.base import Method

__all__ = ["Targets", "make_plan", "method_of"]

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
        from pramana.methods.registry import METHODS

        asked: list[Guarantee] = []
        if self.k is not None and method and KAnonymity.name in METHODS[method].aims:
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


def method_of(name: str | None, asked: Sequence[Guarantee], given: dict[str, Any]) -> Method:
    """The method with the options that were given; those of another method are refused."""
    from pramana.methods.base import options_of
    from pramana.methods.registry import METHODS
    from pramana.planning import usual_method

    stated = {option: value for option, value in given.items() if value is not None}
    if name is None and "matrices" in stated and not asked:
        name = "matrix"
    method = METHODS[name] if name else usual_method([guarantee.name for guarantee in asked])
    own = {option.name: option for option in options_of(method)}
    for option in stated:
        if option not in own:
            others = [m for m in METHODS if option in {o.name for o in options_of(METHODS[m])}]
            raise InputError(
                f"Method {method.name} has no option {option}: it goes with --method "
                f"{', '.join(others)}."
            )
    return method(**stated)


def make_plan(
    targets: Targets,
    *,
    schema: Path | None,
    table: Any,
    records: int | None = None,
    smallest_group: int | None = None,
    method: str | None = None,
    **options: Any,
) -> Plan:
    """The plan for a table, or for a number of records that are yet to be collected."""
    from pramana import api
    from pramana.table import Schema

    if table is not None and records is not None:
        raise InputError("The table tells the number of records: give FILE or --records, not both.")
    if method is not None and method not in api.METHODS:
        raise InputError(f"--method must be one of {', '.join(api.METHODS)}, got '{method}'.")
    described = Schema.load(require_schema(schema, table))
    asked = targets.guarantees(described.choices, method=method)
    plan = api.design(
        described,
        *asked,
        data=table,
        records=records,
        smallest_group=smallest_group,
        method=method_of(method, asked, options),
    )
    if plan.records < FEWEST:
        raise InvalidTable("A release needs at least two records, got 1: nobody hides alone.")
    return plan
