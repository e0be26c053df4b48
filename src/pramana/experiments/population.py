"""A synthetic population for demonstrations, tests and tutorials; and the demonstration.

Each person has a region, sex, age, education, marital status, occupation, income and a yearly
health-care cost. The columns depend on each other as in real life, some values are missing, some
combinations are rare enough to be recognised, and some cannot exist: no child under 16 is or was
married. Nothing is taken from data about anyone.

Every person is a fixed function of the keystream and of the person's number: the first thousand
people of a population of a million are those of a population of a thousand.

The demonstration takes all steps once: population, design, release, verification, estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from pramana import api
from pramana.analysis.release import Release
from pramana.base.atomic_files import read_file, whole_folder
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_number
from pramana.errors import OutputExists
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.output import write_table
from pramana.methods.plan import Plan
from pramana.release.folder import CERTIFICATE, read_certificate, require_free
from pramana.schema.codec import encode
from pramana.schema.domains import Bins, Categories, Label, NumberGrid
from pramana.schema.recoding import Recoding
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Impossible, Missing, Schema
from pramana.types import BoolArray, Codes, FloatArray, IntArray
from pramana.verification.checks import Verdict

REGIONS = ("Coast", "Hills", "Lakes", "North", "South", "Islands")
SEXES = ("F", "M")
EDUCATIONS = ("primary", "secondary", "vocational", "degree")
MARITAL = ("single", "married", "divorced", "widowed")
OCCUPATIONS = ("none", "manual", "services", "office", "care", "professional", "retired")

AGE_BINS = (0, 16, 30, 45, 60, 75, 100)
ADULT = 16

TOP_INCOME = 150_000
"""Higher incomes are released as this one."""

EXAMPLE = 5000
"""People of the example."""


def make_population(records: int = 100_000, *, keystream: Keystream) -> pa.Table:
    """A table of people, one record per person.

    >>> people = make_population(1_000, keystream=Keystream.from_seed(1))
    >>> people.num_rows, people.column_names[:4]
    (1000, ['person', 'region', 'sex', 'age'])
    """
    require_number("the number of records", records, low=1)
    draw = _Draws(keystream, records)
    region = draw.one_of("region", [[0.29, 0.22, 0.19, 0.16, 0.13, 0.01]])
    age = _ages(draw)
    sex = (draw.uniform("sex") < 0.512 - 0.16 * (age > 75)).astype(np.intp)
    education = _educations(draw, age=age, sex=sex, region=region)
    marital = _marital(draw, age=age, sex=sex)
    occupation = _occupations(draw, age=age, sex=sex, education=education)
    income = _incomes(draw, age=age, sex=sex, education=education, occupation=occupation)
    cost = _costs(draw, age=age, sex=sex, income=income)
    unknown_education = draw.uniform("education missing") < 0.015 + 0.03 * (age > 70)
    unknown_income = draw.uniform("income missing") < 0.03 + 0.05 * (income > 60_000)
    numbers = pa.array(np.arange(1, records + 1)).cast(pa.string())
    return pa.table(
        {
            "person": pc.binary_join_element_wise("P", pc.utf8_lpad(numbers, 7, "0"), ""),
            "region": _texts(REGIONS, region),
            "sex": _texts(SEXES, sex),
            "age": pa.array(age.astype(np.int16)),
            "education": _texts(EDUCATIONS, education, missing=unknown_education),
            "marital": _texts(MARITAL, marital),
            "occupation": _texts(OCCUPATIONS, occupation),
            "income": pa.array(income.astype(np.int64), mask=unknown_income),
            "cost": pa.array(cost.round(2)),
        }
    )


def write_example(to: Path) -> None:
    """Write a synthetic population of 5,000 people, always the same one, as a Parquet file."""
    people = make_population(EXAMPLE, keystream=Keystream.from_seed(1))
    write_table(people, to, file_format="parquet")


def population_schema() -> Schema:
    """The description that fits: every column is randomised, amounts on a grid.

    >>> [column.name for column in population_schema().randomised][-3:]
    ['occupation', 'income', 'cost']
    """
    return Schema(
        columns=(
            Column("person", Role.IDENTIFIER),
            Column("region", Role.KEY, Categories(REGIONS), missing="refuse"),
            Column("sex", Role.KEY, Categories(SEXES), missing="refuse"),
            Column("age", Role.KEY, Bins(AGE_BINS), missing="refuse"),
            Column("education", Role.KEY, Categories(EDUCATIONS, ordered=True), missing="category"),
            Column("marital", Role.KEY, Categories(MARITAL), missing="refuse"),
            Column("occupation", Role.KEY, Categories(OCCUPATIONS), missing="refuse"),
            _amount("income", TOP_INCOME, missing="category"),
            _amount("cost", 15_000, step=0.01, missing="refuse"),
        ),
        impossible=(Impossible.of({"age": ["[0, 16)"], "marital": MARITAL[1:]}),),
        tables=(
            ("age", "marital"),
            ("sex", "education", "income"),
            ("sex", "occupation"),
            ("region", "cost"),
        ),
    )


def _amount(name: str, top: float, *, missing: Missing, step: float = 1) -> Column:
    """A column of amounts from 0 to ``top``, rounded at random to four points."""
    grid = NumberGrid.even(0, top, 4, step=step)
    return Column(name, Role.SENSITIVE, grid, missing=missing, recoding=Recoding(bottom=0, top=top))


class _Draws:
    """One stream for each variable, one random number a person."""

    def __init__(self, keystream: Keystream, records: int) -> None:
        self._keystream, self.records = keystream, records

    def uniform(self, what: str) -> FloatArray:
        return self._keystream.uniforms(f"population {what}", 0, self.records)

    def normal(self, what: str) -> FloatArray:
        return self._keystream.normals(f"population {what}", 0, self.records)

    def one_of(self, what: str, shares: ArrayLike) -> Codes:
        """A code for each person; one row of shares for all, or one for each person."""
        steps = np.cumsum(np.asarray(shares, dtype=np.float64), axis=1)
        place = self.uniform(what)[:, None] * steps[:, -1:]
        codes: Codes = (place >= steps[:, :-1]).sum(axis=1)
        return codes


def _texts(words: tuple[str, ...], codes: Codes, missing: BoolArray | None = None) -> pa.Array:
    indices = pa.array(codes.astype(np.int8), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words)).dictionary_decode()


def _ages(draw: _Draws) -> IntArray:
    """Whole years from 0 to 99: a bulge in middle life, a thin tail of the very old."""
    reached = np.array([0, 0.165, 0.335, 0.545, 0.765, 0.93, 0.995, 1.0])
    years = np.array([0, 16, 30, 45, 60, 75, 90, 100])
    ages: IntArray = np.interp(draw.uniform("age"), reached, years).astype(np.int64)
    return ages


def _educations(draw: _Draws, *, age: IntArray, sex: Codes, region: Codes) -> Codes:
    """Later generations stayed longer at school; children have primary education so far."""
    generation = np.clip((75 - age) / 45, 0, 1)
    degree = 0.08 + 0.27 * generation + 0.06 * ((sex == 0) & (age < 45)) + 0.08 * (region == 0)
    vocational = 0.30 - 0.06 * generation + 0.06 * (sex == 1)
    primary = 0.34 - 0.28 * generation + 0.05 * (region >= 4)
    shares = np.stack([primary, 1 - primary - vocational - degree, vocational, degree], axis=1)
    shares[age < ADULT] = [1, 0, 0, 0]
    still_young = (age >= ADULT) & (age < 20)
    shares[still_young] = [0.45, 0.5, 0.05, 0]
    return draw.one_of("education", shares)


def _marital(draw: _Draws, *, age: IntArray, sex: Codes) -> Codes:
    """Marriage comes with age, widowhood with more of it; no child has either."""
    married = 0.66 / (1 + np.exp(-(age - 30) / 4.5))
    divorced = 0.16 * np.clip((age - 25) / 30, 0, 1)
    widowed = 0.62 / (1 + np.exp(-(age - 82 + 6 * (sex == 0)) / 6)) + 0.0008
    married = married * (1 - widowed)
    single = np.clip(1 - married - divorced - widowed, 0.02, None)
    shares = np.stack([single, married, divorced, widowed], axis=1)
    shares[age < ADULT] = [1, 0, 0, 0]
    return draw.one_of("marital", shares)


def _occupations(draw: _Draws, *, age: IntArray, sex: Codes, education: Codes) -> Codes:
    """What people do by what they learned; the young learn, the old have retired."""
    by_education = np.array(
        [  # none, manual, services, office, care, professional, retired
            [0.22, 0.46, 0.22, 0.05, 0.05, 0.00, 0.0],
            [0.14, 0.22, 0.31, 0.22, 0.09, 0.02, 0.0],
            [0.08, 0.34, 0.20, 0.20, 0.14, 0.04, 0.0],
            [0.07, 0.02, 0.09, 0.27, 0.16, 0.39, 0.0],
        ]
    )
    shares = by_education[education]
    shares[:, 1] *= np.where(sex == 1, 1.5, 0.5)
    shares[:, 4] *= np.where(sex == 1, 0.35, 1.65)
    retired = 1 / (1 + np.exp(-(age - 65) / 1.8))
    shares *= (1 - retired)[:, None]
    shares[:, 6] = retired * shares.sum(axis=1) / np.clip(1 - retired, 1e-9, None)
    shares[age < ADULT] = [1, 0, 0, 0, 0, 0, 0]
    return draw.one_of("occupation", shares)


def _incomes(
    draw: _Draws, *, age: IntArray, sex: Codes, education: Codes, occupation: Codes
) -> FloatArray:
    """Whole units of money a year, with a long upper tail; children have none."""
    by_education = np.array([0.0, 0.14, 0.22, 0.48])[education]
    by_occupation = np.array([-1.2, 0.0, -0.05, 0.15, 0.05, 0.45, -0.35])[occupation]
    experience = 0.45 * np.clip((age - 18) / 25, 0, 1)
    level = 9.85 + by_education + by_occupation + experience + 0.11 * (sex == 1)
    income = np.exp(level + 0.38 * draw.normal("income"))
    return np.where(age < ADULT, 0, np.floor(income))


def _costs(draw: _Draws, *, age: IntArray, sex: Codes, income: FloatArray) -> FloatArray:
    """Health care of a year: nothing for some, little for most, a great deal for a few."""
    level = 5.1 + 0.026 * age + 0.25 * ((sex == 0) & (age >= ADULT) & (age < 45))
    level = level - 0.06 * np.log1p(income / 30_000) + 1.1 * draw.normal("cost")
    untouched = draw.uniform("cost none") < 0.22 - 0.0018 * age
    cost: FloatArray = np.where(untouched, 0.0, np.exp(level))
    return cost


SEED = 1
DATA = "people.parquet"
SCHEMA = "schema.toml"
STATUS = "married"
MADE_UP = b"people who do not exist"


@dataclass(frozen=True)
class Compared:
    """A statistic of one group: from the original data, and estimated with a 95 % interval."""

    group: str
    original: float
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Demonstration:
    """The result of a demonstration.

    Attributes:
        data: The folder with the original data and its schema.
        release: The release; its seed is known, so it must not be published.
        plan: The plan.
        verdict: The result of its verification.
        married: The number of married people by age; the schema says that no child is married.
        incomes: The mean income by education, of incomes cut at ``TOP_INCOME``.
    """

    data: Path
    release: Release
    plan: Plan
    verdict: Verdict
    married: tuple[Compared, ...]
    incomes: tuple[Compared, ...]


def demonstrate(
    *,
    data: Path,
    to: Path,
    records: int,
    k: float,
    progress: Callable[[int], None] | None = None,
) -> Demonstration:
    """Make people, write them to ``data``, protect them at ``k`` into ``to``, and verify.

    Only files of an earlier demonstration are replaced.
    """
    target, schema = PkAnonymity(k=k), population_schema()
    people = make_population(records, keystream=Keystream.from_seed(SEED))
    plan = api.design(schema, target, data=people)
    require_free(to, force=True)
    if (to / CERTIFICATE).is_file():
        earlier = read_certificate(to)
        names = {column.name for column in earlier.schema.randomised}
        if not (earlier.reproducible and names <= set(schema.names)):
            raise _not_ours(to)
    _write_original(people, schema, data)
    release = api.protect(data / DATA, plan, to=to, seed=SEED, force=True, progress=progress)
    tables = _married_by_age(people, release), _income_by_education(people, release)
    return Demonstration(data, release, plan, api.verify(to), *tables)


def _not_ours(place: Path) -> OutputExists:
    return OutputExists(f"{place} is not of a demonstration. Run it in another folder.")


def _write_original(people: pa.Table, schema: Schema, folder: Path) -> None:
    """Write the table and its schema."""
    table, described = folder / DATA, folder / SCHEMA
    if table.exists() and not (table.is_file() and _is_made_up(table)):
        raise _not_ours(table)
    if described.exists() and read_file(described) != schema.to_toml().encode():
        raise _not_ours(described)
    marked = people.replace_schema_metadata({b"pramana": MADE_UP})
    with nullcontext(folder) if folder.exists() else whole_folder(folder) as place:
        write_table(marked, place / DATA, file_format="parquet", force=True)
        schema.save(place / SCHEMA, force=True)


def _is_made_up(path: Path) -> bool:
    try:
        return (pq.read_schema(path).metadata or {}).get(b"pramana") == MADE_UP
    except (OSError, pa.ArrowException):
        return False


def _married_by_age(people: pa.Table, release: Release) -> tuple[Compared, ...]:
    age = release.certificate.schema.column("age")
    married = people.filter(pc.equal(people["marital"], STATUS))
    original = np.bincount(encode(age, married["age"]), minlength=len(age.labels))
    table = release.crosstab("age", "marital")
    cells = [table.cell(age=label, marital=STATUS) for label in age.labels]
    return _compared(age.labels, original, cells)


def _income_by_education(people: pa.Table, release: Release) -> tuple[Compared, ...]:
    cut = pc.min_element_wise(people["income"], TOP_INCOME, skip_nulls=False)
    incomes = pa.table({"education": people["education"], "income": cut})
    known = incomes.group_by("education").aggregate([("income", "mean")]).to_pylist()
    means = {group["education"]: group["income_mean"] for group in known}
    table = release.mean("income", by=["education"])
    cells = [table.cell(education=label) for label in EDUCATIONS]
    return _compared(EDUCATIONS, [means[label] for label in EDUCATIONS], cells)


def _compared(
    groups: Sequence[Label], original: Iterable[float], cells: Iterable[Mapping[str, Any]]
) -> tuple[Compared, ...]:
    return tuple(
        Compared(str(group), float(value), cell["estimate"], cell["low"], cell["high"])
        for group, value, cell in zip(groups, original, cells, strict=True)
    )
