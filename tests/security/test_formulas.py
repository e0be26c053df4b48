"""A formula is parsed to a tree of a short list of nodes; nothing of it is evaluated as code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pramana.analysis.formulas import Model, variables_of
from pramana.errors import InvalidNumber, NotCovered
from pramana.evaluation.questions import StatedQuestion

CALL = "__import__('pathlib').Path('executed').touch()"
HOSTILE = [
    f"I({CALL})",
    f"{{{CALL}}}",
    CALL,
    f"C(a, {CALL})",
    f"C({CALL})",
    f"I(a + 0 * ({CALL} or 0))",
    f"np.log(a, out={CALL})",
    "np.load(a)",
    "np.fromfile(a)",
    "np.lib.npyio.load(a)",
    "np.log.__class__(a)",
    "I(a.__class__.__base__.__subclasses__()[0])",
    "I(().__class__)",
    "I(lambda: 0)",
    "I((lambda: 0)())",
    "I([x for x in a])",
    "I(a if a else a)",
    "I(f'{a}')",
    "I(a := 1)",
    "I(*a)",
    "I(**a)",
    "I(a[0])",
    "I(not a)",
    "I(a and a)",
    "I(1 < a < 2)",
    "I('text')",
    "I(a < 'text')",
    "I(True)",
    "I(1j)",
    "I(...)",
    "I()",
    "I(a, a)",
    "I(a",
    "a)",
    "a + [a]",
    "a %in% a",
    "a @ a",
    "a; a",
    "a\n~ a",
    ".",
    "`a",
    "2",
    "a**0",
    "a**99999999",
    "a**a",
    "hashed(a)",
    "contr.treatment(a)",
    "str(a)",
    "eval('1')",
    "I(eval)('1')",
    "exec(a)",
    "open(a)",
    "I(_quoted_0 + `a`)",
    "I(" + "9" * 400 + ")",
    "I(" + "9" * 5000 + ")",
    "(" * 3000 + "a" + ")" * 3000,
    "I(" + "(" * 3000 + "a" + ")" * 3000 + ")",
    "I(" + "-" * 5000 + "a)",
    "*".join(f"a{number}" for number in range(40)),
    "\0",
    "I(\0)",
    "a " * 10_000,
    "",
]


@pytest.mark.parametrize("side", HOSTILE, ids=lambda side: side[:30])
def test_a_formula_that_is_not_in_the_grammar_is_refused(
    side: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On either side of ~, as an error of the user's input, with nothing executed."""
    monkeypatch.chdir(tmp_path)
    for formula in (f"y ~ {side}", f"y ~ y + {side}", f"{side} ~ y"):
        with pytest.raises(InvalidNumber):
            Model.of(formula)
        with pytest.raises(InvalidNumber):
            _ = StatedQuestion.of_text(formula).columns
    assert not list(tmp_path.iterdir())


def test_a_refusal_says_what_is_allowed() -> None:
    """Columns, numbers, operators and every function by its name."""
    with pytest.raises(InvalidNumber, match=r"operators .* C\(\) .* log\(\).* sqrt\(\)"):
        Model.of(f"y ~ I({CALL})")


def test_functions_of_a_whole_column_are_not_covered() -> None:
    for name in ("poly", "scale", "center", "bs"):
        with pytest.raises(NotCovered):
            Model.of(f"y ~ {name}(a)")


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ a", ["Intercept", "a"]),
        ("y ~ a - 1", ["a"]),
        ("y ~ 0 + a + b", ["a", "b"]),
        ("y ~ -1 + a", ["a"]),
        ("y ~ a*s", ["Intercept", "a", "s[T.v]", "a:s[T.v]"]),
        ("y ~ a + a:b", ["Intercept", "a", "a:b"]),
        ("y ~ a/b", ["Intercept", "a", "a:b"]),
        ("y ~ a*b:c", ["Intercept", "a", "b:c", "a:b:c"]),
        ("y ~ (a + b + c)**2 - a:b", ["Intercept", "a", "b", "c", "a:c", "b:c"]),
        ("y ~ (a + b)^2 + a", ["Intercept", "a", "b", "a:b"]),
        ("y ~ C(a)", ["Intercept", "C(a)[T.2]", "C(a)[T.3]"]),
        ("y ~ C( `odd ~ name` ) - 1", ["C(`odd ~ name`)[0]", "C(`odd ~ name`)[1]"]),
        ("y ~ `odd ~ name` + d.e", ["Intercept", "odd ~ name", "d.e"]),
        ("y ~ I(a**2) + np.log(b)", ["Intercept", "I(a ** 2)", "np.log(b)"]),
        ("y ~ I((a - 40) / 10) + I(s == 'v')", ["Intercept", "I((a - 40) / 10)", "I(s == 'v')"]),
        ("y ~ C(a > 1)", ["Intercept", "C(a > 1)[T.True]"]),
    ],
)
def test_the_grammar_is_that_of_r(formula: str, names: list[str]) -> None:
    """Operators bind and expand as in R; results name terms as they are written."""
    frame = pd.DataFrame(
        {
            "y": [1.0, 2, 3, 4],
            "a": [1, 2, 3, 3],
            "b": [1.0, 4, 2, 5],
            "c": [2.0, 1, 1, 3],
            "s": pd.Categorical(["u", "v", "u", "v"]),
            "odd ~ name": [0, 1, 1, 0],
            "d.e": [1.0, 0, 0, 1],
        }
    )
    model = Model.of(formula)
    assert list(model.evaluate(frame, model.right)[0]) == names
    assert set(variables_of(formula)) <= set(frame.columns)


def test_functions_are_evaluated_in_floating_point() -> None:
    """Integers neither overflow nor forbid a negative power."""
    frame = pd.DataFrame({"y": [1, 2], "a": [2, 4_000_000_000]})
    model = Model.of("y ~ I(a**3) + I(a**-1) + sqrt(a) + I(1 * (a > 2) - 1) - 1")
    values = model.evaluate(frame, model.right)[1]
    a = frame["a"].to_numpy(float)
    assert np.array_equal(values, np.stack([a**3, a**-1.0, np.sqrt(a), [-1, 0]], axis=1))


def test_a_column_is_a_category_only_where_it_is_always_written_so() -> None:
    """``C(age)`` takes bins as they are; one use as a number takes their centres."""
    assert all(Model.of("y ~ C(age) + C(age):a").as_categories("age"))
    assert all(Model.of("y ~ C(`age`)").as_categories("age"))
    assert not all(Model.of("y ~ C(age) + age").as_categories("age"))
    assert not all(Model.of("y ~ C(age > 3)").as_categories("age"))
