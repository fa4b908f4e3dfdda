"""What every population did in a run."""

from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .forward import forward, order_of
from .network import Response, SpikingNetwork
from .relaxed import nameless
from .run import run


class Recording(eqx.Module):
    """What the populations of a network did in one run.

    - `response`: what the output population did, as from `SpikingNetwork.response`.
    - `emissions`: by population, the spikes that left each neuron in each step.
    - `spikes`: by population, the spikes in each neuron after each step, beginning with the initial
      ones. The paths are the last axis of both, also where the network has its batch first.
    """

    response: Response
    emissions: dict[int | str, Float[Array, "steps neurons *paths"]]
    spikes: dict[int | str, Float[Array, "steps_and_one neurons *paths"]]


def record(
    network: SpikingNetwork,
    counts: Float[Array, "inputs *paths"],
    populations: Sequence[int | str] | None = None,
) -> Recording:
    """Run a network as its `response` does, and keep what populations did in every step.

    There is no second run: the response and all that is recorded have the same values and gradients
    as without a record, and may be used in one loss, for example with `rate_penalty`. What is kept
    of a population takes 4 * (2 * steps + 1) * neurons * paths bytes; populations that are not
    recorded take nothing more than in `response`.

    **Arguments:**

    - `network`: the network.
    - `counts`: `(inputs, *paths)` initial spikes of the input population, or `(*paths, inputs)`
      where the network has `batch_first`.
    - `populations`: the populations to record, by index (`-1` is the last one) or by name (`"1"`
      for the neurons `1{0}`, `1{1}`, ...); by default all, by index.

    **Returns:** a `Recording`, whose keys are those of `populations`.

    **Raises:** `ValueError` for populations that the network does not have, and for indices mixed
    with names.
    """
    size = len(network.places)
    asked = tuple(range(size)) if populations is None else tuple(populations)
    known = [*range(-size, size), *map(str, range(size))]
    unknown = [p for p in asked if p not in known]
    if unknown or len({isinstance(p, str) for p in asked}) > 1:
        raise ValueError(
            f"`populations` is {asked}. Pass indices from 0 to {size - 1}, or their names as "
            "strings, but not both."
        )
    places = {p: int(p) % size for p in asked}
    order = order_of(size, network.projections)
    spikes, steps = network.initial_spikes(counts), network.steps
    if order is not None:
        given = nameless(network.model), network.places, network.projections, order, spikes, steps
        runs = forward(*given, tuple(sorted(set(places.values()))))
        response = Response(*runs[size - 1][:2])
        emissions = {p: own.trains for p, own in runs.items()}
        kept = {p: own.counts for p, own in runs.items() if own.counts is not None}
    else:
        model, last = network.model, network.places[-1].neurons
        num = len(model.names)
        program = replace(model.program, outputs=jnp.arange(num))
        model = replace(model, program=program, num_outputs=num)
        solution = run(model, steps=steps, spikes=spikes, keep_configurations=True)
        assert solution.configurations is not None
        response = Response(solution.outputs[:, last], solution.spikes[last])
        own = {p: network.places[p].neurons for p in places.values()}
        emissions = {p: solution.outputs[:, neurons] for p, neurons in own.items()}
        kept = {p: solution.configurations[:, neurons] for p, neurons in own.items()}
    if network.batch_first and counts.ndim == 2:
        response = Response(*(jnp.moveaxis(x, -1, 0) for x in response))
    return Recording(
        response,
        {name: emissions[p] for name, p in places.items()},
        {name: kept[p] for name, p in places.items()},
    )
