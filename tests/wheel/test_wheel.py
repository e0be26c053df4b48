"""The wheel does by itself what README says, with nothing but what it declares."""

from __future__ import annotations

import re
import subprocess
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

from tests.docs.examples import ROOT, Outside, blocks, run
from tests.wheel.conftest import Installed

HERE = "import pramana, sys; print(pramana.__file__); print(*sys.path, sep='\\n')"


def test_the_environment_is_its_own(bare: Installed, tmp_path: Path) -> None:
    """The package comes from the wheel, and the source tree is nowhere on the path."""
    found, *path = bare.run("python", "-c", HERE, folder=tmp_path).splitlines()
    assert Path(found).is_relative_to(bare.place)
    assert not [place for place in path if Path(place).is_relative_to(ROOT / "src")]
    assert "No broken requirements" in bare.run("python", "-m", "pip", "check", folder=tmp_path)


def test_it_has_no_library_that_only_developers_have(bare: Installed, tmp_path: Path) -> None:
    """Else a missing declaration would not show."""
    have = bare.run("python", "-m", "pip", "list", "--format=freeze", folder=tmp_path)
    names = {line.partition("==")[0] for line in have.splitlines()}
    assert {"numpy", "pyarrow", "pramana"} <= names
    assert not names & {"polars", "pytest", "scikit-learn", "starlette"}


def test_everything_on_the_first_page_runs(bare: Installed, tmp_path: Path) -> None:
    """After ``make demo``, whose environment has the package without any extra, as here."""
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^demo: \.venv/\.user ", makefile, re.MULTILINE)
    assert re.search(r"^\.venv/\.user: .*\n\t.* --editable \.$", makefile, re.MULTILINE)

    place = Outside(bare.bin, bare.environment)
    for block in blocks(ROOT / "README.md"):
        run(block, {}, tmp_path, place=place)
    assert (tmp_path / "release-2" / "certificate.json").exists()


def test_every_module_can_be_imported(bare: Installed, tmp_path: Path) -> None:
    """But those that say which extra they need."""
    code = """
import importlib, pkgutil, pramana
for found in pkgutil.walk_packages(pramana.__path__, "pramana."):
    try:
        importlib.import_module(found.name)
    except ModuleNotFoundError as missing:
        print(found.name, missing.name)
    except pramana.MissingExtra:
        pass
"""
    missing = bare.run("python", "-c", code, folder=tmp_path).split()
    assert set(missing[1::2]) <= {"starlette", "uvicorn", "psycopg", "jinja2",
                                   "pyspark", "pandas", "sklearn"}  # fmt: skip


def test_a_survey_without_the_extra_is_refused_in_one_line(bare: Installed, tmp_path: Path) -> None:
    """It says what to install, and leaves nothing behind that stands in the way of another try."""
    said = bare.run("pramana", "collect", "demo", folder=tmp_path, wanted=2)
    assert said == "pramana: The collector needs more: pip install 'pramana[collect]'.\n"
    assert not list(tmp_path.iterdir())


def test_a_survey_is_collected(collecting: Installed, tmp_path: Path) -> None:
    """From the page to the release, with the extra that is named for it."""
    said = collecting.run("pramana", "collect", "demo", folder=tmp_path)
    assert "5,000 were accepted" in said
    collecting.run("pramana", "verify", "collect-demo/release", folder=tmp_path)


def test_the_studio_opens(in_browser: Installed, tmp_path: Path) -> None:
    """With its templates, styles and scripts, all of which lie in the wheel."""
    (tmp_path / "people.csv").write_text("sex,age\n" + "F,31\nM,42\n" * 20)
    command = [str(in_browser.bin / "pramana"), "studio", ".", "--no-browser"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=in_browser.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            look_around(process.stdout.readline().split()[-1])
        finally:
            process.terminate()


def look_around(address: str) -> None:
    """The page names the table, and all that it fetches is there."""
    visitor = build_opener(HTTPCookieProcessor(CookieJar()))
    visitor.open(address, timeout=30).close()  # the token becomes a cookie
    visitor.addheaders.append(("Sec-Fetch-Site", "same-origin"))
    base = re.match(r"http://[^/]+", address)[0]
    with visitor.open(base, timeout=30) as opened:
        page = opened.read().decode()
    assert "people.csv" in page
    fetched = re.findall(r'(?:src|href)="(/[^"]+\.(?:css|js|svg))"', page)
    assert fetched
    for part in fetched:
        visitor.open(base + part, timeout=30).close()
