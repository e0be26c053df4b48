"""Files and folders that appear whole or not at all, and what unfinished ones leave behind."""

from pramana.files.leftovers import (
    STUDIO,
    Leftover,
    hidden_folder,
    leftovers,
    remove_leftovers,
)
from pramana.files.reading import read_file
from pramana.files.whole import (
    forget_placed,
    free_name,
    placed,
    require_free,
    require_name,
    require_not_here,
    stands,
    whole_file,
    whole_folder,
    write_whole,
)

__all__ = [
    "STUDIO",
    "Leftover",
    "forget_placed",
    "free_name",
    "hidden_folder",
    "leftovers",
    "placed",
    "read_file",
    "remove_leftovers",
    "require_free",
    "require_name",
    "require_not_here",
    "stands",
    "whole_file",
    "whole_folder",
    "write_whole",
]
