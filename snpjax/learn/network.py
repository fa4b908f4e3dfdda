"""Networks of populations with trainable weights, as equinox modules."""

import abc
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from snpjax_formats import AbstractLayout, graphs

from ..choice import AbstractChoice
from ..spiking.model.population import PopulationSystem
from ..spiking.model.population_parts import Population, Projection
from ..spiking.model.rule import Rule
from .arguments import check_key, check_sent, relayed
from .coding import total
from .forward import forward, order_of
from .initial import weights_of
from .population import NeuronRange, PopulationRun, places_of
from .relaxed import AbstractSpikingModel, RelaxedSystem, constants_of, nameless, relax
from .response import Response, batch_hint
from .rules import Rules
from .run import RelaxedSolution, run
from .surrogate import AbstractSurrogate


class AbstractPopulationNetwork(eqx.Module):
    """Populations of which the first one gets spikes, and the last one responds.

    - `steps`: the length of each run.
    - `batch_first`: whether the batch is the first axis of counts and of what is returned, instead
      of the last one.
    """

    steps: eqx.AbstractVar[int]
    batch_first: eqx.AbstractVar[bool]

    @property
    @abc.abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """Neurons of each population."""

    @property
    @abc.abstractmethod
    def only_counts(self) -> bool:
        """Whether the outputs have no rules."""

    @property
    @abc.abstractmethod
    def most_relayed(self) -> int | None:
        """The most spikes that an input can send, if it sends all at once; else `None`."""

    @abc.abstractmethod
    def runs(
        self,
        counts: Float[Array | np.ndarray, "..."],
        input: Float[Array | np.ndarray, "..."] | None = None,
        *,
        keeps: Collection[int] = (),
    ) -> dict[int, PopulationRun]:
        """What populations do, where each neuron takes the first rule. The paths are always the
        last axis.

        **Arguments:**

        - `counts`, `input`: see `response`.
        - `keeps`: the populations whose spikes of all steps are kept.

        **Returns:** the runs of at least the last population and of those in `keeps`, by number.
        """

    def response(
        self,
        counts: Float[Array | np.ndarray, "..."],
        *,
        input: Float[Array | np.ndarray, "..."] | None = None,
    ) -> Response:
        """What the last population does.

        **Arguments:**

        - `counts`: `(inputs, *paths)` initial spikes of the inputs.
        - `input`: `(train, inputs, *paths)` spikes that arrive at the inputs from the environment,
          in up to `steps` steps: entry t at the end of step t + 1.

        With `batch_first` the axis of paths is the first one, of the arguments and of the result.

        **Returns:** a `Response`.

        **Raises:** `ValueError` for shapes that do not fit, and, unless they are traced, for NaN
        and for more spikes than inputs that send all at once have rules for.
        """
        return self.response_of(self.runs(counts, input))

    def response_of(self, runs: Mapping[int, PopulationRun]) -> Response:
        """The response in the runs of populations.

        **Arguments:**

        - `runs`: what `runs` returned.
        """
        found = Response(*runs[len(self.sizes) - 1][:2])
        return found.paths_first() if self.batch_first and found.spikes.ndim > 1 else found

    def __call__(self, counts: Float[Array | np.ndarray, "..."]) -> Float[Array, "..."]:
        """How many spikes leave each output neuron, or remain in it where it has no rules; a second
        axis is a batch, which is the first one with `batch_first`."""
        found = self.response(counts)
        if self.only_counts:
            return found.spikes
        return total(found.trains, batch_first=self.batch_first and found.spikes.ndim > 1)


def checked_counts(
    network: AbstractPopulationNetwork, counts: Float[Array | np.ndarray, "..."]
) -> Float[Array, "inputs *paths"]:
    """Counts of the inputs, with the paths last."""
    counts, size = jnp.asarray(counts, jnp.float32), network.sizes[0]
    if not 1 <= counts.ndim <= 2 or counts.shape[-1 if network.batch_first else 0] != size:
        batch = f"(paths, {size})" if network.batch_first else f"({size}, paths)"
        hint = batch_hint(counts, size, network.batch_first)
        raise ValueError(f"`counts` has the shape {counts.shape}. Give ({size},) or {batch}.{hint}")
    check_sent(counts, "counts", lambda: network.most_relayed)
    return counts.T if network.batch_first else counts


def checked_input(
    network: AbstractPopulationNetwork,
    input: Float[Array | np.ndarray, "..."] | None,
    counts: Float[Array, "inputs *paths"],
) -> Float[Array, "steps inputs *paths"] | None:
    """What arrives at the inputs in all steps, with the paths last."""
    if input is None:
        return None
    input = jnp.asarray(input, jnp.float32)
    check_sent(input, "input", lambda: network.most_relayed)
    is_moved = network.batch_first and counts.ndim == 2
    moved = jnp.moveaxis(input, 0, -1) if is_moved and input.ndim else input
    if moved.ndim == 0 or len(moved) > network.steps or moved.shape[1:] != counts.shape:
        size, *paths = counts.shape
        wanted = ("steps", size, *paths) if not is_moved else (*paths, "steps", size)
        raise ValueError(
            f"`input` has the shape {input.shape}. Give ({', '.join(map(str, wanted))}), with up "
            f"to {network.steps} steps."
        )
    return jnp.pad(moved, ((0, network.steps - len(moved)), *((0, 0),) * counts.ndim))


class SpikingNetwork(AbstractPopulationNetwork, AbstractSpikingModel):
    """Populations of neurons, each with rules of its own, and projections between some of them with
    trainable weights: an exact SN P system with gradients.

    Where projections make no cycle the populations run one after the other, each once what it
    receives in all steps is known: few large products take the place of many small ones, and no
    population carries the rules of another one. The values are the same, and the gradients.

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
        check_key(key)
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

    @property
    def only_counts(self) -> bool:
        """Whether the outputs have no rules."""
        return self.places[-1].slots == 0

    @property
    def most_relayed(self) -> int | None:
        if any(target == 0 for _, target in self.projections):
            return None  # what arrives may be negative
        return relayed(self.model, self.places[0].neurons)

    def runs(
        self,
        counts: Float[Array | np.ndarray, "..."],
        input: Float[Array | np.ndarray, "..."] | None = None,
        *,
        keeps: Collection[int] = (),
    ) -> dict[int, PopulationRun]:
        order = order_of(len(self.places), self.projections)
        spikes, given = self.initial_spikes(counts), checked_counts(self, counts)
        input = checked_input(self, input, given)
        if order is not None:
            layout = nameless(self.model), self.places, self.projections, order
            return forward(*layout, spikes, input, self.steps, tuple(keeps))
        num, asked = len(self.model.names), sorted({len(self.places) - 1, *keeps})
        own = [self.places[p].neurons for p in asked]
        outputs = jnp.concatenate([jnp.arange(at.start, at.stop) for at in own])
        program = replace(self.model.program, outputs=outputs)
        model = replace(self.model, program=program, num_outputs=len(outputs))
        if input is not None:
            others = (0, num - len(given)), *((0, 0),) * (given.ndim - 1)
            input = jnp.pad(input, ((0, 0), *others))
        options = {"input": input, "keep_configurations": bool(keeps)}
        solution = run(model, steps=self.steps, spikes=spikes, **options)
        found, start = {}, 0
        for p, at in zip(asked, own, strict=True):
            trains, kept = solution.outputs[:, start : start + self.sizes[p]], None
            if solution.configurations is not None and p in keeps:
                kept = solution.configurations[:, at]
            found[p] = PopulationRun(trains, solution.spikes[at], kept)
            start += self.sizes[p]
        return found

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
        counts = checked_counts(self, counts)
        own = constants_of(self.model).initial[self.sizes[0] : len(self.model.names)]
        own = jnp.reshape(own, (-1, *(1,) * (counts.ndim - 1)))
        own = jnp.broadcast_to(own, (len(own), *counts.shape[1:]))
        return jnp.concatenate([counts, own])


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
