"""A rate-coded network: a model that `snpjax.run` runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from snpjax_formats import (
    BSR,
    AbstractLayout,
    Dense,
    Edges,
    Float32Dense,
    Scaled,
    Workload,
    check_free,
    choose,
    fitting,
    free_bytes,
    graphs,
)
from snpjax_formats.by_value import ComparedByValue

from .._text.counts import plural
from .._text.nearest import nearest
from .._text.pickling import PickledError
from .._xla import precision
from ..machine import AnyMachine, Lowered
from ..trajectory import Save, Trajectory
from .integrator import AbstractIntegrator, Euler
from .machine import Delivery, Equations, RateMachine, RateState
from .model import LayoutLike, RatePopulation, RateProjection, Uniform, problems_of
from .names import name_problems
from .solution import RateSolution


# Each delay is a delivery of its own in the program.
_MAX_DELAYS = 64


class InvalidNetwork(PickledError, ValueError):
    """A network that cannot be; `problems` are all that is wrong with it."""

    def __init__(self, problems: Sequence[str]):
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, eq=False, repr=False)
class RateNetwork(ComparedByValue):
    """Populations of neurons that send numbers, not spikes, and the projections between them.

    **Arguments:**

    - `dt`: the milliseconds of a step.
    - `integrator`: `Euler()`, `ExponentialEuler()` or `Diffrax(solver)`.
    - `dtype`: float32 or float64.
    - `record`: the variables to keep after each step, as pairs of a population and a variable; by
      default all rates.

    **Raises:** `InvalidNetwork` with everything that is wrong.

    ??? cite "Source"
        Dinkelbach et al. 2022, rate-coded networks. Differs from ANNarchy in: 1. a delay of 0 reads
        the rates at the beginning of the same step, which there is a delay of one step.
    """

    populations: Sequence[RatePopulation]
    projections: Sequence[RateProjection] = ()
    dt: float = field(default=1.0, kw_only=True)
    integrator: AbstractIntegrator = field(default=Euler(), kw_only=True)
    dtype: Any = field(default=np.float32, kw_only=True)
    record: Sequence[tuple[str, str]] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "populations", tuple(self.populations))
        object.__setattr__(self, "projections", tuple(self.projections))
        problems = problems_of(self.populations, self.projections, self.dt)
        if np.dtype(self.dtype) not in (np.float32, np.float64):
            problems.append(f"`dtype` is {np.dtype(self.dtype)}. Give float32 or float64.")
        if not isinstance(self.integrator, AbstractIntegrator):
            problems.append(
                f"`integrator` is {self.integrator!r:.60}. Give `rate.Euler()`, "
                "`rate.ExponentialEuler()` or `rate.Diffrax(solver)`."
            )
        for pair in self.record or ():
            hint = self._hint_for(*pair) if len(pair) == 2 else "give pairs of names"
            if hint:
                problems.append(f"`record` names {tuple(pair)}: {hint}.")
        if problems:
            raise InvalidNetwork(problems)

    def _hint_for(self, population: str, variable: str) -> str | None:
        """Say what is wrong with the name of a population or of its variable; `None` if nothing
        is."""
        variables = {p.name: p.initial for p in self.populations}
        if population not in variables:
            hint = nearest(str(population), variables, "populations")
            return f"there is no population {population!r} ({hint})"
        if variable not in variables[population]:
            hint = nearest(str(variable), variables[population], "variables")
            return f"there is no variable {variable!r} ({hint})"
        return None

    def __repr__(self) -> str:
        neurons = plural(sum(p.size for p in self.populations), "neuron")
        populations = plural(len(self.populations), "population")
        projections = plural(len(self.projections), "projection")
        return f"RateNetwork({populations}, {neurons}, {projections})"

    def lower(
        self,
        *,
        layout: LayoutLike = "auto",
        numbered: bool = False,
        paths: int = 1,
    ) -> Lowered[RateSolution, RateSolution]:
        """Lower the network to arrays, see `snpjax.lower`.

        **Arguments:**

        - `layout`: how the edges of projections with `layout="auto"` are stored.
        - `numbered`, `paths`: see `snpjax.machine.Model`; nothing is chosen here.

        **Raises:** `InvalidNetwork` for parameters and inputs that an equation reads and that do
        not exist; `NotEnoughMemory` for what does not fit; `ValueError` for a layout that cannot
        store such a projection, or a `choice`.
        """
        del paths
        if numbered:
            raise ValueError("A rate network chooses nothing. Leave `choice` out.")
        dtype = np.dtype(self.dtype)
        sizes = {p.name: p.size for p in self.populations}
        record = [(name, "r") for name in sizes] if self.record is None else self.record
        numbers = sum(p.size * (len(p.initial) + len(p.parameters)) for p in self.populations)
        what = f"{sum(sizes.values()):,} neurons need"
        check_free(2 * dtype.itemsize * numbers, free_bytes(), what, "Use fewer neurons.")
        with precision(dtype):
            problems = [*name_problems(self.populations, self.projections, dtype)]
            if problems:
                raise InvalidNetwork(problems)
            deliveries = [
                delivery
                for projection in self.projections
                for delivery in _deliveries(projection, sizes, self.dt, dtype, layout)
            ]
            delays: dict[str, list[int]] = {}
            for delivery in deliveries:
                if delivery.delay:
                    delays.setdefault(delivery.pre, []).append(delivery.delay)
            machine = RateMachine(
                populations={p.name: _equations(p, dtype) for p in self.populations},
                deliveries=tuple(deliveries),
                rows={name: max(some) + 1 for name, some in delays.items()},
                integrator=self.integrator,
                dt=self.dt,
                record=tuple((name, variable) for name, variable in record),
            )
        return Lowered(self, machine)

    def start(self, machine: AnyMachine, initial: Any, inputs: Any) -> tuple[AnyMachine, RateState]:
        """The initial state of a run that continues another one.

        **Arguments:**

        - `machine`: the lowered network.
        - `initial`: the `state` of an earlier solution.
        - `inputs`: must be `None`.

        **Raises:** `ValueError` for anything else.
        """
        if inputs is not None:
            raise ValueError("A rate network has no `inputs`. Build populations with `drive=`.")
        if not isinstance(initial, RateState):
            raise ValueError("`initial` is not a state of the network. Give `solution.state`.")
        hints = [self._hint_for(p, v) for p, some in initial.variables.items() for v in some]
        hints = [hint for hint in hints if hint] + [
            f"it has no {v!r} of population {p.name!r}"
            for p in self.populations
            for v in p.initial
            if v not in initial.variables.get(p.name, ())
        ]
        if hints:
            raise ValueError(
                f"`initial` is the state of another network: {hints[0]}. Give the `solution.state` "
                "of a run of this one."
            )
        return machine, initial

    def solution(self, trajectory: Trajectory) -> RateSolution:
        """What a run of one path saved, by the names of populations and variables."""
        return RateSolution(trajectory, self)

    def solutions(self, trajectory: Trajectory) -> RateSolution:
        """What a run of many paths saved: the same with an axis of paths."""
        return RateSolution(trajectory, self)

    def default_save(self, paths: int | None) -> Save:
        """What was asked to be recorded, but not the weights of every step."""
        del paths
        return Save(every=None, outputs=False)


def _equations(p: RatePopulation, dtype: np.dtype) -> Equations:
    def spread(value: Any) -> Array:
        return jnp.asarray(np.broadcast_to(np.asarray(value, dtype), (p.size,)))

    return Equations(
        initial={name: spread(value) for name, value in p.initial.items()},
        parameters={name: jnp.asarray(value, dtype) for name, value in p.parameters.items()},
        drive=None if p.drive is None else jnp.asarray(p.drive, dtype),
        equation=p.equation,
        drive_every=p.drive_every,
    )


def _deliveries(
    p: RateProjection, sizes: dict[str, int], dt: float, dtype: np.dtype, layout: LayoutLike
) -> list[Delivery]:
    """A delivery for each delay."""
    layout = layout if p.layout == "auto" else p.layout
    size = sizes[p.pre], sizes[p.post]
    delay = np.rint(np.asarray(p.delay, np.float64) / dt).astype(np.int64)  # steps

    def delivery(stored: AbstractLayout, delay: int, is_edge: PyTree | None = None) -> Delivery:
        return Delivery(stored, is_edge, p.plasticity, p.pre, p.post, p.target, delay)

    if layout == "auto" and delay.ndim == 0 and p.plasticity is None:
        own = _structured(p, *size, dtype)
        if own is not None:
            return [delivery(own, int(delay))]
    edges = p.edges(*size)
    assert edges.value is not None
    edges = Edges(edges.source, edges.target, edges.value.astype(dtype), *size)
    each = np.unique(delay)
    if len(each) > _MAX_DELAYS:
        raise ValueError(
            f"The projection from {p.pre!r} to {p.post!r} has {len(each)} different delays; each "
            f"is delivered on its own. Round them to at most {_MAX_DELAYS}."
        )
    return [
        delivery(stored, int(some), is_edge)
        for some in each
        for part in [edges if delay.ndim == 0 else edges.subset(delay == some)]
        for stored, is_edge in [_stored(part, p, layout)]
    ]


def _structured(
    p: RateProjection, num_sources: int, num_targets: int, dtype: np.dtype
) -> AbstractLayout | None:
    """The layout of a description whose edges have one weight, without listing them."""
    if not isinstance(p.graph, graphs.AllToAll | graphs.OneToOne):
        return None
    factor = p.graph.weight if p.weights is None else p.weights
    if isinstance(factor, Uniform) or np.ndim(factor) > 0:
        return None
    stored = replace(p.graph, weight=1).layout(num_sources, num_targets)
    return Scaled(stored, jnp.asarray(factor, dtype))


def _stored(
    edges: Edges, p: RateProjection, layout: LayoutLike
) -> tuple[AbstractLayout, PyTree | None]:
    """The edges in a layout, and which of its entries are edges if it stores pairs."""
    assert edges.value is not None
    trained = p.plasticity is not None
    workload = Workload(accumulate=edges.value.dtype, trained=trained)
    if not isinstance(layout, type):
        chooser = None if isinstance(layout, str) else layout
        layout = choose(edges, workload=workload, chooser=chooser).layout
    stored = fitting(layout, edges)
    if trained and not jax.tree.leaves(eqx.filter(stored, eqx.is_inexact_array)):
        raise ValueError(
            f"The projection from {p.pre!r} to {p.post!r} is plastic, but {layout.__name__} stores "
            'no weights of its own. Use ELL, or leave `layout` at "auto".'
        )
    if not isinstance(stored, BSR | Dense | Float32Dense):
        return stored, None
    ones = fitting(layout, replace(edges, value=np.ones_like(edges.value)))
    return stored, jax.tree.map(lambda x: x != 0, eqx.filter(ones, eqx.is_inexact_array))
