"""Packages whose modules are imported when a name of theirs is first used."""

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package that imports the module of a public name when the name is first used."""

    _homes: dict[str, str]
    _modules: frozenset[str]
    __all__: list[str]

    def __getattr__(self, name: str) -> Any:
        if name in self._modules:
            return import_module(f".{name}", self.__name__)
        if name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        from .arguments import explain  # late, so that a command handles Ctrl-C early

        value = explain(import_module(self._homes[name], self.__name__), name)
        vars(self)[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        """Keep a module from hiding the public function of its name, such as `run` or `check`."""
        if name not in self._homes or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return self.__all__


def lazily(package: str, homes: Mapping[str, str], *, modules: str = "") -> None:
    """Let a package import its modules later.

    **Arguments:**

    - `homes`: by module, as `import` names it, its public names, separated by blanks.
    - `modules`: those of its modules that are public themselves.
    """
    this = sys.modules[package]
    found = {name: home for home, names in homes.items() for name in names.split()}
    public = sorted({*found, *modules.split()})
    this.__class__ = LazyPackage
    vars(this).update(_homes=found, _modules=frozenset(modules.split()), __all__=public)
