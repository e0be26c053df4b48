"""Apply the recodings of a schema to an opened table.

Each distinct value of a batch is recoded once. The type of a recoded column does not depend on the
batches: it follows from the recoding, the type before and, where codes are taken out of a column of
text, from whether only numbers are left. Dates in text are ISO, or have the one format that fits
every value; where day and month could be exchanged, the format must be declared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import InvalidSchema, InvalidTable
from pramana.schema.codec import EXACT, NOT_A_NUMBER, alike, find_labels, flat
from pramana.schema.domains import Categories, Label, label_text
from pramana.schema.opened_table import OpenedTable, is_number, value_type
from pramana.schema.recoding import Recoding
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

ISO: Final = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T ][0-9:.]+Z?)?$"
LOOSELY: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?$"

NUMBERS: Final = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d")
WORDS: Final = ("%d %b %Y", "%d-%b-%Y", "%d%b%Y", "%d. %B %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
TIMES: Final = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
"""Spellings that are tried; two digits of a year say too little and must be stated."""

FOUR: Final = "[0-9]{4}"
LEADING: Final = (r"(^|[^0-9])0+([0-9])", r"\1\2")


def is_iso(values: pa.Array) -> bool:
    """Whether all values are spelled as ISO has them."""
    return bool(pc.all(pc.match_substring_regex(values.cast(pa.string()), ISO)).as_py())


def formats_of(values: pa.Array) -> tuple[str, ...]:
    """The spellings that fit every value; two where nothing tells day from month."""
    texts = pc.utf8_trim_whitespace(values.cast(pa.string())).drop_null()
    if not len(texts) or not pc.all(pc.match_substring_regex(texts, FOUR)).as_py():
        return ()
    some = texts.slice(0, 20)
    days = [form.format(mark) for form in NUMBERS for mark in "./-"] + list(WORDS)
    spelled = [f"{day}{time}" for day, time in product(days, TIMES)]
    fitting = [form for form in spelled if _parsed(some, form) is not None]
    return tuple(form for form in fitting if _parsed(texts, form) is not None)


COMPACT: Final = "%Y%m%d"
"""How dates are written as whole numbers, such as 20240331."""


def are_compact_dates(numbers: pa.Array) -> bool:
    """Whether all whole numbers are dates of 1800 to 2199, such as 20240331."""
    ends = pc.min_max(numbers)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    inside = low is not None and low >= 1800_01_01 and high <= 2199_12_31
    return inside and len(numbers) > 1 and _parsed(numbers.cast(pa.string()), COMPACT) is not None


def read_dates(name: str, texts: pa.Array, form: str | None) -> pa.Array:
    """The dates of a column of text: ISO, with or without a time behind them, or by a format."""
    texts = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    dates = None
    if form is not None:
        dates = _parsed(texts, form)
    elif pc.all(pc.match_substring_regex(texts, LOOSELY)).as_py() is not False:
        with suppress(pa.ArrowInvalid):  # its words show the value
            dates = pc.utf8_slice_codeunits(texts, 0, 10).cast(pa.date32())
    if dates is not None:
        return dates
    like = "such as 2024-03-31" if form is None else f"written as {form}"
    state = " State how they are written in date_format." if form is None else ""
    raise InvalidTable(
        "'{column}' must hold dates {like}, and has other values.{state} List the ones that mean "
        "missing in missing_codes.",
        column=name,
        like=like,
        state=state,
    )


def _parsed(texts: pa.Array, form: str) -> pa.Array | None:
    """The moments that texts are by a format; nothing where one of them is none.

    A day that its month does not have is read as one of the next: so it is spelled again.
    """
    if "%Y" in form and pc.all(pc.match_substring_regex(texts, FOUR)).as_py() is False:
        return None  # a year of two digits would be one of the first century
    moments = pc.strptime(texts, format=form, unit="s", error_is_null=True)
    if moments.null_count > texts.null_count:
        return None
    # Compared in small letters and without zeros that say nothing.
    before, again = (
        pc.replace_substring_regex(pc.utf8_lower(text), *LEADING)
        for text in (texts, pc.strftime(moments, format=form))
    )
    return moments if pc.all(pc.equal(before, again)).as_py() is not False else None


INTEGER: Final = r"^(0|-?[1-9][0-9]{0,17})$"
DECIMAL: Final = r"^-?(0|[1-9][0-9]{0,17})?(\.[0-9]*)?([eE][-+]?[0-9]{1,3})?$"
HAS_DIGIT: Final = r"^-?\.?[0-9]"  # before the exponent


def are_integers(texts: pa.Array) -> bool:
    """Whether all are whole numbers; codes with leading zeros or a plus sign are none.

    >>> are_integers(pa.array(["1", "-20"])), are_integers(pa.array(["01"]))
    (True, False)
    """
    return bool(pc.all(pc.match_substring_regex(texts, INTEGER)).as_py())


def are_decimal(texts: pa.Array) -> bool:
    """Whether all are numbers.

    >>> are_decimal(pa.array(["1", "-.5", "2e3"])), are_decimal(pa.array(["1", "E1"]))
    (True, False)
    """
    return bool(pc.all(decimals(texts)).as_py())


def decimals(texts: pa.Array) -> pa.Array:
    """Which of them are numbers."""
    return pc.and_(
        pc.match_substring_regex(texts, DECIMAL), pc.match_substring_regex(texts, HAS_DIGIT)
    )


CODED = pa.dictionary(pa.int32(), pa.string())


def recoded(opened: OpenedTable, schema: Schema) -> OpenedTable:
    """The table with values as the schema describes them; unchanged if they already are."""
    wanted = {
        column.name: column.recoding.before_release
        for column in schema.columns
        if column.recoding.before_release and column.name in opened.schema.names
    }
    if opened.recoded == wanted:
        return opened
    raw = opened if opened.raw is None else opened.raw
    return _applied(raw, schema, wanted) if wanted else raw


def _applied(raw: OpenedTable, schema: Schema, wanted: Mapping[str, Recoding]) -> OpenedTable:
    columns = [schema.column(name) for name in wanted]
    read = _numbers_of(raw, columns)
    made = {c.name: _made(c, raw.schema.field(c.name).type, read.get(c.name)) for c in columns}

    def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
        return _applied(raw.fitted(text=text, coded=coded), schema, wanted)

    fields = [made[f.name].field if f.name in made else f for f in raw.schema]
    changed = raw.with_columns(made, pa.schema(fields))
    return replace(changed, raw=raw, recoded=wanted, fit=None if raw.fit is None else fit)


# -- which columns of text are numbers -------------------------------------------------------------


def _numbers_of(raw: OpenedTable, columns: Iterable[Column]) -> dict[str, pa.DataType]:
    """The type of numbers for columns of text that hold nothing else once codes are gone."""
    asked = {}
    for column in columns:
        kind, recoding = _inner_type(raw.schema.field(column.name).type), column.recoding
        labelled = isinstance(column.domain, Categories) or recoding.merged or recoding.date
        if (
            pa.types.is_string(kind)
            and not labelled
            and (recoding.missing_codes or recoding.of_numbers)
        ):
            asked[column.name] = recoding.missing_codes
    if not asked:
        return {}
    parts = raw.summaries(partial(_reads_as, tuple(asked.values())), list(asked))
    whole, decimal = np.logical_and.reduce(list(parts))  # by column
    kinds = {name: pa.float64() for name, number in zip(asked, decimal, strict=True) if number}
    return kinds | {name: pa.int64() for name, is_int in zip(asked, whole, strict=True) if is_int}


def _reads_as(
    codes: tuple[tuple[object, ...], ...], batches: Iterable[pa.RecordBatch]
) -> tuple[list[bool], list[bool]]:
    """For each column, whether all its values are whole numbers, and whether all are numbers."""
    whole, decimal = [True] * len(codes), [True] * len(codes)
    for batch in batches:
        for at, listed in enumerate(codes):
            if decimal[at]:
                texts = _without(batch.column(at).unique(), listed).drop_null()
                texts = _spelled_out(texts).drop_null()
                whole[at] = whole[at] and are_integers(texts)
                decimal[at] = are_decimal(texts)
    return whole, decimal


def _spelled_out(texts: pa.Array) -> pa.Array:
    """Texts without spaces around them; NA and the like as missing."""
    texts = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    absent = pc.is_in(texts, value_set=pa.array(NOT_A_NUMBER, texts.type))
    return pc.if_else(absent, pa.scalar(None, texts.type), texts)


# -- one column ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecodedColumn:
    """What is done to the values of a column, a batch at a time."""

    name: str
    recoding: Recoding
    field: pa.Field
    number: pa.DataType | None
    weight: bool

    def __call__(self, array: pa.Array) -> pa.Array:
        """The recoded values."""
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        try:
            made = self._recoded(coded.dictionary).take(coded.indices)
        except pa.ArrowInvalid:  # which quotes a value
            raise InvalidTable(
                "'{column}' holds values that its recoding cannot take. Whole numbers beyond 2^53 "
                "are cut and rounded by whole numbers only.",
                column=self.name,
            ) from None
        if not pa.types.is_dictionary(self.field.type):
            return made
        again = made.dictionary_encode()  # merged values are one entry
        return again.cast(self.field.type)

    def _recoded(self, values: pa.Array) -> pa.Array:
        recoding = self.recoding
        values = _without(values, recoding.missing_codes)
        if self.number is not None:
            values = _spelled_out(values).cast(self.number)
        if recoding.date is not None:
            values = _dates(self.name, recoding.date, values, recoding.date_format)
        if recoding.merged:
            place = find_labels(recoding.replaced, flat(values))
            new = [name for name, old in recoding.merged for _ in old]
            kind = _type_of_merged(values.type, recoding)
            if pa.types.is_string(kind):
                texts = [None if v is None else label_text(v) for v in flat(values).to_pylist()]
                rest = pa.array(texts, kind)
            else:
                rest = values.cast(kind)
            taken = pa.array(np.maximum(place, 0))
            values = pc.if_else(pa.array(place >= 0), pa.array(new).cast(kind).take(taken), rest)
        if recoding.of_numbers:
            values = _ends_and_steps(values, recoding, weight=self.weight)
        return values.cast(_inner_type(self.field.type))


def _made(column: Column, before: pa.DataType, number: pa.DataType | None) -> RecodedColumn:
    """The column with the type that follows."""
    recoding, kind = column.recoding.before_release, number or _inner_type(before)
    if recoding.date is not None:
        spelled = pa.types.is_integer(kind) and recoding.date_format == COMPACT
        dates = pa.types.is_temporal(kind) or pa.types.is_string(kind) or pa.types.is_null(kind)
        if not (dates or spelled):
            raise InvalidTable(
                "'{column}' must hold dates to become its {part}.",
                column=column.name,
                part=recoding.date,
            )
        kind = pa.int64() if recoding.date == "year" else pa.string()
    if recoding.merged:
        kind = _type_of_merged(kind, recoding)
    if recoding.of_numbers:
        kind = _type_of_numbers(column, kind)
    if pa.types.is_dictionary(before) and pa.types.is_string(kind):
        kind = CODED
    return RecodedColumn(
        column.name, recoding, pa.field(column.name, kind), number, column.role is Role.WEIGHT
    )


def _type_of_merged(kind: pa.DataType, recoding: Recoding) -> pa.DataType:
    """Numbers stay numbers where all new categories are."""
    new = pa.array([name for name, _ in recoding.merged])
    if pa.types.is_integer(kind) and are_integers(new):
        return pa.int64()
    if is_number(kind) and are_decimal(new):
        return pa.float64()
    return pa.string()


def _type_of_numbers(column: Column, kind: pa.DataType) -> pa.DataType:
    recoding = column.recoding
    if not is_number(kind):
        what = "rounded" if recoding.round is not None else "cut at its ends"
        raise InvalidTable(
            "'{column}' must be a number to be {what}, and is {kind}.",
            column=column.name,
            what=what,
            kind=kind,
        )
    return pa.int64() if _stays_whole(kind, recoding) else pa.float64()


def _without(values: pa.Array, codes: tuple[object, ...]) -> pa.Array:
    """The values with codes for missing as missing; codes are found by their text, as labels."""
    if not codes:
        return values
    gone = find_labels(codes, flat(values)) >= 0  # type: ignore[arg-type]
    return pc.if_else(pa.array(gone), pa.scalar(None, values.type), values)


def _dates(name: str, part: str, values: pa.Array, form: str | None) -> pa.Array:
    """Years as numbers, quarters as 2024-Q1, months as 2024-03."""
    if pa.types.is_null(values.type):
        return values
    if not pa.types.is_temporal(values.type):
        values = read_dates(name, values, form)
    if pa.types.is_time(values.type):
        raise InvalidTable(
            "'{column}' holds times of day, which have no {part}.", column=name, part=part
        )
    year = pc.year(values)
    if part == "year":
        return year
    if part == "month":
        number = pc.utf8_lpad(pc.month(values).cast(pa.string()), 2, padding="0")
    else:
        number = pc.binary_join_element_wise("Q", pc.quarter(values).cast(pa.string()), "")
    return pc.binary_join_element_wise(year.cast(pa.string()), number, "-")


def _ends_and_steps(values: pa.Array, recoding: Recoding, *, weight: bool) -> pa.Array:
    """Numbers cut at their ends and rounded to the nearest multiple, halves up."""
    whole = _stays_whole(values.type, recoding)
    values = values.cast(pa.int64() if whole else pa.float64())
    values = alike(values)  # nan is missing
    missing = np.asarray(values.is_null())
    numbers = np.asarray(values.fill_null(0))
    if recoding.bottom is not None or recoding.top is not None:
        numbers = np.clip(numbers, recoding.bottom, recoding.top).astype(numbers.dtype)
    if recoding.round is not None:
        step = numbers.dtype.type(recoding.round)
        if whole:
            steps, over = np.divmod(numbers, step)
            steps += over >= step - over
            reach = np.iinfo(np.int64)  # at the ends of 64 bits the last multiple that there is
            steps = np.clip(steps, -(-reach.min // int(step)), reach.max // int(step))
        else:
            steps = np.floor(numbers / step + 0.5)
        if weight:
            steps = np.where(numbers > 0, np.maximum(steps, 1), steps)
        numbers = steps * step
    return pa.array(numbers, mask=missing)


def _stays_whole(kind: pa.DataType, recoding: Recoding) -> bool:
    """Whether whole numbers stay so: where ends and step are whole, and no floats merge them."""
    ends = [end for end in (recoding.bottom, recoding.top, recoding.round) if end is not None]
    return pa.types.is_integer(kind) and all(
        float(end).is_integer() and abs(end) <= EXACT for end in ends
    )


def _inner_type(kind: pa.DataType) -> pa.DataType:
    kind = value_type(kind)
    return pa.string() if pa.types.is_large_string(kind) else kind


def merge_values(column: Column, values: Sequence[Label], into: str) -> Column:
    """The column with these values as one; a value that was merged before brings all its own.

    >>> from pramana.schema.roles import Role
    >>> way = Column("way", Role.KEY, Categories(("bus", "car", "tram")))
    >>> merged = merge_values(way, ["bus", "tram"], "public")
    >>> merged.labels, merged.recoding.merged
    (('public', 'car'), (('public', ('bus', 'tram')),))
    """
    domain = column.domain
    if not isinstance(domain, Categories) or column.gridded:
        raise InvalidSchema("'{column}' must have categories to be merged.", column=column.name)
    gone = {label_text(value) for value in values}
    before = dict(column.recoding.merged)
    taken: list[Label] = []
    for value in domain.values:
        if label_text(value) in gone:
            taken += before.pop(label_text(value), (value,))
    taken += before.pop(into, ())
    if len(taken) < 2:
        raise InvalidSchema("Merging takes at least two values.")
    kept: list[Label] = []
    for value in domain.values:
        text = into if label_text(value) in gone else label_text(value)
        if text not in kept:
            kept.append(text)
    return replace(
        column,
        domain=replace(domain, values=tuple(kept)),
        recoding=replace(column.recoding, merge={**before, into: taken}),
        exempt=(),
    )
