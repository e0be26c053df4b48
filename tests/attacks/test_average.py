"""Several releases of the same people."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pramana.attacks import average_attack, earlier_releases, exact_posterior
from pramana.errors import InvalidNumber, NotCovered
from pramana.guarantees import DifferentialPrivacy, PkAnonymity
from pramana.guarantees.claim import Claim
from pramana.matrices import Mechanism, Step, UniformMixture
from pramana.release.certificate import Certificate
from pramana.table import Categories, Column, Role, Schema


def certificate(retention: float, *, records: int = 100, crowd: int | None = None) -> Certificate:
    matrix = UniformMixture.of(("f", "m"), retention=retention)
    mechanism = Mechanism((Step(("sex",), matrix),))
    crowd = crowd or records
    return Certificate(
        schema=Schema((Column("sex", Role.KEY, Categories(("f", "m")), missing="refuse"),)),
        kind="published",
        mechanism=mechanism,
        method="retention",
        records=records,
        crowd=crowd,
        claims=(Claim(PkAnonymity.of(mechanism, crowd=crowd)),),
    )


def test_two_coins_by_hand():
    """gamma 3 twice: epsilon 2 ln 3, k = 1 + 99 / 81."""
    found = average_attack([certificate(0.5), certificate(0.5)])

    assert found.epsilon.epsilon == pytest.approx(2 * math.log(3))
    assert found.k.k == pytest.approx(1 + 99 / 81)
    assert found.breach.rho2 == pytest.approx(0.9 / (0.9 + 0.9))


def test_one_release_is_itself():
    """The limit case: nothing to compose."""
    found = average_attack([certificate(0.3)])

    assert (found.k.k, found.epsilon.epsilon) == found.alone[0]


def test_no_pairing_exceeds_what_remains():
    """All releases of three people, twice: the worst posterior is 1/k of the composition."""
    coin = UniformMixture.of(("f", "m"), retention=0.5).values
    worst = 0.0
    for truth in np.ndindex(2, 2, 2):
        for first in np.ndindex(2, 2, 2):
            for second in np.ndindex(2, 2, 2):
                likelihood = coin[list(truth)][:, list(first)] * coin[list(truth)][:, list(second)]
                worst = max(worst, exact_posterior(likelihood).max())
    found = average_attack([certificate(0.5, records=3)] * 2)

    assert worst == pytest.approx(1 / found.k.k)


def test_the_smallest_crowd_counts():
    """k is computed in the smaller of the crowds."""
    found = average_attack([certificate(0.5), certificate(0.5, crowd=10)])

    assert found.k.k == pytest.approx(1 + 9 / 81)


def test_epsilon_without_bound_is_null_in_json():
    """A release as it is has no epsilon."""
    found = average_attack([certificate(1.0)])

    assert found.epsilon == DifferentialPrivacy(epsilon=math.inf)
    assert found.to_json()["together"]["epsilon"] is None


def test_other_people_and_withheld_matrices_are_refused():
    """Other numbers of records are other people; without matrices nothing can be composed."""
    with pytest.raises(InvalidNumber, match="100, 90"):
        average_attack([certificate(0.5), certificate(0.5, records=90)])
    with pytest.raises(NotCovered, match="method retention does not publish"):
        average_attack([replace(certificate(0.5), kind="withheld", mechanism=None)])
    with pytest.raises(InvalidNumber, match="at least one"):
        average_attack([])


def test_earlier_releases_are_found_beside_the_new_one(tmp_path):
    """A folder with the same columns and number of records is named; others are not."""
    for name, made in (("old", certificate(0.5)), ("other", certificate(0.5, records=7))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "certificate.json").write_bytes(made.to_bytes())
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "certificate.json").write_text("{")

    found = earlier_releases(tmp_path / "new", certificate(0.2))

    assert [folder.name for folder in found] == ["old"]
