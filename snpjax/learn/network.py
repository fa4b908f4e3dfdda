"""Layers of neurons with trainable weights, as equinox modules."""

from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Key

from snpjax_formats import AbstractLayout

from ..choice import AbstractChoice
from ..spiking.rule import Rule
from ..spiking.system import Neuron, SpikingSystem
from .coding import total
from .relaxed import RelaxedSystem, relax
from .run import RelaxedSolution, run
from .surrogate import AbstractSurrogate


#: Sends its spikes one by one.
SENDER = "a+/a -> a"


class SpikingNetwork(eqx.Module):
    """Populations of neurons, each with rules of its own, and all-to-all projections between some
    of them with trainable weights: an exact SN P system with gradients.

    - `model`: the system; `to_system(network.model)` is the exact one. Neuron i of population p is
      called `p{i}`, from 0 both.
    """

    model: RelaxedSystem
    sizes: tuple[int, ...] = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    def __init__(
        self,
        sizes: Sequence[int],
        rules: Sequence[str | Rule | Sequence[str | Rule]],
        /,
        *,
        key: Key[Array, ""],
        steps: int,
        projections: Sequence[tuple[int, int]] | None = None,
        weight_range: tuple[int, int] = (-3, 3),
        surrogate: AbstractSurrogate | None = None,
        layout: type[AbstractLayout] | Literal["auto"] = "auto",
    ):
        """**Arguments:**

        - `sizes`: neurons of each population; the first is the input, the last the output.
        - `rules`: of each population: one rule or several.
        - `key`: for the first weights, which are uniform in `weight_range`; it is consumed.
        - `steps`: of each run.
        - `projections`: pairs of populations, from and to; by default each to the next one.
        - `surrogate`, `layout`: see `relax`.

        **Raises:** `ValueError` for populations or projections that do not fit together.
        """
        if len(sizes) < 2 or min(sizes) < 1 or len(rules) != len(sizes):
            raise ValueError(
                f"There are {len(sizes)} sizes and {len(rules)} rules. Give two populations or "
                "more, of 1 neuron or more, and rules for each."
            )
        if projections is None:
            projections = [(p, p + 1) for p in range(len(sizes) - 1)]
        wrong = [(p, q) for p, q in projections if not 0 <= min(p, q) <= max(p, q) < len(sizes)]
        if wrong:
            raise ValueError(f"Projection {wrong[0]} names no population of {len(sizes)}.")
        names = [[f"{p}{{{i}}}" for i in range(size)] for p, size in enumerate(sizes)]
        neurons = [
            Neuron(name, 0, [own] if isinstance(own, str | Rule) else list(own))
            for own, population in zip(rules, names, strict=True)
            for name in population
        ]
        system = SpikingSystem(
            neurons,
            [(x, y) for p, q in projections for x in names[p] for y in names[q]],
            output=names[-1],
            signed=weight_range[0] < 0,
            level="extended",
        )
        model = relax(system, surrogate=surrogate, layout=layout, weight_range=weight_range)
        weights, rest = eqx.partition(model.synapses, eqx.is_inexact_array)
        leaves, tree = jax.tree.flatten(weights)
        drawn = [
            jnp.where(is_one, jr.uniform(key, x.shape, minval=low, maxval=most), 0)
            for x, is_one in zip(leaves, jax.tree.leaves(model.is_synapse), strict=True)
            for low, most in [weight_range]
        ]
        synapses = eqx.combine(jax.tree.unflatten(tree, drawn), rest)
        self.model = eqx.tree_at(lambda model: model.synapses, model, synapses)
        self.sizes, self.steps = tuple(sizes), steps

    def run(
        self, counts: Float[Array, "inputs *paths"], *, choice: AbstractChoice | None = None
    ) -> RelaxedSolution:
        """The run that starts with so many spikes in the input population, and none elsewhere."""
        if counts.shape[0] != self.sizes[0]:
            raise ValueError(f"`counts` has {counts.shape[0]} rows. Give {self.sizes[0]}.")
        others = ((0, sum(self.sizes[1:])), *((0, 0),) * (counts.ndim - 1))
        return run(self.model, steps=self.steps, spikes=jnp.pad(counts, others), choice=choice)

    def __call__(self, counts: Float[Array, "inputs *paths"]) -> Float[Array, "outputs *paths"]:
        """How many spikes leave each output neuron; a second axis is a batch."""
        return total(self.run(counts).outputs)
