"""Packages whose modules are imported when a name of theirs is first used."""

import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package that knows in which of its modules its public names are."""

    _homes: dict[str, str]
    _modules: frozenset[str]
    _public: list[str]

    def __getattr__(self, name: str) -> Any:
        if name in self._modules:
            return import_module(f".{name}", self.__name__)
        if name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(self._homes[name], self.__name__), name)
        vars(self)[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        """Modules do not hide what has their name: `run` and `check` are functions."""
        if name not in self._homes or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return self._public


def lazily(
    package: str, homes: Mapping[str, str], *, modules: Iterable[str] = (), own: Iterable[str] = ()
) -> None:
    """Let a package import its modules later.

    **Arguments:**

    - `homes`: by module, as `import` names it, its public names.
    - `modules`: those of its modules that are public themselves.
    - `own`: public names that the package holds.
    """
    this = sys.modules[package]
    found = {name: home for home, names in homes.items() for name in names.split()}
    public = sorted({*found, *modules, *own})
    this.__class__ = LazyPackage
    vars(this).update(_homes=found, _modules=frozenset(modules), _public=public)
