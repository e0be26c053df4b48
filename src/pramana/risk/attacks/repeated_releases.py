"""Several releases of the same people, and one release that is perturbed again and again.

Composition. The rule that applies is stated first (``guarantees/composition.py``): releases whose
records cannot be tied together keep their k each. Then the worst case: whoever can tell which
records belong together faces the product of the likelihoods, so that epsilons add and anonymity
ratios multiply [Ikarashi, Cor. 1 and 4]. The anonymity set is that of all columns together which
some release shows unchanged and which may be known. A column that one release hides (a key) and
another one shows is known: keys are what an adversary knows. Where no single release states how
small the groups of all these columns are, or columns of one name may differ between releases, a
person may be alone in them, and nothing remains of k.

Repeated perturbation [Dowd, Sec. 5]. An attacker who knows the matrices M may put the released
values through them t - 1 times more. The result has the law of M**t. Its best guess of a true value
gets worse with every round and ends at what guessing gives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import require_number
from pramana.base.text import json_fields, percent_down, percent_up, text_down, text_up
from pramana.errors import InvalidNumber, NotCovered, PramanaError
from pramana.guarantees.composition import TiedReleases, Together, compose
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.privacy_breach import USUAL_PRIOR, PrivacyBreach
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, Step
from pramana.mechanisms.sampler import randomise
from pramana.mechanisms.transition import TransitionMatrix
from pramana.release.certificate import Certificate, Panel, disclosed
from pramana.release.folder import CERTIFICATE, read_certificate
from pramana.types import Codes, FloatArray, Form


@dataclass(frozen=True)
class Composition:
    """The guarantees of several releases together.

    Attributes:
        releases: how many.
        alone: k and epsilon of each.
        promised: their guarantees together, by the rule that applies.
        k: what remains of k against anyone who can tell which records belong together.
        epsilon: what remains of epsilon.
        breach: what remains against a breach.
        anonymity_set: the fewest records that are known to share what may be known.
        alone_by: columns of several releases that together may single a person out.
    """

    releases: int
    alone: tuple[tuple[float, float], ...]
    promised: Together
    k: PkAnonymity
    epsilon: DifferentialPrivacy
    breach: PrivacyBreach
    anonymity_set: int
    alone_by: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """The findings in words."""
        each = ", ".join(f"k = {text_down(k)} and epsilon = {text_up(e)}" for k, e in self.alone)
        lines = [
            f"Each release alone has {each}.",
            *self.promised.sentences(),
            "Against an attacker who knows which records belong together, "
            f"{self.releases} releases have k = {text_down(self.k.k)} and epsilon = "
            f"{text_up(self.epsilon.epsilon)}.",
            self.k.sentence(),
        ]
        if self.alone_by:
            lines.append(
                f"The releases may differ in {', '.join(self.alone_by)}; together these columns "
                "may identify a person, so that an anonymity set of 1 is assumed."
            )
        return lines

    def to_json(self) -> Form:
        """The JSON form; null represents no bound."""
        return {
            "attack": "composition",
            "releases": self.releases,
            "alone": [{"k": k, "epsilon": _finite(e)} for k, e in self.alone],
            "promised": self.promised.to_json(),
            "together": {
                "k": self.k.k,
                "anonymity_set": self.anonymity_set,
                "epsilon": _finite(self.epsilon.epsilon),
                "rho1": self.breach.rho1,
                "rho2": self.breach.rho2,
            },
        }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def compose_releases(
    certificates: Sequence[Certificate],
    *,
    owned: Sequence[Mapping[str, str]] | None = None,
) -> Composition:
    """Compose the releases that these certificates describe.

    Args:
        certificates: of releases of the same people.
        owned: for each the fingerprints of the rows of all columns that are released unchanged,
            by that of a column among them of which everybody has another value; where two show
            some and nothing says that they agree for everybody, they may differ.
    """
    if not certificates:
        raise InvalidNumber("Composition needs at least one release.")
    mechanisms = [_mechanism(certificate) for certificate in certificates]
    if len({certificate.records for certificate in certificates}) > 1:
        numbers = ", ".join(f"{certificate.records:,}" for certificate in certificates)
        raise InvalidNumber(
            f"Releases of the same people have the same number of records, got {numbers}."
        )
    prints = owned or [{}] * len(certificates)
    seen = [
        replace(disclosed(c), owned=rows, forms=dict.fromkeys(c.schema.names, "as released"))
        for c, rows in zip(certificates, prints, strict=True)
    ]
    tied = TiedReleases(tuple(seen), same_people=True)
    alone = tuple(
        (PkAnonymity.of(m, anonymity_set=c.anonymity_set).k, DifferentialPrivacy.of(m).epsilon)
        for m, c in zip(mechanisms, certificates, strict=True)
    )
    together = _product(mechanisms)
    return Composition(
        releases=len(certificates),
        alone=alone,
        promised=compose(seen, same_people=True),
        k=PkAnonymity.of(together, anonymity_set=tied.anonymity_set),
        epsilon=DifferentialPrivacy.of(together),
        breach=PrivacyBreach.of(together, rho1=USUAL_PRIOR),
        anonymity_set=tied.anonymity_set,
        alone_by=tied.uncounted,
    )


def composable(certificate: Certificate) -> bool:
    """Whether the certificate says enough of what was done to records, and draws were fresh."""
    mechanism = certificate.mechanism
    return mechanism is not None and bool(mechanism.columns) and _panel(certificate) is None


def _panel(certificate: Certificate) -> Panel | None:
    return None if certificate.collected is None else certificate.collected.panel


def _mechanism(certificate: Certificate) -> Mechanism:
    panel = _panel(certificate)
    if panel is not None:
        raise NotCovered(
            f"Composition has no rule for wave {panel.wave} of {panel.waves} of a panel, since "
            "waves share random numbers: its certificate states, for all waves together, an "
            f"epsilon of {text_up(panel.epsilon, 3)} for a person who gave the same answers in all "
            f"of them on one device, and of {text_up(panel.changing_epsilon, 3)} for anybody."
        )
    if certificate.mechanism is None or not composable(certificate):
        raise NotCovered(
            f"Composition needs the matrices, and this release by method {certificate.method} "
            "publishes none."
        )
    return certificate.mechanism


def _product(mechanisms: Sequence[Mechanism]) -> Mechanism:
    """All steps of all releases, the columns of each release named apart.

    Of attribute sets, the one that tells most represents all: how often a set is asked for cancels
    in every ratio, and the largest ratio of a report is that set's
    (docs/proofs/attribute_sampling.md).
    """
    steps = []
    for number, mechanism in enumerate(mechanisms, start=1):
        parts = mechanism.steps
        if isinstance(mechanism, AttributeSampler):
            most = max(mechanism.sets, key=lambda attribute_set: attribute_set.matrix.gamma)
            parts = (Step(most.columns, most.matrix),)
        for step in parts:
            columns = tuple(f"{name} ({number})" for name in step.columns)
            steps.append(Step(columns, step.matrix, step.strata, step.by_stratum))
    return Mechanism(tuple(steps))


def earlier_releases(folder: Path, certificate: Certificate) -> list[Path]:
    """Folders next to ``folder`` that look like releases of the same people.

    A certificate says nothing about the original data, so that only columns and the number of
    records can be compared: a reason to warn, not a proof.
    """
    place = folder.resolve()
    earlier = []
    for other in sorted(place.parent.glob(f"*/{CERTIFICATE}")):
        if other.parent == place:
            continue
        try:
            known = read_certificate(other.parent)
        except PramanaError:
            continue
        same = known.schema.names == certificate.schema.names
        if same and known.records == certificate.records:
            earlier.append(other.parent)
    return earlier


@dataclass(frozen=True)
class Round:
    """After ``times`` perturbations in all.

    Attributes:
        times: how often the original data have been perturbed.
        entropy: bits of uncertainty of the matrix power.
        smallest_diagonal: the least probability that a value is still itself, by the power.
        guess: the chance that the best guess of a true value is right, by the power and the prior.
        unchanged: the share of released values that the extra rounds left as they were, measured.
        unchanged_expected: the same by the matrix power.
    """

    times: int
    entropy: float
    smallest_diagonal: float
    guess: float
    unchanged: float
    unchanged_expected: float

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(self)


@dataclass(frozen=True)
class RepeatedAttack:
    """The attack on one column.

    Attributes:
        column: the column.
        prior: the chance of the best guess without the release.
        rounds: what each round gives; the first is the release itself.
    """

    column: str
    prior: float
    rounds: tuple[Round, ...]

    @property
    def gains(self) -> bool:
        """Whether any further round helps the attacker; the theorem says never."""
        first = self.rounds[0].guess
        return any(later.guess > first * (1 + 1e-12) for later in self.rounds[1:])

    def sentence(self) -> str:
        """The finding in words."""
        first, last = self.rounds[0], self.rounds[-1]
        return (
            f"'{self.column}': the best guess of an original value is right with "
            f"{percent_up(first.guess)} from the release, with {percent_up(last.guess)} after "
            f"{last.times} perturbations, and with {percent_down(self.prior)} without the release."
        )

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(self, "column prior gains rounds")


def repeated_attack(
    column: str,
    matrix: TransitionMatrix,
    released: Codes,
    *,
    keystream: Keystream,
    times: int = 8,
    prior: FloatArray | None = None,
) -> RepeatedAttack:
    """Perturb the released codes of a column again, round by round.

    Args:
        column: its name.
        matrix: what was done to it.
        released: the released codes.
        keystream: where the attacker's randomness comes from.
        times: how many perturbations in all, the release's own included.
        prior: the frequencies of true values, as the attacker knows them; otherwise uniform.
    """
    require_number("times", times, low=1)
    if matrix.size > 2_000:
        raise NotCovered(
            f"'{column}' has {matrix.size:,} values; powers are shown up to 2,000.", column=column
        )
    shares = np.full(matrix.size, 1 / matrix.size) if prior is None else prior / prior.sum()
    codes = released.astype(np.uint32)
    power = np.eye(matrix.size)
    rounds = []
    current = codes
    for t in range(1, times + 1):
        before, power = power, power @ matrix.values
        if t > 1:
            stream = Stream("repeated", column, t)
            current = randomise(matrix, current, keystream=keystream, stream=stream)
        logs = np.log2(power, out=np.zeros_like(power), where=power > 0)
        rounds.append(
            Round(
                times=t,
                entropy=float(-(power * logs).sum() / len(power)),
                smallest_diagonal=float(np.diagonal(power).min()),
                guess=float((shares[:, None] * power).max(axis=0).sum()),
                unchanged=float((current == codes).mean()),
                unchanged_expected=float(np.diagonal(before)[codes].mean()),
            )
        )
    return RepeatedAttack(column, float(shares.max()), tuple(rounds))
