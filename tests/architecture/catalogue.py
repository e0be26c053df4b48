"""The texts that are marked for translation; ``python -m tests.architecture.catalogue`` enters
new ones in every catalogue, without a translation, and takes out those that are no more.
"""

from __future__ import annotations

import ast
import re
from io import BytesIO
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

import pramana
from pramana import api, errors
from pramana.analysis.regression import FAMILIES
from pramana.base.translation import FIELD
from pramana.io.csv import DELIMITERS
from pramana.release.certificate_fields import AS_IT_IS, BINNED, NOISY
from pramana.release.kinds import KINDS
from pramana.schema.origins import Provenance
from pramana.schema.roles import Role

PACKAGE: Final = Path(pramana.__file__).parent
CATALOGUES: Final = sorted((PACKAGE / "base" / "locale").glob("*.po"))
TEMPLATES: Final = {"studio/templates/**.html": "jinja2", "reporting/report.html": "jinja2"}
COMMANDS: Final = (
    "cli/*.py", "experiments/*.py", "ledger/*.py", "engine/**/*.py", "risk/attacks/*.py",
    "methods/optimal/*.py", "mechanisms/*.py",
    *(f"analysis/{name}.py" for name in (
        "calibration", "features", "learning", "pooling", "population_weights", "synthesis",
    )),
    *(f"base/{name}.py" for name in ("processes", "randomness", "text", "translation")),
    *(f"collect/{name}.py" for name in ("channel", "server", "simulated_survey", "store")),
    *(f"guarantees/{name}.py" for name in (
        "composition", "correct_match", "recognition_posterior",
    )),
    *(f"methods/{name}.py" for name in ("given", "frequency_preserving", "symmetric_flows")),
    *(f"release/{name}.py" for name in ("certificate_fields", "signing")),
    "api.py", "evaluation/utility.py", "io/databases.py", "microaggregation/clustering.py",
    "reporting/evidence.py", "studio/serving.py", "verification/consistency.py",
)  # fmt: skip
"""Errors of these files are for those who type commands or Python: no page causes them."""

SHOWN: Final = {
    **dict.fromkeys(("gettext", "noop", "say", "change"), (0,)),
    **dict.fromkeys(("_keep", "Entry", "number_in", "Rule"), (1,)),
    **dict.fromkeys(("choice", "place_in", "require"), (2,)),
    "decided": (0, 2), "asserted": (0, 1), "_asserted_if": (1, 2, 3), "counted": (1, 2),
}  # fmt: skip
"""Functions whose texts are shown, and the places of the texts among their arguments."""

SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)

ERRORS: Final = {name for name in errors.__all__ if name[0].isupper()} | {"reworded"}
"""Classes of errors and notices, whose first argument is a text."""


def marked() -> set[str]:
    """Every text of templates, pages and reports, and the fixed texts of registered members."""
    options = {pattern: {"newstyle_gettext": "true"} for pattern in TEMPLATES}
    found = extract_from_dir(PACKAGE, [*TEMPLATES.items()], options)
    texts = {str(text) for _, _, text, _, _ in found}
    for path in sorted(PACKAGE.rglob("*.py")):
        texts |= {text for text in texts_in(path) if text is not None}
    guarantees = list(api.GUARANTEES.values())
    sliders = [option.slider for kind in guarantees for option in kind.cli_options if option.slider]
    texts |= {method.when for method in api.METHODS.values() if method.aims}
    texts |= {text for kind in guarantees for text in (kind.assumption, kind.not_promised)}
    texts |= {slider[0] for slider in sliders}
    texts |= {kind.name.replace("-", " ") for kind in guarantees} | {"anyone", "the owner only"}
    texts |= {AS_IT_IS, BINNED, NOISY, *(one.anonymity_set for one in KINDS.values())}
    options = [option for method in api.METHODS.values() for option in api.options_of(method)]
    texts |= {option.help for option in options}
    texts |= {option.flag[2:].replace("-", " ").capitalize() for option in options}
    texts |= {method.instead for method in api.METHODS.values() if method.instead}
    texts |= {*FAMILIES, "as released", "unbiased", "clipped", "shrunk"}
    texts |= {"count", "share", "model", "English", "German", *DELIMITERS.values()}
    texts |= {"Planned a mean", "Planned a model", "Planned a table"}
    texts |= {text for one in KINDS.values() for text in (one.made, one.treatment, one.why_not)}
    texts |= {origin.words for origin in Provenance}
    texts |= {f"{role.capitalize()}: {role.traits.words}" for role in Role}
    texts |= {text for role in Role for text in (str(role), role.capitalize())}
    texts |= {"text", "integer", "number", "date"}
    return {text for text in texts if re.search(r"[A-Za-z]", FIELD.sub("", text))}


def texts_in(path: Path) -> set[str | None]:
    """The texts that functions and errors of a file show; none where one is put together."""
    shown = SHOWN | (dict.fromkeys(ERRORS, (0,)) if is_shown(path) else {})
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts: set[str | None] = set()
    for scope in (node for node in ast.walk(tree) if isinstance(node, SCOPES)):
        named = _assigned(scope)
        for call in (node for node in ast.walk(scope) if isinstance(node, ast.Call)):
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            places = shown.get(name, ())
            for given in (call.args[place] for place in places if place < len(call.args)):
                texts |= _constants(given, named)
                if name == "counted" and len(call.args) == 2:
                    texts |= {f"{text}s" for text in _constants(given, named)}
    return texts - {""}


def _assigned(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """The expressions that each name of a function may stand for."""
    named: dict[str, list[ast.expr]] = {}
    inside = scope.body if isinstance(scope, ast.Module) else ast.walk(scope)
    for one in (node for node in inside if isinstance(node, ast.Assign)):
        for target in one.targets:
            pairs = [(target, one.value)]
            if isinstance(target, ast.Tuple) and isinstance(one.value, ast.Tuple):
                pairs = list(zip(target.elts, one.value.elts, strict=True))
            for name, value in pairs:
                if isinstance(name, ast.Name):
                    named.setdefault(name.id, []).append(value)
    return named


def _constants(given: ast.expr, named: dict[str, list[ast.expr]]) -> set[str | None]:
    """The texts that an argument may be; none for one that is put together."""
    if isinstance(given, ast.Constant):
        return {given.value} if isinstance(given.value, str) else set()
    if isinstance(given, ast.JoinedStr):
        return {None}
    parts: list[ast.expr] = []
    if isinstance(given, ast.IfExp):
        parts = [given.body, given.orelse]
    elif isinstance(given, ast.BoolOp):
        parts = given.values
    elif isinstance(given, ast.Name):
        parts = named.get(given.id, [])
        named = {}
    return {text for part in parts for text in _constants(part, named)}


def is_shown(path: Path) -> bool:
    """Whether a page or a report may show errors of a file."""
    return not any(path in PACKAGE.glob(pattern) for pattern in COMMANDS)


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
