"""A plan: what will be done to each record, what that guarantees, and what it costs; and its file.

A design ends by checking its own answer: a plan whose guarantees fall short of those asked cannot
be made.

A plan file says what was decided about a table, as a small file next to its schema:

    schema = "schema.toml"
    asked = ["sex*age", "income by region"]
    method = "retention"
    copies = ["csv"]

    [target]
    k = 100

    [options]
    spread = "equal"

Nothing of the table is in it: ``pramana protect FILE --plan plan.toml`` makes the plan anew.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Final

import pyarrow as pa

from pramana.base.atomic_files import read_file, write_whole
from pramana.base.text import Shown, text_up
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import DoesNotHold, InputError, PramanaError, harmless
from pramana.guarantees.base import Guarantee, Need
from pramana.guarantees.claims import (
    ANY_SIZE,
    Claim,
    Made,
    cli_options,
    household_scope,
    paired,
    trade_off,
)
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.io.base import FORMATS
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.base import METHODS, Method, options_of
from pramana.methods.expected_error import ExpectedError
from pramana.methods.number_errors import mean_error_sentence, mean_errors
from pramana.release.kinds import KINDS, Kind
from pramana.schema.origins import DataChoices, Provenance
from pramana.schema.schema import Schema, origin_named
from pramana.schema.schema_file import entry_of, read_toml
from pramana.types import Entries, Form

CHOSEN: Final = noop(
    "{what} were chosen with these data. Epsilon does not cover what this choice reveals about a "
    "person, and the certificate says so. Choose by the schema alone instead (design --blind). "
    'State the roles yourself, and delete origin = "..." from the top of the schema.'
)


@dataclass(frozen=True)
class Plan(Shown):
    """Schema, mechanism, guarantees asked and attained, expected error.

    Attributes:
        schema: what each column is.
        mechanism: what is done to a record.
        method: the method that made the plan and releases records.
        records: the number of records.
        anonymity_set: the smallest number of records that agree in the columns that are released
            unchanged and may be known; the number of records where there are none.
        asked: the guarantees that were stated as targets.
        attained: every guarantee that the theory covers, computed from the integers.
        expected_error: the expected errors of tables; ``None`` where no formula covers them.
        statistics: further statistics of the design for the owner, such as its loss or its gain.
        public: further statistics for analysts, for the certificate.
        basis: a fingerprint of the counts that a data-dependent plan was made for.
        smallest_unchanged_group: the fewest records that agree in all columns released unchanged,
            where those that may be known are not all.
        permuted_copy: of methods that form groups, the records with keys permuted within groups:
            what is published about unchanged records is counted on it.
        kind: the kind of the release, where it is not that of the method.
    """

    schema: Schema
    mechanism: Mechanism
    method: Method
    records: int
    anonymity_set: int
    asked: tuple[Guarantee, ...]
    attained: tuple[Guarantee, ...]
    expected_error: ExpectedError | None = None
    statistics: Entries = field(default_factory=dict)
    public: Entries = field(default_factory=dict)
    basis: str | None = None
    smallest_unchanged_group: int | None = None
    permuted_copy: pa.Table | None = field(default=None, repr=False, compare=False)
    kind: str | None = None

    def __post_init__(self) -> None:
        known = {claim.name for claim in self.claims}
        for guarantee in self.asked:
            if guarantee.name not in known:
                raise DoesNotHold(
                    "Method {method} does not guarantee {guarantee}.",
                    method=self.method.name,
                    guarantee=guarantee.name,
                )
        for claim in self.claims:
            if not claim.holds:
                raise DoesNotHold(
                    "Method {method} attains {attained}, short of the {asked} that was asked.",
                    method=self.method.name,
                    attained=claim.attained,
                    asked=claim.asked,
                )

    @property
    def nature(self) -> Kind:
        """The kind of its release."""
        return KINDS[self.kind or self.method.kind]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Each guarantee, as asked and as attained."""
        return paired(self.asked, self.attained)

    @property
    def published(self) -> tuple[Claim, ...]:
        """The claims that a certificate states.

        If the method looked at the data, digits of what is attained would reveal counts: then what
        was asked is stated, and what anyone can recompute from published matrices.
        """
        if not self.method.data_dependent:
            return self.claims
        asked = tuple(Claim(claim.asked, claim.asked) for claim in self.claims if claim.asked)
        if not self.nature.shows_matrices:
            return asked
        rest = (claim for claim in self.claims if not claim.asked)
        return asked + tuple(claim for claim in rest if claim.checked_by == "anyone")

    @property
    def aims_at_epsilon(self) -> bool:
        """Whether a target compares neighbouring tables, so that no choice may rest on the data."""
        return any(Need.FIXED_MATRICES in target.needs for target in self.asked)

    @property
    def trade_off(self) -> str | None:
        """k, local and central epsilon in one line, where all three hold."""
        return trade_off(self.attained)

    @property
    def made(self) -> Made:
        """How records will be made, as far as the sentences of guarantees depend on it."""
        largest = self.statistics.get("largest_household")
        sizes = ANY_SIZE if largest is None else (largest,)
        numbered = self.schema.household is not None
        options, picked = {**self.method.disclosed(), **self.public}, self.mechanism.picked
        return Made.of(self.schema, options, picked, households=sizes if numbered else ())

    def promise(self, claim: Claim) -> str:
        """A sentence for one of the guarantees, with the people that it does not cover."""
        return claim.sentence(self.schema, self.made)

    def sentences(self) -> list[str]:
        """The guarantees, the expected errors, and the notices."""
        promises = [self.promise(claim) for claim in self.claims]
        error = [self.expected_error.sentence()] if self.expected_error else []
        return [*promises, *error, *self.means, *self.choice, *self.notices]

    @property
    def means(self) -> tuple[str, ...]:
        """The expected standard errors of means of numbers on a grid; empty without such means."""
        sentence = mean_error_sentence(mean_errors(self), here=False)
        return () if sentence is None else (sentence,)

    @property
    def choice(self) -> tuple[str, ...]:
        """The method that was chosen, and the cost of the other; empty where one was stated."""
        return (self.statistics["choice"],) if "choice" in self.statistics else ()

    @property
    def notices(self) -> list[str]:
        """What the owner should correct or know before relying on the targets."""
        notices, choices = [], DataChoices.of(self.schema)
        read = choices.read
        if self.aims_at_epsilon and (choices.tried or not choices.choices.declared):
            tried = ", ".join(choices.tried)
            what = [gettext("the values of {columns}", columns=tried)] if tried else []
            if not choices.choices.declared:
                what.append(gettext("roles, method or target"))
            notices.append(gettext(CHOSEN, what=gettext(" and ").join(what)))
        if read and self.aims_at_epsilon:
            notices.append(
                gettext(
                    "Values read off the data are published ({columns}): a value that only one "
                    "person has reveals that person, and epsilon does not cover it. Declare in the "
                    "schema which values can occur: "
                    '[columns.{first}] categories = ["...", "..."].',
                    columns=", ".join(read),
                    first=read[0],
                )
            )
        central = [target for target in self.asked if isinstance(target, ShuffledPrivacy)]
        delta = max((target.delta or 0.0 for target in central), default=0.0)
        if delta > 1 / self.records:
            notices.append(
                gettext(
                    "A delta of {delta} is above one record in {records:,}: publishing some "
                    "people's records unchanged would meet it, so that it protects hardly anyone. "
                    "Leave --delta out for the usual one.",
                    delta=numeral(text_up(delta, 3)),
                    records=self.records,
                )
            )
        more = (self.statistics.get(name, ()) for name in ("about_tables", "about_matrices"))
        return [*notices, *self.about_households, *chain.from_iterable(more)]

    @property
    def about_households(self) -> tuple[str, ...]:
        """The assumption of guarantees for households; empty where the schema numbers none."""
        return () if self.schema.household is None else (household_scope(self.schema),)

    @property
    def wanted(self) -> tuple[tuple[str, ...], ...]:
        """The tables that will be asked for; empty where none were stated."""
        return getattr(self.method, "tables", ()) or self.schema.tables

    def __repr__(self) -> str:
        attained = "; ".join([f"{self.records:,} records", *map(str, self.attained)])
        return f"<Plan: {self.method.name}, {attained}>"

    def shown(self) -> tuple[str, list[str]]:
        """As notebooks show it."""
        return f"Plan: {self.method.name}, {self.records:,} records", self.sentences()

    def __str__(self) -> str:
        head = f"Method {self.method.name}, {self.records:,} records."
        return harmless("\n".join([head, *(f"* {sentence}" for sentence in self.sentences())]))

    def to_json(self) -> Form:
        """The JSON form of a design."""
        error = self.expected_error
        form: Form = {
            "method": self.method.name,
            "records": self.records,
            "anonymity_set": self.anonymity_set,
            "columns": {
                name: _parameters(step) for step in self.mechanism.steps for name in step.columns
            },
            "guarantees": [claim.to_json(self.schema, self.made) for claim in self.claims],
            "expected_error": None if error is None else finite(error.mean),
            "data_dependent": self.method.data_dependent,
            "trade_off": self.trade_off,
            "notices": self.notices,
        }
        if self.method.disclosed():
            form["options"] = dict(self.method.disclosed())
        means = [error.to_json() for error in mean_errors(self)]
        form |= {"expected_standard_errors": means} if means else {}
        if error is not None:
            form["expected_errors"] = error.to_json()["tables"]
            form["expected_error_sentence"] = error.sentence()
        return form | {
            name: finite(value) if isinstance(value, float) else value
            for name, value in self.statistics.items()
        }


def finite(number: float) -> float | None:
    """JSON has no infinity: null says that there is no bound."""
    return number if abs(number) < float("inf") else None


def _parameters(step: Step) -> Form:
    """The parameters of the matrices of a step."""
    matrices = step.matrices
    form: Form = {"values": len(step.labels), "family": matrices[0].family}
    if len(step.columns) > 1:
        form["together_with"] = list(step.columns)
    if len(matrices) > 1:
        form["strata"] = len(matrices)
    matrix = matrices[0]
    if len(matrices) == 1 and isinstance(matrix, UniformMixture):
        form["retention"] = float(matrix.retention)
        form["gamma"] = finite(float(matrix.gamma))
        form["epsilon"] = finite(matrix.epsilon)
    form["smallest_diagonal"] = float(min(float(m.diagonal.min()) for m in matrices))
    return form


@dataclass(frozen=True)
class PlanFile:
    """Target, method and what will be asked.

    Attributes:
        schema: the file that says what each column is, in the same folder.
        target: the numbers of targets by name, such as ``{"k": 100}``.
        method: the name of the method; the usual one for the target if empty.
        options: the options of the method, as on the command line.
        asked: tables, means and models of interest, as on the command line (``--ask``).
        copies: further formats of the released data.
        origin: where method and target come from.
    """

    schema: str = "schema.toml"
    target: Form = field(default_factory=dict)
    method: str = ""
    options: Form = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    origin: str = Provenance.DECLARED

    def __post_init__(self) -> None:
        if self.method and self.method not in METHODS:
            raise InputError(
                "method must be one of {methods}, got '{method}'.",
                methods=", ".join(METHODS),
                method=self.method,
            )
        object.__setattr__(self, "origin", str(origin_named(self.origin)))
        _require_known("target", self.target, [letter.field for letter in cli_options()])
        for name, value in self.target.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value):
                raise InputError("{name} of [target] must be a number.", name=name)
        flags = (item.flag[2:] for method in METHODS.values() for item in options_of(method))
        _require_known("options", self.options, list(dict.fromkeys(flags)))
        written = [n for n, fmt in FORMATS.items() if fmt.writes] if self.copies else []
        _require_known("copies", dict.fromkeys(self.copies), written)

    @classmethod
    def from_toml(cls, text: str) -> PlanFile:
        """The plan that a TOML text states."""
        form = read_toml(text, what="A plan")
        kinds = {item.name: type(getattr(cls(), item.name)) for item in fields(cls)}
        _require_known("", form, list(kinds))
        stated: Form = {}
        for name, value in form.items():
            if kinds[name] is tuple and isinstance(value, list):
                value = tuple(value)
                if not all(isinstance(item, str) for item in value):
                    raise InputError("{name} must be a list of texts.", name=name)
            if not isinstance(value, kinds[name]):
                what: dict[type, str] = {str: "a text", tuple: "a list of texts"}
                raise InputError(
                    "{name} must be {form}.",
                    name=name,
                    form=what.get(kinds[name], f"a table [{name}]"),
                )
            stated[name] = value
        return cls(**stated)

    def to_toml(self) -> str:
        """A TOML text that ``from_toml`` reads to an equal plan."""
        top: Form = {"schema": self.schema, "asked": list(self.asked), "method": self.method,
                     "copies": list(self.copies)}  # fmt: skip
        if self.origin != Provenance.DECLARED:
            top["origin"] = self.origin
        lines = [entry_of(name, value) for name, value in top.items() if value]
        for name, table in (("target", self.target), ("options", self.options)):
            if table:
                lines += ["", f"[{name}]", *(entry_of(*entry) for entry in table.items())]
        return "\n".join(lines) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> PlanFile:
        """The plan in a file; every error names the file."""
        place = Path(path)
        if not place.exists():
            raise InputError("The plan file {place} does not exist.", place=place)
        try:
            return cls.from_toml(read_file(place, what="plan file").decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise InputError(
                "The plan file {place} cannot be read as UTF-8 text.", place=place
            ) from None
        except PramanaError as error:
            raise InputError("{place}: {error}", place=place, error=error) from None

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the plan; over a file of that name only with ``force``."""
        write_whole(Path(path), self.to_toml(), force=force)

    def schema_path(self, path: Path) -> Path:
        """The path of its schema, from the path of the plan.

        >>> PlanFile("schema.toml").schema_path(Path("survey/plan.toml")).as_posix()
        'survey/schema.toml'
        """
        return Path(os.path.normpath(path.parent / self.schema))


def _require_known(where: str, form: Form, known: list[str] | tuple[str, ...]) -> None:
    unknown = [name for name in form if name not in known]
    if unknown:
        place = f" of [{where}]" if where else " of a plan"
        raise InputError(
            "'{unknown}' is no entry{place}; known are {known}.",
            unknown=unknown[0],
            place=place,
            known=", ".join(known),
        )
