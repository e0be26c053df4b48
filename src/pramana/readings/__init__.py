"""Readings: what an analyst may ask of a release, one object a kind of release."""
