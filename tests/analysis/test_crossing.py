"""Every verb crossed with every kind of release: answered rightly, answered openly, or refused.

What should come is written down here from what each method does to records, and is compared with
the truth over many releases: no number may be off by more than its error tells.
"""

from __future__ import annotations

import inspect
import itertools
import math
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import pramana as pm
from pramana import api
from pramana.analysis.association import IndependenceTest
from pramana.analysis.released_records import READINGS, Reading
from pramana.errors import InvalidNumber, NotCovered
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.methods.microaggregated import Resample
from pramana.release.kinds import KINDS as CERTIFIED
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from tests.analysis.releases import DESIGNS, KINDS, RECORDS, SCHEMA, released, truth

RELEASES = 20
MORE_RELEASES = 40
"""Where keys go through matrices, which is quick."""
LIMIT = 110
"""In the middle of a group: where few lie beyond, a mean of sixty releases misses rare moves."""
ALL = 150
"""Everyone with a1 lies beyond it, and hardly anyone with a0."""
ANSWER, OPEN, REFUSED = "answer", "no interval", "refused"

QUESTIONS = {
    # What is asked, and the answer due: published, withheld, groups (centroid apart), reports.
    "counts a": ("crosstab", ("a",), {}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "shares b": ("crosstab", ("b",), {"share": True}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "counts a b": ("crosstab", ("a", "b"), {}, (ANSWER, REFUSED, ANSWER, ANSWER)),
    "rows a b": ("crosstab", ("a", "b"), {"share": "row"}, (ANSWER, REFUSED, ANSWER, ANSWER)),
    "columns a b": ("crosstab", ("a", "b"), {"share": "column"}, (ANSWER, REFUSED, ANSWER, ANSWER)),
    "a where b": ("crosstab", ("a",), {"where": {"b": "b1"}}, (ANSWER, REFUSED, ANSWER, ANSWER)),
    "shares a where b": (
        "crosstab", ("a",), {"where": {"b": "b1"}, "share": True}, (ANSWER, REFUSED, ANSWER, ANSWER)
    ),
    "counts a ill": ("crosstab", ("a", "ill"), {}, (ANSWER, REFUSED, OPEN, ANSWER)),
    "a where ill": ("crosstab", ("a",), {"where": {"ill": "yes"}}, (ANSWER, REFUSED, OPEN, ANSWER)),
    "rows a ill": ("crosstab", ("a", "ill"), {"share": "row"}, (ANSWER, REFUSED, OPEN, ANSWER)),
    "rows ill a": ("crosstab", ("ill", "a"), {"share": "row"}, (ANSWER, REFUSED, OPEN, ANSWER)),
    "counts ill region": ("crosstab", ("ill", "region"), {}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "rows ill region": (
        "crosstab", ("ill", "region"), {"share": "row"}, (ANSWER, ANSWER, ANSWER, ANSWER)
    ),
    "mean inc": ("mean", (), {}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "mean inc by ill": ("mean", ("ill",), {}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "mean inc by a": ("mean", ("a",), {}, (ANSWER, REFUSED, OPEN, ANSWER)),
    "mean inc where a": ("mean", (), {"where": {"a": "a1"}}, (ANSWER, REFUSED, OPEN, ANSWER)),
    "total inc": ("total", (), {}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "total inc by a": ("total", ("a",), {}, (ANSWER, REFUSED, OPEN, ANSWER)),
    "total inc by region": ("total", ("region",), {}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "share inc by ill": ("proportion", ("ill",), {}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "share inc by a": ("proportion", ("a",), {}, (ANSWER, REFUSED, OPEN, ANSWER)),
    "share inc where a": (
        "proportion", (), {"where": {"a": "a1"}}, (ANSWER, REFUSED, OPEN, ANSWER)
    ),
    "median inc by ill": ("quantile", ("ill",), {}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "median inc by a": ("quantile", ("a",), {}, (ANSWER, REFUSED, OPEN, ANSWER)),
    "median inc where b": (
        "quantile", (), {"where": {"b": "b1"}}, (ANSWER, REFUSED, OPEN, ANSWER)
    ),
    "a and b independent": ("independence", ("a", "b"), {}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "a and ill independent": ("independence", ("a", "ill"), {}, (ANSWER, ANSWER, REFUSED, REFUSED)),
    "ill and region independent": (
        "independence", ("ill", "region"), {}, (ANSWER, ANSWER, ANSWER, ANSWER)
    ),
    "synthesize": ("synthesize", (), {}, (ANSWER, REFUSED, REFUSED, REFUSED)),
    "learn": ("channel", (), {}, (ANSWER, REFUSED, REFUSED, ANSWER)),
    "learn a key": ("learn", ("a",), {}, (ANSWER, REFUSED, REFUSED, ANSWER)),
    "learn what is kept": ("learn", ("ill",), {}, (ANSWER, REFUSED, REFUSED, ANSWER)),
    "regress on a key": ("regress", ("a",), {}, (ANSWER, REFUSED, REFUSED, ANSWER)),
    "regress on the kept": ("regress", ("ill", "region"), {}, (ANSWER, ANSWER, ANSWER, ANSWER)),
    "regress where a": (
        "regress", ("ill",), {"where": {"a": "a1"}}, (ANSWER, REFUSED, REFUSED, ANSWER)
    ),
}  # fmt: skip

NO_TABLE = ("channel", "independence", "learn", "synthesize", "regress")

OPTIONS = [{"level": 0.8}, {"infer": "population"}, {"simultaneous": True}]

KEYS = {"a", "b", "c"}
TOGETHER = ("optimal", *KINDS["sealed"])
"""What moves all keys in one step."""


def due(method: str, name: str) -> str:
    """What should come; of centres of groups nothing can be said at all.

    Method optimal moves all keys in one step: of two of three columns moved together, or of one
    of them and another column, no test is known.
    """
    verb, by, how, answers = QUESTIONS[name]
    kind = next(kind for kind, methods in KINDS.items() if method in methods)
    # Sealed matrices are withheld ones; what moves all keys together is in both kinds.
    answer = answers[list(CERTIFIED).index("withheld" if kind == "sealed" else kind)]
    involved = {*by, *how.get("where", {})}
    if involved & KEYS and (
        method == "centroid" or (method in TOGETHER and verb == "independence")
    ):
        return REFUSED
    return answer


def ask(release, name: str, **options):
    """One question to one release."""
    verb, by, how, _ = QUESTIONS[name]
    if verb in ("mean", "total"):
        return getattr(release, verb)("inc", by=by, **how, **options)
    if verb == "proportion":
        return release.proportion(f"inc>={LIMIT}", by=by, **how, **options)
    if verb == "quantile":
        return release.quantile("inc", 0.5, by=by, **how, **options)
    if verb == "synthesize":
        return release.synthesize(method="rank", seed=1)
    if verb == "channel":
        return release.reading.channel()
    if verb == "learn":
        return pm.learn_tree(release, target=by[0], seed=1)
    if verb == "regress":
        return release.regress(f"inc ~ {' + '.join(by)}", **how)
    return getattr(release, verb)(*by, **how, **options)


def true_figures(name: str, estimate) -> np.ndarray:
    """The same from the truth, cell by cell, by plain counting."""
    verb, by, how, _ = QUESTIONS[name]
    columns = {
        column: truth()[column].to_numpy(zero_copy_only=False) for column in truth().schema.names
    }
    inside = np.ones(truth().num_rows, dtype=bool)
    for column, value in how.get("where", {}).items():
        inside &= columns[column] == value
    figures = []
    for cell in estimate.cells:
        own = inside.copy()
        for column in by:
            own &= columns[column] == cell[column]
        share = how.get("share", False)
        if verb == "mean":
            figures.append(columns["inc"][own].mean())
        elif verb == "proportion":
            figures.append((columns["inc"][own] >= LIMIT).mean())
        elif verb == "quantile":
            figures.append(np.quantile(columns["inc"][own], 0.5, method="inverted_cdf"))
        elif verb == "total":
            figures.append(columns["inc"][own].sum())
        elif share in ("row", "column"):
            margin = by[0] if share == "row" else by[-1]
            figures.append(own.sum() / (inside & (columns[margin] == cell[margin])).sum())
        else:
            figures.append(own.sum() / (inside.sum() if share else 1))
    return np.array(figures).reshape(estimate.estimate.shape)


def test_every_kind_of_certificate_has_a_reading_that_answers_every_verb():
    """With the very signature of the protocol; and every method's releases are of such a kind."""
    # Counts of rounds stand beside no other column: tests/analysis/test_shuffled_marginals.py.
    assert set(CERTIFIED) - {"shuffled-marginals"} == set(KINDS)
    assert set(CERTIFIED) == set(READINGS)
    verbs = {name for name, value in vars(Reading).items() if callable(value) and name[0] != "_"}
    for reading in READINGS.values():
        for verb in verbs:
            ours = inspect.signature(getattr(reading, verb)).parameters
            theirs = inspect.signature(getattr(Reading, verb)).parameters
            assert list(ours) == list(theirs), (reading, verb)
    for kind, methods in KINDS.items():
        assert {released(method).certificate.kind for method in methods} == {kind}


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("method", DESIGNS)
def test_answered_openly_said_or_refused(method, name):
    """A refusal gives a reason; an answer without an interval does too, and has none."""
    release, answer = released(method), due(method, name)
    if answer == REFUSED:
        with pytest.raises(NotCovered, match=r"^[A-Z].{60,}\.$"):
            ask(release, name)
        return
    found = ask(release, name)
    if answer == OPEN:
        assert np.isnan([found.se, found.low, found.high]).all()
        assert "by an unknown amount" in found.no_interval
        assert "--response" in found.no_interval
        assert found.no_interval in repr(found)
        assert found.to_json()["no_interval"] == found.no_interval
    elif name.endswith("independent"):
        assert isinstance(found, IndependenceTest)
    elif not name.startswith(("learn", "synthesize", "regress")):
        assert not found.no_interval
        assert np.isfinite(found.se).all()


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (method, name)
        for method, (name, (verb, *_)) in itertools.product(DESIGNS, QUESTIONS.items())
        if method != "centroid" and verb not in NO_TABLE and due(method, name) == ANSWER
    ],
)
@pytest.mark.deep(every=60)
def test_answers_are_right_over_many_releases(method, name):
    """Unbiased to 4.5 standard errors of the mean, and 95 % intervals hold as often as a binomial
    of 0.95 does with probability 1 - 1e-4, even if all cells of a table miss together."""
    undo = {"method": "unbiased"} if _undone(method, name) else {}
    releases = RELEASES if method in KINDS["groups"] else MORE_RELEASES
    found = [ask(released(method, seed), name, **undo) for seed in range(releases)]
    right = true_figures(name, found[0])
    numbers = np.stack([one.estimate for one in found])
    error = numbers.std(axis=0, ddof=1) / np.sqrt(releases)
    held = np.stack([(one.low <= right + 1e-9) & (right - 1e-9 <= one.high) for one in found])

    # Quantiles are as good as unbiased in large groups alone, sealed counts within their error.
    if QUESTIONS[name][0] != "quantile" and method not in KINDS["sealed"]:
        assert (np.abs(numbers.mean(axis=0) - right) <= 4.5 * error + 1e-6 * np.abs(right)).all()
    assert held.mean() >= binom.ppf(1e-4, releases, 0.95) / releases


def _undone(method: str, name: str) -> bool:
    may_shrink = (*KINDS["published"], *KINDS["attribute-sampling"])
    return method in may_shrink and QUESTIONS[name][0] in ("crosstab", "mean", "proportion")


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("method", DESIGNS)
def test_options_mean_the_same_in_every_kind(method, options):
    """Wider for more certainty, for a population, for all cells at once; never another number."""
    for name, (verb, *_) in QUESTIONS.items():
        if verb in NO_TABLE or due(method, name) != ANSWER:
            continue
        undo = {"method": "unbiased"} if _undone(method, name) else {}
        usual = ask(released(method), name, **undo)
        found = ask(released(method), name, **undo, **options)
        widths = [one.high - one.low for one in (usual, found)]

        assert np.array_equal(usual.estimate, found.estimate)
        assert found.level == options.get("level", 0.95)
        assert found.infer == options.get("infer", "records")
        if "level" in options:
            assert (widths[1] <= widths[0] + 1e-9).all()
        if "infer" in options:  # both are estimated, so they may be a little out of order
            assert (found.se >= 0.98 * usual.se - 1e-9).all()
        if "simultaneous" in options:
            assert (widths[1] >= widths[0] - 1e-9).all()


@pytest.mark.parametrize("method", DESIGNS)
def test_a_method_that_does_not_exist_is_refused_by_every_kind(method):
    """And one that undoes matrices where there are none to undo."""
    release = released(method)
    for by in ("a", "ill"):
        with pytest.raises((InvalidNumber, NotCovered)):
            release.crosstab(by, method="nonsense")
    if release.certificate.kind not in ("published", "attribute-sampling"):
        with pytest.raises(NotCovered):
            release.crosstab("a", method="unbiased")


@pytest.mark.parametrize("method", DESIGNS)
def test_a_column_that_is_named_twice_is_refused_by_every_verb(method):
    """Also where no reading would have stumbled over it."""
    release = released(method)
    for ask in (
        lambda by: release.crosstab(*by),
        lambda by: release.crosstab(*by, share="row"),
        lambda by: release.mean("inc", by=by),
        lambda by: release.total("inc", by=by),
        lambda by: release.proportion("inc>=100", by=by),
        lambda by: release.quantile("inc", by=by),
        lambda by: release.independence(*by),
    ):
        for name in ("a", "ill"):
            with pytest.raises(InvalidNumber, match="asked for once"):
                ask((name, name))


@pytest.mark.parametrize("method", DESIGNS)
def test_one_number_is_a_frame_of_one_row(method):
    """A mean of everybody has no columns to lay out, and is a table all the same."""
    release = released(method)
    for found in (release.mean("inc"), release.total("inc"), release.quantile("inc", 0.5)):
        frame = found.to_frame()
        assert frame.column_names[-4:] == ["estimate", "se", "low", "high"]
        assert frame["estimate"].to_pylist() == found.estimate.ravel().tolist()
        assert frame.num_rows == 1


@pytest.mark.parametrize("method", ["retention", "optimal", "attribute-sampling", "resample"])
def test_rows_count_each_record_once(method):
    """Each row of a randomised column is estimated from all records: as many as of the table."""
    release = released(method)
    table = release.crosstab("a", "ill")
    for share in ("row", "column"):
        assert release.crosstab("a", "ill", share=share).records == table.records
    assert table.records <= RECORDS


@pytest.mark.parametrize("method", ["retention", "optimal", "attribute-sampling"])
def test_differences_of_percentages_have_one_error_however_the_table_is_made(method):
    """Shares vary together by the unbiased counts, asked for by name or behind a default."""
    named, usual = (
        released(method)
        .crosstab("a", "b", share="row", **how)
        .difference(("a0", "b1"), ("a1", "b1"))
        for how in ({"method": "unbiased"}, {})
    )
    assert 0 < named.se < math.inf
    assert usual.se == pytest.approx(named.se)


@pytest.mark.parametrize("method", ["resample", "gaussian"])
def test_without_an_interval_neither_differences_nor_ratios_have_one(method):
    """An interval without ends would say that an error was computed."""
    means = released(method).mean("inc", by=["a"])
    for found in (means.difference("a0", "a1"), means.ratio("a0", "a1")):
        assert math.isfinite(found.estimate)
        assert all(math.isnan(number) for number in (found.se, found.low, found.high))
        assert "no interval: Associations of inc with a" in str(found)
        assert "between" not in str(found)
    with pytest.raises(InvalidNumber, match="level"):
        means.difference("a0", "a1", level=0)


def test_what_reports_say_of_their_bias():
    """Ratios are nearly unbiased; counts, totals and shares of all records are so exactly."""
    release = released("attribute-sampling")
    exact = [release.crosstab("a"), release.crosstab("a", share=True), release.total("inc", by="a")]
    ratios = [
        release.mean("inc", by="a", method="unbiased"), release.quantile("inc", by="a"),
        release.proportion("inc>=100", by="a", method="unbiased"),
        release.crosstab("a", "ill", share="row", method="unbiased"),
        release.crosstab("a", where={"b": "b1"}, share=True, method="unbiased"),
    ]  # fmt: skip

    assert not any("nearly" in found.why for found in exact)
    assert all("nearly unbiased" in found.why for found in ratios)


def test_known_columns_keep_the_keys_where_groups_do():
    """Groups do not cross regions: handed round, the table of keys by region is exact; around the
    groups, keys come from anywhere, and no error can be stated."""
    table = released("permute").crosstab("region", "a")
    people = list(zip(truth()["region"].to_pylist(), truth()["a"].to_pylist(), strict=True))

    for cell in itertools.product(("north", "south"), ("a0", "a1")):
        assert table.cell(*cell)["estimate"] == people.count(cell)
    assert (table.se == 0).all()
    assert released("gaussian").crosstab("region", "a").no_interval


@pytest.mark.parametrize("method", ["retention", "invariant", "resample"])
@pytest.mark.deep(every=3)
def test_tests_of_independence_keep_their_level(method):
    """Two columns made independent are rejected at 5 % in at most 8 of 60 releases (a binomial of
    0.05 exceeds that with probability below 1e-2)."""
    random, rejected = np.random.default_rng(5), 0
    asked, options = DESIGNS[method]
    for seed in range(60):
        mixed = truth().set_column(1, "b", truth()["b"].take(random.permutation(RECORDS)))
        plan = api.design(SCHEMA, *asked, data=mixed, **options)
        found = api.protect(mixed, plan, seed=seed).independence("a", "b")
        rejected += found.p_value < 0.05

    assert rejected <= 8


@pytest.mark.deep
def test_keys_drawn_one_after_the_other_are_read_one_at_a_time():
    """Each key keeps its distribution, most pairs do not: their table has no interval."""
    plan = api.design(SCHEMA, KAnonymity(k=4), data=truth(), method=Resample(draw="sequential"))
    found = [api.protect(truth(), plan, seed=seed).crosstab("b") for seed in range(RELEASES)]
    right = np.array([truth()["b"].to_pylist().count(label) for label in ("b0", "b1", "b2")])
    numbers = np.stack([one.estimate for one in found])
    error = numbers.std(axis=0, ddof=1) / np.sqrt(RELEASES)

    assert (np.abs(numbers.mean(axis=0) - right) <= 4.5 * error).all()
    assert all(((one.low <= right) & (right <= one.high)).all() for one in found)
    pair = api.protect(truth(), plan, seed=0).crosstab("b", "c")
    assert "one after the other" in pair.no_interval
    assert np.isnan(pair.se).all()


@pytest.mark.deep
def test_weights_are_a_column_like_others():
    """Groups do not cross weights, so that weighted tables of keys stay unbiased with an error that
    holds; around groups and under withheld matrices nothing ties weights to keys any more."""
    random = np.random.default_rng(2)
    weights = random.choice([1.0, 5.0], RECORDS)
    table = truth().append_column("w", pa.array(weights))
    schema = Schema((*SCHEMA.columns, Column("w", Role.WEIGHT)))
    own = np.array(truth()["a"].to_pylist()) == "a1"
    right = float(weights[own].sum())

    @cache
    def plan(method):
        asked, options = DESIGNS[method]
        return api.design(schema, *asked, data=table, **options)

    @cache
    def release(method, seed=0):
        return api.protect(table, plan(method), seed=seed)

    found = [release("resample", seed).crosstab("a").cell("a1") for seed in range(10)]
    assert all(cell["low"] <= right <= cell["high"] for cell in found)
    assert release("permute").crosstab("a").cell("a1")["estimate"] == pytest.approx(right)
    assert release("permute").crosstab("a").weight == "w"
    assert (
        release("gaussian")
        .crosstab("a")
        .no_interval.endswith("weighted=False, on the command line --unweighted.")
    )
    assert release("gaussian").crosstab("a", weighted=False).no_interval == ""
    with pytest.raises(NotCovered, match="weighted=False"):
        release("invariant").crosstab("a")
    assert release("invariant").crosstab("a", weighted=False, share=True).what == "share"
    assert release("retention").independence("a", "b").method == "rao-scott"
    for method in ("retention", "attribute-sampling", "invariant", "resample"):
        if method != "retention":
            with pytest.raises(NotCovered, match="weighted=False, on the command line --unwei"):
                release(method).independence("a", "b")
        found = release(method).independence("a", "b", weighted=False)
        assert found.method == released(method).independence("a", "b").method


@pytest.mark.parametrize("infer", ["records", "population"])
def test_shares_that_are_all_or_nothing_have_intervals_that_can_hold(infer):
    """Everyone with a1 earns more: whatever a few moved records do to the estimate, the interval is
    in order, inside 0 to 1, and no narrower about the population than about these records."""
    for seed in range(10):
        found = released("optimal", seed).proportion(f"inc>={ALL}", by=["a"], infer=infer)
        records = released("optimal", seed).proportion(f"inc>={ALL}", by=["a"])
        assert (found.low <= found.high).all()
        assert (found.low >= np.minimum(found.estimate, 0)).all()
        assert (found.high <= np.maximum(found.estimate, 1)).all()
        assert (found.se >= records.se - 1e-12).all()
