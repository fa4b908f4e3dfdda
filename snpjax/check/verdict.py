"""What was found out about a property, with the computation that shows it."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ..choice import NO_RULE, GivenChoices
from ..explore import Graph
from ..explore.search import Observed
from ..run import Save, run
from ..spiking.growing import Capacity
from ..spiking.observed import Configurations
from ..spiking.searched import SearchedMachine
from ..spiking.shown import changed_synapses, label_rules
from ..spiking.solution import Solution
from ..spiking.system import changes_network, is_growing


_MAX_STEPS = 40  # of a witness that are shown: the first ones and the last
_LAST_STEPS = 10
_MAX_NEURONS = 8  # rules and spikes shown in one step


class Status(enum.Enum):
    """What is known of a property."""

    PROVED = "proved"
    REFUTED = "refuted"
    BOUNDED = "bounded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """What is known of a property, and why.

    As a truth value a verdict is true if proved, false if refuted, and an error otherwise.

    - `status`: proved or refuted, of all that can happen; bounded, if up to a limit nothing decides
      it; unknown, if something else stood in the way.
    - `query`: what was checked, as it was given; of a function, always and its name.
    - `graph`: in which.
    - `witness`: the numbers of the configurations of a computation that shows the verdict: that a
      property does not hold on all paths, or that one holds on some path. `None` for all others.
    - `loop`: a position in the witness, if that goes on for ever: its last configuration is the one
      there once more. `None` where the rest of the computation does not matter.
    - `choices`: the rules of the witness, for `snpjax.run(choice=...)`; `replay()` runs it.
    - `depth`: all computations of so many steps were looked at.
    - `reason`: why it is not known.
    - `vacuous`: remarks on parts that are true because their triggers never occur.
    """

    status: Status
    query: str
    graph: Graph
    witness: tuple[int, ...] | None = None
    loop: int | None = None
    choices: GivenChoices | None = None
    depth: int = 0
    reason: str = ""
    vacuous: tuple[str, ...] = field(default=())

    @property
    def num_configurations(self) -> int:
        """How many configurations were looked at."""
        return self.graph.num_configurations

    @property
    def is_proved(self) -> bool:
        return self.status is Status.PROVED

    @property
    def is_refuted(self) -> bool:
        return self.status is Status.REFUTED

    @property
    def is_decided(self) -> bool:
        return self.is_proved or self.is_refuted

    @property
    def num_steps(self) -> int:
        """The steps of the witness, with those of its loop: `max_steps` to run it."""
        return max(len(self.witness or ()) - 1, 0)

    @property
    def rules(self) -> Int[np.ndarray, "steps neurons"]:
        """The rule that each neuron selects in every step of the witness, or `NO_RULE`."""
        if self.choices is None:
            return np.zeros((0, self.num_neurons), np.int32)
        return np.asarray(self.choices.rules)[: self.num_steps, : self.num_neurons]

    @property
    def spikes(self) -> Int[np.ndarray, "configurations neurons"]:
        """The configurations of the witness, one by one."""
        return self.configurations.spikes[:, : self.num_neurons]

    @cached_property
    def configurations(self) -> Configurations:
        """All that is known of them, as `Graph.configurations` gives it."""
        return self.graph.configurations(np.asarray(self.witness or (), np.int64))

    @property
    def num_neurons(self) -> int:
        """The neurons of the witness: where they divide or bud, slots, as many as in the end."""
        labels = self.configurations.labels
        if labels is None:
            return self.graph.system.num_neurons
        return int(np.sum(labels != "", axis=1).max(initial=0))

    def replay(self) -> Solution:
        """The witness as a run, to look at: its configurations, rules and emissions. Where it halts
        nothing is repeated.

        **Raises:** `ValueError` if there is no witness.
        """
        if self.choices is None and self.witness is not None:
            raise ValueError("The witness of this model is `configurations`; it has no rules.")
        if self.choices is None:
            raise ValueError(
                f"{self.query!r} is {self.summary}: no computation shows it, so there is none to "
                "replay."
            )
        is_cut = self.configurations.is_cut(self.graph.saturate).any()
        solution = run(
            self.graph.system,
            choice=self.choices,
            max_steps=self.num_steps,
            layout=_room(self.graph) or "auto",
            count_dtype=np.int64 if is_cut else None,  # the search cuts any number
            save=Save(budget=2**62),
        )
        _assert_same(self, solution)
        return solution

    def __bool__(self) -> bool:
        if self.is_decided:
            return self.is_proved
        raise ValueError(f"{self.query!r} is {self.summary}. Look at `status`.")

    @property
    def summary(self) -> str:
        """The verdict in one line, without the property."""
        size = _counted(self.num_configurations, "configuration")
        if self.status is Status.BOUNDED:
            within = f"{_counted(self.depth, 'step')}, {size}"
            why = f"not decided within {within}: {self.reason}"
        elif self.status is Status.UNKNOWN:
            why = f"{self.reason}; {size}"
        elif self.witness is not None:
            why = f"shown by {_extent(self)}"
        else:
            why = f"all of {size}" if self.graph.is_complete else f"all paths within {size}"
        return f"{self.status.value} ({why})"

    def lines(self) -> Iterator[str]:
        """The property, the verdict, remarks, and the witness step by step."""
        yield f"{self.query}: {self.summary}"
        for remark in self.vacuous:
            yield f"  vacuous: {remark}"
        yield from _witness_lines(self)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"Verdict({self.query!r}: {self.summary})"


def _assert_same(verdict: Verdict, solution: Solution) -> None:
    """A run goes through the configurations of the witness."""
    graph, wanted, size = verdict.graph, verdict.configurations, verdict.num_neurons
    step = np.minimum(np.arange(len(wanted)), solution.steps)  # where it has halted it stays
    assert solution.configurations is not None
    assert solution.timer_history is not None and solution.pending_history is not None
    is_cut = wanted.is_cut(graph.saturate)[:, :size]
    spikes = solution.configurations[step]
    is_same = (
        spikes.shape == verdict.spikes.shape
        and np.array_equal(
            np.where(is_cut, np.minimum(spikes, verdict.spikes), spikes), verdict.spikes
        )
        and np.array_equal(solution.timer_history[step], wanted.timers[:, :size])
        and np.array_equal(solution.pending_history[step], wanted.pending[:, :size])
    )
    if is_same and changes_network(graph.system):
        runs_through = (solution.network(row) for row in step.tolist())
        is_same = all(own == wanted.network(i) for i, own in enumerate(runs_through))
    if not is_same:
        raise AssertionError(
            f"The witness of {verdict.query!r} runs through other configurations than were found. "
            "This is a bug of snpjax, please report it."
        )


def _room(graph: Graph) -> Capacity | None:
    """The room of a search, which its witnesses fit."""
    return graph.machine.room if isinstance(graph.machine, SearchedMachine) else None


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _extent(verdict: Verdict) -> str:
    """How long a witness is."""
    if verdict.loop is None:
        return _counted(verdict.num_steps, "step")
    before = _counted(verdict.loop, "step")
    if _halts(verdict):
        return f"{before}, then it has halted"
    around = verdict.num_steps - verdict.loop
    return f"{before}, then {_counted(around, 'step')} for ever"


def _halts(verdict: Verdict) -> bool:
    assert verdict.witness is not None
    return bool(verdict.configurations.is_halting[-1])


def _witness_lines(verdict: Verdict) -> Iterator[str]:
    """A line for every configuration: the rules that led to it, and what they changed."""
    if verdict.witness is None:
        return
    is_observed = isinstance(verdict.graph.system, Observed)
    steps, shown = verdict.num_steps, (_ShownObserved if is_observed else _Shown)(verdict)
    first = _MAX_STEPS - _LAST_STEPS
    for step in range(steps + 1):
        if steps > _MAX_STEPS and first < step <= steps - _LAST_STEPS:
            if step == first + 1:
                yield f"  ... {steps - _MAX_STEPS:,} steps not shown ..."
            continue
        if step == 0:
            state, rules = shown.initial(), ""
        else:
            state, rules = shown.changes(step), shown.rules(step)
            if not rules and verdict.configurations.is_halting[step - 1]:
                state = "halted"
        mark = "  <- repeated from here" if step == verdict.loop and steps > step else ""
        yield f"  step {step}: " + " | ".join(part for part in (rules, state) if part) + mark


class _ShownObserved:
    """The witness of a model that says itself what is to be seen."""

    def __init__(self, verdict: Verdict):
        self.graph, self.witness = verdict.graph, verdict.witness or ()
        self.some: Any = verdict.configurations

    def initial(self) -> str:
        return _listed(self.some.texts(0)) or "nothing"

    def changes(self, step: int) -> str:
        return _listed(self.some.texts(step, step - 1)) or "no change"

    def rules(self, step: int) -> str:
        """What led to a configuration, where the edges were kept."""
        source, target = self.witness[step - 1], self.witness[step]
        if self.graph.targets is None or source >= self.graph.num_expanded:
            return ""
        first, end = self.graph.first_edge[source : source + 2]
        found = np.flatnonzero(self.graph.targets[first:end] == target)
        return "" if len(found) == 0 else self._text(int(first + found[0]))

    def _text(self, edge: int) -> str:
        steps: Any = self.graph.transitions(np.asarray([edge]))
        return _listed(steps.texts())


class _Shown:
    """The configurations of a witness in words, neurons by the names that they have there."""

    def __init__(self, verdict: Verdict):
        self.system = verdict.graph.system
        self.some, self.selected = verdict.configurations, verdict.rules
        self.is_cut = self.some.is_cut(verdict.graph.saturate)
        self.network = lru_cache(_MAX_STEPS)(self.some.network)
        self.names = lru_cache(_MAX_STEPS)(lambda step: self.network(step).names)
        self.of_labels = label_rules(self.system) if is_growing(self.system) else {}

    def initial(self) -> str:
        some = self.some
        return self._state(0, (some.spikes[0] != 0) | (some.timers[0] != 0)) or "no spikes"

    def changes(self, step: int) -> str:
        some = self.some
        changed = some.spikes[step] != some.spikes[step - 1]
        changed |= some.timers[step] != some.timers[step - 1]
        if some.labels is not None:
            changed |= some.labels[step] != some.labels[step - 1]
        return self._state(step, changed) or "no change"

    def rules(self, step: int) -> str:
        """The rules that led to a configuration, and the synapses that plasticity made of it."""
        selected = self.selected[step - 1]
        texts = [
            f"{self._name(step - 1, i)}: {self._rule(step - 1, i, int(selected[i]))}"
            for i in np.flatnonzero(selected != NO_RULE).tolist()
        ]
        if changes_network(self.system) and not self.of_labels:
            texts += changed_synapses(self.network(step - 1), self.network(step))
        return _listed(texts)

    def _state(self, step: int, neurons: Bool[np.ndarray, " neurons"]) -> str:
        return _listed([self._neuron(step, i) for i in np.flatnonzero(neurons).tolist()])

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


def _listed(words: list[str]) -> str:
    left = len(words) - _MAX_NEURONS
    return ", ".join(words[:_MAX_NEURONS]) + (f", and {left:,} more" if left > 0 else "")
