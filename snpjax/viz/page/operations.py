"""Operations on a drawn system: neurons and synapses are added, removed, moved and renamed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._text.counts import plural
from ...spiking import Channels, Neuron, SpikingSystem, SynapseDelays
from ...spiking.model.renaming import renamed, renamed_rule
from ...spiking.model.system import Synapse
from ...spiking.model.variants import AntiSpikes, Exhaustive
from ...spiking.view.picture import given_positions
from .arguments import (
    Operation,
    Refused,
    free_name,
    integer,
    listed,
    name_in,
    node,
    nodes,
    point,
    tuples,
)
from .palette import ROOM, module_of


_MAX_TRAIN = 10_000


def changed(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    """The system after one operation.

    **Arguments:**

    - `system`: the system. Operations name its neurons by their numbers, from 0.
    - `operation`: its name is under `"do"`:
      - `add`: `neurons`, a list of `{"name", "spikes", "rules", "at"}`, all optional.
      - `remove`: `neurons` and `synapses` (pairs), each optional.
      - `rename`: `neuron`, `name`.
      - `duplicate`: `neurons`, with the synapses between them, and `by`, how far away.
      - `connect`: `synapses`, triples with weights; a synapse that exists gets the weight.
      - `delay`: `synapses`, triples with delays in steps, where 0 is none.
      - `input`: `neuron`, `train` (numbers, or `None` for no input).
      - `output`: `neuron`, `is_output`.
      - `move`: `positions`, the place `[x, y]` of every neuron.
      - `insert`: `module` of the palette, its `size` if it has one, and `at`; its neurons get names
        that are free.

    **Raises:** `Refused` for an operation that makes no sense, `InvalidSystem` for one that makes
    the system invalid.
    """
    name = operation.get("do")
    if not isinstance(name, str) or name not in _OPERATIONS:
        raise Refused(f"There is no operation {name!r:.60}.")
    return _OPERATIONS[name](system, operation)


def _add(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    given = listed(operation, "neurons")
    places, taken, new = _places(system), set(system.names), []
    for one in given:
        if not isinstance(one, Mapping):
            raise Refused(f"{one!r:.60} is not a neuron. Give an object.")
        wanted = one.get("name")
        name = free_name(taken) if wanted is None else name_in(wanted)
        taken.add(name)
        rules = one.get("rules", [])
        if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
            raise Refused(f"`rules` is {rules!r:.60}. Give texts.")
        new.append(Neuron(name, integer(one.get("spikes", 0), "spikes"), rules))
        places = _with_place(places, one.get("at"))
    return _with_places(system.replace(neurons=[*system.neurons, *new]), places)


def _remove(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    gone = {system.neurons[i].name for i in nodes(operation, "neurons", system.num_neurons)}
    pairs = {
        (system.neurons[s].name, system.neurons[t].name)
        for s, t in tuples(operation, "synapses", 2, system.num_neurons)
    }
    if not isinstance(system.variant, AntiSpikes | Exhaustive | SynapseDelays | None):
        raise _by_text(system)
    variant, places = system.variant, _places(system)
    if isinstance(variant, SynapseDelays):
        left = {
            ends: delay
            for ends, delay in variant.delays
            if ends not in pairs and gone.isdisjoint(ends)
        }
        variant = SynapseDelays(left) if left else None
    if places is not None:
        kept = [x.name not in gone for x in system.neurons]
        places = [place for place, is_kept in zip(places, kept, strict=True) if is_kept]
    changed = system.replace(
        neurons=[neuron for neuron in system.neurons if neuron.name not in gone],
        synapses=[
            synapse
            for synapse in system.synapses
            if synapse[:2] not in pairs and gone.isdisjoint(synapse[:2])
        ],
        input={name: train for name, train in system.input.items() if name not in gone},
        output=[name for name in system.output if name not in gone],
        variant=variant,
    )
    return _with_places(changed, places)


def _rename(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    old = system.neurons[node(operation, "neuron", system.num_neurons)]
    new = name_in(operation.get("name"))
    if new == old.name:
        return system
    if isinstance(system.variant, Channels):
        raise _by_text(system)  # channels have names, too
    label = {old.label: new} if old.label == old.name else {}
    return _with_places(renamed(system, {old.name: new}, label), _places(system))


def _duplicate(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    chosen = nodes(operation, "neurons", system.num_neurons)
    part = SpikingSystem(
        [system.neurons[i] for i in chosen],
        _between(system, {system.neurons[i].name for i in chosen}),
        signed=system.signed,
        variant=_delays_between(system, {system.neurons[i].name for i in chosen}),
    )
    places, by = _places(system), point(operation.get("by", [40, 40]))
    own = None
    if places is not None:
        own = [[places[i][0] + by[0], places[i][1] + by[1]] for i in chosen]
    return _joined(system, part, own)


def _between(system: SpikingSystem, names: set[str]) -> list[Synapse]:
    return [synapse for synapse in system.synapses if names.issuperset(synapse[:2])]


def _delays_between(system: SpikingSystem, names: set[str]) -> SynapseDelays | None:
    if not isinstance(system.variant, SynapseDelays):
        return None
    own = {ends: delay for ends, delay in system.variant.delays if names.issuperset(ends)}
    return SynapseDelays(own) if own else None


def _connect(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    weights = {(s, t): weight for s, t, weight in system.synapses}
    for source, target, weight in tuples(operation, "synapses", 3, system.num_neurons):
        ends = system.neurons[source].name, system.neurons[target].name
        weights[ends] = weight
    return system.replace(synapses=[(s, t, weight) for (s, t), weight in weights.items()])


def _delay(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    if not isinstance(system.variant, SynapseDelays | None):
        raise _by_text(system)
    delays = dict(() if system.variant is None else system.variant.delays)
    for source, target, delay in tuples(operation, "synapses", 3, system.num_neurons):
        ends = system.neurons[source].name, system.neurons[target].name
        delays.pop(ends, None)
        if delay:
            delays[ends] = delay
    return system.replace(variant=SynapseDelays(delays) if delays else None)


def _input(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    name = system.neurons[node(operation, "neuron", system.num_neurons)].name
    trains = dict(system.input)
    if operation.get("train") is None:
        trains.pop(name, None)
    else:
        train = listed(operation, "train", most=_MAX_TRAIN)
        trains[name] = tuple(integer(count, "train") for count in train)
    return system.replace(input=trains)


def _output(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    name = system.neurons[node(operation, "neuron", system.num_neurons)].name
    others = [output for output in system.output if output != name]
    return system.replace(output=[*others, name] if operation.get("is_output") else others)


def _move(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    places = [point(place) for place in listed(operation, "positions")]
    if len(places) != system.num_neurons:
        there, neurons = plural(len(places), "position"), plural(system.num_neurons, "neuron")
        raise Refused(f"`positions` has {there} for {neurons}. Give one for each.")
    return _with_places(system, places)


def _insert(system: SpikingSystem, operation: Operation) -> SpikingSystem:
    name, size = operation.get("module"), operation.get("size")
    try:
        part = module_of(f"{name}", None if size is None else integer(size, "size"))
    except ValueError as error:
        raise Refused(f"{error}") from None
    if system.is_growing:
        raise Refused("No module fits into a system with division or budding. Edit the text.")
    places, own = _places(system), _places(part)
    if places is not None and own is not None:
        left, top = (min((place[axis] for place in own), default=0) for axis in (0, 1))
        x, y = point(operation.get("at", [left, top]))
        own = _clear_of(places, [[px - left + x, py - top + y] for px, py in own])
    return _joined(system, part, own)


def _clear_of(places: Sequence[list[float]], own: list[list[float]]) -> list[list[float]]:
    """The places of a module, moved down until no neuron stands among them."""
    across, down = ROOM
    left, right = min(x for x, _ in own) - across, max(x for x, _ in own) + across
    top, bottom = min(y for _, y in own) - down, max(y for _, y in own) + down
    size, at = bottom - top, top
    for y in sorted(y for x, y in places if left < x < right):
        if y >= at + size:
            break
        at = max(at, y)
    return [[x, y + at - top] for x, y in own]


def _joined(
    system: SpikingSystem, part: SpikingSystem, places: Sequence[list[float]] | None
) -> SpikingSystem:
    """The system with the neurons of another one, under free names, and what belongs to them."""
    names: dict[str, str] = {}
    taken = set(system.names)
    for neuron in part.neurons:
        names[neuron.name] = free_name(taken, like=neuron.name)
        taken.add(names[neuron.name])
    new = [
        Neuron(names[x.name], x.spikes, [renamed_rule(r, names, {}) for r in x.rules])
        for x in part.neurons
    ]
    joined = system.replace(
        neurons=[*system.neurons, *new],
        synapses=[*system.synapses, *((names[s], names[t], w) for s, t, w in part.synapses)],
        input={**system.input, **{names[x]: train for x, train in part.input.items()}},
        output=[*system.output, *(names[x] for x in part.output)],
        signed=system.signed or part.signed,
        variant=_joined_variant(system, part, names),
    )
    before = _places(system)
    known = None if before is None or places is None else [*before, *places]
    return _with_places(joined, known)


def _joined_variant(system: SpikingSystem, part: SpikingSystem, names: Mapping[str, str]) -> Any:
    """The variant of a system, with the delays of synapses of a part."""
    if not isinstance(part.variant, SynapseDelays):
        return system.variant
    own = [((names[s], names[t]), delay) for (s, t), delay in part.variant.delays]
    return SynapseDelays([*getattr(system.variant, "delays", ()), *own])


_OPERATIONS: Mapping[str, Callable[[SpikingSystem, Operation], SpikingSystem]] = {
    "add": _add,
    "remove": _remove,
    "rename": _rename,
    "duplicate": _duplicate,
    "connect": _connect,
    "delay": _delay,
    "input": _input,
    "output": _output,
    "move": _move,
    "insert": _insert,
}


# ---- positions, which are notes ----


def _places(system: SpikingSystem) -> list[list[float]] | None:
    positions = given_positions(system)
    if not system.num_neurons:
        return []
    return None if positions is None else positions.tolist()


def _with_place(places: list[list[float]] | None, at: Any) -> list[list[float]] | None:
    return None if at is None or places is None else [*places, point(at)]


def _with_places(system: SpikingSystem, places: Sequence[Sequence[float]] | None) -> SpikingSystem:
    notes = {name: note for name, note in system.notes.items() if name != "positions"}
    if places is not None:
        notes["positions"] = {
            neuron.name: [float(x) for x in place]
            for neuron, place in zip(system.neurons, places, strict=True)
        }
    return system.replace(notes=notes)


def _by_text(system: SpikingSystem) -> Refused:
    kind = type(system.variant).__name__
    return Refused(f"The variant {kind} names neurons and synapses. Change them in the text.")
