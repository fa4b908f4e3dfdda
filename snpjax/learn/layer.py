"""Layers from trains to trains, and chains of them as networks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Key

from snpjax_formats import AbstractLayout, Sum

from ..spiking.model.rule import Rule
from .layers.abstract import AbstractPopulationLayer, LayerParts, group_of, with_more
from .network import Response, SpikingNetwork, check_train
from .population import NeuronRange, PopulationRun, SpikingPopulation, population_at
from .relaxed import AbstractSpikingModel, RelaxedSystem, constants_of
from .rules import SENDER, Rules, most_sent, rules_of_guard
from .surrogate import AbstractSurrogate
from .synapses import SynapseList, delivered


class SpikingLayer(AbstractSpikingModel, AbstractPopulationLayer):
    """A population behind trainable all-to-all weights, from trains to trains.

    What arrives in one step is read by the rules of the next. `chain` makes a network of layers,
    whose `model` is exported.

    - `model`: neurons `0{i}` for the inputs, without rules, and `1{i}` for the population.
    - `rules`: of each neuron, as they were given.
    - `batch_first`: whether the batch is the first axis of trains and of what is returned, instead
      of the last one.
    """

    model: RelaxedSystem
    place: NeuronRange = eqx.field(static=True)
    rules: tuple[Rule | str, ...] = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    batch_first: bool = eqx.field(static=True)

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
        layout: type[AbstractLayout] | Literal["auto"] = "auto",
        batch_first: bool = False,
    ):
        """**Arguments:**

        - `in_size`, `out_size`: the numbers of inputs and of neurons.
        - `key`: for the initial weights; it is consumed.
        - `steps`: the length of each run, and the largest length of a train.
        - `guard`: when a neuron fires. A number n stands for `a{n,}/a^n -> a`, and a regular
          expression for a rule that consumes the least count it accepts and sends one spike. Pass
          other rules as they are, and `()` for a layer that only counts.
        - `weight_range`, `scale`, `surrogate`, `layout`: see `SpikingNetwork`.
        - `batch_first`: put the batch first in trains, `(paths, train, inputs)`, and in what is
          returned, `(paths, steps, outputs)` and `(paths, outputs)`.

        **Raises:** `ValueError` for sizes below 1, or a guard that does not parse or accepts no
        count.
        """
        self.rules = rules_of_guard(guard)
        network = SpikingNetwork(
            (in_size, out_size),
            ((), self.rules),
            key=key,
            steps=steps,
            weight_range=weight_range,
            scale=scale,
            surrogate=surrogate,
            layout=layout,
        )
        self.batch_first = batch_first
        self.model, self.place, self.steps = network.model, network.places[1], steps

    def __call__(self, train: Float[Array | np.ndarray, "..."]) -> Float[Array, "..."]:
        """What leaves the neurons in each step."""
        return self.response(train)[0]

    def response(self, train: Float[Array | np.ndarray, "..."]) -> Response:
        """Run the layer and return its emissions and its final spikes.

        **Arguments:**

        - `train`: `(train, inputs)` or `(train, inputs, paths)` spikes from the inputs in each
          step, at most `steps` of them; `(paths, train, inputs)` with `batch_first`.

        **Returns:** a `Response` of `steps` steps.

        **Raises:** `ValueError` for a train that is too long or has another number of inputs.
        """
        train = jnp.asarray(train, jnp.float32)
        check_train(train, self.steps, self.in_size, self.batch_first)
        is_moved = self.batch_first and train.ndim == 3
        own = jnp.moveaxis(train, 0, -1) if is_moved else train
        sent, left, _ = _run(self, own)
        if is_moved:
            return Response(jnp.moveaxis(sent, -1, 0), jnp.moveaxis(left, -1, 0))
        return Response(sent, left)

    @property
    def in_size(self) -> int:
        """The number of inputs."""
        return self.place.start

    @property
    def population(self) -> SpikingPopulation:
        """The neurons, without the inputs."""
        return population_at(self.model, self.place, most_sent(self.rules))

    def run(
        self,
        train: Float[Array, "steps inputs *paths"],
        more: Float[Array, "steps outputs *paths"] | None = None,
        *,
        keeps: bool = False,
    ) -> PopulationRun:
        constants = constants_of(self.model)
        assert isinstance(constants.synapses, Sum)
        (part,) = constants.synapses.parts
        missing = (0, self.steps - len(train)), *((0, 0),) * (train.ndim - 1)
        arriving = with_more(jnp.pad(delivered(part, train), missing), more)
        initial = constants.initial[self.place.neurons].reshape(-1, *(1,) * (train.ndim - 2))
        initial = jnp.broadcast_to(initial, arriving.shape[1:])
        return self.population.run_from(constants, initial, arriving, self.steps, keeps=keeps)

    def parts(self) -> LayerParts:
        edges = constants_of(self.model).synapses.edges()
        weight = np.ones(len(edges)) if edges.value is None else np.asarray(edges.value)
        target = edges.target - self.place.start
        synapses = SynapseList(edges.source, target, weight.astype(int), np.zeros_like(target))
        return LayerParts(group_of(self.population), synapses)

    def problem(self, received: int) -> str | None:
        del received
        if self.batch_first:
            return "it has `batch_first=True`. Give that to the `Sequential` instead."
        return None

    def roundings(self) -> Iterator[tuple[str, Float[Array | np.ndarray, "..."]]]:
        yield from ()  # the weights are those of `model`

    @property
    def norms(self) -> tuple[()]:
        """None."""
        return ()

    def observed(
        self, train: Float[Array, "steps inputs *paths"], momentum: float
    ) -> "SpikingLayer":
        del train, momentum
        return self


@eqx.filter_jit
def _run(layer: SpikingLayer, train: Float[Array, "steps inputs *paths"]) -> PopulationRun:
    return layer.run(train)


def chain(layers: Sequence[SpikingLayer], /, *, source: Rules = SENDER) -> SpikingNetwork:
    """Join layers into one network, behind a population of inputs.

    The input population holds the counts and sends them by the rules of `source`. The parameters of
    the network are those of the layers. Its response to counts is that of the layers, called one
    after the other, to what the inputs send (`count_train`).

    **Arguments:**

    - `layers`: layers whose sizes match, with the same `steps`, `weight_range`, `surrogate` and
      `batch_first`, and the same levels of `quantise`.
    - `source`: the rule or rules of the input neurons; by default one spike in each step.

    **Returns:** a `SpikingNetwork`.

    **Raises:** `ValueError` for layers that do not fit together.
    """
    others = [type(layer).__name__ for layer in layers if not isinstance(layer, SpikingLayer)]
    if others:
        raise ValueError(f"`chain` joins no {others[0]}. Use `Sequential`, which joins all layers.")
    sizes = [layer.place.size for layer in layers]
    given = [layer.place.start for layer in layers]
    problems = [
        f"Layer {i + 1} takes {given[i + 1]} inputs, but layer {i} has {sizes[i]} neurons."
        for i in range(len(layers) - 1)
        if given[i + 1] != sizes[i]
    ]
    models = [layer.model for layer in layers]
    alike = {
        "`steps`": [layer.steps for layer in layers],
        "`weight_range`": [model.weight_range for model in models],
        "`weight_levels`": [model.weight_levels for model in models],
        "`surrogate`": [model.surrogate for model in models],
        "`batch_first`": [layer.batch_first for layer in layers],
    }
    problems += [
        f"The layers have several {name}. Give all the same."
        for name, given in alike.items()
        if any(x != given[0] for x in given)
    ]
    if problems or not layers:
        raise ValueError("\n".join(problems) or "There are no layers.")
    first = layers[0].model
    network = SpikingNetwork(
        (given[0], *sizes),
        (source, *(layer.rules for layer in layers)),
        key=jr.key(0),  # all weights are replaced
        steps=layers[0].steps,
        weight_range=first.weight_range,
        scale=0,
        surrogate=first.surrogate,
        batch_first=layers[0].batch_first,
    )
    model = network.model
    tables = {name: getattr(model, name) for name in ("low", "high", "consume", "produce")}
    initial = model.initial
    for layer, place in zip(layers, network.places[1:], strict=True):
        own, at = layer.place, (slice(place.slots), place.neurons)
        for name, table in tables.items():
            own_table = getattr(layer.model, name)[: own.slots, own.neurons]
            tables[name] = table.at[at].set(own_table)
        initial = initial.at[place.neurons].set(layer.model.initial[own.neurons])
    synapses, is_synapse = (
        eqx.tree_at(
            lambda whole: whole.parts,
            getattr(model, name),
            tuple(getattr(layer.model, name).parts[0] for layer in layers),
        )
        for name in ("synapses", "is_synapse")
    )
    model = replace(model, **tables, initial=initial, synapses=synapses, is_synapse=is_synapse)
    model = replace(model, weight_levels=first.weight_levels)
    return eqx.tree_at(lambda network: network.model, network, model)
