"""The cases of the corpus: each returns plain facts, computed from seeded inputs in a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

import pramana as pm
from tests.golden.collected import collected_case, panel_case
from tests.golden.facts import (
    Facts,
    array,
    attempt,
    call,
    certificate_facts,
    contrast_facts,
    estimate_facts,
    get,
    independence_facts,
    make,
    named,
    numbers,
    plan_facts,
    regression_facts,
    table_facts,
    verdict_facts,
)
from tests.golden.people import EDUCATION, people, survey
from tests.golden.renames import WORDS, stored_word
from tests.golden.schemas import (
    AGES,
    bins,
    categories,
    column,
    people_schema,
    survey_schema,
)

Case = Callable[[Path], Facts]
Design = tuple[tuple[Any, ...], Any]
"""Targets, and a method with its options or its name."""

FORMATS = ("csv", "parquet", "feather", "sav", "dta")
ESTIMATORS = ("auto", "inverse", "clipped", "em")
SEED = 5

RECORDS = 600
FEW = 300
"""Records where people are attacked again and again."""


# -- releases of the same people by every method -----------------------------------------------


def _matrices() -> dict[str, Any]:
    """Matrices that a steward brings: a mixture, a band, and a matrix with zeros."""
    band = np.array([[7, 2, 1, 0], [2, 6, 1, 1], [1, 1, 6, 2], [0, 1, 2, 7]]) / 10
    return {
        "sex": named("UniformMixture").of(("F", "M"), retention=0.7),
        "age": named("Dense").of(AGES, band),
        "education": named("Dense").of(EDUCATION, 0.6 * np.eye(4) + 0.1),
    }


def _designs() -> dict[str, Design]:
    """One design for each method, and for each kind of release."""
    k, groups = make("PkAnonymity", k=3), make("KAnonymity", k=4)
    alpha = make("SpontaneousRecognition", alpha=0.06)
    return {
        "retention": ((k,), WORDS["retention"]),
        "reports": ((k,), WORDS["reports"]),
        "optimal": ((alpha,), make("Optimal", publish="always")),
        "optimal-sealed": ((alpha,), make("Optimal", publish="never")),
        "inverse-frequency": ((make("CorrectMatch", xi=0.2),), WORDS["inverse-frequency"]),
        "invariant": ((), make("Invariant", stay=0.6)),
        "matrix": ((), make("GivenMatrices", matrices=_matrices())),
        "matrix-from-data": ((), make("MatricesFromData", matrices=_matrices())),
        "resample": ((groups,), WORDS["resample"]),
        "permute": ((groups,), make("Permute", responses=("income",))),
        "gaussian": ((groups,), WORDS["gaussian"]),
        "centroid": ((groups,), WORDS["centroid"]),
    }


METHODS = (
    "retention",
    "reports",
    "optimal",
    "optimal-sealed",
    "inverse-frequency",
    "invariant",
    "matrix",
    "matrix-from-data",
    "resample",
    "permute",
    "gaussian",
    "centroid",
)


def _released(method: str, folder: Path, records: int = RECORDS, **options: Any) -> tuple[Any, Any]:
    """The plan for the people by a method, and their release in a folder."""
    table = people(records)
    asked, chosen = _designs()[method]
    schema = people_schema(town="sensitive" if method.startswith("optimal") else "plain")
    plan = call(pm, "design", schema, *asked, data=table, method=chosen)
    return plan, call(pm, "protect", table, plan, to=folder, seed=SEED, **options)


def release_case(method: str, folder: Path) -> Facts:
    """A release by one method: plan, certificate, records, verdicts and estimates."""
    withheld = method in ("optimal-sealed", "inverse-frequency", "invariant")
    kept = {"steward_folder": folder / "owner"} if withheld else {}
    plan, release = _released(method, folder / "release", **kept)
    return {
        "plan": plan_facts(plan),
        "certificate": certificate_facts(folder / "release"),
        "records": table_facts(get(release, "table")),
        "verdict": verdict_facts(call(pm, "verify", folder / "release")),
        "verdict_of_owner": verdict_facts(
            call(pm, "verify", folder / "release", original=people(RECORDS))
        ),
        # Matrices made from the data are read as given ones are.
        "estimates": {} if method == "matrix-from-data" else estimates(release),
        "formats": _in_formats(release, folder),
    }


def _in_formats(release: Any, folder: Path) -> Facts:
    """The same release in every format that can be written, read back."""
    found = {}
    for file_format in FORMATS:
        saved = call(release, "save", folder / file_format, file_format=file_format)
        found[file_format] = {
            "records": table_facts(get(saved, "table")),
            "valid": get(call(saved, "verify"), "valid"),
            "sex": attempt(lambda saved=saved: array(get(_of_sex(saved), "estimate"))),
        }
    return found


def _of_sex(release: Any) -> Any:
    return call(release, "crosstab", "sex")


def estimates(release: Any) -> Facts:
    """What every verb of an analyst returns, or the error by which it refuses."""

    def table(verb: str, *values: Any, **options: Any) -> Facts:
        return attempt(lambda: estimate_facts(call(release, verb, *values, **options)))

    found = {f"age {how}": table("crosstab", "age", method=how) for how in ESTIMATORS}
    found |= {
        "sex*education": table("crosstab", "sex", "education"),
        "sex*ill": table("crosstab", "sex", "ill", infer="population", simultaneous=True),
        "sex*education row": table("crosstab", "sex", "education", share="row"),
        "education where": table("crosstab", "education", where={"sex": "F"}, share=True),
        "mean": table("mean", "income", by=["education"]),
        "total": table("total", "income", by=["sex"]),
        "quantile": table("quantile", "income", [0.25, 0.5], by=["sex"]),
        "proportion": table("proportion", "income>=3000", by=["sex"]),
        "independence": attempt(
            lambda: independence_facts(call(release, "independence", "age", "education"))
        ),
        "linear": attempt(lambda: regression_facts(call(release, "regress", "income ~ sex"))),
        "logistic": attempt(
            lambda: regression_facts(call(release, "regress", "ill ~ sex", family="logistic"))
        ),
        "difference": attempt(lambda: _contrast(release, "difference")),
        "ratio": attempt(lambda: _contrast(release, "ratio")),
    }
    for how in ("posterior", "rank"):
        found[f"rebuilt {how}"] = attempt(
            lambda how=how: table_facts(call(release, "rebuild", method=how, seed=SEED))
        )
    return found


def _contrast(release: Any, verb: str) -> Facts:
    table = call(release, "mean", "income", by=["sex"])
    return contrast_facts(call(table, verb, "M", "F"))


# -- designs -----------------------------------------------------------------------------------


def designs_case(folder: Path) -> Facts:
    """Designs from a number of records alone, the refusals among them."""
    del folder
    schema = people_schema()
    stated = people_schema(tables=(("sex", "age"), ("age", "education")))
    rules = people_schema(
        impossible=(make("Impossible", (("age", (AGES[0],)), ("education", ("degree",)))),)
    )
    strata = people_schema(strata=("town",))
    k = partial(make, "PkAnonymity")
    cases = {
        "k": (schema, (k(k=100),), "retention"),
        "epsilon": (schema, (make("DifferentialPrivacy", epsilon=3),), "retention"),
        "both": (schema, (k(k=100), make("DifferentialPrivacy", epsilon=3)), "retention"),
        "breach": (schema, (make("PrivacyBreach", rho1=0.1, rho2=0.5),), "retention"),
        "central": (schema, (make("ShuffledPrivacy", epsilon=1, delta=1e-6),), "retention"),
        "central reports": (schema, (make("ShuffledPrivacy", epsilon=1),), "reports"),
        "equal": (schema, (k(k=100),), make("Retention", spread="equal")),
        "joint": (schema, (k(k=20),), make("Retention", joint=(("sex", "age"),))),
        "stated": (schema, (), make("Retention", retention=0.5)),
        "error": (schema, (), make("Retention", max_error=0.1)),
        "reports": (schema, (k(k=100),), "reports"),
        "reports of tables": (stated, (k(k=100),), "reports"),
        "chosen": (stated, (k(k=100),), None),
        "rules": (rules, (k(k=20),), "retention"),
        "strata": (strata, (k(k=20),), "retention"),
        "too much": (schema, (k(k=30_000),), "retention"),
        "wrong method": (schema, (make("CorrectMatch", xi=0.1),), "retention"),
    }
    return {name: attempt(lambda own=own: _designed(*own)) for name, own in cases.items()}


def _designed(schema: Any, asked: tuple[Any, ...], method: Any) -> Facts:
    options = {} if method is None else {"method": method}
    plan = call(pm, "design", schema, *asked, records=20_000, smallest_group=9_000, **options)
    return plan_facts(plan)


# -- households, weights, recodings ------------------------------------------------------------


def survey_case(folder: Path) -> Facts:
    """A weighted survey of households with recodings, by the two methods that take them."""
    schema = survey_schema()
    schema.save(folder / "schema.toml")
    found: dict[str, Facts] = {"same": named("Schema").load(folder / "schema.toml") == schema}
    for method in ("retention", "reports"):
        target = make("PkAnonymity", k=2)
        plan = call(pm, "design", schema, target, data=survey(), method=method)
        release = call(pm, "protect", survey(), plan, to=folder / method, seed=SEED)
        found[method] = {
            "plan": plan_facts(plan),
            "certificate": certificate_facts(folder / method),
            "records": table_facts(get(release, "table")),
            "verdict": verdict_facts(call(pm, "verify", folder / method, original=survey())),
            "estimates": _weighted(release),
        }
    return found


def rounds_case(folder: Path) -> Facts:
    """Shuffled marginals: the counts of all rounds and what is estimated from them."""
    schema, target = people_schema(), make("ShuffledPrivacy", epsilon=1, delta=1e-6)
    keys = [one for one in schema.columns if str(one.role) == "key"]
    schema = make("Schema", tuple(keys))
    plan = call(pm, "design", schema, target, records=FEW, method="shuffled-marginals")
    table = people(FEW).select([one.name for one in keys])
    unasked = replace(plan, asked=(), attained=())  # with a seed no central epsilon is guaranteed
    release = call(pm, "protect", table, unasked, to=folder / "release", seed=SEED)
    return {
        "plan": plan_facts(plan),
        "certificate": certificate_facts(folder / "release"),
        "records": table_facts(get(release, "table")),
        "verdict": verdict_facts(call(pm, "verify", folder / "release")),
        "age": estimate_facts(call(release, "crosstab", "age")),
        "sex*age": estimate_facts(call(release, "crosstab", "sex", "age")),
        "rebuilt": table_facts(call(release, "rebuild", method="posterior", seed=SEED)),
    }


def _weighted(release: Any) -> Facts:
    def table(verb: str, *values: Any, **options: Any) -> Facts:
        return attempt(lambda: estimate_facts(call(release, verb, *values, **options)))

    return {
        "weighted": table("crosstab", "sex"),
        "unweighted": table("crosstab", "sex", weighted=False),
        "population": table("crosstab", "job", infer="population"),
        "children": table("crosstab", "children"),
        "mean": table("mean", "pay", by=["sex"]),
        "noisy": table("total", "debt", by=["sex"], infer="population"),
        "quantile": table("quantile", "pay", 0.5),
        "noisy quantile": table("quantile", "debt", 0.5),
        "regression": attempt(lambda: regression_facts(call(release, "regress", "pay ~ sex"))),
        "independence": attempt(
            lambda: independence_facts(call(release, "independence", "sex", "job"))
        ),
    }


def numbers_case(folder: Path) -> Facts:
    """Bins released as centre or draw, missing values that stay, exempt values, rules, strata."""
    schema = make(
        "Schema",
        (
            column("household", "identifier"),
            column("town", "plain", categories("north", "south")),
            column("sex", "key", categories("F", "M"), exempt=("M",)),
            column("born", "identifier"),
            column("job", "key", missing="keep"),
            column("children", "key", bins(0, 2, 4, 10, release="centre")),
            column("hours", "key", bins(0, 20, 40, 70, release="draw", integers=True)),
            column("pay", "sensitive", bins(-10, 0, 300, 1000)),
            column("debt", "identifier"),
            column("weight", "identifier"),
            *(column(name, "identifier") for name in ("half", "other_half", "quarter")),
        ),
        strata=("town",),
    )
    target = make("DifferentialPrivacy", epsilon=4)
    method = make("Retention", retention=0.6)
    plan = call(pm, "design", schema, data=survey(), method=method)
    accepted = ["pay"]  # some of its values are held by people of one job
    release = call(
        pm, "protect", survey(), plan, to=folder / "release", seed=SEED, accept_risk=accepted
    )
    return {
        "targets": {
            name: attempt(call, pm, "design", schema, target, data=survey(), method=name)
            for name in ("retention", "reports")
        },
        "certificate": certificate_facts(folder / "release"),
        "records": table_facts(get(release, "table")),
        "verdict": verdict_facts(call(pm, "verify", folder / "release", original=survey())),
        "job": estimate_facts(call(release, "crosstab", "job")),
        "sex*pay": estimate_facts(call(release, "crosstab", "sex", "pay")),
        "hours": estimate_facts(call(release, "crosstab", "hours", "children")),
    }


def rare_case(folder: Path) -> Facts:
    """Rare categories: flows between categories, and recognition on three of five keys."""
    frequencies = {"a": 2, "b": 3, "c": 40, "d": 55, "e": 70, "f": 90, "g": 140}
    values = [value for value, count in frequencies.items() for _ in range(count)]
    table = pa.table({"value": values})
    schema = make("Schema", (column("value", "key", categories(*frequencies)),))
    target = make("CorrectMatch", xi=0.1)
    plan = call(pm, "design", schema, target, data=table, method="inverse-frequency")
    release = call(pm, "protect", table, plan, to=folder / "release", seed=SEED)
    return {
        "plan": plan_facts(plan),
        "certificate": certificate_facts(folder / "release"),
        "records": table_facts(get(release, "table")),
        "value": estimate_facts(call(release, "crosstab", "value")),
        "wide": _wide_design(),
    }


def _wide_design() -> Facts:
    """The optimal design over 48 cells."""
    random = Random(6)
    sizes = {"a": 3, "b": 2, "c": 2, "d": 2, "e": 2}
    table = pa.table(
        {
            name: [int(size * random.random() ** 2.5) for _ in range(800)]
            for name, size in sizes.items()
        }
    )
    keys = tuple(column(name, "key", categories(*range(size))) for name, size in sizes.items())
    target = make("SpontaneousRecognition", alpha=0.1)
    plan = call(pm, "design", make("Schema", keys), target, data=table, method="optimal")
    return plan_facts(plan)


def joint_case(folder: Path) -> Facts:
    """Columns randomised together, released in a signed folder with copies."""
    method = make("Retention", joint=(("sex", "age"),))
    plan = call(
        pm, "design", people_schema(), make("PkAnonymity", k=2), data=people(FEW), method=method
    )
    secret, public = call(pm, "make_keys", folder / "office.key")
    release = call(
        pm, "protect", people(FEW), plan, to=folder / "release", seed=SEED, sign_with=secret,
        copies=["csv", "dta"],
    )  # fmt: skip
    return {
        "plan": plan_facts(plan),
        "verdict": verdict_facts(call(pm, "verify", folder / "release", key=public)),
        "sex*age*education": estimate_facts(call(release, "crosstab", "sex", "age", "education")),
        "independence": independence_facts(call(release, "independence", "sex", "age")),
        "poisson": regression_facts(call(release, "regress", "income ~ sex", family="poisson")),
        "rebuilt": table_facts(call(release, "rebuild", method="posterior", seed=SEED)),
    }


# -- files -------------------------------------------------------------------------------------


def files_case(folder: Path) -> Facts:
    """The same table read from files of several formats, described and released."""
    table = people(RECORDS).drop(["ill"])
    paths = {name: folder / f"people.{name}" for name in ("csv", "parquet", "feather", "dta")}
    pyarrow.csv.write_csv(table, paths["csv"])
    pyarrow.parquet.write_table(table, paths["parquet"])
    pyarrow.feather.write_feather(table, paths["feather"])
    table.to_pandas().to_stata(paths["dta"], write_index=False)
    found = {}
    for name, path in paths.items():
        schema = call(pm, "describe", path, keys=["sex", "age"], plain=["town"])
        target = make("PkAnonymity", k=2)
        plan = call(pm, "design", schema, target, data=path, method="retention")
        release = call(pm, "protect", path, plan, to=folder / name, seed=SEED)
        found[name] = {
            "roles": [stored_word(str(get(own, "role"))) for own in schema.columns],
            "records": table_facts(get(release, "table")),
            "certificate": certificate_facts(folder / name)["schema"],
        }
    return found


# -- learning ----------------------------------------------------------------------------------


def trees_case(folder: Path) -> Facts:
    """Trees learned from releases of several kinds, and a pipeline that scores raw records."""
    found = {}
    for method in ("retention", "reports", "resample"):
        _, release = _released(method, folder / method)
        for how in ("posterior", "rank", "none"):
            found[f"{method} {how}"] = attempt(
                lambda how=how, release=release: numbers(
                    call(
                        pm,
                        "mine_tree",
                        release,
                        target="ill",
                        test=people(RECORDS),
                        rebuild=how,
                        seed=SEED,
                    ).to_json()
                )
            )
        how = "none" if method == "resample" else "posterior"
        model = call(pm, "learn", release, "ill", rebuild=how, seed=SEED)
        predicted = model.predict_proba(people(RECORDS).to_pandas())
        found[f"{method} pipeline"] = array(predicted[:20, 1])
    return found


# -- audits, attacks, comparisons --------------------------------------------------------------


def audits_case(folder: Path) -> Facts:
    """Audits of a table and of releases, attacks by name, and unchanged records."""
    schema = people_schema()
    found = {
        "table": numbers(call(pm, "audit", people(FEW), schema=schema, k=3).to_json()),
        "weighted": numbers(
            call(
                pm,
                "audit",
                survey(),
                keys=["sex", "job"],
                weight="weight",
                household="household",
                missing="wildcard",
            ).to_json()
        ),
    }
    for method in ("retention", "reports", "resample"):
        _, release = _released(method, folder / method, FEW)
        found[method] = {
            "audit": _audit(release) if method == "retention" else None,
            "unchanged": numbers(call(pm, "verbatim", release, people(FEW)).to_json()),
            "attacks": {
                name: attempt(
                    lambda name=name, release=release: numbers(
                        call(pm, "attack", name, release, knowledge=people(FEW), times=3).to_json()
                    )
                )
                for name in ("linkage", "repeated", "recovery")
            },
        }
    first, second = folder / "retention", folder / "reports"
    found["composition"] = numbers(call(pm, "attack", "composition", first, second).to_json())
    return found


def ledger_case(folder: Path) -> Facts:
    """What several releases of the same people guarantee together, and a budget that refuses.

    A ledger takes no seed; what it states does not depend on the random numbers.
    """
    table = people(FEW).drop(["ill", "income"])
    place = folder / "office.ledger"
    found: dict[str, Facts] = {}
    for town, k in (("plain", 3), ("identifier", 4), ("plain", 2)):
        columns = tuple(
            own
            for own in get(people_schema(town=town), "columns")
            if get(own, "name") in table.column_names
        )
        target = make("PkAnonymity", k=k)
        plan = call(pm, "design", make("Schema", columns), target, data=table, method="retention")
        budget = make("Budget", k=1.5)
        refused = attempt(
            lambda plan=plan, budget=budget: numbers(
                get(call(pm, "protect", table, plan, ledger=place, budget=budget), "records")
            )
        )
        together = call(call(named("Ledger"), "load", place), "together").to_json()
        found[f"{town} {k}"] = {"release": refused, "together": numbers(together)}
    return found


def _audit(release: Any) -> Facts:
    return numbers(call(pm, "audit", release, original=people(FEW)).to_json())


def comparisons_case(folder: Path) -> Facts:
    """Targets side by side, and advice."""
    del folder
    schema = people_schema()
    methods = [WORDS[name] for name in ("retention", "reports")]
    return {
        "compare": numbers(
            call(pm, "compare", people(FEW), schema, k=[2], methods=methods).to_json()
        ),
        "advise": numbers(call(pm, "advise", people(FEW), schema, k=3, methods=methods).to_json()),
    }


def clusters_case(folder: Path) -> Facts:
    """Groups of at least k: by default, by MDAV, and with all that can be asked of them."""
    del folder
    random = Random(3)
    points = np.array([[random.random() for _ in range(3)] for _ in range(200)])
    ill = np.array([int(random.random() < 0.3) for _ in range(200)])
    asked: dict[str, dict[str, Any]] = {
        "default": {"k": 5},
        "mdav": {"k": 5, "method": "mdav"},
        "bounded": {"k": 5, "max_size": 9},
        "diverse": {"k": 5, "sensitive": ill, "l": 2},
        "close": {"k": 5, "sensitive": ill, "t": 0.4},
        "strata": {"k": 5, "strata": ill},
        "response": {"k": 5, "response": points[:, 0] * 10},
    }
    return {
        name: [int(label) for label in call(pm, "cluster", points, **options)]
        for name, options in asked.items()
    }


CASES: dict[str, Case] = {
    "audits": audits_case,
    "clusters": clusters_case,
    "comparisons": comparisons_case,
    "designs": designs_case,
    "files": files_case,
    "joint": joint_case,
    "ledger": ledger_case,
    "numbers": numbers_case,
    "rare": rare_case,
    "rounds": rounds_case,
    "survey": survey_case,
    "trees": trees_case,
}
CASES["collected-panel"] = panel_case
CASES |= {f"collected-{name}": partial(collected_case, name) for name in ("retention", "reports")}
CASES |= {f"release-{name}": partial(release_case, name) for name in METHODS}
"""What is computed anew, by the name of the file that holds its values."""
