"""Numerical SN P systems in pure Python, one production function at a time.

Written from the specification, to compare other implementations with; imports nothing of JAX. With
`number=Fraction`, the default, its arithmetic is exact.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from snpjax_formats.arguments import explain_arguments

from ..numerical.model import NumericalSystem


#: The value of each variable, by neuron and name.
Configuration = dict[str, dict[str, Any]]

_LARGEST = Fraction(sys.float_info.max)


@dataclass
class NumericalRun:
    """`configurations[t]` is the configuration before step t + 1, the last one that at the end;
    `outputs[t]` what was sent to each output in that step, `productions[t]` the number of the
    function of each neuron, or `None`. `overflowed` says that a number of the next step exceeds
    those of float64."""

    configurations: list[Configuration] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    productions: list[list[int | None]] = field(default_factory=list)
    halted: bool = False
    overflowed: bool = False


def initial(system: NumericalSystem, number: Callable[[Any], Any] = Fraction) -> Configuration:
    """The initial configuration.

    **Arguments:**

    - `system`: a numerical system.
    - `number`: converts numbers, for example `Fraction` or `float`.

    **Returns:** the value of each variable, by neuron and name.
    """
    return {
        neuron.name: {name: number(value) for name, value in neuron.variables.items()}
        for neuron in system.neurons
    }


def applicable(system: NumericalSystem, now: Configuration) -> list[list[int]]:
    """The production functions that each neuron can use.

    **Arguments:**

    - `system`: a numerical system.
    - `now`: a configuration.

    **Returns:** for each neuron the indices of these functions, ascending.
    """
    return [
        [
            i
            for i, f in enumerate(neuron.productions)
            if f.threshold is None
            or all(now[neuron.name][name] >= f.threshold for name in f.variables)
        ]
        for neuron in system.neurons
    ]


def has_halted(system: NumericalSystem, now: Configuration, step: int) -> bool:
    """Whether no production function is applicable and no input remains.

    **Arguments:**

    - `system`: a numerical system.
    - `now`: a configuration.
    - `step`: the number of steps made so far.

    **Returns:** whether the computation ends in this configuration.
    """
    is_fed = any(step < len(given.values) for given in system.inputs.values())
    return not is_fed and not any(applicable(system, now))


def successor(
    system: NumericalSystem,
    now: Configuration,
    step: int,
    chosen: Sequence[int | None],
    number: Callable[[Any], Any] = Fraction,
) -> tuple[Configuration, dict[str, Any]]:
    """Make one step.

    **Arguments:**

    - `system`: a numerical system.
    - `now`: a configuration.
    - `step`: the number of steps made so far.
    - `chosen`: for each neuron the index of the function that it uses, or `None`.
    - `number`: converts numbers, as in `initial`.

    **Returns:** the next configuration, and the value sent to each output.

    **Raises:** `OverflowError` if the value of a production function, a variable or an output is
    not a number of float64.
    """
    sent: dict[str, Any] = dict.fromkeys(now, number(0))
    then = {neuron: dict(variables) for neuron, variables in now.items()}
    for neuron, which in zip(system.neurons, chosen, strict=True):
        if which is not None:
            f = neuron.productions[which]
            for name in f.variables:
                sent[neuron.name] += number(f.coefficients[name]) * now[neuron.name][name]
                then[neuron.name][name] = number(0)
    for source, target in system.synapses:
        for name in then[target]:
            then[target][name] += sent[source]
    for given in system.inputs.values():
        for target in given.targets if step < len(given.values) else ():
            for name in then[target]:
                then[target][name] += number(given.values[step])
    outputs = {
        name: sum((sent[source] for source in sources), number(0))
        for name, sources in system.senders.items()
    }
    variables = [value for own in then.values() for value in own.values()]
    if not all(abs(x) <= _LARGEST for x in (*sent.values(), *variables, *outputs.values())):
        raise OverflowError("A number exceeds the largest one of float64.")
    return then, outputs


def run(
    system: NumericalSystem,
    *,
    steps: int,
    choose: Callable[[int, int, list[int]], int] = lambda step, neuron, can: can[0],
    number: Callable[[Any], Any] = Fraction,
) -> NumericalRun:
    """Run a numerical system.

    **Arguments:**

    - `system`: a numerical system.
    - `steps`: the largest number of steps.
    - `choose`: `choose(step, neuron, can)` selects one of the indices `can` for the neuron with
      this index; by default the first.
    - `number`: converts numbers; arithmetic is exact with `Fraction`, the default.

    **Returns:** the `NumericalRun`.
    """
    made = NumericalRun([initial(system, number)])
    for step in range(steps):
        now = made.configurations[-1]
        if has_halted(system, now, step):
            made.halted = True
            return made
        chosen = [
            choose(step, i, can) if can else None for i, can in enumerate(applicable(system, now))
        ]
        try:
            then, outputs = successor(system, now, step, chosen, number)
        except OverflowError:
            made.overflowed = True
            return made
        made.configurations.append(then)
        made.outputs.append(outputs)
        made.productions.append(chosen)
    made.halted = has_halted(system, made.configurations[-1], steps)
    return made


def all_choices(system: NumericalSystem, now: Configuration) -> Iterator[tuple[int | None, ...]]:
    """Enumerate the ways to choose a production function for each neuron.

    **Arguments:**

    - `system`: a numerical system.
    - `now`: a configuration.

    **Returns:** an iterator of the `chosen` argument of `successor`, the last neuron varying
    fastest.
    """
    return product(*(can or [None] for can in applicable(system, now)))


explain_arguments(__name__)
