"""Audits, advice, comparisons and the contents of reports."""
