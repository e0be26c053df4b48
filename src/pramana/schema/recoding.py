"""Recodings of a column's values before release: codes, dates, merging, rounding, noise.

A recoding defines the column: counts, guarantees, estimates, certificate and codebook all refer to
the recoded values. Noise alone is random: it is added to each released number, its distribution is
declared, and standard errors allow for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from pramana.base.rounding import require_number
from pramana.base.translation import gettext, noop
from pramana.errors import InvalidNumber
from pramana.schema.domains import Label, is_name, label_key, label_text, require
from pramana.types import Form

DatePart: TypeAlias = Literal["year", "quarter", "month"]
DATES: tuple[DatePart, ...] = ("year", "quarter", "month")
DATE_PARTS: Final = {
    "year": noop("dates as their year"),
    "quarter": noop("dates as their quarter"),
    "month": noop("dates as their month"),
}
DIRECTIVES = frozenset("dmYybBHMSIp")

Distribution: TypeAlias = Literal["laplace", "normal", "uniform"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("laplace", "normal", "uniform")

VARIANCES: dict[str, float] = {"laplace": 2.0, "normal": 1.0, "uniform": 1 / 3}
"""The variance at scale one; the scale is the mean size, standard deviation or half width."""

Merged: TypeAlias = tuple[tuple[str, tuple[Label, ...]], ...]

LARGEST_SCALE = 1e100


@dataclass(frozen=True)
class Noise:
    """A number drawn anew for every record and added to its value.

    >>> Noise("laplace", 500).variance
    500000.0

    Attributes:
        distribution: ``laplace``, ``normal`` or ``uniform``, each around zero.
        scale: Laplace's mean size, the standard deviation, or half the width.
    """

    distribution: Distribution
    scale: float

    def __post_init__(self) -> None:
        require(
            self.distribution in DISTRIBUTIONS,
            "noise",
            "The distribution of noise must be one of {distributions}, got {distribution!r}.",
            distributions=", ".join(DISTRIBUTIONS),
            distribution=self.distribution,
        )
        _require_finite("noise", self.scale, above=0, what="scale of noise")
        require(
            1 / LARGEST_SCALE <= self.scale <= LARGEST_SCALE,
            "noise",
            "The scale of noise must lie between {least:g} and {most:g}: other squares overflow.",
            least=1 / LARGEST_SCALE,
            most=LARGEST_SCALE,
        )

    @property
    def variance(self) -> float:
        """The variance of the noise."""
        return VARIANCES[self.distribution] * float(self.scale) ** 2

    def grain(self, *, whole: bool) -> float:
        """Released numbers are multiples of this, so that their last digits carry nothing over.

        >>> Noise("normal", 250).grain(whole=False), Noise("normal", 250).grain(whole=True)
        (1.0, 1.0)
        >>> Noise("normal", 0.25).grain(whole=False)
        0.001
        """
        return 1.0 if whole else 10.0 ** (math.floor(math.log10(self.scale)) - 2)

    def spread(self, *, whole: bool) -> float:
        """The variance of a released number around the true one, rounding and all.

        Rounding adds a twelfth of its grain's square to noise that falls off smoothly. Uniform
        noise ends at once: n grains are passed where it is beyond n - 1/2 of them.

        >>> Noise("uniform", 1).spread(whole=True)      # -1, 0, 0 or 1
        0.5
        """
        grain = self.grain(whole=whole)
        if self.distribution != "uniform":
            return self.variance + grain**2 / 12
        width = self.scale / grain
        most = math.floor(width + 0.5)
        return grain**2 * (most**2 - most * (4 * most**2 - 1) / (6 * width))

    def to_dict(self) -> Form:
        """As a schema file states it."""
        return {"distribution": self.distribution, "scale": self.scale}


@dataclass(frozen=True)
class Recoding:
    """Changes of values, in this order: missing codes, dates, merging, ends, rounding, noise.

    >>> Recoding(merge={"other": ["5", "6"]}, missing_codes=("N",)).sentence()
    'N taken as missing; 5, 6 merged into other'

    Attributes:
        missing_codes: Values that mean that there is none.
        date: Dates become their year, quarter or month.
        date_format: How dates are written in text that is not ISO, such as ``%d.%m.%Y``.
        merge: New categories and the values that each takes up.
        bottom: Smaller numbers become this one.
        top: Larger numbers become this one.
        round: Numbers become multiples of this; a weight above zero at least one of it.
        noise: Is added to every released number.
    """

    missing_codes: tuple[Label, ...] = ()
    date: DatePart | None = None
    merge: Mapping[str, Iterable[Label]] | Merged = ()
    bottom: float | None = None
    top: float | None = None
    round: float | None = None
    noise: Noise | None = None
    date_format: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing_codes", tuple(self.missing_codes))
        pairs = self.merge.items() if isinstance(self.merge, Mapping) else self.merge
        merged = tuple(sorted((new, tuple(old)) for new, old in pairs))
        object.__setattr__(self, "merge", merged)
        require(
            self.date is None or self.date in DATES,
            "date",
            "date must be one of {dates}, got {date!r}.",
            dates=", ".join(DATES),
            date=self.date,
        )
        if self.date_format is not None:
            _check_format(self.date_format)
            require(self.date, "date_format", 'date_format goes with date, such as date = "year".')
        for new, old in self.merged:
            require(is_name(new) and old, "merge", 'merge must read like {"other" = ["5", "6"]}.')
        require(
            None not in self.missing_codes,
            "missing_codes",
            "missing_codes must list values; empty cells are missing anyway.",
        )
        texts = [label_key(value) for value in (*self.missing_codes, *self.replaced)]
        require(
            len(set(texts)) == len(texts) and None not in texts,
            "merge" if self.merge else "missing_codes",
            "merge and missing_codes must name every value once.",
        )
        for name in ("bottom", "top"):
            if getattr(self, name) is not None:
                _require_finite(name, getattr(self, name))
        if self.bottom is not None and self.top is not None:
            require(
                self.bottom < self.top,
                "bottom",
                "bottom must lie below top, got {bottom:g} and {top:g}.",
                bottom=self.bottom,
                top=self.top,
            )
        if self.round is not None:
            _require_finite("round", self.round, above=0)

    @property
    def merged(self) -> Merged:
        """New categories with the values that each takes up, in order of their names."""
        return self.merge  # type: ignore[return-value]  # made so above

    @property
    def replaced(self) -> tuple[Label, ...]:
        """The values that are merged into others."""
        return tuple(value for _, old in self.merged for value in old)

    @property
    def of_numbers(self) -> bool:
        """Whether the values must be numbers for it."""
        return any(part is not None for part in (self.bottom, self.top, self.round, self.noise))

    @property
    def before_release(self) -> Recoding:
        """The recoding without its noise."""
        return self if self.noise is None else replace(self, noise=None)

    def __bool__(self) -> bool:
        return self is not NOTHING and self != NOTHING

    def listed(self, values: Sequence[Label]) -> tuple[Label, ...]:
        """A list of values as it is afterwards, where it was made of the values before.

        >>> Recoding(merge={"other": [5, 6]}, missing_codes=(9,)).listed((4, 5, 6, 9))
        ('4', 'other')
        """
        if not (self.merged or self.missing_codes):
            return tuple(values)
        new = {label_key(value): name for name, old in self.merged for value in old}
        for name, _ in self.merged:  # what is listed by its new name is recoded already
            new.pop(label_key(name), None)
        gone = set() if self.date else {label_key(code) for code in self.missing_codes}
        keys = [label_key(value) for value in values]
        if not any(key in new or key in gone for key in keys):
            return tuple(values)
        kept = [(key, value) for key, value in zip(keys, values, strict=True) if key not in gone]
        texts = dict.fromkeys(new.get(key, label_text(value)) for key, value in kept)
        by_text = {label_text(value): value for value in values}
        if any(isinstance(value, str) for value in values) or not set(texts) <= set(by_text):
            return tuple(texts)
        return tuple(by_text[text] for text in texts)

    def to_dict(self) -> Form:
        """The entries of a column in a schema file."""
        entries = {
            "missing_codes": list(self.missing_codes) or None,
            "date": self.date,
            "date_format": self.date_format,
            "merge": {new: list(old) for new, old in self.merged} or None,
            "bottom": self.bottom,
            "top": self.top,
            "round": self.round,
            "noise": None if self.noise is None else self.noise.to_dict(),
        }
        return {name: value for name, value in entries.items() if value is not None}

    def sentence(self, most: int | None = None) -> str:
        """In words, for codebook and README; of a list at most the first ``most``."""
        parts = []
        if self.missing_codes:
            missing = _listed(self.missing_codes, most)
            parts.append(gettext("{values} taken as missing", values=missing))
        if self.date is not None:
            parts.append(gettext(DATE_PARTS[self.date]))
            if self.date_format is not None:
                parts[-1] += gettext(", read as {format}", format=self.date_format)
        words = noop("{values} merged into {name}")
        parts += [gettext(words, values=_listed(old, most), name=new) for new, old in self.merged]
        for end, words in (
            (self.bottom, noop("below {value} set to {value}")),
            (self.top, noop("above {value} set to {value}")),
            (self.round, noop("rounded to multiples of {value}")),
        ):
            if end is not None:
                parts.append(gettext(words, value=label_text(end)))
        if self.noise is not None:
            parts.append(
                gettext(
                    "{distribution} noise of scale {scale} (variance {variance:.6g}) added to "
                    "every value",
                    distribution=self.noise.distribution, scale=label_text(self.noise.scale),
                    variance=self.noise.variance,
                )
            )  # fmt: skip
        return "; ".join(parts)


NOTHING: Final = Recoding()  # values stay as they are


def _listed(values: Sequence[Label], most: int | None = None) -> str:
    """Labels in a row.

    >>> _listed((1, 2, 3, 4, 5, 6)), _listed((1, 2, 3, 4, 5, 6), most=2)
    ('1, 2, 3, 4, 5, 6', '1, 2 and 4 more')
    """
    shown = values if most is None or len(values) <= most + 1 else values[:most]
    texts = ", ".join(label_text(value) for value in shown)
    if len(shown) < len(values):
        texts += gettext(" and {number:,} more", number=len(values) - len(shown))
    return texts


def _require_finite(
    entry: str, value: float, *, above: float = -math.inf, what: str | None = None
) -> None:
    """Refuse an entry that is not a finite number, or part of one (``what``)."""
    name = what or entry
    require(
        not isinstance(value, bool),
        entry,
        "{name} must be a number, got {value!r}.",
        name=name,
        value=value,
    )
    try:
        require_number(name, value, low=above, low_open=True, high=math.inf, high_open=True)
    except InvalidNumber as error:
        error.fields["entry"] = entry
        raise


def _check_format(text: object) -> None:
    """Refuse a text that is not a date format with a year and a month."""
    parts = set(re.findall(r"%(.)", text)) if isinstance(text, str) else set()
    require(
        parts and parts <= DIRECTIVES and parts & set("Yy") and parts & set("mbB"),
        "date_format",
        'date_format must read like "%d.%m.%Y": %Y or %y, %m, %b or %B, and of %d, %H, %M, %S, %I '
        "and %p what there is, got {given!r}.",
        given=text,
    )
