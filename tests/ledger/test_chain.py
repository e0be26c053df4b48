"""A file of lines in which every change shows."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pramana.errors import DoesNotHold, InputError, NotCovered
from pramana.ledger import chain as chain_module
from pramana.ledger.chain import Chain, key_file, locked


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of four lines."""
    chain = Chain.new(tmp_path / "book")
    for number in range(4):
        chain = chain.grown({"what": f"entry {number}"})
    return chain.path


def test_what_was_entered_is_read_back(path: Path) -> None:
    """In order; both files for their owner only; each line carries the digest before it."""
    assert [line["what"] for line in Chain.load(path).lines] == [f"entry {n}" for n in range(4)]
    for file in (path, key_file(path)):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["before"] for line in lines[1:]] == [line["digest"] for line in lines[:-1]]
    assert Chain.load(path).key.hex() not in path.read_text()


def test_every_line_that_is_moved_dropped_or_doubled_shows(path: Path) -> None:
    """All pairs exchanged, each line left out or written twice, and any number cut off the end."""
    lines = path.read_text().splitlines(keepends=True)
    altered = [lines[:n] for n in range(len(lines))]
    for n in range(len(lines)):
        altered += [lines[:n] + lines[n + 1 :], [*lines[:n], lines[n], *lines[n:]]]
        for m in range(n):
            moved = list(lines)
            moved[n], moved[m] = moved[m], moved[n]
            altered.append(moved)
    for change in altered:
        path.write_text("".join(change))
        with pytest.raises(DoesNotHold, match="was altered") as refused:
            Chain.load(path)
        assert "\n" not in str(refused.value)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_every_byte_counts(path: Path, data: st.DataObject) -> None:
    """One byte changed anywhere is refused with one line."""
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != whole[place]))
    path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
    try:
        with pytest.raises(DoesNotHold, match="was altered"):
            Chain.load(path)
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "Infinity", "NaN"])
def test_a_number_that_cannot_be_spelled_shows(path: Path, number: str) -> None:
    """JSON reads some digits as infinity, which it cannot write again."""
    path.write_bytes(path.read_bytes().replace(b'"entry 0"', number.encode()))
    with pytest.raises(DoesNotHold, match="line 2 is no entry"):
        Chain.load(path)


def test_a_line_cut_in_two_shows(path: Path) -> None:
    """A file that ends in the middle of a line."""
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DoesNotHold, match="cut off"):
        Chain.load(path)


def test_whoever_has_not_the_key_cannot_write_a_line_that_fits(path: Path, tmp_path: Path) -> None:
    """A whole new chain under another key, or the old one without its key file."""
    other = Chain.new(tmp_path / "other").grown({"what": "entry 0"})
    path.write_bytes(other.path.read_bytes())
    with pytest.raises(DoesNotHold, match="line 1 is not what was entered"):
        Chain.load(path)
    key_file(path).unlink()
    with pytest.raises(InputError, match="key file"):
        Chain.load(path)


def test_an_older_ledger_beside_the_newer_key_file_shows(path: Path) -> None:
    """Entries that are missing at the end, though the chain is whole; and all of them."""
    older = path.read_bytes()
    Chain.load(path).grown({"what": "entry 4"})
    path.write_bytes(older)
    with pytest.raises(DoesNotHold, match="4 entries where there were 5"):
        Chain.load(path)
    path.unlink()
    with pytest.raises(DoesNotHold, match="it is gone"):
        Chain.load(path)


def test_a_process_that_dies_between_the_files_loses_nothing(path: Path) -> None:
    """The ledger is written first: one line more than the key file knows is accepted."""
    older = key_file(path).read_bytes()
    Chain.load(path).grown({"what": "entry 4"})
    key_file(path).write_bytes(older)

    assert len(Chain.load(path).lines) == 5
    assert len(Chain.load(path).grown({"what": "entry 5"}).lines) == 6
    assert len(Chain.load(path).lines) == 6


def test_a_broken_key_file_is_one_line(path: Path) -> None:
    """Whatever stands in it."""
    for text in ("", "{}", '{"key":"00","entries":1,"last":""}', '{"key":"zz"}'):
        key_file(path).write_text(text)
        with pytest.raises(DoesNotHold, match="cannot be read"):
            Chain.load(path)


def test_there_is_no_ledger(tmp_path: Path) -> None:
    """Said, with how one begins."""
    with pytest.raises(InputError, match="begins one"):
        Chain.load(tmp_path / "none")
    with pytest.raises(InputError, match="must exist"), locked(tmp_path / "no" / "book"):
        pass


ENTERING = """
import sys
from pathlib import Path
from pramana.ledger.chain import Chain, locked
path = Path(sys.argv[1])
for turn in range(5):
    with locked(path):
        Chain.load(path).grown({"what": f"{sys.argv[2]} {turn}"})
"""


def test_two_at_once_lose_no_entry(path: Path) -> None:
    """Four processes, five entries each."""
    workers = [
        subprocess.Popen([sys.executable, "-c", ENTERING, str(path), str(number)])
        for number in range(4)
    ]
    assert [worker.wait() for worker in workers] == [0] * 4
    assert {line["what"] for line in Chain.load(path).lines[4:]} == {
        f"{number} {turn}" for number in range(4) for turn in range(5)
    }


@pytest.mark.parametrize(("version", "whose"), [(1, "an earlier"), (3, "a newer")])
def test_a_ledger_of_another_version_is_said_to_be_one(path: Path, monkeypatch, version, whose):
    """It fits its key file, so that nothing was altered; what to do is said."""
    monkeypatch.setitem(chain_module._HEADER, "version", version)
    other = path.with_name("other")
    Chain.new(other).grown({"a": 1})
    monkeypatch.undo()

    with pytest.raises(NotCovered, match=f"not altered: it has version {version}, of {whose}"):
        Chain.load(other)
    other.write_bytes(other.read_bytes().replace(b'"version":%d' % version, b'"version":9'))
    with pytest.raises(DoesNotHold, match="was altered"):
        Chain.load(other)


def test_a_lock_that_is_a_link_is_refused(tmp_path):
    """It would change the permissions of the file that it leads to."""
    other = tmp_path / "other"
    other.write_text("not ours")
    other.chmod(0o644)
    (tmp_path / "office.ledger.lock").symlink_to(other)

    with pytest.raises(InputError, match="lock"), locked(tmp_path / "office.ledger"):
        pass
    assert other.stat().st_mode & 0o777 == 0o644
