"""Start Python processes that import nothing from the working folder.

``python -c`` and ``python -m`` put the working folder first on the import path. Inside the release
of a stranger, a file named ``json.py`` would then be executed in place of the standard library's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

__all__ = ["import_path", "isolate_children"]

INSTALLED: Final = Path(__file__).resolve().parents[1]
"""The folder from which this package was imported."""


def isolate_children() -> None:
    """Keep the working folder off the import path of all Python processes started from now on."""
    os.environ["PYTHONSAFEPATH"] = "1"


def import_path() -> list[str]:
    """The import path of this process without the working folder, for a process started with -I.

    Relative entries depend on the working folder and are left out. The working folder itself stays
    only if this package was imported from there, as in a checkout of the sources.
    """
    absolute = [place for place in map(str, sys.path) if Path(place).is_absolute()]
    try:
        working = Path.cwd().resolve()
    except OSError:  # the working folder has been removed
        return absolute
    left_out = {working} - {INSTALLED}
    return [place for place in absolute if Path(place).resolve() not in left_out]
