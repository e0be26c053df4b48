"""Methods that form groups of at least k records and draw keys inside them [Wei]."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.name_lists import names_in
from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import coarse_up, require_choice, require_number
from pramana.base.text import listed
from pramana.engine.base import Table
from pramana.engine.choose import engine_for
from pramana.errors import Infeasible, InvalidNumber, InvalidSchema, Notice
from pramana.guarantees.base import Evidence, Guarantee
from pramana.guarantees.claims import attained
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.mechanisms.mechanism import Mechanism
from pramana.methods.base import Method, option, require_kinds, single_target
from pramana.methods.context import DesignContext, require_coded
from pramana.methods.plan import Plan
from pramana.microaggregation.groups import Clustering
from pramana.release.certificate import Certificate
from pramana.release.methods import NewKeys
from pramana.schema.codec import decode, encode
from pramana.schema.groups import group_sizes
from pramana.schema.lookup import comparable, present
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column, Role, Schema, require_keys
from pramana.types import Entries, Form, IntArray

if TYPE_CHECKING:
    from pramana.microaggregation.anonymisation import Anonymised
    from pramana.microaggregation.distance import Key
    from pramana.microaggregation.merging import Sensitive

ALLOW = "Release also where nothing differs beside keys: most records then stand as they were."

Draw = Literal["whole", "sequential"]
"""Whole members of a group, or key after key."""

QUICKLY_GROUPED = 12_000_000
"""Records times values of their keys that all methods together group within a minute."""

ON_THE_DRIVER = (
    "Groups are formed on one machine: all records of the data frame are brought to the driver."
)


def names_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Column names from options that may repeat and may hold several, separated by commas."""
    return tuple(name for text in texts for name in names_in(text))


def coordinates_of(column: Column) -> int:
    """By how many numbers a key is compared: one, or each value of one without an order."""
    domain = column.domain
    if domain is None or domain.ordered or all(isinstance(v, int | float) for v in column.labels):
        return 1
    return domain.size


@dataclass(frozen=True)
class Grouped(Method):
    """Groups of at least k records, and keys drawn inside them.

    Attributes:
        clustering: how groups are found.
        responses: columns of numbers that similar records should share.
        response_weight: the weight of a response beside a key.
        max_size: the largest size of a group, if there is one.
        distinct: at least so many values of each sensitive column in a group.
        closeness: the largest distance of a group's sensitive values from those of all.
    """

    clustering: Clustering = option("default", "How groups are found.")
    responses: tuple[str, ...] = option(
        (), "Numbers that similar records should share.", flag="--response", metavar="COLUMNS",
        read=names_of,
    )  # fmt: skip
    response_weight: float = option(1.0, "The weight of a response beside a key.")
    max_size: int | None = option(None, "At most so many records in each group.")
    distinct: int = option(1, "So many values of each sensitive column in each group.")
    closeness: float = option(
        1.0, "Sensitive values of each group at most so far from those of all."
    )

    aims: ClassVar[tuple[str, ...]] = ("k-anonymity",)
    kind: ClassVar[str] = "groups"
    owner_statistics: ClassVar[frozenset[str] | None] = frozenset(
        {"within_group_share", "verbatim"}
    )
    data_dependent: ClassVar[bool] = True
    accepts_numbers: ClassVar[bool] = True
    base_cost: ClassVar[int] = 3

    new_keys: ClassVar[NewKeys]
    """Where the keys of a released record come from."""

    done: ClassVar[str]
    """What is done to the records of a group of at least {k}."""

    @property
    def real_keys(self) -> bool:
        """Whether every released combination of keys is that of a real record."""
        return True

    def __post_init__(self) -> None:
        if isinstance(self.responses, str):
            raise InvalidNumber(f"responses must be a list of columns, got {self.responses!r}.")
        object.__setattr__(self, "responses", tuple(self.responses))
        require_choice("clustering", self.clustering, get_args(Clustering))
        require_number("response_weight", self.response_weight, low=0, high_open=True)
        require_number("max_size", 1 if self.max_size is None else self.max_size, low=1)
        require_number("distinct", self.distinct, low=1)
        require_number("closeness", self.closeness, low=0, high=1)

    @classmethod
    def slow_reason(cls, schema: Schema, records: int) -> str:
        """Values of keys without an order are coordinates each: many of them for many records.

        Keys of more than can be served are refused at once, and take no time.
        """
        from pramana.microaggregation.distance import MOST_COORDINATES

        values = sum(map(coordinates_of, schema.randomised))
        if values > MOST_COORDINATES or records * values <= QUICKLY_GROUPED:
            return ""
        return f"keys of {values:,} values without an order, for {records:,} records,"

    def donors(
        self, keys: Sequence[Key], labels: IntArray, keystream: Keystream
    ) -> Sequence[IntArray] | None:
        """For every key the records whose value is released; none where it is a group's centre."""
        raise NotImplementedError

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """A promise of k; which groups there are is found when records are released."""
        require_keys(context.schema)
        self._require_free(context.schema)
        for name in self.responses:
            context.schema.column(name)
        target = single_target(asked, KAnonymity, method=self.name)
        if target.k > context.anonymity_set:
            raise context.too_few_records(
                f"{target} cannot be met with an anonymity set of {context.anonymity_set:,}, the "
                f"smallest group of "
                "records that share known columns.",
                target.k,
            )
        self._require_room(context.schema, k=target.k, most=context.anonymity_set)
        self._require_parted(context)
        if context.schema.impossible and not self.real_keys:
            raise InvalidSchema(
                f"Method {self.name} can make combinations that the schema calls impossible. Use "
                "resample, permute or gaussian, which release keys of real records only."
            )
        return Plan(
            schema=context.schema,
            mechanism=Mechanism(()),
            method=self,
            records=context.records,
            anonymity_set=context.anonymity_set,
            asked=tuple(asked),
            attained=(target,),
            public=self._told(target.k),
        )

    def release(self, plan: Plan, opened: OpenedTable, keystream: Keystream) -> tuple[Table, Plan]:
        """Keys drawn anew inside groups of this very table, and what the groups attain."""
        from pramana.engine.local import LocalTable

        if not engine_for(opened).on_one_machine:
            warnings.warn(ON_THE_DRIVER, Notice, stacklevel=4)
        require_coded(plan.schema, opened)  # keys are copied: nothing below looks at their rules
        context = DesignContext.of(plan.schema, opened)
        self._require_parted(context)
        target = single_target(plan.asked, KAnonymity, method=self.name)
        made = self.regrouped(plan.schema, opened, k=target.k, keystream=keystream)
        evidence = Evidence(
            context.schema, context.records, context.anonymity_set, group_sizes=made.sizes
        )
        plan = replace(
            plan,
            records=context.records,
            anonymity_set=context.anonymity_set,
            attained=attained(evidence, plan.asked),
            permuted_copy=made.permuted_copy,
            public=self._told(target.k)
            # Below a billionth it is what rounding leaves of nothing.
            | {"within_group_share": coarse_up(made.share) if made.share > 1e-9 else 0.0},
        )
        return LocalTable.of(made.table).shuffle(keystream=keystream), plan

    def regrouped(
        self, schema: Schema, opened: OpenedTable, *, k: int, keystream: Keystream
    ) -> Anonymised:
        """The records with new keys, in their old order, and what may be said of their groups.

        The order of the truth decides nothing, and among records of the same keys chance does: were
        it the values beside them, groups would tell who has which. Groups never cross the values of
        columns that an adversary may know and that are released as they are.
        """
        from pramana.microaggregation.anonymisation import anonymise
        from pramana.microaggregation.donors import known_groups

        table = opened.to_arrow([column.name for column in schema.released])
        order = _order_of_values(table)
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
        released = _with_columns(made.table, binned, schema.binned)
        return replace(made, table=released.take(pc.sort_indices(order)))

    def _require_free(self, schema: Schema) -> None:
        """Refuse values that must stay: records get the keys of others, whatever these are."""
        fixed = [column.name for column in schema.randomised if column.fixed]
        if fixed:
            raise InvalidSchema(
                f"Values of {listed(fixed)} are exempt or kept missing, and would not stay: method "
                f"{self.name} gives every record new keys, missing ones too. Drop the exemption, "
                'or set missing = "category".'
            )

    def _require_parted(self, context: DesignContext) -> None:
        """Refuse people whose records would leave as they are, where the method copies keys."""
        del context  # most draw keys that no member need have

    def _require_room(self, schema: Schema, *, k: int, most: int) -> None:
        """Refuse what no group can be: too large for all records, or too small for its values."""
        if self.max_size is not None and self.max_size < k:
            raise Infeasible(f"A group of at least {k:,} cannot have max_size = {self.max_size:,}.")
        largest = most if self.max_size is None else min(most, self.max_size)
        if self.distinct > largest:
            raise Infeasible(
                f"A group of at most {largest:,} records cannot hold distinct = {self.distinct:,} "
                "values of a column."
            )
        asks = self.distinct > 1 or self.closeness < 1
        if asks and not any(column.role is Role.SENSITIVE for column in schema.columns):
            raise InvalidSchema("distinct and closeness speak of sensitive columns: name one.")

    def _sensitive(self, schema: Schema, table: pa.Table) -> tuple[Sensitive, ...]:
        """What every group must hold of sensitive columns."""
        from pramana.microaggregation.merging import Sensitive

        if self.distinct == 1 and self.closeness == 1:
            return ()
        own = [column for column in schema.columns if column.role is Role.SENSITIVE]
        held = [present(table.column(column.name), column.codes_for_missing) for column in own]
        return tuple(
            Sensitive.of(column.name, values, l=self.distinct, t=self.closeness)
            for column, values in zip(own, held, strict=True)
        )

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """Options that the method takes, and what they and k mean in words."""
        require_kinds(cls, certificate.options)
        own = cls(**certificate.options)
        (k,) = (c.attained.k for c in certificate.claims if isinstance(c.attained, KAnonymity))
        if certificate.schema.impossible and not own.real_keys:
            raise InvalidSchema("Such keys may be impossible together.")
        if set(own.responses) - set(certificate.schema.names):
            raise InvalidSchema("A response must be a released column.")
        own._require_room(certificate.schema, k=k, most=certificate.anonymity_set)
        return own.disclosed(), own._told(k)

    def _told(self, k: int) -> Form:
        """What analysts must know: what was done, and where new keys come from."""
        return {"meaning": self.meaning(k), "keys": str(self.new_keys)}

    def meaning(self, k: int) -> str:
        """What was done to the records, in one sentence for the certificate."""
        return self.done.format(k=f"{k:,}")

    def disclosed(self) -> Entries:
        """How groups were formed is no secret."""
        return asdict(self) | {"responses": list(self.responses)}


@dataclass(frozen=True)
class Resample(Grouped):
    """Each record gets the keys of a member of its group, drawn with replacement.

    Attributes:
        draw: all keys of one member, or key after key, which copies fewer whole records.
        allow_verbatim: release also where nothing differs beside keys, most records as they were.
    """

    draw: Draw = option("whole", "All keys of a member, or key after key: copies fewer records.")
    allow_verbatim: bool = option(False, ALLOW)

    name: ClassVar[str] = "resample"
    new_keys: ClassVar[NewKeys] = NewKeys.FROM_MEMBERS
    when: ClassVar[str] = "k-anonymity, with keys of real records and analyses as usual."
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
        """Members of the group: one for all keys, or one a key."""
        from pramana.microaggregation.donors import draw_keys, draw_members

        if self.draw == "whole":
            return [draw_members(labels, keystream)] * len(keys)
        return draw_keys(keys, labels, keystream)

    def meaning(self, k: int) -> str:
        """Key after key the keys of a record need not be those of one member."""
        if self.draw == "whole":
            return super().meaning(k)
        return (
            f"Every record is released with keys drawn one after the other from its group of at "
            f"least {k:,}; no member need have all of them."
        )

    @property
    def real_keys(self) -> bool:
        """Key after key can make combinations that no record has."""
        return self.draw == "whole"

    def _require_parted(self, context: DesignContext) -> None:
        """Refused where most records would be released as they are."""
        if self.draw == "whole" and not self.allow_verbatim:
            _refuse_copies(self.name, context)


@dataclass(frozen=True)
class Permute(Grouped):
    """The keys of each group are handed round at random.

    Attributes:
        allow_verbatim: release also where nothing differs beside keys, all records as they were.
    """

    allow_verbatim: bool = option(False, ALLOW)

    def _require_parted(self, context: DesignContext) -> None:
        """Refused where all records would be released as they are."""
        if not self.allow_verbatim:
            _refuse_copies(self.name, context)

    name: ClassVar[str] = "permute"
    new_keys: ClassVar[NewKeys] = NewKeys.HANDED_ROUND
    when: ClassVar[str] = "k-anonymity, and no table of keys alone shall change."
    done: ClassVar[str] = (
        "The keys of every group of at least {k} records are handed round at random."
    )

    def donors(
        self, keys: Sequence[Key], labels: IntArray, keystream: Keystream
    ) -> Sequence[IntArray]:
        """The members of the group in a random order."""
        from pramana.microaggregation.donors import permute_members

        return [permute_members(labels, keystream)] * len(keys)


class Gaussian(Grouped):
    """Keys are drawn around each group, in the distribution of all keys."""

    name: ClassVar[str] = "gaussian"
    new_keys: ClassVar[NewKeys] = NewKeys.AROUND
    base_cost: ClassVar[int] = 12
    when: ClassVar[str] = "k-anonymity, where keys are many numbers that hang together."
    done: ClassVar[str] = (
        "Every record is released with keys drawn around its group of at least {k}, in the "
        "distribution of all keys; they may be those of a record outside the group."
    )

    def donors(
        self, keys: Sequence[Key], labels: IntArray, keystream: Keystream
    ) -> Sequence[IntArray]:
        """Records to which a Gaussian around the group leads."""
        from pramana.microaggregation.rosenblatt import gaussian_donors

        return [gaussian_donors(keys, labels, keystream)] * len(keys)


class Centroid(Grouped):
    """All records of a group get the same keys: its centre."""

    name: ClassVar[str] = "centroid"
    new_keys: ClassVar[NewKeys] = NewKeys.CENTRE
    when: ClassVar[str] = "k-anonymity as in microaggregation: the centre of each group."
    done: ClassVar[str] = "All records of a group of at least {k} are released with the same keys."

    @property
    def real_keys(self) -> bool:
        """A centre is no record."""
        return False

    def donors(self, keys: Sequence[Key], labels: IntArray, keystream: Keystream) -> None:
        """Nobody's: the centre of the group."""


def _refuse_copies(name: str, context: DesignContext) -> None:
    """Where nothing can be parted from its keys, keys handed round are the records themselves."""
    if not _parted(context):
        raise InvalidSchema(
            f"No sensitive column differs beside the keys, so that {name} would release most "
            "records, or all, word for word: nobody could tell whose they are, and everybody could "
            "read them. Use resample with draw = sequential, another method, or allow_verbatim "
            "(--allow-verbatim) if that is meant."
        )


def _parted(context: DesignContext) -> bool:
    """Whether a record can come apart from its keys.

    Groups never cross the values of known columns, so that these go wherever the keys go. Of the
    others one must differ among records that are alike in the known ones.
    """
    schema, known = context.schema, context.schema.known
    rest = [c.name for c in schema.released if not c.randomised and c.name not in known]
    if not rest or context.opened is None:
        return bool(rest)
    most = group_sizes(context.opened, known).total().num_rows if known else 1
    try:
        names = (*known, *rest)
        return group_sizes(context.opened, names, most=most, binned=schema.binned).too_many
    except pa.ArrowNotImplementedError:  # lists and the like: nothing counts them
        return True


def _binned(schema: Schema, table: pa.Table, keystream: Keystream) -> pa.Table:
    """The table with sensitive numbers in their bins: what every group must hold several of."""
    for column in schema.binned:
        old = table.column(column.name)
        words = keystream.words(Stream("inside", column.name), 0, table.num_rows)
        new = decode(column, encode(column, old), words, like=old.type)
        table = table.set_column(table.column_names.index(column.name), column.name, new)
    return table


def _with_columns(table: pa.Table, other: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """The table with these columns of another one of the same records."""
    for column in columns:
        at = table.column_names.index(column.name)
        table = table.set_column(at, column.name, other.column(column.name))
    return table


def _order_of_values(table: pa.Table) -> pa.Array:
    """Sorts records by all their values, so that the order of the truth decides nothing."""
    columns = [comparable(column) for column in table.columns]
    names = [str(place) for place in range(len(columns))]
    return pc.sort_indices(
        pa.table(columns, names=names), sort_keys=[(name, "ascending") for name in names]
    )
