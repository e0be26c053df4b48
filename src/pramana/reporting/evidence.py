"""Evidence about a release for review boards and catalogues, from its certificate.

Each file is a function of the certificate and the risk of the whole file: DDI Codebook 2.5,
Croissant, Frictionless Data Package, schema.org Dataset, W3C PROV, an entry for a registry of
differential-privacy deployments, and a page for a review board.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

from pramana.base.text import text_templates
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

if TYPE_CHECKING:
    from jinja2 import Environment

NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""


def evidence_files(
    certificate: Certificate, risk: FileRisk, publishable: Publishable
) -> dict[str, str]:
    """The files of the bundle by name."""
    entry, about = deployment(certificate), certificate.schema.dataset
    names = ("k", "local_epsilon", "central_epsilon", "delta")
    numbers = [f"{name} {entry[name]!r}".replace("_", " ") for name in names if name in entry]
    columns = []
    for column in certificate.schema.released:
        values, number = _values(certificate, column), _is_number(column)
        listed = [float(value) if number else value for value, _ in values]
        label = _label(certificate, column)
        columns.append({"name": column.name, "label": label, "number": number, "listed": listed})
    forms: Form = {
        "certificate": certificate,
        "about": about,
        "risk": risk,
        "publishable": publishable,
        "entry": entry,
        "title": _title(certificate),
        "description": about.description or " ".join(certificate.sentences()),
        "files": _files(certificate),
        "columns": columns,
        "parameters": ", ".join(numbers) or "none attained",
    }
    files = {name: _written(name, forms) for name in TEMPLATES}
    files |= {"ddi.xml": ddi(certificate), "deployment.json": _json(entry)}
    return {name: files[name] for name in BUNDLE}


def require_evidence(folder: Path, *, force: bool) -> None:
    """Refuse a place that is taken; ``force`` takes a folder that holds nothing but evidence."""
    if not os.path.lexists(folder):
        return
    if not force:
        raise OutputExists(
            f"{folder} exists already. Choose another place, or replace it with --force."
        )
    link = folder.is_symlink() or not folder.is_dir()
    if link or not {path.name for path in folder.iterdir()} <= {*BUNDLE}:
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
    text = ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text) + "\n"


def _media(file: DataFile) -> str:
    member = FORMATS.get(file.format)
    return Format.media if member is None else member.media


def _files(certificate: Certificate) -> list[DataFile]:
    return [file for file in (certificate.data, *certificate.copies) if file is not None]


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


# -- templates -------------------------------------------------------------------------------------


BUNDLE: Final = (
    "evidence.md", "ddi.xml", "croissant.json", "datapackage.json", "dataset.jsonld",
    "provenance.jsonld", "deployment.json",
)  # fmt: skip
TEMPLATES: Final = [name for name in BUNDLE if name not in ("ddi.xml", "deployment.json")]


def _written(name: str, values: Form) -> str:
    """A file from its template; JSON in the usual layout."""
    text = _templates().get_template(f"{name}.j2").render(values)
    return _json(json.loads(text)) if "json" in name else text


def _json(form: object) -> str:
    return json.dumps(form, indent=2, ensure_ascii=False) + "\n"


@cache
def _templates() -> Environment:
    return text_templates("pramana.reporting", "", markdown=_escaped, media=_media)


def _escaped(text: str) -> str:
    """A text from outside that Markdown shows unchanged."""
    visible = "".join(letter if letter.isprintable() else " " for letter in text)
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#|" else letter for letter in visible)
