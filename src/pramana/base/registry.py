"""Registries and lazy exports: objects found by name, and imported when they are first used.

A registry holds guarantees, methods, kinds of releases, formats or engines by name. Further members
come from :meth:`Registry.register`, or from entry points of installed packages.
"""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Members by name, in the order of their registration.

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
        self._has_entry_points = False

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
        self._add_entry_points()
        if name not in self._members:
            self._members[name] = self._loaders[name]()
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        self._add_entry_points()
        return iter(tuple(self._loaders))

    def __len__(self) -> int:
        self._add_entry_points()
        return len(self._loaders)

    def __contains__(self, name: object) -> bool:
        self._add_entry_points()
        return name in self._loaders

    def _add_entry_points(self) -> None:
        """Add the entry points of installed packages, once; built-in names take precedence."""
        if self._has_entry_points:
            return
        for entry_point in entry_points(group=self.group):
            self._loaders.setdefault(entry_point.name, entry_point.load)
        self._has_entry_points = True  # last: another thread that asks meanwhile reads them too


def load(place: str) -> Any:
    """The object that ``module:name`` names."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


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


def stub_exports(package: str) -> tuple[Callable[[str], object], list[str]]:
    """The ``__getattr__`` and ``__all__`` of a package: the names that its stub imports.

    Type checkers read the same ``__init__.pyi``, so that public names are written once. The package
    ``lazy-loader`` reads stubs from the file system alone; Spark's workers import from a zip file.
    """
    stub = ast.parse(pkgutil.get_data(package, "__init__.pyi") or b"")
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    sources: dict[str, str] = {}
    for node in imports:
        source = str(node.module).removeprefix("pramana.")
        names = " ".join(name.name for name in node.names)
        sources[source] = f"{sources.get(source, '')} {names}"
    exported = sorted(name.name for node in imports for name in node.names)
    return lazy_exports(package, sources, package="pramana"), exported
