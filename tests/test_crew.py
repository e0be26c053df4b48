"""Copies of a process: results in order, errors as if there were none, and nobody left behind."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from pramana import crew
from pramana.crew import Hands, in_copies
from pramana.parallel import meanwhile

HERE = os.getpid()
ROOT = Path(__file__).parent.parent


def in_a_copy():
    """Whether this is not the process that the test runs in."""
    return os.getpid() != HERE


class Tally:
    """A number that all copies share."""

    def __init__(self):
        self._memory = mmap.mmap(-1, 1000)

    def add(self, at):
        self._memory[at] = 1

    @property
    def many(self):
        return sum(self._memory[:])


def test_results_come_in_the_order_of_the_work_from_other_processes():
    """Also where early work takes longest; what was made stays what it was."""

    def slow_at_first(number):
        time.sleep(0.05 if number < 2 else 0)
        return number, {"squared": number**2}, os.getpid()

    found = list(in_copies(slow_at_first, range(40), copies=3))

    assert [own[:2] for own in found] == [(i, {"squared": i**2}) for i in range(40)]
    assert HERE not in {process for *_, process in found}
    assert 2 <= len({process for *_, process in found}) <= 3


def test_a_large_result_comes_whole():
    """Larger than any pipe holds."""
    found = list(in_copies(lambda number: bytes([number]) * 3_000_000, range(5), copies=2))

    assert found == [bytes([number]) * 3_000_000 for number in range(5)]


def test_an_error_comes_out_here_in_its_place():
    """As itself, with what it carries, and after the results before it."""

    def work(number):
        if number == 4:
            raise OSError(28, "no space", f"file {number}")
        return number

    results = in_copies(work, range(50), copies=2)
    assert [next(results) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(OSError, match="no space") as raised:
        next(results)
    assert raised.value.filename == "file 4"


def test_a_warning_is_given_here():
    """Where somebody hears it."""

    def work(number):
        if number == 3:
            warnings.warn("three", UserWarning, stacklevel=1)
        return number

    with pytest.warns(UserWarning, match="three"):
        assert list(in_copies(work, range(6), copies=2)) == list(range(6))


def test_what_cannot_be_pickled_is_made_here():
    """Whoever asks gets what threads would give."""
    found = list(in_copies(lambda number: lambda: (number, os.getpid()), range(4), copies=2))

    assert [own() for own in found] == [(number, HERE) for number in range(4)]


@pytest.mark.parametrize("victims", [{3}, {0}, set(range(30))], ids=["one", "the first", "all"])
def test_what_a_copy_that_was_killed_had_to_do_is_done_here(victims):
    """Nothing is missing, and nothing comes twice."""

    def work(number):
        if number in victims and in_a_copy():
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert list(in_copies(work, range(30), copies=2)) == list(range(30))


@pytest.mark.parametrize("victim", [0, 5, 29])
def test_a_copy_that_is_killed_before_it_says_what_it_does_holds_nobody_up(monkeypatch, victim):
    """The number that it had taken is missing from the pipe, and known to nobody."""
    write = crew._write

    def say(pipe, *data):
        if in_a_copy() and data[0] == crew.MESSAGE.pack(victim, crew.TAKEN):
            os.kill(os.getpid(), signal.SIGKILL)
        write(pipe, *data)

    monkeypatch.setattr(crew, "_write", say)
    assert list(in_copies(lambda number: number, range(30), copies=2)) == list(range(30))


def test_where_no_copy_can_be_made_the_work_is_done_here(monkeypatch):
    """The system may have no process left."""

    def none():
        raise BlockingIOError(11, "no process")

    monkeypatch.setattr(crew, "_fork", none)
    assert list(in_copies(lambda _: os.getpid(), range(3), copies=2)) == [HERE] * 3


def test_work_runs_only_a_little_ahead():
    """At most two results a copy wait, and one is being taken."""
    begun = Tally()

    def work(number):
        begun.add(number)
        return number

    results = in_copies(work, range(100), copies=2)
    for taken in range(20):
        assert next(results) == taken
        time.sleep(0.01)
        assert begun.many <= taken + 1 + 2 * 2 + 1
    results.close()


def test_nobody_is_left_behind():
    """Not after the last result, nor where somebody leaves before; nor is a pipe."""
    before = len(list(Path("/dev/fd").iterdir()))
    for many in (0, 1, 5, 20):
        results = in_copies(lambda _: os.getpid(), range(20), copies=3)
        processes = {next(results) for _ in range(many)}
        results.close()
        for process in processes - {HERE}:
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)

    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_copy_answers_no_signal_as_this_process_does():
    """It ends by it; what it had to do is done here, and no handler of ours runs twice."""
    heard = Tally()
    usual = signal.signal(signal.SIGTERM, lambda *_: heard.add(os.getpid() % 1000))
    try:

        def work(number):
            if number == 2 and in_a_copy():
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(5)
            return number

        assert list(in_copies(work, range(8), copies=2)) == list(range(8))
    finally:
        signal.signal(signal.SIGTERM, usual)
    assert heard.many == 0


def test_a_signal_that_comes_while_copies_are_made_is_answered_here_and_once(monkeypatch):
    """After it: what it raises is heard, nothing is left behind, and no lock of a library held."""

    class Late(Exception):
        """Whatever a handler raises."""

    def answer(*_):
        raise Late

    usual, fork = signal.signal(signal.SIGALRM, answer), crew._fork
    before = len(list(Path("/dev/fd").iterdir()))

    made = []

    def disturbed():
        signal.raise_signal(signal.SIGALRM)
        made.append(fork())
        return made[-1]

    monkeypatch.setattr(crew, "_fork", disturbed)
    try:
        with pytest.raises(Late):
            list(in_copies(lambda number: number, range(8), copies=2))
    finally:
        signal.signal(signal.SIGALRM, usual)
    assert len(list(Path("/dev/fd").iterdir())) == before
    assert len(made) == 2
    for process in made:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.parametrize("how", ["ignored", "answered"])
def test_where_somebody_else_waits_for_processes_the_work_is_done_all_the_same(how):
    """By threads, and by copies too where nobody saw it coming."""
    found = _alone(
        f"""
import os, signal
from pramana.crew import LEAST_CELLS, Hands, in_copies

def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass

signal.signal(signal.SIGCHLD, signal.SIG_IGN if "{how}" == "ignored" else reap)
print(Hands.of(range(16), 3, lambda _: LEAST_CELLS).copies)
for _ in range(5):
    assert list(in_copies(lambda number: number, range(60), copies=3)) == list(range(60))
"""
    )
    assert found == "0"


def test_something_is_done_while_others_work():
    """Once, and before the first result is taken."""
    done = []
    meanwhile(lambda: done.append(os.getpid()))
    results = in_copies(lambda number: number, range(4), copies=2)

    assert next(results) == 0
    assert done == [HERE]
    assert list(results) == [1, 2, 3]
    assert done == [HERE]


# -- who does the work -----------------------------------------------------------------------


def _alone(code: str, *words: str | Path) -> str:
    """What a process prints in which no other thread runs."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert not done.stderr
    return done.stdout.strip()


def test_copies_are_made_where_they_are_safe_and_worth_it():
    """Not beside another thread, of little work, of one piece, for one processor."""
    found = _alone(
        """
import threading
from pramana.crew import LEAST_CELLS, Hands

def copies(items, threads=3, each=None):
    size = LEAST_CELLS // len(items) + 1 if each is None else each
    return Hands.of(items, threads, lambda _: size).copies

print(copies(range(16)), copies(range(16), 1), copies(range(1)), copies(range(16), each=1))
done = threading.Event()
threading.Thread(target=done.wait).start()
print(copies(range(16)))
done.set()
"""
    )
    expected = "3 0 0 0\n0" if sys.platform == "linux" else "0 0 0 0\n0"
    assert found == expected


def test_memory_bounds_how_many_there_are(monkeypatch):
    """As many as together take an eighth of what is allowed: two of three, or none."""
    monkeypatch.setenv("PRAMANA_MEMORY", "1G")
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    most = 2**30 // (8 * 24)

    assert Hands.of(range(9), 4, lambda _: most // 4).copies == 4
    assert Hands.of(range(9), 4, lambda _: most // 2).copies == 2
    assert Hands.of(range(9), 4, lambda _: most).copies == 0


def test_what_may_not_be_done_apart_is_done_by_threads():
    """Results that are not to be handed over stay here."""
    hands = Hands(range(6), 2, lambda _: 1, copies=2)

    assert {*hands.each(lambda _: os.getpid(), apart=False)} == {HERE}
    assert HERE not in {*hands.each(lambda _: os.getpid(), apart=True)}


# -- a release -------------------------------------------------------------------------------

TABLE = """
import sys, hashlib, os
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from pathlib import Path
import pramana as pm
from pramana import crew

folder, source, kept = Path(sys.argv[1]), *sys.argv[2:]
made = []
usual = crew.in_copies
def watched(*args, **more):
    made.append(more["copies"])
    return usual(*args, **more)
crew.in_copies = watched

records = 540_000
draw = np.random.default_rng(5)
columns, more = {}, []
for name, size in (("sex", 2), ("age", 9), ("region", 30)):
    values = pa.array([f"{name} {v}" for v in range(size)])
    columns[name] = values.take(pa.array(draw.integers(size, size=records)))
if kept != "keys":
    more, gaps = ["income", "day"], draw.random(records) < 0.1
    columns["income"] = pa.array(draw.integers(10**6, size=records), mask=gaps)
    columns["day"] = pa.array(draw.integers(20_000, size=records), pa.int32()).cast(pa.date32())
if kept == "texts":
    more.append("word")
    columns["word"] = pa.array([f"word {i % 1000}" for i in range(records)])
people = pa.table(columns)
if source == "file":
    place = folder / "people.parquet"
    pq.write_table(people, place, row_group_size=100_000)
    people = place

def planned(least):
    crew.LEAST_CELLS = least
    schema = pm.describe(people, keys=["sex", "age", "region"], sensitive=more)
    plan = pm.design(schema, pm.DifferentialPrivacy(epsilon=3), data=people, method="retention")
    assert not made
    return plan

def released(plan, threads, least):
    crew.LEAST_CELLS = least
    made.clear()
    seen = []
    to = folder / f"release {threads} {least}"
    pm.protect(people, plan, to=to, seed=7, seen=seen.append)
    data = next(to.glob("data.*"))
    print(made, hashlib.sha256(data.read_bytes()).hexdigest(), seen[0], flush=True)

alone = crew._fork()
if not alone:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    released(planned(0), 1, 0)
    os._exit(0)
assert os.waitpid(alone, 0)[1] == 0
plan = planned(0)
released(plan, 2, 10**12)
released(plan, 2, 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux")
@pytest.mark.parametrize("source", ["file", "frame"])
@pytest.mark.parametrize("kept", ["keys", "kept", "texts"])
def test_a_release_is_the_same_by_copies_by_threads_and_by_one(tmp_path, source, kept):
    """To the last byte, and what is told about it; copies are made in both passes.

    Not of texts, which several copies would hold: they take any amount of memory. One processor
    has a plan of its own; no copy makes plans, so threads and copies have the same.
    """
    found = _alone(TABLE, tmp_path, source, kept).splitlines()
    made, rest = zip(*(line.split("]", 1) for line in found), strict=True)

    assert len(found) == 3
    assert len({*rest}) == 1
    by_copies = _processors() > 1 and kept != "texts"
    assert made == ("[", "[", "[2, 2" if by_copies else "[")


def _processors():
    return len(os.sched_getaffinity(0))


@pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_told_to_end_it_leaves_no_copy_and_no_file(tmp_path, number):
    """Whoever is killed cannot end its copies: they end by themselves, as nobody hears them."""
    script = (
        "import signal, sys, time; from pramana import crew; import pramana.__main__ as program\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # unheard in the background
        "crew.LEAST_CELLS = 0\n"
        "from pramana.engines.local.shuffle import Shuffler\n"
        "usual = Shuffler.scatter\n"
        "def slowly(*args):\n"
        "    print('begun', flush=True, file=sys.stderr)\n"
        "    time.sleep(0.2)\n"
        "    return usual(*args)\n"
        "Shuffler.scatter = slowly\n"
        "program.main()\n"
    )
    table, schema = tmp_path / "people.parquet", tmp_path / "schema.toml"
    _people(table, schema)
    folder = tmp_path / "release"
    command = [sys.executable, "-c", script, "protect", table, "--schema", schema, "--epsilon", "3"]
    process = subprocess.Popen(
        [*command, "-o", folder], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    while "begun" not in process.stderr.readline():
        pass
    process.send_signal(number)
    code = process.wait(20)
    process.stderr.close()
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    assert not _left_after(process.pid, seconds=10)
    assert not folder.exists()


def test_who_is_killed_leaves_no_copy_that_says_more_than_a_pipe_holds():
    """A copy that nobody hears any more ends, though it was made before another one."""
    script = (
        "import time; from pramana.crew import in_copies\n"
        "results = in_copies(lambda _: bytes(5_000_000), range(100), copies=3)\n"
        "next(results)\n"
        "print('begun', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.2)  # until pipes are full
    process.kill()
    process.wait(20)
    process.stdout.close()
    assert not _left_after(process.pid, seconds=10)


def _people(table: Path, schema: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(1)
    values = pa.array(["a", "b", "c"])
    people = {name: values.take(pa.array(draw.integers(3, size=600_000))) for name in ("x", "y")}
    pq.write_table(pa.table(people), table, row_group_size=50_000)
    schema.write_text(
        "".join(f'[columns.{n}]\nrole = "key"\ncategories = ["a", "b", "c"]\n' for n in ("x", "y"))
    )


def _left_after(leader: int, *, seconds: float) -> list[int]:
    """The processes of a session that do not end by themselves; they are ended then."""
    deadline = time.monotonic() + seconds
    while _session(leader) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = _session(leader)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return left


def _session(leader: int) -> list[int]:
    """The processes of a session that are still there."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            _, rest = (place / "stat").read_text().rsplit(")", 1)
            state, _, _, session = rest.split()[:4]
            if int(session) == leader and state != "Z":
                found.append(int(place.name))
    return found
