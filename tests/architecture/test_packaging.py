"""The recipes for containers, conda and citations follow pyproject.toml."""

from __future__ import annotations

import re
import tomllib
import zlib

from tests.docs.examples import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA_NAMES = {"duckdb": "python-duckdb"}


def test_the_conda_recipe_has_the_same_dependencies():
    """A dependency or bound that is changed in one place only would break an installation."""
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    run = recipe.partition("  run:\n")[2].partition("test:\n")[0]
    required = set()
    for line in PROJECT["dependencies"]:
        name, bounds = re.fullmatch(r"([a-z0-9-]+)(.*)", line).groups()
        required.add(f"{CONDA_NAMES.get(name, name)} {bounds}")
    python = f"python {PROJECT['requires-python']}"
    assert set(re.findall(r"^    - (.+)$", run, re.MULTILINE)) == required | {python}


def test_the_version_is_the_same_everywhere():
    """In the package, the citation and the conda recipe."""
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n  version: {version}\n" in (ROOT / "packaging" / "conda" / "meta.yaml").read_text()


def test_the_container_installs_an_extra_that_exists():
    """And runs without root rights."""
    recipe = (ROOT / "packaging" / "Dockerfile").read_text()
    assert set(re.findall(r"pramana\[(\w+)\]", recipe)) <= set(PROJECT["optional-dependencies"])
    assert "\nUSER steward\n" in recipe


def test_the_wheel_is_below_two_megabytes():
    """A wheel is the compressed files of the package; its index adds some 100 bytes a file."""
    files = [p for p in (ROOT / "src" / "pramana").rglob("*") if p.is_file()]
    sizes = [len(zlib.compress(p.read_bytes())) for p in files if "__pycache__" not in p.parts]
    assert 1_000_000 < sum(sizes) + 200 * len(sizes) < 2_000_000
