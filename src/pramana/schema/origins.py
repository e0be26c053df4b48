"""Where a choice comes from: declared, read off the data, or chosen by trials on the data.

A guarantee that compares neighbouring tables holds for a schema, a method and a target that are the
same for both. If the data decided one of them, the choice itself tells about the table. So each
column and each schema has an origin, everything computed from it inherits the weakest, and the
sentences about epsilon name what they take as public (docs/howto/choose-blind.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pramana.base.translation import gettext, noop
from pramana.types import Entries, Form

if TYPE_CHECKING:
    from pramana.schema.schema import Schema


class Provenance(StrEnum):
    """Where a choice comes from; later members say more about the data."""

    DECLARED = "declared"
    READ_OFF = "read-off"
    TRIALS = "trials"

    @property
    def words(self) -> str:
        """The origin in words, as certificates write it."""
        return WORDS[self]

    @property
    def declared(self) -> bool:
        """Whether the data had no part in the choice."""
        return self is Provenance.DECLARED

    @classmethod
    def weakest(cls, *origins: Provenance) -> Provenance:
        """The origin of what was computed from choices of these origins.

        >>> Provenance.weakest(Provenance.TRIALS, Provenance.DECLARED)
        <Provenance.TRIALS: 'trials'>
        """
        return max(origins, key=list(cls).index, default=cls.DECLARED)


WORDS = {
    Provenance.DECLARED: "declared",
    Provenance.READ_OFF: "read off the data",
    Provenance.TRIALS: "chosen by trials on the data",
}


@dataclass(frozen=True)
class DataChoices:
    """Randomised columns read off the data or chosen by trials; the origin of other choices."""

    read: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    choices: Provenance = Provenance.DECLARED

    @classmethod
    def of(cls, schema: Schema) -> DataChoices:
        """What the data decided of a schema."""
        origins = {column.name: column.origin for column in schema.randomised}
        return cls(
            tuple(name for name, origin in origins.items() if origin is Provenance.READ_OFF),
            tuple(name for name, origin in origins.items() if origin is Provenance.TRIALS),
            schema.origin,
        )

    @classmethod
    def together(cls, several: Iterable[DataChoices]) -> DataChoices:
        """What the data decided of any of several schemas."""
        parts = list(several)
        return cls(
            tuple(dict.fromkeys(name for part in parts for name in part.read)),
            tuple(dict.fromkeys(name for part in parts for name in part.tried)),
            Provenance.weakest(*(part.choices for part in parts)),
        )

    def __bool__(self) -> bool:
        """Whether the data decided anything."""
        return bool(self.read or self.tried) or not self.choices.declared

    def sentence(self) -> str:
        """What epsilon does not cover, to follow its sentence; empty if the schema was declared."""
        text = ""
        if self.read:
            words = noop(
                " It does not cover the lists of values of {columns}, which were read off the data."
            )
            if len(self.read) == 1:
                words = noop(
                    " It does not cover the list of values of {columns}, which was read off the "
                    "data."
                )
            text += gettext(words, columns=", ".join(self.read))
        if self.tried:
            text += gettext(
                " It does not cover which values {columns} can have, {origin}.",
                columns=", ".join(self.tried), origin=gettext(Provenance.TRIALS.words),
            )  # fmt: skip
        if not self.choices.declared:
            text += gettext(
                " It does not cover the choice of roles, method and target, {origin}.",
                origin=gettext(self.choices.words),
            )
        return text

    def notices(self) -> Iterator[str]:
        """What the data decided, for whoever verifies a release."""
        if self.read:
            yield gettext(
                "Domains read off the data, so that they disclose which values occur: {columns}.",
                columns=", ".join(self.read),
            )
        if self.tried:
            yield gettext(
                "Values {origin}, which no epsilon covers: {columns}.",
                origin=gettext(Provenance.TRIALS.words), columns=", ".join(self.tried),
            )  # fmt: skip
        if not self.choices.declared:
            yield gettext(
                "Roles, method or target {origin}, which no epsilon covers.",
                origin=gettext(self.choices.words),
            )

    def to_json(self) -> Form:
        """The JSON form; what is empty is left out, but for columns read off."""
        form: Form = {"read": list(self.read)}
        if self.tried:
            form["tried"] = list(self.tried)
        if not self.choices.declared:
            form["choices"] = str(self.choices)
        return form

    @classmethod
    def from_json(cls, form: Entries) -> DataChoices:
        """The reverse of :meth:`to_json`."""
        choices = Provenance(form.get("choices", Provenance.DECLARED))
        return cls(tuple(form.get("read", ())), tuple(form.get("tried", ())), choices)


ALL_DECLARED = DataChoices()
