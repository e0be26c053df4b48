"""Compiled loop of the conditional distribution functions of a Gaussian mixture."""

# Numba infers the types of every argument from the first call.
# mypy: disable-error-code="no-untyped-def", disallow-untyped-decorators=False

from __future__ import annotations

from pramana.kanonymity.kernels import compiled


@compiled
def forward(points, weights, rows, table, limit, steps, cut, z, share, alive, out):
    """Uniform numbers for every point, key by key; the arrays are those of mixture.py.

    rows[j, c] holds mean_j, 1 / L_jj and L_j,<j of component c. The table holds Phi and the
    density over its greatest value, each with its step to the next entry.
    """
    n, d = points.shape
    for i in range(n):
        held, top = weights.size, 0.0
        for c in range(held):
            alive[c] = c
            share[c] = weights[c]
            top = max(top, share[c])
        for j in range(d):
            mass, total, kept, floor, top = 0.0, 0.0, 0, cut * top, 0.0
            for a in range(held):
                c = alive[a]
                if share[c] < floor:
                    continue
                alive[kept] = c
                kept += 1
                gap = points[i, j] - rows[j, c, 0]
                for h in range(j):
                    gap -= rows[j, c, 2 + h] * z[c, h]
                gap *= rows[j, c, 1]
                z[c, j] = gap
                at = (min(max(gap, -limit), limit) + limit) * steps
                below = int(at)
                at -= below
                total += share[c]
                mass += share[c] * (table[below, 0] + at * table[below, 1])
                share[c] *= (table[below, 2] + at * table[below, 3]) * rows[j, c, 1]
                top = max(top, share[c])
            held = kept
            out[i, j] = mass / total
