"""Re-identification by the nearest record [Wei, sec. 4.3].

Somebody who knows a person's true keys picks the released record whose keys are nearest, one of
them at random where several are. The pick is right where it is the person's own record. What
comes of the random choice among ties is computed, not drawn: it is one over their number.
"""

from __future__ import annotations

import numpy as np

from pramana.errors import InvalidTable
from pramana.schema.joint_cells import distinct_rows
from pramana.types import FloatArray, IntArray

__all__ = ["link_chances"]


TIE = 1e-9
"""Distances that differ by less, in proportion, are equal."""


def link_chances(
    truth: FloatArray, released: FloatArray, *, targets: IntArray | None = None
) -> FloatArray:
    """For every person the chance that the nearest released record is the person's own.

    Row i of both tables is the same person; columns are keys on comparable scales. With ``targets``
    only of these people, among all records.

    >>> link_chances(np.array([[0.0], [1.0]]), np.array([[0.0], [0.0]])).tolist()
    [0.5, 0.5]
    """
    if truth.shape != released.shape:
        raise InvalidTable(
            f"Truth and release must hold the same people and keys: {truth.shape[0]} x "
            f"{truth.shape[1]} and {released.shape[0]} x {released.shape[1]}."
        )
    rows = slice(None) if targets is None else targets
    values, places = distinct_rows(np.concatenate([released, truth]))
    given, known = places[: len(released)], places[len(released) :][rows]
    records = np.bincount(given, minlength=len(values))
    chances = np.zeros(len(known))
    same = known == given[rows]  # nothing is nearer than an equal one
    chances[same] = 1 / records[known[same]]
    apart = np.flatnonzero(records[known] == 0)
    there = np.flatnonzero(records)
    chances[apart] = _apart(
        values[there], records[there], truth[rows][apart], released[rows][apart]
    )
    return chances


def _apart(
    values: FloatArray, records: IntArray, truth: FloatArray, released: FloatArray
) -> FloatArray:
    """The same of people whom no released record equals; ``values`` are held by ``records``."""
    from scipy.spatial import cKDTree

    chances = np.zeros(len(truth))
    if not len(truth):
        return chances
    people, of_person = distinct_rows(truth)
    tree = cKDTree(values)
    reach = tree.query(people)[0] * (1 + TIE) + 1e-300
    found = np.linalg.norm(truth - released, axis=1) <= reach[of_person]
    wanted = np.unique(of_person[found])
    ties = np.zeros(len(people))
    balls = tree.query_ball_point(people[wanted], reach[wanted])
    ties[wanted] = [records[ball].sum() for ball in balls]
    chances[found] = 1 / ties[of_person[found]]
    return chances
