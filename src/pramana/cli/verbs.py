"""The verbs of the command line: each has a module of its name, imported at first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import cleandoc
from typing import Any, Final

import typer
from typer.core import TyperGroup

__all__ = ["LINES", "Verbs", "help_of"]

LINES: Final = {
    "describe": "Look at a table and suggest what each column is.",
    "schema": "Check a schema file, write a coarser one, or print the form of all of them.",
    "advise": "Try every method on your table and your questions, and say which one to take.",
    "design": "State a target; see what it takes and what it costs.",
    "protect": "Write a release: randomised, shuffled, certified.",
    "verify": "Check a release from its folder alone.",
    "estimate": "Tables, means and totals of the truth, from a release alone.",
    "regress": "A regression of the true records, from a release alone.",
    "synthesize": "Write a table for any learner, from a release alone.",
    "learn": "Learn a decision tree from a release alone, and test it on clean records.",
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
"""Each verb with the first line of its help, so that listing them imports none."""

COMMANDS: Final = {
    "design": "PlanCommand",
    "protect": "PlanCommand",
    "describe": "BriefCommand",
    "estimate": "BriefCommand",
    "audit": "BriefCommand",
}
"""Verbs whose brief help leaves options out."""


class Verbs(TyperGroup):
    """All verbs; the module of a verb is imported when the verb is used."""

    def __init__(self, *, commands: dict[str, Any] | None = None, **settings: Any) -> None:
        not_imported: dict[str, Any] = dict.fromkeys(LINES)
        super().__init__(commands={**not_imported, **(commands or {})}, **settings)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a verb, or ``None``."""
        if cmd_name in LINES:
            self.commands[cmd_name] = _command(cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the verbs with their first lines, without importing them."""
        lines = [(name, LINES.get(name, "")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(lines)


@cache
def _command(name: str) -> Any:
    """The command of a verb."""
    verb = getattr(import_module(f"pramana.cli.{name}"), name)
    if isinstance(verb, typer.Typer):  # a verb with verbs of its own
        return typer.main.get_command(verb)
    kind = None
    if name in COMMANDS:
        kind = getattr(import_module("pramana.cli.commands"), COMMANDS[name])
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name=name, cls=kind, help=help_of(verb))(verb)
    return typer.main.get_command(alone)


def help_of(verb: Callable[..., None]) -> str:
    """The docstring; the lines of its example stay as they are."""
    return cleandoc(verb.__doc__ or "").replace("\n\nExample:", "\n\n\b\nExample:")
