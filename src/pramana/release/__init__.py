"""Releases: a table with a certificate that anyone can check."""
