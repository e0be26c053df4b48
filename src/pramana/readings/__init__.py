"""Readings: what an analyst may ask of a release, one object a kind of release."""

from pramana.readings.base import READINGS, VERBS, Reading
from pramana.readings.release import Release, load_release

__all__ = ["READINGS", "VERBS", "Reading", "Release", "load_release"]
