"""What tests of Sleptsov nets share."""

import warnings
from itertools import islice
from typing import NamedTuple

import numpy as np

import snpjax as snp
from snpjax.sleptsov import Arcs, SleptsovNet


#: Keep every firing and nothing else.
TRACE = snp.Save(every=None, outputs=False, details=True)


class Size(NamedTuple):
    """What a net is filled up to. All nets of one size share their compilations."""

    places: int
    transitions: int
    arcs: int
    width: int

    def fits(self, net: SleptsovNet) -> bool:
        rows = len(net.inputs) + len(net.outputs)
        conditions = len(net.inputs) + len(net.inhibitors) + len(net.tests)
        widths = [
            np.bincount(arcs.transition, minlength=net.num_transitions) for arcs in _kinds(net)
        ]
        width = np.sum(widths, axis=0).max(initial=0)
        return (
            net.num_places + self.width <= self.places
            and net.num_transitions + 8 <= self.transitions
            and rows + 16 + self.width <= self.arcs
            and conditions + 16 + self.width <= self.arcs
            and width <= self.width
            and len(net.priorities) < 8 * self.width
        )


SIZES = (Size(24, 32, 128, 8), Size(128, 128, 512, 16), Size(384, 384, 1536, 16))


def filled(net: SleptsovNet, size: Size | None = None) -> SleptsovNet:
    """The net with places and transitions that change nothing, after its own."""
    if size is None:
        size = next((size for size in SIZES if size.fits(net)), None)
        if size is None:
            return net
    first, extra = net.num_places, net.num_transitions
    empty = range(first, first + size.width)
    dead = range(extra, size.transitions)
    # Nobody ever puts a token into an empty place.
    inputs = [(empty[0], t, 1) for t in dead]
    inputs += [(p, dead[0], 1) for p in empty[1:]]
    inhibitors = [(empty[0], dead[1], 1)]
    rows = _num_rows(net) + len(inputs)
    places = range(size.places)
    wanted = ((p, t, 1) for p in places for t in dead[1:] if p != empty[0])
    outputs = list(islice(wanted, size.arcs - rows))
    conditions = len(net.inputs) + len(net.tests) + len(net.inhibitors)
    missing = size.arcs - conditions - len(inputs) - len(inhibitors)
    per = size.width - 3
    wanted = [(places[k], t) for t in dead[2:] for k in range(per)]
    tests = [(p, t, 1) for p, t in wanted[:missing]]
    pairs = 8 * size.width - len(net.priorities)
    between = [(t, u) for t in dead for u in dead if t < u][:pairs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return SleptsovNet(
            np.pad(net.marking, (0, size.places - first)),
            inputs=_joined(net.inputs, inputs),
            outputs=_joined(net.outputs, outputs),
            inhibitors=_joined(net.inhibitors, inhibitors),
            tests=_joined(net.tests, tests),
            priorities=[*map(tuple, net.priorities.tolist()), *between],
            num_transitions=size.transitions,
        )


def _kinds(net: SleptsovNet) -> tuple[Arcs, ...]:
    return net.inputs, net.outputs, net.inhibitors, net.tests


def _num_rows(net: SleptsovNet) -> int:
    ends = {(t, p) for p, t, _ in [*net.inputs.triples(), *net.outputs.triples()]}
    return len(ends)


def _joined(arcs: Arcs, more: list[tuple[int, int, int]]) -> Arcs:
    return Arcs.of([*arcs.triples(), *more])


def kanban(cards: int) -> SleptsovNet:
    """The Kanban system of Ciardo and Tilgner (1996), with the same number of cards in each of its
    four cells: 160 markings with 1, 4,600 with 2, 58,400 with 3, 2,546,432 with 5."""
    places = [f"{part}{cell}" for cell in range(1, 5) for part in ("m", "b", "o", "k")]
    firings = [(["k1"], ["m1"])]
    for i in range(1, 5):
        firings += [([f"m{i}"], [f"b{i}"]), ([f"b{i}"], [f"m{i}"]), ([f"m{i}"], [f"o{i}"])]
    firings += [
        (["o1", "k2", "k3"], ["k1", "m2", "m3"]),
        (["o2", "o3", "k4"], ["k2", "k3", "m4"]),
        (["o4"], ["k4"]),
    ]
    number = {place: index for index, place in enumerate(places)}
    sides = [
        [(number[place], t, 1) for t, firing in enumerate(firings) for place in firing[side]]
        for side in (0, 1)
    ]
    return SleptsovNet(
        [cards * place.startswith("k") for place in places],
        inputs=Arcs.of(sides[0]),
        outputs=Arcs.of(sides[1]),
        place_names=tuple(places),
    )
