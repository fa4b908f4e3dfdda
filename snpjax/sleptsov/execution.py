"""A net together with how it is to be run: what `snpjax.run` takes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from snpjax_formats import check_free, free_bytes

from ..machine import AbstractMachine, Schema, Started
from ..precision import precision
from ..run import SAVE_FINAL, Save, Trajectory
from .arcs import as_int64
from .columns import columns_of
from .engines import AbstractEngine, EventDriven, FullScan
from .event import EventMachine
from .lower import Conditions, NetProgram, lower, marking_dtype, padded, positions
from .net import SleptsovNet
from .observed import Firings, Markings
from .rounds import RoundsMachine, Touches
from .rules import AbstractRule, Disjoint, Sleptsov
from .scan import ScanningMachine
from .schema import schema_of
from .searched import SearchedNet
from .solution import NetSolution, solve
from .state import NetState
from .validity import is_unbounded
from .watch import watch_of, watched_of


# On CPUs batches of at least so many paths of nets of at most so many conditions are scanned.
_MIN_SCANNED_PATHS = 64
_MAX_SCANNED = 300


@dataclass(frozen=True, eq=False)
class Execution:
    """A net, the rule of its steps, and where its paths begin.

    **Arguments:**

    - `rule`: `Sleptsov()`, `Petri()` or `Disjoint()`.
    - `markings`: `(places, paths)`: a path for each of these markings instead of the net's own.
    - `counts`: count how often each transition fires; `Disjoint` always does.

    ```python
    snp.run(Execution(net, rule=Petri()), max_steps=1000)
    ```

    `snpjax.run` takes, besides: as `layout` an engine, `FullScan()` or `EventDriven()`, by default
    what is faster; as `count_dtype` int32 or int64 markings, by default int64; as `save` by default
    nothing but the final marking, `Save(every=None, details=True)` for the trace.
    """

    net: SleptsovNet
    rule: AbstractRule = Sleptsov()  # noqa: RUF009 (a frozen object)
    markings: Int[np.ndarray, "places paths"] | None = None
    counts: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.net, SleptsovNet):
            raise TypeError(f"`net` is a {type(self.net).__name__}. Give a SleptsovNet.")
        if not isinstance(self.rule, AbstractRule):
            raise TypeError(f"`rule` is {self.rule!r}. Give Sleptsov(), Petri() or Disjoint().")
        if self.markings is None:
            return
        markings = as_int64("markings", self.markings)
        if markings.ndim != 2 or len(markings) != self.net.num_places:
            raise ValueError(
                f"`markings` has the shape {markings.shape}. Give ({self.net.num_places}, paths): "
                "a row a place, a column a path."
            )
        wrong = np.argwhere(markings < 0)
        if len(wrong):
            place, path = wrong[0]
            raise ValueError(
                f"Place {self.net.place_name(place)} of path {path} holds "
                f"{markings[place, path]} tokens. Give 0 or more ({len(wrong)} are negative)."
            )
        object.__setattr__(self, "markings", markings)

    def lower(
        self,
        *,
        layout: AbstractEngine | str = "auto",
        count_dtype: np.dtype | type | None = None,
        faithful: bool = False,
        numbered: bool = False,
        max_steps: int | None = None,
    ) -> AbstractMachine | Started:
        """This net as arrays, ready for `snpjax.run`.

        **Raises:** `ValueError` for numbers that do not fit `count_dtype`, or an engine that does
        not know the rule.
        """
        del faithful, max_steps
        net = self.net
        dtype = marking_dtype(net, count_dtype)
        conditions = Conditions(net, positions(net))
        num_paths = 1 if self.markings is None else self.markings.shape[1]
        if numbered:
            _check_numbered(layout, self.rule)
            layout = FullScan()
        engine = chosen_engine(layout, self.rule, len(conditions.place), num_paths)
        _check_memory(net)
        program = lower(net, dtype)
        if isinstance(self.rule, Disjoint):
            touches = Touches.of(net, program)
            machine = RoundsMachine(program, columns_of(conditions, program), touches)
        elif isinstance(engine, FullScan):
            columns = columns_of(conditions, program)
            of_net = None
            if numbered:
                size = program.num_transitions
                of_net = jnp.asarray(padded(positions(net), size, size), jnp.int32)
            machine = ScanningMachine(program, columns, self.rule, self.counts, of_net)
        else:
            watch = watch_of(conditions, program)
            machine = EventMachine(program, watch, self.rule, self.counts)
        if self.markings is None:
            return machine
        return _started(machine, program, conditions, self.markings)

    def default_save(self, paths: int | None) -> Save:
        """Runs of nets are long: only the final marking."""
        del paths
        return SAVE_FINAL

    def solution(self, trajectory: Trajectory) -> NetSolution:
        """What a run saved, with the names of the net."""
        return solve(self.net, self.rule, trajectory)

    def enumerable(
        self,
        *,
        layout: Any = "auto",
        saturate: Mapping[str, int],
        clock: int,
        at_least: np.dtype | None = None,
    ) -> SearchedNet:
        """This net as arrays, ready for `snpjax.explore`: tokens are counted in 32 bits, and every
        choice among transitions that none of them beats is followed.

        **Raises:** `ValueError` for a rule without choices, an order that does not say where there
        is one, and transitions that may fire without bound.
        """
        del at_least, layout
        net = self.net
        if saturate:
            raise ValueError("A net takes no `saturate`. Explore it without.")
        if isinstance(self.rule, Disjoint) or self.markings is not None:
            raise ValueError("A net is explored from one marking, under Sleptsov() or Petri().")
        if net.order is not None:
            raise ValueError(
                "The net comes with a total order of its transitions, which does not say between "
                "which of them there is a choice. Take a net with priorities."
            )
        unbounded = np.flatnonzero(is_unbounded(net))
        if len(unbounded) and isinstance(self.rule, Sleptsov):
            raise ValueError(
                f"Transition {net.transition_name(unbounded[0])!r} consumes nothing, so that it "
                "fires without bound. Explore the net under Petri()."
            )
        dtype = marking_dtype(net, np.int32)
        conditions, program = Conditions(net, positions(net)), lower(net, dtype)
        machine = ScanningMachine(program, columns_of(conditions, program), self.rule, False)
        return SearchedNet(machine, jnp.asarray(clock, jnp.int32))

    def schema(self) -> Schema[Markings, Firings]:
        """The names of this net, for graphs and queries."""
        return schema_of(self.net)

    def replace(self, **changes: Any) -> "Execution":
        return replace(self, **changes)


def chosen_engine(
    engine: AbstractEngine | str, rule: AbstractRule, num_conditions: int, num_paths: int
) -> AbstractEngine:
    """The engine that was asked for, or what is faster.

    That is the event-driven one, in steps a second: on a CPU 1.3 to 2.5 million against 0.2 to 0.5
    of the scan for nets of 72 to 148 transitions, and 0.9 against 0.02 for 5,452; on an H200
    500,000 against 118,000 and 72,000, and in batches of 16,384 paths 9.6e8 against 5.3e8. Only on
    CPUs, whose vectors take several paths at once, the scan of many paths of a small net is faster:
    2.3 against 1.0 million for 72 transitions, but 0.8 against 1.2 for 148 (CPU: 2 cores, jax
    0.10.2; GPU: jax 0.11.2; 2026-11).
    """
    if not isinstance(engine, AbstractEngine):
        if engine != "auto":
            raise TypeError(f'`layout` is {engine!r}. Give FullScan(), EventDriven() or "auto".')
        is_small = num_conditions <= _MAX_SCANNED and num_paths >= _MIN_SCANNED_PATHS
        scans = isinstance(rule, Disjoint) or (is_small and jax.default_backend() == "cpu")
        return FullScan() if scans else EventDriven()
    if isinstance(rule, Disjoint) and not isinstance(engine, FullScan):
        raise ValueError("Only FullScan() knows the rule Disjoint(). Leave `layout` out.")
    return engine


def _check_numbered(engine: AbstractEngine | str, rule: AbstractRule) -> None:
    """Refuse what does not know lists of transitions. **Raises:** `ValueError`."""
    if isinstance(rule, Disjoint):
        raise ValueError("Under Disjoint() nothing is chosen. Leave the choice out.")
    if isinstance(engine, EventDriven):
        raise ValueError("Only FullScan() takes given choices. Leave `layout` out.")


def _check_memory(net: SleptsovNet) -> None:
    """Refuse a net before memory is full, which takes a few words an arc."""
    kinds = (net.inputs, net.outputs, net.inhibitors, net.tests)
    needed = 64 * sum(map(len, kinds)) + 32 * (net.num_places + net.num_transitions)
    check_free(needed, free_bytes(), f"The net needs {needed:,} bytes", "Use a larger machine.")


def _started(
    machine: AbstractMachine,
    program: NetProgram,
    conditions: Conditions,
    markings: Int[np.ndarray, "places paths"],
) -> Started:
    """The states of the paths of a batch."""
    most = np.iinfo(program.dtype).max
    if np.any(markings > most):
        place, path = np.argwhere(markings > most)[0]
        raise ValueError(
            f"Place {place} of path {path} holds {markings[place, path]} tokens, which do not fit "
            f"in {8 * program.dtype.itemsize} bits. Use numpy.int64."
        )
    num = markings.shape[1]
    tokens = np.zeros((program.num_places, num), program.dtype)
    tokens[: len(markings)] = markings
    with precision(program.dtype):
        state = machine.init()
        own = jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, num)), state)
        assert isinstance(own, NetState)
        watched = own.watched
        if watched is not None:
            watched = watched_of(conditions, markings, program.num_transitions)
        states = replace(own, marking=jnp.asarray(tokens), watched=watched)
        return Started(machine, states, num)
