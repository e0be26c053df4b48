"""Names that hold commands for a terminal are shown, never obeyed."""

from __future__ import annotations

from io import StringIO

import pyarrow as pa
import pytest
from pyarrow import parquet

import pramana as pm
from pramana import api
from pramana.cli.app import main
from pramana.cli.rendering import out
from pramana.errors import PramanaError, harmless
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

CLEAR = "\x1b[2J\x1b[31m"
BAD = {
    f"a{CLEAR}": ["x", "y"] * 50,
    "b\x9b5m\u202e\u200f": ["p", "q"] * 50,
    "c\r\x07\x08": [1.5, 2.5] * 50,
}


def run(capfd, *words):
    """What a command writes."""
    with pytest.raises(SystemExit):
        main(list(words))
    shown = capfd.readouterr()
    return shown.out + shown.err


def test_no_command_reaches_the_terminal(tmp_path, capfd):
    """Describe, an error, and the verification of a folder whose name is hostile."""
    table, folder = tmp_path / "people.parquet", tmp_path / f"r{CLEAR}"
    parquet.write_table(pa.table(BAD), table)
    folder.mkdir()
    (folder / "certificate.json").write_text("{}")
    shown = [
        run(capfd, "describe", str(table)),
        run(capfd, "describe", str(tmp_path / f"no{CLEAR}.csv")),
        run(capfd, "verify", str(folder)),
        run(capfd, "verify", str(tmp_path / f"no{CLEAR}")),
    ]

    for text in shown:
        assert not set(text) & set("\x1b\x9b\x07\x08\r\u202e\u200f")
    assert "\\x1b[2J" in shown[0]


def test_tables_and_markup_pass_through_the_same_door(capsys):
    """Whatever is printed: a text, a table, a part of a line."""
    from rich.table import Table

    table = Table(f"head{CLEAR}")
    table.add_row(f"cell{CLEAR}")
    out().print(table)
    out().print(f"line{CLEAR}", markup=False)

    assert "\x1b" not in capsys.readouterr().out


def test_printable_text_stays_as_it_is():
    """Letters of all scripts, tabs and ends of lines."""
    assert harmless("Straße, 東京, עברית\tab\n") == "Straße, 東京, עברית\tab\n"


def test_estimates_in_csv_have_no_commands(tmp_path, capfd):
    """Names of columns and labels come from the truth: they are spelled out here too."""
    hostile = f"a{CLEAR}"
    table = pa.table({hostile: [f"x{CLEAR}", "y"] * 50})
    domain = Categories((f"x{CLEAR}", "y"))
    schema = Schema((Column(hostile, Role.KEY, domain, missing="refuse"),))
    plan = api.design(schema, DifferentialPrivacy(1), data=table, method="retention")
    api.protect(table, plan, to=tmp_path / "release")
    shown = run(capfd, "estimate", str(tmp_path / "release"), "--by", hostile, "--csv")

    assert "\x1b" not in shown
    assert "x\\x1b[2J" in shown


def test_tables_cut_nothing_and_long_names_leave_room_for_numbers() -> None:
    """Of many columns every digit is there; beside a long name numbers stay in one line."""
    from rich.console import Console

    from pramana.cli.rendering import table_of

    def shown(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
        console = Console(width=100, record=True, file=StringIO())
        console.print(table_of(heads, rows, right=heads[1:]))
        return console.export_text()

    wide = ("cell", *(f"method {at}" for at in "abcdefghijkl"))
    text = shown(wide, [("South, [60, 100]", *("123,456" for _ in range(12)))])
    assert sum(letter.isdigit() for letter in text) == 5 + 12 * 6
    long = shown(
        ("attack", "found", "low", "high"),
        [("inference of " + "x" * 90, "74.2 %", "72.9 %", "75.4 %")],
    )
    assert "74.2 %" in long
    assert "75.4 %" in long
    titled = shown(("what is asked of whom " * 4, "count", "interval"), [("a", "2,166", "1 to 9")])
    assert "2,166" in titled
    assert "1 to 9" in titled


def test_nothing_that_shows_itself_at_the_prompt_commands_it(tmp_path):
    """Who loads a release of strangers in Python prints it, its tables, models and errors."""
    names = list(BAD)
    columns = [Column(name, Role.KEY, Categories(("x", f"y{CLEAR}")), missing="refuse")
               for name in names[:2]]  # fmt: skip
    schema = Schema((*columns, Column(names[2], Role.SENSITIVE)))
    labels = ["x", f"y{CLEAR}"]
    table = pa.table({names[0]: labels * 200, names[1]: (labels[::-1] + labels) * 100,
                      names[2]: [1.5, 2.5] * 200})  # fmt: skip
    plan = api.design(schema, DifferentialPrivacy(6), data=table, method="retention")
    api.protect(table, plan, to=tmp_path / "release", accept_risk=[names[2]])
    release = api.load(tmp_path / "release")
    with pytest.raises(PramanaError) as caught:
        release.crosstab(f"no{CLEAR}")
    shown = [schema, api.describe(table), plan, release, release.certificate, caught.value,
             release.crosstab(*names[:2]), release.mean(names[2], by=names[0]),
             release.independence(*names[:2]), api.verify(tmp_path / "release"),
             api.audit(release)]  # fmt: skip

    for one in shown:
        for text in (str(one), repr(one) if one is not caught.value else ""):
            assert not set(text) & set("\x1b\x9b\x07\x08\r\u202e\u200f"), type(one)


def test_checks_of_a_kind_are_folded_and_failures_never():
    """Of 28 sets the first three and how many more; every check that failed has its line."""
    from pramana.cli.rendering import _folded, show_verdict
    from pramana.verification.checks import Check, Verdict

    sets = [f"a*b{i}" for i in range(28)]
    stated = [Check.asserted(f"randomisation: {own} replaced", "cannot tell") for own in sets]
    proven = [Check.decided(f"reports of {own}", True, f"p = {i / 28:.2f}")
              for i, own in enumerate(sets)]  # fmt: skip
    assert list(_folded(stated)) == [
        "randomisation: a*b0 replaced, randomisation: a*b1 replaced, randomisation: a*b2 "
        "replaced and 25 more (--json shows all): cannot tell"
    ]
    assert list(_folded(proven))[-2:] == [
        "reports of a*b2: p = 0.07",
        "reports ...: 25 more like these (--json shows all)",
    ]
    few = [Check.decided("columns", True, "as listed"), Check.decided("records", True, "3 records")]
    assert list(_folded(few)) == ["columns: as listed", "records: 3 records"]
    failed = tuple(Check.decided(f"domain of {own}", False, "outside") for own in sets)
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as said:
        show_verdict(Verdict((*failed, *stated, *proven)))
    assert said.getvalue().count("FAIL") == 28
    assert len(said.getvalue().splitlines()) < 28 + 8


def test_the_truth_beside_many_methods_breaks_no_name():
    """Methods that do not fit beside each other stand in a further table."""
    from pramana.cli.rendering import side_by_side

    methods = ("inverse-frequency", "permute", "resample", "gaussian", "centroid", "retention")
    heads = ("State by Age", "truth", *methods)
    rows = [("California/CA, [60, 100]", "1,686", *("1,686",) * 6)]
    parts = list(side_by_side(heads, rows, fixed=2, width=79))
    assert [own for part, _ in parts for own in part[2:]] == list(methods)
    assert len(parts) > 1
    for part, _ in parts:
        assert part[:2] == ("State by Age", "truth")
        assert sum(max(len(head), 7) + 3 for head in part[1:]) + len(rows[0][0]) <= 80


def test_a_name_with_line_breaks_forges_no_line(tmp_path, run) -> None:
    """Of a release that somebody else made: its names stay inside the lines that show them."""
    name = "age\npassed   signature: the signature fits the key\nGREEN The guarantees hold."
    table = pa.table({"sex": ["F", "M"] * 50, name: [1, 1, 2, 2] * 25})
    schema = pm.describe(table, keys=["sex"], sensitive=[name])
    plan = pm.design(schema, pm.PkAnonymity(5), data=table, method="retention")
    pm.protect(table, plan, to=tmp_path / "out")
    for command in (f"verify {tmp_path}/out", f"estimate {tmp_path}/out --by sex"):
        lines = run(command).out.splitlines()
        assert not [line for line in lines if line.startswith("passed   signature")]
