"""Reports: results rendered for people; nothing is computed here."""

from pramana.reports.content import ColumnView, ReportContent, Section
from pramana.reports.page import document, render

__all__ = ["ColumnView", "ReportContent", "Section", "document", "render"]
