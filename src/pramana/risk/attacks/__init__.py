"""Attacks on a release: one a module, from the release and the attacker's knowledge."""
