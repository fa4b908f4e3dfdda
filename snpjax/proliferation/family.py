"""Moments of the families of all types of a model."""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .moments import RenewalEquations, mean, second_moments
from .program import Parameters, ProliferationProgram


def family_means(
    program: ProliferationProgram, parameters: Parameters
) -> Float[Array, "types generations"]:
    """The expected numbers of cells E[N_k] of one family of each type, without a threshold.

    **Arguments:**

    - `program`, `parameters`: what `lower` returned; the parameters may be traced.

    **Returns:** `(types, generations)` expected numbers.
    """
    return _by_method(mean, program, parameters)


def family_mean_slopes(
    program: ProliferationProgram, parameters: Parameters
) -> tuple[Float[Array, "types generations"], Float[Array, "2 types generations"]]:
    """`family_means`, and their derivatives by `Parameters.first` and `second` of their own type.

    In forward mode, which two directions suffice for, however many types: reverse mode reads the
    constants of the grid a second time, and those are what takes the time.
    """

    def means(first: Array, second: Array) -> Array:
        return family_means(program, replace(parameters, first=first, second=second))

    own = (parameters.first, parameters.second)
    one, zero = jnp.ones_like(own[0]), jnp.zeros_like(own[0])
    directions = (jnp.stack([one, zero]), jnp.stack([zero, one]))
    along = jax.vmap(lambda *direction: jax.jvp(means, own, direction), out_axes=(None, 0))
    return along(*directions)


def family_second_moments(
    program: ProliferationProgram, parameters: Parameters
) -> Float[Array, "types generations generations"]:
    """The second moments E[N_k N_l] of one family of each type, without a threshold.

    **Arguments:**

    - `program`, `parameters`: what `lower(model, second_moments=True)` returned.

    **Returns:** `(types, generations, generations)` second moments.
    """
    return _by_method(second_moments, program, parameters)


def mixed_means(
    program: ProliferationProgram, parameters: Parameters
) -> Float[Array, " generations"]:
    """The expected numbers of cells E[N_k] of a family of unknown type.

    **Arguments:**

    - `program`, `parameters`: what `lower` returned.

    **Returns:** `(generations,)` means over the types.
    """
    return parameters.proportions @ family_means(program, parameters)


def mixed_covariance(
    program: ProliferationProgram, parameters: Parameters
) -> Float[Array, "generations generations"]:
    """The covariance of the numbers of cells N_k of a family of unknown type.

    **Arguments:**

    - `program`, `parameters`: what `lower(model, second_moments=True)` returned.

    **Returns:** `(generations, generations)` covariances.
    """
    means = mixed_means(program, parameters)
    seconds = family_second_moments(program, parameters)
    return jnp.tensordot(parameters.proportions, seconds, 1) - jnp.outer(means, means)


def expected_counts(
    program: ProliferationProgram, parameters: Parameters
) -> Float[Array, "channels generations"]:
    """The expected final histogram.

    **Arguments:**

    - `program`, `parameters`: what `lower` returned.

    **Returns:** `(channels, generations)` expected cells of each occupied channel and generation;
    their fluorescence is phi / 2^k.
    """
    means = mixed_means(program, parameters)
    generation = jnp.arange(program.generations, dtype=jnp.int32)
    is_there = generation[None, :] <= program.last[:, None]
    return jnp.where(is_there, program.counts[:, None] * means[None, :], 0)


def _by_method(
    function: Callable[..., Array], program: ProliferationProgram, parameters: Parameters
) -> Array:
    """A function of one type for all types; those of one method as a batch."""
    methods = program.methods
    rows: dict[int, Array] = {}
    for method in dict.fromkeys(methods):
        indices = [i for i, x in enumerate(methods) if x is method]

        equations = RenewalEquations(method, program.start, program.generations, program.grid)

        def of_type(first: Array, second: Array, equations: RenewalEquations = equations) -> Array:
            return function(equations, first, second, parameters.duration)

        if len(indices) == 1:
            (i,) = indices
            rows[i] = of_type(parameters.first[i], parameters.second[i])
            continue
        chosen = jnp.asarray(indices)
        batch = jax.vmap(of_type)(parameters.first[chosen], parameters.second[chosen])
        rows |= {i: batch[n] for n, i in enumerate(indices)}
    return jnp.stack([rows[i] for i in range(len(methods))])
