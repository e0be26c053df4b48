"""Things of one sort, found by name: guarantees, methods, kinds of releases, formats, engines.

A registry knows its built-in members by the place where they are written and loads each when it is
asked for, so that a list of names costs no import. Others come by :meth:`Registry.register`, or
from an installed package by an entry point of the registry's group.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from typing import Any, Generic, TypeVar, cast

__all__ = ["Registry", "load"]

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Members of one sort by their names, in the order in which they became known.

    >>> shapes: Registry[int] = Registry("pramana.shapes", {})
    >>> shapes.register("triangle", 3)
    >>> shapes["triangle"], list(shapes)
    (3, ['triangle'])
    """

    def __init__(self, group: str, built_in: Mapping[str, str]) -> None:
        self.group = group
        self._loaders: dict[str, Callable[[], T]] = {
            name: partial(load, place) for name, place in built_in.items()
        }
        self._members: dict[str, T] = {}
        self._looked_outside = False

    def register(self, name: str, member: T) -> None:
        """Add a member; a name that is taken is refused."""
        if name in self:
            raise ValueError(f"'{name}' is already registered in {self.group}.")
        self._loaders[name] = lambda: member

    def unregister(self, name: str) -> None:
        """Forget a member that was registered."""
        del self._loaders[name]
        self._members.pop(name, None)

    def __getitem__(self, name: str) -> T:
        self._look_outside()
        if name not in self._members:
            self._members[name] = self._loaders[name]()
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        self._look_outside()
        return iter(tuple(self._loaders))

    def __len__(self) -> int:
        self._look_outside()
        return len(self._loaders)

    def __contains__(self, name: object) -> bool:
        self._look_outside()
        return name in self._loaders

    def _look_outside(self) -> None:
        """Once: what installed packages offer. A built-in name cannot be taken over."""
        if self._looked_outside:
            return
        self._looked_outside = True
        for offered in _installed(tuple(sys.path)).select(group=self.group):
            self._loaders.setdefault(offered.name, offered.load)


@cache
def _installed(_: tuple[str, ...]) -> EntryPoints:
    """What packages on this path offer, whatever the kind: finding it reads a file a package."""
    return cast("EntryPoints", entry_points())  # Python 3.11 gives them by another name


def load(place: str) -> Any:
    """What stands at a place that is written as ``module:name``."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
