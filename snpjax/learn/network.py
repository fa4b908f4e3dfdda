"""Networks of populations with trainable weights, as equinox modules."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from snpjax_formats import AbstractLayout, graphs

from ..choice import AbstractChoice
from ..spiking.model.population import PopulationSystem
from ..spiking.model.population_parts import Population, Projection
from ..spiking.model.rule import Rule
from .coding import total
from .forward import forward, order_of
from .initial import weights_of
from .population import NeuronRange, places_of
from .relaxed import AbstractSpikingModel, RelaxedSystem, constants_of, nameless, relax
from .rules import Rules
from .run import RelaxedSolution, run
from .surrogate import AbstractSurrogate


class Response(NamedTuple):
    """What the output population did.

    - `trains`: the spikes that left each neuron in each step.
    - `spikes`: those that are left in it.
    """

    trains: Float[Array, "steps outputs *paths"]
    spikes: Float[Array, "outputs *paths"]

    def paths_first(self) -> "Response":
        """The response with its last axis as the first one."""
        return Response(*(jnp.moveaxis(x, -1, 0) for x in self))


class SpikingNetwork(AbstractSpikingModel):
    """Populations of neurons, each with rules of its own, and projections between some of them with
    trainable weights: an exact SN P system with gradients.

    - `model`: the system; `to_system(network)` is the exact one. Neuron i of population p is
      called `p{i}`, from 0 both.
    - `batch_first`: whether the batch is the first axis of counts and of what is returned, instead
      of the last one.
    """

    model: RelaxedSystem
    places: tuple[NeuronRange, ...] = eqx.field(static=True)
    projections: tuple[tuple[int, int], ...] = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    batch_first: bool = eqx.field(static=True)

    def __init__(
        self,
        sizes: Sequence[int],
        rules: Sequence[Rules],
        /,
        *,
        key: Key[Array, ""],
        steps: int,
        projections: Sequence[tuple[int, int] | tuple[int, int, graphs.AnyGraph]] | None = None,
        weight_range: tuple[float, float] = (-3, 3),
        scale: float | None = None,
        surrogate: AbstractSurrogate | None = None,
        layout: type[AbstractLayout] | Literal["auto"] = "auto",
        batch_first: bool = False,
    ):
        """**Arguments:**

        - `sizes`: the number of neurons of each population; the first is the input, the last the
          output.
        - `rules`: the rules of each population: one, several or none.
        - `key`: for the initial weights; it is consumed.
        - `steps`: the length of each run.
        - `projections`: pairs of populations, from and to, or triples with a graph, as that of a
          `snpjax.Projection`; by default each to the next one. Without a graph, all to all.
        - `weight_range`: the smallest and the largest weight.
        - `scale`: draw the initial weights from a normal distribution with this standard deviation.
          By default its width and the share of positive weights are such that the populations fire
          at first: a neuron receives about twice what its guard asks for, on average, if its
          sources send a few spikes each.
        - `surrogate`, `layout`: see `relax`.
        - `batch_first`: put the batch first, in counts `(paths, inputs)` and in what `response`
          and calls return, `(paths, steps, outputs)` and `(paths, outputs)`.

        **Raises:** `ValueError` for populations or projections that do not fit together.
        """
        if projections is None:
            projections = [(p, p + 1) for p in range(len(sizes) - 1)]
        given = [tuple(projection) for projection in projections]
        _check(sizes, rules, given)
        system = PopulationSystem(
            [
                Population(
                    str(p),
                    size,
                    rules=[own] if isinstance(own, str | Rule) else list(own),
                    indices=range(size),
                )
                for p, (size, own) in enumerate(zip(sizes, rules, strict=True))
            ],
            [
                Projection(str(own[0]), str(own[1]), own[2] if len(own) == 3 else graphs.AllToAll())
                for own in projections
            ],
            output=str(len(sizes) - 1),
            signed=weight_range[0] < 0,
        )
        model = relax(system, surrogate=surrogate, layout=layout, weight_range=weight_range)
        self.places = places_of(model, sizes)
        self.projections = tuple((own[0], own[1]) for own in projections)
        given = model, self.places, self.projections, steps, scale, key
        weights = weights_of(*given)
        self.model = eqx.tree_at(lambda model: model.synapses, model, weights)
        self.steps = steps
        self.batch_first = batch_first

    @property
    def sizes(self) -> tuple[int, ...]:
        """Neurons of each population."""
        return tuple(place.size for place in self.places)

    def run(
        self, counts: Float[Array | np.ndarray, "..."], *, choice: AbstractChoice | None = None
    ) -> RelaxedSolution:
        """Run all neurons together.

        **Arguments:**

        - `counts`: `(inputs, *paths)` initial spikes of the input population, or `(*paths, inputs)`
          with `batch_first`; the others start with those of the model.
        - `choice`: as in `snpjax.run`; by default the first applicable rule.

        **Returns:** a `RelaxedSolution`, whose paths are the last axis always.

        **Raises:** `ValueError` for counts of another shape.
        """
        return run(self.model, steps=self.steps, spikes=self.initial_spikes(counts), choice=choice)

    def response(self, counts: Float[Array | np.ndarray, "..."]) -> Response:
        """What the output population does in that run where each neuron takes the first rule.

        Where projections make no cycle the populations run one after the other, each once what it
        receives in all steps is known: few large products take the place of many small ones, and no
        population carries the rules of another one. The values are the same, and the gradients.
        """
        order = order_of(len(self.places), self.projections)
        spikes = self.initial_spikes(counts)
        if order is None:
            solution = run(self.model, steps=self.steps, spikes=spikes)
            found = Response(solution.outputs, solution.spikes[self.places[-1].neurons])
        else:
            model = nameless(self.model)
            given = model, self.places, self.projections, order, spikes, self.steps
            found = Response(*forward(*given)[len(self.places) - 1][:2])
        return found.paths_first() if self.batch_first and counts.ndim == 2 else found

    def __call__(self, counts: Float[Array | np.ndarray, "..."]) -> Float[Array, "..."]:
        """How many spikes leave each output neuron, or remain in it where it has no rules; a second
        axis is a batch, which is the first one with `batch_first`."""
        found = self.response(counts)
        if self.places[-1].slots == 0:
            return found.spikes
        return total(found.trains, batch_first=self.batch_first and counts.ndim == 2)

    def initial_spikes(
        self, counts: Float[Array | np.ndarray, "..."]
    ) -> Float[Array, "neurons *paths"]:
        """The spikes of all neurons before the first step.

        **Arguments:**

        - `counts`: `(inputs, *paths)` spikes of the input population, or `(*paths, inputs)` with
          `batch_first`.

        **Returns:** `(neurons, *paths)` those, and the model's own in all other populations, to be
        given to `run(network.model, spikes=...)`. The paths are always the last axis.

        **Raises:** `ValueError` for counts of another shape.
        """
        counts = jnp.asarray(counts, jnp.float32)
        size, axis = self.sizes[0], counts.ndim - 1 if self.batch_first else 0
        if not 1 <= counts.ndim <= 2:
            raise ValueError(
                f"`counts` has the shape {counts.shape}. Give one axis, or two with a batch; "
                "`jax.vmap` adds others."
            )
        if counts.shape[axis] != size:
            hint = batch_hint(counts, size, self.batch_first)
            which = "columns" if axis else "rows"
            raise ValueError(f"`counts` has {counts.shape[axis]} {which}. Give {size}.{hint}")
        if self.batch_first:
            counts = counts.T
        own = constants_of(self.model).initial[self.sizes[0] : len(self.model.names)]
        own = jnp.reshape(own, (-1, *(1,) * (counts.ndim - 1)))
        own = jnp.broadcast_to(own, (len(own), *counts.shape[1:]))
        return jnp.concatenate([counts, own])


def check_train(
    train: Float[Array, "..."], steps: int, inputs: int, batch_first: bool = False
) -> None:
    """Refuse a train of another number of inputs, or of more steps."""
    is_moved = batch_first and train.ndim == 3
    length, size = (*train.shape, 0, 0)[is_moved : is_moved + 2]
    if not 2 <= train.ndim <= 3 or length > steps or size != inputs:
        where = "first" if batch_first else "third"
        raise ValueError(
            f"`train` has the shape {train.shape}. Give up to {steps} steps of {inputs} neurons, "
            f"and `paths` as a {where} axis if there are several."
            + (batch_hint(train, inputs, batch_first) if train.ndim == 3 else "")
        )


def batch_hint(given: Float[Array, "..."], size: int, batch_first: bool) -> str:
    """How to fix an array whose batch is on the other side than expected; else nothing."""
    if given.ndim < 2 or given.shape[-2 if batch_first else -1] != size:
        return ""
    if batch_first:
        return " The batch is the first axis here: move it, or leave `batch_first` out."
    return " The batch is the last axis here: move it, or make the model with `batch_first=True`."


def _check(sizes: Sequence[int], rules: Sequence[Rules], projections: Sequence[tuple]) -> None:
    problems = []
    if len(sizes) < 2 or min(sizes) < 1 or len(rules) != len(sizes):
        problems.append(
            f"There are {len(sizes)} sizes and {len(rules)} rules. Give two populations or more, "
            "of 1 neuron or more, and rules for each."
        )
    problems += [
        f"Projection {(p, q)} names no population of {len(sizes)}."
        for p, q, *_ in projections
        if not 0 <= min(p, q) <= max(p, q) < len(sizes)
    ]
    twice = {(p, q) for p, q, *_ in projections if [x[:2] for x in projections].count((p, q)) > 1}
    problems += [f"Projection {pair} is given twice. Join its graphs." for pair in sorted(twice)]
    if problems:
        raise ValueError("\n".join(problems))
