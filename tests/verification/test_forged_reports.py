"""Forged releases by reports, with right digests: every verb of an analyst ends in one line."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.base.rounding import TOTAL
from pramana.cli.app import main
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.mechanisms.transition import UniformMixture
from pramana.release.certificate import Certificate
from pramana.release.certificate_fields import canonical
from pramana.release.folder import fingerprint

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"kept"}

RECORDS = 300


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """Three keys and a kept column, by reports."""
    columns = {"a": "xy", "b": "uvw", "c": "pq", "kept": "kl"}
    table = pa.table({n: [own[(at * 7 + at // 5) % len(own)] for at in range(RECORDS)]
                      for n, own in columns.items()})  # fmt: skip
    keys = (pm.Column(n, pm.Role.KEY, pm.Categories(tuple(columns[n]))) for n in "abc")
    schema = pm.Schema((*keys, pm.Column("kept", pm.Role.SENSITIVE)))
    plan = pm.design(schema, pm.PkAnonymity(k=20), data=table, method="attribute-sampling")
    folder = tmp_path_factory.mktemp("sound") / "r"
    pq.write_table(table, folder.parent / "truth.parquet")
    pm.protect(table, plan, to=folder)
    return folder


def marked(value: str | int | None) -> Callable[[pa.Table], pa.Table]:
    """Some records are said to have been asked for something else."""

    def change(table: pa.Table) -> pa.Table:
        marks = [value] * 5 + table["reported"].to_pylist()[5:]
        kind = pa.array(marks if isinstance(value, str | None) else [value] * RECORDS)
        return table.set_column(table.column_names.index("reported"), "reported", kind)

    return change


def with_sets(change: Callable[[tuple[AttributeSet, ...]], tuple[AttributeSet, ...]]):
    """Other sets, whose weights sum to one all the same."""

    def changed(certificate: Certificate) -> Certificate:
        first, *others = change(certificate.mechanism.sets)
        rest = TOTAL - sum(one.weight for one in others)
        return replace(
            certificate, mechanism=AttributeSampler((replace(first, weight=rest), *others))
        )

    return changed


def through(**how: float):
    """The same sets with other matrices."""
    return with_sets(
        lambda sets: tuple(
            replace(one, matrix=UniformMixture.of(one.matrix.labels, **how)) for one in sets
        )
    )


def by_weight(sets: tuple[AttributeSet, ...]) -> tuple[AttributeSet, ...]:
    """The sets, the most frequent one last."""
    return tuple(sorted(sets, key=lambda one: one.weight))


def foreign(one: AttributeSet) -> AttributeSet:
    """The set with values that its columns do not have."""
    cells = tuple(tuple(f"{label}?" for label in cell) for cell in one.cells)
    return replace(one, matrix=UniformMixture(cells, one.matrix.other))


def chance(one: AttributeSet) -> AttributeSet:
    """The set with reports that tell nothing."""
    return replace(one, matrix=UniformMixture.of(one.matrix.labels, retention=0.0))


def same(given):
    """Nothing is changed."""
    return given


FORGERIES = {
    "a set that nobody states": (marked("nobody"), same),
    "no set": (marked(None), same),
    "numbers for sets": (marked(3), same),
    "fewer sets": (same, with_sets(lambda sets: by_weight(sets)[:-1])),
    "reports that are the truth": (same, through(retention=1.0)),
    "reports of nothing but chance": (same, through(retention=0.0)),
    "one set of nothing but chance": (same, with_sets(lambda sets: (*sets[:-1], chance(sets[-1])))),
    "a set of a kept column": (
        same,
        with_sets(lambda sets: (*sets, AttributeSet(("kept",), 1, UniformMixture.of(("k", "l"),
                                                                               epsilon=1.0)))),
    ),
    "values of no column": (
        same,
        with_sets(lambda sets: (*by_weight(sets)[:-1], foreign(by_weight(sets)[-1]))),
    ),
    "a rule that leaves nothing": (
        same,
        lambda own: replace(own, schema=replace(own.schema, impossible=(
            pm.Impossible.of({"a": ["x", "y"], "b": ["u", "v", "w"]}),))),
    ),
    "a kept column called a key": (
        same,
        lambda own: replace(own, schema=own.schema.replace_columns(
            [pm.Column("kept", pm.Role.KEY, pm.Categories(("k", "l")))])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.deep(every=12)
def test_every_verb_ends_in_one_line(name, sound, tmp_path, capsys):
    """Altered: exit code 1, nothing is written, and no fault of pramana is reported."""
    data, certificate = FORGERIES[name]
    folder = tmp_path / "r"
    shutil.copytree(sound, folder)
    place = folder / "data.parquet"
    pq.write_table(data(pq.read_table(place)), place)
    forged = certificate(pm.load(sound).certificate.with_data(fingerprint(place, "parquet")))
    (folder / "certificate.json").write_bytes(forged.to_bytes())
    to, truth = tmp_path / "out.parquet", sound.parent / "truth.parquet"
    for verb in (
        ("synthesize", folder, "-o", to),
        ("estimate", folder, "--by", "a,b,c", "--share", "row"),
        ("estimate", folder, "--by", "a,kept"),
        ("regress", folder, "--family", "logistic", "a ~ b"),
        ("learn", folder, "--target", "a"),
        ("audit", folder, "--original", truth),
        ("attack", "linkage", folder, "--knowledge", truth),
        ("attack", "repeated", folder),
    ):
        code, printed = ended(capsys, *map(str, verb))
        assert "unforeseen" not in printed, verb
        assert printed.count("\n") == 1, (verb, printed)
        assert code == 1, (verb, printed)
    assert not to.exists()
    assert ended(capsys, "verify", str(folder))[0] == 1


def test_sets_that_are_asked_for_too_often_are_found(sound, tmp_path):
    """Every record of the rarer of the frequent sets gives way to one of the most frequent set."""
    folder = tmp_path / "r"
    shutil.copytree(sound, folder)
    place = folder / "data.parquet"
    table = pq.read_table(place)
    marks = table["reported"].to_pylist()
    common = {mark for mark in marks if marks.count(mark) > 50}  # single columns occur by chance
    rare, frequent = min(common, key=marks.count), max(common, key=marks.count)
    kept = [at for at, mark in enumerate(marks) if mark != rare]
    copies = [at for at, mark in enumerate(marks) if mark == frequent]
    more = [copies[at % len(copies)] for at in range(len(marks) - len(kept))]
    pq.write_table(table.take(kept + more), place)
    forged = pm.load(sound).certificate.with_data(fingerprint(place, "parquet"))
    (folder / "certificate.json").write_bytes(forged.to_bytes())
    failed = {check.name for check in pm.verify(folder).of_state("failed")}
    assert "attribute sets" in failed


@pytest.mark.parametrize("told", [{"reported": "all columns, of everybody"}, {}, {"d": "a column"}])
def test_what_the_marks_mean_is_said_in_our_words(told, sound, tmp_path):
    """And nothing is said of other columns."""
    folder = tmp_path / "r"
    shutil.copytree(sound, folder)
    certificate = pm.load(sound).certificate
    marks = certificate.labels.variables if "d" in told else {}
    labels = replace(certificate.labels, variables={**marks, **told})
    form = json.loads(replace(certificate, labels=labels).to_bytes())
    del form["digest"]
    digest = hashlib.sha256(canonical(form)).hexdigest()
    (folder / "certificate.json").write_bytes(canonical(form | {"digest": digest}))
    failed = {check.name for check in pm.verify(folder).of_state("failed")}
    assert "labels" in failed


def ended(capsys, *words: str) -> tuple[int, str]:
    """The exit code of a command, and what it said of errors."""
    with pytest.raises(SystemExit) as end:
        main([*words])
    return end.value.code, capsys.readouterr().err
