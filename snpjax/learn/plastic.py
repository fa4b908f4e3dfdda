"""Relaxed plasticity: potential synapses as real numbers, whose created and deleted ones are exact.

A synapse that a plasticity rule may create is there or not, 1 or 0, and so is its membership in the
set N of a rule. Forward these are exactly the synapses that the exact step creates and deletes. In
the derivative a rule that creates adds its firing to every candidate, and one that deletes takes it
from every synapse; where only k of n candidates are chosen, k / n of it.
"""

from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from snpjax_formats.ell import expanded

from ..choice import AbstractChoice
from ..spiking.lower.plastic_synapses import PlasticColumns
from ..spiking.model.guard import Guard
from ..spiking.model.rule import Alpha, PlasticityRule
from ..spiking.step.plasticity import CREATES, DELETES, PlasticState, PlasticSynapses
from .surrogate import rounded, within


#: What each kind of rule does in its step, and in the one after.
_ALPHAS: dict[tuple[int, int], Alpha] = {
    (CREATES, 0): "+",
    (DELETES, 0): "-",
    (CREATES, DELETES): "+-",
    (DELETES, CREATES): "-+",
}


class RelaxedPlasticity(eqx.Module):
    """The parameters of plasticity rules. Axes as in `PlasticSynapses`.

    - `member`: whether a place is in the set N of a rule: 1/2 or more is. A rule that creates keeps
      the largest one, if there is no other.
    - `count`: k of the rules, at least 1.
    - `exists`: the synapses at the start: 1/2 or more is there.
    - `targets`: the neuron of each place; the number of neurons where there is none.
    - `weights`: of the synapses. Those of a weight other than 1 are there at the start in any case,
      or not.
    """

    member: Float[Array, "slots places plastic"]
    count: Float[Array, "slots plastic"]
    exists: Float[Array, "places plastic"]
    targets: Int[Array, "places plastic"]
    weights: Int[Array, "places plastic"]


class PlasticConstants(eqx.Module):
    """`RelaxedPlasticity` as a run uses it: rounded, straight through."""

    member: Float[Array, "slots places plastic"]
    count: Float[Array, "slots plastic"]
    exists: Float[Array, "places plastic"]
    targets: Int[Array, "places plastic"]
    weights: Float[Array, "places plastic"]


class RelaxedSynapses(eqx.Module):
    """The synapses of a configuration that plasticity may change.

    - `exists`: 1 for each that is there, else 0.
    - `second`: as in `PlasticState`.
    - `fired`: 1 where a second turn is due, with the derivative of the firing of its rule.
    """

    exists: Float[Array, "places plastic *paths"]
    second: Int[Array, "plastic *paths"]
    fired: Float[Array, "plastic *paths"]

    @property
    def exact(self) -> PlasticState:
        """The state of the exact step."""
        return PlasticState(lax.stop_gradient(self.exists) > 0.5, self.second)


def relaxed_plasticity(
    columns: PlasticColumns, network: PlasticSynapses, num_neurons: int
) -> RelaxedPlasticity:
    """The parameters of a system's own rules."""
    shape = network.initial.shape
    targets, weights = np.full(shape, num_neurons), np.ones(shape, np.int64)
    own = tuple(slice(0, size) for size in columns.targets.shape)
    targets[own] = np.where(columns.targets < 0, num_neurons, columns.targets)
    if columns.weights is not None:
        weights[own] = columns.weights
    tables = (network.within, network.count, network.initial)
    member, count, exists = (jnp.asarray(np.asarray(table, np.float32)) for table in tables)
    return RelaxedPlasticity(
        member=member,
        count=count,
        exists=exists,
        targets=jnp.asarray(np.asarray(targets, np.int32)),
        weights=jnp.asarray(np.asarray(weights, np.int32)),
    )


def plastic_constants(
    plastic: RelaxedPlasticity,
    network: PlasticSynapses,
    first: Int[Array, "slots neurons"] | None,
) -> tuple[PlasticConstants, PlasticSynapses]:
    """What a run computes with, and the exact synapses with the same numbers."""
    member, count = plastic.member, plastic.count
    if first is not None:  # all slots of a rule have the numbers of its first one
        at = first.at[:, network.neurons].get(mode="fill", fill_value=0)
        count = jnp.take_along_axis(count, at, axis=0)
        member = jnp.take_along_axis(member, at[:, None], axis=0)
    is_place = plastic.targets < len(network.plastic_of)
    creates = ((network.first == CREATES) | (network.second == CREATES))[:, None]
    is_possible = is_place[None] & creates
    best = jnp.argmax(jnp.where(is_possible, member, -jnp.inf), axis=1)[:, None]
    is_best = jnp.arange(member.shape[1])[None, :, None] == best
    member = jnp.where(is_possible, rounded(within(member, 0, 1)), 0)
    is_none = ~jnp.any(member > 0, axis=1, keepdims=True)
    only = (is_none & is_best & is_possible).astype(member.dtype)
    member = member + lax.stop_gradient(only)
    # What has weights of its own cannot be created with them.
    is_free = is_place & (plastic.weights == 1)
    initial = network.initial.astype(jnp.float32)
    exists = jnp.where(is_free, rounded(within(plastic.exists, 0, 1)), initial)
    count = within(rounded(count), 1)
    constants = PlasticConstants(
        member, count, exists, plastic.targets, plastic.weights.astype(jnp.float32)
    )
    whole = lax.stop_gradient(count).astype(jnp.int32)
    exact = replace(
        network,
        within=jnp.where(creates, lax.stop_gradient(member) > 0.5, network.within),
        count=jnp.where(network.first == 0, network.count, whole),
        initial=lax.stop_gradient(exists) > 0.5,
    )
    return constants, exact


def first_synapses(constants: PlasticConstants, paths: tuple[int, ...]) -> RelaxedSynapses:
    """The synapses at the start, of all paths."""
    exists = expanded(constants.exists, 2 + len(paths))
    shape = (*constants.exists.shape, *paths)
    return RelaxedSynapses(
        jnp.broadcast_to(exists, shape),
        jnp.zeros(shape[1:], jnp.int32),
        jnp.zeros(shape[1:], jnp.float32),
    )


def changed(
    constants: PlasticConstants,
    network: PlasticSynapses,
    synapses: RelaxedSynapses,
    fired: Float[Array, "slots neurons *paths"],
    slots: Int[Array, "neurons *paths"],
    emissions: Float[Array, "neurons *paths"],
    choice: AbstractChoice,
    step: Int[Array, "*paths"],
) -> tuple[RelaxedSynapses, Float[Array, "neurons *paths"]]:
    """The synapses one step later, and what arrives over those that plasticity may change.

    **Arguments:**

    - `constants`, `network`: of `plastic_constants`.
    - `synapses`: those before the step.
    - `fired`: the slots that fired, with derivatives.
    - `slots`: the slots that the exact step selected.
    - `emissions`: spikes that leave each neuron.
    - `choice`: picks among more candidates than are changed.
    - `step`: the number of steps made so far.
    """
    before = synapses.exact
    change = network.change(before, slots, emissions, choice, step)
    ndim = synapses.second.ndim

    def along(table: Array) -> Array:
        return expanded(table, table.ndim + ndim - 1)

    own = fired.at[:, network.neurons].get(mode="fill", fill_value=0)
    is_due = synapses.second[None] == along(jnp.arange(1, len(own) + 1)[:, None])
    due = jnp.where(is_due, synapses.fired[None], 0)
    member, exists = along(constants.member), synapses.exists[None]

    def turned(kind: int, candidates: Float[Array, "slots places plastic *paths"]) -> Array:
        """What rules of one kind do to each place, by their firing."""
        first, second = (along(x == kind) for x in (network.first, network.second))
        acts = jnp.where(first, own, 0) + jnp.where(second, due, 0)
        there = jnp.sum(lax.stop_gradient(candidates), axis=1)
        part = jnp.minimum(along(constants.count) / jnp.maximum(there, 1), 1)
        return jnp.sum((acts * part)[:, None] * candidates, axis=0)

    created = _straight(change.detail.created, turned(CREATES, member * (1 - exists)))
    is_deleted = change.detail.chosen & ~change.detail.created
    every = jnp.broadcast_to(exists, (len(own), *synapses.exists.shape))
    deleted = _straight(is_deleted, turned(DELETES, every))
    twice = jnp.sum(jnp.where(along(network.second != 0), own, 0), axis=0)
    after = RelaxedSynapses(
        exists=synapses.exists + created - deleted,
        second=change.network.second,
        fired=_straight(change.network.second > 0, twice),
    )
    sent = emissions.at[network.neurons].get(mode="fill", fill_value=0)
    carried = (synapses.exists * sent[None] + created) * along(constants.weights)
    arriving = jnp.zeros_like(emissions).at[constants.targets].add(carried, mode="drop")
    return after, arriving


def _straight(exact: Bool[Array, "*shape"], soft: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """1 where it is so, else 0; the derivative is that of `soft`."""
    return exact.astype(soft.dtype) + (soft - lax.stop_gradient(soft))


# ---- the exact system back ----


def changes_by_rounding(
    plastic: RelaxedPlasticity, network: PlasticSynapses, names: Sequence[str]
) -> list[tuple[float, str]]:
    """The distance of each kind of parameter from the nearest integer, the largest one of each
    kind, and where it is."""
    is_place = np.asarray(plastic.targets) < len(network.plastic_of)
    is_rule = np.asarray(network.first) != 0
    counts = {
        "'member' of a rule": (plastic.member, is_place[None] & is_rule[:, None]),
        "'count' of a rule": (plastic.count, is_rule),
        "'exists' of a synapse": (plastic.exists, is_place & (np.asarray(plastic.weights) == 1)),
    }
    found = []
    for what, (table, own) in counts.items():
        table = np.asarray(table)
        change = np.where(own, np.abs(table - np.round(table)), 0)
        if change.size and change.max() > 0:
            at = np.unravel_index(int(change.argmax()), change.shape)
            neuron = names[int(network.neurons[at[-1]])]
            found.append((float(change.max()), f"{what} of neuron {neuron!r}"))
    return found


def plastic_rule(
    constants: PlasticConstants,
    network: PlasticSynapses,
    slot: int,
    neuron: int,
    names: Sequence[str],
    guard: Guard,
    consume: int,
) -> PlasticityRule | None:
    """The rule of a slot with this guard and consumption, if it is one of plasticity."""
    (place,) = np.flatnonzero(np.asarray(network.neurons) == neuron).tolist() or (None,)
    if place is None or not int(network.first[slot, place]):
        return None
    kind = int(network.first[slot, place]), int(network.second[slot, place])
    is_member = np.asarray(constants.member[slot, :, place]) > 0.5
    targets = np.asarray(constants.targets[:, place])
    if kind == (DELETES, 0):  # its set plays no role
        is_member = np.asarray(network.within[slot, :, place])
    chosen = [names[int(target)] for target in targets[is_member]]
    k = int(constants.count[slot, place])
    return PlasticityRule(guard, consume, _ALPHAS[kind], k, chosen)


def plastic_edges(
    constants: PlasticConstants, network: PlasticSynapses, names: Sequence[str]
) -> list[tuple[str, str, int]]:
    """The synapses at the start that plasticity may change."""
    place, number = np.nonzero(np.asarray(constants.exists) > 0.5)
    sources = np.asarray(network.neurons)[number].tolist()
    targets = np.asarray(constants.targets)[place, number].tolist()
    weights = np.asarray(constants.weights)[place, number].tolist()
    triples = zip(sources, targets, weights, strict=True)
    return [(names[int(s)], names[int(t)], int(w)) for s, t, w in triples]
