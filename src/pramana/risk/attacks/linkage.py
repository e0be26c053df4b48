"""Linkage: given a person's true keys, which released record is theirs?

A linker has scores for each step, added up over the steps, plus a score for the released cell. It
picks a record with the highest score, ties at random. Two of them:

    nearest      minus the squared distance between true and released values       [Wei, Sec. 4.3]
    likelihood   ln P[truth -> released] - ln (expected number released so): the posterior that
                 a record is the person's, up to a factor, for an attacker who knows all matrices
                 and the original data

The denominator of the second is exact for one record and nearly so for many: given the released
table, Sinkhorn's scaling (``optimal_linkage``) would change it by terms of the order of one record.

The mechanism is run once more on the same people, with the pairing kept.

The Bayes-optimal linker knows the original data, the matrices and the released table
(``optimal_linkage``). Every pairing of people and released records is equally likely before the
randomness is looked at, so the chance that record j is person i's is

    pi_ij = L_ij per(L without row i and column j) / per(L),    L_ij = P[truth i -> released j],

a ratio of permanents. For up to ``EXACT_RECORDS`` records they are summed exactly over subsets.
Beyond, L is scaled to row and column sums of one (Sinkhorn), cell by cell: the Bethe approximation
of the same marginals, whose error falls with the number of equal records. No linker with the
release and the same knowledge is right more often than the largest pi_ij says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream, Stream
from pramana.base.text import counted, json_fields, percent, percent_up
from pramana.base.translation import gettext, noop
from pramana.errors import InvalidTable, TooLarge
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
from pramana.types import FloatArray, Form, IntArray

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
                note=f"{gettext(name).capitalize()}: "
                + gettext(
                    "the mechanism was run {runs} more times on the same people, with the pairing "
                    "kept; the attacker knows {knows}.",
                    runs=runs,
                    knows=knows,
                ),
            )

        attacks = [
            measured(
                noop("nearest record"), self.nearest, gettext("the original keys of a person")
            ),
            measured(
                noop("likeliest record"),
                self.likely,
                gettext("all original keys and the matrices"),
            ),
        ]
        confidence = np.concatenate([part.confidence for part in self.likely])
        chance = np.concatenate([part.chance for part in self.likely])
        surest = np.argsort(-confidence, kind="stable")[: int(len(confidence) * CONFIDENT)]
        if len(surest) >= FEWEST_TRIALS:
            knows = gettext(
                "the same, and names only the {share} most probable links",
                share=percent(CONFIDENT, 6),
            )
            outcome = LinkOutcome(surest, chance[surest], confidence[surest])
            attacks.append(measured(noop("surest links"), [outcome], knows))
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


EXACT_RECORDS = 14
MOST_HELD_PAIRS = 25_000_000
"""Up to this many pairs of cells all likelihoods are held at once, else made in every round."""

MOST_IN_BLOCKS = 10_000_000_000
ROUNDS = 500
CLOSE, CLOSE_IN_BLOCKS = 1e-10, 1e-5
"""How close to one sums are scaled; the approximation itself is judged with a percent of room."""


@dataclass(frozen=True)
class OptimalLinkage:
    """The beliefs of the strongest adversary, over all people of a release.

    Attributes:
        largest: the largest posterior of any person and record.
        mean: the average over people of their most likely record's posterior: the share of right
            answers of a linker who names it.
        records: the number of people.
        exact: whether permanents were summed exactly.
        bound: 1/k of the certificate, where it guarantees one.
    """

    largest: float
    mean: float
    records: int
    exact: bool
    bound: float | None = None

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(self, "records bound holds") | {
            "attack": "linkage",
            "largest_posterior": self.largest,
            "mean_posterior": self.mean,
            "calculation": "exact" if self.exact else "scaling",
        }

    @property
    def holds(self) -> bool:
        """Whether the guarantee is kept; scaling is an approximation and gets a percent of room."""
        room = 1e-9 if self.exact else 0.01
        return self.bound is None or self.largest <= self.bound * (1 + room)

    def sentence(self) -> str:
        """The finding in words."""
        bound = "" if self.bound is None else f"; guaranteed: at most {percent_up(self.bound)}"
        return (
            "Someone who knows the original data and the matrices names the right record for "
            f"{percent_up(self.mean)} of people at best, with a probability of at most "
            f"{percent_up(self.largest)} for any single "
            f"link{bound}{'.' if self.exact else ' (by scaling, an approximation).'}"
        )


def exact_posterior(likelihood: ArrayLike) -> FloatArray:
    """pi_ij for a square table of likelihoods, exactly: sums over subsets of the columns.

    >>> exact_posterior([[0.75, 0.25], [0.25, 0.75]])
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    table = np.asarray(likelihood, dtype=np.float64)
    size = len(table)
    if table.shape != (size, size) or not size:
        raise InvalidTable(
            "The original and the released table must have the same number of records."
        )
    if size > EXACT_RECORDS:
        raise TooLarge(f"Permanents are summed for up to {EXACT_RECORDS} records, got {size}.")
    forward = _permanents(table)
    backward = _permanents(table[::-1])[::-1]
    everyone = (1 << size) - 1
    masks = np.arange(1 << size)
    posterior = np.zeros((size, size))
    for i in range(size):
        # Rows before i take a set of i columns, rows after i the complement without j.
        for j in range(size):
            free = masks[(masks >> j) & 1 == 0]
            rest = everyone ^ free ^ (1 << j)
            posterior[i, j] = table[i, j] * (forward[i][free] * backward[i + 1][rest]).sum()
    total = posterior.sum(axis=1)
    if not (total > 0).all():
        raise InvalidTable("This original table cannot have produced the released table.")
    return np.asarray(posterior / total[:, None])


def _permanents(table: FloatArray) -> list[FloatArray]:
    """For r = 0 .. size: over sets of r columns, the permanent of the first r rows with them."""
    size = len(table)
    masks = np.arange(1 << size)
    levels = [np.zeros(1 << size)]
    levels[0][0] = 1.0
    for row in table:
        level = np.zeros(1 << size)
        for j, entry in enumerate(row):
            with_j = masks[(masks >> j) & 1 == 1]
            level[with_j] += entry * levels[-1][with_j ^ (1 << j)]
        levels.append(level)
    return levels


def scaled_posterior(logs: FloatArray, people: IntArray, released: IntArray) -> FloatArray:
    """Pi for cells: the posterior that one record of a released cell is one person of a true cell.

    ``logs`` are ln P between true cells (rows, with ``people``) and released ones (columns).
    """
    kernel = _kernel(logs)
    left, right = _scaling(lambda: iter([(slice(None), kernel)]), people, released, close=CLOSE)
    return np.asarray(kernel * left[:, None] * right[None, :])


def _kernel(logs: FloatArray) -> FloatArray:
    """Likelihoods, each row by its own largest."""
    return np.asarray(np.exp(np.maximum(logs - logs.max(axis=1, keepdims=True), -700)))


def _scaling(
    blocks: Callable[[], Iterator[tuple[slice, FloatArray]]],
    people: IntArray,
    released: IntArray,
    *,
    close: float,
) -> tuple[FloatArray, FloatArray]:
    """Factors of rows and columns that make all sums one; the kernel comes in blocks of rows.

    A round passes over the blocks once: a row's factor needs its own block alone.
    """
    left, right = np.ones(len(people)), np.ones(len(released))
    for _ in range(ROUNDS):
        sums = np.zeros(len(released))
        for rows, kernel in blocks():
            left[rows] = 1 / np.maximum(kernel @ (right * released), 1e-300)
            sums += (left[rows] * people[rows]) @ kernel
        sums *= right
        right = right / np.maximum(sums, 1e-300)
        if np.abs(sums - 1).max() < close:
            break
    for rows, kernel in blocks():
        left[rows] = 1 / np.maximum(kernel @ (right * released), 1e-300)
    return left, right


def optimal_linkage(
    mechanism: Mechanism, original: Records, released: Records, *, bound: float | None = None
) -> OptimalLinkage:
    """The strongest adversary against one release."""
    if len(original) != len(released):
        raise InvalidTable(
            f"The attacker's table has {counted(len(original), 'record')} and the release "
            f"{len(released):,}."
        )
    scores = likelihood_scores(mechanism)
    people = np.bincount(original.anonymity_set)
    exact = bool(people.max() <= EXACT_RECORDS)
    largest, total = 0.0, 0.0
    for number in np.flatnonzero(people):
        known = original.at(np.flatnonzero(original.anonymity_set == number))
        shown = released.at(np.flatnonzero(released.anonymity_set == number))
        if exact:
            likelihood = np.exp(np.maximum(scores.block(known, shown), -700))
            best = exact_posterior(likelihood).max(axis=1)
        else:
            wanted, seen = Cells.of(known), Cells.of(shown)
            best = _best_of_cells(scores, wanted, seen)[wanted.of_record]
        largest, total = max(largest, float(best.max())), total + float(best.sum())
    return OptimalLinkage(largest, total / len(original), len(original), exact, bound)


def _best_of_cells(scores: Scorer, wanted: Cells, seen: Cells) -> FloatArray:
    """The largest posterior of each true cell, by scaling."""
    pairs = len(wanted.numbers) * len(seen.numbers)
    if pairs > MOST_IN_BLOCKS:
        raise TooLarge(
            f"{len(wanted.numbers):,} original and {len(seen.numbers):,} released combinations are "
            f"{pairs:,} pairs, and at most {MOST_IN_BLOCKS:,} are compared. Give the attacker a "
            "coarser table, or measure linkage with 'pramana audit'."
        )
    if pairs <= MOST_HELD_PAIRS:
        logs = scores.block(wanted.records, seen.records)
        return np.asarray(scaled_posterior(logs, wanted.numbers, seen.numbers).max(axis=1))
    step = max(1, MOST_HELD_PAIRS // 4 // len(seen.numbers))

    def blocks() -> Iterator[tuple[slice, FloatArray]]:
        for begin in range(0, len(wanted.numbers), step):
            rows = slice(begin, min(begin + step, len(wanted.numbers)))
            records = wanted.records.at(np.arange(rows.start, rows.stop))
            yield rows, _kernel(scores.block(records, seen.records))

    left, right = _scaling(blocks, wanted.numbers, seen.numbers, close=CLOSE_IN_BLOCKS)
    best = np.zeros(len(wanted.numbers))
    for rows, kernel in blocks():
        best[rows] = (kernel * right).max(axis=1) * left[rows]
    return best
