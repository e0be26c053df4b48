"""``pramana``: one command a verb, one place where failures become one line and an exit code.

Only what is needed to show help is imported here; the rest loads inside the verbs.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from pramana.cli.options import option
from pramana.cli.verbs import PROGRAM, Verbs
from pramana.errors import InputError, Notice, PramanaError
from pramana.files import forget_placed, heard_later, placed, send_again
from pramana.memory import memory_bound, require_some

__all__ = ["app", "main"]

BAD_INPUT = 2
INTERRUPTED = 130
FEW_COLLECTIONS = 100_000
"""New objects between two searches for garbage: starting makes many, and keeps them."""
COMPLAINING = frozenset({"_duckdb"})
"""Libraries that print a list of what is left of theirs when the process ends."""
LAST_STREAM = 2
SILENT = logging.NullHandler()
"""What libraries log may show data: whoever wants it sets up logging of their own."""
TOLD_TO_END = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that end a command as an interruption does; its exit code is 128 and their number."""


class Interruption(KeyboardInterrupt):
    """The command was told to end.

    A plain interruption that passes through text which Python runs (a dataclass is made of one)
    has the interpreter end itself by SIGINT at last, whatever the exit code and the signal were.
    """


# Newer versions of typer bring their own copy of click: its errors are found through this one.
ClickError: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="pramana",
    cls=Verbs,
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
        return
    require_some()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code; every failure is one line on stderr."""
    forget_placed()
    if arguments is None:  # the process is ours: what starting makes is not garbage
        gc.set_threshold(FEW_COLLECTIONS)
        _require_streams()
    logging.getLogger().addHandler(SILENT)
    told: list[int] = []
    try:
        with _signals_heard(told, to_the_end=arguments is None), _notices_shown():
            code = _outcome(arguments, told)
    except KeyboardInterrupt:  # all was done just then
        code = _interrupted(told)
    if arguments is None and not COMPLAINING & sys.modules.keys():
        gc.disable()  # nor is what ends with it looked through for garbage once more
        gc.freeze()
    raise SystemExit(code)


def _require_streams() -> None:
    """Give the process the streams that it was started without: no file may take their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= LAST_STREAM:
        os.set_inheritable(number, True)
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - to the end


def _outcome(arguments: Sequence[str] | None, told: list[int]) -> int:
    """The exit code of a command."""
    try:
        given, whose = (None, PROGRAM) if arguments is None else (_words(arguments), None)
        code = app(args=given, prog_name="pramana", standalone_mode=False, obj=whose)
        sys.stdout.flush()
        if code == INTERRUPTED:  # newer versions of typer turn the interruption into a code
            raise KeyboardInterrupt
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted(told)
    except Exception as error:  # libraries turn an interruption into errors of their own
        return _interrupted(told) if told else _failed(error)
    return code if isinstance(code, int) else 0


def _words(arguments: Sequence[str]) -> list[str]:
    """The words of a command; no system hands over one with a zero byte, but Python can."""
    for place, word in enumerate(arguments, start=1):
        if "\0" in word:
            raise InputError(f"No word of a command can hold a zero byte, and number {place} does.")
    return list(arguments)


def _failed(error: Exception) -> int:
    """Say what went wrong; the exit code."""
    if isinstance(error, PramanaError):
        return _fail(str(error), error.exit_code)
    if isinstance(error, ClickError):
        return _fail(_usage(error), BAD_INPUT)
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has left; Python must not complain when it closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError):
        return _fail(_system(error), BAD_INPUT)
    return _fail(_memory(), BAD_INPUT) if _is_for_memory(error) else _unforeseen(error)


@contextmanager
def _signals_heard(told: list[int], *, to_the_end: bool) -> Iterator[None]:
    """Those that ask to end do so as an interruption does; the first one is kept in the list.

    Those that follow it are not heard: what is being cleared away is cleared away. Nor is one that
    comes when all is done; ``to_the_end`` of the process it ends that at once, without a word.
    One that comes where Python can only ignore it, while a library calls back, comes again, and so
    does one that comes while something is being loaded.
    """
    over: list[bool] = []
    usual = sys.unraisablehook

    def end(number: int, frame: FrameType | None) -> None:
        if not told and not over and not heard_later(number, frame):
            told.append(number)
            raise Interruption

    def ignored(unheard: Any) -> None:
        if told and isinstance(unheard.exc_value, KeyboardInterrupt):
            send_again(told.pop())
        else:
            usual(unheard)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [
        one for one in (signal.SIGINT, *TOLD_TO_END) if signal.getsignal(one) != signal.SIG_IGN
    ]
    before = {one: signal.signal(one, end) for one in heard}
    sys.unraisablehook = ignored
    try:
        yield
    finally:
        over.append(True)
        sys.unraisablehook = usual
        for one, handler in before.items():
            signal.signal(one, signal.SIG_DFL if to_the_end else handler)


@contextmanager
def _notices_shown() -> Iterator[None]:
    """What the library wants a steward to know becomes a note, said once."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        usual, said = warnings.showwarning, set[str]()

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, Notice):
                usual(message, category, *where, **more)
                return
            from pramana.cli.rendering import note

            if str(message) not in said:
                said.add(str(message))
                note(str(message))

        warnings.showwarning = show
        yield


def _interrupted(told: list[int]) -> int:
    number = told[0] if told else signal.SIGINT
    word = "Interrupted" if number == signal.SIGINT else "Told to end"
    left = _written() if placed() else "What was not finished leaves nothing behind."
    return _fail(f"{word}. {left}", 128 + number)


def _fail(message: str, code: int) -> int:
    from pramana.errors import harmless

    with suppress(OSError):  # where nobody can be told, the exit code tells
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
    return f"{reason}{where}. {_written()}"


def _is_for_memory(error: Exception) -> bool:
    """Whether there was no memory left, by whatever name a library calls that."""
    words = ("cannot allocate memory", "failed to map segment", "start new thread", "out of memory")
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(word in said for word in words)


def _memory() -> str:
    return (
        f"There is not enough memory: at most {memory_bound() / 2**30:.1f} GiB are taken, and the "
        f"system gives less. Allow for more, or set PRAMANA_MEMORY lower. {_written()}"
    )


def _written() -> str:
    """What stands although the command failed."""
    names = ", ".join(str(path) for path in placed())
    return f"Written before that: {names}." if names else "Nothing was written."


def _unforeseen(error: Exception) -> int:
    """A fault of ours. Its message or traceback could show cells, so it is shown on request."""
    if os.environ.get("PRAMANA_TRACEBACK"):
        raise error
    return _fail(
        f"An unforeseen {type(error).__name__} stopped the command. {_written()} This is a "
        "fault in pramana: set PRAMANA_TRACEBACK=1 to see where (it may show data), and report it.",
        BAD_INPUT,
    )
