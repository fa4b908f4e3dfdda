"""What was found out about a property, with the computation that shows it."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int

from ..choice import NO_RULE, GivenChoices
from ..explore import Graph
from ..run import Save, run
from ..spiking.searched import caps_of
from ..spiking.solution import Solution


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
            return np.zeros((0, self.graph.system.num_neurons), np.int32)
        return np.asarray(self.choices.rules)[: self.num_steps, : self.graph.system.num_neurons]

    @property
    def spikes(self) -> Int[np.ndarray, "configurations neurons"]:
        """The configurations of the witness, one by one."""
        return self.graph.configurations(np.asarray(self.witness or (), np.int64)).spikes

    def replay(self) -> Solution:
        """The witness as a run, to look at: its configurations, rules and emissions. Where it halts
        nothing is repeated.

        **Raises:** `ValueError` if there is no witness.
        """
        if self.choices is None:
            raise ValueError(
                f"{self.query!r} is {self.summary}: no computation shows it, so there is none to "
                "replay."
            )
        solution = run(
            self.graph.system,
            choice=self.choices,
            max_steps=self.num_steps,
            count_dtype=np.int64 if self.graph.saturate else None,  # the search cuts any number
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
    graph = verdict.graph
    wanted = graph.configurations(np.asarray(verdict.witness))
    step = np.minimum(np.arange(len(wanted)), solution.steps)  # where it has halted it stays
    assert solution.configurations is not None
    assert solution.timer_history is not None and solution.pending_history is not None
    spikes = solution.configurations[step]
    caps = caps_of(graph.system, graph.saturate)
    is_same = (
        np.array_equal(spikes if caps is None else np.minimum(spikes, caps), wanted.spikes)
        and np.array_equal(solution.timer_history[step], wanted.timers)
        and np.array_equal(solution.pending_history[step], wanted.pending)
    )
    if not is_same:
        raise AssertionError(
            f"The witness of {verdict.query!r} runs through other configurations than were found. "
            "This is a bug of snpjax, please report it."
        )


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
    last = verdict.graph.configurations(np.asarray(verdict.witness[-1:]))
    return bool(last.is_halting[0])


def _witness_lines(verdict: Verdict) -> Iterator[str]:
    """A line for every configuration: the rules that led to it, and what they changed."""
    if verdict.witness is None:
        return
    graph, steps = verdict.graph, verdict.num_steps
    some = graph.configurations(np.asarray(verdict.witness))
    caps = caps_of(graph.system, graph.saturate)
    shown = _Shown(graph, some.spikes, some.timers, caps)
    first = _MAX_STEPS - _LAST_STEPS
    for step in range(steps + 1):
        if steps > _MAX_STEPS and first < step <= steps - _LAST_STEPS:
            if step == first + 1:
                yield f"  ... {steps - _MAX_STEPS:,} steps not shown ..."
            continue
        if step == 0:
            state, rules = shown.initial(), ""
        else:
            state, rules = shown.changes(step), shown.rules(verdict.rules[step - 1])
            if not rules and some.is_halting[step - 1]:
                state = "halted"
        mark = "  <- repeated from here" if step == verdict.loop and steps > step else ""
        yield f"  step {step}: " + " | ".join(part for part in (rules, state) if part) + mark


@dataclass(frozen=True)
class _Shown:
    """Configurations of a witness in words."""

    graph: Graph
    spikes: Int[np.ndarray, "configurations neurons"]
    timers: Int[np.ndarray, "configurations neurons"]
    caps: np.ndarray | None

    def initial(self) -> str:
        there = (self.spikes[0] != 0) | (self.timers[0] != 0)
        return self._state(0, np.flatnonzero(there)) or "no spikes"

    def changes(self, step: int) -> str:
        changed = self.spikes[step] != self.spikes[step - 1]
        changed |= self.timers[step] != self.timers[step - 1]
        return self._state(step, np.flatnonzero(changed)) or "no change"

    def rules(self, rules: Int[np.ndarray, " neurons"]) -> str:
        system = self.graph.system
        return _listed(
            [f"{system.name_of(i)}: {system.rule_text(i, int(rules[i]))}" for i in some]
            if (some := np.flatnonzero(rules != NO_RULE).tolist())
            else []
        )

    def _state(self, step: int, neurons: Int[np.ndarray, " some"]) -> str:
        return _listed([self._neuron(step, neuron) for neuron in neurons.tolist()])

    def _neuron(self, step: int, neuron: int) -> str:
        spikes, timer = int(self.spikes[step, neuron]), int(self.timers[step, neuron])
        is_cut = self.caps is not None and spikes >= self.caps[neuron]
        closed = f" (closed, {timer} to go)" if timer else ""
        return f"{self.graph.system.name_of(neuron)} {'>=' if is_cut else '='} {spikes}{closed}"


def _listed(words: list[str]) -> str:
    left = len(words) - _MAX_NEURONS
    return ", ".join(words[:_MAX_NEURONS]) + (f", and {left:,} more" if left > 0 else "")
