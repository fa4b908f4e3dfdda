"""What every population did in a run."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .layers.abstract import AbstractLayer
from .layers.sequential import Sequential
from .network import AbstractPopulationNetwork
from .population import PopulationRun
from .response import Response, check_train


class Recording(eqx.Module):
    """What the populations of a model did in one run.

    - `response`: what the output population did, as from `response` of the model.
    - `emissions`: by population, the spikes that left each neuron in each step.
    - `spikes`: by population, the spikes in each neuron after each step, beginning with the initial
      ones. The paths are the last axis of both, also where the model has its batch first.
    """

    response: Response
    emissions: dict[int | str, Float[Array, "steps neurons *paths"]]
    spikes: dict[int | str, Float[Array, "steps_and_one neurons *paths"]]


def record(
    network: AbstractPopulationNetwork | AbstractLayer,
    counts: Float[Array, "inputs *paths"] | Float[Array, "train inputs *paths"],
    populations: Sequence[int | str] | None = None,
) -> Recording:
    """Run a model as its `response` does, and keep what populations did in every step.

    There is no second run: the response and all that is recorded have the same values and gradients
    as without a record, and may be used in one loss, for example with `rate_penalty`. What is kept
    of a population takes 4 * (2 * steps + 1) * neurons * paths bytes; populations that are not
    recorded take nothing more than in `response`.

    **Arguments:**

    - `network`: a network; or a layer, whose neurons are population 0.
    - `counts`: `(inputs, *paths)` initial spikes of the input population, or `(*paths, inputs)`
      where the network has `batch_first`; for a layer the train that it is called with.
    - `populations`: the populations to record, by index (`-1` is the last one) or by name (`"1"`
      for the neurons `1{0}`, `1{1}`, ...); by default all, by index. Those of a `Sequential` are
      the inputs and its layers; a `SumPool` has sums of windows for neurons, before the first step
      and after each.

    **Returns:** a `Recording`, whose keys are those of `populations`.

    **Raises:** `ValueError` for populations that the model does not have, for indices mixed with
    names, and for a layer of your own that ignores `keeps`.
    """
    size = 1 if isinstance(network, AbstractLayer) else len(network.sizes)
    asked = tuple(range(size)) if populations is None else tuple(populations)
    known = [*range(-size, size), *map(str, range(size))]
    unknown = [p for p in asked if p not in known]
    if unknown or len({isinstance(p, str) for p in asked}) > 1:
        raise ValueError(
            f"`populations` is {asked}. Pass indices from 0 to {size - 1}, or their names as "
            "strings, but not both."
        )
    places = {p: int(p) % size for p in asked}
    if isinstance(network, AbstractLayer):
        response, found = _of_layer(network, counts)
        runs = {0: found}
    else:
        runs = network.runs(counts, keeps=sorted({*places.values()}))
        response = network.response_of(runs)
    kept = {}
    for name, p in places.items():
        spikes = runs[p].counts
        if spikes is None:
            kind = type(network.layers[p - 1] if isinstance(network, Sequential) else network)
            raise ValueError(
                f"Population {name} has no `counts`: `run` of {kind.__name__} ignores `keeps`. "
                "Return the spikes of all steps when it is true."
            )
        kept[name] = spikes
    return Recording(response, {name: runs[p].trains for name, p in places.items()}, kept)


def _of_layer(
    layer: AbstractLayer, train: Float[Array, "train inputs *paths"]
) -> tuple[Response, PopulationRun]:
    train = jnp.asarray(train, jnp.float32)
    is_first = bool(layer.is_batch_first)
    check_train(train, layer.max_steps or len(train), layer.in_size, is_first)
    is_moved = is_first and train.ndim == 3
    found = layer.run(jnp.moveaxis(train, 0, -1) if is_moved else train, keeps=True)
    response = Response(*found[:2])
    return response.paths_first() if is_moved else response, found
