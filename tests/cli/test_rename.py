"""Two columns of one name: an offer, and the way that it offers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana import api
from pramana.errors import InvalidTable
from tests.cli.conftest import MARKER, Run

ROWS = [("F", "north", "1"), ("M", "south", "2")] * 30


@pytest.fixture
def doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A text file with two columns 'code' and one 'code_2', and an identifier with the marker."""
    lines = ["name,code,code,code_2"]
    lines += [f"{MARKER}{at},{','.join(row)}" for at, row in enumerate(ROWS)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_refusal_offers_a_way(doubled: Path, run: Run) -> None:
    """One line with the name and what it would become; exit 2, nothing written, no cell shown."""
    found = run("describe people.csv -o schema.toml")

    assert found.code == 2
    assert "'code' 2 times" in found.err
    assert "--rename: they are then called code, code_3" in found.err
    assert MARKER not in found.err
    assert not (doubled / "schema.toml").exists()


def test_every_step_takes_the_way(doubled: Path, run: Run) -> None:
    """Described, designed, protected and audited under the new names."""
    assert run("describe people.csv --rename -o schema.toml").code == 0
    schema = (doubled / "schema.toml").read_text()
    assert "[columns.code]" in schema
    assert "[columns.code_3]" in schema
    assert run("audit people.csv --rename --keys code,code_3").code == 0
    keys = 'identifiers = ["name"]\nsensitive = ["code_2"]\nkeys = ["code", "code_3"]\n'
    (doubled / "keys.toml").write_text(keys)
    assert run("design people.csv --schema keys.toml --k 3 --rename").code == 0
    made = run("protect people.csv --schema keys.toml --k 3 -o out --rename --accept-risk code_2")
    assert made.code == 0, made
    assert (doubled / "out" / "data.csv").read_text().splitlines()[0].count("code") == 3
    assert run("verify out --original people.csv --rename").code == 0


def _twins() -> pa.Table:
    """Two columns 'code' of other types and values, and one 'code_2'."""
    columns = [[row[0] for row in ROWS], [int(row[2]) for row in ROWS], [row[1] for row in ROWS]]
    return pa.Table.from_arrays(
        [pa.array(own) for own in columns], names=["code", "code", "code_2"]
    )


def _arrow(place: Path) -> None:
    with pa.OSFile(str(place), "wb") as file, pa.ipc.new_file(file, _twins().schema) as writer:
        writer.write_table(_twins())


def _parquet(place: Path) -> None:
    pq.write_table(_twins(), place, row_group_size=25)


def _folder(place: Path) -> None:
    place.mkdir()
    for at in range(2):
        pq.write_table(_twins().slice(30 * at, 30), place / f"part-{at}.parquet")


@pytest.mark.parametrize(
    ("name", "write"),
    [("p.parquet", _parquet), ("p.feather", _arrow), ("parts", _folder)],
)
def test_files_that_know_their_types_take_the_way_too(
    name: str, write: Callable[[Path], None], run: Run, tmp_path: Path
) -> None:
    """Offered where it is not given; taken, each column has its own values, coded or not."""
    place = tmp_path / name
    write(place)
    (tmp_path / "s.toml").write_text('keys = ["code", "code_2"]\nsensitive = ["code_3"]\n')

    refused = run(f"describe {place}")
    assert refused.code == 2
    assert "--rename: they are then called code, code_3" in refused.err
    opened = api.read(place, rename=True)
    assert opened.to_arrow().to_pydict() == dict(
        zip(("code", "code_3", "code_2"), (c.to_pylist() for c in _twins().columns), strict=True)
    )
    words = f"protect {place} --schema {tmp_path}/s.toml --k 3 --rename -o {tmp_path}/out"
    made = run(f"{words} --accept-risk code_3")
    assert made.code == 0, made
    assert run(f"verify {tmp_path}/out --original {place} --rename").code == 0


def test_a_data_frame_of_r_is_not_cut_in_silence(tmp_path: Path) -> None:
    """The library for R files keeps one of two columns of one name: refused, with the way."""
    rdata = pytest.importorskip("rdata")
    frame = pytest.importorskip("pandas").DataFrame([(1, 2, 3), (4, 5, 6)] * 9)
    frame.columns = ["code", "code", "code_2"]
    rdata.write_rds(tmp_path / "p.rds", frame)

    with pytest.raises(InvalidTable, match=r"'code' 2 times. Rename them, or add --rename.*code_3"):
        api.describe(tmp_path / "p.rds")
    opened = api.read(tmp_path / "p.rds", rename=True).to_arrow()
    assert opened.slice(0, 1).to_pydict() == {"code": [1], "code_3": [2], "code_2": [3]}


def test_advice_and_comparison_take_the_way(doubled: Path, run: Run) -> None:
    """Also in the commands to paste."""
    keys = 'identifiers = ["name"]\nsensitive = ["code_2"]\nkeys = ["code", "code_3"]\n'
    (doubled / "keys.toml").write_text(keys)

    found = run("advise people.csv --schema keys.toml --k 3 --method retention --rename --json")
    assert found.code == 0, found
    assert all(command.endswith("--rename") for command in json.loads(found.out)["commands"])
    assert run("advise people.csv --schema keys.toml --k 3 --method retention").code == 2
