"""A claim: one guarantee, what was asked of it and what is attained."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pramana.errors import NotARelease
from pramana.guarantees.base import Guarantee, Need, only_the_owner
from pramana.guarantees.households import household_words
from pramana.guarantees.registry import GUARANTEES
from pramana.table.schema import Role
from pramana.text import listed
from pramana.types import Entries, Form

if TYPE_CHECKING:
    from pramana.table.schema import Schema

__all__ = ["Claim", "Made", "guarantee_from_json", "read_off", "takes_as_public"]


PICKED: Final = (
    " It holds against who does not know which columns a person was asked for: who does looks at a "
    "smaller crowd."
)

NAMED = 4
"""Columns that a sentence names; the scope of a certificate lists them all."""


@dataclass(frozen=True)
class Made:
    """How records were made, as far as the words of a promise hang on it.

    Attributes:
        looked_at: the columns beside the keys by which groups were formed.
        picked: whether chance picked the columns that each person was asked for.
        households: sizes of households that promises are spelled out for; none where the true
            table numbers none.
    """

    looked_at: tuple[str, ...] = ()
    picked: bool = False
    households: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        schema: Schema,
        options: Entries,
        marks: Sequence[str] = (),
        households: Sequence[int] = (),
    ) -> Made:
        """From the options of a method, perhaps of another package, and the marks of records."""
        named = options.get("responses")
        responses = named if isinstance(named, list | tuple) else ()
        if options.get("response_weight", 1) == 0:
            responses = ()
        by_values = options.get("distinct", 1) != 1 or options.get("closeness", 1) != 1
        looked_at = tuple(
            column.name
            for column in schema.released_as_is
            if column.name not in schema.known
            and (column.name in responses or (by_values and column.role is Role.SENSITIVE))
        )
        return cls(looked_at, len(marks) > 1, tuple(households))


AS_USUAL: Final = Made()


@dataclass(frozen=True)
class Claim:
    """One guarantee as claimed: attained, and asked if it was."""

    attained: Guarantee
    asked: Guarantee | None = None

    @property
    def name(self) -> str:
        """The name in certificates."""
        return self.attained.name

    @property
    def holds(self) -> bool:
        """Nothing asked, or at least as strong as asked."""
        return self.asked is None or bool(self.attained.implies(self.asked))

    @property
    def checked_by(self) -> str:
        """Who can compute the number again."""
        return "the owner only" if only_the_owner(type(self.attained)) else "anyone"

    def sentence(self, schema: Schema, made: Made = AS_USUAL) -> str:
        """The promise in plain words, with what it takes as public and what as unknown.

        Columns that are released as they are and called sensitive stay with their record: who
        knows them of a person finds it, whatever is promised about linking. What compares this
        table with others compares it with those that have the same lists: one that was read off
        the data would be another one for them. Groups that were formed by other columns than keys
        tell of these to who knows how that is done. Of reports, who knows what a person was asked
        for looks at fewer of them.
        """
        words = self.attained.sentence() + self.missed
        if self.attained.against_outsiders:
            words += _taken_as_unknown(schema)
            if Need.GROUPS in self.attained.needs:
                words += _worked_back(made.looked_at)
        if made.picked and self.attained.in_a_crowd:
            words += PICKED
        if Need.FIXED_MATRICES in self.attained.needs:
            words += takes_as_public(read_off(schema))
        return words + household_words(self.attained, made.households)

    @property
    def missed(self) -> str:
        """What was asked for and is not attained, as a sentence to go after the promise."""
        if self.asked is None or self.holds:
            return ""
        return f" The target was missed: {self.asked} had been asked for."

    def to_json(self, schema: Schema, made: Made = AS_USUAL) -> Form:
        """With the promise in words, what it assumes, and who can check it."""
        return {
            "name": self.name,
            "asked": None if self.asked is None else _spelled(self.asked.to_json()),
            "attained": self.attained.to_json(),
            "holds": self.holds,
            "sentence": self.sentence(schema, made),
            "assumption": self.attained.assumption,
            "checked_by": self.checked_by,
        }

    @classmethod
    def from_json(cls, form: Entries) -> Claim:
        """The reverse of :meth:`to_json`; what follows from the numbers is not read."""
        name, asked = form["name"], form["asked"]
        return cls(
            guarantee_from_json(name, form["attained"]),
            None if asked is None else guarantee_from_json(name, asked),
        )


def _spelled(numbers: Form) -> Form:
    """Whole numbers as such: who asks for 20 and who asks for 20.0 is given the same bytes.

    >>> _spelled({"k": 20.0, "delta": 1e-06, "epsilon": None})
    {'k': 20, 'delta': 1e-06, 'epsilon': None}
    """
    return {
        name: int(own) if isinstance(own, float) and own.is_integer() and abs(own) < 2**53 else own
        for name, own in numbers.items()
    }


def read_off(schema: Schema) -> tuple[str, ...]:
    """The randomised columns whose lists of values were read off the data."""
    return tuple(column.name for column in schema.randomised if not column.declared)


def takes_as_public(columns: Sequence[str]) -> str:
    """What a promise of epsilon takes as public, as a sentence to go after it; nothing if none."""
    if not columns:
        return ""
    lists = "list" if len(columns) == 1 else "lists"
    return f" It takes as public the {lists} of values of {', '.join(columns)}, read off the data."


def _taken_as_unknown(schema: Schema) -> str:
    """Whom a promise about linking does not speak of, as a sentence to go after it."""
    names = [name for name in schema.attached if name not in schema.known]
    if not names:
        return ""
    stay = "it stays" if len(names) == 1 else "they stay"
    own = listed(names, NAMED)
    return f" It holds against who does not know a person's {own}: {stay} with the record."


def _worked_back(columns: Sequence[str]) -> str:
    """Whom groups that were formed by these columns do not hide from."""
    if not columns:
        return ""
    own = listed(columns, NAMED)
    return (
        f" Groups were formed by looking at {own} too: it does not hold against who knows how that "
        "is done, and works back from the groups to what somebody has there."
    )


def guarantee_from_json(name: str, numbers: Entries) -> Guarantee:
    """The guarantee of that name with those numbers; null stands for no bound."""
    try:
        kind = GUARANTEES[name]
        return kind(**{letter: _back(value) for letter, value in numbers.items()})
    except (AttributeError, KeyError, TypeError):
        raise NotARelease(
            f"A guarantee must be one of {', '.join(GUARANTEES)} with its numbers, got {name!r}. "
            "A newer version of pramana may know it."
        ) from None


def _back(value: Any) -> Any:
    """Null is no bound; a list of lists is a tuple of tuples."""
    if value is None:
        return math.inf
    return tuple(_back(part) for part in value) if isinstance(value, list) else value
