"""Layers one after the other, as one exact system."""

from collections.abc import Collection, Sequence
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from snpjax_formats.articles import kind_of

from ..arguments import relayed
from ..network import AbstractPopulationNetwork, checked_counts, checked_input
from ..population import PopulationRun, SpikingPopulation, shared_rules
from ..relaxed import is_exact_count
from ..rules import SENDER, Rules, most_sent, rules_of_guard
from ..synapses.abstract import AbstractSynapses, arrivals
from ..synapses.linear import OneToOneSynapses
from .abstract import AbstractLayer
from .norm import SpikingNorm


#: From which population, and to which.
Skip: TypeAlias = tuple[int, int] | tuple[int, int, AbstractSynapses]


class Sequential(AbstractPopulationNetwork):
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

    layers: tuple[AbstractLayer, ...]
    source: SpikingPopulation
    skips: tuple[AbstractSynapses, ...]
    places: tuple[tuple[int, int], ...] = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    batch_first: bool = eqx.field(static=True)

    def __init__(
        self,
        layers: Sequence[AbstractLayer],
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
        for number, layer in enumerate(given, 1):
            if not isinstance(layer, AbstractLayer):
                raise TypeError(
                    f"Layer {number} is {kind_of(layer)}, not a layer of an exact system. "
                    "Give a `SpikingLayer` or another subclass of `AbstractLayer`."
                )
        rules = rules_of_guard((source,) if isinstance(source, str) else source)
        joined = [_skip(given, skip) for skip in skips]
        problems = [*_misfits(given, most_sent(rules)), *_skip_problems(given, joined)]
        if not batch_first:
            problems += [
                f"Layer {number} has `batch_first=True`. Give that to the `Sequential` too."
                for number, layer in enumerate(given, 1)
                if layer.is_batch_first
            ]
        if problems:
            raise ValueError("\n".join(problems))
        self.layers, self.source = given, shared_rules(1, rules, copies=given[0].in_size)
        self.skips = tuple(synapses for _, _, synapses in joined)
        self.places = tuple((start, end) for start, end, _ in joined)
        self.batch_first = batch_first
        self.steps = next(steps for layer in given if (steps := layer.max_steps) is not None)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Neurons of each population; of a `SumPool`, its windows."""
        return (self.source.size, *(layer.out_size for layer in self.layers))

    @property
    def only_counts(self) -> bool:
        """Whether the outputs have no rules."""
        population = self.layers[-1].population
        return population is not None and population.slots == 0

    @property
    def most_relayed(self) -> int | None:
        first = self.source.start
        return relayed(self.source.model, slice(first, first + self.source.channels))

    @property
    def is_smooth(self) -> bool:
        """Whether firing itself is a smooth function in a layer, so that nothing is exact."""
        return any(layer.is_smooth for layer in self.layers)

    def is_exact(
        self,
        counts: Float[Array, "inputs *paths"],
        *,
        input: Float[Array, "train inputs *paths"] | None = None,
    ) -> Bool[Array, ""]:
        """Whether the values of a run are those of the exact system: all counts are integers below
        2^24, and firing is not smooth. Partial sums that reach 2^24 and cancel are not looked at.

        **Arguments:**

        - `counts`, `input`: see `response`.

        **Returns:** a boolean for the batch, as `RelaxedSolution.is_exact`.

        **Raises:** `ValueError` for shapes that do not fit.
        """
        runs = self.runs(counts, input, keeps=range(len(self.sizes)))
        return _are_exact(runs) & (not self.is_smooth)

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
        runs = self.runs(counts, input)
        layers = tuple(
            layer.observed(runs[number].trains, momentum)
            for number, layer in enumerate(self.layers)
        )
        return eqx.tree_at(lambda own: own.layers, self, layers)

    def runs(
        self,
        counts: Float[Array | np.ndarray, "..."],
        input: Float[Array | np.ndarray, "..."] | None = None,
        *,
        keeps: Collection[int] = (),
    ) -> dict[int, PopulationRun]:
        counts = checked_counts(self, counts)
        arriving = checked_input(self, input, counts)
        if arriving is None:
            arriving = jnp.zeros((self.steps, *counts.shape))
        return _runs(self, counts, arriving, tuple(keeps))

    @property
    def norms(self) -> tuple[SpikingNorm, ...]:
        """The normalisations of the layers."""
        return tuple(norm for layer in self.layers for norm in layer.norms)


@eqx.filter_jit
def _runs(
    network: Sequential,
    counts: Float[Array, "inputs *paths"],
    arriving: Float[Array, "steps inputs *paths"],
    keeps: tuple[int, ...],
) -> dict[int, PopulationRun]:
    runs = {0: network.source.run(arriving, initial=counts, keeps=0 in keeps)}
    for number, layer in enumerate(network.layers, 1):
        more = None
        for (start, end), synapses in zip(network.places, network.skips, strict=True):
            if end == number:
                own = synapses.clipped() if layer.is_smooth else synapses.exact()
                got = arrivals(own, runs[start].trains, layer.is_smooth)
                more = got if more is None else more + got
        runs[number] = layer.run(runs[number - 1].trains, more, keeps=number in keeps)
    return runs


@eqx.filter_jit
def _are_exact(runs: dict[int, PopulationRun]) -> Bool[Array, ""]:
    return jnp.all(jnp.stack([jnp.all(is_exact_count(x)) for x in jax.tree.leaves(runs)]))


def chain(layers: Sequence[AbstractLayer], /, *, source: Rules = SENDER) -> Sequential:
    """Join layers into one network, with the batch where the layers have it: see `Sequential`.

    Its response to counts is that of the layers, called one after the other, to what the inputs
    send (`count_train`).

    **Arguments:**

    - `layers`: layers whose sizes match, with the same `steps` and `batch_first`. Pools have no
      `batch_first`, and suit both.
    - `source`: the rule or rules of the input neurons; by default one spike in each step.

    **Returns:** a `Sequential`.

    **Raises:** `ValueError` for layers that do not fit together.
    """
    firsts = {layer.is_batch_first for layer in layers if isinstance(layer, AbstractLayer)} - {None}
    if len(firsts) > 1:
        raise ValueError("The layers disagree on `batch_first`. Give all the same.")
    return Sequential(layers, source=source, batch_first=True in firsts)


def _misfits(layers: tuple[AbstractLayer, ...], sent: int) -> list[str]:
    """Why layers do not follow one another. `sent` is the most that an input sends in a step."""
    problems = []
    for number, layer in enumerate(layers, 1):
        before = layers[number - 2].out_size if number > 1 else layer.in_size
        if layer.in_size != before:
            problems.append(
                f"Layer {number} takes {layer.in_size} inputs, but layer {number - 1} has "
                f"{before} outputs."
            )
        if problem := layer.problem(sent):
            problems.append(f"Layer {number} is {kind_of(layer)}, but {problem}")
        sent = layer.most_sent(sent)
    steps = sorted({own for layer in layers if (own := layer.max_steps) is not None})
    if len(steps) != 1:
        problems.append(f"The layers have the `steps` {steps}. Give all the same.")
    smooth = {
        layer.is_smooth: number for number, layer in enumerate(layers, 1) if layer.has_neurons
    }
    if len(smooth) > 1:
        problems.append(
            f"Layer {smooth[True]} has `Smooth` as `surrogate`, but layer {smooth[False]} fires "
            "exactly. Give all layers `Smooth`, or none."
        )
    if not layers[-1].has_neurons:
        problems.append(
            f"The last layer is {kind_of(layers[-1])}, which has no neurons. Add a layer that has."
        )
    return problems


def _skip(layers: tuple[AbstractLayer, ...], skip: Skip) -> tuple[int, int, AbstractSynapses]:
    start, end = skip[:2]
    if not 0 <= start < end <= len(layers):
        raise ValueError(
            f"The skip {(start, end)} joins no population of 0 to {len(layers)} to a later one."
        )
    size = layers[end - 1].out_size
    return start, end, skip[2] if len(skip) == 3 else OneToOneSynapses(size)


def _skip_problems(
    layers: tuple[AbstractLayer, ...], skips: Sequence[tuple[int, int, AbstractSynapses]]
) -> list[str]:
    problems = []
    for start, end, synapses in skips:
        sizes = (
            layers[0].in_size if start == 0 else layers[start - 1].out_size,
            layers[end - 1].out_size,
        )
        if sizes != (synapses.in_size, synapses.out_size):
            problems.append(
                f"The skip {(start, end)} joins {sizes[0]} neurons to {sizes[1]}, but its synapses "
                f"join {synapses.in_size} to {synapses.out_size}. Give it other synapses."
            )
        if not layers[end - 1].takes_more:
            kind = type(layers[end - 1]).__name__
            problems.append(
                f"The skip {(start, end)} leads into a {kind}, which takes no other spikes. Choose "
                "another layer."
            )
    return problems
