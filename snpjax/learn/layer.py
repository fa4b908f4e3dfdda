"""Layers from trains to trains, and chains of them as networks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Key

from snpjax_formats import AbstractLayout, Sum

from ..spiking.model.guard import Guard
from ..spiking.model.rule import Rule
from .forward import NeuronRange, population_run
from .network import SENDER, Rules, SpikingNetwork, batch_hint
from .relaxed import AbstractSpikingModel, RelaxedSystem, constants_of, nameless
from .surrogate import AbstractSurrogate


class SpikingLayer(AbstractSpikingModel):
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

    def response(
        self, train: Float[Array | np.ndarray, "..."]
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Run the layer and return its emissions and its final spikes.

        **Arguments:**

        - `train`: `(train, inputs)` or `(train, inputs, paths)` spikes from the inputs in each
          step, at most `steps` of them; `(paths, train, inputs)` with `batch_first`.

        **Returns:** `(steps, outputs, *paths)` spikes that leave the neurons in each step, and
        `(outputs, *paths)` spikes that remain in them.

        **Raises:** `ValueError` for a train that is too long or has another number of inputs.
        """
        inputs, train = self.place.start, jnp.asarray(train, jnp.float32)
        is_moved = self.batch_first and train.ndim == 3
        own = jnp.moveaxis(train, 0, -1) if is_moved else train
        if not 2 <= own.ndim <= 3 or len(own) > self.steps or own.shape[1] != inputs:
            where = "first" if self.batch_first else "third"
            raise ValueError(
                f"`train` has the shape {train.shape}. Give up to {self.steps} steps of {inputs} "
                f"neurons, and `paths` as a {where} axis if there are several."
                + (batch_hint(train, inputs, self.batch_first) if train.ndim == 3 else "")
            )
        sent, left = _response(nameless(self.model), self.place, own, self.steps)
        if is_moved:
            return jnp.moveaxis(sent, -1, 0), jnp.moveaxis(left, -1, 0)
        return sent, left


@eqx.filter_jit
def _response(
    model: RelaxedSystem, place: NeuronRange, train: Float[Array, "train inputs *paths"], steps: int
) -> tuple[Float[Array, "steps outputs *paths"], Float[Array, "outputs *paths"]]:
    constants = constants_of(model)
    assert isinstance(constants.synapses, Sum)
    (part,) = constants.synapses.parts
    sent = jnp.moveaxis(train, 0, -1)
    arriving = jnp.moveaxis(part.deliver(sent, accumulate=jnp.float32), -1, 0)
    missing = (0, steps - len(train)), *((0, 0),) * (train.ndim - 1)
    initial = constants.initial[place.neurons].reshape(-1, *(1,) * (train.ndim - 2))
    initial = jnp.broadcast_to(initial, arriving.shape[1:])
    return population_run(model, constants, place, initial, jnp.pad(arriving, missing), steps)


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


def rules_of_guard(guard: int | Rules) -> tuple[Rule | str, ...]:
    """The rules that a guard of a layer stands for."""
    if isinstance(guard, int):
        if guard < 1:
            raise ValueError(f"`guard` is {guard}. Give the least number of spikes that fires.")
        return (Rule((guard, None), guard, 1),)
    if isinstance(guard, str) and "->" not in guard:
        expression = Guard(guard)
        least = (expression & Guard.interval(1)).minimum
        if least is None:
            raise ValueError(f"`guard` {guard!r} accepts no spikes. Give one that does.")
        return (Rule(expression, least, 1),)
    return (guard,) if isinstance(guard, str | Rule) else tuple(guard)
