"""Register machines as SN P systems: the modules ADD, SUB and FIN, linked for a program.

A register that holds n has 2n spikes. The neuron of an instruction fires when it holds exactly two
spikes; it forgets a single spike, which a register sends to the other instructions that use it.
SUB and ADD are the modules of Ionescu, Paun and Yokomori 2006; FIN, which makes the content of
register 1 the number of steps between two output spikes, differs from theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import snpjax as snp


@dataclass(frozen=True)
class Add:
    """Add 1 to a register and continue with one of the next labels."""

    register: int
    next: Sequence[str]


@dataclass(frozen=True)
class Sub:
    """Subtract 1 and continue with `nonzero`; at 0, continue with `zero`."""

    register: int
    nonzero: str
    zero: str


Program = Mapping[str, Add | Sub]

#: Korec's universal machine of 22 instructions, as Paun and Paun 2007 number them.
KOREC: Program = {
    "l0": Sub(1, "l1", "l2"),
    "l1": Add(7, ["l0"]),
    "l2": Add(6, ["l3"]),
    "l3": Sub(5, "l2", "l4"),
    "l4": Sub(6, "l5", "l3"),
    "l5": Add(5, ["l6"]),
    "l6": Sub(7, "l7", "l8"),
    "l7": Add(1, ["l4"]),
    "l8": Sub(6, "l9", "l0"),
    "l9": Add(6, ["l10"]),
    "l10": Sub(4, "l0", "l11"),
    "l11": Sub(5, "l12", "l13"),
    "l12": Sub(5, "l14", "l15"),
    "l13": Sub(2, "l18", "l19"),
    "l14": Sub(5, "l16", "l17"),
    "l15": Sub(3, "l18", "l20"),
    "l16": Add(4, ["l11"]),
    "l17": Add(2, ["l21"]),
    "l18": Sub(4, "l0", "lh"),
    "l19": Sub(0, "l0", "l18"),
    "l20": Add(0, ["l0"]),
    "l21": Add(3, ["l18"]),
}


def to_system(
    program: Program, registers: Sequence[int], *, finish: bool = False, name: str = ""
) -> snp.SpikingSystem:
    """The system of a program that starts at its first label and ends at `lh`.

    **Arguments:**

    - `registers`: their contents.
    - `finish`: add the module FIN for register 1; no instruction may subtract from it.
    """
    instruction = ["a^2 -> a", "a -> lambda"]
    neurons = [snp.Neuron(label, 0, instruction) for label in [*program, "lh"]]
    neurons[0] = snp.Neuron(neurons[0].name, 2, instruction)
    synapses: dict[tuple[str, str], None] = {}
    subtracts = {step.register for step in program.values() if isinstance(step, Sub)}
    for number, content in enumerate(registers):
        rules = ["a(aa)+/a^3 -> a", "a -> a; 1"] if number in subtracts else []
        if finish and number == 1:
            rules = ["aaa(aa)*/a^2 -> a", "a -> lambda"]
        neurons.append(snp.Neuron(f"r{number}", 2 * content, rules))
    for label, step in program.items():
        register = f"r{step.register}"
        if isinstance(step, Add):
            up = [f"{label}a", f"{label}b"]
            neurons += [snp.Neuron(x, 0, ["a -> a"]) for x in up]
            synapses |= dict.fromkeys([(label, x) for x in up] + [(x, register) for x in up])
            if len(step.next) == 1:
                synapses |= dict.fromkeys((x, step.next[0]) for x in up)
                continue
            # Only one of them: `c` chooses when to spike, and completes what `d` or `b` has begun.
            early, late = step.next
            neurons.append(snp.Neuron(f"{label}c", 0, ["a -> a", "a -> a; 1"]))
            neurons.append(snp.Neuron(f"{label}d", 0, ["a -> a; 1"]))
            synapses |= dict.fromkeys(
                [(label, f"{label}c"), (label, f"{label}d"), (f"{label}b", early)]
                + [(f"{label}c", early), (f"{label}c", late), (f"{label}d", late)]
            )
        else:
            now, then = f"{label}a", f"{label}b"
            neurons += [snp.Neuron(now, 0, ["a -> a"]), snp.Neuron(then, 0, ["a -> a; 1"])]
            synapses |= dict.fromkeys(
                [(label, now), (label, then), (label, register), (now, step.nonzero)]
                + [(then, step.zero), (register, step.nonzero), (register, step.zero)]
            )
    if finish:
        neurons.append(snp.Neuron("d", 0, ["a -> a"]))
        neurons.append(snp.Neuron("out", 0, ["a -> a", "a^2 -> lambda"]))
        synapses |= dict.fromkeys([("lh", "r1"), ("r1", "out"), ("r1", "d"), ("d", "out")])
    output = "out" if finish else ()
    return snp.SpikingSystem(neurons, list(synapses), output=output, name=name)


def execute(program: Program, registers: Sequence[int], *, most: int) -> list[int] | None:
    """The registers when a deterministic program halts; `None` after `most` instructions."""
    registers, label = list(registers), next(iter(program))
    for _ in range(most):
        if label == "lh":
            return registers
        step = program[label]
        if isinstance(step, Add):
            registers[step.register] += 1
            label = step.next[0]
        elif registers[step.register]:
            registers[step.register] -= 1
            label = step.nonzero
        else:
            label = step.zero
    return None


if __name__ == "__main__":
    # Multiply by adding: register 2 is 3 times register 1. Then do the same with spikes.
    triple = {
        "l0": Sub(1, "l1", "lh"),
        "l1": Add(2, ["l2"]),
        "l2": Add(2, ["l3"]),
        "l3": Add(2, ["l0"]),
    }
    solution = snp.run(to_system(triple, [0, 5, 0]))
    print("registers:", [int(solution.spikes_of(f"r{i}")) // 2 for i in range(3)])
    assert solution.spikes_of("r2") == 2 * 15
    assert execute(triple, [0, 5, 0], most=100) == [0, 0, 15]
