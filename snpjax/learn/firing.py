"""Whether the populations of a model fire: measured in the runs of a loss."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import jax.tree_util as jtu
import numpy as np
from jaxtyping import Array, Float, Key, PyTree, Shaped

from .._text.counts import plural
from .._text.warn import warn
from .layers.spiking import AbstractSpikingLayer
from .network import SpikingNetwork
from .relaxed import AbstractSpikingModel, RelaxedSystem


# Of how many samples firing is measured, the share of runs in which a neuron is saturated, and the
# share of neurons that warrants a warning.
_ROWS, _NEARLY_ALL, _MANY = 1024, 0.95, 0.5


class FiringWarning(UserWarning):
    """Populations of a trained model that are dead or saturated, so that they pass on little."""


class PopulationFiring(NamedTuple):
    """How a population fired in runs of up to 1,024 samples of the training data.

    - `population`: which one, such as `population 1` of a network, with the place in the model.
    - `neurons`: how many it has.
    - `spikes`: the mean number that a neuron sends in a run.
    - `dead`: the fraction of neurons that sent nothing in any run.
    - `saturated`: the fraction of neurons that in at least 95 % of the runs fire in every step from
      the first one on in which they ever do.
    """

    population: str
    neurons: int
    spikes: float
    dead: float
    saturated: float


def firing_of(
    model: PyTree,
    loss: Callable[..., Float[Array, ""]],
    data: tuple[Shaped[Array, "samples ..."], ...],
    batch_size: int,
    key: Key[Array, ""],
) -> tuple[tuple[PopulationFiring, ...], bool]:
    """How each population with rules fires while the loss is computed; inputs are left out, and
    what no gradient of the loss reaches. And whether there are inputs, and none sends anything."""
    systems = [system for _, node in _nodes(model) if (system := _system_of(node)) is not None]
    if not systems or any(own.initial.ndim > 1 for own in systems):  # an ensemble has no names
        return (), False
    size = len(data[0])
    batch_size = min(batch_size, size)
    batches = max(min(_ROWS, size) // batch_size, 1)
    rows = np.linspace(0, size - 1, batches * batch_size).astype(int)  # also of sorted data
    columns = tuple(x[rows].reshape(batches, batch_size, *x.shape[1:]) for x in data)
    with_taps = jax.tree.map(_with_tap, model, is_leaf=_is_system)
    found = _counted(with_taps, loss, columns, jr.split(key, batches))
    return tuple(_statistics(found)), _is_without_input(found)


def warn_of_firing(firing: tuple[PopulationFiring, ...], has_no_input: bool) -> None:
    """Warn once of all populations most of which are dead or saturated."""
    problems = []
    if has_no_input and firing:
        text = "The inputs sent no spikes in any run: the counts are 0, or no rule accepts them."
        warn(FiringWarning(text))
        return
    for own in firing:
        if own.dead > _MANY:
            problems.append(
                f"{_share(own.dead, own)} of {own.population} never fire: lower the guard "
                "(`levels` of `classifier`), give larger initial weights (`scale`, or a wider "
                "`weight_range`), add an input that always sends spikes, or lower the learning "
                "rate."
            )
        if own.saturated > _MANY:
            problems.append(
                f"{_share(own.saturated, own)} of {own.population} fire in every step: raise the "
                "guard (`levels` of `classifier`), increase `steps`, or give smaller initial "
                "weights (`scale`, or a narrower `weight_range`)."
            )
    if problems:
        warn(FiringWarning("After training, " + " ".join(problems)))


def _share(fraction: float, own: PopulationFiring) -> str:
    return f"{round(fraction * own.neurons)} of {plural(own.neurons, 'neuron')}"


def _is_system(node: Any) -> bool:
    return isinstance(node, RelaxedSystem)


def _system_of(node: Any) -> RelaxedSystem | None:
    """The relaxed system in a node of `_nodes`."""
    if isinstance(node, AbstractSpikingLayer):
        return node.neurons.model
    if isinstance(node, AbstractSpikingModel):
        return node.model
    return node if isinstance(node, RelaxedSystem) else None


def _nodes(model: PyTree) -> list[tuple[Any, Any]]:
    """The relaxed systems and the layers and models of one, each with its path; other leaves
    too."""
    return jtu.tree_leaves_with_path(
        model,
        is_leaf=lambda node: isinstance(
            node, AbstractSpikingLayer | AbstractSpikingModel | RelaxedSystem
        ),
    )


def _with_tap(node: Any) -> Any:
    if not isinstance(node, RelaxedSystem):
        return node
    return replace(node, tap=jnp.zeros((3, len(node.initial))))


@eqx.filter_jit
def _counted(
    model: PyTree,
    loss: Callable[..., Float[Array, ""]],
    columns: tuple[Shaped[Array, "batches rows ..."], ...],
    keys: Key[Array, " batches"],
) -> PyTree:
    """The model whose taps hold what was counted in all batches; see `tapped`."""
    falses = jax.tree.map(lambda _: False, model)
    is_tap = jax.tree.map(
        lambda node: replace(node, tap=True) if _is_system(node) else node,
        falses,
        is_leaf=_is_system,
    )
    taps, rest = eqx.partition(model, is_tap)

    def of_batch(row: Any) -> PyTree:
        *batch, key = row
        return jax.grad(lambda own: loss(eqx.combine(own, rest), *batch, key))(taps)

    found = lax.map(of_batch, (*columns, keys))
    return eqx.combine(jax.tree.map(lambda x: jnp.sum(x, axis=0), found), rest)


def _is_source(path: Any) -> bool:
    """Whether a node is the inputs of a `Sequential`."""
    return bool(path) and getattr(path[-1], "name", "") == "source"


def _is_without_input(model: PyTree) -> bool:
    sent = []
    for path, node in _nodes(model):
        if isinstance(node, SpikingNetwork) and node.places[0].slots:
            sent.append(np.asarray(node.model.tap)[0, node.places[0].neurons])
        elif _is_source(path) and isinstance(node, AbstractSpikingModel):
            sent.append(np.asarray(node.model.tap)[0])
    return bool(sent) and not any(own.any() for own in sent)


def _statistics(model: PyTree) -> Iterator[PopulationFiring]:
    for path, node in _nodes(model):
        system = _system_of(node)
        if system is None or _is_source(path):
            continue
        of = f" of `{jtu.keystr(path)}`" if path else ""
        if isinstance(node, SpikingNetwork):
            parts = {
                f"population {p}{of}": np.arange(place.size) + place.start
                for p, place in enumerate(node.places)
                if p and place.slots
            }
        else:
            name = "the system" + of
            if isinstance(node, AbstractSpikingLayer):
                name = f"layer `{jtu.keystr(path)}`" if path else "the layer"
            parts = {name: np.flatnonzero(np.asarray(system.is_slot).any(axis=0))}
        spikes, runs, saturated = np.asarray(system.tap)
        for name, neurons in parts.items():
            own = neurons[runs[neurons] > 0]
            if len(own):
                yield PopulationFiring(
                    name,
                    len(own),
                    float(np.mean(spikes[own] / runs[own])),
                    float(np.mean(spikes[own] == 0)),
                    float(np.mean(saturated[own] >= _NEARLY_ALL * runs[own])),
                )
