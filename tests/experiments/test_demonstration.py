"""The demonstration as a value: what it promises, what it shows, what it leaves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pramana import api
from pramana.errors import Infeasible, OutputExists
from pramana.experiments.population import demonstrate
from pramana.guarantees.pk_anonymity import PkAnonymity


def test_estimates_agree_with_the_original_data(tmp_path: Path) -> None:
    """Counts and means lie within four standard errors; intervals miss one in twenty."""
    done = demonstrate(data=tmp_path / "data", to=tmp_path / "release", records=50_000, k=20)
    groups = (*done.married[1:], *done.incomes)
    for compared in groups:
        error = (compared.high - compared.low) / (2 * 1.96)
        assert abs(compared.estimate - compared.original) < 4 * error
    inside = [group.low <= group.original <= group.high for group in groups]
    assert sum(inside) >= 7  # of nine; a fixed seed


def test_means_are_compared_with_the_amounts_that_the_schema_admits(tmp_path: Path) -> None:
    """An estimate cannot know how far incomes lie above the top of the grid."""
    done = demonstrate(data=tmp_path / "data", to=tmp_path / "release", records=5_000, k=5)
    people = pq.read_table(tmp_path / "data" / "people.parquet").to_pandas()
    top = done.plan.schema.column("income").recoding.top
    means = people.income.clip(upper=top).groupby(people.education).mean()
    assert people.income.max() > top
    assert {group.group: group.original for group in done.incomes} == pytest.approx(means.to_dict())


def test_the_guarantee_covers_every_column(tmp_path: Path) -> None:
    """Nothing is released unchanged, so the only objection to publication is the known seed."""
    done = demonstrate(data=tmp_path / "data", to=tmp_path / "release", records=2_000, k=5)
    assert not done.plan.schema.released_as_is
    assert done.verdict.publishable is not None
    assert done.verdict.publishable.colour == "amber"
    assert done.release.file_risk.columns == ()


def test_no_child_is_married_anywhere(tmp_path: Path) -> None:
    """Neither in the original data, nor by estimate."""
    done = demonstrate(data=tmp_path / "data", to=tmp_path / "release", records=5_000, k=5)
    child = done.married[0]
    assert child.group == "[0, 16)"
    assert (child.original, child.estimate) == (0, 0)
    assert all(group.original > 0 for group in done.married[1:])


def test_what_was_asked_is_attained_and_verified(tmp_path: Path) -> None:
    """By the plan, by the certificate, and by a stranger's check."""
    done = demonstrate(data=tmp_path / "data", to=tmp_path / "release", records=1_000, k=10)
    assert done.plan.claims[0].asked == PkAnonymity(k=10)
    assert done.plan.claims[0].holds
    assert done.verdict.valid
    assert (tmp_path / "data" / "schema.toml").exists()


def test_a_anonymity_set_that_is_too_small_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    """k above the number of people; and a folder of someone else's is left alone."""
    with pytest.raises(Infeasible, match="largest attainable k is 49"):
        demonstrate(data=tmp_path / "data", to=tmp_path / "release", records=50, k=100)
    assert not list(tmp_path.iterdir())
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "diary.txt").write_text("learn")
    with pytest.raises(OutputExists):
        demonstrate(data=tmp_path / "data", to=tmp_path / "release", records=50, k=5)


def test_a_release_that_is_not_of_a_demonstration_is_left_alone(tmp_path: Path) -> None:
    """Nobody told it to replace one; its own it makes again."""
    to = tmp_path / "release"
    first = demonstrate(data=tmp_path / "data", to=to, records=200, k=5)
    demonstrate(data=tmp_path / "data", to=to, records=200, k=5)
    shutil.rmtree(to)
    api.protect(tmp_path / "data" / "people.parquet", first.plan, to=to)  # without a seed
    before = (to / "certificate.json").read_bytes()
    with pytest.raises(OutputExists, match="not of a demonstration"):
        demonstrate(data=tmp_path / "data", to=to, records=200, k=5)
    assert (to / "certificate.json").read_bytes() == before
