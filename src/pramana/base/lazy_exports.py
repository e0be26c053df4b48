"""Lazy exports: public names of a package, imported from their modules at first use.

They keep ``import pramana`` and ``pramana --help`` fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazy_exports"]


def lazy_exports(
    module: str, sources: Mapping[str, str], *, package: str | None = None
) -> Callable[[str], object]:
    """The ``__getattr__`` of a module.

    Args:
        module: its name.
        sources: the public names of each source module, separated by spaces.
        package: the package of the source modules, if it is not ``module``.

    >>> lazy_exports("pramana.base", {"text": "text_up text_down"})("text_up")(0.12345)
    '0.1235'
    """
    source_of = {name: source for source, names in sources.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in source_of:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        return getattr(import_module(f"{package or module}.{source_of[name]}"), name)

    return get
