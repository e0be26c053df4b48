"""What is kept of an answer: the record, that a token was used, and nothing that ties them."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from pramana.cli.app import main
from pramana.collect.definition import Definition
from pramana.collect.store import Outcome, Sent, SqliteStore, open_store
from pramana.collect.survey_folder import invite, new_survey, opened_store, seen_store
from pramana.errors import InputError
from tests.collect.conftest import survey_text

IDENTITY = "a" * 64


def store(folder: Path, *, codes: bool = False) -> SqliteStore:
    return SqliteStore(folder / "answers.sqlite", identity=IDENTITY, codes=codes)


def test_the_same_answer_counts_once(tmp_path: Path) -> None:
    """Sent again in the same batch, in another one, and after a restart."""
    kept = store(tmp_path)
    one = Sent("0.1", "t" * 64)
    assert kept.accept([one, one]) == [Outcome.ACCEPTED, Outcome.AGAIN]
    assert kept.accept([Sent("0.2", "t" * 64)]) == [Outcome.AGAIN]
    kept.close()
    again = store(tmp_path)
    assert again.accept([one]) == [Outcome.AGAIN]
    assert list(again.records()) == ["0.1"]


def test_a_code_answers_once_and_an_unknown_one_never(tmp_path: Path) -> None:
    """With invitation codes no other token is taken."""
    kept = store(tmp_path, codes=True)
    kept.invite(["AAAAA", "BBBBB"])
    sent = [Sent("0.1", "AAAAA"), Sent("0.2", "CCCCC"), Sent("0.3", "AAAAA")]
    assert kept.accept(sent) == [Outcome.ACCEPTED, Outcome.UNKNOWN, Outcome.AGAIN]
    assert kept.tally() == {"0.1": 1}


def test_the_order_of_arrival_is_not_kept(tmp_path: Path) -> None:
    """Records sent one after the other lie in another order; no number in the file rises so."""
    kept = store(tmp_path)
    for number in range(200):
        kept.accept([Sent(f"{number:03d}", f"{number:064x}")])
    found = [int(record) for record in kept.records()]
    assert sorted(found) == list(range(200))
    rises = sum(a < b for a, b in itertools.pairwise(found))
    assert 70 < rises < 130  # 199 would be the order of arrival; sd 4 for a random one
    kept.close()


def test_the_file_holds_no_token_and_no_time(tmp_path: Path) -> None:
    """All columns of all tables, and the bytes of the file itself."""
    kept = store(tmp_path)
    kept.accept([Sent("0.1", "f" * 64)])
    kept.close()
    path = tmp_path / "answers.sqlite"
    assert not path.with_name("answers.sqlite-wal").exists()
    database = sqlite3.connect(path)
    columns = {
        table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    assert columns == {
        "records": ["place", "record"],
        "tokens": ["hash", "used"],
        "settings": ["name", "value"],
    }
    assert b"f" * 64 not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_answer_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    """Every transaction is flushed: what was acknowledged survives a loss of power."""
    kept = store(tmp_path)
    settings = {name: kept._database.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("synchronous", "journal_mode")}  # fmt: skip
    assert settings == {"synchronous": 2, "journal_mode": "wal"}  # 2 is FULL
    kept.close()


def test_answers_of_another_survey_are_refused(tmp_path: Path) -> None:
    """A store belongs to one survey."""
    store(tmp_path).close()
    with pytest.raises(InputError, match="another survey"):
        SqliteStore(tmp_path / "answers.sqlite", identity="b" * 64, codes=False)


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of a store, as a thief of the file reads them."""
    database = sqlite3.connect(path)
    found = {
        table: database.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - ours
        for table in ("records", "tokens", "settings")
    }
    database.close()
    return found


def bytes_of(path: Path) -> bytes:
    """The file but for the counters of its head: how often it was written."""
    content = bytearray(path.read_bytes())
    for begin, end in ((24, 28), (40, 44), (92, 96)):
        content[begin:end] = bytes(end - begin)
    return bytes(content)


@pytest.mark.parametrize("codes", [False, True])
def test_a_file_depends_on_what_is_kept_and_not_on_how_it_came(tmp_path: Path, codes: bool) -> None:
    """To the last byte: the same rows that arrived in another order are the same file.

    A database that is only written to lays down rows as they come, so that whoever takes the file
    could read off the order, and tie the third code that was used to the third record.
    """
    kept = store(tmp_path, codes=codes)
    tokens = [f"{number:064x}" for number in range(150)]
    if codes:
        kept.invite(tokens)
    for number, token in enumerate(tokens):
        kept.accept([Sent(f"{number:03d}", token)])
    kept.close()
    rows = rows_of(tmp_path / "answers.sqlite")
    (tmp_path / "other").mkdir()
    other = store(tmp_path / "other", codes=codes)
    plain = bytes_of(tmp_path / "answers.sqlite")
    for table, own in rows.items():
        other._database.execute(f"DELETE FROM {table}")  # noqa: S608 - ours
        for row in own[::-1]:
            marks = ", ".join("?" * len(row))
            insert = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - ours
            other._database.execute(insert, row)
    other._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert bytes_of(tmp_path / "other" / "answers.sqlite") != plain
    other.stir()
    other.close()
    assert bytes_of(tmp_path / "other" / "answers.sqlite") == plain


def left_by_a_kill(folder: Path, living: SqliteStore) -> Path:
    """The files of a store as they are while it is open: nobody has closed them."""
    folder.mkdir()
    for name in ("answers.sqlite", "answers.sqlite-wal"):
        (folder / name).write_bytes((folder.parent / name).read_bytes())
    assert living.count() == 150
    return folder


def test_who_looks_after_a_kill_leaves_no_order(tmp_path: Path) -> None:
    """The log of a collector that was killed has the order of answers; folded, the file has it."""
    kept = store(tmp_path)
    for number in range(150):
        kept.accept([Sent(f"{number:03d}", f"{number:064x}")])
    looks = store(left_by_a_kill(tmp_path / "killed", kept))
    assert looks.count() == 150
    looks.close()
    kept.close()
    plain = bytes_of(tmp_path / "answers.sqlite")
    assert bytes_of(tmp_path / "killed" / "answers.sqlite") == plain
    assert not (tmp_path / "killed" / "answers.sqlite-wal").exists()


def test_who_looks_beside_a_collector_leaves_stirring_to_it(tmp_path: Path) -> None:
    """It goes on taking answers, at once, and stirs what all have sent when it ends."""
    kept = store(tmp_path)
    for number in range(3):
        kept.accept([Sent(f"{number:03d}", f"{number:064x}")])
        looks = store(tmp_path)
        assert looks.count() == number + 1
        looks.close()
    assert (tmp_path / "answers.sqlite-wal").exists()
    assert kept._fresh
    kept.close()
    assert len(rows_of(tmp_path / "answers.sqlite")["records"]) == 3


def test_a_store_that_somebody_reads_is_not_said_to_be_stirred(tmp_path: Path) -> None:
    """The log has every transaction in its order, and stays while what was before is read."""
    kept = store(tmp_path)
    kept._database.execute("PRAGMA busy_timeout=1")
    for at in range(5):
        kept.accept([Sent(f"0.{at}", f"{at:064x}")])
    log = tmp_path / "answers.sqlite-wal"
    reader = sqlite3.connect(tmp_path / "answers.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM records").fetchall()
    assert not kept.stir()
    assert log.stat().st_size > 0
    assert kept._fresh
    reader.execute("COMMIT")
    reader.close()
    assert kept.stir()
    assert log.stat().st_size == 0
    assert not kept._fresh
    kept.close()


def test_a_survey_that_is_closed_takes_no_more(tmp_path: Path) -> None:
    """Also after a restart; what is there stays."""
    kept = store(tmp_path)
    kept.accept([Sent("0.1", "a" * 64)])
    kept.finish()
    assert kept.accept([Sent("0.2", "b" * 64)]) == [Outcome.CLOSED]
    kept.close()
    again = store(tmp_path)
    assert again.accept([Sent("0.2", "b" * 64)]) == [Outcome.CLOSED]
    assert again.look_up("b" * 64) is Outcome.CLOSED
    assert list(again.records()) == ["0.1"]
    again.close()


def test_a_code_is_known_however_it_is_typed(tmp_path: Path) -> None:
    """Small letters, spaces and hyphens; and it can be asked whether it was used."""
    kept = store(tmp_path, codes=True)
    kept.invite(["ABCDE-FGHIJ"])
    assert kept.look_up("abcdefghij") is Outcome.FREE
    assert kept.look_up("ABCDE-FGHIK") is Outcome.UNKNOWN
    assert kept.accept([Sent("0.1", " abcde fghij ")]) == [Outcome.ACCEPTED]
    assert kept.look_up("ABCDE-FGHIJ") is Outcome.AGAIN
    kept.close()


def test_codes_for_a_survey_without_them_are_refused(tmp_path: Path) -> None:
    """They would let nobody answer, and nobody would notice."""
    kept = store(tmp_path)
    with pytest.raises(InputError, match="codes = true"):
        kept.invite(["ABCDE"])
    kept.close()


def test_a_file_that_is_no_database_is_said_in_one_line(tmp_path: Path) -> None:
    """Not a trace of the library."""
    (tmp_path / "answers.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(InputError, match="cannot be opened as a store"):
        store(tmp_path)


@pytest.fixture
def coded(tmp_path: Path) -> tuple[Path, Definition]:
    """A survey for people who were invited."""
    source, folder = tmp_path / "survey.toml", tmp_path / "survey"
    source.write_text(survey_text(extra="codes = true\n"))
    return folder, new_survey(source, folder)[0]


def test_a_file_of_codes_stands_when_all_of_them_may_answer(
    tmp_path: Path, coded: tuple[Path, Definition]
) -> None:
    """Whoever has the file may send it: none of its codes will be refused."""
    folder, definition = coded
    invite(folder, definition, 5, tmp_path / "codes")
    with opened_store(folder, definition) as kept:
        codes = (tmp_path / "codes").read_text().split()
        assert {kept.look_up(code) for code in codes} == {Outcome.FREE}
    assert (tmp_path / "codes").stat().st_mode & 0o777 == 0o600


def test_codes_that_cannot_answer_are_not_written(
    tmp_path: Path, coded: tuple[Path, Definition]
) -> None:
    """A store that cannot be written leaves no file of codes, and nothing beside it."""
    folder, definition = coded
    (folder / "answers.sqlite").write_bytes(b"not a database" * 100)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="cannot be opened as a store"):
        invite(folder, definition, 5, tmp_path / "codes")
    assert sorted(tmp_path.iterdir()) == before


def test_nobody_is_invited_to_a_survey_that_is_closed(
    tmp_path: Path, coded: tuple[Path, Definition], capsys: pytest.CaptureFixture[str]
) -> None:
    """No code is drawn that could not answer; one code is told as one."""
    folder, definition = coded
    with pytest.raises(SystemExit):
        main(["collect", "invite", str(folder), "1", "-o", str(tmp_path / "one")])
    assert "1 code is in" in capsys.readouterr().err
    with opened_store(folder, definition) as kept:
        kept.finish()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="closed"):
        invite(folder, definition, 5, tmp_path / "codes")
    assert sorted(tmp_path.iterdir()) == before


def test_who_joins_a_panel_answers_in_the_waves_that_are_open(tmp_path: Path) -> None:
    """A wave that is closed does not keep people out of the next one."""
    source, folder = tmp_path / "survey.toml", tmp_path / "survey"
    panel = "codes = true\nwaves = 2\nall_waves_epsilon = 4.0\n"
    source.write_text(survey_text(extra=panel))
    definition = new_survey(source, folder)[0]
    with opened_store(folder, definition.of_wave(1)) as kept:
        kept.finish()
    invite(folder, definition, 1, tmp_path / "codes")
    code = (tmp_path / "codes").read_text().strip()
    with opened_store(folder, definition.of_wave(2)) as kept:
        assert kept.look_up(code) is Outcome.FREE
        kept.finish()
    with pytest.raises(InputError, match="closed"):
        invite(folder, definition, 1, tmp_path / "more")


def test_a_damaged_store_is_said_in_one_line_without_an_answer(
    tmp_path: Path, coded: tuple[Path, Definition]
) -> None:
    """Pages that are not what they say, a text that is none, names in no letters."""
    folder, definition = coded
    with opened_store(folder, definition) as kept:
        kept.invite([f"{at:05}" for at in range(500)])
    file = folder / "answers.sqlite"
    whole = file.read_bytes()
    file.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    with pytest.raises(InputError, match="cannot be read or written"):  # noqa: SIM117
        with opened_store(folder, definition) as kept:
            kept.invite([f"{at:05}" for at in range(900)])
    file.write_bytes(whole)
    with sqlite3.connect(file) as database:
        database.execute("INSERT INTO records VALUES (1, CAST(x'534543524554ff' AS TEXT))")
    with pytest.raises(InputError, match="decode") as caught:  # noqa: SIM117
        with opened_store(folder, definition) as kept:
            list(kept.records())
    assert "SECRET" not in str(caught.value)
    file.write_bytes(whole.replace(b"CREATE TABLE tokens", b"CREATE \xffABLE tokens"))
    with pytest.raises(InputError, match="cannot be read or written"):  # noqa: SIM117
        with opened_store(folder, definition) as kept:
            kept.count()


def test_what_is_not_written_yet_is_not_told(tmp_path: Path) -> None:
    """A code is asked about while the answer with it is being written, and that fails."""
    kept = store(tmp_path)
    told: list[Outcome] = []
    asking = threading.Thread(target=lambda: told.append(kept.look_up("t")))
    with suppress(OSError), kept._writing():
        assert kept._use([kept._hash("t")]) == [Outcome.ACCEPTED]
        asking.start()
        asking.join(0.1)
        raise OSError
    asking.join()
    assert told == [Outcome.FREE]


@pytest.mark.parametrize("odd", [None, 7, b"0.1"])
def test_a_record_that_is_no_text_is_said_to_be_damage(tmp_path: Path, odd: object) -> None:
    """Whatever put it into the file."""
    kept = store(tmp_path)
    kept._database.execute("DROP TABLE records")
    kept._database.execute("CREATE TABLE records (place INTEGER PRIMARY KEY, record)")
    kept._database.execute("INSERT INTO records VALUES (1, ?)", (odd,))
    with pytest.raises(InputError, match="damaged"):
        list(kept.records())
    with pytest.raises(InputError, match="damaged"):
        kept.tally()


@pytest.mark.parametrize("place", ["/dev/null", "/dev", "/", "."])
def test_a_device_or_a_folder_is_no_store_and_is_left_as_it_is(place: str) -> None:
    """Whoever owns the machine would shut it to all others."""
    before = Path(place).stat().st_mode
    with pytest.raises(InputError, match="no file"):
        SqliteStore(Path(place), identity=IDENTITY, codes=False)
    assert Path(place).stat().st_mode == before


@pytest.mark.parametrize("place", ["mysql://host/survey", "a\0b", "\0", ":memory:", "./:memory:"])
def test_what_names_no_store_is_refused(place: str) -> None:
    """In one line, before any library sees it."""
    with pytest.raises(InputError, match="must be the URL"):
        open_store(place, identity="k", codes=False)


def test_who_looks_at_a_survey_without_answers_makes_no_file(
    tmp_path: Path, coded: tuple[Path, Definition], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nowhere: what a kill leaves in a folder of temporary files nobody names."""
    folder, definition = coded
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))  # which does not exist
    before = sorted(tmp_path.rglob("*"))
    with seen_store(folder, definition) as nothing:
        assert (nothing.count(), nothing.finished(), nothing.tally()) == (0, False, {})
        assert sorted(tmp_path.rglob("*")) == before
