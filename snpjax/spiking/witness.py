"""A computation that shows something of a system: step by step in words, and as a run."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from ..choice import NO_RULE, GivenChoices
from ..lowering import LoweringOptions
from ..run import run
from ..trajectory import Save
from .networks import Network
from .observed import Configurations, astrocytes_of
from .searched import SearchedMachine
from .shown import changed_synapses, label_rules
from .solution import Solution
from .system import changes_network, is_growing


if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_NETWORKS = 64  # that are kept, of configurations that are looked at again


class SystemWitness:
    """Configurations one after the other, and the choices between them, see
    `explore.observed.Witness`."""

    def __init__(
        self,
        some: Configurations,
        choices: GivenChoices,
        saturate: "Mapping[str, int]",
    ):
        self.system, self.some, self.choices = some.system, some, choices
        self.is_cut = some.is_cut(saturate)
        self.network = lru_cache(_MAX_NETWORKS)(some.network)
        self.names = lru_cache(_MAX_NETWORKS)(self._names)
        self.of_labels = label_rules(self.system) if is_growing(self.system) else {}

    def _names(self, step: int) -> tuple[str, ...]:
        return self.network(step).names

    @property
    def num_neurons(self) -> int:
        """Where neurons divide or bud as many slots as in the end."""
        if self.some.labels is None:
            return self.system.num_neurons
        return int(np.sum(self.some.labels != "", axis=1).max(initial=0))

    @property
    def counts(self) -> Int[np.ndarray, "configurations neurons"]:
        return self.some.spikes[:, : self.num_neurons]

    @property
    def selected(self) -> Int[np.ndarray, "steps neurons"]:
        """The rule that each neuron selects in every step, or `NO_RULE`."""
        return np.asarray(self.choices.rules)[: max(len(self.some) - 1, 0), : self.num_neurons]

    # ---- in words ----

    def initial(self) -> list[str]:
        some = self.some
        return self._state(0, (some.spikes[0] != 0) | (some.timers[0] != 0)) or ["no spikes"]

    def changes(self, step: int) -> list[str]:
        some = self.some
        changed = some.spikes[step] != some.spikes[step - 1]
        changed |= some.timers[step] != some.timers[step - 1]
        if some.labels is not None:
            changed |= some.labels[step] != some.labels[step - 1]
        return self._state(step, changed) or ["no change"]

    def made(self, step: int) -> list[str]:
        """The rules that led to a configuration, and the synapses that plasticity made of it."""
        selected = self.selected[step - 1]
        texts = [
            f"{self._name(step - 1, i)}: {self._rule(step - 1, i, int(selected[i]))}"
            for i in np.flatnonzero(selected != NO_RULE).tolist()
        ]
        texts += [f"{name} suppresses" for name in self._suppressing(step)]
        if changes_network(self.system) and not self.of_labels:
            texts += changed_synapses(self.network(step - 1), self.network(step))
        return texts

    def _suppressing(self, step: int) -> list[str]:
        """The astrocytes that decide so."""
        names = astrocytes_of(self.system)
        if not names or self.choices.subsets is None:
            return []
        own = np.asarray(self.choices.subsets)[step - 1, self.system.num_neurons :]
        return [name for name, subset in zip(names, own.tolist(), strict=False) if subset]

    def _state(self, step: int, neurons: Bool[np.ndarray, " neurons"]) -> list[str]:
        return [self._neuron(step, i) for i in np.flatnonzero(neurons).tolist()]

    def _neuron(self, step: int, neuron: int) -> str:
        spikes, timer = self.some.spikes[step, neuron], self.some.timers[step, neuron]
        relation = ">=" if self.is_cut[step, neuron] else "="
        closed = f" (closed, {timer} to go)" if timer else ""
        return f"{self._name(step, neuron)} {relation} {spikes}{closed}"

    def _name(self, step: int, neuron: int) -> str:
        if self.of_labels:
            return self.names(step)[neuron]
        return self.system.name_of(neuron)

    def _rule(self, step: int, neuron: int, rule: int) -> str:
        if self.of_labels:
            return self.of_labels[self.network(step).labels[neuron]][rule]
        return self.system.rule_text(neuron, rule)

    # ---- as plain values ----

    def as_json(self) -> dict[str, Any]:
        """`witness`: the spikes; `rules`; where the network changes also `networks`."""
        rules = [[None if r == NO_RULE else r for r in row] for row in self.selected.tolist()]
        changing: dict[str, Any] = {}
        if changes_network(self.system):
            found: list[Network] = [self.network(step) for step in range(len(self.some))]
            changing["networks"] = [{"neurons": x.names, "synapses": x.synapses} for x in found]
        return {"witness": self.counts.tolist(), **changing, "rules": rules}

    # ---- as a run ----

    def replay(self, machine: Any) -> Solution:
        options: LoweringOptions = {}
        if isinstance(machine, SearchedMachine) and machine.room is not None:
            options["capacity"] = machine.room  # which the witness fits
        if self.is_cut.any():
            options["count_dtype"] = np.int64  # the search cuts any number
        return run(
            self.system,
            choice=self.choices,
            max_steps=max(len(self.some) - 1, 0),
            save=Save(budget=2**62),
            **options,
        )

    def is_made_by(self, solution: Solution) -> bool:
        """Whether a run goes through these configurations."""
        some, size = self.some, self.num_neurons
        step = np.minimum(np.arange(len(some)), solution.steps)  # where it has halted it stays
        assert solution.configurations is not None
        assert solution.timer_history is not None and solution.pending_history is not None
        spikes, is_cut = solution.configurations[step], self.is_cut[:, :size]
        is_same = (
            spikes.shape == self.counts.shape
            and np.array_equal(
                np.where(is_cut, np.minimum(spikes, self.counts), spikes), self.counts
            )
            and np.array_equal(solution.timer_history[step], some.timers[:, :size])
            and np.array_equal(solution.pending_history[step], some.pending[:, :size])
        )
        if is_same and changes_network(self.system):
            runs_through = (solution.network(row) for row in step.tolist())
            is_same = all(own == some.network(i) for i, own in enumerate(runs_through))
        return is_same
