"""How many neurons and synapses division and budding can produce at most."""

from collections import Counter
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, NamedTuple

from ..model.rule import BuddingRule, DivisionRule


if TYPE_CHECKING:
    from ..model.system import SpikingSystem


#: More than there is memory for: labels do not tell how many there can be.
UNBOUNDED = 2**31 - 1


class GrowthBound(NamedTuple):
    """The most neurons and synapses that there can ever be, at most `UNBOUNDED`.

    Rules are read as a grammar of labels, whatever the spikes are: each neuron of a label becomes
    what the most productive rule makes of it. There is a bound where no label leads back to itself.

    A neuron that buds and keeps its label is an exception. While it bears that label it does so
    once, since the synapse to its bud then blocks the rule: if the bud never changes its label, and
    no other rule of the neuron that keeps its label moves that synapse away.
    """

    neurons: int
    synapses: int

    @classmethod
    def of(cls, system: "SpikingSystem") -> "GrowthBound":
        try:
            return _bound(system)
        except CycleError:
            return NO_BOUND


NO_BOUND = GrowthBound(UNBOUNDED, UNBOUNDED)


class _Productions(NamedTuple):
    """What a neuron of one label may become: labels of the children of each division; of parent
    and bud of each budding that changes the label; and the bud of one that keeps it, if any."""

    divides: list[tuple[str, str]]
    buds: list[tuple[str, str]]
    kept: str | None


def _bound(system: "SpikingSystem") -> GrowthBound:
    """**Raises:** `CycleError` where there is none."""
    productions = _productions(system)
    graph = {
        label: {
            *(x for pair in own.divides + own.buds for x in pair),
            *([] if own.kept is None else [own.kept]),
        }
        for label, own in productions.items()
    }
    order = [*TopologicalSorter(graph).static_order()]  # children first
    # What one neuron of a label becomes in the end, and how often a synapse from or to it is there
    # then: what divides shares its synapses with its twin, a bud takes those that leave.
    neurons: dict[str, int] = {}
    leaving: dict[str, int] = {}
    coming: dict[str, int] = {}
    for label in order:
        divides, buds, kept = productions[label]
        both = [neurons[x] + neurons[y] for x, y in divides + buds]
        neurons[label] = max(both, default=1) + (0 if kept is None else neurons[kept])
        left = [leaving[x] + leaving[y] for x, y in divides] + [leaving[y] for _, y in buds]
        leaving[label] = max(left, default=1)
        if kept is not None:
            leaving[label] = max(leaving[label], leaving[kept])
        came = [coming[x] + coming[y] for x, y in divides] + [coming[x] for x, _ in buds]
        coming[label] = max(came, default=1)
    initial = Counter(neuron.label for neuron in system.neurons)
    bearers = Counter(initial)  # how often a neuron may come to bear each label
    pairs = {(x, y): 0 for x, y in system.dictionary}
    labels = [neuron.label for neuron in system.neurons]
    ends = system.edges.source.tolist(), system.edges.target.tolist()
    for source, target in zip(*ends, strict=True):
        pair = labels[source], labels[target]
        pairs[pair] = pairs.get(pair, 0) + 1  # the synapses of the beginning
    made: Counter[tuple[str, str]] = Counter()  # from those that bud to their buds
    for label in reversed(order):
        divides, buds, kept = productions[label]
        born: Counter[str] = Counter()
        for some in divides + buds:
            born |= Counter(some)
        for child, count in born.items():
            bearers[child] += count * bearers[label]
        for pair in {*buds, *([] if kept is None else [(label, kept)])}:
            made[pair] += bearers[label]
        if kept is not None:
            bearers[kept] += bearers[label]
    for (x, y), there in pairs.items():
        made[x, y] += there + bearers[x] * bearers[y] - initial[x] * initial[y]
    return GrowthBound(
        min(sum(count * neurons[label] for label, count in initial.items()), UNBOUNDED),
        min(sum(n * leaving[x] * coming[y] for (x, y), n in made.items()), UNBOUNDED),
    )


def _productions(system: "SpikingSystem") -> dict[str, _Productions]:
    """**Raises:** `CycleError` where a label certainly leads back to itself."""
    found = {label: _Productions([], [], None) for label in system.label_numbers}
    for label, rules in system.rules_of_labels.items():
        kept = {r.bud for r in rules if isinstance(r, BuddingRule) and r.parent is None}
        if len(kept) > 1:
            raise CycleError(f"{label} buds in turns")
        found[label] = _Productions(
            [(r.left, r.right) for r in rules if isinstance(r, DivisionRule)],
            [
                (r.parent, r.bud)
                for r in rules
                if isinstance(r, BuddingRule) and r.parent is not None
            ],
            next(iter(kept), None),
        )
    for label, own in found.items():
        if own.kept is not None and (found[own.kept].divides or found[own.kept].buds):
            raise CycleError(f"{label} buds again when its bud changes")
    return found
