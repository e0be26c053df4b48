"""The texts that are marked for translation; ``python -m tests.architecture.catalogue`` enters
new ones in every catalogue, without a translation, and takes out those that are no more.
"""

from __future__ import annotations

import ast
from io import BytesIO
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

import pramana
from pramana import api
from pramana.release.kinds import KINDS
from pramana.schema.origins import Provenance
from pramana.schema.roles import Role

PACKAGE: Final = Path(pramana.__file__).parent
CATALOGUES: Final = sorted((PACKAGE / "base" / "locale").glob("*.po"))
TEMPLATES: Final = {"studio/templates/**.html": "jinja2", "reporting/report.html": "jinja2"}
PYTHON: Final = (
    "studio/*.py", "studio/pages/*.py", "reporting/*.py", "evaluation/report.py", "guarantees/*.py",
    "verification/*.py", "base/measured_share.py", "schema/domains.py", "schema/telling_values.py",
)  # fmt: skip
ELSEWHERE: Final = ("serving.py",)
"""Its errors are for those who type commands."""

SHOWN: Final = {
    **dict.fromkeys(("gettext", "noop", "InputError", "say", "change"), 0),
    **dict.fromkeys(("_keep", "Entry", "number_in"), 1),
    **dict.fromkeys(("choice", "place_in"), 2),
}
"""Functions whose texts are shown, and the place of the text among their arguments."""


def marked() -> set[str]:
    """Every text of templates, pages and reports, and the fixed texts of registered members."""
    options = {pattern: {"newstyle_gettext": "true"} for pattern in TEMPLATES}
    found = extract_from_dir(PACKAGE, [*TEMPLATES.items()], options)
    texts = {str(text) for _, _, text, _, _ in found}
    paths = (path for pattern in PYTHON for path in PACKAGE.glob(pattern))
    for path in (path for path in paths if path.name not in ELSEWHERE):
        texts |= _in_code(ast.parse(path.read_text(encoding="utf-8")))
    guarantees = list(api.GUARANTEES.values())
    sliders = [option.slider for kind in guarantees for option in kind.cli_options if option.slider]
    texts |= {method.when for method in api.METHODS.values() if method.aims}
    texts |= {text for kind in guarantees for text in (kind.assumption, kind.not_promised)}
    texts |= {slider[0] for slider in sliders}
    texts |= {text for one in KINDS.values() for text in (one.made, one.treatment, one.why_not)}
    texts |= {origin.words for origin in Provenance}
    texts |= {f"{role.capitalize()}: {role.traits.words}" for role in Role}
    texts |= {text for role in Role for text in (str(role), role.capitalize())}
    return texts | {"text", "integer", "number", "date"}


def _in_code(tree: ast.AST) -> set[str]:
    """The fixed texts that functions show; one with values in braces is not translated."""
    texts = set()
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        given = call.args[SHOWN[name] : SHOWN[name] + 1] if name in SHOWN else []
        texts |= {str(arg.value) for arg in given if isinstance(arg, ast.Constant) and arg.value}
    return texts


def read(path: Path) -> Catalog:
    """A catalogue."""
    with path.open("rb") as file:
        return read_po(file, locale=path.stem)


def write(path: Path, catalogue: Catalog) -> None:
    """A catalogue; its first lines stay as they are."""
    head, entries = path.read_text(encoding="utf-8").partition("\n\n")[0], BytesIO()
    write_po(entries, catalogue, sort_output=True, omit_header=True, width=100)
    path.write_text(f"{head}\n\n{entries.getvalue().decode().strip()}\n", encoding="utf-8")


def main() -> None:
    """Bring the catalogues up to date."""
    template = Catalog()
    for text in sorted(marked()):
        template.add(text)
    for path in CATALOGUES:
        catalogue = read(path)
        catalogue.update(template, no_fuzzy_matching=True)
        catalogue.obsolete.clear()
        write(path, catalogue)


if __name__ == "__main__":
    main()
