"""How often the nearest and the likeliest record are right, on the same people run once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pramana.attacks.linkers import (
    MOST_PAIRS,
    Found,
    expected_released,
    likelihood_scores,
    link,
    nearest_scores,
)
from pramana.attacks.records import Cells, Records, code_sizes
from pramana.attacks.rerun import rerun
from pramana.matrices.mechanism import Mechanism
from pramana.randomness import Keystream, Stream
from pramana.risk.measured import FEWEST_TRIALS, Measured
from pramana.table.schema import Schema
from pramana.text import percent
from pramana.types import FloatArray, IntArray

__all__ = ["Links", "linkage_risks"]

TRIALS = 10_000
"""So many links are tried, over several runs where the table is smaller."""

QUICK_PAIRS = 100_000_000
FEWEST_SOON = 1_000
"""Where an answer is wanted soon: so many pairs are compared, so many people looked for anyway."""

CONFIDENT = 0.01
"""The share of links that the strongest linker is surest of, looked at apart."""

MEASURED = (
    "{name}: the mechanism was run on the same people {runs} more, with the pairing "
    "kept; the attacker knows {knows}."
)


@dataclass(frozen=True, eq=False)
class Links:
    """What both linkers found, run after run.

    Attributes:
        nearest: the nearest-record linker.
        likely: the strongest linker.
        guess: how often a guess inside the crowd is right.
    """

    nearest: tuple[Found, ...]
    likely: tuple[Found, ...]
    guess: float

    @classmethod
    def of(
        cls,
        schema: Schema,
        mechanism: Mechanism,
        truth: Records,
        *,
        keystream: Keystream,
        trials: int = TRIALS,
        most: int | None = None,
    ) -> Links:
        """Run the mechanism again, with the pairing kept, and link.

        With ``most`` no more than so many people are looked for, where the table has more.
        """
        sizes = code_sizes(mechanism)
        runs = max(1, -(-trials // len(truth)))
        cells = Cells.of(truth, sizes)
        targets = _targets(truth, len(cells.numbers), keystream, most)
        wanted = cells if len(targets) == len(truth) else Cells.of(truth.at(targets), sizes)
        nearest, likely = [], []
        near, strongest = nearest_scores(mechanism, schema, truth), likelihood_scores(mechanism)
        for run in range(runs):
            released = rerun(mechanism, truth, keystream=keystream, stream=Stream("run", run))
            seen = Cells.of(released, sizes)
            # Refuses what is too large.
            offsets = -expected_released(mechanism, truth, released, cells=cells, seen=seen)
            tell = partial(link, truth=truth, released=released, sizes=sizes, targets=targets,
                           wanted=wanted, seen=seen)  # fmt: skip
            nearest.append(tell(near))
            likely.append(tell(strongest, offsets=offsets))
        guess = float(np.mean(1 / np.bincount(truth.crowd)[truth.crowd]))
        return cls(tuple(nearest), tuple(likely), guess)

    def risks(self, *, bound: float | None, keystream: Keystream) -> tuple[Measured, ...]:
        """The nearest-record linker, the strongest linker, and its surest links."""
        runs = len(self.likely)
        measure = partial(_measured, keystream=keystream, guess=self.guess, bound=bound, runs=runs)
        found = [
            measure("nearest record", self.nearest, knows="the true keys of a person"),
            measure("likeliest record", self.likely, knows="all true keys and the matrices"),
        ]
        surest = _surest(self.likely)
        if len(surest.targets) >= FEWEST_TRIALS:
            knows = f"the same, and names only the {percent(CONFIDENT, 6)} of links it is surest of"
            found.append(measure("surest links", [surest], knows=knows))
        return tuple(found)

    def of_people(self, records: int) -> FloatArray | None:
        """How often the strongest linker finds each person; none where some were left out."""
        if any(len(found.targets) < records for found in self.likely):
            return None
        average: FloatArray = np.mean([found.chance for found in self.likely], axis=0)
        return average


def linkage_risks(
    schema: Schema,
    mechanism: Mechanism,
    truth: Records,
    *,
    bound: float | None,
    keystream: Keystream,
    trials: int = TRIALS,
    most: int | None = None,
) -> tuple[Measured, ...]:
    """How often both linkers are right."""
    links = Links.of(schema, mechanism, truth, keystream=keystream, trials=trials, most=most)
    return links.risks(bound=bound, keystream=keystream)


def _targets(truth: Records, cells: int, keystream: Keystream, few: int | None) -> IntArray:
    """Everybody, or so many drawn at random that the comparisons stay within bounds."""
    most = max(MOST_PAIRS // 4 // max(cells, 1), 1_000)
    if few is not None:
        most = min(most, few, max(QUICK_PAIRS // max(cells, 1), FEWEST_SOON))
    if most >= len(truth):
        return np.arange(len(truth))
    return np.sort(keystream.permutation(len(truth), "targets")[:most])


def _measured(
    name: str,
    found: Sequence[Found],
    *,
    keystream: Keystream,
    knows: str,
    guess: float,
    bound: float | None,
    runs: int,
) -> Measured:
    chance = np.concatenate([part.chance for part in found])
    # A link is right or wrong: ties are drawn, so that the binomial law of the interval holds.
    hits = int((keystream.uniforms(Stream("ties of", name), 0, len(chance)) < chance).sum())
    times = "once" if runs == 1 else f"{runs} times"
    return Measured.of(
        name,
        hits=hits,
        trials=len(chance),
        baseline=guess,
        bound=bound,
        promised_by=None if bound is None else "pk-anonymity",
        note=MEASURED.format(name=name[:1].upper() + name[1:], runs=times, knows=knows),
    )


def _surest(found: Sequence[Found]) -> Found:
    """The links that the linker itself is surest of."""
    confidence = np.concatenate([part.confidence for part in found])
    many = int(len(confidence) * CONFIDENT)
    best = np.argsort(-confidence, kind="stable")[:many]
    chance = np.concatenate([part.chance for part in found])[best]
    targets = np.concatenate([part.targets for part in found])[best]
    return Found(targets, chance, confidence[best])
