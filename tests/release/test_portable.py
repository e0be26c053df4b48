"""``analyse.html`` and ``analyse.R``: what they hold, and that R gives pramana's figures."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import pramana as pm
from pramana.release.documentation import _r
from tests.release.portable import SCHEMA, answers, releases, table

COMMENT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Releases as text, which R reads without packages."""
    return releases(tmp_path_factory.mktemp("portable"), "csv")


def test_the_page_needs_no_network_and_runs_only_its_own_scripts(made):
    """Its policy names each script by its digest and allows no connection."""
    page = (made["retention"].folder / "analyse.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for script in COMMENT.findall(page):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)


def test_names_and_labels_cannot_end_the_description(made):
    """A label with a tag stays a text, in the page and in R."""
    page = (made["retention"].folder / "analyse.html").read_text()
    described = re.search(r'id="release">(.*?)</script>', page, re.DOTALL)[1]
    assert "<" not in described
    assert "north <b>" in json.dumps(json.loads(described))


def test_verify_checks_both_files(made):
    """A changed digit of the page fails."""
    folder = made["attribute-sampling"].folder
    assert pm.load(folder).verify().valid
    place = folder / "analyse.html"
    page = place.read_text()
    place.write_text(page.replace('"retention":0.', '"retention":0.1', 1))
    try:
        assert not pm.load(folder).verify().valid
    finally:
        place.write_text(page)


def test_releases_without_published_matrices_have_neither(tmp_path):
    """Groups leave nothing to undo: the folder has no page that could mislead."""
    people = table(600)
    plan = pm.design(SCHEMA, pm.KAnonymity(k=3), data=people, method="resample")
    folder = pm.protect(people, plan, seed=1, accept_risk=["income"]).save(tmp_path / "r").folder
    assert not (folder / "analyse.html").exists()
    assert pm.load(folder).verify().valid


@pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")
def test_r_gives_the_same_figures(made):
    """Estimates, standard errors and intervals to 1e-9, and the same guarantees."""
    for release in made.values():
        found = answers(release)
        asked = ",".join(
            f"list('{kind}', c({','.join(map(repr, by))}), '{of}')" for kind, by, of, _ in found
        )
        program = f"""
        options(digits = 17)
        source("analyse.R")
        records <- pm_load()
        stopifnot(pm_verify())
        for (one in list({asked})) {{
          cells <- if (one[[1]] == "mean") pm_mean(records, one[[3]], one[[2]])
            else pm_table(records, one[[2]], share = one[[1]] == "share")
          for (name in c("estimate", "se", "low", "high")) cat(cells[[name]], "\\n")
        }}
        """
        run = subprocess.run(
            ["Rscript", "-e", program], cwd=release.folder, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        lines = [line for line in run.stdout.splitlines() if not line.startswith(("passed", "not"))]
        computed = [np.array(line.split(), float) for line in lines]
        wanted = [np.array(row, float) for *_, own in found for row in own.values()]
        assert len(computed) == len(wanted)
        for one, other in zip(computed, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
def test_r_reads_names_that_are_words_of_r():
    """A label of a value may be any text, also none."""
    names = ["function", "if", "NA", "TRUE", "next", "_u", "", "a b", "x"]
    literal = _r({name: place for place, name in enumerate(names)})
    program = f"x <- {literal}; cat(length(x), names(x)[1], x[[9]])"
    done = subprocess.run(["Rscript", "-e", program], capture_output=True, text=True, check=True)
    assert done.stdout == "9 function 8"
