"""Batches of small random systems, drawn by NumPy, whose runs are compared with the reference."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import jax
import jax.random as jr
import numpy as np

import snpjax as snp
from snpjax.spiking import Guard
from snpjax.spiking.model.compatibility import SIMULATORS
from snpjax.testing import reference
from snpjax_formats import Dense
from tests.support.helpers import assert_same_run, choices_of, quietly


PER_BATCH = 1000
NUM_STEPS = 12
_NUM_GUARDS = 64  # new ones in each batch
_DRAWS = 200  # per system, at most


@dataclass(frozen=True)
class Kind:
    """What the systems of a batch have in common: signed counts and weights, or the way in which a
    simulator makes steps."""

    signed: bool = False
    simulator: str | None = None

    def batch(self, number: int, size: int = PER_BATCH) -> list[snp.SpikingSystem]:
        """So many systems. The first one has one of everything, so that the programs of all
        batches of one kind have one shape."""
        words = np.random.default_rng([number, self.signed]).integers(2**31, size=(size, _DRAWS))
        guards = _guards(np.random.default_rng([number, 2]).integers(2**31, size=999).tolist())
        systems = [_system(iter(row), guards, self.signed) for row in words.tolist()]
        systems[0] = _widest(systems[0], self.signed)
        if self.simulator is None:
            return systems
        # Some guards have a period, which `guard_modulo` does not take.
        way = replace(SIMULATORS[self.simulator], guard_modulo=None)
        return [quietly(system.with_compatibility, way) for system in systems]

    def check(self, number: int, size: int = PER_BATCH) -> str:
        """Run a batch and compare each step of each system with the reference.

        **Returns:** the shape of the program.

        **Raises:** `AssertionError` that names the system at which they differ.
        """
        systems = self.batch(number, size)
        is_random, is_dense, is_faithful = (number >> bit & 1 for bit in range(3))
        # Where the order of synapses counts, they are kept in it.
        layout = Dense if is_dense and self.simulator != "sparse-snp-compressed" else "auto"
        batch = snp.SystemBatch(systems)
        lowered = snp.lower(batch, layout=layout, faithful=bool(is_faithful))
        choice = snp.UniformChoice(jr.key(number)) if is_random else snp.FirstChoice()
        solutions = snp.run(lowered, choice=choice, max_steps=NUM_STEPS, save=snp.SAVE_ALL)
        for index, (system, solution) in enumerate(zip(systems, solutions, strict=True)):
            try:
                _assert_is_a_run(system, solution, bool(is_random))
            except (AssertionError, ValueError) as error:
                raise AssertionError(
                    f"{self}: system {index} of batch {number}: {system.neurons}, "
                    f"{system.synapses}, input {dict(system.input)}, output {system.output}"
                ) from error
        return str(jax.tree.map(lambda x: (x.shape, x.dtype.name), lowered.machine))


KINDS = (
    *(Kind(), Kind(signed=True)),
    *(
        Kind(simulator=name)
        for name in ("sparse-snp", "sparse-snp-compressed", "websnapse-v4", "sn-p-factory")
    ),
)


def _assert_is_a_run(system: snp.SpikingSystem, solution: snp.Solution, is_random: bool) -> None:
    if not is_random:
        assert_same_run(solution, reference.run(system, max_steps=NUM_STEPS))
        return
    chosen = iter(choices_of(solution))
    # The reference refuses a choice that is not a valid spiking vector.
    replay = reference.run(system, lambda *_: next(chosen), max_steps=solution.steps)
    assert_same_run(solution, replay)
    assert solution.halted or solution.steps == NUM_STEPS


def _guards(words: list[int]) -> list[Guard]:
    draw = iter(words)
    found = [_guard(draw) for _ in range(_NUM_GUARDS)]
    return found + [a | b for a, b in zip(found[::4], found[1::4], strict=True)]


def _guard(draw: Iterator[int]) -> Guard:
    low, high = sorted((next(draw) % 7, next(draw) % 7))
    period = next(draw) % 6 + 1
    match next(draw) % 6:
        case 0:
            return Guard.exactly(low)
        case 1:
            return Guard.interval(low, high)
        case 2:
            return Guard.interval(low)
        case 3:
            return Guard.from_lengths({low, high, period})
        case 4:
            return ~Guard.from_lengths({low, high})
        case _:
            return Guard.exactly(low).concatenate(Guard.exactly(period).star())


def _system(draw: Iterator[int], guards: list[Guard], signed: bool) -> snp.SpikingSystem:
    names = [f"n{i}" for i in range(3 + next(draw) % 4)]
    lowest = -2 if signed else 0
    neurons = [
        snp.Neuron(name, lowest + next(draw) % (6 - lowest), _rules(draw, guards)) for name in names
    ]
    weights = (1, 2, -1, -2) if signed else (1, 1, 2, 3)
    synapses = [
        (source, target, weights[kind])
        for source in names
        for target in names
        if (kind := next(draw) % 12) < len(weights)
    ]
    fed = {names[next(draw) % len(names)] for _ in range(next(draw) % 3)}
    input = {name: [next(draw) % 4 for _ in range(next(draw) % 7)] for name in sorted(fed)}
    output = {names[next(draw) % len(names)] for _ in range(next(draw) % 3)}
    return quietly(
        snp.SpikingSystem, neurons, synapses, input=input, output=sorted(output), signed=signed
    )


def _rules(draw: Iterator[int], guards: list[Guard]) -> list[snp.Rule]:
    num_rules = (0, 1, 1, 2, 2, 3, 4, 5)[next(draw) % 8]
    if num_rules == 5:  # a family, which lowering makes one rule of
        first = 1 + next(draw) % 3
        family = [snp.Rule(None, first + i) for i in range(2 + next(draw) % 2)]
        return [_rule(draw, guards), *family] if next(draw) % 2 else [*family, _rule(draw, guards)]
    return [_rule(draw, guards) for _ in range(num_rules)]


def _rule(draw: Iterator[int], guards: list[Guard]) -> snp.Rule:
    number, consume = next(draw), 1 + next(draw) % 4
    guard = None if number % 4 == 0 else guards[number // 4 % len(guards)]
    if next(draw) % 4 == 0:
        return snp.Rule(guard, consume)
    return snp.Rule(guard, consume, 1 + next(draw) % 4, (0, 0, 0, 1, 2, 3)[next(draw) % 6])


def _widest(system: snp.SpikingSystem, signed: bool) -> snp.SpikingSystem:
    """A system with as many neurons, terms of guards, inputs and outputs as one can have, a family
    of forgetting rules, a rule twice, and all synapses."""
    names = [f"n{i}" for i in range(6)]
    squares = Guard.from_lengths(n * n for n in range(1, 41))  # of 20 terms
    rules = [snp.Rule(squares, 1, 1), *("a^5 -> a; 1",) * 2, "a^2 -> lambda", "a^3 -> lambda"]
    idle = snp.Neuron("idle", 0, rules)
    return quietly(
        snp.SpikingSystem,
        [*system.neurons, *map(snp.Neuron, names[len(system.neurons) :]), idle],
        [(source, target, 2) for source in names for target in names],
        input={name: [1] * 6 for name in names[:2]},
        output=names[:2],
        signed=signed,
    )
