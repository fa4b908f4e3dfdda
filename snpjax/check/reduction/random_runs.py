"""Random runs to a configuration: the quick way to it in a graph that is too large."""

from collections.abc import Callable
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
from ..query.formula import Query, comparisons
from ..query.names import Needs
from ..temporal.kripke_of_graph import labels_of
from .lifting import path_graph
from .questions import asks_for_deadlocks, goal_of


#: Runs side by side, steps of one call, and calls, of which there are fewer where all
#: configurations are looked at, not only those that halt.
_RUNS, _STEPS, _CALLS, _FEW_CALLS = 64, 256, 16, 4
#: Fields of all configurations of a call; longer configurations get fewer runs.
_MOST_FIELDS = 2**24


def run_to(
    query: Query,
    model: Explorable[Any, Any],
    needs: Needs,
    lowering: LoweringOptions,
    is_over: Callable[[], bool],
) -> Graph[Any, Any] | None:
    """A random computation to a configuration that decides whether one is reachable, as a graph
    that is this path, without detours; `None` if none was found within some thousand steps. Unless
    the time is over the same model gives the same one.

    - `query`: one that has a `goal_of`.
    - `needs`, `lowering`: how the model is explored.
    - `is_over`: whether the time is over.
    """
    goal = goal_of(query)
    assert goal is not None
    compared = list(comparisons(goal))
    if any(comparison.is_of_step for comparison in compared):
        return None
    only_halting = asks_for_deadlocks(query)
    machine = model.enumerable(
        saturate=needs.saturate,
        clock=needs.clock,
        at_least=np.dtype(np.int32),
        **lowering,  # pyright: ignore[reportCallIssue]
    )

    def reaches(rows: np.ndarray) -> np.ndarray:
        """In which configurations the condition holds."""
        halts = [NO_EDGE] * (len(rows) - 1)
        graph = path_graph(model, machine, list(rows), halts, needs, lowering)
        return labels_of(graph, compared).where(goal, may=False)

    choosers = device_array(machine.choosers())
    start = np.asarray(_start(machine))
    runs = min(_RUNS, max(_MOST_FIELDS // (_STEPS * len(start)), 1))
    fields = np.repeat(start[:, None], runs, axis=1)
    rows, numbers = [], []
    began = np.zeros(runs, np.int64)  # in which call
    for call, key in enumerate(jr.split(jr.key(0), _CALLS if only_halting else _FEW_CALLS)):
        if is_over():
            return None
        walked = _walk(machine, choosers, device_array(fields), key)
        made, chosen, is_halted = (np.asarray(x) for x in walked)
        rows.append(made)
        numbers.append(chosen)
        wanted = is_halted if only_halting else np.ones_like(is_halted)
        steps, of = np.nonzero(wanted)
        some, first = np.unique(made[steps, :, of], axis=0, return_index=True)
        found = first[reaches(some)] if len(some) else first
        if len(found):
            step, run = steps[found.min()], of[found.min()]
            own = [part[..., run] for part in rows[began[run] :]]
            taken = [part[:, run] for part in numbers[began[run] :]]
            choices = np.concatenate([*taken, [NO_EDGE]])
            path = [start, *np.concatenate(own)]
            end = len(path) - _STEPS + int(step)
            return path_graph(
                model, machine, *_without_detours(path[: end + 1], choices), needs, lowering
            )
        fields = np.where(is_halted[-1], start[:, None], made[-1])
        began[is_halted[-1]] = call + 1
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
