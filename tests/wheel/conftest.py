"""An environment that holds the wheel and what it declares; only ``make test-wheel`` comes here.

Libraries stay installed until ``pyproject.toml`` changes, when all is made anew from nothing. The
wheel itself is built and installed each time.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.docs.examples import ROOT

PLACE = os.environ.get("PRAMANA_TEST_WHEEL", "")
collect_ignore_glob = [] if PLACE else ["test_*.py"]
PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check"]


@dataclass(frozen=True)
class Installed:
    """The wheel in an environment of its own: nobody sees the source tree from there."""

    place: Path
    extras: tuple[Path, ...] = ()

    @property
    def bin(self) -> Path:
        return self.place / "bin"

    @property
    def environment(self) -> dict[str, str]:
        own = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        return own | {
            "PATH": path,
            "PYTHONPATH": os.pathsep.join(map(str, self.extras)),
            "PYTHONNOUSERSITE": "1",
            "COLUMNS": "100",
        }

    def run(self, *words: str, folder: Path, wanted: int = 0) -> str:
        """What a command of the environment prints; it must end as wanted."""
        command = [str(self.bin / words[0]), *words[1:]]
        done = subprocess.run(
            command, cwd=folder, env=self.environment, capture_output=True, text=True
        )
        said = done.stdout + done.stderr * bool(wanted)
        assert done.returncode == wanted, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
        return said


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the tree as it stands."""
    folder = tmp_path_factory.mktemp("built")
    words = [*PIP, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([sys.executable, *words], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def bare(wheel: Path) -> Installed:
    """The wheel with nothing but what it declares."""
    place = Path(PLACE).absolute()
    stamp = place / hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    python = str(place / "bin" / "python")
    if not stamp.exists():
        venv.create(place, clear=True, with_pip=True)
        subprocess.run([python, *PIP, "install", "--no-compile", str(wheel)], check=True)
        stamp.touch()
    again = ["install", "--no-deps", "--force-reinstall", str(wheel)]
    subprocess.run([python, *PIP, *again], check=True)
    return Installed(place)


@pytest.fixture(scope="session")
def collecting(bare: Installed) -> Installed:
    """The same with the extra of collections, as the wheel names it."""
    return with_extra(bare, "collect")


@pytest.fixture(scope="session")
def in_browser(bare: Installed) -> Installed:
    """The same with the extra of the studio."""
    return with_extra(bare, "studio")


def with_extra(bare: Installed, extra: str) -> Installed:
    """What the wheel names for an extra, in a folder beside the environment."""
    place = bare.place / f"extra-{extra}"
    if not place.exists():
        (found,) = bare.place.glob("lib/python*/site-packages/pramana-*.dist-info")
        named = map(Requirement, Distribution.at(found).requires or ())
        wanted = [
            f"{own.name}{'[' + ','.join(own.extras) + ']' if own.extras else ''}{own.specifier}"
            for own in named
            if own.marker and own.marker.evaluate({"extra": extra})
        ]
        assert wanted
        into = ["install", "--no-compile", "--target", str(place), *wanted]
        subprocess.run([str(bare.bin / "python"), *PIP, *into], check=True)
    return Installed(bare.place, (place,))
