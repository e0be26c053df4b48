"""Tests of differences and ratios of cells: how the numbers of a table vary together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pramana import api
from pramana.analysis.channels import Channels
from pramana.analysis.counts import estimate_counts
from pramana.analysis.means import estimate_values
from pramana.analysis.question import Question
from pramana.analysis.variance import errors_of_shares, linear_covariance, linear_errors
from pramana.errors import InvalidNumber
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense
from tests.analysis.releases import plan_of, released, truth
from tests.analysis.worlds import (
    joint_step,
    kronecker,
    layout_of,
    mixtures,
    moments_of_counts,
    moments_of_records,
)

SHAPE = (3, 2)


def worlds():
    """Columns moved apart, moved together with a cell that cannot exist, filtered, kept beside."""
    joint = Mechanism((joint_step(),))
    yield layout_of(SHAPE, mixtures(SHAPE, 0.5))
    yield layout_of(SHAPE, joint)
    yield layout_of(SHAPE, joint, "a")
    yield layout_of(SHAPE, mixtures(SHAPE, 0.5), "b", where={"a": ["a0", "a2"]})
    yield layout_of(SHAPE, Mechanism(mixtures(SHAPE, 0.4).steps[:1]))


def errors_of_counts(moments, channels, counts):
    """Each record counts its weight."""
    weights = np.zeros_like(counts), np.ones_like(counts)
    return linear_errors(moments, channels, counts, weights, infer="records")


def written_out(layout):
    """The matrix, its inverse merged into groups, and the groups of every truth."""
    whole, member = kronecker(layout), np.eye(1)
    for axis in layout.axes:
        member = np.kron(member, axis.membership)
    return whole, np.linalg.inv(whole) @ member, member


@pytest.mark.parametrize("place", range(5))
def test_the_covariance_of_counts_is_that_of_the_definition(place):
    """Of a record with truth k, released as l with P_kl and counted b_lg: averaged over l."""
    layout = list(worlds())[place]
    truth = np.random.default_rng(place).integers(20, 90, np.prod(layout.shape)).astype(float)
    whole, undone, member = written_out(layout)
    released = (truth @ whole).reshape(layout.shape)
    groups = undone.shape[1]
    right = np.zeros((groups, groups))
    for k, people in enumerate(truth):
        products = (undone * whole[k][:, None]).T @ undone
        right += people * (products - np.outer(member[k], member[k]))
    channels = Channels(layout)
    counts = channels.solve(released)
    found = errors_of_counts(moments_of_counts(released), channels, counts)
    each = [layout.lay_out(one.reshape(layout.grouped_shape)) for one in np.eye(groups)]

    assert np.allclose(found.covariance(each), right)
    assert np.allclose(layout.gather(found.numbers), counts)


def test_about_a_population_counts_spread_like_independent_draws():
    """Of n independent people: n times the covariance of one person's contribution."""
    layout = layout_of(SHAPE, mixtures(SHAPE, 0.5))
    truth = np.arange(1.0, 7.0) * 10
    whole, undone, _ = written_out(layout)
    released = truth @ whole
    share, n = released / released.sum(), released.sum()
    mean = share @ undone
    right = n * ((undone * share[:, None]).T @ undone - np.outer(mean, mean))
    channels = Channels(layout)
    moments = moments_of_counts(released.reshape(SHAPE))
    weights = np.zeros(SHAPE), np.ones(SHAPE)
    each = [one.reshape(SHAPE) for one in np.eye(6)]
    found = linear_covariance(moments, channels, weights, each, infer="population")

    assert np.allclose(found, right)


def drawn(times: int, records: int = 400):
    """One table of people released again and again, with a value that depends on them."""
    rng = np.random.default_rng(3)
    layout = layout_of(SHAPE, mixtures(SHAPE, 0.6))
    whole = kronecker(layout)
    truth = rng.choice(6, records, p=[0.3, 0.1, 0.1, 0.2, 0.2, 0.1])
    value = rng.gamma(2, 10, records) + 20 * truth
    weight = rng.choice([1.0, 3.0], records)
    edges = whole.cumsum(axis=1)
    for _ in range(times):
        seen = (rng.random(records)[:, None] > edges[truth]).sum(axis=1)
        cells = np.column_stack(np.unravel_index(seen, SHAPE))
        yield layout, moments_of_records(layout, cells, values=value, weights=weight)
    yield truth, value, weight


@pytest.mark.parametrize("what", ["count", "share", "total", "mean"])
@pytest.mark.deep
def test_errors_of_differences_are_those_of_many_releases(what):
    """The mean stated variance is that of 600 releases to 20 % (3.5 standard errors of a variance
    from 600 draws), and the interval holds in 0.95 of them, give or take 4 standard errors."""
    *releases, (truth, value, weight) = list(drawn(600))
    makers = {
        "count": lambda m, lay: estimate_counts(m, lay, method="unbiased"),
        "share": lambda m, lay: estimate_counts(m, lay, method="unbiased", share=True),
        "total": lambda m, lay: estimate_values(m, lay, total=True, of="y"),
        "mean": lambda m, lay: estimate_values(m, lay, of="y"),
    }
    first, second = ("a0", "b0"), ("a1", "b1")
    own = [truth == 0, truth == 3]
    figures = {
        "count": [weight[o].sum() for o in own],
        "share": [weight[o].sum() / weight.sum() for o in own],
        "total": [(weight * value)[o].sum() for o in own],
        "mean": [np.average(value[o], weights=weight[o]) for o in own],
    }[what]
    made = [makers[what](moments, layout) for layout, moments in releases]
    made = [one for one in made if math.isfinite(one.difference(first, second).estimate)]
    gaps = [one.difference(first, second) for one in made]
    assert len(gaps) > (590 if what == "mean" else 599)  # a mean of next to nobody is not told
    numbers = np.array([gap.estimate for gap in gaps])
    right = figures[0] - figures[1]
    held = np.mean([gap.low <= right <= gap.high for gap in gaps])

    assert np.mean([gap.se**2 for gap in gaps]) == pytest.approx(numbers.var(), rel=0.2)
    assert abs(held - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 600)
    ratios = [one.ratio(first, second) for one in made]
    held = np.mean([r.low <= figures[0] / figures[1] <= r.high for r in ratios])
    assert abs(held - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 600)
    apart = [np.hypot(one.cell(*first)["se"], one.cell(*second)["se"]) for one in made]
    if what == "count":  # two cells of one table: leaving the covariance out would be found
        assert np.mean(np.square(apart)) != pytest.approx(numbers.var(), rel=0.1)


def test_shares_within_a_row_vary_as_shares_of_its_counts():
    """By the quotient rule, numerically: moving counts a little moves shares by the derivative."""
    layout = layout_of(SHAPE, mixtures(SHAPE, 0.5))
    released = np.array([[50.0, 20], [30, 60], [40, 40]])
    channels = Channels(layout)
    moments = moments_of_counts(released)
    counts = errors_of_counts(moments, channels, channels.solve(released))
    table, step = counts.numbers, 1e-6
    contrast = np.zeros(SHAPE)
    contrast[0, 0], contrast[1, 0] = 1, -1
    slopes = np.zeros(SHAPE)
    for index in np.ndindex(SHAPE):
        moved = table.copy()
        moved[index] += step
        shares = [t / t.sum(axis=1, keepdims=True) for t in (moved, table)]
        slopes[index] = ((shares[0] - shares[1]) * contrast).sum() / step

    found = errors_of_shares(counts, 0).covariance([contrast])
    assert found[0, 0] == pytest.approx(counts.covariance([slopes])[0, 0], rel=1e-4)


def test_where_nobody_knows_how_numbers_vary_together_the_worst_is_stated():
    """The standard error of a difference is then the sum of both; as bad as it can be."""
    *_, (layout, moments), _ = list(drawn(1))
    made = estimate_counts(moments, layout, method="unbiased")
    object.__setattr__(made, "together", None)
    gap = made.difference(("a0", "b0"), ("a1", "b0"))
    assert gap.se == pytest.approx(made.se[0, 0] + made.se[1, 0])
    assert "unknown" in gap.why


def test_wide_tables_and_cells_that_are_not_there():
    """The last column across; an unknown cell, a wrong figure and one column are refused."""
    *_, (layout, moments), _ = list(drawn(1))
    made = estimate_counts(moments, layout, method="unbiased", question=Question(level=0.9))
    wide = made.to_wide()
    assert wide.column_names == ["a", "b=b0", "b=b1"]
    assert wide["b=b1"].to_pylist() == made.estimate[:, 1].tolist()
    assert made.to_wide("se")["b=b0"].to_pylist() == made.se[:, 0].tolist()
    assert made.difference(("a0", "b0"), ("a1", "b0")).level == 0.9
    with pytest.raises(KeyError, match="no such cell"):
        made.difference(("a0", "b0"), "a1")
    with pytest.raises(InvalidNumber, match="figure"):
        made.to_wide("p")
    same = made.difference(("a0", "b0"), ("a0", "b0"))
    assert same.estimate == pytest.approx(0)
    assert same.se == pytest.approx(0, abs=1e-6)
    assert "less" in repr(same)
    assert same.to_json()["level"] == 0.9


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.deep(every=2)
def test_no_difference_is_surer_about_a_population_than_about_its_records(share):
    """Twenty people through strong noise. Both errors are estimated, and that about the population
    was the smaller one in one of three releases: intervals held in 0.91."""
    rng = np.random.default_rng(2)
    people = np.array([0.8, 0.15, 0.05])
    matrix = 0.3 * np.eye(3) + 0.7 * np.array([0.6, 0.3, 0.1])
    layout = layout_of((3,), Mechanism((Step(("a",), Dense.of(("a0", "a1", "a2"), matrix)),)))
    held = []
    for _ in range(400):
        moments = moments_of_counts(rng.multinomial(20, people @ matrix))
        known, luck = (
            estimate_counts(
                moments, layout, method="unbiased", share=share, question=Question(infer=infer)
            )
            for infer in ("records", "population")
        )
        surest, own = known.difference("a0", "a1"), luck.difference("a0", "a1")
        assert own.se >= surest.se * (1 - 1e-9)
        assert own.low <= surest.low + 1e-9
        assert own.high >= surest.high - 1e-9
        held.append(own.low <= 0.65 * (1 if share else 20) <= own.high)
    assert np.mean(held) >= 0.93, np.mean(held)


def test_a_contrast_may_have_any_level():
    """A shrunken table starts with 1.1 times the misses: more than all of them at level 0.05."""
    layout = layout_of((2,), mixtures((2,), 0.5))
    found = estimate_counts(moments_of_counts([30, 10]), layout, method="shrunk")
    wide, near = (found.difference("a0", "a1", level=level) for level in (0.95, 0.05))
    assert wide.low < near.low <= near.estimate <= near.high < wide.high


def units(table):
    """One combination for each cell: 1 there, 0 elsewhere."""
    return [one.reshape(table.shape) for one in np.eye(table.size)]


@pytest.mark.parametrize("infer", ["records", "population"])
def test_cells_of_reports_vary_with_the_errors_that_the_table_states(infer):
    """The diagonal of the covariance is the square of se, computed another way; se of a cell whose
    estimate is below 0 is made larger, never smaller."""
    release = released("attribute-sampling")
    ask = {"infer": infer}
    tables = [
        release.crosstab("a", "region", **ask),
        release.crosstab("a", "region", share=True, **ask),
        release.total("inc", by=["a", "region"], **ask),
        release.mean("inc", by=["a"], **ask),
    ]
    for table in tables:
        spread = np.sqrt(np.diag(table.together.covariance(units(table.estimate))))
        assert np.allclose(spread, table.se.ravel(), rtol=0.01), table.what


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
@pytest.mark.deep
def test_differences_and_ratios_of_default_tables_hold_and_are_not_too_wide(method):
    """Of 160 releases the intervals hold in 0.95, give or take 3.3 standard errors of a share, and
    the stated error is that of the estimates to 20 % (3.6 standard errors of a deviation)."""
    people, releases = truth(), 160
    a, b, inc = (np.array(people[name]) for name in ("a", "b", "inc"))
    both = [((a == "a1") & (b == "b2")).sum(), ((a == "a0") & (b == "b2")).sum()]
    right = {
        "count": both[0] - both[1],
        "row": both[0] / (a == "a1").sum() - both[1] / (a == "a0").sum(),
        "column": (both[0] - both[1]) / (b == "b2").sum(),
        "mean": inc[a == "a1"].mean() - inc[a == "a0"].mean(),
        "ratio": (a == "a1").sum() / (a == "a0").sum(),
    }
    stated = {name: [] for name in right}
    for seed in range(releases):
        release = api.protect(people, plan_of(method), seed=seed)
        cells = ("a1", "b2"), ("a0", "b2")
        stated["count"].append(release.crosstab("a", "b").difference(*cells))
        for share in ("row", "column"):
            table = release.crosstab("a", "b", share=share)
            stated[share].append(table.difference(*cells))
        stated["mean"].append(release.mean("inc", by=["a"]).difference("a1", "a0"))
        stated["ratio"].append(release.crosstab("a").ratio("a1", "a0"))
    for name, contrasts in stated.items():
        told = [c for c in contrasts if math.isfinite(c.low + c.high)]
        held = np.mean([c.low <= right[name] <= c.high for c in told])
        assert len(told) > 0.9 * releases, name
        assert abs(held - 0.95) < 3.3 * math.sqrt(0.95 * 0.05 / len(told)), (name, held)
        numbers = np.array([c.estimate for c in told])
        if name != "ratio":  # of a ratio the interval is not that of its error
            assert np.mean([c.se for c in told]) == pytest.approx(numbers.std(), rel=0.2), name


def test_a_difference_of_a_shrunken_table_is_that_of_its_unbiased_numbers():
    """What shrinking does to a difference has no known error."""
    release = released("attribute-sampling")
    table = release.crosstab("a", "b")
    gap = table.difference(("a1", "b2"), ("a0", "b2"))
    cells = [table.cell(*at) for at in (("a1", "b2"), ("a0", "b2"))]

    assert table.method == "shrunk"
    assert gap.estimate == pytest.approx(cells[0]["unbiased"] - cells[1]["unbiased"])
    assert gap.high - gap.estimate == pytest.approx(gap.estimate - gap.low)
    assert cells[0]["estimate"] != pytest.approx(cells[0]["unbiased"])
