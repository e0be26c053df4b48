"""Commands to paste: about the files that somebody named, each writing to a place of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.files import free_name
from pramana.guarantees.base import Guarantee
from pramana.spelling import as_file, as_list, pasted

if TYPE_CHECKING:  # which tries releases, and whoever only names files waits for none
    from pramana.assess.ways import Way

__all__ = ["Pasting", "Told", "target_words"]

LONGEST = 60
"""Letters of the name of a file that is proposed."""


@dataclass(frozen=True)
class Told:
    """A sentence, and the command that does what it says, if there is one."""

    words: str
    command: str = ""


@dataclass(frozen=True)
class Pasting:
    """What was named on a command line, and the commands that follow from it.

    Attributes:
        schema: the file of the schema.
        table: the file of the true table; ``None`` where there is none yet.
        reading: the options by which the table is read.
        targets: what is asked for, as options.
        people: the options that stand for a table that is yet to be collected.
        tables: those that will be asked for, where they were named beside the schema.
    """

    schema: str
    table: str | None = None
    reading: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    tables: str = ""

    def of(self, verb: str, *more: str) -> str:
        """A verb about the table and its schema."""
        about = self.people if self.table is None else (as_file(self.table),)
        words = ["pramana", verb, *about, "--schema", as_file(self.schema)]
        asked = ("--tables", self.tables) if self.tables else ()
        return pasted([*words, *self.targets, *asked, *more, *self.reading])

    def release(self, *more: str) -> str:
        """The release, into a folder that is not there yet."""
        return self.of("protect", *more, "-o", f"{free_name('release')}/")

    def advice(self) -> str:
        """Every method tried on the table, for the k that was asked for."""
        at = self.targets.index("--k") if "--k" in self.targets else len(self.targets)
        return replace(self, targets=self.targets[at : at + 2]).of("advise")

    def without(self, names: Sequence[str], *, taken: Collection[str] = ()) -> str:
        """The schema with these columns dropped."""
        return self._changed("--without", "without", names, taken)

    def coarser(self, names: Sequence[str], *, taken: Collection[str] = ()) -> str:
        """The schema with these columns in a coarser form."""
        return self._changed("--coarsen", "coarser", names, taken)

    def ways(self, found: Iterable[Way]) -> list[Told]:
        """Each way with its command; no two of them write to one place."""
        told: list[Told] = []
        taken: list[str] = []
        for way in found:
            if way.without:
                command = self.without(way.without, taken=taken)
            elif not way.column:
                command = (
                    f"{replace(self, targets=_unnamed(self.targets)).of('design')} {way.entry}"
                )
            elif way.drops:
                command = self.without([way.column], taken=taken)
            else:
                command = self.coarser([way.column], taken=taken)
            taken.append(command.rpartition(" -o ")[2])
            told.append(Told(way.gain, command))
        return told

    def _changed(self, option: str, word: str, names: Sequence[str], taken: Collection[str]) -> str:
        stem = f"{Path(self.schema).stem}-{word}-{'-'.join(names)}"
        read = [] if self.table is None else ["--table", as_file(self.table), *self.reading]
        to = free_name(_plain(stem), ".toml", taken=taken)
        words = ["pramana", "schema", as_file(self.schema), option, as_list(names)]
        return pasted([*words, *(read if option == "--coarsen" else []), "-o", to])


def target_words(asked: Iterable[Guarantee]) -> tuple[str, ...]:
    """Targets as options."""
    words: list[str] = []
    for guarantee in asked:
        for letter in guarantee.letters:
            value = getattr(guarantee, letter.entry, None)
            if letter.required and isinstance(value, int | float):
                words += [letter.flag, f"{value:.12g}"]
    return tuple(words)


def _unnamed(targets: Sequence[str]) -> tuple[str, ...]:
    """Without the method, which another one is named for."""
    at = targets.index("--method") if "--method" in targets else len(targets)
    return (*targets[:at], *targets[at + 2 :])


def _plain(text: str) -> str:
    """Letters, digits and marks that no shell and no file system takes for anything else."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in text)
    return kept.lstrip("-.")[:LONGEST] or "schema"
