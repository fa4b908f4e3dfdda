"""What a run of a spiking neural P system gives back, with the system's names."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from ...choice import NO_RULE
from ...results import RESULTS
from ...trajectory import Trajectory
from ..model.population import PopulationSystem
from ..model.system import SpikingSystem, is_growing
from ..model.validity import possible_labels
from ..step.step import SpikingState
from .snapshot import Network, Networks, name_of, num_in_use, taken


_FAILURES = (
    RESULTS.spike_overflow,
    RESULTS.neurons_exceeded,
    RESULTS.synapses_exceeded,
    RESULTS.choice_refused,
)

#: In a batch: the path computed no number, because its train has fewer than two spikes.
NO_NUMBER = -1


@dataclass(frozen=True, eq=False)
class Solution:
    """The computation of an SN P system, as host arrays.

    Axes: `neurons` and `outputs` in the order of the system; `paths` is last and
    only there when the run was a batch. Rows of configurations are 0 (initial), then every
    `every`-th step; other rows are steps 1, 2, .... In a batch a path that halted early repeats its
    halting configuration and emits nothing.

    - `result`: a `RESULTS`; in a batch one per path.
    - `steps`: steps made: `int`, or `(paths,)`. The halting step where the result is
      `RESULTS.halted`.
    - `spikes`, `timers`, `pending`: the final configuration.
    - `configurations`, `timer_history`, `pending_history`: spikes, timers and pending emissions
      over time; `None` if not saved.
    - `rules`: the rule selected by each neuron in each step, counted within the neuron, or
      `NO_RULE`.
    - `emissions`: spikes that left each neuron in each step.
    - `spike_trains`: the same of the output neurons.
    - `failure`: the first failure in words, or `None`.
    - `networks`: see `network`.
    - `state`: the final state as the machine has it, to go on from: `run(system, initial=state)`.

    Where neurons divide or bud, `neurons` are slots, as many as there are in the end; new ones come
    last, and hold 0 before. The trains of outputs are sums over all neurons of a label.
    """

    system: SpikingSystem | PopulationSystem
    result: Any
    steps: "int | Int[np.ndarray, ' paths']"
    spikes: Int[np.ndarray, "neurons *paths"]
    timers: Int[np.ndarray, "neurons *paths"]
    pending: Int[np.ndarray, "neurons *paths"]
    every: int | None
    configurations: Int[np.ndarray, "rows neurons *paths"] | None
    timer_history: Int[np.ndarray, "rows neurons *paths"] | None
    pending_history: Int[np.ndarray, "rows neurons *paths"] | None
    rules: Int[np.ndarray, "steps neurons *paths"] | None
    emissions: Int[np.ndarray, "steps neurons *paths"] | None
    spike_trains: Int[np.ndarray, "steps outputs *paths"] | None
    failure: str | None
    networks: Networks
    state: SpikingState

    def network(self, row: int | None = None, path: int | None = None) -> Network:
        """The neurons and synapses after the last step, or in a row of `configurations`: of a
        system with plasticity, division or budding they change. Of a batch it is that of one path.

        **Raises:** `ValueError` for a row that was not saved, or without a path in a batch.
        """
        if (path is None) != (self.paths is None):
            raise ValueError(f"The run has {self.paths or 'no'} paths. Name one of a batch.")
        return self.networks.at(row, path)

    @property
    def paths(self) -> int | None:
        """Number of paths of a batch; `None` for a single run."""
        return None if self.spikes.ndim == 1 else self.spikes.shape[1]

    @property
    def halted(self) -> "bool | np.ndarray":
        """Whether the system halted; in a batch one per path."""
        halted = np.asarray(self.result == RESULTS.halted)
        return bool(halted) if halted.ndim == 0 else halted

    @property
    def spike_train(self) -> Int[np.ndarray, "steps *paths"]:
        """The train of the only output neuron."""
        return self.train()

    def train(self, output: str | None = None) -> Int[np.ndarray, "steps *paths"]:
        """What the output neuron `output` emitted in step 1, 2, ...; it may be left out when there
        is one only. For a population of several neurons these are the second axis.

        **Raises:** `ValueError` if the system has no such output or trains were not saved.
        """
        names = self.system.output
        if self.spike_trains is None:
            raise ValueError("Spike trains were not saved. Run with `save=Save(outputs=True)`.")
        if output is None:
            if len(names) != 1:
                raise ValueError(
                    f"The system has {len(names)} output neurons. Name one of them."
                    if names
                    else "The system has no output neuron. Build it with `output=...`."
                )
            output = names[0]
        if output not in names:
            raise ValueError(f"{output!r} is not an output neuron: they are {', '.join(names)}.")
        return self.spike_trains[:, self.system.output_columns(output)]

    @property
    def shown(self) -> Int[np.ndarray, "rows neurons *paths"]:
        """The configurations as the simulator of the system's `compatibility` shows them.

        With `late_consumption` the spikes that a rule consumes are counted until its emission has
        left; otherwise these are the configurations.

        **Raises:** `ValueError` if what is needed was not saved.
        """
        if self.configurations is None or self.timer_history is None:
            raise ValueError("Configurations were not saved. Run with `save=SAVE_ALL`.")
        if not self.system.compatibility.late_consumption:
            return self.configurations
        if self.rules is None:
            raise ValueError("Selected rules were not saved. Run with `save=SAVE_ALL`.")
        consumed = self.system.consumption()
        neurons = np.arange(consumed.shape[1]).reshape(-1, *[1] * (self.rules.ndim - 2))
        shown = self.configurations.copy()
        latest = np.zeros_like(shown[0])  # what the last rule of each neuron consumed
        every = self.every or 1
        for step, rules in enumerate(self.rules, start=1):
            latest = np.where(rules == NO_RULE, latest, consumed[rules, neurons])
            if step % every == 0:
                row = step // every
                shown[row] += np.where(self.timer_history[row] > 0, latest, 0)
        return shown

    def spikes_of(self, name: str) -> "int | Int[np.ndarray, '...']":
        """Spikes of a neuron, or of the neurons of a population, in the final configuration; where
        neurons divide, of all those with a label.

        **Raises:** `ValueError` for a name that the system does not have.
        """
        if is_growing(self.system):
            if name not in possible_labels(self.system.neurons, self.system.rules_by_label):
                raise ValueError(f"No neuron of the system ever has the label {name!r}.")
            return self.spikes[[label == name for label in self.network().labels]]
        if not self.system.has(name):
            raise ValueError(f"The system has neither a neuron nor a population {name!r}.")
        spikes = self.spikes[self.system.position_of(name)]
        return int(spikes) if np.ndim(spikes) == 0 else spikes

    def spike_times(self, output: str | None = None) -> Int[np.ndarray, " spikes"]:
        """The steps 1, 2, ... in which `output` emitted. For a single run."""
        train = self.train(output)
        if train.ndim > 1:
            raise ValueError(
                "Spike times differ in length between paths, and between the neurons of a "
                "population. Use `train`."
            )
        return np.flatnonzero(train) + 1

    def interval(self, output: str | None = None) -> "int | None | Int[np.ndarray, ' paths']":
        """The number computed: t2 - t1 of the first two steps in which `output` emitted (the set
        N2).

        `None` when there are fewer than two. In a batch, and for a population of several neurons,
        an array with `NO_NUMBER` where there are fewer.
        """
        emits = self.train(output) != 0
        nth = np.cumsum(emits, axis=0)
        if len(emits) == 0:
            numbers = np.full(emits.shape[1:], NO_NUMBER)
        else:
            first, second = ((emits & (nth == n)).argmax(axis=0) for n in (1, 2))
            numbers = np.where(nth[-1] >= 2, second - first, NO_NUMBER)
        if numbers.ndim > 0:
            return numbers
        return None if numbers == NO_NUMBER else int(numbers)

    def count(self, output: str | None = None) -> "int | np.ndarray":
        """Spikes that `output` sent to the environment in all; Python integers where 64 bits could
        be too few.
        """
        train = self.train(output)
        bound = int(np.abs(train).max(initial=0)) * len(train)
        total = train.astype(np.int64 if bound < 2**63 else object).sum(axis=0)
        return int(total) if np.ndim(total) == 0 else total

    def __repr__(self) -> str:
        system = self.system
        if self.paths is not None:
            halted = int(np.sum(self.halted))
            return (
                f"Solution({self.paths} paths of {system!r}: {halted} halted, "
                f"steps {np.min(self.steps)} to {np.max(self.steps)})"
            )
        lines = [f"Solution of {system!r}: {describe_end(self)}"]
        if self.failure is not None:
            lines.append(f"  {self.failure}")
        shown = zip(self.spikes[:12].tolist(), self.timers[:12].tolist(), strict=True)
        final = ", ".join(
            f"{name_of(system, self.networks.final, index)}={spikes}"
            f"{f' (closed {timer})' if timer else ''}"
            for index, (spikes, timer) in enumerate(shown)
        )
        hidden = len(self.spikes) - 12
        more = f", and {hidden:,} more" if hidden > 0 else ""
        lines.append(f"  final spikes: {final}{more}")
        if self.spike_trains is not None:
            for name in system.output:
                train = self.train(name)
                if train.ndim > 1:
                    continue
                text = " ".join(map(str, train[:40].tolist())) + (" ..." if len(train) > 40 else "")
                lines.append(f"  train of {name}: {text}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from .html import solution_html

        return solution_html(self)


def describe_end(solution: Solution) -> str:
    """How a single run ended, in words."""
    steps = f"{solution.steps} step{'' if solution.steps == 1 else 's'}"
    if solution.failure is not None:
        return f"failed after {steps}"
    return f"halted after {steps}" if solution.halted else f"not halted after {steps}"


def solve(system: SpikingSystem | PopulationSystem, trajectory: Trajectory) -> Solution:
    """Cut a trajectory's padding and give it names."""
    final, initial = trajectory.final, trajectory.initial
    neurons = slice(num_in_use(system, final.network))
    outputs = slice(system.num_outputs)

    def history(name: str) -> np.ndarray | None:
        if trajectory.states is None:
            return None
        rows = getattr(trajectory.states, name)
        first = getattr(initial, name)[None]
        missing = [(0, 0)] * first.ndim
        missing[1] = (0, getattr(final, name).shape[0] - first.shape[1])
        return np.concatenate([np.pad(first, missing), rows])[:, neurons]

    details, states = trajectory.details, trajectory.states
    steps = trajectory.steps
    trains = None if trajectory.outputs is None else trajectory.outputs[:, outputs]
    return Solution(
        system=system,
        result=trajectory.result,
        steps=int(steps) if steps.ndim == 0 else steps,
        spikes=final.spikes[neurons],
        timers=final.timers[neurons],
        pending=final.pending[neurons],
        every=trajectory.every,
        configurations=history("spikes"),
        timer_history=history("timers"),
        pending_history=history("pending"),
        rules=None if details is None else _rules(system, details, neurons),
        emissions=None if details is None else details.emissions[:, neurons],
        spike_trains=trains,
        failure=_failure(system, trajectory),
        networks=Networks(
            system, final.network, initial and initial.network, states and states.network
        ),
        state=final,
    )


def _rules(
    system: SpikingSystem | PopulationSystem, details: Any, neurons: slice
) -> Int[np.ndarray, "steps neurons *paths"]:
    """The selected rules by the numbers of the model."""
    rules = details.rules[:, neurons]
    if details.consumed is None:
        return rules
    if is_growing(system):  # which has no families
        # Every rule consumes; before there was room for a neuron its rule is not known to be none.
        return np.where(details.consumed[:, neurons] == 0, NO_RULE, rules)
    return system.slots.members(rules, details.consumed[:, neurons])


def _failure(system: SpikingSystem | PopulationSystem, trajectory: Trajectory) -> str | None:
    ordinary = (trajectory.result == RESULTS.halted) | (
        trajectory.result == RESULTS.max_steps_reached
    )
    failed = np.flatnonzero(~np.asarray(ordinary))
    if len(failed) == 0:
        return None
    path = int(failed[0])
    culprit = int(np.ravel(trajectory.final.culprit)[path])
    steps_of_paths = trajectory.steps.ndim == 1
    code = int(np.ravel(trajectory.result._value)[path])
    step = int(np.ravel(trajectory.steps)[path]) + 1  # the one that could not be made
    where = f"column {culprit + 1} of the given choices, which is no neuron"
    own = trajectory.final.network
    if culprit < num_in_use(system, own):
        state = taken(own, None, path if steps_of_paths else None)
        where = f"neuron {name_of(system, state, culprit)!r}"
    where = f"{where}, step {step}"
    if trajectory.steps.ndim == 1:
        where += f", path {path} ({len(failed)} of {len(trajectory.steps)} paths failed)"
    is_widest = trajectory.final.spikes.dtype == np.int64
    return f"{where}: {_message(code, is_widest)}"


def _message(code: int, is_widest: bool) -> str:
    if code == int(RESULTS.spike_overflow._value) and is_widest:
        return "A neuron holds more spikes than 64 bits can count."
    for failure in _FAILURES:
        if int(failure._value) == code:
            return RESULTS[failure]
    raise AssertionError(f"unknown result {code}; please report this as a bug of snpjax")


def rule_name(system: SpikingSystem | PopulationSystem, neuron: int, rule: int) -> str:
    """A selected rule as people write it; empty for `NO_RULE`."""
    return "" if rule == NO_RULE else system.rule_text(neuron, rule)
