"""Real Spark in local mode with two workers; only ``make test-spark`` comes here.

``make test`` needs neither a JVM nor pyspark, so these files are not even collected without
PRAMANA_TEST_SPARK. With it nothing is skipped: what is missing fails.
"""

from __future__ import annotations

import os

import pytest

BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that lives for minutes: compiling it as for days takes longer than it then runs."""

collect_ignore_glob = [] if os.environ.get("PRAMANA_TEST_SPARK") else ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def brief(tmp_path_factory):
    """Every Spark that is started, here and by commands, reads how its JVM is to compile."""
    folder = tmp_path_factory.mktemp("conf")
    (folder / "spark-defaults.conf").write_text(f"spark.driver.extraJavaOptions {BRIEF}\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPARK_CONF_DIR", str(folder))
        yield


@pytest.fixture(scope="session")
def places(tmp_path_factory):
    """Where Spark puts what it writes: event logs, and everything that goes to local disks."""
    base = tmp_path_factory.mktemp("spark")
    (base / "events").mkdir()
    return base


@pytest.fixture(scope="session")
def spark(places):
    """One session for all tests, with two workers and two attempts a task.

    Its local disks are not encrypted, so that a key that got there would be seen.
    """
    from pramana.engine.spark.session import start_session

    session = start_session(
        master="local[2,2]",
        settings={
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": (places / "events").as_uri(),
            "spark.eventLog.compress": "false",  # searched for keys, and read
            "spark.local.dir": str(places / "local"),
            "spark.io.encryption.enabled": "false",
            "spark.default.parallelism": "3",
            "spark.sql.shuffle.partitions": "2",
            "spark.checkpoint.dir": str(places / "checkpoints"),
        },
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def frame_of(spark):
    """A Spark data frame of an Arrow table, in three partitions and in the order of the table."""
    import warnings

    def made(table):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return spark.createDataFrame(table)

    return made
