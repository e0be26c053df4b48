"""Dates in text: every usual spelling is recognised over the whole column, and none is guessed."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import InvalidSchema, InvalidTable
from pramana.schema.recoded_table import formats_of, read_dates
from pramana.schema.schema import Schema
from tests.cli.conftest import Run

DAYS = [dt.datetime(1999, 12, 31, 23, 5), dt.datetime(2001, 2, 3, 4, 45), dt.datetime(2020, 2, 29)]
SPELLINGS = (
    "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y", "%d%b%Y", "%B %d, %Y",
    "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p", "%Y/%m/%d %H:%M:%S",
)  # fmt: skip


@pytest.mark.parametrize("form", SPELLINGS)
def test_every_spelling_is_found_and_read(form):
    """One format fits, and years and months are those of the dates; zeros in front may lack."""
    texts = [day.strftime(form) for day in DAYS]
    short = [text.replace(" 0", " ").replace("/0", "/").removeprefix("0") for text in texts]

    assert formats_of(pa.array(texts)) == (form,)
    found = read_dates("born", pa.array([*texts, *short, None]), form).to_pylist()
    assert [(day.year, day.month, day.day) for day in found[:-1]] == [
        (day.year, day.month, day.day) for day in DAYS * 2
    ]
    assert found[-1] is None


@pytest.mark.parametrize("mark", "./-")
def test_day_and_month_are_not_guessed(mark):
    """No day beyond 12: both fit, until one value tells."""
    texts = [f"0{n}{mark}0{n + 1}{mark}2001" for n in range(1, 9)]
    either = {f"%d{mark}%m{mark}%Y", f"%m{mark}%d{mark}%Y"}

    assert set(formats_of(pa.array(texts))) == either
    assert formats_of(pa.array([*texts, f"13{mark}01{mark}2001"])) == (f"%d{mark}%m{mark}%Y",)
    assert formats_of(pa.array([*texts, f"01{mark}13{mark}2001"])) == (f"%m{mark}%d{mark}%Y",)


@pytest.mark.parametrize("wrong", ["31.02.2001", "00.01.2001", "1.1.01", "north", "1.1.2001 x"])
def test_what_is_no_date_makes_no_column_of_dates(wrong):
    """A day that the month does not have, two digits of a year, words."""
    texts = pa.array(["31.12.1999", "01.02.2001", wrong])

    assert formats_of(texts) == ()
    with pytest.raises(InvalidTable, match="'born' must hold dates written as") as found:
        read_dates("born", texts, "%d.%m.%Y")
    assert wrong not in str(found.value)


@pytest.mark.parametrize("form", ["", "year", "%d.%m", "%Y", "%x %Y %m", 3])
def test_a_format_without_year_and_month_is_refused(form):
    """With line and column where it stands in a file; and one without date."""
    text = f'[columns.born]\nrole = "key"\ndate = "year"\ndate_format = {form!r}\n'
    with pytest.raises(InvalidSchema, match="date_format"):
        Schema.from_toml(text.replace("'", '"'))
    with pytest.raises(InvalidSchema, match="date_format goes with date"):
        Schema.from_toml('[columns.born]\nrole = "sensitive"\ndate_format = "%d.%m.%Y"\n')


def born_file(form, days):
    """A CSV of people whose dates are written so."""
    generator = np.random.default_rng(4)
    rows = ["born,sex"]
    for n in generator.integers(0, days, 400):
        day = dt.date(1960, 1, 1) + dt.timedelta(days=int(n))
        rows.append(f'"{day.strftime(form)}",{generator.choice(["F", "M"])}')
    Path("people.csv").write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y"])
def test_from_a_file_to_a_release(run: Run, tmp_path: Path, monkeypatch, form):
    """describe writes the format; years are released, and the release verifies with the truth."""
    monkeypatch.chdir(tmp_path)
    born_file(form, 8000)

    assert run("describe people.csv --keys born,sex -o s.toml").code == 0
    schema = Schema.load("s.toml")
    assert (schema["born"].recoding.date, schema["born"].recoding.date_format) == ("year", form)
    made = run("protect people.csv --schema s.toml --k 3 --method retention -o release")
    assert made.code == 0, made
    assert form in Path("release/codebook.csv").read_text()
    loaded = pm.load("release")
    assert loaded.certificate.schema["born"].recoding.date_format == form
    assert run("verify release --original people.csv").code == 0


def test_what_cannot_be_told_apart_is_said(run: Run, tmp_path: Path, monkeypatch):
    """The first days of months alone: the file gets both formats to choose from, and no value."""
    monkeypatch.chdir(tmp_path)
    texts = [f"0{1 + n % 9}/0{1 + n % 7}/200{n % 8}" for n in range(400)]
    Path("people.csv").write_text("born,sex\n" + "".join(f"{t},F\n{t},M\n" for t in texts))

    assert run("describe people.csv --keys born,sex -o s.toml").code == 0
    words = Path("s.toml").read_text()
    assert "day and month are ambiguous" in words
    assert "%d/%m/%Y" in words
    assert "%m/%d/%Y" in words
    assert Schema.load("s.toml")["born"].recoding.date is None
