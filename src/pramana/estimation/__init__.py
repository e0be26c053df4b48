"""Estimates of the truth from a release: tables, means, totals, tests and rebuilt records."""
