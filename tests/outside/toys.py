"""One member of each registry, written as by somebody who only has the installed package."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
from pyarrow import csv

import pramana as pm
from pramana.engines.local.engine import LocalEngine
from pramana.guarantees.base import Evidence, Guarantee, Letter, Need
from pramana.guarantees.evaluate import attained
from pramana.methods.base import option
from pramana.readings.published import PublishedReading
from pramana.release.kinds import Kind
from pramana.table.opened import OpenedTable


@dataclass(frozen=True, slots=True)
class Doubt(Guarantee):
    """Every value is changed with at least this probability."""

    doubt: float

    name: ClassVar[str] = "doubt"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.MATRICES})
    assumption: ClassVar[str] = "Nothing is assumed."
    not_promised: ClassVar[str] = "That anybody doubts."
    letters: ClassVar[tuple[Letter, ...]] = (
        Letter("--doubt", "Change every value with at least this probability.", up=False),
    )
    page: ClassVar[str] = "doubt"

    @classmethod
    def evaluate(cls, evidence, *, asked=None):
        """The least over all matrices."""
        del asked
        stays = [float(m.diagonal.max()) for step in evidence.mechanism for m in step.matrices]
        return cls(1 - max(stays))

    def implies(self, other):
        """More doubt is stronger."""
        return self.doubt >= other.doubt - 1e-12

    def sentence(self):
        """In plain words."""
        return f"Every value may be doubted by {self.doubt:.3f}."

    def to_json(self):
        """The number by name."""
        return {"doubt": self.doubt}


@dataclass(frozen=True)
class Cake(pm.Method):
    """Keeps values by a share of a cake."""

    slices: int = option(1, "Into how many slices the cake is cut.")

    name: ClassVar[str] = "cake"
    when: ClassVar[str] = "You want to see a method from outside."
    aims: ClassVar[tuple[str, ...]] = ("doubt",)
    kind: ClassVar[str] = "whispered"

    def design(self, people, asked):
        """Retention, with so much of the cake that two values are doubted enough."""
        (target,) = asked
        made = pm.Retention(retention=1 - 2 * target.doubt).design(people, ())
        evidence = Evidence(people.schema, people.records, people.crowd, made.mechanism)
        return replace(
            made, method=self, asked=tuple(asked), attained=attained(evidence, tuple(asked))
        )

    def disclosed(self):
        """The cut is no secret."""
        return {"slices": self.slices}


class Lines:
    """One JSON object a line."""

    name = "lines"
    title = "JSON"
    endings = (".jsonl",)
    marks = (b"{",)
    writes = True

    def open(self, path):
        """Read all of it."""
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return OpenedTable.of_arrow(pa.Table.from_pylist(rows), kind=self.name, source=path)

    def write(self, path, records):
        """A line a record."""
        rows = [row for group in records.groups for row in group.to_pylist()]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@dataclass(frozen=True)
class Rows:
    """A table of an engine of its own."""

    columns: dict


class RowEngine(LocalEngine):
    """Opens rows; the rest is the local engine's."""

    name = "rows"
    reads_files = True

    def read(self, path, *, master=None):
        """A CSV file as rows."""
        del master
        return Rows(csv.read_csv(path).to_pydict())

    def serves(self, source):
        """Its own tables."""
        return isinstance(source, Rows)

    def open(self, source, *, schema=None):
        """Bring them into memory."""
        opened = source
        if isinstance(source, Rows):
            opened = OpenedTable.of_arrow(pa.table(source.columns), source=source)
        return super().open(opened, schema=schema)

    def empty_like(self, source):
        """Rows without records."""
        del source
        return Rows({})

    def as_kind(self, opened, like):
        """Rows again."""
        del like
        return Rows(opened.to_arrow().to_pydict())


class WhisperedReading(PublishedReading):
    """Undoes the matrices, and says whom it was told by."""

    def counts(self, asked, *, method, share):
        """As for published matrices, in a lower voice."""
        found = super().counts(asked, method=method, share=share)
        return replace(found, why=f"whispered; {found.why}")

    def rebuild(self, keystream, *, method):
        """Never."""
        del keystream, method
        raise pm.NotCovered("What was whispered is not said again.")

    def channel(self):
        """Nor heard by a learner."""
        raise pm.NotCovered("What was whispered is not learned from.")


WHISPERED = Kind(
    reading=f"{__name__}:WhisperedReading",
    made="The matrices were whispered and {depends}.",
    why_not="What was whispered must not be counted.",
    shows_matrices=True,
)
LINES = Lines()
ROWS = RowEngine()

MEMBERS = {
    "pramana.guarantees": ("doubt", "Doubt"),
    "pramana.methods": ("cake", "Cake"),
    "pramana.kinds": ("whispered", "WHISPERED"),
    "pramana.formats": ("lines", "LINES"),
    "pramana.engines": ("rows", "ROWS"),
}
"""The name and the attribute of the member of each group."""
