"""k-anonymity: nobody can be linked to fewer than k released records.

The records are divided into groups of at least k, and the released keys of a record depend on its
group alone: the group's centre, a member's keys drawn at random, a random order of the members, or
a dither around the group. Whoever knows all original keys, the groups and the release still finds
all records of a group equally likely to be a given member's, so

    probability of a correct link <= 1 / (size of the group) <= 1 / k.    [Wei, sec. 3.1 and 4.3]

Proof: docs/proofs/k_anonymity.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pramana.base.rounding import in_numbers_of_python, require_number
from pramana.base.translation import gettext, numeral
from pramana.errors import InvalidNumber, NotCovered
from pramana.guarantees.base import CliOption, Evidence, Need, OneInK
from pramana.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class KAnonymity(OneInK):
    """No released record is a given person's with more than probability 1/k.

    >>> KAnonymity.of([5, 7, 12])
    KAnonymity(k=5)
    >>> KAnonymity.of([5, 7, 12]).implies(KAnonymity(k=3))
    True
    """

    k: int

    name: ClassVar[str] = "k-anonymity"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.GROUPS, Need.SHUFFLE})
    assumption: ClassVar[str] = (
        "Records are shuffled. The attacker may know all original keys and the groups. The "
        "attacker knows no other column, and does not infer other columns from groups that were "
        "formed by them (response, distinct, closeness)."
    )
    not_promised: ClassVar[str] = (
        "It bounds only linking by the keys. If all members of a group share a sensitive value, "
        "the release discloses this value. Not covered: an attacker who knows other columns, or "
        "infers them from groups that were formed by them (response, distinct, closeness)."
    )
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption("--k", "Re-identification probability at most 1/k.", up=False, first=True),
    )
    page: ClassVar[str] = "k_anonymity"

    def __post_init__(self) -> None:
        in_numbers_of_python(self)
        require_number("k", self.k, low=1, high_open=True)
        if int(self.k) != self.k:
            raise InvalidNumber("k must be a whole number of records, got {k!r}.", k=self.k)
        object.__setattr__(self, "k", int(self.k))

    @classmethod
    def of(cls, sizes: Sequence[int]) -> KAnonymity:
        """The largest k that groups of these sizes give: the size of the smallest."""
        if len(sizes) == 0:
            raise NotCovered("k-anonymity is about groups of records, and there are none.")
        return cls(int(min(sizes)))

    @classmethod
    def evaluate(cls, evidence: Evidence, *, asked: KAnonymity | None = None) -> KAnonymity:
        """From the sizes of the groups."""
        return cls.of(evidence.group_sizes or ())

    @classmethod
    def one_in(cls, k: float, *, schema: Schema | None = None) -> KAnonymity:
        """The next whole number."""
        return cls(k=math.ceil(k))

    def sentence(self) -> str:
        """The guarantee in words."""
        if self.k == 1:
            return gettext("k = 1 protects nothing: a record may be released with its own keys.")
        return gettext(
            "k = {k}: a released record is linked to the right person with probability at most "
            "1/{k}, even if an attacker knows all original keys.",
            k=numeral(f"{self.k:,}"),
        )
