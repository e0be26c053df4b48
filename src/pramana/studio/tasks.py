"""The tasks of the worker: each calls ``api`` and returns JSON data."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

from pramana import Schema, api
from pramana.base.translation import ENGLISH, gettext, in_language, language, noop, numeral
from pramana.errors import PramanaError
from pramana.studio.view import drawn, option_values
from pramana.studio.worker import TableAt, Workbench

ROWS = 100
LARGE = 2_000_000
"""Of this many records, coded keys take more memory than counting them again takes time."""

UNCHANGED = noop("No record has to change: the table already has the guarantee.")
NEARLY_ALL = 0.95
"""From this share on, records that have to change are not counted."""


def load_ahead(bench: Workbench) -> None:
    """What the first task needs."""
    del bench
    for known in (api.FORMATS, api.METHODS):
        list(known.values())


def look(bench: Workbench, *, table: TableAt) -> dict[str, Any]:
    """The format of a table and its first records."""
    bench.say("Reading the file")
    opened = bench.table(**table)
    return asdict(api.look(opened, rows=ROWS, encoding=table["encoding"] or None))


def parts(bench: Workbench, *, table: TableAt) -> list[str]:
    """The names of the tables that a file holds."""
    bench.say("Looking for tables")
    return list(api.parts(table["path"]))


def describe(bench: Workbench, *, table: TableAt) -> dict[str, Any]:
    """The suggested role of each column, and why."""
    bench.say("Reading the columns")
    opened = bench.table(**table)
    description = api.describe(opened)
    texts = opened.labels.values if opened.labels is not None else {}
    return {
        "labels": {
            name: {
                f"{code:g}" if isinstance(code, float) else str(code): text
                for code, text in codes.items()
            }
            for name, codes in texts.items()
        },
        "columns": description.rows(),
        "schema": description.schema.to_toml(),
    }


def shapes(bench: Workbench, *, table: TableAt, schema: str) -> dict[str, Any]:
    """Distributions of the recoded columns, and the schema completed with domains from the data."""
    bench.say("Counting values")
    opened = bench.table(**table)
    stated = Schema.from_toml(schema)
    whole = api.complete(stated, opened)
    by_name = {one.name: asdict(one) for one in api.shapes_of(opened, whole)}
    return {
        "shapes": by_name,
        "completed": whole.to_toml() if whole != stated else "",
        "standing": _standing(bench, opened, whole),
    }


def standing(bench: Workbench, *, table: TableAt, schemas: dict[str, str]) -> dict[str, Any]:
    """How many people are unique by each of several schemas."""
    bench.say("Counting unique people")
    opened = bench.table(**table)
    return {
        name: _standing(bench, opened, Schema.from_toml(text)) for name, text in schemas.items()
    }


def _standing(bench: Workbench, opened: Any, schema: Any) -> dict[str, Any]:
    counter = bench.keep("standing", lambda: api.UniquenessCounter(opened))
    return asdict(counter.of(schema))


def contributions(bench: Workbench, *, table: TableAt, schema: str) -> dict[str, int]:
    """By each key: how many people are no longer unique without it."""
    bench.say("Counting unique people")
    opened, stated = bench.table(**table), Schema.from_toml(schema)
    counter = bench.keep("standing", lambda: api.UniquenessCounter(opened))
    names = [column.name for column in stated.keys]
    unique = counter.of(stated).unique
    return {
        name: unique - counter.of(stated, among=[other for other in names if other != name]).unique
        for name in names
    }


def audit(bench: Workbench, *, table: TableAt, schema: str, k: float) -> dict[str, Any]:
    """Re-identification risk by which keys, and how far each recoding would lower it."""
    bench.say("Measuring re-identification risk")
    opened, stated = bench.table(**table), Schema.from_toml(schema)
    result = api.audit(opened, schema=stated, k=k, progress=bench.say)
    bench.say("Trying recodings")
    counter = bench.keep("standing", lambda: api.UniquenessCounter(opened))
    ways = api.recoding_gains(counter, stated, opened)
    return {
        **result.to_json(),
        "sentences": result.sentences(),
        "lowerings": [way.to_json() for way in ways],
    }


def advise(
    bench: Workbench,
    *,
    table: TableAt,
    schema: str,
    tables: list[list[str]],
    k: float,
    methods: list[str],
    asked: list[str],
) -> dict[str, Any]:
    """Every method on the planned analyses; each result is sent when it is there."""
    bench.say("Reading the table")
    opened, stated = bench.table(**table), Schema.from_toml(schema)
    takes = {name: api.METHODS[name].trial_cost(stated) for name in methods}
    tried: list[Any] = []
    refused: dict[str, PramanaError] = {}
    advice: Any = None
    for done, name in enumerate(sorted(methods, key=takes.__getitem__)):
        bench.say(
            "Trying {method}, one in {k}, {done} of {all} methods",
            method=name, k=f"{k:.12g}", done=done + 1, all=len(methods),
        )  # fmt: skip
        one = partial(api.advise, opened, stated, k=k, tables=tables, methods=[name], asked=asked)
        try:
            advice = bench.patiently(f"advise {name} {k} {tables} {asked} {schema}", one)
        except PramanaError as error:  # the others can still be tried
            refused[name] = error
        else:
            tried += advice.tried
            tried.sort(key=lambda one: (not one.answers, one.error))
            advice = replace(advice, tried=tuple(tried), ways=())
        if advice is not None:
            bench.show(_advice(advice, k, refused, opened.labels))
    bench.let_go("trials")
    if advice is None:
        raise next(iter(refused.values()))
    return _advice(advice, k, refused, opened.labels)


def _advice(
    advice: Any, k: float, refused: Mapping[str, PramanaError], labels: Any
) -> dict[str, Any]:
    name, heads, rows = advice.side_by_side(labels)
    heads = [" ".join(word.removeprefix("--") for word in head.split()) for head in heads]
    for place, trial in enumerate(advice.done, start=2):
        table = "*".join(trial.answers[0].columns)
        if any(one.text == table and not one.answered for one in trial.questions):
            rows = [(*row[:place], "", *row[place + 1 :]) for row in rows]
    best = advice.recommended
    claims = {
        one.scenario.method: []
        if one.plan is None
        else [one.plan.promise(claim) for claim in one.plan.claims]
        for one in advice.tried
    }
    form: dict[str, Any] = advice.to_json()
    form["why"] = [line for line in form["why"] if line not in advice.unanswered]
    if best is not None:  # the page says it with the table
        form["why"] = form["why"][: bool(advice.refused_columns)]
    form["within"] = best is not None and best.exposure <= 1 / k
    for entry, trial in zip(form["methods"], advice.tried, strict=True):
        entry["promises"] = claims[entry["method"]]
        entry["errors"] = [
            (question.text, question.in_its_unit if question.answered else "", question.reason)
            for question in trial.questions
        ]
        entry["chosen"] = {"response": trial.scenario.flags[3]} if trial.scenario.responses else {}
        entry["best"] = best is not None and entry["method"] == best.scenario.method
        entry["exposure"] = trial.exposure if trial.answers else None
        entry["unanswered"] = [answer.name for answer in trial.answers if answer.released is None]
        if entry["unanswered"] and len(entry["unanswered"]) == len(trial.answers):
            entry["error"] = None  # nothing is answered: no number says how far off it is
    form["methods"] += [
        {"method": name, "target": f"one in {k:.12g}", "refused": True, "note": str(error),
         "error": None, "exposure": None, "best": False, "unanswered": [], "errors": [],
         "chosen": {}}
        for name, error in refused.items()
    ]  # fmt: skip
    return {**form, "k": k, "beside": {"name": name, "heads": heads, "rows": rows}}


class PlanAsked(TypedDict):
    """A table with its schema, and the method and target that are asked for."""

    table: TableAt
    schema: str
    method: str
    options: dict[str, Any]
    target: dict[str, float]


def foresee(bench: Workbench, **asked: Unpack[PlanAsked]) -> dict[str, Any]:
    """Guarantees and cost of a target, by the model of expected errors.

    If a plan needs a long search, its changes are estimated by a rule of thumb, and ``search``
    follows.
    """
    bench.say("Counting the records of the table")
    people, guarantees, method = _people(bench, asked)
    changes = api.estimate_changes(people, *guarantees, method=method)
    if changes is None:
        return _plan_form(api.design_for(people, *guarantees, method=method))
    return {
        "searched": False,
        "method": asked["method"]
        or api.usual_method([guarantee.name for guarantee in guarantees]).name,
        "changes": _roughly(changes, people.records),
        "guarantees": [{"words": guarantee.sentence()} for guarantee in guarantees],
    }


def _roughly(changes: tuple[float, float], records: int) -> str:
    """The rule of thumb in words, with two digits."""
    if changes[1] < 0.5:
        return gettext(UNCHANGED)
    every = numeral(f"{records:,}")
    if min(changes) >= NEARLY_ALL * records:
        return gettext("Nearly all of the {records} records have to change.", records=every)
    low, high = (numeral(f"{float(f'{min(n, records):.2g}'):,.0f}") for n in changes)
    return gettext(
        "Roughly {low} to {high} of {records} records have to change.",
        low=low, high=high, records=every,
    )  # fmt: skip


def search(bench: Workbench, **asked: Unpack[PlanAsked]) -> dict[str, Any]:
    """The same by the plan itself, in the background."""
    bench.say("Searching for the fewest changes")
    people, guarantees, method = _people(bench, asked)
    with bench.giving_way():
        return _plan_form(api.design_for(people, *guarantees, method=method))


def _people(bench: Workbench, asked: PlanAsked) -> tuple[Any, Any, Any]:
    """The people of the table, the targets and the method; counted once for all targets."""
    schema, opened = Schema.from_toml(asked["schema"]), bench.table(**asked["table"])
    numbers = bool(asked["method"]) and api.METHODS[asked["method"]].accepts_numbers
    people = bench.keep(
        f"people {numbers} {asked['schema']}",
        lambda: api.design_context(schema, opened, keep_numbers=numbers),
    )
    return people, _guarantees(schema, asked), _method(asked)


def _method(asked: PlanAsked) -> Any:
    """The method with its options; nothing where the usual one is meant."""
    values = option_values(asked["method"], asked["options"])
    return api.METHODS[asked["method"]](**values) if values else asked["method"] or None


def plan(bench: Workbench, **asked: Unpack[PlanAsked]) -> dict[str, Any]:
    """The plan: treatment, guarantees and expected error, before anything is written."""
    bench.say("Finding the plan")
    return _plan_form(_plan(asked, data=_opened(bench, asked)))


def beforehand(bench: Workbench, **asked: Unpack[PlanAsked]) -> list[str]:
    """Errors of the planned tables on these data, and better plans, as they are found."""
    bench.say("Trying the plan on your tables")
    opened = _opened(bench, asked)
    said: list[str] = []
    with bench.giving_way():
        made = _plan(asked, data=opened)
        # With an epsilon as target, other ways are chosen by the schema alone.
        for one in api.preview_plan(made, None if made.aims_at_epsilon else opened):
            said.append(one.words)
            bench.show(said)
            bench.say("Looking for better ways")
    return said


def _opened(bench: Workbench, asked: PlanAsked) -> Any:
    return api.open_source(bench.table(**asked["table"]), schema=Schema.from_toml(asked["schema"]))


def _plan(asked: PlanAsked, **about: Any) -> Any:
    schema = Schema.from_toml(asked["schema"])
    return api.design(schema, *_guarantees(schema, asked), method=_method(asked), **about)


def _guarantees(schema: Schema, asked: PlanAsked) -> Any:
    aims = api.METHODS[asked["method"]].aims if asked["method"] else None
    return api.guarantees_from_options(asked["target"], aims=aims, schema=schema)


def _plan_form(plan: Any) -> dict[str, Any]:
    error, changes = plan.expected_error, ""
    number = plan.statistics.get("expected_changes")
    if plan.statistics.get("unchanged") and number is not None:
        changes = gettext(UNCHANGED)
    elif number is not None:
        several = plan.mechanism is not None and len(plan.mechanism.steps) > 1
        words = noop("About {number} records of {records} are expected to change.")
        if several:
            words = noop("About {number} values of {records} records are expected to change.")
        changes = gettext(
            words, number=numeral(f"{number:,.0f}"), records=numeral(f"{plan.records:,}")
        )
    return {
        "searched": True,
        "method": plan.method.name,
        "records": plan.records,
        "guarantees": [
            {
                "words": plan.promise(claim),
                "asked": claim.asked is not None,
                "assumption": claim.attained.assumption,
            }
            for claim in plan.claims
        ],
        "notices": list(plan.notices),
        "households": list(plan.about_households),
        "changes": changes,
        "error": None if error is None else error.sentence(),
        "errors": []
        if error is None
        else [[gettext(" by ").join(table), share] for table, share in error.tables],
        "choice": plan.statistics.get("choice", ""),
    }


class ProtectAsked(PlanAsked):
    """The same with the folder to write, and what is written besides."""

    to: str
    copies: list[str]
    accept_risk: list[str]


def protect(bench: Workbench, **asked: Unpack[ProtectAsked]) -> dict[str, Any]:
    """Write the release: whole, or not at all."""
    began = time.monotonic()
    bench.say("Finding the plan")
    opened = bench.table(**asked["table"])
    if opened.rows > LARGE:
        bench.let_go("standing")
    with in_language(ENGLISH):  # as all files of a release
        made = _plan(asked, data=opened, looked_at=True)
    bench.say("Protecting")
    release = api.protect(
        opened,
        made,
        to=asked["to"],
        copies=asked["copies"],
        accept_risk=asked["accept_risk"],
        progress=bench.expect(2 * made.records),
    )
    return {"records": release.records, "seconds": time.monotonic() - began}


def check(
    bench: Workbench,
    *,
    table: TableAt,
    release: str,
    digest: str,
) -> dict[str, Any]:
    """Verify a release, and compare its estimates with the original data."""
    del digest  # another one makes it another job
    bench.say("Checking the release")
    opened = bench.table(**table)
    made = api.load(release)
    verdict = api.verify(release, original=opened, say=bench.say)
    bench.say("Comparing it with the original data")
    return {
        "valid": verdict.valid,
        "checks": [check.to_json() for check in verdict.checks],
        "notes": list(verdict.notes),
        "publishable": None if verdict.publishable is None else verdict.publishable.to_json(),
        "beside": _compared(made, opened),
    }


def attack(
    bench: Workbench, *, table: TableAt, release: str, digest: str, checked: bool
) -> dict[str, Any]:
    """Attack a release; one that was verified is not verified again."""
    del digest  # another one makes it another job
    bench.say("Attacking the release")
    opened = bench.table(**table)
    with bench.giving_way():
        result: Any = api.audit(
            api.load(release), original=opened, belongs=checked, progress=bench.say
        )
    return {
        "attacks": [{"name": one.name, "cells": one.cells()} for one in result.measured],
        "holds": result.holds,
        "verdict": result.verdict,
        "seen": [*result.seen, *result.notes],
        "before": result.before.uniques,
        "after": result.after.uniques,
        "by_set": result.after.by_set,
    }


def _compared(release: Any, opened: Any) -> list[dict[str, Any]]:
    """Of each key: counts in the original data and estimates from the release."""
    compared: list[dict[str, Any]] = []
    schema = release.certificate.true_schema
    for shape in api.shapes_of(opened, schema, [column.name for column in schema.randomised]):
        try:
            cells = release.crosstab(shape.name, weighted=False).to_json()["cells"]
        except PramanaError:
            continue
        by_label = {str(cell[shape.name]): cell for cell in cells}
        labels = [str(v) for v in shape.values] or [label for label, _ in shape.bars]
        bins = schema.bin_words.get(shape.name, {})
        rows = [
            {"label": bins.get(label, label), "truth": number, **_figures(by_label.get(key))}
            for key, (label, number) in zip(labels, shape.bars, strict=True)
        ]
        drawn_rows = tuple(tuple(row.values()) for row in rows)
        chart = drawn("original_chart", shape.name, drawn_rows, identity=f"beside-{len(compared)}")
        compared.append({"name": shape.name, "rows": rows, **chart})
    return compared


def _figures(cell: dict[str, Any] | None) -> dict[str, float | None]:
    names = ("estimate", "low", "high")
    return {name: None if cell is None else cell[name] for name in names}


def preview_survey(bench: Workbench, *, text: str) -> dict[str, Any]:
    """The page of a survey file to try out, the texts for respondents, and the expected error."""
    bench.say("Making the page")
    page, definition, plan = api.preview_survey(text)
    error = plan.expected_error
    return {
        "page": page,
        "minimum": definition.survey.minimum,
        "expected": definition.survey.expected,
        "guarantees": definition.sentences(definition.guarantees()),
        "hoped": definition.sentences(definition.guarantees(definition.survey.expected))[0],
        "error": "" if error is None else error.sentence(),
    }


def report(
    bench: Workbench,
    *,
    table: TableAt,
    release: str,
    digest: str,
    to: str,
    external: bool,
    name: str,
    office: str,
) -> dict[str, Any]:
    """Write a report as a page and a PDF; the public one is made without the original data."""
    del digest  # another one makes it another job
    bench.say("Writing the report")
    original = None if external else bench.table(**table)
    made = api.report(
        release,
        original=original,
        external=external,
        name=name,
        office=office,
        language=language(),
        progress=bench.say,
    )
    bench.say("Writing the report")
    mode = None if external else 0o600  # it holds statistics of the original data
    places = [Path(to).with_suffix(end) for end in (".html", ".pdf")]
    for place in places:  # the page has asked before one is replaced
        made.save(place, force=True, mode=mode)
    return {"files": [place.name for place in places]}
