"""Published numerical SN P systems, built from what the papers and their programs say."""

from fractions import Fraction

import snpjax as snp
from snpjax.numerical import NumericalNeuron, NumericalSystem, Production


HALF = {"x": 0.5, "y": 0.5}


def example_of_wu() -> NumericalSystem:
    """The first example of Wu et al. 2020, as Numerical WebSnapse distributes it."""
    neurons = [
        NumericalNeuron("n1", {"x": 1, "y": 1}, [Production(HALF, threshold=1)]),
        NumericalNeuron("n2", {"x": 1}, [Production({"x": 1}), Production({"x": -1})]),
        NumericalNeuron("n3", {"x": 0}, [Production({"x": 1})]),
        NumericalNeuron("n4", {"x": 0}, [Production({"x": -1})]),
        NumericalNeuron("n5", {"x": 2}, [Production({"x": 0.5})]),
    ]
    synapses = [("n1", "n2"), ("n2", "n1"), ("n1", "n3"), ("n2", "n4"), ("n3", "n5"), ("n4", "n5")]
    return NumericalSystem(neurons, synapses, outputs="n5")


def example_of_ballesteros() -> NumericalSystem:
    """The running example of Ballesteros et al. 2022."""
    neurons = [
        NumericalNeuron("n1", {"x": 1, "y": 1}, [Production({"x": 1, "y": 1}), Production(HALF)]),
        NumericalNeuron(
            "n2", {"x": 2}, [Production({"x": 1}), Production({"x": 0.5}, threshold=4)]
        ),
    ]
    return NumericalSystem(neurons, [("n1", "n2"), ("n2", "n1")], outputs="n2")


def subset_sum(numbers, target) -> NumericalSystem:
    """Ballesteros et al. 2022: each number is added or not, by choice, and 1 stays in `equal` where
    the sum is the target."""
    one, minus = {"x": 1}, {"x": -1}
    neurons, synapses = [], []
    for i, number in enumerate(numbers):
        neurons += [
            NumericalNeuron(f"number{i}", {"x": number}, [Production(one), Production(minus)]),
            NumericalNeuron(f"taken{i}", {"x": 0}, [Production(one, threshold=0)]),
        ]
        synapses += [(f"number{i}", f"taken{i}"), (f"taken{i}", "difference")]
    neurons += [
        NumericalNeuron("target", {"x": target + 1}, [Production(minus)]),
        NumericalNeuron("delay", {"x": 0}, [Production(one)]),
        NumericalNeuron("difference", {"x": 0}, [Production(minus, threshold=-1)]),
        NumericalNeuron("test", {"x": 0}, [Production(one, threshold=1)]),
        NumericalNeuron("equal", {"x": 0}),
    ]
    synapses += [("target", "delay"), ("delay", "difference"), ("difference", "test")]
    return NumericalSystem(neurons, [*synapses, ("test", "equal")])


def assert_same(system, solution, run):
    """Equal to the bit."""
    assert solution.steps == len(run.outputs)
    assert solution.halted == run.halted
    for neuron, variables in solution.variables.items():
        for name, values in variables.items():
            expected = [row[neuron][name] for row in run.configurations]
            assert [Fraction(x) for x in values.tolist()] == expected, (neuron, name)
    for name, sent in solution.outputs.items():
        assert [Fraction(x) for x in sent.tolist()] == [row[name] for row in run.outputs]
    chosen = [[snp.NO_RULE if x is None else x for x in row] for row in run.productions]
    assert solution.productions.reshape(-1, len(system.neurons)).tolist() == chosen
