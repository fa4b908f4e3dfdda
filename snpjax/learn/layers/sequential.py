"""Layers one after the other, as one exact system."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from snpjax_formats import Sum

from ..layer import SpikingLayer, rules_of_guard
from ..network import SENDER, Response, Rules
from ..relaxed import RelaxedSystem, constants_of
from .norm import SpikingNorm
from .pooling import MaxPool, SumPool
from .population import SpikingPopulation, most_sent, shared_rules
from .spiking import AbstractSpikingLayer
from .synapses import AbstractSynapses, OneToOneSynapses, arrivals


#: What `Sequential` joins.
Layer: TypeAlias = AbstractSpikingLayer | SpikingLayer | SumPool | MaxPool

#: From which population, and to which.
Skip: TypeAlias = tuple[int, int] | tuple[int, int, AbstractSynapses]


class Sequential(eqx.Module):
    """Layers one after the other behind a population of inputs, with skip connections: an exact SN
    P system with gradients.

    Population 0 are the inputs, population p the neurons of layer p, counted from 1. `to_system`
    exports the system: neuron i of population p is called `p{i}`, from 0 each.

    - `layers`: as they were given.
    - `source`: the inputs.
    - `skips`, `places`: synapses that skip layers, and from which population to which each leads.
    - `steps`: the length of each run.
    - `batch_first`: whether the batch is the first axis of what is given and returned, instead of
      the last one.
    """

    layers: tuple[Layer, ...]
    source: SpikingPopulation
    skips: tuple[AbstractSynapses, ...]
    places: tuple[tuple[int, int], ...] = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    batch_first: bool = eqx.field(static=True)

    def __init__(
        self,
        layers: Sequence[Layer],
        /,
        *,
        source: Rules = SENDER,
        skips: Sequence[Skip] = (),
        batch_first: bool = False,
    ):
        """**Arguments:**

        - `layers`: layers whose sizes match, with the same `steps`; the last one has neurons.
        - `source`: the rule or rules of the inputs, which share their parameters; by default an
          input sends one spike in each step while it has any.
        - `skips`: pairs of populations, from and to, such as `(0, 2)`, or triples with synapses. By
          default neuron i of the one sends its spikes also to neuron i of the other. What skips a
          layer arrives earlier, unless the synapses have delays.
        - `batch_first`: put the batch first in counts, `(paths, inputs)`, and in what is returned,
          `(paths, steps, outputs)` and `(paths, outputs)`.

        **Raises:** `ValueError` for layers that do not fit together, and for a `MaxPool` that reads
        neurons which may send several spikes in a step.
        """
        given = tuple(layers)
        if not given:
            raise ValueError("There are no layers.")
        rules = rules_of_guard((source,) if isinstance(source, str) else source)
        joined = [_skip(given, skip) for skip in skips]
        problems = [*_misfits(given, most_sent(rules)), *_skip_problems(given, joined)]
        if problems:
            raise ValueError("\n".join(problems))
        self.layers, self.source = given, shared_rules(1, rules, copies=in_size(given[0]))
        self.skips = tuple(synapses for _, _, synapses in joined)
        self.places = tuple((start, end) for start, end, _ in joined)
        self.batch_first = batch_first
        self.steps = next(steps for layer in given if (steps := _steps(layer)) is not None)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Neurons of each population; of a `SumPool`, its windows."""
        return (self.source.size, *(out_size(layer) for layer in self.layers))

    def __call__(self, counts: Float[Array, "inputs *paths"]) -> Float[Array, "outputs *paths"]:
        """How many spikes leave each output neuron, or remain in it where it has no rules; a second
        axis is a batch, which is the first one with `batch_first`."""
        found = self.response(counts)
        if not _sends(self.layers[-1]):
            return found.spikes
        is_first = self.batch_first and found.spikes.ndim == 2
        return jnp.sum(found.trains, axis=1 if is_first else 0)

    def response(
        self,
        counts: Float[Array, "inputs *paths"],
        *,
        input: Float[Array, "train inputs *paths"] | None = None,
    ) -> Response:
        """What the last population does.

        **Arguments:**

        - `counts`: `(inputs, *paths)` initial spikes of the inputs.
        - `input`: `(train, inputs, *paths)` spikes that arrive at the inputs from the environment,
          in up to `steps` steps: entry t at the end of step t + 1.

        With `batch_first` the axis of paths is the first one, of the arguments and of the result.

        **Returns:** a `Response`.

        **Raises:** `ValueError` for shapes that do not fit.
        """
        found = self._run(counts, input)[0]
        if not self.batch_first or found.spikes.ndim == 1:
            return found
        return Response(*(jnp.moveaxis(own, -1, 0) for own in found))

    def observed(
        self,
        counts: Float[Array, "inputs *paths"],
        *,
        input: Float[Array, "train inputs *paths"] | None = None,
        momentum: float = 0.1,
    ) -> "Sequential":
        """Update the running statistics of every `SpikingNorm` by a batch.

        Layers before a normalisation run as they do in `response`: on statistics of the batch
        unless `inference` is true.

        **Arguments:**

        - `counts`, `input`: see `response`.
        - `momentum`: how far the statistics move towards those of the batch; 1 replaces them, which
          is best after training, with all training data as the batch.

        **Returns:** the network with other statistics.
        """
        trains = self._run(counts, input)[1]

        def updated(layer: Layer, train: Array) -> Layer:
            if not isinstance(layer, AbstractSpikingLayer) or layer.norm is None:
                return layer
            norm = layer.norm.updated(layer.drive(train), momentum)
            return eqx.tree_at(lambda own: own.norm, layer, norm)

        layers = tuple(map(updated, self.layers, trains))
        return eqx.tree_at(lambda own: own.layers, self, layers)

    def _run(
        self, counts: Float[Array, "inputs *paths"], input: Float[Array, "..."] | None
    ) -> tuple[Response, list[Float[Array, "steps neurons *paths"]]]:
        """The response, and what leaves every population."""
        counts, size = jnp.asarray(counts, jnp.float32), self.source.size
        is_first = self.batch_first and counts.ndim == 2
        shape, counts = counts.shape, counts.T if is_first else counts
        if not 1 <= counts.ndim <= 2 or len(counts) != size:
            batch = f"(paths, {size})" if self.batch_first else f"({size}, paths)"
            raise ValueError(f"`counts` has the shape {shape}. Give ({size},) or {batch}.")
        if input is not None and is_first:
            input = jnp.moveaxis(input, 0, -1)
        arriving = jnp.zeros((self.steps, *counts.shape))
        if input is not None:
            if len(input) > self.steps or input.shape[1:] != counts.shape:
                raise ValueError(
                    f"`input` has the shape {input.shape}. Give up to {self.steps} steps of "
                    f"{counts.shape}."
                )
            arriving = arriving.at[: len(input)].set(input)
        # What inputs send says nothing of the network: their tap is left out.
        source = replace(self.source, model=replace(self.source.model, tap=None))
        trains = [source.run(arriving, initial=counts)[0]]
        left = counts
        for number, layer in enumerate(self.layers, 1):
            more = None
            for (start, end), synapses in zip(self.places, self.skips, strict=True):
                if end == number:
                    is_smooth = _is_smooth(layer)
                    own = synapses if is_smooth else synapses.exact()
                    got = arrivals(own, trains[start], is_smooth)
                    more = got if more is None else more + got
            train, left = _response(layer, trains[-1], more)
            trains.append(train)
        return Response(trains[-1], left), trains

    @property
    def norms(self) -> tuple[SpikingNorm, ...]:
        """The normalisations of the layers."""
        return tuple(
            layer.norm
            for layer in self.layers
            if isinstance(layer, AbstractSpikingLayer) and layer.norm is not None
        )


def population_of(layer: SpikingLayer) -> SpikingPopulation:
    """The neurons of a layer."""
    place = layer.place
    return SpikingPopulation(
        layer.model, place.size, 1, place.start, place.slots, most_sent(layer.rules)
    )


def in_size(layer: Layer) -> int:
    """The number of inputs of a layer."""
    return layer.place.start if isinstance(layer, SpikingLayer) else layer.in_size


def out_size(layer: Layer) -> int:
    """The number of neurons of a layer, or of windows."""
    return layer.place.size if isinstance(layer, SpikingLayer) else layer.out_size


def _steps(layer: Layer) -> int | None:
    return None if isinstance(layer, SumPool | MaxPool) else layer.steps


def _sends(layer: Layer) -> bool:
    """Whether the neurons of a layer have rules."""
    match layer:
        case AbstractSpikingLayer():
            return layer.neurons.slots > 0
        case SpikingLayer():
            return layer.place.slots > 0
        case _:
            return True


def _is_smooth(layer: Layer) -> bool:
    match layer:
        case AbstractSpikingLayer():
            return layer.neurons.model.is_smooth
        case SpikingLayer():
            return layer.model.is_smooth
        case _:
            return False


def _response(
    layer: Layer,
    train: Float[Array, "steps inputs *paths"],
    more: Float[Array, "steps outputs *paths"] | None,
) -> Response:
    match layer:
        case AbstractSpikingLayer():
            return layer.response(train, more)
        case SumPool():
            sums = layer(train)
            return Response(sums, jnp.zeros_like(sums[0]))
        case MaxPool():
            return Response(layer(train), layer.windows.sums(train[-1:])[0])
        case _:
            arriving = _arriving(layer.model, train)
            arriving = arriving if more is None else arriving + more
            return Response(*population_of(layer).run(arriving))


def _arriving(
    model: RelaxedSystem, train: Float[Array, "steps inputs *paths"]
) -> Float[Array, "steps outputs *paths"]:
    """What arrives at the neurons of a `SpikingLayer`."""
    synapses = constants_of(model).synapses
    assert isinstance(synapses, Sum)
    (part,) = synapses.parts
    found = part.deliver(jnp.moveaxis(train, 0, -1), accumulate=jnp.float32)
    return jnp.moveaxis(found, -1, 0)


def _misfits(layers: tuple[Layer, ...], sent: int) -> list[str]:
    """Why layers do not follow one another. `sent` is the most that an input sends in a step."""
    problems = []
    for number, layer in enumerate(layers, 1):
        before = out_size(layers[number - 2]) if number > 1 else in_size(layer)
        if in_size(layer) != before:
            problems.append(
                f"Layer {number} takes {in_size(layer)} inputs, but layer {number - 1} has "
                f"{before} outputs."
            )
        if isinstance(layer, SpikingLayer) and layer.batch_first:
            problems.append(
                f"Layer {number} has `batch_first=True`. Give that to the `Sequential` instead."
            )
        match layer:
            case SumPool():
                sent = sent * layer.windows.most
            case MaxPool():
                if sent > 1:
                    problems.append(
                        f"Layer {number} is a MaxPool, but what it reads is up to {sent} spikes in "
                        "a step, whose maximum is no function of their sum. Use SumPool, or rules "
                        "that send one spike."
                    )
                sent = 1
            case AbstractSpikingLayer():
                sent = layer.neurons.most_sent
            case _:
                sent = most_sent(layer.rules)
    steps = sorted({own for layer in layers if (own := _steps(layer)) is not None})
    if len(steps) != 1:
        problems.append(f"The layers have the `steps` {steps}. Give all the same.")
    if isinstance(layers[-1], SumPool):
        problems.append("The last layer is a SumPool, which has no neurons. Add a layer that has.")
    return problems


def _skip(layers: tuple[Layer, ...], skip: Skip) -> tuple[int, int, AbstractSynapses]:
    start, end = skip[:2]
    if not 0 <= start < end <= len(layers):
        raise ValueError(
            f"The skip {(start, end)} joins no population of 0 to {len(layers)} to a later one."
        )
    size = out_size(layers[end - 1])
    return start, end, skip[2] if len(skip) == 3 else OneToOneSynapses(size)


def _skip_problems(
    layers: tuple[Layer, ...], skips: Sequence[tuple[int, int, AbstractSynapses]]
) -> list[str]:
    problems = []
    for start, end, synapses in skips:
        sizes = (
            in_size(layers[0]) if start == 0 else out_size(layers[start - 1]),
            out_size(layers[end - 1]),
        )
        if sizes != (synapses.in_size, synapses.out_size):
            problems.append(
                f"The skip {(start, end)} joins {sizes[0]} neurons to {sizes[1]}, but its synapses "
                f"join {synapses.in_size} to {synapses.out_size}. Give it other synapses."
            )
        if isinstance(layers[end - 1], SumPool | MaxPool):
            problems.append(f"The skip {(start, end)} leads into a pooling. Choose another layer.")
    return problems
