"""Each verdict of an experiment says no, once its result is broken on purpose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pramana.errors import Infeasible
from pramana.experiments import cator, dowd, ghatak, ikarashi, wei
from pramana.experiments.harness import Finding
from pramana.experiments.insurance import Score
from pramana.methods.choice import BINS, GAMMAS
from pramana.methods.frequency_preserving import inverse_frequency_design
from pramana.methods.optimal.search import optimal_design
from pramana.methods.symmetric_flows import theta_of


def answers(findings: tuple[Finding, ...]) -> dict[str, str]:
    """The first word of each answer, by the beginning of its question."""
    return {found.question[:34]: found.answer.split(",")[0] for found in findings}


def only_no(findings: tuple[Finding, ...], *questions: str) -> bool:
    """Whether these questions, and no other, are answered no."""
    found = answers(findings)
    begun = [own for own in found if own.startswith(questions)]
    return [own for own, answer in found.items() if answer == "no"] == begun


# -- ikarashi: undone, regularised, expected -------------------------------------------------------


def curves() -> dict[str, list[dict[str, float]]]:
    """Results as the paper has them, but for the growth with attributes, which undoing explains."""
    paper, _, ours = ikarashi.METHODS
    whole, reported = ikarashi.WAYS

    def row(attributes, undone, em, epsilon):
        figures = {"attributes": attributes, "epsilon": epsilon, paper: undone, ours: em}
        return figures | {ikarashi.EXPECTED: 1.05 * undone}

    return {
        "records": [row(4, 5000.0, 1.3, 2.7), row(4, 250.0, 0.6, 3.9), row(4, 18.0, 0.4, 5.0)],
        "attributes": [row(1, 0.001, 0.001, 5.0), row(2, 0.05, 0.04, 5.0), row(3, 2.0, 0.3, 5.0)],
        "k": [row(4, 20.0, 0.43, 4.9), row(4, 40.0, 0.47, 2.6)],
        "pairs": [{"attributes": a, whole: 0.3 + a / 50, reported: 0.1} for a in (2, 3, 4)],
        "epsilons": [
            {"epsilon": epsilon, f"added, {whole}": noise, f"added, {reported}": noise / 20}
            for epsilon, noise in ((2.0, 3.0), (4.0, 0.9), (8.0, 0.04))
        ],
    }


def test_results_as_the_paper_has_them_are_a_yes():
    """And growth that the matrices explain differs for that reason."""
    found = answers(ikarashi._findings(curves()))

    assert [own for own, answer in found.items() if answer != "yes"] == [
        "Does it grow only a little with th"
    ]
    assert found["Does it grow only a little with th"] == "differs"


@pytest.mark.parametrize(
    ("figure", "place", "name", "value", "question"),
    [
        ("records", 1, 0, 6000.0, "Does the error fall"),
        ("records", 2, 0, 60.0, "Does the error fall"),
        ("records", 2, "epsilon", 3.0, "Does epsilon rise"),
        ("attributes", 2, 0, 200.0, "Does it grow only a little"),
        ("attributes", 1, 0, 0.0005, "Does the error grow with the numbe"),
        ("k", 1, "epsilon", 5.1, "Does the error grow with k"),
        ("k", 1, 2, 41.0, "Is the regularised EM never worse"),
        ("pairs", 1, 1, 0.5, "Are tables of two attributes"),
        ("epsilons", 1, f"added, {list(ikarashi.WAYS)[1]}", 0.9, "From which epsilon on"),
    ],
)
def test_a_broken_curve_is_a_no(figure, place, name, value, question):
    """Also where a reason is at hand: an error that the matrices do not explain has none."""
    results = curves()
    names = list(ikarashi.WAYS) if figure == "pairs" else list(ikarashi.METHODS)
    results[figure][place][name if isinstance(name, str) else names[name]] = value

    found = answers(ikarashi._findings(results))
    begun = next(own for own in found if own.startswith(question))
    assert found[begun] == "no"


# -- ghatak ---------------------------------------------------------------------------------------


def test_a_matrix_that_is_not_the_printed_one_is_a_no():
    """One unit of the third decimal is seen."""
    printed = ghatak._paper_block(ghatak.FREQUENCIES, theta_of(2, 10), 6)
    other = ghatak._paper_block(ghatak.FREQUENCIES, theta_of(2, 10) + 0.006, 6)

    assert ghatak._matrix_finding(printed).answer == "yes"
    assert ghatak._matrix_finding(other).answer == "no"


def test_an_xi_below_one_in_n_differs_only_where_it_is_refused(monkeypatch):
    """A design for less than full mixing gives is a yes; one that misses 1/n explains nothing."""
    assert ghatak._attainable_finding({1: 2, 2: 30}).answer.startswith("differs, because")
    made = inverse_frequency_design({1: 2, 2: 30}, xi=0.1)
    monkeypatch.setattr(ghatak, "inverse_frequency_design", lambda *_, **__: made)
    assert ghatak._attainable_finding({1: 2, 2: 30}).answer == "yes"

    def refused(*_, xi, **__):
        if xi * 32 < 1:
            raise Infeasible("below 1/n")
        return made

    monkeypatch.setattr(ghatak, "inverse_frequency_design", refused)
    assert ghatak._attainable_finding({1: 2, 2: 30}).answer == "no"


# -- cator -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cator_designs():
    table = np.array(cator.EXAMPLE).reshape(cator.SHAPE)
    donors = ("frequent", "any")
    return table, *(optimal_design(table, alpha=cator.ALPHA, donors=own) for own in donors)


def with_loss(design, loss):
    """A design that claims another loss."""
    other = replace(design)
    other.__dict__["loss"] = loss
    return other


def test_an_optimum_that_is_none_has_no_flatness(cator_designs):
    """If giving in proportion to frequency costs less than the optimum, the optimum is wrong."""
    table, paper, free = cator_designs
    found = answers(cator._example_findings(table, paper, free))
    assert found.pop("Is the loss 6.4e-07?").startswith("differs")
    assert set(found.values()) == {"yes"}

    worse = with_loss(free, 1.3 * free.loss)
    assert only_no(
        cator._example_findings(table, paper, worse), "Is a chance of change that is line"
    )


def test_donors_loss_and_table_other_than_the_papers_are_a_no(cator_designs):
    """Any donors; a loss that no formula gives; a table with other rare cells; broken grids."""
    table, paper, free = cator_designs
    found = answers(cator._example_findings(table, free, free))
    assert found["Are the changed records mostly of "] == "no"
    assert found["Do changed records go to a few cel"] == "no"
    wrong = answers(cator._example_findings(table, with_loss(paper, 3 * paper.loss), free))
    assert wrong["Is the loss 6.4e-07?"] == wrong["Is the loss 2 E[changes] / n^2 nea"] == "no"
    assert only_no(cator._example_findings(table + 1, paper, free), "Are there 104")
    assert cator._divergence_finding(free, free).answer == "no"
    grids = {"steps": [3, 90], "tables": [9, 9], "matrices": [5, 9]}
    assert cator._grid_finding(grids | {"any": [0.3, 0.005]}).answer == "yes"
    assert cator._grid_finding(grids | {"any": [0.3, 0.03]}).answer == "no"
    assert cator._grid_finding(grids | {"any": [0, 0], "matrices": [9, 9]}).answer == "no"


# -- dowd: errors by distribution, N and gamma -----------------------------------------------------


def recovered(replacement: float) -> dict[str, list]:
    """What spectral filters leave of noise, and of replacement."""
    return {
        "gamma": [5, 5, 5],
        "perturbation": ["additive_noise", "replacement", "replacement"],
        "attack": ["pca", "pca", "posterior"],
        "left": [0.4, replacement, 0.1],
    }


def test_filters_that_recover_replaced_values_are_a_no():
    """Of the attacks only those made for noise count; more than from noise has no reason."""
    assert dowd._recovery_finding(recovered(0.97)).answer == "yes"
    assert dowd._recovery_finding(recovered(0.6)).answer.startswith("differs")
    assert dowd._recovery_finding(recovered(0.3)).answer == "no"


def surfaces() -> dict[str, np.ndarray]:
    """Errors that rise with N, fall with gamma, and are halved by clipping."""
    plain = np.outer(np.sqrt(np.array(BINS)), 1 / np.array(GAMMAS, dtype=float))
    return {
        f"{name}, {kind}": plain * (0.5 if kind == "corrected" else 1)
        for name in dowd._distributions()
        for kind in ("direct", "corrected")
    }


@pytest.mark.parametrize(
    ("broken", "question"),
    [
        (
            lambda own: own | {n: 1.6 * v for n, v in own.items() if "corrected" in n},
            "Does setting",
        ),
        (
            lambda own: own | {n: 1.5 * v for n, v in list(own.items())[:2]},
            "Are the error surfaces",
        ),
        (lambda own: {n: v[::-1] for n, v in own.items()}, "Does the error rise"),
        (lambda own: {n: v[:, ::-1] for n, v in own.items()}, "Does the error rise"),
    ],
)
def test_a_broken_surface_is_a_no(broken, question):
    """And whole ones are a yes."""
    assert set(answers(dowd._surface_findings(surfaces())).values()) == {"yes"}
    assert only_no(dowd._surface_findings(broken(surfaces())), question)


# -- wei -------------------------------------------------------------------------------------------


def shifted(
    line: float = 0.5, **biases: tuple[float, float, float]
) -> dict[tuple[str, ...], Score]:
    """Biases without weights, with logistic and with nonparametric ones, of each protection."""
    usual = {"original": (0.03, 0.025, 0.008), "resample": (0.03, 0.025, 0.009),
             "centroid": (0.06, 0.05, 0.05), wei.EQUAL: (0.03, 0.025, 0.02)}  # fmt: skip
    return {
        (protection, "market", shift, form): Score(times * bias, 0.5, 0.9)
        for protection, own in (usual | biases).items()
        for shift, bias in zip(wei.SHIFTS, own, strict=True)
        for form, times in (("dummy", 1.0), ("numeric", line))
    }


@pytest.mark.parametrize(
    ("biases", "questions"),
    [
        # what is not there cannot be spoilt
        (
            {"original": (0.03, 0.025, 0.02)},
            ("Do nonparametric weights at", "Does protection by centroid"),
        ),
        ({"original": (0.03, 0.005, 0.008)}, ("Do logistic weights",)),
        ({"resample": (0.03, 0.025, 0.02)}, ("Does it stay so",)),
        ({"centroid": (0.06, 0.05, 0.01)}, ("Does protection by centroid",)),
    ],
)
def test_a_broken_shift_is_a_no(biases, questions):
    """In a whole run; a quick one says that it is too small to tell."""
    assert set(answers(wei._shift_findings(shifted(), "")).values()) == {"yes"}
    assert only_no(wei._shift_findings(shifted(**biases), ""), *questions)


def test_numeric_models_and_loadings_that_differ_are_a_no():
    """A line that protection spoils more; weights that do not help it; loading that does not."""
    spoilt = wei._shift_findings(shifted(line=1.2), "")
    assert only_no(spoilt, "Does centroid at k = 10 spoil")
    useless = {"original": (0.03, 0.05, 0.04), "resample": (0.03, 0.025, 0.009)}
    found = answers(wei._shift_findings(shifted(**useless), ""))
    assert found["Do nonparametric weights lower the bias"[:34]] == "no"
    states = {"state": ["a", "b"], "none": [0.01, 0.02], "nonparametric": [0.02, 0.005]}
    assert [own.answer for own in wei._state_findings(states)] == ["yes"]
    worse = states | {"nonparametric": [0.03, 0.005]}
    assert [own.answer for own in wei._state_findings(worse)] == ["no"]
    assert wei._state_findings({"state": []}) == ()
    rows = {"loading": [0.1, 1.0], "average": [0.1, 0.05]}
    assert wei._loading_finding(rows).answer == "yes"
    assert wei._loading_finding(rows | {"average": [0.05, 0.1]}).answer == "no"
    assert wei._loading_finding(rows | {"average": [0.3, 0.1]}).answer == "no"


def test_weights_that_explain_a_bias_are_named():
    """Only where equal weights leave none of it."""
    broken = {"resample": (0.03, 0.025, 0.02), wei.EQUAL: (0.03, 0.025, 0.008)}

    found = answers(wei._shift_findings(shifted(**broken), ""))
    assert found["Does it stay so on data protected "] == "differs"


@pytest.mark.parametrize(
    ("broken", "question"),
    [
        ({("resample", 50): Score(0.01, 0.5, 0.6)}, "Does the similarity"),
        ({("centroid", 50): Score(-0.3, 0.5, 0.85)}, "Does the similarity"),
        ({("resample", 50): Score(-0.3, 0.5, 0.9)}, "Does the bias"),
    ],
)
def test_a_broken_curve_in_k_is_a_no(broken, question):
    """Similarity stays but for centroid, and so does the bias."""
    usual = {(method, k): Score(0.01, 0.5, 0.9) for method in wei.METHODS for k in (5, 50)}
    usual |= {("centroid", 50): Score(-0.3, 0.5, 0.4)}

    new = {
        (wei.NEW, m, "nonparametric", "dummy", k): found._replace(bias=abs(found.bias))
        for (m, k), found in usual.items()
    }

    def made(own):
        return new | {(wei.SAME, m, "none", "dummy", k): found for (m, k), found in own.items()}

    assert set(answers(wei._curve_findings(made(usual), (5, 50), "")).values()) == {"yes"}
    assert only_no(wei._curve_findings(made(usual | broken), (5, 50), ""), question)


@pytest.mark.parametrize(
    ("method", "score", "question"),
    [
        ("gaussian", Score(0.2, 0.5, 0.9), "In new markets, does the bias with"),
        ("resample", Score(0.01, 0.5, 0.7), "In new markets, does the similarit"),
        ("centroid", Score(0.3, 0.5, 0.85), "In new markets, does the similarit"),
    ],
)
def test_figures_7_to_10_that_differ_are_a_no(method, score, question):
    """Bias and similarity in new markets, at the largest k."""
    good, bad = Score(0.01, 0.5, 0.9), Score(0.3, 0.5, 0.4)
    curves = {
        (market, m, shift, "dummy", k): bad if (m, k) == ("centroid", 50) else good
        for m in wei.METHODS
        for k in (5, 50)
        for market, shift in ((wei.SAME, "none"), (wei.NEW, "nonparametric"))
    }

    assert set(answers(wei._curve_findings(curves, (5, 50), "")).values()) == {"yes"}
    broken = curves | {(wei.NEW, method, "nonparametric", "dummy", 50): score}
    assert only_no(wei._curve_findings(broken, (5, 50), ""), question)


@pytest.mark.parametrize(
    ("method", "times", "question"),
    [
        ("centroid", 1.1, "Is the average frequency"),
        ("gaussian", 0.6, "Is it far lower"),
        ("resample", 0.9, "Is resample at most as risky"),
    ],
)
def test_an_attack_that_succeeds_is_a_no(method, times, question):
    """Above 1/k, gaussian nearly as open as resample, or resample above centroid."""
    usual = {"centroid": 0.8, "resample": 0.8, "gaussian": 0.3}

    def made(own):
        return {
            (k, m): np.array([[share / k] * 3, [1.0, 2.0, 3.0]])
            for k in (5, 10) for m, share in own.items()
        }  # fmt: skip

    assert set(answers(wei._attack_findings(made(usual))).values()) == {"yes"}
    assert only_no(wei._attack_findings(made(usual | {method: times})), question)


def test_small_classes_explain_a_majority_that_is_not_large():
    """Riskier under resample in two classes of three: explained if both have fewer than k."""
    sizes = np.array([1.0, 2.0, 12.0])

    def answer(resample):
        attacks = {
            (k, m): np.array([np.full(3, 0.5 / k) if m != "resample" else resample / k, sizes])
            for k in (5, 10)
            for m in wei.METHODS
        }
        return answers(wei._attack_findings(attacks))["Is resample at most as risky as ce"]

    assert answer(np.array([0.4, 0.4, 0.6])) == "yes"  # two of three, as a large majority has
    assert answer(np.array([0.6, 0.6, 0.4])) == "differs"
    assert answer(np.array([0.4, 0.6, 0.6])) == "no"
