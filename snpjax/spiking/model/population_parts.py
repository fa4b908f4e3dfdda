"""Populations of neurons, and projections between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Int

from snpjax_formats import graphs
from snpjax_formats.by_value import ComparedByValue

from .neuron_names import NeuronNames
from .rule import Rule
from .template import PerNeuron, PlasticityTemplate, RuleTemplate, description_of, is_shared


@dataclass(frozen=True, eq=False)
class Population(ComparedByValue):
    """`size` neurons with the same rules, named `name[0]`, `name[1]`, ....

    `spikes` are the initial spikes, and `rules` texts, `Rule`s, `RuleTemplate`s or
    `PlasticityTemplate`s. With `indices`, `(size,)` or `(size, axes)`, the neurons are named
    `name{i}` or `name{i,j}` by them, as families in files are; with no axes the one neuron is named
    `name`.
    """

    name: str
    size: int
    spikes: PerNeuron = 0
    rules: Sequence[RuleTemplate | PlasticityTemplate | Rule | str] = ()
    indices: "Sequence[int] | Int[np.ndarray, 'neurons *axes'] | None" = None

    @cached_property
    def names(self) -> NeuronNames:
        """The names of the neurons."""
        if self.indices is None:
            return NeuronNames(self.name, self.size, None)
        indices = np.asarray(self.indices, np.int64)
        return NeuronNames(self.name, self.size, indices if indices.ndim == 2 else indices[:, None])

    @cached_property
    def templates(self) -> tuple[RuleTemplate | PlasticityTemplate, ...]:
        """All rules as templates."""
        rules = (self.rules,) if isinstance(self.rules, str) else self.rules
        if not isinstance(rules, Sequence):
            raise TypeError(f"{rules!r} are not rules (give a list)")
        return tuple(
            rule if isinstance(rule, PlasticityTemplate) else RuleTemplate.of(rule)
            for rule in rules
        )

    @cached_property
    def is_shared(self) -> bool:
        """Whether rules apply, consume, produce and delay alike in all neurons."""
        return all(map(is_shared, self.templates))


@dataclass(frozen=True, eq=False)
class Projection(ComparedByValue):
    """Synapses from all neurons of `source` to some of `target`.

    `graph` is a description of `snpjax.graphs` (all to all, one to one, intervals, pairs, random,
    blocks), a scipy.sparse matrix (rows are sources) or a networkx graph; weights are in it.
    """

    source: str
    target: str
    graph: graphs.AnyGraph = field(default_factory=graphs.AllToAll)

    @cached_property
    def description(self) -> graphs.AbstractGraph:
        """`graph` as a description."""
        return description_of(self.graph)
