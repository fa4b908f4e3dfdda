"""A single run as people read it: what its neurons and their rules are called, step by step."""

from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from ...choice import NO_RULE
from ..model.rule import rule_text
from ..model.system import SpikingSystem, is_growing
from .snapshot import Network
from .solution import Solution


_MAX_NETWORKS = 128  # that are kept, of rows that are examined again


class Shown:
    """The words for a run whose every configuration was kept, or for its final one.

    Rows are those of `Solution.configurations`. Neurons that are created later have no name yet,
    and one may come to bear another label.
    """

    def __init__(self, solution: Solution):
        self.solution = solution
        system = solution.system
        self.is_growing = is_growing(system)
        self.is_plastic = system.changes_network and not self.is_growing
        self._network = lru_cache(_MAX_NETWORKS)(solution.network)
        self._text = cache(system.rule_text)
        self._of_labels: dict[str, list[str]] = {}
        if is_growing(system):
            self._of_labels = label_rules(system)

    def names(self, row: int | None = None, most: int | None = None) -> tuple[str, ...]:
        """The names of the first neurons, in a row or in the end."""
        if self.is_growing:
            return self._network(row).names[:most]
        system = self.solution.system
        num = system.num_neurons if most is None else min(system.num_neurons, most)
        return tuple(system.name_of(neuron) for neuron in range(num))

    def name(self, row: int, neuron: int) -> str:
        """The name of a neuron in a row."""
        if self.is_growing:
            return self._network(row).names[neuron]
        return self.solution.system.name_of(neuron)

    def rule(self, row: int, neuron: int, rule: int) -> str:
        """A rule that was selected in a row, in the usual notation; empty for `NO_RULE`."""
        if rule == NO_RULE:
            return ""
        if self.is_growing:
            return self._of_labels[self._network(row).labels[neuron]][rule]
        return self._text(neuron, rule)

    def fired(
        self,
        row: int,
        rules: list[int],
        neurons: Iterable[int],
        short: Callable[[str], str] = str,
    ) -> list[str]:
        """The rules that some neurons selected in a row, each after the name of its neuron, and the
        synapses that plasticity made of it; `short` writes a name."""
        some = [i for i in neurons if i < len(rules) and rules[i] != NO_RULE]
        texts = [f"{short(self.name(row, i))}: {self.rule(row, i, rules[i])}" for i in some]
        if not self.is_plastic:
            return texts
        return texts + changed_synapses(self._network(row), self._network(row + 1), short)


def changed_synapses(
    before: Network, after: Network, short: Callable[[str], str] = str
) -> list[str]:
    """What became of the synapses between neurons that stay as they are, in words."""
    old, new = set(before.synapses), set(after.synapses)
    changes = [(synapse, "new") for synapse in new - old]
    changes += [(synapse, "deleted") for synapse in old - new]
    names = before.names
    return [f"{what} ({short(names[s])}, {short(names[t])})" for (s, t, _), what in sorted(changes)]


def label_rules(system: SpikingSystem) -> dict[str, list[str]]:
    """The rules of every label that has any, in the usual notation."""
    return {
        label: [rule_text(rule, label) for rule in own]
        for label, own in system.rules_of_labels.items()
    }
