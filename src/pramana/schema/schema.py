"""Columns with their roles, and the schema that ties them together.

A schema is immutable. The steward writes it as a TOML file, or ``describe`` proposes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from pramana.base.atomic_files import write_whole
from pramana.base.text import Shown, as_table, counted, tables_of
from pramana.errors import InvalidSchema, TooLarge, UnknownColumn, harmless
from pramana.schema.dataset import Dataset
from pramana.schema.domains import Bins, Categories, Domain, Label, NumberGrid, find_label
from pramana.schema.origins import Provenance
from pramana.schema.recoding import NOTHING, Recoding
from pramana.schema.replicates import Replicates

REPORTED = "reported"
COUNT = "count"
"""The column of a release by attribute sampling that names a record's attribute set."""

RESERVED = "pramana:"
"""Prefix of statistics that are kept next to columns; no column name may begin with it."""

CATEGORY_LIMIT = 100_000
"""The most values that one randomised column may have."""

Missing: TypeAlias = Literal["category", "keep", "refuse"]
MISSING: tuple[Missing, ...] = ("category", "keep", "refuse")


class Role(StrEnum):
    """What a column means to an adversary."""

    KEY = "key"
    SENSITIVE = "sensitive"
    WEIGHT = "weight"
    PUBLIC = "public"
    IDENTIFIER = "identifier"


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
        randomise: ``None`` leaves it to the role: keys are randomised, the rest is not.
        origin: Where its domain and its recoding come from.
        recoding: What becomes of its values before anything else; undone nowhere.
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
        if self.name.casefold().startswith(RESERVED):
            raise InvalidSchema(
                f"No column may have a name that begins with '{RESERVED}', got '{self.name}'. "
                "Rename it.",
                column=self.name,
            )
        if self.role not in tuple(Role):
            raise InvalidSchema(
                f"Role of '{self.name}' must be one of {', '.join(Role)}, got {self.role!r}.",
                column=self.name,
                entry="role",
            )
        object.__setattr__(self, "role", Role(self.role))
        object.__setattr__(self, "origin", origin_named(self.origin, self.name))
        if self.missing is not None and self.missing not in MISSING:
            raise InvalidSchema(
                f"missing of '{self.name}' must be one of {', '.join(MISSING)}, "
                f"got {self.missing!r}.",
                column=self.name,
                entry="missing",
            )
        if self.randomise and self.role in (Role.IDENTIFIER, Role.WEIGHT):
            raise InvalidSchema(
                f"'{self.name}' has role {self.role} and so cannot be randomised: "
                "identifiers are dropped, weights are released unchanged.",
                column=self.name,
                entry="randomise",
            )
        self._check_recoding()
        if isinstance(self.domain, Categories):
            values = self.recoding.listed(self.domain.values)
            if values != self.domain.values:
                object.__setattr__(self, "domain", replace(self.domain, values=values))
        self._check_size()
        object.__setattr__(self, "exempt", self.labels_of_domain(tuple(self.exempt), "exempt"))

    def _check_recoding(self) -> None:
        if self.gridded and not self.randomised:
            raise InvalidSchema(
                f"'{self.name}' has a grid and so must be randomised: give it role key or "
                "sensitive, without randomise = false.",
                column=self.name,
                entry="points",
            )
        if self.recoding and self.role is Role.IDENTIFIER:
            raise InvalidSchema(
                f"'{self.name}' is an identifier and dropped: do not recode it.",
                column=self.name,
                entry=next(iter(self.recoding.to_dict())),
            )
        number = self.role is Role.SENSITIVE and not self.randomised and self.domain is None
        if self.noisy and not number:
            raise InvalidSchema(
                f"noise of '{self.name}' is for sensitive numbers that are neither randomised nor "
                "binned. Give it role sensitive without bins, or take the noise out.",
                column=self.name,
                entry="noise",
            )

    def _check_size(self) -> None:
        if self.domain is None or not self.randomised:
            return
        size = len(self.domain.labels)
        if size > CATEGORY_LIMIT:
            raise TooLarge(
                f"'{self.name}' has {size:,} categories, and a randomised column may have at most "
                f"{CATEGORY_LIMIT:,}. Coarsen it, cut it into bins, or give it another role.",
                column=self.name,
                entry=self._domain_entry,
            )
        if size + (self.missing in ("category", "keep")) < 2:
            raise InvalidSchema(
                f"'{self.name}' must have at least two values to be randomised, got one. "
                "Add the values that can occur, or give it role public.",
                column=self.name,
                entry=self._domain_entry,
            )

    @property
    def _domain_entry(self) -> str:
        return {Bins: "bins", NumberGrid: "points"}.get(type(self.domain), "categories")

    def labels_of_domain(self, labels: tuple[Label, ...], entry: str) -> tuple[Label, ...]:
        """The labels as the domain spells them; ``entry`` of the schema lists them."""
        if self.domain is None:
            return labels
        spelled: list[Label] = []
        for label in labels:
            try:
                spelled.append(None if label is None else find_label(self.domain, label))
            except KeyError:
                raise InvalidSchema(
                    f"{entry} of '{self.name}' must name values of its domain, got {label!r}.",
                    column=self.name,
                    entry=entry,
                ) from None
            if label is None and self.missing == "refuse":
                raise InvalidSchema(
                    f"{entry} of '{self.name}' names missing values, which the column refuses.",
                    column=self.name,
                    entry=entry,
                )
        return tuple(spelled)

    @property
    def declared(self) -> bool:
        """Whether the data had no part in its domain and its recoding."""
        return self.origin.declared

    @cached_property
    def randomised(self) -> bool:
        """Whether the column goes through a matrix; a number that is rounded by chance must."""
        usual = self.role is Role.KEY or (self.gridded and self.role is Role.SENSITIVE)
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
        return kept and self.names_missing and self.role not in (Role.IDENTIFIER, Role.WEIGHT)

    @property
    def names_missing(self) -> bool:
        """Whether its domain lists codes for missing."""
        return bool(self.codes_for_missing)

    @property
    def codes_for_missing(self) -> tuple[Label, ...]:
        """The values of its domain that are codes for missing."""
        return () if self.domain is None else self.domain.missing_values

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

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the domain, and ``None`` at the end where missing is a value."""
        if self.domain is None:
            raise InvalidSchema(
                f"The domain of '{self.name}' is not declared. Give its categories or bins.",
                column=self.name,
            )
        return self.domain.labels + ((None,) if self.missing in ("category", "keep") else ())

    @property
    def fixed(self) -> tuple[Label, ...]:
        """The labels that stay unchanged: the exempt ones, and missing where it is kept."""
        if self.missing != "keep":
            return self.exempt
        codes = () if self.domain is None else self.domain.missing_labels
        return self.exempt + tuple(code for code in (*codes, None) if code not in self.exempt)


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
                "An impossible combination must name at least two columns, "
                f"got {len(self.cells)}. To rule out a single value, leave it out of the domain.",
                entry="impossible",
            )
        for name, labels in self.cells:
            if not labels:
                raise InvalidSchema(
                    f"An impossible combination must list a value of '{name}' at least, got none.",
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
class Schema(Shown):
    """The columns in order, with what ties them together.

    Attributes:
        columns: One entry a column of the table.
        impossible: Combinations that no record can have and none may be given.
        strata: Columns, released unchanged, within each of whose cells the rest is randomised.
        choices: Sets of keys that an acquaintance may know together.
        tables: Tables of interest, as sets of columns: the attribute sets of method
            ``attribute-sampling``. Part of a plan, not of a release.
        household: The identifier that numbers households, if any. Part of a plan too.
        replicates: The columns of replicate weights, if any, and how they were made.
        origin: Where the choice of columns and roles comes from; of a plan, also that of method and
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
        self._require_known_names()
        for name in self.strata:
            self._check_stratum(name)
        for table in self.tables:
            self._check_table(table)
        if self.household is not None:
            self._check_household(self._by_name[self.household])
        if self.replicates is not None:
            self._check_replicates(self.replicates)
        rules = tuple(self._checked(rule) for rule in self.impossible)
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
                f"Column names must differ, got '{double}' more than once.", column=double
            )
        weights = [column.name for column in self.columns if column.role is Role.WEIGHT]
        if len(weights) > 1:
            names = ", ".join(f"'{name}'" for name in weights)
            raise InvalidSchema(
                f"A schema may have one weight column, got {len(weights)}: {names}.",
                column=weights[-1],
                entry="role",
            )

    def _check_table(self, table: tuple[str, ...]) -> None:
        if not table or len(set(table)) < len(table):
            raise InvalidSchema(
                f"tables must name each column of a table once, got '{as_table(table)}'.",
                entry="tables",
            )
        for name in (name for name in table if self._by_name[name].role is Role.IDENTIFIER):
            raise InvalidSchema(
                f"tables must name columns that are released, and '{name}' is dropped.",
                column=name,
                entry="tables",
            )

    def _require_known_names(self) -> None:
        """Refuse entries of the schema that name a column which it does not have."""
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
                    raise InvalidSchema(
                        f"{entry} must name columns of the schema, got '{name}'.",
                        column=name,
                        entry=entry,
                    )

    def _check_household(self, column: Column) -> None:
        if column.role is not Role.IDENTIFIER:
            raise InvalidSchema(
                f"household '{column.name}' must have role identifier, got {column.role}: if "
                "released, it would keep the records of a household linked.",
                column=column.name,
                entry="household",
            )

    def _check_replicates(self, replicates: Replicates) -> None:
        try:
            named = replicates.named(self.names)
        except UnknownColumn as error:
            raise InvalidSchema(f"replicate_weights: {error}", entry="replicate_weights") from None
        object.__setattr__(self, "replicates", named)
        if self.weight is None:
            raise InvalidSchema(
                "replicate_weights go with a column of role weight, got none.",
                entry="replicate_weights",
            )
        for name in named.columns:
            if self._by_name[name].role not in (Role.PUBLIC, Role.SENSITIVE):
                raise InvalidSchema(
                    f"Replicate weight '{name}' must leave as it is. Give it role public (anyone "
                    "may know it: anonymity sets are counted by it), or sensitive.",
                    column=name,
                    entry="replicate_weights",
                )

    def _check_stratum(self, name: str) -> None:
        column = self._by_name[name]
        if column.randomised or column.role is Role.IDENTIFIER:
            raise InvalidSchema(
                f"Stratum '{name}' must be released unchanged. "
                "Give it role public, or set randomise = false.",
                column=name,
                entry="strata",
            )

    def _checked(self, rule: Impossible) -> Impossible:
        """The rule with labels spelled as the domains spell them."""
        cells = []
        for name, labels in rule.cells:
            column = self._by_name[name]
            if not column.randomised:
                raise InvalidSchema(
                    f"impossible names '{name}', which is not randomised: "
                    "only randomised columns can come to an impossible combination.",
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

    @cached_property
    def released_as_is(self) -> tuple[Column, ...]:
        """The columns that are published unchanged, but for bins or noise: no matrix moves them."""
        return tuple(
            column
            for column in self.columns
            if not column.randomised and column.role is not Role.IDENTIFIER
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
        return tuple(c.name for c in self.columns if c.randomised or c.names_missing)

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
            if column.role is not Role.SENSITIVE or column.name in self.strata
        )

    @cached_property
    def attached(self) -> tuple[str, ...]:
        """All columns released unchanged, if some of them are assumed unknown to an adversary."""
        names = tuple(column.name for column in self.released_as_is)
        return names if set(names) > set(self.known) else ()

    @cached_property
    def released(self) -> tuple[Column, ...]:
        """The columns of the release, in order: all but the identifiers."""
        return tuple(column for column in self.columns if column.role is not Role.IDENTIFIER)

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
                f"The schema has no column '{name}'. It has: {', '.join(self.names)}.", column=name
            ) from None

    def replace_columns(self, columns: Iterable[Column]) -> Schema:
        """The same schema with these columns in place of those of the same names."""
        new = {column.name: column for column in columns}
        return replace(self, columns=tuple(new.get(column.name, column) for column in self.columns))

    def bare(self) -> Schema:
        """The schema without what a description adds to it."""
        return Schema(*(getattr(self, one.name) for one in fields(Schema)))

    def to_toml(self) -> str:
        """The schema as a TOML text that can be edited."""
        from pramana.schema.toml import write_schema

        return write_schema(self)

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """The schema that a TOML text states."""
        from pramana.schema.toml import read_schema

        return read_schema(text)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema in a TOML file."""
        from pramana.schema.toml import read_schema_file

        return read_schema_file(Path(path))

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the schema as a TOML file; over a file of that name only with ``force``."""
        write_whole(Path(path), self.to_toml(), force=force)


def origin_named(word: str, column: str | None = None) -> Provenance:
    """The origin of that name; any other name is refused."""
    if word not in tuple(Provenance):
        of = "" if column is None else f" of '{column}'"
        raise InvalidSchema(
            f"origin{of} must be one of {', '.join(Provenance)}, got {word!r}.",
            column=column,
            entry="origin",
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
    """Refuse a schema that leaves the domain of a randomised column to the data."""
    for column in schema.randomised:
        if column.domain is None:
            raise InvalidSchema(
                f"The domain of '{column.name}' is not declared, and there are no data to read it "
                "off. Give its categories or bins in the schema.",
                column=column.name,
            )
