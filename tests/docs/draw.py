"""``make pictures``: run the pages of examples, and keep the pictures that they draw."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.docs.examples import ROOT, blocks, pictures, run


def main() -> None:
    for page in sorted((ROOT / "docs" / "examples").glob("*.md")):
        if not pictures(page):
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            names: dict[str, Any] = {}
            for block in blocks(page):
                run(block, names, Path(folder))
            for name in pictures(page):
                shutil.copy(name, page.parent / name)
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
