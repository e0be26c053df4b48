"""Every verb that writes, in a box of its own, and what must hold of the box whatever happens."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

MARKER = "SECRET4711"
"""Stands in the cells of the true table only."""

STALE = ".pramana-999999999-1a2b"
"""What a process that ended long ago has left."""

SCHEMA = """
[columns.name]
role = "identifier"
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.age]
role = "key"
bins = [0, 20, 40, 60, 80, 100]
[columns.income]
role = "sensitive"
"""


@dataclass(frozen=True)
class Verb:
    """A command that writes, and the names that it may write or change; after an @ a script."""

    name: str
    words: str
    targets: tuple[str, ...]
    replaces: bool = False


PROTECT = (
    "protect people.csv --schema schema.toml --method retention --k 2 --accept-risk income -o new"
)
STATED = "people.csv --schema schema.toml --k 2"
ACCEPTED = "--accept-risk income"
VERBS = (
    Verb("protect", PROTECT, ("new",)),
    Verb("protect parquet", PROTECT.replace("people.csv", "people.parquet"), ("new",)),
    Verb("protect feather", f"{PROTECT} --format feather", ("new",)),
    Verb("protect sav", f"{PROTECT} --format sav", ("new",)),
    Verb("protect dta", f"{PROTECT} --format dta", ("new",)),
    Verb("protect --sign", f"{PROTECT} --sign key", ("new",)),
    Verb("protect --ledger", f"{PROTECT} --ledger L", ("new", "L", "L.key", "L.lock")),
    Verb("protect --force", f"{PROTECT[:-3]}old --force", ("old",), replaces=True),
    Verb("describe", "describe people.csv -o new.toml", ("new.toml",)),
    Verb("describe --force", "describe people.csv -o old.toml --force", ("old.toml",), True),
    Verb("keygen", "keygen office", ("office", "office.pub")),
    Verb("report", "report old --external -o new.html", ("new.html",)),
    Verb("report --force", "report old --external -o old.html --force", ("old.html",), True),
    Verb("report --force pdf", "report old --external -o old.pdf --force", ("old.pdf",), True),
    Verb("compare", "compare people.csv --schema schema.toml --k 2 -o new.html", ("new.html",)),
    Verb("compare --force", "compare people.csv --schema schema.toml --k 2 -o old.html --force",
         ("old.html",), True),
    Verb("synthesize", "synthesize old -o new.parquet --method rank", ("new.parquet",)),
    Verb("synthesize --force", "synthesize old -o old.parquet --method rank --force",
         ("old.parquet",), True),
    Verb("synthesize csv", "synthesize old -o new.csv --method rank", ("new.csv",)),
    Verb("synthesize sav", "synthesize old -o new.sav --method rank", ("new.sav",)),
    Verb("protect --csv --stata", f"{PROTECT.replace('.csv', '.parquet')} --csv --stata --spss",
         ("new",)),
    Verb("protect resample", PROTECT.replace('retention', 'resample') + ' --ledger book',
         ("new", "book", "book.key", "book.lock")),
    Verb("protect --steward-folder", f"{PROTECT} --steward-folder kept", ("new", "kept")),
    Verb("report pdf", "report old --external -o new.pdf", ("new.pdf",)),
    Verb("collect new", "collect new survey.toml -o new-survey", ("new-survey",)),
    Verb("collect close", "collect close asked -o new", ("new", "asked")),
    Verb("collect invite", "collect invite coded 20 -o codes", ("codes", "coded")),
    Verb("collect answers", "@answers", ("asked",), replaces=True),
    Verb("collect demo", "collect demo --people 100 -o new-demo", ("new-demo",)),
    Verb("demo", "demo --records 200 --k 5", ("demo-data", "demo-release")),
    Verb("studio", "@studio", (".pramana-studio",), replaces=True),
    Verb("clean", "clean stale --remove", ("stale",), replaces=True),
    Verb("design --save-plan", f"design {STATED} --save-plan new.plan", ("new.plan",)),
    Verb("protect --plan", f"protect people.csv --plan old.plan {ACCEPTED} -o new", ("new",)),
    Verb("protect reports", f"protect {STATED} --method attribute-sampling {ACCEPTED} -o new",
         ("new",)),
    Verb("protect --force --ledger", f"{PROTECT[:-3]}old --force --ledger book",
         ("old", "book", "book.key", "book.lock"), True),
    Verb("synthesize dta", "synthesize old -o new.dta --method rank", ("new.dta",)),
    Verb("synthesize feather", "synthesize old -o new.feather --method rank", ("new.feather",)),
    Verb("report --original", "report old --original people.csv -o new.html", ("new.html",)),
    Verb("collect new --sign", "collect new survey.toml -o new-survey --sign key",
         ("new-survey",)),
    Verb("collect close --sign", "collect close asked -o new --sign key", ("new", "asked")),
)  # fmt: skip
READERS = tuple(
    Verb(words.split()[0], words, ())
    for words in ("verify old", "estimate old --by sex", "audit people.csv --schema schema.toml",
                  "design people.csv --schema schema.toml --k 2", "ledger show book",
                  "advise people.csv --schema schema.toml --k 2", "clean",
                  "collect status asked")
)  # fmt: skip
"""Commands that write nothing: they too end in one line when they are told to."""

EXPERIMENT = Verb("experiment", "experiment run ghatak --quick -o new", ("new",))


NOT_HERE = ("__main__", "benchmarks", "tests", "multiprocessing")
COMMON = ("duckdb", "rich.console", "rich.table", "pramana.api", "pramana.protecting",
          "pramana.methods.choice", "pramana.analysis.release", "pramana.verification.verify",
          "pramana.evaluation.report", "pramana.cli.options", "pramana.io.csv",
          "pramana.io.parquet", "pramana.schema.describe", "pramana.analysis.readings",
          "pramana.methods.retention", "pramana.risk.unchanged", "altair",
          "vl_convert")  # fmt: skip
"""What most commands load: it is loaded before anything is forked."""


def make_template(folder: Path, *, records: int = 400) -> None:
    """What every box holds: tables, a schema, a release and files to replace, things of others."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    from pramana.collect.simulated_survey import SURVEY

    for name in COMMON:
        import_module(name)
    folder.mkdir(parents=True)
    draw = np.random.default_rng(7)
    people = pa.table({
        "name": [f"{MARKER}n{at}" for at in range(records)],
        "sex": draw.choice(["F", "M"], records), "age": draw.integers(0, 100, records),
        "income": [f"{MARKER}i{at}" for at in range(records)],
    })  # fmt: skip
    pa.csv.write_csv(people, folder / "people.csv")
    pq.write_table(people, folder / "people.parquet")
    (folder / "schema.toml").write_text(SCHEMA)
    (folder / "old.toml").write_text(SCHEMA)
    (folder / "survey.toml").write_text(SURVEY.format(expected=500))
    (folder / "diary.txt").write_text("learn")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "diary.txt").write_text("mine too")
    (folder / "tmp").mkdir()
    (folder / "stale" / STALE / "old").mkdir(parents=True)
    (folder / "stale" / STALE / "old" / "data.csv").write_text("half a ta")
    (folder / "stale" / "diary.txt").write_text("mine as well")
    _make_survey(folder / "survey.toml", folder / "asked")
    asked = f"codes = true\n{SURVEY.format(expected=500)}"
    (folder / "coded.toml").write_text(asked)
    _make_survey(folder / "coded.toml", folder / "coded", answers=0)
    for words in (f"{PROTECT[:-3]}old", f"{PROTECT[:-3]}noted --ledger book", "keygen key",
                  "synthesize old -o old.parquet --method rank",
                  f"design {STATED} --save-plan old.plan",
                  "report old --external -o old.html",
                  "report old --external -o old.pdf"):  # fmt: skip
        code = run_in_fork(folder, words)
        if code:
            raise SystemExit(f"'{words}' failed: {told(folder)}")


def _make_survey(source: Path, folder: Path, *, answers: int = 30) -> None:
    """A survey that so many people have answered."""
    from pramana.collect.survey_folder import new_survey, opened_store

    definition, _ = new_survey(source, folder)
    with opened_store(folder, definition) as store:
        store.accept(_sent(definition, range(answers)))


def _sent(definition, numbers):
    """What people send."""
    from pramana.collect.definition import respond
    from pramana.collect.simulated_survey import people
    from pramana.collect.store import Sent

    widths = definition.channel.widths
    return [
        Sent(
            respond(definition, people(1, seed=number)[0]).spelled(widths=widths), f"{number:064x}"
        )
        for number in numbers
    ]


def _answers() -> None:
    """People answer a survey, and each gets a word of thanks when the answer is kept."""
    from pramana.collect.survey_folder import load, opened_store

    definition = load(Path("asked"))
    with opened_store(Path("asked"), definition) as store:
        for number in range(100, 110):
            store.accept(_sent(definition, [number]))
            os.write(1, b"kept\n")
    raise SystemExit(0)


def _studio() -> None:
    """What the studio keeps while somebody works in it."""
    from pramana.studio.session import StudioSession

    session = StudioSession(Path())
    session.change("Opened", file="people.csv")
    session.change("Named", release="new")
    session.undo()
    session.close()
    raise SystemExit(0)


SCRIPTS = {"@answers": _answers, "@studio": _studio}


def box_of(template: Path, place: Path) -> Path:
    """A fresh copy of the template."""
    shutil.rmtree(place, ignore_errors=True)
    for name in ("out", "err"):
        place.with_name(f"{place.name}.{name}").unlink(missing_ok=True)
    shutil.copytree(template, place, symlinks=True)
    return place


def enter(folder: Path, words: str, *, said: Path | None = None) -> None:
    """Run a command in this process, which is a fork, as the entry point does, and leave.

    What it says goes to files beside the folder, or to others.
    """
    said = said or folder
    code = 70
    try:
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(one, signal.SIG_DFL)  # until the command hears them
        os.chdir(folder)
        os.environ["TMPDIR"] = str(folder / "tmp")
        for number, name in ((1, "out"), (2, "err")):
            place = said.with_name(f"{said.name}.{name}")
            os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
        sys.stdout, sys.stderr = (os.fdopen(at, "w", closefd=False) for at in (1, 2))
        entered(words)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def entered(words: str) -> None:
    """Run a command line, or a script, whose errors a page would tell in one line."""
    from pramana.cli.app import main
    from pramana.errors import PramanaError

    if words not in SCRIPTS:
        main(words.split())
    try:
        SCRIPTS[words]()
    except (OSError, PramanaError) as error:
        print(f"pramana: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        raise SystemExit(2) from None


def started(folder: Path, words: str) -> int:
    """A command in a fork: its number."""
    number = os.fork()
    if not number:
        enter(folder, words)
    return number


def run_in_fork(folder: Path, words: str) -> int:
    """The exit code of a command."""
    return os.waitstatus_to_exitcode(os.waitpid(started(folder, words), 0)[1])


def told(folder: Path) -> str:
    """What the last command in a box said on stderr; nothing, if it did not come to that."""
    place = folder.parent / f"{folder.name}.err"
    return place.read_text(errors="replace") if place.exists() else ""


def killed_after(folder: Path, words: str, seconds: float) -> None:
    """Run a command and kill it after a while."""
    number = started(folder, words)
    time.sleep(seconds)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)


def adopt() -> None:
    """From now on processes whose parent was killed are children of this one (Linux)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def ends_with_parent() -> None:
    """From now on this process ends when the one that started it does (Linux)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def outlived(*, patience: float = 10) -> list[str]:
    """What processes that live on though their parent was killed are doing; they are ended."""
    deadline = time.monotonic() + patience
    while left := _children():
        for one in left:
            os.waitpid(one, os.WNOHANG)
        if time.monotonic() > deadline:
            break
        time.sleep(0.002)
    found = [Path(f"/proc/{one}/cmdline").read_text().replace("\0", " ")[:200] for one in left]
    for one in left:
        os.kill(one, signal.SIGKILL)
        os.waitpid(one, 0)
    return found


def _children() -> list[int]:
    """The children of this process, but for the one that reads for it."""
    from pramana.io import subprocess_reader as child

    own = child._RUNNING.get(os.getpid())
    listed = Path("/proc/self/task", str(os.getpid()), "children")
    numbers = [int(one) for one in listed.read_text().split()] if listed.exists() else []
    return [one for one in numbers if own is None or one != own.pid]


def import_what_verbs_need(verbs, template: Path, place: Path) -> None:
    """Load here what commands load, so that a fork begins at once; nothing is run here."""
    for verb in verbs:
        reader, writer = os.pipe()
        number = os.fork()
        if not number:
            _run_and_tell(template, place, verb, writer)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            names = pipe.read().split()
        os.waitpid(number, 0)
        for name in names:
            if name.split(".")[0] not in NOT_HERE:
                with suppress(Exception):  # parts of packages that only these load
                    import_module(name)


def _run_and_tell(template: Path, place: Path, verb: Verb, writer: int) -> None:
    try:
        folder = box_of(template, place)
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        entered(verb.words)
    except BaseException:
        os.write(writer, " ".join(sys.modules).encode())
    finally:
        os._exit(0)


# -- what must hold --------------------------------------------------------------------------------


def content(folder: Path) -> dict[str, str]:
    """Every file of a box, by a digest."""
    found = {}
    for place in sorted(folder.rglob("*")):
        name = str(place.relative_to(folder))
        if place.is_symlink():
            found[name] = f"link to {place.readlink()}"
        elif place.is_file():
            found[name] = hashlib.sha256(place.read_bytes()).hexdigest()
        else:
            found[name] = "folder"
    return found


def all_leftovers(folder: Path):
    """What is named as left, in all folders."""
    from pramana.base.atomic_files import leftovers

    places = [folder, *(place for place in sorted(folder.rglob("*")) if place.is_dir())]
    return [one for place in places for one in leftovers(place)]


def hidden(name: str) -> bool:
    """Whether a path leads into a hidden folder in which something was written."""
    from pramana.base.atomic_files import HIDDEN_NAME

    return any(HIDDEN_NAME.fullmatch(part) for part in name.split("/"))


def faults(folder: Path, before: dict[str, str], verb: Verb) -> list[str]:
    """What must not be: foreign files touched, something partial or gone, leftovers unnamed."""
    wrong = []
    named = {str(one.folder.relative_to(folder)) for one in all_leftovers(folder)}
    after = content(folder)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name) or any(
            name == one or name.startswith(f"{one}/") for one in named
        ):
            continue
        if hidden(name) and name in after:
            wrong.append(f"unmentioned leftover {name}")
        elif name.split("/")[0] not in verb.targets:
            wrong.append(f"foreign file {name} was touched")
    for target in verb.targets:
        own = {n: d for n, d in after.items() if n.split("/")[0] == target}
        if own == {n: d for n, d in before.items() if n.split("/")[0] == target}:
            continue
        if not own:
            wrong.append(f"{target} is gone")
        elif not is_whole(folder, target):
            wrong.append(f"{target} is partial")
    return wrong


def is_whole(folder: Path, target: str) -> bool:
    """Whether what a verb wrote is all that it writes."""
    kind = Path(target).suffix or target
    try:
        return bool(WHOLE[kind](folder / target)) if kind in WHOLE else kind == ".lock"
    except Exception:
        return False


def _is_whole_release(place: Path) -> bool:
    from pramana import api

    return _is_experiment(place) or bool(api.verify(place).valid)


def _is_whole_survey(place: Path) -> bool:
    from pramana.collect.survey_folder import load_survey

    return bool(load_survey(place))


def _is_whole_asked(place: Path) -> bool:
    """A survey that has every answer for which somebody was thanked."""
    from pramana.collect.survey_folder import answers

    said = place.parent.with_name(f"{place.parent.name}.out")
    thanked = said.read_text().splitlines().count("kept") if said.exists() else 0
    with answers(place) as store:
        return _is_whole_survey(place) and store.count() >= 30 + thanked


def held(place: Path) -> list[tuple[object, ...]]:
    """All rows of a store: what it holds, and not how its file lays it out.

    A copy is read: who looks must not mend what a kill has left.
    """
    with tempfile.TemporaryDirectory() as aside:
        copy = Path(shutil.copytree(place, Path(aside) / "store"))
        with closing(sqlite3.connect(copy / "answers.sqlite")) as store:
            tables = ("records", "tokens", "settings")
            return [row for own in tables for row in store.execute(f"SELECT * FROM {own}")]


def _is_whole_codes(place: Path) -> bool:
    """Every code of the file may answer."""
    from pramana.collect.store import Outcome
    from pramana.collect.survey_folder import answers

    codes = place.read_text().split()
    with answers(place.with_name("coded")) as store:
        return len(codes) == 20 and all(store.look_up(code) is Outcome.FREE for code in codes)


def _is_whole_demo(place: Path) -> bool:
    """A file, a survey and a release, one after the other, each of them whole."""
    survey, release = place / "survey", place / "release"
    return (not survey.exists() or _is_whole_survey(survey)) and (
        not release.exists() or _is_whole_release(release)
    )


def _is_whole_studio(place: Path) -> bool:
    saved = place / "session.json"
    return not saved.exists() or len(json.loads(saved.read_text())["states"]) > 1


def _is_whole_stale(place: Path) -> bool:
    """What is of others stands."""
    return (place / "diary.txt").read_text() == "mine as well"


def _is_whole_steward(place: Path) -> bool:
    from pramana.release.folder import read_mechanism

    return bool(read_mechanism(place).steps)


def _is_whole_schema(place: Path) -> bool:
    from pramana.schema.schema import Schema

    return bool(Schema.load(place).names)


def _is_whole_plan(place: Path) -> bool:
    from pramana.api import PlanFile

    return bool(PlanFile.load(place))


def _is_whole_ledger(place: Path) -> bool:
    from pramana import api

    return api.Ledger.load(place.with_suffix("")) is not None


def _is_experiment(place: Path) -> bool:
    page = place / "README.md"
    return page.exists() and "Experiment `" in page.read_text()


def _is_whole_table(path: Path) -> bool:
    from pramana.io.opening import open_table

    return bool(open_table(path).to_arrow().num_rows)


WHOLE = {
    **dict.fromkeys(("new", "old", "demo-release"), _is_whole_release),
    **dict.fromkeys(("new-survey", "coded"), _is_whole_survey),
    "asked": _is_whole_asked,
    "codes": _is_whole_codes,
    "new-demo": _is_whole_demo,
    ".pramana-studio": _is_whole_studio,
    "stale": _is_whole_stale,
    "kept": _is_whole_steward,
    # two files, one after the other, each of them whole
    "demo-data": lambda place: all(map(_is_whole_table, place.glob("*.parquet"))),
    ".toml": _is_whole_schema,
    ".html": lambda place: place.read_text().rstrip().endswith("</html>"),
    ".pdf": lambda place: place.read_bytes().rstrip().endswith(b"%%EOF"),
    **dict.fromkeys((".parquet", ".csv", ".sav", ".dta", ".feather"), _is_whole_table),
    ".plan": _is_whole_plan,
    **dict.fromkeys(("L", "book", ".key"), _is_whole_ledger),
    "office": lambda place: b"PRIVATE" in place.read_bytes(),
    ".pub": lambda place: b"PUBLIC" in place.read_bytes(),
}
"""What makes something whole, by its ending or its name."""
