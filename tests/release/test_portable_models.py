"""``pm_lm`` and ``pm_glm`` of ``analyse.R`` give the coefficients and errors of ``regress``."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import pramana as pm
from tests.release.portable import SCHEMA, releases, table

MODELS = (
    ("income ~ C(sex) + C(marital)", "pm_lm(records, income ~ sex + marital)"),
    ("income ~ C(town) + C(age)", "pm_lm(records, income ~ town + age)"),
    ("income ~ C(sex) * C(town)", "pm_lm(records, income ~ sex * town)"),
)
pytestmark = pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Whole records, with noise that leaves models."""
    plan = pm.design(SCHEMA, pm.DifferentialPrivacy(14), data=table(), method="retention")
    made = pm.protect(table(), plan, seed=2, accept_risk=["income"])
    return made.save(tmp_path_factory.mktemp("models") / "release", file_format="csv")


def in_r(folder, *programs):
    """Rows of figures that each program prints, and what else R says."""
    figures = 'for (name in c("estimate", "se", "low", "high")) cat(model[[name]], "\\n")'
    shown = "\n".join(f"model <- {program}; {figures}" for program in programs)
    text = f'options(digits = 17); source("analyse.R"); records <- pm_load()\n{shown}'
    run = subprocess.run(["Rscript", "-e", text], cwd=folder, capture_output=True, text=True)
    return [np.array(line.split(), float) for line in run.stdout.splitlines()], run.stderr


def test_least_squares_agree_with_pramana(release):
    """Coefficients, standard errors and intervals to 1e-9, missing values left out by both."""
    rows, _ = in_r(release.folder, *(program for _, program in MODELS))
    assert len(rows) == 4 * len(MODELS)
    for at, (formula, _) in enumerate(MODELS):
        model = release.regress(formula)
        for row, wanted in zip(
            rows[4 * at : 4 * at + 4], (model.params, model.se, model.low, model.high), strict=True
        ):
            np.testing.assert_allclose(row, np.asarray(wanted), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("family", ["poisson", "binomial"])
def test_generalised_models_agree_with_pramana(release, family):
    """Coefficients and standard errors; intervals reach ``z`` standard errors to both sides."""
    response = "income" if family == "poisson" else "sex"
    python = {"poisson": "income ~ C(region)", "binomial": "C(sex) ~ C(region)"}[family]
    rows, _ = in_r(release.folder, f"pm_glm(records, {response} ~ region, '{family}')")
    model = release.regress(python, family=family)
    np.testing.assert_allclose(rows[0], np.asarray(model.params), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(rows[1], model.se, rtol=1e-6)
    np.testing.assert_allclose(rows[3] - rows[0], 1.959963984540054 * rows[1], rtol=1e-9)


def test_what_r_cannot_estimate_is_refused(release, tmp_path):
    """Too much noise, a release by attribute sampling, a column that is not there."""
    made = releases(tmp_path, "csv")
    program = "pm_lm(records, income ~ sex + marital)"
    assert "does not identify" in in_r(made["retention"].folder, program)[1]
    assert "pramana regress" in in_r(made["attribute-sampling"].folder, program)[1]
    assert "no column 'nothing'" in in_r(release.folder, "pm_lm(records, income ~ nothing)")[1]
