"""Methods by microaggregation: groups of at least k records share or exchange their keys [Wei]."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import coarse_up, require_choice, require_number
from pramana.base.text import listed, parts_of
from pramana.engine.base import Table, engine_for
from pramana.errors import Infeasible, InvalidNumber, InvalidSchema, Notice
from pramana.guarantees.base import Evidence, Guarantee
from pramana.guarantees.claims import attained
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.mechanisms.mechanism import Mechanism
from pramana.methods.base import Method, option, options_of, require_options, single_target
from pramana.methods.context import DesignContext, require_coded
from pramana.methods.plan import Plan
from pramana.microaggregation.groups import Clustering
from pramana.release.certificate import Certificate
from pramana.release.kinds import NewKeys
from pramana.schema.codec import comparable, decode, encode, present
from pramana.schema.group_sizes import group_sizes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column, Schema, require_keys
from pramana.types import Entries, Form, IntArray

if TYPE_CHECKING:
    from pramana.microaggregation.anonymisation import Anonymised
    from pramana.microaggregation.clustering import Sensitive
    from pramana.microaggregation.groups import Key

ALLOW = "Release even if only the keys distinguish records: most records are then unchanged."

ALSO_MISSING: Final = (
    " Then cells of keys were set to missing, so that every released combination of keys and known "
    "columns, missing cells included, occurs at least {k} times."
)

Draw = Literal["whole", "sequential"]
"""Draw all keys of one member, or each key from another member."""

QUICKLY_GROUPED = 12_000_000
"""Records times coordinates of their keys that are grouped within a minute."""

ON_THE_DRIVER = (
    "Groups are formed on one machine: all records of the data frame are brought to the driver."
)


def names_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Column names from a repeatable option whose texts hold names separated by commas."""
    return tuple(name for text in texts for name in parts_of(text))


LOADING: Final = 1 / 3
"""The loading of [Wei, Sec. 4.3]."""

USUAL: Final = {"suppress": False, "loading": LOADING, "min_size": None}
"""Options that a certificate states only where they have other values."""


def coordinates_of(column: Column) -> int:
    """The coordinates of a key in the clustering: one per value if values have no order."""
    domain = column.domain
    if domain is None or domain.ordered or all(isinstance(v, int | float) for v in column.labels):
        return 1
    return domain.size


@dataclass(frozen=True)
class Grouped(Method):
    """Groups of at least k records, whose keys are drawn anew inside the group.

    Attributes:
        clustering: the clustering algorithm.
        responses: numeric columns in which the records of a group should be similar.
        response_weight: the weight of a response relative to a key.
        min_size: the least size of a group, where it is larger than k: fewer records stay
            unchanged in larger groups.
        max_size: the largest size of a group, if there is one.
        distinct: the least number of values of each sensitive column in a group (l-diversity).
        closeness: the largest distance between the distributions of a sensitive column in a group
            and in the table (t-closeness).
        suppress: whether key cells are set to missing, few of them, so that every released
            combination of keys and known columns occurs at least k times.
    """

    clustering: Clustering = option("default", "Algorithm that forms the groups.")
    responses: tuple[str, ...] = option(
        (),
        "Numbers whose association with the keys should be preserved.",
        flag="--response",
        metavar="COLUMNS",
        read=names_of,
    )
    response_weight: float = option(1.0, "The weight of a response relative to a key.")
    min_size: int | None = option(None, "Least number of records in each group, if above k.")
    max_size: int | None = option(None, "Largest number of records in each group.")
    distinct: int = option(1, "Distinct values of each sensitive column in each group.")
    closeness: float = option(1.0, "Largest t-closeness distance of a group from all records.")
    suppress: bool = option(
        False, "Set key cells to missing until every combination of keys occurs k times."
    )

    aims: ClassVar[tuple[str, ...]] = ("k-anonymity",)
    kind: ClassVar[str] = "groups"
    owner_statistics: ClassVar[frozenset[str] | None] = frozenset(
        {"within_group_share", "unchanged_records"}
    )
    data_dependent: ClassVar[bool] = True
    accepts_numbers: ClassVar[bool] = True
    base_cost: ClassVar[int] = 3

    new_keys: ClassVar[NewKeys]
    """Where the keys of a released record come from."""

    done: ClassVar[str]
    """The sentence of the certificate on what is done to a group of at least {k} records."""

    @property
    def real_keys(self) -> bool:
        """Whether every released combination of keys occurs in the original data."""
        return True

    def __post_init__(self) -> None:
        if isinstance(self.responses, str):
            raise InvalidNumber(
                "responses must be a list of columns, got {responses!r}.", responses=self.responses
            )
        object.__setattr__(self, "responses", tuple(self.responses))
        require_choice("clustering", self.clustering, get_args(Clustering))
        require_number("response_weight", self.response_weight, low=0, high_open=True)
        require_number("min_size", 1 if self.min_size is None else self.min_size, low=1)
        require_number("max_size", 1 if self.max_size is None else self.max_size, low=1)
        require_number("distinct", self.distinct, low=1)
        require_number("closeness", self.closeness, low=0, high=1)

    def size(self, k: int) -> int:
        """The least size of a group for this k."""
        return max(k, self.min_size or 0)

    @classmethod
    def slow_reason(cls, schema: Schema, records: int) -> str:
        """Why clustering takes long; more coordinates than can be clustered are refused at once."""
        from pramana.microaggregation.groups import MOST_COORDINATES

        values = sum(map(coordinates_of, schema.randomised))
        if values > MOST_COORDINATES or records * values <= QUICKLY_GROUPED:
            return ""
        return f"keys of {values:,} values without an order, for {records:,} records,"

    def donors(
        self, keys: Sequence[Key], labels: IntArray, keystream: Keystream
    ) -> Sequence[IntArray] | None:
        """For every key the records whose values are released; ``None`` for the group's centre."""
        raise NotImplementedError

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """A plan for k; groups are formed when records are released."""
        require_keys(context.schema)
        # Refuse exempt and kept missing values: every record gets the keys of another one
        fixed = [column.name for column in context.schema.randomised if column.fixed]
        if fixed:
            raise InvalidSchema(
                "Values of {fixed} are exempt or kept missing, and would change: method "
                "{name} gives every record new keys, missing ones too. Drop the exemption, "
                'or set missing = "category".',
                fixed=listed(fixed),
                name=self.name,
            )
        if self.suppress:
            _with_missing(context.schema)
        for name in self.responses:
            context.schema.column(name)
        target = single_target(asked, KAnonymity, method=self.name)
        size = self.size(target.k)
        if size > context.anonymity_set:
            raise context.too_few_records(
                f"{KAnonymity(size)} cannot be met with an anonymity set of "
                f"{context.anonymity_set:,}, the smallest group of records that share known "
                "columns.",
                size,
            )
        self._require_room(context.schema, k=size, most=context.anonymity_set)
        if self.copies_records:
            _refuse_copies(self.name, context)
        if context.schema.impossible and not self.real_keys:
            raise InvalidSchema(
                "Method {name} can make combinations that the schema calls impossible. Use "
                "resample, permute or gaussian, which release keys of real records only.",
                name=self.name,
            )
        public = self._description(size)
        return context.plan(self, Mechanism(()), asked, [target], public=public)

    def release(self, plan: Plan, opened: OpenedTable, keystream: Keystream) -> tuple[Table, Plan]:
        """The table with new keys, shuffled, and the plan with the guarantees of its groups."""
        from pramana.engine.local import LocalTable

        if not engine_for(opened).on_one_machine:
            warnings.warn(ON_THE_DRIVER, Notice, stacklevel=4)
        require_coded(plan.schema, opened)  # keys are copied: rules are not checked below
        context = DesignContext.of(plan.schema, opened)
        if self.copies_records:
            _refuse_copies(self.name, context)
        target = single_target(plan.asked, KAnonymity, method=self.name)
        size = self.size(target.k)
        made = self.regrouped(plan.schema, opened, k=size, keystream=keystream)
        evidence = Evidence(
            context.schema, context.records, context.anonymity_set, group_sizes=made.sizes
        )
        plan = replace(
            plan,
            records=context.records,
            anonymity_set=context.anonymity_set,
            attained=attained(evidence, plan.asked),
            permuted_copy=made.permuted_copy,
            public=self._description(size)
            # Below a billionth it is rounding error.
            | {"within_group_share": coarse_up(made.share) if made.share > 1e-9 else 0.0},
        )
        released = made.table
        if self.suppress:
            from pramana.microaggregation.anonymisation import suppress_keys

            # In random order, as ties are broken by position
            order = keystream.permutation(released.num_rows, Stream("suppression", "order"))
            keys = [column.name for column in plan.schema.randomised]
            released, cells, least = suppress_keys(
                released.take(order), keys, known=plan.schema.known, k=size
            )
            # Rounded up, and down, to 1, 2, 5, 10, ...
            least = round(1 / coarse_up(1 / least)) if least else 0
            complete = [
                column.name
                for column in plan.schema.randomised
                if column.missing == "refuse" or (column.domain and column.missing is None)
            ]
            bounds = {"at_most": int(coarse_up(cells)), "least": least, "complete_keys": complete}
            plan = replace(
                plan,
                schema=_with_missing(plan.schema),
                public={**plan.public, "suppressed_cells": bounds},
            )
        return LocalTable.of(released).shuffle(keystream=keystream), plan

    def regrouped(
        self, schema: Schema, opened: OpenedTable, *, k: int, keystream: Keystream
    ) -> Anonymised:
        """The records with new keys, in their old order, and statistics of their groups.

        Neither the order of the original data nor other values influence the groups: ties are
        broken at random. Groups never cross the values of known unchanged columns.
        """
        from pramana.microaggregation.anonymisation import anonymise, known_groups

        table = opened.to_arrow([column.name for column in schema.released])
        # Indices that sort records by all their values: the original order has no influence
        columns = [comparable(column) for column in table.columns]
        names = [str(place) for place in range(len(columns))]
        order = pc.sort_indices(
            pa.table(columns, names=names), sort_keys=[(name, "ascending") for name in names]
        )
        order = order.take(keystream.permutation(len(order), Stream("grouping", "order")))
        table = table.take(order)
        binned = _binned(schema, table, keystream)
        made = anonymise(
            table,
            schema.randomised,
            k=k,
            donors=self.donors,
            keystream=keystream,
            clustering=self.clustering,
            responses=self.responses,
            response_weight=self.response_weight,
            max_size=self.max_size,
            sensitive=self._sensitive(schema, binned),
            strata=known_groups(table, schema.known),
        )
        released = made.table
        for column in schema.binned:
            at = released.column_names.index(column.name)
            released = released.set_column(at, column.name, binned.column(column.name))
        return replace(made, table=released.take(pc.sort_indices(order)))

    @property
    def copies_records(self) -> bool:
        """Whether records stay unchanged if only their keys differ, and that was not allowed."""
        return False

    def _require_room(self, schema: Schema, *, k: int, most: int) -> None:
        """Refuse sizes of groups and diversity that no group can have."""
        if k > most:
            raise Infeasible("No group of {k:,} records can be formed of {most:,}.", k=k, most=most)
        if self.max_size is not None and self.max_size < k:
            raise Infeasible(
                "A group of at least {k:,} cannot have max_size = {max_size:,}.",
                k=k,
                max_size=self.max_size,
            )
        largest = most if self.max_size is None else min(most, self.max_size)
        if self.distinct > largest:
            raise Infeasible(
                "A group of at most {largest:,} records cannot hold distinct = {distinct:,} "
                "values of a column.",
                largest=largest,
                distinct=self.distinct,
            )
        asks = self.distinct > 1 or self.closeness < 1
        if asks and not any(not column.role.traits.known for column in schema.columns):
            raise InvalidSchema("distinct and closeness speak of sensitive columns: name one.")

    def _sensitive(self, schema: Schema, table: pa.Table) -> tuple[Sensitive, ...]:
        """The l-diversity and t-closeness that every group must meet."""
        from pramana.microaggregation.clustering import Sensitive

        if self.distinct == 1 and self.closeness == 1:
            return ()
        return tuple(
            Sensitive.of(
                column.name,
                present(table.column(column.name), column.codes_for_missing),
                l=self.distinct,
                t=self.closeness,
            )
            for column in schema.columns
            if not column.role.traits.known
        )

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """The options, and the sentences that follow from them and k."""
        method = cls(**certificate.options)
        require_options(method)
        (k,) = (c.attained.k for c in certificate.claims if isinstance(c.attained, KAnonymity))
        if certificate.schema.impossible and not method.real_keys:
            raise InvalidSchema("Such keys may be impossible together.")
        if set(method.responses) - set(certificate.schema.names):
            raise InvalidSchema("A response must be a released column.")
        k = method.size(k)
        method._require_room(certificate.schema, k=k, most=certificate.anonymity_set)
        statistics = method._description(k)
        cells = certificate.statistics.get("suppressed_cells", {"least": 0, "at_most": -1})
        if method.suppress and cells["least"] <= cells["at_most"]:
            statistics["suppressed_cells"] = cells
        return method.disclosed(), statistics

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> Method | None:
        """A certificate states some options only where they have other values than usual."""
        names = {item.name for item in options_of(cls)}
        usual = {name: value for name, value in USUAL.items() if name in names}
        return super().from_certificate(
            replace(certificate, options={**usual, **certificate.options})
        )

    def _description(self, k: int) -> Form:
        meaning = self.meaning(k) + (ALSO_MISSING.format(k=f"{k:,}") if self.suppress else "")
        return {"meaning": meaning, "keys": str(self.new_keys)}

    def meaning(self, k: int) -> str:
        """The sentence of the certificate on what was done to the records."""
        return self.done.format(k=f"{k:,}")

    def disclosed(self) -> Entries:
        """All options: how groups were formed is published."""
        options = asdict(self) | {"responses": list(self.responses)}
        return {name: v for name, v in options.items() if name not in USUAL or v != USUAL[name]}


@dataclass(frozen=True)
class Resample(Grouped):
    """Each record gets the keys of a member of its group, drawn with replacement.

    Attributes:
        draw: all keys of one member, or each key in turn, which copies fewer whole records.
        allow_unchanged: release even if most records stay unchanged, because only keys differ.
    """

    draw: Draw = option(
        "whole", "All keys of one member, or key by key, which copies fewer records."
    )
    allow_unchanged: bool = option(False, ALLOW)

    name: ClassVar[str] = "resample"
    new_keys: ClassVar[NewKeys] = NewKeys.FROM_MEMBERS
    when: ClassVar[str] = "k-anonymity, for analyses without a correction."
    done: ClassVar[str] = (
        "Every record is released with the keys of a member of its group of at least {k}, drawn "
        "at random with replacement."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("draw", self.draw, get_args(Draw))

    def donors(
        self, keys: Sequence[Key], labels: IntArray, keystream: Keystream
    ) -> Sequence[IntArray]:
        """A member of the group for all keys, or a member for each key."""
        from pramana.microaggregation.anonymisation import draw_keys, draw_members

        if self.draw == "whole":
            return [draw_members(labels, keystream)] * len(keys)
        return draw_keys(keys, labels, keystream)

    def meaning(self, k: int) -> str:
        """With sequential draws, the keys of a record need not occur together in the group."""
        if self.draw == "whole":
            return super().meaning(k)
        return (
            f"Every record is released with keys drawn one after the other from its group of at "
            f"least {k:,}; no member need have all of them."
        )

    @property
    def real_keys(self) -> bool:
        """Sequential draws can make combinations that no record has."""
        return self.draw == "whole"

    @property
    def copies_records(self) -> bool:
        """Whole keys of a member are copied."""
        return self.draw == "whole" and not self.allow_unchanged


@dataclass(frozen=True)
class Permute(Grouped):
    """The keys of each group are permuted at random.

    Attributes:
        allow_unchanged: release even if all records stay unchanged, because only keys differ.
    """

    allow_unchanged: bool = option(False, ALLOW)

    name: ClassVar[str] = "permute"
    new_keys: ClassVar[NewKeys] = NewKeys.HANDED_ROUND
    when: ClassVar[str] = "k-anonymity, with all tables of keys unchanged."
    done: ClassVar[str] = "The keys of every group of at least {k} records are permuted at random."

    def donors(
        self, keys: Sequence[Key], labels: IntArray, keystream: Keystream
    ) -> Sequence[IntArray]:
        """The members of the group in a random order."""
        from pramana.microaggregation.anonymisation import permute_members

        return [permute_members(labels, keystream)] * len(keys)

    @property
    def copies_records(self) -> bool:
        """Whole keys of a member are copied."""
        return not self.allow_unchanged


@dataclass(frozen=True)
class Gaussian(Grouped):
    """Keys are drawn around each group, following the distribution of all keys.

    Attributes:
        loading: what is added to the variances of each group, in units of those of all records:
            alpha of [Wei, Sec. 3.2.2], any number above 0. Less of it re-identifies more.
    """

    loading: float = option(LOADING, "Added to the variance of each standardised key in a group.")

    name: ClassVar[str] = "gaussian"
    new_keys: ClassVar[NewKeys] = NewKeys.AROUND
    base_cost: ClassVar[int] = 12
    when: ClassVar[str] = "k-anonymity, with many associated numbers as keys."
    done: ClassVar[str] = (
        "Every record is released with keys drawn around its group of at least {k}, in the "
        "distribution of all keys; they may equal the keys of a record outside the group."
    )

    def donors(
        self, keys: Sequence[Key], labels: IntArray, keystream: Keystream
    ) -> Sequence[IntArray]:
        """Records at the quantiles of Gaussian draws around the group."""
        from pramana.microaggregation.rosenblatt import gaussian_donors

        return [gaussian_donors(keys, labels, keystream, alpha=self.loading)] * len(keys)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number("loading", self.loading, low=0, low_open=True, high_open=True)


class Centroid(Grouped):
    """All records of a group get its centre as keys."""

    name: ClassVar[str] = "centroid"
    new_keys: ClassVar[NewKeys] = NewKeys.CENTRE
    when: ClassVar[str] = "k-anonymity as in microaggregation: the centre of each group."
    done: ClassVar[str] = "All records of a group of at least {k} are released with the same keys."

    @property
    def real_keys(self) -> bool:
        """A centre need not be a record."""
        return False

    def donors(self, keys: Sequence[Key], labels: IntArray, keystream: Keystream) -> None:
        """No donors: the centre of the group is released."""


def _refuse_copies(name: str, context: DesignContext) -> None:
    """Refuse tables in which no other column differs among records that agree in the known ones."""
    schema, known = context.schema, context.schema.known
    rest = [c.name for c in schema.released if not c.randomised and c.name not in known]
    separable = bool(rest)
    if rest and context.opened is not None:
        most = group_sizes(context.opened, known).total().num_rows if known else 1
        with suppress(pa.ArrowNotImplementedError):  # columns of lists cannot be counted
            sizes = group_sizes(context.opened, (*known, *rest), most=most, binned=schema.binned)
            separable = sizes.too_many
    if not separable:
        raise InvalidSchema(
            "Only the keys distinguish records, so that {name} would release most records, or "
            "all, unchanged: their owners would be hidden, but their contents would be public. "
            "Use resample with draw = sequential, another method, or allow_unchanged "
            "(--allow-unchanged) if that is meant.",
            name=name,
        )


def _binned(schema: Schema, table: pa.Table, keystream: Keystream) -> pa.Table:
    """The table with sensitive numbers recoded to their bins."""
    for column in schema.binned:
        old = table.column(column.name)
        words = keystream.words(Stream("inside", column.name), 0, table.num_rows)
        new = decode(column, encode(column, old), words)
        table = table.set_column(table.column_names.index(column.name), column.name, new)
    return table


def _with_missing(schema: Schema) -> Schema:
    """The schema with missing as a value of every key; refused for numbers drawn inside bins."""
    for column in schema.randomised:
        if column.drawn:
            raise InvalidSchema(
                "'{column}' is released as numbers drawn inside its bins, of which nearly "
                'all would be set to missing: take release = "centre" or "label", or leave '
                "suppress out.",
                column=column.name,
            )
    return schema.replace_columns(
        replace(column, missing="category") for column in schema.randomised
    )
