"""The experiments on inverse-frequency post-randomisation [Ghatak, Sec. 3 and 4].

They are Table 1 (block sizes), the matrix of the example, its simulation, and a case that the
method of the paper does not cover: a block with two rare values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pramana.errors import Infeasible
from pramana.experiments.harness import Experiment, Finding, Setting, Size, histograms, lines
from pramana.guarantees.correct_match import CorrectMatch
from pramana.mechanisms.sampler import sample
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import TransitionMatrix
from pramana.methods.frequency_preserving import block_size, inverse_frequency_design
from pramana.methods.symmetric_flows import theta_of
from pramana.types import Form

TITLE = "Inverse-frequency post-randomisation: a bound on the chance of a correct match"

XIS = (0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3)
TABLE_1 = {
    1: (11, 9, 8, 7, 6, 5, 5),
    2: (6, 5, 5, 4, 4, 3, 3),
    3: (5, 4, 3, 3, 3, 2, 2),
    4: (4, 3, 3, 2, 2, 2, 2),
    5: (3, 3, 2, 2, 2, 2, 2),
    6: (3, 2, 2, 2, 2, 2, 2),
} | dict.fromkeys(range(7, 11), (2,) * 7)
"""Least block sizes by frequency and xi."""

FREQUENCIES = {1: 2, 2: 205, 3: 431, 4: 106, 5: 230, 6: 221, 7: 611, 8: 194}
ERRORS = (4.9350e-07, 7.6125e-07, 0.0, 7.4300e-07, 8.8550e-07, 7.8375e-07, 0.0, 8.5550e-07)
MATRIX = (
    (0.172, 0.166, 0.0, 0.166, 0.166, 0.166, 0.0, 0.166),
    (0.002, 0.992, 0.0, 0.002, 0.002, 0.002, 0.0, 0.002),
    (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.003, 0.003, 0.0, 0.984, 0.003, 0.003, 0.0, 0.003),
    (0.001, 0.001, 0.0, 0.001, 0.993, 0.001, 0.0, 0.001),
    (0.001, 0.001, 0.0, 0.001, 0.001, 0.993, 0.0, 0.001),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0),
    (0.002, 0.002, 0.0, 0.002, 0.002, 0.002, 0.0, 0.991),
)
"""The printed matrix: rows are true categories, to three decimals."""

HALF_A_DIGIT = 0.0005 + 1e-9
"""By how much a number may differ from one that is printed to three decimals."""

MATCH = 0.07639286
XI = 0.1
UNLIKELY = 4.0
"""Standard errors that a mean of eight exceeds once in two thousand runs."""


def steps(size: Size) -> int:
    """One for the table, one for every hundred simulations, one for the design."""
    return 2 + _simulations(size) // 100


def _simulations(size: Size) -> int:
    return 300 if size == "quick" else 1_000


def run(setting: Setting) -> Experiment:
    """The paper's numbers."""
    sizes = {t: tuple(block_size(t, xi) for xi in XIS) for t in TABLE_1}
    differ = sum(a != b for t in TABLE_1 for a, b in zip(sizes[t], TABLE_1[t], strict=True))
    setting.advance()
    matrix = _paper_block(FREQUENCIES, theta_of(2, 1 / XI), 6)
    simulated = _simulate(matrix, setting)
    setting.advance()
    findings = (
        Finding(
            "Is Table 1 reproduced, all 70 block sizes?",
            "70 printed",
            f"{70 - differ} of 70 equal",
            differ == 0,
            "all 70",
        ),
        Finding(
            "Is theta for T = 2 and xi = 0.1 the printed one?",
            "1.656854",
            f"{theta_of(2, 1 / XI):.6f}",
            abs(theta_of(2, 1 / XI) - 1.656854) < 1e-6,
            "to six decimals",
        ),
        _matrix_finding(matrix),
        *_simulation_findings(simulated, matrix),
        Finding(
            "Are frequencies unchanged in expectation (t P = t)?",
            "yes, by construction",
            f"largest difference {_drift(matrix):.1e} records",
            _drift(matrix) < 1e-9,
            "below 1e-9 records",
        ),
        _attainable_finding(FREQUENCIES),
    )
    return Experiment(
        data="the frequencies that the paper prints (its Table 2), no file needed",
        findings=findings,
        tables={
            "table_1": {"frequency": list(sizes)}
            | {f"xi_{xi}": [sizes[t][j] for t in sizes] for j, xi in enumerate(XIS)},
            "matrix": {"truth": [float(i) for i in FREQUENCIES]}
            | {f"to_{j}": matrix.values[:, p].tolist() for p, j in enumerate(FREQUENCIES)},
            "simulation": simulated["table"],
        },
        pictures={
            "block_sizes": lines(
                "Least block size by frequency (Table 1)",
                "frequency of the rare category",
                "block size",
                {
                    f"xi = {xi}": (list(sizes), [sizes[t][j] for t in sizes])
                    for j, xi in enumerate(XIS)
                },
            ),
            "correct_match": histograms(
                "Chance of a correct match in each simulation",
                "P[correct match]",
                "simulations",
                {"T = 2, xi = 0.1": simulated["matches"]},
                level=XI,
                note="The dashed line is xi.",
            ),
        },
        remarks=(
            "The minimum block size is the ceiling of T / (T - theta), at least 2; the text of the "
            "paper says the largest integer contained in it, its table has the ceiling.",
            "The method protects one rare category. Other rare categories of its block can stay "
            "above xi; the design here checks every category that the block touches.",
        ),
    )


def _attainable_finding(frequencies: Mapping[int, int]) -> Finding:
    """Full mixing of n records gives 1/n, and nothing less: what Lemma 3.2 takes as given."""
    records = sum(frequencies.values())
    least, below = (1 + 1e-6) / records, 0.99 / records
    attained = inverse_frequency_design(frequencies, xi=least).attained.xi
    try:
        inverse_frequency_design(frequencies, xi=below)
        refused = False
    except Infeasible:
        refused = True
    return Finding(
        "Can every xi in (0, 1) be met?",
        "yes (Lemma 3.2)",
        f"the least is 1/{records:,}: {attained:.7f} is attained, {below:.7f} is "
        f"{'refused' if refused else 'not refused'}",
        not refused,
        "a design for xi below 1/n",
        "the lemma takes a block of enough records as given, and full mixing of all records gives "
        "1/n; --relax takes the least attainable instead"
        if attained <= least and refused
        else "",
    )


def _paper_block(frequencies: dict[Any, int], theta: float, size: int) -> SparseRows:
    """The paper's matrix: equal flows theta / (size - 1) among the ``size`` least frequent."""
    labels = tuple(frequencies)
    block = sorted(frequencies, key=lambda i: frequencies[i])[:size]
    pairs = [(i, j) for i in block for j in block if i != j]
    return SparseRows.of(
        labels,
        rows=[labels.index(i) for i, _ in pairs],
        columns=[labels.index(j) for _, j in pairs],
        probabilities=[theta / ((size - 1) * frequencies[i]) for i, _ in pairs],
    )


def _drift(matrix: TransitionMatrix) -> float:
    times = np.array(list(FREQUENCIES.values()), dtype=np.float64)
    return float(np.abs(matrix.apply(times) - times).max())


def _simulate(matrix: TransitionMatrix, setting: Setting) -> Form:
    """Simulated releases: means, squared errors, and the chance that a guess is right."""
    times = np.array(list(FREQUENCIES.values()))
    original = np.repeat(np.arange(len(times)), times).astype(np.uint8)
    counts, matches = [], []
    for number in range(_simulations(setting.size)):
        words = setting.keystream.words("ghatak", number * original.size, original.size)
        new = np.asarray(sample(matrix, original, words))
        counts.append(np.bincount(new, minlength=len(times)))
        # One given person of the two of category 1 stayed, and is picked among all released there.
        stayed = (new[original == 0] == 0).mean()
        matches.append(stayed / counts[-1][0] if counts[-1][0] else 0.0)
        if number % 100 == 99:
            setting.advance()
    released = np.array(counts)
    squares = np.square((released - times) / times.sum())
    mean, root = released.mean(axis=0), len(released) ** 0.5
    table = {
        "category": list(FREQUENCIES),
        "mean_squared_error": squares.mean(axis=0),
        "standard_error": squares.std(axis=0) / root,
        "paper": list(ERRORS),
        "frequency": times,
        "mean_released_frequency": mean,
    }
    drift = np.abs((mean - times) / np.maximum(released.std(axis=0) / root, 1e-9)).max()
    return {"matches": np.array(matches), "drift": float(drift), "table": table}


def _matrix_finding(matrix: SparseRows) -> Finding:
    rounded = np.abs(matrix.values - np.array(MATRIX))
    worst = float(rounded.max())
    equal = int((rounded <= HALF_A_DIGIT).sum())
    return Finding(
        "Is the printed 8 x 8 matrix reproduced entry by entry?",
        "64 entries to three decimals",
        f"{equal} of 64 equal to three decimals, the largest difference is {worst:.4f}",
        equal == rounded.size,
        "all 64 to three decimals",
    )


def _simulation_findings(simulated: Form, matrix: SparseRows) -> tuple[Finding, ...]:
    matches, drift = simulated["matches"], simulated["drift"]
    errors, error_se = (simulated["table"][n] for n in ("mean_squared_error", "standard_error"))
    mean, se = float(matches.mean()), float(matches.std() / len(matches) ** 0.5)
    worst = float(np.nanmax(np.abs(errors - ERRORS) / np.maximum(error_se, 1e-12)))
    bound = CorrectMatch.of(matrix, FREQUENCIES).xi
    return (
        Finding(
            "Is the average chance of a correct match below xi = 0.1, about 0.0764?",
            f"{MATCH:.4f} in 1,000 simulations (the exact expectation is 0.0785)",
            f"{mean:.4f} +- {1.96 * se:.4f} in {len(matches):,}",
            mean < XI and abs(mean - 0.0785) < 4 * se,
            "below xi, and within 4 standard errors of the exact expectation",
        ),
        Finding(
            "Are the mean squared errors of the shares the printed ones?",
            "0 to 8.9e-07",
            f"0 to {errors.max():.1e}; the largest difference is {worst:.1f} standard errors",
            bool(errors.max() < 1.3e-6) and worst < 6,
            "at most 1.3e-06, and within 6 standard errors",
        ),
        Finding(
            "Are released frequencies unbiased as released?",
            "yes, by construction",
            f"the means of {len(matches):,} simulations are within {drift:.1f} standard errors of "
            "the true frequencies",
            drift < UNLIKELY,
            f"each of eight means within {UNLIKELY:g} standard errors",
        ),
        Finding(
            "Is the chance below xi whatever frequency is released?",
            "bounded by psi = 0.1",
            f"exact largest {bound:.6f}",
            bound <= XI * (1 + 1e-9),
            "at most xi",
        ),
    )
