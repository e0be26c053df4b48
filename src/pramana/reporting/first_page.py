"""The first page: for who decides and signs. A verdict, three numbers, one chart."""

from __future__ import annotations

from math import isclose

from pramana.base.text import counted, percent, percent_down, percent_up, text_up
from pramana.guarantees.claims import Claim
from pramana.reporting.contents import ColumnView, ReportContent
from pramana.reporting.document import Block, Drawing, Figures, Signature, Words
from pramana.reporting.plots import WIDER, Range, ranges, shares
from pramana.verification.checks import State

__all__ = ["first_page", "main_claim", "verdict_words"]

LITTLE_USE = 0.2
"""Shares that may be off by so much tell hardly anything."""


def first_page(content: ReportContent) -> tuple[Block, ...]:
    """Everything that stands on it, in order."""
    certificate = content.certificate
    figures = [_promise(content), *_measured(content), _exactness(content)]
    if len(figures) < 3:
        figures.append(_size(content))
    chart, reading = _chart(content)
    blocks: list[Block | None] = [
        verdict_words(content),
        Words(_reasons(content)),
        Figures(tuple(figures)),
        chart,
        None if chart is None else Words(reading, "quiet"),
        Words(_seed_words(), "warning") if certificate.reproducible else None,
        _use(content),
        Signature(("Name and office", "Place and date", "Signature")),
    ]
    return tuple(block for block in blocks if block is not None)


def verdict_words(content: ReportContent) -> Words:
    """Whether the release holds, in one line."""
    if content.checks(State.FAILED):
        return Words("Do not publish: the release does not hold what it states.", "bad")
    if content.attacks is not None and not content.attacks.holds:
        return Words("Do not publish: an attack breaks a promise.", "bad")
    if content.certificate.reproducible:
        return Words("Not for publication: it was made with a seed, for a test.", "stated")
    if not content.certificate.claims:
        return Words("Nothing is promised about a person.", "stated")
    if not all(claim.holds for claim in content.certificate.claims):
        return Words("Less is promised than was asked for: a target was missed.", "stated")
    if content.verdict is None:
        return Words("Not checked yet: the release lies in no folder.", "stated")
    if content.checks(State.ASSERTED):
        return Words("The release holds what it promises, as far as can be checked here.", "good")
    return Words("The release holds what it promises.", "good")


def _reasons(content: ReportContent) -> str:
    """What the verdict rests on."""
    proven, stated, failed = (
        len(content.checks(state)) for state in (State.PASSED, State.ASSERTED, State.FAILED)
    )
    words = [_what(content)]
    if content.verdict is not None:
        words.append(
            f"Of {proven + stated + failed} checks, {proven} were computed again for this report, "
            f"{stated or 'none'} rested on the owner's word, and {failed or 'none'} failed."
        )
    if content.attacks is not None:
        tried = len(content.attacks.measured)
        kept = "none broke a promise" if content.attacks.holds else "a promise was broken"
        words.append(f"Attacks tried on these people: {tried}, and {kept}.")
    return " ".join(words)


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


def _promise(content: ReportContent) -> tuple[str, str]:
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
            + _about_error(content)
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


def _about_error(content: ReportContent) -> str:
    return content.certificate.expected_error or ""


def _size(content: ReportContent) -> tuple[str, str]:
    return f"{content.certificate.records:,}", "Records released, in a random order."


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
