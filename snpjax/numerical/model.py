"""Numerical spiking neural P systems as users think of them: neurons with real variables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from snpjax_formats.by_value import ComparedByValue

from .._text.nearest import nearest
from .._text.pickling import PickledError


if TYPE_CHECKING:
    from ..machine import AnyMachine, LayoutLike, Lowered
    from ..trajectory import Trajectory
    from .solution import NumericalSolution, NumericalSolutionBatch

#: Rounded to float64 when a system is lowered.
Real: TypeAlias = float | Fraction | np.number


@dataclass(frozen=True, eq=False)
class Production(ComparedByValue):
    """A production function: the sum of its neuron's variables, each times its coefficient.

    It is applicable where each of its variables is at least `threshold`, and always without one.
    Variables whose coefficient is 0 are not among them.

    **Arguments:**

    - `coefficients`: by the name of the variable.
    - `name`: for messages and tables; by default its number.
    """

    coefficients: Mapping[str, Real]
    threshold: Real | None = None
    name: str | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """Those that it reads and consumes."""
        return tuple(name for name, factor in self.coefficients.items() if factor != 0)


@dataclass(frozen=True, eq=False)
class NumericalNeuron(ComparedByValue):
    """A neuron with named variables, their initial values, and its production functions."""

    name: str
    variables: Mapping[str, Real]
    productions: Sequence[Production] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "productions", tuple(self.productions))


@dataclass(frozen=True)
class NumericalInput:
    """Numbers from the environment: `values[t]` arrives at the end of step t + 1 at each of the
    `targets`, and is added to all of their variables; nothing after the last."""

    values: Sequence[Real]
    targets: Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "targets", tuple(self.targets))


class InvalidNumericalSystem(PickledError, ValueError):
    """An invalid system; `problems` lists every error."""

    def __init__(self, problems: Sequence[str]):
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, eq=False, repr=False)
class NumericalSystem:
    """Neurons that hold real numbers, and the synapses between them.

    In each step every neuron with applicable production functions uses one of them, which is chosen
    if there are several. Its value is added to every variable of every neuron that a synapse leads
    to, and the variables that it reads become 0; all other variables keep their values. A system
    halts when no function is applicable and no input is left.

    **Arguments:**

    - `synapses`: pairs of a source and a target.
    - `outputs`: the neurons that also send to the environment, or by the name of an output those
      that send to it, whose values are added.
    - `inputs`: by name.

    **Raises:** `InvalidNumericalSystem` with everything that is wrong.

    ??? cite "Source"
        Wu, Pan, Yu and Tan 2020, numerical spiking neural P systems; thresholds and consumption as
        in the matrix representation of Ballesteros, Cailipan, de la Cruz and Cabarle 2022 and in
        the server of Numerical WebSnapse. Production functions are linear, as there.
    """

    neurons: Sequence[NumericalNeuron]
    synapses: Sequence[tuple[str, str]] = ()
    outputs: Mapping[str, Sequence[str]] | Sequence[str] = field(default=(), kw_only=True)
    inputs: Mapping[str, NumericalInput] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "neurons", tuple(self.neurons))
        object.__setattr__(self, "synapses", tuple((s, t) for s, t in self.synapses))
        outputs = [self.outputs] if isinstance(self.outputs, str) else self.outputs
        if not isinstance(outputs, Mapping):
            outputs = {name: (name,) for name in outputs}
        outputs = {name: tuple(sources) for name, sources in outputs.items()}
        object.__setattr__(self, "outputs", outputs)
        problems = list(_problems(self))
        if problems:
            raise InvalidNumericalSystem(problems)

    @property
    def senders(self) -> Mapping[str, Sequence[str]]:
        """By output, the neurons that send to it."""
        assert isinstance(self.outputs, Mapping)
        return self.outputs

    def lower(
        self,
        *,
        layout: "LayoutLike" = "auto",
        numbered: bool = False,
        paths: int = 1,
    ) -> "Lowered[NumericalSolution, NumericalSolutionBatch]":
        """Lower the system to arrays in float64, see `snpjax.lower`.

        **Arguments:**

        - `layout`: how synapses are stored.
        - `numbered`, `paths`: see `snpjax.machine.Model`.

        **Raises:** `NotEnoughMemory` for what does not fit; `ValueError` for a layout that cannot
        store the synapses, or whose products are not in float64.
        """
        from .lower import lowered

        del numbered  # every production function has its number
        return lowered(self, layout, paths)

    def start(self, machine: "AnyMachine", initial: Any, inputs: Any) -> "tuple[AnyMachine, Any]":
        """The initial state of a run that continues another one.

        **Arguments:**

        - `machine`: the lowered system.
        - `initial`: the `state` of an earlier solution.
        - `inputs`: must be `None`.

        **Raises:** `ValueError` for anything else.
        """
        from .machine import NumericalState

        if inputs is not None:
            raise ValueError(
                "A numerical system takes no `inputs`. Build it with different inputs."
            )
        if not isinstance(initial, NumericalState):
            raise ValueError("`initial` is not a state of this system. Pass `solution.state`.")
        return machine, initial

    def solution(self, trajectory: "Trajectory") -> "NumericalSolution":
        """What a run of one path saved, by the names of neurons and variables."""
        from .solution import NumericalSolution

        return NumericalSolution(trajectory, self)

    def solutions(self, trajectory: "Trajectory") -> "NumericalSolutionBatch":
        """What a run of many paths saved: the same with an axis of paths."""
        from .solution import NumericalSolutionBatch

        return NumericalSolutionBatch(trajectory, self)

    @property
    def why_unexplorable(self) -> str:
        """Said by `snpjax.explore` and `snpjax.check`, which refuse the system."""
        return (
            "Its values are real numbers, and only configurations of whole numbers are searched. "
            "Run it: `snpjax.run`."
        )

    def __repr__(self) -> str:
        variables = sum(len(neuron.variables) for neuron in self.neurons)
        return (
            f"NumericalSystem(neurons={len(self.neurons)}, variables={variables}, "
            f"synapses={len(self.synapses)})"
        )


def _problems(system: NumericalSystem) -> Iterator[str]:
    names = [neuron.name for neuron in system.neurons]
    if not names:
        yield "There are no neurons. Give at least one."
    known = dict.fromkeys(names)
    for name in known if len(known) < len(names) else ():
        if names.count(name) > 1:
            yield f"neuron {name!r} is declared twice (give each neuron its own name)"
    for neuron in system.neurons:
        yield from _neuron_problems(neuron)
    seen: set[tuple[str, str]] = set()
    for source, target in system.synapses:
        for name in (source, target):
            if name not in known:
                yield f"synapse {source!r} to {target!r}: {_unknown(name, known)}"
        if (source, target) in seen:
            yield f"synapse {source!r} to {target!r} is given twice (give it once)"
        seen.add((source, target))
    for what, ends in (
        ("output", system.senders),
        ("input", {name: given.targets for name, given in system.inputs.items()}),
    ):
        for name, neurons in ends.items():
            yield from (f"{what} {name!r}: {_unknown(n, known)}" for n in neurons if n not in known)
            if len({*neurons}) < len(neurons):
                yield f"{what} {name!r} names a neuron twice (name it once)"
    for name, given in system.inputs.items():
        for step, value in enumerate(given.values, start=1):
            if not _is_finite(value):
                yield f"input {name!r}, step {step}: {value!r} is not a finite number (give one)"


def _neuron_problems(neuron: NumericalNeuron) -> Iterator[str]:
    where = f"neuron {neuron.name!r}"
    for name, value in neuron.variables.items():
        if not _is_finite(value):
            yield f"{where}: variable {name!r} is {value!r}, not a finite number (give one)"
    for number, production in enumerate(neuron.productions):
        at = f"{where}, production function {production_name(production, number)}"
        if production.threshold is not None and not _is_finite(production.threshold):
            yield f"{at}: the threshold is {production.threshold!r}, not a finite number (give one)"
        for name, factor in production.coefficients.items():
            if name not in neuron.variables:
                near = nearest(name, neuron.variables, "variables")
                yield f"{at}: the neuron has no variable {name!r} ({near})"
            if not _is_finite(factor):
                what = f"the coefficient of {name!r} is {factor!r}"
                yield f"{at}: {what}, not a finite number (give one)"


def production_name(production: Production, number: int) -> str:
    """How a message or a table calls it."""
    return repr(number if production.name is None else production.name)


def _unknown(name: str, known: Mapping[str, None]) -> str:
    return f"there is no neuron {name!r} ({nearest(f'{name}', known, 'neurons')})"


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | np.number):
        return False
    try:
        return bool(np.isfinite(float(value)))  # pyright: ignore[reportArgumentType]
    except OverflowError:  # a fraction that float64 does not hold
        return False
