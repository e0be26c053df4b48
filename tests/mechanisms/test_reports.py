"""What a record is asked for and what it reports, word by word."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from pramana.base.randomness import Keystream, Stream
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.mechanisms.randomiser import Reporter, _looked_up, _Turns
from pramana.mechanisms.transition import UniformMixture
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import REPORTED, Column, Impossible, Schema

KEYS = Keystream.from_seed(5)
SCHEMA = Schema(
    (
        Column("age", Role.KEY, Categories(("child", "adult", "old")), missing="refuse"),
        Column("wed", Role.KEY, Categories(("no", "yes")), missing="refuse"),
        Column("sex", Role.KEY, Categories(("f", "m")), missing="category"),
        Column("job", Role.KEY, Categories(tuple("abcde")), missing="refuse"),
    ),
    (Impossible((("age", ("child",)), ("wed", ("yes",)))),),
)


def test_words_on_the_edge_of_a_set_are_its_own():
    """Of 2**64 words the first w_1 ask for set 1, the next w_2 for set 2, to the last word."""
    weights = [1, 2**48 - 1, 3, 2**63 - 2**50, 5]
    weights.append(2**64 - sum(weights))
    ends = list(itertools.accumulate(weights))
    words = sorted({0, 2**64 - 1} | {end + off for end in ends[:-1] for off in (-1, 0, 1)})
    expected = [next(at for at, end in enumerate(ends) if word < end) for word in words]

    found = _Turns.of(weights).asked(np.array(words, dtype=np.uint64))

    assert found.tolist() == expected


def test_a_report_is_the_cell_of_its_word():
    """By whole numbers alone: word // other among the cells of the set, beyond them the truth.

    Sets with all combinations of one to three columns, and one without married children.
    """
    rng = np.random.default_rng(1)
    records = 3000
    ages = rng.choice(["child", "adult", "old"], records)
    truth = pa.table(
        {
            "age": ages,
            "wed": np.where(ages == "child", "no", rng.choice(["no", "yes"], records)),
            "sex": rng.choice(["f", "m", None], records),
            "job": rng.choice(list("abcde"), records),
        }
    )
    labels = {column.name: column.labels for column in SCHEMA.columns}
    cells = {
        own: tuple(itertools.product(*(labels[name] for name in own)))
        for own in (("sex", "age"), ("age", "wed"), ("wed", "sex", "job"))
    }
    cells["age", "wed"] = tuple(cell for cell in cells["age", "wed"] if cell != ("child", "yes"))
    cells[("job",)] = labels["job"]
    weights = [2**63 + 5, 2**60, 2**61]
    weights.append(2**64 - sum(weights))
    sets = tuple(
        AttributeSet(own, weight, UniformMixture.of(cells[own], epsilon=2.0))
        for own, weight in zip(cells, weights, strict=True)
    )
    reporter = Reporter(SCHEMA, AttributeSampler(sets=sets), truth.schema, KEYS)
    batch = truth.to_batches()[0]

    made = reporter.decode(reporter.encode(batch, 7), 7).to_pylist()

    turns = KEYS.words(Stream("asked"), 7, records).tolist()
    answers = KEYS.words(Stream("report"), 7, records).tolist()
    ends = list(itertools.accumulate(asked.weight for asked in sets))
    for row, turn, word, found in zip(truth.to_pylist(), turns, answers, made, strict=True):
        asked = sets[next(at for at, end in enumerate(ends) if turn < end)]
        drawn = word < asked.matrix.size * asked.matrix.other
        own = tuple(row[name] for name in asked.columns)
        cell = asked.cells[word // asked.matrix.other] if drawn else own
        expected = dict.fromkeys(SCHEMA.names) | dict(zip(asked.columns, cell, strict=True))
        assert found == expected | {REPORTED: asked.name}


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([7, -1, 3], pa.int16()),
        pa.array([7, 3, None], pa.int64()),
        pa.array([0.5, None]),
        pa.array(["a", "b", None]).cast(pa.dictionary(pa.uint8(), pa.string())),
        pa.array([True, False]),
        pa.array([1, 2], pa.date32()),
    ],
    ids=lambda labels: str(labels.type),
)
def test_a_code_is_its_label_and_nothing_past_the_last(labels):
    """Numbers, text, dates; the last label may be missing, and the code past it is not asked."""
    codes = np.random.default_rng(1).integers(0, len(labels) + 1, 100).astype(np.uint8)
    found = _looked_up(labels, codes)

    found.validate(full=True)
    assert found.type == labels.type
    assert found.to_pylist() == [[*labels.to_pylist(), None][code] for code in codes]
