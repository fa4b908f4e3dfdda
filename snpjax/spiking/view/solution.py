"""What `run` returns for a spiking neural P system, with the system's names."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, TypeVar, final

import jax
import numpy as np
from jaxtyping import Int, Shaped

from ..._text.counts import plural
from ...choice import NO_RULE
from ...results import RESULTS
from ...trajectory import (
    AbstractCheckedRun,
    AbstractManyPaths,
    AbstractOnePath,
    Trajectory,
    path_of,
    with_size,
)
from ..model.population import AnySystem
from ..model.system import SpikingSystem, is_growing
from ..model.validity import possible_labels
from ..step.step import SpikingState
from .lineage import parents_of
from .snapshot import Network, name_of, names_of_labels, network_of, num_in_use
from .timing import has_delays, in_flight, in_words


_FAILURES = (
    RESULTS.spike_overflow,
    RESULTS.neurons_exceeded,
    RESULTS.synapses_exceeded,
    RESULTS.choice_refused,
    RESULTS.queries_conflict,
)

S = TypeVar("S", bound="AbstractSolution")


@dataclass(frozen=True, eq=False, repr=False)
class AbstractSolution(AbstractCheckedRun):
    """What runs of one path and of many have in common.

    Axes: `neurons` and `outputs` in the order of the system; `paths` is last and only there in a
    batch. Rows of configurations are 0 (initial), then every `saved.every`-th step; other rows are
    steps 1, 2, .... In a batch a path that halted early repeats its halting configuration and emits
    nothing. A history that was not saved raises `NotSaved`.

    Where neurons divide or bud, `neurons` are the slots in use at the end; new ones come last, and
    hold 0 before they exist. The trains of outputs are sums over all neurons of a label.
    """

    system: AnySystem

    @property
    def state(self) -> SpikingState:
        """The final state as the machine has it, to continue from: `run(system, initial=state)`."""
        final = self.trajectory.final
        return final if is_growing(self.system) else with_size(final, self.system.num_neurons)

    @property
    def spikes(self) -> Int[np.ndarray, "neurons *paths"]:
        """The spikes in the final configuration."""
        return self.trajectory.final.spikes[self._neurons]

    @property
    def timers(self) -> Int[np.ndarray, "neurons *paths"]:
        """The steps until closed neurons open, in the final configuration."""
        return self.trajectory.final.timers[self._neurons]

    @property
    def pending(self) -> Int[np.ndarray, "neurons *paths"]:
        """The spikes that closed neurons will emit, in the final configuration."""
        return self.trajectory.final.pending[self._neurons]

    @property
    def configurations(self) -> Int[np.ndarray, "rows neurons *paths"]:
        """The spikes over time."""
        return self._states.spikes[:, self._neurons]

    @property
    def timer_history(self) -> Int[np.ndarray, "rows neurons *paths"]:
        """The timers over time."""
        return self._states.timers[:, self._neurons]

    @property
    def pending_history(self) -> Int[np.ndarray, "rows neurons *paths"]:
        """The pending spikes over time."""
        return self._states.pending[:, self._neurons]

    @cached_property
    def rules(self) -> Int[np.ndarray, "steps neurons *paths"]:
        """The rule that each neuron selected in each step, counted within the neuron, or
        `NO_RULE`."""
        if self.trajectory.details is None:
            raise self.trajectory.not_saved("details", "Selected rules", "save=snp.SAVE_ALL")
        details, neurons = self.trajectory.details, self._neurons
        rules = details.rules[:, neurons]
        if details.consumed is None:
            return rules
        if is_growing(self.system):  # which has no families
            # Every rule consumes; before there was room for a neuron its rule is not known to be
            # none.
            return np.where(details.consumed[:, neurons] == 0, NO_RULE, rules)
        return self.system.slots.members(rules, details.consumed[:, neurons])

    @property
    def emissions(self) -> Int[np.ndarray, "steps neurons *paths"]:
        """The spikes that left each neuron in each step."""
        if self.trajectory.details is None:
            raise self.trajectory.not_saved("details", "Emissions", "save=snp.SAVE_ALL")
        return self.trajectory.details.emissions[:, self._neurons]

    @property
    def spike_trains(self) -> Int[np.ndarray, "steps outputs *paths"]:
        """The spikes that left each output neuron in each step."""
        if self.trajectory.outputs is None:
            raise self.trajectory.not_saved(
                "outputs", "Spike trains", "save=snp.Save(outputs=True)"
            )
        return self.trajectory.outputs[:, : self.system.num_outputs]

    def _failure(self, failed: Int[np.ndarray, " failed"]) -> str:
        system, trajectory, path = self.system, self.trajectory, int(failed[0])
        culprit, code, step = (
            int(np.ravel(x)[path])
            for x in (trajectory.final.culprit, trajectory.result._value, trajectory.steps)
        )
        where = f"column {culprit + 1} of the given choices, which is not a neuron"
        own = trajectory.final.network
        if culprit < num_in_use(system, own):
            own = path_of(own, path) if trajectory.steps.ndim == 1 else own
            where = f"neuron {name_of(system, own, culprit)!r}"
        where = f"{where}, step {step + 1}"  # the one that could not be made
        if trajectory.steps.ndim == 1:
            where += f", path {path} ({len(failed)} of {len(trajectory.steps)} paths failed)"
        is_widest = trajectory.final.spikes.dtype == np.int64
        if code == int(RESULTS.spike_overflow._value) and is_widest:
            return f"{where}: A neuron holds more spikes than 64 bits can count."
        messages = {int(x._value): RESULTS[x] for x in _FAILURES}
        unknown = f"unknown result {code}; please report this as a bug of snpjax"
        return f"{where}: {messages.get(code, unknown)}"

    @property
    def spike_train(self) -> Int[np.ndarray, "steps *paths"]:
        """The train of the only output neuron."""
        return self.train()

    def train(self, output: str | None = None) -> Int[np.ndarray, "steps *paths"]:
        """What the output neuron `output` emitted in step 1, 2, ...; leave it out if
        there is only one. For a population of several neurons, they are the second axis.

        **Raises:** `ValueError` if the system has no such output or trains were not saved.
        """
        names, trains = self.system.output, self.spike_trains
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
        return trains[:, self.system.output_columns(output)]

    def intervals(self, output: str | None = None) -> "np.ma.MaskedArray[Any, Any]":
        """The numbers computed, see `Solution.interval`: `(*neurons, *paths)`, one for each neuron
        of a population of several, and for each path of a batch. Masked where there are fewer than
        two spikes, so that `.mean()` leaves these out; `.compressed()` has the numbers only.
        """
        emits = self.train(output) != 0
        nth = np.cumsum(emits, axis=0)
        if len(emits) == 0:
            return np.ma.masked_array(np.zeros(emits.shape[1:], np.int64), True)
        first, second = ((emits & (nth == n)).argmax(axis=0) for n in (1, 2))
        return np.ma.masked_array(second - first, nth[-1] < 2)

    def counts(self, output: str | None = None) -> Shaped[np.ndarray, "*neurons_and_paths"]:
        """The total of spikes that `output` sent to the environment, for each neuron of a
        population of several, and each path of a batch; Python integers where 64 bits might not
        suffice.
        """
        train = self.train(output)
        bound = int(np.abs(train).max(initial=0)) * len(train)
        wide = np.int64 if bound < 2**63 else object
        return np.asarray(train.astype(wide).sum(axis=0), wide)

    def as_displayed(self: S) -> S:
        """The run with the configurations that the simulator of the system's `compatibility`
        displays.

        With `late_consumption` the spikes that a rule consumes are counted until its emission has
        left; otherwise nothing changes.

        **Raises:** `NotSaved` if what is needed was not saved.
        """
        if not self.system.compatibility.late_consumption:
            return self
        consumed, timers = self.system.consumption(), self.timer_history
        neurons = np.arange(consumed.shape[1]).reshape(-1, *[1] * (self.rules.ndim - 2))
        spikes = self._states.spikes.copy()
        displayed = spikes[:, self._neurons]
        latest = np.zeros_like(displayed[0])  # what the last rule of each neuron consumed
        every = self.saved.every or 1
        for step, rules in enumerate(self.rules, start=1):
            latest = np.where(rules == NO_RULE, latest, consumed[rules, neurons])
            if step % every == 0:
                row = step // every
                displayed[row] += np.where(timers[row] > 0, latest, 0)
        last = self.state.spikes.copy()
        last[self._neurons] += np.where(self.timers > 0, latest, 0)
        state, states = replace(self.state, spikes=last), replace(self._states, spikes=spikes)
        return replace(self, trajectory=replace(self.trajectory, final=state, states=states))

    @property
    def _states(self) -> Any:
        if self.trajectory.states is None:
            raise self.trajectory.not_saved("states", "Configurations", "save=snp.SAVE_ALL")
        return self.trajectory.states

    @cached_property
    def _neurons(self) -> slice:
        """What is not padding."""
        return slice(num_in_use(self.system, self.state.network))


@final
class Solution(AbstractSolution, AbstractOnePath):
    """The computation of an SN P system, as host arrays: one path. See `AbstractSolution`."""

    def network(self, row: int | None = None) -> Network:
        """The neurons and synapses after the last step, or in a row of `configurations`: of a
        system with plasticity, division or budding they change.

        **Raises:** `ValueError` for an out-of-range row; `NotSaved`.
        """
        return network_of(self.system, self._network_state(row))

    def _network_state(self, row: int | None) -> Any:
        if row is None:
            return self.state.network
        states, num_rows = self._states.network, len(self._states.spikes)
        if not 0 <= row < num_rows:
            raise ValueError(f"There is no row {row}. Give 0 to {num_rows - 1}.")
        return jax.tree.map(lambda x: x[row], states)

    def lineage(self, neuron: int) -> tuple[str, ...]:
        """The labels that a neuron has had and, before it was there, those of its parent, from the
        beginning to the end of this run. In a system that decides SAT by division they are an
        assignment.

        **Arguments:**

        - `neuron`: its number in the final network.

        **Returns:** the labels, such as `("0", "t1", "f2")`.

        **Raises:** `IndexError` for a neuron that is not there; `NotSaved` if not every
        configuration was saved.
        """
        num = self.state.spikes[self._neurons].shape[0]
        if not -num <= neuron < num:
            raise IndexError(f"There is no neuron {neuron}. Give 0 to {num - 1}.")
        neuron %= num
        if not (isinstance(self.system, SpikingSystem) and is_growing(self.system)):
            return (self.system.name_of(neuron),)
        if self.saved.every != 1:
            raise self.trajectory.not_saved("states", "All configurations", "save=snp.SAVE_ALL")
        parents, births, labels_over_time = self._ancestry
        found, row = [], len(labels_over_time)
        while neuron >= 0:
            found += labels_over_time[births[neuron] : row, neuron].tolist()[::-1]
            neuron, row = int(parents[neuron]), int(births[neuron])
        return tuple(label for label, _ in groupby(reversed(found)))

    @cached_property
    def _ancestry(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The parent of each neuron, the row in which it is new, and all labels."""
        assert isinstance(self.system, SpikingSystem)
        numbers = self._states.network.labels[:, self._neurons]
        parents, births = parents_of(self.system, numbers, self.rules)
        return parents, births, names_of_labels(self.system, numbers).T

    def spikes_of(self, name: str) -> "int | Int[np.ndarray, ' neurons']":
        """Spikes of a neuron in the final configuration; an array for a population, or, where
        neurons divide, for all neurons with a label.

        **Raises:** `ValueError` for a name that the system does not have.
        """
        if is_growing(self.system):
            if name not in possible_labels(self.system.neurons, self.system.rules_by_label):
                raise ValueError(f"No neuron of the system ever has the label {name!r}.")
            return self.spikes[[label == name for label in self.network().labels]]
        spikes = self.spikes[_position(self.system, name)]
        return int(spikes) if np.ndim(spikes) == 0 else spikes

    def spike_times(self, output: str | None = None) -> Int[np.ndarray, " spikes"]:
        """The steps 1, 2, ... in which `output` emitted.

        **Raises:** `ValueError` for a population of several neurons, and as `train` does.
        """
        return np.flatnonzero(_of_one(self.train(output), "train")) + 1

    def interval(self, output: str | None = None) -> int | None:
        """The number computed: t2 - t1 of the first two steps in which `output` emitted (the set
        N2); `None` when there are fewer than two.

        **Raises:** `ValueError` for a population of several neurons, and as `train` does.
        """
        _of_one(self.train(output), "intervals")
        return self.intervals(output).tolist()

    def count(self, output: str | None = None) -> int:
        """The total of spikes that `output` sent to the environment.

        **Raises:** `ValueError` for a population of several neurons, and as `train` does.
        """
        _of_one(self.train(output), "counts")
        return int(self.counts(output))

    @cached_property
    def in_flight_history(self) -> Int[np.ndarray, "rows delays neurons"]:
        """What is due at each neuron in 1, 2, ... steps, over time; see `in_flight`."""
        rows, states = len(self.configurations), self._states.network
        if not has_delays(self.system) or states is None:  # also where every delay is 0
            return np.zeros((rows, 0, len(self.spikes)), np.int64)
        found = in_flight(self.system, np.moveaxis(np.asarray(states), 0, -1), rows)
        return np.moveaxis(found, 1, 0)

    def in_flight(self, row: int | None = None) -> Int[np.ndarray, "delays neurons"]:
        """What is due at each neuron in 1, 2, ... steps, in a row of `configurations`, or in the
        end; empty where no synapse or dendrite has a delay.

        **Raises:** `ValueError` for an out-of-range row; `NotSaved`.
        """
        if not has_delays(self.system):
            return np.zeros((0, len(self.spikes)), np.int64)
        own = np.asarray(self._network_state(row))
        return in_flight(self.system, own[..., None], 1)[:, 0]

    def __repr__(self) -> str:
        system = self.system
        lines = [f"Solution of {system!r}: {self.ending}"]
        if self.failure is not None:
            lines.append(f"  {self.failure}")
        remarks = in_words(self.timers[:12], self.in_flight()[:, :12])
        spikes = ", ".join(
            f"{name_of(system, self.state.network, index)}={spikes}{remark}"
            for index, (spikes, remark) in enumerate(zip(self.spikes[:12], remarks, strict=True))
        )
        hidden = len(self.spikes) - 12
        more = f", and {hidden:,} more" if hidden > 0 else ""
        lines.append(f"  final spikes: {spikes}{more}")
        for name in system.output if self.saved.outputs else ():
            train = self.train(name)
            if train.ndim > 1:
                continue
            text = " ".join(map(str, train[:40].tolist())) + (" ..." if len(train) > 40 else "")
            lines.append(f"  train of {name}: {text}")
            number = self.interval(name)
            if number is not None:
                lines.append(
                    f"  number computed: {number} (between the first two spikes of {name})"
                )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from .html import solution_html

        return solution_html(self)


@final
class SolutionBatch(AbstractSolution, AbstractManyPaths[Solution]):
    """Many computations of an SN P system side by side, as host arrays whose last axis is
    `paths`. See `AbstractSolution`. `batch[path]` is the `Solution` of one path, cut to its length.
    """

    def spikes_of(self, name: str) -> Int[np.ndarray, "*neurons paths"]:
        """Spikes of a neuron in the final configurations, or of the neurons of a population.

        **Raises:** `ValueError` for a name that the system does not have, and where neurons divide,
        since paths then differ in their neurons.
        """
        if is_growing(self.system):
            raise ValueError(
                "The paths differ in their neurons. Ask one path: `batch[path].spikes_of(name)`."
            )
        return self.spikes[_position(self.system, name)]

    def _solution(self, trajectory: Trajectory) -> Solution:
        return Solution(trajectory, self.system)

    def __repr__(self) -> str:
        return f"SolutionBatch({plural(self.paths, 'path')} of {self.system!r}: {self.ending})"


def _position(system: AnySystem, name: str) -> int | slice:
    if not system.has(name):
        raise ValueError(f"The system has neither a neuron nor a population {name!r}.")
    return system.position_of(name)


def _of_one(train: np.ndarray, instead: str) -> np.ndarray:
    """The train of a single neuron."""
    if train.ndim > 1:
        raise ValueError(f"The output is a population of several neurons. Use `{instead}`.")
    return train
