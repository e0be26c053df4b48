"""What is seen at the prompt: a line or a table, and no cell of the truth."""

from __future__ import annotations

import inspect

import pyarrow as pa
import pytest

import pramana as pm
from pramana.analysis.estimates import INTERNAL


@pytest.fixture(scope="module")
def people():
    return pa.table(
        {
            "sex": ["m", "f"] * 500,
            "region": ["north", "south", "east", "west"] * 250,
            "secret": [f"diagnosis-{number}" for number in range(1000)],
        }
    )


@pytest.fixture(scope="module")
def plan(people):
    schema = pm.describe(people, keys=["sex", "region"], sensitive=["secret"])
    return pm.design(schema, pm.PkAnonymity(k=10), data=people, method="retention")


def test_a_schema_shows_a_line_a_column(plan):
    """Name, role and number of values."""
    assert repr(plan.schema).startswith("<Schema: sex key, region key")
    assert str(plan.schema).splitlines()[:2] == ["sex     key         2 values",
                                                 "region  key         4 values"]  # fmt: skip


def test_a_plan_shows_what_it_promises(plan):
    """In short at the prompt, in sentences when printed."""
    assert repr(plan).startswith("<Plan: retention, 1,000 records; k = 10; ")
    assert "\n" not in repr(plan)
    assert "* k = 10: a released record is linked to the right person with probability" in str(plan)


def test_a_release_shows_its_columns_and_promises(people, plan):
    """And its certificate likewise; neither shows a value."""
    release = pm.protect(people, plan, seed=1, accept_risk=["secret"])

    assert repr(release) == "<Release: 1,000 records of sex, region, secret>"
    assert repr(release.certificate).startswith("<Certificate: retention, 1,000 records, ")
    shown = repr(release) + str(release) + repr(release.certificate) + str(release.certificate)
    assert "* k = 10: a released record is linked to the right person with probability" in shown
    assert "diagnosis" not in shown


def test_an_opened_table_does_not_show_its_records(people):
    """Though it holds them."""
    from pramana.io.opening import open_table

    assert "diagnosis" not in repr(open_table(people))


def test_an_estimate_shows_its_table(people, plan):
    """Aligned, with the method below."""
    table = pm.protect(people, plan, seed=1, accept_risk=["secret"]).crosstab("sex", "region")
    lines = repr(table).splitlines()

    assert lines[0].split() == ["sex", "region", "count", "unbiased", "se", "low", "high"]
    assert len(lines) == 1 + 8 + 1
    assert lines[-1].startswith(f"{table.method}: ")


def test_a_long_table_is_cut():
    """Forty cells, and how many more there are."""
    many = pa.table({"a": [str(n % 60) for n in range(6000)]})
    schema = pm.describe(many, keys=["a"])
    release = pm.protect(
        many,
        pm.design(schema, pm.DifferentialPrivacy(epsilon=4), data=many, method="retention"),
        seed=1,
    )

    assert "... 20 more cells" in repr(release.crosstab("a"))


def test_errors_beyond_all_records_are_called_noise():
    """Instead of percentages in the thousands."""
    few = pa.table({"a": [str(n % 9) for n in range(200)], "b": [str(n % 7) for n in range(200)]})
    schema = pm.describe(few, keys=["a", "b"])
    plan = pm.design(schema, pm.DifferentialPrivacy(epsilon=0.05), data=few, method="retention")

    assert "nearly pure noise" in plan.expected_error.sentence()


def test_results_show_their_findings_at_the_prompt_and_in_notebooks(people, plan, tmp_path):
    """A headline and the findings: short as text, a list as HTML, no cell of the truth."""
    release = pm.protect(people, plan, to=tmp_path / "release", seed=1, accept_risk=["secret"])
    results = {
        "Audit of 1,000 records by": pm.audit(people, keys=["sex", "region"]),
        "Audit of a release of 1,000 records: no guarantee": pm.audit(release, original=people),
        "Attack linkage: the guarantee holds": pm.attack("linkage", release, knowledge=people),
        "All verifiable checks passed": pm.verify(tmp_path / "release"),
        "Recommended: ": pm.compare(people, plan.schema, k=[10]),
    }
    for head, result in results.items():
        assert repr(result).startswith(head)
        assert len(repr(result).split("\n")) <= 14
        assert "diagnosis-" not in repr(result)
        assert result._repr_html_().strip().endswith(">")
        assert head.split(" ")[0] in result._repr_html_()
    assert plan._repr_html_().startswith("<p><strong>Plan: retention, 1,000 records")
    assert release._repr_html_().startswith("<p><strong>1,000 released records of")


def test_a_broken_release_says_so_first(people, plan, tmp_path):
    """The failed check stands on the first line below the verdict."""
    pm.protect(people, plan, to=tmp_path / "release", seed=1, accept_risk=["secret"])
    (tmp_path / "release" / "README.md").write_text("Count it.")
    lines = repr(pm.verify(tmp_path / "release")).split("\n")
    assert lines[0].startswith("THE RELEASE IS NOT VALID")
    assert lines[1].startswith("* failed: explanations: README.md")


def test_a_schema_gives_its_columns_by_name(plan):
    """``schema["sex"]`` is the column; another name is refused with those that there are."""
    assert plan.schema["sex"].role == "key"
    assert "sex" in plan.schema._repr_html_()
    with pytest.raises(pm.errors.UnknownColumn, match="no column 'height'"):
        plan.schema["height"]


def _public():
    """Every public verb, and every public method of what verbs give."""
    for name in pm.__all__:
        own = getattr(pm, name)
        if inspect.isfunction(own):
            yield name, own
        elif inspect.isclass(own) and not issubclass(own, pm.PramanaError):
            for verb, method in inspect.getmembers(own, inspect.isroutine):
                mine = getattr(method, "__module__", "") or ""
                shown = verb[0] != "_" and (own is not pm.Estimate or verb not in INTERNAL)
                if shown and mine.startswith("pramana"):
                    yield f"{name}.{verb}", method


def test_a_completer_can_read_every_public_signature():
    """No ``**anything``: whatever a verb takes has a name. A cell has the names of its columns."""
    loose = [
        name
        for name, verb in _public()
        if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(verb).parameters.values())
    ]
    assert loose == ["Estimate.cell"]


def test_contrasts_and_tests_show_themselves(people, plan):
    """A line at the prompt and in a notebook."""
    release = pm.protect(people, plan, seed=1, accept_risk=["secret"])
    gap = release.crosstab("sex").difference("f", "m")
    assert repr(gap).startswith("count, f less m: ")
    assert gap._repr_html_().startswith("<p>count, f less m")
    test = release.independence("sex", "region")
    assert "freedom" in repr(test)
    assert test._repr_html_().startswith("<p>")
