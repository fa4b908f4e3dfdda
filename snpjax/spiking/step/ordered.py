"""Synapses in the order in which they were declared, for a simulator that stops in it."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Num

from snpjax_formats import Edges, bucket
from snpjax_formats.ell import expanded

from .shapes import Counts, Flags


class OrderedSynapses(eqx.Module):
    """Delivers the emission of a neuron synapse by synapse, up to the first closed target.

    Axes: `synapses`, those of one source side by side in the order of the system, padded to a
    bucket with synapses between neurons that do not exist. `first` is the place of the first
    synapse of the same source.

    ??? cite "Source"
        The *Compressed* kernel of sparse_snp, which breaks out of its loop there.
    """

    sources: Int[Array, " synapses"]
    targets: Int[Array, " synapses"]
    first: Int[Array, " synapses"]
    weights: Num[Array, " synapses"] | None  # None: every synapse weighs 1

    @classmethod
    def of(cls, edges: Edges) -> "OrderedSynapses":
        """The synapses of a system, `edges` in their order, on as many neurons as a program
        has."""
        order = np.argsort(edges.source, kind="stable")
        source = edges.source[order]
        first = np.searchsorted(source, source)
        padding = (0, bucket(len(edges)) - len(edges))

        def padded(values: np.ndarray, missing: int) -> Array:
            return jnp.asarray(np.pad(values, padding, constant_values=missing))

        return cls(
            sources=padded(source.astype(np.int32), edges.num_sources),
            targets=padded(edges.target[order].astype(np.int32), edges.num_targets),
            first=padded(first.astype(np.int32), 0),
            weights=None if edges.value is None else padded(edges.value[order], 1),
        )

    def deliver(self, emissions: Counts, is_closed: Flags) -> Counts:
        """What arrives at each neuron."""
        closed = is_closed.at[self.targets].get(mode="fill", fill_value=False).astype(jnp.int32)
        before = jnp.cumsum(closed, axis=0, dtype=jnp.int32) - closed
        is_reached = before == before[self.first]
        sent = emissions.at[self.sources].get(mode="fill", fill_value=0)
        if self.weights is not None:
            sent = sent * expanded(self.weights, sent.ndim).astype(sent.dtype)
        sent = jnp.where(is_reached, sent, 0)
        return jnp.zeros_like(emissions).at[self.targets].add(sent, mode="drop")
