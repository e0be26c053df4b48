"""Every command that is printed can be pasted, one after the other, whatever columns are called."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import pramana as pm
from pramana.base.text import (
    as_list,
    as_table,
    as_tables,
    names_of_table,
    parts_of,
    tables_in,
)
from pramana.cli.app import main
from pramana.evaluation.cli_hints import CliHints
from pramana.evaluation.schema_suggestions import DROPPED, SchemaSuggestion

ODD = ("sex, as told", "a*b", "-lead", 'say "x"', "größe", "o'neil $HOME!", "tab\there", "*", '"')
RECORDS = 600
STUB = r"""pramana() { printf '%s\0' "$@"; printf '\1'; }
"""


def read_by_shell(line: str) -> list[str]:
    """The words of a command as bash reads them; of several, one after the other, the first."""
    return all_read_by_shell(line)[0]


def all_read_by_shell(line: str) -> list[list[str]]:
    """The words of each command of a line."""
    done = subprocess.run(
        ["bash", "-c", STUB + line], capture_output=True, check=True, text=True, timeout=20
    )
    assert not done.stderr
    return [words.split("\0")[:-1] for words in done.stdout.split("\1")[:-1]]


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> list[str]:
    """The commands in what a command says, each of which has a line to its end."""
    with pytest.raises(SystemExit) as left:
        main(words)
    told = capsys.readouterr()
    assert left.value.code == code, told.err
    found = re.findall(r"^(?:.*: | *)(pramana (?!: ).*)$", told.out + told.err, re.MULTILINE)
    return [line.rstrip() for line in found]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table of odd names, from whose file no word may begin an option."""
    rng = np.random.default_rng(3)
    alike, codes = rng.integers(0, 5, RECORDS), np.array(list("nswec"))
    columns = {
        name: codes[np.where(rng.random(RECORDS) < 0.7, alike, rng.integers(0, 4, RECORDS))]
        for name in ODD
    }
    columns["pay"] = rng.integers(100, 999, RECORDS)
    csv.write_csv(pa.table(columns), tmp_path / "-people of.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def paste_all(capsys: pytest.CaptureFixture[str], lines: list[str]) -> None:
    assert len(set(lines)) == len(lines)
    for words in (words for line in lines for words in all_read_by_shell(line)):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 0, (words, capsys.readouterr().err)
        capsys.readouterr()


@pytest.mark.deep
def test_commands_of_a_way_from_file_to_release(place: Path, capsys) -> None:
    """Describe, design, advise: all that they print, in order, twice."""
    del place
    (first,) = printed(capsys, "describe", "./-people of.csv", "--sensitive", "pay")
    paste_all(capsys, [first])
    target = ("--schema", "schema.toml", "--k", "10")
    for _ in range(2):  # what was written the first time is not written to again
        lines = printed(capsys, "design", "--records", "600", *target, "--method", "retention")
        assert sum("pramana schema" in line for line in lines) >= 3
        paste_all(capsys, lines)
    lines = printed(capsys, "design", "./-people of.csv", *target)
    assert any("--tables" in line for line in lines)
    assert lines[-1] == "pramana protect './-people of.csv' --schema schema.toml --k 10 -o release/"
    paste_all(capsys, [line for line in lines if not re.match("pramana advise", line)])
    tables = as_tables([(ODD[0], ODD[1]), (ODD[3], ODD[8])])
    asked = ("--method", "retention", "--tables", tables)
    lines = printed(capsys, "design", "--records", "600", *target, *asked)
    assert sum("--joint" in line for line in lines) == 1
    paste_all(capsys, lines)
    several = ("--method", "retention,attribute-sampling", "--tables", tables)
    lines = printed(capsys, "advise", "./-people of.csv", *target, *several)
    assert not any("pramana protect" in line for line in lines)  # no method is usable for so few
    assert any("pramana schema" in line for line in lines)
    paste_all(capsys, lines)
    assert pm.verify("release").valid
    again = (*target, "--method", "retention", "--spread", "equal", "-o", "release of it")
    lines = printed(capsys, "protect", "./-people of.csv", *again)
    assert [read_by_shell(line)[:2] for line in lines[:3]] == [
        [verb, "release of it"] for verb in ("verify", "estimate", "report")
    ]
    paste_all(capsys, lines[:3])


def test_a_way_goes_on_with_the_design_as_it_was_asked_for(place: Path, capsys) -> None:
    """The same targets, method, options and tables, without those of what is dropped."""
    del place
    printed(capsys, "describe", "./-people of.csv", "--sensitive", "pay", "-o", "s.toml")
    tables = as_tables([(ODD[0], ODD[1]), (ODD[3], ODD[8])])
    how = ("--k", "10", "--epsilon", "3", "--method", "retention", "--spread", "equal")
    about = CliHints("s.toml", "t.csv", ("--rename",), how[:4], how[4:], tables=tables)
    first, second = all_read_by_shell(about.without([ODD[3]]))
    assert first[:3] == ["schema", "s.toml", "--without"]
    left = as_tables([(ODD[0], ODD[1])])
    assert second == ["design", "t.csv", "--schema", first[-1], *how, "--tables", left, "--rename"]

    lines = printed(capsys, "design", "--records", "600", "--schema", "s.toml", *how)
    then = [all_read_by_shell(line)[1] for line in lines if line.startswith("pramana schema")]
    assert len(then) >= 3
    asked = {("design", "--records", "600", *words[4:]) for words in then}
    place_of_schema = {words[4] for words in then}
    assert len(place_of_schema) == len(then)
    assert {words[3] for words in then} == {"--schema"}
    assert asked == {("design", "--records", "600", where, *how) for where in place_of_schema}


def test_a_refusal_for_want_of_people_alike_ends_with_the_way_out(place: Path, capsys) -> None:
    """The weight, and what splits the rest together; the design that follows is made."""
    rng = np.random.default_rng(5)
    rows = 600
    columns = {"sex": rng.choice(["F", "M"], rows), "age": rng.choice(list("abcde"), rows)}
    columns |= {"w, of all": np.arange(rows) + 17, "area": rng.choice(list("ns"), rows)}
    columns |= {"town": rng.choice([f"t{n}" for n in range(9)], rows)}
    csv.write_csv(pa.table(columns), place / "w.csv")
    roles = ("--keys", "sex,age", "--public", "area,town", "--weight", "w, of all")
    printed(capsys, "describe", "w.csv", *roles, "-o", "w.toml")
    for verb in ("design", "advise", "protect"):
        about = (verb, "w.csv", "--schema", "w.toml", "--k", "40")
        lines = printed(capsys, *about, *(["-o", "r"] if verb == "protect" else []), code=2)
        ((first, then),) = map(all_read_by_shell, lines)
        assert first[:-1] == ["schema", "w.toml", "--without", '"w, of all",town', "-o"]
        assert then == ["design", "w.csv", "--schema", first[-1], "--k", "40"]
        paste_all(capsys, lines)
    better = read_by_shell(lines[0])[-1]
    assert pm.Schema.load(better)["area"].role is pm.Role.PUBLIC
    printed(capsys, "design", "w.csv", "--schema", better, "--k", "40")


@pytest.mark.deep
def test_a_weight_that_alone_splits_the_anonymity_set_is_coarsened_and_kept(
    place: Path, capsys
) -> None:
    """The refusal ends with steps that leave more than noise; names and reading are repeated."""
    rng = np.random.default_rng(5)
    rows = 600
    columns = {"sex": rng.choice(["F", "M"], rows), "age": rng.choice(list("abcdé"), rows)}
    columns |= {"w, of all": np.arange(rows) + 17}
    csv.write_csv(pa.table(columns), place / "utf.csv")
    (place / "-w.csv").write_bytes((place / "utf.csv").read_text().encode("cp1252"))
    read = ("./-w.csv", "--encoding", "cp1252")
    roles = ("--keys", "sex,age", "--weight", "w, of all")
    (then,) = printed(capsys, "describe", *read, *roles, "-o", "coarse.toml")
    paste_all(capsys, [then])  # what is proposed is coarse enough
    text = (place / "coarse.toml").read_text()
    (place / "w.toml").write_text(re.sub(r"^(round|top) = .*\n", "", text, flags=re.MULTILINE))
    for verb in ("design", "advise", "protect"):
        about = (verb, *read, "--schema", "w.toml", "--k", "5")
        lines = printed(capsys, *about, *(["-o", "r"] if verb == "protect" else []), code=2)
        assert "--coarsen '\"w, of all\"' --table ./-w.csv --encoding cp1252 -o " in lines[0]
        paste_all(capsys, lines)
    better = read_by_shell(lines[0])[-1]
    with pytest.raises(SystemExit):
        main([*read_by_shell(lines[0]), "--force"])
    said = capsys.readouterr().err
    assert "'w, of all' in steps: the sum of all weights is " in said
    (then,) = re.findall(r"Design by it: (pramana .*)$", said, re.MULTILINE)
    about = ["design", "./-w.csv", "--schema", better, "--k", "20", "--encoding", "cp1252"]
    assert read_by_shell(then) == about
    assert pm.Schema.load(better)["w, of all"].role is pm.Role.WEIGHT
    printed(capsys, "design", *read, "--schema", better, "--k", "5")
    made = pm.design(pm.Schema.load(better), pm.PkAnonymity(5), data="utf.csv")
    assert made.anonymity_set >= rows / 50


def test_a_key_of_the_household_is_refused_with_the_way_out(place: Path, capsys) -> None:
    """Dropped, the design is made."""
    rng = np.random.default_rng(8)
    homes = np.repeat(np.arange(120), 3)
    columns = {"home": homes, "area": rng.choice(list("ns"), 120)[homes]}
    columns |= {"sex": rng.choice(["F", "M"], 360), "age": rng.choice(list("abcde"), 360)}
    csv.write_csv(pa.table(columns), place / "h.csv")
    printed(capsys, "describe", "h.csv", "--keys", "area,sex,age", "-o", "h.toml")
    text = (place / "h.toml").read_text()
    (place / "h.toml").write_text(f'household = "home"\n{text}')
    lines = printed(capsys, "design", "h.csv", "--schema", "h.toml", "--k", "5", code=2)
    better = "h-without-area.toml"
    assert lines == [
        f"pramana schema h.toml --without area -o {better} && "
        f"pramana design h.csv --schema {better} --k 5"
    ]
    paste_all(capsys, lines)
    printed(capsys, "design", "h.csv", "--schema", "h-without-area.toml", "--k", "5")


def test_a_table_without_keys_is_not_sent_on_to_a_design(place: Path, capsys) -> None:
    """The command that names them is told; with them the next one is made."""
    rng = np.random.default_rng(8)
    sales = {name: rng.lognormal(8, 2, 300).round(2) for name in ("sales", "debt", "profit")}
    csv.write_csv(pa.table(sales), place / "firms.csv")
    told = printed(capsys, "describe", "firms.csv", "-o", "firms.toml")
    assert told == ["pramana describe firms.csv --keys A,B -o firms.toml --force"]
    paste_all(capsys, printed(capsys, *read_by_shell(told[0].replace("A,B", "sales,debt"))))


@pytest.mark.parametrize(("rows", "k"), [(40, "8"), (2_000, "20")])
@pytest.mark.deep(every=2)
def test_the_first_design_is_made_and_its_release_asked(place: Path, capsys, rows, k) -> None:
    """Also where people are few, have weights of their own, and tell a few columns each."""
    rng = np.random.default_rng(9)
    columns = {name: rng.integers(0, 12, rows) for name in ("age", "region", "sex", "educ", "race")}
    csv.write_csv(pa.table(columns | {"weight": rng.uniform(1, 9, rows)}), place / "few.csv")
    (advise,) = printed(capsys, "describe", "few.csv", "-o", "few.toml")
    assert advise == f"pramana advise few.csv --schema few.toml --k {k}"
    design = advise.replace("advise", "design", 1)
    *_, protect = printed(capsys, *read_by_shell(design))
    told = printed(capsys, *read_by_shell(protect))
    paste_all(capsys, told)


@pytest.mark.parametrize("name", [*ODD, "new\nline", "\x1b[2J", " edge ", "a,b*c", "‮x"])
def test_names_come_back_from_lists_tables_and_shells(name: str) -> None:
    """Alone, beside others, and through a shell."""
    assert parts_of(as_list([name, "x", name])) == [name, "x", name]
    assert names_of_table(as_table([name, "x"])) == (name, "x")
    assert tables_in(as_tables([(name, "x"), ("y", name)])) == [(name, "x"), ("y", name)]
    line = CliHints("s.toml").without([name, "x"])
    words = read_by_shell(line)
    assert line.isprintable()
    assert words[2:4] == ["--without", as_list([name, "x"])]
    assert re.fullmatch(r"[\w.-]+\.toml", words[-1])


def test_plain_lists_are_read_as_before() -> None:
    """Blanks and empty parts mean nothing; quotes that do not close are letters."""
    assert parts_of(" sex, age ,,region,") == ["sex", "age", "region"]
    assert tables_in("sex*age, region * sex,") == [("sex", "age"), ("region", "sex")]
    assert parts_of('5" pipe, "open') == ['5" pipe', '"open']
    assert parts_of('"a""b"') == ['a"b']


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (".venv/bin/pramana", ".venv/bin/pramana"),
        ("/no where/bin/pramana", "'/no where/bin/pramana'"),
        ("/usr/bin/pytest", "pramana"),
    ],
)
def test_commands_call_the_program_as_it_was_typed(typed, told, monkeypatch) -> None:
    """After ``make demo`` it is not on the path; where it is, its name will do."""
    monkeypatch.setattr("sys.argv", [typed])
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert CliHints("s.toml", "t.csv").of("design") == f"{told} design t.csv --schema s.toml"
    monkeypatch.setattr("shutil.which", lambda _: "/bin/pramana")
    monkeypatch.setattr("sys.argv", ["/usr/bin/pramana"])
    assert CliHints("s.toml", "t.csv").of("design") == "pramana design t.csv --schema s.toml"


def test_every_place_is_free_and_its_own(place: Path) -> None:
    """Names that differ in capitals alone, or in letters that no file is named by."""
    (place / "s-without-a.toml").write_text("taken")
    (place / "release").mkdir()
    columns = ("a", "A", "a ", "a/b", "a b")
    told = CliHints("s.toml", "t.csv").ways(
        [SchemaSuggestion("", name, DROPPED, 0.1, 0.2) for name in columns]
    )
    outs = [read_by_shell(one.command)[-1] for one in told]
    assert len({out.casefold() for out in outs}) == len(outs)
    assert not any((place / out).exists() for out in outs)
    assert read_by_shell(CliHints("s.toml", "t.csv").release())[-1] == "release-2/"
