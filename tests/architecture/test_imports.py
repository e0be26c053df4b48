"""Who imports what: quick to start, heavy only where used, one door to randomness."""

from __future__ import annotations

import ast
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import pramana
from tests.architecture.source import nodes, parsed

SOURCE = Path(pramana.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = (
    "duckdb",
    "formulaic",
    "altair",
    "vl_convert",
    "narwhals",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pyreadstat",
    "pyspark",
    "scipy",
    "sklearn",
)


def modules_loaded_by(code: str) -> set[str]:
    """The modules that a fresh Python has loaded after running some code."""
    script = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def loaded_by(code: str) -> set[str]:
    """The packages among them."""
    return {name.partition(".")[0] for name in modules_loaded_by(code)}


@pytest.mark.parametrize("module", ["pramana", "pramana.cli.app"])
def test_starting_up_loads_nothing_heavy(module: str) -> None:
    """Neither the package nor the command line before a verb runs."""
    assert not loaded_by(f"import {module}") & set(HEAVY)


def test_the_verbs_load_neither_compilers_nor_other_peoples_data_frames() -> None:
    """numpy and pyarrow are what tables are made of; all else waits until it is needed."""
    loaded = loaded_by("from pramana import describe, design, protect, verify")
    assert not loaded & (set(HEAVY) - {"numpy", "pyarrow"})


def test_verify_loads_neither_attacks_nor_reports() -> None:
    """Only checks against the original data need them."""
    loaded = modules_loaded_by("from pramana import verify; import pramana.cli.plan")
    assert not {name for name in loaded if name.startswith("pramana.reporting")}
    assert not {name for name in loaded if name.startswith("pramana.risk.attacks")}


def test_a_small_release_is_made_and_checked_without_libraries_that_it_does_not_need(
    tmp_path: Path,
) -> None:
    """No optimiser, no compiler, no database; Arrow itself imports pandas with its first array."""
    rows = "\n".join(f"{'FM'[at % 2]},{at % 5}" for at in range(100))
    (tmp_path / "t.csv").write_text(f"sex,size\n{rows}\n")
    (tmp_path / "s.toml").write_text(
        '[columns.sex]\nrole = "key"\ncategories = ["F", "M"]\n'
        '[columns.size]\nrole = "key"\ncategories = [0, 1, 2, 3, 4]\n'
    )
    for command in (
        f"protect {tmp_path}/t.csv --schema {tmp_path}/s.toml --k 3 -o {tmp_path}/out",
        f"verify {tmp_path}/out",
    ):
        assert not loaded_by(as_typed(command)) & (set(HEAVY) - {"numpy", "pandas", "pyarrow"})


def as_typed(command: str) -> str:
    """Code that runs a command, and goes on where it went well."""
    return f"""
import sys
from pramana.cli.app import main
sys.argv = "pramana {command}".split()
try:
    main()
except SystemExit as left:
    assert left.code == 0, left.code
"""


def seconds(*command: str) -> float:
    """Processor time, the best of three: how long it takes, not how busy the machine is."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_import_takes_less_than_half_a_second() -> None:
    """Python's own start included."""
    assert seconds(sys.executable, "-c", "import pramana") < 0.5


def test_help_takes_less_than_three_tenths_of_a_second() -> None:
    """From the shell, as people type it: half of it on a machine that has nothing else to do."""
    assert seconds(str(Path(sys.executable).parent / "pramana"), "--help") < 0.3


def test_all_public_names_are_sorted_and_there() -> None:
    """``__all__`` is what the package promises."""
    assert pramana.__all__ == sorted(pramana.__all__)
    for name in pramana.__all__:
        assert getattr(pramana, name) is not None
    assert set(dir(pramana)) == set(pramana.__all__)
    with pytest.raises(AttributeError, match="frobnicate"):
        pramana.frobnicate  # noqa: B018


def test_names_for_readers_are_the_names_that_load() -> None:
    """What type checkers see in the stub is ``__all__``, from the same rooms."""
    rooms = {}
    for node in parsed((SOURCE / "__init__.pyi").read_text()).body:
        assert isinstance(node, ast.ImportFrom)
        rooms |= {alias.name: node.module for alias in node.names}
    assert sorted(rooms) == pramana.__all__
    for name, module in rooms.items():
        own = __import__(str(module), fromlist=[name])
        assert getattr(own, name) is getattr(pramana, name)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_lists_its_names_sorted(path: Path) -> None:
    """``__all__`` is a sorted list of names that the module has."""
    for node in parsed(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            # As ruff sorts them: capital letters alone first, then Capitalised, then lower case.
            assert sorted(names) == sorted(set(names))


# -- randomness ----------------------------------------------------------------------------

FORBIDDEN_MODULES = {"random", "secrets", "uuid"}
FORBIDDEN_NAMES = {"urandom", "getrandom", "default_rng", "RandomState", "SystemRandom"}


def dotted(node: ast.expr) -> str:
    """Names with dots between them; what is no name, such as a call, stays empty."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))


def randomness_in(code: str) -> Iterator[str]:
    """Every place in some code that makes randomness by itself."""
    for node in nodes(code):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [dotted(node)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = ["random (in SQL)"] if "random()" in node.value.lower() else []
        else:
            continue
        for name in names:
            parts = name.split(".")
            if (
                parts[0] in FORBIDDEN_MODULES
                or FORBIDDEN_NAMES & set(parts)
                or parts[:2] in (["np", "random"], ["numpy", "random"])
                or "in SQL" in name
            ):
                yield f"{name} in line {getattr(node, 'lineno', 0)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_there_is_one_door_to_randomness(path: Path) -> None:
    """Only ``base/randomness.py`` asks the operating system or any generator for random bits."""
    found = list(randomness_in(path.read_text()))
    if path.relative_to(SOURCE) == Path("base/randomness.py"):
        assert len(found) == 1
        assert "urandom" in found[0]
    else:
        assert not found


@pytest.mark.parametrize(
    "code",
    [
        "import random",
        "from random import shuffle",
        "import numpy as np\nnp.random.default_rng()",
        "from numpy.random import default_rng",
        "import os\nos.urandom(8)",
        "import secrets",
        "sql = 'SELECT * FROM t ORDER BY random()'",
    ],
)
def test_a_second_door_would_be_found(code: str) -> None:
    """The test above can fail."""
    assert list(randomness_in(code))


def test_no_module_prints() -> None:
    """Results go through the shells; a library is silent."""
    for path in MODULES:
        for node in nodes(path.read_text()):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", f"{path}:{node.lineno}"


def aliases_in(code: str) -> list[str]:
    """Names that some code gives to a type of arrays."""
    return [
        f"{ast.unparse(node)} in line {node.lineno}"
        for node in parsed(code).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and re.match(r"(npt?\.)?(NDArray|ndarray)\b", ast.unparse(node.value or node.target))
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_types_of_arrays_are_named_in_one_module(path: Path) -> None:
    """``types.py`` names them; everyone else imports the names."""
    if path.relative_to(SOURCE) != Path("types.py"):
        assert not aliases_in(path.read_text())


def test_a_second_name_would_be_found() -> None:
    """The test above can fail."""
    assert aliases_in("FloatArray = NDArray[np.float64]")
    assert aliases_in("Codes: TypeAlias = npt.NDArray[np.uint8]")


def classes_in(code: str) -> list[str]:
    """The names of all classes of some code."""
    return [node.name for node in nodes(code) if isinstance(node, ast.ClassDef)]


def test_no_two_classes_have_the_same_name() -> None:
    """A name that is met in two rooms means the same thing in both."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for name in classes_in(path.read_text()):
            places.setdefault(name, []).append(str(path.relative_to(SOURCE)))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice


def test_public_verbs_say_what_they_take() -> None:
    """Every argument by name, and with a type that is not just anything."""
    tree = parsed((SOURCE / "api.py").read_text())
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        assert node.args.kwarg is None, node.name
        for argument in (*node.args.args, *node.args.kwonlyargs):
            assert argument.annotation is not None, f"{node.name} {argument.arg}"
            assert ast.unparse(argument.annotation) != "Any", f"{node.name} {argument.arg}"


# -- the command line ------------------------------------------------------------------------

PUBLIC = ("pramana", "pramana.api", "pramana.collect", "pramana.experiments", "pramana.studio")
TOOLS = ("pramana.base", "pramana.errors", "pramana.types", "pramana.cli")
"""What commands may import besides: themselves, and what knows nothing of tables."""


def imported(tree: ast.AST) -> Iterator[str]:
    """What a module loads of this package when it runs; types alone cost and tie nothing."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pramana"):
            yield str(node.module)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("pramana"))
        yield from imported(node)


def past_public_names(code: str) -> set[str]:
    """The modules that some code of the command line imports although they are not public."""
    return {
        module
        for module in imported(parsed(code))
        if module not in PUBLIC and not module.startswith(TOOLS)
    }


@pytest.mark.parametrize("path", sorted((SOURCE / "cli").glob("*.py")), ids=lambda path: path.name)
def test_the_command_line_imports_public_names_only(path: Path) -> None:
    """What a command does, a Python user can call."""
    assert past_public_names(path.read_text()) == set()


def test_a_command_that_imports_a_private_module_would_be_found() -> None:
    """In a function as well as at the top, by either kind of import."""
    assert past_public_names("def f():\n    from pramana.verification.verify import verify_folder")
    assert past_public_names("import pramana.evaluation.compare")
    assert not past_public_names("from pramana import api\nfrom pramana.collect import live")


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_package_gives_every_name_that_it_lists(name: str) -> None:
    """``__all__``, what type checkers see, and what loads are one list."""
    module = import_module(name)
    guarded: set[str] = set()
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    for node in parsed(stub.read_text()).body if stub.exists() else ():
        guarded |= {alias.name for alias in node.names}  # type: ignore[attr-defined]
    for node in parsed(Path(str(module.__file__)).read_text()).body:
        if isinstance(node, ast.If):
            guarded |= {alias.name for own in node.body for alias in own.names}  # type: ignore[attr-defined]
    listed = set(module.__all__)
    assert all(getattr(module, one) is not None for one in listed)
    own = {one for one in listed if one in vars(module)}
    assert listed - own <= guarded
    with pytest.raises(AttributeError, match=f"'{name}' has no attribute 'frobnicate'"):
        module.frobnicate  # noqa: B018
