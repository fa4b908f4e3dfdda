"""Drawing the environment of a system: the input and output nodes that give its trains and outputs.

They are those of the file that it was read from (its notes) as long as these still say the same;
else each fed neuron has an input node, and each output neuron an output node.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ...spiking.model.system import SpikingSystem
from ...spiking.model.validity import is_integer
from .labels import label_key


@dataclass(slots=True)
class DrawnInput:
    """An input node with its train, what it feeds (with weights), and output nodes directly."""

    name: str
    train: list[int]
    targets: list[tuple[str, int]]
    direct: list[tuple[str, int]] = field(default_factory=list)


#: Output nodes by name, and what each records (with weights).
DrawnOutputs: TypeAlias = dict[str, list[tuple[str, int]]]


def draw(
    system: SpikingSystem,
    trains: Mapping[str, Sequence[int]],
    recorded: Sequence[str],
    taken: Iterable[str],
) -> tuple[list[DrawnInput], DrawnOutputs]:
    """Nodes that give `trains` to neurons and have others `recorded`, none with a `taken` name."""
    names = {label_key(name) for name in taken}
    outputs = _noted_outputs(system, recorded, names)
    if outputs is None:
        outputs = {_free(f"out_{name}", names): [(name, 1)] for name in recorded}
    names.update(map(label_key, outputs))
    inputs = _noted_inputs(system, trains, names)
    if inputs is not None:
        names.update(label_key(node.name) for node in inputs)
        _add_direct(system, inputs, outputs)
    else:
        inputs = [
            DrawnInput(_free(f"in_{name}", names), list(train), [(name, 1)])
            for name, train in trains.items()
        ]
    return [digit for node in inputs for digit in _in_digits(node, names)], outputs


def _in_digits(node: DrawnInput, names: set[str]) -> list[DrawnInput]:
    """Input nodes that send at most 9 spikes a step and together what `node` sends: one a decimal
    place, its weight the place's.
    """
    drawn, place, rest = [], 1, node.train
    while not drawn or any(rest):
        name = node.name if not drawn else _free(f"{node.name}_{place}", names)
        digits = [spikes % 10 for spikes in rest]
        targets = [(target, place * weight) for target, weight in node.targets]
        direct = [(target, place * weight) for target, weight in node.direct]
        drawn.append(DrawnInput(name, digits, targets, direct))
        rest, place = [spikes // 10 for spikes in rest], 10 * place
    return drawn


def _free(name: str, names: set[str]) -> str:
    """`name`, or `name'` and so on if it is taken; it is taken from then on."""
    while label_key(name) in names:
        name += "'"
    names.add(label_key(name))
    return name


def _are_free(noted: Mapping[str, object], names: set[str]) -> bool:
    keys = {label_key(name) for name in noted}
    return len(keys) == len(noted) and not keys & names


# Notes are values of JSON that anybody may have written: those that say another thing are not used.


def _noted_outputs(
    system: SpikingSystem, recorded: Sequence[str], names: set[str]
) -> DrawnOutputs | None:
    noted = system.notes.get("outputs")
    if not isinstance(noted, Mapping) or not _are_free(noted, names):
        return None
    nodes: DrawnOutputs = {}
    for name, value in noted.items():
        sources = _weighted(value, system)
        if sources is None:
            return None
        nodes[name] = sources
    found = dict.fromkeys(source for sources in nodes.values() for source, _ in sources)
    return nodes if list(found) == list(recorded) else None


def _noted_inputs(
    system: SpikingSystem, trains: Mapping[str, Sequence[int]], names: set[str]
) -> list[DrawnInput] | None:
    noted = system.notes.get("inputs")
    if not isinstance(noted, Mapping) or not _are_free(noted, names):
        return None
    nodes, sums = [], {}
    for name, value in noted.items():
        if not isinstance(value, Mapping):
            return None
        train, targets = _counts(value.get("train")), _weighted(value.get("targets"), system)
        if train is None or targets is None:
            return None
        nodes.append(DrawnInput(name, train, targets))
        for target, weight in targets:
            total = sums.setdefault(target, [])
            total.extend([0] * (len(train) - len(total)))
            for step, spikes in enumerate(train):
                total[step] += weight * spikes
    wanted = {name: [int(spikes) for spikes in train] for name, train in trains.items()}
    return nodes if sums == wanted else None


def _add_direct(system: SpikingSystem, inputs: list[DrawnInput], outputs: DrawnOutputs) -> None:
    noted = system.notes.get("direct")
    if not isinstance(noted, Mapping):
        return
    by_name = {node.name: node for node in inputs}
    for output, sources in noted.items():
        if output not in outputs or not isinstance(sources, Mapping):
            continue
        for name, value in sources.items():
            node, arrivals = by_name.get(name), _counts(value)
            if node is None or arrivals is None:
                continue
            sent = sum(node.train)
            weight = sum(arrivals) // sent if sent else 1
            if weight and [weight * spikes for spikes in node.train] == arrivals:
                node.direct.append((output, weight))


def _weighted(value: object, system: SpikingSystem) -> list[tuple[str, int]] | None:
    """Pairs of a neuron and a weight, no neuron twice."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    pairs: dict[str, int] = {}
    for pair in value:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            return None
        name, weight = pair
        if not isinstance(name, str) or name not in system.names or name in pairs:
            return None
        if not is_integer(weight) or weight < 1:
            return None
        pairs[name] = int(weight)
    return list(pairs.items())


def _counts(value: object) -> list[int] | None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    are_counts = all(is_integer(spikes) and spikes >= 0 for spikes in value)
    return [int(spikes) for spikes in value] if are_counts else None
