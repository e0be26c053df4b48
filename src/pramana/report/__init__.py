"""Reports: results rendered for people; nothing is computed here."""

from pramana.report.content import ColumnView, ReportContent, Section
from pramana.report.page import document, render

__all__ = ["ColumnView", "ReportContent", "Section", "document", "render"]
