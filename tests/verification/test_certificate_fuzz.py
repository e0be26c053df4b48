"""Altered certificates end in an error of the package or in a failed check, and in nothing else.

``PRAMANA_FUZZ=20000`` makes more of them than the few hundred of a usual run.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import math
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import PramanaError
from pramana.guarantees.claims import Claim
from pramana.release.certificate import Certificate
from pramana.release.certificate_fields import canonical
from pramana.verification.consistency import consistency_checks

MUTATIONS = int(os.environ.get("PRAMANA_FUZZ", "120"))
"""Of the certificate of each method."""

SCHEMA = """
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.age]
role = "key"
bins = [0, 16, 40, 80]
[columns.region]
role = "public"
categories = ["north", "south"]
[columns.income]
role = "sensitive"
round = 10
noise = {distribution = "laplace", scale = 5}
"""

METHODS: dict[str, tuple[Any, Any]] = {
    "retention": ("retention", pm.PkAnonymity(k=5)),
    "attribute-sampling": ("attribute-sampling", pm.PkAnonymity(k=5)),
    "optimal": ("optimal", pm.SpontaneousRecognition(alpha=0.5, width=2)),
    "inverse-frequency": ("inverse-frequency", pm.CorrectMatch(xi=0.5)),
    "invariant": (pm.Invariant(stay=0.6), None),
    "resample": ("resample", pm.KAnonymity(k=4)),
}

STRANGE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**63, 10**30, 10**40, 0.5, -0.0, 1e308, "", "x", "a\x1b[2J",
    "../x", "0" * 30, [], [[]], {}, {"a": {}}, [None], "\x00", "\ud800", "1e5",
    "released unchanged", "withheld", "groups", "attribute-sampling", "published", "sealed",
    [1, "1", 1.0], {"": ""},
)  # fmt: skip


@pytest.fixture(scope="module", params=METHODS)
def form(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The parsed certificate of a small release."""
    generator = np.random.default_rng(3)
    people = 120
    table = pa.table(
        {
            "sex": generator.choice(["F", "M"], people),
            "age": generator.integers(0, 80, people),
            "region": np.repeat(["north", "south"], people // 2),
            "income": generator.normal(100, 50, people).round(),
        }
    )
    method, target = METHODS[request.param]
    targets = () if target is None else (target,)
    plan = pm.design(pm.Schema.from_toml(SCHEMA), *targets, data=table, method=method)
    certificate = pm.protect(table, plan, seed=1).certificate
    parsed: dict[str, Any] = json.loads(certificate.to_bytes())
    return parsed


def places(form: Any) -> list[tuple[Any, Any]]:
    """Every container of a tree, with each name or position in it."""
    found, left = [], [form]
    while left:
        inner = left.pop()
        for name in list(inner) if isinstance(inner, dict) else range(len(inner)):
            found.append((inner, name))
            if isinstance(inner[name], dict | list):
                left.append(inner[name])
    return found


def replace(inner: Any, name: Any, chance: random.Random, form: Any) -> None:
    """A strange value."""
    inner[name] = copy.deepcopy(chance.choice(STRANGE))


def remove(inner: Any, name: Any, chance: random.Random, form: Any) -> None:
    """A field or item less."""
    del inner[name]


def exchange(inner: Any, name: Any, chance: random.Random, form: Any) -> None:
    """The value of another place."""
    other, at = chance.choice(places(form))
    inner[name] = copy.deepcopy(other[at])


def change(inner: Any, name: Any, chance: random.Random, form: Any) -> None:
    """A value of the same type, or as another type."""
    value = inner[name]
    if isinstance(value, bool) or value is None:
        inner[name] = not value
    elif isinstance(value, int | float):
        inner[name] = chance.choice([value + 1, -value, value * 1e300, str(value), float(value)])
    elif isinstance(value, str):
        at = chance.randrange(len(value) + 1)
        inner[name] = value[:at] + chance.choice(["", "9", "-", "\n", "é", value]) + value[at + 1 :]
    elif isinstance(value, list):
        inner[name] = [*value, *value[:1]] if chance.random() < 0.5 else value[::-1]
    else:
        inner[name] = list(value.values())


def rename(inner: Any, name: Any, chance: random.Random, form: Any) -> None:
    """A field of another name; an item beside itself."""
    if isinstance(inner, dict):
        inner[f"{name}_"] = inner.pop(name)
    else:
        inner.insert(name, copy.deepcopy(inner[name]))


ALTERATIONS: tuple[Callable[[Any, Any, random.Random, Any], None], ...] = (
    replace, remove, exchange, change, change, rename
)  # fmt: skip


def altered(form: dict[str, Any], chance: random.Random) -> bytes:
    """An altered certificate; mostly with a right digest and in canonical form."""
    form = copy.deepcopy(form)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        # As often at the top of the tree as among the many entries of a matrix.
        branch = chance.choice([*form.values(), form])
        found = places(branch) if isinstance(branch, dict | list) and branch else places(form)
        chance.choice(ALTERATIONS)(*chance.choice(found), chance, form)
    try:
        if chance.random() < 0.9:
            form.pop("digest", None)
            form["digest"] = hashlib.sha256(canonical(form)).hexdigest()
        return canonical(form)
    except ValueError:  # a lone surrogate, or an infinite number
        return json.dumps(form).encode()


def problem_of(content: bytes) -> str:
    """The error that refuses a certificate; nothing where it can be read and its parts checked."""
    try:
        certificate = Certificate.from_bytes(content)
    except PramanaError as error:
        return str(error)
    assert certificate.to_bytes() == content
    assert certificate.sentences()
    assert list(consistency_checks(certificate))
    return ""


@pytest.mark.deep(every=6)
def test_an_altered_certificate_raises_no_unforeseen_error(form: dict[str, Any]) -> None:
    """Reading it, its sentences and the checks of its parts raise errors of the package alone."""
    for seed in range(MUTATIONS):
        content = altered(form, random.Random(seed))
        try:
            problem = problem_of(content)
        except Exception as error:
            raise AssertionError(f"mutation {seed} of {form['method']}") from error
        assert "\n" not in problem, seed
        assert len(problem) < 1000, seed


def people() -> pa.Table:
    """The original data of the releases below."""
    generator = np.random.default_rng(3)
    return pa.table(
        {
            "sex": generator.choice(["F", "M"], 120),
            "age": generator.integers(0, 80, 120),
            "region": np.repeat(["north", "south"], 60),
            "income": generator.normal(100, 50, 120).round(),
        }
    )


def other_label(form: dict[str, Any]) -> None:
    """A matrix of a value that the schema does not list."""
    form["mechanism"][0]["matrix"]["labels"][0] = "M9"


def errors_of_fewer_columns(form: dict[str, Any]) -> None:
    """Standard errors without those of a column."""
    del form["statistics"]["standard_errors"]["age"]


def errors_of_more_labels(form: dict[str, Any]) -> None:
    """More standard errors than a column has values."""
    form["statistics"]["standard_errors"]["sex"] *= 2


def errors_that_are_texts(form: dict[str, Any]) -> None:
    """A standard error that is no number."""
    form["statistics"]["standard_errors"]["sex"][0] = "key"


def no_unchanged_records(form: dict[str, Any]) -> None:
    """Null in place of the shares of records that are released unchanged."""
    form["statistics"]["unchanged_records"] = None


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("retention", other_label),
        ("resample", no_unchanged_records),
        ("inverse-frequency", errors_of_fewer_columns),
        ("inverse-frequency", errors_of_more_labels),
        ("inverse-frequency", errors_that_are_texts),
    ],
)
def test_a_certificate_that_contradicts_itself_is_refused_when_it_is_loaded(
    tmp_path, method, change
):
    """Each ended an estimate or the owner's check with an unforeseen error."""
    method, target = METHODS[method]
    plan = pm.design(pm.Schema.from_toml(SCHEMA), target, data=people(), method=method)
    pm.protect(people(), plan, to=tmp_path / "release")
    file = tmp_path / "release" / "certificate.json"
    form = json.loads(file.read_text())
    change(form)
    form.pop("digest")
    form["digest"] = hashlib.sha256(canonical(form)).hexdigest()
    file.write_bytes(canonical(form))

    assert not pm.verify(tmp_path / "release", original=people()).valid
    with pytest.raises(PramanaError) as refused:
        pm.load(tmp_path / "release").crosstab("sex", "age")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("method", ["resample", "centroid"])
def test_a_claim_without_a_bound_ends_no_check_of_the_owner(tmp_path, method):
    """The claim is refused, and all other checks are made."""
    plan = pm.design(pm.Schema.from_toml(SCHEMA), pm.KAnonymity(k=4), data=people(), method=method)
    release = pm.protect(people(), plan, to=tmp_path / "release")
    claims = (Claim(pm.PkAnonymity(math.inf)),)
    forged = dataclasses.replace(release.certificate, claims=claims)
    (tmp_path / "release" / "certificate.json").write_bytes(forged.to_bytes())

    verdict = pm.verify(tmp_path / "release", original=people())
    assert "pk-anonymity" in {check.name for check in verdict.of_state("failed")}
    assert "table" not in {check.name for check in verdict.checks}
