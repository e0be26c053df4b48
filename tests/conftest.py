"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# The same examples on every machine, and no verdict on how busy that machine is.
settings.register_profile("pramana", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("pramana")
