"""Real-valued relatives of SN P systems: ordinary differentiable layers, with nothing exact to go
back to.

Their neurons hold real numbers, their rules are nonlinear functions, and no guard decides. They
compose with `lax.scan` as `eqx.nn.LSTMCell` does: `cell(x, state)` gives the new state.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Key


#: A function of every number by itself.
Elementwise: TypeAlias = Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]]


class LSTMSNPCell(eqx.Module):
    """A long short-term memory cell after nonlinear SN P systems, real-valued.

    With r, c, o = sigmoid(W x + U u + b) and a = tanh(W x + U u + b), each with W, U, b of its own,
    u' = r u - c a is the new state and h = o a the output: a reset gate, a consumption gate, a
    generation gate, as what a neuron keeps, consumes and sends. The recurrence is on u, not on h.

    ??? cite "Source"
        Liu, Long, Yang, Peng, Wang, Luo: LSTM-SNP: a long short-term memory model inspired from
        spiking neural P systems, Knowledge-Based Systems 235 (2022).
    """

    weight_in: Float[Array, "four_hidden inputs"]
    weight_state: Float[Array, "four_hidden hidden"]
    bias: Float[Array, " four_hidden"] | None
    hidden_size: int = eqx.field(static=True)

    def __init__(
        self, input_size: int, hidden_size: int, *, use_bias: bool = True, key: Key[Array, ""]
    ):
        """**Arguments:**

        - `input_size`, `hidden_size`: the sizes of x, and of u and h.
        - `use_bias`: whether the gates have a bias.
        - `key`: for the initial parameters, uniform in +-1 / sqrt(hidden_size); it is consumed.
        """
        shapes = ((4 * hidden_size, input_size), (4 * hidden_size, hidden_size))
        self.weight_in, self.weight_state, self.bias = _parameters(
            key, shapes, hidden_size, use_bias
        )
        self.hidden_size = hidden_size

    def __call__(
        self, x: Float[Array, " inputs"], state: Float[Array, " hidden"]
    ) -> tuple[Float[Array, " hidden"], Float[Array, " hidden"]]:
        """The new state u', and the output h."""
        total = _affine(self.bias, (self.weight_in, x), (self.weight_state, state))
        r, c, o, a = jnp.split(total, 4)
        r, c, o, a = jax.nn.sigmoid(r), jax.nn.sigmoid(c), jax.nn.sigmoid(o), jnp.tanh(a)
        return r * state - c * a, o * a


class GSNPCell(eqx.Module):
    """A gated cell after nonlinear SN P systems with two gates, real-valued.

    With r, c = sigmoid(W x + V h + U u + b) and a = tanh(W x + U u + b), u' = r u - c a is the new
    state and h' = a the output, which the gates read in the next step.

    ??? cite "Source"
        Zhang et al. 2023 (GSNP).
    """

    weight_in: Float[Array, "three_hidden inputs"]
    weight_state: Float[Array, "three_hidden hidden"]
    weight_out: Float[Array, "two_hidden hidden"]
    bias: Float[Array, " three_hidden"] | None
    hidden_size: int = eqx.field(static=True)

    def __init__(
        self, input_size: int, hidden_size: int, *, use_bias: bool = True, key: Key[Array, ""]
    ):
        """**Arguments:** as for `LSTMSNPCell`."""
        n = hidden_size
        shapes = ((3 * n, input_size), (3 * n, n), (2 * n, n))
        self.weight_in, self.weight_state, self.weight_out, self.bias = _parameters(
            key, shapes, hidden_size, use_bias
        )
        self.hidden_size = hidden_size

    def __call__(
        self,
        x: Float[Array, " inputs"],
        state: tuple[Float[Array, " hidden"], Float[Array, " hidden"]],
    ) -> tuple[Float[Array, " hidden"], Float[Array, " hidden"]]:
        """The new u and h of `state`."""
        u, h = state
        total = _affine(self.bias, (self.weight_in, x), (self.weight_state, u))
        gates, a = total[: 2 * self.hidden_size], jnp.tanh(total[2 * self.hidden_size :])
        r, c = jnp.split(jax.nn.sigmoid(gates + self.weight_out @ h), 2)
        return r * u - c * a, a


class ConvSNP(eqx.Module):
    """A convolution after nonlinear SN P systems, real-valued: y = sum_i w_i f(x_i) + b, with the
    activation before the linear map, as a neuron that sends f of its state through weights.

    ??? cite "Source"
        Zhao et al. 2022 (ConvSNP).
    """

    convolution: eqx.nn.Conv
    activation: Elementwise = eqx.field(static=True)

    def __init__(
        self,
        num_spatial_dims: int,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        stride: int = 1,
        padding: int | str = 0,
        use_bias: bool = True,
        activation: Elementwise = jax.nn.relu,
        key: Key[Array, ""],
    ):
        """**Arguments:** as for `eqx.nn.Conv`, and `activation`, f. The key is consumed."""
        sizes = {
            "num_spatial_dims": num_spatial_dims,
            "in_channels": in_channels,
            "out_channels": out_channels,
        }
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"`{name}` is {size}. Give 1 or more.")
        if np.min(kernel_size) < 1:
            raise ValueError(f"`kernel_size` is {kernel_size}. Give 1 or more.")
        self.convolution = eqx.nn.Conv(
            num_spatial_dims,
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            use_bias=use_bias,
            key=key,
        )
        self.activation = activation

    def __call__(self, x: Float[Array, "channels *space"]) -> Float[Array, "out *new_space"]:
        """The output of every place."""
        return self.convolution(self.activation(x))


class NonlinearSNP(eqx.Module):
    """A nonlinear SN P system as a recurrent cell, real-valued: every neuron i consumes g(x_i) of
    its state and sends f(x_i), x_i' = x_i - g(x_i) + sum_j w_ij f(x_j) + input_i.

    ??? cite "Source"
        Peng et al. 2020, Nonlinear spiking neural P systems. Differs from it in: 1. no threshold
        decides whether a neuron fires: its rule is used in every step; 2. an input from outside is
        added.
    """

    weight: Float[Array, "neurons neurons"]
    consume: Elementwise = eqx.field(static=True)
    send: Elementwise = eqx.field(static=True)

    def __init__(
        self,
        size: int,
        *,
        consume: Elementwise = jnp.tanh,
        send: Elementwise = jnp.tanh,
        key: Key[Array, ""],
    ):
        """**Arguments:**

        - `size`: the number of neurons.
        - `consume`, `send`: the functions g and f.
        - `key`: for the initial weights; it is consumed.
        """
        self.weight, _ = _parameters(key, ((size, size),), size, False)
        self.consume, self.send = consume, send

    def __call__(
        self, x: Float[Array, " neurons"] | None, state: Float[Array, " neurons"]
    ) -> Float[Array, " neurons"]:
        """The new state; `x` is what comes from outside, if anything does."""
        new = state - self.consume(state) + self.weight @ self.send(state)
        return new if x is None else new + x


def _parameters(
    key: Key[Array, ""], shapes: tuple[tuple[int, int], ...], size: int, use_bias: bool
) -> list:
    """Matrices of these shapes, and a bias of the first one's rows or `None`."""
    if size < 1 or min(min(shape) for shape in shapes) < 1:
        raise ValueError(f"The sizes give matrices of {shapes}. Give sizes of 1 or more.")
    bound = 1 / math.sqrt(size)
    *keys, last = jr.split(key, len(shapes) + 1)
    drawn = [
        jr.uniform(own, shape, minval=-bound, maxval=bound)
        for own, shape in zip(keys, shapes, strict=True)
    ]
    bias = jr.uniform(last, shapes[0][:1], minval=-bound, maxval=bound) if use_bias else None
    return [*drawn, bias]


def _affine(bias: Array | None, one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    total = one[0] @ one[1] + other[0] @ other[1]
    return total if bias is None else total + bias
