"""Schemas as TOML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidSchema
from pramana.schema.domains import Bins, Categories, label_text
from pramana.schema.origins import Provenance
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Impossible, Schema

EXAMPLE = """
strata = ["region"]
choices = [["sex", "age"]]
impossible = [ {age = ["[0, 16)"], marital = ["married", {missing = true}]} ]
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.age]
role = "key"
bins = [0, 16, 40, 70]     # [0, 16) ... [40, 70]
release = "centre"
missing = "category"
[columns.marital]
role = "key"
categories = ["single", "married"]
ordered = true
missing = "keep"
exempt = ["single"]
[columns.income]
role = "sensitive"
[columns.region]
role = "key"
randomise = false
"""


def test_the_form_of_the_design_is_read():
    """Every entry arrives where it belongs."""
    schema = Schema.from_toml(EXAMPLE)
    assert schema.column("sex") == Column("sex", Role.KEY, Categories(("F", "M")))
    assert schema.column("age").domain == Bins((0, 16, 40, 70), release="centre")
    assert schema.column("age").missing == "category"
    assert schema.column("marital").domain == Categories(("single", "married"), ordered=True)
    assert schema.column("marital").fixed == ("single", None)
    assert schema.column("income") == Column("income", Role.SENSITIVE)
    assert [c.name for c in schema.randomised] == ["sex", "age", "marital"]
    assert schema.impossible == (Impossible.of({"age": ["[0, 16)"], "marital": ["married", None]}),)
    assert schema.strata == ("region",)
    assert schema.choices == (("sex", "age"),)


def test_impossible_may_be_an_array_of_tables():
    """[[impossible]] is the same as a list of inline tables."""
    text = EXAMPLE.replace(
        'impossible = [ {age = ["[0, 16)"], marital = ["married", {missing = true}]} ]', ""
    )
    text += '[[impossible]]\nage = ["[0, 16)"]\nmarital = ["married", {missing = true}]\n'
    assert Schema.from_toml(text) == Schema.from_toml(EXAMPLE)


@pytest.mark.parametrize(
    ("word", "role"),
    [("keyVars", "key"), ("quasi_ident", "key"), ("quasi-identifier", "key"), ("key_vars", "key"),
     ("sens_att", "sensitive"), ("sensitive_attribute", "sensitive"), ("weightVar", "weight"),
     ("sampling_weight", "weight"), ("ident", "identifier"), ("direct_identifier", "identifier"),
     ("insensitive", "public"), ("KEY", "key")],
)  # fmt: skip
def test_words_of_other_tools_are_understood(word, role):
    """As the role of a column and as a list at the top."""
    by_role = Schema.from_toml(f'[columns.a]\nrole = "{word}"\n')
    by_list = Schema.from_toml(f'{word} = ["a"]\n')
    assert by_role == by_list == Schema((Column("a", Role(role)),))


def test_lists_give_roles_to_columns_described_below():
    """A column named in a list needs no role of its own, and may repeat it."""
    schema = Schema.from_toml('keyVars = ["a", "b"]\n[columns.a]\ncategories = [1, 2]\n')
    assert schema.names == ("a", "b")
    assert schema.column("a").domain == Categories((1, 2))
    assert Schema.from_toml('strataVar = "a"\nplain = ["a"]').strata == ("a",)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[columns.a", "valid TOML"),
        ('colums = ["a"]', "'colums'. Did you mean 'columns'"),
        ('[columns.a]\nrole = "key"\ncategorie = ["x"]', "Did you mean 'categories'"),
        ('[columns.a]\nrole = "sensitve"', "Role of 'a'.*Did you mean 'sensitive'"),
        ("[columns.a]\nrole = 3", "Role of 'a'"),
        ('[columns.a]\nrole = "sens\\nitive"', "Role of 'a'"),
        ('[columns.a]\nrole = "key"\n"x\\ny" = 1', "unknown entry"),
        ("[columns.a]\ncategories = [1, 2]", "'a' must have a role"),
        ('keys = ["a"]\nsensitive = ["a"]', "'a' has two roles"),
        ('keys = ["a"]\n[columns.a]\nrole = "public"', "'a' has two roles"),
        ("keys = 3", "list of column names"),
        ("columns = 3", "tables"),
        ("columns = {a = 3}", "tables"),
        ("choices = 3", "choices must state"),
        ("impossible = [3]", "impossible must state"),
        ('[columns.a]\nrole = "key"\ncategories = [1, 1]', "'a'.*must differ"),
        ('[columns.a]\nrole = "key"\ncategories = [[1]]', "categories of 'a' must state"),
        ('[columns.a]\nrole = "key"\ncategories = ["x"]', "'a' must have at least two values"),
        ('[columns.a]\nrole = "key"\nbins = [1, 3, 2]', "'a'.*rise strictly"),
        ('[columns.a]\nrole = "key"\nbins = [1]', "'a'.*at least two edges"),
        ('[columns.a]\nrole = "key"\nbins = 3', "bins of 'a' must state"),
        ('[columns.a]\nrole = "key"\nbins = [1, 2]\ncategories = [1]', "not both"),
        ('[columns.a]\nrole = "key"\nrelease = "label"', "needs bins"),
        ('[columns.a]\nrole = "key"\nordered = true', "needs categories"),
        ('[columns.a]\nrole = "key"\nrandomise = "yes"', "true or false"),
        ('[columns.a]\nrole = "key"\nmissing = "drop"', "missing of 'a'"),
        ("", "at least one column"),
    ],
)
def test_bad_schemas_are_refused_in_one_line(text, match):
    """The message says what is wrong and where."""
    with pytest.raises(InvalidSchema, match=match) as caught:
        Schema.from_toml(text)
    assert "\n" not in str(caught.value)


def test_errors_of_a_file_name_the_file(tmp_path):
    """Absent, not text, or wrong inside."""
    path = tmp_path / "s.toml"
    with pytest.raises(InvalidSchema, match=r"s\.toml does not exist"):
        Schema.load(path)
    path.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(InvalidSchema, match=r"s\.toml cannot be read"):
        Schema.load(path)
    path.write_text("spam = 1")
    with pytest.raises(InvalidSchema) as refused:
        Schema.load(path)
    assert refused.value.code == "unknown-entry"
    assert refused.value.fields["file"] == str(path)
    assert refused.value.fields["entry"] == "spam"


def test_a_domain_read_off_the_data_says_so(tmp_path):
    """A comment for the reader, an entry for the program."""
    schema = Schema((Column("a", Role.KEY, Categories((1, 2)), origin=Provenance.READ_OFF),))
    assert "# read off the data: check" in schema.to_toml()
    schema.save(tmp_path / "s.toml")
    assert Schema.load(tmp_path / "s.toml") == schema


def test_dates_become_their_iso_text():
    """TOML dates are labels as text."""
    schema = Schema.from_toml('[columns.a]\nrole = "key"\ncategories = [2020-01-31, 2021-01-31]')
    assert schema.column("a").labels == ("2020-01-31", "2021-01-31")


numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
scalars = st.text(max_size=5) | st.integers() | st.booleans() | numbers
categories = st.builds(
    Categories, st.lists(scalars, min_size=2, max_size=5, unique_by=label_text).map(tuple),
    ordered=st.booleans()
)  # fmt: skip
edges = st.lists(
    st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9), min_size=3, max_size=6, unique=True
).map(lambda e: tuple(sorted(e)))
bins = st.builds(Bins, edges, release=st.sampled_from(["label", "centre", "draw"]))


@st.composite
def columns(draw, name):
    """Any column that is allowed."""
    role = draw(st.sampled_from([Role.KEY, Role.SENSITIVE, Role.PUBLIC]))
    domain = draw(categories | bins | st.none())
    missing = draw(st.sampled_from(["category", "keep", "refuse", None]))
    choices = [] if domain is None else list(domain.labels)
    if missing != "refuse":
        choices.append(None)
    exempt = draw(st.lists(st.sampled_from(choices), unique=True)) if choices else []
    return Column(name, role, domain, missing, tuple(exempt),
                  draw(st.none() | st.booleans()), draw(st.sampled_from(Provenance)))  # fmt: skip


@st.composite
def schemas(draw):
    """Any schema, with impossible combinations, strata and choices where they can be."""
    names = draw(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=4, unique=True))
    made = tuple(draw(columns(name)) for name in names)
    tied = [c for c in made if c.randomised and c.domain is not None][:2]
    rules = ()
    if len(tied) == 2:
        rules = (Impossible.of({c.name: [draw(st.sampled_from(c.domain.labels))] for c in tied}),)
    strata = tuple(c.name for c in made if not c.randomised)
    origin = draw(st.sampled_from(Provenance))
    strata = draw(st.sampled_from([strata, ()]))
    return Schema(made, rules, strata, (tuple(names),), origin=origin)


@given(schemas())
def test_writing_and_reading_is_the_identity(schema):
    """Whatever the names, labels and edges, also quotes, newlines and other alphabets."""
    again = Schema.from_toml(schema.to_toml())
    assert again == schema
    assert [type(v) for c in again.columns if c.domain for v in c.domain.labels] == [
        type(v) for c in schema.columns if c.domain for v in c.domain.labels
    ]


SEX = '[columns.sex]\nrole = "key"\ncategories = ["F", "M"]\n'


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ('impossible = [{sex = ["X"], age = [1]}]\n' + SEX + '[columns.age]\nrole = "key"\n'
         "categories = [1, 2]\n", ", impossible"),
        ('keys = ["sex"]\nsensitive = ["sex"]\n[columns.sex]\nmissing = "keep"\n',
         ", sensitive"),
        ('sensitive = ["pay"]\n[columns.sex]\nmissing = "keep"\n', ""),
        (SEX + '[columns.w]\nrole = "weight"\n[columns.vv]\nrole = "weight"\n', ", role"),
        ("[columns]\nsex = 3\n", ", sex"),
    ],
)  # fmt: skip
def test_errors_name_the_entry_that_is_wrong(text, entry, tmp_path):
    """In the columns, and above them what a rule or list says."""
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(InvalidSchema) as refused:
        Schema.load(path)
    assert str(refused.value).startswith(f"{path}{entry}: ")
    assert refused.value.fields["file"] == str(path)


@pytest.mark.parametrize("text", [SEX + 'categories = ["F"]\n', SEX + SEX])
def test_what_is_no_toml_is_refused_with_the_line_that_the_parser_names(text, tmp_path):
    """Entries and columns that are there twice."""
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(InvalidSchema, match=r"s\.toml: .*\(at line 4, "):
        Schema.load(path)
