"""Commands to paste: about the files of a command line, each with another output."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.base.atomic_files import free_name
from pramana.base.text import as_file, as_list, as_tables, pasted, tables_in
from pramana.guarantees.base import Guarantee
from pramana.schema.origins import Provenance

if TYPE_CHECKING:  # which tries releases, and whoever only names files waits for none
    from pramana.evaluation.schema_suggestions import SchemaSuggestion


CHANGES = {"--without": "without", "--coarsen": "coarser"}
"""How a schema is changed, and the word for it in the name of the new one."""


@dataclass(frozen=True)
class Hint:
    """A sentence, and the command that does what it says, if there is one."""

    words: str
    command: str = ""


@dataclass(frozen=True)
class CliHints:
    """What was named on a command line, and the commands that follow from it.

    Attributes:
        schema: the file of the schema.
        table: the file of the original data; ``None`` where there is none yet.
        reading: the options by which the table is read.
        targets: what is asked for, as options.
        how: the method and its options, where they were stated.
        people: the options that stand for a table that is yet to be collected.
        tables: those that will be asked for, where they were named next to the schema.
        origin: where method and target come from.
    """

    schema: str
    table: str | None = None
    reading: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    how: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    tables: str = ""
    origin: Provenance = Provenance.DECLARED

    def of(self, verb: str, *more: str) -> str:
        """A verb about the table and its schema."""
        about = self.people if self.table is None else (as_file(self.table),)
        words = ["pramana", verb, *about, "--schema", as_file(self.schema)]
        asked = ("--tables", self.tables) if self.tables else ()
        planned = verb in ("design", "protect")
        origin = ("--origin", str(self.origin)) if planned and not self.origin.declared else ()
        return pasted([*words, *self.targets, *self.how, *asked, *more, *origin, *self.reading])

    def release(self, *more: str) -> str:
        """The release, into a folder that is not there yet."""
        return self.of("protect", *more, "-o", f"{free_name('release')}/")

    def advice(self) -> str:
        """Every method tried on the table, for the k that was asked for."""
        at = self.targets.index("--k") if "--k" in self.targets else len(self.targets)
        return replace(self, targets=self.targets[at : at + 2], how=()).of("advise")

    def without(self, names: Sequence[str]) -> str:
        """The schema with these columns dropped, and the design by it."""
        return self._changed("--without", names)[0]

    def coarser(self, names: Sequence[str]) -> str:
        """The schema with these columns in a coarser form, and the design by it."""
        return self._changed("--coarsen", names, origin=Provenance.READ_OFF)[0]

    def ways(self, changes: Iterable[SchemaSuggestion]) -> list[Hint]:
        """Each change with its command; no two of them write to one place."""
        hints: list[Hint] = []
        taken: list[str] = []
        for change in changes:
            if not (change.without or change.column):
                origin = Provenance.weakest(self.origin, change.origin)
                command = f"{replace(self, how=(), origin=origin).of('design')} {change.entry}"
                hints.append(Hint(change.gain, command))
                continue
            option = "--without" if change.without or change.drops else "--coarsen"
            names = change.without or [change.column]
            command, place = self._changed(option, names, taken, origin=change.origin)
            taken.append(place)
            hints.append(Hint(change.gain, command))
        return hints

    def _changed(
        self,
        option: str,
        names: Sequence[str],
        taken: Collection[str] = (),
        *,
        origin: Provenance = Provenance.DECLARED,
    ) -> tuple[str, str]:
        """A schema that is changed, and then the same design by it; and where the schema goes.

        A change that was chosen by the schema alone is made without the table.
        """
        stem = f"{Path(self.schema).stem}-{CHANGES[option]}-{'-'.join(names)}"
        read = [] if self.table is None else ["--table", as_file(self.table), *self.reading]
        # Letters, digits and marks that no shell and no file system takes for anything else.
        kept = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in stem)
        # Letters of the name of a file that is proposed
        to = free_name((kept.lstrip("-.")[:60] or "schema"), ".toml", taken=taken)
        words = ["pramana", "schema", as_file(self.schema), option, as_list(names)]
        if origin is Provenance.TRIALS:
            words += ["--origin", str(origin)]
        if option == "--coarsen" and not origin.declared:
            words += read
        command = pasted([*words, "-o", to])
        if not (self.targets or self.how) or not (self.table or self.people):
            return command, to
        gone = set(names) if option == "--without" else set()
        left = [table for table in tables_in(self.tables) if not gone & set(table)]
        then = replace(self, schema=to, tables=as_tables(left))
        return f"{command} && {then.of('design')}", to


def target_words(asked: Iterable[Guarantee]) -> tuple[str, ...]:
    """Targets as options."""
    words: list[str] = []
    for guarantee in asked:
        for letter in guarantee.cli_options:
            value = getattr(guarantee, letter.entry, None)
            if letter.required and isinstance(value, int | float):
                words += [letter.flag, f"{value:.12g}"]
    return tuple(words)
