"""Rules of thumb for the role of a column and the bins of a number, with reasons.

They err on the safe side: what might name a person is dropped, what a stranger might know is
randomised, and the steward decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana.errors import InvalidSchema, InvalidTable, TooLarge
from pramana.schema.domains import Bins, Categories, Domain, Label
from pramana.schema.schema import CATEGORY_LIMIT, Role
from pramana.schema.tally import Tally
from pramana.types import FloatArray

FEW_NUMBERS = 20  # distinct numbers up to which each is a category
FEW_TEXTS = 100  # distinct texts up to which they are surely categories
FEW_CODES = 100  # whole numbers up to here may be codes of something, and are no amounts
MANY_TEXTS = 1_000  # and up to which they may be, if each is frequent
FREQUENT = 20
SPARSE = 3  # times as many numbers lie between codes as occur
WORDS = 5  # of a text that somebody wrote
BINS = 10
ROUNDNESS = 1.25  # a cut is rounded to a step of about the width of the two bins beside it
KOLMOGOROV = 1.63  # over the root of n: how far even numbers stray once in a hundred samples
NEARLY = 0.9  # of the records have a value of their own
EVENLY = 0.1  # of the range is how far row numbers of a sample stray from even steps
LONG = 7  # digits of a number that names a person or a file, where hardly any other has fewer
SHARED = 4  # records hold a value of a column of codes, on average
LONG_TAIL = 10  # times the middle half is where the tail of an amount reaches

WEIGHTS = re.compile(r"wgh?t|weight|^w$|^wt|_wt$|perwt|hhwt|^(rb050|db090|pb040)a?$")
LABELLED_WEIGHTS = re.compile(
    r"(sampl|survey|design|person|household|final|expansion|population|country|strati).*weight"
)
"""What labels call sampling weights, whose names say nothing."""
BODIES = re.compile(
    r"body|birth|baby|bmi|overweight|underweight|obes|kilo|gram|pound|(^|_)(kgs?|lbs?|st|gain|loss)(_|$)"
)
"""Weights of bodies and not of answers."""
MEASURES = re.compile(
    r"(^|_)(bmi|height|waist|hdl|ldl|iron|zinc|copper|(m|mc|u)g_d?l)(_|$)|blood|serum|chol|triglyc|"
    r"glucos|albumin|h(a?emo)globin|h(a?emato)crit|vitamin|systol|diastol|temperatur"
)
"""Measures of bodies and of blood: they can lie as weights do."""
QUANTITIES = re.compile(
    r"(^|_)(years?|months?|weeks?|days?|hours?|minutes?|experience|scores?|index|percent|rate)(_|$)"
)
"""Numbers in units of their own, which weigh nothing."""
BODY_WEIGHTS = (2.0, 250.0)
"""Where body weights lie, in kilograms or pounds."""
LARGEST_HOME = 25
"""Records that have the number of one household."""
FEWER_TIES, EXPECTED_TIES = 0.05, 10
"""The share of the equal pairs, or of the gaps, that chance would give, and the fewest of these."""
IDENTIFIERS = re.compile(
    r"^(first|last|middle|given|maiden)$|forename|nickname|^id$|_id$|^id_|^id(unit|firm|hh|pers|no|nr)|[b-z](?<!o)id$|hid$|hhid|^pid$|uuid|guid|ident|(?<!user)name$|^name|surname|"
    r"e_?mail|phone|mobile|^fax|^ssn|social_sec|passport|iban|account|licen[cs]e|"
    r"address|street|^ip$|_ip$|^url|serial|record_?n|column_1$"
)
PERSONS = re.compile(
    r"^((sur|fore|first|last|given|maiden|middle|family|full|nick)_?)?names?(_\d+)?$"
)
"""What people are called, however few the names are."""
ROW_NUMBERS = re.compile(
    r"^_?(index|idx)(_level_\d+)?_?$|^row(_?(number|num|nr|no|index|id))?$|^unnamed_\d+"
)
BORN = re.compile(r"age|born|birth|dob|year")
MONEY = re.compile(
    r"income|^[ph]incp|^h?h?inc$|_inc$|wagp|salar|wage|earn|cost|expend|totexp|tax|debt|asset|revenue|sales|profit|saving|charge|"
    r"payment|^(gross|net|hourly|monthly|annual)?_?pay$|price|amount|capital|wealth|fica|pension|dividend|rent$|"
    r"povpip|pov(erty)?_?(ratio|rat$|lev)"
)
CODES = re.compile(
    r"^occ|occup|^ind(p|ustry|$)|naics|^soc|isco|nace|puma|^pob|birth_?place|countr|ancst|ancest|"
    r"fips|_code$|^code|code$|municip|^(region|state|county|district)$"
)
DESIGN = re.compile(
    r"^varstr|^varpsu|stratum|^strata?$|^psu$|_psu$|^sdmv(str|psu)|cluster_?id|^ssu"
)
"""Strata and units of a sample."""
VISIBLE = (
    r"^age(p|x|[0-9].*|s|_.*)?$|_age|born|birth(?!.*child)|^dob",
    r"sex(?!ual)|gender|^rb090$",
    r"state$|fips|region|county|puma|zip|postal|district|munic|urb|division|place_?size|siz_?place|"
    r"^(south|smsa|db040)$",
    r"race|ethni|etni|rac1p|hisp|ancestry|ancstry",
    r"marit|marst|marry|married|civil|^msp$|^mar$|^pb190$",
    r"educ|^edu|schl|degree|yearsch|school|^grade$|^collgrad$|^pe040$",
    r"occu|profession|^jobs?(_|$)|^indp|industry|^nace|naics|^isic|^(firm_?)?size$|socprof|workclass|empstat|^pl03|"
    r"(labou?r|econ|activity|employment)_?(force_?)?status",
    r"citizen|nativ|national|^pob|language|english|^pb220a?$",
    r"(hou(se?hold|s)|hh|fam(ily)?|^h)_?siz|^(nof_?child|num_?child|children)|relat(ionship)?($|_to)",
)
"""What strangers see or know of a person, most visible first."""
LABELLED = (
    r"(^|_)age(_|$)|year_of_birth|date_of_birth|birth_year",
    r"(^|_)(sex|gender)(_|$)",
    r"(^|_)(region|province|county|district|state|municipality|urban|rural)(_|$)",
    r"(^|_)(race|ethnic|ethnicity|tribe)(_|$)",
    r"(^|_)marital(_|$)|civil_status",
    r"(^|_)education(al)?(_|$)|highest_degree|level_of_schooling",
    r"(^|_)(occupation|profession)(_|$)|(employment|labou?r_force|activity)_status",
    r"(^|_)(citizenship|nationality|mother_tongue|language|country_of_birth)(_|$)",
    r"(house)?hold_size|(persons|people|members)_in_(the_)?household|number_of_children",
)
"""The same in the words of labels."""
SHORT_LABEL = 6
"""Words of a label that names a column; longer ones are questions about something."""
PARADATA = re.compile(
    r"interviewer|enumerator|fieldwork|field_?team|supervisor|interview_?(id|no|number|length|"
    r"date|day|time|start|end|duration|language)|(length|date|duration|time|start|end)_of_"
    r"(the_)?interview|(start|end|submit|stamp)_?time|time_?stamp|(^|_)(ip|gps|latitude|longitude)(_|$)|"
    r"interlen|data_?entry|keyer|date_?intr|intr_?date|^intno"
)
"""How, where and by whom answers were collected."""
PLACES = 2
HEALTH = re.compile(
    r"health|diagnos|disease|cancer|diab|hiv|icd|drug|religio|sexual|convict|illness|(?<!i)dx(_|$)|"
    r"blood|asthma|stroke|depress"
)


@dataclass(frozen=True)
class Proposal:
    """A role with its reason; whether it is a place, or would be a key if there were fewer keys."""

    role: Role
    why: str
    place: bool = False


def visible(name: str, label: str = "") -> bool:
    """Whether a column is called, or labelled, as what all can see."""
    return _rank(name, label) is not None


def of_one_kind(name: str, other: str) -> bool:
    """Whether two columns are called as the same thing that all can see, or one after the other.

    >>> of_one_kind("region", "county"), of_one_kind("icd_group", "ICD"), of_one_kind("sex", "pay")
    (True, True, False)
    """
    short, long = sorted(map(in_plain_letters, (name, other)), key=len)
    return long.startswith(f"{short}_") or (visible(name) and _rank(name) == _rank(other))


def _rank(name: str, label: str = "") -> int | None:
    """The place among what strangers see; of a label only where it is short, and no question."""
    words = in_plain_letters(label)
    short = words if 0 < len(words.strip("_").split("_")) <= SHORT_LABEL else ""
    return next(
        (
            place
            for place, (pattern, labelled) in enumerate(zip(VISIBLE, LABELLED, strict=True))
            if re.search(pattern, name.lower()) or (short and re.search(labelled, short))
        ),
        None,
    )


def visibility(name: str, tally: Tally, *, label: str = "", place: bool = False) -> float:
    """How easily people are recognised by a column: what all can see, then what tells most.

    ``place`` says that it behaves as codes of places do, whatever it is called.
    """
    rank = _rank(name, label)
    rank = PLACES if place and rank is None else rank
    seen = len(VISIBLE) - rank if rank is not None else 0
    return 10.0 * seen + min(entropy(tally), 9.0)


def entropy(tally: Tally) -> float:
    """The entropy of the values in bits."""
    shares = tally.numbers / max(int(tally.numbers.sum()), 1)
    return float(-(shares * np.log2(np.maximum(shares, 1e-300))).sum())


def in_plain_letters(name: str) -> str:
    """The name in small letters, with one line between its words.

    >>> in_plain_letters("TotalWeight (kg)")
    'total_weight_kg_'
    """
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())


def propose_role(name: str, tally: Tally, records: int, *, label: str = "") -> Proposal:
    """The role that the name, the label and the values of a column suggest."""
    plainly, labelled = in_plain_letters(name), in_plain_letters(label)
    if PARADATA.search(f"{plainly}_{labelled}"):
        return COLLECTED
    if tally.distinct < 2:
        held = "no values" if not tally.distinct else "a single value"
        return Proposal(Role.PUBLIC, f"it holds {held}")
    if tally.kind in ("integer", "number"):
        return _role_of_number(plainly, tally, records, labelled)
    return _role_of_text(plainly, tally, records)


COLLECTED = Proposal(Role.IDENTIFIER, "name or label speak of how answers were collected: dropped")


def _role_of_number(name: str, tally: Tally, records: int, label: str) -> Proposal:
    many = tally.distinct > FEW_NUMBERS
    named = _named_role(name, tally, many, label)
    if many and not MONEY.search(name) and _differ_more_than_by_chance(tally):
        if named is not None and named.role is Role.IDENTIFIER:
            return named
        why = "fewer records share a value than chance would give"
        return Proposal(Role.IDENTIFIER, _row_number(name, tally, records) or why)
    if named is not None:
        return named
    if not many:
        return Proposal(Role.KEY, f"it has few values ({tally.distinct})")
    row = _row_number(name, tally, records)
    if row is not None:
        return Proposal(Role.IDENTIFIER, row)
    if tally.distinct > FEW_CODES and _has_long_tail(tally):
        return Proposal(Role.SENSITIVE, "it has many values with a long tail, as amounts have")
    if are_codes(name, tally):
        return Proposal(Role.KEY, f"{_amount(tally)} codes without order: consider fewer")
    measured = BORN.search(name) or BODIES.search(name)
    if tally.distinct > FEW_CODES and tally.distinct * SHARED > records and not measured:
        return Proposal(Role.SENSITIVE, "hardly any records share a value, as with amounts")
    return Proposal(Role.KEY, f"a number with many values ({_amount(tally)}): bins proposed")


def _named_role(name: str, tally: Tally, many: bool, label: str) -> Proposal | None:
    """The role that name and label of a column of numbers speak of, if they do."""
    called = f"{name}_{label}"
    if not (BODIES.search(called) or MEASURES.search(called)):
        if WEIGHTS.search(name):
            return Proposal(Role.WEIGHT, "its name speaks of weights")
        if many and LABELLED_WEIGHTS.search(label):
            return Proposal(Role.WEIGHT, "its label speaks of weights")
    if HEALTH.search(name):
        return Proposal(Role.SENSITIVE, "its name speaks of something private")
    if many and MONEY.search(name):
        return Proposal(Role.SENSITIVE, "its name speaks of money, and it has many values")
    if tally.distinct > FEW_CODES and IDENTIFIERS.search(name) and tally.whole:
        return Proposal(Role.IDENTIFIER, "its name speaks of an identifier")
    if DESIGN.search(name):
        return Proposal(Role.IDENTIFIER, "its name speaks of the sample's design: it tells places")
    return None


def _role_of_text(name: str, tally: Tally, records: int) -> Proposal:
    named = tally.kind == "text" and IDENTIFIERS.search(name)
    if named and (tally.distinct >= FEW_NUMBERS or PERSONS.search(name)):
        return Proposal(Role.IDENTIFIER, "its name speaks of an identifier")
    if is_free_text(tally, records):
        return Proposal(Role.IDENTIFIER, "free text, which may name people: dropped")
    if _nearly_unique(tally, records) and tally.distinct > FEW_NUMBERS:
        return Proposal(Role.IDENTIFIER, "nearly every record has a value of its own")
    if HEALTH.search(name) or MONEY.search(name):
        return Proposal(Role.SENSITIVE, "its name speaks of something private")
    if tally.distinct <= FEW_TEXTS:
        return Proposal(Role.KEY, f"it has few values ({tally.distinct})")
    if tally.distinct <= MANY_TEXTS and records >= FREQUENT * tally.distinct:
        return Proposal(Role.KEY, f"it has {tally.distinct} values, frequent ones: consider fewer")
    return Proposal(
        Role.IDENTIFIER,
        f"it has {_amount(tally)} values, too many to randomise: dropped unless it is coarsened",
    )


def _amount(tally: Tally) -> str:
    return f"{tally.distinct:,}" if tally.complete else f"more than {tally.distinct:,}"


def are_codes(name: str, tally: Tally) -> bool:
    """Whether whole numbers are codes: by name, or as few of the numbers between them occur."""
    if not FEW_NUMBERS < tally.distinct <= MANY_TEXTS or not tally.whole:
        return False
    if tally.seen < SHARED * tally.distinct:
        return False
    if CODES.search(name.lower()):
        return True
    values, _ = distribution(tally)
    if values[0] < 0 or not tally.complete:
        return False
    gaps = np.diff(values)
    step = float(np.gcd.reduce(gaps.astype(np.int64)))
    return bool(values[-1] - values[0] > SPARSE * step * len(values) and np.median(gaps) > step)


def is_measure(name: str, tally: Tally) -> bool:
    """Whether numbers are too many to be categories, no codes, and no ages or years of birth."""
    many = tally.kind in ("integer", "number") and tally.distinct > FEW_NUMBERS
    return many and not are_codes(name, tally) and not BORN.search(in_plain_letters(name))


def is_free_text(tally: Tally, records: int) -> bool:
    """Whether texts are written by people: long, and hardly ever the same."""
    if tally.kind != "text" or not tally.distinct:
        return False
    texts = tally.values.slice(0, FREQUENT * FREQUENT).to_pylist()
    words = float(np.mean([len(text.split()) for text in texts]))
    return words >= WORDS and tally.distinct > max(FEW_TEXTS, records / FREQUENT)


def _nearly_unique(tally: Tally, records: int) -> bool:
    present = min(tally.seen, records) - tally.missing if tally.complete else tally.seen
    return tally.distinct >= NEARLY * max(present, 1)


def _row_number(name: str, tally: Tally, records: int) -> str | None:
    """Why a column numbers the records, if it does."""
    if not tally.whole:
        return None
    if ROW_NUMBERS.search(name):
        return "its name speaks of a row number"
    width = (tally.highest or 0) - (tally.lowest or 0) + 1
    if _nearly_unique(tally, records) and width <= 2 * tally.distinct:
        return "nearly every record has a value of its own"
    present = min(tally.seen, records) - tally.missing if tally.complete else tally.seen
    if tally.distinct < max(present, FEW_CODES):
        return None
    values, _ = distribution(tally)
    if values[0] < 0:
        return None
    if _counts_rows(values):
        return "no value occurs twice, as with row numbers"
    long = _long_numbers(values)
    return f"no value occurs twice, and nearly all have {long} digits" if long else None


def _differ_more_than_by_chance(tally: Tally) -> bool:
    """Whether far fewer records share a number than if numbers were drawn evenly."""
    if not tally.complete or not tally.whole:
        return False
    values, _ = distribution(tally)
    if values[0] < 0:
        return False
    numbers = tally.numbers.astype(np.float64)
    records = float(numbers.sum())
    step = float(np.gcd.reduce(np.diff(values).astype(np.int64)))
    possible = (values[-1] - values[0]) / step + 1
    expected = records * (records - 1) / 2 / possible
    equal = float((numbers * (numbers - 1) / 2).sum())
    return bool(expected >= EXPECTED_TIES and equal <= FEWER_TIES * expected)


def numbers_groups(tally: Tally) -> bool:
    """Whether numbers count small groups: of numbers of households hardly any is left out."""
    if not tally.complete or not tally.whole or int(tally.numbers.max(initial=0)) > LARGEST_HOME:
        return False
    values, _ = distribution(tally)
    possible = float(values[-1] - values[0] + 1)
    expected = possible * math.exp(-float(tally.numbers.sum()) / possible)
    return expected >= EXPECTED_TIES and possible - len(values) <= FEWER_TIES * expected


def weighs_bodies(tally: Tally) -> bool:
    """Whether numbers lie where the weights of bodies do."""
    values, shares = distribution(tally)
    low, high = BODY_WEIGHTS
    return low <= _quantile(values, shares, 0.05) and _quantile(values, shares, 0.95) <= high


def _long_numbers(values: FloatArray) -> int:
    """The usual number of digits of numbers of people and files; 0 if they vary as amounts do."""
    lengths = np.bincount(np.floor(np.log10(np.maximum(values, 1))).astype(np.int64) + 1)
    usual = int(lengths.argmax())
    return usual if usual >= LONG and lengths[usual] > NEARLY * len(values) else 0


def _counts_rows(values: FloatArray) -> bool:
    """Whether numbers that all differ are evenly spaced, as row numbers are."""
    even = np.linspace(values[0], values[-1], len(values))
    strays = min(EVENLY, KOLMOGOROV / math.sqrt(len(values)))
    return bool(np.abs(values - even).max() <= strays * (values[-1] - values[0]))


def _has_long_tail(tally: Tally) -> bool:
    values, shares = distribution(tally)
    low, middle, high, top = (_quantile(values, shares, q) for q in (0.25, 0.5, 0.75, 0.99))
    return top - middle > LONG_TAIL * max(high - low, (top - middle) / 100, 1e-300)


def propose_domain(
    name: str, tally: Tally, *, known: tuple[Label, ...] = (), categories: bool = False
) -> Domain:
    """Categories for few values, bins for many numbers; never in order of appearance.

    Args:
        name: The column, for errors.
        tally: Its values.
        known: Further values that the file itself lists.
        categories: Whether bins are out of the question.
    """
    number = tally.kind in ("integer", "number")
    infinite = number and math.inf in (tally.highest, -(tally.lowest or 0))
    listed = categories or known or are_codes(name, tally)
    if number and (infinite or tally.distinct > FEW_NUMBERS) and not listed:
        try:
            return propose_bins(tally)
        except (InvalidSchema, ArithmeticError, ValueError):
            raise InvalidTable(
                f"'{name}' holds numbers that no bins can be proposed for: they are infinite, or "
                "too far apart. State bins, or give it another role.",
                column=name,
            ) from None
    if infinite:
        raise InvalidTable(
            f"'{name}' holds infinite numbers, which are no categories: map them.", column=name
        )
    if tally.distinct > CATEGORY_LIMIT:
        raise TooLarge(
            f"'{name}' has {_amount(tally)} categories, and a randomised column may have at most "
            f"{CATEGORY_LIMIT:,}. Coarsen it, cut it into bins, or give it another role.",
            column=name,
        )
    labels = tally.labels()
    if known:
        labels = tuple(sorted({*labels, *known}, key=lambda v: (isinstance(v, str), v)))
    if not labels:
        raise InvalidTable(
            f"'{name}' has no values: all are missing. Give it another role.", column=name
        )
    return Categories(labels, ordered=bool(tally.order))


def propose_bins(tally: Tally) -> Bins:
    """About ten bins of similar size with round edges; the outer edges hide the extremes."""
    values, shares = distribution(tally)
    cuts = [_quantile(values, shares, i / BINS) for i in range(BINS + 1)]
    whole = float((values == np.floor(values)).all())
    lowest, highest = float(values[0]), float(values[-1])
    if not tally.complete:  # the range is known of all records, the values only of the first
        lowest, highest = _range(tally, lowest, highest)
    wide = (highest - lowest) / BINS
    inner = set()
    for at in range(1, BINS):
        gap = (cuts[at + 1] - cuts[at - 1]) / ROUNDNESS or wide
        step = max(round_step(gap), whole)
        inner.add(round(cuts[at] / step) * step)
    step = max(round_step(wide), whole)
    low, high = _outward(lowest, -step), _outward(highest, step)
    edges = sorted({low, high} | {edge for edge in inner if low < edge < high})
    if len(edges) < 3:
        edges = [low, low + max(step, (high - low) // (2 * step) * step), high]
    tidy = _opened(tally, [_tidy(edge) for edge in edges])
    return Bins(tidy, integers=tally.whole)


def _range(tally: Tally, lowest: float, highest: float) -> tuple[float, float]:
    ends = [end for end in (tally.lowest, tally.highest) if end is not None and math.isfinite(end)]
    return min([lowest, *ends]), max([highest, *ends])


def _opened(tally: Tally, edges: list[float]) -> tuple[float, ...]:
    """The edges, with an open end where the data hold infinite values."""
    below = [-math.inf] if tally.lowest == -math.inf else []
    above = [math.inf] if tally.highest == math.inf else []
    return (*below, *edges, *above)


def round_step(width: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that does not exceed ``width``."""
    power = 10.0 ** math.floor(math.log10(width)) if width > 0 else 1.0
    return max(m * power for m in (1, 2, 5) if m * power <= max(width, power))


def _outward(value: float, step: float) -> float:
    """The next multiple of ``step`` strictly beyond ``value``; zero stays, as a natural bound."""
    if value == 0 and step < 0:
        return 0.0
    beyond = (math.floor(value / step) + 1) * step
    return 0.0 if step < 0 < value and beyond < 0 else beyond


def _tidy(edge: float) -> float:
    """Without the dust of floating-point arithmetic; whole numbers as integers."""
    edge = float(f"{edge:.12g}")
    return int(edge) if edge.is_integer() else edge


def distribution(tally: Tally) -> tuple[FloatArray, FloatArray]:
    """Sorted finite values and the share of records at or below each."""
    values = tally.values.to_numpy(zero_copy_only=False).astype(float)
    order = np.argsort(values)
    order = order[np.isfinite(values[order])]
    if not len(order):
        return np.zeros(1), np.ones(1)
    sums = np.cumsum(tally.numbers[order])
    return values[order], sums / int(sums[-1])


def quantiles(values: FloatArray, shares: FloatArray, at: Sequence[float]) -> list[float]:
    """Quantiles of a distribution."""
    return [_quantile(values, shares, share) for share in at]


def _quantile(values: FloatArray, shares: FloatArray, q: float) -> float:
    return float(values[min(int(np.searchsorted(shares, q)), len(values) - 1)])
