"""Compiled loop of the conditional distribution functions of a Gaussian mixture."""

# Numba infers the types of every argument from the first call.
# mypy: disable-error-code="no-untyped-def", disallow-untyped-decorators=False

from __future__ import annotations

from pramana.kanonymity.kernels import kernel

LIMIT = 8.5  # deviations beyond which Phi is 0 or 1


@kernel
def deviations(points, b, rows, c, j, z):
    """Key j of the points in deviations of component c, given the keys before."""
    lanes = points.shape[2]
    scale, middle = rows[c, j, 0], rows[c, j, 1]
    for i in range(lanes):
        z[j, i] = points[b, j, i] * scale - middle
    for h in range(j):
        lean = rows[c, j, 3 + h]
        if lean != 0.0:
            for i in range(lanes):
                z[j, i] -= lean * z[h, i]


@kernel
def weigh(z, j, weight, scale, share, total, out, b):
    """What a component adds to both sums of key j, and its share after that key.

    exp(-y) is the 64th power of six terms of the series of exp(-y / 64); a polynomial times it
    is what Phi leaves [Abramowitz64, 7.1.26].
    """
    for i in range(z.shape[1]):
        far = abs(z[j, i])
        far = far if far < LIMIT else LIMIT
        x = far * far * (-1 / 128)
        e = 1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720)))
        e = 1.0 + x * (1.0 + x * (0.5 + x * e))
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        t = 1.0 / (1.0 + 0.23164188826106536 * far)
        q = 0.7107068705 + t * (-0.7265760135 + t * 0.5307027145)
        q = e * t * (0.127414796 + t * (-0.142248368 + t * q))
        q = q if z[j, i] < 0.0 else 1.0 - q
        own = weight * share[j, i]
        total[j, i] += own
        out[b, j, i] += own * q
        share[j + 1, i] = share[j, i] * e * scale


@kernel
def forward(points, rows, starts, z, share, total, out):
    """Uniform numbers for every point, key by key.

    points[b, j] holds key j of the points of block b: the inner loops run along these, and need
    nothing but sums and products, so that processors take several at once, and all get the same.
    Component c is that before it up to key starts[c]; rows[c, j] holds 1 / L_jj, mean_j / L_jj, the
    weight of all components that are the same up to j, and L_j,<j / L_jj.
    """
    blocks, d, lanes = points.shape
    for b in range(blocks):
        for j in range(d):
            for i in range(lanes):
                total[j, i] = 0.0
                out[b, j, i] = 0.0
        for c in range(starts.size):
            for j in range(starts[c], d):
                deviations(points, b, rows, c, j, z)
                weigh(z, j, rows[c, j, 2], rows[c, j, 0], share, total, out, b)
        for j in range(d):
            for i in range(lanes):
                out[b, j, i] /= total[j, i]
