"""Columns with their roles, and the schema that holds them together.

A schema is immutable. The data steward writes it as a TOML file, or ``describe`` proposes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from pramana.base.atomic_files import write_whole
from pramana.base.rounding import require_choice, require_number
from pramana.base.text import Shown, as_table, counted, tables_of
from pramana.errors import InvalidNumber, InvalidSchema, TooLarge, UnknownColumn, harmless
from pramana.schema.domains import (
    Bins,
    Categories,
    Domain,
    Label,
    NumberGrid,
    find_label,
    require_text,
)
from pramana.schema.origins import Provenance
from pramana.schema.recoding import NOTHING, Recoding
from pramana.schema.roles import Role
from pramana.types import Form

REPORTED: Final = "reported"
"""The column of a release by attribute sampling that names a record's attribute set."""

COUNT: Final = "count"
"""The column of a release of shuffled marginals that counts the records of a cell."""

RESERVED: Final = "pramana:"
"""Prefix of statistics that are kept next to columns; no column name may begin with it."""

CATEGORY_LIMIT: Final = 100_000  # the most values that one randomised column may have
LONGEST_TEXT: Final = 2000

Missing: TypeAlias = Literal["category", "keep", "refuse"]
MISSING: Final[tuple[Missing, ...]] = ("category", "keep", "refuse")

Replication: TypeAlias = Literal["brr", "fay", "jackknife", "bootstrap", "sdr"]
"""Balanced half-samples, Fay's form of them, jackknife, bootstrap, successive differences (ACS)."""
REPLICATIONS: Final[tuple[Replication, ...]] = get_args(Replication)


@dataclass(frozen=True)
class Column:
    """One column: its role, its domain, and what happens to missing and exempt values.

    >>> from pramana.schema.domains import Categories
    >>> sex = Column("sex", Role.KEY, Categories(("F", "M")), missing="category")
    >>> sex.labels, sex.randomised
    (('F', 'M', None), True)

    Attributes:
        name: The name in the table.
        role: What the column means to an adversary.
        domain: The values that can occur, or ``None`` where nobody has said so yet.
        missing: ``category`` (one more value, randomised), ``keep`` (stays missing),
            ``refuse`` (must not occur; codes that the domain lists may), or ``None``: not stated.
        exempt: Values that must stay as they are.
        randomise: ``None`` means the default: keys and columns on a grid are randomised.
        origin: Whether the domain and the recoding are declared or come from the data.
        recoding: Changes of the values before randomisation; estimates do not undo them.
    """

    name: str
    role: Role
    domain: Domain | None = None
    missing: Missing | None = None
    exempt: tuple[Label, ...] = ()
    randomise: bool | None = None
    origin: Provenance = Provenance.DECLARED
    recoding: Recoding = NOTHING

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidSchema("Every column must have a name that is a non-empty text.")
        require_text("name", (self.name,))
        if self.name.casefold().startswith(RESERVED):
            raise InvalidSchema(
                "No column may have a name that begins with '{reserved}', got '{column}'. Rename "
                "it.",
                column=self.name,
                reserved=RESERVED,
            )
        if self.role not in tuple(Role):
            raise self._wrong(
                "role",
                "Role of '{column}' must be one of {roles}, got {role!r}.",
                roles=", ".join(Role),
                role=self.role,
            )
        object.__setattr__(self, "role", Role(self.role))
        object.__setattr__(self, "origin", origin_named(self.origin, self.name))
        if self.missing is not None and self.missing not in MISSING:
            known = ", ".join(MISSING)
            raise self._wrong(
                "missing",
                "missing of '{column}' must be one of {known}, got {missing!r}.",
                known=known,
                missing=self.missing,
            )
        self._check_treatment()
        if isinstance(self.domain, Categories):
            values = self.recoding.listed(self.domain.values)
            if values != self.domain.values:
                object.__setattr__(self, "domain", replace(self.domain, values=values))
        if self.domain is not None and self.randomised:
            self._check_size(self.domain)
        object.__setattr__(self, "exempt", self.labels_of_domain(tuple(self.exempt), "exempt"))

    def _wrong(self, entry: str, text: str, **fields: Any) -> InvalidSchema:
        """The error that an entry of the column is wrong."""
        return InvalidSchema(text, column=self.name, entry=entry, **fields)

    def _check_treatment(self) -> None:
        """Refuse a role with which the column cannot be treated as stated."""
        if self.randomise and not self.role.traits.randomisable:
            raise self._wrong(
                "randomise",
                "'{column}' has role {role} and so cannot be randomised: identifiers are dropped, "
                "weights are released unchanged.",
                role=self.role,
            )
        if self.gridded and not self.randomised:
            raise self._wrong(
                "points",
                "'{column}' has a grid and so must be randomised: give it role key or sensitive, "
                "without randomise = false.",
            )
        if self.recoding and not self.role.traits.released:
            entry = next(iter(self.recoding.to_dict()))
            raise self._wrong(entry, "'{column}' is dropped: do not recode it.")
        number = self.role is Role.SENSITIVE and not self.randomised and self.domain is None
        if self.noisy and not number:
            raise self._wrong(
                "noise",
                "noise of '{column}' is for sensitive numbers that are neither randomised nor "
                "binned. Give it role sensitive without bins, or take the noise out.",
            )

    def _check_size(self, domain: Domain) -> None:
        entry = {Bins: "bins", NumberGrid: "points"}.get(type(domain), "categories")
        size = len(domain.labels)
        if size > CATEGORY_LIMIT:
            raise TooLarge(
                "'{column}' has {size:,} categories, and a randomised column may have at most "
                "{category_limit:,}. Coarsen it, cut it into bins, or give it another role.",
                column=self.name,
                entry=entry,
                size=size,
                category_limit=CATEGORY_LIMIT,
            )
        if size + (self.missing in ("category", "keep")) < 2:
            raise self._wrong(
                entry,
                "'{column}' must have at least two values to be randomised, got one. Add the "
                "values that can occur, or give it role public.",
            )

    def labels_of_domain(self, labels: tuple[Label, ...], entry: str) -> tuple[Label, ...]:
        """The labels as the domain spells them; ``entry`` of the schema lists them."""
        if self.domain is None:
            return labels
        if None in labels and self.missing == "refuse":
            raise self._wrong(
                entry, "{entry} of '{column}' names missing values, which it refuses."
            )
        try:
            return tuple(
                None if label is None else find_label(self.domain, label) for label in labels
            )
        except KeyError:
            raise self._wrong(
                entry, "{entry} of '{column}' must name values of its domain."
            ) from None

    @property
    def declared(self) -> bool:
        """Whether the data had no part in its domain and its recoding."""
        return self.origin.declared

    @cached_property
    def randomised(self) -> bool:
        """Whether the column goes through a matrix; a number that is rounded by chance must."""
        usual = self.role.traits.randomised or (self.gridded and self.role is Role.SENSITIVE)
        return usual if self.randomise is None else self.randomise

    @property
    def gridded(self) -> bool:
        """Whether it is a number that is rounded to a grid by chance before it is randomised."""
        return isinstance(self.domain, NumberGrid)

    @property
    def binned(self) -> bool:
        """Whether it is a sensitive number that is released as its bin."""
        sensitive = self.role is Role.SENSITIVE and not self.randomised
        return sensitive and isinstance(self.domain, Bins)

    @property
    def listed(self) -> bool:
        """Whether it is released unchanged and its domain lists codes for missing."""
        kept = not self.randomised and isinstance(self.domain, Categories)
        released = self.role.traits.released and self.role.traits.analysed
        return kept and released and bool(self.codes_for_missing)

    @property
    def codes_for_missing(self) -> tuple[Label, ...]:
        """The values of its domain that are codes for missing."""
        return () if self.domain is None else self.domain.missing_values

    @property
    def labels_for_missing(self) -> tuple[Label, ...]:
        """The labels of these codes: of bins they are texts."""
        return () if self.domain is None else self.domain.missing_labels

    @property
    def ordered(self) -> bool:
        """Whether its values are ordered: bins, or ordered categories."""
        return self.domain is not None and self.domain.ordered

    @property
    def drawn(self) -> bool:
        """Whether numbers drawn inside its bins are released."""
        return isinstance(self.domain, Bins) and self.domain.release == "draw"

    @property
    def noisy(self) -> bool:
        """Whether noise is added to every released value."""
        return self.recoding.noise is not None

    @property
    def coded(self) -> bool:
        """Whether its released values are those of its domain, randomised or binned."""
        return self.domain is not None and (self.randomised or self.binned)

    @property
    def declared_domain(self) -> Domain:
        """The domain; refused where nobody has said it yet."""
        if self.domain is None:
            raise InvalidSchema(
                "The domain of '{column}' is not declared. Give its categories or bins.",
                column=self.name,
            )
        return self.domain

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the domain, and ``None`` at the end where missing is a value."""
        gaps = (None,) if self.missing in ("category", "keep") else ()
        return self.declared_domain.labels + gaps

    @property
    def fixed(self) -> tuple[Label, ...]:
        """The labels that stay unchanged: the exempt ones, and missing where it is kept."""
        if self.missing != "keep":
            return self.exempt
        missing = (*self.labels_for_missing, None)
        return self.exempt + tuple(label for label in missing if label not in self.exempt)


@dataclass(frozen=True)
class Impossible:
    """A combination that cannot exist: one of the listed labels in each of its columns.

    >>> rule = Impossible.of({"age": ["[0, 16)"], "marital": ["married", "widowed"]})
    >>> rule.columns, rule["marital"]
    (('age', 'marital'), ('married', 'widowed'))
    """

    cells: tuple[tuple[str, tuple[Label, ...]], ...]

    def __post_init__(self) -> None:
        if len(set(self.columns)) < 2:
            raise InvalidSchema(
                "An impossible combination must name at least two columns, got {count}. To rule "
                "out a single value, leave it out of the domain.",
                entry="impossible",
                count=len(self.cells),
            )
        for name, labels in self.cells:
            if not labels:
                raise InvalidSchema(
                    "An impossible combination must list a value of '{column}' at least, got none.",
                    column=name,
                    entry="impossible",
                )

    @classmethod
    def of(cls, labels: Mapping[str, Iterable[Label]]) -> Impossible:
        """From a mapping of columns to labels."""
        return cls(tuple((name, tuple(values)) for name, values in labels.items()))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it ties together."""
        return tuple(name for name, _ in self.cells)

    def __getitem__(self, column: str) -> tuple[Label, ...]:
        return dict(self.cells)[column]

    def to_dict(self) -> dict[str, list[Label]]:
        """The mapping that it was made of."""
        return {name: list(labels) for name, labels in self.cells}


@dataclass(frozen=True)
class Dataset:
    """What a steward says about the data set: published in certificates, reports and catalogues."""

    title: str = ""
    version: str = ""
    description: str = ""
    publisher: str = ""
    contact: str = ""
    licence: str = ""
    purpose: str = ""

    @classmethod
    def of(cls, entries: object) -> Dataset:
        """From texts by name; an unknown name or another value is refused."""
        names = [field.name for field in fields(cls)]
        if not isinstance(entries, Mapping) or not set(entries) <= set(names):
            raise InvalidSchema("[dataset] takes {names}.", entry="dataset", names=", ".join(names))
        for name, text in entries.items():
            if not isinstance(text, str) or not text.isprintable() or len(text) > LONGEST_TEXT:
                raise InvalidSchema(
                    "{name} of [dataset] must be one line of at most {longest_text:,} characters.",
                    entry="dataset",
                    name=name,
                    longest_text=LONGEST_TEXT,
                )
        return cls(**entries)

    def to_dict(self) -> dict[str, str]:
        """The entries that have a text."""
        return {name: text for name, text in asdict(self).items() if text}


@dataclass(frozen=True)
class Replicates:
    """Columns of replicate weights, and how variances follow from them.

    Replicate weights identify the cluster and often the person. Released unchanged they count among
    the known columns, unless the steward gives them the role sensitive.

    >>> Replicates("PWGTP*", kind="sdr").columns_in(["PWGTP", "PWGTP1", "PWGTP10", "PWGTP2"])
    ('PWGTP1', 'PWGTP2', 'PWGTP10')

    Attributes:
        columns: Their names, or one name with a star for the numbers at its end.
        kind: ``brr``, ``fay``, ``jackknife`` (one cluster left out at a time), ``bootstrap``, or
            ``sdr``: successive differences, as in the American Community Survey.
        fay: For ``fay``, the share of its weight that a half-sample keeps when it is left out.
        scale: The factor of the sum of squares, where it is none of these.
    """

    columns: str | tuple[str, ...]
    kind: Replication = "brr"
    fay: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, str):
            object.__setattr__(self, "columns", tuple(self.columns))
        require_choice("kind of replicates", self.kind, REPLICATIONS)
        if (self.kind == "fay") != (self.fay is not None):
            raise InvalidNumber("fay is for kind fay only.")
        if self.fay is not None:
            require_number("fay", self.fay, low=0, high=1, high_open=True)
        if self.scale is not None:
            require_number("scale", self.scale, low=0, low_open=True, high=np.inf, high_open=True)

    def columns_in(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns among those of a release; at least two."""
        columns = (self.columns,) if isinstance(self.columns, str) else self.columns
        if isinstance(self.columns, str) and self.columns.endswith("*"):
            ends = {name: re.fullmatch(re.escape(self.columns[:-1]) + r"(\d+)", name)
                    for name in names}  # fmt: skip
            numbers = {name: int(end[1]) for name, end in ends.items() if end is not None}
            columns = tuple(sorted(numbers, key=numbers.__getitem__))
        lacking = [name for name in columns if name not in names]
        if lacking or len(set(columns)) < max(2, len(columns)):
            raise UnknownColumn(
                "Replicate weights must be two or more columns of the table, each named once; "
                "{count} are named, and {lacking} of them are not there.",
                count=len(set(columns)),
                lacking=len(lacking),
            )
        return columns

    def named(self, names: Sequence[str]) -> Replicates:
        """The same with every column by its name."""
        return replace(self, columns=self.columns_in(names))

    def to_dict(self) -> Form:
        """As in a schema file and in a certificate."""
        columns = self.columns if isinstance(self.columns, str) else list(self.columns)
        numbers = {"fay": self.fay, "scale": self.scale}
        stated = {name: value for name, value in numbers.items() if value is not None}
        return {"columns": columns, "method": self.kind, **stated}

    def factor(self, number: int) -> float:
        """The factor of the sum of squares over this number of replicates."""
        if self.scale is not None:
            return self.scale
        if self.kind == "jackknife":
            return (number - 1) / number
        if self.kind == "sdr":
            return 4 / number
        return 1 / (number * (1 - (self.fay or 0.0)) ** 2)


@dataclass(frozen=True)
class Schema(Shown):
    """The columns in order, with what ties them together.

    Attributes:
        columns: One entry per column of the table.
        impossible: Combinations that no record can have and none may be given.
        strata: Columns, released unchanged, within each of whose cells the rest is randomised.
        choices: Sets of keys that an acquaintance may know together.
        tables: Tables of interest, as sets of columns: the attribute sets of method
            ``attribute-sampling``. Part of a plan, not of a release.
        household: The identifier that numbers households, if any. Part of a plan too.
        replicates: The columns of replicate weights, if any, and how they were made.
        origin: Where the choice of columns and roles comes from; of a plan, also of method and
            target.
        drops_rest: Whether columns of a table that the schema does not name are dropped; else a
            table that has some is refused.
        dataset: What the steward says about the data set: title, version, contact and the like.
    """

    columns: tuple[Column, ...]
    impossible: tuple[Impossible, ...] = ()
    strata: tuple[str, ...] = ()
    choices: tuple[tuple[str, ...], ...] = ()
    tables: tuple[tuple[str, ...], ...] = ()
    household: str | None = None
    replicates: Replicates | None = None
    origin: Provenance = Provenance.DECLARED
    drops_rest: bool = False
    dataset: Dataset = field(default_factory=Dataset)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "strata", tuple(self.strata))
        object.__setattr__(self, "choices", tuple(tuple(choice) for choice in self.choices))
        object.__setattr__(self, "tables", tables_of(self.tables))
        object.__setattr__(self, "origin", origin_named(self.origin))
        self._check_columns()
        self._check_names()
        self._check_household_and_strata()
        if self.replicates is not None:
            object.__setattr__(self, "replicates", self._checked_replicates(self.replicates))
        rules = tuple(map(self._checked_rule, self.impossible))
        object.__setattr__(self, "impossible", rules)

    def __repr__(self) -> str:
        roles = ", ".join(f"{column.name} {column.role}" for column in self.columns)
        return f"<{type(self).__name__}: {harmless(roles)}>"

    def __str__(self) -> str:
        names = [harmless(column.name) for column in self.columns]
        wide, lines = max(map(len, names)), []
        for name, column in zip(names, self.columns, strict=True):
            values = "" if column.domain is None else counted(len(column.labels), "value")
            lines.append(f"{name.ljust(wide)}  {column.role!s:<10}  {values}".rstrip())
        return "\n".join(lines)

    def _check_columns(self) -> None:
        if not self.columns:
            raise InvalidSchema("A schema must have at least one column, got none.")
        if len(self._by_name) < len(self.columns):
            double = next(n for i, n in enumerate(self.names) if n in self.names[:i])
            raise InvalidSchema(
                "Column names must differ, got '{column}' more than once.", column=double
            )
        weights = [column.name for column in self.columns if column.role is Role.WEIGHT]
        if len(weights) > 1:
            names = ", ".join(f"'{name}'" for name in weights)
            raise InvalidSchema(
                "A schema may have one weight column, got {count}: {names}.",
                column=weights[-1],
                entry="role",
                count=len(weights),
                names=names,
            )

    def _check_names(self) -> None:
        """Refuse entries that name columns which the schema does not have, or not release."""
        named = {
            "strata": self.strata,
            "choices": [name for choice in self.choices for name in choice],
            "tables": [name for table in self.tables for name in table],
            "household": () if self.household is None else (self.household,),
            "impossible": [name for rule in self.impossible for name in rule.columns],
        }
        for entry, names in named.items():
            for name in names:
                if name not in self._by_name:
                    text = "{entry} must name columns of the schema, got '{column}'."
                    raise InvalidSchema(text, column=name, entry=entry)
        for table in self.tables:
            if not table or len(set(table)) < len(table):
                text = "tables must name each column of a table once, got '{table}'."
                raise InvalidSchema(text, entry="tables", table=as_table(table))
            for name in table:
                if not self._by_name[name].role.traits.released:
                    text = "tables must name columns that are released, and '{column}' is dropped."
                    raise InvalidSchema(text, column=name, entry="tables")

    def _check_household_and_strata(self) -> None:
        if self.household is not None:
            role = self._by_name[self.household].role
            if role.traits.released:
                raise InvalidSchema(
                    "household '{column}' must have role identifier, got {role}: if released, it "
                    "would keep the records of a household linked.",
                    column=self.household,
                    entry="household",
                    role=role,
                )
        for name in self.strata:
            column = self._by_name[name]
            if column.randomised or not column.role.traits.released:
                raise InvalidSchema(
                    "Stratum '{column}' must be released unchanged. Give it role public, or set "
                    "randomise = false.",
                    column=name,
                    entry="strata",
                )

    def _checked_replicates(self, replicates: Replicates) -> Replicates:
        """Replicate weights with their columns by name."""
        entry = "replicate_weights"
        try:
            named = replicates.named(self.names)
        except UnknownColumn as error:
            raise InvalidSchema("{entry}: {error}", entry=entry, error=error) from None
        if self.weight is None:
            raise InvalidSchema("{entry} go with a column of role weight, got none.", entry=entry)
        for name in named.columns:
            if self._by_name[name].role not in (Role.PUBLIC, Role.SENSITIVE):
                raise InvalidSchema(
                    "Replicate weight '{column}' must be released unchanged. Give it role public "
                    "(anyone may know it: anonymity sets are counted by it), or sensitive.",
                    column=name,
                    entry=entry,
                )
        return named

    def _checked_rule(self, rule: Impossible) -> Impossible:
        """The rule with labels spelled as the domains spell them."""
        cells = []
        for name, labels in rule.cells:
            column = self._by_name[name]
            if not column.randomised:
                raise InvalidSchema(
                    "impossible names '{column}', which is not randomised: only randomised "
                    "columns can come to an impossible combination.",
                    column=name,
                    entry="impossible",
                )
            cells.append((name, column.labels_of_domain(labels, "impossible")))
        return Impossible(tuple(cells))

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def keys(self) -> tuple[Column, ...]:
        """The columns of role key."""
        return tuple(column for column in self.columns if column.role is Role.KEY)

    @cached_property
    def randomised(self) -> tuple[Column, ...]:
        """The columns that go through a matrix."""
        return tuple(column for column in self.columns if column.randomised)

    @property
    def bin_words(self) -> dict[str, dict[Label, str]]:
        """The bins of each column, by their labels, as people read them."""
        return {
            column.name: dict(zip(column.domain.labels, column.domain.words, strict=False))
            for column in self.columns
            if isinstance(column.domain, Bins)
        }

    @cached_property
    def released_as_is(self) -> tuple[Column, ...]:
        """The columns that are published unchanged, but for bins or noise: no matrix moves them."""
        return tuple(
            column
            for column in self.columns
            if not column.randomised and column.role.traits.released
        )

    @cached_property
    def binned(self) -> tuple[Column, ...]:
        """The columns that are cut into bins and otherwise left alone."""
        return tuple(column for column in self.columns if column.binned)

    @property
    def listed(self) -> tuple[Column, ...]:
        """The columns that are released unchanged and list codes for missing."""
        return tuple(column for column in self.columns if column.listed)

    @property
    def apart(self) -> tuple[str, ...]:
        """The columns in which each code for missing stays a separate value."""
        return tuple(c.name for c in self.columns if c.randomised or c.codes_for_missing)

    @cached_property
    def noisy(self) -> tuple[Column, ...]:
        """The columns that are released with noise and otherwise left alone."""
        return tuple(column for column in self.columns if column.noisy)

    @cached_property
    def known(self) -> tuple[str, ...]:
        """Columns released unchanged that an adversary may know, sampling weights among them."""
        return tuple(
            column.name
            for column in self.released_as_is
            if column.role.traits.known or column.name in self.strata
        )

    @cached_property
    def attached(self) -> tuple[str, ...]:
        """All columns released unchanged, if some of them are assumed unknown to an adversary."""
        names = tuple(column.name for column in self.released_as_is)
        return names if set(names) > set(self.known) else ()

    @cached_property
    def released(self) -> tuple[Column, ...]:
        """The columns of the release, in order: all but the identifiers."""
        return tuple(column for column in self.columns if column.role.traits.released)

    @cached_property
    def weight(self) -> Column | None:
        """The column of sampling weights, if there is one."""
        return next((column for column in self.columns if column.role is Role.WEIGHT), None)

    def __getitem__(self, name: str) -> Column:
        return self.column(name)

    def shown(self) -> tuple[str, list[str]]:
        """As notebooks show it."""
        return f"Schema of {counted(len(self.columns), 'column')}", str(self).split("\n")

    def column(self, name: str) -> Column:
        """The column of that name."""
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownColumn(
                "The schema has no column '{column}'. It has: {names}.",
                column=name,
                names=", ".join(self.names),
            ) from None

    def replace_columns(self, columns: Iterable[Column]) -> Schema:
        """The same schema with these columns in place of those of the same names."""
        new = {column.name: column for column in columns}
        return replace(self, columns=tuple(new.get(column.name, column) for column in self.columns))

    def bare(self) -> Schema:
        """The schema without what a description adds to it."""
        return Schema(*(getattr(self, attribute.name) for attribute in fields(Schema)))

    def to_toml(self) -> str:
        """The schema as a TOML text that can be edited."""
        from pramana.schema.schema_file import write_schema

        return write_schema(self)

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """The schema that a TOML text states."""
        from pramana.schema.schema_file import read_schema

        return read_schema(text)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema in a TOML file."""
        from pramana.schema.schema_file import read_schema_file

        return read_schema_file(Path(path))

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the schema as a TOML file; over a file of that name only with ``force``."""
        write_whole(Path(path), self.to_toml(), force=force)


def origin_named(word: str, column: str | None = None) -> Provenance:
    """The origin of that name; any other name is refused."""
    if word not in tuple(Provenance):
        of = "" if column is None else f" of '{column}'"
        raise InvalidSchema(
            "origin{of} must be one of {provenance}, got {word!r}.",
            column=column,
            entry="origin",
            of=of,
            provenance=", ".join(Provenance),
            word=word,
        )
    return Provenance(word)


def require_keys(schema: Schema) -> None:
    """Refuse a schema in which nothing is randomised."""
    if not schema.randomised:
        raise InvalidSchema(
            "A schema must have at least one key to randomise, got none. "
            'Set role = "key" on the columns by which a person could be recognised.'
        )


def require_domains(schema: Schema) -> None:
    """Refuse a schema with a randomised column whose domain is not declared."""
    for column in schema.randomised:
        if column.domain is None:
            raise InvalidSchema(
                "The domain of '{column}' is not declared, and there are no data to take it from. "
                "Give its categories or bins in the schema.",
                column=column.name,
            )
