"""Sections of a release report: first page, guarantees, columns, analysis, making and checks."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np

from pramana.analysis.estimates import Estimate
from pramana.analysis.release import Release
from pramana.base.measured_share import Measured
from pramana.base.text import percent, percent_down, percent_up, text_down, text_up
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import PramanaError
from pramana.guarantees.claims import Claim, trade_off
from pramana.mechanisms.mechanism import NOT_REPORTED, AttributeSampler, released_codes
from pramana.mechanisms.transition import UniformMixture
from pramana.release.certificate import Certificate
from pramana.release.certificate_fields import AS_IT_IS, treatment_of
from pramana.release.kinds import error_words
from pramana.reporting.document import (
    Block,
    Chapter,
    Code,
    Drawing,
    Facts,
    Figures,
    Grid,
    Group,
    Heading,
    Row,
    Signature,
    Words,
)
from pramana.reporting.report_charts import WIDER, ColumnView, ranges, rounded_percent, shares
from pramana.schema.codec import encode
from pramana.schema.domains import Bins
from pramana.schema.opened_table import OpenedTable
from pramana.schema.roles import Role
from pramana.schema.schema import Column
from pramana.types import FloatArray
from pramana.verification.checks import State, Verdict
from pramana.verification.whole_file import Colour, FileRisk, verdict_of

MOST_ROWS = 60
"""Rows of a table that are shown."""

FEW_CHECKS = 12
"""Checks that the owner asserts: more of them are shown on a click."""

MOST_CHARTS = 10
LEAST_ATTACKS, MOST_ATTACKS = 3, 6
"""Attacks of the chart on the first page: fewer are a line of text."""

MOST_VALUES, MOST_POINTS = 12, 150
"""Values that a chart shows, below each other and as a curve: the page has a bounded length."""

LITTLE_USE = 0.2
"""A share with this standard error has little use."""

SEEDED = noop(
    "This release was made with a seed, for a test or a demonstration. Anyone who knows the seed "
    "can undo it: it is not for publication."
)
STATES = {
    State.PASSED: noop("passed"),
    State.ASSERTED: noop("asserted by the owner"),
    State.FAILED: noop("FAILED"),
}
TONES: Final[dict[Colour, Literal["good", "stated", "bad"]]] = {
    Colour.GREEN: "good",
    Colour.AMBER: "stated",
    Colour.RED: "bad",
}
DECISIONS: Final = {
    Colour.GREEN: noop("Can be published. "),
    Colour.AMBER: noop("Needs a decision before it is published. "),
    Colour.RED: "",
}
"""What is asked of who signs; a red reason says it itself."""


ANALYSIS_CODE = """import pramana as pm

release = pm.load({folder!r})
print("valid:", release.verify().valid)

table = release.crosstab({columns})       # estimates, standard errors, intervals
for cell in table.cells:
    print({cells}, f"{{cell['estimate']:.0f}} +- {{cell['se']:.0f}}")
"""


# -- first page ------------------------------------------------------------------------------------


def first_page(
    certificate: Certificate,
    views: Sequence[ColumnView],
    *,
    risk: FileRisk,
    verdict: Verdict | None,
    attacks: Sequence[Measured] = (),
    external: bool = True,
) -> tuple[Block, ...]:
    """The page for the decision: verdict, guarantee, risk, three numbers, one chart.

    Args:
        certificate: of the release.
        views: every released column; those with labels are drawn.
        risk: the risk of the whole released file.
        verdict: what verification found; ``None`` for a release in memory.
        attacks: attacks on these people, for the owner.
        external: for publication; otherwise the owner signs.
    """
    decision = verdict_words(certificate, risk, verdict, attacks)
    claim = _main_claim(certificate)
    figures = [_guarantee_figure(certificate, claim), *_attack_figure(attacks), _precision(
        certificate, views
    )]  # fmt: skip
    if len(figures) < 3:
        figures.insert(
            1, (numeral(f"{certificate.records:,}"), gettext("records released, in a random order"))
        )
    unchanged = [certificate.labels.title(c.name) for c in certificate.as_they_are]
    schema = certificate.true_schema
    done = gettext(
        "Columns {treatment}: {number} of {all}. Then the records were shuffled.",
        treatment=gettext(certificate.nature.treatment),
        number=len(schema.randomised), all=len(schema.released),
    )  # fmt: skip
    none = gettext("none")
    facts = [
        (gettext("Purpose"), schema.dataset.purpose),
        (gettext("What was done"), done),
        (gettext("Guarantee"),
         none if claim is None else _first_sentence(certificate.promise(claim))),
        (gettext("Not covered"),
         "" if claim is None else gettext(claim.attained.not_promised)),
        (gettext("Whole file"),
         "" if _file_sentence(risk) in decision.text else _file_sentence(risk)),
        (gettext("Unchanged columns"), _shortened(", ".join(unchanged)) or none),
        (gettext("Checks"), "" if verdict is None else verdict.counted()),
        (gettext("Attacks"), _attacks_sentence(attacks)),
        (gettext("Certificate"), f"SHA-256 {hashlib.sha256(certificate.to_bytes()).hexdigest()}"),
    ]  # fmt: skip
    chart, caption = _chart(views, attacks)
    blocks: list[Block | None] = [
        decision,
        Figures(tuple(figures)),
        Facts(tuple((name, text) for name, text in facts if text)),
        Words(gettext(SEEDED), "warning") if certificate.reproducible else None,
        _usefulness(views),
        None if chart is None else Words(chart.title, "strong"),
        None if chart is None else Words(caption + _unweighted_words(certificate), "quiet"),
        chart,
        None
        if external
        else Signature(
            (gettext("Name and office"), gettext("Place and date"), gettext("Signature"))
        ),
    ]
    return tuple(block for block in blocks if block is not None)


def verdict_words(
    certificate: Certificate,
    risk: FileRisk,
    verdict: Verdict | None,
    attacks: Sequence[Measured] = (),
) -> Words:
    """Whether the release can be published, and why."""
    failed = ""
    if verdict is not None and verdict.of_state(State.FAILED):
        failed = gettext("a check of the release failed")
    elif any(attack.broken for attack in attacks):
        failed = gettext("an attack breaks a guarantee")
    decision = verdict_of(certificate, risk, failed=failed, checked=verdict is not None)
    words = gettext(DECISIONS[decision.colour]) + decision.sentence
    return Words(words, TONES[decision.colour])


def _main_claim(certificate: Certificate) -> Claim | None:
    """The guarantee that was asked for first, else the first that follows."""
    claims = certificate.claims
    return next((claim for claim in claims if claim.asked is not None), next(iter(claims), None))


def _guarantee_figure(certificate: Certificate, claim: Claim | None) -> tuple[str, str]:
    if claim is None:
        return gettext("none"), certificate.sentences()[0]
    bound = claim.attained.suggests
    name = gettext(claim.attained.name.replace("-", " "))
    if bound is None:
        return str(claim.attained), gettext("guaranteed: {guarantee}", guarantee=name)
    most = gettext("at most {share}", share=numeral(percent_up(bound)))
    return most, gettext("guaranteed: {guarantee}", guarantee=claim.attained)


def _attack_figure(attacks: Sequence[Measured]) -> list[tuple[str, str]]:
    """The strongest attack, for the owner."""
    if not attacks:
        return []
    bounded = [attack for attack in attacks if attack.bound is not None]
    worst = max(bounded or attacks, key=lambda attack: attack.value)
    text = gettext(
        "measured on these people: how often the attack '{name}' is right", name=gettext(worst.name)
    )
    if worst.baseline is not None:
        text += f"; {gettext('guessing')}: {numeral(percent_down(worst.baseline))}"
    return [(numeral(percent_up(worst.value)), text)]


def _attacks_sentence(attacks: Sequence[Measured]) -> str:
    if not attacks:
        return ""
    broken = any(attack.broken for attack in attacks)
    words = noop("Attacks tried on these people: {number}. No guarantee is exceeded.")
    if broken:
        words = noop("Attacks tried on these people: {number}. A guarantee is exceeded.")
    return gettext(words, number=len(attacks))


def _first_sentence(text: str) -> str:
    """The annex has the whole text."""
    return re.split(r"(?<=[.!?]) (?=[A-Z])", text, maxsplit=1)[0]


def _file_sentence(risk: FileRisk) -> str:
    return risk.sentences()[0] if risk.worst is None else risk.worst.sentence()


def _interval_widths(views: Sequence[ColumnView]) -> list[tuple[float, ColumnView]]:
    """The largest error of a share, for each column that is drawn with intervals."""
    return [(view.widest, view) for view in views if view.labels and view.widest is not None]


def _precision(certificate: Certificate, views: Sequence[ColumnView]) -> tuple[str, str]:
    """The largest error of a share of one column, by the release alone."""
    widths = _interval_widths(views)
    if not widths:
        text = gettext("error of tables: not known from this kind of release.")
        return gettext("not stated"), f"{text} {error_words(certificate)}".strip()
    widest, view = max(widths, key=lambda pair: pair[0])
    points = numeral(text_up(round(100 * widest, 9), 2))
    return gettext("± {number} points", number=points), gettext(
        "largest error of a share of one column, at {level} confidence; it is in {column}",
        level=numeral(percent(view.level, 6)), column=view.name,
    )  # fmt: skip


def _usefulness(views: Sequence[ColumnView]) -> Words | None:
    """A warning: a release may keep its guarantee and tell nothing."""
    poor = [view.name for width, view in _interval_widths(views) if width >= LITTLE_USE]
    if not poor:
        return None
    return Words(
        gettext(
            "Of little use for {columns}: errors of shares may reach {points} points or more. "
            "Fewer columns, merged values or a weaker guarantee give smaller errors.",
            columns=", ".join(poor),
            points=f"{100 * LITTLE_USE:g}",
        ),
        "warning",
    )


def _unweighted_words(certificate: Certificate) -> str:
    """A sentence on the weights that shares in a report leave out."""
    weight = certificate.schema.weight
    if weight is None:
        return ""
    return " " + gettext("Shares are of records, not weighted by {column}.", column=weight.name)


def _worth_showing(view: ColumnView) -> tuple[bool, bool, bool]:
    """With intervals before without, some values before two, a list before a curve."""
    return view.low is not None, len(view.labels) > 2, not view.curve


def _chart(views: Sequence[ColumnView], attacks: Sequence[Measured]) -> tuple[Drawing | None, str]:
    """Attacks for the owner where there are some, else a column with its errors."""
    if len(attacks) >= LEAST_ATTACKS:
        shown = sorted(attacks, key=lambda attack: (attack.bound is None, -attack.value))
        shown = [attack for attack in attacks if attack in shown[:MOST_ATTACKS]]
        return ranges(
            "first", shown, title=gettext("Attacks, guessing and guarantees"), wide=WIDER
        ), (
            gettext(
                "Filled: how often an attack is right, with its interval. Open circle: guessing. "
                "Upright line: the guarantee."
            )
        )
    drawn = [view for view in views if view.labels]
    if not drawn:
        return None, ""
    view = max(drawn, key=_worth_showing)
    name = gettext("Example: shares of {column}", column=view.title)
    legend = gettext("Circles with lines: estimates with their intervals.")
    if view.estimated is None:
        legend = gettext("Shares as released.")
    elif not np.allclose(view.estimated, view.released, rtol=1e-9, atol=5e-4):
        legend += " " + gettext(
            "Diamonds: direct counts of the released records, which are biased."
        )
    if view.widths:
        legend += " " + gettext("Bins differ in width: the axis shows the share of one unit.")
    return shares("first", view, title=name, wide=WIDER, roomy=True), legend


# -- guarantees ------------------------------------------------------------------------------------


def guarantees_chapter(certificate: Certificate) -> Chapter:
    """Every claim with its assumption and what it does not guarantee."""
    sentences = certificate.sentences()
    together = trade_off(claim.attained for claim in certificate.claims)
    blocks: list[Block] = [] if together is None else [Words(together, "strong")]
    blocks += [_guarantee(claim, certificate.promise(claim)) for claim in certificate.claims]
    if not certificate.claims:
        blocks.append(Words(sentences[0]))
    more = sentences[max(len(certificate.claims), 1) :]
    if more:
        blocks += [Heading(gettext("Further guarantees")), *map(Words, more)]
    blocks += [
        Heading(gettext("What the guarantees cover")),
        Words(certificate.scope()["statement"]),
        Words(certificate.among_whom()),
    ]
    return Chapter("guarantees", gettext("What is guaranteed"), tuple(blocks))


def _guarantee(claim: Claim, sentence: str) -> Group:
    attained = claim.attained
    asked = gettext("none; the guarantee follows from the matrices")
    if claim.asked is not None:
        asked = str(claim.asked)
        if not claim.holds:
            asked = gettext("{guarantee}, not attained", guarantee=claim.asked)
    facts = (
        (
            gettext("Attained"),
            ", ".join(f"{key} = {text}" for key, text in attained.shown().items()),
        ),
        (gettext("Target"), asked),
        (gettext("Assumes"), gettext(attained.assumption)),
        (gettext("Does not guarantee"), gettext(attained.not_promised)),
        (gettext("Checked by"), gettext(claim.checked_by)),
    )
    name = gettext(attained.name.replace("-", " "))
    head = Heading(name[:1].upper() + name[1:])
    return Group("promise", (head, Words(sentence), Facts(facts)))


# -- columns ---------------------------------------------------------------------------------------


def column_views(release: Release, original: OpenedTable | None) -> tuple[ColumnView, ...]:
    """Every released column; the first few of those that were changed are drawn, keys first."""
    released = release.certificate.true_schema.released
    changed = [column for column in released if column.randomised and column.domain is not None]
    keys_first = sorted(changed, key=lambda column: column.role is not Role.KEY)
    drawn = {column.name for column in keys_first[:MOST_CHARTS]}
    views = []
    for column in released:
        randomised = column in changed
        treatment = (
            _treatment(column, release) if randomised else gettext(treatment_of(column, AS_IT_IS))
        )
        steps = (column.recoding.sentence(most=MOST_VALUES), treatment)
        view = ColumnView(
            name=column.name,
            title=release.certificate.labels.title(column.name),
            role=gettext(str(column.role)),
            treatment="; ".join(filter(None, steps)),
            domain=_domain(column) if randomised or column.binned else gettext("as they occur"),
        )
        views.append(
            _with_shares(view, column, release, original) if column.name in drawn else view
        )
    return tuple(views)


def _with_shares(
    view: ColumnView, column: Column, release: Release, original: OpenedTable | None
) -> ColumnView:
    """The view with the shares of all values in an order, else of the most frequent ones."""
    certificate = release.certificate
    size = len(column.labels)
    codes = released_codes(certificate.mechanism, column, release.opened)
    series = {"released": _shares(codes[codes != NOT_REPORTED], size)}
    if original is not None:
        codes = encode(column, original.to_arrow([column.name]).column(0))
        series["original"] = _shares(codes, size)
    estimate = _estimate(release, column.name)
    if estimate is not None:
        series["estimated"] = estimate.estimate
        if not estimate.no_interval:
            series |= {"low": estimate.low, "high": estimate.high}
    named = certificate.labels.values.get(column.name, {})
    curve = MOST_VALUES < size <= MOST_POINTS and _in_order(column) and 2 * len(named) < size
    main = series.get("estimated", series["released"])
    shown = np.arange(size)
    if size > MOST_VALUES and not curve:
        shown = np.sort(np.argsort(-main, kind="stable")[:MOST_VALUES])
    note = "" if len(shown) == size else (
        gettext(
            "The {shown} most frequent of {all} values; the others have {share} % of the "
            "records together.",
            shown=len(shown), all=numeral(f"{size:,}"),
            share=numeral(f"{max(100 * float(1 - main[shown].sum()), 0.0):.3g}"),
        )
    )  # fmt: skip
    words = [*certificate.labels.named(column.name, column.labels)]
    if isinstance(column.domain, Bins) and not named:
        words[: column.domain.size] = column.domain.words
    return replace(
        view,
        labels=tuple(words[place] for place in shown),
        level=0.95 if estimate is None else estimate.level,
        curve=curve,
        widths=_unequal_widths(column, shown),
        note=note,
        **{name: tuple(map(float, values[shown])) for name, values in series.items()},  # type: ignore[arg-type]
    )


def _unequal_widths(column: Column, shown: np.ndarray) -> tuple[float, ...]:
    """The widths of the bins shown; nothing where they are equal, or one of them has no end."""
    domain = column.domain
    if not isinstance(domain, Bins) or len(column.labels) > domain.size:
        return ()
    edges = np.asarray(domain.edges, np.float64)
    edges[-1] += domain.integers
    widths = np.diff(edges)[shown]
    unequal = np.isfinite(widths).all() and not np.allclose(widths[:-1], widths[0])
    return tuple(map(float, widths)) if unequal else ()


def _shares(codes: np.ndarray, size: int) -> FloatArray:
    return np.asarray(np.bincount(codes, minlength=size) / max(len(codes), 1), np.float64)


def _estimate(release: Release, name: str) -> Estimate | None:
    try:
        return release.crosstab(name, share=True, weighted=False)
    except PramanaError:
        return None  # the matrices are withheld, or the method has none


def _in_order(column: Column) -> bool:
    """Whether values follow each other: bins, a declared order, or numbers."""
    if column.ordered:
        return True
    values = [label for label in column.labels if label is not None]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return len(numbers) == len(values) and numbers == sorted(numbers)


def _treatment(column: Column, release: Release) -> str:
    """What was done to a randomised column, in words."""
    mechanism = release.certificate.mechanism
    if mechanism is None or column.name not in mechanism.columns:
        return gettext("replaced by method {method}", method=release.certificate.method)
    if isinstance(mechanism, AttributeSampler):
        sets = mechanism.containing([column.name])
        kept = [float(reported.matrix.retention) for reported in sets]
        return gettext(
            "reported by {share} of the records (attribute sets: {number} of {all}); each "
            "cell kept with probability {low} to {high}, else drawn at random",
            number=len(sets), all=len(mechanism.sets),
            share=numeral(percent(sum(reported.share for reported in sets))),
            low=numeral(text_down(min(kept), 3)), high=numeral(text_up(max(kept), 3)),
        )  # fmt: skip
    step = mechanism.step_of(column.name)
    others = ", ".join(name for name in step.columns if name != column.name)
    together = ", " + gettext("together with {columns}", columns=others) if others else ""
    matrix = step.matrices[0]
    if len(step.matrices) == 1 and isinstance(matrix, UniformMixture):
        retention = numeral(text_up(float(matrix.retention), 3))
        words = noop("kept with probability {probability}, else drawn at random")
        return gettext(words, probability=retention) + together
    least = min(float(matrix.diagonal.min()) for matrix in step.matrices)
    most = max(float(matrix.diagonal.max()) for matrix in step.matrices)
    words = noop("kept with probability {low} to {high}, else moved by the matrix")
    low, high = numeral(text_down(least, 3)), numeral(text_up(most, 3))
    return gettext(words, low=low, high=high) + together


def _domain(column: Column) -> str:
    words = noop("{number} categories")
    if isinstance(column.domain, Bins):
        words = noop("{number} bins")
    missing = f", {gettext('missing is one of them')}" if None in column.labels else ""
    return f"{gettext(words, number=len(column.labels))}, {gettext(column.origin.words)}{missing}"


def _roles() -> str:
    """What each role means."""
    words = (f"{role.capitalize()}: {role.traits.words}" for role in Role if role.traits.released)
    return " ".join(f"{gettext(text)}." for text in words)


def columns_chapter(certificate: Certificate, views: Sequence[ColumnView]) -> Chapter:
    """A table of all columns, and the charts of those that are drawn."""
    rows = tuple((view.title, view.role, view.treatment, view.domain) for view in views)
    heads = (gettext("column"), gettext("role"), gettext("what was done"), gettext("values"))
    blocks: list[Block] = [
        limited_grid(heads, rows, gettext("Every released column"), numbers=9),
        Words(_roles() + _unweighted_words(certificate), "quiet"),
    ]
    drawn = [view for view in views if view.labels]
    left_out = [
        view.name for view in views if view.treatment != gettext(AS_IT_IS) and not view.labels
    ]
    if drawn and left_out:
        words = gettext(
            "Charts show {shown} of {all} changed columns, keys first. Left out: {columns}.",
            shown=len(drawn), all=len(drawn) + len(left_out),
            columns=_shortened(", ".join(left_out)),
        )  # fmt: skip
        blocks.append(Words(words, "quiet"))
    if drawn:
        charts = tuple(_column_chart(place, view) for place, view in enumerate(drawn))
        blocks.append(Group("charts", charts))
    return Chapter("columns", gettext("The columns"), tuple(blocks))


def _column_chart(place: int, view: ColumnView) -> Group:
    name = gettext("Shares of {column}", column=view.title)
    series = {
        gettext("estimated"): view.estimated,
        gettext("from"): view.low,
        gettext("to"): view.high,
        gettext("as released"): view.released,
        gettext("original"): view.original,
    }
    known = {word: values for word, values in series.items() if values is not None}
    rows = tuple(
        (label, *(rounded_percent(values[row]) for values in known.values()))
        for row, label in enumerate(view.labels)
    )
    folded = gettext("Table of {column}", column=view.title)
    table = limited_grid((gettext("value"), *known), rows, name, folded=folded)
    note = (Words(view.note, "quiet"),) if view.note else ()
    drawing = shares(f"column-{place}", view, title=name)
    return Group("chart", (Heading(view.title), *note, drawing, table))


def limited_grid(
    heads: Row, rows: Sequence[Row], caption: str, *, numbers: int = 1, folded: str = ""
) -> Grid:
    """A table of at most ``MOST_ROWS`` rows; its caption says how many are left out."""
    shown = tuple(rows[:MOST_ROWS])
    if len(shown) < len(rows):
        caption += " " + gettext(
            "({shown} of {all} rows; the others are left out)",
            shown=len(shown), all=numeral(f"{len(rows):,}"),
        )  # fmt: skip
    return Grid(heads, shown, caption, numbers=numbers, folded=folded)


def _shortened(names: str, most: int = 300) -> str:
    if len(names) <= most:
        return names
    return gettext("{names} and others", names=names[:most].rsplit(",", 1)[0])


# -- analysis and making ---------------------------------------------------------------------------


def analysis_chapter(release: Release) -> Chapter:
    """How to analyse the data, with code that runs next to the release folder."""
    certificate = release.certificate
    names = [column.name for column in certificate.schema.randomised]
    if isinstance(certificate.mechanism, AttributeSampler):
        names = list(certificate.mechanism.sets[0].columns)
    names = names[:2]
    names = names or [column.name for column in certificate.schema.released][:1]
    code = ANALYSIS_CODE.format(
        folder="release/" if release.folder is None else f"{release.folder.name}/",
        columns=", ".join(map(repr, names)),
        cells=", ".join(f"cell[{name!r}]" for name in names),
    )
    blocks: list[Block] = [
        Words(
            gettext(
                "Do not count the released records directly. {why} Estimates correct for the "
                "randomisation and state their errors. In Python, in the folder that holds the "
                "release folder:",
                why=gettext(certificate.nature.why_not),
            )
        ),
        Code(code),
    ]
    if certificate.expected_error is not None:
        blocks.append(
            Words(
                gettext(
                    "For unbiased estimates: {error} If noise is strong, estimates are shrunk, "
                    "and their errors are mostly smaller.",
                    error=error_words(certificate),
                )
            )
        )
    weight = certificate.schema.weight
    if weight is not None:
        blocks.append(
            Words(gettext("Estimates are weighted by {column} by default.", column=weight.name))
        )
    return Chapter("analysis", gettext("How to analyse the data"), tuple(blocks))


def making_chapter(
    certificate: Certificate, verdict: Verdict | None, notes: Sequence[str]
) -> Chapter:
    """How the release was made, and every check of it."""
    depends = gettext("do not depend on the data")
    if certificate.data_dependent:
        depends = gettext("were chosen by looking at the data")
    made = gettext(certificate.nature.made).format(depends=depends)
    blocks: list[Block] = [
        Words(
            gettext(
                "Method {method}. {made} Records were shuffled by a uniformly random permutation.",
                method=certificate.method,
                made=made,
            )
        ),
        *(Words(note, "quiet") for note in notes),
    ]
    if verdict is not None:
        blocks += checks_blocks(verdict)
    return Chapter("making", gettext("How it was made and checked"), tuple(blocks))


def checks_blocks(verdict: Verdict) -> list[Block]:
    """Failed checks and a few asserted ones are shown at once, all others on a click."""
    blocks: list[Block] = [Words(f"{verdict.shown()[0]}. {verdict.counted()}")]
    for state, words, most_open in (
        (State.FAILED, noop("Checks that failed"), math.inf),
        (State.ASSERTED, noop("Checks asserted by the owner"), FEW_CHECKS),
        (State.PASSED, noop("Checks that were computed again here"), 0),
    ):
        checks = [check for check in verdict.checks if check.state is state]
        rows = [(check.name, gettext(STATES[state]), check.detail) for check in checks]
        if rows:
            caption = gettext(words)
            folded = f"{caption}: {len(rows)}" if len(rows) > most_open else ""
            heads = (gettext("check"), gettext("verdict"), gettext("detail"))
            blocks.append(limited_grid(heads, rows, caption, numbers=9, folded=folded))
    return blocks
