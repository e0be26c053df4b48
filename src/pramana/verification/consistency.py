"""Checks that the parts of a certificate agree with each other.

A digest only says that a certificate is as somebody wrote it. So each part is compared with the
others: the steps with the randomised columns, the labels of each matrix with the domains, the kind
with the method, and every claim with what can be computed again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pramana.base.rounding import SHARES, coarse_up, log_of
from pramana.base.text import quoted
from pramana.base.translation import ENGLISH, gettext, in_language, noop
from pramana.errors import AlteredRelease, PramanaError
from pramana.guarantees.base import Guarantee, Need, only_the_owner
from pramana.guarantees.claims import Claim, lacks, recomputed
from pramana.mechanisms.mechanism import AttributeSampler, Step
from pramana.mechanisms.sparse_rows import ListedCells
from pramana.mechanisms.transition import Label
from pramana.release.certificate import Certificate
from pramana.release.kinds import METHOD_CLASSES
from pramana.schema.joint_cells import CellRules, tied_columns
from pramana.schema.schema import Schema
from pramana.types import BoolArray, Entries
from pramana.verification.checks import Check, CheckKind
from pramana.verification.whole_file import HOUSEHOLD

MOST_LOOKED_AT = 1_000_000_000
"""The most cells that are looked at for all matrices together."""

MOST_CELLS = 50_000_000
"""The largest joint domain that is laid out to see which cells can exist, and the most cells that
rules may strike out, over and over: more would keep a reader waiting."""

Ties = Mapping[str, tuple[str, ...]]
"""For each column the group of columns that rules tie together."""


def consistency_checks(certificate: Certificate, *, recompute: bool = True) -> Iterator[Check]:
    """Whether the parts of a certificate agree, and, if asked, whether its claims hold.

    Nothing is computed from attribute sets that are not those of the columns and the method: there
    may be any number of them, which would keep a reader waiting.
    """
    reason = "not recomputed: the number of records differs from the data"
    sampled = isinstance(certificate.mechanism, AttributeSampler)
    for check in (*matrix_checks(certificate), *_chosen_matrices(certificate)):
        yield check
        if sampled and recompute and not check.ok:
            recompute, reason = False, "not recomputed: the attribute sets differ from the method"
    yield _method_fields(certificate)
    yield from _standard_errors(certificate)
    yield from _owner_statements(certificate)
    yield from _labels(certificate)
    yield from _collection(certificate)
    if recompute:
        yield from _claims(certificate)
        return
    for claim in certificate.claims:
        yield Check.asserted(claim.name, reason, CheckKind.GUARANTEE)


def require_consistent(certificate: Certificate) -> None:
    """Refuse a certificate whose matrices or statistics are not of the columns of its schema.

    Estimates and the owner's checks look labels and columns up, and may then rely on them.
    """
    known = certificate.method in METHOD_CLASSES  # another package's method may not be here
    checks = [_method(certificate)] if known else []
    if certificate.mechanism is not None:
        checks += label_checks(certificate)
    for check in (*checks, *_standard_errors(certificate)):
        if not check.ok:
            raise AlteredRelease(
                f"The certificate contradicts itself: {check.name}: {check.detail}."
            )


def _asserted_if(possible: bool, name: str, stated: str, refused: str) -> Check:
    """What only the owner knows: asserted if it is possible, failed otherwise."""
    return Check.asserted(name, stated) if possible else Check.decided(name, False, refused)


# -- method and matrices ---------------------------------------------------------------------------


def matrix_checks(certificate: Certificate) -> Iterator[Check]:
    """Whether the matrices are those of the columns."""
    yield _method(certificate)
    if certificate.mechanism is None:
        return
    yield from label_checks(certificate)
    if not certificate.nature.whole:  # a report of a part of a rule cannot break it
        return
    groups = [set(step.columns) for step in certificate.mechanism.steps]
    for rule in certificate.schema.impossible:
        if not any(set(rule.columns) <= group for group in groups):
            detail = "no step randomises {columns} together, as the rule needs"
            columns = quoted(rule.columns)
            yield Check.decided("impossible combinations", False, detail, columns=columns)


def _method(certificate: Certificate) -> Check:
    """A method makes releases of its kinds, looks at the data or not, and replaces keys one way."""
    method, maker = certificate.method, METHOD_CLASSES.get(certificate.method)
    if maker is None:
        return Check.decided(
            "method", False, "{method} is unknown: install its package", method=method
        )
    if certificate.schema.impossible and not maker.keeps_rules:
        return Check.decided(
            "method", False, "{method} takes no impossible combinations", method=method
        )
    stated = certificate.data_dependent, certificate.statistics.get("keys")
    good = stated == (maker.data_dependent, maker.new_keys)
    good = good and certificate.kind in (maker.kind, *maker.other_kinds)
    words = (
        "{method} agrees with the certificate"
        if good
        else "{method} does not agree with the certificate"
    )
    return Check.decided("method", good, words, method=method)


def label_checks(certificate: Certificate) -> Iterator[Check]:
    """Whether matrices are of the columns and values that the schema calls randomised."""
    schema, mechanism = certificate.schema, certificate.mechanism
    assert mechanism is not None  # noqa: S101 - the caller has looked
    steps = sorted(mechanism.columns)
    columns = sorted(column.name for column in schema.randomised)
    strata = set(mechanism.strata) <= set(schema.strata)
    good = steps == columns and bool(steps) and strata
    words = "every randomised column has its matrix, and no other has one"
    refused = "the matrices do not belong to the randomised columns of the schema"
    yield Check.decided("steps", good, words if good else refused)
    with_domain = [column.name for column in schema.randomised if column.domain is not None]
    rules = [r.columns for r in schema.impossible if set(r.columns) <= set(with_domain)]
    ties = {name: group for group in tied_columns(with_domain, rules) for name in group}
    moves = mechanism.steps
    if isinstance(mechanism, AttributeSampler):
        moves = tuple(Step(one.columns, one.matrix) for one in mechanism.sets)
    looked_at = 0
    for step in moves:
        name, names = "matrix of {columns}", " x ".join(step.columns)
        if not set(step.columns) <= ties.keys():
            detail = "it randomises a column without a domain in the schema"
            yield Check.decided(name, False, detail, columns=names)
            continue
        tied = {member for column in step.columns for member in ties[column]}
        looked_at += math.prod(len(schema.column(member).labels) for member in tied)
        if looked_at > MOST_LOOKED_AT:
            yield Check.decided(name, False, "its columns are tied into too many cells to look at")
            return
        good = _covers_domain(schema, step, ties)
        words = (
            "the matrix covers the whole domain of its columns"
            if good
            else "the matrix does not cover the domain of its columns"
        )
        if good and isinstance(step.matrix, ListedCells):
            words = "the matrix lists cells that can exist, and leaves all others empty"
        yield Check.decided(name, good, words, columns=names)


def _covers_domain(schema: Schema, step: Step, ties: Ties) -> bool:
    """Whether the labels of a step are every cell of its columns that can exist.

    A matrix of listed cells may leave some out.
    """
    domains = [
        {_typed(label): code for code, label in enumerate(schema.column(name).labels)}
        for name in step.columns
    ]
    listed = isinstance(step.matrix, ListedCells)
    possible = None if listed else _possible_cells(schema, step.columns, ties)
    if possible is None and not listed:
        return False
    try:
        codes = np.array(
            [
                [domain[_typed(label)] for domain, label in zip(domains, cell, strict=True)]
                for cell in step.cells
            ]
        )
    except KeyError:
        return False
    if len(codes) < 2:
        return False
    if possible is None:
        return bool(CellRules.of(schema, step.columns).possible(codes.T).all())
    return len(codes) == int(possible.sum()) and bool(possible[*codes.T].all())


def _typed(label: Label) -> tuple[type, Label]:
    """A label with its type: to Python 1, 1.0 and true are the same."""
    return type(label), label


def _possible_cells(schema: Schema, columns: Sequence[str], ties: Ties) -> BoolArray | None:
    """Which cells of some columns can exist with some values of the columns tied to them.

    A rule may rule out a value altogether, or two rules together a pair that neither names.
    ``None`` if there are too many cells to look at.
    """
    sizes = {name: len(schema.column(name).labels) for name in ties}
    if math.prod(sizes[name] for name in columns) > MOST_CELLS:
        return None
    cells_of_groups, order = np.ones((), dtype=bool), list[str]()
    for group in dict.fromkeys(ties[name] for name in columns):
        struck = 0
        for rule in schema.impossible:
            if set(rule.columns) <= set(group):
                cells = dict(rule.cells)
                struck += math.prod(len(cells.get(n, ())) or sizes[n] for n in group)
        if math.prod(sizes[name] for name in group) > MOST_CELLS or struck > MOST_CELLS:
            return None
        table = CellRules.of(schema, group).table()
        others = tuple(axis for axis, name in enumerate(group) if name not in columns)
        cells_of_groups = np.logical_and.outer(cells_of_groups, table.any(axis=others))
        order += [name for name in group if name in columns]
    possible: BoolArray = cells_of_groups.transpose([order.index(name) for name in columns])
    return possible


# -- what the method gives -------------------------------------------------------------------------


def _method_fields(certificate: Certificate) -> Check:
    """Statistics, options and expected error: those that the method gives, and no others."""
    name, method = "statistics", certificate.method
    maker = METHOD_CLASSES.get(method)
    if maker is None or maker.owner_statistics is None:
        return Check.asserted(name, "the method does not state which of them it writes")
    owner = maker.owner_statistics | certificate.nature.tells
    try:
        with in_language(ENGLISH):  # as the certificate is
            options, statistics = maker.expected_fields(certificate)
            error, words = maker.expected_error_of(certificate), certificate.expected_error
            fits = words is None if error is None else error.matches_text(words)
    except (ArithmeticError, AttributeError, LookupError, PramanaError, TypeError, ValueError):
        return Check.decided(
            name,
            False,
            "not determined by method {method} and the other entries",
            method=method,
        )
    owned = owner | ({HOUSEHOLD} if certificate.households else set())
    stated = {n: value for n, value in certificate.statistics.items() if n not in owned}
    different = _different(certificate.options, options) | _different(stated, statistics)
    different |= owner - set(certificate.statistics) - _uncounted(certificate)
    different |= set() if fits else {"expected_error"}
    if different:
        detail = "{entries}: not as method {method} computes them"
        entries = ", ".join(sorted(different))
        return Check.decided(name, False, detail, method=method, entries=entries)
    detail = "as method {method} computes them from the other entries"
    return Check.decided(name, True, detail, method=method)


def _different(stated: Entries, expected: Entries) -> set[str]:
    """The names under which two objects differ; to JSON 1, 1.0 and true are not the same."""
    texts = [
        {name: json.dumps(value, sort_keys=True) for name, value in form.items()}
        for form in (stated, expected)
    ]
    return {name for name in {*stated, *expected} if texts[0].get(name) != texts[1].get(name)}


def _uncounted(certificate: Certificate) -> set[str]:
    """On a cluster nobody counts which records are released unchanged."""
    kind = certificate.nature
    return set() if kind.shows_matrices or kind.grouped else {"unchanged_records"}


def _chosen_matrices(certificate: Certificate) -> Iterator[Check]:
    """Whether matrices are those that the method chooses for what it was asked for."""
    name, maker = "options", METHOD_CLASSES.get(certificate.method)
    if maker is None or certificate.mechanism is None:
        return
    try:
        again = maker.reproduces_matrices(certificate)
    except (ArithmeticError, LookupError, PramanaError, TypeError, ValueError):
        again = False
    if again:
        detail = "{method} chooses these options for the stated targets"
        yield Check.decided(name, True, detail, method=certificate.method)
    elif again is False:
        detail = "{method} does not choose these options for the stated targets"
        yield Check.decided(name, False, detail, method=certificate.method)


# -- statements of the owner -----------------------------------------------------------------------


def _standard_errors(certificate: Certificate) -> Iterator[Check]:
    """Standard errors, if a reader takes them from the certificate: one for each label."""
    if "standard_errors" not in certificate.statistics:
        return
    errors = certificate.statistics["standard_errors"]
    sizes = {c.name: len(c.labels) for c in certificate.schema.randomised if c.domain is not None}
    least = certificate.nature.least_error
    good = isinstance(errors, dict) and set(errors) == set(sizes)
    for name, error in errors.items() if good else ():
        if least is not None:
            good = good and _on_grid(error) and error >= least
        else:  # one for all values of a column
            same = isinstance(error, list) and len(error) == sizes[name]
            good = good and same and len(set(map(repr, error))) == 1 and _on_grid(error[0])
    yield _asserted_if(
        good,
        "standard errors",
        "one for each column, on the grid; asserted by the owner",
        "not one number of the published grid for each randomised column",
    )


def _on_grid(number: Any) -> bool:
    """Whether a number is of those that may be published about data."""
    return isinstance(number, float) and 0 <= number < math.inf and coarse_up(number) == number


def _owner_statements(certificate: Certificate) -> Iterator[Check]:
    """What only the owner can look at: whether it is possible, or asserted at all."""
    statistics, nature = certificate.statistics, certificate.nature
    if "within_group_share" in statistics:
        share = statistics["within_group_share"]
        yield _asserted_if(
            _on_grid(share) and share <= 1,
            "share within groups",
            "on the grid; asserted by the owner",
            "not a share of the published grid",
        )
    fixed = nature.shows_matrices and not certificate.data_dependent
    attached = fixed and certificate.true_schema.attached
    if certificate.smallest_unchanged_group is not None and not attached:
        yield Check.decided(
            "unchanged columns",
            False,
            "{method} states no number of records that share them",
            CheckKind.UNCHANGED,
            method=certificate.method,
        )
    if nature.grouped and certificate.options:
        detail = "{options}: asserted by the owner, who knows the groups"
        options = ", ".join(sorted(certificate.options))
        yield Check.asserted("how groups were formed", detail, options=options)
    if certificate.schema.replicates is not None:
        detail = "columns, kinds and scales are asserted by the owner; errors depend on them"
        yield Check.asserted("replicate weights", detail)
    if certificate.households:
        detail = "asserted by the owner: no released column discloses who lives with whom"
        yield Check.asserted("households", detail)
    if HOUSEHOLD in statistics:
        counted_people = statistics[HOUSEHOLD]
        good = isinstance(counted_people, dict) and set(counted_people) == {"found", "people"}
        good = good and all(type(number) is int for number in counted_people.values())
        yield _asserted_if(
            good
            and 0 <= counted_people["found"] <= counted_people["people"] == certificate.records,
            "found with household",
            "counted by the owner",
            "no number of people of this table",
        )
    if "unchanged_records" in statistics:
        shares = statistics["unchanged_records"]
        good = isinstance(shares, dict)
        good = good and set(shares) == {"records_at_most", "unique_records_at_most"}
        good = good and all(type(share) is float and share in SHARES for share in shares.values())
        yield _asserted_if(
            good,
            "unchanged records",
            "on the grid; asserted by the owner",
            "not two shares of the published grid",
        )
    elif _uncounted(certificate):
        yield Check.asserted("unchanged records", "not counted by the owner")


def _labels(certificate: Certificate) -> Iterator[Check]:
    """Labels are of columns that are there; a column that a method adds has the method's labels."""
    labels, there = certificate.labels, {column.name for column in certificate.schema.released}
    if not {*labels.variables, *labels.values} <= there:
        yield Check.decided("labels", False, "they name columns that do not exist")
    maker = METHOD_CLASSES.get(certificate.method)
    if maker is not None and maker.published_labels(labels) != labels:
        detail = "a column that {method} adds has another meaning"
        yield Check.decided("labels", False, detail, method=certificate.method)


def _collection(certificate: Certificate) -> Iterator[Check]:
    """Whether people can have randomised their own answers, and what waves of a panel tell."""
    if certificate.collected is None:
        return
    fixed = certificate.nature.shows_matrices and not certificate.data_dependent
    possible = fixed and not certificate.as_they_are and not certificate.reproducible
    yield _asserted_if(
        possible,
        "collected",
        "people randomised their own answers; asserted by the office",
        "people cannot have done this randomisation themselves",
    )
    panel, mechanism = certificate.collected.panel, certificate.mechanism
    if panel is not None and mechanism is not None:
        one = log_of(Fraction(mechanism.gamma)) if mechanism.gamma != math.inf else math.inf
        # Every wave's own draw tells at least what passes both: its share, up to the last digits.
        least = panel.waves * one * (1 - 1e-12)
        good = panel.epsilon >= one and panel.changing_epsilon >= least
        detail = "all waves reveal at least as much as one, and more of who changes each"
        yield Check.decided("waves of the panel", good, detail)
        detail = "what all waves reveal is asserted by the office; the survey definition shows it"
        yield Check.asserted("all waves of the panel", detail)


# -- claims ----------------------------------------------------------------------------------------


def _claims(certificate: Certificate) -> Iterator[Check]:
    """What is claimed against what can be computed again."""
    names = [claim.name for claim in certificate.claims]
    if len(set(names)) < len(names):
        yield Check.decided("guarantees", False, "a guarantee is claimed more than once")
        return
    try:
        computed = recomputed(
            certificate.evidence, [claim.attained for claim in certificate.claims]
        )
    except PramanaError as error:
        yield Check.decided("guarantees", False, "cannot be recomputed: {error}", error=error)
        return
    for claim in certificate.claims:
        again = computed.get(claim.name)
        refusal = _refusal(certificate, claim, again)
        if refusal is not None:
            yield Check.decided(claim.name, False, refusal, CheckKind.GUARANTEE)
        elif again is not None:
            detail = (
                "recomputed from the certificate: {guarantee}"
                if certificate.mechanism is None
                else "recomputed from the matrices: {guarantee}"
            )
            words = f"{claim.attained}.{claim.missed}".removesuffix(".")
            yield Check.decided(claim.name, True, detail, CheckKind.GUARANTEE, guarantee=words)
        else:
            detail = "asserted by the owner; only the owner can recompute it"
            if certificate.nature.grouped:
                detail = "asserted by the owner; the groups are not kept"
            yield Check.asserted(claim.name, detail, CheckKind.GUARANTEE)


def _refusal(certificate: Certificate, claim: Claim, computed: Guarantee | None) -> str | None:
    """Why a claim cannot be true; ``None`` if nothing contradicts it.

    Args:
        certificate: of the release.
        claim: what is claimed.
        computed: the same guarantee as anyone can compute it, if anyone can.
    """
    nature, attained, asked = certificate.nature, claim.attained, claim.asked
    if not claim.holds and certificate.collected is None:  # who answers a survey is not designed
        return gettext("the certificate attains less than the stated target")
    owner = nature.owner_knows
    if any(column.gridded for column in certificate.schema.columns):
        owner -= {Need.COUNTS}  # which point a number was rounded to nobody knows
    never = lacks(type(attained), certificate.evidence, owner)
    if never is not None:
        return gettext("it cannot be guaranteed: {why}", why=never)
    if asked is not None:
        maker = METHOD_CLASSES.get(certificate.method)
        if maker is not None and maker.aims and claim.name not in maker.aims:
            return gettext("method {method} does not offer this target", method=certificate.method)
        if not attained.answers(asked):
            return gettext("it differs in kind from the target")
    bound = attained.impossible(certificate.evidence)
    if bound is not None:
        return gettext("no release can attain it: {why}", why=bound)
    if computed is None and not nature.shows_matrices and asked != attained:
        return gettext("a number that nobody can recompute must equal its target")
    fixed = nature.shows_matrices and not certificate.data_dependent
    if fixed and asked is None and only_the_owner(type(attained)):
        return gettext("matrices that do not depend on the data have no such number")
    if computed is not None and not computed.implies(attained):
        words = noop("the matrices give only {guarantee}")
        if certificate.mechanism is None:
            words = noop("the certificate gives only {guarantee}")
        return gettext(words, guarantee=computed)
    return None
