"""Names and labels stay literals in the scripts that a release carries."""

from __future__ import annotations

import itertools

from pramana.release.documentation import _stata_text


def test_no_text_ends_or_expands_a_literal_of_stata() -> None:
    """All texts of up to five quotes, backticks, dollars and letters."""
    for size in range(6):
        for letters in itertools.product("\"'`$a", repeat=size):
            literal = _stata_text("".join(letters))
            assert literal.startswith('`"')
            assert literal.endswith("\"'")
            inside = literal[2:-2]
            assert "\"'" not in inside
            assert not set("`$") & set(inside)
