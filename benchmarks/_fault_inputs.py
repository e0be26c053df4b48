"""Mutated tables of every format, schemas, certificates, surveys, ledgers, keys, command lines."""

from __future__ import annotations

import contextlib
import io
import math
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

from benchmarks._fault_verbs import MARKER, PROTECT, SCHEMA, make_template, run_in_fork
from benchmarks.mutations import MUTATIONS

SLOWEST = 30
"""Seconds after which a case is begun again, with ten times as many before it counts as a hang.

Some commands do work for half a minute of a machine that others use.
"""

ALLOWED = 2**33
"""Bytes of address space: what asks for more is refused, and must say so."""


class HangError(BaseException):
    """A case that does not end."""


def make_inputs(folder: Path) -> None:
    """What is mutated: a small table in every format, releases, a survey, a ledger, keys."""
    make_template(folder)
    shutil.rmtree(folder / "tmp")
    for form in ("parquet", "feather"):
        run_in_fork(folder, "protect people.csv --schema schema.toml --method retention --k 2 "
                            "--accept-risk income "
                            f"--seed 7 -o old-{form} --format {form}")  # fmt: skip
    for words in (
        "-o noted-2 --ledger book",
        "-o signed --sign key",
        "-o apart --steward-folder s",
    ):
        run_in_fork(folder, f"{PROTECT.removesuffix('-o new')} {words}")
    _make_sources(folder)


def try_inputs(folder: Path, *, cases: range, seed: int) -> tuple[Counter, list[str]]:
    """Try these cases in a worker, which is forked anew where it dies."""
    ends: Counter = Counter()
    wrong: list[str] = []
    sources = {name: (folder / name).read_bytes() for name in SOURCES}
    done, begin = 0, time.monotonic()
    while done < len(cases):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _work(folder, sources, cases[done:], seed, writer)
        os.close(writer)
        done += _heard(reader, ends, wrong, begin)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            wrong.append(f"case {cases[done - 1]} of seed {seed}: the process ended with {status}")
            ends["crashed"] += 1
    return ends, wrong


def _heard(reader: int, ends: Counter, wrong: list[str], begin: float) -> int:
    """Take down what a worker says; how many cases it began. How far it is goes to stderr."""
    begun = 0
    with os.fdopen(reader, errors="replace") as pipe:
        for line in pipe:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "begin":
                begun += 1
                if begun % 5_000 == 0:
                    spent = time.monotonic() - begin
                    print(f"case {rest} at {spent:,.0f} s, {wrong}", file=sys.stderr, flush=True)
            elif word == "wrong":
                wrong.append(rest)
            else:
                ends[rest] += 1
    return begun


def _work(folder: Path, sources: dict[str, bytes], cases: range, seed: int, writer: int) -> None:
    """Try cases until all are done."""
    code = 0
    try:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        _start_readers_by_forks()
        signal.signal(signal.SIGALRM, _hangs)
        warnings.simplefilter("ignore")
        for case in cases:
            os.write(writer, f"begin {case}\n".encode())
            chance = random.Random(f"{seed}-{case}")
            kind = chance.choice([one for one in TRIALS for _ in range(SHARES.get(one, 1))])
            again, told = chance.getstate(), "hang"
            for patience in (SLOWEST, 10 * SLOWEST):
                if told == "hang":
                    chance.setstate(again)
                    told = _tried(TRIALS[kind], folder, sources, chance, patience)
            end, problem = _judged(told)
            os.write(writer, f"end {kind}: {end}\n".encode())
            if problem:
                shown = " ".join(problem.split())[:300]
                os.write(writer, f"wrong case {case} of seed {seed}, {kind}: {shown}\n".encode())
    except BaseException:
        code = 71
    finally:
        os._exit(code)


def _tried(trial, folder: Path, sources: dict[str, bytes], chance, patience: int) -> str:
    """What a case told, or that it did not end."""
    signal.alarm(patience)
    try:
        return trial(folder, sources, chance)
    except HangError:
        return "hang"
    except BaseException as error:
        return f"traceback {type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def _hangs(number, frame):
    del number, frame
    raise HangError


def _judged(told: str) -> tuple[str, str]:
    """How a case ended, and what is wrong with that."""
    if told == "hang":
        return "hang", told
    if told.startswith("traceback") or "Traceback" in told:
        return "traceback", told
    if "unforeseen" in told:
        return "unforeseen", told
    if MARKER in told:
        return "cell shown", told.replace(MARKER, "<cell>")
    return ("refused" if told else "taken"), ""


# -- the processes that read -----------------------------------------------------------------------


class _Forked:
    """A process that reads, forked from one that has loaded all libraries."""

    def __init__(self, line: socket.socket) -> None:
        asks, self.stdin = _pipe("wb", 1)
        self.stdout, answers = _pipe("rb", 0)
        socket.send_fds(line, [b"."], [asks, answers])
        os.close(asks)
        os.close(answers)
        self.pid = int(line.recv(100))

    def poll(self) -> int | None:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return -1
        return None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float = math.inf) -> int:
        begin = time.monotonic()
        while (ended := self.poll()) is None:
            if time.monotonic() - begin > timeout:
                raise subprocess.TimeoutExpired("a reader", timeout)
            time.sleep(0.001)
        return ended


def _pipe(mode: str, own: int):
    """A pipe, of which one end is a file of ours."""
    ends = list(os.pipe())
    ends[own] = os.fdopen(ends[own], mode)
    return ends


def _start_readers_by_forks() -> None:
    """Files whose libraries may crash are read by a process: start these in no time."""
    from pramana.io import subprocess_reader as child

    ours, theirs = socket.socketpair()
    number = os.fork()
    if not number:
        ours.close()
        with contextlib.suppress(BaseException):
            _fork_readers(theirs)
        os._exit(0)
    theirs.close()
    child._started = lambda: _Forked(ours)


def _fork_readers(line: socket.socket) -> None:
    from importlib import import_module

    from pramana.io import subprocess_reader as child

    for name in (*child.MODULES, "pandas", "pyreadstat", "rdata", "duckdb", "openpyxl"):
        with contextlib.suppress(ImportError):
            import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        word, handles, _, _ = socket.recv_fds(line, 1, 2)
        if not word:
            return
        number = os.fork()
        if not number:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            for own, handle in enumerate(handles):
                os.dup2(handle, own)
                os.close(handle)
            sys.stdin = os.fdopen(0)
            line.close()
            child.serve()
            os._exit(0)
        for handle in handles:
            os.close(handle)
        line.sendall(str(number).encode())


# -- tables ----------------------------------------------------------------------------------------


def _make_sources(folder: Path) -> None:
    """A small table in every format."""
    import bz2
    import gzip

    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet as pq

    from pramana.io.output import write_table

    table = pq.read_table(folder / "people.parquet").slice(0, 40)
    coded = table.set_column(1, "sex", table.column("sex").dictionary_encode())
    for name in ("csv", "parquet", "sav", "dta", "feather"):
        write_table(table, folder / f"small.{name}", file_format=name)
    pq.write_table(coded, folder / "coded.parquet", compression="zstd", data_page_version="2.0")
    with pa.ipc.new_stream(folder / "stream.arrow", coded.schema) as writer:
        writer.write_table(coded)
    with pa.ipc.new_file(folder / "file.arrow", coded.schema) as writer:
        writer.write_table(coded, max_chunksize=16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pyarrow.feather.write_feather(table, folder / "first.feather", version=1)
    plain = (folder / "small.csv").read_bytes()
    (folder / "small.csv.gz").write_bytes(gzip.compress(plain))
    (folder / "small.csv.bz2").write_bytes(bz2.compress(plain))
    (folder / "small.csv.zst").write_bytes(pa.compress(plain, codec="zstd", asbytes=True))
    (folder / "other.csv").write_bytes((folder / "small.csv").read_text().encode("utf-16"))
    _other_sources(folder, table)


SOURCES = (
    "small.csv", "small.parquet", "small.sav", "small.dta", "small.feather", "coded.parquet",
    "stream.arrow", "file.arrow", "first.feather", "small.csv.gz", "other.csv", "small.xpt",
    "small.xlsx", "small.rds", "small.duckdb", "small.ods", "small.rda", "small.csv.bz2",
    "small.csv.zst", "small.sas7bdat", "small.zsav",
)  # fmt: skip

SAS = bytes.fromhex("000000000000000000000000c2ea8160b31411cfbd92080009c7318c181f1011")
"""How SAS files begin: nothing at hand writes such files."""


def _other_sources(folder: Path, table) -> None:
    """The formats that are read only, made by what writes such files."""
    import duckdb
    import pyreadstat
    import rdata
    from tests.io.test_more_formats import ods, xlsx

    frame = table.to_pandas().astype({"name": object, "sex": object, "income": object})
    pyreadstat.write_xport(frame, str(folder / "small.xpt"))
    pyreadstat.write_sav(frame, str(folder / "small.zsav"), compress=True)
    rdata.write_rds(folder / "small.rds", frame)
    rdata.write_rda(folder / "small.rda", {"people": frame})
    (folder / "small.sas7bdat").write_bytes(SAS + bytes(range(256)) * 16)
    rows = [tuple(frame.columns), *frame.itertuples(index=False, name=None)]
    xlsx(folder / "small.xlsx", people=rows)
    ods(folder / "small.ods", rows)
    with duckdb.connect(str(folder / "small.duckdb")) as database:
        database.sql("create table people as select * from frame")


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Some bytes flipped, overwritten, left out, doubled, moved, or cut off at the end."""
    made = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        if made:
            at, long = chance.randrange(len(made)), chance.choice((1, 1, 2, 4, 8, 40))
            chance.choice(CHANGES)(made, at, long, chance)
    return bytes(made)


def _flip(made, at, _long, chance):
    made[at] ^= 1 << chance.randrange(8)


def _noise(made, at, long, chance):
    made[at : at + long] = bytes(chance.randrange(256) for _ in range(long))


def _extreme(made, at, long, chance):
    made[at : at + long] = chance.choice((b"\x00", b"\xff", b"\x7f", b"\x80")) * long


def _less(made, at, long, _chance):
    del made[at : at + long]


def _double(made, at, long, _chance):
    made[at:at] = made[at : at + long]


def _strange(made, at, _long, chance):
    made[at:at] = chance.choice(STRANGE)


def _number(made, at, _long, chance):
    size = chance.choice((1, 2, 4, 8))
    number = chance.choice((0, 1, -1, 2**15, 2**31 - 1, -(2**31), 2**40, 2**62))
    made[at : at + size] = (number % 256**size).to_bytes(size, "little")


def _moved(made, at, long, chance):
    other = chance.randrange(len(made))
    made[at : at + long] = made[other : other + long]


def _cut(made, at, _long, _chance):
    del made[at:]


CHANGES = (_flip, _noise, _extreme, _less, _double, _strange, _number, _moved, _cut)
STRANGE = (b'"', b"\\", b'""', b"\r", b"\n", b",", b";", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00",
           b"nan", b"1e999", b"-0", b"=", b"'", b"\xc3", b"\xed\xa0\x80", b"9" * 30)  # fmt: skip


def _table(folder: Path, sources: dict[str, bytes], chance: random.Random) -> str:
    """A mutated table, described and read to its end."""
    import pramana as pm
    from pramana.errors import PramanaError
    from pramana.io.opening import open_table

    name = chance.choice(list(sources))
    path = folder / f"mutant.{name.split('.', 1)[1]}"
    path.write_bytes(mutated(sources[name], chance))
    try:
        opened = open_table(path)
        for _ in opened.batches():
            pass
        if chance.random() < 0.3:
            pm.describe(opened)
    except PramanaError as error:
        return str(error) or "refused"
    return ""


# -- schemas ---------------------------------------------------------------------------------------


ENTRIES = (
    "role", "categories", "ordered", "bins", "release", "missing", "missing_values", "exempt",
    "randomise", "declared", "round", "recode", "steps", "top", "bottom", "noise", "values",
    "keys", "strata", "tables", "weight", "[columns.sex]", "impossible", "choices", "columns",
)  # fmt: skip
TOML_VALUES = (
    '"key"', '"sensitive"', '"plain"', '"weight"', '"identifier"', "true", "false", "0", "1", "-1",
    "nan", "inf", "-inf", "1e400", "9999999999999999999999", "[]", "[[]]", "{}", '""', '"draw"',
    '"centre"', '"category"', '"keep"', '"refuse"', '["F", "M"]', '["F", "F"]', "[0, 50, 100]",
    "[100, 0]", "[nan, 1]", '["sex*age"]', '["sex"]', "[1, 2]", "1979-05-27", '"\\u0000"',
    "{F = 1}", '[{sex = ["F"], age = ["[0, 20)"]}]', "[-inf, 50, inf]", "0.5",
)  # fmt: skip


def _schema(folder: Path, sources: dict[str, bytes], chance: random.Random) -> str:
    """A mutated schema, with a table."""
    import pramana as pm
    from pramana.errors import PramanaError
    from pramana.schema.schema import Schema

    del sources
    text = SCHEMA
    if chance.random() < 0.2:
        text = mutated(text.encode(), chance).decode(errors="replace")
    else:
        lines = text.splitlines()
        for _ in range(chance.choice((1, 2, 3))):
            at = chance.randrange(2, len(lines) + 1)
            entry = f"{chance.choice(ENTRIES)} = {chance.choice(TOML_VALUES)}"
            lines[at : at + chance.choice((0, 0, 1))] = [entry]
        text = "\n".join(lines[chance.choice((0, 0, 0, 1, 3)) :])
    path = folder / "mutant.toml"
    path.write_text(text)
    try:
        schema = Schema.load(path)
        pm.design(schema, pm.PkAnonymity(k=2), data=folder / "small.csv")
    except PramanaError as error:
        return _without_own(str(error) or "refused", text)
    return ""


def _without_own(told: str, text: str) -> str:
    """A schema may name what it likes; what it says is no cell."""
    return told.replace(MARKER, "") if MARKER in text else told


# -- certificates ----------------------------------------------------------------------------------


def _certificate(folder: Path, sources: dict[str, bytes], chance: random.Random) -> str:
    """A mutated certificate, verified and loaded."""
    from pramana.analysis.release import load_release
    from pramana.errors import PramanaError
    from pramana.verification.verify import verify_folder

    del sources
    place = folder / "mutant-release"
    if not (place / "certificate.json").is_file():
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder / "old", place)
    whole = (folder / "old" / "certificate.json").read_bytes()
    if chance.random() < 0.5:
        (place / "certificate.json").write_bytes(mutated(whole, chance))
    else:
        shutil.rmtree(place)
        shutil.copytree(folder / "old", place)
        chance.choice(MUTATIONS)[1](place, chance, [folder / "old"])
        whole = b""  # that none claims too much is what the benchmark of mutations asks
    try:
        verdict = verify_folder(place)
        if verdict.valid and whole and (place / "certificate.json").read_bytes() != whole:
            return "traceback: an altered certificate verifies"
        load_release(place)
    except PramanaError:
        return "refused"
    return ""


def _released(folder: Path, sources: dict[str, bytes], chance: random.Random) -> str:
    """A release with mutated data of the same size, and mostly a certificate that names them."""
    from pramana.analysis.release import load_release
    from pramana.errors import PramanaError
    from pramana.release.folder import fingerprint, read_certificate

    del sources
    base = folder / chance.choice(("old", "old-parquet", "old-feather"))
    place = folder / f"mutant-{base.name}"
    if not place.exists():
        shutil.copytree(base, place)
    name = next(base.glob("data.*")).name
    whole = (base / name).read_bytes()
    made = mutated(whole, chance)[: len(whole)]
    made += whole[len(made) :]
    (place / name).write_bytes(made)
    certificate, named = read_certificate(base), chance.random() < 0.9
    if named:  # whoever publishes may have written both
        data = fingerprint(place / name, certificate.data.format)
        certificate = certificate.with_data(data, certificate.copies)
    (place / "certificate.json").write_bytes(certificate.to_bytes())
    try:
        load_release(place).crosstab("sex", "age")
        if not named and made != whole:
            return "traceback: altered data are believed"
    except PramanaError as error:
        return str(error) or "refused"
    return ""


# -- command lines ---------------------------------------------------------------------------------


FILES = (
    "people.csv",
    "schema.toml",
    "old",
    "nobody",
    "",
    ".",
    "/",
    "old/data.csv",
    "key.pub",
    "small.sav",
    "diary.txt",
    "-",
    "\udcff",
    "a\nb",
    "x" * 300,
    "/dev/null",
    "old.html",
)
VALUES = (
    "2",
    "0",
    "-1",
    "nan",
    "inf",
    "1e9",
    "sex",
    "sex,age",
    ",",
    "sex=F",
    "income>3",
    "=",
    "a~b",
    "sex ~ age",
    "posterior",
    "csv",
    "\x00",
    "ü",
    "1:2",
    "0.5",
    "retention",
    "utf-7",
)
SEVERAL = ("--k", "--epsilon", "--alpha", "--rho1", "--rho2", "--xi", "--delta", "--matrix",
           "--central-epsilon", "--tables", "--help", "--help-all", "--nobody")  # fmt: skip
NOT_HERE = ("studio", "experiment", "demo", "collect serve", "collect demo")
"""They go on until they are told to end, or long: they get words that they refuse."""


@cache
def _verbs() -> dict[str, list[str]]:
    """Every verb of the command line with its options, as the command line itself says."""
    import typer

    from pramana.cli.app import app

    found: dict[str, list[str]] = {}

    def walk(group, before):
        for name in group.list_commands(None):
            own = group.get_command(None, name)
            if hasattr(own, "list_commands"):
                walk(own, f"{before}{name} ")
            else:
                options = [one for param in own.params for one in param.opts]
                found[before + name] = [one for one in options if one.startswith("-")]

    walk(typer.main.get_command(app), "")
    return found


def _command(folder: Path, sources: dict[str, bytes], chance: random.Random) -> str:
    """A command line of words that belong there and words that do not."""
    del sources
    verb = chance.choice(list(_verbs()))
    words = verb.split()
    if chance.random() < 0.7:
        words.append(chance.choice(USUAL.get(verb, FILES)))
    for _ in range(chance.choice((0, 1, 2, 3, 4))):
        words.append(chance.choice(_verbs()[verb] if chance.random() < 0.7 else SEVERAL))
        if chance.random() < 0.8:
            words.append(chance.choice((*FILES, *VALUES)))
    if verb in NOT_HERE:
        words.insert(len(verb.split()), "--nobody=")
    if "-o" in words or "--output" in words or "keygen" in words:
        words = [word for word in words if word not in ("/", "old", ".")]
    kept = {name: (folder / name).read_bytes() for name in ("people.csv", "schema.toml")}
    try:
        return _said(words)
    finally:
        for name, content in kept.items():  # somebody may have been told to replace them
            if (folder / name).read_bytes() != content:
                (folder / name).write_bytes(content)


USUAL = {"describe": ("people.csv",), "protect": ("people.csv",), "verify": ("old",),
         "design": ("people.csv",), "estimate": ("old",), "audit": ("people.csv", "old"),
         "report": ("old",), "regress": ("old",), "synthesize": ("old",), "advise": ("people.csv",),
         "compare": ("people.csv",), "learn": ("old",), "schema": ("schema.toml",),
         "ledger": ("show", "check"), "collect new": ("survey.toml",), "collect check": ("asked",),
         "collect status": ("asked",), "collect invite": ("coded",),
         "collect close": ("asked",)}  # fmt: skip


def _said(words: list[str]) -> str:
    """What a command says on stderr, if it fails; the rest is not looked at."""
    from pramana.cli.app import main

    out, err = io.StringIO(), io.StringIO()
    code: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as left:
            code = left.code
    told = err.getvalue()
    if MARKER in out.getvalue() and words[0] not in (
        "protect",
        "synthesize",
        "describe",
        "estimate",
    ):
        return f"{MARKER} on stdout of {words}"
    if code not in (0, 1, 2, None):
        return f"traceback: exit {code} of {words}"
    if code == 2 and len(told.strip().splitlines()) != 1:
        return f"traceback: {told!r} of {words}"
    return f"{told} of {words}" if code == 2 else told if "unforeseen" in told else ""


# -- surveys, ledgers, keys and what else is read --------------------------------------------------


def _survey(folder: Path, sources: dict[str, bytes], chance: random.Random) -> str:
    """A mutated survey: its file, what was made of it, or its answers."""
    from pramana.collect.closing import live
    from pramana.collect.survey_folder import answers, check_survey, new_survey
    from pramana.errors import PramanaError

    del sources
    place, what = folder / "mutant-survey", chance.choice(SURVEYED)
    shutil.rmtree(place, ignore_errors=True)
    try:
        if what == "survey.toml":
            text = mutated((folder / what).read_bytes(), chance)
            (folder / "mutant-survey.toml").write_bytes(text)
            new_survey(folder / "mutant-survey.toml", place)
            return ""
        shutil.copytree(folder / "asked", place)
        (place / what).write_bytes(mutated((place / what).read_bytes(), chance))
        check_survey(place)
        live(place, questions=["travel"])
        with answers(place) as store:
            store.tally()
            store.finish()
    except PramanaError as error:
        return str(error) or "refused"
    return ""


SURVEYED = ("survey.toml", "survey.toml", "definition.json", "survey.html", "answers.sqlite")


def _ledger(folder: Path, sources: dict[str, bytes], chance: random.Random) -> str:
    """A mutated ledger or its key."""
    from pramana.errors import PramanaError
    from pramana.ledger.ledger import Ledger

    del sources
    for name in ("book", "book.key"):
        shutil.copyfile(folder / name, folder / f"mutant-{name}")
    path = folder / chance.choice(("mutant-book", "mutant-book.key"))
    content = path.read_bytes()
    path.write_bytes(mutated(content, chance))
    try:
        read = Ledger.load(folder / "mutant-book")
        read.to_json()
        read.rows()
        altered = path.name == "mutant-book" and path.read_bytes().split() != content.split()
        if altered and len(read.entries) > 1:
            return "traceback: an altered ledger is believed"
    except PramanaError as error:
        return str(error) or "refused"
    return ""


def _others(folder: Path, sources: dict[str, bytes], chance: random.Random) -> str:
    """Mutated keys, matrices, steward's files and sessions of the studio."""
    from pramana.errors import PramanaError
    from pramana.methods.given import read_matrix
    from pramana.release.folder import read_certificate, read_mechanism
    from pramana.release.signing import has_signature_of, sign
    from pramana.studio.session import HOME, StudioSession

    del sources
    home = folder / "mutant-studio"
    (home / HOME).mkdir(parents=True, exist_ok=True)
    certificate = read_certificate(folder / "signed")
    made, use = chance.choice((
        ((folder / "key").read_bytes(), lambda path: sign(certificate, path)),
        ((folder / "key.pub").read_bytes(), lambda path: has_signature_of(certificate, path)),
        ((folder / "s" / "mechanism.json").read_bytes(), read_mechanism),
        (b'{"labels": ["F", "M"], "values": [[0.9, 0.1], [0.2, 0.8]]}', read_matrix),
        (b",F,M\nF,0.9,0.1\nM,0.2,0.8\n", read_matrix),
        (SESSION, lambda _: StudioSession(home).close()),
    ))  # fmt: skip
    path = folder / ("mutant.json" if made[:1] == b"{" else "mutant.other")
    for place in (path, home / HOME / "session.json"):
        place.write_bytes(mutated(made, chance))
    try:
        use(path)
    except PramanaError as error:
        return str(error) or "refused"
    return ""


SESSION = b"""{"number": 2, "at": 1, "states": [{"file": ""}, {"file": "people.csv", "chances":
[0.1, 0.2], "target": {"k": 5}, "wishes": [["table", ["sex", "age"]]], "did": "Opened"}]}"""


TRIALS = {
    "table": _table,
    "released": _released,
    "schema": _schema,
    "certificate": _certificate,
    "command": _command,
    "survey": _survey,
    "ledger": _ledger,
    "other": _others,
}
SHARES = {"table": 4, "released": 2, "schema": 2, "certificate": 2, "command": 4}
"""How often each is tried, where not once."""
