"""Relaxed plasticity: the forward run is the exact one, and the exact system comes back."""

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import snpjax as snp
from snpjax import learn
from snpjax.testing.strategies import plastic_systems
from tests.support.helpers import with_ballast


STEPS = 6


def wiring():
    """A neuron that creates synapses to some of four neurons in each of three steps, and deletes
    them one step later; another one that creates two of three, and deletes one."""
    rules = [snp.PlasticityRule(f"a^{n}", 1, "+-", 4, tuple("pqrs")) for n in (3, 2, 1)]
    others = [
        snp.PlasticityRule("a^2", 1, "+", 2, ("p", "q", "r")),
        snp.PlasticityRule("a", 1, "-", 1, ("p",)),
    ]
    return snp.SpikingSystem(
        [snp.Neuron("i", 3, rules), snp.Neuron("k", 2, others), *(snp.Neuron(x) for x in "pqrs")],
        [("k", "s")],
    )


def assert_exact(model, system, choice):
    """Every configuration, output and synapse is that of the exact run."""
    solution = learn.run(model, steps=STEPS, choice=choice, keep_configurations=True)
    exact = snp.run(system, choice=choice, max_steps=STEPS, throw=False)
    made = exact.steps
    assert int(solution.steps) == made and bool(solution.is_exact)
    found = np.asarray(solution.configurations)
    assert np.array_equal(found[: made + 1], exact.configurations)
    assert np.array_equal(found[made:], np.broadcast_to(found[made], found[made:].shape))
    outputs = np.asarray(solution.outputs)[:made]
    assert np.array_equal(outputs, exact.spike_trains)
    network = exact.state.network
    assert np.array_equal(solution.plastic.exists > 0.5, network.exists)
    assert np.array_equal(solution.plastic.second > 0, np.asarray(network.second) > 0)


def check_runs(system):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        model = learn.relax(system)
        assert_exact(model, system, snp.FirstChoice())
        assert_exact(model, system, snp.UniformChoice(jr.key(4)))
        exported = learn.to_system(model)
    again = snp.run(exported, choice=snp.FirstChoice(), max_steps=STEPS, throw=False)
    first = snp.run(system, choice=snp.FirstChoice(), max_steps=STEPS, throw=False)
    assert np.array_equal(again.configurations, first.configurations)


def test_runs_are_exact():
    check_runs(wiring())


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(plastic_systems(max_neurons=4))
def test_many_runs_are_exact(system):
    check_runs(with_ballast(system))


@pytest.fixture(scope="module")
def model():
    return learn.relax(wiring())


def with_plastic(model, **changes):
    return replace(model, plastic=replace(model.plastic, **changes))


def test_other_parameters_are_exported_exactly(model):
    """What a run computes with other memberships, counts and synapses is what is exported."""
    keys = jr.split(jr.key(0), 3)
    plastic = model.plastic
    other = with_plastic(
        model,
        member=jr.uniform(keys[0], plastic.member.shape, minval=-0.5, maxval=1.5),
        count=jr.uniform(keys[1], plastic.count.shape, minval=-1, maxval=4),
        exists=jr.uniform(keys[2], plastic.exists.shape, minval=-0.5, maxval=1.5),
    )
    with pytest.raises(
        ValueError, match="Rounding changes '(member|exists|count)' of a .* of neuron '[ik]' by up"
    ):
        learn.to_system(other)
    exported = learn.to_system(other, round=True)
    assert str(exported.neurons[0].rules) != str(wiring().neurons[0].rules)
    choice = snp.FirstChoice()
    solution = learn.run(other, steps=STEPS, choice=choice, keep_configurations=True)
    exact = snp.run(exported, choice=choice, max_steps=STEPS, throw=False)
    rows = exact.steps + 1
    assert np.array_equal(np.asarray(solution.configurations)[:rows], exact.configurations)
    none = with_plastic(model, member=jnp.full(plastic.member.shape, 0.1).at[0, 1, 0].set(0.2))
    sets = [rule.targets for rule in learn.to_system(none, round=True).neurons[0].rules]
    assert all(len(targets) == 1 for targets in sets) and sets[0] == ("q",)  # the largest stays
    batch = learn.run(other, steps=STEPS, choice=snp.UniformChoice(jr.key(1)), paths=5)
    runs = snp.run(
        exported, choice=snp.UniformChoice(jr.key(1)), paths=5, max_steps=STEPS, throw=False
    )
    assert np.array_equal(batch.spikes, runs.spikes)


def test_derivatives_are_those_of_candidates(model):
    """Of the first rule of i all candidates are created: spikes are sums of memberships."""

    def spikes(member, steps=1):
        return learn.run(with_plastic(model, member=member), steps=steps).spikes

    member = model.plastic.member
    slopes = np.asarray(jax.jacrev(spikes)(member))
    assert np.array_equal(slopes[2:6, 0, :, 0], np.eye(4))
    # Of the three candidates of k two are created: 2/3 of each membership.
    np.testing.assert_allclose(slopes[2:5, 0, :3, 1], 2 / 3 * np.eye(3), rtol=1e-6)
    # Of what is out of its set there is a derivative, too.
    less = member.at[0, 3, 0].set(0.0)
    assert np.array_equal(jax.jacrev(spikes)(less)[2:6, 0, :, 0], np.eye(4))


def test_a_schedule_is_learned(model):
    """Which synapses to create in which step, from what the neurons shall receive."""
    wanted = jnp.asarray([[1, 0, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1]], jnp.float32)
    own = replace(model, initial=model.initial.at[1].set(0.0))  # k does nothing

    @jax.jit
    @jax.value_and_grad
    def loss(member):
        changed = with_plastic(own, member=member)
        counts = learn.run(changed, steps=6, keep_configurations=True).configurations
        return jnp.sum((counts[1:6:2, 2:6] - wanted) ** 2)

    member, value = own.plastic.member, jnp.inf
    for _ in range(60):
        value, slopes = loss(member)
        member = member - 0.02 * slopes
    assert value == 0
    exported = learn.to_system(with_plastic(own, member=member), round=True)
    sets = [rule.targets for rule in exported.neurons[0].rules]
    assert sets == [("p", "s"), ("q",), ("r",)]


def test_what_has_no_relaxation():
    rule = snp.DivisionRule("a", "i", ("j", "k"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        dividing = snp.SpikingSystem([snp.Neuron("i", 1, [rule])])
    with pytest.raises(ValueError, match="division or budding has no relaxation: which neurons"):
        learn.relax(dividing)
    with pytest.raises(ValueError, match="plasticity is not a smooth function"):
        learn.relax(wiring(), surrogate=learn.Smooth())
