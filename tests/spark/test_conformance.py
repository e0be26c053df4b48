"""Spark does what every engine must do, and two Spark engines that are wrong are found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from pramana.engine.spark import table as engine_module
from pramana.engine.spark.table import SparkTable
from tests.conformance.checks import (
    CHECKS,
    check_independence,
    check_shuffling,
    check_words,
)


@pytest.fixture
def engine(frame_of, monkeypatch):
    """Several partitions in, several ranges in the shuffle."""
    monkeypatch.setattr(engine_module, "RANGE_RECORDS", 4000)
    return lambda table: SparkTable.of(frame_of(table))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_conformance(check, engine, tmp_path):
    """See the docstring of each check."""
    check(engine, tmp_path)


@dataclass(frozen=True)
class Unshuffled(SparkTable):
    """Forgets the shuffle."""

    def shuffle(self, *, keystream, stream="shuffle"):
        del keystream, stream
        return self


@dataclass(frozen=True)
class Attempting(SparkTable):
    """Counts positions in each partition anew, so that words are used again."""

    def map_batches(self, function, *, schema):
        def anew(batch, position):
            del position
            return function(batch, 0)

        return super().map_batches(anew, schema=schema)


def test_a_spark_engine_that_skips_the_shuffle_fails(engine, tmp_path):
    """The order of the records tells."""
    with pytest.raises(AssertionError):
        check_shuffling(lambda table: Unshuffled(engine(table).opened), tmp_path)


def test_a_spark_engine_that_reuses_words_fails(engine, tmp_path):
    """The words tell, and so does the dependence of records one partition apart."""
    wrong = lambda table: Attempting(engine(table).opened)  # noqa: E731 - as short as the others
    with pytest.raises(AssertionError):
        check_words(wrong, tmp_path)


def test_dependence_is_seen_on_spark_too(engine, tmp_path):
    """The honest engine passes the same test."""
    check_independence(lambda table: replace(engine(table)), tmp_path)
