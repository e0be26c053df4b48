"""Every call that can turn text or bytes into code is known, and docs/security.md says why."""

from __future__ import annotations

import ast
from pathlib import Path

import pramana

SOURCE = Path(pramana.__file__).parent
NAMES = {"eval", "exec", "compile", "__import__"}
METHODS = {
    *{"pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.loads", "shelve.open"},
    *{"joblib.load", "dill.loads", "cloudpickle.loads", "np.load", "numpy.load", "pd.read_pickle"},
    *{"yaml.load", "yaml.unsafe_load", "os.system", "os.popen", "subprocess.getoutput"},
    *{"pd.eval", "pandas.eval", "frame.eval", "frame.query", "runpy.run_path"},
}
KNOWN = {
    ("engine/spark/tasks.py", "pickle.Unpickler"),
    ("engine/spark/opening.py", "pickle.loads"),
}
"""Answers of processes that this process started, over pipes that nobody else can write to."""


def roads(path: Path) -> set[str]:
    """The calls and base classes of a module that turn text or bytes into code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            spelled = ast.unparse(node)
            found |= {spelled} & METHODS
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in NAMES:
                found.add(node.func.id)
            found |= {
                word.arg
                for word in node.keywords
                if word.arg in ("shell", "allow_pickle") and ast.unparse(word.value) != "False"
            }
    return found


def test_no_other_call_turns_text_into_code() -> None:
    found = {
        (path.relative_to(SOURCE).as_posix(), road)
        for path in SOURCE.rglob("*.py")
        for road in roads(path)
    }
    assert found == KNOWN


def test_every_python_process_is_started_isolated() -> None:
    """Each command that begins with this interpreter has -I or -P behind it."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List) and node.elts:
                first, *others = node.elts
                if isinstance(first, ast.Attribute) and ast.unparse(first) == "sys.executable":
                    assert ast.unparse(others[0]) in ("'-I'", "'-P'"), path
