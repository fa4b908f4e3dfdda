"""The arrays of an equinox module, by name."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.tree_util as jtu
from jaxtyping import Array, Key, PyTree

from ..trainable import selected_by


#: What is wrapped: a module, or what makes one from a key.
Source: TypeAlias = eqx.Module | Callable[[Key[Array, ""]], eqx.Module]

#: Maps a module to the part of it that is trained.
Selection: TypeAlias = Callable[[Any], PyTree]


class Leaves(NamedTuple):
    """A module taken apart.

    - `trained`, `constants`: its arrays, by name.
    - `structure`: the rest of it, which can be hashed.
    """

    trained: dict[str, Array]
    constants: dict[str, Array]
    structure: "ModuleStructure"


class ModuleStructure(NamedTuple):
    """What puts a module together.

    - `names`: of all leaves in their order, and `others` those that are no arrays.
    """

    tree: Any
    names: tuple[str, ...]
    others: tuple[tuple[str, Any], ...]

    def module(self, arrays: Mapping[str, Array]) -> Any:
        """The module with these arrays."""
        found = {**dict(self.others), **arrays}
        return jtu.tree_unflatten(self.tree, [found[name] for name in self.names])


def made(source: Source, key: Key[Array, ""]) -> Any:
    """The module that is wrapped."""
    return source if isinstance(source, eqx.Module) else source(key)


def leaves_of(module: Any, where: Selection | None) -> Leaves:
    """Take a module apart.

    **Arguments:**

    - `module`: an equinox module.
    - `where`: selects what is trained, as in `fit`.
    """
    flat, tree = jtu.tree_flatten_with_path(module)
    flags = jax.tree.leaves(selected_by(where, module))
    names: list[str] = []
    for path, _ in flat:
        name = re.sub(r"\W+", "_", jtu.keystr(path)).strip("_") or "module"
        while name in names:
            name += "_"
        names.append(name)
    trained, constants, others = {}, {}, []
    for name, (_, leaf), flag in zip(names, flat, flags, strict=True):
        if not eqx.is_array(leaf) and not isinstance(leaf, jax.ShapeDtypeStruct):
            others.append((name, leaf))
        elif flag:
            trained[name] = leaf
        else:
            constants[name] = leaf
    return Leaves(trained, constants, ModuleStructure(tree, tuple(names), tuple(others)))
