"""Attacks on a release: one a file, from the release and what the attacker is said to know."""
