"""From derivatives to the variables one step later."""

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .equation import Variables


InputArrays: TypeAlias = Mapping[str, Mapping[str, Array]]  # by population and target
PopulationVariables: TypeAlias = dict[str, Variables]  # the variables by population
Arriving: TypeAlias = Callable[[PopulationVariables], InputArrays]
Local: TypeAlias = Callable[[str, Variables, Mapping[str, Array]], Variables]


class AbstractIntegrator(abc.ABC):
    """How all populations that have derivatives go one step further."""

    @abc.abstractmethod
    def advance(
        self, arriving: Arriving, local: Local, state: PopulationVariables, dt: float
    ) -> PopulationVariables:
        """Integrate one step.

        **Arguments:**

        - `arriving`: maps the variables of all populations to their inputs.
        - `local`: maps the name, the variables and the inputs of one population to its derivatives.
        - `state`: the variables of all populations.
        - `dt`: the length of the step in milliseconds.

        **Returns:** the variables after the step.
        """


@dataclass(frozen=True)
class Euler(AbstractIntegrator):
    """The explicit method of first order: `y + dt f(y)`."""

    def advance(
        self, arriving: Arriving, local: Local, state: PopulationVariables, dt: float
    ) -> PopulationVariables:
        inputs = arriving(state)
        slopes = {name: local(name, y, inputs[name]) for name, y in state.items()}
        return {n: {v: x + dt * slopes[n][v] for v, x in y.items()} for n, y in state.items()}


@dataclass(frozen=True)
class ExponentialEuler(AbstractIntegrator):
    """The exponential method of first order: exact where a derivative is linear in its own variable
    and inputs stay, hence stable for every `dt / tau`.

    ??? cite "Source"
        Hochbruck & Ostermann 2010, the exponential Rosenbrock-Euler method, with the diagonal of
        the Jacobian, which is all of it for neurons of one variable.
    """

    def advance(
        self, arriving: Arriving, local: Local, state: PopulationVariables, dt: float
    ) -> PopulationVariables:
        inputs = arriving(state)
        out: PopulationVariables = {}
        for name, y in state.items():
            slope, new = local(name, y, inputs[name]), {}
            for variable, x in y.items():

                def alone(x: Array, y: Variables = y, v: str = variable, name: str = name) -> Array:
                    return local(name, {**y, v: x}, inputs[name])[v]

                # A neuron reads itself only, so that one product with ones is the diagonal.
                _, rate = jax.jvp(alone, (x,), (jnp.ones_like(x),))
                new[variable] = x + dt * _relative(rate * dt) * slope[variable]
            out[name] = new
        return out


@dataclass(frozen=True)
class Diffrax(AbstractIntegrator):
    """One step of a solver of diffrax a step, such as `Diffrax(diffrax.Tsit5())`; diffrax is a
    library of its own.

    Inputs are recomputed for each stage, so that the order of the solver is that of the network.
    """

    solver: Any

    def advance(
        self, arriving: Arriving, local: Local, state: PopulationVariables, dt: float
    ) -> PopulationVariables:
        def derivative(time: Any, y: PopulationVariables, arguments: Any) -> PopulationVariables:
            del time, arguments
            inputs = arriving(y)
            return {name: dict(local(name, own, inputs[name])) for name, own in y.items()}

        terms = diffrax().ODETerm(derivative)
        start, stop = 0.0, dt
        memory = self.solver.init(terms, start, stop, state, None)
        return self.solver.step(terms, start, stop, state, None, memory, made_jump=False)[0]


def diffrax() -> Any:
    """The module. **Raises:** `ImportError` with how to install it."""
    try:
        import diffrax  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError("diffrax is not installed (pip install diffrax)") from None
    return diffrax


def _relative(z: Array) -> Array:
    """`(exp(z) - 1) / z`, also where z is 0."""
    is_small = jnp.abs(z) < 1e-4
    safe = jnp.where(is_small, jnp.ones_like(z), z)
    return jnp.where(is_small, 1 + z / 2, jnp.expm1(safe) / safe)
