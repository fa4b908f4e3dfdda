"""Nets of the Model Checking Contest in any size, from their published definitions."""

from collections.abc import Mapping, Sequence

import snpjax as snp
from snpjax.sleptsov import Arcs, Execution, Petri


def philosophers(num: int) -> Execution:
    """Philosophers-PT: each of them takes the two forks beside his plate in any order, one after
    the other, eats and puts both back. 3^num markings, of which two are deadlocks: all hold their
    left fork, or all their right one."""
    forks = [f"Fork_{i}" for i in range(num)]
    places = [f"{state}_{i}" for i in range(num) for state in ("Think", "Catch1", "Catch2", "Eat")]
    arcs: dict[str, tuple[Sequence[str], Sequence[str]]] = {}
    for i in range(num):
        think, left, right, eat = (f"{x}_{i}" for x in ("Think", "Catch1", "Catch2", "Eat"))
        own, other = forks[i], forks[(i + 1) % num]
        arcs[f"FF1a_{i}"] = (think, own), (left,)
        arcs[f"FF1b_{i}"] = (think, other), (right,)
        arcs[f"FF2a_{i}"] = (left, other), (eat,)
        arcs[f"FF2b_{i}"] = (right, own), (eat,)
        arcs[f"End_{i}"] = (eat,), (think, own, other)
    marking = dict.fromkeys([*forks, *(f"Think_{i}" for i in range(num))], 1)
    return _net(f"Philosophers-PT-{num:06}", [*forks, *places], arcs, marking)


def kanban(cards: int) -> Execution:
    """Kanban-PT: four cells with `cards` kanban cards each (Ciardo, Tilgner 1996). Parts are made,
    reworked or passed on; the first cell feeds the second and third, which feed the fourth. It
    has no deadlock; the published number of markings is 1,005,927,208 for 10 cards."""
    places = [f"{kind}{cell}" for cell in range(1, 5) for kind in ("Pm", "Pback", "Pout", "P")]
    arcs: dict[str, tuple[Sequence[str], Sequence[str]]] = {}
    for cell in range(1, 5):
        machine, back, out = (f"{kind}{cell}" for kind in ("Pm", "Pback", "Pout"))
        arcs[f"tredo{cell}"] = (machine,), (back,)
        arcs[f"tok{cell}"] = (machine,), (out,)
        arcs[f"tback{cell}"] = (back,), (machine,)
    arcs["tin1"] = ("P1",), ("Pm1",)
    arcs["tsynch1_23"] = ("Pout1", "P2", "P3"), ("P1", "Pm2", "Pm3")
    arcs["tsynch4_23"] = ("Pout2", "Pout3", "P4"), ("P2", "P3", "Pm4")
    arcs["tout4"] = ("Pout4",), ("P4",)
    marking = {f"P{cell}": cards for cell in range(1, 5)}
    return _net(f"Kanban-PT-{cards:05}", places, arcs, marking)


def _net(
    name: str,
    places: Sequence[str],
    arcs: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    marking: Mapping[str, int],
) -> Execution:
    """A net of plain arcs, by the names of places before and after each transition."""
    of = {place: number for number, place in enumerate(places)}
    before, after = (
        [(of[place], t, 1) for t, both in enumerate(arcs.values()) for place in both[side]]
        for side in (0, 1)
    )
    net = snp.SleptsovNet(
        [marking.get(place, 0) for place in places],
        inputs=Arcs.of(before),
        outputs=Arcs.of(after),
        place_names=places,
        transition_names=list(arcs),
        name=name,
    )
    return Execution(net, Petri())
