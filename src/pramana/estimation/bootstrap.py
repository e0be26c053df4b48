"""Standard errors of the regularised EM.

There is no formula for an estimate that chooses its own model. So releases are drawn from the
fitted distribution and fitted again. About these records, the error is what the fit adds plus what
even the right distribution could not say: given the release and the distribution, the truth of
each record is still a draw, and the variance of that is known in closed form.

What a bootstrap cannot see is dependence that the fit has smoothed away. Intervals therefore rest
on the unbiased estimate.
"""

from __future__ import annotations

import numpy as np

from pramana.estimation.channels import Channels
from pramana.estimation.em import divide, expected_truth
from pramana.estimation.moments import Moments
from pramana.estimation.regularised_em import fit, refit
from pramana.estimation.variance import Inference
from pramana.randomness import Keystream
from pramana.types import FloatArray

__all__ = ["em_errors"]

REPEATS = 20
CELLS = 20_000
"""Above so many cells nothing is drawn again: the closed part of the error is what is reported."""


def em_errors(
    moments: Moments,
    channels: Channels,
    *,
    infer: Inference,
    errors: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Estimates by the regularised EM, and their standard errors, by group.

    Without ``errors`` nothing is drawn again, and standard errors are ``nan``.
    """
    whole = Channels(channels.layout.only(range(len(channels.layout.axes))))
    scale = float(moments.w.sum()) / max(moments.effective, 1e-300)
    released = moments.w / scale
    fitted = fit(released, whole)
    truth = fitted.truth(released, whole)
    if not errors:
        found = channels.merge(truth) * scale
        return found, np.full_like(found, np.nan)
    assigned = channels.merge(_assignment_variance(released, fitted.table, whole))
    if released.size > CELLS:
        return channels.merge(truth) * scale, np.sqrt(assigned) * scale
    squares = np.zeros_like(assigned)
    for repeat in range(REPEATS):
        drawn = _drawn(whole.forward(fitted.table), repeat)
        again = refit(drawn, whole, fitted.pulls).truth(drawn, whole)
        if infer == "records":
            right = expected_truth(drawn, fitted.table, whole)
        else:
            right, assigned = fitted.table, np.zeros_like(assigned)
        squares += channels.merge(again - right) ** 2
    found = np.sqrt(squares / REPEATS + assigned)
    return channels.merge(truth) * scale, found * scale


def _assignment_variance(released: FloatArray, table: FloatArray, channels: Channels) -> FloatArray:
    """The variance of the true counts, given the release and the distribution of the truth.

    Released cell l comes from truth k with probability q_kl = p_k P_kl / f_l, so the variance is
    the sum over l of y_l q_kl (1 - q_kl).
    """
    expected = channels.forward(table)
    share = table * channels.backward(divide(released, expected))
    again = table**2 * channels.backward_squared(divide(released, expected**2))
    return np.maximum(share - again, 0)


def _drawn(expected: FloatArray, repeat: int) -> FloatArray:
    """Poisson counts: the inverse of the distribution function at uniform numbers."""
    from scipy.special import pdtrik

    stream = Keystream.from_seed(1)
    uniforms = stream.uniforms("bootstrap", repeat * expected.size, expected.size)
    uniforms = uniforms.reshape(expected.shape)
    counts = np.zeros_like(expected)
    some = (expected > 0) & (uniforms > np.exp(-expected))
    counts[some] = np.ceil(pdtrik(uniforms[some], expected[some]))
    return counts
