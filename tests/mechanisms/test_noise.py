"""Noise on sensitive numbers: it is there, or refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.schema.opened_table import OpenedTable
from pramana.verification.checks import State
from pramana.verification.fit_tests import with_noise_check

RECORDS = 400
WORDS = np.random.default_rng(4)
SEX = WORDS.choice(["F", "M"], RECORDS)
PAY = WORDS.integers(0, 900, RECORDS)
LAWS = ["laplace", "normal", "uniform"]


def protected(pay: pa.Array, law: str, scale: float, **options: object) -> pm.Release:
    """A release of these numbers with noise."""
    noise = pm.Recoding(noise=pm.Noise(law, scale))
    schema = pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
            pm.Column("pay", pm.Role.SENSITIVE, recoding=noise),
        )
    )
    table = pa.table({"sex": SEX, "pay": pay})
    plan = pm.design(schema, pm.PkAnonymity(k=3), data=table)
    return pm.protect(table, plan, **options)


@pytest.mark.parametrize("law", LAWS)
def test_noise_that_whole_numbers_round_away_is_refused(law):
    """All would leave as they are, under words that say that noise was added."""
    with pytest.raises(pm.InvalidTable, match="scale of noise on 'pay' must be at least 1"):
        protected(pa.array(PAY), law, 0.4)
    with pytest.raises(pm.InvalidTable, match="scale of noise on 'pay' must be at least 1"):
        protected(pa.array(PAY).dictionary_encode(), law, 0.4)
    assert protected(pa.array(PAY / 4), law, 0.4)


@pytest.mark.parametrize("pay", [pa.array(PAY + 2**60), pa.array(PAY + 1e18)], ids=["whole", "not"])
def test_numbers_in_which_noise_is_lost_are_refused(pay, tmp_path):
    """Floating numbers of that size are farther apart than the noise is wide; none is told."""
    with pytest.raises(pm.InvalidTable, match="'pay' must lie within") as found:
        protected(pay, "laplace", 5.0, to=tmp_path / "release")
    assert not any(str(value) in str(found.value) for value in pay.to_pylist())
    assert not (tmp_path / "release").exists()


def test_whole_numbers_behind_a_dictionary_stay_whole():
    """How the truth is kept decides nothing."""
    plain, coded = (
        protected(own, "normal", 3.0, seed=1).table["pay"].to_pylist()
        for own in (pa.array(PAY), pa.array(PAY).dictionary_encode())
    )
    assert plain == coded


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_errors_allow_for_the_rounding_of_whole_numbers(law, scale):
    """As far as the released numbers are from the true ones, and hardly more."""
    flat = protected(pa.array(np.full(RECORDS, 50)), law, scale, seed=2)
    away = np.array(flat.table["pay"].to_pylist()) - 50
    stated = next(iter(flat.mean("pay").cells))["se"] ** 2 * RECORDS

    many = pm.Noise(law, scale).spread(whole=True)
    assert stated == pytest.approx(many, rel=0.01)
    assert np.mean(away**2) == pytest.approx(many, rel=0.35)


@pytest.mark.parametrize("law", LAWS)
def test_the_owner_finds_the_noise_that_was_stated_on_whole_numbers(law):
    """Twenty thousand numbers and the least noise they may have: squares fit, rounding and all."""
    pay = pa.array(WORDS.integers(49, 52, 20_000))
    column = pm.Column("pay", pm.Role.SENSITIVE, recoding=pm.Recoding(noise=pm.Noise(law, 1.0)))
    words = np.random.default_rng(3)
    drawn = {
        "laplace": words.laplace(size=len(pay)),
        "normal": words.normal(size=len(pay)),
        "uniform": words.uniform(-1, 1, len(pay)),
    }[law]
    released = pa.array(np.rint(np.asarray(pay) + drawn).astype(np.int64))
    truth, shown = (OpenedTable.of_arrow(pa.table({"pay": own})) for own in (pay, released))

    assert with_noise_check(column, shown, truth, level=1e-4).state is State.PASSED
    assert with_noise_check(column, truth, truth, level=1e-4).state is State.FAILED
    for wrong in (np.asarray(released) + 1, np.rint(np.asarray(pay) + 2 * drawn).astype(np.int64)):
        other = OpenedTable.of_arrow(pa.table({"pay": wrong}))
        assert with_noise_check(column, other, truth, level=1e-4).state is State.FAILED
