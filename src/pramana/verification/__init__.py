"""Checks of a release: from the folder alone, and by the owner of the original data."""
