"""Division and budding: neurons that become two."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Integer, PyTree

from ...choice import NO_RULE, AbstractChoice, Steps
from ...results import RESULTS, select_result
from .dynamic_synapses import AbstractNetwork, Change
from .shapes import Counts, Matches, PerSlot, Slots


class GrownState(NamedTuple):
    """Neurons and synapses, with room for more. Neurons are slots: `num` are in use, the first.

    Synapses are ordered by target, then source; those that are not there name the slot past the
    last one.

    - `labels`: of every slot; those not in use have the number of labels.
    - `starts`: where the synapses to each slot begin, and the end.
    - `weights`: `None` where all are 1.
    """

    labels: Int[Array, "neurons *paths"]
    source: Int[Array, "synapses *paths"]
    target: Int[Array, "synapses *paths"]
    weights: Int[Array, "synapses *paths"] | None
    starts: Int[Array, "neurons_and_one *paths"]
    num: Int[Array, "*paths"]


class DivisionTables(AbstractNetwork):
    """The division and budding rules of a system, by label, and its synapse dictionary.

    Axes: `slots` are those of the program; `labels`, padded with labels that no neuron bears;
    `pairs` of the dictionary, padded with an out-of-range label.

    A list of synapses ordered by target takes any degree, so that only the numbers of all neurons
    and of all synapses have a capacity; a step without division or budding does not touch it.

    ??? cite "Source"
        Pan, Paun, Perez-Jimenez 2011; order within a step as in pLinguaCore. Published layouts (ELL
        with an overflow part) have a capacity for every neuron besides.
    """

    divides: Bool[Array, "slots labels"]
    buds: Bool[Array, "slots labels"]
    parent: Int[Array, "slots labels"]  # the label that the left child, or what buds, has then
    child: Int[Array, "slots labels"]  # that of the right child, or of the bud
    leads_to: Int[Array, "labels pairs"]  # labels of the dictionary
    comes_from: Int[Array, "labels pairs"]
    initial: GrownState
    num_labels: Int[Array, ""]

    def init(self) -> GrownState:
        return self.initial

    def labels(self, network: GrownState) -> Counts:
        return network.labels

    def allowed(self, applicable: Matches, network: GrownState) -> Matches:
        grows = (self.divides | self.buds)[:, network.labels]
        blocked = lax.cond(
            jnp.any(applicable & grows),
            lambda: _of_each_path(self._blocked, network),
            lambda: jnp.zeros_like(applicable),
        )
        return applicable & ~blocked

    def ways(self, applicable: Matches, network: GrownState) -> PerSlot:
        return applicable.astype(jnp.int32)

    def may_choose(self) -> Bool[Array, " neurons"]:
        return jnp.zeros(len(self.initial.labels), bool)

    def is_pending(self, network: GrownState) -> None:
        return None

    def essential(self, network: GrownState) -> PyTree:
        return network.labels, network.source, network.target, network.weights

    def restored(self, essential: PyTree) -> GrownState:
        labels, source, target, weights = essential
        size = len(labels)
        starts = jax.vmap(starts_of, in_axes=(-1, None), out_axes=-1)(target, size)
        num = jnp.sum(labels < self.num_labels, axis=0, dtype=jnp.int32)
        return GrownState(labels, source, target, weights, starts, num)

    def change(
        self, network: GrownState, slots: Slots, choice: AbstractChoice, step: Steps
    ) -> Change:
        size = len(network.labels)
        at = jnp.maximum(slots, 0), network.labels
        is_one = slots != NO_RULE
        divides, buds = self.divides[at] & is_one, self.buds[at] & is_one
        grows = divides | buds
        # Of many paths, one that grows is enough: a branch of each would be computed anyway.
        state, is_new, fits = lax.cond(
            jnp.any(grows),
            lambda: _of_each_path(self._grown, network, slots, divides, buds),
            lambda: (network, grows, jnp.ones_like(network.num, bool)),
        )
        failure = select_result(
            state.num > size, RESULTS.neurons_exceeded, RESULTS.synapses_exceeded
        )
        fits &= state.num <= size
        culprit = jnp.where(fits, size, jnp.argmax(grows, axis=0).astype(jnp.int32))
        return Change(state, is_new, culprit, failure, None)

    def deliver(self, network: GrownState, change: Change, emissions: Counts) -> Counts:
        return _of_each_path(_delivered, change.network, emissions)

    def _blocked(self, network: GrownState) -> Bool[Array, "slots neurons"]:
        """Where a neighbour bears a label that a rule would give: a neuron does not divide next to
        one like its children, nor bud to one like its bud."""
        none = self.divides.shape[1]  # an out-of-range label
        source, target = (
            network.labels.at[x].get(mode="fill", fill_value=none)
            for x in (network.source, network.target)
        )

        def given(own, other):  # where the labels of some would be in the way of others'
            is_child = self.child.at[:, own].get(mode="fill", fill_value=-1) == other[None]
            is_parent = self.parent.at[:, own].get(mode="fill", fill_value=-1) == other[None]
            divides = self.divides.at[:, own].get(mode="fill", fill_value=False)
            return divides & (is_child | is_parent), is_child

        outgoing, is_child = given(source, target)
        outgoing |= is_child & self.buds.at[:, source].get(mode="fill", fill_value=False)
        incoming, _ = given(target, source)
        blocked = jnp.zeros((len(self.divides), len(network.labels)), bool)
        blocked = blocked.at[:, network.source].max(outgoing, mode="drop")
        return blocked | (_sums(incoming.astype(jnp.int32), network.starts) > 0)

    def _grown(
        self,
        network: GrownState,
        slots: Integer[Array, " neurons"],
        divides: Bool[Array, " neurons"],
        buds: Bool[Array, " neurons"],
    ) -> tuple[GrownState, Bool[Array, " neurons"], Bool[Array, ""]]:
        """The network afterwards, its new neurons, and whether its synapses fit."""
        labels, size = network.labels, len(network.labels)
        at = jnp.maximum(slots, 0), labels
        # Right children in the order of their parents, then buds.
        ranks = jnp.cumsum(jnp.concatenate([divides, buds]), dtype=jnp.int32)
        right, bud = jnp.split(network.num + ranks - 1, 2)
        num = network.num + ranks[-1]
        twin = jnp.where(divides, right, jnp.where(buds, bud, size))
        grows = divides | buds
        parent = jnp.where(grows, self.parent[at], labels)
        grown = parent.at[twin].set(self.child[at], mode="drop")
        is_new = grows.at[twin].set(grows, mode="drop")
        # A neuron that buds and keeps its label gets no synapses of the dictionary.
        is_fresh = (divides | (buds & (parent != labels))).at[twin].set(grows, mode="drop")
        source, target, weights, exceeds = self._synapses(
            network, grown, divides, buds, twin, is_fresh
        )
        room = len(network.source)
        listed, num_found = _ordered(source, target, weights, size, room)
        return GrownState(grown, *listed, num), is_new, ~exceeds & (num_found <= room)

    def _synapses(
        self,
        network: GrownState,
        labels: Int[Array, " neurons"],
        divides: Bool[Array, " neurons"],
        buds: Bool[Array, " neurons"],
        twin: Int[Array, " neurons"],
        is_fresh: Bool[Array, " neurons"],
    ) -> tuple[Array, Array, Array | None, Bool[Array, ""]]:
        """All synapses afterwards, some more than once and those not there past the last slot; and
        whether there are certainly more than there is room for."""
        size = len(labels)

        def of(table, index, empty):
            return table.at[index].get(mode="fill", fill_value=empty)

        source, target = network.source, network.target
        twins, twins_in = of(twin, source, size), of(twin, target, size)
        first = jnp.where(of(buds, source, False), twins, source)
        second = jnp.where(of(divides, source, False), twins, size)
        also = jnp.where(of(divides, target, False), twins_in, size)
        own = jnp.arange(size, dtype=jnp.int32)
        sources = [first, second, first, second, jnp.where(buds, own, size)]
        targets = [target, target, also, also, jnp.where(buds, twin, size)]
        weights = None
        capacity = len(source)
        if network.weights is not None:
            one = jnp.ones(2 * capacity + 3 * size, network.weights.dtype)
            weights = jnp.concatenate([*[network.weights] * 4, one])
        # Synapses of the dictionary, from new neurons and then to them. Each stands here twice at
        # most, besides those of neurons with themselves, so that there is room if there is any.
        order = jnp.argsort(labels).astype(jnp.int32)
        num_labels = self.divides.shape[1]
        every = jnp.arange(num_labels + 1, dtype=labels.dtype)
        starts = jnp.searchsorted(labels[order], every, method="compare_all").astype(jnp.int32)
        starts = jnp.append(starts, starts[-1])  # the out-of-range label
        others = jnp.concatenate([self.leads_to, self.comes_from], axis=1)[labels]
        counts = jnp.where(is_fresh[:, None], starts[others + 1] - starts[others], 0).ravel()
        ends = jnp.cumsum(counts, dtype=jnp.int32)
        most = 2 * (capacity + size)
        number = jnp.arange(most, dtype=jnp.int32)
        pair = jnp.searchsorted(ends, number, side="right").astype(jnp.int32)
        is_one = number < ends[-1]
        pair = jnp.where(is_one, pair, 0)
        place = starts[others.ravel()[pair]] + number - (ends - counts)[pair]
        mine, column = pair // others.shape[1], pair % others.shape[1]
        other = order.at[place].get(mode="clip")
        is_one &= mine != other
        leads = column < self.leads_to.shape[1]
        sources.append(jnp.where(is_one, jnp.where(leads, mine, other), size))
        targets.append(jnp.where(is_one, jnp.where(leads, other, mine), size))
        # Sums that wrap are far above what there may be.
        about = jnp.sum(counts.astype(jnp.float32))
        exceeds = (about > 2.1e9) | (ends[-1] > most)
        return jnp.concatenate(sources), jnp.concatenate(targets), weights, exceeds


def _ordered(
    source: Int[Array, " all"],
    target: Int[Array, " all"],
    weights: Int[Array, " all"] | None,
    size: int,
    capacity: int,
) -> tuple[tuple[Array, Array, Array | None, Array], Int[Array, ""]]:
    """Synapses in order, of equal ones the first; and how many there are. Those that are too many
    are left out."""
    is_one = (source < size) & (target < size)
    source, target = jnp.where(is_one, source, size), jnp.where(is_one, target, size)
    # One key after the other: sorts by two keys are slow on GPUs.
    order = jnp.argsort(source, stable=True)
    order = order[jnp.argsort(target[order], stable=True)]
    source, target = source[order], target[order]
    differs = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
    is_first = jnp.concatenate([jnp.ones(1, bool), differs]) & (source < size)
    place = jnp.where(is_first, jnp.cumsum(is_first, dtype=jnp.int32) - 1, capacity)

    def listed(values: Array, empty: int) -> Array:
        return jnp.full(capacity, empty, values.dtype).at[place].set(values, mode="drop")

    sources, targets = listed(source, size), listed(target, size)
    kept = None if weights is None else listed(weights[order], 0)
    return (sources, targets, kept, starts_of(targets, size)), jnp.sum(is_first, dtype=jnp.int32)


def starts_of(target: Int[Array, " synapses"], size: int) -> Int[Array, " neurons_and_one"]:
    """Where the synapses to each neuron begin, of a list ordered by target."""
    return jnp.searchsorted(target, jnp.arange(size + 1, dtype=target.dtype)).astype(jnp.int32)


def _delivered(network: GrownState, emissions: Int[Array, " neurons"]) -> Int[Array, " neurons"]:
    sent = emissions.at[network.source].get(mode="fill", fill_value=0)
    if network.weights is not None:
        sent = sent * network.weights.astype(sent.dtype)
    return _sums(sent, network.starts)


def _sums(
    values: Int[Array, "*some synapses"], starts: Int[Array, " neurons_and_one"]
) -> Int[Array, "*some neurons"]:
    """Over the synapses to each neuron; exact where those sums fit, even where the sums of all that
    they are taken from wrap."""
    total = jnp.cumsum(values, axis=-1, dtype=values.dtype)
    total = jnp.concatenate([jnp.zeros_like(total[..., :1]), total], axis=-1)
    ends = total[..., starts]
    return ends[..., 1:] - ends[..., :-1]


def _of_each_path(function: Callable[..., Any], network: GrownState, *others: Array) -> Any:
    """Of one path, or of each of many, whose axis is last."""
    if network.num.ndim == 0:
        return function(network, *others)
    return jax.vmap(function, in_axes=-1, out_axes=-1)(network, *others)
