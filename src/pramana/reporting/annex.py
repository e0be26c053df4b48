"""The technical annex: promises, columns, attacks, losses, how to analyse, how it was checked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pramana.guarantees.claims import Claim
from pramana.guarantees.registry import dials
from pramana.reporting.contents import Attacks, ColumnView, Measures, ReportContent
from pramana.reporting.document import (
    Block,
    Chapter,
    Code,
    Document,
    Facts,
    Grid,
    Group,
    Heading,
    Words,
)
from pramana.reporting.first_page import first_page
from pramana.reporting.plots import percent, shares
from pramana.verification.checks import State, Verdict

__all__ = ["report_document"]

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
    parts = (
        Chapter("promises", "What is promised", tuple(_promises(content))),
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


def _promises(content: ReportContent) -> list[Block]:
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
    return blocks


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
        (label, *(percent(values[row]) for _, values in series)) for row, label in enumerate(listed)
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
    blocks: list[Block] = [Words(verdict.shown()[0] + ".")]
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
