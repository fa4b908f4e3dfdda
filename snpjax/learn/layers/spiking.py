"""Layers of neurons behind synapses, from trains to trains."""

import abc
from collections.abc import Iterator, Sequence
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Key

from ..initial import spread_into
from ..population import PopulationRun, SpikingPopulation, shared_rules
from ..response import Response, check_train
from ..rules import Rules, rules_of_guard
from ..surrogate import AbstractSurrogate, rounded
from ..synapses.abstract import AbstractSynapses, arrivals
from ..synapses.convolution import ConvSynapses
from ..synapses.delays import LearnedDelays
from ..synapses.linear import LinearSynapses
from ..synapses.windows import PerAxis
from ..weights import drawn
from .abstract import AbstractLayer, LayerParts, group_of
from .leak import leaky
from .norm import Drive, SpikingNorm, drive_of


class AbstractSpikingLayer(AbstractLayer):
    """A population of neurons behind synapses with trained weights, from trains to trains.

    What arrives in one step is read by the rules of the next. `Sequential` joins layers, and
    `to_system` exports them. `SpikingBlock` is made of given parts; the other classes
    make the parts themselves.

    - `synapses`: from the inputs to the neurons.
    - `neurons`: the population.
    - `recurrent`: synapses from the neurons to themselves.
    - `norm`: the normalisation of what arrives through `synapses`.
    - `steps`: the largest length of a train.
    - `bias`: spikes that the neurons of each channel have at first, in addition to those of
      `neurons`. A negative number raises the bounds of their guards, or without rules is their
      number of spikes.
    - `batch_first`: whether the batch is the first axis of trains and of what is returned, instead
      of the last one.
    - `is_padded`: whether a run has `steps` steps, also that of a shorter train.
    """

    synapses: AbstractSynapses
    neurons: SpikingPopulation
    recurrent: AbstractSynapses | None
    norm: SpikingNorm | None
    steps: int = eqx.field(static=True)
    bias: Float[Array, " channels"] | None = None
    batch_first: bool = eqx.field(static=True, default=False)
    is_padded: bool = eqx.field(static=True, default=False)

    @abc.abstractmethod
    def __init__(self):
        """Each class makes the parts in its own way."""

    def _join(
        self,
        synapses: AbstractSynapses,
        *,
        steps: int,
        guard: int | Rules,
        surrogate: AbstractSurrogate | None,
        recurrent: AbstractSynapses | None = None,
        norm: SpikingNorm | None = None,
        bias: bool = False,
        batch_first: bool = False,
    ) -> None:
        """Set all fields, see `SpikingBlock`."""
        if bias and norm is not None:
            raise ValueError("`norm` has an `offset`, which is a bias. Leave `bias` out.")
        self.synapses, self.recurrent, self.norm, self.steps = synapses, recurrent, norm, steps
        self.neurons = _neurons(synapses, recurrent, norm, steps, guard, surrogate)
        self.bias = jnp.zeros(synapses.channels) if bias else None
        self.batch_first = batch_first

    @property
    def in_size(self) -> int:
        """The number of inputs."""
        return self.synapses.in_size

    @property
    def out_size(self) -> int:
        """The number of neurons."""
        return self.neurons.size

    @property
    def population(self) -> SpikingPopulation:
        """`neurons`."""
        return self.neurons

    @property
    def max_steps(self) -> int:
        """`steps`."""
        return self.steps

    @property
    def is_batch_first(self) -> bool:
        """`batch_first`."""
        return self.batch_first

    @property
    def has_neurons(self) -> bool:
        """True."""
        return True

    @property
    def takes_more(self) -> bool:
        """True."""
        return True

    @property
    def is_smooth(self) -> bool:
        """Whether the surrogate of the neurons is `Smooth`."""
        return self.neurons.model.is_smooth

    def most_sent(self, received: int) -> int:
        """The most spikes that a rule sends, before training.

        **Arguments:**

        - `received`: is not used.
        """
        del received
        return self.neurons.most_sent

    def __call__(self, train: Float[Array | np.ndarray, "..."]) -> Float[Array, "..."]:
        """What leaves the neurons in each step."""
        return self.response(train).trains

    def response(
        self,
        train: Float[Array | np.ndarray, "..."],
        more: Float[Array, "..."] | None = None,
    ) -> Response:
        """Run the layer and return its emissions and its final spikes.

        **Arguments:**

        - `train`: `(train, inputs)` or `(train, inputs, paths)` spikes from the inputs in each
          step; `(paths, train, inputs)` with `batch_first`.
        - `more`: `(train, outputs, *paths)` spikes that arrive at the neurons in addition, or
          `(paths, train, outputs)`; in `steps` steps if `is_padded`.

        **Returns:** a `Response`, of as many steps as `train` has; of `steps` steps if
        `is_padded`.

        **Raises:** `ValueError` for a train of another number of inputs, or of more than `steps`,
        and for `more` of another shape.
        """
        train = jnp.asarray(train, jnp.float32)
        check_train(train, self.steps, self.in_size, self.batch_first)
        is_moved = self.batch_first and train.ndim == 3
        if more is not None:
            length = self.steps if self.is_padded else train.shape[is_moved]
            paths = train.shape[:1] if is_moved else train.shape[2:]
            wanted = length, self.out_size
            wanted = (*paths, *wanted) if is_moved else (*wanted, *paths)
            if jnp.shape(more) != wanted:
                raise ValueError(f"`more` has the shape {jnp.shape(more)}. Give {wanted}.")
        if not is_moved:
            return Response(*_run(self, train, more)[:2])
        train, more = (
            jnp.moveaxis(train, 0, -1),
            None if more is None else jnp.moveaxis(more, 0, -1),
        )
        return Response(*_run(self, train, more)[:2]).paths_first()

    def run(
        self,
        train: Float[Array, "train inputs *paths"],
        more: Float[Array, "steps outputs *paths"] | None = None,
        *,
        keeps: bool = False,
    ) -> PopulationRun:
        drive = None
        if self.norm is not None:
            drive = self.norm.running if self.norm.inference else self.drive(train)
        synapses, offset, recurrent = self.exact(drive)
        arriving = arrivals(synapses, train, self.is_smooth)
        if self.is_padded:
            missing = (0, self.steps - len(train)), *((0, 0),) * (train.ndim - 1)
            arriving = jnp.pad(arriving, missing)
        arriving = arriving if more is None else arriving + more
        return self.neurons.run(arriving, offset=offset, feedback=recurrent, keeps=keeps)

    def drive(self, train: Float[Array, "train inputs *paths"]) -> Drive:
        """The statistics that `norm` uses in training.

        **Arguments:**

        - `train`: spikes from the inputs in each step.
        """
        return drive_of(self.synapses, train)

    def exact(
        self, drive: Drive | None
    ) -> tuple[AbstractSynapses, Float[Array, " channels"] | None, AbstractSynapses | None]:
        """The synapses, initial spikes and recurrent synapses that a run uses: integers unless
        firing is smooth.

        **Arguments:**

        - `drive`: the statistics for `norm`, if there is one.
        """
        synapses, offset, recurrent = self.synapses, self.bias, self.recurrent
        if self.norm is not None and drive is not None:
            synapses, offset = self.norm.folded(synapses, drive)
        if self.is_smooth:
            return synapses.clipped(), offset, None if recurrent is None else recurrent.clipped()
        return (
            synapses.exact(),
            None if offset is None else rounded(offset),
            None if recurrent is None else recurrent.exact(),
        )

    def parts(self) -> LayerParts:
        synapses, offset, recurrent = self.exact(None if self.norm is None else self.norm.running)
        back = None if recurrent is None else recurrent.wiring()
        return LayerParts(group_of(self.neurons, offset), synapses.wiring(), back)

    def roundings(self) -> Iterator[tuple[str, Float[Array | np.ndarray, "..."]]]:
        synapses = self.synapses
        if self.norm is not None:
            synapses, offset = self.norm.folded(synapses, self.norm.running)
            yield "the offset of the norm", np.round(offset) - offset
        yield "the weight", synapses.changes()
        if self.recurrent is not None:
            yield "the recurrent weight", self.recurrent.changes()
        if self.bias is not None:
            yield "the bias", np.round(self.bias) - self.bias

    @property
    def norms(self) -> tuple[SpikingNorm, ...]:
        """`norm`, if there is one."""
        return () if self.norm is None else (self.norm,)

    def observed(
        self, train: Float[Array, "train inputs *paths"], momentum: float
    ) -> "AbstractSpikingLayer":
        if self.norm is None:
            return self
        norm = self.norm.updated(self.drive(train), momentum)
        return eqx.tree_at(lambda own: own.norm, self, norm)


@eqx.filter_jit
def _run(
    layer: AbstractSpikingLayer,
    train: Float[Array, "train inputs *paths"],
    more: Float[Array, "steps outputs *paths"] | None,
) -> PopulationRun:
    return layer.run(train, more)


class SpikingLayer(AbstractSpikingLayer):
    """A population behind all-to-all weights, initialised so that it fires."""

    def __init__(
        self,
        in_size: int,
        out_size: int,
        *,
        key: Key[Array, ""],
        steps: int = 20,
        guard: int | Rules = 8,
        weight_range: tuple[float, float] = (-3, 3),
        scale: float | None = None,
        surrogate: AbstractSurrogate | None = None,
        bias: bool = False,
        batch_first: bool = False,
    ):
        """**Arguments:**

        - `in_size`, `out_size`: the numbers of inputs and of neurons.
        - `key`: for the initial weights; it is consumed.
        - `steps`: the length of each run, and the largest length of a train.
        - `guard`: when a neuron fires. A number n stands for `a{n,}/a^n -> a`, and a regular
          expression for a rule that consumes the least count it accepts and sends one spike. Pass
          other rules as they are, and `()` for a layer that only counts.
        - `weight_range`, `scale`, `surrogate`: see `SpikingNetwork`.
        - `bias`: train a number of initial spikes for each neuron, see `AbstractSpikingLayer`.
        - `batch_first`: put the batch first in trains, `(paths, train, inputs)`, and in what is
          returned, `(paths, steps, outputs)` and `(paths, outputs)`.

        **Raises:** `ValueError` for sizes below 1, or a guard that does not parse or accepts no
        count.
        """
        one = jr.split(key, 1)[0]
        # Unless they are scaled, these weights are replaced below, when the rules are known.
        self._join(
            LinearSynapses(
                in_size, out_size, key=jr.clone(one), weight_range=weight_range, scale=scale
            ),
            steps=steps,
            guard=guard,
            surrogate=surrogate,
            bias=bias,
            batch_first=batch_first,
        )
        if scale is None:
            spread = spread_into(self.neurons, float(in_size), weight_range, mean=steps / 2)
            weight = drawn(one, (out_size, in_size), weight_range, spread)
            self.synapses = self.synapses.with_weight(weight)
        self.is_padded = True


class SpikingBlock(AbstractSpikingLayer):
    """A layer of given parts."""

    def __init__(
        self,
        synapses: AbstractSynapses,
        *,
        steps: int = 20,
        guard: int | Rules = 8,
        recurrent: AbstractSynapses | None = None,
        norm: SpikingNorm | None = None,
        surrogate: AbstractSurrogate | None = None,
        bias: bool = False,
        batch_first: bool = False,
    ):
        """**Arguments:**

        - `synapses`: from the inputs to the neurons.
        - `steps`: the largest length of a train.
        - `guard`: when a neuron fires, see `SpikingLayer`; all neurons of a channel of `synapses`
          share the parameters of its rules.
        - `recurrent`: synapses from the neurons to themselves.
        - `norm`: the normalisation of what arrives through `synapses`.
        - `surrogate`: see `relax`.
        - `bias`: train a number of initial spikes for each channel, see `AbstractSpikingLayer`.
        - `batch_first`: see `SpikingLayer`.

        **Raises:** `ValueError` for parts that do not fit together, for a `norm` of neurons without
        rules, and for `norm` with `bias`.
        """
        self._join(
            synapses,
            steps=steps,
            guard=guard,
            surrogate=surrogate,
            recurrent=recurrent,
            norm=norm,
            bias=bias,
            batch_first=batch_first,
        )


class SpikingConv(AbstractSpikingLayer):
    """A convolution in one dimension or two: neurons of a channel share weights and rules.

    Neurons are counted channel by channel, and row by row in a channel. The layer computes by a
    convolution; only the exact system has a synapse for each pair of neurons.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: PerAxis,
        *,
        size: Sequence[int],
        key: Key[Array, ""],
        steps: int = 20,
        guard: int | Rules = 8,
        stride: PerAxis = 1,
        padding: PerAxis | Literal["same"] = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        weight_range: tuple[float, float] = (-3, 3),
        scale: float | None = None,
        delays: Sequence[int] = (0,),
        norm: SpikingNorm | None = None,
        surrogate: AbstractSurrogate | None = None,
        bias: bool = False,
        batch_first: bool = False,
    ):
        """**Arguments:**

        - `in_channels`, `out_channels`, `kernel_size`, `size`, `stride`, `padding`, `dilation`,
          `groups`: see `ConvSynapses`.
        - `key`: for the initial weights; it is consumed.
        - `steps`, `guard`, `norm`, `bias`, `batch_first`: see `SpikingBlock`.
        - `weight_range`, `scale`: see `LinearSynapses`.
        - `surrogate`: see `relax`.
        - `delays`: the delays among which each weight of the kernel learns one, see
          `LearnedDelays`; by default none.

        **Raises:** `ValueError` as `ConvSynapses` and `SpikingBlock` do.
        """
        synapses = ConvSynapses(
            in_channels,
            out_channels,
            kernel_size,
            size=size,
            key=key,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            weight_range=weight_range,
            scale=scale,
        )
        synapses = delayed(synapses, delays)
        self._join(
            synapses,
            steps=steps,
            guard=guard,
            surrogate=surrogate,
            norm=norm,
            bias=bias,
            batch_first=batch_first,
        )

    @property
    def out_shape(self) -> tuple[int, ...]:
        """The size of the image of neurons in each channel, such as the `size` of the next
        layer."""
        synapses = self.synapses
        own = synapses.synapses if isinstance(synapses, LearnedDelays) else synapses
        assert isinstance(own, ConvSynapses)
        return own.out_shape


class SpikingRecurrent(AbstractSpikingLayer):
    """A population behind all-to-all weights that also projects to itself, each neuron to all
    others."""

    def __init__(
        self,
        in_size: int,
        out_size: int,
        *,
        key: Key[Array, ""],
        steps: int = 20,
        guard: int | Rules = 8,
        weight_range: tuple[float, float] = (-3, 3),
        scale: float | None = None,
        recurrent_scale: float | None = None,
        delays: Sequence[int] = (0,),
        norm: SpikingNorm | None = None,
        surrogate: AbstractSurrogate | None = None,
        bias: bool = False,
        batch_first: bool = False,
    ):
        """**Arguments:**

        - `in_size`, `out_size`: the numbers of inputs and of neurons.
        - `key`: for the initial weights; it is consumed.
        - `steps`, `guard`, `norm`, `bias`, `batch_first`: see `SpikingBlock`.
        - `weight_range`, `scale`: see `LinearSynapses`.
        - `surrogate`: see `relax`.
        - `recurrent_scale`: the `scale` of the weights between the neurons.
        - `delays`: the delays among which each weight learns one, also between the neurons; see
          `LearnedDelays`.

        **Raises:** `ValueError` as `LinearSynapses` and `SpikingBlock` do.
        """
        one, other = jr.split(key)
        synapses = delayed(
            LinearSynapses(in_size, out_size, key=one, weight_range=weight_range, scale=scale),
            delays,
        )
        recurrent = delayed(
            LinearSynapses(
                out_size,
                out_size,
                key=other,
                weight_range=weight_range,
                scale=recurrent_scale,
                has_self=False,
            ),
            delays,
        )
        self._join(
            synapses,
            steps=steps,
            guard=guard,
            surrogate=surrogate,
            recurrent=recurrent,
            norm=norm,
            bias=bias,
            batch_first=batch_first,
        )


class SpikingLeaky(AbstractSpikingLayer):
    """A population of leaky neurons behind all-to-all weights; `leaky` says what leaks."""

    def __init__(
        self,
        in_size: int,
        out_size: int,
        *,
        key: Key[Array, ""],
        steps: int = 20,
        threshold: int = 8,
        decay: float | None = None,
        leak: int | None = None,
        consume: int | None = None,
        weight_range: tuple[float, float] = (-3, 3),
        scale: float | None = None,
        delays: Sequence[int] = (0,),
        norm: SpikingNorm | None = None,
        surrogate: AbstractSurrogate | None = None,
        bias: bool = False,
        batch_first: bool = False,
    ):
        """**Arguments:**

        - `in_size`, `out_size`: the numbers of inputs and of neurons.
        - `key`: for the initial weights; it is consumed.
        - `threshold`, `decay`, `leak`, `consume`: see `leaky`.
        - `steps`, `norm`, `bias`, `batch_first`: see `SpikingBlock`.
        - `weight_range`, `scale`: see `LinearSynapses`.
        - `surrogate`: see `relax`.
        - `delays`: the delays among which each weight learns one, see `LearnedDelays`.

        **Raises:** `ValueError` as `LinearSynapses`, `leaky` and `SpikingBlock` do.
        """
        synapses = delayed(
            LinearSynapses(in_size, out_size, key=key, weight_range=weight_range, scale=scale),
            delays,
        )
        guard = leaky(threshold, decay=decay, leak=leak, consume=consume)
        self._join(
            synapses,
            steps=steps,
            guard=guard,
            surrogate=surrogate,
            norm=norm,
            bias=bias,
            batch_first=batch_first,
        )


def delayed(synapses: AbstractSynapses, delays: Sequence[int]) -> AbstractSynapses:
    """The synapses with learned delays, if there is more than one or another than 0."""
    return synapses if tuple(delays) == (0,) else LearnedDelays(synapses, delays)


def _neurons(
    synapses: AbstractSynapses,
    recurrent: AbstractSynapses | None,
    norm: SpikingNorm | None,
    steps: int,
    guard: int | Rules,
    surrogate: AbstractSurrogate | None,
) -> SpikingPopulation:
    """The neurons behind synapses, with rules for each channel; all parts are checked."""
    rules, size = rules_of_guard(guard), synapses.out_size
    problems = [] if steps >= 1 else [f"`steps` is {steps}. Give 1 or more."]
    if recurrent is not None and (recurrent.in_size, recurrent.out_size) != (size, size):
        problems.append(
            f"`recurrent` joins {recurrent.in_size} neurons to {recurrent.out_size}, but the layer "
            f"has {size}."
        )
    if norm is not None and norm.scale.shape != (synapses.channels,):
        problems.append(
            f"`norm` has {norm.scale.shape[0]} channels, but the synapses have {synapses.channels}."
        )
    if norm is not None and not rules:
        problems.append("Neurons without rules have no guards to fold `norm` into. Leave it out.")
    if norm is not None and not synapses.weight.size:
        problems.append("The synapses have no weights to fold `norm` into. Leave it out.")
    if problems:
        raise ValueError("\n".join(problems))
    copies = size // synapses.channels
    return shared_rules(synapses.channels, rules, copies=copies, surrogate=surrogate)
