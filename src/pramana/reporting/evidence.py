"""Evidence about a release for review boards and catalogues, from its certificate.

Each file is a function of the certificate and the risk of the whole file: DDI Codebook 2.5,
Croissant, Frictionless Data Package, schema.org Dataset, W3C PROV, an entry for a registry of
differential-privacy deployments, and a page for a review board.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from pramana.errors import OutputExists
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.io.base import FORMATS, Format
from pramana.release.certificate import Certificate, DataFile
from pramana.schema.domains import Bins, label_text
from pramana.schema.schema import Column
from pramana.types import Form
from pramana.verification.whole_file import FileRisk, Publishable


def evidence_files(certificate: Certificate, risk: FileRisk, colour: Publishable) -> dict[str, str]:
    """The files of the bundle by name."""
    texts = {
        name: json.dumps(form(certificate), indent=2, ensure_ascii=False) + "\n"
        for name, form in FORMS.items()
    }
    board = _board(certificate, risk, colour)
    return {"evidence.md": board, "ddi.xml": ddi(certificate), **texts}


def require_evidence(folder: Path, *, force: bool) -> None:
    """Refuse a place that is taken; ``force`` takes a folder that holds nothing but evidence."""
    if not os.path.lexists(folder):
        return
    if not force:
        raise OutputExists(
            f"{folder} exists already. Choose another place, or replace it with --force."
        )
    link = folder.is_symlink() or not folder.is_dir()
    if link or not {path.name for path in folder.iterdir()} <= {"evidence.md", "ddi.xml", *FORMS}:
        raise OutputExists(f"{folder} is no folder of evidence alone. Choose another place.")


def _title(certificate: Certificate) -> str:
    return certificate.schema.dataset.title or "Released records"


def _label(certificate: Certificate, column: Column) -> str:
    return certificate.labels.variables.get(column.name, "") or column.name


def _values(certificate: Certificate, column: Column) -> list[tuple[str, str]]:
    """The listed values of a released column as texts, each with its label."""
    if column.domain is None or not (column.coded or column.listed):
        return []
    names = certificate.labels.values.get(column.name, {})
    return [(label_text(v), names.get(v, label_text(v))) for v in column.domain.labels]


def _is_number(column: Column) -> bool:
    """Whether released values are numbers, as far as the certificate tells."""
    domain = column.domain
    if domain is None or not (column.coded or column.listed):
        return False
    if isinstance(domain, Bins):
        return domain.release != "label"
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in domain.labels)


# -- catalogues ------------------------------------------------------------------------------------


def ddi(certificate: Certificate) -> str:
    """A DDI Codebook 2.5 document: the study, its files and its variables."""
    about = certificate.schema.dataset
    root = ElementTree.Element("codeBook", {"xmlns": "ddi:codebook:2_5", "version": "2.5"})

    def add(parent: ElementTree.Element, path: str, text: str, **attributes: str) -> None:
        *outer, last = path.split("/")
        for name in outer:
            child = parent.find(name)
            parent = ElementTree.SubElement(parent, name) if child is None else child
        ElementTree.SubElement(parent, last, attributes).text = text

    study = ElementTree.SubElement(root, "stdyDscr")
    add(study, "citation/titlStmt/titl", _title(certificate))
    stated = {
        "citation/prodStmt/producer": about.publisher,
        "citation/distStmt/contact": about.contact,
        "citation/verStmt/version": about.version,
        "stdyInfo/abstract": " ".join(filter(None, (about.description, about.purpose))),
        "method/dataColl/cleanOps": " ".join(certificate.sentences()),
        "dataAccs/useStmt/conditions": about.licence,
    }
    for path, text in stated.items():
        if text:
            add(study, path, text)
    for file in _files(certificate):
        part = ElementTree.SubElement(root, "fileDscr", {"ID": f"file-{file.format}"})
        add(part, "fileTxt/fileName", file.name)
        add(part, "fileTxt/dimensns/caseQnty", str(certificate.records))
        add(part, "fileTxt/fileType", _media(file))
    data = ElementTree.SubElement(root, "dataDscr")
    for number, column in enumerate(certificate.schema.released, start=1):
        kind = "discrete" if _values(certificate, column) else "contin"
        attributes = {"ID": f"v{number}", "name": column.name, "intrvl": kind}
        variable = ElementTree.SubElement(data, "var", attributes)
        add(variable, "labl", _label(certificate, column))
        for value, label in _values(certificate, column):
            category = ElementTree.SubElement(variable, "catgry")
            add(category, "catValu", value)
            add(category, "labl", label)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _media(file: DataFile) -> str:
    member = FORMATS.get(file.format)
    return Format.media if member is None else member.media


def _files(certificate: Certificate) -> list[DataFile]:
    return [file for file in (certificate.data, *certificate.copies) if file is not None]


def _with_stated(form: Form, **stated: object) -> Form:
    """The form with the entries that have a value."""
    return form | {name: value for name, value in stated.items() if value}


def _description(certificate: Certificate) -> str:
    return certificate.schema.dataset.description or " ".join(certificate.sentences())


def schema_org(certificate: Certificate) -> Form:
    """A schema.org Dataset."""
    about = certificate.schema.dataset
    form: Form = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": _title(certificate),
        "description": _description(certificate),
        "variableMeasured": [
            {
                "@type": "PropertyValue",
                "name": column.name,
                "description": _label(certificate, column),
            }
            for column in certificate.schema.released
        ],
        "distribution": [
            {
                "@type": "DataDownload",
                "contentUrl": file.name,
                "encodingFormat": _media(file),
                "sha256": file.sha256,
            }
            for file in _files(certificate)
        ],
        "measurementTechnique": f"Post-randomisation by method {certificate.method}",
    }
    publisher = {"@type": "Organization", "name": about.publisher} if about.publisher else None
    return _with_stated(
        form,
        version=about.version,
        license=about.licence,
        publisher=publisher,
        creditText=about.contact,
    )


def data_package(certificate: Certificate) -> Form:
    """A Frictionless Data Package: one resource a file, with fields and their possible values."""
    about = certificate.schema.dataset
    fields = []
    for column in certificate.schema.released:
        values, number = _values(certificate, column), _is_number(column)
        field = {
            "name": column.name,
            "title": _label(certificate, column),
            "type": "number" if number else "string" if values else "any",
        }
        listed = [float(value) if number else value for value, _ in values]
        fields.append(_with_stated(field, constraints={"enum": listed} if values else None))
    resources = [
        {
            "name": f"data-{file.format}",
            "path": file.name,
            "format": file.format,
            "mediatype": _media(file),
            "hash": f"sha256:{file.sha256}",
            "bytes": file.size,
            "schema": {"fields": fields},
        }
        for file in _files(certificate)
    ]
    return _with_stated(
        {"name": "release", "title": _title(certificate), "resources": resources},
        version=about.version,
        description=about.description,
        licenses=[{"name": "other", "title": about.licence}] if about.licence else None,
        contributors=[{"title": about.contact, "role": "contact"}] if about.contact else None,
    )


CROISSANT: Final[Form] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{name: f"cr:{name}" for name in ("column", "extract", "field", "fileObject", "recordSet",
                                       "source")},
}  # fmt: skip
"""The terms of Croissant that are used here."""


def croissant(certificate: Certificate) -> Form:
    """A Croissant description: files by digest, one record set, one field a column."""
    about = certificate.schema.dataset
    files = _files(certificate)
    source = files[0].name if files else "data"
    distribution = [
        {
            "@type": "cr:FileObject",
            "@id": file.name,
            "name": file.name,
            "contentUrl": file.name,
            "encodingFormat": _media(file),
            "sha256": file.sha256,
        }
        for file in files
    ]
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"records/{column.name}",
            "name": column.name,
            "description": _label(certificate, column),
            "dataType": "sc:Float" if _is_number(column) else "sc:Text",
            "source": {"fileObject": {"@id": source}, "extract": {"column": column.name}},
        }
        for column in certificate.schema.released
    ]
    records = {"@type": "cr:RecordSet", "@id": "records", "name": "records", "field": fields}
    form: Form = {
        "@context": CROISSANT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": _title(certificate),
        "description": _description(certificate),
        "distribution": distribution,
        "recordSet": [records],
    }
    return _with_stated(form, version=about.version, license=about.licence)


def provenance(certificate: Certificate) -> Form:
    """W3C PROV: which activity made the released files from the original data."""
    original, protection = {"@id": "pramana:original"}, {"@id": "pramana:protection"}
    files = [
        {
            "@id": f"pramana:{file.name}",
            "@type": "prov:Entity",
            "pramana:sha256": file.sha256,
            "prov:wasGeneratedBy": protection,
            "prov:wasDerivedFrom": original,
        }
        for file in _files(certificate)
    ]
    activity = {
        **protection,
        "@type": "prov:Activity",
        "rdfs:label": f"post-randomisation by method {certificate.method}",
        "prov:used": original,
    }
    return {
        "@context": {
            "prov": "http://www.w3.org/ns/prov#",
            "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
            "pramana": "urn:pramana:",
        },
        "@graph": [
            {**original, "@type": "prov:Entity", "rdfs:label": "original data"},
            activity,
            *files,
        ],
    }


def deployment(certificate: Certificate) -> Form:
    """An entry for a registry of differential-privacy deployments."""
    about = certificate.schema.dataset
    form: Form = {
        "name": _title(certificate),
        "organisation": about.publisher,
        "contact": about.contact,
        "intended_use": about.purpose,
        "mechanism": f"post-randomisation, method {certificate.method}",
        "records": certificate.records,
        "unit_of_privacy": "one record",
        "neighbouring_tables": "one record replaced by any other",
        "columns_covered": [c.name for c in certificate.schema.released if c.randomised],
        "columns_not_covered": [c.name for c in certificate.schema.released if not c.randomised],
        "verifiable_by_anyone": certificate.nature.shows_matrices,
    }
    for claim in certificate.claims:
        attained = claim.attained
        if isinstance(attained, DifferentialPrivacy):
            form["local_epsilon"] = attained.epsilon
        elif isinstance(attained, ShuffledPrivacy):
            form["central_epsilon"], form["delta"] = attained.epsilon, attained.delta
        elif isinstance(attained, PkAnonymity):
            form["k"] = attained.k
    return form


FORMS: Final[dict[str, Callable[[Certificate], Form]]] = {
    "croissant.json": croissant,
    "datapackage.json": data_package,
    "dataset.jsonld": schema_org,
    "provenance.jsonld": provenance,
    "deployment.json": deployment,
}


# -- for a review board ----------------------------------------------------------------------------


def _board(certificate: Certificate, risk: FileRisk, publishable: Publishable) -> str:
    """The page for a review board: each question with the answer that the certificate gives."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(  # noqa: S701 - Markdown has its filter
        loader=PackageLoader("pramana.reporting", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["markdown"] = _plain
    entry = deployment(certificate)
    names = ("k", "local_epsilon", "central_epsilon", "delta")
    numbers = [f"{name} {entry[name]!r}".replace("_", " ") for name in names if name in entry]
    return templates.get_template("evidence.md.j2").render(
        certificate=certificate,
        risk=risk,
        publishable=publishable,
        entry=entry,
        title=_title(certificate),
        files=_files(certificate),
        parameters=", ".join(numbers) or "none attained",
    )


def _plain(text: str) -> str:
    """A text from outside that Markdown shows unchanged."""
    visible = "".join(letter if letter.isprintable() else " " for letter in text)
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#|" else letter for letter in visible)
