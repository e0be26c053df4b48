"""What promises about people say about households (docs/proofs/households.md).

The household's number is dropped, its records are randomised and shuffled apart. A household of m
is then found if one of its m people is, so that chances add up; and it changes m records, so that
epsilons do. Each guarantee says what becomes of its own number; here are the words.

A claim: one guarantee, what was asked of it and what is attained.

The one place where what a guarantee needs meets what there is; the rest is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pramana.base.text import listed, text_up
from pramana.errors import NotARelease, NotCovered, TooLarge
from pramana.guarantees.base import Evidence, Guarantee, Need, only_the_owner
from pramana.guarantees.registry import GUARANTEES
from pramana.schema.origins import DataChoices
from pramana.schema.schema import Role, Schema
from pramana.types import Entries, Form

ANY_SIZE: Final = (2, 4)
"""Sizes that are spelled out where that of the largest household is nobody's business."""

LARGE_HOUSEHOLD: Final = 20
"""Households of this size and more hardly exist: words say nothing about them."""

NO_NUMBER: Final = " It speaks of persons: no number for a household follows from it."


def household_words(guarantee: Guarantee, sizes: Sequence[int]) -> str:
    """What a promise says about a household, as a sentence to go after it.

    >>> from pramana.guarantees.pk_anonymity import PkAnonymity
    >>> household_words(PkAnonymity(k=20), (2, 4)).strip()
    'For m people of one household together it is k / m: k = 10 for 2, k = 5 for 4.'
    >>> household_words(PkAnonymity(k=9), (2,)).split(". ")[1]
    'Households of 9 and more: no protection (k = 1).'
    """
    found = [(size, guarantee.household(size)) for size in sizes if size > 1]
    if any(numbers is None for _, numbers in found):
        return NO_NUMBER
    spelled = [
        " and ".join(f"{name} = {text}" for name, text in guarantee.as_text(numbers).items())
        + f" for {size:,}"
        for size, numbers in found
        if numbers
    ]
    if not spelled:
        return ""
    return (
        f" For m people of one household together it is {guarantee.of_household}: "
        f"{', '.join(spelled)}.{_unprotected(guarantee)}"
    )


def _unprotected(guarantee: Guarantee) -> str:
    """From which size on households have no protection, if there are households of that size."""
    size = next(
        (m for m in range(2, LARGE_HOUSEHOLD) if (guarantee.household(m) or {}).get("k") == 1), None
    )
    return "" if size is None else f" Households of {size} and more: no protection (k = 1)."


def household_scope(schema: Schema) -> str:
    """What was done about households, and against whom nothing is promised to them."""
    words = "Households were numbered in the true table: the number was dropped."
    unknown = [name for name in schema.attached if name not in schema.known]
    if not unknown:
        return words
    return (
        f"{words} To who knows who lives with whom, promises about linking hold as far as it is "
        f"not known what people who live together have alike in {listed(unknown, 4)}."
    )


PICKED: Final = (
    " It holds against who does not know which columns a person was asked for: who does looks at a "
    "smaller anonymity set."
)

RELAXED: Final = (
    " The target was relaxed: xi = {} was asked for, which these records do not allow; this is the "
    "least attainable, rounded up."
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
        relaxed_from: the target that was asked for and could not be attained, so that the least
            attainable took its place.
    """

    looked_at: tuple[str, ...] = ()
    picked: bool = False
    households: tuple[int, ...] = ()
    relaxed_from: float | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        options: Entries,
        marks: Sequence[str] = (),
        households: Sequence[int] = (),
    ) -> Made:
        """From options and statistics of a method, perhaps of another package, and its marks."""
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
        relaxed = options.get("relaxed_from")
        relaxed_from = relaxed if isinstance(relaxed, float) else None
        return cls(looked_at, len(marks) > 1, tuple(households), relaxed_from)


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
        """The promise in words, with what it takes as public and what as unknown.

        Columns that are released unchanged and called sensitive stay with their record: who
        knows them of a person finds it, whatever is promised about linking. What compares this
        table with others compares it with those that have the same lists: one that was read off
        the data, or a choice that was made by trials on them, would be another one for them.
        Groups that were formed by other columns than keys tell of these to who knows how that is
        done. Of reports, who knows what a person was asked for looks at fewer of them.
        """
        words = self.attained.sentence() + self.missed
        if self.attained.against_outsiders:
            words += _taken_as_unknown(schema)
            if Need.GROUPS in self.attained.needs:
                words += _worked_back(made.looked_at)
        if made.picked and self.attained.in_a_anonymity_set:
            words += PICKED
        if Need.FIXED_MATRICES in self.attained.needs:
            words += DataChoices.of(schema).sentence()
        if self.asked is not None and made.relaxed_from is not None:
            words += RELAXED.format(text_up(made.relaxed_from))
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


def attained(
    evidence: Evidence,
    asked: Sequence[Guarantee] = (),
    *,
    computed: Sequence[Guarantee] = (),
) -> tuple[Guarantee, ...]:
    """Every guarantee that the evidence covers, each the strongest that holds; those asked first.

    Args:
        evidence: what there is to compute from.
        asked: the targets.
        computed: those that a design has computed from the same evidence already.

    Raises:
        NotCovered: one that is asked cannot be computed from this evidence, and why. What is not
            asked and not covered is left out.
    """
    for guarantee in asked:
        missing = lacks(type(guarantee), evidence)
        if missing is not None:
            raise NotCovered(f"Nothing can be promised about {guarantee.name}: {missing}.")
    wanted = {guarantee.name: guarantee for guarantee in asked}
    found, offers = list(computed), evidence.offers
    ready = {guarantee.name for guarantee in computed}
    for name, kind in GUARANTEES.items():
        if name in ready or not kind.needs <= offers:
            continue
        try:
            found.append(kind.evaluate(evidence, asked=wanted.get(name)))
        except (NotCovered, TooLarge):
            if name in wanted:
                raise
    return tuple(sorted(found, key=lambda guarantee: guarantee.name not in wanted))


def recomputed(evidence: Evidence, stated: Sequence[Guarantee]) -> dict[str, Guarantee]:
    """What the evidence gives of the kinds that are stated, by name; what it lacks is left out."""
    covered = [guarantee for guarantee in stated if lacks(type(guarantee), evidence) is None]
    found = attained(evidence, covered)
    names = {guarantee.name for guarantee in stated}
    return {guarantee.name: guarantee for guarantee in found if guarantee.name in names}


def lacks(kind: type[Guarantee], evidence: Evidence) -> str | None:
    """Why the evidence does not offer what a guarantee needs; nothing where it does."""
    return _first(kind.needs - evidence.offers)


def never_offered(kind: type[Guarantee], evidence: Evidence, owner: frozenset[Need]) -> str | None:
    """Why not even the owner of a release can compute a guarantee; nothing where it can be.

    Args:
        kind: the guarantee.
        evidence: what a stranger has.
        owner: what the owner has beyond that.
    """
    return _first(kind.needs - evidence.offers - owner)


def _first(missing: frozenset[Need]) -> str | None:
    """Why not, of what is missing: of several the one that is known longest."""
    known = (
        Need.MATRICES,
        Need.FIXED_MATRICES,
        Need.COUNTS,
        Need.GROUPS,
        Need.SHUFFLE,
        Need.ANONYMITY_SET,
    )
    rest = sorted(missing - set(known), key=lambda need: need.why_not)
    return next((need.why_not for need in (*known, *rest) if need in missing), None)


def paired(asked: Sequence[Guarantee], found: Sequence[Guarantee]) -> tuple[Claim, ...]:
    """What is attained beside what was asked of the same kind."""
    wanted = {guarantee.name: guarantee for guarantee in asked}
    return tuple(Claim(guarantee, wanted.get(guarantee.name)) for guarantee in found)
