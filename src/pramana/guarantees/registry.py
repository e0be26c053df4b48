"""Guarantees by name, as certificates list them, and by option of the command line.

A guarantee from outside comes by ``GUARANTEES.register(name, kind)``, or by an entry point of the
group ``pramana.guarantees``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from pramana.base.registry import Registry
from pramana.base.text import text_down, text_up
from pramana.errors import InputError
from pramana.guarantees.base import CliOption, Guarantee
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.schema.schema import Schema
from pramana.types import Entries

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
        GUARANTEES.values(), key=lambda own: sum(x.required for x in own.cli_options)
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
            raise InputError(f"{together} state one target together: give {lacking[0]} too.")
        taken.update(stated)
        asked.append(kind.stated(stated, schema=schema))
    for kind in GUARANTEES.values():  # an option that only goes with another one
        for option in kind.cli_options:
            if option.field in set(given) - taken:
                main = next(own.flag for own in kind.cli_options if own.required)
                raise InputError(f"{option.flag} goes with {main}: give {main} too.")
    return sorted(asked, key=lambda guarantee: list(GUARANTEES).index(guarantee.name))


def dials(attained: Iterable[Guarantee]) -> str | None:
    """The three numbers together, each rounded conservatively; nothing where one does not hold.

    >>> dials([PkAnonymity(100), DifferentialPrivacy(3.5), ShuffledPrivacy(0.09, 1e-6)])
    'One dial, three readings: k = 100, local epsilon = 3.5, central epsilon = 0.09 (delta 1e-6).'
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
    return (
        f"One dial, three readings: k = {text_down(k.k)}, local epsilon = "
        f"{text_up(local.epsilon)}, central epsilon = {central_text(central)}."
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
