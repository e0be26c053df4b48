"""Pages of a report: first page, technical annex, and the comparison of scenarios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import isclose
from typing import Final, Literal

from pramana.base.text import counted, percent, percent_down, percent_up, text_up
from pramana.guarantees.claims import Claim
from pramana.guarantees.registry import dials
from pramana.reporting.charts import WIDER, Point, Range, frontier, ranges, rounded_percent, shares
from pramana.reporting.document import (
    Attacks,
    Block,
    Chapter,
    Code,
    ColumnView,
    Document,
    Drawing,
    Facts,
    Figures,
    Grid,
    Group,
    Heading,
    Measures,
    ReportContent,
    Row,
    Signature,
    Words,
    to_html,
)
from pramana.verification.checks import State, Verdict
from pramana.verification.whole_file import Colour, verdict_of

MOST_ROWS = 60
"""Rows of a table that are shown."""

FEW_CHECKS = 12
"""Checks that rest on the owner's word: more of them are shown on a click."""

ROLES = (
    "Roles: by a key a person could be recognised; a plain column may be known to outsiders, a "
    "sensitive one is not; a weight says how many people a record stands for."
)

OWNER = "For the owner of the data: contains figures of the true table. Do not publish."
EVERYBODY = "For publication: made from the release and its certificate alone."

STATES = {State.PASSED: "passed", State.ASSERTED: "asserted by the owner", State.FAILED: "FAILED"}


def report_document(content: ReportContent) -> Document:
    """The whole report: one page for management, then the annex."""
    about = content.about
    certificate = content.certificate
    together = dials(claim.attained for claim in certificate.claims)
    blocks: list[Block] = [] if together is None else [Words(together, "strong")]
    blocks += [_promise(claim, certificate.promise(claim)) for claim in certificate.claims]
    if not certificate.claims:
        blocks.append(Words(certificate.sentences()[0]))
    form = certificate.to_json()
    more = certificate.sentences()[max(len(certificate.claims), 1) :]
    if more:
        blocks += [Heading("What else is stated"), *map(Words, more)]
    blocks.append(Heading("What the promises cover"))
    blocks += [Words(form["scope"]["statement"]), Words(form["anonymity_set"]["statement"])]
    parts = (
        Chapter("promises", "What is promised", tuple(blocks)),
        Chapter("file", "Risk of the whole file", tuple(map(Words, content.risk.sentences()))),
        Chapter("columns", "The columns", tuple(_columns(content.columns))),
        Chapter("risk", "What attacks achieve", tuple(_measures(content.attacks))),
        Chapter("before", "Who stood out before", tuple(_measures(content.worst))),
        Chapter("utility", "What is lost", tuple(_measures(content.utility))),
        Chapter("analysis", "How to analyse the data", tuple(_analysis(content))),
        Chapter("making", "How it was made and checked", tuple(_making(content))),
    )
    edition = "for publication" if content.external else "for the owner, not for publication"
    return Document(
        title=about.name or "Release report",
        about=tuple(
            word for word in (about.office, about.date, f"Release report, {edition}") if word
        ),
        first=first_page(content),
        annex="Technical annex",
        parts=tuple(part for part in parts if part.blocks),
        closing=EVERYBODY if content.external else OWNER,
    )


def _promise(claim: Claim, sentence: str) -> Group:
    guarantee = claim.attained
    numbers = ", ".join(f"{key} = {text}" for key, text in guarantee.shown().items())
    asked = "not asked for; it follows from the matrices"
    if claim.asked is not None:
        asked = f"{claim.asked}{'' if claim.holds else ', which was missed'}"
    facts = Facts(
        (
            ("Attained", numbers),
            ("Asked", asked),
            ("Assumes", guarantee.assumption),
            ("Does not promise", guarantee.not_promised),
            ("Checked by", claim.checked_by),
        )
    )
    name = guarantee.name.replace("-", " ")
    head = Heading(name[:1].upper() + name[1:])
    return Group("promise", (head, Words(sentence), facts))


# -- columns -------------------------------------------------------------------------------


def _columns(columns: Sequence[ColumnView]) -> list[Block]:
    listed = columns[:MOST_ROWS]
    rows = tuple((c.title, c.role, c.treatment, c.domain) for c in listed)
    caption = "Every released column" + _left_out(len(listed), len(columns), "columns")
    heads = ("column", "role", "what was done", "values")
    drawn = [column for column in columns if column.labels]
    blocks: list[Block] = [Grid(heads, rows, caption, numbers=9), Words(ROLES, "quiet")]
    changed = [c for c in columns if c.treatment != "released as it is"]
    if drawn and len(drawn) < len(changed):
        left = ", ".join(c.name for c in changed if not c.labels)
        blocks.append(
            Words(
                f"Charts show {len(drawn)} of {len(changed)} changed columns, keys first. Left "
                f"out: {_short(left)}.",
                "quiet",
            )
        )
    if drawn:
        blocks.append(Group("charts", tuple(_column(at, view) for at, view in enumerate(drawn))))
    return blocks


def _column(place: int, view: ColumnView) -> Group:
    name = f"Shares of '{view.title}'"
    blocks: list[Block] = [Heading(view.title)]
    if view.note:
        blocks.append(Words(view.note, "quiet"))
    blocks.append(shares(f"column-{place}", view, title=name))
    blocks.append(_numbers(view, name))
    return Group("chart", tuple(blocks))


def _numbers(view: ColumnView, name: str) -> Grid:
    """What the chart shows, in figures."""
    series = [
        (word, values)
        for word, values in (
            ("estimated", view.estimated),
            ("from", view.low),
            ("to", view.high),
            ("as released", view.released),
            ("truth", view.truth),
        )
        if values is not None
    ]
    listed = view.labels[:MOST_ROWS]
    rows = tuple(
        (label, *(rounded_percent(values[row]) for _, values in series))
        for row, label in enumerate(listed)
    )
    caption = name + _left_out(len(listed), len(view.labels), "values")
    heads = ("value", *(word for word, _ in series))
    return Grid(heads, rows, caption, folded=f"The numbers of '{view.title}'")


def _left_out(shown: int, of: int, what: str) -> str:
    return "" if shown == of else f" ({shown} of {of:,} {what}; {of - shown:,} are left out)"


def _short(names: str, most: int = 400) -> str:
    return names if len(names) <= most else f"{names[:most].rsplit(',', 1)[0]} and others"


# -- for the owner -------------------------------------------------------------------------


def _measures(found: Measures | None) -> list[Block]:
    if found is None:
        return []
    blocks: list[Block] = [Words(sentence) for sentence in found.sentences]
    if isinstance(found, Attacks) and found.measured:
        blocks.append(Words("The chart of them stands on the first page.", "quiet"))
    if found.rows:
        rows = found.rows[:MOST_ROWS]
        caption = found.caption + _left_out(len(rows), len(found.rows), "rows")
        blocks.append(Grid(found.heads, rows, caption))
    return blocks


# -- analysis and making -------------------------------------------------------------------


def _analysis(content: ReportContent) -> list[Block]:
    error = content.certificate.expected_error
    weight = content.certificate.schema.weight
    blocks: list[Block] = [
        Words(
            "Do not count the released records as they stand. "
            f"{content.certificate.nature.why_not} Estimates make of them what can be told, "
            "and say how sure they are. In Python, beside the release folder:"
        ),
        Code(content.code),
    ]
    if error:
        blocks.append(
            Words(
                f"Expected error of unbiased estimates: {error} What is told where noise is strong "
                "is shrunk by what it explains, and mostly nearer."
            )
        )
    if weight is not None:
        blocks.append(
            Words(
                f"Estimates are weighted by '{weight.name}' unless told otherwise; the shares in "
                "this report are not."
            )
        )
    return blocks


def _making(content: ReportContent) -> list[Block]:
    certificate = content.certificate
    depends = "were chosen by looking at the data" if certificate.data_dependent else (
        "do not depend on the data"
    )  # fmt: skip
    made = certificate.nature.made.format(depends=depends)
    blocks: list[Block] = [
        Words(
            f"Method {certificate.method}. {made} Records were shuffled by a uniformly random "
            "permutation."
        ),
        *(Words(note, "quiet") for note in content.notes),
    ]
    if content.verdict is not None:
        blocks += _checks(content.verdict)
    return blocks


def _checks(verdict: Verdict) -> list[Block]:
    """What failed and the few that were only stated at once, all the rest on a click."""
    blocks: list[Block] = [Words(f"{verdict.shown()[0]}. {verdict.counted()}")]
    heads = ("check", "verdict", "detail")
    for state, words, open_to in (
        (State.FAILED, "that failed", math.inf),
        (State.ASSERTED, "that rest on the owner's word", FEW_CHECKS),
        (State.PASSED, "that were computed again here", 0),
    ):
        rows = tuple((c.name, STATES[state], c.detail) for c in verdict.checks if c.state is state)
        if not rows:
            continue
        caption = f"Checks {words}{_left_out(min(len(rows), MOST_ROWS), len(rows), 'checks')}"
        folded = f"The {len(rows)} checks {words}" if len(rows) > open_to else ""
        blocks.append(Grid(heads, rows[:MOST_ROWS], caption, numbers=9, folded=folded))
    return blocks


TONES: Final[dict[Colour, Literal["good", "stated", "bad"]]] = {
    Colour.GREEN: "good",
    Colour.AMBER: "stated",
    Colour.RED: "bad",
}

LITTLE_USE = 0.2
"""Shares that may be off by so much tell hardly anything."""


def first_page(content: ReportContent) -> tuple[Block, ...]:
    """Everything that is on it, in order."""
    certificate = content.certificate
    figures = [_promise_figure(content), *_measured(content), _exactness(content)]
    if len(figures) < 3:
        figures.append((f"{certificate.records:,}", "Records released, in a random order."))
    chart, reading = _chart(content)
    # What the verdict rests on.
    words = [_what(content)]
    if content.verdict is not None:
        words.append(content.verdict.counted())
    if content.attacks is not None:
        tried = len(content.attacks.measured)
        kept = "none broke a promise" if content.attacks.holds else "a promise was broken"
        words.append(f"Attacks tried on these people: {tried}, and {kept}.")
    blocks: list[Block | None] = [
        verdict_words(content),
        Words(" ".join(words)),
        Figures(tuple(figures)),
        chart,
        None if chart is None else Words(reading, "quiet"),
        Words(_seed_words(), "warning") if certificate.reproducible else None,
        _use(content),
        Signature(("Name and office", "Place and date", "Signature")),
    ]
    return tuple(block for block in blocks if block is not None)


def verdict_words(content: ReportContent) -> Words:
    """Whether the release can be published, and why."""
    failed = ""
    if content.checks(State.FAILED):
        failed = "a check of the release failed"
    elif content.attacks is not None and not content.attacks.holds:
        failed = "an attack breaks a guarantee"
    checked = content.verdict is not None
    verdict = verdict_of(content.certificate, content.risk, failed=failed, checked=checked)
    return Words(verdict.sentence, TONES[verdict.colour])


def _what(content: ReportContent) -> str:
    certificate = content.certificate
    changed = len(certificate.true_schema.randomised)
    of = len(certificate.true_schema.released)
    return (
        f"{certificate.records:,} records with {counted(of, 'column')}, of which "
        f"{counted(changed, 'was', 'were')} "
        f"{certificate.nature.treatment} before the records were shuffled."
    )


def main_claim(content: ReportContent) -> Claim | None:
    """The promise that was asked for first, else the first that follows."""
    claims = content.certificate.claims
    return next((claim for claim in claims if claim.asked is not None), next(iter(claims), None))


def _promise_figure(content: ReportContent) -> tuple[str, str]:
    claim = main_claim(content)
    if claim is None:
        return "none", content.certificate.sentences()[0]
    bound = claim.attained.suggests
    number = str(claim.attained) if bound is None else f"at most {percent_up(bound)}"
    return number, f"Promised. {content.certificate.promise(claim)}"


def _measured(content: ReportContent) -> list[tuple[str, str]]:
    """The strongest attack, for the owner."""
    measured = () if content.attacks is None else content.attacks.measured
    if not measured:
        return []
    bounded = [found for found in measured if found.bound is not None]
    worst = max(bounded or measured, key=lambda found: found.value)
    against = "" if worst.bound is None else f"; promised: at most {percent_up(worst.bound)}"
    guess = "" if worst.baseline is None else f" Guessing: {percent_down(worst.baseline)}."
    words = f"Measured on these people. How often the attack '{worst.name}' is right{against}."
    return [(percent_up(worst.value), words + guess)]


def _exactness(content: ReportContent) -> tuple[str, str]:
    """How far a share of one column may be off, by the release alone."""
    known = _known(content)
    if not known:
        return "not stated", (
            "How exact tables are cannot be told from this kind of release. "
            + (content.certificate.expected_error or "")
        ).strip()
    widest, view = max(known, key=lambda pair: pair[0])
    among = "" if len(known) == 1 else f" (the widest is that of '{view.name}')"
    return f"± {text_up(round(100 * widest, 9), 2)} points", (
        f"How exact the share of any value of one column is{among}, at a confidence of "
        f"{percent(view.level, 6)}."
    )


def _known(content: ReportContent) -> list[tuple[float, ColumnView]]:
    """How far shares of a column may be off, for each that is drawn with intervals."""
    return [(view.widest, view) for view in content.drawn if view.widest is not None]


def _use(content: ReportContent) -> Words | None:
    """A release may hold its promise and tell nothing."""
    poor = [view.name for far, view in _known(content) if far >= LITTLE_USE]
    if not poor:
        return None
    columns = "columns" if len(poor) > 1 else "column"
    return Words(
        f"Of little use for {len(poor)} {columns} ({', '.join(poor)}): shares may be off by "
        f"{100 * LITTLE_USE:g} points or more. Fewer columns, merged values or a weaker promise "
        "would tell more.",
        "warning",
    )


def _chart(content: ReportContent) -> tuple[Drawing | None, str]:
    """Attacks for the owner, a table with its errors for everybody else."""
    if content.attacks is not None and content.attacks.measured:
        entries = [
            Range(m.name, m.value, m.low, m.high, m.baseline, m.bound)
            for m in content.attacks.measured
        ]
        return ranges("first", entries, title="Attacks, guessing and promises", wide=WIDER), (
            "Filled: how often an attack is right, with its interval. Open circle: guessing. "
            "Upright line: what is promised."
        )
    view = max(content.drawn, key=_worth_showing, default=None)
    if view is None:
        return None, ""
    name = f"An example of what can be told: shares of '{view.title}'"
    return shares("first", view, title=name, wide=WIDER), f"{name}. {_reading(view)}"


def _worth_showing(view: ColumnView) -> tuple[bool, bool, bool]:
    """With intervals before without, a few values before two, a list before a curve."""
    return view.low is not None, len(view.labels) > 2, not view.curve


def _reading(view: ColumnView) -> str:
    if view.estimated is None:
        return "Shares as they stand in the release."
    if all(
        isclose(*pair, abs_tol=5e-4) for pair in zip(view.estimated, view.released, strict=True)
    ):
        return "Circles with lines: estimates with their intervals; a plain count gives the same."
    return (
        "Circles with lines: estimates with their intervals. Diamonds: what a plain count of the "
        "released records would give, which is not to be used."
    )


def _seed_words() -> str:
    return (
        "This release was made with a seed, for a test or a demonstration. Who knows the seed can "
        "undo it: it is not for publication."
    )


def render_comparison(
    *, heads: Row, rows: Sequence[Row], points: Sequence[Point], sentences: Sequence[str]
) -> str:
    """Recommendation, frontier, and all scenarios side by side."""
    plot = (
        Words(
            "Filled: on the frontier. To the right more is lost, upwards attacks are right "
            "more often.",
            "quiet",
        ),
        frontier("frontier", points, title="Risk and loss of each scenario"),
    )
    everything = Grid(heads, tuple(rows), "What each promises, measures and costs", numbers=2)
    return to_html(
        Document(
            title="Comparison of scenarios",
            about=(),
            first=(Words(f"{counted(len(rows), 'scenario')} on the same table.", "big"),),
            parts=(
                Chapter("recommendation", "Recommendation", tuple(map(Words, sentences))),
                Chapter("plot", "Risk and loss", plot),
                Chapter("scenarios", "All scenarios", (everything,)),
            ),
            closing=OWNER,
        )
    )
