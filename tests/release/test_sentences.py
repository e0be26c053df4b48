"""Forged sentences and files that are not of the release do not pass for checked."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.collect.channel import two_stages
from pramana.errors import NotARelease, OutputExists
from pramana.mechanisms.mechanism import AttributeSampler
from pramana.mechanisms.transition import UniformMixture
from pramana.release.certificate import TEXT_VERSION, Collected
from pramana.release.certificate_fields import canonical
from pramana.release.folder import require_removable
from pramana.schema.schema import Schema

KEYS = """
tables = ["sex*age", "sex*work"]
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.age]
role = "key"
categories = ["y", "m", "o"]
[columns.work]
role = "key"
categories = ["no", "yes"]
[columns.pay]
role = "sensitive"
"""
FORGED = "Everything is exact, and nobody can be found."


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A release of each kind, by the method that made it."""
    words = np.random.default_rng(5)
    people = 400
    table = pa.table(
        {
            "sex": words.choice(["F", "M"], people),
            "age": words.choice(["y", "m", "o"], people),
            "work": words.choice(["no", "yes"], people),
            "pay": words.integers(0, 9, people),
        }
    )
    place = tmp_path_factory.mktemp("sentences")
    for method in ("retention", "attribute-sampling", "resample"):
        target = pm.KAnonymity(5) if method == "resample" else pm.PkAnonymity(5)
        plan = pm.design(Schema.from_toml(KEYS), target, data=table, method=method)
        pm.protect(table, plan, to=place / method)
    return place


def rewritten(written, tmp_path, method, change):
    """A copy of a release with another certificate, whose digest is right."""
    folder = tmp_path / "release"
    shutil.copytree(written / method, folder)
    form = json.loads((folder / "certificate.json").read_bytes())
    form.pop("digest")
    change(form)
    digest = hashlib.sha256(canonical(form)).hexdigest()
    (folder / "certificate.json").write_bytes(canonical({**form, "digest": digest}))
    return folder


def say(form):
    """Other words everywhere."""
    for claim in form["guarantees"]:
        claim["sentence"] = claim["assumption"] = FORGED
    form["scope"]["statement"] = form["anonymity_set"]["statement"] = FORGED
    if form["expected_error"] is not None:
        form["expected_error"] = FORGED


@pytest.mark.parametrize("method", ["retention", "attribute-sampling", "resample"])
def test_sentences_are_compared_to_the_letter(written, tmp_path, method):
    """They follow from the numbers."""
    assert not pm.verify(rewritten(written, tmp_path, method, say))


def _more(form):
    form["guarantees"][0]["attained"]["k"] = form["guarantees"][0]["asked"]["k"] = 300


def _other_reader(form):
    form["guarantees"][0]["checked_by"] = "nobody"


def _other_treatment(form):
    form["scope"]["randomised"] = ["sex"]


def _longer(form):
    form["anonymity_set"]["more"] = FORGED


def _no_statement(form):
    del form["scope"]["statement"]


def _no_claims(form):
    form["guarantees"] = {"sentence": FORGED}


def _no_text(form):
    form["scope"]["statement"] = {"exact": True}


@pytest.mark.parametrize(
    "change", [_more, _other_reader, _other_treatment, _longer, _no_text, _no_statement, _no_claims]
)
def test_numbers_and_structure_are_compared(written, tmp_path, change):
    """Whatever else a certificate says."""
    assert not pm.verify(rewritten(written, tmp_path, "retention", change))


@pytest.mark.parametrize("version", [TEXT_VERSION + 1, 0, str(TEXT_VERSION), True, None, [1]])
def test_sentences_of_another_version_are_refused(written, tmp_path, version):
    """They could not be compared."""
    folder = rewritten(
        written, tmp_path, "retention", lambda form: form.update(text_version=version)
    )
    with pytest.raises(NotARelease):
        pm.load(folder)


def test_a_number_that_the_method_does_not_state_is_refused(written, tmp_path):
    """Groups come with none of how many share all that is released unchanged, even a right one."""

    def attached(form):
        form["anonymity_set"]["smallest_unchanged_group"] = json.loads(
            (written / "retention" / "certificate.json").read_bytes()
        )["anonymity_set"]["smallest_unchanged_group"]

    verdict = pm.verify(rewritten(written, tmp_path, "resample", attached))
    assert "unchanged columns" in {check.name for check in verdict.of_state("failed")}


def test_a_changed_readme_fails(written, tmp_path):
    """It follows from the certificate."""
    folder = rewritten(written, tmp_path, "retention", lambda _: None)
    (folder / "README.md").write_text(FORGED)

    checks = {check.name: check for check in pm.verify(folder).checks}

    assert checks["explanations"].state == "failed"
    assert "README.md" in checks["explanations"].detail


def test_force_replaces_no_changed_readme(written, tmp_path):
    """The folder stays."""
    folder = rewritten(written, tmp_path, "retention", lambda _: None)
    require_removable(folder)
    (folder / "README.md").write_text("notes of mine")

    with pytest.raises(OutputExists, match=r"README.md"):
        require_removable(folder)


def test_files_that_the_certificate_does_not_name_are_said_and_not_read(written, tmp_path):
    """Whatever they are: a file, one that is hidden, a link out, a pipe, an escape in its name."""
    folder = tmp_path / "release"
    shutil.copytree(written / "retention", folder)
    names = {check.name for check in pm.verify(folder).checks}
    assert "other files" not in names
    (folder / "install.sh").write_text("exit 1")
    (folder / ".hidden").write_text("")
    (folder / "\x1b[2J").write_text("")
    (folder / "out").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe")

    verdict = pm.verify(folder)

    assert verdict
    (told,) = (check for check in verdict.checks if check.name == "other files")
    assert told.state == "asserted"
    for name in (".hidden", "install.sh", "out", "pipe"):
        assert name in told.detail
    assert "\x1b" not in told.detail
    assert pm.load(folder).crosstab("sex").to_frame() is not None


def test_sets_are_chosen_again(written, tmp_path):
    """A table left out, made up, none at all; sets of noise, one at less than the budget."""

    def state(at, change):
        folder = rewritten(written, tmp_path / str(at), "attribute-sampling", change)
        return {check.name: check.state for check in pm.verify(folder).checks}.get("options")

    def labels(column):
        return len(column["categories"]) if "categories" in column else len(column["bins"]) - 1

    def less(times, sets=None):
        def change(form):
            columns = {column["name"]: column for column in form["schema"]["columns"]}
            for one in form["mechanism"][:sets]:
                own = one["matrix"]
                size = math.prod(labels(columns[name]) for name in one["columns"])
                gain = 2**64 - size * int(own["other"])
                own["other"] = str((2**64 - int(times * gain)) // size)

        return change

    def asked(*tables):
        return lambda form: form.update(options={"tables": [*tables]} if tables else {})

    assert state("same", less(1.0)) == "passed"
    forgeries = (asked("sex*work"), asked("sex*age", "age*work"), asked(), less(0.0), less(0.3, 1))
    assert {state(at, change) for at, change in enumerate(forgeries)} == {"failed"}


def test_sets_that_people_drew_have_the_whole_budget(written):
    """A survey does not tell its tables: of its sets the budgets alone can be looked at.

    Also those of a panel, whose matrices are products of two.
    """
    own = pm.load(written / "attribute-sampling").certificate
    asked = replace(own, collected=Collected("s", expected=400, codes=True))
    first, *others = own.mechanism.sets
    less = replace(first, matrix=UniformMixture.of(first.matrix.labels, epsilon=0.1))

    assert pm.AttributeSampling.reproduces_matrices(asked) is None
    waves = (replace(asked, mechanism=two_stages(own.mechanism, own.mechanism.epsilon * by)[0])
             for by in (1.01, 1.7, 6))  # fmt: skip
    assert {pm.AttributeSampling.reproduces_matrices(wave) for wave in waves} == {None}
    assert (
        pm.AttributeSampling.reproduces_matrices(
            replace(asked, mechanism=AttributeSampler((less, *others)))
        )
        is False
    )


@pytest.mark.parametrize("records", [30, 100_000])
def test_sets_chosen_for_another_number_of_records_are_known_again(tmp_path, records):
    """A plan for few people asks for single columns too; it may be used for more of them."""
    words = np.random.default_rng(6)
    names = [f"c{at}" for at in range(5)]
    table = pa.table({name: words.choice(["a", "b", "c"], 2000) for name in names})
    text = "".join(
        f'[columns.{name}]\nrole = "key"\ncategories = ["a", "b", "c"]\n' for name in names
    )
    plan = pm.design(
        Schema.from_toml(text),
        pm.DifferentialPrivacy(1),
        records=records,
        method="attribute-sampling",
    )
    pm.protect(table, plan, to=tmp_path / "release")

    found = {check.name: check.state for check in pm.verify(tmp_path / "release").checks}
    assert found["options"] == "passed"
