"""Tables of people: what their columns are, and how they are read, coded and written."""

from pramana.table.codec import (
    Refused,
    code_dtype,
    count_refused,
    decode,
    encode,
    encode_released,
    refuse,
    released_type,
)
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
    "Refused",
    "Role",
    "Schema",
    "code_dtype",
    "count_refused",
    "decode",
    "encode",
    "encode_released",
    "find_label",
    "label_text",
    "refuse",
    "released_type",
    "require_domains",
    "require_keys",
]
