"""How probable the output of a system is whose rules are chosen at random: its explored graph as a
hidden Markov model."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from ..._text.counts import plural
from ...choice import NO_RULE
from ...explore.explore import explore
from ...explore.graph import Graph
from ...lowering import refuse_tracers
from ...machine import Explorable
from ...spiking.model.lookup import rules_of
from ..reduction.plan import ReducedModel


if TYPE_CHECKING:
    from ...spiking.view.configurations import Transitions

#: What a step emits: of the output neurons, in order.
Outputs = str | Sequence[str] | None


class OutputProcess(eqx.Module):
    """The output of a system whose rules are chosen at random, as a hidden Markov model: its states
    are the configurations, its transitions the choices, and its observations what the output
    neurons emit.

    Each neuron chooses among its applicable rules with probabilities proportional to exp(logit), as
    with `WeightedChoice`; subsets of synapses and decisions of astrocytes are uniform. A halting
    configuration emits 0 for ever.

    A pytree, so that functions of it can be compiled; make it with `output_process`. An edge is a
    choice of the graph; then come the stays of halting configurations. A situation is a set of
    rules of one neuron that apply together, and an alternative is a rule in a situation.

    - `sources`, `targets`, `emitted`: of the edges.
    - `ways`: how many edges of its configuration select the same rules as an edge.
    - `used_on`, `used`: which alternatives each edge takes, one entry for each neuron that can
      choose there: the edge, and the alternative.
    - `neuron`, `rule`, `situation`: of the alternatives.
    - `is_halting`: of the configurations.
    - `complete_steps`: trains of at most this many steps are complete; `None` for any number.
    - `num_rules`, `num_choosers`: the largest shape of logits.
    - `names`: what the columns of `emitted` are of.
    - `is_single`: whether trains have no axis for the outputs.

    ??? cite "Source"
        Rabiner 1989, section III.
    """

    sources: Int[Array, " edges"]
    targets: Int[Array, " edges"]
    emitted: Int[Array, "edges outputs"]
    ways: Int[Array, " edges"]
    used_on: Int[Array, " uses"]
    used: Int[Array, " uses"]
    neuron: Int[Array, " alternatives"]
    rule: Int[Array, " alternatives"]
    situation: Int[Array, " alternatives"]
    is_halting: Bool[Array, " configurations"]
    complete_steps: int | None = eqx.field(static=True)
    num_rules: int = eqx.field(static=True)
    num_choosers: int = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    is_single: bool = eqx.field(static=True)

    @property
    def num_configurations(self) -> int:
        return len(self.is_halting)

    def __repr__(self) -> str:
        return (
            f"OutputProcess({plural(self.num_configurations, 'configuration')}, "
            f"{plural(len(self.sources), 'edge')}, output {', '.join(self.names)})"
        )


def output_process(
    system: Graph | Explorable, /, *, output: Outputs = None, max_depth: int | None = None
) -> OutputProcess:
    """Prepare the output of a system for `log_probability`, once for many trains and logits.

    **Arguments:**

    - `system`: a configuration graph of `explore`, or a system, which is explored. A graph that a
      limit of depth ended serves for trains up to this depth.
    - `output`: the name of an output neuron, not needed if there is only one; or several names,
      whose trains are observed together.
    - `max_depth`: explore a system up to this depth, for trains of up to this many steps. A system
      whose counts grow without bound needs it.

    **Returns:** an `OutputProcess`.

    **Raises:** `ValueError` for a system without output neurons, another name, a graph without
    edges, or one that was reduced for a query or may lack a configuration.
    """
    refuse_tracers("output_process", "log_probability(process, train)", system)
    if isinstance(system, Graph):
        if max_depth is not None:
            raise ValueError("A graph is explored already. Give `max_depth` to `explore`.")
        graph = system
    else:
        graph = explore(system, max_depth=max_depth)
    _check(graph)
    own = graph.without_redundant_choices()
    names = _names(own, output)
    found = _Situations({}, [])
    parts = [_edges(own, block, names, found) for block in own.whole_sources()]
    halting = np.flatnonzero(graph.is_halting)
    columns = parts[0].emitted.shape[1] if parts else len(names)
    emitted = [part.emitted for part in parts] + [np.zeros((len(halting), columns), np.int64)]
    ways = [part.ways for part in parts] + [np.ones(len(halting), np.int64)]
    used_on = np.concatenate([np.zeros(0, np.int64), *(part.used_on for part in parts)])
    used = np.concatenate([np.zeros(0, np.int64), *(part.used for part in parts)])
    neuron, rule, situation = np.asarray(found.alternatives, np.int64).reshape(-1, 3).T
    of_model = max((len(rules) for rules in rules_of(graph.system).values()), default=1)

    def indices(x: Any) -> Int[Array, "..."]:
        _check_range(np.asarray(x), "A computation emits")
        return jnp.asarray(np.asarray(x, np.int32))

    return OutputProcess(
        sources=indices(np.concatenate([own.sources, halting])),
        targets=indices(np.concatenate([own.edge_targets, halting])),
        emitted=indices(np.concatenate(emitted)),
        ways=indices(np.concatenate(ways)),
        used_on=indices(used_on),
        used=indices(used),
        neuron=indices(neuron),
        rule=indices(rule),
        situation=indices(situation),
        is_halting=jnp.asarray(graph.is_halting),
        complete_steps=None if graph.is_complete else graph.whole_depth,
        num_rules=max([1, of_model, *(part.num_rules for part in parts)]),
        num_choosers=max([graph.system.num_neurons, *(part.num_choosers for part in parts)]),
        names=names,
        is_single=columns == 1 and (output is None or isinstance(output, str)),
    )


def _check_range(numbers: np.ndarray, what: str) -> None:
    """Refuse what 32 bits do not hold."""
    largest = max(map(abs, (int(numbers.min(initial=0)), int(numbers.max(initial=0)))))
    if largest > np.iinfo(np.int32).max:
        raise ValueError(f"{what} {largest:,} spikes in a step. Give numbers below 2^31.")


def log_probability(
    system: OutputProcess | Graph | Explorable,
    /,
    train: Int[np.ndarray | Array, "steps *outputs_and_paths"],
    *,
    logits: Float[np.ndarray | Array, "rules neurons"] | None = None,
    output: Outputs = None,
    halts: bool = False,
) -> Float[Array, "*paths"]:
    """The logarithm of the probability that a system whose rules are chosen at random emits a
    train.

    It is exact up to rounding: the sum over all computations, by the forward algorithm in
    logarithms. It can be differentiated in `logits`; rules with a probability of 0, and trains that
    no computation emits, have gradients of 0. Gradients need memory for the steps times the
    configurations.

    **Arguments:**

    - `system`: an `OutputProcess`, which functions that JAX traces need; or a graph, or a system,
      which is explored up to the length of the train on each call.
    - `train`: `(steps, *paths)` the spikes of the output in each step, such as `solution.train()`;
      of several outputs `(steps, outputs, *paths)`, such as `solution.spike_trains`. After a halt
      come zeros.
    - `logits`: of the rules as for `WeightedChoice`: `logits[r, i]` is that of rule r of neuron i,
      the logarithm of its weight; what has none has 0, so that by default all are equally likely.
    - `output`: as for `output_process`; an `OutputProcess` has its own.
    - `halts`: the probability that the computation halts after exactly these steps, too. Otherwise
      it may go on.

    **Returns:** `(*paths,)` natural logarithms; -inf for a train that no computation emits, and NaN
    for traced logits that are NaN or +inf.

    **Raises:** `ValueError` for a train longer than the graph is complete, for shapes that do not
    fit, and for logits that are NaN or infinite other than -inf; besides those of `output_process`.
    """
    if not isinstance(train, Tracer):
        _check_range(np.asarray(train), "`train` has")
    if not isinstance(train, jax.Array):
        train = np.asarray(train)  # on the host, where no axis needs a program
    if isinstance(system, OutputProcess):
        if output is not None:
            raise ValueError("`output` belongs to `output_process`. Leave it out here.")
        process = system
    else:
        refuse_tracers(
            "log_probability(system, ...)",
            "log_probability(snpjax.output_process(system), ...)",
            (train, logits),
        )
        graph = system if isinstance(system, Graph) else explore(system, max_depth=len(train))
        process = output_process(graph, output=output)
    rows = _rows(process, train)
    if logits is None:
        logits = np.zeros((1, 1))
    _check_logits(process, logits)
    return _forward(process, jnp.asarray(rows), jnp.asarray(logits, float), halts)


def _check(graph: Graph) -> None:
    if isinstance(graph.system, ReducedModel):
        raise ValueError("This graph was reduced for a query. Pass a graph of `explore`.")
    if graph.missed:
        raise ValueError(
            f"A configuration is missing with a probability of up to {graph.missed:.1e}. Explore "
            "with `exact=True`."
        )
    if not graph.schema.outputs:
        raise ValueError(
            f"The system {graph.schema.title or ''!r} has no output neurons, so that it emits no "
            "train. Give it `output=`."
        )


def _names(graph: Graph, output: Outputs) -> tuple[str, ...]:
    """The outputs that are observed."""
    known = tuple(graph.schema.outputs)
    if output is None and len(known) == 1:
        output = known[0]
    names = (output,) if isinstance(output, str) else tuple(output or ())
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        given = unknown[0] if unknown else output
        raise ValueError(
            f"{given!r} is not an output neuron. Name one of: {', '.join(known)}; or several."
        )
    return names


class _Edges(NamedTuple):
    """What `OutputProcess` needs of some edges."""

    emitted: Int[np.ndarray, "edges outputs"]
    ways: Int[np.ndarray, " edges"]
    used_on: Int[np.ndarray, " uses"]
    used: Int[np.ndarray, " uses"]
    num_rules: int
    num_choosers: int


class _Situations(NamedTuple):
    """The situations so far: where the alternatives of each begin, by its neuron and rules.

    - `first`: by neuron and rules.
    - `alternatives`: neuron, rule and situation of each.
    """

    first: dict[bytes, int]
    alternatives: list[tuple[int, int, int]]

    def first_of(self, row: Int[np.ndarray, " neuron_and_rules"]) -> int:
        """The first alternative of a neuron with some rules, which are padded with `NO_RULE`."""
        key = row.tobytes()
        if key not in self.first:
            self.first[key] = len(self.alternatives)
            neuron, *rules = (x for x in row.tolist() if x != NO_RULE)
            situation = len(self.first) - 1
            self.alternatives.extend((neuron, rule, situation) for rule in rules)
        return self.first[key]


def _edges(graph: Graph, block: slice, names: Sequence[str], found: _Situations) -> _Edges:
    """Some edges, with all those of their sources."""
    steps: Transitions = graph.transitions(block)
    rules, sources = steps.rules, steps.sources
    columns = [steps.emitted(name).reshape(len(steps), -1) for name in names]
    is_first = np.diff(sources, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    group = np.cumsum(is_first) - 1
    least, most = (of.reduceat(rules, starts, axis=0) for of in (np.minimum, np.maximum))
    edge, neuron = np.nonzero((least != most)[group])
    triples = np.stack([group[edge], neuron, rules[edge, neuron]], axis=1)
    unique, which = np.unique(triples, axis=0, return_inverse=True)
    is_new = np.any(np.diff(unique[:, :2], axis=0, prepend=-1) != 0, axis=1)
    pair = np.cumsum(is_new) - 1  # of a configuration and a neuron
    first = np.flatnonzero(is_new)
    place = np.arange(len(unique)) - first[pair]
    size = int(place.max(initial=0)) + 1
    rows = np.full((len(first), 1 + size), NO_RULE)
    rows[:, 0] = unique[first, 1]
    rows[pair, 1 + place] = unique[:, 2]
    sets, kind = np.unique(rows, axis=0, return_inverse=True)
    # A row of another width is another key, which only repeats a situation.
    base = np.asarray([found.first_of(row) for row in sets], np.int64)
    _, same, ways = np.unique(
        np.column_stack([group, rules]), axis=0, return_inverse=True, return_counts=True
    )
    which, kind, same = which.reshape(-1), kind.reshape(-1), same.reshape(-1)
    return _Edges(
        emitted=np.concatenate(columns, axis=1),
        ways=ways[same],
        used_on=edge + block.start,
        used=base[kind[pair[which]]] + place[which] if len(which) else np.zeros(0, np.int64),
        num_rules=int(rules.max(initial=0)) + 1,
        num_choosers=rules.shape[1],
    )


def _rows(
    process: OutputProcess, train: Int[Array | np.ndarray, "..."]
) -> Int[Array | np.ndarray, "steps outputs *paths"]:
    """The train with an axis for the outputs, checked."""
    if not jnp.issubdtype(train.dtype, np.integer) and train.size:
        raise ValueError(f"`train` is of {train.dtype}. Give the spikes of each step, integers.")
    columns = process.emitted.shape[1]
    rows = train[:, None] if process.is_single and train.ndim else train
    if not 2 <= rows.ndim <= 3 or rows.shape[1] != columns:
        wanted = "(steps,) or (steps, paths)"
        if not process.is_single:
            wanted = f"(steps, {columns}) or (steps, {columns}, paths)"
        raise ValueError(
            f"`train` has the shape {train.shape}. Give {wanted}, the output being "
            f"{', '.join(process.names)}."
        )
    most = process.complete_steps
    if most is not None and len(rows) > most:
        raise ValueError(
            f"The train has {plural(len(rows), 'step')}, but the graph is complete up to {most} "
            f"only. Explore with `max_depth={len(rows)}`, or with higher limits."
        )
    return rows


def _check_logits(process: OutputProcess, logits: Any) -> None:
    shape = np.shape(logits)
    if len(shape) != 2 or shape[0] > process.num_rules or shape[1] > process.num_choosers:
        raise ValueError(
            f"`logits` has the shape {shape}. Give (rules, neurons), up to "
            f"({process.num_rules}, {process.num_choosers}): the rules of each "
            "neuron, counted from 0."
        )
    if not isinstance(logits, Tracer):
        values = np.asarray(logits)
        if np.isnan(values).any() or np.isposinf(values).any():
            raise ValueError(
                "`logits` holds NaN or inf. Give finite numbers, or -inf for a rule never chosen."
            )


@eqx.filter_jit
def _forward(
    process: OutputProcess,
    rows: Int[Array, "steps outputs *paths"],
    logits: Float[Array, "rules neurons"],
    halts: bool,
) -> Float[Array, "*paths"]:
    """The forward algorithm, with sums of the smallest terms lost as in any sum of floats. One
    program, also of what surrounds it: each piece of that would be compiled for each shape."""
    shape = rows.shape[2:]
    rows = rows.reshape(*rows.shape[:2], math.prod(shape))
    of_edges = _of_edges(process, logits)
    if halts:  # no step follows a halt
        stays = jnp.arange(len(of_edges)) >= len(of_edges) - jnp.sum(process.is_halting)
        of_edges = jnp.where(stays, -jnp.inf, of_edges)
    size, paths = process.num_configurations, rows.shape[2]
    before = jnp.full((size, paths), -jnp.inf, of_edges.dtype).at[0].set(0)

    def body(before: Array, row: Int[Array, "outputs paths"]) -> tuple[Array, None]:
        agrees = jnp.all(process.emitted[..., None] == row[None], axis=1)
        along = before[process.sources] + of_edges[:, None]
        along = jnp.where(agrees, along, -jnp.inf)
        return _log_sums(along, process.targets, size), None

    after, _ = lax.scan(jax.checkpoint(body), before, rows)
    if halts:
        after = jnp.where(process.is_halting[:, None], after, -jnp.inf)
    log_probabilities = _log_sums(after, jnp.zeros(size, jnp.int32), 1)[0].reshape(shape)
    is_valid = jnp.all(jnp.isfinite(logits) | jnp.isneginf(logits))
    return jnp.where(is_valid, log_probabilities, jnp.nan)


def _of_edges(
    process: OutputProcess, logits: Float[Array, "rules neurons"]
) -> Float[Array, " edges"]:
    """The logarithm of the probability of each edge, given where it leaves."""
    num = len(process.situation)
    of_edges = -jnp.log(process.ways.astype(logits.dtype))
    if not num:
        return of_edges
    own = logits.at[process.rule, process.neuron].get(mode="fill", fill_value=0)
    total = _log_sums(own[:, None], process.situation, num)[:, 0][process.situation]
    # Where all have -inf, it is the first.
    is_first = jnp.diff(process.situation, prepend=-1) != 0
    is_none = jnp.isneginf(total)
    forced = jnp.where(is_first, 0.0, -jnp.inf)
    chances = jnp.where(is_none, forced, own - jnp.where(is_none, 0, total))
    uses = jax.ops.segment_sum(chances[process.used], process.used_on, len(of_edges))
    return of_edges + uses


def _log_sums(
    x: Float[Array, "some paths"], group: Int[Array, " some"], num: int
) -> Float[Array, "{num} paths"]:
    """The logarithms of sums of exponentials by group, without a NaN in any gradient."""
    most = lax.stop_gradient(jax.ops.segment_max(x, group, num))
    most = jnp.where(jnp.isneginf(most), 0, most)
    total = jax.ops.segment_sum(jnp.exp(x - most[group]), group, num)
    is_some = total > 0
    return jnp.where(is_some, most + jnp.log(jnp.where(is_some, total, 1)), -jnp.inf)
