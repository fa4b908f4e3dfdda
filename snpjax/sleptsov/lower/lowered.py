"""A net lowered for running and for exploring, and where its runs begin."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from snpjax_formats import check_free, device_array, free_bytes

from ..._xla import precision
from ...machine import AbstractEngine, AnyMachine, Lowered
from ...trajectory import size_of
from ..model.arcs import as_int64
from ..model.engines import EventDriven, FullScan
from ..model.net import SleptsovNet
from ..model.rules import AbstractRule, Disjoint, Sleptsov
from ..model.validity import KINDS, is_unbounded
from ..step.disjoint import DisjointMachine
from ..step.event_driven import EventMachine
from ..step.full_scan import ScanningMachine
from ..step.state import NetState
from .enumerable import SearchedNet
from .lower import Conditions, lower, marking_dtype, padded, positions
from .tables import condition_table, dependents_of, touches_of


if TYPE_CHECKING:
    from ..model.execution import Execution
    from ..view.solution import NetSolution, NetSolutionBatch

# On CPUs batches of at least `_MANY_PATHS` are scanned, of nets with at most `_MAX_SCANNED`
# conditions.
_MANY_PATHS, _MAX_SCANNED = 64, 300


def lowered(
    execution: "Execution",
    engine: AbstractEngine | None,
    count_dtype: np.dtype | type | None,
    faithful: bool,
    numbered: bool,
    paths: int,
) -> "Lowered[NetSolution, NetSolutionBatch]":
    """A net as arrays, see `Execution.lower`."""
    net = execution.net
    dtype = marking_dtype(net, count_dtype)
    conditions = Conditions(net, positions(net))
    if numbered or (faithful and engine is None and not isinstance(execution.rule, Disjoint)):
        if isinstance(execution.rule, Disjoint):
            raise ValueError("Under Disjoint() nothing is chosen. Leave the choice out.")
        if isinstance(engine, EventDriven):
            raise ValueError("Only FullScan() takes given choices. Leave `engine` out.")
        engine = FullScan()
    engine = chosen_engine(engine, execution.rule, len(conditions.place), paths)
    # A few words an arc: refused before memory is full.
    needed = 64 * sum(len(getattr(net, kind)) for kind in KINDS)
    needed += 32 * (net.num_places + net.num_transitions)
    check_free(needed, free_bytes(), "The net needs", "Use a larger machine.")
    program = lower(net, dtype)
    if isinstance(execution.rule, Disjoint):
        touches = touches_of(net, program)
        machine = DisjointMachine(program, condition_table(conditions, program), touches)
    elif isinstance(engine, FullScan):
        columns = condition_table(conditions, program)
        size = program.num_transitions
        of_net = device_array(padded(positions(net), size, size), jnp.int32)
        machine = ScanningMachine(program, columns, execution.rule, execution.counts, of_net)
    else:
        dependents = dependents_of(conditions, program)
        machine = EventMachine(program, dependents, execution.rule, execution.counts)
    is_numbered = isinstance(machine, ScanningMachine)
    return Lowered(execution, machine, is_numbered, alternatives=(net.num_transitions, 1))


def started(
    net: SleptsovNet, machine: AnyMachine, initial: Any, inputs: Any
) -> tuple[AnyMachine, NetState]:
    """Where a run begins, see `Execution.start`."""
    if inputs is not None:
        raise ValueError("A net has no `inputs`. Put tokens into places, with `initial=`.")
    assert isinstance(machine, DisjointMachine | ScanningMachine | EventMachine)
    is_event_driven = isinstance(machine, EventMachine)
    first = machine.without_events() if is_event_driven else machine.init()
    state = jax.tree.map(np.asarray, first)
    if isinstance(initial, NetState):
        _check_size(net, initial)
        state = _continued(initial, state)
    else:
        marking = _marking(net, initial)
        if marking.ndim == 2:
            state = jax.tree.map(
                lambda x: np.broadcast_to(x[..., None], (*x.shape, marking.shape[1])), state
            )
        tokens = np.zeros((len(state.marking), *marking.shape[1:]), state.marking.dtype)
        _check_fits(net, marking, tokens.dtype)
        tokens[: len(marking)] = marking
        state = replace(state, marking=tokens)
    if is_event_driven:
        with precision(machine.program.dtype):
            tokens = jnp.asarray(state.marking)  # is sent to the device once
        state = replace(state, marking=tokens, events=machine.events_of(tokens))
    return machine, state


def enumerable(execution: "Execution", *, saturate: Mapping[str, int], clock: int) -> SearchedNet:
    """A net as arrays for `snpjax.explore`, see `Execution.enumerable`."""
    net = execution.net
    if saturate:
        raise ValueError("A net takes no `saturate`. Explore it without.")
    if isinstance(execution.rule, Disjoint):
        raise ValueError(
            "The disjoint rule cannot be explored or checked. Do so under Sleptsov() or Petri()."
        )
    if net.order is not None:
        raise ValueError(
            "The net comes with a total order of its transitions, which does not say between "
            "which of them there is a choice. Take a net with priorities."
        )
    unbounded = np.flatnonzero(is_unbounded(net))
    if len(unbounded) and isinstance(execution.rule, Sleptsov):
        raise ValueError(
            f"Transition {net.transition_name(unbounded[0])!r} consumes nothing, so that it "
            "fires without bound. Explore the net under Petri()."
        )
    fix = "in which `explore` and `check` count (scale the numbers down, or use `run`)"
    dtype = marking_dtype(net, np.int32, fix=fix)
    conditions, program = Conditions(net, positions(net)), lower(net, dtype)
    machine = ScanningMachine(program, condition_table(conditions, program), execution.rule, False)
    usual = np.append(np.asarray(program.initial), clock).astype(np.uint32)
    return SearchedNet(machine, device_array(clock, jnp.int32), device_array(usual))


def chosen_engine(
    engine: AbstractEngine | None, rule: AbstractRule, num_conditions: int, paths: int
) -> AbstractEngine:
    """The engine that was requested, or what is faster.

    That is the event-driven one, in steps a second: on a CPU 1.3 to 2.5 million against 0.2 to 0.5
    of the scan for nets of 72 to 148 transitions, and 0.9 against 0.02 for 5,452; on an H200
    500,000 against 118,000 and 72,000, and in batches of 16,384 paths 3.8e9 against 5.3e8. Only on
    CPUs, whose vectors take several paths at once, the scan of many paths of a small net is faster:
    2.3 against 1.0 million for 72 transitions, but 0.8 against 1.2 for 148 (CPU: 2 cores, jax
    0.10.2; GPU: jax 0.11.2; 2026-11).
    """
    if engine is None:
        is_small = num_conditions <= _MAX_SCANNED and paths >= _MANY_PATHS
        scans = isinstance(rule, Disjoint) or (is_small and jax.default_backend() == "cpu")
        return FullScan() if scans else EventDriven()
    if not isinstance(engine, AbstractEngine):
        raise TypeError(f"`engine` is {engine!r}. Give FullScan() or EventDriven().")
    if isinstance(rule, Disjoint) and not isinstance(engine, FullScan):
        raise ValueError("Only FullScan() knows the rule Disjoint(). Leave `engine` out.")
    return engine


def _marking(net: SleptsovNet, initial: Any) -> Int[np.ndarray, "places *paths"]:
    """The tokens of all places. **Raises:** `ValueError`."""
    if isinstance(initial, Mapping):
        given = {name: as_int64(f"initial[{name!r}]", some) for name, some in initial.items()}
        paths = max((some.shape for some in given.values()), key=len, default=())
        own = net.marking.reshape(-1, *[1] * len(paths))
        marking = np.broadcast_to(own, (net.num_places, *paths)).copy()
        for name, some in given.items():
            marking[net.place(name)] = some
    else:
        marking = as_int64("initial", initial)
    if marking.ndim not in (1, 2) or len(marking) != net.num_places:
        raise ValueError(
            f"`initial` has the shape {marking.shape}. Give ({net.num_places},) or "
            f"({net.num_places}, paths): a row a place, a column a path."
        )
    if marking.min(initial=0) < 0:
        wrong = np.argwhere(marking < 0)
        raise ValueError(
            f"{_place(net, wrong[0])} holds {marking[tuple(wrong[0])]} tokens. Give 0 or more "
            f"({len(wrong)} are negative)."
        )
    return marking


def _check_fits(net: SleptsovNet, marking: Int[np.ndarray, "places *paths"], dtype: np.dtype):
    most = np.iinfo(dtype).max
    if marking.max(initial=0) > most:
        wrong = np.argwhere(marking > most)
        raise ValueError(
            f"{_place(net, wrong[0])} holds {marking[tuple(wrong[0])]} tokens, which do not fit in "
            f"{8 * dtype.itemsize} bits. Give `count_dtype=numpy.int64`."
        )


def _place(net: SleptsovNet, at: Int[np.ndarray, " axes"]) -> str:
    place, *path = at.tolist()
    return f"Place {net.place_name(place)}" + (f" of path {path[0]}" if path else "")


def _check_size(net: SleptsovNet, state: NetState) -> None:
    """Refuse the state of a net with other places, which padding can make as long."""
    size = size_of(state)
    if size is None:  # of which only what it holds tells
        size = net.num_places if not np.any(state.marking[net.num_places :]) else None
    if size != net.num_places:
        given = "another net" if size is None else f"a net with {size} places"
        raise ValueError(
            f"`initial` is a state of {given}, and this net has {net.num_places}. Continue a run "
            "of the same net."
        )


def _continued(state: NetState, own: NetState) -> NetState:
    """The state of an earlier run, in the types of this one. **Raises:** `ValueError`."""
    given, own = replace(state, events=None), replace(own, events=None)
    shapes = [x.shape for x in jax.tree.leaves(own)]
    found = [np.shape(x)[: len(s)] for x, s in zip(jax.tree.leaves(given), shapes, strict=False)]
    if jax.tree.structure(given) != jax.tree.structure(own) or found != shapes:
        raise ValueError(
            "`initial` is a state of another net, rule or option `counts`. Continue a run of the "
            "same net."
        )
    if np.max(np.asarray(given.marking), initial=0) > np.iinfo(own.marking.dtype).max:
        raise ValueError(
            "`initial` holds more tokens than 32 bits count. Give `count_dtype=numpy.int64`."
        )
    return jax.tree.map(lambda x, y: np.asarray(x, y.dtype), given, own)
