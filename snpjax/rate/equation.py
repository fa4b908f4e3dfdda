"""What the neurons of a population compute: pure functions of their own variables and inputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


#: The variables of a population by name, each of all its neurons; `r` is what they send.
Variables: TypeAlias = Mapping[str, Float[Array, " neurons"]]

#: `function(variables, inputs, parameters)`: what arrives is in `inputs` by the projections'
#: targets; parameters have one number, or one a neuron.
EquationFunction: TypeAlias = Callable[
    [Variables, Mapping[str, Float[Array, " neurons"]], Mapping[str, Array]], Variables
]


@dataclass(frozen=True)
class Derivative:
    """Variables that an integrator changes: `function` gives their derivatives, a time being a
    millisecond.

    A neuron's derivative depends on its own variables and inputs only. That is assumed by
    `ExponentialEuler`; neurons that read each other need a projection.

    **Raises:** `TypeError` for what is no function.
    """

    function: EquationFunction

    def __post_init__(self) -> None:
        _check_function(self)


@dataclass(frozen=True)
class Update:
    """Variables that are recomputed in each step: `function` gives their next values.

    **Raises:** `TypeError` for what is no function.
    """

    function: EquationFunction

    def __post_init__(self) -> None:
        _check_function(self)


def _check_function(equation: Derivative | Update) -> None:
    if not callable(equation.function):
        raise TypeError(
            f"`function` of {type(equation).__name__} is {equation.function!r:.60}. Give a "
            "function of (variables, inputs, parameters)."
        )


def identity(x: Array) -> Array:
    """The gain of a linear neuron: `gain(x) = x`.

    **Arguments:**

    - `x`: the sum of all inputs and the baseline.

    **Returns:** `x`.
    """
    return x


@dataclass(frozen=True)
class _Leaky:
    """The function of `leaky`: a class, so that it can be pickled."""

    gain: Callable[[Array], Array]

    def __call__(
        self, variables: Variables, inputs: Mapping[str, Array], parameters: Mapping[str, Array]
    ) -> Variables:
        r = variables["r"]
        total = sum(inputs.values(), jnp.broadcast_to(parameters["b"], r.shape))
        return {"r": (self.gain(total) - r) / parameters["tau"]}


def _positive_part(x: Array) -> Array:
    return jax.nn.relu(x)  # which cannot be pickled itself


def leaky(gain: Callable[[Array], Array] = jax.nn.relu) -> Derivative:
    """The equation `tau dr/dt = -r + gain(sum of all inputs + b)`.

    **Arguments:**

    - `gain`: an elementwise function, by default the positive part.

    **Returns:** a `Derivative` of the variable `r` with the parameters `tau` (ms) and `b`, in the
    unit of the inputs.

    ??? cite "Source"
        Dinkelbach et al. 2022, the rate-coded neuron. Differs from it in: 1. the baseline is inside
        the gain.
    """
    return Derivative(_Leaky(_positive_part if gain is jax.nn.relu else gain))
