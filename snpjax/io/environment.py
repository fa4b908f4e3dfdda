"""Systems whose environment is drawn: input and output nodes stand beside the neurons.

WebSnapse and sn-p-factory draw the environment. An input node holds a train and has synapses to
neurons; an output node records what arrives over its synapses. A `SpikingSystem` has neither:
trains belong to the neurons that receive them, and outputs are the neurons that emit. A reader of
any such format makes a list of nodes (`NeuronNode`, `InputNode`, `OutputNode`, in the order of the
file) and of `Wire`s between them, and `build_system` makes the system and reports every problem:

- an input node becomes trains of its targets, times the weight; several into one neuron add;
- the sources of an output node become outputs, in the order of the output nodes and of their wires;
  a weight other than 1 is reported in a warning, because an output lists what a neuron emits;
- a wire from an input node to an output node is kept as a note with a warning;
- a wire out of an output node or into an input node is an error, and so are an unknown name, a
  name of two nodes, a wire listed twice, a weight of 0 or below.

What the system itself has no place for is in its notes: `"inputs"` `{input: {"train": [spikes],
"targets": [[neuron, weight]]}}`, `"outputs"` `{output: [[source, weight]]}` and `"direct"`
`{output: {input: [spikes that arrive]}}`, each only where there is something to say.

A place (`P`) is whatever the reader locates things with, such as the offset in the text or the path
in a JSON value. Findings go to a `Tell` of these.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from ..spiking.model.rule import AnyRule
from ..spiking.model.system import Json, Neuron, SpikingSystem
from ..spiking.model.validity import Level, Place
from .building import KnownNames, Tell, tell_problems, try_to_build


P = TypeVar("P")

#: Entries of the input trains of all neurons together. An input node with many targets multiplies.
MAX_INPUT_ENTRIES = 2**23


@dataclass(frozen=True, slots=True)
class PlacedRule(Generic[P]):
    """A rule and where it stands.

    `place_of` gives the places of single problem codes of `validity`, such as that of the number
    produced for `"produce_exceeds_consume"`. `is_whole` is false when the guard did not
    parse (which is reported) and another one stands in for it, so that only the numbers can be
    trusted.
    """

    rule: AnyRule
    place: P
    place_of: Callable[[str], P | None]
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class NeuronNode(Generic[P]):
    """A neuron. `place` is that of its name."""

    name: str
    place: P
    spikes: int
    spikes_place: P
    rules: Sequence[PlacedRule[P]]


@dataclass(frozen=True, slots=True)
class InputNode(Generic[P]):
    """An environment node that sends `train`: spikes at the end of step 1, 2, ..., none negative.

    `place` is that of its name.
    """

    name: str
    place: P
    train: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class OutputNode(Generic[P]):
    """An environment node that records what arrives. `place` is that of its name."""

    name: str
    place: P


Node: TypeAlias = NeuronNode[P] | InputNode[P] | OutputNode[P]


@dataclass(frozen=True, slots=True)
class Wire(Generic[P]):
    """A synapse between two nodes of any kind, and where its parts stand.

    `place` is where the wire as a whole is reported (a repetition, a self-synapse).
    """

    source: str
    target: str
    weight: int
    place: P
    source_place: P
    target_place: P
    weight_place: P


def build_system(
    nodes: Sequence[Node[P]],
    wires: Sequence[Wire[P]],
    tell: Tell[P],
    *,
    level: Level,
    notes: Mapping[str, Json] | None = None,
    rules_by_label: Mapping[str, Sequence[PlacedRule[P]]] | None = None,
    dictionary: Sequence[tuple[str, str]] = (),
    are_names_known: bool = True,
) -> SpikingSystem | None:
    """The system of a drawing, with every problem of it told at its place.

    **Arguments:**

    - `nodes`, `wires`: in the order of the file.
    - `tell`: takes the findings. The caller raises when there were errors.
    - `level`, `dictionary`: of the system.
    - `notes`: what the reader notes besides; those of the environment are added.
    - `rules_by_label`: rules of labels that no neuron bears (division and budding).
    - `are_names_known`: false when a node had to be left out, so that its name is not known.
      Unknown names are not told then.

    **Returns:** the system, or `None` if it is invalid (which is reported then). After an error of
    the drawing it is the system of the rest: useless, but its own problems are reported too.
    """
    builder = _Builder(nodes, tell, rules_by_label or {}, are_names_known)
    noted = dict(notes or {})
    trains, outputs = builder.connect(builder.check_wires(wires), noted)
    system, problems = try_to_build(
        lambda: SpikingSystem(
            [Neuron(n.name, n.spikes, [r.rule for r in n.rules]) for n in builder.neurons],
            [(wire.source, wire.target, wire.weight) for wire in builder.synapses],
            input=trains,
            output=outputs,
            level=level,
            dictionary=dictionary,
            rules_by_label={x: [r.rule for r in its] for x, its in builder.by_label.items()},
            notes=noted,
        )
    )
    tell_problems(tell, problems, builder.place_of, builder.has_no_guard)
    return system


class _Builder(Generic[P]):
    def __init__(
        self,
        nodes: Sequence[Node[P]],
        tell: Tell[P],
        by_label: Mapping[str, Sequence[PlacedRule[P]]],
        are_names_known: bool,
    ):
        self.tell, self.by_label = tell, by_label
        self.nodes = _without_repetitions(nodes, tell)
        self.neurons = [n for n in self.nodes.values() if isinstance(n, NeuronNode)]
        self.synapses: list[Wire[P]] = []
        names = {name: index for index, name in enumerate(self.nodes)}
        self._known: KnownNames[P] = KnownNames(names, tell.error, are_complete=are_names_known)

    def check_wires(self, wires: Sequence[Wire[P]]) -> list[Wire[P]]:
        """The wires that are sound at every level, whatever nodes they join."""
        sound: list[Wire[P]] = []
        seen: dict[tuple[str, str], Wire[P]] = {}
        for wire in wires:
            source, target, weight = wire.source, wire.target, wire.weight
            here = f"synapse ({source}, {target})"
            first = seen.setdefault((source, target), wire)
            if first is not wire:
                message = f"{here} is listed twice (write one synapse with a weight instead)"
                self.tell.error(wire.place, message, first.place)
                continue
            is_known = self._known.has(source, wire.source_place, here)
            is_known &= self._known.has(target, wire.target_place, here)
            if weight <= 0:
                fault, fix = "weight 0", "write an integer other than 0"
                if weight:
                    fault = f"the negative weight {weight}"
                    fix = "this format has positive ones only"
                self.tell.error(wire.weight_place, f"{here} has {fault} ({fix})")
            elif is_known and self._has_ends(wire, here):
                sound.append(wire)
        return sound

    def _has_ends(self, wire: Wire[P], here: str) -> bool:
        if isinstance(self.nodes[wire.source], OutputNode):
            message = f"{here} leaves the output node {wire.source!r} (it only records; remove it)"
            self.tell.error(wire.source_place, message)
            return False
        if isinstance(self.nodes[wire.target], InputNode):
            message = f"{here} enters the input node {wire.target!r} (it only sends; remove it)"
            self.tell.error(wire.target_place, message)
            return False
        return True

    def connect(
        self, wires: Sequence[Wire[P]], notes: dict[str, Json]
    ) -> tuple[Mapping[str, Sequence[int]], list[str]]:
        """Trains by neuron and the output neurons; the synapses proper are kept, the rest noted."""
        trains: dict[str, list[int] | tuple[int, ...]] = {}
        inputs = {n.name: n for n in self.nodes.values() if isinstance(n, InputNode)}
        targets: dict[str, list[list[Json]]] = {name: [] for name in inputs}
        outputs: dict[str, list[list[Json]]] = {
            node.name: [] for node in self.nodes.values() if isinstance(node, OutputNode)
        }
        direct: dict[str, dict[str, Json]] = {}
        sources: dict[str, list[str]] = {name: [] for name in outputs}
        entries = 0
        for wire in wires:
            node = inputs.get(wire.source)
            if node is None and wire.target not in outputs:
                self.synapses.append(wire)
                continue
            if node is None:
                outputs[wire.target].append([wire.source, wire.weight])
                sources[wire.target].append(wire.source)
                if wire.weight != 1:
                    message = (
                        f"synapse ({wire.source}, {wire.target}) has weight {wire.weight}, but an "
                        'output lists what the neuron emits (the weight is kept in notes["outputs"'
                        "])"
                    )
                    self.tell.warning(wire.weight_place, message)
                continue
            if entries + len(node.train) > MAX_INPUT_ENTRIES:
                message = (
                    f"the input trains of all neurons have more than {MAX_INPUT_ENTRIES} entries "
                    "(shorten the trains, or feed fewer neurons)"
                )
                self.tell.error(wire.place, message)
                break
            entries += len(node.train)
            weight, train = wire.weight, node.train
            if weight != 1:
                train = tuple(weight * spikes for spikes in train)
            if wire.target in outputs:
                direct.setdefault(wire.target, {})[wire.source] = list(train)
                message = (
                    f"input node {wire.source!r} leads to output node {wire.target!r} past all "
                    'neurons (kept only in notes["direct"])'
                )
                self.tell.warning(wire.place, message)
            else:
                targets[wire.source].append([wire.target, wire.weight])
                _add(trains, wire.target, train)
        if inputs:
            notes["inputs"] = {
                name: {"train": list(node.train), "targets": targets[name]}
                for name, node in inputs.items()
            }
        if outputs:
            notes["outputs"] = outputs
        if direct:
            notes["direct"] = direct
        return trains, [source for its_sources in sources.values() for source in its_sources]

    # Places

    def has_no_guard(self, place: Place) -> bool:
        rule = self._rule(place)
        return rule is not None and not rule.is_whole

    def _rule(self, place: Place) -> PlacedRule[P] | None:
        if place.kind != "rule" or place.rule is None:
            return None
        if isinstance(place.index, str):
            return self.by_label[place.index][place.rule]
        return self.neurons[place.index].rules[place.rule]

    def place_of(self, place: Place, code: str) -> P:
        rule = self._rule(place)
        if rule is not None:
            part = rule.place_of(code)
            return rule.place if part is None else part
        if isinstance(place.index, str):  # an input or an output
            return self.nodes[place.index].place
        if place.kind == "neuron":
            node = self.neurons[place.index]
            return node.spikes_place if code == "bad_number" else node.place
        wire = self.synapses[place.index]
        return wire.weight_place if code == "weighted_synapse" else wire.place


def _without_repetitions(nodes: Sequence[Node[P]], tell: Tell[P]) -> dict[str, Node[P]]:
    by_name: dict[str, Node[P]] = {}
    for node in nodes:
        first = by_name.setdefault(node.name, node)
        if first is not node:
            message = f"neuron {node.name!r} is declared twice (give each neuron its own name)"
            tell.error(node.place, message, first.place)
    return by_name


def _add(trains: dict[str, list[int] | tuple[int, ...]], target: str, train: Sequence[int]) -> None:
    """Add a train to that of a neuron. Trains of one input node are shared until then."""
    old = trains.get(target)
    if old is None:
        trains[target] = tuple(train)
        return
    new = old if isinstance(old, list) else list(old)
    for step, spikes in enumerate(train[: len(new)]):
        new[step] += spikes
    new.extend(train[len(new) :])
    trains[target] = new
