"""Advice: try every method on the steward's table and questions, and recommend one.

All methods have the same target probability, one in k. Each makes a trial release, which is
attacked and answers the owner's questions: tables, means and models. Nothing is published. A
method that cannot answer a question is left out. Of the methods that link nobody with a larger
probability, advice recommends the one with the least error. Ties go to a guarantee that holds for
all data. No method is recommended if the best one has a median error above ``PRECISE`` for a
question, or above ``USABLE`` for a typical table. Advice then tries changes of the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pramana.analysis.release import Release
from pramana.base.randomness import Keystream
from pramana.base.text import Shown, as_tables, json_fields, listed, text_down
from pramana.base.translation import gettext, noop, numeral
from pramana.engine.base import open_source
from pramana.errors import Copies, Infeasible, InvalidNumber, NotCovered, PramanaError, unheard
from pramana.evaluation.audit import schema_of
from pramana.evaluation.cli_hints import CliHints, Hint, target_words
from pramana.evaluation.questions import (
    SEED,
    StatedQuestion,
    answer_of,
    draws_of,
    exact_release,
    on_average,
    questions_of,
    stated_tables,
    trial_errors,
)
from pramana.evaluation.schema_suggestions import (
    DROPPED,
    POOR,
    SchemaSuggestion,
    changed_columns,
    share_text,
    suggest_changes,
    with_column,
    without_columns,
)
from pramana.evaluation.trials import (
    PRECISE,
    USABLE,
    MethodTrial,
    Scenario,
    asked_in_draws,
    best_of,
    compared,
    in_percent,
    larger_groups,
    response_scenarios,
    run_trials,
    scenarios_of,
    settled,
    try_scenario,
)
from pramana.methods.plan import Plan
from pramana.microaggregation.groups import shared_groups
from pramana.risk.unchanged import require_covered
from pramana.schema.domains import Labels
from pramana.schema.opened_table import OpenedTable
from pramana.schema.origins import Provenance
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import Schema
from pramana.types import Form, Progress, TableLike
from pramana.verification.whole_file import FileRisk, uniqueness

MOST_RECORDS = 100_000
"""Larger tables are tried on a random sample of this many records."""

CELLS_SHOWN = 8


@dataclass(frozen=True, repr=False)
class Advice(Shown):
    """All methods side by side, and the one to take.

    Attributes:
        tried: every method, those that answer best first.
        chance: one in k, which neither links nor copies may exceed.
        records: how many the table has.
        used: on how many of them methods were tried.
        ways: changes of the schema that would do better with the recommended method.
        stated: the tables that were asked for next to the schema, which releases are designed for.
        refused_columns: why ``protect`` refuses unchanged columns of this table, if it does.
        unprotected: how many people are found by unchanged columns, where that is beyond chance:
            then no method makes a green release.
    """

    tried: tuple[MethodTrial, ...]
    chance: float
    records: int
    used: int
    ways: tuple[SchemaSuggestion, ...] = ()
    stated: tuple[tuple[str, ...], ...] = ()
    refused_columns: str = ""
    unprotected: str = ""

    @property
    def done(self) -> tuple[MethodTrial, ...]:
        """Those that were not refused."""
        return tuple(trial for trial in self.tried if trial.answers)

    @property
    def best(self) -> MethodTrial | None:
        """The one to take by the rule of every recommendation."""
        return best_of(self.done)

    @property
    def recommended(self) -> MethodTrial | None:
        """The best method, if its error leaves something to learn."""
        best = self.best
        return best if best is not None and best.usable else None

    def why(self) -> list[str]:
        """The recommendation in words."""
        lines = []
        if self.refused_columns:
            lines.append(gettext("protect refuses this table: {why}", why=self.refused_columns))
        best = self.best
        if best is None:
            lines.append(
                gettext("No method answers every question.")
                if self.done
                else gettext("No method could be tried; see the notes.")
            )
        elif not best.usable:
            lines += self._unusable(best)
        else:
            lines += self._choice(best)
        if self.unprotected and not self.refused_columns:
            lines.append(
                gettext(
                    "Every release of these columns is amber, whatever the method. {found} Drop or "
                    "coarsen such a column, or declare the range of a number, so that it is "
                    "randomised (option --range of describe).",
                    found=self.unprotected,
                )
            )
        return lines + self.unanswered

    @property
    def unanswered(self) -> list[str]:
        """Which method cannot answer which questions, in words."""
        words = noop("{method} cannot answer: {questions}.")
        return [
            gettext(words, method=one.scenario.title, questions=", ".join(one.unanswered))
            for one in self.done
            if one.unanswered
        ]

    def _unusable(self, best: MethodTrial) -> list[str]:
        """No method is usable: the best one, and the changes that would make one so."""
        most = gettext("each question within {share:g} % in the median", share=100 * PRECISE)
        if not best.questions:
            most = gettext("a typical table within {share:g} %", share=100 * USABLE)
        first = gettext(
            "Not publishable: no method is usable at k = {k}. Usable is {most}; the best is "
            "{method}, and {error}.",
            k=numeral(text_down(1 / self.chance, 6)),
            most=most,
            method=best.scenario.title,
            error=_error_words(best),
        )
        asked = bool(best.questions)
        helping = [change for change in self.ways if asked or change.error <= USABLE]
        if helping:
            gains = [change.gain for change in helping]
            return [first, gettext("Each of these changes makes one usable:"), *gains]
        remedy = noop(
            "No single change of the schema makes one usable. Lower k, or release fewer or coarser "
            "keys."
        )
        return [first, gettext(remedy)]

    def _choice(self, best: MethodTrial) -> list[str]:
        """The recommended method, and why it and no other one."""
        within = [one for one in self.done if one.exposure <= self.chance and not one.unanswered]
        beyond = [one for one in self.done if one.exposure > self.chance]
        bound = gettext("at most {share} of people", share=in_percent(self.chance))
        reason = gettext("no method identifies {bound}, and this one exceeds it least", bound=bound)
        if within:
            others = ", ".join(
                f"{one.scenario.title} {share_text(one.error)}" for one in within if one is not best
            )
            reason = gettext(
                "only this method answers every question and identifies {bound}", bound=bound
            )
            if others:
                reason = gettext(
                    "it has the least error of the methods that identify {bound} ({others})",
                    bound=bound,
                    others=others,
                )
            if others and best is not min(within, key=lambda one: one.error):
                words = noop(
                    "its release is green; errors of others that identify {bound}: {others}"
                )
                if not best.publishable:
                    words = noop(
                        "it leaves fewest unique records unchanged; errors of others that identify "
                        "{bound}: {others}"
                    )
                reason = gettext(words, bound=bound, others=others)
        lines = [
            gettext(
                "Take {method}: {error}; {reason}.",
                method=best.scenario.name,
                error=_error_words(best),
                reason=reason,
            )
        ]
        if best.verdict is not None and not best.publishable and not self.unprotected:
            words = noop("Not publishable yet, because it would be {colour}. {sentence}")
            colour = gettext(str(best.verdict.colour))
            lines.insert(0, gettext(words, colour=colour, sentence=best.verdict.sentence))
        if beyond and within:
            names = ", ".join(f"{one.scenario.title} {in_percent(one.exposure)}" for one in beyond)
            lines.append(
                gettext(
                    "More than {share} are identified, or unique and released unchanged: {names}.",
                    share=in_percent(self.chance),
                    names=names,
                )
            )
        lines.append(f"{best.scenario.method}: {gettext(best.method.when)}")
        lacks = _not_covered(best)
        return [*lines, lacks] if lacks else lines

    def rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Heads and rows of a table of text."""
        words = any(trial.questions for trial in self.tried)
        error = "error of answers" if words else "table error"
        heads = (
            "method", "target", error, "strongest link", "unique copied", "verdict", "time", ""
        )  # fmt: skip
        return heads, [self._row(trial) for trial in self.tried]

    def _row(self, trial: MethodTrial) -> tuple[str, ...]:
        if not trial.answers:
            state = "not tried" if trial.left_out else "refused"
        elif trial.unanswered:
            state = "cannot answer"
        else:
            state = "advised" if trial is self.recommended else ""
        return (
            trial.scenario.title,
            trial.scenario.target,
            share_text(trial.error) if trial.answers and not trial.unanswered else "",
            "" if trial.link is None else in_percent(trial.link),
            "" if trial.copies is None else in_percent(trial.copies),
            "" if trial.verdict is None else str(trial.verdict.colour),
            f"{trial.seconds + trial.measuring:.1f} s" if trial.answers else "",
            state,
        )

    def side_by_side(
        self, labels: Labels | None = None
    ) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
        """The first question: its largest cells in the original data and by each method.

        ``labels`` say what codes mean.
        """
        done, names = self.done, labels or Labels()
        if not done:
            return "", (), []
        first = done[0].answers[0]
        heads = (first.name, "original", *(trial.scenario.title for trial in done))
        cells = [trial.answers[0].largest(CELLS_SHOWN) for trial in done]
        bins = {} if done[0].plan is None else done[0].plan.schema.bin_words
        rows = []
        for place, (values, original, _) in enumerate(cells[0]):
            words = (
                "(missing)"
                if value is None
                else bins.get(column, {}).get(value) or names.codes_with_labels(column, (value,))[0]
                for column, value in zip(first.columns, values, strict=True)
            )
            counts = (of_method[place][2] for of_method in cells)
            rows.append((
                ", ".join(words),
                f"{original:,.0f}",
                *("unknown" if count is None else f"{count:,.0f}" for count in counts),
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
        hints = self._hints(best, CliHints(schema, table, tuple(reading)))
        return [hints.of("design"), hints.release()]

    def further(self, hints: CliHints) -> list[Hint]:
        """Better ways, and what was not tried, each with the command that does it."""
        best = self.best
        changes = [] if best is None else self._hints(best, hints).ways(self.ways)
        hints_shown = [
            Hint(f"Better at the same guarantee. {change.words}", change.command)
            for change in changes
        ]
        for trial in self.tried:
            if trial.left_out:
                command = self._hints(trial, hints).of("design")
                hints_shown.append(Hint(f"{trial.scenario.method}: {trial.note}", command))
        return hints_shown

    def _hints(self, trial: MethodTrial, hints: CliHints) -> CliHints:
        # A method that was tried here is taken for what came out on these data.
        origin = Provenance.TRIALS if trial.answers else Provenance.DECLARED
        return replace(
            hints,
            targets=target_words([trial.scenario.guarantee]),
            how=trial.scenario.flags,
            tables=as_tables(self.stated),
            origin=Provenance.weakest(hints.origin, origin),
        )

    def to_json(self) -> Form:
        """Values for JSON."""
        best = self.recommended
        return json_fields(self, "records chance ways") | {
            "tried_on": self.used,
            "recommended": None if best is None else best.scenario.method,
            "why": self.why(),
            "methods": [_form(trial) for trial in self.tried],
        }


def _form(trial: MethodTrial) -> Form:
    tables = [
        answer.to_json() | {"error": trial.errors.get(answer.columns, answer.error)}
        for answer in trial.answers
    ]
    return {
        "method": trial.scenario.method,
        "target": trial.scenario.target,
        "options": list(trial.scenario.flags[2:]),
        "when": trial.method.when,
        "refused": not trial.answers and not trial.left_out,
        "left_out": trial.left_out,
        "error": trial.error if trial.answers and not trial.unanswered else None,
        "cannot_answer": list(trial.unanswered),
        "questions": [question.to_json() for question in trial.questions],
        "tables": tables,
        "link": trial.link,
        "copies": trial.copies,
        "verdict": None if trial.verdict is None else trial.verdict.to_json(),
        "lacks": _not_covered(trial),
        "seconds": trial.seconds + trial.measuring,
        "note": trial.note,
    }


def _not_covered(trial: MethodTrial) -> str:
    """The guarantees that others have and a method designed from the data has not."""
    if trial.plan is None or not trial.plan.method.data_dependent:
        return ""
    claim = next(iter(trial.plan.claims), None)
    words = "" if claim is None else f" {gettext(claim.attained.assumption)}"
    return gettext("It uses the data, so no epsilon covers it.") + words


def _error_words(trial: MethodTrial) -> str:
    """The error in words, question by question where they were asked in words."""
    if not trial.questions:
        return gettext("the error of a typical table is {share}", share=share_text(trial.error))
    each = "; ".join(question.words for question in trial.questions)
    return gettext(
        "the error of its answers is {share} ({each})",
        share=share_text(trial.error),
        each=each,
    )


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
        tables: what will be asked for, as lists of keys; the tables of the schema where not given,
            else tables of two keys.
        asked: questions in words, which decide alone: tables as ``sex*age``, means as
            ``income by region``, models as ``income ~ age + sex``.
        methods: which to try, by name; all that aim at something where not given.
        progress: is called after each method.
    """
    if not k >= 2:
        raise InvalidNumber("k must be a number at or above 2, got {k!r}.", k=k)
    described = schema_of(schema)
    opened = open_source(table, schema=described)
    described = settled(described, opened)
    wanted = stated_tables(described, tables)
    stated = tuple(map(tuple, tables))
    described = replace(described, tables=stated) if stated else described
    questions = questions_of(asked, described) if asked else ()
    if questions:
        stated = tuple(dict.fromkeys(question.columns for question in questions))
        described = replace(described, tables=stated)
    people = _sample(opened, described)
    scenarios = list(scenarios_of(described, methods=list(methods or compared()), k=[k]))
    if questions or not methods:
        scenarios += response_scenarios(scenarios, described, opened, questions)
    risk = _unchanged_risk(described, people)
    asker = _Asker(people, described, wanted, questions, risk)
    tried = run_trials(asker.trial, scenarios, progress)
    if not methods:
        larger = run_trials(asker.trial, larger_groups(tried), progress)
        tried += [trial for trial in larger if trial.answers]
    _require_one(tried)
    tried.sort(key=lambda trial: (not trial.answers, bool(trial.unanswered), trial.error))
    advice = Advice(
        tuple(tried),
        1 / k,
        opened.rows,
        people.rows,
        stated=stated,
        refused_columns=_refused_columns(described, opened),
        unprotected=_unique_on_unchanged(risk, 1 / k),
    )
    best = advice.best
    if best is None or best.plan is None or (best.usable and best.error < POOR):
        return advice
    if questions and advice.recommended is None:
        with unheard(Copies, Warning), shared_groups():
            return replace(advice, ways=tuple(_usable_changes(asker, best)))
    ways = suggest_changes(best.plan, opened=people, before=best.errors)
    return replace(advice, ways=tuple(ways))


class _Asker:
    """Tries scenarios on a table, with the tables and questions that count."""

    def __init__(
        self,
        people: OpenedTable,
        schema: Schema,
        tables: Sequence[tuple[str, ...]],
        questions: Sequence[StatedQuestion],
        risk: FileRisk,
    ) -> None:
        self.people, self.schema, self.risk = people, schema, risk
        self.tables, self.questions = tables, questions
        self.exact = exact_release(schema, people) if questions else None

    def trial(self, scenario: Scenario) -> MethodTrial:
        """The trial of one scenario, of a sample of the people where they are many."""
        return try_scenario(
            self.people, self.schema, scenario, self._ask, quick=True, risk=self.risk
        )

    def _ask(self, plan: Plan, release: Release) -> Form:
        answers = tuple(answer_of(release, self.people, columns) for columns in self.tables)
        errors = {answer.columns: answer.error for answer in answers if answer.released is not None}
        if not plan.method.data_dependent and draws_of(self.people, len(errors)) > 1:
            errors = dict(on_average(trial_errors(plan, self.people, tuple(errors))))
        fields: Form = {"answers": answers, "errors": errors}
        if self.exact is not None:
            fields |= asked_in_draws(plan, self.people, release, self.exact, self.questions)
        return fields


def _usable_changes(asker: _Asker, best: MethodTrial) -> Iterator[SchemaSuggestion]:
    """Fewer keys, or a coarser one, with which the best method answers the questions."""
    schema, origin = asker.schema, Provenance.TRIALS
    wanted = {name for question in asker.questions for name in question.columns}
    keys = sorted(schema.randomised, key=lambda column: -len(column.labels))
    free = tuple(column.name for column in keys if column.name not in wanted)
    changes = []
    if free:
        change = SchemaSuggestion(
            gettext("Without {columns}", columns=listed(free)),
            "",
            DROPPED,
            0.0,
            best.error,
            without=free,
            origin=origin,
        )
        changes.append((change, without_columns(schema, free)))
    for key in (key for key in keys if key.name in wanted):
        for what, entry, column in changed_columns(key, asker.people):
            if column.randomised:
                change = SchemaSuggestion(what, key.name, entry, 0.0, best.error, origin=origin)
                changes.append((change, with_column(schema, column)))
    for change, changed in changes:
        people = recoded(asker.people, changed)
        try:
            risk = _unchanged_risk(changed, people)
            again = _Asker(people, changed, stated_tables(changed), asker.questions, risk)
        except PramanaError:
            continue
        trial = again.trial(best.scenario)
        if trial.answers and trial.answers_all and trial.usable:
            yield replace(change, error=trial.error)


def _refused_columns(schema: Schema, table: OpenedTable) -> str:
    """Why ``protect`` refuses unchanged columns of the table."""
    try:
        require_covered(schema, table)
    except NotCovered as error:
        return str(error)
    return ""


def _unchanged_risk(schema: Schema, table: OpenedTable) -> FileRisk:
    """The people who are found by unchanged columns."""
    names = [column.name for column in schema.released_as_is if not column.noisy]
    return uniqueness(table, names, known=tuple(name for name in names if name in schema.known))


def _unique_on_unchanged(risk: FileRisk, chance: float) -> str:
    """The people who are found by unchanged columns, where more are than the chance allows."""
    subset = risk.beyond(chance)
    return "" if subset is None else subset.sentence()


def _require_one(tried: Sequence[MethodTrial]) -> None:
    """Refuse a table that no method can be tried on, with the reasons of all of them."""
    if any(trial.answers for trial in tried):
        return
    refusals = [trial.refusal for trial in tried if trial.refusal is not None]
    splitting = next((refusal for refusal in refusals if refusal.fields.get("without")), None)
    if splitting is not None:  # the others refuse for the same reason, in other words
        raise splitting
    of_note: dict[str, list[str]] = {}
    for trial in tried:
        of_note.setdefault(trial.note, []).append(trial.scenario.title)
    notes = list(of_note)
    each = " ".join(f"{listed(titles, 12)}: {note}" for note, titles in of_note.items())
    columns = (refusal.fields.get("column") for refusal in refusals)
    column = next((name for name in columns if name is not None), None)
    words = notes[0] if len(notes) == 1 else gettext("No method can be tried. {each}", each=each)
    raise Infeasible(words, column=column)


def _sample(table: OpenedTable, schema: Schema) -> OpenedTable:
    """The table, or as many records of it as can be tried within a minute."""
    if table.rows <= MOST_RECORDS:
        return table
    raw = table.raw or table
    chosen = Keystream.from_seed(SEED).permutation(raw.rows, "advice")[:MOST_RECORDS]
    records = raw.to_arrow(list(schema.names)).take(np.sort(chosen))
    return recoded(OpenedTable.of_arrow(records, labels=raw.labels), schema)
