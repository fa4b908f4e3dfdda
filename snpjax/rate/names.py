"""Names of variables, inputs and parameters that equations ask for and that do not exist."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
from jaxtyping import Array

from .._text.nearest import near_match, nearest
from .model import RatePopulation, RateProjection


class _AskedNames(Mapping[str, Array]):
    """A mapping that remembers the names that were asked for."""

    def __init__(self, values: Mapping[str, Array]):
        self._values = values
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Array:
        self.asked.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def name_problems(
    populations: Sequence[RatePopulation], projections: Sequence[RateProjection], dtype: Any
) -> Iterator[str]:
    """Yield the misspelt names of variables, parameters and inputs, which projections target.

    Each equation is traced once for all populations with the same names. A name that it does not
    read is no mistake in itself, as populations may share their parameters: it is one if the
    equation asks for a similar name.
    """
    traced = set()
    for p in populations:
        targets = {x.target for x in projections if x.post == p.name}
        targets |= set() if p.drive is None else {"drive"}
        names = (p.initial, targets, p.parameters)
        key = p.equation, *map(frozenset, names)
        if key not in traced:
            traced.add(key)
            for text in _misspelt(p, targets, dtype):
                yield f"Population {p.name!r}: {text}"


def _misspelt(p: RatePopulation, targets: set[str], dtype: Any) -> Iterator[str]:
    asked: dict[str, _AskedNames] = {}
    column = jax.ShapeDtypeStruct((p.size,), dtype)

    def evaluate(*mappings: Mapping[str, Array]) -> Any:
        kinds = ("variable", "input", "parameter")
        asked.update(zip(kinds, map(_AskedNames, mappings), strict=True))
        return p.equation.function(*asked.values())

    missing = None
    try:
        parameters = {
            name: jax.ShapeDtypeStruct(jax.numpy.shape(value), dtype)
            for name, value in p.parameters.items()
        }
        inputs = dict.fromkeys(sorted(targets), column)
        jax.eval_shape(evaluate, dict.fromkeys(p.initial, column), inputs, parameters)
    except KeyError as error:
        missing = error.args[0]
    except Exception:  # also of functions that need dictionaries: the run itself reports errors
        return
    for kind, some in asked.items():
        for name in sorted(name for name in some.asked if name not in some):
            others = [other for other in some if other not in some.asked]
            hint = near_match(name, others)
            if hint is None and name == missing:
                hint = nearest(name, some, f"{kind}s")
            if hint is not None:
                yield f"the equation reads the {kind} {name!r}, which does not exist ({hint})"
