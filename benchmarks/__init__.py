"""Measurements as ratios in one run: python -m benchmarks --help."""
