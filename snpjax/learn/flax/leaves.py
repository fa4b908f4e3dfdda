"""The arrays of an equinox module, by name."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.tree_util as jtu
from jaxtyping import Array, Key, PyTree

from ..relaxed import RelaxedSystem


#: What is wrapped: a module, or what makes one from a key.
Source: TypeAlias = eqx.Module | Callable[[Key[Array, ""]], eqx.Module]

#: Which leaves of a module are trained: a pytree of booleans with its structure.
Selection: TypeAlias = Callable[[Any], PyTree[bool]]


class Leaves(NamedTuple):
    """A module taken apart.

    - `trained`, `constants`: its arrays, by name.
    - `structure`: the rest of it, which can be hashed.
    """

    trained: dict[str, Array]
    constants: dict[str, Array]
    structure: "Structure"


class Structure(NamedTuple):
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
    - `where`: selects what is trained; by default the weights.

    **Raises:** `ValueError` for a selection that has not the structure of the module.
    """
    selected = weights(module) if where is None else where(module)
    flat, tree = jtu.tree_flatten_with_path(module)
    flags, flag_tree = jax.tree.flatten(selected)
    if flag_tree != tree:
        raise ValueError(
            "`where` returned another structure than the module has. Return a boolean for each "
            "leaf, as `jax.tree.map(eqx.is_inexact_array, module)` does."
        )
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
    return Leaves(trained, constants, Structure(tree, tuple(names), tuple(others)))


def weights(module: Any) -> PyTree[bool]:
    """The weights of relaxed systems, and all arrays of floats outside of these."""

    def selected(node: Any) -> Any:
        if not isinstance(node, RelaxedSystem):
            return eqx.is_inexact_array(node)
        none = jax.tree.map(lambda _: False, node)
        own = jax.tree.map(eqx.is_inexact_array, node.synapses)
        return eqx.tree_at(lambda model: model.synapses, none, own)

    return jax.tree.map(selected, module, is_leaf=lambda x: isinstance(x, RelaxedSystem))
