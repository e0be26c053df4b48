"""k, local and central epsilon in one line."""

from __future__ import annotations

import math

import pytest

import pramana as pm
from pramana.guarantees.claims import central_text, trade_off


@pytest.mark.parametrize(
    ("central", "text"),
    [
        (pm.ShuffledPrivacy(0.31, 1e-6), "0.31 (delta 1e-6)"),
        (pm.ShuffledPrivacy(0.31, 2.5e-7), "0.31 (delta 2.5e-7)"),
        (pm.ShuffledPrivacy(3.0, 0.0), "3 (delta 0)"),
        (pm.ShuffledPrivacy(math.inf, 0.0), "no bound"),
    ],
)
def test_a_central_epsilon_goes_with_its_delta(central: pm.ShuffledPrivacy, text: str) -> None:
    """Rounded up; a delta of 0 says nothing of the anonymity set, which may be large."""
    assert central_text(central) == text


def test_every_number_is_rounded_against_us() -> None:
    """k down, epsilons up."""
    line = trade_off(
        [
            pm.PkAnonymity(2.99999),
            pm.DifferentialPrivacy(1.00001),
            pm.ShuffledPrivacy(0.100001, 1e-6),
        ]
    )

    assert line is not None
    assert "k = 2.999, local epsilon = 1.001, central epsilon = 0.1001 (delta 1e-6)" in line


def test_where_one_does_not_hold_nothing_is_said() -> None:
    """Groups have no epsilon; exempt values have none that is finite."""
    k, central = pm.PkAnonymity(3), pm.ShuffledPrivacy(1, 1e-6)

    assert trade_off([k]) is None
    assert trade_off([k, pm.DifferentialPrivacy(math.inf), central]) is None
