"""Values by name in solutions, whose errors list what there is."""

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from jax.tree_util import DictKey, register_pytree_with_keys

from .nearest import nearest


V = TypeVar("V")


class Named(dict[str, V]):
    """A dictionary whose `KeyError` names similar keys.

    For JAX it is a tree as a dictionary is. What a transformation returns is a plain dictionary.

    **Arguments:**

    - `kind`, `plural`: what the keys name, such as `population` and `populations`.
    - `values`: the entries.
    - `fix`: a sentence on how to get a missing entry; by default none.
    """

    def __init__(self, kind: str, plural: str, values: Mapping[str, V], fix: str = ""):
        super().__init__(values)
        self._kind, self._plural, self._fix = kind, plural, fix

    def __missing__(self, name: object) -> NoReturn:
        near = nearest(str(name), self, self._plural)
        near += "" if near.endswith("?") else "."
        raise KeyError(f"There is no {self._kind} {name!r}: {near} {self._fix}".strip())

    def __reduce__(self) -> tuple:
        return type(self), (self._kind, self._plural, dict(self), self._fix)


def _flatten(named: Named[V]) -> tuple[list[tuple[Any, V]], tuple[str, ...]]:
    keys = tuple(sorted(named))
    return [(DictKey(key), named[key]) for key in keys], keys


def _unflatten(keys: tuple[str, ...], values: Iterable[Any]) -> Any:
    return dict(zip(keys, values, strict=True))


# JAX knows dictionaries by their exact type.
register_pytree_with_keys(Named, _flatten, _unflatten)


def variables_by_name(
    kind: str, plural: str, tables: Mapping[str, Mapping[str, V]], fix: str = ""
) -> dict[str, dict[str, V]]:
    """The variables of neurons or populations, by name.

    **Arguments:**

    - `kind`, `plural`: what has the variables, such as `neuron` and `neurons`.
    - `tables`: the variables of each.
    - `fix`: a sentence on how to get a missing variable; by default none.
    """
    each = {
        name: Named(f"variable of {kind} {name!r} called", "variables", values, fix)
        for name, values in tables.items()
    }
    return Named(kind, plural, each, fix)
