"""No process executes Python files of the working folder, whatever their names are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.main import get_command

from pramana.base.processes import INSTALLED, import_path
from pramana.cli.app import app
from pramana.collect.simulated_survey import SURVEY
from pramana.io.output import write_table

BINARY = Path(sys.executable).parent / "pramana"
EXECUTED = "executed.log"
SCHEMA = """
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.age]
role = "key"
bins = [0, 20, 40, 60, 80, 100]
[columns.income]
role = "sensitive"
"""
STATED = "people.sav --schema schema.toml --k 2"
IN_A_RELEASE = (
    "verify .",
    "estimate . --by sex,age",
    "verify ../parquet",
    "estimate ../parquet --by sex",
    "regress . income~sex",
    "synthesize . -o ../rebuilt.parquet --method rank",
    "learn . --target sex --synthesis rank",
    "audit . --original ../office/people.sav",
    "attack linkage . --original ../office/people.sav",
    "report . --external -o ../report.html",
)
IN_THE_OFFICE = (
    "describe people.sav",
    "schema schema.toml",
    f"advise {STATED} --method retention",
    f"design {STATED}",
    f"protect {STATED} --method retention -o new --format sav",
    f"protect {STATED} --method resample -o groups",
    f"compare {STATED} --method retention",
    "experiment run ghatak --quick -o experiment",
    "collect new survey.toml -o survey",
    "collect demo --people 100 -o collected",
    "ledger show book",
    "keygen key",
    "demo --records 200 --k 5",
    "clean",
)
VERBS = [
    *(("release", words) for words in IN_A_RELEASE),
    *(("office", words) for words in IN_THE_OFFICE),
]
STUDIO = """
import sys
from pathlib import Path
from pramana.studio import tasks
from pramana.studio.jobs import Jobs

if __name__ == "__main__":
    results = Path("results")
    results.mkdir()
    jobs = Jobs(results, Path())
    job = jobs.ask(tasks.load_ahead, keep=False)
    ended = job.ended.wait(60)
    jobs.close()
    sys.exit(0 if ended and job.condition == "done" else 1)
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder as a user does, without variables that isolate it already."""
    isolating = ("PYTHONSAFEPATH", "NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES")
    environment = {name: value for name, value in os.environ.items() if name not in isolating}
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def plant(folder: Path) -> None:
    """A file of every standard-library name that records that it was executed."""
    log = folder / EXECUTED
    for name in sys.stdlib_module_names:
        record = f"import os\nwith open({str(log)!r}, 'a') as log:\n    print({name!r}, file=log)\n"
        (folder / f"{name}.py").write_text(record)


def executed(folder: Path) -> str:
    log = folder / EXECUTED
    return log.read_text() if log.exists() else ""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in ``office`` and its releases; planted files wherever a command is run."""
    home = tmp_path_factory.mktemp("home")
    office = home / "office"
    office.mkdir()
    draw = np.random.default_rng(7)
    columns = {
        "sex": draw.choice(["F", "M"], 400),
        "age": draw.integers(0, 100, 400),
        "income": draw.integers(100, 900, 400),
    }
    write_table(pa.table(columns), office / "people.sav", file_format="sav")
    (office / "schema.toml").write_text(SCHEMA)
    (office / "survey.toml").write_text(SURVEY.format(expected=500))
    for more in ("-o ../release --format sav", "-o ../parquet --format parquet --ledger book"):
        words = f"protect {STATED} --method retention {more}".split()
        done = run(office, str(BINARY), *words)
        assert done.returncode == 0, done.stderr
    for folder in ("office", "release"):
        plant(home / folder)
    return home


def test_every_verb_is_tried() -> None:
    """The studio has a test of its own."""
    verbs = set(get_command(app).commands)  # type: ignore[attr-defined]
    assert verbs == {words.split()[0] for _, words in VERBS} | {"studio"}


@pytest.mark.parametrize(("folder", "words"), VERBS)
@pytest.mark.deep(every=12)
def test_a_verb_executes_no_file_of_the_working_folder(home: Path, folder: str, words: str) -> None:
    """Neither in the command's process nor in one that it starts."""
    done = run(home / folder, str(BINARY), *words.split())
    assert executed(home / folder) == ""
    assert done.returncode in (0, 1), done.stderr


def test_the_worker_of_the_studio_executes_no_file_of_the_working_folder(tmp_path: Path) -> None:
    """Nor does the resource tracker that multiprocessing starts beside it."""
    place = tmp_path / "work"
    place.mkdir()
    plant(place)
    script = tmp_path / "studio_worker.py"
    script.write_text(STUDIO)
    done = run(place, sys.executable, str(script))
    assert executed(place) == ""
    assert done.returncode == 0, done.stderr


def test_a_child_is_not_given_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the import path of its parent spells it, as in a notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", ".", "lib", str(tmp_path), str(INSTALLED), "/lib"])
    assert import_path() == [str(INSTALLED), "/lib"]
    monkeypatch.chdir(INSTALLED)
    assert str(INSTALLED) in import_path()


def test_a_settings_file_of_the_working_folder_names_no_compiled_code(tmp_path: Path) -> None:
    """Numba would unpickle what lies in the folder that it names."""
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: planted\ncache_locator_classes: a.b\n")
    code = "import pramana, numba.core.config as c; print([c.CACHE_DIR, c.CACHE_LOCATOR_CLASSES])"
    assert run(tmp_path, sys.executable, "-P", "-c", code).stdout.strip() == "['', '']"
