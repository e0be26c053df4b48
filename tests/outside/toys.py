"""Members of each registry, written as by somebody who only has the installed package."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
from pyarrow import csv

import pramana as pm
from pramana.analysis.microaggregated import Drawn, grouped_counts
from pramana.analysis.readings import PublishedReading
from pramana.engine.local import LocalEngine, LocalTable
from pramana.guarantees.base import CliOption, Evidence, Guarantee, Need
from pramana.guarantees.claims import attained
from pramana.io.base import Format
from pramana.mechanisms.mechanism import Mechanism
from pramana.methods.base import option
from pramana.release.kinds import Kind
from pramana.schema.opened_table import OpenedTable


@dataclass(frozen=True, slots=True)
class Doubt(Guarantee):
    """Every value is changed with at least this probability."""

    doubt: float

    name: ClassVar[str] = "doubt"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.MATRICES})
    assumption: ClassVar[str] = "Nothing is assumed."
    not_promised: ClassVar[str] = "That anybody doubts."
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption("--doubt", "Change every value with at least this probability.", up=False),
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
        """In words."""
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
        evidence = Evidence(people.schema, people.records, people.anonymity_set, made.mechanism)
        return replace(
            made, method=self, asked=tuple(asked), attained=attained(evidence, tuple(asked))
        )

    def disclosed(self):
        """The cut is no secret."""
        return {"slices": self.slices}


class Lines(Format):
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

    def counts(self, question, *, method, share):
        """As for published matrices, in a lower voice."""
        found = super().counts(question, method=method, share=share)
        return replace(found, why=f"whispered; {found.why}")

    def synthesize(self, keystream, *, method):
        """Never."""
        del keystream, method
        raise pm.NotCovered("What was whispered is not said again.")

    def channel(self):
        """Nor heard by a learner."""
        raise pm.NotCovered("What was whispered is not learned from.")


DEALT = Need("it speaks of keys that were dealt out by lot, and here they were not")


@dataclass(frozen=True, slots=True)
class Luck(Guarantee):
    """Nobody has their own keys more often than by luck."""

    luck: float

    name: ClassVar[str] = "luck"
    needs: ClassVar[frozenset[Need]] = frozenset({DEALT, Need.ANONYMITY_SET})
    assumption: ClassVar[str] = "The lot is fair."
    not_promised: ClassVar[str] = "That anybody is lucky."
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption("--luck", "Leave everybody their own keys at most so often."),
    )
    page: ClassVar[str] = "luck"

    @classmethod
    def evaluate(cls, evidence, *, asked=None):
        """One in all that lots were drawn among, if the owner says so too."""
        del asked
        return cls(1 / evidence.statistics.get("dealt_among", evidence.anonymity_set))

    def implies(self, other):
        """Less luck is stronger."""
        return self.luck <= other.luck

    def sentence(self):
        """In words."""
        return f"A record has its own keys by luck alone, with chance {self.luck:.4f}."

    def to_json(self):
        """The number by name."""
        return {"luck": self.luck}


@dataclass(frozen=True)
class Raffle(pm.Method):
    """Deals all keys out by lot: neither matrices nor groups."""

    name: ClassVar[str] = "raffle"
    when: ClassVar[str] = "You want to see a kind of release from outside."
    aims: ClassVar[tuple[str, ...]] = ("luck",)
    kind: ClassVar[str] = "dealt"

    def design(self, people, asked):
        """Nothing to find: the lot is the same for everybody."""
        figures = {"dealt_among": people.records}
        evidence = Evidence(people.schema, people.records, people.anonymity_set,
                            besides=frozenset({DEALT}), statistics=figures)  # fmt: skip
        return pm.Plan(
            schema=people.schema,
            mechanism=Mechanism(()),
            method=self,
            records=people.records,
            anonymity_set=people.anonymity_set,
            asked=tuple(asked),
            attained=attained(evidence, tuple(asked)),
            public=figures,
        )

    def release(self, plan, opened, keystream):
        """The keys of one record each, whose is drawn; everything else as it is."""
        table = opened.to_arrow([column.name for column in plan.schema.released])
        lot = keystream.permutation(table.num_rows, "raffle")
        for column in plan.schema.randomised:
            at = table.column_names.index(column.name)
            table = table.set_column(at, column.name, table.column(at).take(pa.array(lot)))
        return LocalTable.of(table).shuffle(keystream=keystream), plan


class DealtReading(PublishedReading):
    """Of keys alone everything stands as it was; with anything else they have nothing to do."""

    def counts(self, question, *, method, share):
        """As released, without an error."""
        changed = self.records.changed(question.names)
        if not changed:
            return super().counts(question, method=method, share=share)
        self._require(set(question.names) <= set(changed))
        return grouped_counts(
            *self.records.sums(question, Mechanism(())),
            drawn=Drawn(0.0, "keys were dealt out: no count of them changed."),
            question=question,
            share=share,
        )

    def values(self, question, of, *, total):
        """Where no key is involved; quantiles likewise."""
        self._require(not self.records.changed([*question.names, of]))
        return super().values(question, of, total=total)

    def quantile(self, question, of, *, shares):
        """As means are."""
        self._require(not self.records.changed([*question.names, of]))
        return super().quantile(question, of, shares=shares)

    def independence(self, question):
        """Never: lots are independent of everything."""
        del question
        self._require(False)

    def synthesize(self, keystream, *, method):
        """Never."""
        del keystream, method
        self._require(False)

    def channel(self):
        """Never."""
        self._require(False)

    def regress(self, question, formula, *, family):
        """Never."""
        del question, formula, family
        self._require(False)

    def _require(self, good):
        if not good:
            raise pm.NotCovered("Keys were dealt out by lot, and tell nothing of anything else.")


DEALT_OUT = Kind(
    made="Keys were dealt out by lot.",
    why_not="Who has which keys was drawn by lot: nothing else goes with them.",
    treatment="dealt out by lot",
    anonymity_set="Keys were dealt out among {inside}.",
    offers=frozenset({DEALT}),
)
WHISPERED = Kind(
    made="The matrices were whispered and {depends}.",
    why_not="What was whispered must not be counted.",
    shows_matrices=True,
)
LINES = Lines()
ROWS = RowEngine()

MEMBERS = {
    "pramana.guarantees": {"doubt": "Doubt", "luck": "Luck"},
    "pramana.methods": {"cake": "Cake", "raffle": "Raffle"},
    "pramana.kinds": {"whispered": "WHISPERED", "dealt": "DEALT_OUT"},
    "pramana.readings": {"whispered": "WhisperedReading", "dealt": "DealtReading"},
    "pramana.formats": {"lines": "LINES"},
    "pramana.engines": {"rows": "ROWS"},
}
"""The members of each group, by name, with their attributes."""
