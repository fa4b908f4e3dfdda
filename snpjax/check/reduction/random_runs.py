"""Random runs that halt: the quick way to a deadlock in a graph that is too large."""

from typing import Any

import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Int, Key, UInt, UInt32

from snpjax_formats import device_array

from ..._tiered import tiered
from ...choice import NumberedChoice, num_alternatives
from ...explore import Graph
from ...explore.search import MAX_CHOICES
from ...explore.successors import NO_EDGE
from ...machine import Enumerable, Explorable, LoweringOptions
from ...results import RESULTS
from ..query.names import Needs
from .lifting import path_graph


#: Runs side by side, steps of one call, and calls.
_RUNS, _STEPS, _CALLS = 64, 256, 16
#: Fields of all configurations of a call; longer configurations get fewer runs.
_MOST_FIELDS = 2**24


def halting_run(
    model: Explorable[Any, Any], needs: Needs, lowering: LoweringOptions
) -> Graph[Any, Any] | None:
    """A random computation that halts, as a graph that is this path, without detours; `None` if
    none was found within some thousand steps. The same model gives the same one."""
    machine = model.enumerable(
        saturate=needs.saturate,
        clock=needs.clock,
        at_least=np.dtype(np.int32),
        **lowering,  # pyright: ignore[reportCallIssue]
    )
    choosers = device_array(machine.choosers())
    start = np.asarray(_start(machine))
    runs = min(_RUNS, max(_MOST_FIELDS // (_STEPS * len(start)), 1))
    fields = device_array(np.repeat(start[:, None], runs, axis=1))
    rows, numbers = [], []
    for key in jr.split(jr.key(0), _CALLS):
        made, chosen, is_halted = (np.asarray(x) for x in _walk(machine, choosers, fields, key))
        rows.append(made)
        numbers.append(chosen)
        if is_halted.any():
            run = int(np.argmax(np.sum(is_halted, axis=0)))  # the first one to halt
            own = [part[..., run] for part in rows]
            steps = np.concatenate([part[:, run] for part in numbers])
            path = [start, *np.concatenate(own)]
            end = int(np.argmax(steps == NO_EDGE))
            return path_graph(
                model, machine, *_without_detours(path[: end + 1], steps), needs, lowering
            )
        fields = device_array(made[-1])
    return None


def _without_detours(
    rows: list[np.ndarray], choices: Int[np.ndarray, " steps"]
) -> tuple[list[np.ndarray], list[int]]:
    """A path that comes through no configuration twice."""
    last = {row.tobytes(): place for place, row in enumerate(rows)}
    kept, made, place = [], [], 0
    while place < len(rows):
        at = last[rows[place].tobytes()]
        kept.append(rows[at])
        made.append(int(choices[at]))
        place = at + 1
    return kept, made[:-1]


@tiered()
def _start(machine: Enumerable) -> UInt[Array, " fields"]:
    return machine.encode(machine.init())


@tiered()
def _walk(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    fields: UInt[Array, "fields runs"],
    key: Key[Array, ""],
) -> tuple[UInt[Array, "steps fields runs"], Int[Array, "steps runs"], Bool[Array, "steps runs"]]:
    """Steps of runs: the configurations, the numbers of the choices, and where they have halted. A
    key is consumed."""

    def step(fields: Array, bits: UInt32[Array, " runs"]) -> tuple[Array, tuple]:
        state = machine.decode(fields)
        is_halted = machine.halted(state)
        counts = num_alternatives(machine.alternatives(state), choosers)
        # A product that wraps leaves some choices out, which does no harm.
        most = jnp.clip(jnp.prod(counts, axis=0, dtype=jnp.uint32), 1, MAX_CHOICES)
        number = bits % most
        after, _ = machine.step(state, NumberedChoice(number, choosers))
        stays = is_halted | (machine.status(after) != RESULTS.halted)
        after = jnp.where(stays[None], fields, machine.encode(after))
        chosen = jnp.where(is_halted, NO_EDGE, number.astype(jnp.int32))
        return after, (after, chosen, is_halted)

    bits = jr.bits(key, (_STEPS, fields.shape[1]), jnp.uint32)
    return lax.scan(step, fields, bits)[1]
