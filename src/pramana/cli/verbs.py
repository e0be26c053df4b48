"""The verbs of the command line: each has a module of its name, which loads when it is typed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, MutableMapping
from functools import cache
from importlib import import_module
from inspect import cleandoc
from types import ModuleType
from typing import Any, Final

import typer
from typer.core import TyperGroup

from pramana.memory import require_some

__all__ = ["LINES", "PROGRAM", "Verbs", "help_of"]

PROGRAM: Final = "program"
"""What a context holds where the process is ours alone."""

LINES: Final = {
    "describe": "Look at a table and suggest what each column is.",
    "schema": "Check a schema file, write a coarser one, or print the form of all of them.",
    "advise": "Try every method on your table and your questions, and say which one to take.",
    "design": "State a target; see what it takes and what it costs.",
    "protect": "Write a release: randomised, shuffled, certified.",
    "verify": "Check a release from its folder alone.",
    "estimate": "Tables, means and totals of the truth, from a release alone.",
    "regress": "A regression of the true records, from a release alone.",
    "rebuild": "Write a table for any learner, from a release alone.",
    "mine": "Learn a decision tree from a release alone, and test it on clean records.",
    "audit": "What could go wrong: who stands out, what attacks achieve, what is promised.",
    "attack": "Try to break a release with what an attacker would have.",
    "compare": "Try several targets and methods on a table, and put them side by side.",
    "report": "Write one document that explains a release: to the owner, or to everybody.",
    "studio": "Open the whole path in a browser: look, recode, choose, protect, check.",
    "experiment": "The papers' tables and figures made again, with checks that say yes or no.",
    "collect": "Let people randomise their own answers: nobody ever holds the truth.",
    "ledger": "Say what all releases of a table promise together.",
    "keygen": "Make a pair of keys for signatures.",
    "demo": "The whole way once, on people who do not exist.",
    "clean": "Show, and remove, what was left where writing was cut off.",
}
"""Each verb with the first line of its own help, so that a list of all of them loads none."""

COMMANDS: Final = {
    "design": "StewardCommand",
    "protect": "StewardCommand",
    "describe": "BriefCommand",
    "estimate": "BriefCommand",
    "audit": "BriefCommand",
}
"""Verbs with more options than fit on a first screen."""


class Verbs(TyperGroup):
    """All verbs; one that is asked for is made then."""

    def __init__(self, *, commands: Any = None, **about: Any) -> None:
        super().__init__(commands={}, **about)
        self.commands = _Commands(commands or {})

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of the way from a table to a release."""
        del ctx
        return list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; Arrow is loaded before by a program that will read tables."""
        if ctx.obj == PROGRAM and ctx.args and not {"-h", "--help", "--more"} & set(ctx.args):
            require_some()  # before libraries that break down with less
            _load_arrow_alone()
        return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A line a verb."""
        lines = [(name, LINES.get(name, "")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(lines)


class _Commands(MutableMapping[str, Any]):
    """Commands by name."""

    def __init__(self, added: dict[str, Any]) -> None:
        self._made = dict(added)

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            if name not in LINES:
                raise KeyError(name)
            self._made[name] = _command(name)
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*LINES, *self._made]))

    def __contains__(self, name: object) -> bool:
        return name in LINES or name in self._made

    def __len__(self) -> int:
        return len(list(iter(self)))


@cache
def _command(name: str) -> Any:
    """The command of a verb."""
    verb = getattr(import_module(f"pramana.cli.{name}"), name)
    if isinstance(verb, typer.Typer):  # a verb with verbs of its own
        return typer.main.get_command(verb)
    kind = None
    if name in COMMANDS:
        kind = getattr(import_module("pramana.cli.steward"), COMMANDS[name])
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name=name, cls=kind, help=help_of(verb))(verb)
    return typer.main.get_command(alone)


def help_of(verb: Callable[..., None]) -> str:
    """The docstring; the lines of its example stay as they are."""
    return cleandoc(verb.__doc__ or "").replace("\n\nExample:", "\n\n\b\nExample:")


def _load_arrow_alone() -> None:
    """Load Arrow without pandas, which it would look for when it makes its first array.

    Loading pandas takes longer than checking a small release. Who needs it loads it by name, and
    Arrow then finds it; only a process of our own can promise not to hand a series to Arrow before.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    nowhere = _NotFound()
    sys.meta_path.insert(0, nowhere)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(nowhere)
    _load_functions_without_help()


def _load_functions_without_help() -> None:
    """Load Arrow's functions without the pages of help that are put together for each of them.

    Reading the pages that these are made of takes half of the time, and nobody asks a program for
    them. An Arrow that needs more of the reader is loaded as it is, by whoever needs it first.
    """
    place, functions = "pyarrow.vendored.docscrape", "pyarrow.compute"
    if place in sys.modules or functions in sys.modules:
        return
    reader = ModuleType(place)
    vars(reader)["NumpyDocString"] = lambda _: {"Parameters": ()}
    sys.modules[place] = reader
    try:
        import_module(functions)
    except Exception:  # of whatever kind: it is not there then, as if nothing had been tried
        sys.modules.pop(functions, None)
    finally:
        del sys.modules[place]


class _NotFound:
    """Says of pandas that it is not there."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        """Nothing of other modules."""
        del path, target
        if name == "pandas":
            raise ModuleNotFoundError(name=name)
