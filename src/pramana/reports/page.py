"""A whole report as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.guarantees.claim import Claim
from pramana.guarantees.dials import dials
from pramana.release.certificate import Certificate
from pramana.reports.content import ColumnView, ReportContent, Section
from pramana.reports.markup import Markup, details_table, element, joined, table
from pramana.reports.plots import Range, Series, bars, ranges
from pramana.reports.style import STYLE
from pramana.reports.words import TREATMENT_OF_ROLE
from pramana.table.schema import Schema

__all__ = ["document", "render"]


def render(content: ReportContent) -> str:
    """The report as HTML."""
    sections = [
        ("promises", "What is promised", _promises(content.certificate)),
        ("columns", "The columns", _columns(content.columns)),
        ("risk", "What attacks achieve", _section("risk", content.risk)),
        ("before", "Who stood out before", _section("before", content.worst)),
        ("utility", "What is lost", _section("utility", content.utility)),
        ("analysis", "How to analyse the data", _analysis(content)),
        ("making", "How it was made and checked", _making(content)),
    ]
    return document(
        content.title,
        lead=_lead(content),
        sections=[(key, head, body) for key, head, body in sections if body],
        closing="For the owner of the data: contains figures of the true table. Do not publish."
        if not content.external
        else "For publication: made from the release and its certificate alone.",
    )


def document(
    title: str, *, lead: Markup, sections: Sequence[tuple[str, str, Markup]], closing: str
) -> str:
    """Head, table of contents, sections, footer."""
    links = [element("li", element("a", head, href=f"#{key}")) for key, head, _ in sections]
    nav = element("nav", element("ul", *links), aria_label="Sections")
    parts = [
        element("section", element("h2", head, id=key), body, aria_labelledby=key)
        for key, head, body in sections
    ]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(STYLE)),
    )
    body = element(
        "body",
        element("header", element("h1", title), lead, nav),
        element("main", *parts),
        element("footer", element("p", closing, class_="quiet")),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


# -- the parts -----------------------------------------------------------------------------


def _lead(content: ReportContent) -> Markup:
    certificate = content.certificate
    randomised = [column.name for column in certificate.schema.randomised]
    parts = [
        element(
            "p",
            f"{certificate.records:,} records, {len(certificate.schema.columns)} columns. "
            f"Values of {_list(randomised) or 'no column'} were randomised and the records "
            "shuffled: a single record tells little about anyone, and tables of all records can "
            "still be estimated.",
            class_="big",
        )
    ]
    if certificate.reproducible:
        parts.append(
            element(
                "p",
                "This release was made with a seed, for a test or a demonstration. Who knows the "
                "seed can undo it: it is not for publication.",
                class_="warning",
                role="note",
            )
        )
    parts.extend(element("p", note, class_="quiet") for note in content.notes)
    return joined(parts)


def _promises(certificate: Certificate) -> Markup:
    together = dials(claim.attained for claim in certificate.claims)
    parts = [] if together is None else [element("p", element("strong", together))]
    parts += [_promise(claim, certificate.schema) for claim in certificate.claims]
    form = certificate.to_json()
    parts.append(element("h3", "What the promises cover"))
    parts.append(element("p", form["scope"]["statement"]))
    parts.append(element("p", form["crowd"]["statement"]))
    return joined(parts)


def _promise(claim: Claim, schema: Schema) -> Markup:
    guarantee = claim.attained
    numbers = ", ".join(f"{key} = {text}" for key, text in guarantee.shown().items())
    asked = "not asked for; it follows from the matrices"
    if claim.asked is not None:
        asked = f"{claim.asked}{'' if claim.holds else ', which was missed'}"
    facts = (
        ("Attained", numbers),
        ("Asked", asked),
        ("Assumes", guarantee.assumption),
        ("Does not promise", guarantee.not_promised),
        ("Checked by", claim.checked_by),
    )
    entries = [
        element(tag, text) for pair in facts for tag, text in zip(("dt", "dd"), pair, strict=True)
    ]
    name = guarantee.name.replace("-", " ")
    return element(
        "div",
        element("h3", name[:1].upper() + name[1:]),
        element("p", claim.sentence(schema)),
        element("dl", *entries),
        class_="promise",
    )


def _columns(columns: Sequence[ColumnView]) -> Markup:
    overview = table(
        ("column", "role", "what was done", "values"),
        [(c.name, TREATMENT_OF_ROLE.get(c.role, c.role), c.treatment, c.domain) for c in columns],
        caption="Every released column",
        numbers=9,
    )
    return joined([overview, *(_column(place, c) for place, c in enumerate(columns) if c.labels)])


def _column(place: int, column: ColumnView) -> Markup:
    series = [
        Series(name, kind, values, tuple(_percent(v) for v in values))
        for name, kind, values in (
            ("truth", "truth", column.truth),
            ("released", "released", column.released),
            ("estimated", "estimated", column.estimated),
        )
        if values is not None
    ]
    heads = ["value", *(s.name for s in series)]
    rows = [[label, *(s.words[row] for s in series)] for row, label in enumerate(column.labels)]
    if column.low is not None and column.high is not None:
        heads += ["from", "to"]
        for row, low, high in zip(rows, column.low, column.high, strict=True):
            row += [_percent(low), _percent(high)]
    name = f"Shares of '{column.name}'"
    return joined(
        [
            element("h3", column.name),
            element("p", column.note) if column.note else None,
            bars(f"column-{place}", column.labels, series, title=name),
            details_table(f"The numbers of '{column.name}'", table(heads, rows, caption=name)),
        ]
    )


def _section(key: str, section: Section | None) -> Markup:
    if section is None:
        return Markup("")
    parts: list[str | None] = [element("p", sentence) for sentence in section.sentences]
    if section.measured:
        entries = [
            Range(m.name, m.value, m.low, m.high, m.baseline, m.bound) for m in section.measured
        ]
        parts.append(
            element(
                "p",
                "Filled: how often an attack is right, with its interval. Open circle: guessing. "
                "Upright line: what is promised.",
                class_="quiet",
            )
        )
        parts.append(ranges(f"plot-{key}", entries, title="Attacks, guessing and promises"))
    if section.rows:
        parts.append(table(section.heads, section.rows, caption=section.caption))
    return joined(parts)


def _analysis(content: ReportContent) -> Markup:
    return joined(
        [
            element(
                "p",
                "Do not count the released records as if they were true: randomisation blurs every "
                "table. Estimates undo the blur and say how sure they are. In Python, beside the "
                "release folder:",
            ),
            element("pre", element("code", content.code), tabindex="0"),
            element("p", f"Expected error: {content.certificate.expected_error}")
            if content.certificate.expected_error
            else None,
        ]
    )


def _making(content: ReportContent) -> Markup:
    certificate = content.certificate
    depends = "were chosen by looking at the data" if certificate.data_dependent else (
        "do not depend on the data"
    )  # fmt: skip
    made = {
        "published": f"The matrices are published and {depends}.",
        "withheld": f"The matrices are withheld and {depends}.",
        "groups": "Keys were drawn anew within groups; there are no matrices.",
        "reports": "Each record answers one set of columns, drawn by chance; the others are empty. "
        f"Sets and matrices are published and {depends}.",
    }[certificate.kind]
    facts = element(
        "p",
        f"Method {certificate.method}. {made} Records were shuffled by a uniformly random "
        "permutation.",
    )
    rows = [(name, "holds" if good else "FAILS", detail) for name, good, detail in content.checks]
    checks = table(("check", "verdict", "detail"), rows, caption="Verification", numbers=9)
    return joined([facts, checks if rows else None])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.01 or share <= 0 else f"{100 * share:.2g} %"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if names[1:] else "") + names[-1] if names else ""
