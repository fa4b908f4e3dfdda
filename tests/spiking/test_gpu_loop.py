"""The kernel that makes many steps on a GPU makes those of the reference, to the bit. Without a GPU
it is interpreted, as one program; on a GPU the programs of larger systems exchange their words."""

from dataclasses import replace
from unittest import mock

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import graphs
from snpjax.machine import Stride
from snpjax.spiking import Transition, initial_state
from snpjax.spiking.step import gpu_loop
from snpjax.spiking.step.program import SpikingProgram
from snpjax.spiking.step.step import AbstractSpikingMachine, SpikingMachine
from snpjax.testing import reference, systems
from snpjax_formats import CSR, ELL, BitDense, BitGather, Interval, Ones, Sum
from tests.spiking.test_population import sorter
from tests.support.helpers import MAX_STEPS, assert_same_run, many, quietly, slow, with_ballast


pytestmark = pytest.mark.filterwarnings("default:The Pallas Triton backend:DeprecationWarning")

CORES = 128
HAS_GPU = jax.default_backend() == "gpu"
small_systems = systems(max_neurons=6, signed=None)
plain_systems = systems(max_neurons=6, weights=False)
#: The other tests save everything.
SAVES = [
    snp.Save(every=3, outputs=True, details=False),
    snp.Save(every=None, outputs=False, details=True),
]


class Striding(AbstractSpikingMachine):
    """A machine all of whose steps are made by the kernel."""

    program: SpikingProgram

    def stride(self, state, choice, most, *, start, rows, save) -> Stride:
        assert gpu_loop.is_supported(self.program, save, CORES)
        return gpu_loop.steps_on_gpu(
            self.program,
            state,
            most,
            start=start,
            rows=rows,
            save=save,
            cores=CORES,
            interpret=not HAS_GPU,
        )


class Stepping(AbstractSpikingMachine):
    """A machine that makes its steps one by one, on a GPU too."""

    program: SpikingProgram


def unwatched(lowered: snp.Lowered) -> SpikingMachine:
    """The machine that does not look for overflows."""
    assert isinstance(lowered.unwatched, SpikingMachine)
    return lowered.unwatched


def program_of(model, **options) -> SpikingProgram:
    return unwatched(snp.lower(model, **options)).program


def striding(lowered: snp.Lowered) -> snp.Lowered:
    machine = Striding(unwatched(lowered).program)
    return replace(lowered, machine=machine, unwatched=machine)


def stepping(lowered: snp.Lowered) -> snp.Lowered:
    machine = Stepping(unwatched(lowered).program)
    return replace(lowered, machine=machine, unwatched=machine)


def assert_equal(found: snp.Solution, wanted: snp.Solution, save: snp.Save) -> None:
    """Everything saved, and the final state, are the same to the bit."""
    assert found.steps == wanted.steps and found.result == wanted.result
    assert eqx.tree_equal(found.state, wanted.state)
    if save.every is not None:
        assert np.array_equal(found.configurations, wanted.configurations)
        assert np.array_equal(found.timer_history, wanted.timer_history)
        assert np.array_equal(found.pending_history, wanted.pending_history)
    if save.outputs:
        assert np.array_equal(found.spike_trains, wanted.spike_trains)
    if save.details:
        assert np.array_equal(found.rules, wanted.rules)
        assert np.array_equal(found.emissions, wanted.emissions)


@settings(max_examples=8)
@given(small_systems)
def test_weighted_systems_run_as_the_reference(system):
    system = with_ballast(system)
    solution = snp.run(striding(snp.lower(system, layout=ELL)), max_steps=MAX_STEPS)
    assert_same_run(solution, reference.run(system, max_steps=MAX_STEPS))


@pytest.mark.parametrize("layout", [BitDense, pytest.param(Sum, marks=pytest.mark.slow)])
@given(plain_systems)
@settings(max_examples=many(80, part=20))
def test_every_layout_runs_as_the_reference(layout, system):
    system = with_ballast(system, weight=1)
    solution = snp.run(striding(snp.lower(system, layout=layout)), max_steps=MAX_STEPS)
    assert_same_run(solution, reference.run(system, max_steps=MAX_STEPS))


@given(plain_systems)
@settings(max_examples=many(80, part=20))
def test_systems_without_delay_run_as_the_reference(system):
    neurons = [
        replace(neuron, rules=tuple(replace(rule, delay=0) for rule in neuron.rules))
        for neuron in system.neurons
    ]
    system = with_ballast(
        quietly(
            snp.SpikingSystem,
            neurons,
            system.synapses,
            input=system.input,
            output=system.output,
            level="extended",
        ),
        delay=0,
    )
    lowered = snp.lower(system, layout=ELL)
    assert unwatched(lowered).program.delay is None
    solution = snp.run(striding(lowered), max_steps=MAX_STEPS)
    assert_same_run(solution, reference.run(system, max_steps=MAX_STEPS))


@pytest.mark.parametrize("save", [SAVES[0], pytest.param(SAVES[1], marks=pytest.mark.slow)])
@given(system=small_systems, cut=st.integers(0, MAX_STEPS))
@settings(max_examples=many(80, part=20))
def test_a_run_that_is_continued_saves_the_same(save, system, cut):
    """The state in between has neurons that are closed, and input is left."""
    lowered = snp.lower(with_ballast(system), layout=ELL)
    wanted, found = stepping(lowered), striding(lowered)
    state = snp.run(wanted, max_steps=cut, save=snp.SAVE_FINAL).state
    assert eqx.tree_equal(snp.run(found, max_steps=cut, save=snp.SAVE_FINAL).state, state)
    rest = {"initial": state, "max_steps": MAX_STEPS - 3, "save": save}
    assert_equal(snp.run(found, **rest), snp.run(wanted, **rest), save)


@given(st.lists(st.integers(0, 9), min_size=8, max_size=8))
@settings(max_examples=many(80, part=20))
def test_families_and_runs_sort(numbers):
    """Every number reaches a neuron of all, those by intervals, and rules that consume all."""
    lowered, n = snp.lower(sorter(numbers)), len(numbers)
    program = unwatched(lowered).program
    place = np.arange(n)
    ends = (place, np.full(n, n))
    runs = Interval.from_runs(*ends, by="source", num_sources=n, num_targets=n)
    size = program.num_neurons
    synapses = Sum(
        parts=(Ones(n, n), runs),
        source_starts=(0, n),
        target_starts=(n, 2 * n),
        num_sources=size,
        num_targets=size,
    )
    own = replace(lowered, unwatched=SpikingMachine(replace(program, synapses=synapses)))
    found = snp.run(striding(own), max_steps=MAX_STEPS)
    assert_equal(found, snp.run(stepping(lowered), max_steps=MAX_STEPS), snp.SAVE_ALL)


def many_neurons(size: int, seed: int, *, in_runs: bool) -> snp.PopulationSystem:
    """A random system that goes on, of several programs."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, size - 40, size)
    wiring = graphs.Intervals(start, start + rng.integers(0, 40, size), by="target")
    fires = rng.integers(1, 6, size)
    return snp.PopulationSystem(
        [
            snp.Population(
                "n",
                size,
                rng.integers(0, 9, size),
                [
                    snp.RuleTemplate([(fires, fires + 2)], 1, 2, 0),
                    snp.RuleTemplate([(1, 40)], 1, 1, 2),
                    snp.RuleTemplate([(41, None)], snp.ALL),
                ],
            ),
        ],
        [snp.Projection("n", "n", wiring if in_runs else graphs.RandomInDegree(7, seed))],
    )


@pytest.mark.parametrize(
    "layout",
    [ELL, Interval, *slow(BitGather, BitDense)],
)
def test_neurons_of_several_programs(layout):
    lowered = snp.lower(many_neurons(1500, 3, in_runs=layout is Interval), layout=layout)
    sharing = gpu_loop.sharing_of(unwatched(lowered).program, CORES)
    assert sharing is not None and sharing.programs == 12
    wanted = snp.run(stepping(lowered), max_steps=40)
    assert wanted.steps == 40 and wanted.emissions[-1].any()
    assert_equal(snp.run(striding(lowered), max_steps=40), wanted, snp.SAVE_ALL)


def test_what_is_not_supported_is_declined():
    pair = snp.SpikingSystem(
        [snp.Neuron("p", 2, ["a -> a"]), snp.Neuron("q", 0, ["a -> a"])], [("p", "q"), ("q", "p")]
    )
    lowered = snp.lower(pair, layout=ELL)

    def is_supported(program: SpikingProgram, save: snp.Save = snp.SAVE_ALL, cores=CORES) -> bool:
        return gpu_loop.is_supported(program, save, cores)

    program = unwatched(lowered).program
    assert is_supported(program)
    assert not is_supported(program, cores=0)  # not a GPU of NVIDIA
    assert not is_supported(replace(program, may_overflow=True))
    assert not is_supported(program_of(pair, layout=CSR))
    assert not is_supported(program_of(pair, layout=ELL, count_dtype=np.int64))
    exhaustive = snp.SpikingSystem(pair.neurons, pair.synapses, variant=snp.Exhaustive())
    assert not is_supported(program_of(exhaustive, layout=ELL))
    dense = program_of(pair, layout=Transition(ELL))
    assert not is_supported(dense)
    large = program_of(many_neurons(200_000, 0, in_runs=False), layout=ELL)
    assert not is_supported(large)
    crowded = program_of(many_neurons(12_000, 0, in_runs=False), layout=ELL)
    assert is_supported(crowded) and not is_supported(crowded, cores=8)
    names = [f"n{i}" for i in range(70)]
    outputs = snp.SpikingSystem([snp.Neuron(name) for name in names], [], output=names)
    program = program_of(outputs, layout=ELL)
    assert not is_supported(program) and is_supported(program, snp.SAVE_FINAL)


def test_only_the_first_choice_of_one_path_strides():
    system = snp.SpikingSystem([snp.Neuron("p", 2, ["a+/a -> a"])], [])
    lowered = snp.lower(system, layout=ELL)
    machine = unwatched(lowered)
    state = initial_state(machine.program)

    def stride(choice: snp.AbstractChoice) -> object:
        return machine.stride(
            state, choice, jnp.int32(3), start=jnp.int32(0), rows=3, save=snp.SAVE_FINAL
        )

    assert HAS_GPU or stride(snp.FirstChoice()) is None
    with (
        mock.patch("jax.default_backend", lambda: "gpu"),
        mock.patch.object(gpu_loop, "num_cores", lambda: CORES),
        mock.patch.object(gpu_loop, "steps_on_gpu", lambda *_, **__: "strides"),
    ):
        assert stride(snp.FirstChoice()) == "strides"
        assert stride(snp.UniformChoice(jr.key(0))) is None
    with mock.patch.object(Striding, "stride", side_effect=AssertionError):
        batch = snp.run(striding(lowered), paths=3, max_steps=3)
    assert batch.steps.tolist() == [2, 2, 2]
