"""Evidence for review boards and catalogues: what it states, and that it states nothing else."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.reporting.evidence import ddi

DDI = "{ddi:codebook:2_5}"
SCHEMA = """
dataset = {title = "A <register>", contact = "data@example.org", licence = "CC BY 4.0"}
[columns.sex]
role = "key"
categories = [1, 2]
[columns.region]
role = "key"
categories = ["north", "so*uth"]
[columns.pay]
role = "sensitive"
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A small release with a column that is unchanged."""
    draw = np.random.default_rng(3)
    people = pa.table({
        "sex": draw.choice([1, 2], 500),
        "region": draw.choice(["north", "so*uth"], 500),
        "pay": draw.integers(1, 5, 500) * 1000,
    })  # fmt: skip
    schema = pm.Schema.from_toml(SCHEMA)
    plan = pm.design(schema, pm.PkAnonymity(k=5), data=people, method="retention")
    made = pm.protect(people, plan, seed=1, accept_risk=["pay"])
    return made.save(tmp_path_factory.mktemp("evidence") / "release", copies=["csv"])


@pytest.fixture(scope="module")
def files(release, tmp_path_factory):
    """The files of the bundle, by name."""
    written = pm.evidence(release, tmp_path_factory.mktemp("bundle") / "evidence")
    return {path.name: path.read_text() for path in written}


def test_the_title_and_contact_travel_in_the_certificate(release):
    """What the schema states about the data set is stated by every copy of the release."""
    stated = pm.load(release.folder).certificate.schema.dataset
    assert (stated.title, stated.licence) == ("A <register>", "CC BY 4.0")


def test_ddi_names_each_variable_with_its_values(files):
    """Read back by an XML parser: variables, categories, files, number of records."""
    root = ElementTree.fromstring(files["ddi.xml"])  # noqa: S314 - written here
    assert root.find(f"{DDI}stdyDscr/{DDI}citation/{DDI}titlStmt/{DDI}titl").text == "A <register>"
    variables = {own.get("name"): own for own in root.iter(f"{DDI}var")}
    assert list(variables) == ["sex", "region", "pay"]
    values = [own.text for own in variables["region"].iter(f"{DDI}catValu")]
    assert values == ["north", "so*uth"]
    assert not list(variables["pay"].iter(f"{DDI}catValu"))
    assert {own.text for own in root.iter(f"{DDI}caseQnty")} == {"500"}


def test_ddi_is_xml_whatever_characters_names_hold():
    """Control characters and non-characters, which Arrow holds and XML does not."""
    odd = "pay\x01\x0b\ufffe & <b>"
    people = pa.table({"sex": ["m", "f\x08"] * 50, odd: ["x"] * 100})
    schema = pm.Schema((pm.Column("sex", pm.Role.KEY, pm.Categories(("m", "f\x08"))),
                        pm.Column(odd, pm.Role.SENSITIVE, pm.Categories(("x",)))))  # fmt: skip
    plan = pm.design(schema, pm.PkAnonymity(k=5), records=100, method="retention")
    text = ddi(pm.protect(people, plan, seed=1).certificate)
    root = ElementTree.fromstring(text)  # noqa: S314 - it was made here
    names = [one.get("name") for one in root.iter(f"{DDI}var")]
    assert names == [
        "sex",
        "pay\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} & <b>",
    ]


def test_digests_are_those_of_the_files(release, files):
    """Every catalogue names both files with the digest of the certificate."""
    digests = {release.certificate.data.sha256, *(c.sha256 for c in release.certificate.copies)}
    package = json.loads(files["datapackage.json"])
    assert {own["hash"].removeprefix("sha256:") for own in package["resources"]} == digests
    assert {own["sha256"] for own in json.loads(files["croissant.json"])["distribution"]} == digests
    assert {own["sha256"] for own in json.loads(files["dataset.jsonld"])["distribution"]} == digests
    graph = json.loads(files["provenance.jsonld"])["@graph"]
    assert {own["pramana:sha256"] for own in graph if "pramana:sha256" in own} == digests


# In a process of its own, as the validators warn of their own dependencies.
VALIDATE = """
import json, sys
import frictionless, mlcroissant, rdflib
folder = sys.argv[1]
package = json.load(open(f"{folder}/datapackage.json"))
croissant = mlcroissant.Dataset(jsonld=f"{folder}/croissant.json")
prov = rdflib.Namespace("http://www.w3.org/ns/prov#")
graph = rdflib.Graph().parse(f"{folder}/provenance.jsonld", format="json-ld")
print(json.dumps({
    "frictionless": [str(own) for own in frictionless.Package.metadata_validate(package)],
    "croissant": list(croissant.metadata.ctx.issues.errors),
    "fields": [own.name for own in croissant.metadata.record_sets[0].fields],
    "derived": len(list(graph.subject_objects(prov.wasDerivedFrom))),
    "generated": len(list(graph.subject_objects(prov.wasGeneratedBy))),
    "labels": sorted(str(own) for own in graph.objects(None, rdflib.RDFS.label)),
}))
"""


def test_the_validators_of_the_catalogues_accept_the_files(release, tmp_path):
    """Frictionless, mlcroissant and an RDF parser: no error, and what they read back."""
    for name in ("frictionless", "mlcroissant", "rdflib"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    pm.evidence(release, tmp_path / "evidence")
    words = [sys.executable, "-c", VALIDATE, str(tmp_path / "evidence")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    read = json.loads(done.stdout.splitlines()[-1])
    assert (read["frictionless"], read["croissant"]) == ([], [])
    assert read["fields"] == ["sex", "region", "pay"]
    assert (read["derived"], read["generated"]) == (2, 2)
    assert read["labels"] == ["original data", "post-randomisation by method retention"]


def test_the_registry_entry_has_the_attained_numbers_and_what_is_not_covered(release, files):
    """k and epsilon of the certificate; the unchanged column is named."""
    entry = json.loads(files["deployment.json"])
    attained = {claim.name: claim.attained for claim in release.certificate.claims}
    assert entry["k"] == attained["pk-anonymity"].k
    assert entry["local_epsilon"] == attained["differential-privacy"].epsilon
    assert entry["columns_not_covered"] == ["pay"]


def test_the_page_for_a_board_repeats_the_verdict_and_escapes_names(release, files):
    """Verdict, guarantees with proofs, whole-file risk; a name cannot become markup."""
    page = files["evidence.md"]
    assert release.publishable.sentence.split(".")[0].split("<")[0][:40] in page
    assert "docs/proofs/pk_anonymity.md" in page
    assert "A \\<register\\>" in page


def test_only_evidence_is_replaced(release, tmp_path):
    """A folder that holds anything else stays."""
    place = tmp_path / "evidence"
    pm.evidence(release, place)
    with pytest.raises(pm.OutputExists):
        pm.evidence(release, place)
    pm.evidence(release, place, force=True)
    (place / "notes.txt").write_text("mine")
    with pytest.raises(pm.OutputExists):
        pm.evidence(release, place, force=True)
    assert (place / "notes.txt").exists()
