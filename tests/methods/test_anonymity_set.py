"""Too small an anonymity set: the refusal names what splits it, and what to do, in words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.guarantees.claims import GUARANTEES
from pramana.methods.base import METHODS

RECORDS = 600
AIMS = {
    "k-anonymity": pm.KAnonymity(k=5),
    "pk-anonymity": pm.PkAnonymity(k=5.0),
    "spontaneous-recognition": pm.SpontaneousRecognition(alpha=0.1, width=2),
    "correct-match": pm.CorrectMatch(xi=0.1),
}
METHODS_OF = {
    name: next(AIMS[aim] for aim in method.aims if aim in AIMS)
    for name, method in METHODS.items()
    if set(method.aims) & set(AIMS)
}


def people(*, weights: bool, public: bool) -> tuple[pa.Table, pm.Schema]:
    """Two keys, two columns released as they are, and maybe what splits the anonymity set."""
    random = np.random.default_rng(1)
    table = {
        "sex": random.choice(["F", "M"], RECORDS),
        "job": random.choice(["a", "b", "c"], RECORDS),
        "ill": random.choice(["no", "yes"], RECORDS),
        "side": random.choice(["left", "right"], RECORDS),
    }
    columns = [
        pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
        pm.Column("job", pm.Role.KEY, pm.Categories(("a", "b", "c"))),
        pm.Column("ill", pm.Role.SENSITIVE),
        pm.Column("side", pm.Role.PUBLIC),
    ]
    if public:
        table["street"] = np.array([f"street {place}" for place in range(RECORDS)])
        columns.append(pm.Column("street", pm.Role.PUBLIC))
    if weights:
        table["w"] = random.random(RECORDS) * 100
        columns.append(pm.Column("w", pm.Role.WEIGHT))
    return pa.table(table), pm.Schema(tuple(columns))


@pytest.mark.parametrize("method", METHODS_OF)
@pytest.mark.parametrize(("weights", "public"), [(True, False), (False, True), (True, True)])
def test_the_refusal_names_who_splits_the_anonymity_set(method, weights, public):
    """The weight first, with the step that rounds it; no column that is innocent."""
    table, schema = people(weights=weights, public=public)
    with pytest.raises(pm.Infeasible) as refused:
        pm.design(schema, METHODS_OF[method], data=table, method=method)
    said = str(refused.value)
    assert ("the weight 'w'" in said and "(round = " in said) == weights
    assert ("make 'street' a key" in said) == public
    assert not {word for word in ("sex", "job", "ill", "side") if f"'{word}'" in said}
    assert "(k=" not in said
    assert "Anonymity" not in said
    if weights and public:
        assert said.index("'w'") < said.index("'street'")


@pytest.mark.parametrize("method", [name for name in METHODS_OF if name != "inverse-frequency"])
def test_what_only_several_do_together_names_them_all(method):
    """Nobody is alone by one of them; inverse-frequency looks at one column at a time anyway."""
    random = np.random.default_rng(2)
    table, schema = people(weights=False, public=False)
    for name in ("x", "y"):
        table = table.append_column(name, pa.array(random.permutation(np.arange(RECORDS) % 24)))
    more = tuple(pm.Column(name, pm.Role.PUBLIC) for name in ("x", "y"))
    with pytest.raises(pm.Infeasible, match="'x' and 'y'"):
        pm.design(
            pm.Schema((*schema.columns, *more)), METHODS_OF[method], data=table, method=method
        )


def test_every_guarantee_speaks_its_numbers():
    """As words, rounded against us, without the name of a class."""
    assert str(pm.PkAnonymity(k=5.0)) == "k = 5"
    assert str(pm.DifferentialPrivacy(epsilon=3.9999999999999996)) == "epsilon = 4"
    assert str(pm.DifferentialPrivacy(epsilon=float("inf"))) == "epsilon = no bound"
    assert str(pm.PrivacyBreach(rho1=0.1, rho2=0.5)) == "rho1 = 0.1 and rho2 = 0.5"
    assert str(pm.ShuffledPrivacy(epsilon=2.0)) == "central epsilon = 2"
    assert all(kind.__str__ is pm.Guarantee.__str__ for kind in GUARANTEES.values())
