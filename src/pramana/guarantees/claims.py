"""Claims: what is asked of a guarantee and what is attained, for design, certificate, verification.

Only this module compares the needs of a guarantee with the evidence. It refuses cases that no
theorem covers. A claim also states what its guarantee does not cover, and what it guarantees for a
household (docs/proofs/households.md). The household number is dropped, and the records of a
household are randomised and shuffled separately. An attacker finds a household of m people by
finding any of them, so that probabilities add up. It changes m records, so that epsilons add up.

``GUARANTEES`` has the guarantees by name, as certificates list them. A guarantee from outside comes
by ``GUARANTEES.register(name, kind)``, or by an entry point of the group ``pramana.guarantees``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pramana.base.registry import Registry
from pramana.base.text import listed, text_down, text_up
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import InputError, NotARelease, NotCovered, TooLarge
from pramana.guarantees.base import CliOption, Evidence, Guarantee, Need, only_the_owner
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.schema.origins import DataChoices
from pramana.schema.schema import Schema
from pramana.types import Entries, Form

GUARANTEES: Registry[type[Guarantee]] = Registry(
    "pramana.guarantees",
    {
        "pk-anonymity": "pramana.guarantees.pk_anonymity:PkAnonymity",
        "differential-privacy": "pramana.guarantees.differential_privacy:DifferentialPrivacy",
        "privacy-breach": "pramana.guarantees.privacy_breach:PrivacyBreach",
        "spontaneous-recognition": (
            "pramana.guarantees.spontaneous_recognition:SpontaneousRecognition"
        ),
        "correct-match": "pramana.guarantees.correct_match:CorrectMatch",
        "k-anonymity": "pramana.guarantees.k_anonymity:KAnonymity",
        "shuffled-privacy": "pramana.guarantees.shuffled_privacy:ShuffledPrivacy",
    },
)


def cli_options() -> tuple[CliOption, ...]:
    """The options of all guarantees, each flag once; guarantees with one number come first."""
    by_flag: dict[str, CliOption] = {}
    for kind in sorted(
        GUARANTEES.values(), key=lambda kind: sum(x.required for x in kind.cli_options)
    ):
        for option in kind.cli_options:
            by_flag.setdefault(option.flag, option)
    return tuple(by_flag.values())


def words_to_ask(names: Iterable[str]) -> str:
    """The numbers that state each of some guarantees: ``k, rho1 with rho2``."""
    stated = ([x.field for x in GUARANTEES[name].cli_options if x.required] for name in names)
    return ", ".join(" with ".join(fields) for fields in stated).replace("_", " ")


def guarantees_from_options(
    numbers: Entries,
    *,
    aims: Collection[str] | None = None,
    schema: Schema | None = None,
) -> list[Guarantee]:
    """The guarantees that numbers on the command line ask for.

    Args:
        numbers: by the field of the option; ``None`` if not given.
        aims: the names of the guarantees that the method can aim at, if one is stated: of
            several that share an option it is the one meant. Otherwise the first that is
            registered.
        schema: of the data.
    """
    given = {field: value for field, value in numbers.items() if value is not None}
    asked: list[Guarantee] = []
    taken: set[str] = set()
    ordered = sorted(GUARANTEES.values(), key=lambda kind: aims is None or kind.name not in aims)
    for kind in ordered:
        options = {option.field: option for option in kind.cli_options}
        stated = {field: given[field] for field in options if field in given and field not in taken}
        if not any(options[field].required for field in stated):
            continue
        required = [option for option in kind.cli_options if option.required]
        lacking = [option.flag for option in required if option.field not in stated]
        if lacking:
            together = " and ".join(option.flag for option in required)
            raise InputError(
                "{together} state one target together: give {lacking} too.",
                together=together,
                lacking=lacking[0],
            )
        taken.update(stated)
        asked.append(kind.stated(stated, schema=schema))
    for kind in GUARANTEES.values():  # an option that only goes with another one
        for option in kind.cli_options:
            if option.field in set(given) - taken:
                main = next(option.flag for option in kind.cli_options if option.required)
                raise InputError(
                    "{flag} goes with {main}: give {main} too.", flag=option.flag, main=main
                )
    return sorted(asked, key=lambda guarantee: list(GUARANTEES).index(guarantee.name))


def trade_off(attained: Iterable[Guarantee]) -> str | None:
    """The three numbers together, each rounded conservatively; nothing where one does not hold.

    >>> trade_off([PkAnonymity(9), DifferentialPrivacy(3), ShuffledPrivacy(1, 0)])
    'The same trade-off in three numbers: k = 9, local epsilon = 3, central epsilon = 1 (delta 0).'
    """
    by_kind = {type(one): one for one in attained}
    k, local, central = map(by_kind.get, (PkAnonymity, DifferentialPrivacy, ShuffledPrivacy))
    if not (
        isinstance(k, PkAnonymity)
        and isinstance(local, DifferentialPrivacy)
        and isinstance(central, ShuffledPrivacy)
        and math.isfinite(local.epsilon)
    ):
        return None
    return gettext(
        "The same trade-off in three numbers: k = {k}, local epsilon = {local}, central "
        "epsilon = {central}.",
        k=numeral(text_down(k.k)),
        local=numeral(text_up(local.epsilon)),
        central=numeral(central_text(central)),
    )


def central_text(central: ShuffledPrivacy) -> str:
    """Epsilon with its delta; with delta 0 it is the local one, whatever the anonymity set."""
    if math.isinf(central.epsilon):
        return "no bound"
    text = "0"
    if central.delta:
        power = round(math.log10(central.delta))
        text = text_up(central.delta, 3)
        if math.isclose(central.delta, 10.0**power, rel_tol=1e-12):
            text = f"1e{power}"
    return f"{text_up(central.epsilon)} (delta {text})"


# -- households ------------------------------------------------------------------------------------

ANY_SIZE: Final = (2, 4)
"""Sizes that are spelled out if the size of the largest household is confidential."""

LARGE_HOUSEHOLD: Final = 20
"""Households of this size and more hardly exist: sentences do not mention them."""

NO_NUMBER: Final = " It is about persons: no number for a household follows."


def household_words(guarantee: Guarantee, sizes: Sequence[int]) -> str:
    """What a guarantee gives households of some sizes, as a sentence.

    >>> from pramana.guarantees.pk_anonymity import PkAnonymity
    >>> household_words(PkAnonymity(k=20), (2,)).strip()
    'For all m members of a household together: k / m, that is k = 10 for 2 members.'
    >>> household_words(PkAnonymity(k=9), (2,)).split(". ")[1]
    'Households of 9 and more: no protection (k = 1).'
    """
    by_size = {size: guarantee.household(size) for size in sizes if size > 1}
    if None in by_size.values():
        return NO_NUMBER
    spelled = []
    for size, numbers in by_size.items():
        if numbers:
            texts = (f"{name} = {text}" for name, text in guarantee.as_text(numbers).items())
            words = noop("{numbers} for {size:,} members")
            spelled.append(gettext(words, numbers=gettext(" and ").join(texts), size=size))
    if not spelled:
        return ""
    words = gettext(
        " For all m members of a household together: {formula}, that is {numbers}.",
        formula=guarantee.of_household, numbers=", ".join(spelled),
    )  # fmt: skip
    for size in range(2, LARGE_HOUSEHOLD):
        if (guarantee.household(size) or {}).get("k") == 1:
            return words + gettext(
                " Households of {size} and more: no protection (k = 1).", size=size
            )
    return words


def household_scope(schema: Schema) -> str:
    """What was done about households, and against whom nothing is guaranteed to them."""
    words = gettext("The household number of the original data was dropped.")
    unknown = [name for name in schema.attached if name not in schema.known]
    if not unknown:
        return words
    return f"{words} " + gettext(
        "Not covered by guarantees about linking: an attacker who knows who lives with whom, and "
        "knows the values of {columns} that members share.",
        columns=listed(unknown, 4),
    )


# -- claims ----------------------------------------------------------------------------------------

PICKED: Final = noop(
    " Not covered: an attacker who knows which columns a person reported. The anonymity set is "
    "then smaller."
)

RELAXED: Final = (
    " The target xi = {} cannot be attained with these records. The stated xi is the smallest that "
    "can be attained, rounded up."
)

NAMED: Final = 4
"""Columns that a sentence names; the scope of a certificate lists them all."""


@dataclass(frozen=True)
class Made:
    """How records were made, as far as the sentence of a guarantee depends on it.

    Attributes:
        looked_at: the columns other than keys by which groups were formed.
        picked: whether each person was asked for a random set of columns.
        households: sizes of households for which guarantees are spelled out; none if the original
            table does not number households.
        relaxed_from: the target that could not be attained and was replaced by the least attainable
            one.
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
        """From options and statistics of a method, perhaps of another package, and its sets."""
        named = options.get("responses")
        responses = named if isinstance(named, list | tuple) else ()
        if options.get("response_weight", 1) == 0:
            responses = ()
        by_values = options.get("distinct", 1) != 1 or options.get("closeness", 1) != 1
        looked_at = tuple(
            column.name
            for column in schema.released_as_is
            if column.name not in schema.known
            and (column.name in responses or (by_values and not column.role.traits.known))
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
        """The guarantee in words, with what it takes as public and as unknown.

        Columns that are released unchanged and called sensitive remain with their record: an
        attacker who knows them of a person finds it. A guarantee that compares this table with
        others compares it with those that have the same lists and choices: what was read off the
        data, or chosen by trials on them, would be different for the others. Groups that were
        formed by other columns than keys reveal these to an attacker who knows how. An attacker who
        knows which columns a person was asked for looks at fewer records.
        """
        words, needs = self.attained.sentence() + self.missed, self.attained.needs
        if self.attained.against_outsiders:
            words += unknown_words(schema)
            if Need.GROUPS in needs and made.looked_at:
                words += gettext(
                    " Groups were also formed by {columns}. Not covered: an attacker who knows "
                    "the rule and infers these values from the groups.",
                    columns=listed(made.looked_at, NAMED),
                )
        if made.picked and self.attained.in_anonymity_set:
            words += gettext(PICKED)
        if Need.FIXED_MATRICES in needs:
            words += DataChoices.of(schema).sentence()
        if self.asked is not None and made.relaxed_from is not None:
            words += RELAXED.format(text_up(made.relaxed_from))
        return words + household_words(self.attained, made.households)

    @property
    def missed(self) -> str:
        """The target that is not attained, as a sentence."""
        if self.asked is None or self.holds:
            return ""
        return gettext(" The target {target} is not attained.", target=self.asked)

    def to_json(self, schema: Schema, made: Made = AS_USUAL) -> Form:
        """With the guarantee in words, what it assumes, and who can check it."""
        asked = None
        if self.asked is not None:  # 20 and 20.0 are the same bytes
            asked = {
                name: int(n) if isinstance(n, float) and n.is_integer() and abs(n) < 2**53 else n
                for name, n in self.asked.to_json().items()
            }
        return {
            "name": self.name,
            "asked": asked,
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


def guarantee_from_json(name: str, numbers: Entries) -> Guarantee:
    """The guarantee of that name with those numbers; null means no bound."""
    try:
        return GUARANTEES[name](**{field: _number(value) for field, value in numbers.items()})
    except (AttributeError, KeyError, TypeError):
        raise NotARelease(
            "A guarantee must be one of {guarantees} with its numbers, got {name!r}. A newer "
            "version of pramana may know it.",
            guarantees=", ".join(GUARANTEES),
            name=name,
        ) from None


def _number(value: Any) -> Any:
    """Null is no bound; a list of lists is a tuple of tuples."""
    if value is None:
        return math.inf
    return tuple(map(_number, value)) if isinstance(value, list) else value


# -- evidence and needs ----------------------------------------------------------------------------


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
            raise NotCovered(
                "{guarantee} cannot be guaranteed: {missing}.",
                guarantee=guarantee.name,
                missing=missing,
            )
    wanted = {guarantee.name: guarantee for guarantee in asked}
    guarantees, offers = list(computed), evidence.offers
    ready = {guarantee.name for guarantee in computed}
    for name, kind in GUARANTEES.items():
        if name in ready or not kind.needs <= offers:
            continue
        try:
            guarantees.append(kind.evaluate(evidence, asked=wanted.get(name)))
        except (NotCovered, TooLarge):
            if name in wanted:
                raise
    return tuple(sorted(guarantees, key=lambda guarantee: guarantee.name not in wanted))


def unknown_words(schema: Schema) -> str:
    """Against whom no guarantee about outsiders holds: those who know a sensitive value."""
    unknown = [name for name in schema.attached if name not in schema.known]
    if not unknown:
        return ""
    return gettext(
        " Not covered: an attacker who knows a person's {columns} (not randomised).",
        columns=listed(unknown, NAMED),
    )


def recomputed(evidence: Evidence, stated: Sequence[Guarantee]) -> dict[str, Guarantee]:
    """What the evidence gives of the kinds that are stated, by name; what it lacks is left out."""
    return {
        guarantee.name: type(guarantee).evaluate(evidence, asked=guarantee)
        for guarantee in stated
        if lacks(type(guarantee), evidence) is None
    }


def lacks(
    kind: type[Guarantee], evidence: Evidence, owner: frozenset[Need] = frozenset()
) -> str | None:
    """Why the evidence does not offer what a guarantee needs; ``None`` if it does.

    Args:
        kind: the guarantee.
        evidence: what anyone has.
        owner: what the owner of a release has beyond that.
    """
    missing = kind.needs - evidence.offers - owner
    known = [
        Need.MATRICES,
        Need.FIXED_MATRICES,
        Need.COUNTS,
        Need.GROUPS,
        Need.SHUFFLE,
        Need.ANONYMITY_SET,
    ]
    rest = sorted(missing - set(known), key=lambda need: need.why_not)
    return next((need.why_not for need in (*known, *rest) if need in missing), None)


def paired(asked: Sequence[Guarantee], attained: Sequence[Guarantee]) -> tuple[Claim, ...]:
    """What is attained, with what was asked of the same kind."""
    wanted = {guarantee.name: guarantee for guarantee in asked}
    return tuple(Claim(guarantee, wanted.get(guarantee.name)) for guarantee in attained)
