"""Synapses that share the weights of a kernel."""

from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ..weights import WeightSet, drawn
from .abstract import AbstractSynapses, SynapseList, matches
from .windows import PerAxis, Windows, along_axes, paddings


class ConvSynapses(AbstractSynapses):
    """A convolution in one dimension or two, as in `jax.lax.conv_general_dilated`: neurons of a
    channel share the weights of its kernel.

    Neurons are counted channel by channel, and row by row in a channel. Sources outside the image
    send nothing.

    - `weight`: `(out_channels, in_channels / groups, *kernel_size)`.
    - `windows`: what each target reads in the image of a channel of sources.
    """

    weight: Float[Array, "out_channels in_channels *kernel"]
    weights: WeightSet
    windows: Windows = eqx.field(static=True)
    groups: int = eqx.field(static=True)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: PerAxis,
        *,
        size: Sequence[int],
        key: Key[Array, ""],
        stride: PerAxis = 1,
        padding: PerAxis | Literal["same"] = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        weight_range: tuple[float, float] = (-3, 3),
        scale: float | None = None,
    ):
        """**Arguments:**

        - `in_channels`, `out_channels`: the numbers of channels.
        - `kernel_size`: the size of the kernel, along each axis or along all.
        - `size`: of the image of sources: `(length,)`, or `(rows, columns)`.
        - `key`: for the initial weights; it is consumed.
        - `stride`: the distance of neighbouring targets.
        - `padding`: how far the image is extended at each end; `"same"` for as many targets as
          sources with a stride of 1, where the larger half of an odd number is behind.
        - `dilation`: the distance of the sources that a kernel reads.
        - `groups`: into how many groups channels are divided; each reads its own sources.
        - `weight_range`, `scale`: see `LinearSynapses`.

        **Raises:** `ValueError` for an image that is not of one or two axes, a kernel that does not
        fit in it, and numbers of channels that `groups` does not divide.
        """
        axes = tuple(int(length) for length in size)
        kernel, stride, dilation = (
            along_axes(name, own, axes, 1)
            for name, own in (
                ("kernel_size", kernel_size),
                ("stride", stride),
                ("dilation", dilation),
            )
        )
        pads = padding if isinstance(padding, str) else along_axes("padding", padding, axes, 0)
        windows = Windows(axes, kernel, stride, paddings(pads, kernel, dilation), dilation)
        if (
            min(in_channels, out_channels, groups) < 1
            or in_channels % groups + out_channels % groups
        ):
            raise ValueError(
                f"There are {in_channels} and {out_channels} channels in {groups} groups. Give "
                "1 channel or more, in numbers that `groups` divides."
            )
        if min(windows.out_shape) < 1:
            raise ValueError(
                f"A kernel of {kernel} reads {windows.spans} sources, but the image has {axes} and "
                f"a padding of {pads}. Give a smaller `kernel_size` or more `padding`."
            )
        shape = (out_channels, in_channels // groups, *kernel)
        self.weight = drawn(key, shape, weight_range, scale)
        self.weights, self.windows, self.groups = WeightSet(weight_range), windows, groups

    @property
    def size(self) -> tuple[int, ...]:
        """The size of the image of sources in each channel."""
        return self.windows.size

    @property
    def out_shape(self) -> tuple[int, ...]:
        """The size of the image of targets in each channel."""
        return self.windows.out_shape

    @property
    def in_channels(self) -> int:
        """The number of channels of sources."""
        return self.weight.shape[1] * self.groups

    @property
    def allowed(self) -> WeightSet:
        return self.weights

    @property
    def channels(self) -> int:
        return self.weight.shape[0]

    @property
    def in_size(self) -> int:
        return self.in_channels * int(np.prod(self.size))

    @property
    def out_size(self) -> int:
        return self.channels * int(np.prod(self.out_shape))

    def deliver(
        self, train: Float[Array, "steps sources *paths"]
    ) -> Float[Array, "steps targets *paths"]:
        return convolved(train, self.weight, self.windows, self.groups)

    def wiring(self) -> SynapseList:
        source, target, places = self.windows.pairs()
        kernel = np.asarray(self.weight).astype(int).reshape(*self.weight.shape[:2], -1)
        to, own, place = np.nonzero(kernel)
        group = to // (self.channels // self.groups)
        since = group * self.weight.shape[1] + own
        number, pair = matches(places, place)  # the pairs of each place of the kernel
        sources, targets = int(np.prod(self.size)), int(np.prod(self.out_shape))
        return SynapseList(
            since[number] * sources + source[pair],
            to[number] * targets + target[pair],
            kernel[to, own, place][number],
            np.zeros_like(pair),
        )


def convolved(
    train: Float[Array, "steps sources *paths"],
    weight: Float[Array, "out_channels in_channels *kernel"],
    windows: Windows,
    groups: int,
) -> Float[Array, "steps targets *paths"]:
    """The convolution of a train with the weights of `ConvSynapses`."""
    # Steps and paths are one batch, and go first.
    first = jnp.moveaxis(train, 1, -1)
    found = lax.conv_general_dilated(
        first.reshape(-1, weight.shape[1] * groups, *windows.size),
        weight,
        windows.stride,
        windows.padding,
        rhs_dilation=windows.dilation,
        feature_group_count=groups,
        precision=lax.Precision.HIGHEST,  # products of short floats are not exact
    )
    return jnp.moveaxis(found.reshape(*first.shape[:-1], -1), -1, 1)
