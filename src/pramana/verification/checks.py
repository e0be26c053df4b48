"""Results of a verification: checks in three states, and the verdict over all of them.

This module also computes e-values: tests that are exact for tables of any size, with a power that
can be computed. An alternative to a valid release multiplies its e-value, record by record, by the
likelihood ratio of the record, divided by the mean of this ratio for a valid release [Shafer21].
The e-value of a valid release has mean 1. By Markov's inequality it exceeds 1 / level with
probability at most level. An average of e-values is an e-value, so that one test covers many
alternatives.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from pramana.base.text import Shown, counted, json_fields, listed
from pramana.base.translation import gettext, noop
from pramana.types import FloatArray, Form
from pramana.verification.whole_file import Colour, FileRisk, Publishable


class State(StrEnum):
    """The outcome of a check."""

    PASSED = "passed"
    """Computed again here, from the folder and whatever else was given."""

    ASSERTED = "asserted"
    """Asserted by the owner: nothing at hand contradicts it, and nothing at hand can verify it."""

    FAILED = "failed"


class CheckKind(StrEnum):
    """What a check is about; a verdict counts its checks by kind."""

    INTEGRITY = "integrity"
    """Files, records and certificate are as written and agree with each other."""

    GUARANTEE = "guarantee"
    """A guarantee that the certificate claims."""

    STATISTICAL_TEST = "statistical test"
    """Whether the records fit what the certificate says was done; a sound release seldom fails."""

    ASSERTION = "assertion"
    """A statement of the owner about how the release was made."""

    UNCHANGED = "unchanged column"
    """A column that is released unchanged, in bins or with noise."""


@dataclass(frozen=True)
class Check:
    """One check with its outcome; its texts are made where they are shown, as those of errors are.

    Attributes:
        title: of the check.
        state: its outcome.
        words: the outcome in words.
        kind: what it is about.
        decides: the title of the assertion that it replaces, if that is not its own. Fields hold
            names of columns, which anybody may choose, so that no text is taken apart.
        fields: what title and words name.
    """

    title: str
    state: State
    words: str
    kind: CheckKind = CheckKind.INTEGRITY
    decides: str = ""
    fields: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def decided(
        cls,
        title: str,
        good: bool,
        words: str,
        kind: CheckKind = CheckKind.INTEGRITY,
        **fields: Any,
    ) -> Check:
        """A check that is decided here: passed or failed."""
        return cls(title, State.PASSED if good else State.FAILED, words, kind, fields=fields)

    @classmethod
    def asserted(
        cls, title: str, words: str, kind: CheckKind = CheckKind.ASSERTION, **fields: Any
    ) -> Check:
        """A check that is asserted by the owner and cannot be decided here."""
        return cls(title, State.ASSERTED, words, kind, fields=fields)

    @property
    def name(self) -> str:
        """The title in the language of the reader."""
        return gettext(self.title, **self.fields)

    @property
    def detail(self) -> str:
        """The outcome in words, in the language of the reader."""
        return gettext(self.words, **self.fields)

    @property
    def ok(self) -> bool:
        """Whether it did not fail."""
        return self.state is not State.FAILED

    def to_json(self) -> Form:
        """The entry in the JSON of verify."""
        return json_fields(self, "name kind ok state detail")


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """All checks; ``notes`` say what does not make a release invalid but must be known.

    Attributes:
        checks: every check with its outcome.
        notes: what must be known.
        risk: the risk of the whole released file, where it could be read.
        if_valid: the verdict on publishing the file, if no check failed.
    """

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    risk: FileRisk | None = None
    if_valid: Publishable | None = None

    @property
    def publishable(self) -> Publishable | None:
        """A colour and the reason for it; nothing where no release was looked at."""
        failed = self.of_state(State.FAILED)
        if not failed:
            return self.if_valid
        many = counted(len(failed), "check")
        return Publishable(Colour.RED, gettext("Do not publish: {checks} failed.", checks=many))

    @property
    def valid(self) -> bool:
        """Whether no check failed."""
        return all(check.ok for check in self.checks)

    def __bool__(self) -> bool:
        return self.valid

    def of_state(self, state: State | str) -> tuple[Check, ...]:
        """The checks of one state."""
        return tuple(check for check in self.checks if check.state == state)

    @property
    def counts(self) -> dict[str, int]:
        """The number of checks of each sort: only a guarantee that was recomputed is proven."""
        passed = Counter(check.kind for check in self.of_state(State.PASSED))
        asserted = Counter(check.kind for check in self.of_state(State.ASSERTED))
        return {
            "guarantees_proven": passed[CheckKind.GUARANTEE],
            "guarantees_asserted": asserted[CheckKind.GUARANTEE],
            "integrity": passed[CheckKind.INTEGRITY],
            "statistical_tests": passed[CheckKind.STATISTICAL_TEST],
            "unchanged_columns": passed[CheckKind.UNCHANGED],
            "other_assertions": asserted.total() - asserted[CheckKind.GUARANTEE],
            "failed": len(self.of_state(State.FAILED)),
        }

    def counted(self) -> str:
        """The counts in words.

        >>> checks = [Check.decided("k-anonymity", True, "", CheckKind.GUARANTEE)]
        >>> Verdict((*checks, Check.asserted("shuffle", ""))).counted()
        '1 guarantee recomputed. 1 fact is asserted by the owner: shuffle.'
        """
        number = self.counts
        words = [
            counted(
                number["guarantees_proven"],
                noop("guarantee recomputed"), noop("guarantees recomputed"),
            )
        ]  # fmt: skip
        for name, single, several in (
            ("integrity", noop("integrity check passed"), noop("integrity checks passed")),
            ("statistical_tests", noop("statistical test passed"),
             noop("statistical tests passed")),
            ("unchanged_columns", noop("check of unchanged columns"),
             noop("checks of unchanged columns")),
            ("failed", noop("check failed"), noop("checks failed")),
        ):  # fmt: skip
            if number[name]:
                words.append(counted(number[name], gettext(single), gettext(several)))
        asserted = [check.name for check in self.of_state(State.ASSERTED)]
        if asserted:
            single = noop("fact is asserted by the owner")
            several = noop("facts are asserted by the owner")
            words.append(f"{counted(len(asserted), single, several)}: {listed(asserted, most=3)}")
        return f"{'. '.join(words)}."

    def with_checks(self, more: Iterable[Check]) -> Verdict:
        """The same verdict with further checks, which replace the assertions that they decide."""
        added = tuple(more)
        decided = {check.decides or check.name for check in added}
        kept = (c for c in self.checks if c.state is not State.ASSERTED or c.name not in decided)
        return replace(self, checks=(*kept, *added))

    def shown(self) -> tuple[str, list[str]]:
        """As the prompt and notebooks show it: what failed, then what must be known."""
        failed = self.of_state(State.FAILED)
        outcome = "All verifiable checks passed" if self.valid else "THE RELEASE IS NOT VALID"
        lines = [f"failed: {check.name}: {check.detail}" for check in failed]
        words = [] if self.publishable is None else [self.publishable.sentence]
        return outcome, [*lines, *words, self.counted(), *self.notes]

    def to_json(self) -> Form:
        """The JSON form of verify."""
        return json_fields(self, "valid counts checks notes risk publishable")


# -- e-values --------------------------------------------------------------------------------------

SHARES = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002)
"""The shares of the records at which an alternative is tested."""

SURE = 3.0
"""Standard deviations above what is needed at which an alternative is nearly always detected."""


def needed(level: float, bets: int) -> float:
    """The logarithm that the best of some e-values must reach to reject at a level."""
    return math.log(max(bets, 1) / level)


def average(gains: Sequence[float] | FloatArray) -> float:
    """The logarithm of the mean of some e-values, from their logarithms."""
    logs = np.asarray(gains, dtype=np.float64)
    return float(np.logaddexp.reduce(logs)) - math.log(max(len(logs), 1))


def detectable_share(
    shares: Sequence[float], hopes: Iterable[tuple[float, float]], *, level: float
) -> float | None:
    """The smallest share from which on an alternative is nearly always detected.

    ``hopes`` are mean and standard deviation of the gain at each share, if the alternative is
    right.
    """
    least, smallest = needed(level, len(shares)), None
    for share, (mean, deviation) in zip(shares, hopes, strict=False):
        if mean - SURE * deviation < least:
            break
        smallest = share
    return smallest
