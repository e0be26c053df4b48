"""Counts, means and tests from a release whose keys were replaced within groups.

Each record gets the keys of another at random, and over all records every combination of keys keeps
its expected frequency. So the sum over records of any function h of the keys is unbiased as
released. Records draw independently, and a variance is at most a second moment: with e = h less a
centre

    Var(sum e) <= E sum e^2,

which the released records estimate. For a count over all n records the centre is its mean, and
since sum (w p)^2 >= (sum w p)^2 / n, its variance is at most the sum of w^2 less the squared count
over n: n p (1 - p) without weights. Groups are alike inside, so that the true variance is smaller.
Where keys are only exchanged inside groups, no count changes.

The released count estimates that bound badly where it is small. So the interval of a count has
every t that is not refuted by the variance that it would have itself [Wilson27]: c t (1 - t / n),
where c is the mean weight of a released record of the cell, at least that of all records. A mean is
a ratio, and a group of few released records leaves every one possible [Fieller]. About a
population, from which the records are a random sample, the same is added again.

Keys are exchanged (``permute``), drawn with replacement (``resample``) or drawn around the groups
(``gaussian``), so that their joint distribution stays [Wei, Lemma 1]. Groups never cross the
columns that an adversary may know; the first two keep the keys' distribution within those as well.
Tables, and means of the keys themselves, are therefore unbiased as released; of single keys only
where they were drawn one after the other (``draw = "sequential"``).

Associations of keys with other columns are attenuated inside the groups, by an unknown amount: such
an answer is given as released, without an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pramana.analysis.association import IndependenceTest, independence_test
from pramana.analysis.counts import as_released
from pramana.analysis.estimates import Estimate
from pramana.analysis.formulas import variables_of
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.quantiles import estimate_quantiles
from pramana.analysis.question import USUAL, CountMethod, Question, what_of
from pramana.analysis.readings import UnchangedOnly
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.analysis.shares import ordered_records
from pramana.analysis.variance import Ratio, half_a_record, not_refuted
from pramana.base.translation import gettext
from pramana.errors import InvalidTable, NotCovered
from pramana.mechanisms.mechanism import Mechanism
from pramana.release.kinds import NewKeys


@dataclass(frozen=True)
class Drawn:
    """The variance of drawing keys, as a share of that of independent draws, and in words."""

    variance: float
    why: str

    def times(self, question: Question) -> float:
        """The variance in units of the variance of one sample."""
        return self.variance + (1.0 if question.infer == "population" else 0.0)


def grouped_counts(
    moments: Moments,
    layout: Layout,
    *,
    drawn: Drawn,
    question: Question = USUAL,
    share: bool = False,
) -> Estimate:
    """Counts (or shares of those that pass the filter) as released.

    About counts the number of records that pass a filter is random.
    """
    counts, total, records = moments.w, float(moments.w.sum()), moments.sample
    if total <= 0:
        raise InvalidTable("There are no released records to count. Does the filter select any?")
    squares, whole = float(moments.ww.sum()), total if share else total * records / moments.count
    if share:
        second = moments.ww * (1 - 2 * counts / total) + (counts / total) ** 2 * squares
    else:
        second = moments.ww - counts**2 / records
    apart = counts * (1 - counts / whole)
    one = np.divide(second, apart, out=np.zeros_like(counts), where=apart > 0)
    one = np.maximum(one, squares / total) * drawn.times(question)
    near = np.clip(counts, np.minimum(one, whole / 2), np.maximum(whole - one, whole / 2))
    se = np.sqrt(one * near * (1 - near / whole))
    low, high = not_refuted(counts, whole, z=question.z(counts.size), times=one)
    half = half_a_record(se, squares / total)
    low, high = np.maximum(low - half, 0), np.minimum(high + half, whole)
    return as_released(
        layout,
        (counts, se, low, high),
        question,
        whole=whole,
        share=share,
        why=drawn.why,
        records=moments.count,
        step=squares / total,
    )


def grouped_values(
    moments: Moments,
    layout: Layout,
    *,
    of: str,
    drawn: Drawn,
    question: Question = USUAL,
    total: bool = False,
) -> Estimate:
    """Means (or totals) of a key in cells of keys, as released."""
    (wy, wwy, wwyy), records = moments.values, moments.sample
    times, z = drawn.times(question), question.z(wy.size)
    second = times * (wwyy - wy**2 / records)
    if total:
        value, known = wy, (moments.records > 0) | (times == 0)
        se = np.where(known, np.sqrt(np.maximum(second, 0)), np.nan)
        low = np.nan_to_num(wy - z * se, nan=-np.inf)
        high = np.nan_to_num(wy + z * se, nan=np.inf)
    else:
        cov = times * (wwy - wy * moments.w / records)
        ratio = Ratio(wy, moments.w, second, cov, times * (moments.ww - moments.w**2 / records))
        value = ratio.value  # a released mean is reported however few records it has
        _, se, low, high = ratio.figures(z)
    return Estimate.by_groups(
        layout,
        (value, se, low, high),
        question,
        what=what_of(of, total=total),
        method="as released",
        why=drawn.why,
        records=moments.count,
    )


JOINT = Drawn(1.0, "the release keeps the joint distribution of the keys; errors are upper bounds.")
DRAWS: dict[str, Drawn] = {
    NewKeys.HANDED_ROUND: Drawn(
        0.0, "keys were exchanged within groups: no count of them changed."
    ),
    NewKeys.FROM_MEMBERS: JOINT,
    NewKeys.AROUND: JOINT,
}
"""What new keys preserve, by their origin; centres preserve no distribution."""


class GroupsReading(UnchangedOnly):
    """Answers about keys with an error, about keys and other columns without one."""

    undrawable: ClassVar[str] = (
        "Records are synthesized from published matrices; keys of this release were replaced "
        "within groups. Use its records directly."
    )

    def counts(self, question: Question, *, method: CountMethod, share: bool) -> Estimate:
        """As released: unbiased where only keys are asked about."""
        if not self.records.changed(question.names):
            return self.unchanged.counts(question, method=method, share=share)
        drawn = self._drawn()
        _require_no_method(method)
        estimate = grouped_counts(
            *self.records.sums(question, Mechanism(())),
            drawn=drawn,
            question=question,
            share=share,
        )
        return self._with_honest_error(estimate, question, question.names)

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Exact without keys; of a key itself unbiased; of another column by keys no interval."""
        if not self.records.changed([*question.names, of]):
            return self.unchanged.values(question, of, total=total)
        drawn = self._drawn()
        _require_no_method(question.method)
        self.records.require_number(of)
        estimate = grouped_values(
            *self.records.sums(question, Mechanism(()), value=of),
            of=of,
            drawn=drawn,
            question=question,
            total=total,
        )
        return self._with_honest_error(estimate, question, [*question.names, of])

    def quantile(self, question: Question, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """As means are."""
        if not self.records.changed([*question.names, of]):
            return self.unchanged.quantile(question, of, shares=shares)
        drawn = self._drawn()
        ordered, layout = ordered_records(self.records, Mechanism(()), question, of)
        made = estimate_quantiles(
            ordered, layout, of=of, shares=shares, question=question,
            times=drawn.times(question), why=drawn.why,
        )  # fmt: skip
        return self._with_honest_error(made, question, [*question.names, of])

    def independence(self, question: Question) -> IndependenceTest:
        """A test for two keys; there is none for a key and another column."""
        if not self.records.changed(question.names):
            return self.unchanged.independence(question)
        self.require_unweighted(question)
        drawn, tied = self._drawn(), self._tied(replace(question, weighted=False), question.names)
        if tied:
            raise NotCovered("{tied} There is no test of that.", tied=tied)
        # Drawing adds at most as much variance, in every direction, as the sample has: half of
        # Pearson's statistic is at most chi-squared under independence.
        sums = self.records.sums(question, self.unchanged.mechanism)
        test = independence_test(*sums, inflated=1 + drawn.variance)
        bound = gettext(
            " The statistic is divided by what drawing adds at most: rejects too rarely rather "
            "than too often."
        )
        return replace(test, why=f"{drawn.why}{bound if drawn.variance else ''}")

    def distorted(self, names: Sequence[str]) -> str:
        """Keys that are centres of groups, or of which the certificate does not say."""
        lost = self._keys not in DRAWS and self.records.changed(names)
        return "keys were replaced by values that keep no distribution" if lost else ""

    def channel(self) -> Mechanism:
        """Refused: no matrix says what a record was."""
        raise NotCovered(
            "Keys of this release were replaced within groups, which no matrix undoes. Learn from "
            "its records directly: synthesis='none', on the command line --synthesis none. "
            "Associations of keys with other columns are attenuated.",
            code="no-synthesis",
            synthesis="none",
        )

    def regress(self, question: Question, formula: str, *, family: Family) -> Regression:
        """Where no key is involved: how keys go with anything else was weakened."""
        names = [*question.names, *variables_of(formula)]
        changed = self.records.changed(names)
        if changed:
            raise NotCovered(
                "Keys ({changed}) were replaced within groups, which attenuates their "
                "associations by an unknown amount: there is no regression on them. Ask about "
                "columns released unchanged, or ask the steward for published matrices "
                "(retention).",
                changed=", ".join(changed),
            )
        return self.unchanged.regress(question, formula, family=family)

    # -- what may be said ------------------------------------------------------------------

    @property
    def _keys(self) -> str:
        """The origin of new keys, as the certificate states it."""
        return str(self.records.certificate.statistics.get("keys"))

    def _drawn(self) -> Drawn:
        if self._keys in DRAWS:
            return DRAWS[self._keys]
        if self._keys == NewKeys.CENTRE:
            raise NotCovered(
                "Keys were replaced by the centres of their groups, which keeps no distribution: "
                "no error can be stated. Ask about columns released unchanged."
            )
        raise NotCovered(
            "The certificate does not say where the keys of this release come from, so that no "
            "error can be stated. Ask about columns released unchanged."
        )

    def _with_honest_error(
        self, estimate: Estimate, question: Question, names: Sequence[str]
    ) -> Estimate:
        """The estimate, without an error where none can be stated."""
        reason = self._tied(question, names)
        if not reason:
            return estimate
        why = gettext("as released, biased by an unknown amount.")
        return estimate.without_interval(reason, why=why)

    def _tied(self, question: Question, names: Sequence[str]) -> str:
        """Why no error can be stated: the columns whose association with the keys is attenuated."""
        certificate = self.records.certificate
        weight = [self.records.weight] if question.weighted and self.records.weight else []
        safe = {column.name for column in certificate.schema.randomised}
        if self._keys in (NewKeys.HANDED_ROUND, NewKeys.FROM_MEMBERS):
            safe |= set(certificate.schema.known)  # keys of the record's own group keep these
        others = [name for name in dict.fromkeys([*names, *weight]) if name not in safe]
        changed = self.records.changed(names)
        keys = ", ".join(changed)
        if certificate.options.get("suppress") is True and changed:
            return gettext(
                "Key cells of rare combinations were set to missing; the certificate states how "
                "many. The values of {keys} are counted in too few records.",
                keys=keys,
            )
        if certificate.options.get("draw") == "sequential" and len(changed) > 1:
            return (
                f"Keys were drawn one after the other: associations of {keys} are attenuated "
                "within groups by an unknown amount. Ask about one key at a time, or ask the "
                'steward for draw="whole", on the command line --draw whole.'
            )
        if not others:
            return ""
        reason = gettext(
            "Associations of {others} with {keys} are attenuated within groups by an "
            "unknown amount.",
            others=", ".join(others),
            keys=keys,
        )
        answered = set(certificate.options.get("responses", ()))
        if set(others) <= answered:
            return gettext(
                "{reason} Groups were formed to keep them (responses), so the loss is smaller.",
                reason=reason,
            )
        if others == weight:
            return f"{reason} Count records: weighted=False, on the command line --unweighted."
        wanted = [name for name in others if name not in answered]
        return (
            f"{reason} Ask the steward for groups that keep them: responses={wanted!r}, on the "
            f"command line --response {','.join(wanted)}."
        )


def _require_no_method(method: str) -> None:
    if method != "auto":
        raise NotCovered(
            "Method {method} undoes matrices, and this release has none: keys were replaced "
            "within groups. Leave the method out.",
            method=method,
        )
