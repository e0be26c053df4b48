"""Whose words a certificate speaks: the edition of the sentences that it was written with.

Sentences follow from numbers, so that a forged one shows; but they are put better from one version
of pramana to the next, and a release must not fail for that. So a certificate says which edition
wrote it. Words of the same edition are compared to the letter. Those of another one cannot be: they
are the owner's, no verb shows them, and verification says what this edition makes of the numbers.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

__all__ = ["EDITION", "edition"]

EDITION: Final = r"[0-9A-Za-z.]{1,40}\+[0-9a-f]{12}"
"""The version of pramana, and the first digits of a digest of what makes words."""

ROOMS: Final = ("guarantees", "methods", "release")


@cache
def edition() -> str:
    """That of this pramana: another one as soon as a word in it may be."""
    digest, root = hashlib.sha256(), Path(__file__).parent.parent
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    try:
        own = version("pramana")
    except PackageNotFoundError:
        own = "unknown"
    return f"{own}+{digest.hexdigest()[:12]}"
