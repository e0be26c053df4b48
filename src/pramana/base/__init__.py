"""Foundations: rounding, randomness, registries, files, text, threads."""
