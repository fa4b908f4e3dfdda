"""What was found out about a property, with the computation that shows it."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic

import numpy as np
from jaxtyping import Int

from .._text.counts import plural
from .._text.pickling import PickledWithoutCache
from .._text.rule_text import under_rule
from ..choice import GivenChoices
from ..explore import Graph, Stop
from ..explore.graph import missed_text
from ..machine import ConfigurationsT, StepsT
from .certificate.certificate import Certificate
from .query.parse import parse_query
from .witness import Visited, Witness


#: What ends a search at a limit: a verdict that depends on more is bounded.
LIMITS = (Stop.MAX_CONFIGURATIONS, Stop.MAX_DEPTH, Stop.MAX_SECONDS, Stop.INTERRUPTED)
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
class Verdict(PickledWithoutCache, Generic[ConfigurationsT, StepsT]):
    """What is known of a property, and why.

    As a truth value a verdict is true if proved, false if refuted, and an error otherwise.

    - `status`: proved or refuted, of all that can happen; bounded, if up to a limit nothing decides
      it; unknown, if something else stood in the way.
    - `query`: what was checked, as it was given; of a function, always and its name.
    - `graph`: in which; `None` where none was explored.
    - `witness`: the numbers of the configurations of a computation that shows the verdict: that a
      property does not hold on all paths, or that one holds on some path. `None` for all others.
    - `loop`: a position in the witness, if that goes on for ever: its last configuration is the one
      there once more. `None` where the rest of the computation does not matter.
    - `edges`: the edges of the graph between them; the last ones may be -1, for no step after a
      halt.
    - `choices`: the rules of the witness, for `snpjax.run(choice=...)`; `replay()` runs it.
    - `unseen`: what is so in the last configuration of the witness, but is not shown by it.
    - `depth`: all computations of up to this many steps were examined.
    - `reason`: why it is not known.
    - `vacuous`: remarks on parts that are true because their triggers never occur.
    - `value`: of a question for a number, between which two numbers it certainly lies; `None` for
      all other queries. If the question compares it with nothing, it is proved as soon as these are
      closer than 1e-9 (of a value above 1: than this part of it).
    - `choices_are`: of such a question, who chooses the rules.
    - `certificate`: an invariant that proves it without a complete graph, see `snpjax.certify`.
    - `reductions`: which reductions made the graph smaller; `not_reduced`: those that were asked
      for and are off, and why.
    - `rule`: of a net, the name of the rule of its steps: `"petri"`.
    - `found_by`: what found the witness, if it is not the search of the graph: such a one need not
      be a shortest.
    - `computation`: that of the witness where it is not one of the graph; its configurations are
      numbered from 0. Where the cone of influence was taken, its loop may close in that only.
    """

    status: Status
    query: str
    graph: Graph[ConfigurationsT, StepsT] | None
    witness: tuple[int, ...] | None = None
    loop: int | None = None
    edges: tuple[int, ...] = ()
    choices: GivenChoices | None = None
    unseen: tuple[str, ...] = ()
    depth: int = 0
    reason: str = ""
    vacuous: tuple[str, ...] = field(default=())
    value: tuple[float, float] | None = None
    choices_are: str = ""
    certificate: Certificate | None = None
    reductions: tuple[str, ...] = ()
    not_reduced: tuple[str, ...] = ()
    computation: Visited[ConfigurationsT, StepsT] | None = field(default=None)
    found_by: str = ""
    rule: str = ""

    @property
    def num_configurations(self) -> int:
        """How many configurations of a graph were looked at."""
        return 0 if self.graph is None else self.graph.num_configurations

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

    @cached_property
    def trace(self) -> Witness[ConfigurationsT, StepsT]:
        """The witness, or nothing, in the words of the model."""
        choices = GivenChoices([]) if self.choices is None else self.choices
        visited = self.graph if self.computation is None else self.computation
        if visited is None:
            raise ValueError(f"{self.query!r} is {self.summary}: no configurations were kept.")
        return Witness(visited, self.witness or (), self.edges, choices)

    @property
    def rules(self) -> Int[np.ndarray, "steps choosers"]:
        """The rule that each neuron selects in every step of the witness, or `NO_RULE`; of a net
        the transition that fires."""
        if self.choices is None:
            return np.zeros((0, self.num_neurons), np.int32)
        return self.trace.selected

    @property
    def spikes(self) -> Int[np.ndarray, "configurations columns"]:
        """The configurations of the witness, one by one: the spikes of the neurons, or the tokens
        of the places."""
        return self.trace.counts

    @property
    def configurations(self) -> ConfigurationsT:
        """All that is known of them, as `Graph.configurations` gives it."""
        return self.trace.configurations

    @property
    def num_neurons(self) -> int:
        """The neurons of the witness: where they divide or bud, slots, as many as in the end."""
        return self.trace.num_choosers

    def replay(self) -> Any:
        """The witness as a run, to look at: its configurations, rules and emissions, or its
        markings and firings; of a loop the way to it, and the loop once. Where it halts nothing is
        repeated. The run goes through the configurations that were found, and closes the loop.

        **Raises:** `ValueError` if there is no witness, or the model cannot be run.
        """
        if self.choices is None:
            raise ValueError(
                f"{self.query!r} is {self.summary}: no computation shows it, so there is none to "
                "replay."
            )
        return self.trace.replay(self.loop, self._closing)

    @property
    def _closing(self) -> tuple[str, ...] | None:
        """The neurons or places in which a loop closes; `None` for all."""
        if not any(one.startswith("cone of influence") for one in self.reductions):
            return None
        compared = parse_query(self.query).comparisons
        return tuple(x.neuron for comparison in compared for x in comparison.variables)

    def __bool__(self) -> bool:
        if self.is_decided:
            return self.is_proved
        raise ValueError(f"{self.query!r} is {self.summary}. Look at `status`.")

    @property
    def summary(self) -> str:
        """The verdict in one line, without the property."""
        size = plural(self.num_configurations, "configuration")
        graph = self.graph
        if self.status is Status.BOUNDED:
            within = plural(self.depth, "step") + ("" if graph is None else f", {size}")
            why = f"not decided within {within}: {self.reason}"
        elif self.status is Status.UNKNOWN:
            why = self.reason if graph is None else f"{self.reason}; {size}"
        elif self.witness is not None:
            why = f"shown by {_extent(self)}{self.found_by and f', found by {self.found_by}'}"
        elif self.certificate is not None:
            k = self.certificate.k
            by = "induction" if k == 1 else f"{k}-induction"
            why = f"by {by}: {self.certificate.invariant}"
        elif self.value is not None:
            why = size
        else:
            assert graph is not None
            why = f"all of {size}" if graph.is_complete else f"all paths within {size}"
        if self.value is not None:
            why = f"{_interval(*self.value)}, {self.choices_are}; {why}"
        missed = "" if graph is None else missed_text(graph.missed)
        return f"{self.status.value}{under_rule(self.rule)} ({why}{missed})"

    def lines(self) -> Iterator[str]:
        """The property, the verdict, remarks, and the witness step by step."""
        yield f"{self.query}: {self.summary}"
        for remark in self.vacuous:
            yield f"  vacuous: {remark}"
        for used in self.reductions:
            yield f"  reduced by {used}"
        for unused in self.not_reduced:
            yield f"  not reduced by {unused}"
        yield from _witness_lines(self)
        yield from (f"  there {text}" for text in self.unseen)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"Verdict({self.query!r}: {self.summary})"


def _interval(low: float, high: float) -> str:
    """Between which numbers a value lies."""
    if low == high:
        return f"exactly {low:.12g}"
    if high - low <= 1e-9 * max(1.0, low):
        return f"{(low + high) / 2:.10g} (error below {high - low:.1g})"
    return f"between {low:.12g} and {high:.12g}"


def _extent(verdict: Verdict) -> str:
    """How long a witness is."""
    if verdict.loop is None:
        return plural(verdict.num_steps, "step")
    before = plural(verdict.loop, "step")
    if verdict.configurations.is_halting[-1]:
        return f"{before}, then it has halted"
    around = verdict.num_steps - verdict.loop
    return f"{before}, then {plural(around, 'step')} for ever"


def _witness_lines(verdict: Verdict) -> Iterator[str]:
    """A line for every configuration: the rules that led to it, and what they changed."""
    if verdict.witness is None:
        return
    steps, trace = verdict.num_steps, verdict.trace
    first = _MAX_STEPS - _LAST_STEPS
    stays = verdict.loop is not None and bool(verdict.configurations.is_halting[-1])
    for step in range(steps + 1):
        if steps > _MAX_STEPS and first < step <= steps - _LAST_STEPS:
            if step == first + 1:
                yield f"  ... {steps - _MAX_STEPS:,} steps not shown ..."
            continue
        if step == 0:
            state, rules = _listed(trace.initial()), ""
        else:
            state, rules = _listed(trace.changes(step)), _listed(trace.actions(step))
            if not rules and verdict.configurations.is_halting[step - 1]:
                state = "halted"
            if not rules and stays and verdict.configurations.is_halting[step - 1]:
                yield "  halts; the last configuration repeats"
                return
        is_start = step == verdict.loop and steps > step and not stays
        mark = "  <- repeated from here" if is_start else ""
        yield f"  step {step}: " + " | ".join(part for part in (rules, state) if part) + mark


def _listed(words: list[str]) -> str:
    left = len(words) - _MAX_NEURONS
    return ", ".join(words[:_MAX_NEURONS]) + (f", and {left:,} more" if left > 0 else "")
