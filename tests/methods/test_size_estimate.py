"""A matrix that takes more room than the records is withheld, and all that reads a release says so.

The judges of what is told are written from the definitions: bias and variance of a released count
from the matrix of the plan written out, entropy from plain counting, sizes from the files.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.base.rounding import coarse_up
from pramana.errors import NotCovered
from pramana.guarantees.claims import Claim
from pramana.mechanisms.mechanism import Step
from pramana.mechanisms.sparse_rows import ListedCells
from pramana.methods.choice import open_source
from pramana.methods.context import DesignContext
from pramana.methods.optimal.method import LITTLE, Optimal
from pramana.methods.optimal.publication import bytes_of_records, published_errors
from pramana.release.folder import complete_folder
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

SIZES = (12, 9, 8, 7, 6, 5)
FORMATS = ("csv", "parquet", "feather", "dta", "sav")
ALONE = pm.SpontaneousRecognition(0.2, width=2)


def schema_of(sizes=SIZES, *more):
    """All keys, with declared categories."""
    keys = (
        Column(f"k{place}", Role.KEY, Categories(tuple(f"v{v}" for v in range(size))))
        for place, size in enumerate(sizes)
    )
    return Schema((*keys, *more))


def people(records=2_500, sizes=SIZES, seed=0, flat=0.45):
    """Keys with a long tail; the flatter, the more people are alone with theirs."""
    generator = np.random.default_rng(seed)
    return pa.table({
        f"k{place}": [f"v{v}" for v in
                      np.minimum(generator.geometric(flat, records) - 1, size - 1)]
        for place, size in enumerate(sizes)
    })  # fmt: skip


@pytest.fixture(scope="module")
def alone():
    """People who are mostly alone with six keys, and the plan for them."""
    table = people()
    return table, pm.design(schema_of(), ALONE, data=table)


def sizes_of(folder):
    """The bytes of the certificate and of the data file."""
    (data,) = (file for file in folder.iterdir() if file.stem == "data")
    return (folder / "certificate.json").stat().st_size, data.stat().st_size


def test_design_says_that_the_matrix_is_withheld_and_what_to_do(alone):
    """One line: why, what analysts lose, fewer or coarser keys, the option, where it is kept."""
    _, plan = alone
    (said,) = [own for own in plan.notices if "withheld" in own]

    for words in ("kB", "single keys", "coarser keys", "--publish-matrix always",
                  "--steward-folder"):  # fmt: skip
        assert words in said
    assert said in str(plan)
    assert plan.to_json()["notices"] == plan.notices


@pytest.mark.parametrize("form", FORMATS)
def test_no_certificate_is_larger_than_the_data(alone, form, tmp_path):
    """Whatever the format; the folder is valid, and holds the promise that was asked for."""
    table, plan = alone
    pm.protect(table, plan, seed=1, to=tmp_path / "out", file_format=form)
    certificate, data = sizes_of(tmp_path / "out")
    release = pm.load(tmp_path / "out")

    assert certificate <= max(data, LITTLE)
    assert release.certificate.kind == "sealed"
    assert release.certificate.mechanism is None
    assert [claim.asked for claim in release.certificate.claims] == list(plan.asked)
    assert release.verify().valid


@pytest.mark.deep
def test_the_matrix_is_published_all_the_same_where_that_is_asked_for(alone, tmp_path):
    """And is then larger than the records: the option is what the line says that it is."""
    table, _ = alone
    plan = pm.design(schema_of(), ALONE, data=table, method=Optimal(publish="always"))
    release = pm.protect(table, plan, seed=1, to=tmp_path / "out", file_format="parquet")
    certificate, data = sizes_of(tmp_path / "out")

    assert release.certificate.kind == "published"
    assert certificate > max(data, LITTLE)
    assert not [own for own in plan.notices if "withheld" in own]


@pytest.mark.parametrize(
    ("records", "sizes", "flat"),
    [(20_000, (12, 4), 0.6), (10_000, (12, 6, 6, 6, 5, 4), 0.62), (300, (4, 3), 0.5)],
)
def test_a_matrix_that_fits_is_published(records, sizes, flat, tmp_path):
    """Where many share their cells, and where there is hardly anything."""
    table = people(records, sizes, flat=flat)
    target = pm.SpontaneousRecognition(0.3, width=2)
    plan = pm.design(schema_of(sizes), target, data=table, method="optimal")
    pm.protect(table, plan, seed=1, to=tmp_path / "out", file_format="parquet")
    certificate, data = sizes_of(tmp_path / "out")

    assert pm.load(tmp_path / "out").certificate.kind == "published"
    assert certificate <= max(data, LITTLE)


@pytest.mark.deep
def test_columns_released_beside_the_keys_make_room(alone, tmp_path):
    """They are in the file as well: with a number that nobody shares the matrix fits."""
    table, _ = alone
    wage = np.random.default_rng(3).normal(0, 1, (table.num_rows, 12))
    more = [Column(f"x{place}", Role.SENSITIVE) for place in range(12)]
    for place, column in enumerate(more):
        table = table.append_column(column.name, pa.array(wage[:, place]))
    plan = pm.design(schema_of(SIZES, *more), ALONE, data=table)
    pm.protect(table, plan, seed=1, to=tmp_path / "out", file_format="parquet")
    certificate, data = sizes_of(tmp_path / "out")

    assert pm.load(tmp_path / "out").certificate.kind == "published"
    assert certificate <= data


@pytest.mark.parametrize("rare", [0.5, 0.1, 0.01, 0.001])
@pytest.mark.deep(every=4)
def test_no_format_takes_less_than_is_counted_on(rare, tmp_path):
    """The entropy of the columns bounds the size of a file, however skewed they are."""
    generator, records = np.random.default_rng(5), 30_000
    columns = {f"k{place}": np.where(generator.random(records) < rare, "v1", "v0")
               for place in range(5)}  # fmt: skip
    columns["k5"] = generator.choice([f"v{v}" for v in range(12)], records)
    table, schema = pa.table(columns), schema_of((2,) * 5 + (12,))
    cells, numbers = np.unique(np.stack(list(columns.values())), axis=1, return_counts=True)
    labels = [tuple(cell) for cell in cells.T.tolist()]
    step = Step(schema.names, ListedCells.of(labels, rows=[], columns=[], probabilities=[]))
    counted = DesignContext.of(schema, open_source(table))
    found = bytes_of_records(step, numbers.astype(float), counted, enough=10**9)
    bits = sum(n * math.log2(records / n) for own in columns.values()
               for n in np.unique(own, return_counts=True)[1].tolist())  # fmt: skip

    plan = pm.design(schema, pm.SpontaneousRecognition(0.5, width=1), data=table, method="optimal")
    written = {}
    for form in FORMATS:
        pm.protect(table, plan, seed=1, to=tmp_path / form, file_format=form)
        written[form] = sizes_of(tmp_path / form)[1]
    assert found <= min(written.values())
    assert found == int(bits / 8)
    assert bytes_of_records(step, numbers.astype(float), counted, enough=100) == 100


def true_errors(plan, table):
    """The largest |b| + s of each column, from the matrix written out."""
    (step,) = plan.mechanism
    P = step.matrix.values
    cells = [tuple(row.values()) for row in table.to_pylist()]
    numbers = np.array([cells.count(label) for label in step.labels], dtype=float)
    found = {}
    for at, name in enumerate(step.columns):
        worst = 0.0
        for value in plan.schema.column(name).labels:
            inside = np.array([label[at] == value for label in step.labels])
            chance = P[:, inside].sum(axis=1)
            bias = float(numbers @ chance - numbers[inside].sum())
            worst = max(worst, abs(bias) + math.sqrt(float(numbers @ (chance * (1 - chance)))))
        found[name] = worst
    return found


def test_what_is_told_is_bias_and_deviation_together():
    """On the grid, one for all values of a column, and never below one record."""
    table = people(400, (5, 4, 3))
    plan = pm.design(schema_of((5, 4, 3)), ALONE, data=table, method=Optimal(publish="never"))
    release = pm.protect(table, plan, seed=1)
    errors = release.certificate.statistics["standard_errors"]

    assert plan.statistics["expected_changes"] > 1
    for name, worst in true_errors(plan, table).items():
        assert errors[name] == coarse_up(max(1.0, worst))
    assert plan.public["standard_errors"] == errors


def test_moves_that_keep_a_value_count_for_nothing():
    """Worked by hand: of a hundred, a quarter leaves for a cell of the same value, and as many for
    one of another."""
    labels = (("a", 0), ("a", 1), ("b", 1))
    matrix = ListedCells.of(labels, rows=[0, 0], columns=[1, 2], probabilities=[0.25, 0.25])
    found = published_errors(Step(("x", "y"), matrix), np.array([100.0, 0.0, 0.0]))

    # x: 25 of 100 leave a, 25 + sqrt(100 * 1/4 * 3/4) = 29.3; y: half of them, 50 + 5 = 55.
    assert found["standard_errors"] == {"x": 50.0, "y": 100.0}


@pytest.mark.deep
def test_intervals_hold_whatever_the_bias():
    """Of 60 releases, in no column more misses than a binomial of 0.05 has once in 10,000."""
    table = people(400, (5, 4, 3))
    plan = pm.design(schema_of((5, 4, 3)), ALONE, data=table, method=Optimal(publish="never"))
    held, true = [], table["k0"].to_pylist()
    for seed in range(60):
        cells = pm.protect(table, plan, seed=seed).crosstab("k0").cells
        held.append([c["low"] <= true.count(c["k0"]) <= c["high"] for c in cells])
    assert np.mean(held, axis=0).min() >= 50 / 60


@pytest.mark.deep
def test_the_decision_hangs_on_neither_seed_nor_format_nor_the_order_of_records(alone):
    """The same records are released as where the matrix is published, in the same order."""
    table, plan = alone
    shown = replace(plan, method=Optimal(publish="always"))
    for seed in (1, 2):
        sealed, published = (pm.protect(table, own, seed=seed) for own in (plan, shown))
        assert sealed.certificate.kind == "sealed"
        assert published.certificate.kind == "published"
        assert sealed.table.equals(published.table)
    mixed = table.take(np.random.default_rng(1).permutation(table.num_rows))
    assert pm.design(schema_of(), ALONE, data=mixed).notices == plan.notices


def test_a_plan_for_many_is_decided_anew_for_the_few_it_is_used_for(alone, monkeypatch):
    """What the plan says of room is not taken over: beside other columns there is more of it."""
    table, plan = alone
    shown = replace(plan, kind=None, public={}, statistics={})
    assert pm.protect(table, shown, seed=1).certificate.kind == "sealed"
    monkeypatch.setattr("pramana.methods.optimal.method.LITTLE", 10**6)
    found = pm.protect(table, plan, seed=1).certificate
    assert found.kind == "published"
    assert not found.statistics


def test_every_question_has_an_answer_or_a_reason(alone):
    """Single keys with their error; all that crosses keys is refused in words that fit."""
    table, plan = alone
    release = pm.protect(table, plan, seed=1)
    found = release.crosstab("k0")

    assert found.estimate.sum() == table.num_rows
    assert "certificate states" in found.why
    assert "unbiased" not in found.why
    for ask in (
        lambda: release.crosstab("k0", "k1"),
        lambda: release.crosstab("k0", where={"k1": "v1"}),
        lambda: release.independence("k0", "k1"),
        lambda: release.synthesize(),
        lambda: release.crosstab("k0", method="unbiased"),
        lambda: pm.learn_tree(release, target="k0", seed=1),
    ):
        with pytest.raises(NotCovered, match="withh[eo]ld") as refused:
            ask()
        # No refusal calls these counts unbiased; one names the method of that name.
        assert "unbiased" not in str(refused.value).removeprefix("Method unbiased ")
        assert "too weak" not in str(refused.value)


def test_forged_certificates_are_found(alone, tmp_path):
    """Another method's, errors off the grid or below a record, words that promise more."""
    table, plan = alone
    own = pm.protect(table, plan, seed=1, to=tmp_path / "out", file_format="parquet").certificate
    told = dict(own.statistics)
    errors = told["standard_errors"]
    for forged in (
        replace(own, method="retention"),
        replace(own, statistics=told | {"frequencies": "unbiased as released"}),
        *(replace(own, statistics=told | {"standard_errors": dict.fromkeys(errors, wrong)})
          for wrong in (0.0, 0.5, 3.0, 5, "5.0", [5.0])),
        replace(own, statistics={n: v for n, v in told.items() if n != "standard_errors"}),
    ):  # fmt: skip
        complete_folder(tmp_path / "out", forged, file_format="parquet")
        assert not pm.verify(tmp_path / "out").valid


def test_the_owner_checks_it_with_the_matrix_that_was_kept(alone, tmp_path):
    """Alpha from the kept matrix, the draws, and the errors that are stated."""
    table, plan = alone
    pm.protect(table, plan, to=tmp_path / "out", file_format="parquet",
               steward_folder=tmp_path / "learn")  # fmt: skip
    kept = tmp_path / "learn" / "mechanism.json"
    verdict = pm.verify(tmp_path / "out", original=table, mechanism=kept)
    details = {check.name: check for check in verdict.checks}

    assert verdict.valid, verdict
    assert "kept" in details["spontaneous-recognition"].detail
    assert details["standard errors"].ok
    assert any(name.startswith("randomisation: ") for name in details)
    audit = pm.audit(tmp_path / "out", original=table, mechanism=kept)
    assert "likeliest record" in {own.name for own in audit.measured}
    form = json.loads(kept.read_text())
    form[0]["matrix"]["sources"] = form[0]["matrix"]["targets"] = form[0]["matrix"]["rows"] = ""
    form[0]["matrix"]["lengths"] = form[0]["matrix"]["which"] = form[0]["matrix"]["weights"] = ""
    (tmp_path / "still.json").write_text(json.dumps(form))
    other = pm.verify(tmp_path / "out", original=table, mechanism=tmp_path / "still.json")
    assert not other.valid  # a matrix that moves nobody keeps no promise


@pytest.mark.deep
def test_a_design_that_keeps_a_promise_does_not_show_that_this_release_does(tmp_path):
    """Who states a lower alpha than was kept: a matrix for it can be made, and made no record."""
    table = people(400, (5, 4, 3))
    plan = pm.design(schema_of((5, 4, 3)), ALONE, data=table, method=Optimal(publish="never"))
    release = pm.protect(table, plan, to=tmp_path / "out", steward_folder=tmp_path / "learn")
    lower = pm.SpontaneousRecognition(0.15, width=2)
    forged = replace(release.certificate, claims=(Claim(lower, lower),))
    pm.Release(forged, release.opened).save(tmp_path / "lower")

    def state(folder, **kept):
        checks = pm.verify(tmp_path / folder, original=table, **kept).checks
        return next(str(own.state) for own in checks if own.name == "spontaneous-recognition")

    assert state("out") == state("lower") == "asserted"
    assert state("out", mechanism=tmp_path / "learn") == "passed"
    assert state("lower", mechanism=tmp_path / "learn") == "failed"


def test_a_small_matrix_beside_many_values_is_published(tmp_path):
    """Their list alone takes more room than the records: without the matrix nothing would fit."""
    table, sizes = people(150, (6, 2)), (2_006, 2_002)
    plan = pm.design(schema_of(sizes), pm.SpontaneousRecognition(0.4, width=2), data=table)
    shown = pm.protect(table, plan, to=tmp_path / "shown", file_format="parquet")
    never = replace(plan, method=Optimal(publish="never"))
    pm.protect(table, never, to=tmp_path / "never", file_format="parquet")
    without, with_it = (sizes_of(tmp_path / own)[0] for own in ("never", "shown"))

    assert shown.certificate.kind == "published"
    assert sizes_of(tmp_path / "shown")[1] < without < with_it < without + 2_000


def test_the_error_of_a_column_takes_one_line(alone):
    """However many values it has: what is told in place of a matrix grows with none of them."""
    table, plan = alone
    figures = pm.protect(table, plan, seed=1).certificate.statistics
    assert {type(own) for own in figures["standard_errors"].values()} == {float}
