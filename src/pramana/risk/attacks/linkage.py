"""Linkers: given a person's true keys, which released record is theirs?

A linker is a table of scores for each step, added up over the steps, plus a score for the released
cell itself. It picks a record with the highest score, ties at random. Two of them:

    nearest      minus the squared distance between true and released values       [Wei, Sec. 4.3]
    likelihood   ln P[truth -> released] - ln (expected number released so): the posterior that
                 a record is the person's, up to a factor, for who knows all matrices and the
                 original data

The denominator of the second is exact for one record and nearly so for many: given the released
table, Sinkhorn's scaling (see optimal.py) would change it by terms of the order of one record.

How often the nearest and the likeliest record are right, on the same people run once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream, Stream
from pramana.base.text import percent
from pramana.errors import TooLarge
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, Step
from pramana.mechanisms.sparse_rows import DENSE_LIMIT, SparseRows
from pramana.risk.attacks.records import (
    Cells,
    Records,
    ReportScores,
    code_sizes,
    expected_reports,
    rerun,
)
from pramana.risk.attacks.scores import (
    COMPILED,
    TIE,
    CellScores,
    HalvedLinks,
    MovedScores,
    Scorer,
    Scores,
    expected_in_halves,
    in_halves,
    log_of,
)
from pramana.schema.joint_cells import cell_codes
from pramana.schema.schema import Column, Schema
from pramana.types import FloatArray, IntArray

BLOCK = 200_000
"""Scores that are worked on at once: they stay in the cache."""

MOST_PAIRS = 2_000_000_000
"""Pairs of cells that are compared before targets are sampled."""

DENSE_CELLS = 40_000_000


def likelihood_scores(mechanism: Mechanism) -> Scorer:
    """Logarithms of the probabilities; what cannot happen scores next to nothing."""
    if isinstance(mechanism, AttributeSampler):
        return ReportScores(mechanism)
    large = _only_large(mechanism)
    if large is not None:
        return MovedScores(large)
    return Scores(
        tuple(tuple(log_of(matrix.values) for matrix in step.matrices) for step in mechanism)
    )


def _only_large(mechanism: Mechanism) -> SparseRows | None:
    """The matrix of a mechanism that has one, over too many cells to write it out."""
    matrices = [matrix for step in mechanism for matrix in step.matrices]
    if len(matrices) != 1 or not isinstance(matrices[0], SparseRows):
        return None
    return matrices[0] if matrices[0].size > DENSE_LIMIT else None


def _nearest_cells(step: Step, schema: Schema, codes: IntArray) -> CellScores:
    """Minus squared distances of the columns of a step, without a table of all its cells."""
    tables, places = [], _places(step, schema)
    for name, own in zip(step.columns, places, strict=True):
        column = schema.column(name)
        every = np.arange(len(column.labels))
        shares = np.bincount(own[codes], minlength=len(every)) / max(len(codes), 1)
        tables.append(-_distances(column, every, shares))
    return CellScores(tuple(tables), tuple(places))


def nearest_scores(mechanism: Mechanism, schema: Schema, truth: Records) -> Scorer:
    """Minus squared distances, each column in units of its own spread among the true records."""
    if isinstance(mechanism, AttributeSampler):
        return _nearest_reports(mechanism, schema, truth)
    if _only_large(mechanism) is not None:
        (step,) = mechanism
        return _nearest_cells(step, schema, truth.codes[0])
    tables = []
    for step, codes in zip(mechanism, truth.codes, strict=True):
        size = len(step.labels)
        shares = np.bincount(codes, minlength=size) / max(len(codes), 1)
        places = _places(step, schema)
        squared = np.zeros((size, size))
        for column, own in zip(step.columns, places, strict=True):
            squared += _distances(schema.column(column), own, shares)
        tables.append((-squared,) * len(step.matrices))
    return Scores(tuple(tables))


def _nearest_reports(mechanism: AttributeSampler, schema: Schema, truth: Records) -> Scores:
    """The same for reports: a column that was not asked is as far as others are on average."""
    tables = []
    for name, codes in zip(mechanism.columns, truth.codes[:-1], strict=True):
        labels = mechanism.labels_of(name)
        shares = np.bincount(codes, minlength=len(labels))[: len(labels)] / max(len(codes), 1)
        known = {label: at for at, label in enumerate(schema.column(name).labels)}
        places = np.array([known[label] for label in labels])
        squared = _distances(schema.column(name), places, shares)
        tables.append((-np.column_stack([squared, squared @ shares]),))
    return Scores((*tables, (np.zeros((1, len(mechanism.sets))),)))


def _places(step: Step, schema: Schema) -> list[IntArray]:
    """For each column of a step the code of each cell of the step."""
    if len(step.columns) == 1:
        return [np.arange(len(step.labels))]
    return list(cell_codes([schema.column(name).labels for name in step.columns], step.labels))


def _distances(column: Column, places: IntArray, shares: FloatArray) -> FloatArray:
    """Squared distances between the cells of a step by one of its columns.

    Ordered values stand at their positions, divided by the standard deviation; between unordered
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


@dataclass(frozen=True, eq=False)
class LinkOutcome:
    """What a linker finds for the targets.

    Attributes:
        targets: the people attacked.
        chance: for each the chance to pick the right record, ties at random.
        confidence: what the linker itself believes that chance to be.
    """

    targets: IntArray
    chance: FloatArray
    confidence: FloatArray


def link(
    scores: Scorer,
    truth: Records,
    released: Records,
    *,
    sizes: Sequence[int],
    targets: IntArray,
    offsets: FloatArray | None = None,
    wanted: Cells | None = None,
    seen: Cells | None = None,
) -> LinkOutcome:
    """Attack some people of a table whose released records stand in the same order.

    ``offsets`` are added to the scores of each released record: minus ln of the expected number.
    Who links often says which targets (``wanted``) and which released records (``seen``) are alike.
    """
    seen = Cells.of(released, sizes) if seen is None else seen
    wanted = Cells.of(truth.at(targets), sizes) if wanted is None else wanted
    bonus = np.zeros(len(seen.numbers))
    if offsets is not None:
        bonus[seen.of_record] = offsets
    best, tied, mass = _best(scores, wanted, seen, bonus, sizes)
    own = scores.between(truth.at(targets), released.at(targets)) + bonus[seen.of_record[targets]]
    cell = wanted.of_record
    right = own >= best[cell] - TIE
    return LinkOutcome(targets, np.where(right, 1 / tied[cell], 0.0), 1 / mass[cell])


def _best(
    scores: Scorer, wanted: Cells, seen: Cells, bonus: FloatArray, sizes: Sequence[int]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each cell the best score in its anonymity set, how many have it, and what all come to."""
    best = np.full(len(wanted.numbers), -np.inf)
    tied, mass = np.zeros(len(wanted.numbers)), np.zeros(len(wanted.numbers))
    quick, people, told = in_halves(scores, wanted.records, seen.records, sizes)
    if quick is not scores and len(people) * len(told) > COMPILED:
        sides = HalvedLinks(quick, people, told, bonus, seen.numbers)
        for rows, columns in blocks(wanted, seen, most=2**62):
            best[rows], tied[rows], mass[rows] = sides.links(rows, columns)
    else:
        rows, columns = _only_ones(wanted, seen)
        if len(rows):
            best[rows] = quick.between(people.at(rows), told.at(columns)) + bonus[columns]
            tied[rows] = mass[rows] = seen.numbers[columns]
        for rows, columns in blocks(wanted, seen, but=1):
            block = quick.block(people.at(rows), told.at(columns)) + bonus[columns]
            highest = block.max(axis=1)
            best[rows] = highest
            tied[rows] = (block >= highest[:, None] - TIE) @ seen.numbers[columns]
            mass[rows] = np.exp(np.maximum(block - highest[:, None], -700)) @ seen.numbers[columns]
    return best, tied, mass


def _only_ones(wanted: Cells, seen: Cells) -> tuple[IntArray, IntArray]:
    """Cells that have one released cell in their anonymity set, all at once."""
    anonymity_sets = int(max(c.records.anonymity_set.max(initial=-1) for c in (wanted, seen))) + 1
    alone = np.bincount(seen.records.anonymity_set, minlength=anonymity_sets) == 1
    place = np.zeros(anonymity_sets, np.int64)
    place[seen.records.anonymity_set] = np.arange(len(seen.numbers))
    rows = np.flatnonzero(alone[wanted.records.anonymity_set])
    return rows, place[wanted.records.anonymity_set[rows]]


def blocks(
    wanted: Cells, seen: Cells, *, most: int = BLOCK, but: int | None = None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows and columns of an anonymity set, this many rows that a block fits in memory.

    Crowds of ``but`` this many released cells are left out.
    """
    told = np.bincount(seen.records.anonymity_set, minlength=len(wanted.by_anonymity_set))
    for anonymity_set in np.flatnonzero(told[: len(wanted.by_anonymity_set)] != but).tolist():
        rows = wanted.by_anonymity_set[anonymity_set]
        if not len(rows):
            continue
        columns = (
            seen.by_anonymity_set[anonymity_set] if told[anonymity_set] else np.zeros(0, np.int64)
        )
        step = max(1, most // max(len(columns), 1))
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step], columns


def expected_released(
    mechanism: Mechanism,
    truth: Records,
    released: Records,
    *,
    cells: Cells | None = None,
    seen: Cells | None = None,
) -> FloatArray:
    """Ln of the expected number of records of the same anonymity set released like each record.

    Who asks often says which true (``cells``) and which released records (``seen``) are alike.
    """
    if isinstance(mechanism, AttributeSampler):
        return expected_reports(mechanism, truth, released)
    sizes = code_sizes(mechanism)
    cells = Cells.of(truth, sizes) if cells is None else cells
    seen = Cells.of(released, sizes) if seen is None else seen
    logs = np.zeros(len(seen.numbers))
    anonymity_sets = (
        int(max(truth.anonymity_set.max(initial=0), released.anonymity_set.max(initial=0))) + 1
    )
    simple = all(len(step.matrices) == 1 for step in mechanism)
    if simple and anonymity_sets * int(np.prod(sizes, dtype=np.float64)) <= DENSE_CELLS:
        logs = _expected_dense(mechanism, cells, seen, [anonymity_sets, *sizes])
    elif simple and (found := expected_in_halves(mechanism, cells, seen, sizes)) is not None:
        logs = found
    else:
        _require_few(cells, seen)
        scores = likelihood_scores(mechanism)
        for columns, rows in blocks(seen, cells):
            block = scores.block(cells.records.at(rows), seen.records.at(columns))
            logs[columns] = np.log(cells.numbers[rows] @ np.exp(np.maximum(block, -700)))
    every: FloatArray = logs[seen.of_record]
    return every


def _expected_dense(
    mechanism: Mechanism, cells: Cells, seen: Cells, shape: Sequence[int]
) -> FloatArray:
    """By pushing the whole table through the matrices, axis by axis."""
    table = np.zeros(shape)
    table[(cells.records.anonymity_set, *cells.records.codes)] = cells.numbers
    for axis, step in enumerate(mechanism, start=1):
        table = step.matrices[0].apply(table, axis=axis)
    values = table[(seen.records.anonymity_set, *seen.records.codes)]
    return np.asarray(np.log(np.maximum(values, 1e-300)), dtype=np.float64)


def _require_few(cells: Cells, seen: Cells) -> None:
    pairs = len(cells.numbers) * len(seen.numbers)
    if pairs > MOST_PAIRS:
        raise TooLarge(
            f"{len(cells.numbers):,} true and {len(seen.numbers):,} released combinations are more "
            "than can be compared. Audit a sample of the records."
        )


TRIALS = 10_000
"""This many links are tried, over several runs where the table is smaller."""

QUICK_PAIRS = 100_000_000
FEWEST_SOON = 1_000
"""Where an answer is wanted soon: this many pairs are compared, this many people looked for
anyway."""

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
        truth: Records,
        *,
        keystream: Keystream,
        trials: int = TRIALS,
        most: int | None = None,
    ) -> Links:
        """Run the mechanism again, with the pairing kept, and link.

        With ``most`` no more than this many people are looked for, where the table has more.
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
        guess = float(np.mean(1 / np.bincount(truth.anonymity_set)[truth.anonymity_set]))
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
    """Everybody, or this many drawn at random that the comparisons stay within bounds."""
    most = max(MOST_PAIRS // 4 // max(cells, 1), 1_000)
    if few is not None:
        most = min(most, few, max(QUICK_PAIRS // max(cells, 1), FEWEST_SOON))
    if most >= len(truth):
        return np.arange(len(truth))
    return np.sort(keystream.permutation(len(truth), "targets")[:most])


def _measured(
    name: str,
    found: Sequence[LinkOutcome],
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


def _surest(found: Sequence[LinkOutcome]) -> LinkOutcome:
    """The links that the linker itself is surest of."""
    confidence = np.concatenate([part.confidence for part in found])
    many = int(len(confidence) * CONFIDENT)
    best = np.argsort(-confidence, kind="stable")[:many]
    chance = np.concatenate([part.chance for part in found])[best]
    targets = np.concatenate([part.targets for part in found])[best]
    return LinkOutcome(targets, chance, confidence[best])
