"""A certificate has one spelling: that of the standard library, written faster."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from pramana.release.certificate import canonical

plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('[],\n" '), max_size=6)
)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
forms = st.recursive(
    plain,
    lambda own: st.lists(own, max_size=4) | st.dictionaries(keys, own, max_size=4),
    max_leaves=25,
)


@given(forms | st.lists(st.lists(plain, min_size=1, max_size=3), max_size=6))
def test_the_one_spelling_is_that_of_the_standard_library(value):
    """Whatever a form holds, brackets and line breaks in texts too."""
    form = {"form": value}
    text = json.dumps(form, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)

    assert canonical(form) == (text + "\n").encode()
