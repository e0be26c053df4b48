"""The default path on real files: describe, advise, paste; errors of questions, risk of the file.

Needs --data. Each file is described without any option, advice is asked for the questions below at
one chance in k, and the recommended method is released once, without a seed. Stated are the
relative errors of the questions against the original data, the largest share of people whom an
attacker finds by unchanged columns, and the share of unique records that are released unchanged. A
question about a column that ``describe`` drops is not asked; which are is stated.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import pramana as pm
from benchmarks import _worlds as worlds
from benchmarks._measure import Result
from pramana import api
from pramana.evaluation.questions import ENOUGH, StatedQuestion, exact_release
from pramana.risk.unchanged import measure_unchanged
from pramana.schema.codec import encode
from pramana.schema.recoded_table import recoded
from pramana.verification.whole_file import file_risk, verdict_of

QUESTIONS = {
    "nhanes2.dta": ("race*region", "age*sex", "bpdiast by race", "highbp by region"),
    "SD2011.rda": ("edu*sex", "region*sex", "income by edu", "income by socprof"),
    "eusilc.RData": ("db040*rb090", "hsize*pl030", "eqIncome by rb090", "eqIncome by db040"),
    "nlsw88.dta": ("race*married", "grade*south", "wage by race", "wage by collgrad"),
    "adult_train.csv": ("education*sex", "race*workclass", "capital-gain by education"),
    "meps2023_adults.csv": ("RACETHX*SEX", "EDUCYR*SEX", "TOTEXP23 by SEX", "TOTEXP23 by RACETHX"),
    "uscensus1990raw_sample3000.csv": ("SEX*CITIZEN", "AGE*SEX", "INCOME1 by SEX"),
    "crc_ma2019.csv": ("SEX*MSP", "EDU*SEX", "PINCP by SEX", "PINCP by EDU"),
    "sdcmicro_testdata.csv": ("urbrur*sex", "relat*sex", "income by urbrur", "income by sex"),
    "acs2018_income_sample.parquet": (
        "Gender*Race",
        "Marital Status*Gender",
        "Income by Gender",
        "Income by Race",
    ),
    "sdcmicro_free1.csv": ("SEX*MARSTAT", "EDUC1*SEX", "INCOME by SEX", "INCOME by EDUC1"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", help="folder of real data; or the variable PRAMANA_DATA")
    parser.add_argument("--files", nargs="+", choices=list(QUESTIONS), default=list(QUESTIONS))
    parser.add_argument("--k", type=float, default=20)


def run(options: argparse.Namespace) -> Result:
    head = ("file", "keys", "unchanged", "dropped", "method", "median error", "worst question",
            "by steps", "not asked", "found by unchanged columns", "unchanged unique records",
            "colour", "seconds")  # fmt: skip
    result = Result(f"Describe, advise, paste at k = {options.k:g}", head)
    data = worlds.folder(options.data)
    if data is None:
        result.notes.append("Needs --data, the folder of real data.")
        return result
    for name in options.files:
        if (data / name).exists():
            row = _path(data / name, QUESTIONS[name], options.k)
            print("  ".join(row), file=sys.stderr, flush=True)
            result.rows.append(row)
    result.notes.append(
        "Median and largest relative error: the median of cells and groups of 20 records and more, "
        "then over questions and the largest, against the original data in the steps of the "
        "schema. By steps: what these steps change in the means. Found: people who are unique on "
        "two to six unchanged columns."
    )
    return result


def _path(place: Path, questions: tuple[str, ...], k: float) -> tuple[str, ...]:
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        described = pm.describe(place)
        schema = described.schema
        released = {column.name for column in schema.released}
        asked = [q for q in questions if set(StatedQuestion.of_text(q).columns) <= released]
        unchanged = len(schema.released_as_is)
        shape = (str(len(schema.keys)), str(unchanged), str(len(schema.columns) - len(released)))
        said = (place.name, *shape)
        left = str(len(questions) - len(asked))
        try:
            advice = api.advise(place, schema, k=k, asked=asked)
        except pm.PramanaError as error:
            return _nothing(said, "refused", left, str(error))
        best = advice.recommended
        if best is None:
            return _nothing(said, "none", left, advice.why()[0])
        opened = api.open_source(place, schema=schema)
        planned = best.plan
        plan = pm.design(planned.schema, *planned.asked, data=opened, method=planned.method)
        with tempfile.TemporaryDirectory() as folder:
            try:
                release = pm.protect(opened, plan, to=Path(folder) / "release")
            except pm.PramanaError as error:
                return _nothing(said, "refused", left, str(error))
            risk = file_risk(release.certificate, release.opened)
            verdict = verdict_of(release.certificate, risk)
            errors = _errors(release, opened, plan, asked)
            same = measure_unchanged(plan.schema, opened, release.opened).unique_share
    worst = "none" if risk.worst is None else f"{risk.worst.share:.1%}"
    return (
        *said, best.scenario.title, f"{np.median(errors):.1%}", f"{max(errors):.1%}",
        f"{_by_steps(place, schema, asked):.1%}", left, worst,
        f"{same:.1%}", _in_colour(verdict), f"{time.perf_counter() - begin:.0f}",
    )  # fmt: skip


def _in_colour(verdict) -> str:
    """The colour; what is not green is not publishable, because."""
    if str(verdict.colour) == "green":
        return "green"
    return f"{verdict.colour}, not publishable, because: {verdict.sentence}"


def _nothing(said: tuple[str, ...], method: str, left: str, why: str) -> tuple[str, ...]:
    """The row of a file that has no release."""
    return (*said, method, "", "", "", left, "", "", f"not publishable: {why}", "")


def _by_steps(place: Path, schema, asked: list[str]) -> float:
    """The largest median error of a mean that recoding alone makes: steps and cuts of numbers."""
    means = [q for q in map(StatedQuestion.of_text, asked) if q.kind == "means"]
    names = sorted({name for question in means for name in question.columns})
    if not means:
        return 0.0
    steps = recoded(api.open_source(place, schema=schema), schema).to_arrow(names)
    coarse = steps.to_pandas()
    for column in (schema.column(name) for name in names):
        if column.binned:  # each bin as its middle
            middles = np.array([*column.domain.centres, np.nan])
            coarse[column.name] = middles[encode(column, steps.column(column.name))]
    exact = api.open_source(place).to_arrow(names).to_pandas()
    exact = exact.where(coarse.notna())  # codes that mean missing are no amounts
    found = [0.0]
    for question in means:
        by = [coarse[name] for name in question.by]  # the same groups on both sides
        sizes = coarse.groupby(by, observed=True)[question.of].count()
        sides = (
            pd.to_numeric(side[question.of], errors="coerce").groupby(by, observed=True).mean()
            for side in (coarse, exact)
        )
        ours, theirs = (side[sizes >= ENOUGH] for side in sides)
        found.append(float((ours / theirs - 1).abs().median()))
    return max(found)


def _errors(release, opened, plan, asked: list[str]) -> list[float]:
    """The median relative error of each question."""

    exact = exact_release(plan.schema, opened)
    lost = [StatedQuestion.of_text(text).loss_of(release, exact) for text in asked]
    return [one.loss if one.median is None else one.median for one in lost]
