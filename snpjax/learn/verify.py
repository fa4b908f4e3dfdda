"""Whether the exact system of a model does what the model computes."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Array, Int, Integer

from .._text.progress import ProgressLike, progress_of
from ..spiking.model.system import SpikingSystem
from .arguments import whole_counts
from .export import to_system
from .fit import Fitted
from .layers.abstract import AbstractLayer
from .layers.assemble import initial_configuration
from .layers.sequential import Sequential, chain
from .network import AbstractPopulationNetwork, SpikingNetwork, checked_counts, checked_input
from .population import PopulationRun
from .replay import Replay, replay


def verify(
    model: SpikingNetwork | Sequential | AbstractLayer | Fitted,
    counts: Integer[Array | np.ndarray, "inputs *paths"],
    /,
    *,
    input: Integer[Array | np.ndarray, "train inputs *paths"] | None = None,
    progress: ProgressLike = True,
) -> Replay:
    """Run the exact system of a model, and compare every step of every population with the model.

    They are equal for all layers of snpjax. The comparison finds the mistakes in a layer of your
    own, whose `run` and `parts` have to describe the same neurons and synapses.

    **Arguments:**

    - `model`: a network, a layer, which gets inputs that send spikes one by one, or what `fit`
      returned, of which the best model counts. Parameters are rounded, as in runs.
    - `counts`: `(inputs, *paths)` initial spikes of the inputs, integers; `(paths, inputs)` with
      `batch_first`.
    - `input`: as in `response`.
    - `progress`: called about twice a second with the number of steps that the exact system has
      made, and of all. By default a line shows them where standard error is a terminal; `False`
      shows nothing.

    **Returns:** a `Replay` of the exact system, `to_system(model, round=True)`, with an axis of
    paths.

    **Raises:** `AssertionError` with the first difference, and the layer to look at; otherwise as
    `to_system` does. `TypeError` for a model of another kind.
    """
    model = model.best if isinstance(model, Fitted) else model
    network = chain((model,)) if isinstance(model, AbstractLayer) else model
    if not isinstance(network, SpikingNetwork | Sequential):
        raise TypeError(
            f"`model` is of the type {type(network).__name__}. Give a network or a layer."
        )
    system = to_system(network, round=True)
    own = checked_counts(network, counts)
    given = checked_input(network, input, own)
    trains = None if given is None else whole_counts(given, "input").reshape(*given.shape[:2], -1)
    start = initial_configuration(system, np.asarray(own).reshape(len(own), -1))
    all_sent = system.replace(output=[neuron.name for neuron in system.neurons])
    num_steps = network.steps
    with progress_of(progress, "step", num_steps) as report:
        exact = replay(
            all_sent,
            start,
            steps=num_steps,
            input=trains,
            progress=lambda steps, done: report(steps, num_steps),
        )
        runs = network.runs(counts, input, keeps=range(len(network.sizes)))
        problem = _first_difference(network, system, exact, runs)
    if problem:
        raise AssertionError(problem)
    outputs = [system.names[name] for name in system.output]
    return exact._replace(trains=exact.trains[:, outputs])


def _first_difference(
    network: AbstractPopulationNetwork,
    system: SpikingSystem,
    exact: Replay,
    runs: Mapping[int, PopulationRun],
) -> str | None:
    """The first step in which a neuron sends something else, or else the first one that keeps
    something else; populations in their order."""
    found: list[tuple[int, int, str]] = []
    for number, size in enumerate(network.sizes):
        names = [f"{number}{{{i}}}" for i in range(size)]
        if names[0] not in system.names:  # sums, which are no neurons
            continue
        at = [system.names[name] for name in names]
        sent = np.asarray(runs[number].trains).reshape(network.steps, size, -1)
        kept = np.asarray(runs[number].left).reshape(1, size, -1)
        for verb, step, wanted, other in (
            ("sends", 1, exact.trains[:, at], sent),
            ("keeps", network.steps, exact.spikes[None, at], kept),
        ):
            if text := _difference(names, step, verb, wanted, other):
                when = int(np.argwhere(wanted != other)[0][0]) + step
                found.append((when, number, text))
    if not found:
        return None
    _, number, text = min(found)
    where = "the inputs"
    if isinstance(network, Sequential) and number:
        kind = type(network.layers[number - 1]).__name__
        where = f"layer {number}, a {kind}, or in one without neurons before it"
    return f"{text} Compare `run` and `parts` in {where}." if number else text


def _difference(
    names: list[str],
    first_step: int,
    verb: str,
    exact: Int[np.ndarray, "steps neurons paths"],
    other: Int[np.ndarray, "steps neurons paths"],
) -> str | None:
    places = np.argwhere(exact != other)
    if not len(places):
        return None
    step, neuron, path = places[0].tolist()
    return (
        f"In step {step + first_step} of path {path}, counted from 0, neuron {names[neuron]!r} "
        f"{verb} {exact[step, neuron, path]} spikes in the exact system, and "
        f"{other[step, neuron, path]:g} in the model."
    )
