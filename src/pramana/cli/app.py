"""``pramana``: one command a verb, one place where failures become one line and an exit code.

Only what is needed to show help is imported here; the rest loads inside the verbs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Annotated

import typer
from typer.core import TyperCommand

from pramana.cli.attack import attack
from pramana.cli.audit import audit
from pramana.cli.compare import compare
from pramana.cli.demo import demo
from pramana.cli.describe import describe
from pramana.cli.design import design
from pramana.cli.estimate import estimate
from pramana.cli.experiment import experiment
from pramana.cli.keygen import keygen
from pramana.cli.ledger import ledger
from pramana.cli.mine import mine
from pramana.cli.options import option
from pramana.cli.protect import protect
from pramana.cli.rebuild import rebuild
from pramana.cli.regress import regress
from pramana.cli.report import report
from pramana.cli.steward import BriefCommand, StewardCommand
from pramana.cli.verify import verify
from pramana.errors import PramanaError

__all__ = ["app", "main"]

BAD_INPUT = 2
INTERRUPTED = 130

# Newer versions of typer bring their own copy of click: its errors are found through this one.
ClickError: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="pramana",
    help=(
        "Publish tables about people, under guarantees stated as numbers.\n\n"
        "\b\n"
        "A first release, step by step:\n"
        "  pramana demo                                    makes people to try things on\n"
        "  pramana describe people.csv -o schema.toml      look, and say what each column is\n"
        "  pramana design people.csv --schema schema.toml --k 100\n"
        "  pramana protect people.csv --schema schema.toml --k 100 -o release/\n"
        "  pramana verify release/"
    ),
    epilog="Exit codes: 0 done, 1 a guarantee or a check does not hold, 2 bad input.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help keeps the lines of examples and shows in half the time
)


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[bool, option("--version", "Show the version.")] = False,
) -> None:
    # Without a docstring: what the command is for stands in ``app``.
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"pramana {version_of('pramana')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _help(verb: Callable[..., None]) -> str:
    """The docstring; the lines of its example stay as they are."""
    return cleandoc(verb.__doc__ or "").replace("\n\nExample:", "\n\n\b\nExample:")


COMMANDS: dict[Callable[..., None], type[TyperCommand]] = {
    design: StewardCommand,
    protect: StewardCommand,
    estimate: BriefCommand,
}
"""Verbs with more options than fit on a first screen."""

for verb in (
    describe,
    design,
    protect,
    verify,
    estimate,
    regress,
    rebuild,
    mine,
    audit,
    attack,
    compare,
    report,
    experiment,
    ledger,
    keygen,
    demo,
):
    cls = COMMANDS.get(verb)
    app.command(name=verb.__name__, cls=cls, help=_help(verb))(verb)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code; every failure is one line on stderr."""
    try:
        given = None if arguments is None else list(arguments)
        code = app(args=given, prog_name="pramana", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # newer versions of typer turn the interruption into a code
            raise KeyboardInterrupt
    except PramanaError as error:
        code = _fail(str(error), error.exit_code)
    except ClickError as error:
        code = _fail(_usage(error), BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        code = _fail("Interrupted. What was not finished leaves nothing behind.", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has left; Python must not complain when it closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        code = _fail(_system(error), BAD_INPUT)
    except MemoryError:
        code = _fail("There is not enough memory for this table.", BAD_INPUT)
    except Exception as error:
        code = _unforeseen(error)
    raise SystemExit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> int:
    from pramana.cli.rendering import harmless

    typer.echo(f"pramana: {harmless(' '.join(message.split()))}", err=True)
    return code


def _usage(error: BaseException) -> str:
    """What is wrong with the command line, and where to read how it is right."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "pramana"
    message = str(getattr(error, "format_message", error.__str__)())
    return f"{message.rstrip('.')}. See '{command} --help'."


def _system(error: OSError) -> str:
    """What the operating system refused, on which file."""
    where = f" ({error.filename})" if error.filename else ""
    reason = error.strerror or "the operating system refused to read or write"
    return f"{reason}{where}. Nothing was written."


def _unforeseen(error: Exception) -> int:
    """A fault of ours. Its message or traceback could show cells, so it is shown on request."""
    if os.environ.get("PRAMANA_TRACEBACK"):
        raise error
    return _fail(
        f"An unforeseen {type(error).__name__} stopped the command; nothing was written. This is a "
        "fault in pramana: set PRAMANA_TRACEBACK=1 to see where (it may show data), and report it.",
        BAD_INPUT,
    )
