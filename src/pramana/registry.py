"""Things of one sort, found by name: guarantees, methods, kinds of releases, formats, engines.

A registry knows its built-in members by the place where they are written and loads each when it is
asked for, so that a list of names costs no import. Others come by :meth:`Registry.register`, or
from an installed package by an entry point of the registry's group.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Generic, TypeVar

__all__ = ["Registry", "load"]

T = TypeVar("T")

GROUP = b"[pramana."
"""How the groups of all registries begin where a package says what it offers."""

ABOUT = (".dist-info", ".egg-info", "egg-info")
"""How folders end in which installed packages say what they offer."""


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
        for offered in _installed(tuple(sys.path), self.group):
            self._loaders.setdefault(offered.name, offered.load)
        self._looked_outside = True  # last: another thread may ask meanwhile, and finds as much


def _installed(path: tuple[str, ...], group: str) -> Iterable[Any]:
    """What packages on this path offer to a group."""
    if not _may_offer(path):  # mostly: loading what finds it takes longer than all our looking
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=group)


@cache
def _may_offer(path: tuple[str, ...]) -> bool:
    """Whether a package on this path may offer anything; where it cannot be seen, it may."""
    others = (finder for finder in sys.meta_path if finder is not PathFinder)
    if any(hasattr(finder, "find_distributions") for finder in others):
        return True
    for place in map(Path, path):
        if place.is_file():  # packages in an archive
            return True
        try:
            about = [own for own in place.iterdir() if own.name.lower().endswith(ABOUT)]
        except OSError:
            continue
        if any(_speaks_of_us(own / "entry_points.txt") for own in about):
            return True
    return False


def _speaks_of_us(file: Path) -> bool:
    try:
        return GROUP in file.read_bytes()
    except OSError:
        return False


def load(place: str) -> Any:
    """What stands at a place that is written as ``module:name``."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
