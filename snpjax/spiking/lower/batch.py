"""Different systems of one shape, run side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Num

from snpjax_formats import ELL, check_free, free_bytes
from snpjax_formats.articles import kind_of

from ..._text.counts import plural
from ..._xla import on_host, precision
from ...machine import AnyMachine, Lowered, Stacked, over_paths
from ...trajectory import Trajectory
from ..model.population import AnySystem
from ..model.system import SpikingSystem, dynamic_message
from ..step.ordered import OrderedSynapses
from ..step.program import SpikingProgram
from ..step.step import SpikingMachine, SpikingState
from .host_program import HostProgram, Padding, count_type
from .lower import check_order, lower_columns
from .start import sizes_of_inputs, with_inputs
from .storage import LayoutLike
from .transition import Transition


if TYPE_CHECKING:
    from ..view.solutions import Solutions


@dataclass(frozen=True, repr=False)
class SystemBatch:
    """Systems of about one size as a batch, one path each: a parameter sweep, say, or a generation
    of evolving systems.

    They may differ in everything: rules, spikes, synapses, delays, inputs, numbers of neurons; all
    are padded to the largest. With `UniformChoice` system b takes path b of the key. `run` gives a
    tuple of solutions.
    """

    systems: Sequence[AnySystem]

    def __post_init__(self) -> None:
        object.__setattr__(self, "systems", tuple(self.systems))
        if not self.systems:
            raise ValueError("The batch has no system. Give one or more.")
        for number, system in enumerate(self.systems):
            if not isinstance(system, AnySystem):
                raise TypeError(
                    f"Element {number} of the batch is {kind_of(system)}. Give systems."
                )

    def __repr__(self) -> str:
        return f"SystemBatch({plural(len(self.systems), 'system')})"

    def lower(
        self,
        *,
        layout: LayoutLike = "auto",
        count_dtype: np.dtype | type | None = None,
        faithful: bool = False,
        numbered: bool = False,
        paths: int = 1,
    ) -> "Lowered[Solutions, Solutions]":
        """Lower all systems to one stack of arrays, which is assembled on the host.

        **Arguments:**

        - `layout`: how synapses are stored; `"auto"` is `ELL`.
        - `count_dtype`: int32 or int64 spike counts; by default the narrowest that is safe for all
          systems.
        - `faithful`: keep every forgetting rule as an alternative of its own.
        - `numbered`, `paths`: see `snpjax.machine.Model`.

        **Raises:** `ValueError` for a layout whose arrays differ in shape from system to system,
        which those of `ELL` and dense layouts never do, and for systems of different
        `compatibility`; `NotImplementedError` for a network that changes.
        """
        del paths
        if isinstance(layout, Transition):
            raise ValueError("A batch of systems has no transition matrix. Give another layout.")
        for system in self.systems:
            if not system.is_static:
                raise NotImplementedError(dynamic_message(system, "A batch of different systems"))
        columns = [
            system.columns(faithful=faithful or (numbered and isinstance(system, SpikingSystem)))
            for system in self.systems
        ]
        padding = Padding.of(columns)
        _check_compatibility(columns)
        check_order(columns[0].system.compatibility.in_steps(has_delays=padding.has_delays), layout)
        dtype = count_type(columns, count_dtype)
        stored = ELL if layout == "auto" else layout
        free = free_bytes()
        programs = []
        with on_host(), precision(dtype):
            for each in columns:
                programs.append(
                    lower_columns(each.joined(), layout=stored, count_dtype=dtype, padding=padding)
                )
                _check_all_fit(programs[0], len(columns), free)
            synapses = [program.synapses for program in programs]
            ells = [layout for layout in synapses if isinstance(layout, ELL)]
            if len(ells) == len(synapses):
                rows = max(len(ell.sources) for ell in ells)
                values = _weights([(ell.values, ell.sources) for ell in ells], rows)
                synapses = [
                    replace(ell, sources=_padded(ell.sources, rows, ell.num_sources), values=own)
                    for ell, own in zip(ells, values, strict=True)
                ]
            ordered = [program.ordered for program in programs]
            lists = [some for some in ordered if some is not None]
            if len(lists) == len(ordered):
                rows, nowhere = max(len(some.sources) for some in lists), np.iinfo(np.int32).max
                values = _weights([(some.weights, some.sources) for some in lists], rows)
                ordered = [
                    OrderedSynapses(
                        sources=_padded(some.sources, rows, nowhere),
                        targets=_padded(some.targets, rows, nowhere),
                        first=_padded(some.first, rows, 0),
                        weights=own,
                    )
                    for some, own in zip(lists, values, strict=True)
                ]
            programs = [
                replace(program, synapses=own, ordered=own_ordered)
                for program, own, own_ordered in zip(programs, synapses, ordered, strict=True)
            ]
        with precision(dtype):
            machine = Stacked.of([SpikingMachine(program) for program in programs])
        assert isinstance(machine.machine, SpikingMachine)
        program = replace(machine.machine.program, may_overflow=False)
        return Lowered(
            self,
            machine,
            all(c.table.families is None for c in columns),
            min(c.safe_steps(dtype) for c in columns),
            replace(machine, machine=SpikingMachine(program)),
        )

    def start(
        self, machine: AnyMachine, initial: Any, inputs: Any
    ) -> tuple[AnyMachine, SpikingState]:
        """Replace the inputs and the initial states of a run.

        **Arguments:**

        - `machine`: the stack that `lower` returned.
        - `initial`: the `state` of earlier solutions; `None` for the systems' own configurations.
        - `inputs`: `(steps, inputs, systems)` trains; `None` for the systems' own.

        **Raises:** `ValueError` for another shape or state.
        """
        assert isinstance(machine, Stacked)
        own = machine.machine
        assert isinstance(own, SpikingMachine)
        num = len(self.systems)
        if inputs is not None:
            most = max(sum(sizes_of_inputs(system)) for system in self.systems)
            given = np.asarray(inputs)
            if given.ndim != 3 or given.shape[1:] != (most, num):
                raise ValueError(
                    f"`inputs` has the shape {given.shape}. Give (steps, {most}, {num}): the "
                    "trains of the inputs of each system."
                )
            own = with_inputs(own, given)
            machine = replace(machine, machine=own)
        state = over_paths(lambda m: m.init(), machine)()
        if initial is None:
            return machine, state
        shapes = [x.shape for x in jax.tree.leaves(state)]
        if not isinstance(initial, SpikingState) or shapes != [
            np.shape(x) for x in jax.tree.leaves(initial)
        ]:
            raise ValueError("`initial` is not a state of this batch. Give `solutions.state`.")
        return machine, initial

    def solution(self, trajectory: Trajectory) -> "Solutions":
        """The solution of each system."""
        from ..view.solutions import solutions_of

        return solutions_of(self.systems, trajectory)

    def solutions(self, trajectory: Trajectory) -> "Solutions":
        """Each system is one path, so that this is the same."""
        return self.solution(trajectory)


def _check_compatibility(systems: Sequence[HostProgram]) -> None:
    """All systems make their steps in one way."""
    ways = [c.system.compatibility.in_steps(has_delays=True) for c in systems]
    for number, way in enumerate(ways):
        if way != ways[0]:
            raise ValueError(
                f"System {number} of the batch is to run with {way!r}, system 0 with {ways[0]!r}. "
                "Run them in batches of their own."
            )


def _check_all_fit(program: SpikingProgram, num_systems: int, free: int | None) -> None:
    """Refuse a batch after its first system rather than when memory is full."""
    needed = 2 * num_systems * sum(leaf.nbytes for leaf in jax.tree.leaves(program))
    check_free(
        needed,
        free,
        f"To stack {num_systems:,} systems of this size takes",
        "Run them in several batches.",
    )


def _weights(
    given: Sequence[tuple[Array | None, Array]], rows: int
) -> Sequence[Num[Array, "rows *columns"] | None]:
    """Weights beside indices, padded with 0, in place of `None` ones where any system has them."""
    dtype = next((weights.dtype for weights, _ in given if weights is not None), None)
    if dtype is None:
        return [None] * len(given)
    return [
        _padded(jnp.ones(indices.shape, dtype) if weights is None else weights, rows, 0)
        for weights, indices in given
    ]


def _padded(x: Num[Array, "some *columns"], rows: int, fill: int) -> Num[Array, "rows *columns"]:
    return jnp.pad(x, [(0, rows - len(x))] + [(0, 0)] * (x.ndim - 1), constant_values=fill)
