"""The whole way once: people who do not exist, a design, a release, a check, an estimate."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pramana import api
from pramana.analysis.release import Release
from pramana.base.atomic_files import whole_folder
from pramana.base.file_moves import read_file
from pramana.base.randomness import Keystream
from pramana.errors import OutputExists
from pramana.experiments.population import make_population, population_schema
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.output import write_table
from pramana.methods.plan import Plan
from pramana.release.folder import CERTIFICATE, read_certificate, require_free
from pramana.schema.codec import encode, encode_released
from pramana.schema.joint_cells import Counts
from pramana.schema.schema import Schema
from pramana.verification.checks import Verdict

SEED = 2026
DATA = "people.parquet"
SCHEMA = "schema.toml"
STATUS = "married"
MADE_UP = b"people who do not exist"


@dataclass(frozen=True)
class MarriedByAge:
    """Married people of an age group: in truth, as released, and as estimated from the release.

    Attributes:
        age: the group.
        truth: how many there are.
        released: how many the release shows, after randomisation.
        estimate: what an analyst computes from the release and its certificate.
        low: where the analyst's interval begins.
        high: where it ends; the truth lies inside in 95 of 100 cases.
    """

    age: str
    truth: int
    released: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Demonstration:
    """What a demonstration did.

    Attributes:
        data: the folder with the true table and its schema.
        release: what could be published (were it not for the seed).
        plan: what was done.
        verdict: what a stranger finds.
        lines: one table before and after.
    """

    data: Path
    release: Release
    plan: Plan
    verdict: Verdict
    lines: tuple[MarriedByAge, ...]


def demonstrate(
    *,
    data: Path,
    to: Path,
    records: int,
    k: float,
    progress: Callable[[int], None] | None = None,
) -> Demonstration:
    """Make people, write them to ``data``, protect them at ``k`` into ``to``, and check."""
    target, schema = PkAnonymity(k=k), population_schema()
    people = make_population(records, keystream=Keystream.from_seed(SEED))
    plan = api.design(schema, target, data=people, method="retention")
    _require_own(to, schema)
    _write_truth(people, schema, data)
    release = api.protect(data / DATA, plan, to=to, seed=SEED, force=True, progress=progress)
    return Demonstration(data, release, plan, api.verify(to), _compare(people, release))


def _require_own(folder: Path, schema: Schema) -> None:
    """Refuse a place at which anything stands but a release of an earlier demonstration."""
    require_free(folder, force=True)
    if not (folder / CERTIFICATE).is_file():
        return
    found = read_certificate(folder)
    if not (found.reproducible and set(found.schema.names) <= set(schema.names)):
        raise OutputExists(f"{folder} is not of a demonstration. Run it in another folder.")


def _write_truth(people: pa.Table, schema: Schema, folder: Path) -> None:
    """The table and its schema; what is not of an earlier demonstration is left alone."""
    table, described = folder / DATA, folder / SCHEMA
    if table.exists() and not (table.is_file() and _is_made_up(table)):
        raise OutputExists(f"{table} is not of a demonstration. Run it in another folder.")
    if described.exists() and read_file(described) != schema.to_toml().encode():
        raise OutputExists(f"{described} is not of a demonstration. Run it in another folder.")
    marked = people.replace_schema_metadata({b"pramana": MADE_UP})
    with nullcontext(folder) if folder.exists() else whole_folder(folder) as place:
        write_table(marked, place / DATA, file_format="parquet", force=True)
        schema.save(place / SCHEMA, force=True)


def _is_made_up(path: Path) -> bool:
    try:
        return (pq.read_schema(path).metadata or {}).get(b"pramana") == MADE_UP
    except (OSError, pa.ArrowException):
        return False


def _compare(people: pa.Table, release: Release) -> tuple[MarriedByAge, ...]:
    """The married by age: a table in which no child may ever appear."""
    schema = release.certificate.schema
    age, marital = schema.column("age"), schema.column("marital")
    married = marital.labels.index(STATUS)
    released = release.opened.to_arrow(["age", "marital"])
    counts = []
    for table, code in ((people, encode), (released, encode_released)):
        codes = [code(column, table.column(column.name)) for column in (age, marital)]
        cells = Counts.of_codes(("age", "marital"), (age.labels, marital.labels), codes)
        counts.append(np.asarray(cells.dense())[:, married])
    found = release.crosstab("age", "marital")
    figures = [np.asarray(array)[:, married] for array in (found.estimate, found.low, found.high)]
    return tuple(
        MarriedByAge(str(label), int(truth), int(seen), *map(float, estimate))
        for label, truth, seen, *estimate in zip(age.labels, *counts, *figures, strict=True)
    )
