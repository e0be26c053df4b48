"""Advice: every method on the steward's own table and questions, and which one to take.

Each method is aimed at the same chance (one in k, as its own guarantee says it), tried on the
table, attacked, and asked the owner's questions: tables, means and models. Nothing is published. A
method that cannot answer a question is out. Of those that link nobody beyond the chance the one
with the least error is recommended; ties go to the guarantee that holds whatever the data are.
Unchanged unique records count where the guarantee bounds no link. No method is recommended if the
error of the best one is above ``USABLE``: changes of the schema are tried then.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np

from pramana.analysis.release import Release
from pramana.base.processes import side_by_side
from pramana.base.randomness import Keystream
from pramana.base.text import Shown, as_tables, listed, percent_up, plain, text_down
from pramana.engine.base import open_source
from pramana.errors import Copies, Infeasible, InvalidNumber, NotCovered, PramanaError, unheard
from pramana.evaluation.arguments import schema_of
from pramana.evaluation.audit import link_risks
from pramana.evaluation.cli_hints import CliHints, Hint, target_words
from pramana.evaluation.compare import (
    DRAWS,
    LINKING,
    SEED,
    Scenario,
    best_of,
    by_responses,
    compared,
    responses_of,
    scenarios_of,
)
from pramana.evaluation.questions import (
    Answer,
    Errors,
    QuestionLoss,
    StatedQuestion,
    answer_of,
    as_it_is,
    draws_of,
    errors_of,
    losses_of,
    questions_of,
    stated_tables,
    typical,
)
from pramana.evaluation.schema_suggestions import (
    DROPPED,
    POOR,
    SchemaSuggestion,
    changed_columns,
    share_text,
    suggest_changes,
    with_column,
)
from pramana.methods.base import METHODS, Method
from pramana.methods.choice import design, settle_bins
from pramana.methods.context import require_coded
from pramana.methods.plan import Plan
from pramana.microaggregation.groups import shared_groups
from pramana.protecting import trial_release
from pramana.risk.unchanged import measure_unchanged, require_covered
from pramana.schema.domains import Label, Labels
from pramana.schema.opened_table import OpenedTable
from pramana.schema.origins import Provenance
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import Column, Role, Schema, require_keys
from pramana.types import Form, Progress, TableLike

MOST_RECORDS = 100_000
"""Larger tables are tried on this many of their records, drawn by chance."""

USABLE = 0.3
"""A method whose answers are off by more is not recommended."""

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
        losses: of the tables, means and models that were asked for in words.
        link: how often the strongest link is right; ``None`` where none could be tried.
        copies: the share of unique records that stand in the release unchanged.
        seconds: that it took.
        note: why it was refused, or what could not be measured.
        refusal: the error by which it was refused.
        left_out: whether it was not tried, as it would take long.
    """

    scenario: Scenario
    plan: Plan | None = None
    answers: tuple[Answer, ...] = ()
    errors: Errors = field(default_factory=dict)
    losses: tuple[QuestionLoss, ...] = ()
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
        """Of the questions asked in words, as in ``compare``; else of a typical table.

        Each kind of question counts once. A table that is not answered is off by all records.
        """
        if self.losses:
            kinds = dict.fromkeys(question.kind for question in self.losses)
            return float(np.mean([self._loss(kind) for kind in kinds]))
        all_of_it = {answer.columns: 1.0 for answer in self.answers} | dict(self.errors)
        found = typical(all_of_it, all_of_it)
        return 1.0 if found is None else found

    def _loss(self, kind: str) -> float:
        return float(np.mean([asked.loss for asked in self.losses if asked.kind == kind]))

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The questions that a release by this method cannot answer."""
        if self.losses:
            return tuple(asked.text for asked in self.losses if not asked.answered)
        return tuple(answer.name for answer in self.answers if answer.found is None)

    @property
    def usable(self) -> bool:
        """Whether it answers every question with an error that leaves something to learn."""
        return self.answers_all and self.error <= USABLE

    @property
    def exposure(self) -> float:
        """The share of people at risk."""
        return self.scenario.exposure(self.link, self.copies)

    @property
    def answers_all(self) -> bool:
        """Whether it was made, and answers every question."""
        return bool(self.answers) and not self.unanswered

    @property
    def loss(self) -> float:
        """Its error."""
        return self.error

    @property
    def lacks(self) -> str:
        """What its promise does not cover that others may."""
        if self.plan is None or not self.plan.method.data_dependent:
            return ""
        claim = next(iter(self.plan.claims), None)
        words = "" if claim is None else f" {claim.attained.assumption}"
        return f"Made from the data: no epsilon holds for it.{words}"

    @property
    def figure(self) -> str:
        """Its error in words, question by question where they were asked in words."""
        if not self.losses:
            return f"a typical table is off by {share_text(self.error)}"
        each = "; ".join(asked.words for asked in self.losses)
        return f"its answers are off by {share_text(self.error)} ({each})"

    def to_json(self) -> Form:
        """Values for JSON."""
        return plain(self, "left_out lacks link seconds note") | {
            "method": self.scenario.method,
            "target": self.scenario.target,
            "refused": self.plan is None and not self.left_out,
            "when": self.method.when,
            "error": self.error if self.answers and not self.unanswered else None,
            "options": list(self.scenario.flags[2:]),
            "cannot_answer": list(self.unanswered),
            "questions": [asked.to_json() for asked in self.losses],
            "tables": [
                answer.to_json() | {"error": self.errors.get(answer.columns, answer.error)}
                for answer in self.answers
            ],
            "copies": self.copies if self.answers else None,
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
        stated: the tables that were asked for next to the schema, which releases are designed for.
        refused_columns: why ``protect`` refuses unchanged columns of this table, if it does.
    """

    tried: tuple[MethodTrial, ...]
    chance: float
    records: int
    used: int
    ways: tuple[SchemaSuggestion, ...] = ()
    stated: tuple[tuple[str, ...], ...] = ()
    refused_columns: str = ""

    @property
    def done(self) -> tuple[MethodTrial, ...]:
        """Those that were not refused."""
        return tuple(one for one in self.tried if one.answers)

    @property
    def recommended(self) -> MethodTrial | None:
        """The best method, if it is usable."""
        return self.best if self.best is not None and self.best.usable else None

    @property
    def best(self) -> MethodTrial | None:
        """The one to take by the rule of every recommendation."""
        return best_of(self.tried)

    def why(self) -> list[str]:
        """The recommendation in words."""
        refused = [f"protect refuses this table: {self.refused_columns}"]
        return [*(refused if self.refused_columns else []), *self._choice(), *self._unable()]

    def _unable(self) -> Iterator[str]:
        """Methods that cannot answer a question."""
        for one in self.done:
            if one.unanswered:
                yield f"{one.scenario.title} cannot answer: {', '.join(one.unanswered)}."

    def _unusable(self, best: MethodTrial) -> list[str]:
        """That no method is usable, and what would make one so."""
        lines = [
            f"No method is usable at k = {text_down(1 / self.chance, 6)}: the best is "
            f"{best.scenario.title}, and {best.figure}."
        ]
        helping = [way for way in self.ways if way.error <= USABLE]
        if helping:
            return [*lines, "Each of these changes makes one usable:", *(w.gain for w in helping)]
        return [*lines, "No single change of the schema makes one usable: ask for a lower k, or "
                "release fewer or coarser keys."]  # fmt: skip

    def _choice(self) -> list[str]:
        best = self.best
        if best is None:
            done = "No method answers every question." if self.done else "No method could be tried"
            return [done if self.done else f"{done}; see the notes."]
        if not best.usable:
            return self._unusable(best)
        within = [one for one in self.done if one.exposure <= self.chance and not one.unanswered]
        others = [one for one in within if one is not best]
        beyond = [one for one in self.done if one.exposure > self.chance]
        said = f"Take {best.scenario.name}: {best.figure}"
        if within:
            beaten = ", ".join(
                f"{other.scenario.title} {share_text(other.error)}" for other in others
            )
            of = (
                f"; of the methods that stay within the chance, its tables are off least ({beaten})"
            )
            said += of if others else "; it alone stays within the chance"
        else:
            said += "; no method stays within the chance, and this one exceeds it least"
        lines = [f"{said}."]
        if beyond and within:
            names = ", ".join(f"{one.scenario.title} {_up(one.exposure)}" for one in beyond)
            lines.append(f"More than {_up(self.chance)} of people are found after: {names}.")
        lines.append(f"{best.scenario.method}: {best.method.when}")
        if best.lacks:
            lines.append(best.lacks)
        return lines

    def rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Heads and rows of a table of text."""
        words = any(one.losses for one in self.tried)
        error = "answers off by" if words else "typical table off by"
        heads = ("method", "target", error, "strongest link", "unique copied", "time", "")
        best = self.recommended
        return heads, [
            (
                one.scenario.title,
                one.scenario.target,
                share_text(one.error) if one.answers and not one.unanswered else "",
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
        """The first question: its largest cells, the original data, and what each method gives.

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
            found = (cell[place][2] for cell in cells)
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
        best = self.best
        ways = [] if best is None else self._about(best, hints).ways(self.ways)
        told = [Hint(f"Better at the same guarantee. {way.words}", way.command) for way in ways]
        for one in (one for one in self.tried if one.left_out):
            command = self._about(one, hints).of("design")
            told.append(Hint(f"{one.scenario.method}: {one.note}", command))
        return told

    def _about(self, one: MethodTrial, hints: CliHints) -> CliHints:
        targets = target_words([one.scenario.guarantee])
        # A method that was tried here is taken for what came out on these data.
        origin = Provenance.weakest(
            hints.origin, Provenance.TRIALS if one.answers else Provenance.DECLARED
        )
        return replace(
            hints,
            targets=targets,
            how=one.scenario.flags,
            tables=as_tables(self.stated),
            origin=origin,
        )

    def to_json(self) -> Form:
        """Values for JSON."""
        best = self.recommended
        return plain(self, "records chance ways") | {
            "tried_on": self.used,
            "recommended": None if best is None else best.scenario.method,
            "why": self.why(),
            "methods": [one.to_json() for one in self.tried],
        }


def advise(
    table: TableLike,
    schema: Schema | str | Path,
    *,
    k: float = 20,
    tables: Sequence[Sequence[str]] = (),
    asked: Sequence[str] = (),
    methods: Sequence[str] = (),
    progress: Progress | None = None,
) -> Advice:
    """Try every method on a table and on the questions that will be asked; say which one to take.

    Each is designed, protected, attacked and asked in memory; nothing is published. Tables of more
    than 100,000 records are tried on this many of them.

    Args:
        table: the original data: a file or data frame.
        schema: what each column is.
        k: nobody must be found with a chance of more than one in k.
        tables: what will be asked for, as lists of keys; those of the schema where not given, else
            tables of two keys.
        asked: questions in words, which decide alone: tables as ``sex*age``, means as
            ``income by region``, models as ``income ~ age + sex``.
        methods: which to try, by name; all that aim at something where not given.
        progress: is told of each method done.
    """
    if not k >= 2:
        raise InvalidNumber(f"k must be a number at or above 2, got {k!r}.")
    described = schema_of(schema)
    opened = open_source(table, schema=described)
    require_keys(described)
    described = settle_bins(described)
    require_coded(described, opened)
    questions = stated_tables(described, tables)
    stated = tuple(map(tuple, tables))
    described = replace(described, tables=stated) if stated else described
    questioned = questions_of(asked, described) if asked else ()
    if questioned:
        described = replace(described, tables=tuple(dict.fromkeys(q.columns for q in questioned)))
    names = list(methods or compared())
    people = _some(opened, described)
    say = progress or (lambda _: None)

    def made(own: Schema, method: Method) -> Release:
        return trial_release(people, design(own, data=people, method=method), seed=SEED)

    def run(scenario: Scenario) -> MethodTrial:
        done = _try(people, described, scenario, questions, questioned, exact)
        say(1)
        return done

    scenarios = list(scenarios_of(described, methods=names, k=[k]))
    if questioned or not methods:
        scenarios += by_responses(scenarios, responses_of(described, opened, questioned))
    with unheard(Warning):  # nothing is promised, and nothing leaves
        exact = as_it_is(described, made) if questioned else None

    # The share of copies is in the opened.
    with unheard(Copies), shared_groups(), side_by_side(THREADS) as pool:
        running = [pool.submit(copy_context().run, run, scenario) for scenario in scenarios]
        tried = [one.result() for one in running]
    _require_one(tried)
    tried.sort(key=lambda one: (not one.answers, bool(one.unanswered), one.error))
    advice = Advice(
        tuple(tried),
        1 / k,
        opened.rows,
        people.rows,
        stated=stated,
        refused_columns=_refused_columns(described, opened),
    )
    best = advice.best
    if best is None or best.plan is None or best.error < POOR:
        return advice
    if questioned and not best.usable:
        with unheard(Copies, Warning), shared_groups():
            changes = tuple(_usable_changes(people, described, best, questioned))
        return replace(advice, ways=changes)
    ways = suggest_changes(best.plan, opened=people, before=best.errors)
    return replace(advice, ways=tuple(ways))


def _usable_changes(
    table: OpenedTable, schema: Schema, best: MethodTrial, asked: Sequence[StatedQuestion]
) -> Iterator[SchemaSuggestion]:
    """Fewer keys, or a coarser one, with which the best method answers the questions."""
    wanted = {name for question in asked for name in question.columns}
    keys = sorted(schema.randomised, key=lambda column: -len(column.labels))
    free = tuple(column.name for column in keys if column.name not in wanted)
    if free:
        fewer = schema
        for name in free:
            fewer = with_column(fewer, Column(name, Role.IDENTIFIER))
        change = SchemaSuggestion(
            f"Without {listed(free)}",
            "",
            DROPPED,
            0.0,
            best.error,
            without=free,
            origin=Provenance.TRIALS,
        )
        yield from _if_usable(table, fewer, best, asked, change)
    for key in (key for key in keys if key.name in wanted):
        for what, entry, column in changed_columns(key, table):
            if column.randomised:
                way = SchemaSuggestion(
                    what, key.name, entry, 0.0, best.error, origin=Provenance.TRIALS
                )
                yield from _if_usable(table, with_column(schema, column), best, asked, way)


def _if_usable(
    table: OpenedTable,
    schema: Schema,
    best: MethodTrial,
    asked: Sequence[StatedQuestion],
    way: SchemaSuggestion,
) -> Iterator[SchemaSuggestion]:
    """The change with its error, if the best method is usable with it."""
    people = recoded(table, schema)

    def made(own: Schema, method: Method) -> Release:
        return trial_release(people, design(own, data=people, method=method), seed=SEED)

    try:
        exact = as_it_is(schema, made)
    except PramanaError:
        return
    changed = _try(people, schema, best.scenario, stated_tables(schema), asked, exact)
    if changed.usable:
        yield replace(way, error=changed.error)


def _refused_columns(schema: Schema, table: OpenedTable) -> str:
    """Why ``protect`` refuses unchanged columns of the table."""
    try:
        require_covered(schema, table)
    except NotCovered as error:
        return str(error)
    return ""


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
    table: OpenedTable,
    schema: Schema,
    scenario: Scenario,
    questions: Sequence[tuple[str, ...]],
    asked: Sequence[StatedQuestion],
    exact: Release | None,
) -> MethodTrial:
    if scenario.refused:
        return MethodTrial(scenario, note=scenario.refused)
    lengthy = METHODS[scenario.method].slow_reason(schema, table.rows)
    if lengthy:
        return MethodTrial(scenario, note=TAKES_LONGER.format(lengthy), left_out=True)
    start = time.perf_counter()
    try:
        plan = design(schema, scenario.guarantee, data=table, method=scenario.chosen)
        release = trial_release(table, plan, seed=SEED)
        answers = tuple(answer_of(release, table, columns) for columns in questions)
    except PramanaError as error:
        return MethodTrial(scenario, note=str(error), refusal=error)
    errors: Errors = {
        answer.columns: answer.error for answer in answers if answer.found is not None
    }
    if not plan.method.data_dependent and draws_of(table, len(errors)) > 1:
        errors = errors_of(plan, table, tuple(errors))
    losses = _mean_losses(plan, table, release, asked, exact)
    done = MethodTrial(scenario, plan, answers, errors, losses)
    return replace(_attacked(done, release, table), seconds=time.perf_counter() - start)


def _mean_losses(
    plan: Plan,
    table: OpenedTable,
    release: Release,
    asked: Sequence[StatedQuestion],
    exact: Release | None,
) -> tuple[QuestionLoss, ...]:
    """What is lost of each question, on average over as many draws as ``compare`` makes."""
    if not asked:
        return ()
    releases = chain(
        [release], (trial_release(table, plan, seed=SEED + draw) for draw in range(1, DRAWS))
    )
    draws = [losses_of(made, exact, asked) for made in releases]
    return tuple(QuestionLoss.mean_of(question) for question in zip(*draws, strict=True))


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
    if one.answers:
        return "cannot answer" if one.unanswered else ""
    return "not tried" if one.left_out else "refused"


def _worded(columns: Sequence[str], values: Sequence[Label], labels: Labels) -> Iterator[str]:
    """The values of a cell, one a column, each with its label where it has one."""
    for column, value in zip(columns, values, strict=True):
        yield "(missing)" if value is None else labels.beside_codes(column, (value,))[0]


def _up(share: float) -> str:
    return "less than 0.01 %" if 0 < share < 1e-4 else percent_up(share)
