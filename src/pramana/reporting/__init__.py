"""Reports: results rendered for people; nothing is computed here."""

from pramana.reporting.annex import report_document
from pramana.reporting.contents import About, Attacks, ColumnView, Measures, ReportContent
from pramana.reporting.html import to_html
from pramana.reporting.pdf import to_pdf

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
