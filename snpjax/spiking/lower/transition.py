"""Rules as the rows of the transition matrix M of the papers, in any layout."""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from snpjax_formats import AbstractLayout, Edges, bucket, device_array
from snpjax_formats.stored import SMALL

from ...choice import NO_RULE
from ...machine import AbstractStorage
from ..model.rule import Rule
from ..model.system import SpikingSystem, dynamic_message
from ..step.program import RuleRows
from .host_program import edges_of, padded_neurons


@dataclass(frozen=True)
class Transition(AbstractStorage):
    """Store the rules as the rows of the transition matrix M of the papers, in `layout`.

    `Transition(Dense)` is the papers' *Sparse* form, `Transition(Compressed)` their *ELL*. Every
    rule is kept. A system with delays, for which C_t = C_{t-1} + S_t M is not exact, stores
    consumption and weights separately, both in `layout`.
    """

    layout: type[AbstractLayout]


def transition_edges(system: SpikingSystem, *, production: bool = True) -> Edges:
    """The transition matrix M of a static system as edges from rules to neurons.

    **Arguments:**

    - `system`: a system of neurons. Rules are numbered consecutively through the neurons in order.
    - `production`: include what rules produce; otherwise the result is -K, the consumption.

    **Returns:** a canonical list of edges with 64-bit values, in which a synapse of a neuron with
    itself is added to the consumption.

    **Raises:** `NotImplementedError` for a network that changes; `ValueError` where an entry does
    not fit 64 bits.
    """
    owner, _, rules = NumberedRules.of(system)
    consume = [rule.consume for rule in rules]
    produce = [rule.produce for rule in rules]
    edges = edges_of(system)
    weight = np.ones(len(edges), np.int64) if edges.value is None else edges.value
    largest = max(consume, default=0)
    if production:
        largest += max(produce, default=0) * int(np.abs(weight).max(initial=0))
    if largest >= 2**63:
        raise ValueError(f"An entry of the transition matrix may be {largest}, above 64 bits.")
    source = np.arange(len(rules))
    value = -np.asarray(consume, np.int64)
    target = owner
    if production and len(rules):
        from scipy.sparse import coo_array, csr_array  # which takes long to import

        size = len(system.neurons)
        produced = csr_array((produce, (source, owner)), (len(rules), size), dtype=np.int64)
        produced.eliminate_zeros()
        weights = csr_array((weight, (edges.source, edges.target)), (size, size), dtype=np.int64)
        sent = coo_array(produced @ weights)
        source = np.concatenate([source, sent.row])
        target = np.concatenate([target, sent.col])
        value = np.concatenate([value, sent.data])
    return Edges(source, target, value, len(rules), edges.num_targets).canonical()


def padded_rows(system: SpikingSystem) -> Edges:
    """M, or -K with delays, on as many rules and neurons as a program has."""
    matrix = transition_edges(system, production=not has_delays(system))
    size = padded_neurons(matrix.num_targets)
    num_rules = bucket(matrix.num_sources, at_least=32 if size <= SMALL else 1)
    return matrix.resized(num_rules, size)


def rule_rows(system: SpikingSystem, matrix: AbstractLayout) -> RuleRows:
    """The stored `padded_rows`, with the rule that each stands for."""
    owner, number, _ = NumberedRules.of(system)
    padding = (0, matrix.num_sources - len(owner))
    return RuleRows(
        matrix=matrix,
        neuron=device_array(np.pad(owner, padding), jnp.int32),
        number=device_array(np.pad(number, padding, constant_values=NO_RULE - 1), jnp.int32),
        has_production=not has_delays(system),
    )


def has_delays(system: SpikingSystem) -> bool:
    """Whether any rule has a delay, so that C_t = C_{t-1} + S_t M is not exact."""
    return any(isinstance(rule, Rule) and rule.delay > 0 for rule in system.rules)


class NumberedRules(NamedTuple):
    """The rules of a static system through its neurons in order, with the neuron of each and its
    number there."""

    owner: Int[np.ndarray, " rules"]
    number: Int[np.ndarray, " rules"]
    rules: list[Rule]

    @classmethod
    def of(cls, system: SpikingSystem) -> "NumberedRules":
        """**Raises:** `NotImplementedError` for a system that is not static."""
        if not system.is_static:
            raise NotImplementedError(dynamic_message(system, "A transition matrix"))
        counts = np.asarray([len(neuron.rules) for neuron in system.neurons], np.int64)
        owner = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return cls(owner, number, [rule for rule in system.rules if isinstance(rule, Rule)])
