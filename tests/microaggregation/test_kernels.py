"""The first clustering on a machine waits for the compiler, and says so."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pytest

from pramana.errors import Notice
from pramana.microaggregation import kernels


def test_a_machine_without_compiled_loops_is_told_to_wait(monkeypatch, tmp_path):
    """Once an entry is in the cache, nothing is said."""
    uncached = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)))
    monkeypatch.setattr(kernels, "rework", uncached)
    with pytest.warns(Notice):
        kernels.announce_compilation()

    (tmp_path / "kernels.rework-1.py311.nbi").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernels.announce_compilation()
