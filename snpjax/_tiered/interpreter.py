"""A jaxpr as a list of NumPy calls."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, JaxprEqn, Literal

from . import control, elementwise, indexing
from .rule import Call, NotInterpretable, Rule, as_numpy, dtype_of, shape_of


#: Parameters of what evaluates other programs.
_NESTED = {"jaxpr", "branches", "body_jaxpr"}
_RULES: dict[str, Rule] = {**elementwise.RULES, **indexing.RULES, **control.RULES}


class Interpreted:
    """`jaxpr`, evaluated with NumPy.

    Never writes to its arguments, except those in `own`; results may be views of them. Keys are
    numbers, see `rule.KEY`.

    **Arguments:**

    - `tick`: called in every iteration of a loop; it may raise, to give up.

    **Raises:** `NotInterpretable` for a primitive that no table has.
    """

    def __init__(
        self,
        jaxpr: ClosedJaxpr,
        tick: Callable[[], None],
        own: frozenset[Any] = frozenset(),
        *,
        is_estimate: bool = False,
    ):
        self.tick = tick
        self.is_estimate = is_estimate
        self._own = own
        #: Elements of all results of one evaluation, loops counted once.
        self.num_elements = 0
        #: Equations, those of all branches and bodies of loops counted once.
        self.num_equations = 0
        self._place_of: dict[Any, int] = {}
        self._values: list[Any] = []
        self._known: set[int] = set()
        self._calls: list[tuple[Call, tuple[int, ...], int | tuple[int, ...]]] = []
        inner = jaxpr.jaxpr
        for var, const in zip(inner.constvars, jaxpr.consts, strict=True):
            self._known.add(self._new_place(var, as_numpy(const, var.aval)))
        self._inputs = [self._new_place(var) for var in inner.invars]
        for eqn in inner.eqns:
            self._add(eqn)
        self._outputs = [self._place(atom) for atom in inner.outvars]

    def __call__(self, *args: Any) -> list[Any]:
        values = self._values.copy()
        for place, value in zip(self._inputs, args, strict=True):
            values[place] = value
        for call, given, found in self._calls:
            result = call(*[values[place] for place in given])
            if isinstance(found, int):
                values[found] = result
            else:
                for place, one in zip(found, result, strict=True):
                    values[place] = one
        return [values[place] for place in self._outputs]

    def nested(
        self,
        jaxpr: ClosedJaxpr,
        own: frozenset[Any] = frozenset(),
        *,
        is_estimate: bool = False,
    ) -> "Interpreted":
        made = Interpreted(jaxpr, self.tick, own, is_estimate=is_estimate or self.is_estimate)
        self.num_elements += made.num_elements
        self.num_equations += made.num_equations
        return made

    def is_own(self, atom: Any) -> bool:
        return not isinstance(atom, Literal) and atom in self._own

    def constant(self, atom: Any) -> Any:
        place = self._place(atom)
        return self._values[place] if place in self._known else None

    def _new_place(self, var: Any, value: Any = None) -> int:
        dtype_of(var)  # refuses what it does not know
        self._place_of[var] = len(self._values)
        self._values.append(value)
        return self._place_of[var]

    def _place(self, atom: Any) -> int:
        if not isinstance(atom, Literal):
            return self._place_of[atom]
        self._values.append(np.asarray(atom.val).astype(dtype_of(atom))[()])
        self._known.add(len(self._values) - 1)
        return len(self._values) - 1

    def _add(self, eqn: JaxprEqn) -> None:
        self.num_equations += 1
        given = tuple(self._place(atom) for atom in eqn.invars)
        found = tuple(self._new_place(var) for var in eqn.outvars)
        if not any(map(self.is_own, eqn.invars)) and not _NESTED & eqn.params.keys():
            self.num_elements += sum(math.prod(shape_of(var)) for var in eqn.outvars)
        name = eqn.primitive.name.replace("-", "_")
        try:
            call = _RULES[name](eqn, self) if name in _RULES else self.nested(_definition(eqn))
        except (KeyError, AttributeError, OverflowError) as error:
            raise NotInterpretable(f"unknown parameters of {name}") from error
        is_many = eqn.primitive.multiple_results
        if name not in _RULES and not is_many:
            call = partial(_only, call)
        is_loop = name in ("while", "scan")  # which may take long, so not here
        if self._known.issuperset(given) and not is_loop:  # a constant
            with np.errstate(all="ignore"):
                result = call(*[self._values[place] for place in given])
            for place, one in zip(found, result if is_many else [result], strict=True):
                self._values[place] = one
            self._known.update(found)
        else:
            self._calls.append((call, given, found if is_many else found[0]))


def _only(call: Callable[..., Sequence[Any]], *args: Any) -> Any:
    return call(*args)[0]


def _definition(eqn: JaxprEqn) -> ClosedJaxpr:
    """A primitive that is none of JAX's own, as the function that implements it."""
    shapes = [jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype) for x in eqn.invars]  # pyright: ignore
    if eqn.primitive.name.startswith("snpjax"):
        return jax.make_jaxpr(partial(eqn.primitive.impl, **eqn.params))(*shapes)
    raise NotInterpretable(f"the primitive {eqn.primitive.name}")
