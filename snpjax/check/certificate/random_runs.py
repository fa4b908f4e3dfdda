"""Configurations of random runs, by the reference interpreters."""

import random
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias

from ...sleptsov.model.execution import Execution
from ...sleptsov.model.rules import Petri
from ...spiking.model.system import SpikingSystem
from ...testing import reference
from ...testing.reference_sleptsov import Marking, Reference
from ..query.formula import Observed, Variable


_SEED = 0
_LENGTH = 1000  # steps of one run of several
_REMEMBERED = 10_000  # configurations whose successors are kept

#: The numbers of a configuration.
ValueOf: TypeAlias = Callable[[Variable], int]


def visited(model: SpikingSystem | Execution, most: int, end: float) -> Iterator[ValueOf]:
    """The numbers of configurations of random runs; where there is no choice, of one run.

    **Arguments:**

    - `most`: how many configurations.
    - `end`: stop at this time of `time.monotonic`.
    """
    draw, count, has_choice = random.Random(_SEED), 0, True
    runs = _runs_of_net(model, draw) if isinstance(model, Execution) else _runs(model, draw)
    while has_choice:
        has_choice = False
        for step, (value, chooses) in enumerate(runs()):
            if count >= most or time.monotonic() > end:
                return
            yield value
            count, has_choice = count + 1, has_choice or chooses
            if has_choice and step >= _LENGTH:
                break


def _runs(
    system: SpikingSystem, draw: random.Random
) -> Callable[[], Iterator[tuple[ValueOf, bool]]]:
    """Makes runs: their configurations, and whether there is a choice in each."""

    @lru_cache(_REMEMBERED)
    def ways_of(now: reference.Configuration) -> list[list[reference.NeuronAction]]:
        if reference.is_halting(system, now):
            return []
        return reference.alternatives(system, now)

    @lru_cache(_REMEMBERED)
    def after(now: reference.Configuration, choice: reference.Choice) -> reference.Configuration:
        return reference.step(system, now, choice)[0]

    def run() -> Iterator[tuple[ValueOf, bool]]:
        now, step = reference.initial(system), 0
        while ways := ways_of(now):
            yield _value_of(system, now, step, False), any(len(own) > 1 for own in ways)
            now, step = after(now, tuple(draw.choice(own) for own in ways)), step + 1
        yield _value_of(system, now, step, True), False

    return run


def _value_of(
    system: SpikingSystem, now: reference.Configuration, step: int, is_halting: bool
) -> ValueOf:
    def value(variable: Variable) -> int:
        match variable.observed:
            case Observed.STEP:
                return step
            case Observed.HALTED:
                return int(is_halting)
            case Observed.TIMER:
                return now.timers[system.names[variable.neuron]]
            case Observed.PENDING:
                return now.pending[system.names[variable.neuron]]
        return now.spikes[system.names[variable.neuron]]

    return value


def _runs_of_net(
    execution: Execution, draw: random.Random
) -> Callable[[], Iterator[tuple[ValueOf, bool]]]:
    net, own = execution.net, Reference(execution.net)
    finals = {tuple(row) for row in net.final_markings.tolist()}
    places = {name: place for place, name in enumerate(net.place_names)}
    candidates = lru_cache(_REMEMBERED)(own.candidates)

    def value_of(now: Marking, step: int, able: list[int]) -> ValueOf:
        def value(variable: Variable) -> int:
            match variable.observed:
                case Observed.STEP:
                    return step
                case Observed.HALTED:
                    return int(not able)
                case Observed.FINAL:
                    return int(now in finals)
            return now[places[variable.neuron]]

        return value

    def run() -> Iterator[tuple[ValueOf, bool]]:
        now, step = own.initial, 0
        while able := candidates(now):
            yield value_of(now, step, able), len(able) > 1
            t = draw.choice(able)
            copies = 1 if isinstance(execution.rule, Petri) else own.multiplicity(now, t)
            assert copies is not None, "unbounded"
            now, step = own.fired(now, t, copies), step + 1
        yield value_of(now, step, able), False

    return run
