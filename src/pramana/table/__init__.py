"""Tables of people: what their columns are, and how they are read, coded and written."""

from pramana.table.domains import Bins, Categories, Domain, Label, find_label, label_text
from pramana.table.schema import (
    CATEGORY_LIMIT,
    Column,
    Impossible,
    Role,
    Schema,
    require_domains,
    require_keys,
)

__all__ = [
    "CATEGORY_LIMIT",
    "Bins",
    "Categories",
    "Column",
    "Domain",
    "Impossible",
    "Label",
    "Role",
    "Schema",
    "find_label",
    "label_text",
    "require_domains",
    "require_keys",
]
