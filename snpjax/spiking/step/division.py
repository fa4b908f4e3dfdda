"""Division and budding: neurons that become two."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Integer, PyTree

from snpjax_formats.ell import expanded

from ..._tiered import estimated_sum
from ...choice import NO_RULE, AbstractChoice, Steps
from ...results import RESULTS, select_result
from .network import AbstractNetwork, Change
from .shapes import Counts, Matches, PerSlot, Slots


# Synapses of the dictionary are merged in at most `_MOST_BLOCKS` blocks of at least `_LEAST_BLOCK`.
_LEAST_BLOCK, _MOST_BLOCKS = 4096, 16


_ALL = slice(None)


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
    growing: Int[Array, "few labels"]  # the slots of these rules, or `NO_RULE`
    comes_from: Int[Array, "labels pairs"]  # labels of the dictionary
    initial: GrownState
    num_labels: Int[Array, ""]

    def init(self) -> GrownState:
        return self.initial

    def labels(self, network: GrownState) -> Counts:
        return network.labels

    def allowed(self, applicable: Matches, network: GrownState) -> Matches:
        slots = _of(self.growing, _ALL, network.labels)
        every = expanded(jnp.arange(len(applicable), dtype=slots.dtype), applicable.ndim)
        is_one = slots[:, None] == every[None]
        blocked = lax.cond(
            jnp.any(applicable & jnp.any(is_one, axis=0)),
            lambda: _of_each_path(self._blocked, network),
            lambda: jnp.zeros(slots.shape, bool),
        )
        return applicable & ~jnp.any(is_one & blocked[:, None], axis=0)

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
        self,
        network: GrownState,
        slots: Slots,
        emissions: Counts,
        choice: AbstractChoice,
        step: Steps,
    ) -> Change:
        del emissions
        size = len(network.labels)
        at = jnp.maximum(slots, 0), network.labels
        is_one = slots != NO_RULE
        divides, buds = _of(self.divides, *at) & is_one, _of(self.buds, *at) & is_one
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

    def _blocked(self, network: GrownState) -> Bool[Array, "few neurons"]:
        """Which rules of `growing` have a neighbour that bears a label that they would give: a
        neuron does not divide next to one like its children, nor bud to one like its bud."""
        labels = network.labels
        slot = _of(self.growing, _ALL, labels)
        at = jnp.maximum(slot, 0), labels
        divides, buds = (_of(x, *at) & (slot >= 0) for x in (self.divides, self.buds))
        parent = jnp.where(divides, _of(self.parent, *at), -1)
        given = _of(self.child, *at)
        child = jnp.where(divides, given, -1)
        none = self.divides.shape[1]  # an out-of-range label
        source, target = (
            labels.at[x].get(mode="fill", fill_value=none) for x in (network.source, network.target)
        )

        def gives(given: Array, own: Array, other: Array) -> Array:
            return given.at[:, own].get(mode="fill", fill_value=-1) == other[None]

        bud = jnp.where(buds, given, child)
        outgoing = gives(bud, network.source, target) | gives(parent, network.source, target)
        incoming = gives(child, network.target, source) | gives(parent, network.target, source)
        blocked = jnp.zeros(slot.shape, bool).at[:, network.source].max(outgoing, mode="drop")
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
        ranks = _cumulative(jnp.concatenate([divides, buds]))
        right, bud = jnp.split(network.num + ranks - 1, 2)
        twin = jnp.where(divides, right, jnp.where(buds, bud, size))
        grows = divides | buds
        parent = jnp.where(grows, _of(self.parent, *at), labels)
        grown = parent.at[twin].set(_of(self.child, *at), mode="drop")
        is_new = grows.at[twin].set(grows, mode="drop")
        # A neuron that buds and keeps its label gets no synapses of the dictionary.
        is_fresh = (divides | (buds & (parent != labels))).at[twin].set(grows, mode="drop")
        inherited = _inherited(network, divides, buds, twin)
        inherited = inherited._replace(labels=grown, num=network.num + ranks[-1])
        state = self._with_dictionary(inherited, is_fresh)
        return state, is_new, state.starts[-1] <= len(state.source)

    def _with_dictionary(self, network: GrownState, is_fresh: Bool[Array, " neurons"]):
        """With the synapses of the dictionary from and to fresh neurons.

        They come target by target, some at a time, and are merged into those that are there: to
        sort all would take much longer. Where they do not fit, `starts` says that there are more.
        """
        labels, size, room = network.labels, len(network.labels), len(network.source)
        most = room + size  # as many fit, besides those of neurons with themselves
        block = max(_LEAST_BLOCK, most // _MOST_BLOCKS)
        # All neurons, and then those that are fresh, by their labels.
        order = jnp.argsort(labels).astype(jnp.int32)
        chosen = _of(is_fresh, order)
        rank = _starts(chosen)
        place = jnp.where(chosen, size + rank[:-1], 2 * size)
        order = jnp.concatenate([order, order]).at[place].set(order, mode="drop")
        number = jnp.zeros(self.divides.shape[1] + 1, jnp.int32)  # one is an out-of-range label
        starts = _starts(number.at[labels].add(1))
        # Of every neuron: the labels that the dictionary leads from, and who bears them.
        others = _of(self.comes_from, labels)
        begins = jnp.stack([starts, size + _of(rank, starts)])  # of all, and of the fresh
        kind = jnp.where(is_fresh, 0, 1)[:, None]
        first, last = _of(begins, kind, others), _of(begins, kind, others + 1)
        ends = _cumulative((last - first).ravel())
        # Sums that wrap are far above what there may be.
        exceeds = (estimated_sum(last - first) > 2.1e9) | (ends[-1] > most)

        def merge(network: GrownState, done: Array | int) -> GrownState:
            number = done + jnp.arange(block, dtype=jnp.int32)
            pair = jnp.searchsorted(ends, number, side="right").astype(jnp.int32)
            source = order.at[_of(last.ravel() - ends, pair) + number].get(mode="clip")
            target = pair // others.shape[1]
            is_one = (number < ends[-1]) & (source != target)
            return _merged(
                network, jnp.where(is_one, source, size), jnp.where(is_one, target, size)
            )

        def goes_on(carry: tuple[GrownState, Array]) -> Array:
            network, done = carry
            return (done < ends[-1]) & (network.starts[-1] <= room) & ~exceeds

        if block >= most:
            state = merge(network, 0)
        else:
            state, _ = lax.while_loop(
                goes_on, lambda x: (merge(*x), x[1] + block), (network, jnp.zeros((), jnp.int32))
            )
        total = jnp.where(exceeds, room + 1, state.starts[-1])
        return state._replace(starts=state.starts.at[-1].set(total))


def _inherited(
    network: GrownState,
    divides: Bool[Array, " neurons"],
    buds: Bool[Array, " neurons"],
    twin: Int[Array, " neurons"],
) -> GrownState:
    """The network with the synapses afterwards that are not of the dictionary. Where they do not
    fit, `starts` says that there are more.

    Each neuron that divides appears twice where it is a source, and what it buds instead of one
    that buds. New neurons have the largest numbers, those that bud the largest of all. So those to
    one target are in order when the old ones come first, then right children, then buds.
    """
    size, room = len(network.labels), len(network.source)
    source = network.source
    own = jnp.arange(size, dtype=jnp.int32)

    def of(table: Array, empty: int) -> Array:
        return table.at[source].get(mode="fill", fill_value=empty)

    from_bud = of(buds, False)
    kinds = jnp.stack([(source < size) & ~from_bud, of(divides, False), from_bud])
    twins = of(twin, size)
    rank = _starts(kinds.ravel())  # of all kinds, one after the other
    place = jnp.where(kinds.ravel(), rank[:-1], 2 * room)

    def listed(values: list[Array], empty: int) -> Array:
        table = jnp.full(2 * room, empty, values[0].dtype)
        return table.at[place].set(jnp.concatenate(values), mode="drop")

    # Of every neuron afterwards: where those of each kind are, and where they will be.
    origin = own.at[jnp.where(divides, twin, size)].set(own, mode="drop")
    parent = jnp.full(size, size, jnp.int32).at[jnp.where(buds, twin, size)].set(own, mode="drop")
    offset = jnp.arange(3, dtype=jnp.int32)[:, None] * room
    first, last = (_of(rank, _of(network.starts, x)[None] + offset) for x in (origin, origin + 1))
    is_bud = parent < size
    ends = jnp.cumsum(last - first, axis=0)
    starts = _starts(ends[-1] + is_bud.astype(jnp.int32))
    ends += starts[:-1][None]
    number = jnp.arange(room, dtype=jnp.int32)
    target = jnp.zeros(room + 1, jnp.int32).at[starts[1:]].add(1, mode="drop")
    target = _cumulative(target)[:-1]
    shifts = last - ends
    at = jnp.minimum(target, size - 1)
    kind = (number >= _of(ends[0], at)).astype(jnp.int32) + (number >= _of(ends[1], at)).astype(
        jnp.int32
    )
    shift = _of(shifts, kind, at)
    is_one = target < size
    is_own = is_one & _of(is_bud, at)

    def taken(table: Array, own: Array | int, empty: int) -> Array:
        found = table.at[number + shift].get(mode="fill", fill_value=empty)
        return jnp.where(is_one, jnp.where(is_own, own, found), empty)

    weights = network.weights
    if weights is not None:
        weights = taken(listed([weights] * 3, 0), 1, 0)
    sources = taken(listed([source, twins, twins], size), _of(parent, at), size)
    return network._replace(source=sources, target=target, weights=weights, starts=starts)


def _merged(
    network: GrownState, source: Int[Array, " some"], target: Int[Array, " some"]
) -> GrownState:
    """The network with some synapses, of weight 1, unless they are there; those that are none name
    the slot past the last one. Synapses that are too many are left out, but counted."""
    size, room = len(network.labels), len(network.source)
    target, source = lax.sort((target, source), num_keys=2)
    low, high = (
        _of(network.starts, target),
        network.starts.at[target + 1].get(mode="clip"),
    )

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) // 2
        is_less = network.source.at[middle].get(mode="clip") < source
        is_open = low < high
        return (
            jnp.where(is_open & is_less, middle + 1, low),
            jnp.where(is_open & ~is_less, middle, high),
        )

    place, _ = lax.fori_loop(0, room.bit_length(), halve, (low, high))
    is_there = (place < high) & (network.source.at[place].get(mode="clip") == source)
    is_added = (target < size) & ~is_there
    place = jnp.where(is_added, place + _starts(is_added)[:-1], room)
    number = jnp.arange(1, len(source) + 1, dtype=jnp.int32)
    added = jnp.zeros(room, jnp.int32).at[place].set(number, mode="drop")
    old = jnp.arange(room, dtype=jnp.int32) - _cumulative(added > 0)

    def joined(values: Array, more: Array | int) -> Array:
        return jnp.where(added > 0, more, values.at[old].get(mode="clip"))

    more = jnp.zeros(size, jnp.int32).at[jnp.where(is_added, target, size)].add(1, mode="drop")
    weights = network.weights
    return network._replace(
        source=joined(network.source, _of(source, jnp.maximum(added - 1, 0))),
        target=joined(network.target, _of(target, jnp.maximum(added - 1, 0))),
        weights=None if weights is None else joined(weights, 1),
        starts=network.starts + _starts(more),
    )


def _of(table: Array, *index: Array | slice) -> Array:
    """The entries at indices that are not negative and within bounds, which is not checked."""
    return table.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _starts(counts: Array) -> Int[Array, " counts_and_one"]:
    """Where each group of that many begins, and the total: an exclusive prefix sum."""
    return jnp.pad(_cumulative(counts), (1, 0))


def _cumulative(values: Array) -> Int[Array, " values"]:
    """`jnp.cumsum` in a loop: XLA unrolls that one, and takes four times as long to compile it."""
    size = len(values)
    doublings = (size - 1).bit_length()

    def double(number: Array, sums: Array) -> Array:
        padded = jnp.pad(sums, (1 << doublings, 0))
        return sums + lax.dynamic_slice(padded, ((1 << doublings) - (1 << number),), (size,))

    return lax.fori_loop(0, doublings, double, values.astype(jnp.int32))


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
