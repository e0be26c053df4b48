"""Spark's workers execute no Python file of the working folder."""

from __future__ import annotations

import pyarrow.parquet as pq

from tests.release.people import SCHEMA, people
from tests.security.test_working_folder import BINARY, executed, plant, run


def test_workers_execute_no_file_of_the_working_folder(tmp_path):
    """Neither the daemon that starts them nor they themselves."""
    place = tmp_path / "work"
    place.mkdir()
    pq.write_table(people(300), tmp_path / "people.parquet")
    SCHEMA.save(tmp_path / "schema.toml")
    plant(place)
    words = "protect ../people.parquet --schema ../schema.toml --k 20 --engine spark -o ../release"
    done = run(place, str(BINARY), *words.split())
    assert executed(place) == ""
    assert done.returncode == 0, done.stderr
