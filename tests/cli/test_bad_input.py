"""Bad input gives one line on stderr, exit code 2, nothing on stdout and nothing on the disk."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from pramana.cli.app import main
from tests.cli.conftest import MARKER, SCHEMA, Run, people_csv

PROTECT = "protect people.csv --schema schema.toml --k 2 -o release"


def refused(run: Run, command: str) -> str:
    """Run a command that must be refused; returns its one line."""
    before = _listing()
    outcome = run(command)
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1, outcome.err
    assert outcome.err.startswith("pramana: ")
    assert MARKER not in outcome.err
    assert "Traceback" not in outcome.err
    assert "unforeseen" not in outcome.err
    assert _listing() == before
    return outcome.err


def _listing() -> dict[str, int]:
    return {str(path): path.stat().st_size for path in Path().rglob("*")}


def people(text: str) -> None:
    Path("people.csv").write_text(text)


def schema(text: str) -> None:
    Path("schema.toml").write_text(text)


def test_an_absent_file_is_named(steward: Path, run: Run) -> None:
    """The line says which file is not there."""
    assert "nobody.csv" in refused(run, PROTECT.replace("people.csv", "nobody.csv"))


def test_an_empty_file_is_refused(steward: Path, run: Run) -> None:
    """A file of no bytes is no table."""
    people("")
    assert "empty" in refused(run, PROTECT)


def test_a_file_with_a_header_only_is_refused(steward: Path, run: Run) -> None:
    """Names of columns are not records."""
    people(people_csv().splitlines()[0] + "\n")
    assert "no records" in refused(run, PROTECT)


def test_one_record_is_too_few_whatever_its_columns_are(steward: Path, run: Run) -> None:
    """A weight is not to blame where all people together are fewer than k."""
    people("\n".join(people_csv().splitlines()[:2]) + "\n")
    assert "The table has 1 record: ask more people." in refused(run, PROTECT)
    lines = people_csv(15).splitlines()
    people("\n".join(f"{line},{at or 'w'}" for at, line in enumerate(lines)) + "\n")
    schema(SCHEMA + '[columns.w]\nrole = "weight"\n')
    for command in (PROTECT, "design people.csv --schema schema.toml", "compare people.csv "
                    "--schema schema.toml --method retention,attribute-sampling"):  # fmt: skip
        line = refused(run, f"{command.replace('--k 2', '')} --k 20")
        assert "The table has 15 records: lower k, or ask more people." in line
        assert "'w'" not in line


@pytest.mark.parametrize("verb", ["design", "advise", "compare --k 2", "protect -o release"])
def test_without_a_schema_the_command_that_writes_one_is_told(
    steward: Path, run: Run, verb: str
) -> None:
    """With the name of the table, as a shell takes it."""
    Path("people.csv").rename("a&b.csv")
    line = refused(run, f"{verb} a&b.csv")
    assert line.endswith("pramana describe 'a&b.csv' -o schema.toml\n")


def test_what_an_original_lacks_is_not_cut_in_silence(steward: Path, run: Run) -> None:
    """Five names, and how many more; one record is no 'records'."""
    names = [f"q{at}" for at in range(9)]
    rows = [",".join(names)] + [",".join("FM"[(at + n) % 2] for n in range(9)) for at in range(60)]
    people("\n".join(rows) + "\n")
    schema("".join(f'[columns.{n}]\nrole = "key"\ncategories = ["F", "M"]\n' for n in names))
    assert run(PROTECT).code == 0
    Path("few.csv").write_text("q0,q8\nF,M\nM,F\n")
    Path("one.csv").write_text("\n".join(rows[:2]) + "\n")
    five = "q1, q2, q3, q4, q5 and 2 more"
    assert f"lacks 7 of 9: {five}." in refused(run, "audit release --original few.csv")
    assert f"lacks 7: {five}." in refused(run, "learn release --target q7 --test few.csv")
    assert "has 1 record where" in refused(run, "audit release --original one.csv")
    assert "has 1 record and" in refused(run, "attack linkage release --original one.csv")


def test_a_csv_file_broken_half_way_is_refused(steward: Path, run: Run) -> None:
    """A line with too many fields is found wherever it stands."""
    lines = people_csv(20_000).splitlines()
    lines[15_000] += f",{MARKER},{MARKER}"
    people("\n".join(lines) + "\n")
    refused(run, PROTECT)


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_a_truncated_parquet_file_is_refused(steward: Path, run: Run, keep: float) -> None:
    """Half a file is no file."""
    pq.write_table(pa.csv.read_csv("people.csv"), "people.parquet")
    content = Path("people.parquet").read_bytes()
    Path("people.parquet").write_bytes(content[: int(len(content) * keep)])
    assert "people.parquet" in refused(run, PROTECT.replace("people.csv", "people.parquet"))


def test_a_parquet_file_with_a_broken_page_is_refused(steward: Path, run: Run) -> None:
    """The end of a file may be whole and its middle not."""
    table = pa.csv.read_csv("people.csv")
    pq.write_table(table, "people.parquet", compression="zstd", use_dictionary=False)
    content = bytearray(Path("people.parquet").read_bytes())
    middle = pq.read_metadata("people.parquet").row_group(0).column(1).data_page_offset
    content[middle : middle + 200] = b"\xff" * 200
    Path("people.parquet").write_bytes(bytes(content))
    refused(run, PROTECT.replace("people.csv", "people.parquet"))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "sav", "dta", "sas7bdat"])
def test_a_file_that_is_not_what_its_ending_says_is_refused(
    steward: Path, run: Run, ending: str
) -> None:
    """Text under another name is not that other format."""
    Path("people.csv").rename(f"people.{ending}")
    assert f"people.{ending}" in refused(run, PROTECT.replace("people.csv", f"people.{ending}"))


def test_a_parquet_file_called_csv_is_refused(steward: Path, run: Run) -> None:
    """And the other way round."""
    pq.write_table(pa.csv.read_csv("people.csv"), "other.csv")
    assert "Parquet" in refused(run, PROTECT.replace("people.csv", "other.csv"))


def test_duplicate_column_names_are_refused(steward: Path, run: Run) -> None:
    """Two columns of one name cannot be told apart."""
    people(people_csv().replace("name,sex", "sex,sex", 1))
    assert "'sex'" in refused(run, PROTECT)


@pytest.mark.parametrize("file", ["people.csv", "people.parquet"])
def test_a_column_in_the_schema_and_not_in_the_file_is_named(
    steward: Path, run: Run, file: str
) -> None:
    """The schema speaks of a column that is not there, whatever the format of the file."""
    pq.write_table(pa.csv.read_csv("people.csv"), "people.parquet")
    schema(SCHEMA + '[columns.shoe_size]\nrole = "key"\ncategories = [1, 2]\n')
    assert "shoe_size" in refused(run, PROTECT.replace("people.csv", file))


def test_a_column_in_the_file_and_not_in_the_schema_is_named(steward: Path, run: Run) -> None:
    """Nothing is released, or dropped, without a word about it."""
    schema(SCHEMA.replace('[columns.income]\nrole = "sensitive"\n', ""))
    assert "income" in refused(run, PROTECT)


def test_values_outside_the_domain_are_counted_and_not_shown(steward: Path, run: Run) -> None:
    """The line names the column and the number of records."""
    text = people_csv()
    people(text.replace(",west,", f",{MARKER},"))
    line = refused(run, PROTECT)
    assert "'region'" in line
    assert str(text.count(",west,")) in line


@pytest.mark.parametrize("verb", ["advise", "compare", "design"])
def test_whatever_tries_methods_refuses_once(steward: Path, run: Run, verb: str) -> None:
    """A value outside the schema is one refusal of the table, not one of each method tried."""
    people(people_csv().replace(",west,", f",{MARKER},"))
    line = refused(run, f"{verb} people.csv --schema schema.toml --k 2")
    assert "'region'" in line


@pytest.mark.parametrize("port", [-1, 65536, 10**12])
def test_a_port_is_a_number_of_16_bits(steward: Path, run: Run, port: int) -> None:
    """A page's port is checked before anything listens."""
    assert "from 0 to 65535" in refused(run, f"studio --port={port} --no-browser")


@pytest.mark.parametrize("given", ["", "--i-understand", "--tls-cert c --tls-key k"])
def test_the_studio_shows_itself_to_no_other_machine_by_mistake(
    steward: Path, run: Run, given: str
) -> None:
    """A host that is not this machine needs the word and TLS files, all three."""
    line = refused(run, f"studio --host 0.0.0.0 --no-browser {given}")
    assert "--i-understand" in line
    assert not (steward / ".pramana-studio").exists()


def test_numbers_outside_the_bins_are_counted(steward: Path, run: Run) -> None:
    """An age of 4711 lies in no bin; the number itself stays unsaid."""
    lines = people_csv().splitlines()
    lines[3] = f"x,F,4711,north,{MARKER}"
    people("\n".join(lines) + "\n")
    line = refused(run, PROTECT)
    assert "'age'" in line
    assert "4711" not in line


@pytest.mark.parametrize("bins", ["[0, 40, 20, 100]", "[0, 20, 20, 100]", "[0]", '["a", "b"]'])
def test_bins_that_overlap_or_fall_are_refused(steward: Path, run: Run, bins: str) -> None:
    """Edges must rise."""
    schema(SCHEMA.replace("[0, 20, 40, 60, 80, 100]", bins))
    assert "age" in refused(run, PROTECT)


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("--k 0.5", "k must be"),
        ("--k 0", "k must be"),
        ("--k -3", "k must be"),
        ("--k nan", "k must be"),
        ("--k 401", "largest attainable k is 399"),
        ("--k 400", "largest attainable k is 399"),
        ("--epsilon 0", "epsilon = 0 can be met by pure noise only"),
        ("--k many", "--k"),
        ("--epsilon -1", "epsilon must be"),
        ("--epsilon nan", "epsilon must be"),
        ("--rho1 0.5 --rho2 0.1", "rho2 must be"),
        ("--rho1 0.5", "--rho1 and --rho2"),
        ("--k 2 --width 2", "--alpha"),
        ("--alpha -1", "alpha must be"),
        ("--xi nan", "xi must be"),
        ("--rho1 nan --rho2 0.5", "rho1 must be"),
        ("--max-error 0", "error must be"),
        ("--max-error nan", "error must be"),
        ("--retention 1.5", "retention must be"),
        ("--k 2 --retention 0.5", "what to aim at"),
        ("", "what to aim at"),
        ("--k 2 --spread wide", "spread must be"),
        ("--k 2 --method magic", "method must be"),
        ("--k 2 --format xlsx", "--format must be"),
        ("--k 2 --sign nobody.key", "nobody.key"),
        ("--k 2 --frobnicate", "--frobnicate"),
    ],
)
def test_numbers_and_words_out_of_their_range_are_refused(
    steward: Path, run: Run, option: str, word: str
) -> None:
    """The line says what must hold."""
    assert word in refused(run, f"protect people.csv --schema schema.toml -o release {option}")


@pytest.mark.parametrize(
    ("matrix", "word"),
    [
        ("truth,F,M\nF,0.9,0.1\n", "square"),
        ("truth,F,M\nF,0.9,0.3\nM,0.2,0.8\n", "sum"),
        ("truth,F,M\nF,1.1,-0.1\nM,0.2,0.8\n", ""),
        ("truth,F,X\nF,0.9,0.1\nX,0.2,0.8\n", "'sex'"),
        ("truth,F,M\nF,0.9,nan\nM,0.2,0.8\n", ""),
        ("", ""),
    ],
)
def test_matrices_that_are_none_are_refused(
    steward: Path, run: Run, matrix: str, word: str
) -> None:
    """Not square, not stochastic, unknown labels: said in one line."""
    head, *columns = SCHEMA.split("[columns.")
    only_sex = [
        c if c.startswith("sex") else re.sub("bins = .*", "", c.replace('"key"', '"plain"'))
        for c in columns
    ]
    schema("[columns.".join([head, *only_sex]))
    Path("sex.csv").write_text(matrix)
    line = refused(run, "design people.csv --schema schema.toml --matrix sex=sex.csv")
    assert word in line


@pytest.mark.parametrize("option", ["sex", "=sex.csv", "sex=", "sex=nobody.csv"])
def test_a_matrix_option_without_column_or_file_is_refused(
    steward: Path, run: Run, option: str
) -> None:
    """COLUMN=FILE, and the file must be there."""
    refused(run, f"design people.csv --schema schema.toml --matrix {option}")


def test_one_record_is_no_anonymity_set(steward: Path, run: Run) -> None:
    """Nobody hides alone."""
    people("\n".join(people_csv().splitlines()[:2]) + "\n")
    assert "anonymity set of 1" in refused(run, PROTECT)
    assert "at least two records" in refused(run, PROTECT.replace("--k 2", "--epsilon 1"))


def test_one_category_cannot_be_randomised(steward: Path, run: Run) -> None:
    """There must be something else to release."""
    schema(SCHEMA.replace('["F", "M"]', '["F"]'))
    people(people_csv().replace(",M,", ",F,"))
    assert "'sex'" in refused(run, PROTECT)


@pytest.mark.deep
def test_a_million_categories_in_one_key_are_refused(steward: Path, run: Run) -> None:
    """A column in which everybody is different is an identifier, not a key."""
    values = np.char.add(MARKER, np.arange(1_000_000).astype(str))
    pq.write_table(pa.table({"id": values, "sex": ["F", "M"] * 500_000}), "big.parquet")
    schema('[columns.id]\nrole = "key"\n[columns.sex]\nrole = "key"\ncategories = ["F", "M"]\n')
    line = refused(run, "protect big.parquet --schema schema.toml --k 2 -o release")
    assert "'id'" in line
    assert "1,000,000" in line


def test_no_key_at_all_is_refused(steward: Path, run: Run) -> None:
    """A release in which nothing is randomised protects nobody."""
    schema(SCHEMA.replace('role = "key"', 'role = "sensitive"'))
    assert "at least one key" in refused(run, PROTECT)


def test_a_folder_that_exists_is_left_alone(steward: Path, run: Run) -> None:
    """Also one that is not a release, and that one even with --force."""
    Path("release").mkdir()
    Path("release/diary.txt").write_text("learn")
    assert "--force" in refused(run, PROTECT)
    assert "no unaltered release folder" in refused(run, f"{PROTECT} --force")


def test_a_place_in_no_folder_is_refused(steward: Path, run: Run) -> None:
    """Parents are not made in passing."""
    refused(run, PROTECT.replace("-o release", "-o nowhere/release"))


def test_nothing_is_decided_without_a_schema(steward: Path, run: Run) -> None:
    """The line says how to get one."""
    line = refused(run, "protect people.csv --k 2 -o release")
    assert "pramana describe people.csv -o schema.toml" in line


@pytest.mark.parametrize(
    "text",
    ["[columns.sex\n", "[columns.sex]\nrole = 'king'\n", "frobnicate = 1\n", "\x00", "sex = 3\n"],
)
def test_a_schema_that_cannot_be_read_is_named(steward: Path, run: Run, text: str) -> None:
    """Broken TOML, unknown roles and unknown entries."""
    schema(text)
    assert "schema.toml" in refused(run, PROTECT)


def test_a_design_needs_data_or_a_number_and_not_both(steward: Path, run: Run) -> None:
    """The table would tell the number."""
    assert "number of records" in refused(run, "design --schema schema.toml --k 2")
    assert "not both" in refused(run, "design people.csv --schema schema.toml --k 2 --records 9")
    refused(run, "design --schema schema.toml --k 2 --records 0")


def test_columns_that_are_not_there_are_not_described(steward: Path, run: Run) -> None:
    """A role for a column that the table lacks, or two roles for one."""
    assert "shoe_size" in refused(run, "describe people.csv --keys shoe_size")
    assert "two roles" in refused(run, "describe people.csv --keys sex --sensitive sex")


def test_a_schema_that_was_edited_is_not_overwritten(steward: Path, run: Run) -> None:
    """Describe writes to a free place only."""
    assert "schema.toml exists" in refused(run, "describe people.csv -o schema.toml")


def test_a_folder_that_is_no_release_cannot_be_verified(steward: Path, run: Run) -> None:
    """Neither a folder without a certificate nor one that is not there."""
    Path("empty").mkdir()
    assert "certificate.json" in refused(run, "verify empty")
    refused(run, "verify nowhere")


def test_missing_arguments_and_unknown_verbs_are_one_line(steward: Path, run: Run) -> None:
    """Usage errors look like every other one and point to the help."""
    assert "pramana protect --help" in refused(run, "protect")
    assert "frob" in refused(run, "frob")
    assert "--help" in refused(run, "verify a b")


def test_one_bad_byte_is_named_and_an_encoding_can_be_told(steward: Path, run: Run) -> None:
    """The table is not read in another encoding without a word."""
    text = people_csv().replace("north", "nörd")
    Path("people.csv").write_bytes(text.encode() + b"x,F,3,n\xf6rd,1\n")
    assert "byte 8 of line 402 cannot" in refused(run, "describe people.csv")
    Path("people.csv").write_bytes(text.encode("cp1252"))
    schema(SCHEMA.replace("north", "nörd"))
    assert run(f"{PROTECT} --encoding cp1252").code == 0
    assert run("verify release --original people.csv --encoding cp1252").code == 0
    assert "read as cp1252" in run("describe people.csv").err
    assert "--encoding" in refused(run, "describe people.csv --encoding klingon")


@pytest.mark.parametrize(
    "command",
    [
        "describe pipe.csv",
        "schema pipe",
        PROTECT.replace("schema.toml", "pipe"),
        f"{PROTECT} --sign pipe",
        f"{PROTECT} --ledger pipe",
        f"{PROTECT} --method matrix --matrix sex=pipe",
        "ledger show pipe",
        "ledger show book",
        "collect new pipe -o survey",
        "collect check asked",
        "audit released --original people.csv --mechanism pipe",
        "estimate pipe --by sex",
        "learn released --target sex --test pipe.csv",
    ],
)
def test_nothing_waits_for_a_pipe_wherever_it_is_named(
    steward: Path, run: Run, command: str
) -> None:
    """A pipe without a writer would be waited for without end."""
    if "released" in command:
        run(PROTECT.replace("-o release", "-o released"))
    Path("asked").mkdir()
    Path("book").write_text("\n")
    for name in ("pipe", "pipe.csv", "pipe.key", "book.key", "asked/definition.json"):
        os.mkfifo(name)
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits"))
    signal.alarm(30)
    try:
        assert "pramana: " in refused(run, command)
    finally:
        signal.alarm(0)


DEEP = "[" * 5000


@pytest.mark.parametrize(
    ("name", "content", "command"),
    [
        ("schema.toml", f"a = {DEEP}", PROTECT),
        ("schema.toml", f"a = {'9' * 5000}", PROTECT),
        ("survey.toml", f"a = {DEEP}", "collect new survey.toml -o survey"),
        ("book.key", DEEP, "ledger show book"),
        ("m.json", DEEP, f"{PROTECT} --method matrix --matrix sex=m.json"),
        (
            "m.json",
            f'{{"labels": ["F", "M"], "values": [[1{"0" * 400}, 0], [0, 1]]}}',
            f"{PROTECT} --method matrix --matrix sex=m.json",
        ),
    ],
)
def test_what_is_nested_or_long_without_end_is_refused(
    steward: Path, run: Run, name: str, content: str, command: str
) -> None:
    """Parsers give up over such texts in ways of their own."""
    Path("book").write_text("\n")
    Path(name).write_text(content)
    outcome = run(command)
    assert outcome.code == (1 if name == "book.key" else 2)
    assert outcome.err.count("\n") == 1
    assert "unforeseen" not in outcome.err


@pytest.mark.parametrize("words", [["verify", "\0"], ["protect", "--spss", "a\0b"], ["\0"]])
def test_a_word_with_a_zero_byte_is_refused_in_a_line(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Python can hand over what no shell can; libraries end in errors of their own on it."""
    with pytest.raises(SystemExit) as left:
        main(words)
    said = capsys.readouterr().err
    assert left.value.code == 2
    assert said.count("\n") == 1
    assert f"number {len(words)} does" in said
