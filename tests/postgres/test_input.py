"""A table of a real PostgreSQL as the true table, by its address."""

from __future__ import annotations

import datetime as dt
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import pramana as pm
from pramana.api import open_source
from pramana.errors import InvalidTable

SECRET = "SECRET4711"  # noqa: S105 - of nobody


@pytest.fixture
def people(postgres: str) -> Iterator[str]:
    """A table with numbers, dates, truth values and missing ones; its address."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE people (sex text, age int, born date, income numeric(10, 2), works bool)"
        )
        rows = [
            (
                "F" if at % 2 else "M",
                20 + at % 50,
                dt.date(1980, 1, 1 + at % 28),
                100.5 * at,
                at % 3 == 0,
            )
            for at in range(400)
        ]
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s, %s, %s)", rows)
        connection.execute("INSERT INTO people VALUES (NULL, NULL, NULL, NULL, NULL)")
        try:
            yield f"{postgres}#people"
        finally:
            connection.execute("DROP TABLE people")


def test_types_and_values_come_as_they_are(people: str) -> None:
    """Every type, missing values too; also by a path, which makes one slash of two."""
    opened = open_source(people)

    assert opened.rows == 401
    assert opened.schema.names == ["sex", "age", "born", "income", "works"]
    assert [str(kind) for kind in opened.schema.types] == [
        "string", "int64", "date32[day]", "double", "bool",
    ]  # fmt: skip
    assert open_source(Path(people)).rows == 401
    assert open_source(people.replace("#people", "#public.people")).rows == 401


def test_a_release_is_made_from_it(people: str, tmp_path: Path) -> None:
    """Describe, design, protect and verify, without a file of the truth."""
    schema = pm.describe(
        people, keys=["sex", "age"], sensitive=["income"], identifiers=["born", "works"]
    )
    plan = pm.design(schema, pm.PkAnonymity(3), data=people, method="retention")
    pm.protect(people, plan, to=tmp_path / "out")

    assert pm.verify(tmp_path / "out").valid
    assert pm.load(tmp_path / "out").records == 401


def test_commands_to_paste_name_its_address(people: str, tmp_path: Path) -> None:
    """With both slashes, as somebody wrote it, and without the password."""
    secret = people.replace("office@", f"office:{SECRET}@")
    to = ["describe", secret, "-o", str(tmp_path / "s.toml")]
    command = [sys.executable, "-m", "pramana", *to]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert shlex.split(said.rpartition("): ")[2])[2] == people
    assert SECRET not in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda url: url.replace("#people", "#nobody"), "Table 'nobody' of .* cannot be read"),
        (lambda url: url.replace("#people", ""), "Say which table"),
        (
            lambda url: url.replace("office@", f"office:{SECRET}@").replace("/postgres#", "/none#"),
            "cannot be read",
        ),
        (lambda _: f"postgres://office:{SECRET}@127.0.0.1:1/base#people", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line_without_a_password(people, change, said) -> None:
    """No table, no name, no base, no server: one line, and no password in it."""
    with pytest.raises(InvalidTable, match=said) as found:
        open_source(change(people))
    assert SECRET not in str(found.value)
    assert "office" not in str(found.value)
    assert "\n" not in str(found.value)
