"""A bet against a stated alpha: fair where it holds, and won where it is far too small."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.guarantees.spontaneous_recognition import (
    SpontaneousRecognition,
    choices_of_keys,
    log_stake,
)
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense
from pramana.schema.joint_cells import Counts
from pramana.verification.verify import verify_folder

LABELS = ("u", "v"), ("x", "y", "z")


def _matrix(labels, seed):
    """A matrix with some zeros, of few digits."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 4, (len(labels), len(labels))) + 2 * np.eye(len(labels), dtype=int)
    return Dense.of(labels, rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("joint", [False, True])
def test_over_all_releases_the_mean_stake_is_at_most_one(seed, width, joint):
    """Every release of every small table, with its exact chance, at the alpha that holds."""
    random = np.random.default_rng(seed)
    cells = list(itertools.product(*LABELS))
    if joint:
        steps = [Step(("a", "b"), _matrix(tuple(cells), seed))]
        rows = steps[0].matrix.values
    else:
        steps = [Step((n,), _matrix(own, seed)) for n, own in zip("ab", LABELS, strict=True)]
        rows = np.kron(*(step.matrix.values for step in steps))
    truth = random.integers(0, len(cells), 4)
    codes = np.array(list(np.ndindex(2, 3)))
    counts = Counts.of_codes("ab", LABELS, list(codes[truth].T))
    held = SpontaneousRecognition.of(Mechanism(tuple(steps)), counts, width=width)
    choices = choices_of_keys(("a", "b"), width=width)
    mean = 0.0
    for made in itertools.combinations_with_replacement(range(len(cells)), 4):
        orders = set(itertools.permutations(made))
        chance = sum(math.prod(rows[x, y] for x, y in zip(truth, o, strict=True)) for o in orders)
        released = Counts.of_codes("ab", LABELS, list(codes[list(made)].T))
        stake = log_stake(Mechanism(tuple(steps)), released, choices, held.alpha)
        mean += chance * math.exp(stake)
    assert 0 < mean <= 1


def test_an_alpha_far_below_what_holds_is_found_by_anyone(tmp_path):
    """The same release with a twentieth of its alpha; a sound one passes."""
    random = np.random.default_rng(1)
    shares = np.exp(-0.8 * np.arange(4))
    truth = pa.table({
        "a": random.choice(list("uvwx"), 400, p=shares / shares.sum()),
        "b": random.choice(list("xyz"), 400),
        "town": random.choice(["n", "s"], 400),
    })  # fmt: skip
    keys = [("a", tuple("uvwx")), ("b", tuple("xyz"))]
    schema = pm.Schema((*(pm.Column(n, pm.Role.KEY, pm.Categories(own)) for n, own in keys),
                        pm.Column("town", pm.Role.PUBLIC)))  # fmt: skip
    asked = SpontaneousRecognition(alpha=0.2, width=2)
    release = pm.protect(truth, pm.design(schema, asked, data=truth, method="optimal"), seed=1,
                         to=tmp_path / "release")  # fmt: skip
    assert verify_folder(release.folder).valid
    claims = tuple(
        replace(claim, asked=None, attained=replace(claim.attained, alpha=0.01))
        if isinstance(claim.attained, SpontaneousRecognition)
        else claim
        for claim in release.certificate.claims
    )
    forged = replace(release.certificate, claims=claims)
    (release.folder / "certificate.json").write_bytes(forged.to_bytes())
    failed = verify_folder(release.folder).of_state("failed")
    assert "spontaneous-recognition in the records" in {check.name for check in failed}


def test_each_matrix_is_written_out_once_however_many_keys_are_looked_at(monkeypatch):
    """A thousand cells are a million entries; of ten keys there are 120 choices."""
    random = np.random.default_rng(3)
    labels = [("u", "v")] * 5
    cells = tuple(itertools.product(*labels))
    every = np.arange(32)
    rows = SparseRows.of(cells, rows=every, columns=(every + 1) % 32, probabilities=[0.5] * 32)
    seen = []
    values = SparseRows.values.fget
    monkeypatch.setattr(SparseRows, "values", property(lambda own: seen.append(1) or values(own)))
    released = Counts.of_codes("abcde", labels, list(random.integers(0, 2, (5, 40))))
    choices = choices_of_keys(tuple("abcde"), width=3)
    log_stake(Mechanism((Step(tuple("abcde"), rows),)), released, choices, 0.1)
    assert len(choices) > 5
    assert len(seen) == 1
