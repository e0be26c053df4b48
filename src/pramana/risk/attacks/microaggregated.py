"""Nearest-record linkage against releases without published matrices [Wei, Sec. 4.3].

The attacker knows a person's original keys and picks the released record with the nearest keys,
one of them at random where several are. The chance to be right among ties is computed, not drawn:
one over their number. Methods that form groups of at least k are run once more on the same people,
with the pairing kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream
from pramana.base.translation import gettext
from pramana.engine.base import open_source
from pramana.errors import InvalidTable, NotCovered
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.methods.base import METHODS
from pramana.methods.microaggregated import Grouped
from pramana.microaggregation.groups import numbers_of
from pramana.release.certificate import Certificate
from pramana.risk.attacks.attacker_records import paired_groups
from pramana.schema.codec import encode, encode_released
from pramana.schema.joint_cells import distinct_rows, joint_groups, value_codes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column
from pramana.types import FloatArray, IntArray

TRIALS = 5_000
APART = 1e4
"""The distance of records of different anonymity sets, in standard deviations."""

TIE = 1e-9
"""Distances that differ by less, in proportion, are equal."""


def grouped_linkage(
    certificate: Certificate,
    original: OpenedTable,
    *,
    bound: float | None,
    keystream: Keystream,
    trials: int = TRIALS,
    most: int | None = None,
) -> Measured:
    """How often the nearest record is the person's own; of at most ``most`` people."""
    method = METHODS[certificate.method](**certificate.options)
    if not isinstance(method, Grouped):
        raise NotCovered(f"Method {certificate.method} forms no groups.")
    claims = [claim.asked or claim.attained for claim in certificate.claims]
    k = max((claim.k for claim in claims if isinstance(claim, KAnonymity)), default=1)
    runs = max(1, -(-trials // original.rows))
    sets = joint_groups([
        np.zeros(original.rows, np.int64),
        *(value_codes(original.to_arrow([n]).column(0)) for n in certificate.known_columns),
    ])  # fmt: skip
    targets = None
    if most is not None and most < original.rows:
        targets = np.sort(keystream.permutation(original.rows, "targets")[:most])
    chances = []
    for run in range(runs):
        seed = int(keystream.words("grouped runs", run, 1)[0] >> np.uint64(1))
        again = method.regrouped(
            certificate.schema, original, k=k, keystream=Keystream.from_seed(seed)
        )
        sides = _points(certificate.schema.randomised, original, open_source(again.table))
        before, after = (np.c_[points, sets * APART] for points in sides)
        chances.append(link_chances(before, after, targets=targets))
    return _measured(
        np.concatenate(chances),
        sets,
        keystream.uniforms("ties of grouped", 0, sum(map(len, chances))),
        bound=bound,
        guaranteed_by=None if bound is None else "k-anonymity",
        note=gettext(
            "Nearest record: groups were formed and keys replaced {runs} more times on the same "
            "people, with the pairing kept; the attacker knows the original keys of a person.",
            runs=runs,
        ),
    )


def withheld_linkage(
    certificate: Certificate, original: OpenedTable, released: OpenedTable, *, keystream: Keystream
) -> Measured:
    """How often the nearest record is the person's own, without matrices.

    The mechanism cannot be run again. But the owner recognises a record by its unchanged columns,
    where nobody else shares them: these people are attacked by their keys.
    """
    binned = {column.name for column in certificate.schema.binned}
    names = [c.name for c in certificate.schema.released_as_is if c.name not in binned]
    places, recognised = _recognised(original, released, names)
    if len(recognised) < FEWEST_TRIALS:
        raise NotCovered(
            "The nearest record was not tried: too few released records can be recognised by the "
            "columns that are released unchanged."
        )
    sets = paired_groups(original, released, certificate.known_columns)
    points = _points(certificate.schema.randomised, original, released)
    before, after = (np.c_[place, of * APART] for place, of in zip(points, sets, strict=True))
    chance = link_chances(before, after[places])[recognised]
    return _measured(
        chance,
        sets[0],
        keystream.uniforms("ties of withheld", 0, len(chance)),
        note=gettext(
            "Nearest record: of the {people:,} people whose record the owner recognises by the "
            "unchanged columns; the attacker knows the original keys of a person.",
            people=len(recognised),
        ),
    )


def _measured(
    chance: FloatArray,
    sets: IntArray,
    uniforms: FloatArray,
    *,
    note: str,
    bound: float | None = None,
    guaranteed_by: str | None = None,
) -> Measured:
    """A link is right or wrong: ties are drawn, so that the interval is a binomial one."""
    return Measured.of(
        "nearest record",
        hits=int((uniforms < chance).sum()),
        trials=len(chance),
        baseline=len(np.unique(sets)) / len(sets),
        bound=bound,
        guaranteed_by=guaranteed_by,
        note=note,
    )


def _recognised(
    original: OpenedTable, released: OpenedTable, names: Sequence[str]
) -> tuple[IntArray, IntArray]:
    """A place in the release for each person, and the people for whom it is surely their own."""
    rows = original.rows
    before, after = paired_groups(original, released, names)
    size = int(max(before.max(initial=0), after.max(initial=0))) + 1
    unique = (np.bincount(before, minlength=size) == 1) & (np.bincount(after, minlength=size) == 1)
    place_of = np.full(size, -1)
    place_of[after] = np.arange(rows)
    people = np.flatnonzero(unique[before])
    places = np.full(rows, -1)
    places[people] = place_of[before[people]]
    places[places < 0] = np.setdiff1d(np.arange(rows), places[people])
    return places, people


def _points(
    columns: Sequence[Column], original: OpenedTable, released: OpenedTable
) -> tuple[FloatArray, FloatArray]:
    """Both tables as points: numbers in units of their spread, unordered values apart by one."""
    sides: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for column in columns:
        both = [table.to_arrow([column.name]).column(0) for table in (original, released)]
        if column.domain is None:
            both = [numbers_of(column.name, values) for values in both]
        else:
            both = [encode(column, both[0]), encode_released(column, both[1])]
            both = [codes.astype(np.float64) for codes in both]
        if column.domain is not None and not column.ordered:
            corners = np.eye(len(column.labels)) / np.sqrt(2)
            for side, codes in zip(sides, both, strict=True):
                side.append(corners[codes.astype(np.int64)])
            continue
        if column.domain is not None:
            both = [np.where(codes >= column.domain.size, np.nan, codes) for codes in both]
        mean, spread = np.nanmean(both[0]), np.nanstd(both[0]) or 1.0
        # A missing value is one spread beyond the others, as near to itself as any.
        beyond = (np.nanmax(both[0]) - mean) / spread + 1
        for side, values in zip(sides, both, strict=True):
            side.append(np.where(np.isnan(values), beyond, (values - mean) / spread)[:, None])
    return np.concatenate(sides[0], axis=1), np.concatenate(sides[1], axis=1)


def link_chances(
    original: FloatArray, released: FloatArray, *, targets: IntArray | None = None
) -> FloatArray:
    """For every person the chance that the nearest released record is the person's own.

    Row i of both tables is the same person; columns are keys on comparable scales. With ``targets``
    only of these people, among all records.

    >>> link_chances(np.array([[0.0], [1.0]]), np.array([[0.0], [0.0]])).tolist()
    [0.5, 0.5]
    """
    from scipy.spatial import cKDTree

    if original.shape != released.shape:
        raise InvalidTable(
            f"Truth and release must hold the same people and keys: {original.shape[0]} x "
            f"{original.shape[1]} and {released.shape[0]} x {released.shape[1]}."
        )
    rows = slice(None) if targets is None else targets
    values, places = distinct_rows(np.concatenate([released, original]))
    given, known = places[: len(released)], places[len(released) :][rows]
    records = np.bincount(given, minlength=len(values))
    chances = np.zeros(len(known))
    same = known == given[rows]  # nothing is nearer than an equal one
    chances[same] = 1 / records[known[same]]
    apart = np.flatnonzero(records[known] == 0)
    if not len(apart):
        return chances
    present = np.flatnonzero(records)
    people, of_person = distinct_rows(original[rows][apart])
    tree = cKDTree(values[present])
    reach = tree.query(people)[0] * (1 + TIE) + 1e-300
    distance = np.linalg.norm(original[rows][apart] - released[rows][apart], axis=1)
    nearest = distance <= reach[of_person]
    wanted = np.unique(of_person[nearest])
    ties = np.zeros(len(people))
    balls = tree.query_ball_point(people[wanted], reach[wanted])
    ties[wanted] = [records[present][ball].sum() for ball in balls]
    chances[apart[nearest]] = 1 / ties[of_person[nearest]]
    return chances
