"""A few hundred mutated releases; ``python -m benchmarks mutations --number 10000`` makes more."""

from __future__ import annotations

import argparse

import pytest
from benchmarks import mutations


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.deep(every=2)
def test_no_mutant_verifies_that_should_not(seed):
    """Nor raises anything, nor takes long, nor reads outside its folder."""
    result = mutations.run(argparse.Namespace(number=150, seed=seed))

    assert result.notes[0].endswith(", 0 wrong."), "\n".join(result.notes)
    assert {row[1] for row in result.rows} <= {"failed", "refused", "valid"}
