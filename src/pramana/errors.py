"""The errors that pramana raises: one base class, each leaf also a builtin.

    PramanaError
    ├── InputError                an input that cannot be used                exit code 2
    │   ├── InvalidNumber         a target or parameter out of its range      ValueError
    │   ├── InvalidSchema         the description of the columns is wrong     ValueError
    │   ├── InvalidMatrix         not a labelled stochastic matrix            ValueError
    │   ├── SingularMatrix        the matrix has no inverse                   ValueError
    │   ├── InvalidTable          a file or data frame that cannot be read    ValueError
    │   ├── OutsideDomain         values that the schema does not list        ValueError
    │   ├── UnknownColumn         a column that is not there                  KeyError
    │   ├── UnknownCell           a cell that a table does not have           KeyError
    │   ├── NotARelease           a folder or certificate of another kind     ValueError
    │   ├── OutputExists          a folder that would be overwritten          FileExistsError
    │   ├── TooLarge              more cells or categories than can be served ValueError
    │   └── MissingExtra          an optional library is not installed        ImportError
    ├── Infeasible                no mechanism meets the target               ValueError
    ├── NotCovered                no theorem covers this case                 ValueError
    └── DoesNotHold               a guarantee or a check fails: exit code 1   ValueError
        └── AlteredRelease        not as it was written; also a NotARelease   ValueError

A message is one line: what must hold, what was found, where, what to do. It names
columns and counts, and never a cell of the original data. It is for readers only: programs
compare the class, the ``code`` and the ``fields`` of an error. The sentence is made where it is
shown, from the fields that it names, in the language of the reader.

    >>> error = InvalidSchema("Bins of {column!r} need {least} edges.", column="age", least=2)
    >>> str(error), error.code, error.fields
    ("Bins of 'age' need 2 edges.", 'invalid-schema', {'column': 'age', 'least': 2})
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Self

from pramana.base.translation import gettext

__all__ = [
    "AlteredRelease",
    "Copies",
    "DoesNotHold",
    "Imprecise",
    "Infeasible",
    "InputError",
    "InvalidMatrix",
    "InvalidNumber",
    "InvalidSchema",
    "InvalidTable",
    "MissingExtra",
    "NotARelease",
    "NotCovered",
    "Notice",
    "OutputExists",
    "OutsideDomain",
    "PramanaError",
    "SingularMatrix",
    "TooLarge",
    "Unconfirmed",
    "UnknownCell",
    "UnknownColumn",
    "harmless",
    "in_one_line",
    "is_heard",
    "unheard",
]


def harmless(text: str) -> str:
    r"""The text without letters that command a terminal or turn its writing round.

    Names of columns come from files that anyone may have written.

    >>> harmless("age" + chr(27) + "[2J")
    'age\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter in "\n\t" else _shown(letter) for letter in text)


def in_one_line(text: str) -> str:
    r"""The text without letters that command a terminal or begin a line.

    A name that holds line breaks would print lines that look like pramana's.

    >>> in_one_line("age" + chr(10) + "passed")
    'age\\npassed'
    """
    return text if text.isprintable() else "".join(_shown(letter) for letter in text)


def _shown(letter: str) -> str:
    return letter if letter.isprintable() else _spelled(letter)


def _spelled(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


class _WithData(Exception):
    """A message with a stable code and named fields.

    The message holds ``{field}`` for each field that it shows, as a format string does.

    Attributes:
        code: what happened, in kebab case; the code of the class where none is given.
        fields: what it happened to, such as ``column``, ``count`` or ``limit``.
    """

    code: str = ""

    def __init__(self, message: str = "", *, code: str = "", **fields: Any) -> None:
        super().__init__(message)
        self.fields = fields
        self.code = code or type(self).code

    def __init_subclass__(cls) -> None:
        """Give every class a code: its name in kebab case."""
        cls.code = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()

    def __str__(self) -> str:
        # KeyError would show its message in quotes, and OSError would look for an errno.
        return harmless(gettext(str(self.args[0]), **self.fields)) if self.args else ""


class PramanaError(_WithData):
    """Base of every error that pramana raises on purpose."""

    exit_code = 2

    def reworded(self, message: str, **more: Any) -> Self:
        """The same error in other words, with ``more`` fields."""
        return type(self)(message, code=self.code, **self.fields | more)


class InputError(PramanaError):
    """An input that cannot be used."""


class InvalidNumber(InputError, ValueError):
    """A target or a parameter is out of its range."""


class InvalidSchema(InputError, ValueError):
    """The description of the columns contradicts itself.

    Fields ``column`` and ``entry`` say where in a schema file, if that is known.
    """


class InvalidMatrix(InputError, ValueError):
    """Not a square, labelled, stochastic matrix."""


class SingularMatrix(InputError, ValueError):
    """The matrix has no inverse, so that no estimate can be computed."""


class InvalidTable(InputError, ValueError):
    """A file or data frame that cannot be read as a table."""


class OutsideDomain(InputError, ValueError):
    """Records hold values that the schema does not list."""


class UnknownColumn(InputError, KeyError):
    """A column was named that is not there."""


class UnknownCell(InputError, KeyError):
    """A cell was named that an estimated table does not have."""


class NotARelease(InputError, ValueError):
    """A folder or a certificate that is not one of ours, or is of a newer format."""


class OutputExists(InputError, FileExistsError):
    """The place to write to is taken."""


class TooLarge(InputError, ValueError):
    """More cells or categories than can be served."""


class MissingExtra(InputError, ImportError):
    """An optional library is not installed."""


class Infeasible(PramanaError, ValueError):
    """No mechanism meets the target.

    Fields ``without`` and ``coarser`` name columns to leave out or to recode, if that helps.
    """


class NotCovered(PramanaError, ValueError):
    """No theorem gives the guarantee for this mechanism."""


class DoesNotHold(PramanaError, ValueError):
    """A guarantee or a check fails."""

    exit_code = 1


class AlteredRelease(NotARelease, DoesNotHold):
    """A certificate of ours in which something was changed: its digest or spelling fails."""

    exit_code = 1


class Notice(_WithData, UserWarning):
    """Something that a steward should know, and that is no error."""


class Compiling(Notice):
    """Code is compiled for this machine, which takes seconds, once."""


class Copies(Notice):
    """More records are unchanged in a release than its guarantee suggests."""


class Imprecise(Notice):
    """Estimates or synthetic records have errors too large for most uses."""


_UNHEARD: Final = ContextVar[tuple[type[Warning], ...]]("unheard", default=())


@contextmanager
def unheard(*kinds: type[Warning]) -> Iterator[None]:
    """Suppress warnings of these kinds, such as those about trial releases.

    Warning filters belong to the whole process, and a thread that ends late may restore older
    filters. A context variable therefore says the same; threads receive it when they start.
    """
    token = _UNHEARD.set((*_UNHEARD.get(), *kinds))
    try:
        with warnings.catch_warnings():
            for kind in kinds:
                warnings.simplefilter("ignore", kind)
            yield
    finally:
        _UNHEARD.reset(token)


def is_heard(kind: type[Warning]) -> bool:
    """Whether warnings of this kind are shown: not inside ``unheard``."""
    return not issubclass(kind, _UNHEARD.get())


class Unconfirmed(Notice):
    """A ledger has a release that was begun and never confirmed."""
