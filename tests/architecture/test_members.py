"""Members of the registries decide by what they are, and nobody by what they are called.

So that one more method, kind of release, guarantee, format or engine is one file: a comparison with
a name, or a list of some of the names, in any other file would forget it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pramana
from pramana.api import ENGINES, FORMATS, GUARANTEES, METHODS
from pramana.base.registry import Registry
from pramana.release.kinds import KINDS
from tests.architecture.source import nodes

SOURCE = Path(pramana.__file__).parent

REGISTRIES = {
    "METHODS": METHODS,
    "KINDS": KINDS,
    "GUARANTEES": GUARANTEES,
    "FORMATS": FORMATS,
    "ENGINES": ENGINES,
}
SAID_OF = {
    "METHODS": (set(METHODS), {"method"}),
    "KINDS": (set(KINDS), {"kind"}),
    "GUARANTEES": (set(GUARANTEES), {"guarantee", "aims", "claim", "guaranteed_by"}),
    "FORMATS": (set(FORMATS), {"format", "file_format", "data_format", "form", "wanted"}),
    "ENGINES": (set(ENGINES), {"engine"}),
}
"""The names of members, and what a variable is called that holds one of them."""

KNOWN = set().union(*(members for members, _ in SAID_OF.values()))

MAY_NAME = {
    "collect/definition.py": "what a page in a browser can draw; its script knows the same two",
    "collect/survey.py": "the same",
    "cli/collect.py": "the same",
    "studio/analyst.py": "tables as files to take home, which are no releases",
    "cli/plan.py": "flags of the command line for three formats; --format takes all",
    "studio/pages/publish.py": "the same flags as boxes to tick",
    "engine/local.py": "what the database reads by itself",
    "engine/spark/table.py": "what the cluster writes by itself",
    "verification/record_checks.py": "Parquet has each text of a column once",
}
"""Files that name members of others all the same, and why."""


def home_of(registry: Registry, name: str) -> str:
    """The file in which a member is written."""
    member = registry[name]
    place = getattr(member, "__module__", None) or type(member).__module__
    return "/".join(place.split(".")[1:]) + ".py"


def texts(node: ast.AST) -> set[str]:
    """The texts that stand in an expression."""
    found = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    return {own for own in found if isinstance(own, str)}


def words(node: ast.AST) -> set[str]:
    """The names of variables and attributes in an expression."""
    return {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node)}


def named(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The registry and the name of each member that is decided by, or listed with others."""
    if isinstance(node, ast.Compare):
        found, least = texts(node), 1
        asked = words(node) if found & KNOWN else set()
    elif isinstance(node, ast.Subscript):
        found, least = texts(node.slice), 1
        asked = words(node.value) if found & KNOWN else set()
    elif isinstance(node, ast.Dict | ast.Tuple | ast.List | ast.Set):
        parts = node.keys if isinstance(node, ast.Dict) else node.elts
        found = {part.value for part in parts if isinstance(part, ast.Constant)}
        least, asked = 2, None  # one of them may be any word
    else:
        return
    for label, (members, spoken) in SAID_OF.items():
        said = asked is None or asked & (spoken | {label})
        if said and len(found & members) >= least:
            yield from ((label, name) for name in found & members)


def decisions(code: str, place: str) -> list[str]:
    """Lines that decide by the name of a member that is not written in this file."""
    lines = []
    for node in nodes(code):
        for label, name in named(node):
            if home_of(REGISTRIES[label], name) != place:
                lines.append(f"{place}:{node.lineno}: {name} of {label}")
    return lines


def test_nobody_decides_by_the_name_of_a_member() -> None:
    """But for a few files, which say why; experiments are about methods that papers name."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        registers = place in {"release/kinds.py", "engine/base.py"}
        registers |= place in {"guarantees/claims.py", "io/base.py", "analysis/released_records.py"}
        if not (registers or place.startswith("experiments/") or place in MAY_NAME):
            found += decisions(path.read_text(encoding="utf-8"), place)
    assert found == []


def test_whoever_may_name_members_does() -> None:
    """No file stands in the list for nothing."""
    for place in MAY_NAME:
        assert decisions((SOURCE / place).read_text(encoding="utf-8"), place), place


def test_decisions_are_seen() -> None:
    """The test above can fail: by a comparison, a look-up, a table, a list; not in its own file."""
    assert decisions('if plan.method.name == "attribute-sampling": ...', "methods/choice.py")
    assert decisions('METHODS["attribute-sampling"]()', "methods/choice.py")
    assert decisions(
        'if certificate.kind in ("withheld", "groups"): ...', "verification/record_checks.py"
    )
    assert decisions(
        'x = 1 if "attribute-sampling" != kind else 2', "verification/record_checks.py"
    )
    assert decisions('SLOW = {"gaussian": 12, "optimal": 12}', "studio/tasks.py")
    assert decisions('PARSED = ("csv", "sav")', "release/contents.py")
    assert decisions('if engine != "local": ...', "api.py")
    assert not decisions('if file_format == "csv": ...', "io/csv.py")
    assert not decisions('{"retention": 0.5, "epsilon": 2}', "cli/rendering.py")
