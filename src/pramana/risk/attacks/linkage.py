"""Linkage: given a person's true keys, which released record is theirs?

A linker has scores for each step, added up over the steps, plus a score for the released cell. It
picks a record with the highest score, ties at random. Two of them:

    nearest      minus the squared distance between true and released values       [Wei, Sec. 4.3]
    likelihood   ln P[truth -> released] - ln (expected number released so): the posterior that
                 a record is the person's, up to a factor, for an attacker who knows all matrices
                 and the original data

The denominator of the second is exact for one record and nearly so for many: given the released
table, Sinkhorn's scaling (``bayes_linkage``) would change it by terms of the order of one record.

The mechanism is run once more on the same people, with the pairing kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream, Stream
from pramana.base.text import percent
from pramana.errors import TooLarge
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, Step
from pramana.risk.attacks.attacker_records import (
    Cells,
    Records,
    expected_reports,
    rerun,
)
from pramana.risk.attacks.scores import (
    ColumnScores,
    Scorer,
    Scores,
    blocks,
    expected_in_halves,
    in_halves,
    large_matrix,
    likelihood_scores,
)
from pramana.schema.joint_cells import cell_codes
from pramana.schema.schema import Column, Schema
from pramana.types import FloatArray, IntArray

MOST_PAIRS = 2_000_000_000
"""Pairs of cells that are compared before targets are sampled."""

DENSE_CELLS = 40_000_000
TIE = 1e-9
"""Scores that differ by less are equal."""

TRIALS = 10_000
"""Links that are tried, over several runs where the table is smaller."""

QUICK_PAIRS, FEWEST_QUICK = 100_000_000, 1_000
"""For a quick answer: pairs that are compared, and people who are linked in any case."""

CONFIDENT = 0.01
"""The share of links that the strongest linker is surest of, measured apart."""


# -- nearest records -------------------------------------------------------------------------------


def nearest_scores(mechanism: Mechanism, schema: Schema, original: Records) -> Scorer:
    """Minus squared distances, each column in units of its original standard deviation."""
    if isinstance(mechanism, AttributeSampler):
        return _nearest_sets(mechanism, schema, original)
    if large_matrix(mechanism) is not None:  # without a table of all its cells
        (step,) = mechanism
        places = _places(step, schema)
        tables = []
        for name, codes in zip(step.columns, places, strict=True):
            column = schema.column(name)
            every = np.arange(len(column.labels))
            shares = _shares(codes[original.codes[0]], len(every))
            tables.append(-_squared_distances(column, every, shares))
        return ColumnScores(tuple(tables), tuple(places))
    scores = []
    for step, codes in zip(mechanism, original.codes, strict=True):
        shares = _shares(codes, len(step.labels))
        columns = zip(step.columns, _places(step, schema), strict=True)
        squared = sum(
            _squared_distances(schema.column(name), cells, shares) for name, cells in columns
        )
        scores.append((-np.asarray(squared),) * len(step.matrices))
    return Scores(tuple(scores))


def _nearest_sets(mechanism: AttributeSampler, schema: Schema, original: Records) -> Scores:
    """The same for attribute sets: a column not asked is as far as others are on average."""
    tables = []
    for name, codes in zip(mechanism.columns, original.codes[:-1], strict=True):
        labels = mechanism.labels_of(name)
        shares = _shares(codes, len(labels))
        known = {label: at for at, label in enumerate(schema.column(name).labels)}
        places = np.array([known[label] for label in labels])
        squared = _squared_distances(schema.column(name), places, shares)
        tables.append((-np.column_stack([squared, squared @ shares]),))
    return Scores((*tables, (np.zeros((1, len(mechanism.sets))),)))


def _shares(codes: IntArray, size: int) -> FloatArray:
    counts = np.bincount(codes, minlength=size)[:size]
    return np.asarray(counts / max(len(codes), 1), dtype=np.float64)


def _places(step: Step, schema: Schema) -> list[IntArray]:
    """For each column of a step the code of each cell of the step."""
    if len(step.columns) == 1:
        return [np.arange(len(step.labels))]
    return list(cell_codes([schema.column(name).labels for name in step.columns], step.labels))


def _squared_distances(column: Column, places: IntArray, shares: FloatArray) -> FloatArray:
    """Squared distances between the cells of a step by one of its columns.

    Ordered values are at their positions, divided by the standard deviation; between unordered
    ones, and to a missing one, every step is as far as two standard deviations of a fair coin.
    """
    domain = column.domain
    differ = (places[:, None] != places[None, :]).astype(np.float64)
    if domain is None or not domain.ordered:
        return np.asarray(differ, dtype=np.float64)
    missing = places >= domain.size
    mean = float((shares * places)[~missing].sum()) / max(float(shares[~missing].sum()), 1e-12)
    spread = float((shares * (places - mean) ** 2)[~missing].sum())
    squared = (places[:, None] - places[None, :]) ** 2 / max(spread, 1e-12)
    apart = missing[:, None] | missing[None, :]
    return np.asarray(np.where(apart, differ, squared), dtype=np.float64)


# -- links -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinkOutcome:
    """What a linker finds for the targets.

    Attributes:
        targets: the people attacked.
        chance: for each the chance to pick the right record, ties at random.
        confidence: the linker's own estimate of that chance.
    """

    targets: IntArray
    chance: FloatArray
    confidence: FloatArray


def link(
    scores: Scorer,
    original: Records,
    released: Records,
    *,
    targets: IntArray,
    offsets: FloatArray | None = None,
) -> LinkOutcome:
    """Attack some people of a table whose released records have the same order.

    ``offsets`` are added to the scores of each released record: minus ln of the expected number.
    """
    wanted, seen = Cells.of(original.at(targets)), Cells.of(released)
    bonus = np.zeros(len(seen.numbers))
    if offsets is not None:
        bonus[seen.of_record] = offsets
    best, tied, mass = _best(scores, wanted, seen, bonus)
    scored = scores.between(original.at(targets), released.at(targets))
    scored += bonus[seen.of_record[targets]]
    cell = wanted.of_record
    right = scored >= best[cell] - TIE
    return LinkOutcome(targets, np.where(right, 1 / tied[cell], 0.0), 1 / mass[cell])


def _best(
    scores: Scorer, wanted: Cells, seen: Cells, bonus: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each cell the best score in its anonymity set, the records that have it, their weight."""
    best, tied, mass = (np.zeros(len(wanted.numbers)) for _ in range(3))
    halved, people, released = in_halves(scores, wanted.records, seen.records)
    for rows, columns in blocks(wanted, seen):
        numbers = seen.numbers[columns].astype(np.float64)
        block = halved.block(people.at(rows), released.at(columns)) + bonus[columns]
        highest = block.max(axis=1)
        best[rows] = highest
        tied[rows] = (block >= highest[:, None] - TIE) @ numbers
        mass[rows] = np.exp(np.maximum(block - highest[:, None], -700)) @ numbers
    return best, tied, mass


def expected_released(mechanism: Mechanism, original: Records, released: Records) -> FloatArray:
    """Ln of the expected number of records of the same anonymity set released like each record."""
    if isinstance(mechanism, AttributeSampler):
        return expected_reports(mechanism, original, released)
    cells, seen = Cells.of(original), Cells.of(released)
    sizes = [len(step.labels) for step in mechanism]
    sets = int(max(side.anonymity_set.max(initial=0) for side in (original, released))) + 1
    simple = all(len(step.matrices) == 1 for step in mechanism)
    if simple and sets * int(np.prod(sizes, dtype=np.float64)) <= DENSE_CELLS:
        # The whole table goes through the matrices, axis by axis.
        table = np.zeros([sets, *sizes])
        table[(cells.records.anonymity_set, *cells.records.codes)] = cells.numbers
        for axis, step in enumerate(mechanism, start=1):
            table = step.matrices[0].apply(table, axis=axis)
        values = table[(seen.records.anonymity_set, *seen.records.codes)]
        return np.asarray(np.log(np.maximum(values, 1e-300)))[seen.of_record]
    logs = expected_in_halves(mechanism, cells, seen) if simple else None
    if logs is None:
        if len(cells.numbers) * len(seen.numbers) > MOST_PAIRS:
            raise TooLarge(
                f"{len(cells.numbers):,} original and {len(seen.numbers):,} released combinations "
                "are more than can be compared. Audit a sample of the records."
            )
        logs = np.zeros(len(seen.numbers))
        scores = likelihood_scores(mechanism)
        for columns, rows in blocks(seen, cells):
            block = scores.block(cells.records.at(rows), seen.records.at(columns))
            logs[columns] = np.log(cells.numbers[rows] @ np.exp(np.maximum(block, -700)))
    return np.asarray(logs[seen.of_record])


# -- measured on the same people -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Links:
    """What both linkers found, run after run.

    Attributes:
        nearest: the nearest-record linker.
        likely: the strongest linker.
        guess: how often a guess inside the anonymity set is right.
    """

    nearest: tuple[LinkOutcome, ...]
    likely: tuple[LinkOutcome, ...]
    guess: float

    @classmethod
    def of(
        cls,
        schema: Schema,
        mechanism: Mechanism,
        original: Records,
        *,
        keystream: Keystream,
        trials: int = TRIALS,
        most: int | None = None,
    ) -> Links:
        """Run the mechanism again, with the pairing kept, and link.

        With ``most`` no more than this many people are linked, where the table has more.
        """
        attack = partial(link, targets=_targets(original, keystream, most))
        near, strongest = nearest_scores(mechanism, schema, original), likelihood_scores(mechanism)
        nearest, likely = [], []
        for run in range(max(1, -(-trials // len(original)))):
            released = rerun(mechanism, original, keystream=keystream, stream=Stream("run", run))
            offsets = -expected_released(mechanism, original, released)  # refuses what is too large
            nearest.append(attack(near, original, released))
            likely.append(attack(strongest, original, released, offsets=offsets))
        guess = float(np.mean(1 / np.bincount(original.anonymity_set)[original.anonymity_set]))
        return cls(tuple(nearest), tuple(likely), guess)

    def risks(self, *, bound: float | None, keystream: Keystream) -> tuple[Measured, ...]:
        """The nearest-record linker, the strongest linker, and its surest links."""

        def measured(name: str, outcomes: Sequence[LinkOutcome], knows: str) -> Measured:
            chance = np.concatenate([part.chance for part in outcomes])
            # A link is right or wrong: ties are drawn, so that the interval is a binomial one.
            uniforms = keystream.uniforms(Stream("ties of", name), 0, len(chance))
            runs = len(self.likely)
            return Measured.of(
                name,
                hits=int((uniforms < chance).sum()),
                trials=len(chance),
                baseline=self.guess,
                bound=bound,
                guaranteed_by=None if bound is None else "pk-anonymity",
                note=f"{name.capitalize()}: the mechanism was run on the same people "
                f"{'once' if runs == 1 else f'{runs} times'} more, with the pairing kept; the "
                f"attacker knows {knows}.",
            )

        attacks = [
            measured("nearest record", self.nearest, "the original keys of a person"),
            measured("likeliest record", self.likely, "all original keys and the matrices"),
        ]
        confidence = np.concatenate([part.confidence for part in self.likely])
        chance = np.concatenate([part.chance for part in self.likely])
        surest = np.argsort(-confidence, kind="stable")[: int(len(confidence) * CONFIDENT)]
        if len(surest) >= FEWEST_TRIALS:
            knows = f"the same, and names only the {percent(CONFIDENT, 6)} most probable links"
            outcome = LinkOutcome(surest, chance[surest], confidence[surest])
            attacks.append(measured("surest links", [outcome], knows))
        return tuple(attacks)

    def of_people(self, records: int) -> FloatArray | None:
        """How often the strongest linker finds each person; none where some were left out."""
        if any(len(outcome.targets) < records for outcome in self.likely):
            return None
        average: FloatArray = np.mean([outcome.chance for outcome in self.likely], axis=0)
        return average


def _targets(original: Records, keystream: Keystream, few: int | None) -> IntArray:
    """Everybody, or as many people drawn at random as keep the comparisons within bounds."""
    cells = max(len(Cells.of(original).numbers), 1)
    most = max(MOST_PAIRS // 4 // cells, 1_000)
    if few is not None:
        most = min(most, few, max(QUICK_PAIRS // cells, FEWEST_QUICK))
    if most >= len(original):
        return np.arange(len(original))
    return np.sort(keystream.permutation(len(original), "targets")[:most])
