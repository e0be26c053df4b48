"""The method protocol, the registry of methods, and the options of a method.

A method is a frozen dataclass. Its fields are its options: wrong names and values are refused by
the constructor, and the command line and the studio read name, help and type off the fields.
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
from pramana.guarantees.claims import GUARANTEES
from pramana.release.certificate import Certificate
from pramana.release.kinds import METHOD_CLASSES, MethodProtocol
from pramana.schema.joint_cells import Counts
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Schema
from pramana.types import Entries, Form

if TYPE_CHECKING:
    from pramana.methods.context import DesignContext
    from pramana.methods.plan import Plan

CELLS: Final = 4000
"""Table cells that are estimated in about the time of one trial of the quickest method."""


class AmplificationAims:
    """The registered guarantees that bound the amplification gamma, read when they are needed."""

    def __get__(self, method: object, owner: type) -> tuple[str, ...]:
        return tuple(name for name, kind in GUARANTEES.items() if bounds_amplification(kind))


class Method(MethodProtocol, Protocol):
    """A way to protect a table; subclasses are frozen dataclasses of their options."""

    when: ClassVar[str]
    """When to use it, in one line."""

    accepts_numbers: ClassVar[bool] = False
    """Whether a key may be a number without bins."""

    instead: ClassVar[str] = ""
    """What it does, in words, for a comparison with other methods of the same guarantee; a method
    without such words is not compared."""

    base_cost: ClassVar[int] = 1
    """The time of a trial on keys of few values, relative to the quickest method."""

    quick_keys: ClassVar[int | None] = None
    """With more keys than this, its design takes a minute or more; ``None`` if it never does."""

    @classmethod
    def slow_reason(cls, schema: Schema, records: int) -> str:
        """Why a trial takes a minute or more; empty if it does not."""
        del records
        slow = cls.quick_keys is not None and len(schema.randomised) > cls.quick_keys
        return f"more than {cls.quick_keys} keys" if slow else ""

    @classmethod
    def trial_cost(cls, schema: Schema) -> int:
        """The time of a trial on these keys, relative to the quickest method."""
        sizes = {key.name: len(key.labels) for key in schema.randomised if key.domain is not None}
        tables = schema.tables or [sorted(sizes, key=sizes.__getitem__)[-2:]]
        cells = max(prod(sizes.get(name, 1) for name in table) for table in tables)
        return cls.base_cost + (0 if cls.data_dependent else cells // CELLS)

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """The plan that meets every guarantee asked."""

    def estimate_changes(
        self, context: DesignContext, asked: Sequence[Guarantee]
    ) -> tuple[float, float] | None:
        """Bounds on how many records a plan changes, for methods whose design takes long."""
        del context, asked
        return None

    def release(self, plan: Plan, opened: OpenedTable, keystream: Keystream) -> tuple[Table, Plan]:
        """The released records, evaluated lazily, and the plan with the numbers of this table.

        By default each record is randomised by the matrices of the plan, and records are shuffled.
        """
        from pramana.methods.context import randomised

        return randomised(plan, opened, keystream)

    def errors_of(self, plan: Plan, tables: Sequence[tuple[str, ...]]) -> list[float] | None:
        """The expected errors of tables under one of its plans; ``None`` if no formula is known."""
        del plan, tables
        return None

    def with_joint(self, joint: tuple[tuple[str, ...], ...]) -> Method | None:
        """The same method with these columns randomised jointly; ``None`` if it cannot or does."""
        del joint
        return None

    def published_schema(self, schema: Schema) -> Schema:
        """The schema of its releases: identifiers and household numbers are dropped."""
        return replace(schema, columns=schema.released, household=None)

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> Method | None:
        """The method with all options of a release; ``None`` if some are not published."""
        complete = {item.name for item in fields(cls)} <= certificate.options.keys()  # type: ignore[arg-type]
        return cls(**certificate.options) if complete else None

    def disclosed(self) -> Entries:
        """The options that are published in the certificate."""
        return {}


@dataclass(frozen=True)
class Option:
    """An option of a method, as the command line and the studio show it."""

    name: str
    flag: str
    help: str
    kind: type
    choices: tuple[str, ...]
    metavar: str
    default: Any
    read: Callable[[Sequence[str]], Any] | None
    chooses: bool

    def value(self, given: Any) -> Any:
        """The value of the field for what an option or a plan file gives."""
        if self.read is None:
            return given
        return self.read([given] if isinstance(given, str) else given)


def option(
    default: Any,
    text: str,
    *,
    flag: str | None = None,
    metavar: str = "NUMBER",
    read: Callable[[Sequence[str]], Any] | None = None,
    chooses: bool = False,
) -> Any:
    """A dataclass field that is an option, with its default and one line of help."""
    metadata = {"help": text, "flag": flag, "metavar": metavar, "read": read, "chooses": chooses}
    return field(default=default, metadata=metadata)


@cache
def options_of(method: type[Method]) -> tuple[Option, ...]:
    """The options of a method, read off its fields."""
    hints, options = get_type_hints(method), []
    for item in fields(method):  # type: ignore[arg-type]
        stated = item.metadata
        parts = (hints[item.name], *get_args(hints[item.name]))
        choices = tuple(part for part in parts if isinstance(part, str))
        options.append(
            Option(
                name=item.name,
                flag=stated.get("flag") or f"--{item.name.replace('_', '-')}",
                help=stated.get("help", ""),
                kind=next((kind for kind in (bool, float, int) if kind in parts), str),
                choices=choices,
                metavar="|".join(choices) or stated.get("metavar", "NUMBER"),
                default=None if item.default is MISSING else item.default,
                read=stated.get("read"),
                chooses=stated.get("chooses", False),
            )
        )
    return tuple(options)


def require_options(method: Method) -> None:
    """Refuse objects that are no method, and options of the wrong type: ``"no"`` is truthy."""
    if isinstance(method, type) or not is_dataclass(method):
        raise InputError(
            "A method is its name or an object such as Retention(), got {method!r}.", method=method
        )
    in_numbers_of_python(method)
    types = {bool: bool, int: Integral, float: Real, str: str}
    for item in options_of(type(method)):
        value = getattr(method, item.name)
        if item.read is not None or (value is None and item.default is None):
            continue
        if not isinstance(value, types[item.kind]) or isinstance(value, bool) != (
            item.kind is bool
        ):
            raise InvalidNumber(
                "{name} of method {method} must be of type {kind}, got {value!r}.",
                name=item.name,
                method=method.name,
                kind=item.kind.__name__,
                value=value,
            )
        if item.choices:
            require_choice(item.name, value, item.choices)


METHODS = cast("Registry[type[Method]]", METHOD_CLASSES)
"""Methods by name; the first one that aims at all targets is the default."""


Target = TypeVar("Target", bound=Guarantee)


def fingerprint(counts: Counts) -> str:
    """A digest of counts that does not depend on the order of records or labels."""
    names = [[repr(label) for label in labels] for labels in counts.labels]
    orders = [sorted(range(len(texts)), key=texts.__getitem__) for texts in names]
    labels = [[texts[at] for at in order] for texts, order in zip(names, orders, strict=True)]
    cells = np.empty(counts.cells.shape, dtype=np.int64)
    for axis, order in enumerate(orders):
        cells[:, axis] = np.argsort(order)[counts.cells[:, axis]]
    rows = np.lexsort(cells.T[::-1])
    digest = hashlib.sha256(repr((counts.columns, labels)).encode())
    digest.update(cells[rows].tobytes())
    digest.update(np.asarray(counts.numbers, dtype=np.int64)[rows].tobytes())
    return digest.hexdigest()


def single_target(asked: Sequence[Guarantee], kind: type[Target], *, method: str) -> Target:
    """The target of a method that takes exactly one of this kind."""
    targets = [guarantee for guarantee in asked if isinstance(guarantee, kind)]
    others = [guarantee.name for guarantee in asked if not isinstance(guarantee, kind)]
    if len(targets) != 1 or others:
        raise Infeasible(
            f"Method {method} aims at {kind.name} alone"
            + (f", and cannot guarantee {' and '.join(others)} as well." if others else ".")
            + f" State one {fields(kind)[0].name}, or choose another method."  # type: ignore[arg-type]
        )
    return targets[0]


AS_THEY_STAND: Final = {"frequencies": "unbiased as released"}


def published_standard_errors(
    variances: Mapping[str, Sequence[float]], *, least: Callable[[int], float]
) -> Form:
    """The published statistics: the same standard error for all values of a column.

    The largest error, at least ``least(size)``, is rounded up on a grid of 1, 2, 5, 10, ...: errors
    by value, or exact digits, would reveal counts.
    """
    errors = {
        name: [coarse_up(math.sqrt(max(least(len(by_value)) ** 2, *by_value)))] * len(by_value)
        for name, by_value in variances.items()
    }
    return {**AS_THEY_STAND, "standard_errors": errors}


class Withheld(Method):
    """Methods whose matrices are not published, because they reveal the counts."""

    kind: ClassVar[str] = "withheld"
    owner_statistics: ClassVar[frozenset[str] | None] = frozenset(
        {"standard_errors", "unchanged_records"}
    )
    keeps_rules: ClassVar[bool] = False
    data_dependent: ClassVar[bool] = True

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """How frequencies are to be read: the same in all certificates."""
        del certificate
        return {}, AS_THEY_STAND
