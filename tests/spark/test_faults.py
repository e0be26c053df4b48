"""Workers that die, tasks that run twice, keys that must not be seen."""

from __future__ import annotations

import base64
import os
import signal
import socket
from pathlib import Path

import pyarrow as pa
import pytest

from pramana.base.randomness import Keystream
from pramana.engine.spark import opening
from pramana.engine.spark.table import SparkTable
from pramana.engine.spark.tasks import KeyDoor, open_door, pickled_apart
from pramana.errors import InputError, InvalidTable
from tests.conformance.checks import SEEDED, people, protected

ATTEMPTS = 2
"""Of a task, before its job fails; as the session of these tests says."""


@pytest.fixture
def table(frame_of):
    return SparkTable.of(frame_of(people(6000)))


def dying(places, times):
    """A function on batches whose worker is killed at position 0, so many times."""

    def function(batch, position):
        marks = Path(places)
        if position == 0 and len(list(marks.iterdir())) < times:
            (marks / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return batch

    return function


def test_a_killed_worker_draws_nothing_differently(table, tmp_path):
    """The task is repeated by another worker: the same seeded release, record by record."""
    (tmp_path / "deaths").mkdir()
    shaky = table.map_batches(dying(str(tmp_path / "deaths"), 1), schema=table.schema())

    assert protected(shaky).to_arrow().to_pydict() == protected(table).to_arrow().to_pydict()
    assert len(list((tmp_path / "deaths").iterdir())) == 1


def test_a_worker_killed_again_and_again_leaves_no_release(table, tmp_path):
    """The job fails in one line, and no file of it stays."""
    (tmp_path / "deaths").mkdir()
    (tmp_path / "out").mkdir()
    made = protected(table)
    hopeless = made.map_batches(dying(str(tmp_path / "deaths"), 99), schema=made.schema())

    with pytest.raises(InputError, match="A Spark worker was lost") as error:
        hopeless.write(tmp_path / "out" / "data.parquet")
    assert "\n" not in str(error.value)
    assert list((tmp_path / "out").iterdir()) == []
    assert len(list((tmp_path / "deaths").iterdir())) == ATTEMPTS


def test_work_on_items_is_done_once_although_a_worker_is_killed(spark, tmp_path):
    """One result an item, in the order of the items."""
    die = dying(str(tmp_path), 1)

    def square(item):
        die(None, 0 if item == 4 else 1)
        return item**2

    assert list(opening.each(spark, square, range(7))) == [item**2 for item in range(7)]
    assert len(list(tmp_path.iterdir())) == 1
    assert list(opening.each(spark, square, [])) == []


def test_errors_of_libraries_do_not_show_cells(table, tmp_path):
    """Spark logs what tasks raise: what is not ours is named by its kind alone."""

    def careless(batch, position):
        raise ValueError(f"bad cell {batch.column('note')[0]} at {position}")

    with pytest.raises(InvalidTable, match="A Spark task failed with ValueError") as error:
        table.map_batches(careless, schema=table.schema()).write(tmp_path / "out")
    assert "note" not in str(error.value)


def test_a_partition_that_changes_between_passes_is_refused(table):
    """Positions rest on the sizes that were counted."""
    sizes = (table.opened.sizes[0] + 1, *table.opened.sizes[1:])
    object.__setattr__(table.opened, "sizes", sizes)
    with pytest.raises(InvalidTable, match="must have the same records every time"):
        table.to_arrow()


def test_records_without_an_order_are_refused(frame_of):
    """After a repartition, a sort or a join a repeated task may see another order."""
    frame = frame_of(people(100))
    for unordered in (frame.repartition(2), frame.orderBy("number"), frame.distinct()):
        with pytest.raises(InvalidTable, match="must come in the same order"):
            SparkTable.of(unordered)
    for ordered in (frame.filter("number > 3"), frame.select("sex"), frame.union(frame)):
        assert SparkTable.of(ordered).records > 0


def test_a_checkpoint_gives_an_order(frame_of):
    """What the message advises works."""
    frame = frame_of(people(100)).repartition(2).checkpoint()

    assert SparkTable.of(frame).records == 100


# -- keys ------------------------------------------------------------------------------------


def spellings(keystream):
    """The key as bytes, as hexadecimal and as base64 at each of its three offsets."""
    key = keystream.export()[1:]
    return [key, key.hex().encode(), key.hex().upper().encode()] + [
        base64.b64encode(b"x" * before + key)[4 if before else 0 : -4] for before in range(3)
    ]


def holds(folder, needles):
    """The files below a folder in which one of these bytes stands."""
    found = []
    for place in folder.rglob("*"):
        if place.is_file():
            content = place.read_bytes()
            found += [place.name for needle in needles if needle in content]
    return found


def look_at_disks(places, seen, needles):
    """A function on batches that looks for the key while the job runs.

    It travels itself, so it carries what it looks for backwards.
    """
    backwards = [needle[::-1] for needle in needles]
    del needles

    def function(batch, position):  # workers cannot import this module: nothing of it is used
        for place in Path(places).rglob("*"):
            content = place.read_bytes() if place.is_file() else b""
            if any(needle[::-1] in content for needle in backwards):
                (Path(seen) / place.name).touch()
        return batch

    return function


BALLAST = b"ballast " * 300_000
"""A function with more than a megabyte in it: Spark writes that to a file."""


def heavy(function, ballast=BALLAST):
    return lambda batch, position: function(batch, position) if ballast else None


def test_the_key_is_in_no_log_no_plan_and_on_no_disk(spark, table, places, tmp_path, capfd):
    """Nowhere among what Spark wrote, during or after the run."""
    keystream = Keystream.from_seed(4711)
    look = look_at_disks(str(places), str(tmp_path), spellings(keystream))
    made = protected(table, keystream)
    made = made.map_batches(heavy(look), schema=made.schema())
    made.to_arrow()
    with made._frame() as frame:
        frame.explain(mode="extended")
        plan = capfd.readouterr().out
        plan += frame._jdf.queryExecution().toString()

    assert "mapinarrow" in plan.lower()
    assert not any(needle.decode("latin1") in plan for needle in spellings(keystream))
    assert list(tmp_path.iterdir()) == []
    assert holds(places, spellings(keystream)) == []
    assert list((places / "events").iterdir())


def test_the_search_would_find_a_key_that_is_shipped_with_the_function(table, places, tmp_path):
    """A key in the closure itself ends in a file: that is why it travels apart."""
    key = Keystream.from_seed(4712).export()[1:]
    look = look_at_disks(str(places), str(tmp_path), [key])

    def careless(batch, position, key=key):
        return look(batch, position) if key else None

    table.map_batches(heavy(careless), schema=table.schema()).to_arrow()
    assert list(tmp_path.iterdir())


def test_only_who_has_the_token_gets_the_keys():
    """A wrong token, noise and silence get nothing; the right one gets every key, until the end."""
    keystreams = [Keystream.from_seed(1), Keystream.from_seed(2)]
    with open_door(keystreams, host="127.0.0.1", bind="127.0.0.1", port=0) as door:
        assert [one.export() for one in door.fetch()] == [one.export() for one in keystreams]
        with pytest.raises(InputError, match="does not know this Spark task"):
            KeyDoor(door.host, door.port, bytes(32)).fetch()
        for noise in (b"", b"GET / HTTP/1.1\r\n\r\n", bytes(64)):
            with socket.create_connection((door.host, door.port)) as line:
                line.sendall(noise)
                line.shutdown(socket.SHUT_WR)
                assert line.recv(1000) == b""
        assert "token" not in repr(door)
    with pytest.raises(InputError, match=r"must reach the driver .* \(ConnectionRefusedError\)"):
        door.fetch()


def test_what_travels_holds_no_key():
    """Keystreams are numbers in what is pickled, also deep inside functions."""
    keystream, keystreams = Keystream.from_seed(3), []
    objects = (lambda: keystream.words("x", 0, 1), {"deep": [keystream]})
    content = pickled_apart(objects, keystreams)

    assert keystreams == [keystream]
    assert not any(needle in content for needle in spellings(keystream))


def test_each_action_has_a_token_of_its_own(table, monkeypatch):
    """A token that was seen opens no later action."""
    tokens = []
    original = opening.open_door

    def spied(*arguments, **options):
        door = original(*arguments, **options)
        return _Told(door, tokens)

    monkeypatch.setattr(opening, "open_door", spied)
    made = table.shuffle(keystream=SEEDED)
    for _ in range(2):
        assert isinstance(made.to_arrow(), pa.Table)
    assert len(set(tokens)) == len(tokens) >= 2


class _Told:
    """A context manager that tells the token of a door."""

    def __init__(self, door, tokens):
        self._door, self._tokens = door, tokens

    def __enter__(self):
        door = self._door.__enter__()
        self._tokens.append(door.token)
        return door

    def __exit__(self, *error):
        return self._door.__exit__(*error)
