"""A rate-coded network as arrays: a machine whose step is a pure function."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from snpjax_formats import AbstractLayout, Edges

from .._text.nearest import nearest
from ..choice import AbstractChoice, FirstChoice
from ..machine import AbstractMachine, Record, fresh_state
from ..results import RESULTS
from .equation import Derivative, Update, Variables
from .integrator import AbstractIntegrator, InputArrays, PopulationVariables
from .plasticity import Plasticity


class RateState(NamedTuple):
    """The state between two steps.

    Axes: `neurons` are those of one population; `rows` of `past` are the last rates, the one of
    step t in row t modulo rows. `weights` are those of plastic projections, by number, as their
    layouts store them. With many paths every array has `paths` last.
    """

    step: Int[Array, "*paths"]
    variables: dict[str, dict[str, Float[Array, "neurons *paths"]]]
    past: dict[str, Float[Array, "rows neurons *paths"]]
    weights: dict[str, PyTree[Float[Array, "..."]]]


class Delivery(eqx.Module):
    """One projection, or its edges of one delay.

    - `is_edge`: the entries of a layout of pairs that are edges. The others stay 0, whatever
      plasticity or a gradient does to them.
    """

    layout: AbstractLayout
    is_edge: PyTree[Bool[Array, "..."]] | None  # None: the layout stores edges only
    plasticity: Plasticity | None = eqx.field(static=True)
    pre: str = eqx.field(static=True)
    post: str = eqx.field(static=True)
    target: str = eqx.field(static=True)
    delay: int = eqx.field(static=True)  # steps


class Equations(eqx.Module):
    """One population: its parameters, what drives it, and where its variables start."""

    initial: dict[str, Float[Array, " neurons"]]
    parameters: dict[str, Float[Array, " *neurons"]]
    drive: Float[Array, "rows neurons"] | None
    equation: Derivative | Update = eqx.field(static=True)
    drive_every: int = eqx.field(static=True)


class RateMachine(AbstractMachine):
    """A network to be stepped. Initial values, parameters, drives and weights are leaves of floats:
    what `equinox.filter_grad` differentiates by.

    In each step every population computes its inputs from the rates at the step's beginning, or
    `delay` steps before it (before the start: the initial ones); all populations move at once; then
    plastic weights change, from the new rates. Nothing ever halts.
    """

    populations: dict[str, Equations]
    deliveries: tuple[Delivery, ...]
    rows: dict[str, int] = eqx.field(static=True)  # of the past, by population
    integrator: AbstractIntegrator = eqx.field(static=True)
    dt: float = eqx.field(static=True)
    record: tuple[tuple[str, str], ...] = eqx.field(static=True)

    def init(self) -> RateState:
        variables = {name: dict(p.initial) for name, p in self.populations.items()}
        past = {
            name: jnp.broadcast_to(r := variables[name]["r"], (rows, *r.shape))
            for name, rows in self.rows.items()
        }
        weights = {
            str(i): eqx.filter(d.layout, eqx.is_inexact_array)
            for i, d in enumerate(self.deliveries)
            if d.plasticity is not None
        }
        return fresh_state(RateState(jnp.zeros((), jnp.int32), variables, past, weights))

    def step(self, state: RateState, choice: AbstractChoice) -> tuple[RateState, Record]:
        if not isinstance(choice, FirstChoice):
            raise ValueError("A rate network chooses nothing. Leave `choice` out.")
        if state.step.ndim:
            return jax.vmap(self._step, in_axes=-1, out_axes=-1)(state)
        return self._step(state)

    def halted(self, state: RateState) -> Bool[Array, "*paths"]:
        return jnp.zeros(state.step.shape, bool)

    def status(self, state: RateState) -> Any:
        return jax.tree.map(lambda x: jnp.broadcast_to(x, state.step.shape), RESULTS.halted)

    def derivative(
        self, state: PopulationVariables, step: Int[Array, ""] | None = None
    ) -> PopulationVariables:
        """The derivatives of all populations: the right-hand side for a solver of differential
        equations, such as `diffrax.ODETerm(lambda t, y, args: machine.derivative(y))`.

        **Arguments:**

        - `state`: the variables of all populations, by name.
        - `step`: the step whose `drive` arrives; by default the first.

        **Returns:** the derivatives in the shape of `state`, for one millisecond.

        **Raises:** `ValueError` for a network with updates or delays, which is not a differential
        equation.
        """
        if any(isinstance(p.equation, Update) for p in self.populations.values()) or self.rows:
            raise ValueError(
                "A network with an `Update` or with delays is not a differential equation. Run it "
                "with `snpjax.run` or `snpjax.rate.simulate`."
            )
        start = self.init()
        step = start.step if step is None else step
        inputs = self._arriving(start._replace(step=step), state)
        return {name: dict(self._local(name, y, inputs[name])) for name, y in state.items()}

    def edges(self, delivery: int, state: RateState | None = None) -> Edges:
        """The edges of a delivery on the host.

        **Arguments:**

        - `delivery`: its number; projections have a delivery for each of their delays, in their
          order.
        - `state`: the state of one path, whose weights the edges have; by default the initial
          weights.
        """
        own = self.deliveries[delivery]
        weights = None if state is None else state.weights.get(str(delivery))
        edges = _with_weights(own, weights).edges()
        if own.is_edge is None:
            return edges
        # A layout of pairs lists no edge whose weight is 0.
        ones = jax.tree.map(lambda x: x.astype(np.float32), own.is_edge)
        listed = _with_weights(own, ones).edges()
        assert edges.value is not None
        value = np.concatenate([np.zeros(len(listed), edges.value.dtype), edges.value])
        pairs = ((listed.source, edges.source), (listed.target, edges.target))
        source, target = map(np.concatenate, pairs)
        return Edges(source, target, value, edges.num_sources, edges.num_targets).canonical()

    def _step(self, state: RateState) -> tuple[RateState, Record]:
        past = {
            name: lax.dynamic_update_index_in_dim(
                buffer, state.variables[name]["r"], state.step % buffer.shape[0], 0
            )
            for name, buffer in state.past.items()
        }
        state = state._replace(past=past)

        def arriving(moving: PopulationVariables) -> InputArrays:
            return self._arriving(state, moving)

        moving: PopulationVariables = {
            name: own
            for name, own in state.variables.items()
            if isinstance(self.populations[name].equation, Derivative)
        }
        new: dict[str, Variables] = {}
        if moving:
            new |= self.integrator.advance(arriving, self._local, moving, self.dt)
        if len(moving) < len(state.variables):
            inputs = arriving({})
            for name, own in state.variables.items():
                if name not in moving:
                    new[name] = self._local(name, own, inputs[name])
        variables = {name: _typed(new[name], own) for name, own in state.variables.items()}
        weights = {
            number: self._learned(self.deliveries[int(number)], held, variables)
            for number, held in state.weights.items()
        }
        detail = {name: {} for name, _ in self.record}
        for name, variable in self.record:
            detail[name][variable] = variables[name][variable]
        state = RateState(state.step + 1, variables, past, weights)
        return state, Record(None, detail, jnp.ones((), bool))

    def _arriving(self, state: RateState, moving: Mapping[str, Variables]) -> InputArrays:
        """The inputs of all populations, where those in `moving` are there."""
        inputs: dict[str, dict[str, Array]] = {name: {} for name in self.populations}
        for name, population in self.populations.items():
            if population.drive is not None:
                row = state.step // population.drive_every
                drive = population.drive.at[row].get(mode="fill", fill_value=0)
                inputs[name]["drive"] = drive
        for number, delivery in enumerate(self.deliveries):
            if delivery.delay:
                buffer = state.past[delivery.pre]
                row = (state.step - delivery.delay) % buffer.shape[0]
                r = lax.dynamic_index_in_dim(buffer, row, keepdims=False)
            else:
                r = moving.get(delivery.pre, state.variables[delivery.pre])["r"]
            layout = _with_weights(delivery, state.weights.get(str(number)))
            y = layout.deliver(r, accumulate=r.dtype)
            of = inputs[delivery.post]
            of[delivery.target] = of[delivery.target] + y if delivery.target in of else y
        return inputs

    def _local(self, name: str, variables: Variables, inputs: Mapping[str, Array]) -> Variables:
        population = self.populations[name]
        new = population.equation.function(variables, inputs, population.parameters)
        for variable in variables:
            if variable not in new:
                hint = nearest(variable, new, "variables")
                raise ValueError(
                    f"The equation of population {name!r} gives nothing for {variable!r} of "
                    f"`initial` ({hint}). Let it return all variables."
                )
        for variable in new:
            if variable not in variables:
                hint = nearest(variable, variables, "variables")
                raise ValueError(
                    f"The equation of population {name!r} gives {variable!r}, which is not in "
                    f"`initial` ({hint}). Add it there."
                )
        return new

    def _learned(
        self, delivery: Delivery, weights: PyTree, variables: Mapping[str, Variables]
    ) -> PyTree:
        assert delivery.plasticity is not None
        pre, post = variables[delivery.pre]["r"], variables[delivery.post]["r"]
        leaves, tree = jax.tree.flatten(weights)

        def products_of(leaf: int) -> Callable[[Array, Array], Array]:
            def products(x: Array, g: Array) -> Array:
                return jax.tree.leaves(delivery.layout.edge_products(x, g))[leaf]

            return products

        change = delivery.plasticity.function
        new = [change(w, products_of(i), pre, post) for i, w in enumerate(leaves)]
        typed = [x.astype(w.dtype) for x, w in zip(new, leaves, strict=True)]
        return _of_edges(delivery, jax.tree.unflatten(tree, typed))


def _with_weights(delivery: Delivery, weights: PyTree | None) -> AbstractLayout:
    """The layout with other weights than its own, where these are not `None`."""
    own, rest = eqx.partition(delivery.layout, eqx.is_inexact_array)
    if weights is None and delivery.is_edge is None:
        return delivery.layout
    return eqx.combine(_of_edges(delivery, own if weights is None else weights), rest)


def _of_edges(delivery: Delivery, weights: PyTree) -> PyTree:
    """The weights, 0 where there is no edge."""
    if delivery.is_edge is None:
        return weights
    return jax.tree.map(lambda x, is_edge: jnp.where(is_edge, x, 0), weights, delivery.is_edge)


def _typed(new: Variables, old: Variables) -> dict[str, Array]:
    """The new variables, of the types and the shapes of the old ones."""
    return {
        name: jnp.broadcast_to(jnp.asarray(new[name]).astype(x.dtype), x.shape)
        for name, x in old.items()
    }
