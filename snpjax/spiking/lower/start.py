"""Where a run begins, and what is sent to it, if that is not what the model says."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, PyTree

from snpjax_formats import bucket

from ..._text.counts import plural
from ...machine import AnyMachine
from ...memory import Footprint, check_fits
from ...scale.mesh import replicated
from ...scale.paths import whole
from ...trajectory import size_of
from ..model.lookup import near_neuron
from ..model.variants import AntiSpikes
from ..step.division import GrownState
from ..step.partitioned import PartitionedMachine
from ..step.reserve import GrowingMachine
from ..step.step import AbstractSpikingMachine, SpikingState


if TYPE_CHECKING:
    from ..model.population import AnySystem


def started(
    system: "AnySystem", machine: AnyMachine, initial: Any, inputs: Any
) -> tuple[AnyMachine, SpikingState]:
    """The machine that takes `inputs`, and its state at the beginning: see `snpjax.run`.

    **Raises:** `ValueError` for what does not fit the system.
    """
    assert isinstance(machine, AbstractSpikingMachine)
    has_anti_spikes = isinstance(system.variant, AntiSpikes)
    if inputs is not None:
        machine = with_inputs(machine, _trains(system, inputs, has_anti_spikes))
    if isinstance(initial, SpikingState):
        _check_size(system, initial)
        machine, state = continued(machine, initial)
    else:
        state = _initial(machine)
        if initial is not None:
            spikes = _spikes(system, initial, system.signed, np.asarray(state.spikes))
            if spikes.ndim == 2:
                state = _of_paths(state, spikes.shape[1])
            state = eqx.tree_at(lambda x: x.spikes, state, spikes)
    assert isinstance(machine, AbstractSpikingMachine)
    given, own = np.shape(machine.program.trains)[2:], np.shape(state.step)
    if given and own and given != own:
        raise ValueError(f"`inputs` has {given[0]} paths, and `initial` has {own[0]}.")
    if given and not own:
        state = _of_paths(state, given[0])
    return machine, state


def _check_size(system: "AnySystem", state: SpikingState) -> None:
    """Refuse the state of a system with other neurons, which padding can make as long."""
    num = system.num_neurons
    if isinstance(state.network, GrownState):  # whose neurons are not those of the beginning
        return
    size = size_of(state)
    given = "" if size is None else plural(size, "neuron")
    if size is None:
        counts = (state.spikes, state.timers, state.pending)
        held = np.flatnonzero(sum(np.any(x, axis=tuple(range(1, np.ndim(x)))) for x in counts))
        if not len(held) or held[-1] < num:
            return
        given = f"{held[-1] + 1} or more neurons"
    if size != num:
        raise ValueError(
            f"`initial` is a state of {given}, and this system has {num}. Continue a run "
            "of the same system."
        )


def continued(
    machine: AbstractSpikingMachine, state: SpikingState
) -> tuple[AbstractSpikingMachine, SpikingState]:
    """A machine with room for a state of an earlier run, which has the types of its numbers then.

    **Raises:** `ValueError` for a state of another system.
    """
    size = len(state.spikes)
    while isinstance(machine, GrowingMachine) and machine.program.num_neurons < size:
        machine, _ = machine.grown(machine.init())
    own = _initial(machine)
    if state.network is None and not isinstance(machine, GrowingMachine):
        state = _resized(state, len(own.spikes))
    shapes = [x.shape for x in jax.tree.leaves(own)]
    given = [
        np.shape(x)[: len(shape)] for x, shape in zip(jax.tree.leaves(state), shapes, strict=False)
    ]
    is_alike = jax.tree.structure(own) == jax.tree.structure(state) and shapes == given
    if not is_alike:
        raise ValueError(
            "`initial` is a state of a system of another size or kind. "
            "Continue a run of the same system."
        )
    most = np.iinfo(np.dtype(own.spikes.dtype)).max
    if np.abs(np.asarray(state.spikes, np.int64)).max(initial=0) > most:
        raise ValueError(
            "`initial` holds more spikes than 32 bits count. Give `count_dtype=numpy.int64`."
        )
    return machine, jax.tree.map(lambda x, y: np.asarray(x, y.dtype), state, own)


def _initial(machine: AbstractSpikingMachine) -> SpikingState:
    """The machine's own initial state, on the host."""
    if isinstance(machine, PartitionedMachine):
        return whole(machine.placed_init())
    return jax.tree.map(np.asarray, machine.init())


def _resized(state: SpikingState, size: int) -> SpikingState:
    """A state with as many neurons that pad it as another machine has of the same system."""

    def resized(x: Any) -> np.ndarray:
        held = np.asarray(x)[:size]
        return np.pad(held, [(0, size - len(held))] + [(0, 0)] * (held.ndim - 1))

    def per_neuron(x: SpikingState) -> list[Any]:
        return [x.spikes, x.timers, x.pending]

    return eqx.tree_at(per_neuron, state, replace_fn=resized)


def with_inputs(
    machine: AbstractSpikingMachine, trains: Int[np.ndarray, "steps inputs *paths"]
) -> AbstractSpikingMachine:
    """The machine with other trains; those of each path end with its last spike."""
    program = machine.program
    dtype = np.dtype(program.initial.dtype)
    limit = 2 ** (8 * dtype.itemsize - 2)
    if np.abs(trains).max(initial=0) >= limit:
        raise ValueError(
            f"`inputs` sends {np.abs(trains).max()} spikes at once, too many to detect every "
            f"overflow of {dtype} (below {limit})."
        )
    sent = trains.any(axis=1)
    steps = np.arange(1, len(trains) + 1).reshape(-1, *[1] * (sent.ndim - 1))
    horizon = np.max(np.where(sent, steps, 0), axis=0, initial=0)
    rows, columns = bucket(int(np.max(horizon, initial=0))), program.trains.shape[1]
    row = rows * columns * dtype.itemsize
    _check_paths("The inputs", trains.shape[2:], lambda num: Footprint(num * row, num * row))
    table = np.zeros((rows, columns, *trains.shape[2:]), dtype)
    kept = trains[:rows]
    table[: len(kept), : kept.shape[1]] = kept
    sent_to = jnp.asarray(table), jnp.asarray(horizon, jnp.int32)
    if isinstance(machine, PartitionedMachine):
        sent_to = replicated(sent_to, machine.mesh)
    program = replace(program, trains=sent_to[0], horizon=sent_to[1])
    return replace(machine, program=program)


def _check_paths(what: str, paths: tuple[int, ...], footprint: Callable[[int], Footprint]) -> None:
    """Refuse arrays with more paths than fit in memory."""
    num = paths[0] if paths else 1
    check_fits(footprint, num, f"{what} of {plural(num, 'path')} need", "run {:,} paths at a time")


def _trains(
    system: "AnySystem", inputs: Any, is_signed: bool
) -> Int[np.ndarray, "steps inputs *paths"]:
    """The trains of all input neurons as one table."""
    names, sizes = list(system.input), sizes_of_inputs(system)
    if not names:
        raise ValueError('The system has no input neuron. Build it with `input={"name": ()}`.')
    if isinstance(inputs, Mapping):
        unknown = [name for name in inputs if name not in names]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not an input neuron: they are {', '.join(names)}.")
        inputs = _side_by_side(inputs, names, sizes)
    table = _integers("inputs", inputs)
    if table.ndim not in (2, 3) or table.shape[1] != sum(sizes):
        raise ValueError(
            f"`inputs` has the shape {table.shape}. Give (steps, {sum(sizes)}) or (steps, "
            f"{sum(sizes)}, paths): a column for each input neuron."
        )
    if not is_signed and table.size and table.min() < 0:
        step, column = np.argwhere(table < 0)[0][:2]
        owners = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
        raise ValueError(
            f"`inputs` sends {table[table < 0][0]} spikes in step {step + 1} to "
            f"{owners[column]!r}. Give 0 or more."
        )
    return table


def sizes_of_inputs(system: "AnySystem") -> list[int]:
    """How many neurons each input has: 1, or those of a population."""
    return [_size(system, name) for name in system.input]


def _side_by_side(inputs: Mapping[str, Any], names: list[str], sizes: list[int]) -> np.ndarray:
    """Trains by name as one table; names that are left out receive nothing."""
    ends = np.cumsum(sizes).tolist()
    places = {n: slice(end - size, end) for n, size, end in zip(names, sizes, ends, strict=True)}
    blocks = {}
    for name, train in inputs.items():
        block = _integers(f"inputs[{name!r}]", train)
        is_one = sizes[names.index(name)] == 1 and block.ndim in (1, 2)
        blocks[name] = block[:, None] if is_one else block
    paths = next((block.shape[2:] for block in blocks.values() if block.ndim == 3), ())
    steps = max((len(block) for block in blocks.values()), default=0)
    table = np.zeros((steps, sum(sizes), *paths), np.int64)
    for name, block in blocks.items():
        own = block if block.ndim == table.ndim else block[..., None]
        table[: len(block), places[name]] = own
    return table


def _spikes(
    system: "AnySystem", initial: Any, is_signed: bool, own: Int[np.ndarray, " neurons"]
) -> Int[np.ndarray, "neurons *paths"]:
    """The spikes of all neurons, padded; those that are not named hold what the model says."""
    num, dtype = system.num_neurons, own.dtype
    if isinstance(initial, Mapping):
        given = {name: _integers(f"initial[{name!r}]", some) for name, some in initial.items()}
        for name in given:
            if not system.has(name):
                what = f"`initial` names {name!r}, which is not a neuron of the system"
                raise ValueError(f"{what} ({near_neuron(system, name)}).")
        with_paths = [
            some.shape[-1:] for name, some in given.items() if some.ndim > (_size(system, name) > 1)
        ]
        paths = with_paths[0] if with_paths else ()
        _check_paths("The starts", paths, lambda num: Footprint(0, 2 * 8 * num * len(own)))
        spikes = np.broadcast_to(own.reshape(-1, *[1] * len(paths)), (*own.shape, *paths))
        spikes = spikes.astype(np.int64)
        for name, some in given.items():
            at = system.position_of(name)
            if paths and some.ndim == (_size(system, name) > 1):
                some = some[..., None]
            spikes[at] = some
    else:
        table = _integers("initial", initial)
        if table.ndim not in (1, 2) or len(table) != num:
            raise ValueError(
                f"`initial` has the shape {table.shape}. Give ({num},) or ({num}, paths): the "
                "spikes of each neuron; or a state, such as `solution.state`."
            )
        spikes = np.pad(table, [(0, len(own) - num)] + [(0, 0)] * (table.ndim - 1))
    most = np.iinfo(dtype).max
    wrong = np.argwhere((np.abs(spikes) > most) | ((spikes < 0) & (not is_signed)))
    if len(wrong):
        held = spikes[tuple(wrong[0])]
        fix = "Give 0 or more." if abs(held) <= most else "Try `count_dtype=numpy.int64`."
        raise ValueError(
            f"`initial` gives neuron {system.name_of(int(wrong[0][0]))!r} {held} spikes. {fix}"
        )
    return spikes.astype(dtype)


def _size(system: "AnySystem", name: str) -> int:
    at = system.position_of(name)
    return len(range(*at.indices(system.num_neurons))) if isinstance(at, slice) else 1


def _integers(name: str, values: Any) -> Int[np.ndarray, "..."]:
    try:
        found = np.asarray(values)
    except ValueError:
        raise ValueError(f"The rows of `{name}` differ in length. Fill them up with 0.") from None
    if not (np.issubdtype(found.dtype, np.integer) or found.dtype == bool or found.size == 0):
        raise ValueError(f"`{name}` holds {found.dtype}. Give whole numbers.")
    return found.astype(np.int64)


def _of_paths(state: PyTree, paths: int) -> PyTree:
    return jax.tree.map(lambda x: np.broadcast_to(x[..., None], (*np.shape(x), paths)), state)
