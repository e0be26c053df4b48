"""What was decided about a table, as a small file beside its schema.

    schema = "schema.toml"
    asked = ["sex*age", "income by region"]
    method = "retention"
    copies = ["csv"]

    [target]
    k = 100

    [options]
    spread = "equal"

Nothing of the table is in it: ``pramana protect FILE --plan plan.toml`` makes the plan anew.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, fields
from pathlib import Path

from pramana.base.atomic_files import write_whole
from pramana.base.file_moves import read_file
from pramana.errors import InputError, PramanaError
from pramana.guarantees.registry import cli_options
from pramana.io.base import FORMATS
from pramana.methods.base import METHODS, options_of
from pramana.schema.origins import Provenance
from pramana.schema.schema import origin_named
from pramana.schema.toml import entry_of, read_toml
from pramana.types import Form


@dataclass(frozen=True)
class PlanFile:
    """Target, method and what will be asked.

    Attributes:
        schema: the file that says what each column is, beside this one.
        target: numbers by their letters, such as ``{"k": 100}``.
        method: the usual one for the target where empty.
        options: of the method, as the command line names and takes them.
        asked: tables, means and models that must come out well, as ``compare --ask`` takes them.
        copies: further formats of the released data.
        origin: where method and target come from.
    """

    schema: str = "schema.toml"
    target: Form = field(default_factory=dict)
    method: str = ""
    options: Form = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    origin: str = Provenance.DECLARED

    def __post_init__(self) -> None:
        if self.method and self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, got '{self.method}'.")
        object.__setattr__(self, "origin", str(origin_named(self.origin)))
        _require_known("target", self.target, [letter.field for letter in cli_options()])
        for name, value in self.target.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value):
                raise InputError(f"{name} of [target] must be a number.")
        flags = (own.flag[2:] for kind in METHODS.values() for own in options_of(kind))
        _require_known("options", self.options, list(dict.fromkeys(flags)))
        written = [name for name, own in FORMATS.items() if own.writes] if self.copies else []
        _require_known("copies", dict.fromkeys(self.copies), written)

    @classmethod
    def from_toml(cls, text: str) -> PlanFile:
        """The plan that a TOML text states."""
        form = read_toml(text, what="A plan")
        kinds: dict[str, type] = {own.name: type(getattr(cls(), own.name)) for own in fields(cls)}
        _require_known("", form, list(kinds))
        stated: Form = {}
        for name, value in form.items():
            if kinds[name] is tuple and isinstance(value, list):
                value = tuple(value)
                if not all(isinstance(item, str) for item in value):
                    raise InputError(f"{name} must be a list of texts.")
            if not isinstance(value, kinds[name]):
                words: dict[type, str] = {
                    str: "a text",
                    tuple: "a list of texts",
                    dict: f"a table [{name}]",
                }
                raise InputError(f"{name} must be {words[kinds[name]]}.")
            stated[name] = value
        return cls(**stated)

    def to_toml(self) -> str:
        """A TOML text that ``from_toml`` reads to an equal plan."""
        top: Form = {"schema": self.schema, "asked": list(self.asked), "method": self.method,
                     "copies": list(self.copies)}  # fmt: skip
        if self.origin != Provenance.DECLARED:
            top["origin"] = self.origin
        lines = [entry_of(name, value) for name, value in top.items() if value]
        for name in ("target", "options"):
            own: Form = getattr(self, name)
            if own:
                lines += ["", f"[{name}]", *(entry_of(key, value) for key, value in own.items())]
        return "\n".join(lines) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> PlanFile:
        """The plan in a file; every error names the file."""
        place = Path(path)
        if not place.exists():
            raise InputError(f"The plan file {place} does not exist.")
        try:
            found = cls.from_toml(read_file(place, what="plan file").decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise InputError(f"The plan file {place} cannot be read as UTF-8 text.") from None
        except PramanaError as error:
            raise InputError(f"{place}: {error}") from None
        return found

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it; over a file of that name only with ``force``."""
        write_whole(Path(path), self.to_toml(), force=force)

    def schema_beside(self, path: Path) -> Path:
        """Where its schema lies, by where the plan does.

        >>> PlanFile("schema.toml").schema_beside(Path("survey/plan.toml")).as_posix()
        'survey/schema.toml'
        """
        return Path(os.path.normpath(path.parent / self.schema))


def _require_known(where: str, form: Form, known: list[str] | tuple[str, ...]) -> None:
    unknown = [name for name in form if name not in known]
    if unknown:
        place = f" of [{where}]" if where else " of a plan"
        raise InputError(f"'{unknown[0]}' is no entry{place}; known are {', '.join(known)}.")
