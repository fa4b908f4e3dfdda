"""Stateful tests: Hypothesis chooses rules and input step by step, and shrinks what breaks a
property to a short run."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..check.equivalence.result import digits, table_text
from ..choice import NO_RULE
from ..spiking.model.environment import AnyInput, environment_of
from ..spiking.model.system import SpikingSystem
from ..spiking.view.configurations import Configurations, Transitions, astrocytes_of
from ..spiking.view.snapshot import Network
from .reference import (
    Choice,
    Computation,
    Configuration,
    NeuronAction,
    alternatives,
    decisions,
    initial,
    is_halting,
    step,
)
from .reference_state import state_of
from .strategies import st  # says what to install where Hypothesis is missing


from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule  # isort: skip


#: What holds of a configuration, as for `Graph.where`: `lambda c: c["n3"] <= 4`.
Invariant = Callable[[Configurations], Any]
#: What holds of a step, as for `Graph.map_transitions`: `lambda s: s.emitted("n3") <= 1`.
StepInvariant = Callable[[Transitions], Any]


def machine_for(
    system: SpikingSystem,
    *invariants: Invariant,
    steps: Sequence[StepInvariant] = (),
    inputs: AnyInput | None = None,
) -> type["SystemMachine"]:
    """A Hypothesis state machine that runs a system on the reference interpreter and checks
    properties after every step.

    Where neurons divide or bud, names are labels, as in `Graph.where`.

    **Arguments:**

    - `system`: the system that is run.
    - `invariants`: predicates that must hold in every configuration, as for `assert_invariant`.
      That function proves them where all configurations can be explored; this one tries some runs
      of systems of any size.
    - `steps`: predicates that must hold in every step.
    - `inputs`: let Hypothesis send any input, instead of the system's own trains.

    **Returns:** a class whose `TestCase` pytest and unittest can run. A subclass may add rules and
    invariants of its own, which read `self.computation`.

    ```python
    TestAdder = machine_for(
        adder, lambda c: c["adder"] <= 3, inputs=snp.AnyInput(10, most=2)
    ).TestCase
    ```
    """
    model, fed = system, ()
    if inputs is not None:
        model = system.with_input(inputs)
        fed = inputs.neurons_of(system)
    attributes = {
        "system": system,
        "model": model,
        "fed": fed,
        "invariants_of_configurations": invariants,
        "invariants_of_steps": tuple(steps),
        "__module__": __name__,
        "__doc__": f"Random runs of {system!r}.",
    }
    return type("MachineOfSystem", (SystemMachine,), attributes)


class SystemMachine(RuleBasedStateMachine):
    """One run of a system, chosen by Hypothesis; made by `machine_for`.

    - `system`: the system; `model`: the same with its environment, `fed` the neurons that this
      sends input to.
    - `computation`: the run so far, of `model`.
    """

    system: ClassVar[SpikingSystem] = SpikingSystem([])
    model: ClassVar[SpikingSystem] = SpikingSystem([])
    fed: ClassVar[tuple[str, ...]] = ()
    invariants_of_configurations: ClassVar[tuple[Invariant, ...]] = ()
    invariants_of_steps: ClassVar[tuple[StepInvariant, ...]] = ()

    def __init__(self) -> None:
        super().__init__()  # as Hypothesis wants it
        start = initial(self.model)
        self.computation = Computation((start,), (), (), is_halting(self.model, start))

    @precondition(lambda self: not self.computation.halted)
    @rule(data=st.data())
    def step(self, data: Any) -> None:
        """Every neuron selects a rule, and every astrocyte decides."""
        run = self.computation
        last = run.configurations[-1]

        def drawn(what: str, names: Sequence[str], options: list[list[NeuronAction]]) -> Choice:
            return tuple(
                data.draw(st.sampled_from(own), label=f"{what} of {name}")
                if len(own) > 1
                else own[0]
                for name, own in zip(names, options, strict=True)
            )

        choice = drawn("rule", self._names(last), alternatives(self.model, last))
        decided = decisions(self.model, last, choice)
        choice += drawn("decision", astrocytes_of(self.model), decided)
        after, emitted = step(self.model, last, choice)
        self.computation = Computation(
            (*run.configurations, after),
            (*run.choices, choice),
            (*run.emissions, emitted),
            is_halting(self.model, after),
        )
        for holds in self.invariants_of_steps:
            if not np.all(holds(self._last_step())):
                self._fail(holds, "in")

    @precondition(lambda self: self.computation.halted)
    @rule()
    def stay_halted(self) -> None:
        """Nothing happens any more; there must be something to do."""

    @invariant()
    def invariants_hold(self) -> None:
        seen = self._last_configuration()
        for holds in self.invariants_of_configurations:
            if not np.all(holds(seen)):
                self._fail(holds, "after")

    def _last_configuration(self) -> Configurations:
        last = self.computation.configurations[-1]
        return Configurations(
            self.model,
            np.asarray([last.spikes]),
            np.asarray([last.timers]),
            np.asarray([last.pending]),
            np.asarray([last.input_position]),
            np.asarray([self.computation.halted]),
            state_of(self.model, last.network),
        )

    def _last_step(self) -> Transitions:
        run = self.computation
        made = np.asarray([run.steps])
        rules, emissions = _rules(run)[-1:], np.asarray(run.emissions[-1:])
        labels = None
        if self.model.is_growing:  # neurons that are new had none before
            before = run.configurations[-2].network
            assert before is not None
            rules = rules[:, : emissions.shape[1]]
            new = [""] * (emissions.shape[1] - len(before.labels))
            labels = np.asarray([[*before.labels, *new]])
        return Transitions(self.model, made - 1, made, rules, emissions, labels=labels)

    def _names(self, configuration: Configuration) -> Sequence[str]:
        network = configuration.network
        if network is None or not self.model.is_growing:
            return list(self.model.names)
        return Network(network.labels, network.synapses).names

    def _fail(self, holds: Callable[..., Any], where: str) -> None:
        name = getattr(holds, "__name__", repr(holds))
        name = "an invariant" if name == "<lambda>" else f"the invariant {name}"
        steps = self.computation.steps
        place = "at the start" if steps == 0 else f"{where} step {steps}"
        raise AssertionError(f"{name} is broken {place}:\n{self.run_text()}")

    def run_text(self) -> str:
        """The run so far, for people."""
        run = self.computation
        sent = {name: self.model.position_of(environment_of(name)) for name in self.fed}
        lines = [
            f"  input of {name}: {digits(tuple(row[column] for row in run.emissions))}"
            for name, column in sent.items()
        ]
        width = max(len(c.spikes) for c in run.configurations)
        # The environment stands after the neurons of the beginning.
        own = [i for i in range(width) if i not in sent.values()]
        spikes = _table([c.spikes for c in run.configurations], width, 0)[:, own]
        timers = _table([c.timers for c in run.configurations], width, 0)[:, own]
        networks = None
        if self.model.changes_network:
            networks = [self._network(c, own) for c in run.configurations]
        table = table_text(self.system, spikes, timers, _rules(run)[:, own], networks)
        return "\n".join([*lines, table])

    def _network(self, configuration: Configuration, own: Sequence[int]) -> Network:
        """The network of these neurons."""
        network = configuration.network
        assert network is not None
        places = {slot: place for place, slot in enumerate(own)}
        synapses = (
            (places[source], places[target], weight)
            for source, target, weight in network.synapses
            if source in places and target in places
        )
        labels = network.labels if self.model.is_growing else list(self.model.names)
        there = (labels[slot] for slot in own if slot < len(labels))
        return Network(tuple(there), tuple(sorted(synapses)))


def _table(rows: Sequence[Sequence[int]], width: int, empty: int) -> np.ndarray:
    """Rows of different lengths, filled up."""
    table = np.full((len(rows), width), empty)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


def _rules(run: Computation) -> np.ndarray:
    """The rules of every step, `NO_RULE` where none was selected."""

    def number(selected: NeuronAction) -> int:
        rule = selected[0] if isinstance(selected, tuple) else selected  # without its targets
        return NO_RULE if rule is None else rule

    width = max(len(c.spikes) for c in run.configurations)
    # Without what astrocytes decide, which stands after the neurons.
    rows = [[number(selected) for selected in choice[:width]] for choice in run.choices]
    return _table(rows, width, NO_RULE)
