"""An SN P system as arrays."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int

from snpjax_formats import AbstractLayout
from snpjax_formats.ell import expanded

from ..model.compatibility import Compatibility
from .exchange import Exchange
from .network import AbstractNetwork
from .ordered import OrderedSynapses
from .requests import RequestedSpikes
from .shapes import Counts, Table


class RuleRows(eqx.Module):
    """Rules as the rows of a matrix: what a spiking vector adds to the configuration.

    Axes: `rules` is the number of rules in order of declaration, padded to a bucket; a padding row
    names the rule `NO_RULE - 1`, which is never selected. `matrix` has rules as sources and neurons
    as targets: M where `has_production`, otherwise -K, the consumption alone.
    """

    matrix: AbstractLayout
    neuron: Int[Array, " rules"]
    number: Int[Array, " rules"]
    has_production: bool = eqx.field(static=True)

    def spiking_vector(self, rules: Counts) -> Int[Array, "rules *paths"]:
        """S: 1 for every selected rule."""
        return (rules[self.neuron] == expanded(self.number, rules.ndim)).astype(jnp.int32)


class SpikingProgram(eqx.Module):
    """An SN P system as arrays.

    Axes: `neurons` and `outputs`, `inputs` are padded to buckets; a padding neuron has no rules,
    spikes or synapses, and a padding output or input names the neuron `num_neurons`, which does not
    exist. `slots` holds the rules in order of declaration, K-major; `columns` are the neurons, or
    types of neurons that have equal rules where `type_of` tells each neuron's, or labels where
    neurons divide; outputs and inputs name labels then. A slot is applicable
    at k spikes iff low <= k <= high and (k - low) % period == 0, which includes k >= consume; empty
    slots have low > high. A rule whose guard needs several such terms has several slots, of which
    at most one applies: `number` is the rule of each. A negative `consume` takes all spikes.
    `kept[r]` is the rule that counts in place of rule r, which may repeat it.

    With an `exchange` the program is that of some neurons, a device's own. `synapses` are those
    that end there, from all neurons; `inputs` are counted among the own neurons, `outputs` among
    all.
    """

    low: Int[Array, "slots columns"]
    high: Int[Array, "slots columns"]
    period: Int[Array, "slots columns"] | None  # None: every period is 1
    consume: Int[Array, "slots columns"]
    produce: Int[Array, "slots columns"]
    delay: Int[Array, "slots columns"] | None  # None: every delay is 0
    number: Int[Array, "slots columns"] | None  # None: the slot is the number
    type_of: Int[Array, " neurons"] | None  # None: a column each
    rows: RuleRows | None
    synapses: AbstractLayout | None  # None: the rows hold production too, or `ordered` delivers
    ordered: OrderedSynapses | None  # instead of `synapses`, where delivery depends on their order
    initial: Int[Array, " neurons"]
    outputs: Int[Array, " outputs"]
    inputs: Int[Array, " inputs"]
    trains: Int[Array, "steps inputs *paths"]  # row t arrives at the end of step t + 1
    horizon: Int[Array, "*paths"]  # position of the last non-zero entry of any train
    most_together: Int[Array, " neurons"] | None  # bounds emissions that add up; None: none do
    network: AbstractNetwork | None  # what changes; None: the network stays as it is
    has_families: bool = eqx.field(static=True)  # whether a slot consumes all
    may_overflow: bool = eqx.field(static=True)  # whether overflows are looked for
    compatibility: Compatibility = eqx.field(static=True)  # what of it is left for the steps
    # Whether a rule is used as often as it can be; it is where `most_together` bounds that.
    is_exhaustive: bool = eqx.field(static=True, default=False)
    kept: Int[Array, "slots columns"] | None = None  # None: no rule repeats another
    requests: RequestedSpikes | None = None  # None: no neuron asks others
    exchange: Exchange | None = None  # None: all neurons are on this device

    @property
    def num_neurons(self) -> int:
        """Neurons with padding."""
        return self.initial.shape[0]

    @property
    def total_neurons(self) -> int:
        """Those of all devices, with padding."""
        return self.num_neurons * (1 if self.exchange is None else self.exchange.num_parts)

    @property
    def is_labelled(self) -> bool:
        """Whether `columns` are labels, and each neuron's is part of the state."""
        network = self.network
        return network is not None and network.labels(network.init()) is not None

    def of_neurons(self, table: Table) -> Int[Array, "slots neurons"]:
        """A table with a column for every neuron."""
        return table if self.type_of is None else table[:, self.type_of]
