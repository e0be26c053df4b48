"""What a method is: its options as fields, when to use it, what it aims at, what it does.

A method is a frozen dataclass. Its fields are its options, so that a wrong name or a wrong value is
refused when it is made; command line and studio read name, help and type off the fields.

Methods by name, as commands and certificates spell them.

What methods share that choose their matrices by looking at the data.

Far fewer records change than under a matrix for all possible data; in exchange the guarantees rest
on counts that are not published, and only the owner can recompute them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from math import prod
from numbers import Integral, Real
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Protocol,
    TypeVar,
    cast,
    get_args,
    get_type_hints,
)

import numpy as np

from pramana.base.randomness import Keystream
from pramana.base.registry import Registry
from pramana.base.rounding import coarse_up, in_numbers_of_python, require_choice
from pramana.engine.base import Table
from pramana.errors import Infeasible, InputError, InvalidNumber
from pramana.guarantees.base import Guarantee, bounds_amplification
from pramana.guarantees.registry import GUARANTEES
from pramana.release.certificate import Certificate
from pramana.release.methods import METHOD_CLASSES, NewKeys
from pramana.schema.joint_cells import Counts
from pramana.schema.labels import Labels
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Schema
from pramana.types import Entries, Form

if TYPE_CHECKING:
    from pramana.methods.context import DesignContext
    from pramana.methods.expected_error import ExpectedError
    from pramana.methods.plan import Plan

CELLS: Final = 4000
"""Of a table, undone in about the time in which the quickest method is tried on few values."""


class AmplificationAims:
    """The aims of a method that turns one dial: what is registered and tells how far to turn it."""

    def __get__(self, method: object, kind: type) -> tuple[str, ...]:
        return tuple(name for name, own in GUARANTEES.items() if bounds_amplification(own))


class Method(Protocol):
    """One way to protect a table; subclasses are frozen dataclasses of their options."""

    name: ClassVar[str]
    """The name in commands and certificates."""

    when: ClassVar[str]
    """One line: when to use it."""

    aims: ClassVar[tuple[str, ...]]
    """The guarantees, by name, that it can be aimed at."""

    kind: ClassVar[str]
    """How its releases are to be read."""

    other_kinds: ClassVar[tuple[str, ...]] = ()
    """Other kinds of releases that it makes where need be: its plan says so."""

    data_dependent: ClassVar[bool] = False
    """Whether what is done to a record is chosen by looking at the data."""

    new_keys: ClassVar[NewKeys | None] = None
    """Where keys come from that are replaced within groups."""

    owner_statistics: ClassVar[frozenset[str] | None] = None
    """The figures of its certificates that only the owner can count, by name; ``None`` where it
    does not say what follows from the rest."""

    keeps_rules: ClassVar[bool] = True
    """Whether it can keep to combinations that the schema calls impossible."""

    accepts_numbers: ClassVar[bool] = False
    """Whether a key may be a number without bins."""

    instead: ClassVar[str] = ""
    """What it does, in words, where it is weighed against others that keep the same promise; a
    method without such words is weighed against none."""

    base_cost: ClassVar[int] = 1
    """How long it takes to be tried on keys of few values, beside the quickest."""

    quick_keys: ClassVar[int | None] = None
    """With more keys than this it searches for a minute and more by itself, if ever it does."""

    @classmethod
    def slow_reason(cls, schema: Schema, records: int) -> str:
        """With what it takes a minute and more by itself to be tried; nothing where it does not."""
        del records
        many = cls.quick_keys is not None and len(schema.randomised) > cls.quick_keys
        return f"more than {cls.quick_keys} keys" if many else ""

    @classmethod
    def trial_cost(cls, schema: Schema) -> int:
        """How long it takes to be tried on these keys, beside the quickest on keys of few values.

        What a matrix did is undone in every table that is asked, cell by cell; groups are not.
        """
        sizes = {own.name: len(own.labels) for own in schema.randomised if own.domain is not None}
        asked = schema.tables or [sorted(sizes, key=sizes.__getitem__)[-2:]]
        cells = max(prod(sizes.get(name, 1) for name in table) for table in asked)
        return cls.base_cost + (0 if cls.data_dependent else cells // CELLS)

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """What to do to each record of these people so that every guarantee asked is met."""

    def estimate_changes(
        self, context: DesignContext, asked: Sequence[Guarantee]
    ) -> tuple[float, float] | None:
        """Between how many records a plan would change, where finding it takes long."""
        del context, asked
        return None

    def release(self, plan: Plan, opened: OpenedTable, keystream: Keystream) -> tuple[Table, Plan]:
        """The released records, not yet drawn, and the plan with the numbers of this very table.

        Unless a method says otherwise, each record meets the matrices of the plan and is shuffled.
        """
        from pramana.methods.randomised import randomised

        return randomised(plan, opened, keystream)

    def errors_of(self, plan: Plan, tables: Sequence[tuple[str, ...]]) -> list[float] | None:
        """The expected errors of these tables under a plan of its own, where it foresees any."""
        del plan, tables
        return None

    def with_joint(self, joint: tuple[tuple[str, ...], ...]) -> Method | None:
        """The same with these columns randomised together, where it can and does not yet."""
        del joint
        return None

    @classmethod
    def published_labels(cls, labels: Labels) -> Labels:
        """What is said about the columns of a release, in the words of statistical packages."""
        return labels

    def published_schema(self, schema: Schema) -> Schema:
        """The columns of its releases: all but the identifiers, unless it adds one."""
        return replace(schema, columns=schema.released, household=None)

    @classmethod
    def expected_error_of(cls, certificate: Certificate) -> ExpectedError | None:
        """The expected error of published matrices; a method that states none has none."""
        del certificate
        return None

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """The options, and the other figures, that its certificate has if all else is as it is."""
        del certificate  # most methods tell neither
        return {}, {}

    @classmethod
    def reproduces_matrices(cls, certificate: Certificate) -> bool | None:
        """Whether it chooses these very matrices for the options told; ``None``: none are told."""
        del certificate
        return None

    @classmethod
    def matches_expected_error(cls, certificate: Certificate, words: str | None) -> bool:
        """Whether it gives these words about the expected error beside these matrices."""
        found = cls.expected_error_of(certificate)
        return words is None if found is None else found.matches_text(words)

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> Method | None:
        """The method with all the options of a release; nothing where some of them are not told."""
        complete = {one.name for one in fields(cls)} <= certificate.options.keys()  # type: ignore[arg-type]
        return cls(**certificate.options) if complete else None

    def disclosed(self) -> Entries:
        """The options that the certificate tells everyone."""
        return {}


@dataclass(frozen=True)
class Option:
    """One option of a method, as a command line needs to know it.

    Attributes:
        name: the field.
        flag: the option, such as ``--stay``.
        help: one line.
        kind: ``bool``, ``float``, ``int`` or ``str``.
        choices: the only values, where they are few.
        metavar: what stands for the value in a help.
        default: where it is not stated.
        read: makes the value from the texts of an option that may be repeated.
        chooses: whether giving it alone chooses the method.
    """

    name: str
    flag: str
    help: str
    kind: type
    choices: tuple[str, ...]
    metavar: str
    default: Any
    read: Callable[[Sequence[str]], Any] | None
    chooses: bool


def option(
    default: Any,
    text: str,
    *,
    flag: str | None = None,
    metavar: str = "NUMBER",
    read: Callable[[Sequence[str]], Any] | None = None,
    chooses: bool = False,
) -> Any:
    """A field that is an option: its default, and one line of help."""
    about = {"help": text, "flag": flag, "metavar": metavar, "read": read, "chooses": chooses}
    return field(default=default, metadata=about)


@cache
def options_of(method: type[Method]) -> tuple[Option, ...]:
    """The options of a method, read off its fields."""
    hints = get_type_hints(method)
    return tuple(
        Option(
            name=one.name,
            flag=one.metadata.get("flag") or f"--{one.name.replace('_', '-')}",
            help=one.metadata.get("help", ""),
            kind=_kind(hints[one.name]),
            choices=_choices(hints[one.name]),
            metavar="|".join(_choices(hints[one.name])) or one.metadata.get("metavar", "NUMBER"),
            default=None if one.default is MISSING else one.default,
            read=one.metadata.get("read"),
            chooses=one.metadata.get("chooses", False),
        )
        for one in fields(method)  # type: ignore[arg-type]
    )


def _choices(hint: Any) -> tuple[str, ...]:
    """The values of a ``Literal``."""
    return tuple(part for part in get_args(hint) if isinstance(part, str))


def _kind(hint: Any) -> type:
    return next((kind for kind in (bool, float, int) if kind in (hint, *get_args(hint))), str)


def require_options(method: Method) -> None:
    """Refuse what is no method, and options of another type: ``"no"`` would count as true."""
    if isinstance(method, type) or not is_dataclass(method):
        raise InputError(f"A method is its name or an object such as Retention(), got {method!r}.")
    in_numbers_of_python(method)
    for one in options_of(type(method)):
        value, kind = getattr(method, one.name), _TYPES[one.kind]
        if one.read is not None or (value is None and one.default is None):
            continue
        if not isinstance(value, kind) or isinstance(value, bool) != (one.kind is bool):
            words = f"of type {one.kind.__name__}, got {value!r}"
            raise InvalidNumber(f"{one.name} of method {method.name} must be {words}.")
        if one.choices:
            require_choice(one.name, value, one.choices)


_TYPES: Final = {bool: bool, int: Integral, float: Real, str: str}


def require_kinds(method: type[Method], options: Entries) -> None:
    """Refuse options that are not of the kind that a method takes: a text where a number goes."""
    for one in options_of(method):
        value = options[one.name]
        if one.read is not None:
            good = isinstance(value, list) and all(type(own) is str for own in value)
        else:
            kinds = (int, float) if one.kind is float else (one.kind,)
            good = type(value) in kinds or (value is None and one.default is None)
        if not good:
            raise InvalidNumber(f"{one.name} must be of another kind, got {type(value).__name__}.")


METHODS = cast("Registry[type[Method]]", METHOD_CLASSES)
"""The first that aims at all that is asked is the usual one."""


Target = TypeVar("Target", bound=Guarantee)


def fingerprint(counts: Counts) -> str:
    """Tells whether two tables have the same counts, in whatever order their records are."""
    names = [[repr(label) for label in own] for own in counts.labels]
    orders = [sorted(range(len(own)), key=own.__getitem__) for own in names]
    labels = [[own[at] for at in order] for own, order in zip(names, orders, strict=True)]
    cells = np.empty(counts.cells.shape, dtype=np.int64)
    for axis, order in enumerate(orders):
        cells[:, axis] = np.argsort(order)[counts.cells[:, axis]]
    rows = np.lexsort(cells.T[::-1])
    digest = hashlib.sha256(repr((counts.columns, labels)).encode())
    digest.update(cells[rows].tobytes())
    digest.update(np.asarray(counts.numbers, dtype=np.int64)[rows].tobytes())
    return digest.hexdigest()


def single_target(asked: Sequence[Guarantee], kind: type[Target], *, method: str) -> Target:
    """The one target of a method; another one is refused."""
    own = [guarantee for guarantee in asked if isinstance(guarantee, kind)]
    others = [guarantee.name for guarantee in asked if not isinstance(guarantee, kind)]
    if len(own) != 1 or others:
        raise Infeasible(
            f"Method {method} aims at {kind.name} alone"
            + (f", and cannot promise {' and '.join(others)} with it." if others else ".")
            + f" State one {fields(kind)[0].name}, or choose another method."  # type: ignore[arg-type]
        )
    return own[0]


AS_THEY_STAND: Final = {"frequencies": "unbiased as they stand"}


def published_standard_errors(
    variances: Mapping[str, Sequence[float]], *, least: Callable[[int], float]
) -> Form:
    """What analysts are told: one standard error for all values of a column.

    It is the largest of them on a grid of 1, 2, 5, 10, ...: one a value would tell which are rare,
    and digits would tell the counts. It is never below ``least`` of the number of values, the
    error that the method has where nothing stands out: else a small one would tell that
    something does.
    """
    errors = {
        name: [coarse_up(math.sqrt(max(least(len(own)) ** 2, *own)))] * len(own)
        for name, own in variances.items()
    }
    return {**AS_THEY_STAND, "standard_errors": errors}


class Withheld(Method):
    """Matrices that are not published, because the counts could be read off them."""

    kind: ClassVar[str] = "withheld"
    owner_statistics: ClassVar[frozenset[str] | None] = frozenset({"standard_errors", "verbatim"})
    keeps_rules: ClassVar[bool] = False
    data_dependent: ClassVar[bool] = True

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """How frequencies are to be read."""
        del certificate  # it is the same in all
        return {}, AS_THEY_STAND
