"""Tables in, tables with new keys out.

The keys of a table become numbers that can be clustered, as the schema describes them, and the
new keys are written back in the types of the table. No label of a group leaves this room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Keystream, Stream
from pramana.errors import InvalidTable, UnknownColumn
from pramana.microaggregation.clustering import Groups, form_groups
from pramana.microaggregation.donors import Donors, centroid, permute_columns
from pramana.microaggregation.groups import Key, numbers_of
from pramana.microaggregation.merging import Sensitive
from pramana.schema.codec import decode, encode
from pramana.schema.domains import Categories
from pramana.schema.schema import Column
from pramana.types import FloatArray, IntArray, Values


@dataclass(frozen=True, eq=False)
class Anonymised:
    """A table with new keys, and what may be said about the groups behind them.

    Attributes:
        table: the records in their old order; shuffle before publication.
        sizes: the number of records of every group, in rising order: of no group in particular.
        share: the sum of squares within groups over the total.
        permuted_copy: the original records with the keys of each group permuted once more. To an
            adversary who knows keys, groups and release it is as likely as the original data.
    """

    table: pa.Table
    sizes: tuple[int, ...]
    share: float
    permuted_copy: pa.Table


def key_of(column: Column, values: pa.ChunkedArray) -> Key:
    """One key as numbers: the number itself, or the place of the category in the domain.

    Bins and ordered categories are ordered; categories that are all numbers count as numbers.
    """
    domain = column.domain
    if domain is None:
        return Key(column.name, numbers_of(column.name, values))
    codes = encode(column, values).astype(np.float64)
    missing = codes >= domain.size
    labels = domain.labels[: domain.size]
    if domain.ordered:
        return Key(column.name, np.where(missing, np.nan, codes), "ordered")
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        numbers = np.array([float(label) for label in labels if label is not None] + [np.nan])
        places = np.minimum(codes, domain.size).astype(np.int64)  # whatever stands for missing
        return Key(column.name, numbers[places])
    return Key(column.name, np.where(missing, np.nan, codes), "unordered")


def anonymise(
    table: pa.Table,
    keys: Sequence[Column],
    *,
    k: int,
    donors: Donors,
    keystream: Keystream,
    clustering: str = "default",
    responses: Sequence[str] = (),
    response_weight: float = 1.0,
    max_size: int | None = None,
    sensitive: tuple[Sensitive, ...] = (),
    strata: Values | None = None,
) -> Anonymised:
    """Group the records by their keys and replace the keys inside the groups.

    Args:
        table: all columns; those that are not keys stay as they are.
        keys: how each key is described; one without a domain is a plain number.
        k: the least number of records in a group.
        donors: whose keys each record gets.
        keystream: where randomness comes from.
        clustering: ``default``, ``greedy``, ``mdav`` or ``cells``.
        responses: columns of numbers that similar records should share [Wei, eq. 4].
        response_weight: their weight beside a key.
        max_size: the largest size of a group.
        sensitive: what every group must hold of sensitive columns.
        strata: one value a record; groups do not cross strata.
    """
    columns = [*(column.name for column in keys), *responses]
    for name in columns:
        if name not in table.column_names:
            raise UnknownColumn(f"The table has no column {name!r}.", column=name)
    key_values = [key_of(column, table.column(column.name)) for column in keys]
    response_keys = [Key(name, numbers_of(name, table.column(name))) for name in responses]
    groups = form_groups(
        key_values,
        k=k,
        keystream=keystream,
        method=clustering,
        responses=response_keys,
        response_weight=response_weight,
        max_size=max_size,
        sensitive=sensitive,
        strata=strata,
    )
    new = replace_keys(table, keys, key_values, groups, donors, keystream)
    sizes = tuple(sorted(groups.sizes.tolist()))
    permuted = permute_columns(table, [column.name for column in keys], groups.labels, keystream)
    return Anonymised(new, sizes, groups.share, permuted)


def replace_keys(
    table: pa.Table,
    columns: Sequence[Column],
    keys: Sequence[Key],
    groups: Groups,
    donors: Donors,
    keystream: Keystream,
) -> pa.Table:
    """The table with the keys of the donors, or of the centres of groups."""
    if len(columns) != len(keys) or table.num_rows != groups.labels.size:
        raise InvalidTable("Keys, groups and table must describe the same records.")
    sources: Sequence[IntArray | None] | None = donors(keys, groups.labels, keystream)
    if sources is None:  # every key gets the centre of its group
        sources = [None] * len(keys)
    for column, key, source in zip(columns, keys, sources, strict=True):
        old = table.column(column.name)
        if source is None:
            key = _to_centre(column, key, old)
            released = _written(column, centroid(key, groups.labels), key)
        elif column.domain is None:
            released = old.combine_chunks().take(pa.array(source))
        else:
            stream = Stream("k-anonymity", "bins", column.name)
            words = keystream.words(stream, 0, len(old)) if column.drawn else None
            released = decode(column, encode(column, old)[source], words)
        table = table.set_column(table.column_names.index(column.name), column.name, released)
    return table


def _to_centre(column: Column, key: Key, values: pa.ChunkedArray) -> Key:
    """What the middle of a group is taken of: categories without order have no mean.

    Numbers that stand for categories (race 1, 2, 3) are near one another when groups are formed,
    and yet a group gets the commonest of them, for 1.2 is none.
    """
    domain = column.domain
    named = isinstance(domain, Categories) and not domain.ordered and key.kind == "number"
    if domain is None or not (named or domain.missing_values):
        return key
    codes = encode(column, values).astype(np.float64)
    return Key(column.name, np.where(codes >= len(domain.labels), np.nan, codes), "unordered")


def _written(column: Column, values: FloatArray, key: Key) -> pa.Array:
    """Centroids as a column: categories by their label, numbers as numbers."""
    if column.domain is None or key.kind == "number":
        return pa.array(values, mask=np.isnan(values))
    codes = np.where(np.isnan(values), len(column.domain.labels), values).astype(np.uint32)
    # A draw inside a bin would tell records of one group apart.
    bin_centres = np.full(codes.size, 2**63, np.uint64)
    return decode(column, codes, bin_centres)
