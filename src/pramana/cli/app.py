"""Entry point ``pramana``: loads the verb, and turns failures into one line and an exit code.

Only what is needed to show help is imported here; the rest loads inside the verbs.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from pramana.base.atomic_files import forget_written_outputs, written_outputs
from pramana.base.processes import interrupt_on_signals, memory_bound, require_some
from pramana.errors import InputError, Notice, PramanaError, harmless

LINES: Final = {
    "describe": "Suggest a role for each column of a table.",
    "schema": "Check a schema file, write a coarser one, or print the JSON schema of the format.",
    "advise": "Compare all methods on your table and recommend one.",
    "design": "Show the plan and the expected error for a target.",
    "protect": "Write a release: randomised, shuffled, with a certificate.",
    "verify": "Check a release from its folder alone.",
    "estimate": "Estimate tables, means and totals from a release.",
    "regress": "Fit a regression from a release.",
    "synthesize": "Write synthetic records from a release.",
    "learn": "Learn a decision tree from a release and test it on other records.",
    "audit": "Measure re-identification risk, attacks and guarantees.",
    "attack": "Attack a release with the data that an attacker has.",
    "compare": "Compare targets and methods on a table.",
    "report": "Write a report on a release, for the owner or for publication.",
    "studio": "Protect and analyse tables in the browser.",
    "experiment": "Reproduce tables and figures of the papers and check them.",
    "collect": "Run a survey in which respondents randomise their own answers.",
    "ledger": "Show the guarantees of all releases of a table together.",
    "keygen": "Make a key pair for signatures.",
    "demo": "Run all steps once on a synthetic population.",
    "clean": "Show and remove files left by interrupted writing.",
}
"""Each verb with the first line of its help, so that listing them imports none."""

MODULES: Final = {
    "describe": "schema",
    **dict.fromkeys(("design", "protect", "verify"), "plan"),
    **dict.fromkeys(("advise", "attack", "compare", "report"), "audit"),
    **dict.fromkeys(("regress", "synthesize", "learn"), "estimate"),
    **dict.fromkeys(("experiment", "studio", "keygen", "ledger", "clean"), "demo"),
}
"""The module of a verb, where it does not have the verb's name."""

COMMANDS: Final = {
    "design": "PlanCommand",
    "protect": "PlanCommand",
    "describe": "BriefCommand",
    "estimate": "BriefCommand",
    "audit": "BriefCommand",
    "report": "BriefCommand",
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
    from pramana.cli.options import help_of, with_options

    verb = getattr(import_module(f"pramana.cli.{MODULES.get(name, name)}"), name)
    if isinstance(verb, typer.Typer):  # a verb with subcommands
        return typer.main.get_command(verb)
    kind = None
    if name in COMMANDS:
        kind = getattr(import_module("pramana.cli.options"), COMMANDS[name])
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name=name, cls=kind, help=help_of(verb))(with_options(verb))
    return typer.main.get_command(alone)


BAD_INPUT = 2
INTERRUPTED = 130
SILENT = logging.NullHandler()
"""What libraries log may show data: logging is off unless the user sets it up."""

# Newer versions of typer bring their own copy of click: its errors are found through this one.
ClickError: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="pramana",
    cls=Verbs,
    help=(
        "Publish tables about people, under guarantees stated as numbers.\n\n"
        "\b\n"
        "A first release, step by step:\n"
        "  pramana demo                                    creates example data\n"
        "  pramana describe people.csv -o schema.toml      propose a role for each column\n"
        "  pramana design people.csv --schema schema.toml --k 100\n"
        "  pramana protect people.csv --schema schema.toml --k 100 -o release/\n"
        "  pramana verify release/"
    ),
    epilog="Exit codes: 0 done, 1 a guarantee or a check does not hold, 2 bad input.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # keeps the lines of examples, and help shows in half the time
)


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    # Without a docstring: its description is in ``app``.
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"pramana {version_of('pramana')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        return
    require_some()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code; a failure is one line on stderr."""
    forget_written_outputs()
    logging.getLogger().addHandler(SILENT)
    received: list[int] = []
    try:
        with interrupt_on_signals(received), _notices_shown():
            code = _run(arguments)
    except (KeyboardInterrupt, typer.Abort):
        code = _interrupted(received)
    except Exception as error:  # libraries may replace an interruption by another error
        code = _interrupted(received) if received else _failed(error)
    raise SystemExit(code)


def _run(arguments: Sequence[str] | None) -> int:
    """The exit code of a command."""
    words = None if arguments is None else _words(arguments)
    code = app(args=words, prog_name="pramana", standalone_mode=False)
    sys.stdout.flush()
    if code == INTERRUPTED:  # newer versions of typer turn the interruption into a code
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _words(arguments: Sequence[str]) -> list[str]:
    """The words of a command; no system hands over one with a zero byte, but Python can."""
    for place, word in enumerate(arguments, start=1):
        if "\0" in word:
            raise InputError(
                f"An argument of a command cannot contain a zero byte, and number {place} does."
            )
    return list(arguments)


def _failed(error: Exception) -> int:
    """Say what went wrong; the exit code."""
    if isinstance(error, PramanaError):
        return _fail(str(error), error.exit_code)
    if isinstance(error, ClickError):
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "pramana"
        message = str(getattr(error, "format_message", error.__str__)())
        return _fail(f"{message.rstrip('.')}. See '{command} --help'.", BAD_INPUT)
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has left; Python must not complain when it closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        reason = error.strerror or "the operating system refused to read or write"
        return _fail(f"{reason}{where}. {_written()}", BAD_INPUT)
    return _fail(_memory(), BAD_INPUT) if isinstance(error, MemoryError) else _unforeseen(error)


@contextmanager
def _notices_shown() -> Iterator[None]:
    """What the library wants a steward to know becomes a note, said once."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        usual, shown = warnings.showwarning, set[str]()

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, Notice):
                usual(message, category, *where, **more)
                return
            from pramana.cli.rendering import note

            if str(message) not in shown:
                shown.add(str(message))
                note(str(message))

        warnings.showwarning = show
        yield


def _interrupted(received: list[int]) -> int:
    number = received[0] if received else signal.SIGINT
    word = "Interrupted" if number == signal.SIGINT else "Terminated"
    left = _written() if written_outputs() else "Unfinished output was removed."
    return _fail(f"{word}. {left}", 128 + number)


def _fail(message: str, code: int) -> int:
    with suppress(OSError):  # if nothing can be printed, the exit code says it
        typer.echo(f"pramana: {harmless(' '.join(message.split()))}", err=True)
    return code


def _memory() -> str:
    return (
        f"There is not enough memory: at most {memory_bound() / 2**30:.1f} GiB are taken, and the "
        f"system has less. Free memory, or set PRAMANA_MEMORY lower. {_written()}"
    )


def _written() -> str:
    """The outputs that are complete although the command failed."""
    names = ", ".join(str(path) for path in written_outputs())
    return f"Files written before the failure: {names}." if names else "Nothing was written."


def _unforeseen(error: Exception) -> int:
    """A fault of ours. Its message or traceback could show cells, so it is shown on request."""
    if os.environ.get("PRAMANA_TRACEBACK"):
        raise error
    return _fail(
        f"An unexpected {type(error).__name__} stopped the command. {_written()} This is a "
        "fault in pramana: set PRAMANA_TRACEBACK=1 to see where (it may show data), and report it.",
        BAD_INPUT,
    )
