"""Stored values of small seeded releases: designs, certificates, verdicts, estimates, audits."""
