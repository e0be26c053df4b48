"""What is kept of an answer: the record, that a token was used, and nothing that ties them."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path

import pytest

from pramana.collect.store import Outcome, Sent, SqliteStore
from pramana.errors import InputError

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


def test_answers_of_another_survey_are_refused(tmp_path: Path) -> None:
    """A store belongs to one survey."""
    store(tmp_path).close()
    with pytest.raises(InputError, match="another survey"):
        SqliteStore(tmp_path / "answers.sqlite", identity="b" * 64, codes=False)
