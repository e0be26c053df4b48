"""Risks of a table: one measure a file, each a value with its interval where it is measured."""
