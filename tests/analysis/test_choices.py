"""Words to choose from: every choice of every public verb refuses a word that is none."""

from __future__ import annotations

import builtins
import inspect
import types
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import pramana as pm
from pramana.errors import InputError
from tests.analysis.releases import DESIGNS, SCHEMA, released, truth

NONSENSE = "nonsense"

RESULTS = ("Certificate", "Estimate", "Regression")
"""Made by pramana, not by who calls it."""

CALLS = {
    "Bins.__init__": lambda _, **given: pm.Bins((0, 10, 20), **given),
    "Centroid.__init__": lambda _, **given: pm.Centroid(**given),
    "Column.__init__": lambda _, **given: pm.Column("a", pm.Role.KEY, **given),
    "Gaussian.__init__": lambda _, **given: pm.Gaussian(**given),
    "Noise.__init__": lambda _, **given: pm.Noise(**{"scale": 1.0} | given),
    "Optimal.__init__": lambda _, **given: pm.Optimal(**given),
    "Permute.__init__": lambda _, **given: pm.Permute(**given),
    "Recoding.__init__": lambda _, **given: pm.Recoding(**given),
    "Release.corr": lambda release, **given: release.corr("inc", "weight", **given),
    "Release.crosstab": lambda release, **given: release.crosstab("ill", "region", **given),
    "Release.median": lambda release, **given: release.median("inc", **given),
    "Release.mean": lambda release, **given: release.mean("inc", **given),
    "Release.proportion": lambda release, **given: release.proportion("inc>=100", **given),
    "Release.quantile": lambda release, **given: release.quantile("inc", **given),
    "Release.regress": lambda release, **given: release.regress("inc ~ ill", **given),
    "Release.shift_weights": lambda release, **given: release.shift_weights(truth(), **given),
    "Release.std": lambda release, **given: release.std("inc", **given),
    "Release.synthesize": lambda release, **given: release.synthesize(**given),
    "Release.synthesized": lambda release, **given: release.synthesized(None, **given),
    "Release.total": lambda release, **given: release.total("inc", **given),
    "Release.transfer_weights": lambda release, **given: release.transfer_weights(
        "region", response="ill", **given
    ),
    "Release.write_synthetic": lambda release, **given: release.write_synthetic("x.csv", **given),
    "Replicates.__init__": lambda _, **given: pm.Replicates("w*", **given),
    "Resample.__init__": lambda _, **given: pm.Resample(**given),
    "Retention.__init__": lambda _, **given: pm.Retention(**given),
    "attack": lambda release, **given: pm.attack(given["name"], release),
    "audit": lambda _, **given: pm.audit(truth(), keys=["a"], **given),
    "learn": lambda release, **given: pm.learn(release, "ill", **given),
    "learn_tree": lambda release, **given: pm.learn_tree(release, target="ill", **given),
}
"""How each verb with a choice is called, but for the choice."""


class Names(dict):
    """Names of annotations; those that are imported for type checkers alone stand for anything."""

    def __init__(self, verb: object) -> None:
        self.known = verb.__globals__

    def __missing__(self, name: str) -> object:
        return self.known.get(name, getattr(builtins, name, object))


def has_words(hint: object) -> bool:
    """Whether a type lists words to choose from."""
    if get_origin(hint) is Literal:
        return True
    inside = get_origin(hint) in (Union, types.UnionType, Annotated)
    return inside and any(has_words(part) for part in get_args(hint))


def choices() -> set[tuple[str, str]]:
    """Every parameter with a choice of every public verb and value, by name."""
    found = set()
    for name in set(pm.__all__) - set(RESULTS):
        thing = getattr(pm, name)
        verbs = {name: thing} if inspect.isfunction(thing) else {}
        if inspect.isclass(thing):
            verbs = {
                f"{name}.{own}": verb
                for own, verb in inspect.getmembers(thing, inspect.isroutine)
                if (not own.startswith("_") or own == "__init__") and hasattr(verb, "__globals__")
            }
        for full, verb in verbs.items():
            hints = get_type_hints(verb, localns=Names(verb))
            hints.pop("return", None)
            found |= {(full, one) for one, hint in hints.items() if has_words(hint)}
    return found


@pytest.mark.parametrize("method", ["retention", "invariant", "resample", "attribute-sampling"])
@pytest.mark.parametrize(("verb", "parameter"), sorted(choices()))
def test_no_choice_takes_nonsense(verb, parameter, method):
    """One line that names the parameter's words, for every kind of release."""
    with pytest.raises(InputError, match=NONSENSE):
        CALLS[verb](released(method), **{parameter: NONSENSE})


def test_names_of_members_are_refused_too(tmp_path):
    """Methods and formats are looked up by name."""
    asked, options = DESIGNS["retention"]
    plan = pm.design(SCHEMA, *asked, data=truth(), **options)
    with pytest.raises(InputError, match=NONSENSE):
        pm.design(SCHEMA, *asked, data=truth(), method=NONSENSE)
    with pytest.raises(InputError, match=NONSENSE):
        pm.protect(truth(), plan, to=tmp_path / "r", file_format=NONSENSE)
    with pytest.raises(InputError, match=NONSENSE):
        released("retention").save(tmp_path / "s", file_format=NONSENSE)
    with pytest.raises(InputError, match=NONSENSE):
        pm.compare(truth(), SCHEMA, k=[5], methods=[NONSENSE])
    assert not list(tmp_path.iterdir())
