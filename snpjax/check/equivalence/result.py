"""The answer to whether two systems are equivalent, and the runs that tell them apart."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..._text.rule_text import under_rule
from ...choice import NO_RULE, GivenChoices
from ...run import run
from ...spiking.model.population import AnySystem
from ...spiking.model.system import is_growing
from ...spiking.view.run_text import changed_synapses, label_rules
from ...spiking.view.snapshot import Network
from ...spiking.view.solution import Solution


if TYPE_CHECKING:
    from .comparison import AbstractComparison
    from .nets import NetRun


#: How the two systems are called.
SIDES = ("first", "second")

# Of a long run the first and the last lines are shown.
_MAX_LINES = 60
_LAST_LINES = 15


class Agreement(enum.Enum):
    """Whether two systems agree in what was compared."""

    EQUAL = "equal"
    DIFFERENT = "different"
    EQUAL_UP_TO = "equal up to a bound"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class OneRun:
    """A run of one system: choices, and the input they answer to.

    - `system`: the system as it was given, with the input of this run.
    - `choice`: the rules to choose; `snpjax.run(system, choice=choice, max_steps=steps)` makes it.
    - `outputs`: what each output emits in these steps; nothing after a halt.
    - `inputs`: the trains of the neurons that any input was compared for.
    """

    system: AnySystem
    choice: GivenChoices
    steps: int
    outputs: Mapping[str, tuple[int, ...]]
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def replay(self) -> Solution:
        """The run itself."""
        return run(self.system, choice=self.choice, max_steps=self.steps)

    def __str__(self) -> str:
        trains = [f"  input of {name}: {digits(train)}" for name, train in self.inputs.items()]
        trains += [f"  output of {name}: {digits(train)}" for name, train in self.outputs.items()]
        return "\n".join([*trains, run_text(self.replay())])


@dataclass(frozen=True, eq=False)
class Difference:
    """What one system does and the other one cannot.

    - `statement`: the difference in words.
    - `noun`: what is compared, systems or nets.
    - `runs`: a run of each system: the one that shows it, and the nearest to it of the other one,
      which may be `None` when there is no such run at all.
    - `shown_by`: 0 or 1, the system that does it.
    """

    statement: str
    shown_by: int
    runs: tuple["OneRun | NetRun | None", "OneRun | NetRun | None"]
    noun: str = "system"

    @property
    def run(self) -> "OneRun | NetRun":
        """The run that shows the difference."""
        found = self.runs[self.shown_by]
        assert found is not None
        return found

    def __str__(self) -> str:
        shown = zip(SIDES, self.runs, strict=True)
        parts = [f"the {name} {self.noun}:\n{one}" for name, one in shown if one is not None]
        return "\n".join([self.statement, *parts])


@dataclass(frozen=True, eq=False)
class Equivalence:
    """Whether two systems are equivalent, and what says so.

    It is true only when they were proved to be.

    - `by`: what was compared.
    - `verdict`: equal, different, equal up to a bound, or unknown.
    - `reason`: on what it stands, or why it is not known; the bound.
    - `difference`: runs that tell the systems apart, when they are different.
    - `rules`: of nets, the name of the rule of each; empty texts for systems.
    """

    by: "AbstractComparison"
    verdict: Agreement
    reason: str
    difference: Difference | None = None
    rules: tuple[str, str] = ("", "")

    def __bool__(self) -> bool:
        return self.verdict is Agreement.EQUAL

    def __str__(self) -> str:
        first, second = map(under_rule, self.rules)
        rules = first if first == second else f"{first} and{second}"
        head = f"{self.verdict.value}, by {self.by}{rules}: {self.reason}"
        return head if self.difference is None else f"{head}\n{self.difference}"


def digits(train: tuple[int, ...]) -> str:
    """A train as people write it: 1 0 0 2."""
    return " ".join(map(str, train)) or "nothing"


def run_text(solution: Solution) -> str:
    """A run for people, one line a step: the neurons that hold spikes or are closed, and the rules
    that lead on."""
    system = solution.system
    networks = None
    if system.changes_network:
        networks = [solution.network(row) for row in range(len(solution.configurations))]
    table = solution.configurations, solution.timer_history, solution.rules
    text = table_text(system, *table, networks)
    return f"{text}   halted" if solution.halted else text


def table_text(
    system: AnySystem,
    spikes: np.ndarray,
    timers: np.ndarray,
    rules: np.ndarray,
    networks: Sequence[Network] | None = None,
) -> str:
    """A run by its spikes and timers `(steps + 1, neurons)`, its rules `(steps, neurons)`, and the
    networks of all configurations if these change; a closed neuron is marked with the steps until
    it opens."""
    names: Sequence[str] = [system.name_of(i) for i in range(system.num_neurons)]
    of_labels = label_rules(system) if is_growing(system) else {}
    lines = []
    for step, (row, closed) in enumerate(zip(spikes, timers, strict=True)):
        if networks is not None:
            names = networks[step].names
        seen = np.flatnonzero((row != 0) | (closed != 0)).tolist()
        cells = [f"{names[i]}={row[i]}" + (f" ({closed[i]})" if closed[i] else "") for i in seen]
        line = f"  {step:>3}  {', '.join(cells) or 'no spikes'}"
        if step < len(rules):
            fired = np.flatnonzero(rules[step] != NO_RULE).tolist()
            texts = [system.rule_text(i, int(rules[step, i])) for i in fired if not of_labels]
            if networks is not None and of_labels:
                labels = networks[step].labels
                texts = [f"{names[i]}: {of_labels[labels[i]][rules[step, i]]}" for i in fired]
            elif networks is not None:
                texts += changed_synapses(networks[step], networks[step + 1])
            line += f"   [{', '.join(texts) or 'no rule'}]"
        lines.append(line)
    if len(lines) > _MAX_LINES:
        left_out = len(lines) - _MAX_LINES
        middle = [f"  ... {left_out} more ..."]
        lines = [*lines[: _MAX_LINES - _LAST_LINES], *middle, *lines[-_LAST_LINES:]]
    return "\n".join(lines)
