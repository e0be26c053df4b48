"""The site as it was built; only ``make docs`` comes here."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("PRAMANA_TEST_SITE") else ["test_*.py"]
