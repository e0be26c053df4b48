"""Every wrong value of every key of a schema file is refused with its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from pramana.errors import PramanaError
from pramana.schema.schema import Schema
from pramana.schema.schema_entries import COLUMN_ENTRIES, TOP_ENTRIES

KEY = '[columns.sex]\nrole = "key"\ncategories = ["F", "M"]\n'
AGE = '[columns.age]\nrole = "key"\nbins = [0, 18, 65, 120]\n'
PAY = '[columns.pay]\nrole = "sensitive"\n'

# The wrong line ends with "# !"; what stands before it is right.
IN_COLUMNS = {
    "role": [
        f'{KEY}[columns.b]\nrole = "kee" # !\n',
        f"{KEY}[columns.b]\nrole = 3 # !\n",
        f"{KEY}[columns.b]\nrole = [] # !\n",
        f'{KEY}household = "b" # !\n',
        'sensitive = ["b"]\n[columns.b]\nrole = "key" # !\ncategories = [1, 2]\n',
        f'{KEY}[columns.w]\nrole = "weight"\n[columns.v]\nrole = "weight" # !\n',
        f'household = "b" # !\n{KEY}[columns.b]\nrole = "public"\n',
    ],
    "categories": [
        f'{KEY}[columns.b]\nrole = "key"\ncategories = [] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\ncategories = ["x"] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\ncategories = ["x", "x"] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\ncategories = [[1], [2]] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\ncategories = [nan, 2] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\ncategories = [{{missing = true}}, 2, 3] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\nbins = [1, 2, 3]\ncategories = [1, 2] # !\n',
    ],
    "integers": [
        f'{AGE}integers = "yes" # !\n',
        f"{KEY}integers = true # !\n",
    ],
    "ordered": [
        f'{KEY}ordered = "yes" # !\n',
        f"{AGE}ordered = true # !\n",
    ],
    "bins": [
        f'{KEY}[columns.b]\nrole = "key"\nbins = 3 # !\n',
        f'{KEY}[columns.b]\nrole = "key"\nbins = [3] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\nbins = [3, 2, 1] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\nbins = [1, "x"] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\nbins = [1, nan, 3] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\nbins = [true, false] # !\n',
    ],
    "points": [
        f'{KEY}[columns.b]\nrole = "key"\npoints = [3] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\npoints = [3, 2] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\npoints = ["x", 2] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\npoints = [0, nan] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\npoints = [0, 0.5] # !\n',
        f'{KEY}[columns.b]\nrole = "public"\npoints = [0, 5] # !\n',
    ],
    "range": [
        f'{KEY}[columns.b]\nrole = "key"\ngrid = 3\nrange = 3 # !\n',
        f'{KEY}[columns.b]\nrole = "key"\ngrid = 3\nrange = [0, inf] # !\n',
        f'{KEY}[columns.b]\nrole = "key"\ngrid = 3\nrange = [0, 2.5] # !\n',
    ],
    "grid": [
        f'{KEY}[columns.b]\nrole = "key"\nrange = [0, 9]\ngrid = 1 # !\n',
        f'{KEY}[columns.b]\nrole = "key"\nrange = [0, 9]\ngrid = 11 # !\n',
        f'{KEY}[columns.b]\nrole = "key"\nrange = [0, 9]\ngrid = "x" # !\n',
        f'{KEY}[columns.b]\nrole = "key"\ngrid = 3 # !\n',
    ],
    "step": [
        f'{KEY}[columns.b]\nrole = "key"\nrange = [0, 9]\ngrid = 3\nstep = 0 # !\n',
        f'{KEY}[columns.b]\nrole = "key"\npoints = [0, 9]\nstep = "x" # !\n',
        f'{KEY}[columns.b]\nrole = "key"\nstep = 3 # !\n',
    ],
    "labels": [
        f"{AGE}labels = 3 # !\n",
        f'{AGE}labels = ["a"] # !\n',
        f'{AGE}labels = ["a", "a", "b"] # !\n',
        f'{AGE}labels = [["a"], "b", "c"] # !\n',
        f'{KEY}labels = ["a", "b"] # !\n',
    ],
    "release": [
        f'{AGE}release = "middle" # !\n',
        f"{AGE}release = 3 # !\n",
        f'{KEY}release = "draw" # !\n',
        '[columns.b]\nrole = "key"\nbins = [0, 1, inf]\nrelease = "draw" # !\n',
    ],
    "missing": [
        f'{KEY}missing = "drop" # !\n',
        f"{KEY}missing = true # !\n",
        f"{KEY}missing = [] # !\n",
    ],
    "missing_values": [
        f"{KEY}missing_values = [[1]] # !\n",
        f"{PAY}missing_values = [9] # !\n",
        f'{KEY}missing = "refuse"\nmissing_values = ["M"] # !\n',
        f'{KEY}missing_values = ["M", "M"] # !\n',
    ],
    "exempt": [
        f'{KEY}exempt = ["X"] # !\n',
        f'{KEY}exempt = [["F"]] # !\n',
        f'{KEY}missing = "refuse"\nexempt = [{{missing = true}}] # !\n',
    ],
    "randomise": [
        f'{KEY}randomise = "no" # !\n',
        f'{KEY}[columns.w]\nrole = "weight"\nrandomise = true # !\n',
        f'{KEY}[columns.i]\nrole = "identifier"\nrandomise = true # !\n',
    ],
    "origin": [f'{KEY}origin = "luck" # !\n', f"{KEY}origin = 1 # !\n"],
    "missing_codes": [
        f"{KEY}missing_codes = [[1]] # !\n",
        f'{KEY}[columns.i]\nrole = "identifier"\nmissing_codes = [1] # !\n',
    ],
    "date": [
        f'{PAY}date = "week" # !\n',
        f"{PAY}date = 3 # !\n",
        f'{KEY}[columns.i]\nrole = "identifier"\ndate = "year" # !\n',
    ],
    "date_format": [
        f'{PAY}date = "year"\ndate_format = 3 # !\n',
        f'{PAY}date = "year"\ndate_format = "nothing" # !\n',
        f'{PAY}date_format = "%d.%m.%Y" # !\n',
    ],
    "merge": [
        f"{KEY}merge = 3 # !\n",
        f"{KEY}merge = {{other = []}} # !\n",
        f'{KEY}merge = {{a = ["F"], b = ["F"]}} # !\n',
        f'{KEY}merge = {{a = [["F"]]}} # !\n',
    ],
    "hierarchy": [
        f"{KEY}hierarchy = 3 # !\n",
        f'{KEY}hierarchy = {{file = "nosuch.csv", level = "all"}} # !\n',
    ],
    "bottom": [
        f'{PAY}bottom = "x" # !\n',
        f"{PAY}bottom = nan # !\n",
        f"{PAY}bottom = true # !\n",
        f"{PAY}top = 3\nbottom = 9 # !\n",
    ],
    "top": [
        f'{PAY}top = "x" # !\n',
        f"{PAY}top = inf # !\n",
    ],
    "round": [
        f"{PAY}round = 0 # !\n",
        f"{PAY}round = -1 # !\n",
        f'{PAY}round = "x" # !\n',
        f"{PAY}round = true # !\n",
    ],
    "noise": [
        f"{PAY}noise = 3 # !\n",
        f'{PAY}noise = {{distribution = "cauchy", scale = 3}} # !\n',
        f'{PAY}noise = {{distribution = "laplace", scale = 0}} # !\n',
        f'{PAY}noise = {{distribution = "laplace", scale = "x"}} # !\n',
        f'{PAY}noise = {{distribution = "laplace"}} # !\n',
        f'{KEY}noise = {{distribution = "laplace", scale = 3}} # !\n',
    ],
}
BOTH = KEY + AGE
AT_THE_TOP = {
    "rest": [f'rest = "keep" # !\n{KEY}', f"rest = [1] # !\n{KEY}"],
    "dataset": [f'dataset = {{titel = "x"}} # !\n{KEY}', f"dataset = 3 # !\n{KEY}"],
    "origin": [f'origin = "luck" # !\n{KEY}', f"origin = [1] # !\n{KEY}"],
    "missing_codes": [f"missing_codes = [[1]] # !\n{KEY}"],
    "strata": [
        f"strata = 3 # !\n{KEY}",
        f'strata = ["nosuch"] # !\n{KEY}',
        f'strata = ["sex"] # !\n{KEY}',
    ],
    "impossible": [
        f"impossible = 3 # !\n{BOTH}",
        f"impossible = [3] # !\n{BOTH}",
        f'impossible = [{{sex = ["F"]}}] # !\n{BOTH}',
        f'impossible = [{{sex = ["F"], age = []}}] # !\n{BOTH}',
        f'impossible = [{{sex = ["F"], age = ["x"]}}] # !\n{BOTH}',
        f'impossible = [{{sex = [["F"]], age = ["[0, 18)"]}}] # !\n{BOTH}',
        f'impossible = [{{sex = ["F"], nosuch = ["x"]}}] # !\n{BOTH}',
        f'impossible = [{{sex = ["F"], pay = ["x"]}}] # !\n{BOTH}{PAY}',
        'impossible = [ # !\n  {sex = ["F"], age = ["[0, 18)"]},\n'
        f'  {{sex = ["F"], age = ["x"]}},\n]\n{BOTH}',
        f'{BOTH}\n[[impossible]] # !\nsex = ["F"]\nage = ["x"]\n',
    ],
    "choices": [
        f"choices = 3 # !\n{KEY}",
        f'choices = [["nosuch"]] # !\n{KEY}',
        f"choices = [[3]] # !\n{KEY}",
    ],
    "tables": [
        f"tables = 3 # !\n{KEY}",
        f'tables = ["nosuch"] # !\n{KEY}',
        f'tables = ["sex*sex"] # !\n{KEY}',
        f'tables = ["sex*"] # !\n{KEY}',
        f'tables = [""] # !\n{KEY}',
        f'tables = ["name"] # !\n{KEY}[columns.name]\nrole = "identifier"\n',
    ],
    "household": [
        f"household = 3 # !\n{KEY}",
        f'household = "sex" # !\n{KEY}',
        f'household = "" # !\n{KEY}',
    ],
    "replicate_weights": [
        f"replicate_weights = 3 # !\n{KEY}",
        f'replicate_weights = {{method = "brr"}} # !\n{KEY}',
        f'replicate_weights = {{columns = "r*", method = "brr"}} # !\n{KEY}',
        f'replicate_weights = {{columns = ["r"], method = "spam"}} # !\n{KEY}',
        f'replicate_weights = {{columns = ["r"], method = "brr"}} # !\n{KEY}',
        f'replicate_weights = {{columns = ["sex"], method = "brr"}} # !\nweight = "w"\n{KEY}',
        f'replicate_weights = {{columns = ["r"], fay = "x"}} # !\nweight = "w"\n{KEY}',
        f'replicate_weights = {{columns = ["r"], scale = -1}} # !\nweight = "w"\n{KEY}',
    ],
    "keys": [f"keys = 3 # !\n{KEY}", f"keys = [3] # !\n{KEY}", f'keys = ["a", ""] # !\n{KEY}'],
    "sensitive": [
        f"sensitive = [3] # !\n{KEY}",
        f'public = ["a"]\nsensitive = ["a"] # !\n{KEY}',
    ],
    "public": [f"public = {{}} # !\n{KEY}"],
    "identifiers": [f"identifiers = [true] # !\n{KEY}"],
    "weight": [f"weight = 3 # !\n{KEY}", f'weight = ["a", "b"] # !\n{KEY}'],
}
FURTHER = {
    "spam": [f"spam = 1 # !\n{KEY}", f"{KEY}spam = 1 # !\n"],
    "columns": ["columns = 3 # !\n"],
    "sex": ["[columns]\nsex = 3 # !\n"],
}
CASES = [
    (key, text)
    for cases in (IN_COLUMNS, AT_THE_TOP, FURTHER)
    for key, texts in cases.items()
    for text in texts
]


@pytest.mark.parametrize(("key", "text"), CASES)
def test_what_is_wrong_is_named_by_its_key(key: str, text: str, tmp_path: Path) -> None:
    """One line of words: file, key, and what must hold."""
    place = tmp_path / "s.toml"
    place.write_text(text)
    if key == "role" and "household" in text:
        key = "household"
    with pytest.raises(PramanaError) as refused:
        Schema.load(place)
    said = str(refused.value)
    assert said.startswith(f"{place}, {key}: "), said
    assert "\n" not in said


def test_every_key_of_the_reference_is_tried() -> None:
    """Those of columns, and those at the top."""
    assert set(IN_COLUMNS) == set(COLUMN_ENTRIES)
    assert set(AT_THE_TOP) == set(TOP_ENTRIES)
