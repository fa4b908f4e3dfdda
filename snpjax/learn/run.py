"""A run of known length with gradients."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .._text.nearest import nearest
from ..choice import AbstractChoice, FirstChoice
from .plastic import RelaxedSynapses
from .relaxed import (
    MAX_COUNT,
    Constants,
    RelaxedSystem,
    constants_of,
    is_exact_count,
    nameless,
)
from .step import RelaxedState, initial_state, step
from .surrogate import Smooth, tapped


class RelaxedSolution(eqx.Module):
    """A run of a relaxed system.

    - `outputs`: spikes that left the output neurons, in their order.
    - `spikes`: the final configuration; `timers`: how long its neurons stay closed.
    - `configurations`: the spikes after every step, beginning with the initial ones; `None` unless
      asked for.
    - `steps`: steps that were made until it halted.
    - `log_probability`: of all choices of the run, where a `WeightedChoice` drew them; else 0.
    - `is_exact`: whether all counts were integers below 2^24, so that the values are those of the
      exact system; never with `Smooth`, and not with `spikes` or `input` that are not integers.
    - `plastic`: the final synapses that plasticity may change, if there are any.
    """

    outputs: Float[Array, "steps outputs *paths"]
    spikes: Float[Array, "neurons *paths"]
    timers: Int[Array, "neurons *paths"]
    configurations: Float[Array, "steps_and_one neurons *paths"] | None
    steps: Int[Array, "*paths"]
    log_probability: Float[Array, "*paths"]
    is_exact: Bool[Array, ""]
    plastic: RelaxedSynapses | None = None


def run(
    model: RelaxedSystem,
    /,
    *,
    steps: int,
    spikes: Float[Array, "neurons *paths"] | None = None,
    input: Mapping[str, Float[Array, "train *paths"]]
    | Float[Array, "train neurons *paths"]
    | None = None,
    choice: AbstractChoice | None = None,
    paths: int | None = None,
    checkpoint: bool = True,
    keep_configurations: bool = False,
) -> RelaxedSolution:
    """Run a relaxed system; composes with `jit`, `grad`, `vmap` and `scan`.

    **Arguments:**

    - `model`: a relaxed model.
    - `steps`: the number of steps; a system that halts earlier stays as it is.
    - `spikes`: initial spikes instead of the model's; a second axis makes them a batch.
    - `input`: trains by input neuron instead of the system's own, of up to `steps` entries; entry t
      arrives at the end of step t + 1. A second axis is that of the batch. Or one array with the
      trains of all neurons, `(train, neurons)` or `(train, neurons, paths)`.
    - `choice`: as in `snpjax.run`; path p of a batch uses `choice.for_path(p)`.
    - `paths`: the number of paths, where neither `spikes` nor `input` has an axis of paths.
    - `checkpoint`: keep only the states of about sqrt(steps) steps, and recompute the others for
      the gradient; otherwise all intermediate results are kept.
    - `keep_configurations`: also return the spikes after every step.

    **Returns:** a `RelaxedSolution`.

    **Raises:** `ValueError` for neurons or shapes that do not fit the system.
    """
    choice = choice or FirstChoice()
    if isinstance(model.surrogate, Smooth) and not isinstance(choice, FirstChoice):
        raise ValueError("`Smooth` has no random choices. Leave `choice` out.")
    if choice.may_be_invalid:
        raise ValueError(
            "Given choices do not fit a system whose rules are learned. Give `FirstChoice()` or a "
            "random choice."
        )
    _check_smooth(model)
    arriving = None if input is None else arriving_in(model, steps, input)
    initial = None if spikes is None else jnp.asarray(spikes, jnp.float32)
    # `_run` reads how many neurons have names, and how many of them are outputs.
    model = replace(model, names=("",) * len(model.names))
    return _run(model, steps, initial, arriving, choice, paths, checkpoint, keep_configurations)


@eqx.filter_jit
def _run(
    model: RelaxedSystem,
    steps: int,
    spikes: Float[Array, "neurons *paths"] | None,
    arriving: tuple[Array, tuple[int, ...]] | None,
    choice: AbstractChoice,
    paths: int | None,
    checkpoint: bool,
    keeps: bool,
) -> RelaxedSolution:
    """As `run`, compiled in one piece for all models of the same shapes."""
    constants, given, trains = _begun(model, steps, spikes, arriving, paths)
    is_exact = jnp.all(is_exact_count(given))
    if trains is not None:
        is_exact = is_exact & jnp.all(is_exact_count(trains))
    choice = choice.for_path(jnp.arange(given.shape[1]) if given.ndim == 2 else 0)
    num = len(model.names)
    initial = initial_state(given, constants)
    final, (outputs, chances, counts) = scanned(
        nameless(model), constants, choice, initial, trains, steps, checkpoint, keeps
    )
    if counts is not None:
        counts = jnp.concatenate([initial.spikes[None], counts])[:, :num]
    return RelaxedSolution(
        outputs=outputs[:, : model.num_outputs],
        spikes=final.spikes[:num],
        timers=final.timers[:num],
        configurations=counts,
        steps=final.step,
        log_probability=jnp.sum(chances, axis=0),
        is_exact=is_exact & (final.largest < MAX_COUNT) & (not model.is_smooth),
        plastic=final.plastic,
    )


def _check_smooth(model: RelaxedSystem) -> None:
    if isinstance(model.surrogate, Smooth) and model.program.delay is not None:
        raise ValueError(
            "A system with delays is not a smooth function: a neuron is closed or not. Choose "
            "another surrogate."
        )


def begun(
    model: RelaxedSystem,
    steps: int,
    spikes: Float[Array, "neurons *paths"] | None,
    input: Mapping[str, Float[Array, "train *paths"]] | Float[Array, "train neurons *paths"] | None,
    paths: int | None = None,
) -> tuple[Constants, Float[Array, "neurons *paths"], Float[Array, "steps neurons *paths"] | None]:
    """The constants of a run, the initial spikes, and what arrives in each step; see `run`."""
    _check_smooth(model)
    arriving = None if input is None else arriving_in(model, steps, input)
    return _begun(model, steps, spikes, arriving, paths)


def _begun(
    model: RelaxedSystem,
    steps: int,
    spikes: Float[Array, "neurons *paths"] | None,
    arriving: tuple[Array, tuple[int, ...]] | None,
    paths: int | None,
) -> tuple[Constants, Float[Array, "neurons *paths"], Float[Array, "steps neurons *paths"] | None]:
    """As `begun`, with what `arriving_in` returned."""
    constants = constants_of(model)
    size, num = model.program.num_neurons, len(model.names)
    trains, batch = _own_trains(model, steps), ()
    if arriving is not None:
        trains, batch = arriving
        # Nothing halts before the last of its input.
        number = jnp.arange(1, steps + 1).reshape(-1, *(1,) * (trains.ndim - 2))
        last = jnp.max(jnp.where(jnp.any(trains != 0, axis=1), number, 0), axis=0, initial=0)
        horizon = lax.stop_gradient(last).astype(jnp.int32)
        constants = constants._replace(program=replace(constants.program, horizon=horizon))
    given = constants.initial if spikes is None else jnp.asarray(spikes, jnp.float32)
    if spikes is not None:
        if given.shape[0] != num or given.ndim > 2:
            raise ValueError(
                f"`spikes` has the shape {given.shape}. Give ({num},) or ({num}, paths)."
            )
        given = jnp.pad(given, ((0, size - num), *((0, 0),) * (given.ndim - 1)))
    sizes = {*batch, *given.shape[1:], *(() if paths is None else (paths,))}
    if len(sizes) > 1:
        raise ValueError(f"The batch has {sorted(sizes)} paths. Give as many everywhere.")
    if sizes:
        given = jnp.broadcast_to(given.reshape(size, -1), (size, *sizes))
        if trains is not None and trains.ndim == 2:  # the same on all paths
            trains = trains[..., None]
    return constants, given, trains


@eqx.filter_jit
def scanned(
    model: RelaxedSystem,
    constants: Constants,
    choice: AbstractChoice,
    initial: RelaxedState,
    trains: Float[Array, "steps neurons *paths"] | None,
    steps: int,
    checkpoint: bool,
    keeps: bool,
) -> tuple[RelaxedState, Any]:
    """All steps; with checkpoints, in blocks of about the square root of them.

    Compiled by itself, so that runs outside of `jit` are compiled once.
    """

    def body(state: RelaxedState, row: Any) -> tuple[RelaxedState, Any]:
        is_one, arriving = row
        new, emitted = step(model, constants, state, choice, arriving)
        new = jax.tree.map(lambda x, y: jnp.where(is_one, x, y), new, state)
        output = emitted.emissions.at[model.program.outputs].get(mode="fill", fill_value=0)
        output = jnp.where(is_one, output, 0)
        chance = jnp.where(is_one & emitted.is_live, emitted.log_probability, 0)
        everything = None if model.tap is None else jnp.where(is_one, emitted.emissions, 0)
        return new, (output, chance, new.spikes if keeps else None, everything)

    if not checkpoint:
        return _counted(model, *lax.scan(body, initial, (jnp.ones(steps, bool), trains)))
    block = max(math.isqrt(steps), 1)
    blocks = -(-steps // block)

    def in_blocks(x: Array) -> Array:
        padding = ((0, blocks * block - steps), *((0, 0),) * (x.ndim - 1))
        return jnp.pad(x, padding).reshape(blocks, block, *x.shape[1:])

    rows = jax.tree.map(in_blocks, (jnp.ones(steps, bool), trains))
    final, kept = lax.scan(
        jax.checkpoint(lambda state, own: lax.scan(body, state, own)), initial, rows
    )
    kept = jax.tree.map(lambda x: x.reshape(blocks * block, *x.shape[2:])[:steps], kept)
    return _counted(model, final, kept)


def _counted(
    model: RelaxedSystem, final: RelaxedState, kept: tuple[Any, Any, Any, Any]
) -> tuple[RelaxedState, tuple[Any, Any, Any]]:
    """The final state and what was kept, with the tap of the model on all that fired."""
    outputs, chances, counts, everything = kept
    if model.tap is not None:
        given = final.spikes, outputs, counts
        spikes, outputs, counts = tapped(given, everything, model.tap)
        final = replace(final, spikes=spikes)
    return final, (outputs, chances, counts)


def _own_trains(model: RelaxedSystem, steps: int) -> Float[Array, "steps neurons"] | None:
    """What arrives at every neuron in every step, as the system says."""
    program = model.program
    if not program.trains.size:
        return None
    rows = program.trains[:steps].astype(jnp.float32)
    arriving = jnp.zeros((steps, program.num_neurons))
    return arriving.at[: len(rows), program.inputs].add(rows, mode="drop")


def arriving_in(
    model: RelaxedSystem, steps: int, input: Mapping[str, Any] | Array
) -> tuple[Float[Array, "steps neurons *paths"], tuple[int, ...]]:
    """What arrives at every neuron in every step, and the batch of it."""
    if not isinstance(input, Mapping):
        given, num = jnp.asarray(input, jnp.float32), len(model.names)
        if not 2 <= given.ndim <= 3 or given.shape[1] != num or len(given) > steps:
            raise ValueError(
                f"`input` has the shape {given.shape}. Give up to {steps} steps of {num} neurons, "
                "and `paths` as a third axis if there are several."
            )
        missing = steps - len(given), model.program.num_neurons - num
        padding = (0, missing[0]), (0, missing[1]), *((0, 0),) * (given.ndim - 2)
        return jnp.pad(given, padding), given.shape[2:]
    trains = {name: jnp.asarray(train, jnp.float32) for name, train in input.items()}
    positions = {name: index for index, name in enumerate(model.names)}
    problems = [
        f"There is no neuron {name!r} ({nearest(name, model.names, 'neurons')})."
        for name in trains
        if name not in positions
    ]
    problems += [
        f"The input of {name!r} has the shape {train.shape}. Give up to {steps} entries, the "
        "number of steps, and `paths` as a second axis if there are several."
        for name, train in trains.items()
        if not 1 <= train.ndim <= 2 or train.shape[0] > steps
    ]
    if problems:
        raise ValueError("\n".join(problems))
    by_neuron = {positions[name]: train for name, train in trains.items()}
    return _train_table(by_neuron, steps, model.program.num_neurons), _batch_of(by_neuron)


def _batch_of(trains: Mapping[int, Float[Array, "train *paths"]]) -> tuple[int, ...]:
    return next((train.shape[1:] for train in trains.values() if train.ndim == 2), ())


@eqx.filter_jit
def _train_table(
    trains: Mapping[int, Float[Array, "train *paths"]], steps: int, size: int
) -> Float[Array, "steps neurons *paths"]:
    """The trains of some neurons, by their index, in a table of all neurons."""
    batch = _batch_of(trains)
    arriving = jnp.zeros((steps, size, *batch))
    for index, train in trains.items():
        own = train.reshape(len(train), *(train.shape[1:] or (1,) * len(batch)))
        arriving = arriving.at[: len(own), index].add(own)
    return arriving
