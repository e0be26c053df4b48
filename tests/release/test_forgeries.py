"""Forged releases: around the unrandomised truth, with right digests, none of them verifies."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import replace

import pytest

from pramana import api
from pramana.analysis import release as reading
from pramana.analysis.release import load_release
from pramana.errors import InvalidTable, NotARelease
from pramana.guarantees.claims import Claim, attained, paired
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.release.certificate import Certificate
from pramana.release.certificate_fields import canonical
from pramana.release.folder import fingerprint, write_explanations
from pramana.release.signing import make_keys
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from pramana.verification import verify as verifying
from pramana.verification.verify import verify_folder
from tests.release.people import people, plan

CERTIFICATE = "certificate.json"


def failed(folder, **how):
    """The names of the checks that fail."""
    return {check.name for check in verify_folder(folder, **how).checks if not check.ok}


def with_claims(certificate):
    """The certificate with whatever its own matrices give, as a careful forger would write it."""
    return replace(certificate, claims=paired((), attained(certificate.evidence)))


def around_the_truth(release, change):
    """The folder with unrandomised records under a changed certificate with a right digest."""
    import pyarrow as pa
    from pyarrow import parquet

    truth = people()
    ages = [f"[{low}, {high})" for low, high in ((0, 16), (16, 40), (40, 60))] + ["[60, 80]"]
    cuts = [sum(age >= edge for edge in (16, 40, 60)) for age in truth["age"].to_pylist()]
    truth = truth.set_column(2, "age", pa.array([ages[cut] for cut in cuts])).drop(["name"])
    data = release.folder / "data.parquet"
    parquet.write_table(truth, data)
    certificate = change(release.certificate.with_data(fingerprint(data, "parquet")))
    (release.folder / CERTIFICATE).write_bytes(certificate.to_bytes())
    write_explanations(release.folder, certificate)
    return release.folder


def _fewer(certificate):
    step = certificate.mechanism.steps[0]
    weak = Step(step.columns, UniformMixture.of(step.labels, retention=0.0))
    return with_claims(replace(certificate, mechanism=Mechanism((weak,))))


def _elsewhere(certificate):
    step = Step(("nowhere",), UniformMixture.of(("a", "b"), retention=0.0))
    return with_claims(replace(certificate, mechanism=Mechanism((step,))))


def _beside(certificate):
    extra = Step(("nowhere",), UniformMixture.of(("a", "b"), retention=0.0))
    mechanism = Mechanism((*certificate.mechanism.steps, extra))
    return with_claims(replace(certificate, mechanism=mechanism))


def _on_a_kept_column(certificate):
    extra = Step(("region",), UniformMixture.of(("north", "south"), retention=0.0))
    mechanism = Mechanism((*certificate.mechanism.steps, extra))
    return with_claims(replace(certificate, mechanism=mechanism))


def _one_label(certificate):
    steps = tuple(
        Step(step.columns, UniformMixture.of(step.labels[:1], retention=0.0))
        for step in certificate.mechanism
    )
    return with_claims(replace(certificate, mechanism=Mechanism(steps)))


def _part_of_the_domain(certificate):
    steps = tuple(
        Step(step.columns, UniformMixture.of(step.labels[:2], retention=0.0))
        for step in certificate.mechanism
    )
    return with_claims(replace(certificate, mechanism=Mechanism(steps)))


def _one_by_one(certificate):
    """Columns that a rule ties together, each with a matrix of its own."""
    steps = tuple(
        Step((column.name,), UniformMixture.of(column.labels, retention=0.0))
        for column in certificate.schema.randomised
    )
    return with_claims(replace(certificate, mechanism=Mechanism(steps)))


def _empty(certificate):
    return replace(certificate, mechanism=Mechanism(()))


def _withheld(certificate):
    return replace(certificate, kind="withheld", mechanism=None)


def _withheld_by_another_method(certificate):
    changed = replace(certificate, kind="withheld", mechanism=None, method="invariant")
    return replace(changed, data_dependent=True)


def _keys_of_groups(certificate):
    return replace(certificate, statistics={"keys": "the centre of the group"})


def _more_people(certificate):
    return with_claims(replace(certificate, anonymity_set=certificate.records))


def _fewer_people(certificate):
    return with_claims(replace(certificate, anonymity_set=certificate.anonymity_set - 1))


def _more_records(certificate):
    return replace(certificate, records=certificate.records + 1)


def _grouped(certificate):
    return replace(certificate, claims=(Claim(KAnonymity(k=100)),))


def _twice(certificate):
    return replace(certificate, claims=(*certificate.claims, certificate.claims[0]))


def _stronger(certificate):
    return replace(certificate, claims=(Claim(PkAnonymity(k=1e6)),))


def _short(certificate):
    claim = certificate.claims[0]
    return replace(
        certificate, claims=(Claim(PkAnonymity(k=2.0), asked=PkAnonymity(k=50.0)), claim)
    )


def _dependent(certificate):
    return replace(certificate, data_dependent=True, claims=(Claim(DifferentialPrivacy(9.0)),))


def _other_bins(certificate):
    columns = [
        replace(column, domain=Bins((0, 20, 40, 60, 80))) if column.name == "age" else column
        for column in certificate.schema.columns
    ]
    return replace(certificate, schema=Schema(tuple(columns)))


FORGERIES = [
    (_fewer, "steps"), (_elsewhere, "steps"), (_beside, "steps"), (_on_a_kept_column, "steps"),
    (_one_label, "matrix of sex"), (_part_of_the_domain, "matrix of sex"),
    (_one_by_one, "impossible combinations"), (_empty, "certificate"), (_withheld, "method"),
    (_keys_of_groups, "method"),
    (_withheld_by_another_method, "differential-privacy"), (_more_people, "anonymity set"),
    (_fewer_people, "anonymity set"), (_more_records, "records"), (_grouped, "k-anonymity"),
    (_twice, "guarantees"), (_stronger, "pk-anonymity"), (_short, "guarantees"),
    (_dependent, "differential-privacy"), (_other_bins, "matrix of age x marital"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "found"), FORGERIES, ids=lambda own: getattr(own, "__name__", "")
)
def test_a_forgery_around_the_truth_is_found(release, change, found):
    """The digest is right, the words follow from the numbers, and it still does not fit."""
    folder = around_the_truth(release, change)

    assert found in failed(folder)


def test_the_truth_under_its_own_certificate_is_beyond_a_stranger(release):
    """Honest about its limit: that records were drawn at all shows only beside the original."""
    folder = around_the_truth(release, lambda certificate: certificate)

    assert verify_folder(folder).valid
    assert not api.verify(folder, original=people()).valid


# -- malformed certificates ------------------------------------------------------------------------


def _text(form):
    form = {name: value for name, value in form.items() if name != "digest"}
    return canonical(form | {"digest": hashlib.sha256(canonical(form)).hexdigest()}).decode()


def _put(path, value):
    """The text of a certificate with a value at a path."""

    def change(form):
        inner = form
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value
        return _text(form)

    return change


def _nested(form):
    text = _text(form)
    return text.replace('"statistics": {}', '"statistics": ' + '{"a": ' * 900 + "1" + "}" * 900)


MALFORMED = [
    _put(["records"], True), _put(["records"], 4000.0), _put(["records"], -1),
    _put(["records"], 10**400), _put(["records"], "4000"), _put(["records"], None),
    _put(["anonymity_set", "size"], 10**30), _put(["anonymity_set"], []), _put(["guarantees"], {}),
    _put(["guarantees", 0, "attained"], {"k": None, "l": 3}),
    _put(["guarantees", 0, "attained"], {"k": {"k": {}}}),
    _put(["guarantees", 0, "attained"], [5]), _put(["guarantees", 0, "name"], ["pk"]),
    _put(["guarantees", 0, "name"], "k-anonymity"), _put(["schema", "columns"], []),
    _put(["schema", "columns", 0, "categories"], ["F", "F"]),
    _put(["schema", "columns", 0, "categories"], [["F"], "M"]),
    lambda form: _text(form).replace('"sex"', '"\\ud800"'),
    _put(["schema", "columns", 0, "name"], ""),
    _put(["schema", "columns", 0, "role"], "identifier"), _put(["schema", "strata"], ["x"]),
    _put(["schema", "impossible"], [{"age": 5}]), _put(["mechanism", 0, "columns"], []),
    _put(["mechanism", 0, "columns"], [None]), _put(["mechanism", 0, "matrix", "other"], "1e9"),
    _put(["mechanism", 0, "matrix", "other"], "9" * 5000),
    _put(["mechanism", 0, "matrix"], {"family": "sparse-rows", "labels": ["F", "M", None],
         "starts": [0, 0, 0, 2**62], "targets": [], "moves": []}),
    _put(["mechanism", 0, "matrix"], {"family": "dense", "labels": ["F", "M", None], "rows": [[]]}),
    _put(["mechanism", 0, "matrix", "family"], "unknown"),
    _put(["statistics"], {"a": [[[[[[[1]]]]]]]}),
    _put(["surprise"], 1), _put(["seed"], "1"), _put(["shuffled"], False), _put(["kind"], "groups"),
    _put(["data", "size"], -1), _put(["data", "sha256"], "F" * 64), _put(["signature"], "00"),
    _put(["method"], "../x"), _put(["expected_error"], 5),
    _put(["scope", "statement"], "All of it."),
    _put(["guarantees", 0, "sentence"], "Nothing can ever be learned."),
    lambda form: _text({name: own for name, own in form.items() if name != "anonymity_set"}),
    lambda form: _text(form).replace('"records"', '"records": 1,\n "records"'),
    lambda form: _text(form).replace('"size": ', '"size": NaN, "size": ', 1),
    lambda form: _text(form).replace("4000", "Infinity"),
    lambda _: "[" * 100_000, lambda _: '{"a":' * 100_000, lambda _: "9" * 10_000, _nested,
    lambda form: _text(form).replace("\n", "\r\n"), lambda form: _text(form) + " ",
]  # fmt: skip


@pytest.mark.parametrize("change", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_certificate_is_refused_in_one_line(release, change):
    """Wrong types, sizes, nesting, names twice: always the same error, and at once."""
    path = release.folder / CERTIFICATE
    form = json.loads(path.read_text())
    path.write_bytes(change(form).encode("utf-8", "surrogatepass"))
    start = time.monotonic()

    with pytest.raises(NotARelease) as caught:
        load_release(release.folder)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert failed(release.folder) == {"certificate"}
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (["guarantees", 0, "attained"], [5], r"guarantees.*attained"),
        (["mechanism", 1, "matrix", "family"], "x", r"mechanism .*matrix\.family"),
        (["schema", "columns", 2, "role"], 3, r"Role of .marital."),
        (["surprise"], 1, "surprise"),
        (["anonymity_set"], {"size": 3}, r"smallest_unchanged_group.*anonymity_set"),
        (["guarantees", 0, "sentence"], "Never.", r"guarantees\[0\]\.sentence"),
    ],
)
def test_the_error_names_the_field(release, path, value, named):
    """So that whoever wrote it knows where to look."""
    file = release.folder / CERTIFICATE
    file.write_text(_put(path, value)(json.loads(file.read_text())))

    with pytest.raises(NotARelease, match=named):
        load_release(release.folder)


def test_labels_of_every_kind_come_back_as_they_were():
    """Texts, numbers, truth values, missing, large integers, open bins: one spelling each way."""
    columns = (
        Column("a", Role.KEY, Categories(("", "x", "é", 1, 2.5, False)), missing="category"),
        Column("b", Role.KEY, Categories((10**25, -(2**63), 0))),
        Column("c", Role.KEY, Bins((float("-inf"), 0, 1.5, float("inf")))),
    )
    steps = tuple(
        Step((c.name,), Dense.of(c.labels, [[1 / len(c.labels)] * len(c.labels)] * len(c.labels)))
        for c in columns
    )
    made = Certificate(
        schema=Schema(columns), kind="published", mechanism=Mechanism(steps), method="matrix",
        records=5, anonymity_set=5, claims=(),
    )  # fmt: skip
    back = Certificate.from_bytes(with_claims(made).to_bytes())

    assert back.to_bytes() == with_claims(made).to_bytes()
    assert [c.labels for c in back.schema.columns] == [c.labels for c in columns]


# -- files -----------------------------------------------------------------------------------------


def renamed(folder, name):
    """The certificate with another name of the data file."""
    path = folder / CERTIFICATE
    form = json.loads(path.read_text())
    form["data"]["name"] = name
    path.write_text(_text(form))


@pytest.mark.parametrize(
    "name",
    ["../other/data.parquet", "/dev/zero", "/etc/passwd", ".hidden", "..", ".", "", "*.parquet",
     "a/b", "a\\b", "data.parquet\n", "[d]ata.parquet", "data?.parquet", "a=x"],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_refused(release, name):
    """Only a plain file name inside the folder is one."""
    renamed(release.folder, name)

    assert failed(release.folder) == {"certificate"}


def _link(path):
    path.rename(path.with_name("aside"))
    path.symlink_to("aside")


def _pipe(path):
    path.unlink()
    os.mkfifo(path)


def _zero(path):
    path.unlink()
    path.symlink_to("/dev/zero")


def _folder(path):
    path.unlink()
    path.mkdir()


def _folder_with_a_link(path):
    content = path.read_bytes()
    path.unlink()
    path.mkdir()
    (path.parent / "aside").write_bytes(content)
    (path / "part-0.parquet").symlink_to("../aside")


def _folder_with_another_ending(path):
    content = path.read_bytes()
    path.unlink()
    path.mkdir()
    (path / "part-0.pq").write_bytes(content)


def _longer(path):
    with path.open("ab") as file:
        file.write(b"x")


def _huge(path):
    with path.open("ab") as file:
        file.truncate(2**40)


SWAPS = [
    _link,
    _pipe,
    _zero,
    _folder,
    _folder_with_a_link,
    _folder_with_another_ending,
    _longer,
    _huge,
]


@pytest.mark.parametrize("name", ["data.parquet", CERTIFICATE])
@pytest.mark.parametrize("swap", SWAPS)
def test_what_is_no_regular_file_of_that_size_is_refused_at_once(release, swap, name):
    """Links, pipes, devices, folders, and files that grew: nothing of them is read."""
    swap(release.folder / name)
    start = time.monotonic()

    assert failed(release.folder) == {"data" if name == "data.parquet" else "certificate"}
    with pytest.raises(NotARelease):
        load_release(release.folder)
    assert time.monotonic() - start < 2


def test_a_signature_has_one_spelling(release, tmp_path):
    """The same digits in capitals are another file."""
    private, public = make_keys(tmp_path / "office")
    folder = release.save(tmp_path / "signed", sign_with=private).folder
    path = folder / CERTIFICATE
    form = json.loads(path.read_text())
    assert verify_folder(folder, key=public).valid
    path.write_bytes(canonical(form | {"signature": form["signature"].upper()}))

    assert failed(folder, key=public) == {"certificate"}


def test_data_that_are_replaced_after_their_digest_was_computed_are_refused(tmp_path, monkeypatch):
    """Other records of the same size would be read under the digest of those that lay there."""
    release = api.protect(people(), plan(), to=tmp_path / "release", seed=1, file_format="csv")
    data = release.folder / "data.csv"
    sound = data.read_bytes()
    names, *records = sound.splitlines(keepends=True)
    other = b"".join([names, *records[::-1]])

    def then_replaced(module, name):
        done = getattr(module, name)

        def made(*given):
            found = done(*given)
            (tmp_path / "other").write_bytes(other)
            (tmp_path / "other").replace(data)
            return found

        data.write_bytes(sound)
        monkeypatch.setattr(module, name, made)

    then_replaced(verifying, "fingerprint")
    (wrong,) = verify_folder(release.folder).of_state("failed")
    assert "changed while it was read" in wrong.detail
    then_replaced(reading, "require_as_written")
    with pytest.raises(InvalidTable, match="changed while it was read"):
        load_release(release.folder)


@pytest.mark.parametrize("name", ["a=x", "[ab]", "*", "with space", "a=x/b=y"])
def test_the_place_of_a_folder_means_nothing(tmp_path, name):
    """Neither as a partition nor as a pattern: the estimates are those of the released records."""
    plain = api.protect(people(), plan(), to=tmp_path / "public", seed=1)
    place = tmp_path / name
    place.mkdir(parents=True)
    there = api.protect(people(), plan(), to=place / "release", seed=1)

    assert verify_folder(there.folder).valid
    for column in ("sex", "region"):
        assert api.load(there.folder).crosstab(column).to_json() == plain.crosstab(column).to_json()


def seen_groups(folder, values, **options):
    """A release with one set of keys a group, beside values of a sensitive column."""
    import numpy as np
    import pyarrow as pa

    from pramana.methods.base import METHODS

    heights = np.random.default_rng(3).normal(170, 9, len(values)).round(1)
    table = pa.table({"height": heights, "ill": values})
    schema = Schema((Column("height", Role.KEY), Column("ill", Role.SENSITIVE)))
    method = METHODS["centroid"](**options)
    made = api.design(schema, KAnonymity(k=3), data=table, method=method)
    return api.protect(table, made, to=folder, seed=1)


ILL = {
    "texts": lambda at: (None, "x", "y")[at * at % 7 % 3],
    "numbers": lambda at: (None, 1.0, 2.0)[at * at % 7 % 3],
    "none is a word": lambda at: (None, "None", "y")[at * at % 7 % 3],
}


@pytest.mark.parametrize("kind", ILL)
@pytest.mark.deep(every=3)
def test_what_groups_hold_of_a_column_is_seen_where_their_keys_show_them(kind, tmp_path):
    """As stated it verifies, and a missing value is none; more than was kept does not."""
    values = [ILL[kind](at) for at in range(120)]
    for number, options in enumerate(({"distinct": 2}, {"closeness": 0.1}, {"closeness": 0.0})):
        sound = seen_groups(tmp_path / f"sound {number}", values, **options)
        assert failed(sound.folder) == set()
        plain = seen_groups(tmp_path / f"plain {number}", values)
        assert failed(plain.folder) == set()
        stated = {**plain.certificate.options, **options}
        forged = replace(plain.certificate, options=stated)
        (plain.folder / CERTIFICATE).write_bytes(forged.to_bytes())
        assert "ill by released keys" in failed(plain.folder)
