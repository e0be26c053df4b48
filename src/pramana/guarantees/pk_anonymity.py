"""Pk-anonymity: no released record is linked to its person with probability above 1/k.

For records that are randomised independently and then shuffled, whatever the adversary knows
about the original table,

    k = 1 + (n - 1) min_{u,v,u',v'} (P[u,v'] P[v,u']) / (P[u,u'] P[v,v'])      [Ikarashi, Thm 3]

and for independent steps the minimum is the product of those of the steps [Ikarashi, Cor. 4].

Without the shuffle there is no guarantee: a release in the original order has k = 1. A column that
is released unchanged and that an adversary may know splits the anonymity set: a person hides only
among the records with the same values there, so n is the size of the smallest such group. The
matrix may be a function of the table: the proof fixes the table first.
Proof: docs/proofs/pk_anonymity.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pramana.base.rounding import float_down, in_numbers_of_python, log_of, require_number
from pramana.base.text import floor_text, percent_up
from pramana.base.translation import gettext, numeral
from pramana.guarantees.base import CliOption, Evidence, Need, OneInK
from pramana.mechanisms.mechanism import Mechanism
from pramana.mechanisms.transition import TransitionMatrix
from pramana.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class PkAnonymity(OneInK):
    """No one can say with more than probability 1/k which released record is a person's.

    >>> from pramana.mechanisms.mechanism import UniformMixture
    >>> coin = UniformMixture.of(("no", "yes"), retention=0.5)
    >>> PkAnonymity.of(coin, anonymity_set=10)      # 1 + 9 * (1/3)**2
    PkAnonymity(k=2.0)
    """

    k: float

    name: ClassVar[str] = "pk-anonymity"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.MATRICES, Need.SHUFFLE, Need.ANONYMITY_SET})
    assumption: ClassVar[str] = (
        "Records are randomised independently and shuffled. The attacker may know all original "
        "data except the sensitive columns, but not which released record belongs to whom."
    )
    not_promised: ClassVar[str] = (
        "It bounds only the probability of linking a released record to a person. It covers "
        "neither inference from statistics of a group, nor an attacker who knows sensitive "
        "columns that are released unchanged."
    )
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption(
            "--k",
            "Re-identification probability at most 1/k.",
            up=False,
            first=True,
            slider=("Re-identification probability at most one in k", 2.0, 10_000.0, 100.0),
        ),
    )
    page: ClassVar[str] = "pk_anonymity"

    def __post_init__(self) -> None:
        in_numbers_of_python(self)
        require_number("k", self.k, low=1)

    @classmethod
    def of(cls, mechanism: Mechanism | TransitionMatrix, *, anonymity_set: int) -> PkAnonymity:
        """The largest k that holds, rounded down.

        Args:
            mechanism: what is done to a record.
            anonymity_set: the number of records; if columns are released unchanged that an
                adversary may know, the size of the smallest group that they form.
        """
        require_number("the number of records", anonymity_set, low=1)
        return cls(float_down(1 + (anonymity_set - 1) * Fraction(mechanism.anonymity_ratio)))

    @classmethod
    def evaluate(cls, evidence: Evidence, *, asked: PkAnonymity | None = None) -> PkAnonymity:
        """From the matrices and the anonymity set."""
        assert evidence.mechanism is not None  # noqa: S101 - it is among the needs
        return cls.of(evidence.mechanism, anonymity_set=evidence.anonymity_set)

    @classmethod
    def one_in(cls, k: float, *, schema: Schema | None = None) -> PkAnonymity:
        """The number itself."""
        return cls(k=k)

    def log_amplification(self, *, anonymity_set: int) -> float:
        """gamma**-2 is the ratio of a uniform mixture [Ikarashi, Cor. 5]."""
        if self.k > anonymity_set:
            return -1.0
        return math.inf if self.k == 1 else log_of((anonymity_set - 1) / (Fraction(self.k) - 1)) / 2

    @property
    def in_anonymity_set(self) -> bool:
        """K is of all records."""
        return self.hides_anybody

    def sentence(self) -> str:
        """The guarantee in words."""
        if not self.hides_anybody:
            return gettext(
                "No anonymity is guaranteed: a released record may be linked to a person."
            )
        return gettext(
            "k = {k}: a released record is linked to the right person with probability at most "
            "{share}, whatever an attacker knows about the original values of the randomised "
            "columns.",
            k=numeral(floor_text(self.k)),
            share=numeral(percent_up(self.link_bound)),
        )
