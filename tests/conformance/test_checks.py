"""Tests of the tests: engines that are wrong on purpose, and the checks that find them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from pramana.engine.base import Shuffle
from pramana.engine.local import LocalTable
from pramana.schema.opened_table import Part
from tests.conformance.checks import failing, people


def honest(table):
    return LocalTable.of(table, threads=2)


@dataclass(frozen=True)
class Unshuffled(LocalTable):
    """Forgets the shuffle."""

    def shuffle(self, *, keystream, stream="shuffle"):
        del keystream, stream
        return self

    @property
    def passes(self):
        return 2


@dataclass(frozen=True)
class Rotated(LocalTable):
    """Cuts the deck once instead of shuffling it."""

    def shuffle(self, *, keystream, stream="shuffle"):
        table = self.to_arrow()
        at = int(keystream.integers(stream, 0, len(table))[0])
        turned = pa.concat_tables([table.slice(at), table.slice(0, at)])
        return replace(self, opened=LocalTable.of(turned).opened, steps=())

    @property
    def passes(self):
        return 2


@dataclass(frozen=True)
class Restarting(LocalTable):
    """Tells every batch that it begins at position 0, so that words are used again."""

    def map_batches(self, function, *, schema):
        return super().map_batches(lambda batch, _: function(batch, 0), schema=schema)


@dataclass(frozen=True)
class Paired(LocalTable):
    """Draws two neighbours with one word."""

    def map_batches(self, function, *, schema):
        def twice(batch, position):
            numbers = np.arange(len(batch))
            halves = [
                function(batch.take(pa.array(numbers[odd::2])), position // 2) for odd in (0, 1)
            ]
            order = np.argsort(np.concatenate((numbers[::2], numbers[1::2])))
            return pa.concat_batches(halves).take(pa.array(order))

        return super().map_batches(twice, schema=schema)


@dataclass(frozen=True)
class Forgetful(LocalTable):
    """Loses the last record of a shuffle and says nothing."""

    def _parts(self, progress):
        lost = int(any(isinstance(step, Shuffle) for step in self.steps))
        for part in super()._parts(progress):
            batch = part.load().slice(lost)
            yield Part(part.position, len(batch), lambda batch=batch: batch)


def wrong(kind):
    """An engine of this kind; small batches, so that there are several."""

    def engine(table):
        cut = pa.Table.from_batches(table.to_batches(max_chunksize=4096))
        return replace(kind.of(cut), threads=1)

    return engine


def test_an_honest_engine_passes_everything(tmp_path):
    """Otherwise failing would say nothing."""
    assert failing(honest, tmp_path) == []


def test_an_engine_that_skips_the_shuffle_fails(tmp_path):
    """By the order, and by the release as a whole."""
    found = failing(wrong(Unshuffled), tmp_path)

    assert {"check_shuffling", "check_same_release_as_stated"} <= set(found)
    assert "check_distributions" not in found  # draws are right: only the order tells


@pytest.mark.deep
def test_an_engine_that_only_turns_the_records_round_fails(tmp_path):
    """A random order, but not any order."""
    assert "check_shuffling" in failing(wrong(Rotated), tmp_path)


def test_an_engine_that_reuses_words_fails(tmp_path):
    """By the words themselves, by positions, and where batches are alike by their dependence."""
    found = failing(wrong(Restarting), tmp_path)

    assert {"check_words", "check_positions", "check_same_release_as_stated"} <= set(found)


@pytest.mark.deep
def test_an_engine_that_draws_neighbours_with_one_word_fails(tmp_path):
    """Each draw has the right law, and two are one: independence finds it."""
    found = failing(wrong(Paired), tmp_path)

    assert {"check_words", "check_independence"} <= set(found)


def test_an_engine_that_loses_a_record_fails(tmp_path):
    """One of many."""
    found = failing(wrong(Forgetful), tmp_path)

    assert {"check_shuffling", "check_writing"} <= set(found)


def test_the_table_of_the_checks_can_tell(tmp_path):
    """Numbers that are all different: no record stands for another."""
    assert len(np.unique(people()["number"])) == len(people())
