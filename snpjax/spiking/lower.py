"""From a model to arrays: a program with static shapes, padded so that systems of similar size
share a compilation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from snpjax_formats import ELL, AbstractLayout, Edges, bucket, fitting

from ..choice import NO_RULE
from ..precision import precision
from .rule import Rule
from .system import SpikingSystem


@dataclass(frozen=True)
class Transition:
    """Store the rules as the rows of the transition matrix M of the papers, in `layout`.

    `Transition(Dense)` is the papers' *Sparse* form, `Transition(Compressed)` their *ELL*. A system
    with delays, for which C_t = C_{t-1} + S_t M is not exact, stores consumption and weights
    separately, both in `layout`.
    """

    layout: type[AbstractLayout]


class RuleRows(eqx.Module):
    """Rules as the rows of a matrix: what a spiking vector adds to the configuration.

    Axes: `rules` is the number of rules in order of declaration, padded to a bucket; a padding row
    names the slot `NO_RULE - 1`, which is never selected. `matrix` has rules as sources and neurons
    as targets: M where `has_production`, otherwise -K, the consumption alone.
    """

    matrix: AbstractLayout
    neuron: Int[Array, " rules"]
    slot: Int[Array, " rules"]
    has_production: bool = eqx.field(static=True)

    def spiking_vector(self, rules: Int[Array, " neurons"]) -> Int[Array, " rules"]:
        """S: 1 for every selected rule."""
        return (rules[self.neuron] == self.slot).astype(jnp.int32)


class SpikingProgram(eqx.Module):
    """A static SN P system as arrays.

    Axes: `neurons` and `outputs`, `inputs` are padded to buckets; a padding neuron has no rules,
    spikes or synapses, and a padding output or input names the neuron `num_neurons`, which does not
    exist. `slots` holds the rules of each neuron in order of declaration, K-major. A rule is
    applicable at k spikes iff low <= k <= high and (k - low) % period == 0, which includes k >=
    consume; empty slots have low > high. Guards that need more than one such term have the others
    in the `extra_` lists, each naming its slot and neuron; their padding names a slot that does not
    exist.
    """

    low: Int[Array, "slots neurons"]
    high: Int[Array, "slots neurons"]
    period: Int[Array, "slots neurons"] | None  # None: every period is 1
    extra_low: Int[Array, " extra"]
    extra_high: Int[Array, " extra"]
    extra_period: Int[Array, " extra"]
    extra_slot: Int[Array, " extra"]
    extra_neuron: Int[Array, " extra"]
    consume: Int[Array, "slots neurons"]
    produce: Int[Array, "slots neurons"]
    delay: Int[Array, "slots neurons"] | None  # None: every delay is 0
    rows: RuleRows | None
    synapses: AbstractLayout | None  # None: the rows hold production too
    initial: Int[Array, " neurons"]
    outputs: Int[Array, " outputs"]
    inputs: Int[Array, " inputs"]
    trains: Int[Array, "steps inputs"]  # row t arrives at the end of step t + 1
    horizon: Int[Array, ""]  # position of the last non-zero entry of any train

    @property
    def num_neurons(self) -> int:
        """Neurons with padding."""
        return self.initial.shape[0]


def lower(
    system: SpikingSystem,
    *,
    layout: type[AbstractLayout] | Transition | None = None,
    count_dtype: np.dtype | type | None = None,
) -> SpikingProgram:
    """Lower a static system to a `SpikingProgram`.

    **Arguments:**

    - `layout`: the class that stores the synapses, or a `Transition`; by default `ELL`.
    - `count_dtype`: int32 or int64 spike counts. By default int32 where it is safe: all constants
      fit, and fewer than 2^30 spikes can arrive at one neuron in one step, so that a sign check
      after the addition finds every overflow.

    **Raises:** `NotImplementedError` for division, budding and plasticity; `LayoutTooLarge` for a
    layout that does not fit in the memory of the device; `ValueError` when counts
    do not fit the requested type, or any type.
    """
    if not system.is_static:
        raise NotImplementedError(_not_static(system))
    rules = _RuleTable.of(system)
    edges = edges_of(system)
    trains = list(system.input.values())
    dtype = _count_dtype(system, rules, edges, trains, count_dtype)
    num_neurons = bucket(len(system.neurons))
    # Small systems share compilations; in large ones empty slots would cost more than they save.
    least = 4 if num_neurons <= 256 else 1
    num_slots = bucket(max((len(n.rules) for n in system.neurons), default=0), at_least=least)
    num_extra = bucket(len(rules.extra_low)) if rules.extra_low else 0

    def table(values: Sequence[int] | np.ndarray, empty: int, of: Any) -> Array:
        dense = np.full((num_slots, num_neurons), empty, of)
        dense[rules.slot, rules.neuron] = values
        return jnp.asarray(dense)

    def extra(values: Sequence[int], empty: int, of: Any) -> Array:
        return jnp.asarray([*values, *[empty] * (num_extra - len(values))], of)

    initial = np.zeros(num_neurons, dtype)
    initial[: len(system.neurons)] = [n.spikes for n in system.neurons]
    horizon = max((horizon_of(train) for train in trains), default=0)
    num_inputs = bucket(len(trains), at_least=4) if trains else 0
    padded_trains = np.zeros((bucket(horizon) if trains else 0, num_inputs), dtype)
    for column, train in enumerate(trains):
        padded_trains[: horizon_of(train), column] = train[: horizon_of(train)]
    stored = layout.layout if isinstance(layout, Transition) else layout or ELL
    if not (isinstance(stored, type) and issubclass(stored, AbstractLayout)):
        raise TypeError(f"`layout` is {stored!r}. Give a class of snpjax_formats.")
    most = max(rules.produce, default=0)
    has_delays = any(rules.delay)
    with precision(dtype):
        rows = None
        if isinstance(layout, Transition):
            rows = _rows(rules, edges, stored, dtype, has_delays)
        synapses = None
        if rows is None or not rows.has_production:
            synapses = fitting(stored, _typed(padded(edges), dtype), max_input=most)
        return SpikingProgram(
            low=table(rules.low, 1, dtype),
            high=table(_clipped(rules.high, dtype), 0, dtype),
            period=table(rules.period, 1, dtype) if any(p > 1 for p in rules.period) else None,
            extra_low=extra(rules.extra_low, 1, dtype),
            extra_high=extra(_clipped(rules.extra_high, dtype), 0, dtype),
            extra_period=extra(rules.extra_period, 1, dtype),
            extra_slot=extra(rules.extra_slot, num_slots, np.int32),
            extra_neuron=extra(rules.extra_neuron, num_neurons, np.int32),
            consume=table(rules.consume, 0, dtype),
            produce=table(rules.produce, 0, dtype),
            delay=table(rules.delay, 0, np.int32) if has_delays else None,
            rows=rows,
            synapses=synapses,
            initial=jnp.asarray(initial),
            outputs=_indices(system, system.output, num_neurons),
            inputs=_indices(system, system.input, num_neurons),
            trains=jnp.asarray(padded_trains),
            horizon=jnp.asarray(horizon, jnp.int32),
        )


def transition_edges(system: SpikingSystem) -> Edges:
    """The transition matrix M of a static system as edges from rules to neurons.

    Rules are numbered through the neurons in order; a self-synapse adds to the consumption.
    """
    return _matrix_edges(_RuleTable.of(system), edges_of(system))


def _matrix_edges(rules: "_RuleTable", edges: Edges, *, production: bool = True) -> Edges:
    """M, or without `production` -K, in 64 bits."""
    num_rules = len(rules.neuron)
    owner = np.asarray(rules.neuron, np.int64)
    source = np.arange(num_rules)
    value = -np.asarray(rules.consume, np.int64)
    target = owner
    if production and num_rules:
        by_source = np.argsort(edges.source, kind="stable")
        degree = np.bincount(edges.source, minlength=edges.num_sources)
        starts = np.cumsum(degree) - degree
        produce = np.asarray(rules.produce, np.int64)
        count = np.where(produce > 0, degree[owner], 0)
        rule = np.repeat(np.arange(num_rules), count)
        nth = np.arange(len(rule)) - np.repeat(np.cumsum(count) - count, count)
        edge = by_source[starts[owner[rule]] + nth]
        weight = 1 if edges.value is None else edges.value[edge]
        source = np.concatenate([source, rule])
        target = np.concatenate([target, edges.target[edge]])
        value = np.concatenate([value, produce[rule] * weight])
    return Edges(source, target, value, num_rules, edges.num_targets).canonical()


def bytes_needed(system: SpikingSystem, layout: type[AbstractLayout] | Transition) -> int:
    """The bytes in which `layout` would store a system with 32-bit weights, without storing it.

    Rules, counts and timers, which every form has, are left out.
    """
    edges = edges_of(system)
    if not isinstance(layout, Transition):
        return layout.bytes_needed(_measured(padded(edges)))
    rules = _RuleTable.of(system)
    has_delays = any(rules.delay)
    rows = _padded_rows(_matrix_edges(rules, edges, production=not has_delays))
    size = layout.layout.bytes_needed(_measured(rows))
    return size + (layout.layout.bytes_needed(_measured(padded(edges))) if has_delays else 0)


def _measured(edges: Edges) -> Edges:
    """Weights of 32 bits whatever their size: they are counted, not stored."""
    value = None if edges.value is None else np.ones(len(edges), np.int32)
    return Edges(edges.source, edges.target, value, edges.num_sources, edges.num_targets)


def _typed(edges: Edges, dtype: np.dtype) -> Edges:
    value = None if edges.value is None else edges.value.astype(dtype)
    return Edges(edges.source, edges.target, value, edges.num_sources, edges.num_targets)


def _padded_rows(matrix: Edges) -> Edges:
    """The same matrix on as many rules and neurons as a program has."""
    size = bucket(matrix.num_targets)
    num_rules = bucket(matrix.num_sources, at_least=32 if size <= 256 else 1)
    return Edges(matrix.source, matrix.target, matrix.value, num_rules, size)


def _rows(
    rules: "_RuleTable",
    edges: Edges,
    layout: type[AbstractLayout],
    dtype: np.dtype,
    has_delays: bool,
) -> RuleRows:
    stored = _padded_rows(_matrix_edges(rules, edges, production=not has_delays))
    padding = stored.num_sources - len(rules.neuron)
    return RuleRows(
        matrix=fitting(layout, _typed(stored, dtype), max_input=1),
        neuron=jnp.asarray(rules.neuron + [0] * padding, jnp.int32),
        slot=jnp.asarray(rules.slot + [NO_RULE - 1] * padding, jnp.int32),
        has_production=not has_delays,
    )


class _RuleTable:
    """The rules of all neurons as columns: one entry a rule, and one more per further term of its
    guard."""

    def __init__(self) -> None:
        self.neuron: list[int] = []
        self.slot: list[int] = []
        self.low: list[int] = []
        self.high: list[int | None] = []
        self.period: list[int] = []
        self.consume: list[int] = []
        self.produce: list[int] = []
        self.delay: list[int] = []
        self.extra_low: list[int] = []
        self.extra_high: list[int | None] = []
        self.extra_period: list[int] = []
        self.extra_slot: list[int] = []
        self.extra_neuron: list[int] = []

    @classmethod
    def of(cls, system: SpikingSystem) -> "_RuleTable":
        table = cls()
        terms_of: dict[tuple[Any, int], tuple[tuple[int, int | None, int], ...]] = {}
        for index, neuron in enumerate(system.neurons):
            has_repeats = len(set(neuron.rules)) < len(neuron.rules)
            for slot, rule in enumerate(neuron.rules):
                assert isinstance(rule, Rule)
                key = (rule.guard, rule.consume)
                if key not in terms_of:
                    terms_of[key] = rule.guard.terms(rule.consume)
                # A repeated rule counts once: it keeps its number and never applies.
                is_repeated = rule in neuron.rules[:slot] if has_repeats else False
                table._add(index, slot, rule, () if is_repeated else terms_of[key])
        return table

    def _add(
        self, neuron: int, slot: int, rule: Rule, terms: tuple[tuple[int, int | None, int], ...]
    ) -> None:
        low, high, period = terms[0] if terms else (1, 0, 1)  # a rule that can never apply
        self.neuron.append(neuron)
        self.slot.append(slot)
        self.low.append(low)
        self.high.append(high)
        self.period.append(period)
        self.consume.append(rule.consume)
        self.produce.append(rule.produce)
        self.delay.append(rule.delay)
        for low, high, period in terms[1:]:
            self.extra_low.append(low)
            self.extra_high.append(high)
            self.extra_period.append(period)
            self.extra_slot.append(slot)
            self.extra_neuron.append(neuron)

    def constants(self) -> Iterable[int]:
        for column in (self.low, self.period, self.consume, self.produce, self.extra_low):
            yield max(column, default=0)
        yield max((high for high in self.high + self.extra_high if high is not None), default=0)


def edges_of(system: SpikingSystem) -> Edges:
    """The synapses by the positions of their neurons, with weights of 64 bits or none."""
    names = system.names
    count = len(system.synapses)
    weights = [weight for _, _, weight in system.synapses]
    return Edges(
        np.fromiter((names[source] for source, _, _ in system.synapses), np.int32, count),
        np.fromiter((names[target] for _, target, _ in system.synapses), np.int32, count),
        None if all(weight == 1 for weight in weights) else np.asarray(weights),
        len(names),
        len(names),
    )


def padded(edges: Edges) -> Edges:
    """The same graph on as many neurons as a program has."""
    size = bucket(edges.num_targets)
    return Edges(edges.source, edges.target, edges.value, size, size)


def _count_dtype(
    system: SpikingSystem,
    rules: _RuleTable,
    edges: Edges,
    trains: list[tuple[int, ...]],
    requested: np.dtype | type | None,
) -> np.dtype:
    """The requested count type if it is safe, or the least one that is."""
    largest = max(
        *rules.constants(),
        max((abs(n.spikes) for n in system.neurons), default=0),
        max((abs(weight) for _, _, weight in system.synapses), default=0),
        max((abs(spikes) for train in trains for spikes in train), default=0),
    )
    arriving, neuron = _largest_arrival(system, edges, trains)
    if requested is None:
        is_small = largest < 2**31 and arriving < 2**30
        requested = np.int32 if is_small else np.int64
    dtype = np.dtype(requested)
    if dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise ValueError(f"`count_dtype` is {dtype}. Counts are numpy.int32 or numpy.int64.")
    bits = 8 * dtype.itemsize
    fix = "Try `count_dtype=numpy.int64`." if bits == 32 else "No count type is large enough."
    if largest >= 2 ** (bits - 1):
        raise ValueError(f"The system has the constant {largest}, which is not an {dtype}. {fix}")
    if arriving >= 2 ** (bits - 2):
        raise ValueError(
            f"In one step about {arriving:.3g} spikes can arrive at neuron {neuron!r}, too many to "
            f"detect every overflow of {dtype} (below 2^{bits - 2}). {fix}"
        )
    return dtype


def _largest_arrival(
    system: SpikingSystem, edges: Edges, trains: list[tuple[int, ...]]
) -> tuple[float, str]:
    """A bound on the spikes that arrive at one neuron in one step, and that neuron's name.

    Exact below 2^53, and far from the limits it is compared with where it is rounded.
    """
    if not system.neurons:
        return 0.0, ""
    production = np.array(
        [float(max((r.produce for r in n.rules), default=0)) for n in system.neurons]  # pyright: ignore
    )
    weight = 1.0 if edges.value is None else np.abs(edges.value.astype(float))
    arriving = np.bincount(
        edges.target, weights=weight * production[edges.source], minlength=len(system.neurons)
    ).astype(float)  # without edges NumPy counts in integers
    for name, train in zip(system.input, trains, strict=True):
        arriving[system.names[name]] += float(max(map(abs, train), default=0))
    worst = int(np.argmax(arriving))
    return float(arriving[worst]), system.neurons[worst].name


def _indices(system: SpikingSystem, names: Iterable[str], missing: int) -> Int[Array, " n"]:
    indices = [system.names[name] for name in names]
    padding = (bucket(len(indices), at_least=4) if indices else 0) - len(indices)
    return jnp.asarray(indices + [missing] * padding, jnp.int32)


def _clipped(high: list[int | None], dtype: np.dtype) -> list[int]:
    """Unbounded terms end at the largest count there is."""
    limit = int(np.iinfo(dtype).max)
    return [limit if h is None else h for h in high]


def horizon_of(train: Sequence[int]) -> int:
    """The position of the last non-zero entry, 0 if there is none."""
    return max((step for step, spikes in enumerate(train, start=1) if spikes), default=0)


def _not_static(system: SpikingSystem) -> str:
    rules = [(n.name, r) for n in system.neurons for r in n.rules if not isinstance(r, Rule)]
    rules += [(label, r) for label, rules in system.rules_by_label.items() for r in rules]
    name, rule = rules[0]
    kind = type(rule).__name__
    return (
        f"Division, budding and plasticity cannot be run yet: neuron {name!r} has the {kind} "
        f"{rule}. Such a system can be built, checked, read and written."
    )
