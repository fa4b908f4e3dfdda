"""Numerical SN P systems against one production function at a time, and published examples."""

import re
from fractions import Fraction
from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.numerical import (
    InvalidNumericalSystem,
    NumericalInput,
    NumericalNeuron,
    NumericalSystem,
    Production,
)
from snpjax.testing import reference_numerical as reference
from snpjax_formats import BSR, COO, CSC, CSR, ELL, BitDense, Dense, Float32Dense, Int8Dense
from tests.support.helpers import slow
from tests.support.numerical_systems import (
    assert_same,
    example_of_ballesteros,
    example_of_wu,
    subset_sum,
)


STEPS = 6
UNIFORM = snp.UniformChoice(jax.random.key(3))

#: Multiples of 1/4 of few bits: every sum of `STEPS` steps is a float64, in whatever order.
NUMBERS = st.integers(-8, 8).map(lambda x: x / 4)
NAMES = ("p", "q", "r")


@st.composite
def numerical_systems(draw):
    """Three neurons of up to two variables and functions, one output and one input; few different
    shapes, so that programs are shared."""
    neurons = []
    for i, name in enumerate(NAMES):
        variables = ("x", "y") if i != 1 else ("x",)
        factors = st.fixed_dictionaries(dict.fromkeys(variables, NUMBERS))
        threshold = st.none() | NUMBERS
        functions = [
            Production(draw(factors), draw(threshold))
            for _ in range(2 if i == 0 else draw(st.integers(0, 2)))
        ]
        neurons.append(NumericalNeuron(name, {v: draw(NUMBERS) for v in variables}, functions))
    pairs = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))
    synapses = draw(st.sets(pairs, min_size=2, max_size=6))
    values = draw(st.lists(NUMBERS, min_size=3, max_size=3))
    return NumericalSystem(
        neurons,
        sorted(synapses),
        outputs={"out": draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))},
        inputs={"in": NumericalInput(values, [draw(st.sampled_from(NAMES))])},
    )


@pytest.mark.parametrize("layout", [ELL, *slow(Dense, CSR, CSC, COO, BSR)])
@settings(max_examples=25)
@given(system=numerical_systems())
def test_runs_are_those_of_the_reference(system, layout):
    solution = snp.run(system, max_steps=STEPS, layout=layout)
    assert_same(system, solution, reference.run(system, steps=STEPS))


@settings(max_examples=20)
@given(numerical_systems())
def test_paths_choose_on_their_own(system):
    """Each path is a computation of the reference with its choices."""
    batch = snp.run(system, max_steps=STEPS, paths=3, choice=UNIFORM, save=snp.SAVE_ALL)
    for solution in batch:
        made = solution.productions
        run = reference.run(system, steps=STEPS, choose=lambda t, i, can, m=made: int(m[t, i]))
        assert_same(system, solution, run)
        again = snp.run(system, max_steps=STEPS, choice=snp.GivenChoices(made))
        assert_same(system, again, run)


def reachable(system, steps):
    """The values of all variables after so many steps, of every computation."""
    found = {tuple(_flat(reference.initial(system))): reference.initial(system)}
    for step in range(steps):
        now, found = found, {}
        for configuration in now.values():
            for chosen in reference.all_choices(system, configuration):
                then, _ = reference.successor(system, configuration, step, chosen)
                found[tuple(_flat(then))] = then
    return {tuple(map(float, key)) for key in found}


def _flat(configuration):
    return [x for variables in configuration.values() for x in variables.values()]


def test_the_example_of_ballesteros_reaches_what_is_published():
    """From (1, 1, 2), n1 sends 2 or 1, n2 sends 2; 2 is below the threshold of 4."""
    system = example_of_ballesteros()
    assert reachable(system, 1) == {(2, 2, 2), (2, 2, 1)}
    assert reachable(system, 2) == {(2, 2, 4), (2, 2, 2), (1, 1, 4), (1, 1, 2)}
    batch = snp.run(system, max_steps=2, paths=64, choice=UNIFORM, save=snp.SAVE_ALL)
    places = (("n1", "x"), ("n1", "y"), ("n2", "x"))
    for steps in (1, 2):
        rows = np.stack([batch.variables[n][x][steps] for n, x in places])
        assert {*map(tuple, rows.T.tolist())} == reachable(system, steps)


def test_the_example_of_wu_sends_its_second_number_at_any_time():
    """n5 sends 1 in the first step, then 0 while n2 uses its first function, and 1 again two steps
    after n2 has used the second one: in the third step, or any later one."""
    system = example_of_wu()
    for wait in range(5):
        choice = snp.GivenChoices([[0, 0, 0, 0, 0]] * wait + [[0, 1, 0, 0, 0]])
        first = snp.run(system, max_steps=wait + 1, choice=choice)
        second = snp.run(system, max_steps=2, initial=first.state)
        sent = [*first.outputs["n5"], *second.outputs["n5"]]
        assert sent[: wait + 3] == [1, *[0] * (wait + 1), 1]


@pytest.mark.parametrize(
    "numbers, target", [((2, 20), 6), ((7, 9), 16), ((6, 13, 16), 19), ((9, 5, 9), 18)]
)
def test_subset_sums(numbers, target):
    """1 arrives in the last neuron in exactly the computations that take a subset of that sum."""
    batch = snp.run(
        subset_sum(numbers, target), max_steps=4, paths=64, choice=UNIFORM, save=snp.SAVE_ALL
    )
    taken = batch.productions[0, : 2 * len(numbers) : 2] == 0
    is_sum = np.asarray(numbers) @ taken == target
    np.testing.assert_array_equal(batch.final["equal"]["x"], is_sum)
    sums = {sum(some) for some in product(*((0, n) for n in numbers))}
    assert is_sum.any() == (target in sums)


def test_a_step_and_its_names():
    system = NumericalSystem(
        [
            NumericalNeuron("a", {"x": 3, "y": 1}, [Production({"x": Fraction(1, 2), "y": 0}, 3)]),
            NumericalNeuron("b", {"u": 1, "v": 0}),
        ],
        [("a", "b")],
        outputs={"first": ["a"], "none": ()},
        inputs={"in": NumericalInput([0, 10], ["a", "b"])},
    )
    solution = snp.run(system)
    # The coefficient of y is 0: it is neither compared with the threshold nor consumed.
    assert solution.variables["a"]["x"].tolist() == [3, 0, 10, 0]
    assert solution.variables["a"]["y"].tolist() == [1, 1, 11, 11]
    assert solution.variables["b"]["u"].tolist() == [1, 2.5, 12.5, 17.5]
    assert solution.final["b"]["v"] == 16.5
    assert solution.outputs["first"].tolist() == [1.5, 0, 5]
    assert solution.outputs["none"].tolist() == [0, 0, 0]
    assert solution.productions.tolist() == [[0, -1], [-1, -1], [0, -1]]
    assert solution.halted and solution.steps == 3
    assert "first: 1.5, 0, 5" in repr(solution)
    assert solution.state.values.dtype == np.float64
    for lookup, message in (
        (lambda: solution.variables["c"], "no neuron 'c': the neurons are 'a', 'b'"),
        (
            lambda: solution.final["a"]["xx"],
            "variable of neuron 'a' called 'xx': did you mean 'x'?",
        ),
        (lambda: solution.outputs["frist"], "no output 'frist': did you mean 'first'?"),
    ):
        with pytest.raises(KeyError, match=re.escape(message)):
            lookup()


def test_what_is_not_applicable_is_refused():
    solution = snp.run(example_of_wu(), choice=snp.GivenChoices([[0, 2, 0, 0, 0]]), throw=False)
    assert solution.result == snp.RESULTS.choice_refused and solution.steps == 0
    with pytest.raises(snp.RunFailed, match="^step 1: A given choice is not"):
        snp.run(example_of_wu(), choice=snp.GivenChoices([[0, 2, 0, 0, 0]]))


@pytest.mark.parametrize("into", ["synapses", "outputs"])
def test_numbers_that_are_too_large_end_a_run(into):
    system = NumericalSystem(
        [NumericalNeuron("a", {"x": 1}, [Production({"x": 1e200}, threshold=1)])],
        [("a", "a")],
        outputs="a" if into == "outputs" else (),
    )
    solution = snp.run(system, max_steps=5, throw=False)
    assert solution.result == snp.RESULTS.value_overflow and solution.steps == 1
    assert solution.final["a"]["x"] == 1e200
    assert solution.failure is not None and solution.failure.startswith("step 2: A variable, an")
    batch = snp.run(system, max_steps=5, paths=2, throw=False)
    assert batch.failure is not None and "path 0 (2 of 2 paths failed)" in batch.failure


@pytest.mark.parametrize("layout", [Dense, ELL])
def test_a_value_that_nothing_receives_may_be_too_large(layout):
    """It ends the run on every layout: the product of infinity and a synapse that is not there
    would be no number in some of them only."""
    system = NumericalSystem(
        [
            NumericalNeuron("a", {"x": 1e200}, [Production({"x": 1e200}, threshold=1)]),
            NumericalNeuron("b", {"x": 1}, [Production({"x": 2}, threshold=1)]),
        ],
        [("b", "a")],
    )
    solution = snp.run(system, max_steps=5, layout=layout, throw=False)
    assert solution.result == snp.RESULTS.value_overflow and solution.steps == 0
    assert solution.failure is not None and "the value of a production function" in solution.failure
    expected = reference.run(system, steps=5)
    assert expected.overflowed and len(expected.configurations) == 1


def test_a_run_has_derivatives():
    """By the coefficients, the initial values and the inputs, to what finite differences say."""
    system = NumericalSystem(
        [
            NumericalNeuron("a", {"x": 1.5, "y": 0.5}, [Production({"x": 0.75, "y": 2}, 0.25)]),
            NumericalNeuron("b", {"x": 0}, [Production({"x": 1.25}, threshold=1)]),
        ],
        [("a", "b"), ("b", "a")],
        inputs={"in": NumericalInput([0.5, 0.25], ["b"])},
    )
    machine = snp.lower(system).machine

    @eqx.filter_jit
    def loss(machine):
        run = snp.simulate(
            machine, machine.init(), snp.FirstChoice(), max_steps=5, differentiable=True
        )
        return jnp.sum(run.state.values**2)

    with jax.enable_x64(True):
        gradient = eqx.filter_jit(eqx.filter_grad(loss))(machine)
        for name in ("initial", "coefficients", "train"):
            leaf = getattr(machine, name)
            for place in np.argwhere(np.asarray(leaf) != 0):
                place = tuple(place)

                def moved(by, name=name, leaf=leaf, place=place):
                    there = leaf.at[place].add(by)
                    return loss(eqx.tree_at(lambda m: getattr(m, name), machine, there))

                expected = (moved(1e-5) - moved(-1e-5)) / 2e-5
                np.testing.assert_allclose(getattr(gradient, name)[place], expected, rtol=1e-6)
    assert jax.tree.leaves(gradient)


@pytest.mark.parametrize("layout", [Float32Dense, Int8Dense])
def test_layouts_of_narrow_numbers_are_refused(layout):
    with pytest.raises(ValueError, match="does not multiply in float64"):
        snp.run(example_of_wu(), layout=layout)


def test_layouts_of_bits_are_refused():
    with pytest.raises(ValueError):
        snp.run(example_of_wu(), layout=BitDense, max_steps=2)


def test_numbers_that_float32_does_not_hold():
    system = NumericalSystem(
        [
            NumericalNeuron("a", {"x": 0.1}, [Production({"x": 3}, 0)]),
            NumericalNeuron("b", {"x": 0}),
        ],
        [("a", "b")],
    )
    assert not jax.config.jax_enable_x64  # pyright: ignore
    assert snp.run(system, max_steps=1).final["b"]["x"] == 3 * 0.1


def test_what_a_system_may_not_be():
    a = NumericalNeuron("a", {"x": 1}, [Production({"z": 1}), Production({"x": np.nan}, np.inf)])
    with pytest.raises(InvalidNumericalSystem) as caught:
        NumericalSystem(
            [a, NumericalNeuron("a", {"x": True}), NumericalNeuron("c", {})],
            [("a", "d"), ("a", "c"), ("a", "c")],
            outputs={"out": ["c", "c"]},
            inputs={"in": NumericalInput([1, "2"], ["e"])},  # pyright: ignore
        )
    assert caught.value.problems == (
        "neuron 'a' is declared twice (give each neuron its own name)",
        "neuron 'a', production function 0: the neuron has no variable 'z' (the only one is 'x')",
        "neuron 'a', production function 1: the threshold is inf, not a finite number (give one)",
        "neuron 'a', production function 1: the coefficient of 'x' is nan, not a finite number "
        "(give one)",
        "neuron 'a': variable 'x' is True, not a finite number (give one)",
        "synapse 'a' to 'd': there is no neuron 'd' (the neurons are 'a', 'c')",
        "synapse 'a' to 'c' is given twice (give it once)",
        "output 'out' names a neuron twice (name it once)",
        "input 'in': there is no neuron 'e' (the neurons are 'a', 'c')",
        "input 'in', step 2: '2' is not a finite number (give one)",
    )
    with pytest.raises(InvalidNumericalSystem, match="no neurons"):
        NumericalSystem([])


def test_arguments_that_make_no_sense():
    system = example_of_wu()
    with pytest.raises(ValueError, match="takes no `inputs`"):
        snp.run(system, inputs=np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"Pass `solution\.state`"):
        snp.run(system, initial={"n1": {"x": 1}})
    final = snp.run(system, max_steps=1, save=snp.SAVE_FINAL)
    for name in ("variables", "outputs", "productions"):
        with pytest.raises(snp.NotSaved):
            getattr(final, name)


def test_why_its_configurations_are_not_searched():
    for call in (snp.explore, lambda system: snp.check(system, "always n1 = 0")):
        with pytest.raises(TypeError, match="Its values are real numbers, .* Run it: `snpjax.run`"):
            call(example_of_wu())
