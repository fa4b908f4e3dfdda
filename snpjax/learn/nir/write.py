"""Writing NIR graphs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..._text.optional import nir
from ..export import rounding
from ..fit import Fitted
from ..layers.abstract import AbstractLayer
from ..layers.sequential import Sequential, chain
from ..network import SpikingNetwork
from ..relaxed import RelaxedSystem, constants_of
from .graphs import graph_of_layers, graph_of_network
from .network import NirNetwork, matrices_of
from .read import Reset, most_arriving
from .rules import NirFiring, Tables, firing_of
from .wiring import Arriving, NirWiring, Operator, Unit, unused


if TYPE_CHECKING:
    from nir import NIRGraph


def to_nir(
    model: NirNetwork | SpikingNetwork | Sequential | AbstractLayer | Fitted,
    /,
    *,
    dt: float | None = None,
    reset: Reset = "v_reset",
    round: bool = False,
) -> "NIRGraph":
    """Write a network as a NIR graph. `nir.write(path, graph)` stores it.

    With the discretisation that `from_nir` describes, the graph computes what the network does, one
    step later where the network holds its inputs as initial spikes: the `Input` receives them in
    one step, and sends them in the next. So what `from_nir` reads back needs `steps + 1` steps.

    - Neurons with the rule `a{n,}/a^c -> a` subtract c when they fire. They become an `I` with a
      `Threshold` of n - 1/2 and a `Scale` of -c from there back to it; with `reset="subtract"` an
      `IF` where n = c + 1.
    - Neurons that fire at each count from n on and leave the same number become an `IF` with
      `v_threshold` n - 1/2; if they also forget smaller counts, an `LIF` with tau = dt.
    - Neurons without rules become an `I`.
    - The input population becomes the `Input`, which receives what these neurons send:
      `count_train` of its counts.
    - Weights become a `Linear` for each projection, those of a convolution of images a `Conv2d` and
      those of a `NirNetwork` the nodes that they were read from. A pooling of images becomes a
      `SumPool2d`, of a `MaxPool` with an `IF` behind it.

    **Arguments:**

    - `model`: the network, a layer, or what `fit` returned, of which the best model is written.
    - `dt`: the length of a step in the unit of time of the graph; by default that of a
      `NirNetwork`, else 1.
    - `reset`: what readers of the graph do at a spike of an `IF`, as in `from_nir`.
    - `round`: round parameters that are not integers, as the model does when it runs.

    **Returns:** a `nir.NIRGraph`.

    **Raises:** `ValueError` with all populations whose neurons NIR does not describe, and the
    reason; for synapses with delays; and for parameters that are not integers unless `round` is
    true. `ImportError` without nir, which the extra `nir` installs.
    """
    library = nir()
    model = model.best if isinstance(model, Fitted) else model
    if not isinstance(model, NirNetwork | SpikingNetwork | Sequential | AbstractLayer):
        raise TypeError(
            f"`model` is of the type {type(model).__name__}. Give a network, a layer, or what "
            "`fit` returned for one."
        )
    parts = _of_nir(model, round) if isinstance(model, NirNetwork) else _of_network(model, round)
    step = dt or (model.dt if isinstance(model, NirNetwork) else 1.0)
    wiring, operators = parts.wiring, dict(parts.wiring.operators)
    firing, problems = [], []
    for unit, tables, start in zip(wiring.units, parts.tables, parts.initial, strict=True):
        own = firing_of(tables, unit.kind if isinstance(model, NirNetwork) else None)
        if unit.kind == "Input":
            own = NirFiring("Input", np.zeros(unit.size, np.int64))
        elif isinstance(own, NirFiring) and start.any():
            own = "a neuron has spikes at the start"
        if isinstance(own, str):
            problems.append(f"Population {unit.name!r}: {own}.")
            own = NirFiring("I", np.zeros(unit.size, np.int64))
        firing.append(own)
    problems += _bound_problems(parts, firing)
    if problems:
        raise ValueError("NIR has no nodes for the network:\n" + "\n".join(problems))

    nodes: dict[str, Any] = dict(parts.nodes)
    senders = {unit.sender: unit.name for unit in wiring.units}
    edges: list[tuple[str, str]] = []
    for unit, own in zip(wiring.units, firing, strict=True):
        made, inner, sender = _unit_nodes(unit, own, parts.gains.get(unit.name), step, reset, nodes)
        nodes |= made
        edges += inner
        senders[unit.sender] = sender
    edges += [(senders.get(source, source), target) for source, target in wiring.edges]
    (last,) = (source for source, target in wiring.edges if target == wiring.output)
    is_operator = last in operators
    shape = operators[last].out_shape if is_operator else wiring.units[wiring.read].shape
    nodes[wiring.output] = library.Output({"output": np.asarray(shape)})
    graph = library.NIRGraph(nodes, edges, type_check=False)
    # nir 1.0.8 infers wrong shapes behind several groups and kernels that are not square.
    if not any(
        operator.kind == "Conv2d"
        and (operator.groups > 1 or len(set(np.shape(nodes[name].weight)[2:])) > 1)
        for name, operator in operators.items()
    ):
        graph.infer_types()
    return graph


class _Parts(NamedTuple):
    """A network as a graph, and its numbers."""

    wiring: NirWiring
    tables: Sequence[Tables]
    initial: Sequence[Int[np.ndarray, " neurons"]]
    gains: Mapping[str, Int[np.ndarray, " neurons"]]
    arriving: Sequence[Arriving]
    nodes: Mapping[str, Any]

    @property
    def max_input(self) -> int:
        """The most spikes that an input sends in a step."""
        return int(self.tables[0].produce[self.tables[0].is_slot].max(initial=0))


def _of_nir(network: NirNetwork, round: bool) -> _Parts:
    wiring = network.wiring
    for what, table in (("weight", network.weights), ("bias", network.biases)):
        for name, values in table.items():
            change = np.abs(np.asarray(values) - np.round(np.asarray(values))).max(initial=0)
            _check_change(float(change), f"the {what} of node {name!r}", round)
    change, where = rounding(network.neurons)
    _check_change(change, where, round)
    stops = np.cumsum([unit.size for unit in wiring.units])
    tables, initial = _tables(network.neurons, [0, *stops])
    if wiring.has_bias:
        (own,), (start,) = _tables(network.neurons, [stops[-1], stops[-1] + 2])
        used = own.is_slot.any(axis=1)
        is_awake = used.sum() == 1 and (start == 1).all()
        if not is_awake or any((x[used] != 1).any() for x in own):
            raise ValueError("The neurons that send the bias were changed. Train other parameters.")
    numbers = [
        # Adding 0 turns -0.0 into 0.0.
        {n: np.clip(np.round(x), *network.weight_range) + 0 for n, x in table.items()}
        for table in (network.weights, network.biases)
    ]
    nodes = {name: _node(op, name, *numbers) for name, op in wiring.operators}
    gains = {name: np.asarray(gain) for name, gain in network.gains.items()}
    return _Parts(wiring, tables, initial, gains, network.arriving(), nodes)


def _of_network(network: SpikingNetwork | Sequential | AbstractLayer, round: bool) -> _Parts:
    if isinstance(network, SpikingNetwork):
        _check_change(*rounding(network.model), round)
        wiring, weights, model = graph_of_network(network)
    else:
        layers = network if isinstance(network, Sequential) else chain((network,))
        wiring, weights, model = graph_of_layers(layers, round=round)
    tables, initial = _tables(model, np.cumsum([0, *(unit.size for unit in wiring.units)]))
    # A Conv2d of NIR has a bias.
    zeros = {
        name: np.zeros(operator.out_shape[0], np.float32)
        for name, operator in wiring.operators
        if operator.kind == "Conv2d"
    }
    nodes = {name: _node(op, name, weights, zeros) for name, op in wiring.operators}
    arriving = matrices_of(wiring, weights, {}, {})
    return _Parts(wiring, tables, initial, {}, arriving, nodes)


def _check_change(change: float, where: str, round: bool) -> None:
    if change and not round:
        raise ValueError(
            f"Rounding changes {where} by up to {change:.3g}. Give `round=True` to write the "
            "rounded network, which is what runs compute."
        )


def _tables(
    model: RelaxedSystem, ends: Sequence[int] | Int[np.ndarray, " ends"]
) -> tuple[list[Tables], list[Int[np.ndarray, " neurons"]]]:
    """The rules of each range of neurons, and their initial spikes."""
    constants, program = constants_of(model), model.program
    for name, least in (("delay", 0), ("period", 1)):
        table = getattr(program, name)
        if table is not None and (np.asarray(table)[np.asarray(model.is_slot)] != least).any():
            raise ValueError(f"A rule has a {name}, which no node of NIR has.")
    low, high, consume, produce = (
        np.asarray(getattr(constants, name)) for name in ("low", "high", "consume", "produce")
    )
    is_slot = np.asarray(model.is_slot) & (low <= high)
    high = np.where(np.isfinite(high), high, -1)
    tables = [
        Tables(
            is_slot[:, a:b], *(x[:, a:b].astype(np.int64) for x in (low, high, consume, produce))
        )
        for a, b in zip(ends[:-1], ends[1:], strict=True)
    ]
    initial = np.asarray(constants.initial).astype(np.int64)
    return tables, [initial[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]


def _bound_problems(parts: _Parts, firing: Sequence[NirFiring]) -> list[str]:
    """Neurons that may hold more spikes than they have rules for."""
    most = most_arriving(parts.wiring, parts.arriving, parts.max_input)
    problems = []
    for unit, own, largest, received in zip(
        parts.wiring.units, firing, most, parts.arriving, strict=True
    ):
        if own.most is None:
            continue
        bound = largest if own.kind == "LIF" else own.least - 1 + largest
        at = int(np.argmax(bound - own.most))
        if bound[at] > own.most[at]:
            problems.append(
                f"Population {unit.name!r}: neuron {at} may hold {bound[at]} spikes, but has rules "
                f"for up to {own.most[at]} only. Give `from_nir` the `weight_range`."
            )
        lows = [0.0 if x is None else float(np.min(x, initial=0)) for x in received.values()]
        if own.kind == "LIF" and min(lows, default=0) < 0:
            problems.append(
                f"Population {unit.name!r}: a weight to it is negative, and no rule forgets a "
                "negative potential."
            )
    return problems


def _unit_nodes(
    unit: Unit,
    firing: NirFiring,
    gain: Int[np.ndarray, " neurons"] | None,
    dt: float,
    reset: Reset,
    taken_names: Mapping[str, Any],
) -> tuple[dict[str, Any], list[tuple[str, str]], str]:
    """The nodes of a unit, the edges among them, and the one that sends its spikes."""
    library, shape = nir(), unit.shape

    def shaped(values: Any) -> Float[np.ndarray, "..."]:
        return np.broadcast_to(np.asarray(values, np.float64).reshape(-1), unit.size).reshape(shape)

    if unit.kind == "Input":
        return {unit.name: library.Input({"input": np.asarray(shape)})}, [], unit.name
    gain = np.ones(unit.size, np.int64) if gain is None else gain
    r = shaped(gain / dt)
    if firing.kind == "I":
        return {unit.name: library.I(r)}, [], unit.name
    threshold = shaped(firing.least - 0.5)
    if firing.kind == "LIF":
        node = library.LIF(shaped(dt), shaped(gain), shaped(0), threshold, shaped(0))
        return {unit.name: node}, [], unit.name
    if firing.taken is None:
        return {unit.name: library.IF(r, threshold, shaped(firing.left))}, [], unit.name
    is_plain = reset == "subtract" and (firing.least == firing.taken + 1).all()
    if is_plain and unit.kind != "Threshold":
        return {unit.name: library.IF(r, shaped(firing.taken), shaped(0))}, [], unit.name
    first, second = (
        own or unused(f"{unit.name}_{what}", taken_names)
        for own, what in ((unit.threshold, "threshold"), (unit.feedback, "feedback"))
    )
    nodes = {
        unit.name: library.I(r),
        first: library.Threshold(threshold),
        second: library.Scale(shaped(-firing.taken / gain)),
    }
    return nodes, [(unit.name, first), (first, second), (second, unit.name)], first


def _node(
    operator: Operator,
    name: str,
    weights: Mapping[str, Float[np.ndarray, "..."]],
    biases: Mapping[str, Float[np.ndarray, "..."]],
) -> Any:
    """A linear node."""
    library, weight, bias = nir(), weights.get(name), biases.get(name)
    if operator.kind == "Linear":
        return library.Linear(weight)
    if operator.kind == "Affine":
        return library.Affine(weight, bias)
    if operator.kind == "Scale":
        return library.Scale(weight)
    if operator.kind == "Flatten":
        return library.Flatten({"input": np.asarray(operator.in_shape)}, *operator.dims)
    stride, padding = operator.stride, operator.padding
    if operator.kind == "SumPool2d":
        return library.SumPool2d(*map(np.asarray, (operator.kernel, stride, padding)))
    size, rest = operator.in_shape[1:], (operator.dilation, operator.groups, bias)
    return library.Conv2d(size, weight, stride, padding, *rest)
