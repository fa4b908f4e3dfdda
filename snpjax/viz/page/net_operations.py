"""Operations on a drawn net: places, transitions and arcs are added, removed and renamed.

Nodes have the numbers that they have in the drawing: places first, then transitions.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..._text.counts import plural
from ...sleptsov import Arcs, SleptsovNet
from ...sleptsov.view.positions import given_positions, with_positions
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


#: The kinds of arcs from places to transitions, by the field of a net.
_KINDS = {"": "inputs", "inhibitor": "inhibitors", "test": "tests"}


def changed_net(net: SleptsovNet, operation: Operation) -> SleptsovNet:
    """The net after one operation.

    **Arguments:**

    - `net`: the net.
    - `operation`: its name is under `"do"`:
      - `add`: `places` and `transitions`, lists of objects with a `name`, the `tokens` of a place,
        and where it stands, `at`, all optional. New transitions come last in a total order.
      - `remove`: `neurons` (numbers of nodes) and `synapses` (pairs of nodes), each optional; with
        a `kind`, only the arcs of that kind.
      - `rename`: `neuron`, `name`.
      - `connect`: `synapses`, triples with weights, and their `kind`: `""`, `"inhibitor"` or
        `"test"`.
      - `move`: `positions`, the place `[x, y]` of every node.
      - `priority`: `pairs` of transitions, of which the first beats the second; with `is_on` false
        they no longer do.
      - `order`: the transition `neuron` moves to the position `rank` in the total order, 1 for the
        first; the others keep their order.

    **Raises:** `Refused` for an operation that makes no sense, `InvalidNet` for one that makes the
    net invalid.
    """
    name = operation.get("do")
    if not isinstance(name, str) or name not in _OPERATIONS:
        raise Refused(f"There is no operation {name!r:.60} on nets.")
    positions = _positions_after(net, name, operation)
    return with_positions(_OPERATIONS[name](net, operation), positions)


def _positions_after(net: SleptsovNet, name: str, operation: Operation) -> list[list[float]] | None:
    """The positions of the nodes after an operation, `None` unless all have one."""
    if name == "move":
        moved = [point(place) for place in listed(operation, "positions")]
        if len(moved) != _size(net):
            there = plural(len(moved), "position")
            raise Refused(
                f"`positions` has {there} for {plural(_size(net), 'node')}. Give one for each."
            )
        return moved
    given = given_positions(net)
    if given is None and _size(net):
        return None
    known: list[list[float]] = [] if given is None else given.tolist()
    if name == "remove":
        gone = set(nodes(operation, "neurons", _size(net)))
        return [place for number, place in enumerate(known) if number not in gone]
    if name != "add":
        return known
    new = [[one.get("at") for one in listed(operation, of)] for of in ("places", "transitions")]
    if None in [*new[0], *new[1]]:
        return None
    places, transitions = ([point(at) for at in own] for own in new)
    return [*known[: net.num_places], *places, *known[net.num_places :], *transitions]


def _move(net: SleptsovNet, operation: Operation) -> SleptsovNet:
    del operation  # the positions are notes
    return net


def _size(net: SleptsovNet) -> int:
    return net.num_places + net.num_transitions


def _add(net: SleptsovNet, operation: Operation) -> SleptsovNet:
    places, transitions = listed(operation, "places"), listed(operation, "transitions")
    if not all(isinstance(one, Mapping) for one in [*places, *transitions]):
        raise Refused("Give objects for places and transitions.")
    tokens = [integer(one.get("tokens", 0), "tokens") for one in places]
    count = net.num_transitions
    new = range(count, count + len(transitions))
    return net.replace(
        marking=[*net.marking.tolist(), *tokens],
        num_transitions=count + len(transitions),
        order=None if net.order is None else [*net.order.tolist(), *new],
        place_names=_names(net.place_names, places, "p1"),
        transition_names=_names(net.transition_names, transitions, "t1"),
        final_markings=np.pad(net.final_markings, ((0, 0), (0, len(places)))),
    )


def _names(known: Sequence[str], new: Sequence[Operation], first: str) -> list[str]:
    names = list(known)
    for one in new:
        wanted = one.get("name")
        names.append(free_name(names, like=first) if wanted is None else name_in(wanted))
    return names


def _remove(net: SleptsovNet, operation: Operation) -> SleptsovNet:
    num = net.num_places
    gone = set(nodes(operation, "neurons", _size(net)))
    pairs = set(tuples(operation, "synapses", 2, _size(net)))
    places = [p for p in range(num) if p not in gone]
    transitions = [t for t in range(net.num_transitions) if num + t not in gone]
    place_of = {old: new for new, old in enumerate(places)}
    transition_of = {old: new for new, old in enumerate(transitions)}

    wanted = None if operation.get("kind") is None else _field(operation)

    def left(field: str) -> Arcs:
        own = pairs if wanted in (None, field) or field == "outputs" else set()
        return Arcs.of(
            (place_of[p], transition_of[t], weight)
            for p, t, weight in getattr(net, field).triples()
            if p in place_of and t in transition_of
            if ((num + t, p) if field == "outputs" else (p, num + t)) not in own
        )

    return net.replace(
        marking=net.marking[places],
        num_transitions=len(transitions),
        place_names=[net.place_names[p] for p in places],
        transition_names=[net.transition_names[t] for t in transitions],
        **{field: left(field) for field in ("outputs", *_KINDS.values())},
        priorities=[
            (transition_of[a], transition_of[b])
            for a, b in net.priorities.tolist()
            if a in transition_of and b in transition_of
        ],
        order=None
        if net.order is None
        else [transition_of[t] for t in net.order.tolist() if t in transition_of],
        final_markings=net.final_markings[:, places],
    )


def _rename(net: SleptsovNet, operation: Operation) -> SleptsovNet:
    number, name = node(operation, "neuron", _size(net)), name_in(operation.get("name"))
    if number < net.num_places:
        return net.replace(place_names=_with(net.place_names, number, name))
    own = number - net.num_places
    return net.replace(transition_names=_with(net.transition_names, own, name))


def _with(names: Sequence[str], number: int, name: str) -> list[str]:
    return [*names[:number], name, *names[number + 1 :]]


def _connect(net: SleptsovNet, operation: Operation) -> SleptsovNet:
    num, field = net.num_places, _field(operation)
    weights = {name: _weights(getattr(net, name)) for name in (field, "outputs")}
    for source, target, weight in tuples(operation, "synapses", 3, _size(net)):
        if source < num <= target:
            weights[field][source, target - num] = weight
        elif target < num <= source and field == "inputs":
            weights["outputs"][target, source - num] = weight
        else:
            raise Refused("An arc joins a place and a transition; a test begins at a place.")
    return net.replace(
        **{
            name: Arcs.of((p, t, weight) for (p, t), weight in own.items())
            for name, own in weights.items()
        }
    )


def _field(operation: Operation) -> str:
    """The field of a net with the arcs that an operation means."""
    kind = operation.get("kind", "")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise Refused(f"`kind` is {kind!r:.60}. Give one of {', '.join(map(repr, _KINDS))}.")
    return _KINDS[kind]


def _weights(arcs: Arcs) -> dict[tuple[int, int], int]:
    return {(p, t): weight for p, t, weight in arcs.triples()}


def _priority(net: SleptsovNet, operation: Operation) -> SleptsovNet:
    num, known = net.num_places, set(map(tuple, net.priorities.tolist()))
    pairs = {(a - num, b - num) for a, b in tuples(operation, "pairs", 2, _size(net))}
    if any(min(pair) < 0 for pair in pairs):
        raise Refused("Only a transition beats another one.")
    known = known | pairs if operation.get("is_on", True) else known - pairs
    return net.replace(priorities=sorted(known))


def _order(net: SleptsovNet, operation: Operation) -> SleptsovNet:
    if net.order is None:
        raise Refused("This net has no total order of its transitions. Edit their priorities.")
    own = node(operation, "neuron", _size(net)) - net.num_places
    rank = integer(operation.get("rank"), "rank")
    if own < 0:
        raise Refused("A place has no position in the order. Give a transition.")
    if not 1 <= rank <= net.num_transitions:
        raise Refused(f"The position is {rank}. Give an integer from 1 to {net.num_transitions}.")
    order = [t for t in net.order.tolist() if t != own]
    return net.replace(order=[*order[: rank - 1], own, *order[rank - 1 :]])


_OPERATIONS: Mapping[str, Callable[[SleptsovNet, Operation], SleptsovNet]] = {
    "move": _move,
    "add": _add,
    "remove": _remove,
    "rename": _rename,
    "connect": _connect,
    "priority": _priority,
    "order": _order,
}
