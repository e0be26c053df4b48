"""Neighbouring tables: two that differ in one person's value, and what is published of each.

By a guarantee about a record, what is published tells two such tables apart by no more than
chance. Here both are published with the same random numbers. What is drawn for the other records
must then be equal, and so must everything else: names of files, types and encodings, certificate,
codebook, texts, the report for outsiders and exit codes.
"""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat

import pramana as pm
from pramana import api
from pramana.cli.app import main
from pramana.errors import PramanaError
from pramana.schema.domains import label_text
from pramana.schema.schema_file import read_schema

Value = str | int | float | bool | dt.date | None

BLIND = 1e-9
"""At this epsilon equal random numbers draw equal values, whatever the original data are."""


@dataclass(frozen=True)
class Kind:
    """A kind of randomised column.

    Attributes:
        lines: of its entry in the schema, without its policy for missing values.
        usual: values that both tables hold.
        nasty: by change, what the changed record may have in the neighbour; all in the domain.
        outside: values that the schema does not list.
        codes: values that the schema takes as missing.
        containers: kinds of tables that can hold it, where not all can.
    """

    lines: str
    usual: tuple[Value, ...]
    nasty: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    outside: tuple[Value, ...] = ()
    codes: tuple[Value, ...] = ()
    containers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", f"{self.lines}\n" if self.lines else "")

    def fits(self, container: str) -> bool:
        """Whether such a table can hold its values."""
        return not self.containers or container in self.containers

    def changed(self, change: str) -> tuple[Value, ...]:
        """What the changed record may have in the neighbour."""
        if change == "domain read off the data":
            return self.nasty.get(change, ())
        if change == "another value":
            return self.usual if len(self.usual) > 1 and self.lines else ()
        if change in ("empty cell", "missing at the edge"):
            return (None,) if self.lines else ()
        return self.outside if change == "value outside" else self.nasty.get(change, ())


FILES = ("csv", "parquet", "feather", "sav", "dta")
FRAMES = ("pandas", "polars", "arrow")
TYPED = ("csv", "parquet", "feather", *FRAMES)
"""Statistical packages know numbers and texts alone."""

KINDS = {
    "integers": Kind("categories = [1, 2, 3]", (1, 2), {"own category": (3,)}, (9, 2.5, 10**17)),
    "integers and a text": Kind('categories = [1, 2, "N"]', (1, 2), {"text code": ("N",)}),
    "integers and a missing code": Kind(
        'categories = [1, 2]\nmissing_codes = ["N"]', (1, 2), {"text code": ("N",)}, codes=("N",)
    ),
    "integers and a reason": Kind(
        "categories = [1, 2]\nmissing_values = [-9]", (1, 2), {"own category": (-9,)}
    ),
    "read off": Kind("", (1, 2), {"domain read off the data": (1, 3, None, 7.5, "N")}),
    "integers and a fraction": Kind("categories = [1, 2, 7.5]", (1, 2), {"fraction": (7.5,)}),
    "integers and an extreme one": Kind(
        "categories = [1, 2, 4000000000000]", (1, 2), {"extreme": (4_000_000_000_000,)}
    ),
    "fractions": Kind("categories = [0.5, 1.5, 2.25]", (0.5, 1.5), {"own category": (2.25,)}),
    "texts": Kind(
        'categories = ["a", "b", "A", " a", "ä"]',
        ("a", "b"),
        {"case": ("A",), "whitespace": (" a",), "own category": ("ä",)},
        ("z", "a "),
    ),
    "digits as texts": Kind('categories = ["1", "2", "02"]', ("1", "2"), {"leading zero": ("02",)}),
    "leading zeros": Kind(
        'categories = ["01", "02", "11"]', ("01", "02"), {"leading zero": ("11",)}
    ),
    "words for missing": Kind(
        'categories = ["a", "NA", "null"]', ("a", "NA"), {"own category": ("null",)}
    ),
    "truth values": Kind(
        "categories = [true, false]", (True,), {"own category": (False,)}, containers=TYPED
    ),
    "years": Kind(
        'date = "year"\ncategories = [1960, 1970, 1980]',
        (dt.date(1960, 3, 1), dt.date(1970, 12, 31)),
        {"own category": (dt.date(1980, 1, 1),), "fraction": (dt.datetime(1970, 2, 3, 4, 5),)},
        containers=TYPED,
    ),
    "merged": Kind(
        'merge = {other = ["5", "6"]}\ncategories = [1, 2, "other"]',
        (1, 2),
        {"own category": (5, 6)},
    ),
    "top": Kind(
        "top = 3\ncategories = [1, 2, 3]", (1, 2), {"extreme": (10**12,), "fraction": (3.5,)}
    ),
    **{
        f"bins by {release}": Kind(
            f'bins = [0, 10, 20, 30]\nrelease = "{release}"',
            (5, 15),
            {"fraction": (7.5,), "own category": (25, 30), "extreme": (1e-300,)},
            (31, -0.5),
        )
        for release in ("label", "centre", "draw")
    },
    "fractional bins": Kind(
        'bins = [0, 0.5, 1]\nrelease = "draw"', (0.25, 0.75), {"fraction": (1.0,)}, (1.0000001,)
    ),
    "open bins": Kind(
        "bins = [-inf, 10, 20, inf]", (5, 15), {"extreme": (10**15, -1e300), "fraction": (9.5,)}
    ),
    "points": Kind(
        "points = [0, 10, 20, 60]",
        (0, 10),
        {"fraction": (7.5,), "own category": (60,), "extreme": (1e-300, 59.999999999)},
        (61, -0.5),
    ),
    "points and a missing code": Kind(
        "points = [0, 10, 60]\nmissing_values = [-9]", (0, 10), {"own category": (-9, 60)}
    ),
    "an even grid": Kind(
        "range = [0, 30]\ngrid = 4", (5, 10), {"fraction": (7.5,), "own category": (30,)}, (31,)
    ),
    "a merged grid": Kind("points = [0, 10, 20]\ntop = 20", (0, 10), {"extreme": (10**12,)}),
    "named bins": Kind(
        'bins = [0, 18, 120]\nlabels = ["child", "adult"]', (5, 40), {"extreme": (120,)}, (121,)
    ),
}  # fmt: skip

CHANGES = (
    "another value", "empty cell", "missing at the edge", "text code", "fraction", "own category",
    "leading zero", "case", "whitespace", "extreme", "value outside", "domain read off the data",
)  # fmt: skip
"""How the neighbour differs."""

ABOUT_NEIGHBOURS = ("differential-privacy", "shuffled-privacy", "privacy-breach")
"""The guarantees that cover what one person's values change in what is published."""

FROM_DATA = ("exit codes", "certificate.json", "README.md", "analyse.html", "analyse.R")
"""Matrices or groups that are made from the data show in the certificate, and may be refused."""

EXCEPTIONS = dict.fromkeys(
    ("optimal", "inverse-frequency", "invariant", "resample", "permute", "gaussian", "centroid"),
    FROM_DATA,
)
"""Methods that look at the data, and what may differ for them beside the records.

No guarantee of ``ABOUT_NEIGHBOURS`` is claimed for them: this is part of the law. Two more
exceptions are part of it in the same way: a value that the schema releases unchanged
(``missing = "keep"``) is covered by no finite epsilon, and a domain that was read off the data is
not called declared: the guarantee takes it as public, and whether it can be randomised too.
"""


@dataclass(frozen=True)
class World:
    """A schema, two tables, and how each is published.

    Attributes:
        change: how the neighbour differs, one of ``CHANGES``.
        schema: as a TOML file.
        kinds: the kind of each randomised column.
        tables: by column, the values of both.
        row: the record that differs, in column ``a``.
        listed: whether the schema lists the changed value, so that both tables fit it.
        container: what holds the original data.
        method: by name; chosen by the library where it is empty.
        options: of the command line, targets and options of the method, with their numbers.
        road: ``api``, ``blind`` (a design without data), ``cli`` or ``process``.
        copies: further formats of the data.
    """

    change: str
    schema: str
    kinds: dict[str, str]
    tables: tuple[dict[str, list[Value]], dict[str, list[Value]]]
    row: int
    listed: bool
    container: str
    method: str
    options: dict[str, float]
    road: str
    copies: tuple[str, ...]

    def __str__(self) -> str:
        one, two = (table["a"][self.row] for table in self.tables)
        how = f"{self.method or 'chosen method'} {self.options}"
        return (
            f"{self.change}: {one!r} -> {two!r} in record {self.row} of 'a' "
            f"({self.kinds['a']}), {self.container}, {how}, {self.road}\n{self.schema}"
        )

    @property
    def unchanged(self) -> list[str]:
        """Columns that are released unchanged, whose risk the owner accepts.

        Whether they give a randomised column away depends on the data, and so does this refusal.
        """
        return [name for name in self.tables[0] if name not in self.kinds]

    @property
    def blind(self) -> bool:
        """Whether equal random numbers draw equal values, whatever the original data are."""
        return self.options.get("epsilon") == BLIND


def worlds(change: str, seed: int = 0) -> Iterator[World]:
    """Worlds of one kind of change, without end."""
    number = 0
    while True:
        yield _world(change, Random(f"{seed} {change} {number}"))
        number += 1


POLICIES = ("", "", "category", "refuse")
METHODS = (
    "retention",
    "retention",
    "retention",
    "attribute-sampling",
    "attribute-sampling",
    "",
    "",
)
AIMS: dict[str, dict[str, float]] = {
    "optimal": {"alpha": 0.9},
    "inverse-frequency": {"xi": 0.9},
    "invariant": {"stay": 0.5},
    "resample": {"k": 2},
    "permute": {"k": 2},
    "gaussian": {"k": 2},
    "centroid": {"k": 2},
}
"""What is asked of methods that look at the data."""


def _world(change: str, random: Random) -> World:
    container = random.choice((*FILES, *FRAMES))
    fit = [name for name, kind in KINDS.items() if kind.fits(container) and kind.changed(change)]
    if not fit:
        return _world(change, random)
    often = [name for name in KINDS if not KINDS[name].containers]
    kinds = {"a": random.choice(fit)}
    kinds |= {name: random.choice(often) for name in random.choice(("", "b", "bc"))}
    keep = random.random() < 0.1
    policies = {name: "keep" if keep else random.choice(POLICIES) for name in kinds}
    rows = random.randint(6, 16)
    edge = change == "missing at the edge"
    row = random.choice((0, rows - 1)) if edge else random.randrange(rows)
    first = {
        name: _cells(KINDS[kind], policies[name], rows, random) for name, kind in kinds.items()
    }
    usual = KINDS[kinds["a"]].usual
    value = random.choice(KINDS[kinds["a"]].changed(change))
    if value is None:  # the only one
        first["a"] = [random.choice(usual) if cell is None else cell for cell in first["a"]]
    first["a"][row] = random.choice([cell for cell in usual if cell != value])
    absent = value is None or value in KINDS[kinds["a"]].codes
    listed = policies["a"] in ("category", "keep") if absent else change != "value outside"
    lines = "".join(
        f'[columns.{name}]\nrole = "key"\n{KINDS[kind].lines}'
        + (f'missing = "{policies[name]}"\n' if policies[name] else "")
        for name, kind in kinds.items()
    )
    road = random.choice(
        ("api", "api", "blind") if container in FRAMES else ("api", "blind", "cli")
    )
    if random.random() < 0.15 and not keep:
        method = random.choice(tuple(AIMS))
        options, road = AIMS[method], "api" if road == "blind" else road
    elif keep:
        method, options = "retention", {"retention": 0.3}
    else:
        method = random.choice(METHODS)
        options = {"epsilon": random.choice((BLIND, BLIND, 0.5, 3.0))}
    for name, (role, values) in UNCHANGED.items():
        if random.random() < (0.8 if "k" in options else 0.3) and (road != "blind" or name == "s"):
            lines += f'[columns.{name}]\nrole = "{role}"\n'
            first[name] = [random.choice(values) for _ in range(rows)]
    second = {name: list(values) for name, values in first.items()}
    second["a"][row] = value
    tables = (first, second) if random.random() < 0.5 else (second, first)
    copies = random.sample(("csv", "dta", "sav"), random.choice((0, 0, 0, 1, 2)))
    free = [name for name in copies if name != container and KINDS[kinds["a"]].fits(name)]
    return World(
        change, lines, kinds, tables, row, listed, container, method, options, road, tuple(free)
    )


UNCHANGED: dict[str, tuple[str, tuple[Value, ...]]] = {
    "s": ("sensitive", ("x", "y", "z")),
    "p": ("public", ("n",)),
    "w": ("weight", (1.0, 2.5)),
}
"""Columns that are released unchanged, and the same in both tables."""


def _cells(kind: Kind, policy: str, rows: int, random: Random) -> list[Value]:
    some = policy in ("category", "keep") and random.random() < 0.5
    cells: list[Value] = [random.choice(kind.usual) for _ in range(rows)]
    return [None if some and random.random() < 0.2 else cell for cell in cells]


# -- the original data in a file or a frame ------------------------------------------------------


def frame_of(table: dict[str, list[Value]]) -> pd.DataFrame:
    """As pandas reads such columns: what is mixed is texts, and integers with gaps are doubles."""
    return pd.DataFrame({name: pd.Series(_alike(values)) for name, values in table.items()})


def _alike(values: list[Value]) -> list[Value]:
    """Values of one type: a column with one text is a column of texts."""
    there = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in there):
        return [None if value is None else label_text(value) for value in values]  # type: ignore[arg-type]
    if any(isinstance(value, dt.datetime) for value in there):
        midnight = dt.time()
        return [
            value if value is None or isinstance(value, dt.datetime)
            else dt.datetime.combine(value, midnight)  # type: ignore[arg-type]
            for value in values
        ]  # fmt: skip
    return values


def arrow_of(table: dict[str, list[Value]]) -> pa.Table:
    return pa.table({name: pa.array(_alike(values)) for name, values in table.items()})


def original(table: dict[str, list[Value]], container: str, folder: Path) -> Any:
    """The table as a frame, or the path of a file that holds it."""
    if container == "pandas":
        return frame_of(table)
    if container == "polars":
        return pl.from_arrow(arrow_of(table))
    if container == "arrow":
        return arrow_of(table)
    path = folder / f"people.{container}"
    if container == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            for record in zip(*table.values(), strict=True):
                writer.writerow(["" if value is None else _cell(value) for value in record])
    elif container == "parquet":
        pq.write_table(arrow_of(table), path)
    elif container == "feather":
        pyarrow.feather.write_feather(arrow_of(table), path)
    elif container == "sav":
        pyreadstat.write_sav(frame_of(table), str(path))
    else:
        pyreadstat.write_dta(frame_of(table), str(path))
    return path


def _cell(value: Value) -> str:
    return value.isoformat() if isinstance(value, dt.date) else label_text(value)


# -- what is published ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """All that an outsider gets of one table, or that nothing was published.

    Attributes:
        exit_code: of the command, or of the error.
        files: of the release folder, by name; and the report for outsiders where it was made.
        types: of the released table in memory, where the original data are a frame.
    """

    exit_code: int
    files: dict[str, bytes] = field(default_factory=dict)
    types: str = ""


def publish(
    world: World, which: int, folder: Path, *, seed: int, report: bool = False
) -> Published:
    """Protect one of the two tables.

    All that outsiders derive, they derive from the release folder; the report for them is made by
    the owner, beside the original data.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    source = original(world.tables[which], world.container, folder)
    place = folder / "release"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make = _command if world.road in ("cli", "process") else _call
            types = make(world, source, place, seed)
    except PramanaError as error:
        assert not place.exists()
        return Published(error.exit_code)
    files = {path.name: path.read_bytes() for path in place.iterdir()}
    if report:
        made = api.report(place, original=source, external=True, name="People", date="2026-01-01")
        made.save(folder / "report.html")
        files["report.html"] = (folder / "report.html").read_bytes()
    return Published(0, files, types)


TARGETS = {
    "epsilon": pm.DifferentialPrivacy,
    "k": pm.KAnonymity,
    "xi": pm.CorrectMatch,
    "alpha": lambda alpha: pm.SpontaneousRecognition(alpha=alpha, width=2),
}


def _call(world: World, source: Any, place: Path, seed: int) -> str:
    """Make the release in Python; the types of the released frame where the source is one."""
    asked = [TARGETS[name](number) for name, number in world.options.items() if name in TARGETS]
    options = {name: number for name, number in world.options.items() if name not in TARGETS}
    method = api.METHODS[world.method](**options) if world.method else None
    known = {"records": len(world.tables[0]["a"])} if world.road == "blind" else {"data": source}
    plan = pm.design(read_schema(world.schema), *asked, method=method, **known)
    accepted = {"seed": seed, "accept_risk": world.unchanged}
    pm.protect(source, plan, to=place, copies=world.copies, **accepted)
    if world.container not in FRAMES:
        return ""
    release = pm.protect(source, plan, **accepted)
    if world.container != "pandas":
        return str(release.table.schema)
    # pandas has no missing integers: where a missing value was drawn, integers are floating there.
    kinds = release.opened.schema
    return str(
        {
            name: "int64" if pa.types.is_integer(kinds.field(name).type) else str(kind)
            for name, kind in release.table.dtypes.items()
        }
    )


FLAGS = {"csv": "--csv", "dta": "--stata", "sav": "--spss"}


class CommandFailed(PramanaError):
    """A command that ended with an exit code."""


def _command(world: World, source: Any, place: Path, seed: int) -> str:
    """Make the release by the command line, here or in a process of its own."""
    schema = place.parent / "schema.toml"
    schema.write_text(world.schema, encoding="utf-8")
    options = [word for name, number in world.options.items() for word in (f"--{name}", number)]
    method = ["--method", world.method] if world.method else []
    copies = [FLAGS[name] for name in world.copies]
    accepted = [word for name in world.unchanged for word in ("--accept-risk", name)]
    words = ["protect", source, "--schema", schema, *options, *method, *copies, *accepted]
    arguments = [str(word) for word in (*words, "--seed", seed, "-o", place)]
    if world.road == "process":
        command = [sys.executable, "-m", "pramana", *arguments]
        code = subprocess.run(command, capture_output=True, check=False).returncode
    else:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                main(arguments)
            except SystemExit as error:
                code = error.code
    if code:
        failed = CommandFailed("The command failed.")
        failed.exit_code = code  # type: ignore[misc]
        raise failed
    return ""


# -- the comparison ------------------------------------------------------------------------------


def differences(world: World, one: Published, two: Published) -> list[str]:
    """What a neighbour must not change and did; nothing where the law holds."""
    free: tuple[str, ...] = EXCEPTIONS.get(world.method, ())
    if world.change == "domain read off the data" and (one.exit_code or two.exit_code):
        return []  # a column of one value is refused, and that it is one was read off
    if one.exit_code or two.exit_code:
        # What the schema does not list is refused, and nothing is published then.
        alike = one.exit_code == two.exit_code or not world.listed or "exit codes" in free
        return [] if alike else [f"exit codes {one.exit_code} and {two.exit_code}"]
    certificates = [json.loads(own.files["certificate.json"]) for own in (one, two)]
    claims = set().union(*map(_claimed, certificates))
    if free and claims:
        return [f"{world.method} looks at the data and claims {sorted(claims)}"]
    if world.change == "domain read off the data":
        domains = {own["schema"]["columns"][0].get("domain") for own in certificates}
        return ["a domain that was read off is called declared"] if "declared" in domains else []
    if 'missing = "keep"' in world.schema:
        if claims:
            return [f"a value is kept, and {sorted(claims)} claimed"]
        if {table["a"][world.row] for table in world.tables} & {None, *_reasons(world)}:
            return []
    return _compare(world, one, two, free)


def _claimed(certificate: dict[str, Any]) -> set[str]:
    """The guarantees about neighbours that are finite."""
    return {
        claim["name"]
        for claim in certificate["guarantees"]
        if claim["name"] in ABOUT_NEIGHBOURS
        and claim["attained"].get("epsilon", 0) is not None
        and claim["attained"].get("rho2", 0) < 1
    }


def _reasons(world: World) -> set[Value]:
    kind = KINDS[world.kinds["a"]]
    return {*kind.codes, *((-9,) if "missing_values" in kind.lines else ())}


def _compare(world: World, one: Published, two: Published, free: tuple[str, ...]) -> list[str]:
    if set(one.files) != set(two.files):
        return ["names of files"]
    found: list[str] = []
    same_records = True
    for name in sorted(own for own in one.files if own.startswith("data.")):
        if one.files[name] != two.files[name]:
            same_records = False
            found += _records(world, name, one.files[name], two.files[name], free=bool(free))
    if world.blind and not same_records and not found:
        found.append("records, though nothing was kept")
    texts = [own for own in one.files if not own.startswith(("data.", *free))]
    if not same_records:
        # The report shows estimates; the programs follow from the certificate and its checksums.
        texts = [own for own in texts if own not in ("report.html", "analyse.html", "analyse.R")]
    found += [own for own in texts if _settled(own, one.files) != _settled(own, two.files)]
    # In pandas the type of integers depends on whether one is missing: on the released values.
    if one.types != two.types and (same_records or world.container != "pandas"):
        found.append(f"types of the released frame: {one.types} and {two.types}")
    return found


def _settled(name: str, files: dict[str, bytes]) -> Any:
    """A file without the checksums of drawn records."""
    if name != "certificate.json":
        return files[name]
    certificate = json.loads(files[name])
    for entry in (certificate["data"], *certificate.get("copies", ())):
        del entry["sha256"], entry["size"]
    del certificate["digest"]
    return certificate


def _records(world: World, name: str, one: bytes, two: bytes, *, free: bool) -> list[str]:
    """In what two data files differ beside the drawn cells of the changed record."""
    (shape, cells), (other_shape, other_cells) = _read(name, one), _read(name, two)
    if shape != other_shape:
        return [f"types or encodings of {name}: {shape} and {other_shape}"]
    if free:
        return []
    differing = [
        (row, column)
        for column in cells
        for row, pair in enumerate(zip(cells[column], other_cells[column], strict=True))
        if pair[0] != pair[1]
    ]
    rows = {row for row, _ in differing}
    drawn = {"a"} if world.method == "retention" else {*world.kinds}
    columns = {column for _, column in differing} - drawn
    found = [f"{len(rows)} records of {name}"] if len(rows) > 1 else []
    return found + ([f"columns {sorted(columns)} of {name}"] if columns else [])


Read = tuple[Any, dict[str, list[Any]]]
"""Types and encodings of a data file, and its cells by column."""


def _read(name: str, content: bytes) -> Read:
    if name.endswith(".csv"):
        return _read_csv(content.decode("utf-8"))
    if name.endswith(".parquet"):
        table, data = pq.read_table(io.BytesIO(content)), pq.read_metadata(io.BytesIO(content))
        groups = [data.row_group(at) for at in range(data.num_row_groups)]
        parts = [
            (part.physical_type, part.encodings, part.compression, part.is_stats_set)
            for group in groups
            for part in (group.column(at) for at in range(group.num_columns))
        ]
        return (str(table.schema), table.schema.metadata, parts), table.to_pydict()
    if name.endswith(".arrow"):
        table = pyarrow.feather.read_table(io.BytesIO(content))
        categories = [
            column.chunk(0).dictionary.to_pylist()
            for column in table.columns
            if pa.types.is_dictionary(column.type)
        ]
        return (str(table.schema), table.schema.metadata, categories), table.to_pydict()
    with tempfile.NamedTemporaryFile(suffix=name[-4:]) as file:
        file.write(content)
        file.flush()
        read = pyreadstat.read_sav if name.endswith(".sav") else pyreadstat.read_dta
        frame, about = read(file.name)
    shape = (about.readstat_variable_types, about.variable_value_labels, about.column_labels,
             about.missing_ranges)  # fmt: skip
    return shape, {own: [None if pd.isna(v) else v for v in frame[own]] for own in frame}


CELL = re.compile(r'("(?:[^"]|"")*"|[^,]*)(?:,|$)')


def _read_csv(text: str) -> Read:
    """Cells with their quotes: whether a column has them is its type."""
    head, *lines = text.splitlines()
    names = head.replace('"', "").split(",")
    rows = [CELL.findall(line)[: len(names)] for line in lines]
    cells = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    quoted = {
        name: {cell.startswith('"') for cell in column if cell} for name, column in cells.items()
    }
    return (head, quoted), cells


# -- the loop that tests and the long command share -----------------------------------------------

REPORTED = 25
"""Of so many pairs the report for outsiders is made for one."""


@dataclass
class Done:
    """How many pairs were published and compared, refused on both sides, and what was found."""

    compared: int = 0
    refused: int = 0
    finds: list[str] = field(default_factory=list)


def try_pairs(
    change: str, number: int, folder: Path, *, seed: int = 0, road: str | None = None
) -> Done:
    """Publish so many pairs that differ by one kind of change, and compare them."""
    done = Done()
    for at, world in enumerate(worlds(change, seed)):
        if road is not None:
            if world.container in FRAMES:
                continue
            world = replace(world, road=road)
        report = world.blind and at % REPORTED == REPORTED - 1
        one, two = (publish(world, own, folder, seed=at + 1, report=report) for own in (0, 1))
        refused = bool(one.exit_code and two.exit_code)
        done.refused, done.compared = done.refused + refused, done.compared + (not refused)
        found = differences(world, one, two)
        if found:
            done.finds.append(f"{'; '.join(found)}\n{world}")
        if done.compared >= number:
            return done
    raise AssertionError("Worlds have no end.")
