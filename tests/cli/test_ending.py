"""The end of a command: at once, and without a word of the libraries that it loaded."""

from __future__ import annotations

import subprocess
import sys


def test_what_libraries_leave_behind_is_not_listed(tmp_path):
    """A demonstration asks the database, which would print what it finds left of its own."""
    command = [sys.executable, "-m", "pramana", "demo", "--records", "20000"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)

    assert "Verified from the release alone" in done.stdout
    assert done.stderr == ""
