"""Measure a source tree: size, layers, helpers, constants, dialect, and the walk of three verbs.

    python -m benchmarks.house [SRC] [--against REV] [--walk] [--words]
    python -m benchmarks.house --picture docs/pictures/layers.svg

``--against`` shows the same figures of another revision beside it; ``--walk`` lists the functions
that ``protect``, ``crosstab`` and ``verify`` enter, by file; ``--words`` counts each word.
``--picture`` draws the layers of the import contract instead.
"""

from __future__ import annotations

import argparse
import ast
import configparser
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

TOP = Path(__file__).parent.parent
SHELLS = ("cli", "studio", "collect", "experiments", "spark")

NAMES = ("own", "found", "told", "those", "crowd", "beside", "stands", "shall", "truth",
         "verbatim", "rebuild", "rebuilt", "mine", "mined", "plain", "dial", "dials")  # fmt: skip
"""Words of the old dialect that are parts of names."""

PHRASES = ("beside", "crowd", "crowds", "dial", "hang together", "hangs together", "of its own",
           "of their own", "off by", "plain", "rebuild", "rebuilt", "released as it is",
           "released as they are", "shall", "so many", "stands", "that of", "the road",
           "the truth", "those of", "told", "true table", "verbatim", "what leaves",
           "word for word")  # fmt: skip
"""Words and phrases of the old dialect in texts."""

READERS = ("as it is", "as they are", "in truth", "promise", "promised", "promises")
"""What readers stumble over as well, in pages, help texts and templates."""

ORDINARY = (
    re.compile(r"(?<=[\w,)*`{}] )(?:that|those) of\b"),
    re.compile(r"\bstands? for\b"),
    re.compile(r">>> .*"),
    re.compile(r"^        (?:beside|told|plain): .*$", re.MULTILINE),
    re.compile(r"\bplain(?= (?:text|file))|\bpublic plain insensitive\b"),
)
"""Uses in the source that are ordinary English or code, and not counted there: a comparison inside
a sentence ("its variance is that of independent draws"), a placeholder, an example, the name of an
attribute, a text file, the words of other tools for a role. Pages, help texts and templates are
read strictly."""

LABELS = frozenset({"rebuild", "beside class", "beside", "beside-", "plain", "plain noise"})
"""Texts that are not printed: addresses of random numbers, which fix seeded releases, and names of
tasks."""

BARE_WHO = re.compile(
    r"(?:(?<=[.:;] )|(?<=\bagainst )|(?<=\bthan )|(?<=\bfor )|(?<=\bto ))who [a-z]+s\b"
)
"""``who`` as a subject without a noun before it."""

PRIVATE = re.compile(r"_(?!.*__$)")
PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass
class Module:
    """One source file."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def inner_imports(self) -> int:
        """Import statements inside functions."""
        found = {
            node
            for function in self.functions()
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        return len(found)

    def helpers(self) -> Iterator[tuple[int, int]]:
        """Private functions of the module: how often each is named elsewhere, and its lines."""
        used = Counter(
            node.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        )
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and PRIVATE.match(node.name):
                inside = Counter(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
                yield used[node.name] - inside[node.name], node.end_lineno - node.lineno + 1

    def constants(self) -> int:
        """Names that the module binds to values, ``__all__`` apart."""
        return sum(
            isinstance(target, ast.Name) and target.id != "__all__"
            for node in self.tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        )

    def bound(self) -> Iterator[str]:
        """Every name that the module binds: variables, arguments, functions, classes."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name

    def texts(self) -> tuple[list[str], list[str]]:
        """Docstrings, those of constants among them, and all other texts."""
        statements = {
            id(node.value)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        docs: list[str] = []
        others: list[str] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                (docs if id(node) in statements else others).append(node.value)
        return docs, others


@dataclass
class House:
    """A source tree, its layers, and the walks of its verbs."""

    src: Path
    modules: list[Module] = field(default_factory=list)

    @classmethod
    def at(cls, src: Path) -> House:
        paths = sorted(src.rglob("*.py"))
        return cls(src, [Module(path, path.read_text()) for path in paths])

    def layers(self) -> list[list[str]]:
        """The packages of each layer, top to bottom, by the import contract beside the tree."""
        contract = configparser.ConfigParser()
        contract.read(self.src.parent / ".importlinter")
        listed = [contract[name]["layers"] for name in contract if "layers" in contract[name]]
        lines = max(listed, key=len, default="").split("\n")
        return [re.split(r" [|:] ", line) for line in lines if line]

    def texts(self) -> tuple[str, str]:
        """All docstrings, and all other texts, in lower case, without ordinary uses."""
        pairs = [module.texts() for module in self.modules]
        docs = "\n".join(text for docstrings, _ in pairs for text in docstrings)
        printed = "\n".join(text for _, texts in pairs for text in texts if text not in LABELS)
        return without_ordinary(docs.lower()), without_ordinary(printed.lower())

    def words(self) -> dict[str, tuple[int, int, int]]:
        """How often each word of the dialect is in names, texts and docstrings."""
        names = Counter(
            part.lower()
            for module in self.modules
            for name in module.bound()
            for part in set(PARTS.findall(name))
        )
        docs, others = self.texts()
        return {
            word: (
                names[word] if word in NAMES else 0,
                _occurrences(word, others) if word in PHRASES else 0,
                _occurrences(word, docs) if word in PHRASES else 0,
            )
            for word in sorted({*NAMES, *PHRASES})
        }

    def figures(self) -> dict[str, str]:
        """What is measured, by its name."""
        lines = sum(module.lines for module in self.modules)
        core = sum(
            module.lines
            for module in self.modules
            if not set(module.path.relative_to(self.src).parts) & set(SHELLS)
        )
        helpers = [helper for module in self.modules for helper in module.helpers()]
        once = [size for times, size in helpers if times == 1]
        stems = Counter(
            module.path.name for module in self.modules if not module.path.name.startswith("__")
        )
        words = self.words().values()
        names, texts, docs = (sum(counts) for counts in zip(*words, strict=True))
        return {
            "lines": f"{lines:,}",
            f"lines without {', '.join(SHELLS)}": f"{core:,}",
            "modules": f"{len(self.modules):,}",
            "lines a module": f"{lines / len(self.modules):.0f}",
            "layers": f"{len(self.layers())}",
            "functions": f"{sum(1 for module in self.modules for _ in module.functions()):,}",
            "imports inside functions": f"{sum(map(Module.inner_imports, self.modules)):,}",
            "private module functions": f"{len(helpers):,}",
            "  of them called once": f"{len(once):,}",
            "  lines of those": f"{sum(once):,}",
            "module constants per 1,000 lines": f"{1000 * self._constants() / lines:.1f}",
            "file names that occur more than once": f"{sum(n > 1 for n in stems.values())}",
            "dialect in names": f"{names:,}",
            "dialect in texts": f"{texts:,}",
            "dialect in docstrings": f"{docs:,}",
        }

    def _constants(self) -> int:
        return sum(map(Module.constants, self.modules))

    def walks(self) -> dict[str, list[str]]:
        """The functions that each verb enters, in order, in a process of its own."""
        environment = {**os.environ, "PYTHONPATH": f"{self.src}{os.pathsep}{TOP}"}
        command = [sys.executable, "-m", "benchmarks.walk", "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)


def _occurrences(word: str, text: str) -> int:
    return len(re.findall(rf"\b{re.escape(word)}\b", text))


def without_ordinary(text: str) -> str:
    """A text of the source without the uses of its words that are ordinary English."""
    for pattern in ORDINARY:
        text = pattern.sub(" ", text)
    return text


def dialect(text: str) -> dict[str, int]:
    """How often words of the dialect are in a text for readers."""
    lower = " ".join(text.lower().split())
    counts = {word: _occurrences(word, lower) for word in (*PHRASES, *READERS)}
    counts["who"] = len(BARE_WHO.findall(lower))
    return {word: count for word, count in counts.items() if count}


def prose(page: str) -> str:
    """A Markdown page without code, formulas and targets of links."""
    page = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)", " ", page, flags=re.DOTALL)


def template_text(source: str) -> str:
    """What a template shows, without statements, comments, expressions and tags."""
    return re.sub(r"\{[{%#].*?[}%#]\}|<[^>]*>", " ", source, flags=re.DOTALL)


def walk_figures(walks: dict[str, list[str]]) -> dict[str, str]:
    """How many functions of how many modules each verb enters."""
    return {
        f"{verb}: functions, modules, calls": (
            f"{len(set(entered)):,}, {len({place.split()[0] for place in entered}):,}, "
            f"{len(entered):,}"
        )
        for verb, entered in walks.items()
    }


def show_walks(walks: dict[str, list[str]]) -> None:
    """Each verb's functions, by the file that has them, in the order in which they are entered."""
    for verb, entered in walks.items():
        print(f"\n{verb}")
        by_file: dict[str, dict[str, None]] = {}
        for place in entered:
            file, function = place.split(maxsplit=1)
            by_file.setdefault(file, {})[function] = None
        for file, functions in by_file.items():
            print(f"  {file}: {', '.join(functions)}")


def show(columns: dict[str, dict[str, str]]) -> None:
    """A table with one column of figures for each tree."""
    names = list(next(iter(columns.values())))
    width = max(map(len, names))
    rows = [["", *columns], *([name, *(own[name] for own in columns.values())] for name in names)]
    for first, *rest in rows:
        print(f"{first:<{width}}", *(f"{entry:>20}" for entry in rest))


def picture(layers: list[list[str]]) -> str:
    """The layers as SVG: one row a layer, one box a package; imports point down."""
    width, height, gap = 132, 30, 8
    columns = max(map(len, layers))
    size = f"{columns * (width + gap) + gap} {len(layers) * (height + gap) + gap}"
    shapes = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" '
        'font-family="sans-serif" font-size="13" text-anchor="middle">',
        "<title>Layers of pramana: imports point down</title>",
    ]
    for row, packages in enumerate(layers):
        y = gap + row * (height + gap)
        start = gap + (columns - len(packages)) * (width + gap) / 2
        for place, package in enumerate(packages):
            x = start + place * (width + gap)
            shapes.append(
                f'<rect x="{x:g}" y="{y}" width="{width}" height="{height}" rx="4" '
                'fill="#e8f1f5" stroke="#0b5f8a"/>'
            )
            shapes.append(f'<text x="{x + width / 2:g}" y="{y + 20}">{package}</text>')
    return "\n".join([*shapes, "</svg>\n"])


def archived(revision: str, folder: Path) -> Path:
    """The source tree of another revision, unpacked into a folder."""
    archive = folder / "tree.tar"
    git = ["git", "-C", str(TOP), "archive", "-o", str(archive), revision, "src", ".importlinter"]
    subprocess.run(git, check=True)
    subprocess.run(["tar", "-xf", str(archive), "-C", str(folder)], check=True)
    return folder / "src"


def main() -> None:
    """Print the figures of a tree, and of another revision beside it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house", description=__doc__)
    parser.add_argument("src", nargs="?", type=Path, default=TOP / "src")
    parser.add_argument("--against", metavar="REV", help="another revision, shown first")
    parser.add_argument("--walk", action="store_true", help="list the functions of the walks")
    parser.add_argument("--words", action="store_true", help="count each word of the dialect")
    parser.add_argument("--picture", type=Path, metavar="SVG", help="draw the layers into a file")
    asked = parser.parse_args()
    if asked.picture:
        asked.picture.write_text(picture(House(asked.src.resolve()).layers()))
        return
    with tempfile.TemporaryDirectory() as folder:
        trees = {asked.src.name: House.at(asked.src.resolve())}
        if asked.against:
            trees = {asked.against: House.at(archived(asked.against, Path(folder)))} | trees
        walks = {name: tree.walks() for name, tree in trees.items()}
        show({name: tree.figures() | walk_figures(walks[name]) for name, tree in trees.items()})
        if asked.words:
            print("\nnames, texts, docstrings")
            counts = {name: tree.words() for name, tree in trees.items()}
            show({name: {word: " ".join(map(str, own[word])) for word in own}
                  for name, own in counts.items()})  # fmt: skip
    if asked.walk:
        show_walks(walks[asked.src.name])


if __name__ == "__main__":
    main()
