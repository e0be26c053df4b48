"""What must fit together inside a certificate: everything with everything.

A digest only says that a certificate is as somebody wrote it. So each part is compared with the
others: the steps with the randomised columns, the labels of each matrix with the domains, the kind
with the method, and every claim with what can be computed again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from pramana.base.rounding import SHARES, coarse_up, log_of
from pramana.errors import AlteredRelease, PramanaError
from pramana.guarantees.base import Guarantee, only_the_owner
from pramana.guarantees.claims import Claim, never_offered, recomputed
from pramana.mechanisms.mechanism import AttributeSampler, Step
from pramana.mechanisms.sparse_rows import ListedCells
from pramana.mechanisms.transition import Label
from pramana.release.certificate import Certificate
from pramana.release.kinds import METHOD_CLASSES
from pramana.schema.joint_cells import CellRules, tied_columns
from pramana.schema.schema import Schema
from pramana.types import BoolArray, Entries
from pramana.verification.checks import Check, CheckKind

MOST_CELLS = 50_000_000
"""Joint domains up to here are laid out to see which cells can exist."""

Tied = Mapping[str, tuple[str, ...]]
"""Columns by the groups that rules tie together."""

MOST_RULED = 50_000_000
"""This many cells may rules strike out, over and over: more would keep a reader waiting."""


def consistency_checks(certificate: Certificate, *, recompute: bool = True) -> Iterator[Check]:
    """Whether the parts of a certificate fit together, and, if asked, whether its claims hold."""
    yield from matrix_checks(certificate)
    yield _free_fields(certificate)
    yield from _chosen(certificate)
    yield from _figures(certificate)
    yield from _shares(certificate)
    yield from _attached(certificate)
    yield from _stated(certificate)
    yield from _copies(certificate)
    yield from _labels(certificate)
    yield from _collected(certificate)
    if recompute:
        yield from _claims(certificate)
        return
    for claim in certificate.claims:
        told = "not recomputed: the number of records is not that of the data"
        yield Check.asserted(claim.name, told, CheckKind.GUARANTEE)


def _labels(certificate: Certificate) -> Iterator[Check]:
    """Words about columns are about those that are there; of one of ours they are ours."""
    labels, there = certificate.labels, {column.name for column in certificate.schema.released}
    if not {*labels.variables, *labels.values} <= there:
        yield Check.decided("labels", False, "they are of columns that are not there")
    maker = METHOD_CLASSES.get(certificate.method)
    if maker is not None and maker.published_labels(labels) != labels:
        yield Check.decided(
            "labels", False, f"a column that {certificate.method} adds is another there"
        )


def matrix_checks(certificate: Certificate) -> Iterator[Check]:
    """Whether the matrices are those of the columns."""
    yield _method(certificate)
    if certificate.mechanism is None:
        return
    yield from label_checks(certificate)
    if certificate.nature.whole:  # a report of a part of a rule cannot break it
        yield from _rules(certificate)


def label_checks(certificate: Certificate) -> Iterator[Check]:
    """Whether what moves columns is of the columns and values that the schema calls randomised."""
    assert certificate.mechanism is not None  # noqa: S101 - the caller has looked
    yield _steps(certificate)
    tied = _tied(certificate.schema)
    moves = certificate.mechanism.steps
    if isinstance(certificate.mechanism, AttributeSampler):
        moves = tuple(Step(one.columns, one.matrix) for one in certificate.mechanism.sets)
    yield from (_matrix(certificate.schema, step, tied) for step in moves)


def require_consistent(certificate: Certificate) -> None:
    """Refuse a certificate whose matrices or statistics are not of the columns of its schema.

    Estimates and the owner's checks look labels and columns up, and may then rely on them.
    """
    known = certificate.method in METHOD_CLASSES  # of another package, perhaps, that is not here
    checks = [_method(certificate)] if known else []
    if certificate.mechanism is not None:
        checks += label_checks(certificate)
    for check in (*checks, *_figures(certificate)):
        if not check.ok:
            raise AlteredRelease(
                f"The certificate contradicts itself: {check.name}: {check.detail}."
            )


def _method(certificate: Certificate) -> Check:
    """A method makes releases of its kinds, looks at the data or not, and replaces keys one way."""
    if certificate.method not in METHOD_CLASSES:
        return Check.decided(
            "method", False, f"{certificate.method} is not known here: install what brings it"
        )
    maker = METHOD_CLASSES[certificate.method]
    made = (maker.data_dependent, maker.new_keys)
    stated = (certificate.data_dependent, certificate.statistics.get("keys"))
    if certificate.schema.impossible and not maker.keeps_rules:
        return Check.decided(
            "method", False, f"{certificate.method} takes no impossible combinations"
        )
    good = stated == made and certificate.kind in (maker.kind, *maker.other_kinds)
    words = "what the certificate holds" if good else "not what the certificate holds"
    return Check.decided("method", good, f"{words} is what {certificate.method} makes")


def _steps(certificate: Certificate) -> Check:
    """Every randomised column belongs to one step, and no other column does."""
    assert certificate.mechanism is not None  # noqa: S101 - the caller has looked
    steps = sorted(certificate.mechanism.columns)
    columns = sorted(column.name for column in certificate.schema.randomised)
    strata = set(certificate.mechanism.strata) <= set(certificate.schema.strata)
    good = steps == columns and bool(steps) and strata
    return Check.decided(
        "steps",
        good,
        "every randomised column has its matrix, and no other has one"
        if good
        else "the matrices are not those of the columns that the schema calls randomised",
    )


def _matrix(schema: Schema, step: Step, tied: Tied) -> Check:
    """The labels of a step are the domain of its columns: every cell that can exist."""
    name = f"matrix of {' x '.join(step.columns)}"
    lacking = [own for own in step.columns if own not in schema.names]
    if lacking or any(schema.column(own).domain is None for own in step.columns):
        return Check.decided(name, False, "it moves a column that has no domain in the schema")
    good = _covers(schema, step, tied)
    words = "runs over the whole domain" if good else "does not run over the domain"
    if good and isinstance(step.matrix, ListedCells):
        words = "lists cells that can exist, and leaves all others empty, of the domain"
    return Check.decided(name, good, f"the matrix {words} of its columns")


def _covers(schema: Schema, step: Step, tied: Tied) -> bool:
    domains = [{_told(label): at for at, label in enumerate(schema.column(name).labels)}
               for name in step.columns]  # fmt: skip
    listed = isinstance(step.matrix, ListedCells)
    possible = None if listed else _possible(schema, step.columns, tied)
    if possible is None and not listed:
        return False
    cells = step.cells
    try:
        found = np.array(
            [[domain[_told(v)] for domain, v in zip(domains, cell, strict=True)] for cell in cells]
        )
    except KeyError:
        return False
    if possible is None:
        return len(cells) >= 2 and bool(CellRules.of(schema, step.columns).possible(found.T).all())
    return len(cells) >= 2 and len(cells) == int(possible.sum()) and bool(possible[*found.T].all())


def _possible(schema: Schema, columns: Sequence[str], tied: Tied) -> BoolArray | None:
    """Which cells of some columns can exist beside some values of the columns tied to them.

    A rule may rule out a value altogether, or two rules together a pair that neither names.
    ``None`` where there are too many cells to look at.
    """
    if math.prod(len(schema.column(name).labels) for name in columns) > MOST_CELLS:
        return None
    found, order = np.ones((), dtype=bool), list[str]()
    for group in dict.fromkeys(tied[name] for name in columns):
        labels = [schema.column(name).labels for name in group]
        if math.prod(map(len, labels)) > MOST_CELLS or _ruled(schema, group) > MOST_RULED:
            return None
        table = CellRules.of(schema, group).table()
        inside = [name for name in group if name in columns]
        others = tuple(at for at, name in enumerate(group) if name not in columns)
        found = np.logical_and.outer(found, table.any(axis=others))
        order += inside
    possible: BoolArray = found.transpose([order.index(name) for name in columns])
    return possible


def _tied(schema: Schema) -> Tied:
    """For each column the group that rules tie it to, itself among them."""
    names = [column.name for column in schema.randomised if column.domain is not None]
    ties = (rule.columns for rule in schema.impossible if set(rule.columns) <= set(names))
    return {name: group for group in tied_columns(names, ties) for name in group}


def _ruled(schema: Schema, columns: Sequence[str]) -> int:
    """The number of cells that rules strike out, each counted as often as one does."""
    total = 0
    for rule in schema.impossible:
        if set(rule.columns) <= set(columns):
            own = dict(rule.cells)
            total += math.prod(
                len(own[name]) if name in own else len(schema.column(name).labels)
                for name in columns
            )
    return total


def _told(label: Label) -> tuple[type, Label]:
    """A label with its type: to Python 1, 1.0 and true are the same."""
    return type(label), label


def _rules(certificate: Certificate) -> Iterator[Check]:
    """What cannot exist is ruled out by a joint step, or it would be released."""
    assert certificate.mechanism is not None  # noqa: S101 - the caller has looked
    groups = [set(step.columns) for step in certificate.mechanism.steps]
    for rule in certificate.schema.impossible:
        if not any(set(rule.columns) <= group for group in groups):
            names = " and ".join(rule.columns)
            yield Check.decided(
                "impossible combinations", False, f"no step moves {names} together, as a rule needs"
            )


def _free_fields(certificate: Certificate) -> Check:
    """Figures, options and the price in words: those that the method gives, and no others."""
    name = "figures and words"
    maker = METHOD_CLASSES.get(certificate.method)
    if maker is None or maker.owner_statistics is None:
        return Check.asserted(name, "the method does not say which of them it gives")
    tells = maker.owner_statistics | certificate.nature.tells
    try:
        options, figures = maker.expected_fields(certificate)
        priced = maker.matches_expected_error(certificate, certificate.expected_error)
    except (ArithmeticError, AttributeError, LookupError, PramanaError, TypeError, ValueError):
        return Check.decided(name, False, f"not what {certificate.method} gives with all else")
    strange = _strange(certificate.options, options) | _strange(
        {n: own for n, own in certificate.statistics.items() if n not in tells}, figures
    )
    strange |= tells - set(certificate.statistics) - _uncounted(certificate)
    strange |= set() if priced else {"expected_error"}
    if strange:
        told = f"{certificate.method} gives another {', '.join(sorted(strange))}, or none"
        return Check.decided(name, False, told)
    return Check.decided(
        name, True, f"what {certificate.method} gives with all else in the certificate"
    )


def _chosen(certificate: Certificate) -> Iterator[Check]:
    """Whether sets are those that the method chooses for the tables that it says it had."""
    name, maker = "chosen for", METHOD_CLASSES.get(certificate.method)
    if maker is None or certificate.mechanism is None:
        return
    try:
        again = maker.reproduces_matrices(certificate)
    except (ArithmeticError, LookupError, PramanaError, TypeError, ValueError):
        again = False
    if again:
        yield Check.decided(
            name, True, f"{certificate.method} chooses these for what it was asked for"
        )
    elif again is False:
        told = f"not what {certificate.method} chooses for what is said to have been asked for"
        yield Check.decided(name, False, told)


def _uncounted(certificate: Certificate) -> set[str]:
    """On a cluster nobody counts which records stand in a release as they were."""
    kind = certificate.nature
    return set() if kind.shows_matrices or kind.grouped else {"verbatim"}


def _strange(found: Entries, made: Entries) -> set[str]:
    """The names under which two objects differ; to JSON 1, 1.0 and true are not the same."""
    texts = [{n: json.dumps(own, sort_keys=True) for n, own in form.items()} for form in
             (found, made)]  # fmt: skip
    return {n for n in {*found, *made} if texts[0].get(n) != texts[1].get(n)}


def _figures(certificate: Certificate) -> Iterator[Check]:
    """Standard errors, where a reader takes them from the certificate: one for each label."""
    if "standard_errors" not in certificate.statistics:
        return
    errors = certificate.statistics["standard_errors"]
    sizes = {c.name: len(c.labels) for c in certificate.schema.randomised if c.domain is not None}
    least = certificate.nature.least_error
    good = isinstance(errors, dict) and set(errors) == set(sizes) and all(
        isinstance(own, list) and len(own) == sizes[name] and len(set(map(repr, own))) == 1
        and _on_grid(own[0]) if least is None else _on_grid(own) and own >= least
        for name, own in errors.items()
    )  # fmt: skip
    yield _owners_word(
        "standard errors", good,
        "one for all values of a column, on the grid; only the owner knows them",
        "not one of the published grid for all values of each randomised column",
    )  # fmt: skip


def _owners_word(name: str, possible: bool, stated: str, refused: str) -> Check:
    """What only the owner knows: asserted where it is possible at all."""
    return Check.asserted(name, stated) if possible else Check.decided(name, False, refused)


def _on_grid(figure: Any) -> bool:
    """Whether a figure is of those that may be published about data."""
    return isinstance(figure, float) and 0 <= figure < math.inf and coarse_up(figure) == figure


def _shares(certificate: Certificate) -> Iterator[Check]:
    """How much of the spread of keys lies within groups: of the grid, and at most all of it."""
    if "within_group_share" not in certificate.statistics:
        return
    share = certificate.statistics["within_group_share"]
    yield _owners_word(
        "share within groups", _on_grid(share) and share <= 1,
        "on the grid; stated by the owner when groups were formed",
        "not a share of the published grid",
    )  # fmt: skip


def _stated(certificate: Certificate) -> Iterator[Check]:
    """What nobody but the owner can look at."""
    if certificate.nature.grouped and certificate.options:
        told = f"{', '.join(sorted(certificate.options))}: only who knows the groups can tell"
        yield Check.asserted("how groups were formed", told)
    if certificate.schema.replicates is not None:
        told = "which columns, of what kind and scale, is stated by the owner; errors rest on it"
        yield Check.asserted("replicate weights", told)
    if certificate.households:
        told = "that no released column tells who lives with whom is stated by the owner"
        yield Check.asserted("households", told)


def _attached(certificate: Certificate) -> Iterator[Check]:
    """How many share all that is released unchanged: stated beside matrices that know no data."""
    fixed = certificate.nature.shows_matrices and not certificate.data_dependent
    if certificate.smallest_unchanged_group is not None and not (
        fixed and certificate.true_schema.attached
    ):
        told = f"{certificate.method} states no number of records that share them"
        yield Check.decided("attached columns", False, told, CheckKind.UNCHANGED)


def _collected(certificate: Certificate) -> Iterator[Check]:
    """That nobody held the truth: anyone's word, for methods that need no data."""
    if certificate.collected is None:
        return
    asks = certificate.nature.shows_matrices and not certificate.data_dependent
    as_is = [column.name for column in certificate.as_they_are]
    yield _owners_word(
        "collected", asks and not as_is and not certificate.reproducible,
        "people randomised their own answers; the office says so",
        "people cannot have randomised what was done here",
    )  # fmt: skip
    panel, mechanism = certificate.collected.panel, certificate.mechanism
    if panel is not None and mechanism is not None:
        one = log_of(Fraction(mechanism.gamma)) if mechanism.gamma != math.inf else math.inf
        words = "all waves together tell no less than one, and of who changes each no less"
        # Every wave's own draw tells at least what passes both: its share, up to the last digits.
        least = panel.waves * one * (1 - 1e-12)
        good = panel.epsilon >= one and panel.changing_epsilon >= least
        yield Check.decided("waves of the panel", good, words)
        told = "what all waves together tell is stated by the office, whose definition shows it"
        yield Check.asserted("all waves of the panel", told)


def _copies(certificate: Certificate) -> Iterator[Check]:
    """What stands in the release word for word: two shares on the grid, and nothing else."""
    if "verbatim" not in certificate.statistics:
        if _uncounted(certificate):
            yield Check.asserted("records word for word", "not counted by the owner")
        return
    seen = certificate.statistics["verbatim"]
    names = {"records_at_most", "unique_records_at_most"}
    good = (
        isinstance(seen, dict)
        and set(seen) == names
        and all(type(share) is float and share in SHARES for share in seen.values())
    )
    yield _owners_word(
        "records word for word", good, "on the grid; only the owner can count them",
        "not two shares of the published grid",
    )  # fmt: skip


# -- claims ----------------------------------------------------------------------------------------


def _claims(certificate: Certificate) -> Iterator[Check]:
    """What is claimed against what can be computed again."""
    names = [claim.name for claim in certificate.claims]
    if len(set(names)) < len(names):
        yield Check.decided("guarantees", False, "a guarantee is claimed more than once")
        return
    try:
        found = recomputed(certificate.evidence, [claim.attained for claim in certificate.claims])
    except PramanaError as error:
        yield Check.decided("guarantees", False, f"cannot be computed again: {error}")
        return
    for claim in certificate.claims:
        check = _claim(certificate, claim, found.get(claim.name))
        yield replace(check, kind=CheckKind.GUARANTEE)


def _wrongly_asked(method: str, claim: Claim) -> str | None:
    """Why what is said to have been asked cannot be; nothing where it can, or nothing was."""
    if claim.asked is None:
        return None
    maker = METHOD_CLASSES.get(method)
    if maker is not None and maker.aims and claim.name not in maker.aims:
        return f"nobody can ask it of method {method}, which does not aim at it"
    told = "it speaks of something else than what was asked"
    return None if claim.attained.answers(claim.asked) else told


def _claim(certificate: Certificate, claim: Claim, found: Guarantee | None) -> Check:
    owner = certificate.nature.owner_knows
    never = never_offered(type(claim.attained), certificate.evidence, owner)
    if not claim.holds and certificate.collected is None:  # who comes to a survey is not designed
        return Check.decided(
            claim.name, False, "the certificate itself attains less than was asked"
        )
    if never is not None:
        return Check.decided(claim.name, False, f"it cannot be promised: {never}")
    if (wrong := _wrongly_asked(certificate.method, claim)) is not None:
        return Check.decided(claim.name, False, wrong)
    bound = claim.attained.impossible(certificate.evidence)
    if bound is not None:
        return Check.decided(claim.name, False, f"no release can keep it: {bound}")
    if found is None and not certificate.nature.shows_matrices and claim.asked != claim.attained:
        told = "where nobody can compute it again, what was asked is stated and nothing else"
        return Check.decided(claim.name, False, told)
    fixed = certificate.nature.shows_matrices and not certificate.data_dependent
    if fixed and claim.asked is None and only_the_owner(type(claim.attained)):
        return Check.decided(
            claim.name, False, "matrices that know no data come with no such figure"
        )
    if found is None and certificate.nature.grouped:
        told = "stated by the owner when groups were formed, which are not kept; testable only"
        return Check.asserted(claim.name, told)
    if found is None:
        return Check.asserted(claim.name, "stated by the owner; only the owner can recompute it")
    alone = certificate.mechanism is None
    if found.implies(claim.attained):
        source = "certificate" if alone else "matrices"
        told = f"recomputed from the {source}: {claim.attained}.{claim.missed}".removesuffix(".")
        return Check.decided(claim.name, True, told)
    gives = "certificate gives" if alone else "matrices give"
    return Check.decided(claim.name, False, f"the {gives} only {found}")
