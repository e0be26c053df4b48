"""Releases whose data are a folder of files, as clusters write them."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.release.folder import complete_folder, fingerprint, release_folder
from tests.release.people import people, plan


@pytest.fixture
def release(tmp_path):
    """A release whose data lie in two files."""
    made = pm.protect(people(), plan(), seed=1)
    table = made.opened.to_arrow()
    with release_folder(tmp_path / "release") as work:
        data = work / "data.parquet"
        data.mkdir()
        pq.write_table(table.slice(0, 1500), data / "part-00000.parquet")
        pq.write_table(table.slice(1500), data / "part-00001.parquet")
        complete_folder(work, made.certificate, file_format="parquet")
    return tmp_path / "release"


def test_a_folder_of_files_is_a_release_like_any_other(release):
    """It verifies, also against the truth, loads, and answers questions."""
    assert pm.verify(release, original=people()).valid
    assert pm.load(release).crosstab("sex").records == 4000


def _add(data):
    (data / "part-00002.parquet").write_bytes((data / "part-00001.parquet").read_bytes())


def _hide(data):
    (data / ".hidden").write_text("x")


def _drop(data):
    (data / "part-00001.parquet").unlink()


def _swap(data):
    first, second = data / "part-00000.parquet", data / "part-00001.parquet"
    first.rename(data / "aside")
    second.rename(first)
    (data / "aside").rename(second)


def _change(data):
    part = data / "part-00001.parquet"
    content = bytearray(part.read_bytes())
    content[100] ^= 1
    part.write_bytes(content)


def _bury(data):
    (data / "deeper").mkdir()


@pytest.mark.parametrize("change", [_add, _hide, _drop, _swap, _change, _bury])
def test_any_change_of_the_folder_is_found(release, change):
    """A file more, less, elsewhere, or one bit changed."""
    change(release / "data.parquet")

    verdict = pm.verify(release)
    assert not verdict.valid
    assert "data" in [check.name for check in verdict.checks if not check.ok]


def test_a_fingerprint_is_that_of_names_sizes_and_contents(tmp_path):
    """Worked by hand: the SHA-256 of the listing."""
    import hashlib

    (tmp_path / "b.parquet").write_bytes(b"two")
    (tmp_path / "a.parquet").write_bytes(b"one!")
    listing = "".join(
        f"{hashlib.sha256(content).hexdigest()} {len(content)} {name}\n"
        for name, content in (("a.parquet", b"one!"), ("b.parquet", b"two"))
    )

    found = fingerprint(tmp_path, "parquet")
    assert (found.sha256, found.size) == (hashlib.sha256(listing.encode()).hexdigest(), 7)
