"""A system whose constants are real parameters, and that computes exactly with what they round
to."""

from dataclasses import replace
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, PyTree

from snpjax_formats import AbstractLayout, Dense, Edges, Sum, TwoWay, fitting

from ..spiking.lower.host_program import host_program_of
from ..spiking.lower.lower import lower_columns
from ..spiking.lower.plastic_synapses import PlasticColumns
from ..spiking.model.population import AnySystem
from ..spiking.model.rule import PlasticityRule, Rule
from ..spiking.model.system import SpikingSystem, is_growing
from ..spiking.step.plasticity import PlasticSynapses
from ..spiking.step.program import SpikingProgram
from .plastic import (
    PlasticConstants,
    RelaxedPlasticity,
    plastic_constants,
    relaxed_plasticity,
)
from .surrogate import AbstractSurrogate, FastSigmoid, Smooth, rounded, within
from .weights import WeightSet, check_range


#: float32 counts whole numbers up to here.
MAX_COUNT = 2**24

# Multiplying by a matrix is faster than gathering lists up to this many pairs of neurons, and where
# at least one of this many pairs has a synapse.
_MAX_DENSE = 1024**2
_MAX_SPARSITY = 8


class RelaxedSystem(eqx.Module):
    """An SN P system with real parameters, for gradients.

    What it computes is what the exact system with the rounded parameters computes (`to_system`), as
    long as no count reaches 2^24; the derivatives are surrogates. Axes as in `SpikingProgram`:
    a slot is a term of a rule's guard, low <= k <= high in steps of its period.

    All parameters are finite, so optimisers and evolution strategies may change any of them.

    - `low`, `high`: bounds of the guards. No rule applies to fewer spikes than it consumes,
      whatever `low` is. Where a guard has no upper bound (`is_unbounded`), `high` is not read.
    - `consume`, `produce`: of the rules, at least 1; a forgetting rule stays one. `initial`: spikes
      at the start.
    - `synapses`: the weights, in a layout.
    - `is_synapse`: which of the weights there are; others that a layout stores stay 0.
    - `first`: the first slot of the rule of each slot, whose `consume` and `produce` count for all.
    - `weight_range`: weights outside count as its ends, and get no derivative there.
    - `temperature`: of the derivative in the logits of a `WeightedChoice`; `None` for none.
    - `weight_levels`: the allowed weights, ascending, see `quantise`; `None` for all integers in
      the range.
    - `program`: the exact system as it was lowered, of which periods, delays, inputs and outputs
      are taken.
    - `tap`: zeros, whose gradient counts what fires; see `tapped`.
    - `names`: of the neurons. Models of the same names and shapes share what is compiled.
    - `plastic`: the parameters of plasticity rules, and the synapses that these may change, which
      are not among `synapses`; `None` in a system without such rules.
    """

    low: Float[Array, "slots neurons"]
    high: Float[Array, "slots neurons"]
    consume: Float[Array, "slots neurons"]
    produce: Float[Array, "slots neurons"]
    initial: Float[Array, " neurons"]
    synapses: AbstractLayout
    is_synapse: PyTree[Bool[Array, "..."]]
    first: Int[Array, "slots neurons"] | None  # None: every rule has one slot
    program: SpikingProgram
    surrogate: AbstractSurrogate
    names: tuple[str, ...] = eqx.field(static=True)
    num_outputs: int = eqx.field(static=True)
    weight_range: tuple[float, float] = eqx.field(static=True)
    temperature: float | None = eqx.field(static=True)
    weight_levels: tuple[int, ...] | None = eqx.field(static=True, default=None)
    tap: Float[Array, "three neurons"] | None = None  # None: nothing is counted
    plastic: RelaxedPlasticity | None = None

    @property
    def signed(self) -> bool:
        """Whether weights may become negative."""
        return self.weight_range[0] < 0

    @property
    def is_smooth(self) -> bool:
        """Whether firing itself is a smooth function, so that nothing is exact."""
        return isinstance(self.surrogate, Smooth)

    @property
    def is_slot(self) -> Bool[Array, "slots neurons"]:
        """Where there is a rule."""
        return self.program.low <= self.program.high

    @property
    def is_unbounded(self) -> Bool[Array, "slots neurons"]:
        """Where a guard has no upper bound."""
        return self.program.high >= jnp.iinfo(self.program.high.dtype).max


class AbstractSpikingModel(eqx.Module):
    """A population or network made of one relaxed system: `to_system` exports its `model`."""

    model: eqx.AbstractVar[RelaxedSystem]


class Constants(NamedTuple):
    """What a run computes with: parameters that were rounded, and the exact program with them.

    `high` is infinite where a guard has no upper bound.
    """

    low: Float[Array, "slots neurons"]
    high: Float[Array, "slots neurons"]
    consume: Float[Array, "slots neurons"]
    produce: Float[Array, "slots neurons"]
    initial: Float[Array, " neurons"]
    synapses: AbstractLayout
    program: SpikingProgram
    plastic: PlasticConstants | None = None


def relax(
    system: AnySystem,
    *,
    surrogate: AbstractSurrogate | None = None,
    layout: type[AbstractLayout] | Literal["auto"] = "auto",
    weight_range: tuple[float, float] | None = None,
    temperature: float | None = 1.0,
) -> RelaxedSystem:
    """Turn a system into a differentiable model, whose initial parameters are the system's own
    numbers.

    **Arguments:**

    - `system`: a system of neurons or of populations; rules may create and delete synapses, but
      not neurons.
    - `surrogate`: the derivative of firing, `FastSigmoid()` by default.
    - `layout`: how the weights are stored; of populations, those of each projection. Every synapse
      has its own weight, even where all are 1. Lists are stored both by source and by target under
      `"auto"`, so that no gradient scatters.
    - `weight_range`: the smallest and the largest weight; by default weights are at least 0, or
      unbounded in a signed system.
    - `temperature`: that of the Gumbel-softmax that supplies the derivatives of the logits of a
      `WeightedChoice`; `None` gives them none, for `reinforce_loss`.

    **Returns:** a `RelaxedSystem`.

    **Raises:** `ValueError` for what has no relaxation: division and budding, since the number of
    neurons is no weight; variants; `Smooth` with plasticity; the semantics of other simulators, and
    numbers of 2^24 or more.
    """
    _check(system)
    with jax.ensure_compile_time_eval():  # tables of the host, also where the caller is traced
        return _relaxed(system, surrogate, layout, weight_range, temperature)


def _relaxed(
    system: AnySystem,
    surrogate: AbstractSurrogate | None,
    layout: type[AbstractLayout] | Literal["auto"],
    weight_range: tuple[float, float] | None,
    temperature: float | None,
) -> RelaxedSystem:
    is_listed = isinstance(system, SpikingSystem)
    columns = host_program_of(system, faithful=True) if is_listed else system.columns(faithful=True)
    # Which layout suits the exact synapses is nothing that models should differ in.
    program = replace(lower_columns(replace(columns, parts=())), synapses=None)
    if program.type_of is not None:
        names = ("low", "high", "period", "consume", "produce", "delay", "number")
        spread = {
            name: program.of_neurons(table)
            for name in names
            if (table := getattr(program, name)) is not None
        }
        program = replace(program, type_of=None, **spread)
    high = np.asarray(program.high)
    endless = high >= np.iinfo(high.dtype).max
    numbers = [np.asarray(x) for x in (program.consume, program.produce, program.initial)]
    numbers += [np.asarray(program.low), np.where(endless, 0, high), np.asarray(program.trains)]
    if any(np.abs(x.astype(np.int64)).max(initial=0) >= MAX_COUNT for x in numbers):
        raise ValueError(
            "A number of the system is 2^24 or more, which float32 does not hold. Learn a system "
            "with smaller numbers."
        )

    def real(table: Num[Array | np.ndarray, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.asarray(np.asarray(table), jnp.float32)

    low, most = weight_range or (-np.inf if system.signed else 0.0, np.inf)
    check_range((low, most))
    size = program.num_neurons
    if is_listed:
        synapses = _stored(columns.parts[0].edges.resized(size, size), layout)
    else:
        synapses = Sum(
            parts=tuple(_stored(part.edges, layout) for part in columns.parts),
            source_starts=tuple(part.source_start for part in columns.parts),
            target_starts=tuple(part.target_start for part in columns.parts),
            num_sources=size,
            num_targets=size,
        )
    first, plastic = None, None
    if isinstance(columns.network, PlasticColumns):
        if isinstance(surrogate, Smooth):
            raise ValueError(
                "A system with plasticity is not a smooth function: a synapse is there or not. "
                "Choose another surrogate."
            )
        assert isinstance(program.network, PlasticSynapses)
        plastic = relaxed_plasticity(columns.network, program.network, size)
    if program.number is not None:
        number = np.asarray(program.number)
        first = jnp.asarray(np.argmax(number[:, None] == number[None], axis=0), jnp.int32)
    return RelaxedSystem(
        low=real(program.low),
        high=real(np.where(endless, 0, high)),
        consume=real(program.consume),
        produce=real(program.produce),
        initial=real(program.initial),
        synapses=synapses,
        is_synapse=jax.tree.map(lambda x: x != 0, eqx.filter(synapses, eqx.is_inexact_array)),
        first=first,
        program=program,
        surrogate=surrogate or FastSigmoid(),
        names=tuple(columns.system.name_of(index) for index in range(columns.num_neurons)),
        num_outputs=len(columns.outputs),
        weight_range=(float(low), float(most)),
        temperature=temperature,
        plastic=plastic,
    )


def constants_of(model: RelaxedSystem) -> Constants:
    """The parameters as a run uses them: rounded (straight through) and clipped to their ranges.

    **Arguments:**

    - `model`: a relaxed model.

    **Returns:** `Constants`, which `step` takes; compute them once for each run.
    """
    return _constants(nameless(model))


@eqx.filter_jit
def _constants(model: RelaxedSystem) -> Constants:
    """As `constants_of`, compiled in one piece: outside of `jit`, its 60 small operations would be
    compiled one by one for every shape."""
    whole = (lambda x: x) if model.is_smooth else rounded
    consume = within(_of_rules(model, whole(model.consume)), 1)
    produce = within(_of_rules(model, whole(model.produce)), 1)
    produce = jnp.where(model.program.produce == 0, 0, produce)
    low, high = whole(model.low), jnp.where(model.is_unbounded, jnp.inf, whole(model.high))
    apart = step_of(model)
    aligned = low
    if not model.is_smooth:  # where this would be a jump
        aligned = low + apart * jnp.maximum(jnp.ceil((consume - low) / apart), 0)
    low = jnp.where(apart == 1, within(low, consume), aligned)
    initial = within(whole(model.initial), 0)
    weights, rest = eqx.partition(model.synapses, eqx.is_inexact_array)

    allowed = WeightSet(model.weight_range, model.weight_levels)

    def weight(x: Array, is_one: Array) -> Array:
        own = within(x, *model.weight_range) if model.is_smooth else allowed.exact(x)
        return jnp.where(is_one, own, 0)

    synapses = eqx.combine(jax.tree.map(weight, weights, model.is_synapse), rest)
    is_slot, program = model.is_slot, model.program
    dtype = program.initial.dtype

    def exact(x: Array, empty: int) -> Array:
        return jnp.where(is_slot, jnp.clip(x, -MAX_COUNT, MAX_COUNT).astype(dtype), empty)

    plastic, network = None, program.network
    if model.plastic is not None:
        assert isinstance(network, PlasticSynapses)
        plastic, network = plastic_constants(model.plastic, network, model.first)
    exactly = replace(
        program,
        network=network,
        low=exact(low, 1),
        high=jnp.where(jnp.isinf(high), jnp.iinfo(dtype).max, exact(high, 0)),
        consume=exact(consume, 0),
        produce=exact(produce, 0),
        initial=initial.astype(dtype),
    )
    exactly = jax.lax.stop_gradient(exactly)
    return Constants(low, high, consume, produce, initial, synapses, exactly, plastic)


def nameless(model: RelaxedSystem) -> RelaxedSystem:
    """The model as far as its steps know it: what is compiled for one serves those of other
    names."""
    return replace(model, names=(), num_outputs=0)


def step_of(model: RelaxedSystem) -> Float[Array, "slots neurons"]:
    """The distance between accepted counts: the period, or 1."""
    period = model.program.period
    return jnp.ones_like(model.low) if period is None else period.astype(jnp.float32)


def _of_rules(
    model: RelaxedSystem, table: Float[Array, "slots neurons"]
) -> Float[Array, "slots neurons"]:
    return table if model.first is None else jnp.take_along_axis(table, model.first, axis=0)


def _check(system: AnySystem) -> None:
    problem = None
    if isinstance(system, SpikingSystem):
        if is_growing(system):
            raise ValueError(
                "A system with division or budding has no relaxation: which neurons there are is "
                "not a weight that could be learned a little at a time. Learn a system with the "
                "neurons that it may have."
            )
        if not all(isinstance(rule, Rule | PlasticityRule) for rule in system.rules):
            problem = "rules of request"
        elif system.variant is not None:
            problem = f"the variant {type(system.variant).__name__}"
    if problem is None and not system.compatibility.is_textbook:
        problem = "the rules of another simulator (`compatibility`)"
    if problem is not None:
        raise ValueError(f"A system with {problem} has no relaxation. Learn a plain system.")


def _stored(edges: Edges, layout: type[AbstractLayout] | Literal["auto"]) -> AbstractLayout:
    value = np.ones(len(edges)) if edges.value is None else edges.value
    edges = replace(edges, value=value.astype(np.float32)).canonical()
    if layout == "auto":
        pairs = edges.num_sources * edges.num_targets
        layout = Dense if pairs <= max(_MAX_DENSE, _MAX_SPARSITY * len(edges)) else TwoWay
    return fitting(layout, edges)


def is_exact_count(counts: Float[Array, "*shape"]) -> Bool[Array, "*shape"]:
    """Whether these are integers that float32 counts."""
    return (jnp.abs(counts) < MAX_COUNT) & (counts == jnp.round(counts))
