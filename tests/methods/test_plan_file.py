"""A plan as a file: the same after a round trip, and refused where it says what is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import InputError
from pramana.methods.plan import PlanFile

texts = st.text(max_size=12)
plans = st.builds(
    PlanFile,
    schema=texts.filter(bool),
    target=st.dictionaries(
        st.sampled_from(["k", "epsilon", "central_epsilon", "delta", "alpha", "xi"]),
        st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60),
    ),
    method=st.sampled_from(["", "retention", "attribute-sampling", "optimal"]),
    options=st.dictionaries(st.sampled_from(["spread", "tables"]), texts | st.lists(texts)),
    asked=st.lists(texts).map(tuple),
    copies=st.sets(st.sampled_from(["csv", "dta", "sav"])).map(sorted).map(tuple),
)


@settings(max_examples=40)
@given(plans)
def test_a_plan_comes_back_as_it_was(plan: PlanFile) -> None:
    """Whatever letters names and wishes are made of."""
    assert PlanFile.from_toml(plan.to_toml()) == plan


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[target]\nj = 3", "'j' is no entry of [target]"),
        ('[target]\nk = "three"', "k of [target] must be a number"),
        ("[target]\nk = true", "k of [target] must be a number"),
        ("[target]\nk = nan", "k of [target] must be a number"),
        ("target = 3", "target must be a table [target]"),
        ('method = "hope"', "method must be one of"),
        ("method = 3", "method must be a text"),
        ("asked = [3]", "asked must be a list of texts"),
        ('asked = "sex"', "asked must be a list of texts"),
        ('copies = ["exe"]', "'exe' is no entry of [copies]"),
        ("[options]\nspeed = 3", "'speed' is no entry of [options]"),
        ("records = 3", "'records' is no entry of a plan"),
        ("method = ", "must be valid TOML"),
    ],
)
def test_what_is_not_known_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """In a line that names the file."""
    place = tmp_path / "plan.toml"
    place.write_text(text)
    with pytest.raises(InputError) as refused:
        PlanFile.load(place)
    assert said in str(refused.value)
    assert str(place) in str(refused.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: Any) -> None:
    """One that is not there, and one that is no text."""
    place = tmp_path / "plan.toml"
    if content is not None:
        place.write_bytes(content)
    with pytest.raises(InputError, match=r"plan\.toml"):
        PlanFile.load(place)


def test_a_plan_is_written_over_another_only_when_told(tmp_path: Path) -> None:
    """As every file."""
    PlanFile(target={"k": 3}).save(tmp_path / "plan.toml")
    with pytest.raises(InputError, match="exists"):
        PlanFile().save(tmp_path / "plan.toml")
    PlanFile(target={"k": 4}).save(tmp_path / "plan.toml", force=True)
    assert PlanFile.load(tmp_path / "plan.toml").target == {"k": 4}
