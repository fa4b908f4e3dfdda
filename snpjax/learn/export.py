"""A trained model as an exact system."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from snpjax_formats import AbstractLayout

from ..spiking.model.system import Neuron, SpikingSystem
from ..spiking.step.plasticity import PlasticSynapses
from .exact_rules import rules_of_neurons
from .fit import Fitted
from .layers.abstract import AbstractLayer
from .layers.assemble import assembled
from .layers.sequential import Sequential, chain
from .plastic import changes_by_rounding, plastic_edges
from .relaxed import AbstractSpikingModel, RelaxedSystem, constants_of
from .weights import WeightSet


class Rounding(NamedTuple):
    """The largest change that rounding makes.

    - `change`: the distance of a parameter from the nearest integer.
    - `where`: which parameter that is, such as `'low' of neuron 'x'`.
    """

    change: float
    where: str


#: What has one exact system.
Exportable: TypeAlias = RelaxedSystem | AbstractSpikingModel | AbstractLayer | Sequential | Fitted


def _exported(model: Exportable) -> RelaxedSystem | Sequential:
    """The relaxed system or the network of a model, or an error that names the fix."""
    if isinstance(model, Fitted):
        model = model.best
    if isinstance(model, AbstractSpikingModel):
        model = model.model
    if isinstance(model, AbstractLayer):
        model = chain((model,))
    if not isinstance(model, RelaxedSystem | Sequential):
        fix = "Pass a relaxed system, a layer, a network, or what `fit` returned for one."
        if isinstance(model, list | tuple):
            fix = "Join layers first: `learn.Sequential(layers)`."
        elif isinstance(getattr(model, "model", None), RelaxedSystem):  # a network of NIR
            fix = "Pass its `model`."
        elif callable(getattr(model, "module", None)):  # of Flax
            fix = "Pass what its `module()` returns."
        kind = type(model).__name__
        raise ValueError(f"An object of the type {kind} has no exact system of its own. {fix}")
    systems = [model] if isinstance(model, RelaxedSystem) else [model.source.model]
    if isinstance(model, Sequential):
        systems += [own.model for layer in model.layers if (own := layer.population) is not None]
    for system in systems:
        if system.initial.ndim > 1:
            raise ValueError(
                f"The tables of the model have an axis of {len(system.initial)} models. Select "
                "one: `jax.tree.map(lambda x: x[0] if eqx.is_array(x) else x, model)`."
            )
    return model


def rounding(model: Exportable) -> Rounding:
    """Measure how far the parameters of a model are from integers.

    **Arguments:**

    - `model`: a relaxed system, a layer, a network, or what `fit` returned, of which the best model
      counts.

    **Returns:** the largest distance of a parameter from an integer, and the name of this
    parameter.
    """
    found = (change for change in _roundings(_exported(model)) if change.change)
    return max(found, key=lambda change: change.change, default=Rounding(0.0, "nothing"))


def _roundings(model: RelaxedSystem | Sequential) -> Iterator[Rounding]:
    """The largest change of each table of parameters."""
    if isinstance(model, Sequential):
        parts = [("the inputs", model.source, ())]
        parts += [
            (f"layer {number}", layer.population, layer.roundings())
            for number, layer in enumerate(model.layers, 1)
        ]
        for which, population, changes in parts:
            if population is not None:
                for change in _roundings(population.model):
                    yield change._replace(where=f"{change.where} of {which}")
            for name, table in changes:
                yield _of_table(table, name, which)
        for place, synapses in zip(model.places, model.skips, strict=True):
            yield _of_table(synapses.changes(), "the weight", f"the skip {place}")
        return
    for name in ("low", "high", "consume", "produce", "initial"):
        table = np.asarray(getattr(model, name))
        own = np.asarray(model.is_slot) if table.ndim == 2 else np.ones(table.shape, bool)
        if name == "high":
            own = own & ~np.asarray(model.is_unbounded)
        change = np.where(own, np.abs(np.where(own, table, 0) - np.round(table)), 0)
        at = np.unravel_index(int(change.argmax()), change.shape) if change.size else (0,)
        if change.size:
            yield Rounding(_largest(change), f"{name!r} of neuron {model.names[int(at[-1])]!r}")
    edges = _weight_changes(model).edges()
    if edges.value is not None and len(edges):
        at = int(np.abs(edges.value).argmax())
        source, target = model.names[int(edges.source[at])], model.names[int(edges.target[at])]
        place = f"the weight of the synapse ({source}, {target})"
        yield Rounding(_largest(edges.value), place)
    if model.plastic is not None:
        network = model.program.network
        assert isinstance(network, PlasticSynapses)
        for one in changes_by_rounding(model.plastic, network, model.names):
            yield Rounding(*one)


def _of_table(changes: Float[Array | np.ndarray, "..."], name: str, which: str) -> Rounding:
    """The largest change of a table, with its index."""
    change = np.abs(np.asarray(changes))
    index = np.unravel_index(int(change.argmax()), change.shape) if change.size else ()
    place = f" ({', '.join(map(str, index))})" if index else ""
    return Rounding(_largest(change), f"{name}{place} of {which}")


def _largest(changes: Float[Array | np.ndarray, "..."]) -> float:
    return float(np.abs(changes).max(initial=0))


def _weight_changes(model: RelaxedSystem) -> AbstractLayout:
    """What rounding adds to each weight, to the nearest integer or level."""
    weights, rest = eqx.partition(model.synapses, eqx.is_inexact_array)
    allowed = WeightSet(model.weight_range, model.weight_levels)

    def change(x: Array, is_one: Array) -> Array:
        return jnp.where(is_one, allowed.nearest(x) - x, 0)

    return eqx.combine(jax.tree.map(change, weights, model.is_synapse), rest)


def to_system(model: Exportable, *, round: bool = False) -> SpikingSystem:
    """Export the exact system that a model computes, to be written to a file, explored and checked.

    The system has the same runs on every device. It has the names of neurons, the input trains and
    the outputs of the system that was relaxed, but not its name and notes. Synapses whose weight
    has become 0 are omitted, as are rules that apply to no count. Of equal rules of a neuron only
    the first is kept, which only random choices notice.

    **Arguments:**

    - `model`: a relaxed system, a layer, a network, or what `fit` returned, of which the best model
      is exported. A layer has inputs that send spikes one by one; join layers that were trained
      together by `Sequential` first.
    - `round`: round parameters that are not integers, as the model itself does when it runs;
      `rounding(model)` measures by how much. By default such a model is refused.

    **Returns:** a `SpikingSystem`.

    **Raises:** `ValueError` for a parameter that is not an integer unless `round` is true, for a
    model with `Smooth`, which computes something else, for numbers that are not finite, and for
    what is no single model: several layers, or an ensemble.
    """
    model = _exported(model)
    if model.is_smooth:
        raise ValueError(
            "A model with `Smooth` is not an exact system. Replace its `surrogate` by another one."
        )
    tables = model
    if isinstance(model, RelaxedSystem):
        tables = (model.low, model.high, model.consume, model.produce, model.initial)
        tables = (*tables, model.synapses, model.plastic)
    for leaf in jax.tree.leaves(eqx.filter(tables, eqx.is_inexact_array)):
        if not np.isfinite(leaf).all():
            raise ValueError(
                "A parameter is NaN or infinite. Train again with a smaller learning rate."
            )
    change = rounding(model)
    if not round and change.change:
        raise ValueError(
            f"Rounding changes {change.where} by up to {change.change:.3g}. Give `round=True` to "
            "export the rounded model, which is what runs compute."
        )
    if isinstance(model, Sequential):
        return assembled(model)
    constants = constants_of(model)
    program = model.program
    initial = np.asarray(constants.initial).astype(int).tolist()
    neurons = [
        Neuron(name, initial[index], rules)
        for index, (name, rules) in enumerate(
            zip(model.names, rules_of_neurons(model, constants), strict=True)
        )
    ]
    edges = constants.synapses.edges()
    value = np.ones(len(edges)) if edges.value is None else np.asarray(edges.value)
    names, num = model.names, len(model.names)
    triples = zip(edges.source.tolist(), edges.target.tolist(), value.tolist(), strict=True)
    inputs, trains = np.asarray(program.inputs), np.asarray(program.trains)[: program.horizon]
    outputs = np.asarray(program.outputs)[: model.num_outputs]
    synapses = [(names[s], names[t], int(w)) for s, t, w in triples if w]
    if constants.plastic is not None:
        exact = constants.program.network
        assert isinstance(exact, PlasticSynapses)
        synapses += plastic_edges(constants.plastic, exact, names)
    return SpikingSystem(
        neurons,
        synapses,
        input={names[at]: trains[:, k].tolist() for k, at in enumerate(inputs) if at < num},
        output=[names[at] for at in outputs],
        signed=model.signed,
    )
