"""An extension of Griffe: the parameters of `equinox.Module` classes are their fields."""

from typing import Any

import griffe


class ModuleFields(griffe.Extension):
    """Treat subclasses of `equinox.Module` as the dataclasses that they are."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        del kwargs
        self._mark(pkg)

    def _mark(self, parent: griffe.Module | griffe.Class) -> None:
        for member in parent.members.values():
            if isinstance(member, griffe.Class) and _is_module(member):
                member.decorators.append(_DATACLASS)
            if isinstance(member, griffe.Module | griffe.Class):
                self._mark(member)


_DATACLASSES = griffe.Module("dataclasses")
_DATACLASSES.set_member("dataclass", griffe.Function("dataclass"))
_DATACLASS = griffe.Decorator(
    griffe.ExprName("dataclass", parent=_DATACLASSES), lineno=None, endlineno=None
)


def _is_module(cls: griffe.Class) -> bool:
    """Directly, or by an abstract class, which is named so."""
    names = [str(base).partition("[")[0].rpartition(".")[2] for base in cls.bases]
    return any(name == "Module" or name.startswith("Abstract") for name in names)
