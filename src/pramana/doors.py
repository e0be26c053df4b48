"""A door of a package: its public names, each loaded from where it is written when it is used.

``import pramana`` and ``pramana --help`` cost next to nothing that way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["door"]


def door(
    package: str, places: Mapping[str, str], *, inside: str | None = None
) -> Callable[[str], object]:
    """The ``__getattr__`` of a package.

    Args:
        package: its name.
        places: a module -> the public names that are written there, with spaces between.
        inside: the package that these modules are in, if it is another.

    >>> door("pramana", {"numeric": "text_up text_down"})("text_up")(0.12345)
    '0.1235'
    """
    place_of = {name: place for place, names in places.items() for name in names.split()}

    def found(name: str) -> object:
        if name not in place_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(f"{inside or package}.{place_of[name]}"), name)

    return found
