"""Re-identification by the nearest record [Wei, sec. 4.3].

Somebody who knows a person's true keys picks the released record whose keys are nearest, one of
them at random where several are. The pick is right where it is the person's own record. What
comes of the random choice among ties is computed, not drawn: it is one over their number.
"""

from __future__ import annotations

import numpy as np

from pramana.errors import InvalidTable
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
    from scipy.spatial import cKDTree

    if truth.shape != released.shape:
        raise InvalidTable(
            f"Truth and release must hold the same people and keys: {truth.shape[0]} x "
            f"{truth.shape[1]} and {released.shape[0]} x {released.shape[1]}."
        )
    values, records = np.unique(released, axis=0, return_counts=True)
    if targets is not None:
        truth, released = truth[targets], released[targets]
    people, of_person = np.unique(truth, axis=0, return_inverse=True)
    of_person = of_person.ravel()
    tree = cKDTree(values)
    reach = tree.query(people)[0] * (1 + TIE) + 1e-300
    found = np.linalg.norm(truth - released, axis=1) <= reach[of_person]
    wanted = np.unique(of_person[found])
    ties = np.zeros(len(people))
    balls = tree.query_ball_point(people[wanted], reach[wanted])
    ties[wanted] = [records[ball].sum() for ball in balls]
    chances = np.zeros(len(truth))
    chances[found] = 1 / ties[of_person[found]]
    return chances
