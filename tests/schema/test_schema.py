"""Columns, schemas and the rules that they keep."""

from __future__ import annotations

import pickle

import pytest

from pramana.errors import InvalidSchema, TooLarge, UnknownColumn
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import (
    CATEGORY_LIMIT,
    Column,
    Impossible,
    Schema,
    require_domains,
    require_keys,
)

SEX = Column("sex", Role.KEY, Categories(("F", "M")))
AGE = Column("age", Role.KEY, Bins((0, 16, 30, 90)), missing="category")
MARITAL = Column("marital", Role.KEY, Categories(("single", "married")))


def refuses(match, make):
    """The error of ``make``, which is one line."""
    with pytest.raises(InvalidSchema, match=match) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_missing_is_the_last_label_where_it_is_a_value():
    """Category and keep add it; refuse and not stated do not."""
    ends = {m: Column("c", Role.KEY, Categories(("a", "b")), missing=m).labels for m in
            ("category", "keep", "refuse", None)}  # fmt: skip
    assert ends["category"] == ends["keep"] == ("a", "b", None)
    assert ends["refuse"] == ends[None] == ("a", "b")


def test_keys_are_randomised_and_the_rest_is_not_unless_said():
    """The role decides, and randomise overrules it."""
    domain = Categories(("a", "b"))
    assert Column("c", Role.KEY, domain).randomised
    assert not Column("c", Role.KEY, domain, randomise=False).randomised
    assert not Column("c", Role.SENSITIVE, domain).randomised
    assert Column("c", Role.SENSITIVE, domain, randomise=True).randomised


def test_fixed_labels_are_the_exempt_and_the_kept_missing():
    """Missing is listed once."""
    domain = Categories(("a", "b"))
    assert Column("c", Role.KEY, domain, missing="keep", exempt=("a",)).fixed == ("a", None)
    assert Column("c", Role.KEY, domain, missing="keep", exempt=(None,)).fixed == (None,)
    assert Column("c", Role.KEY, domain, missing="category").fixed == ()


def test_exempt_values_take_the_spelling_of_the_domain():
    """A 1 in the domain may be called "1"."""
    assert Column("c", Role.KEY, Categories((1, 2)), exempt=("1",)).exempt == (1,)


def test_columns_are_refused():
    """Each with one line that names the column."""
    ab = Categories(("a", "b"))
    refuses("name", lambda: Column("", Role.KEY, ab))
    refuses("Role of 'c'", lambda: Column("c", "spam", ab))
    refuses("missing of 'c'", lambda: Column("c", Role.KEY, ab, missing="drop"))
    refuses("exempt of 'c'", lambda: Column("c", Role.KEY, ab, exempt=("z",)))
    refuses("missing values, which it refuses",
            lambda: Column("c", Role.KEY, ab, missing="refuse", exempt=(None,)))  # fmt: skip
    refuses("'c' must have at least two values", lambda: Column("c", Role.KEY, Categories(("a",))))
    refuses("cannot be randomised", lambda: Column("c", Role.IDENTIFIER, randomise=True))
    refuses("cannot be randomised", lambda: Column("c", Role.WEIGHT, randomise=True))
    refuses("not declared", lambda: Column("c", Role.KEY).labels)


def test_one_value_is_enough_where_nothing_is_randomised_or_missing_is_a_value():
    """The limit cases of the rule of two."""
    assert Column("c", Role.PUBLIC, Categories(("a",))).labels == ("a",)
    assert Column("c", Role.KEY, Categories(("a",)), missing="category").labels == ("a", None)


def test_a_million_categories_in_one_key_are_refused():
    """The message gives the column, the number and what to do; the limit itself passes."""
    assert Column("c", Role.KEY, Categories(tuple(range(CATEGORY_LIMIT)))).randomised
    million = Categories(tuple(range(10**6)))
    with pytest.raises(TooLarge, match=r"'postcode' has 1,000,000 categories.*Coarsen"):
        Column("postcode", Role.KEY, million)
    assert not Column("postcode", Role.PUBLIC, million).randomised


def test_a_schema_sorts_its_columns_by_what_happens_to_them():
    """Identifiers are dropped, keys randomised, the rest released unchanged."""
    schema = Schema(
        (Column("id", Role.IDENTIFIER), SEX, Column("income", Role.SENSITIVE),
         Column("w", Role.WEIGHT), Column("region", Role.KEY, randomise=False))
    )  # fmt: skip
    assert schema.names == ("id", "sex", "income", "w", "region")
    assert [c.name for c in schema.keys] == ["sex", "region"]
    assert [c.name for c in schema.randomised] == ["sex"]
    assert [c.name for c in schema.released_as_is] == ["income", "w", "region"]
    assert [c.name for c in schema.released] == ["sex", "income", "w", "region"]
    assert schema.weight is not None
    assert schema.weight.name == "w"
    assert schema.column("sex") is SEX


def test_an_unknown_column_is_named_with_those_that_exist():
    """UnknownColumn is also a KeyError."""
    with pytest.raises(KeyError, match="sex"):
        Schema((SEX,)).column("gender")
    with pytest.raises(UnknownColumn, match="no column 'gender'"):
        Schema((SEX,)).column("gender")


def test_impossible_labels_take_the_spelling_of_the_domain():
    """Numbers written as text are found, missing values too."""
    year = Column("year", Role.KEY, Categories((1, 2)))
    rule = Impossible.of({"year": ["1"], "age": [None, "[0, 16)"]})
    assert Schema((year, AGE), impossible=(rule,)).impossible[0]["year"] == (1,)
    assert Schema((year, AGE), impossible=(rule,)).impossible[0]["age"] == (None, "[0, 16)")


def test_schemas_are_refused():
    """Contradictions between columns, each in one line."""
    rule = Impossible.of({"age": ["[0, 16)"], "marital": ["married"]})
    plain = Column("marital", Role.PUBLIC, Categories(("single", "married")))
    refuses("at least one column", lambda: Schema(()))
    refuses("'sex' more than once", lambda: Schema((SEX, SEX)))
    refuses("one weight", lambda: Schema((Column("a", Role.WEIGHT), Column("b", Role.WEIGHT))))
    refuses("strata must name", lambda: Schema((SEX,), strata=("region",)))
    refuses("must be released unchanged", lambda: Schema((SEX,), strata=("sex",)))
    refuses("choices must name", lambda: Schema((SEX,), choices=(("sex", "age"),)))
    refuses("impossible must name", lambda: Schema((AGE,), impossible=(rule,)))
    refuses("not randomised", lambda: Schema((AGE, plain), impossible=(rule,)))
    wrong = Impossible.of({"age": ["[0, 17)"], "marital": ["married"]})
    refuses("impossible of 'age'", lambda: Schema((AGE, MARITAL), impossible=(wrong,)))
    refuses("at least two columns", lambda: Impossible.of({"age": ["[0, 16)"]}))
    refuses("a value of 'age' at least", lambda: Impossible.of({"age": [], "marital": ["married"]}))


def test_replacing_columns_keeps_the_order_and_the_rest():
    """A new schema; the old one stays."""
    schema = Schema((SEX, AGE))
    new = schema.replace_columns([Column("sex", Role.PUBLIC)])
    assert [c.role for c in new.columns] == [Role.PUBLIC, Role.KEY]
    assert schema.columns == (SEX, AGE)


def test_keys_and_domains_are_required_where_a_design_needs_them():
    """No key at all, and no domain without data, are refused."""
    refuses("at least one key", lambda: require_keys(Schema((Column("a", Role.PUBLIC),))))
    refuses("'a' is not declared", lambda: require_domains(Schema((Column("a", Role.KEY),))))
    require_keys(Schema((SEX,)))
    require_domains(Schema((SEX, Column("a", Role.PUBLIC))))


def test_a_schema_travels_to_other_processes():
    """Equal after pickling, hashable, immutable."""
    rule = Impossible.of({"age": ["[0, 16)"], "marital": ["married"]})
    schema = Schema((AGE, MARITAL), impossible=(rule,))
    assert pickle.loads(pickle.dumps(schema)) == schema  # noqa: S301
    assert hash(schema) == hash(Schema((AGE, MARITAL), impossible=(rule,)))
    with pytest.raises(AttributeError):
        schema.columns = ()
