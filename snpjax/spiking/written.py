"""Configurations and steps of a system as other programs get them: tables, and lines of text."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import numpy as np
from jaxtyping import Bool, Int

from ..choice import NO_RULE
from ..lines import Column, EdgeStyle, Table, numbers, one_of, text
from .observed import Configurations, Transitions, astrocytes_of
from .plasticity import PlasticState
from .shown import label_rules
from .system import SpikingSystem, changes_network, is_growing


if TYPE_CHECKING:
    from .population import PopulationSystem

Some = TypeVar("Some", Configurations, Transitions)

_SUPERSCRIPT = str.maketrans("0123456789-()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁽⁾")


@dataclass(frozen=True)
class WrittenSystem:
    """How a system, its configurations and its steps are written, see `explore.observed.Written`.

    Columns are neurons or, where they divide or bud, the slots that are ever in use.
    """

    system: "SpikingSystem | PopulationSystem"

    @property
    def title(self) -> str:
        return self.system.name

    @property
    def legend(self) -> str:
        if is_growing(self.system):
            return "<label:spikes, ...>"
        return "<" + ",".join(self.columns(self.system.num_neurons)) + ">"

    def width(self, map: Callable[[Callable[[Any], np.ndarray]], np.ndarray]) -> int:
        if is_growing(self.system):
            return int(map(lambda some: np.sum(some.labels != "", axis=1)).max())
        return self.system.num_neurons

    def cut(self, some: Some, width: int) -> Some:
        if not is_growing(self.system):
            return some
        names = ("spikes", "timers", "pending", "rules", "emissions")
        own = {name: getattr(some, name)[:, :width] for name in names if hasattr(some, name)}
        return replace(some, **own)

    def columns(self, width: int) -> list[str]:
        if is_growing(self.system):
            return [f"slot {i}" for i in range(width)]
        return [self.system.name_of(i) for i in range(width)]

    def names_at_edges(self) -> list[str]:
        if is_growing(self.system):
            return list(self.system.label_numbers)
        return [*self.columns(self.system.num_neurons), *astrocytes_of(self.system)]

    def lists(self, width: int) -> dict[str, list[str]]:
        return {"neurons": self.columns(width), "output": list(self.system.output)}

    def rules(self) -> list[list[str]] | dict[str, list[str]]:
        """The rules of every neuron, or of every label."""
        system = self.system
        if is_growing(system):
            return label_rules(system)
        num_rules = [len(neuron.rules) for neuron in system.neurons]
        return [[system.rule_text(i, r) for r in range(n)] for i, n in enumerate(num_rules)]

    def tables(self, some: Configurations) -> dict[str, Table]:
        labels = {}
        if some.labels is not None:
            labels["labels"] = Table("label", some.labels[:, : some.spikes.shape[1]])
        return {
            **labels,
            "spikes": Table("spikes", some.spikes),
            "timers": Table("timer", some.timers),
            "pending": Table("pending", some.pending),
        }

    def step_tables(self, steps: Transitions) -> dict[str, Table]:
        tables = {
            "rules": Table("rule", steps.rules, NO_RULE),
            "emissions": Table("emission", steps.emissions),
        }
        if steps.subsets is not None:
            tables["subsets"] = Table("subset", steps.subsets)
        return tables

    def changing(self, some: Configurations) -> "Int[np.ndarray, 'configurations numbers'] | None":
        if not changes_network(self.system):
            return None
        leaves = [np.asarray(x) for x in jax.tree.leaves(some.state)]
        return np.concatenate([x.reshape(-1, len(some)) for x in leaves]).T

    def drawn(self, some: Configurations, written: Callable[[str], str]) -> list[Column]:
        """`<2⁽¹⁾,1,0>`, with labels where neurons divide, and with the synapses of plasticity."""
        columns: list[Column] = [b"<"]
        for i in range(some.spikes.shape[1]):
            present = None
            if some.labels is not None:
                present = some.labels[:, i] != ""
                colon = one_of(some.labels[:, i], lambda x: f"{written(x)}:" if x else "")
                columns += [text(b", ", present & (i > 0)), colon]
            elif i:
                columns.append(b",")
            columns.append(numbers(some.spikes[:, i], present))
            if some.timers[:, i].any():
                columns.append(one_of(some.timers[:, i], superscript))
        columns.append(b">")
        for source, target, exists in _plastic_synapses(some):
            columns.append(text(f" {written(source)}→{written(target)}".encode(), exists))
        return columns

    def labelled(
        self, steps: Transitions, style: EdgeStyle, names: Mapping[str, str]
    ) -> list[Column]:
        """`name:rule` of the neurons that selected one, or `name=spikes` of the output neurons that
        emit.

        Of plasticity the number of the subset follows where it is not the first one, `name:rule.2`,
        or `name:.2` in the second turn of a rule: so no two choices have the same rules at their
        edges. An astrocyte that decides to suppress is `astrocyte 1:.1`. Without output neurons all
        emissions are named.
        """
        by_rules = style.labels == "rules"
        called = self.names_at_edges()
        values, subsets = steps.emissions, np.zeros_like(steps.rules)
        if by_rules:
            values = steps.rules
            if steps.subsets is not None:
                subsets = steps.subsets
                more = ((0, 0), (0, subsets.shape[1] - values.shape[1]))  # astrocytes
                values = np.pad(values, more, constant_values=NO_RULE)
        is_number = values != NO_RULE if by_rules else values != 0
        present = is_number | (subsets != 0)
        if not by_rules and self.system.output:
            present = present & self._is_output(steps)
        columns: list[Column] = []
        before = np.zeros(len(values), bool)
        for i in np.flatnonzero(present.any(axis=0)).tolist():
            here = present[:, i]
            columns.append(text(style.separator, before & here))
            if steps.labels is None:
                columns.append(text(names[called[i]].encode() + style.equals, here))
            else:
                own = np.where(here, steps.labels[:, i], "")
                columns += [one_of(own, lambda x: names.get(x, "")), text(style.equals, here)]
            columns.append(numbers(values[:, i], here & is_number[:, i]))
            if subsets[:, i].any():
                is_told = subsets[:, i] != 0
                columns += [text(style.subset, is_told), numbers(subsets[:, i], is_told)]
            before |= here
        return [*columns, text(style.nothing, ~before)]

    def _is_output(self, steps: Transitions) -> Bool[np.ndarray, "..."]:
        width = steps.emissions.shape[1]
        if steps.labels is not None:
            return np.isin(steps.labels[:, :width], self.system.output)
        return np.isin(np.arange(width), self._outputs)

    @cached_property
    def _outputs(self) -> list[int]:
        """The positions of the output neurons."""
        found: list[int] = []
        for name in self.system.output:
            position = self.system.position_of(name)
            if isinstance(position, slice):
                found += range(position.start, position.stop)
            else:
                found.append(position)
        return found


def superscript(timer: int) -> str:
    """How a timer stands at the spikes of a closed neuron."""
    return f"({timer})".translate(_SUPERSCRIPT) if timer else ""


def _plastic_synapses(
    some: Configurations,
) -> Iterator[tuple[str, str, Bool[np.ndarray, " configurations"]]]:
    """The synapses that plasticity may create and delete, and where they are."""
    system: Any = some.system
    if isinstance(system, SpikingSystem) and isinstance(some.state, PlasticState):
        plastic = system.plastic_columns
        assert plastic is not None
        for number, neuron in enumerate(plastic.neurons.tolist()):
            for place, target in enumerate(plastic.targets[:, number].tolist()):
                if target >= 0:
                    exists = np.asarray(some.state.exists)[place, number]
                    yield system.name_of(neuron), system.name_of(target), exists
