"""The form that editors get and the reader of schema files: what one takes, the other takes."""

from __future__ import annotations

import datetime as dt
import tomllib
from functools import cache

import jsonschema
import pytest

from pramana.errors import PramanaError
from pramana.schema.roles import TERMS
from pramana.schema.schema import Schema
from pramana.schema.schema_entries import COLUMN_ENTRIES, SPELLINGS, TOP_ENTRIES, json_schema

SEX = '[columns.sex]\nrole = "key"\ncategories = ["F", "M"]\n'
AGE = '[columns.age]\nrole = "key"\nbins = [0, 18, 65, 120]\n'
OTHERS = '[columns.c]\nrole = "public"\n[columns.w]\nrole = "weight"\n'
COLUMNS = [
    "",
    'role = "key"\n',
    'role = "key"\ncategories = ["F", "M", "a", 1, true]\n',
    'role = "key"\nbins = [0, 10]\n',
    'role = "key"\npoints = [0, 3, 9]\n',
    'role = "key"\nrange = [0, 9]\n',
    'role = "key"\ngrid = 2\n',
    'role = "key"\nbins = [0, 10, 20]\n',
    'role = "key"\ndate = "year"\n',
    'role = "sensitive"\n',
    'role = "sensitive"\ncategories = [1, 2]\n',
    'role = "public"\n',
    'role = "identifier"\n',
]
SPELLED = """
3 0 -1 1.5 true inf nan "x" "" "key" "Quasi-Identifier" "year" "label" "category" "a*b" "sex" "c"
[] [1] [1,2] [2,1] [0,1,inf] [1.5,2.5] ["a"] ["a","b"] ["a","a"] ["F"] ["F","M"] [true,false]
[1,"a"] [1,1.0] [[1]] [["sex","age"]] [["a"]] [{missing=true}] [{x=1}] {} {a=1} {a=["F"]} {a="F"}
{a=[]} {a=[1,2]} {a=[1,1]} {a={}} 1979-05-27 [1979-05-27] "drop" "%d.%m.%Y" "%Y" "%Y-%m-%q" ["c"]
["sex*age"] "sex*age" "trials" {distribution="laplace",scale=3} {distribution="laplace",scale=inf}
{distribution="laplace",scale=3,more=1} {columns=["r1","r2"],method="jackknife"}
{columns="r*",method="brr"} {columns=["r1","r2"],method="fay",fay=0.5} {columns=["r1"]}
{columns=["r1","r2"],scale=true} {file="levels.csv",level="all"} {file="levels.csv"}
{sex=["F"],age=["[0,18)"]} [{sex="F",age={missing=true}}]
[{sex="F",c=1}] [{sex=["F"]}] [{sex=[],c=[1]}] 9223372036854775807 1e400
"""
VALUES = SPELLED.split()


@pytest.fixture(autouse=True)
def levels(tmp_path, monkeypatch):
    """A file of levels that a hierarchy can name."""
    (tmp_path / "levels.csv").write_text("sex,all\nF,anybody\n")
    monkeypatch.chdir(tmp_path)


@cache
def form() -> jsonschema.Draft202012Validator:
    """What editors check by."""
    return jsonschema.Draft202012Validator(json_schema())


def is_taken_by_editors(text: str) -> bool:
    """Editors know dates of TOML as texts."""
    return form().is_valid(_with_texts(tomllib.loads(text)))


def _with_texts(value):
    if isinstance(value, dict):
        return {name: _with_texts(own) for name, own in value.items()}
    if isinstance(value, list):
        return [_with_texts(own) for own in value]
    return str(value) if isinstance(value, dt.date | dt.time) else value


def is_read(text: str) -> bool:
    """Whether the file is a schema; any other error than one line is a failure."""
    try:
        Schema.from_toml(text)
    except PramanaError:
        return False
    return True


@pytest.mark.parametrize("entry", [*COLUMN_ENTRIES, *SPELLINGS])
def test_what_is_read_of_a_column_is_right_for_editors(entry):
    """Every value in every column that may have it."""
    texts = [
        f"[columns.b]\n{column}{entry} = {value}\n"
        for column in COLUMNS
        for value in VALUES
        if f"{SPELLINGS.get(entry, entry)} =" not in column
    ]
    read = [text for text in texts if is_read(text)]

    assert read
    assert [text for text in read if not is_taken_by_editors(text)] == []


@pytest.mark.parametrize(
    "entry", [*TOP_ENTRIES, "columns", "keyVars", "Sens-Att", "strataVar", "KEYS"]
)
def test_what_is_read_at_the_top_is_right_for_editors(entry):
    """In words of our own, and in those of other tools."""
    texts = [
        f"{entry} = {value}\n{more}"
        for more in (SEX + AGE, SEX + AGE + OTHERS, "")
        for value in [*VALUES, '{a={role="key"}}']
    ]
    read = [text for text in map(_readable, texts) if is_read(text)]

    assert read
    assert [text for text in read if not is_taken_by_editors(text)] == []


def _readable(text: str) -> str:
    """The text, or an empty one where it is no TOML: columns cannot be stated twice."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ""
    return text


WRONG_IN_COLUMNS = {
    "role": ['"kee"', '""', "3"],
    "categories": ["[]", '["a","a"]', "[{missing=true}]", "[[1]]", "[1,inf]", "{}"],
    "bins": ["3", "[1]", '[1,"x"]', "[true,false]"],
    "labels": ["3", '["a","a"]', "[1]"],
    "missing_values": ["[{missing=true}]", "[1,1.0]", "[inf]"],
    "missing_codes": ["[{missing=true}]", '["N","N"]', "[[1]]"],
    "exempt": ["[[1]]", "[{missing=false}]"],
    "date_format": ['"x"', '"%Y"', '"%m"', '"%Y-%m-%q"', "3"],
    "merge": ["3", "{a=[]}", "{a=[1,1]}", "{a=[{missing=true}]}"],
    "top": ["inf", '"x"', "true"],
    "bottom": ["-inf", "1e400"],
    "round": ["0", "-1", "inf", "true"],
    "noise": ['{distribution="laplace"}', '{distribution="laplace",scale=inf}', "3"],
    "rol": ['"key"'],
}
WRONG_AT_THE_TOP = {
    "impossible": ["3", '[{sex="F"}]', '[{sex=[],c=["x"]}]'],
    "keys": ["3", '""', '["sex",""]'],
    "household": ['""', "3", '["c"]'],
    "rest": ['"keep"', "3", '["drop"]'],
    "tables": ["3", "[3]"],
    "choices": ['"sex"', "3"],
    "replicate_weights": ['{columns=["r1"]}', '{columns=["r1","r1"]}', '{method="brr"}', "3"],
    "columns": ["3", "{a=3}"],
    "keyz": ['["sex"]'],
    "Columns": ["{}"],
}


@pytest.mark.parametrize("entry", WRONG_IN_COLUMNS)
def test_what_is_wrong_by_its_shape_is_wrong_for_editors_too(entry):
    """Of a column: an editor that takes it leaves the mistake for later."""
    for value in WRONG_IN_COLUMNS[entry]:
        columns = [own for own in COLUMNS if f"{entry} =" not in own and (own or entry == "role")]
        texts = [f"[columns.b]\n{own}{entry} = {value}\n" for own in columns]
        assert not any(map(is_read, texts)), value
        assert not any(map(is_taken_by_editors, texts)), value


@pytest.mark.parametrize("entry", WRONG_AT_THE_TOP)
def test_what_is_wrong_at_the_top_by_its_shape_is_wrong_for_editors_too(entry):
    """Also entries that nobody knows: a word that is spelled wrongly was taken."""
    for value in WRONG_AT_THE_TOP[entry]:
        texts = [f"{entry} = {value}\n{own}" for own in (SEX + AGE, SEX + AGE + OTHERS, "")]
        texts = [text for text in texts if _readable(text)]
        assert not any(map(is_read, texts)), value
        assert not any(map(is_taken_by_editors, texts)), value


def test_every_word_for_a_role_is_right_for_editors():
    """In any case, and with the marks that other tools put between."""
    for word in TERMS:
        for spelled in (word, word.upper(), "_".join(word), f" {word}."):
            assert is_taken_by_editors(f"[columns.b]\nrole = {spelled!r}\n"), spelled
            assert is_taken_by_editors(f"{spelled!r} = ['sex']\n"), spelled
