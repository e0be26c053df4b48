"""What a result shows of itself: a line and its findings at the prompt, a list in a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.errors import harmless

__all__ = ["Shown", "as_it_is", "listed", "quoted"]

MOST_LINES = 12
"""Findings that are printed; a result has all of them."""


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in a row; where some are left out, how many.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def quoted(names: Sequence[str]) -> str:
    """All of some names, as a sentence has them.

    >>> quoted(["a"]), quoted(["a", "b"]), quoted(["a", "b", "c"])
    ("'a'", "'a' and 'b'", "'a', 'b' and 'c'")
    """
    marked = [f"'{name}'" for name in names]
    return " and ".join(filter(None, (", ".join(marked[:-1]), marked[-1])))


def as_it_is(names: Sequence[str]) -> str:
    """What is said of columns that are left alone, in the number that goes with them.

    >>> as_it_is(["w"]), as_it_is(["w", "region"])
    ('is released as it is', 'are released as they are')
    """
    return "is released as it is" if len(names) == 1 else "are released as they are"


class Shown:
    """A result with a headline and findings in plain words.

    >>> class Found(Shown):
    ...     def shown(self):
    ...         return "Two things", ["one", "<other>"]
    >>> Found()
    Two things
    * one
    * <other>
    >>> Found()._repr_html_()
    '<p><strong>Two things</strong></p><ul><li>one</li><li>&lt;other&gt;</li></ul>'
    """

    def shown(self) -> tuple[str, Sequence[str]]:
        """The headline and the findings."""
        raise NotImplementedError

    def _harmless(self) -> tuple[str, list[str]]:
        head, lines = self.shown()
        return harmless(head), [harmless(line) for line in lines]

    def __repr__(self) -> str:
        head, lines = self._harmless()
        more = [f"... {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
        return "\n".join([head, *(f"* {line}" for line in lines[:MOST_LINES]), *more])

    def _repr_html_(self) -> str:
        head, lines = self._harmless()
        from html import escape  # of notebooks alone

        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        return f"<p><strong>{escape(head)}</strong></p>" + (f"<ul>{items}</ul>" if items else "")
