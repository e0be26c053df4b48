"""Notebooks run from the first cell to the last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


def test_there_is_a_notebook_for_each_reader():
    """Stewards, analysts, people who train models, and offices that run surveys."""
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["analyst", "machine_learning", "steward", "survey"]


@pytest.mark.deep
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_cell_runs(path, tmp_path):
    """As plain Python, in a folder where nothing else lies."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    program = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
