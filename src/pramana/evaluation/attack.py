"""Attacks by name, from releases and what the attacker is said to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from pramana.analysis.release import Release
from pramana.base.randomness import Keystream
from pramana.base.text import Shown
from pramana.errors import InvalidNumber
from pramana.evaluation.arguments import release_of, table_of
from pramana.evaluation.audit import AttackName, linking_bound, one_of
from pramana.ledger.fingerprints import table_prints
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism
from pramana.mechanisms.transition import TransitionMatrix
from pramana.risk.attacks.bayes_linkage import optimal_linkage
from pramana.risk.attacks.composition import compose_releases, repeated_attack
from pramana.risk.attacks.records import (
    Records,
    cells_of_reports,
    read_pair,
    read_released,
    require_matrices,
)
from pramana.risk.attacks.recovery import recovery_of_release
from pramana.schema.opened_table import OpenedTable
from pramana.types import Form, IntArray, TableLike

SEED = 20


@dataclass(frozen=True, repr=False)
class AttackResult(Shown):
    """What an attack found.

    Attributes:
        name: the attack.
        sentences: the findings in plain words.
        figures: the findings as plain values.
        holds: whether what the certificate promises is kept, where it promises something.
    """

    name: str
    sentences: tuple[str, ...]
    figures: Form
    holds: bool = True

    def shown(self) -> tuple[str, tuple[str, ...]]:
        """As the prompt and notebooks show it."""
        words = "the guarantee holds" if self.holds else "A GUARANTEE IS EXCEEDED"
        return f"Attack {self.name}: {words}", self.sentences

    def to_json(self) -> Form:
        """Values for JSON."""
        return {"attack": self.name, "holds": self.holds, **self.figures}


def attack(
    name: AttackName | Literal["linkage", "repeated", "recovery", "composition"],
    *given: Release | str | Path,
    knowledge: TableLike | None = None,
    times: int = 8,
    seed: int = SEED,
) -> AttackResult:
    """Attack a release, or several of the same people, with what an attacker would have.

    Args:
        name: ``linkage``, ``repeated``, ``recovery`` or ``composition``.
        given: releases or their folders.
        knowledge: what the attacker knows of the original data: a file or data frame.
        times: for ``repeated``: how many perturbations in all.
        seed: for the attacker's randomness.
    """
    releases = tuple(release_of(release) for release in given)
    name = one_of(AttackName, "The attack", name)
    for release in releases:
        release.require_sound()
    if name is AttackName.COMPOSITION:
        return _composition(releases)
    if len(releases) != 1:
        raise InvalidNumber(f"The attack {name} takes one release, got {len(releases)}.")
    known = None
    if knowledge is not None:
        known = table_of(knowledge, releases[0].certificate.schema)
    keystream = Keystream.from_seed(seed)
    if name is AttackName.REPEATED:
        return _repeated(releases[0], known, times=times, keystream=keystream)
    if known is None:
        raise InvalidNumber(
            f"The attack {name} rests on what the attacker knows: give a table (--knowledge FILE). "
            "The worst case is the original itself."
        )
    if name is AttackName.LINKAGE:
        return _linkage(releases[0], known)
    return _recovery(releases[0], known, keystream=keystream)


def _read(release: Release, knowledge: OpenedTable) -> tuple[Records, Records]:
    certificate = release.certificate
    return read_pair(
        certificate.schema,
        require_matrices(certificate),
        truth=knowledge,
        released=release.opened,
        known=certificate.known_columns,
    )


def _linkage(release: Release, knowledge: OpenedTable) -> AttackResult:
    truth, released = _read(release, knowledge)
    mechanism = require_matrices(release.certificate)
    bound = linking_bound(release.certificate)
    found = optimal_linkage(mechanism, truth, released, bound=bound)
    return AttackResult("linkage", (found.sentence(),), found.to_json(), found.holds)


def _repeated(
    release: Release, knowledge: OpenedTable | None, *, times: int, keystream: Keystream
) -> AttackResult:
    mechanism = require_matrices(release.certificate)
    known = None
    if knowledge is not None:
        known, released = _read(release, knowledge)
    else:
        released = read_released(release.certificate.schema, mechanism, release.opened)
    found = []
    for name, matrix, codes, truths in _moved(mechanism, released, known):
        prior = None
        if truths is not None:
            prior = np.bincount(truths, minlength=matrix.size).astype(np.float64)
        found.append(
            repeated_attack(name, matrix, codes, keystream=keystream, times=times, prior=prior)
        )
    return AttackResult(
        "repeated",
        tuple(entry.sentence() for entry in found),
        {"columns": [entry.to_json() for entry in found]},
        not any(entry.gains for entry in found),
    )


def _moved(
    mechanism: Mechanism, released: Records, known: Records | None
) -> Iterator[tuple[str, TransitionMatrix, IntArray, IntArray | None]]:
    """What moved values by one matrix: steps, or sets of reports that somebody was asked for."""
    if isinstance(mechanism, AttributeSampler):
        yield from cells_of_reports(mechanism, released, known)
        return
    for place, step in enumerate(mechanism):
        if len(step.matrices) > 1:
            continue  # every stratum would need its own powers
        truths = None if known is None else known.codes[place]
        yield " x ".join(step.columns), step.matrices[0], released.codes[place], truths


def _recovery(release: Release, knowledge: OpenedTable, *, keystream: Keystream) -> AttackResult:
    truth, _ = _read(release, knowledge)
    mechanism = require_matrices(release.certificate)
    found = recovery_of_release(release.certificate.schema, mechanism, truth, keystream=keystream)
    return AttackResult("recovery", tuple(found.sentences()), found.to_json())


def _composition(releases: Sequence[Release]) -> AttackResult:
    found = compose_releases(
        [release.certificate for release in releases],
        owned=[_owned_by(release) for release in releases],
    )
    return AttackResult("composition", tuple(found.sentences()), found.to_json())


def _owned_by(release: Release) -> dict[str, str]:
    """Fingerprints of the rows that a release shows unchanged, where they are everybody's own.

    They are public, and so without a key.
    """
    kept = [column.name for column in release.certificate.schema.released_as_is]
    prints = table_prints(release.opened, kept, key=b"", beside=kept)
    return {prints.columns[name].values: one for name, one in prints.beside.items()}
