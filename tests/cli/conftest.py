"""A steward's folder with a table and a schema, and a way to run commands in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks._fault_verbs import MARKER
from benchmarks._fault_verbs import SCHEMA as WITHOUT_REGION

from pramana.cli.app import main

REGION = '[columns.region]\nrole = "key"\ncategories = ["north", "south", "west"]\n'
SCHEMA = WITHOUT_REGION.replace("[columns.income]", f"{REGION}[columns.income]")


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, as the entry point does."""

    def run(command: str = "") -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(command.split())
        captured = capsys.readouterr()
        return Outcome(int(left.value.code or 0), captured.out, captured.err)

    return run


def people_csv(records: int = 400) -> str:
    """A table whose identifiers and incomes carry the marker."""
    rng = np.random.default_rng(7)
    sex = rng.choice(["F", "M"], records)
    age = rng.integers(0, 100, records)
    region = rng.choice(["north", "south", "west"], records, p=[0.6, 0.3, 0.1])
    lines = ["name,sex,age,region,income"]
    lines += [
        f"{MARKER}n{i},{s},{a},{r},{MARKER}i{i % 90}"
        for i, (s, a, r) in enumerate(zip(sex, age, region, strict=True))
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def steward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with people.csv and schema.toml, which is the present one."""
    (tmp_path / "people.csv").write_text(people_csv())
    (tmp_path / "schema.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path
