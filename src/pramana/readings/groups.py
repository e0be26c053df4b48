"""Keys replaced within groups: what the keys alone still say, and what was lost.

Keys are handed round (``permute``), drawn with replacement (``resample``) or drawn around the
groups (``gaussian``), so that their joint distribution stays [Wei, Lemma 1]. Groups never cross the
columns that an adversary may know; the first two keep the keys' distribution within those as well.
Tables, and means of the keys themselves, are therefore unbiased as they stand; of single keys only
where they were drawn one after the other (``draw = "sequential"``).

How the keys go with any other column is weakened inside the groups, by an amount that the release
does not tell: an answer about that is given as released, without an interval, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from pramana.engines.sums import Condition
from pramana.errors import NotCovered
from pramana.estimation.counts import CountMethod, require_method
from pramana.estimation.grouped import (
    Drawn,
    grouped_counts,
    grouped_test,
    grouped_values,
    without_interval,
)
from pramana.estimation.independence import WEIGHTED, IndependenceTest
from pramana.estimation.quantiles import estimate_quantiles
from pramana.estimation.rebuild import Rebuild
from pramana.estimation.regression import Family
from pramana.estimation.regression_results import Regression
from pramana.estimation.results import Estimate
from pramana.matrices.mechanism import Mechanism
from pramana.randomness import Keystream
from pramana.readings.base import Asked
from pramana.readings.distributions import ordered_records, proportion_by_mean
from pramana.readings.formulas import variables_of
from pramana.readings.published import BesidePlain
from pramana.readings.records import Summed
from pramana.release.makers import NewKeys

__all__ = ["GroupsReading"]

DRAWS: dict[str, Drawn] = {
    NewKeys.HANDED_ROUND: Drawn(
        0.0, "keys were handed round within groups: no count of them changed."
    ),
    NewKeys.FROM_MEMBERS: Drawn(
        1.0, "the release keeps the joint distribution of the keys; errors are upper bounds."
    ),
    NewKeys.AROUND: Drawn(
        1.0, "the release keeps the joint distribution of the keys; errors are upper bounds."
    ),
}
"""What new keys still tell, by where they come from; centres keep no distribution at all."""

FROM_THE_GROUP = (NewKeys.HANDED_ROUND, NewKeys.FROM_MEMBERS)
"""New keys that come from the record's own group, so that known columns keep theirs."""


class GroupsReading(BesidePlain):
    """Answers about keys with an error, about keys and other columns without one."""

    def counts(self, asked: Asked, *, method: CountMethod, share: bool) -> Estimate:
        """As released: unbiased where only keys are asked about."""
        require_method(method)
        if not self.records.changed(asked.names):
            return self.plain.counts(asked, method=method, share=share)
        drawn = self._drawn()
        if method != "auto":
            raise NotCovered(
                f"Method {method} undoes matrices, and this release has none: keys were replaced "
                "within groups. Leave the method out."
            )
        sums = self._sums(asked)
        found = grouped_counts(
            sums.moments,
            sums.layout,
            drawn=drawn,
            records=self.records.certificate.records,
            question=asked.question,
            share=share,
        )
        return self._honest(found, asked, asked.names)

    def mean(self, asked: Asked, of: str) -> Estimate:
        """Exact without keys; of a key itself unbiased; of another column by keys no interval."""
        if not self.records.changed([*asked.names, of]):
            return self.plain.mean(asked, of)
        return self._of_values(asked, of)

    def total(self, asked: Asked, of: str) -> Estimate:
        """As means are."""
        if not self.records.changed([*asked.names, of]):
            return self.plain.total(asked, of)
        return self._of_values(asked, of, total=True)

    def proportion(self, asked: Asked, beyond: Condition) -> Estimate:
        """As means are."""
        return proportion_by_mean(self.mean, asked, beyond)

    def quantile(self, asked: Asked, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """As means are."""
        if not self.records.changed([*asked.names, of]):
            return self.plain.quantile(asked, of, shares=shares)
        drawn = self._drawn()
        found, layout = ordered_records(self.records, Mechanism(()), asked, of)
        made = estimate_quantiles(
            found, layout, of=of, shares=shares, question=asked.question,
            times=drawn.times(asked.question), why=drawn.why,
        )  # fmt: skip
        return self._honest(made, asked, [*asked.names, of])

    def independence(self, asked: Asked) -> IndependenceTest:
        """Of two keys; of a key and another column there is no test."""
        if self.records.changed(asked.names) and asked.weighted and self.records.weight is not None:
            raise NotCovered(WEIGHTED)
        found = self.plain.independence(asked)
        if not self.records.changed(asked.names):
            return found
        drawn, tied = self._drawn(), self._tied(replace(asked, weighted=False), asked.names)
        if tied:
            raise NotCovered(f"{tied} There is no test of that.")
        return grouped_test(found, drawn)

    def channel(self) -> Mechanism:
        """Refused: no matrix says what a record was."""
        raise NotCovered(
            "Keys of this release were replaced within groups, which no matrix undoes. Learn from "
            "its records as they are: rebuild='none', on the command line --rebuild none. How keys "
            "go with other columns comes out too weak."
        )

    def rebuild(self, keystream: Keystream, *, method: Rebuild) -> pa.Table:  # noqa: ARG002
        """Refused: no matrix says what a record was."""
        raise NotCovered(
            "Only a release with published matrices can be rebuilt; keys of this one were replaced "
            "within groups, and its records are to be read as they stand."
        )

    def regress(self, asked: Asked, formula: str, *, family: Family) -> Regression:
        """Where no key is involved: how keys go with anything else was weakened."""
        names = [*asked.names, *variables_of(formula)]
        changed = self.records.changed(names)
        if changed:
            raise NotCovered(
                f"Keys ({', '.join(changed)}) were replaced within groups, which weakens how they "
                "go with other columns by an amount that is not told, so that there is no "
                "regression on them. Ask about columns released as they are, or the steward for a "
                "release with published matrices, as method retention makes."
            )
        return self.plain.regress(asked, formula, family=family)

    # -- what may be said ------------------------------------------------------------------

    def _drawn(self) -> Drawn:
        keys = self._keys
        if keys not in {*DRAWS, NewKeys.CENTRE}:
            raise NotCovered(
                "The certificate does not say where the keys of this release come from, so that no "
                "error can be stated. Ask about columns released as they are."
            )
        if keys not in DRAWS:
            raise NotCovered(
                "Keys were replaced by the centres of their groups, which keeps no distribution: "
                "tables of them say little about the truth, and no error can be stated. Ask about "
                "columns released as they are."
            )
        return DRAWS[keys]

    @property
    def _keys(self) -> str:
        """Where new keys come from, as the method told."""
        return str(self.records.certificate.figures.get("keys"))

    def _honest(self, found: Estimate, asked: Asked, names: Sequence[str]) -> Estimate:
        tied = self._tied(asked, names)
        return without_interval(found, tied) if tied else found

    def _tied(self, asked: Asked, names: Sequence[str]) -> str:
        """Why no error can be stated: the columns whose tie to the keys was weakened."""
        certificate = self.records.certificate
        weight = [self.records.weight] if asked.weighted and self.records.weight else []
        within = self._keys in FROM_THE_GROUP
        safe = {column.name for column in certificate.schema.randomised}
        safe |= set(certificate.schema.known if within else ())
        others = [name for name in dict.fromkeys([*names, *weight]) if name not in safe]
        changed = self.records.changed(names)
        keys = ", ".join(changed)
        if certificate.options.get("draw") == "sequential" and len(changed) > 1:
            return (
                f"Keys were drawn one after the other: how {keys} go together was weakened within "
                "groups, and by how much cannot be told from the release. Ask about one key at a "
                'time, or the steward for draw="whole", on the command line --draw whole.'
            )
        if not others:
            return ""
        columns = ", ".join(others)
        return (
            f"How {columns} goes with {keys} was weakened within groups, and by how much cannot be "
            f"told from the release.{self._instead(others)}"
        )

    def _instead(self, others: list[str]) -> str:
        answered = set(self.records.certificate.options.get("responses", ()))
        if set(others) <= answered:
            return " Groups were formed with an eye on it (responses), so the loss is smaller."
        if others == [self.records.weight]:
            return " Count records instead: weighted=False, on the command line --unweighted."
        names = [name for name in others if name not in answered]
        return (
            f" Ask the steward for groups that keep it: responses={names!r}, on the command line "
            f"--response {','.join(names)}."
        )

    def _sums(self, asked: Asked, value: str | None = None) -> Summed:
        return self.records.sums(asked, Mechanism(()), value=value)

    def _of_values(self, asked: Asked, of: str, *, total: bool = False) -> Estimate:
        drawn = self._drawn()
        self.records.require_number(of)
        sums = self._sums(asked, of)
        found = grouped_values(
            sums.moments,
            sums.layout,
            of=of,
            drawn=drawn,
            records=self.records.certificate.records,
            question=asked.question,
            total=total,
        )
        return self._honest(found, asked, [*asked.names, of])
