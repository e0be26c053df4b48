"""Advice: every method on the steward's own table and questions, and which one to take.

Each method is aimed at the same chance (one in k, as its own guarantee says it), tried on the
table, attacked, and asked the steward's questions; nothing is published. A method is recommended
if neither a link nor a copy of a unique record goes beyond that chance, and if of all such methods
its tables are off least; ties go to the promise that holds whatever the data are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace

import numpy as np

from pramana.analysis.release import Release
from pramana.base.name_lists import as_tables
from pramana.base.randomness import Keystream
from pramana.base.text import Shown, percent_up
from pramana.base.workers import side_by_side
from pramana.errors import Copies, Infeasible, InvalidNumber, PramanaError, unheard
from pramana.evaluation.audit import link_risks
from pramana.evaluation.cli_hints import CliHints, Hint, target_words
from pramana.evaluation.compare import LINKING, SEED, Scenario, scenarios_of
from pramana.evaluation.questions import Answer, answer_of, stated_tables
from pramana.evaluation.schema_suggestions import (
    POOR,
    SchemaSuggestion,
    share_text,
    suggest_changes,
)
from pramana.evaluation.trial_releases import Errors, draws_of, errors_of, typical
from pramana.methods.base import METHODS, Method
from pramana.methods.choice import design, settle_bins
from pramana.methods.context import require_coded
from pramana.methods.plan import Plan
from pramana.microaggregation.trial_cache import shared_groups
from pramana.protecting import trial_release
from pramana.risk.unchanged_records import measure_unchanged
from pramana.schema.describe import settle_missing
from pramana.schema.domains import Label
from pramana.schema.labels import Labels
from pramana.schema.opened_table import OpenedTable
from pramana.schema.origins import Provenance
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import Schema, require_keys
from pramana.types import Form

MOST_RECORDS = 100_000
"""Larger tables are tried on so many of their records, drawn by chance."""

CELLS_SHOWN = 8
THREADS = 2


@dataclass(frozen=True)
class MethodTrial:
    """One method, and what came of it.

    Attributes:
        scenario: the method with its target.
        plan: what would be done; ``None`` where it was refused.
        answers: to the questions, in their order.
        errors: of the tables that it answers; where chance decides much, over several releases.
        link: how often the strongest link is right; ``None`` where none could be tried.
        copies: the share of unique records that stand in the release word for word.
        seconds: that it took.
        note: why it was refused, or what could not be measured.
        refusal: the error by which it was refused.
        left_out: whether it was not tried, as it would take long.
    """

    scenario: Scenario
    plan: Plan | None = None
    answers: tuple[Answer, ...] = ()
    errors: Errors = field(default_factory=dict)
    link: float | None = None
    copies: float = 1.0
    seconds: float = 0.0
    note: str = ""
    refusal: PramanaError | None = None
    left_out: bool = False

    @property
    def method(self) -> type[Method]:
        """The method."""
        return METHODS[self.scenario.method]

    @property
    def error(self) -> float:
        """Of a typical table; what is not answered is off by all records."""
        all_of_it = {answer.columns: 1.0 for answer in self.answers} | dict(self.errors)
        found = typical(all_of_it, all_of_it)
        return 1.0 if found is None else found

    @property
    def exposure(self) -> float:
        """Link or copy, whichever is the larger share."""
        return max(1.0 if self.link is None else self.link, self.copies)

    @property
    def lacks(self) -> str:
        """What its promise does not cover that others may."""
        if self.plan is None or not self.plan.method.data_dependent:
            return ""
        claim = next(iter(self.plan.claims), None)
        words = "" if claim is None else f" {claim.attained.assumption}"
        return f"Made from the data: no epsilon holds for it.{words}"

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "method": self.scenario.method,
            "target": self.scenario.target,
            "refused": self.plan is None and not self.left_out,
            "left_out": self.left_out,
            "when": self.method.when,
            "lacks": self.lacks,
            "error": self.error if self.answers else None,
            "tables": [
                one.to_json() | {"error": self.errors.get(one.columns, one.error)}
                for one in self.answers
            ],
            "link": self.link,
            "copies": self.copies if self.answers else None,
            "seconds": self.seconds,
            "note": self.note,
        }


@dataclass(frozen=True, repr=False)
class Advice(Shown):
    """All methods side by side, and the one to take.

    Attributes:
        tried: every method, those that answer best first.
        chance: one in k, which neither links nor copies may exceed.
        records: how many the table has.
        used: on how many of them methods were tried.
        ways: what else would do better at the promise of the recommended one.
        stated: the tables that were asked for beside the schema, which releases are designed for.
    """

    tried: tuple[MethodTrial, ...]
    chance: float
    records: int
    used: int
    ways: tuple[SchemaSuggestion, ...] = ()
    stated: tuple[tuple[str, ...], ...] = ()

    @property
    def done(self) -> tuple[MethodTrial, ...]:
        """Those that were not refused."""
        return tuple(one for one in self.tried if one.answers)

    @property
    def recommended(self) -> MethodTrial | None:
        """Within the chance, and off least; the least exposed where none is within."""
        fixed = {False: 0, True: 1}

        def order(one: MethodTrial) -> tuple[float, int]:
            return round(one.error, 4), fixed[one.method.data_dependent]

        within = [one for one in self.done if one.exposure <= self.chance]
        if within:
            return min(within, key=order)
        return min(self.done, key=lambda one: (one.exposure, one.copies, *order(one)), default=None)

    def why(self) -> list[str]:
        """The recommendation in words."""
        best = self.recommended
        if best is None:
            return ["No method could be tried; see the notes."]
        within = [one for one in self.done if one.exposure <= self.chance]
        others = [one for one in within if one is not best]
        beyond = [one for one in self.done if one not in within]
        said = f"Take {best.scenario.name}: a typical table is off by {share_text(best.error)}"
        if within:
            beaten = ", ".join(f"{one.scenario.method} {share_text(one.error)}" for one in others)
            of = (
                f"; of the methods that stay within the chance, its tables are off least ({beaten})"
            )
            said += of if others else "; it alone keeps links and copies within the chance"
        else:
            said += "; no method stays within the chance, and this one exceeds it least"
        lines = [f"{said}."]
        if beyond and within:
            names = ", ".join(f"{one.scenario.method} {_up(one.exposure)}" for one in beyond)
            lines.append(
                f"Beyond {_up(self.chance)} by links or copies of unique records: {names}."
            )
        lines.append(f"{best.scenario.method}: {best.method.when}")
        if best.lacks:
            lines.append(best.lacks)
        return lines

    def rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Heads and rows of a table of text."""
        heads = ("method", "target", "typical table off by", "strongest link", "unique copied",
                 "time", "")  # fmt: skip
        best = self.recommended
        return heads, [
            (
                one.scenario.method,
                one.scenario.target,
                share_text(one.error) if one.answers else "",
                "" if one.link is None else _up(one.link),
                _up(one.copies) if one.answers else "",
                f"{one.seconds:.1f} s" if one.answers else "",
                _state(one, best),
            )
            for one in self.tried
        ]

    def beside(
        self, labels: Labels | None = None
    ) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
        """The first question: its largest cells, the truth, and what each method gives.

        ``labels`` say what codes mean.
        """
        done = self.done
        if not done:
            return "", (), []
        first = done[0].answers[0]
        heads = (first.name, "truth", *(one.scenario.method for one in done))
        cells = [one.answers[0].largest(CELLS_SHOWN) for one in done]
        rows = []
        for place, (values, truth, _) in enumerate(cells[0]):
            found = (own[place][2] for own in cells)
            rows.append((
                ", ".join(_worded(first.columns, values, labels or Labels())),
                f"{truth:,.0f}",
                *("not told" if value is None else f"{value:,.0f}" for value in found),
            ))  # fmt: skip
        return first.name, heads, rows

    def shown(self) -> tuple[str, list[str]]:
        """As the prompt shows it."""
        _, rows = self.rows()
        return self.why()[0], [", ".join(filter(None, row)) for row in rows]

    def commands(self, table: str, schema: str, reading: Sequence[str] = ()) -> list[str]:
        """To paste: the design and the release of the recommended method."""
        best = self.recommended
        if best is None:
            return []
        about = self._about(best, CliHints(schema, table, tuple(reading)))
        return [about.of("design"), about.release()]

    def further(self, hints: CliHints) -> list[Hint]:
        """Better ways, and what was not tried, each with the command that does it."""
        best = self.recommended
        ways = [] if best is None else self._about(best, hints).ways(self.ways)
        told = [Hint(f"Better still at the same promise. {way.words}", way.command) for way in ways]
        for one in (one for one in self.tried if one.left_out):
            command = self._about(one, hints).of("design")
            told.append(Hint(f"{one.scenario.method}: {one.note}", command))
        return told

    def _about(self, one: MethodTrial, hints: CliHints) -> CliHints:
        targets, how = target_words([one.scenario.guarantee]), ("--method", one.scenario.method)
        # A method that was tried here is taken for what came out on these data.
        origin = Provenance.weakest(
            hints.origin, Provenance.TRIALS if one.answers else Provenance.DECLARED
        )
        return replace(
            hints, targets=targets, how=how, tables=as_tables(self.stated), origin=origin
        )

    def to_json(self) -> Form:
        """A plain form."""
        best = self.recommended
        return {
            "records": self.records,
            "tried_on": self.used,
            "chance": self.chance,
            "recommended": None if best is None else best.scenario.method,
            "why": self.why(),
            "methods": [one.to_json() for one in self.tried],
            "ways": [way.to_json() for way in self.ways],
        }


def aiming_methods() -> list[str]:
    """The methods that are tried: all that aim at a promise."""
    return [name for name, method in METHODS.items() if method.aims]


def advise_on(
    table: OpenedTable,
    schema: Schema,
    *,
    k: float,
    tables: Sequence[Sequence[str]] = (),
    methods: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Advice:
    """Try every method on the table, or on some of its records where it is large."""
    if not k >= 2:
        raise InvalidNumber(f"k must be a number at or above 2, got {k!r}.")
    require_keys(schema)
    schema = settle_missing(settle_bins(schema), table)
    require_coded(schema, table)
    questions = stated_tables(schema, tables)
    stated = tuple(map(tuple, tables))
    schema = replace(schema, tables=stated) if stated else schema
    names = list(methods or aiming_methods())
    people = _some(table, schema)
    say = progress or (lambda _: None)

    def run(scenario: Scenario) -> MethodTrial:
        done = _try(people, schema, scenario, questions)
        say(1)
        return done

    # The share of copies is in the table.
    with unheard(Copies), shared_groups(), side_by_side(THREADS) as pool:
        running = [
            pool.submit(copy_context().run, run, scenario)
            for scenario in scenarios_of(schema, methods=names, k=[k])
        ]
        tried = [one.result() for one in running]
    _require_one(tried)
    tried.sort(key=lambda one: (not one.answers, one.error))
    advice = Advice(tuple(tried), 1 / k, table.rows, people.rows, stated=stated)
    best = advice.recommended
    if best is None or best.plan is None or best.error < POOR:
        return advice
    ways = suggest_changes(best.plan, opened=people, before=best.errors)
    return replace(advice, ways=tuple(ways))


def _require_one(tried: Sequence[MethodTrial]) -> None:
    """Refuse a table that no method can be tried on, with what each of them says."""
    if any(one.answers for one in tried):
        return
    refusals = [attempt.refusal for attempt in tried if attempt.refusal is not None]
    splitting = next((refusal for refusal in refusals if refusal.fields.get("without")), None)
    if splitting is not None:  # the others refuse for the same reason, in other words
        raise splitting
    notes = list(dict.fromkeys(one.note for one in tried))
    said = " ".join(f"{one.scenario.method}: {one.note}" for one in tried)
    columns = (refusal.fields.get("column") for refusal in refusals)
    column = next((name for name in columns if name is not None), None)
    words = notes[0] if len(notes) == 1 else f"No method can be tried. {said}"
    raise Infeasible(words, column=column)


TAKES_LONGER = "not tried here, as with {} it takes a minute and more by itself."


def _some(table: OpenedTable, schema: Schema) -> OpenedTable:
    """The table, or as many records of it as can be tried within a minute."""
    if table.rows <= MOST_RECORDS:
        return table
    raw = table.raw or table
    chosen = Keystream.from_seed(SEED).permutation(raw.rows, "advice")[:MOST_RECORDS]
    records = raw.to_arrow(list(schema.names)).take(np.sort(chosen))
    return recoded(OpenedTable.of_arrow(records, labels=raw.labels), schema)


def _try(
    table: OpenedTable, schema: Schema, scenario: Scenario, questions: Sequence[tuple[str, ...]]
) -> MethodTrial:
    if scenario.refused:
        return MethodTrial(scenario, note=scenario.refused)
    lengthy = METHODS[scenario.method].slow_reason(schema, table.rows)
    if lengthy:
        return MethodTrial(scenario, note=TAKES_LONGER.format(lengthy), left_out=True)
    start = time.perf_counter()
    try:
        plan = design(schema, scenario.guarantee, data=table, method=scenario.method)
        release = trial_release(table, plan, seed=SEED)
        answers = tuple(answer_of(release, table, columns) for columns in questions)
    except PramanaError as error:
        return MethodTrial(scenario, note=str(error), refusal=error)
    errors: Errors = {one.columns: one.error for one in answers if one.found is not None}
    if not plan.method.data_dependent and draws_of(table, len(errors)) > 1:
        errors = errors_of(plan, table, tuple(errors))
    done = MethodTrial(scenario, plan, answers, errors)
    return replace(_attacked(done, release, table), seconds=time.perf_counter() - start)


def _attacked(done: MethodTrial, release: Release, table: OpenedTable) -> MethodTrial:
    withheld = release.certificate.mechanism is None
    mechanism = done.plan.mechanism if withheld and done.plan is not None else None
    copies = measure_unchanged(release.certificate.true_schema, table, release.opened).unique_share
    try:
        found = link_risks(release, table, mechanism=mechanism)
    except PramanaError as error:
        return replace(done, copies=copies, note=str(error))
    links = [own.value for own in found if own.name in LINKING]
    return replace(done, link=max(links, default=None), copies=copies)


def _state(one: MethodTrial, best: MethodTrial | None) -> str:
    if one is best:
        return "recommended"
    return "" if one.answers else "not tried" if one.left_out else "refused"


def _worded(columns: Sequence[str], values: Sequence[Label], labels: Labels) -> Iterator[str]:
    """The values of a cell, one a column, each with its label where it has one."""
    for column, value in zip(columns, values, strict=True):
        yield "(missing)" if value is None else labels.beside_codes(column, (value,))[0]


def _up(share: float) -> str:
    return "less than 0.01 %" if 0 < share < 1e-4 else percent_up(share)
