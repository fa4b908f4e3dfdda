"""Networks drawn: a box for every neuron with its spikes and rules, or one for many neurons.

What it gives is a scene, which `snpjax.viz.network` draws on paper and a notebook shows as SVG.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ...drawing.coordinates import noted_positions
from ...drawing.edges import routed
from ...drawing.force import separated
from ...drawing.labels import Rectangle, free_place, label_shapes, label_size
from ...drawing.layered import layered_positions, layers
from ...drawing.scene import (
    BLUE,
    GREY,
    SMALL,
    TEXT,
    VERMILLION,
    Box,
    Curve,
    End,
    Scene,
    Shape,
    TextLine,
    at,
    rectangle,
    shortened,
    to_svg,
    width_of,
)
from ..model.communication_variants import Channels
from ..model.population import AnySystem, PopulationSystem
from ..model.rule import PlasticityRule, RequestRule
from ..model.system import Neuron, SpikingSystem
from ..model.timed_variants import DendriticDelays, ScheduledSynapses, SynapseDelays, delays_of
from ..model.variants import Astrocytes, SynapseRules
from .pretty import rule_lines, spikes_text
from .summary import (
    MAX_NAME,
    MAX_NEURONS,
    MAX_WORDED,
    Card,
    CardLink,
    families_of,
    natural_order,
    summary,
)


_MAX_RULES = 8  # of a neuron
_MAX_TRAIN = 16
_LINE, _HEAD, _PAD = 16.0, 22.0, 8.0  # pixels
_FEED, _LOOP, _OUT = 42.0, 32.0, 40.0  # room of what comes in above, leads back, and leaves right
_GAP = 70.0  # between layers
_BEHIND = 6.0  # how far boxes behind a box of many neurons stand out
_NOTED = (60.0, 30.0)  # gap of boxes whose positions are given


class Arranged(NamedTuple):
    """Cards with the middles and the sizes of their boxes."""

    cards: list[Card]
    links: list[CardLink]
    middles: np.ndarray
    sizes: np.ndarray


def network_scene(system: AnySystem, *, max_neurons: int = MAX_NEURONS) -> Scene:
    """The network of a system as a scene.

    Output neurons have a double border and an arrow to the environment, the train of an input
    neuron stands above it, weights other than 1 at their synapses. Synapses that plasticity or
    division may create are dashed, and so are the boxes of labels that no neuron bears yet. A
    network without cycles stands in layers from left to right. Positions that the model's file
    gives to all neurons (`system.notes["positions"]`) are kept, as far as boxes do not overlap.

    **Arguments:**

    - `max_neurons`: of more neurons, those of one family or with the same rules are one box, and
      arrows tell how many synapses they are.
    """
    arranged = arrange(system, max_neurons=max_neurons)
    cards, links, middles, sizes = arranged
    sources = np.asarray([link.source for link in links], np.int64)
    targets = np.asarray([link.target for link in links], np.int64)
    # The borders of what is drawn: a double one is larger, and more boxes stand behind some.
    out = np.asarray([3.0 * card.is_output for card in cards])[:, None]
    behind = np.maximum(out, np.asarray([_BEHIND * card.is_many for card in cards])[:, None])
    borders, outer = sizes + out + behind, middles + (behind - out) / 2 * [1, -1]
    is_layered = layers(len(cards), sources, targets) is not None
    curves = [
        Curve(points, is_dashed=link.is_dashed)
        for points, link in zip(
            routed(outer, borders, sources, targets, is_layered=is_layered), links, strict=True
        )
    ]
    boxes: list[Shape] = []
    for card, middle, size in zip(cards, middles.tolist(), sizes.tolist(), strict=True):
        boxes += _card_shapes(card, middle, size)
    taken = list(map(rectangle, boxes))
    labelled = label_shapes(curves, [link.label for link in links], taken)
    shapes = [*curves, *labelled, *boxes]
    if not isinstance(system, PopulationSystem) and len(cards) >= len(system.neurons):
        shapes += _astrocyte_shapes(system, curves, links, taken)
    if any(card.is_many for card in cards) and len(links) > MAX_WORDED:
        left, _, _, bottom = Scene(tuple(shapes), "").bounds(0)
        text = "numbers at arrows: synapses"
        shapes.append(TextLine(left, bottom + 20, text, SMALL, BLUE, "start"))
    return Scene(tuple(shapes), f"{system!r}")


def arrange(system: AnySystem, *, max_neurons: int = MAX_NEURONS) -> Arranged:
    """The boxes of a network with their places, and the arrows between them."""
    if isinstance(system, PopulationSystem) and system.num_neurons <= max_neurons:
        system = system.expand()
    if isinstance(system, PopulationSystem) or len(system.neurons) > max_neurons:
        cards, links = summary(system, max_neurons)
    else:
        cards, links = _cards(system), _links(system)
    sizes = np.asarray([_size(card) for card in cards]).reshape(-1, 2)
    sends = {link.source for link in links}
    cards = [card._replace(leaves_below=i in sends) for i, card in enumerate(cards)]
    loops = {link.source for link in links if link.source == link.target}
    # What stands at a box needs room, too: on its right, above and below it.
    right, above, below = (
        np.asarray(
            [
                (
                    max(_OUT * (card.is_output and not card.leaves_below), _LOOP * (i in loops)),
                    max(_FEED * bool(card.feed), _LOOP * (i in loops)),
                    _OUT * (card.is_output and card.leaves_below),
                )
                for i, card in enumerate(cards)
            ]
        )
        .reshape(-1, 3)
        .T
    )
    extra = np.stack([right, above + below], axis=1)
    given = None
    if not isinstance(system, PopulationSystem) and len(cards) == len(system.neurons):
        given = given_positions(system)
    if given is not None:
        middles = separated(given, sizes + extra, gap=_NOTED)
    else:
        names = [card.name for card in cards]
        order = np.asarray(natural_order(names), np.int64)
        ends = np.asarray([(link.source, link.target) for link in links], np.int64).reshape(-1, 2)
        widest = max((width_of(link.label, SMALL) for link in links), default=0)
        middles = np.zeros_like(sizes)
        middles[order] = layered_positions(
            (sizes + extra)[order],
            *np.argsort(order)[ends].T,
            gap=(max(_GAP, widest + 44.0), 26.0),
            families=np.asarray(families_of(names), np.int64)[order],
        )
    return Arranged(cards, links, middles + np.stack([-right, above - below], axis=1) / 2, sizes)


def system_svg(system: AnySystem) -> str:
    """What a notebook shows of a system."""
    return to_svg(network_scene(system))


def _cards(system: SpikingSystem) -> list[Card]:
    cards = [_card(system, neuron) for neuron in system.neurons]
    for label, rules in system.rules_by_label.items():
        lines = rule_lines(rules, label, _MAX_RULES)
        is_output = label in system.output
        cards.append(Card(f"label {label}", "", tuple(lines), is_output, is_unborn=True))
    return cards


def _card(system: SpikingSystem, neuron: Neuron) -> Card:
    called = neuron.label if system.is_growing else neuron.name
    train = system.input.get(called)
    lines = rule_lines(neuron.rules, neuron.label, _MAX_RULES)
    if isinstance(system.variant, SynapseRules):
        own = system.variant.leaving.get(neuron.name, {}).get(None, ())
        lines = [f"{text}  (out)" for text in rule_lines(own, neuron.label, _MAX_RULES)]
    name = neuron.name if neuron.label == neuron.name else f"{neuron.name} : {neuron.label}"
    return Card(
        shortened(name, MAX_NAME),
        spikes_text(int(neuron.spikes)) if neuron.spikes else "",
        tuple(lines),
        called in system.output,
        "" if train is None else train_text(train),
    )


def train_text(train: Iterable[int]) -> str:
    """An input train in a few characters."""
    return "in " + shortened(" ".join(map(str, train)) or "nothing", _MAX_TRAIN)


def _timed_texts(system: SpikingSystem) -> dict[tuple[str, str], str]:
    """What stands at the synapses of a variant of time: ` d = 2`, ` [1, 4) of r`."""
    match system.variant:
        case SynapseDelays() | DendriticDelays() as variant:
            pairs = [(source, target) for source, target, _ in system.synapses]
            delays = zip(pairs, delays_of(variant, pairs), strict=True)
            return {pair: f" d = {delay}" for pair, delay in delays if delay}
        case ScheduledSynapses(schedules):
            texts: dict[tuple[str, str], str] = {}
            for source, target, start, stop, reference in schedules:
                interval = f" [{start}, {'∞' if stop is None else stop})"
                interval += "" if reference is None else f" of {reference}"
                texts[source, target] = texts.get((source, target), "") + interval
            return texts
    return {}


def _links(system: SpikingSystem) -> list[CardLink]:
    names = system.names
    texts: dict[tuple[str, str | None], str] = {}
    if isinstance(system.variant, SynapseRules):
        texts = {pair: ", ".join(rule_lines(own, "", 2)) for pair, own in system.variant.rules}
    elif isinstance(system.variant, Channels):
        texts = {
            pair: _channels_text(own) for pair, own in system.variant.channels_of_synapse.items()
        }
    else:
        texts |= _timed_texts(system)
    links = [
        CardLink(names[s], names[t], (_weight(w) + texts.get((s, t), "")).strip())
        for s, t, w in system.synapses
    ]
    there = {(link.source, link.target) for link in links}
    possible = [
        (names[neuron.name], names[target])
        for neuron in system.neurons
        for rule in neuron.rules
        if isinstance(rule, PlasticityRule)
        for target in rule.targets
    ]
    possible += [
        (names[query.neuron], names[neuron.name])
        for neuron in system.neurons
        for rule in neuron.rules
        if isinstance(rule, RequestRule)
        for query in rule.queries
    ]
    if system.is_growing:
        labels = [*(n.label for n in system.neurons), *system.rules_by_label]
        place = {label: number for number, label in reversed(list(enumerate(labels)))}
        pairs = (pair for pair in system.dictionary if set(pair) <= set(place))
        possible += [(place[a], place[b]) for a, b in pairs]
    new = [CardLink(*pair, "", True) for pair in dict.fromkeys(possible) if pair not in there]
    return links + new


def _channels_text(labels: Iterable[str]) -> str:
    return shortened(f"({', '.join(labels)})", MAX_NAME)


def _weight(weight: int) -> str:
    return "" if weight == 1 else f"{int(weight)}".replace("-", "−")


def given_positions(system: SpikingSystem) -> Float[np.ndarray, "neurons 2"] | None:
    """The positions that a file gives to all neurons (`system.notes["positions"]`), if it does."""
    names = [neuron.name for neuron in system.neurons]
    return noted_positions(system.notes.get("positions"), names)


def _size(card: Card) -> tuple[float, float]:
    head = width_of(card.name) + (width_of(card.spikes) + 18 if card.spikes else 0)
    width = max([head, *(width_of(line) for line in card.lines), 30.0]) + 2 * _PAD
    lines = len(card.lines)
    return width, _HEAD + (_LINE * lines + _PAD if lines else 0)


def _card_shapes(card: Card, middle: Sequence[float], size: Sequence[float]) -> list[Shape]:
    (x, y), (width, height) = middle, size
    left, right, top = x - width / 2, x + width / 2, y - height / 2
    shapes: list[Shape] = []
    for behind in (_BEHIND, _BEHIND / 2) if card.is_many else ():
        shapes.append(Box(x + behind, y - behind, width, height))
    if card.is_output:
        shapes.append(Box(x, y, width + 6, height + 6, 9))
        if card.leaves_below:
            edge = y + height / 2 + 3
            points = ((x, edge), (x, edge + 10), (x, edge + 18), (x, edge + 30))
        else:
            edge = right + 3
            points = ((edge, y), (edge + 12, y), (edge + 20, y), (edge + 34, y))
        shapes.append(Curve(points, VERMILLION, 2.0))
    if card.feed:
        end = top - 3 * card.is_output - 6 * card.is_many
        points = ((x, top - 26), (x, top - 20), (x, top - 14), (x, end))
        shapes.append(Curve(points, BLUE, 2.0))
        shapes.append(TextLine(x, top - 33, card.feed, SMALL, BLUE, has_ground=True))
    shapes.append(Box(x, y, width, height, is_dashed=card.is_unborn))
    line = top + _HEAD / 2
    shapes.append(TextLine(left + _PAD, line, card.name, TEXT, anchor="start", is_bold=True))
    if card.spikes:
        shapes.append(TextLine(right - _PAD, line, card.spikes, TEXT, BLUE, "end", is_bold=True))
    if card.lines:
        y = top + _HEAD
        points = ((left, y), (left + width / 3, y), (right - width / 3, y), (right, y))
        shapes.append(Curve(points, GREY, 0.6, end=End.NOTHING))
    for number, text in enumerate(card.lines):
        y = top + _HEAD + _LINE * (number + 0.5) + _PAD / 2
        shapes.append(TextLine(left + _PAD, y, text, TEXT, anchor="start"))
    return shapes


def _astrocyte_shapes(
    system: SpikingSystem,
    curves: list[Curve],
    links: list[CardLink],
    taken: list[Rectangle],
) -> Iterable[Shape]:
    """Every astrocyte with its threshold, and a dotted line to each of its synapses."""
    if not isinstance(system.variant, Astrocytes):
        return
    names = system.names
    for astrocyte in system.variant.astrocytes:
        own = {(names[s], names[t]) for s, t in astrocyte.synapses}
        points = [
            at(curve, 0.5)
            for curve, link in zip(curves, links, strict=True)
            if (link.source, link.target) in own
        ]
        if not points:
            continue
        text = f"k = {astrocyte.threshold}"
        middle = np.mean(points, axis=0)
        width, height = label_size(text)[0] + 10, 18.0
        x, y = free_place(middle - [0, 44], (width, height), np.asarray(taken))
        taken.append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
        for to_x, to_y in points:
            third, two = (x + (to_x - x) / 3, y + (to_y - y) / 3), (to_x, to_y)
            curve = ((x, y), third, (x + (to_x - x) * 2 / 3, y + (to_y - y) * 2 / 3), two)
            yield Curve(curve, VERMILLION, 1.0, True, End.DOT)
        yield Box(x, y, width, height, 9, "#fff3d6", VERMILLION)
        yield TextLine(x, y, text, SMALL)
