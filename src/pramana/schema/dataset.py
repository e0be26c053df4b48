"""What a steward says about a data set as a whole: title, version, contact, licence, purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from pramana.errors import InvalidSchema

LONGEST = 2000


@dataclass(frozen=True)
class Dataset:
    """The table ``[dataset]`` of a schema: published in certificates, reports and catalogues."""

    title: str = ""
    version: str = ""
    description: str = ""
    publisher: str = ""
    contact: str = ""
    licence: str = ""
    purpose: str = ""

    @classmethod
    def of(cls, entries: object) -> Dataset:
        """From texts by name; an unknown name or another value is refused."""
        names = [field.name for field in fields(cls)]
        if not isinstance(entries, Mapping) or not set(entries) <= set(names):
            raise InvalidSchema(f"[dataset] takes {', '.join(names)}.", entry="dataset")
        for name, text in entries.items():
            if not isinstance(text, str) or not text.isprintable() or len(text) > LONGEST:
                raise InvalidSchema(
                    f"{name} of [dataset] must be one line of at most {LONGEST:,} characters.",
                    entry="dataset",
                )
        return cls(**entries)

    def to_dict(self) -> dict[str, str]:
        """The entries that have a text."""
        return {name: text for name, text in asdict(self).items() if text}
