"""Pooling of spikes: sums, and the maximum where it is exact."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...spiking.model.rule import Rule
from ..population import PopulationRun
from ..surrogate import AbstractSurrogate, FastSigmoid, Smooth, fires
from ..synapses.abstract import SynapseList, check_sizes
from ..synapses.windows import PerAxis, Windows, along_axes
from .abstract import AbstractLayer, LayerParts, NeuronGroup


class AbstractPool(AbstractLayer):
    """A pooling of the spikes of each channel.

    - `channels`: of the sources.
    - `windows`: those in the image of one channel. Neurons that fill no window are left out.
    """

    channels: eqx.AbstractVar[int]
    windows: eqx.AbstractVar[Windows]

    @property
    def in_size(self) -> int:
        """The number of inputs."""
        return self.channels * int(np.prod(self.windows.size))

    @property
    def out_size(self) -> int:
        """The number of windows."""
        return self.channels * int(np.prod(self.out_shape))

    @property
    def out_shape(self) -> tuple[int, ...]:
        """The size of the image of windows in each channel, such as the `size` of the next
        layer."""
        return self.windows.out_shape

    def roundings(self) -> tuple[()]:
        return ()

    @property
    def window_size(self) -> int:
        """The number of sources in a window."""
        return int(np.prod(self.windows.kernel))

    def sums(
        self, train: Float[Array, "steps sources *paths"]
    ) -> Float[Array, "steps windows *paths"]:
        """The sum of each window.

        **Arguments:**

        - `train`: spikes from the sources in each step.
        """
        size = self.windows.size
        given = train.reshape(train.shape[0], self.channels, *size, *train.shape[2:])
        starts = range(2, 2 + len(size))
        total = None
        for place in np.ndindex(*self.windows.kernel):
            own = given
            for axis, at, num, apart in zip(
                starts, place, self.out_shape, self.windows.stride, strict=True
            ):
                end = at + (num - 1) * apart + 1
                own = own[(slice(None),) * axis + (slice(at, end, apart),)]
            total = own if total is None else total + own
        assert total is not None
        return total.reshape(train.shape[0], self.out_size, *train.shape[2:])

    def synapses(self) -> SynapseList:
        """From each source to its windows, with weight 1."""
        source, target, _ = self.windows.pairs()
        channel = np.arange(self.channels)[:, None]
        sources = (source + channel * int(np.prod(self.windows.size))).ravel()
        targets = (target + channel * int(np.prod(self.out_shape))).ravel()
        return SynapseList(sources, targets, np.ones_like(sources), np.zeros_like(sources))


def _windows(
    channels: int, window: PerAxis, size: Sequence[int], stride: PerAxis | None
) -> Windows:
    check_sizes(channels=channels)
    axes = tuple(int(length) for length in size)
    kernel = along_axes("window", window, axes, 1)
    stride = along_axes("stride", window if stride is None else stride, axes, 1)
    found = Windows(axes, kernel, stride, ((0, 0),) * len(axes), (1,) * len(axes))
    if min(found.out_shape) < 1:
        raise ValueError(f"A window of {kernel} does not fit in {axes}. Give a smaller one.")
    return found


def _counts(
    sums: Float[Array, "steps windows *paths"],
) -> Float[Array, "steps_and_one windows *paths"]:
    """What is in each window before the first step and after each, if nothing stays."""
    return jnp.concatenate([jnp.zeros_like(sums[:1]), sums])


class SumPool(AbstractPool):
    """Sums of windows, without neurons: the exact system has the synapses of the next layer from
    each neuron of a window.

    There is no average, which is not a number of spikes. Use the sum, and a guard and a range of
    weights that are as many times as large as a window.
    """

    channels: int = eqx.field(static=True)
    windows: Windows = eqx.field(static=True)

    def __init__(
        self, channels: int, window: PerAxis, *, size: Sequence[int], stride: PerAxis | None = None
    ):
        """**Arguments:**

        - `channels`: the number of channels of sources, counted channel by channel.
        - `window`: the size of the windows, along each axis or along all.
        - `size`: of the image of each channel: `(length,)`, or `(rows, columns)`.
        - `stride`: the distance of neighbouring windows; by default `window`.

        **Raises:** `ValueError` for windows that do not fit.
        """
        self.channels, self.windows = channels, _windows(channels, window, size, stride)

    def __call__(
        self, train: Float[Array, "steps sources *paths"]
    ) -> Float[Array, "steps windows *paths"]:
        """The sum of each window in each step."""
        return self.sums(train)

    @property
    def has_neurons(self) -> bool:
        return False

    @property
    def is_smooth(self) -> bool:
        return False

    def run(
        self,
        train: Float[Array, "steps sources *paths"],
        more: Float[Array, "steps windows *paths"] | None = None,
        *,
        keeps: bool = False,
    ) -> PopulationRun:
        del more
        sums = self(train)
        return PopulationRun(sums, jnp.zeros_like(sums[0]), _counts(sums) if keeps else None)

    def most_sent(self, received: int) -> int:
        return received * self.window_size

    def parts(self) -> LayerParts:
        return LayerParts(None, self.synapses())


class MaxPool(AbstractPool):
    """The maximum of each window in each step, by a neuron that sends one spike after a step in
    which it received any.

    That is the maximum where each source sends at most one spike in a step. With more, the sum that
    a neuron receives does not determine it, and `Sequential` and `to_system` refuse the layer.
    """

    channels: int = eqx.field(static=True)
    windows: Windows = eqx.field(static=True)
    surrogate: AbstractSurrogate

    def __init__(
        self,
        channels: int,
        window: PerAxis,
        *,
        size: Sequence[int],
        stride: PerAxis | None = None,
        surrogate: AbstractSurrogate | None = None,
    ):
        """**Arguments:**

        - `channels`, `window`, `size`, `stride`: see `SumPool`.
        - `surrogate`: the derivative of firing, `FastSigmoid()` by default.

        **Raises:** `ValueError` for windows that do not fit.
        """
        self.channels, self.windows = channels, _windows(channels, window, size, stride)
        self.surrogate = surrogate or FastSigmoid()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Those of its neurons in the exact system."""
        return tuple(Rule(k, k, 1) for k in range(1, self.window_size + 1))

    def __call__(
        self, train: Float[Array, "steps sources *paths"]
    ) -> Float[Array, "steps windows *paths"]:
        """What leaves the neurons in each step: a step later than what arrives at them."""
        return self._sent(_counts(self.sums(train)))

    def _sent(
        self, counts: Float[Array, "steps_and_one windows *paths"]
    ) -> Float[Array, "steps windows *paths"]:
        margin = counts[:-1] - 0.5
        if isinstance(self.surrogate, Smooth):
            return self.surrogate.value(margin)
        return fires(margin, margin > 0, jnp.ones(margin.shape, bool), self.surrogate)

    @property
    def has_neurons(self) -> bool:
        return True

    @property
    def is_smooth(self) -> bool:
        return isinstance(self.surrogate, Smooth)

    def run(
        self,
        train: Float[Array, "steps sources *paths"],
        more: Float[Array, "steps windows *paths"] | None = None,
        *,
        keeps: bool = False,
    ) -> PopulationRun:
        del more
        counts = _counts(self.sums(train))
        return PopulationRun(self._sent(counts), counts[-1], counts if keeps else None)

    def most_sent(self, received: int) -> int:
        del received
        return 1

    def parts(self) -> LayerParts:
        group = NeuronGroup([0], [list(self.rules)], self.out_size)
        return LayerParts(group, self.synapses())

    def problem(self, received: int) -> str | None:
        if received <= 1:
            return None
        return (
            f"what it reads is up to {received} spikes in a step, and their sum does not determine "
            "the maximum. Use SumPool, or rules that send one spike."
        )
