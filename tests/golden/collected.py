"""Surveys that people answer by the published protocol, with seeded random words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pramana as pm
from pramana import collect
from tests.golden.facts import (
    Facts,
    call,
    certificate_facts,
    estimate_facts,
    get,
    numbers,
    plain,
    shortened,
    table_facts,
    verdict_facts,
)
from tests.golden.renames import COLLECT, WORDS

PEOPLE = 300

ANSWERS = {
    "age": ("[0, 30)", "[30, 60)", "[60, 120]"),
    "employed": ("yes", "no", "prefer not to say"),
    "travel": ("on foot", "bus", "car", "does not apply"),
}

SURVEY = """
title = "How we live"
expected = 400
k = 5
method = "{method}"

[[questions]]
name = "age"
text = "How old are you?"
bins = [0, 30, 60, 120]

[[questions]]
name = "employed"
text = "Are you employed?"
answers = ["yes", "no"]
optional = true

[[questions]]
name = "travel"
text = "How do you get to work?"
answers = ["on foot", "bus", "car"]
ask_if = {{ employed = ["yes"] }}
"""


def collected_case(method: str, folder: Path) -> Facts:
    """A survey from its file to its release; records lie in random order, so they are sorted."""
    source = folder / "survey.toml"
    source.write_text(SURVEY.format(method=WORDS[method]))
    _use("new_survey")(source, folder / "survey")
    form = json.loads((folder / "survey" / "definition.json").read_text())
    definition = _use("load")(folder / "survey")
    with _use("answers")(folder / "survey") as store:
        sent = _use("Sent")
        store.accept([sent(text, f"{place:064x}") for place, text in enumerate(_records(form))])
        status = _use("status_of")(definition, store)
        release = _use("close_survey")(definition, store, folder / "release")
    return {
        "mechanism": shortened(plain(form["mechanism"])),
        "guarantees": numbers(form["guarantees"]),
        "status": numbers(status.to_json()),
        "certificate": certificate_facts(folder / "release"),
        "records": table_facts(get(release, "table"), ordered=False),
        "verdict": verdict_facts(call(pm, "verify", folder / "release")),
        "travel": estimate_facts(call(release, "crosstab", "travel")),
        "age*employed": estimate_facts(call(release, "crosstab", "age", "employed")),
    }


def panel_case(folder: Path) -> Facts:
    """A survey of several waves: its two stages of randomisation, and what they guarantee."""
    source = folder / "survey.toml"
    waves = "waves = 4\nall_waves_epsilon = 3.0\n"
    source.write_text(waves + SURVEY.format(method=WORDS["reports"]))
    _use("new_survey")(source, folder / "survey")
    form = json.loads((folder / "survey" / "definition.json").read_text())
    return {
        "mechanism": shortened(plain(form["mechanism"])),
        "stages": form["stages"],
        "guarantees": numbers(form["guarantees"]),
    }


def _use(name: str) -> Any:
    return getattr(collect, COLLECT[name])


def _records(form: Any) -> Iterator[str]:
    """What the devices of all people send, by the protocol of docs/reference/survey_protocol.md."""
    random = Random(17)
    entries = [_entry(entry) for entry in form["mechanism"]]
    by_sets = "weight" in form["mechanism"][0]
    widths = [len(str(len(cells) - 1)) for _, cells, _ in entries]
    for _ in range(PEOPLE):
        employed = ANSWERS["employed"][int(2.2 * random.random())]
        travel = ANSWERS["travel"][int(3 * random.random()) if employed == "yes" else 3]
        truth = {
            "age": ANSWERS["age"][int(3 * random.random())],
            "employed": employed,
            "travel": travel,
        }
        asked = _set(form["mechanism"], _word(random)) if by_sets else 0
        steps = entries[asked : asked + 1] if by_sets else entries
        wide = [max(widths)] if by_sets else widths
        cells = [_sent(step, truth, _word(random)) for step in steps]
        parts = [f"{cell:0{width}d}" for cell, width in zip(cells, wide, strict=True)]
        first = f"{asked:0{len(str(len(entries) - 1))}d}" if by_sets else "0"
        yield ".".join([first, *parts])


def _entry(entry: Any) -> tuple[list[str], list[tuple[str, ...]], int]:
    """Columns of an entry of the mechanism, its cells, and its weight of each other cell."""
    columns, matrix = entry["columns"], entry["matrix"]
    listed = matrix.get("labels") or product(*(ANSWERS[name] for name in columns))
    cells = [tuple(cell) if isinstance(cell, list | tuple) else (cell,) for cell in listed]
    return columns, cells, int(matrix["other"])


def _word(random: Random) -> int:
    return int(random.random() * 2**32) << 32 | int(random.random() * 2**32)


def _set(mechanism: Any, word: int) -> int:
    """The first set whose weights, summed up to it, exceed the word."""
    total = 0
    for place, entry in enumerate(mechanism):
        total += int(entry["weight"])
        if word < total:
            return place
    raise AssertionError("The weights of all sets sum to 2**64.")


def _sent(step: tuple[list[str], list[tuple[str, ...]], int], truth: Any, word: int) -> int:
    columns, cells, other = step
    if word < len(cells) * other:
        return word // other
    return cells.index(tuple(truth[name] for name in columns))
