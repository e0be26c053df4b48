"""Whose words a certificate speaks: the edition of the sentences that it was written with.

Sentences follow from numbers, so that a forged one shows; but they are put better from one version
of pramana to the next, and a release must not fail for that. So a certificate says which edition
wrote it. Words of the same edition are compared to the letter. Those of another one cannot be: they
are the owner's, no verb shows them, and verification says what this edition makes of the numbers.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import Final

from pramana.release.strict import Field
from pramana.types import Entries, Form

__all__ = ["EDITION", "edition", "with_words", "words_of"]

EDITION: Final = r"[0-9A-Za-z.]{1,40}\+[0-9a-f]{12}"
"""The version of pramana, and the first digits of a digest of what makes words."""

SPOKEN: Final = ("sentence", "assumption")
STATED: Final = ("scope", "crowd", "collected", "households")
"""Where a certificate has sentences: in its claims, and as a statement of these."""

ROOMS: Final = ("guarantees", "methods", "release")


@cache
def edition() -> str:
    """That of this pramana: another one as soon as a word in it may be."""
    digest, root = hashlib.sha256(), Path(__file__).parent.parent
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return f"{_version()}+{digest.hexdigest()[:12]}"


def _version() -> str:
    """As the installed package states it in a file beside it.

    The library that finds packages of all sorts takes long to load: it is asked where none is.
    """
    for place in map(Path, sys.path):
        for file in place.glob("pramana-*.dist-info/METADATA"):
            for line in file.read_text("utf-8").splitlines():
                if line.startswith("Version: "):
                    return line.removeprefix("Version: ").strip()
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pramana")
    except PackageNotFoundError:
        return "unknown"


def words_of(root: Field) -> Form:
    """The sentences of a certificate, wherever they stand."""
    form = root.entries()
    claims = [claim.entries() for claim in form["guarantees"].items()]
    told: Form = {
        "guarantees": [{name: own[name].text() for name in SPOKEN if name in own} for own in claims]
    }
    for name in STATED:
        if name in form and "statement" in (own := form[name].entries()):
            told[name] = own["statement"].text()
    return told


def with_words(form: Form, told: Entries) -> Form:
    """A claim with the sentences of another edition in place of ours."""
    claims = [
        {**own, **words} for own, words in zip(form["guarantees"], told["guarantees"], strict=True)
    ]
    stated = {name: {**form[name], "statement": told[name]} for name in STATED if name in told}
    return {**form, "guarantees": claims, **stated}
