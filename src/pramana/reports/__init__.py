"""Reports: results rendered for people; nothing is computed here."""

from pramana.reports.annex import report_document
from pramana.reports.content import About, Attacks, ColumnView, Measures, ReportContent
from pramana.reports.html import to_html
from pramana.reports.pdf import to_pdf

__all__ = [
    "About",
    "Attacks",
    "ColumnView",
    "Measures",
    "ReportContent",
    "report_document",
    "to_html",
    "to_pdf",
]
