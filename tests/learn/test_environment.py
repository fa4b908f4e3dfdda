"""A system as an environment: its steps are the edges of the explored graph."""

import warnings

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import learn


def system():
    """Two neurons choose, one of them with a delay; spikes go round."""
    return snp.SpikingSystem(
        [
            snp.Neuron("x", 2, ["a+/a -> a", "a+/a -> a;1", "a^2 -> lambda"]),
            snp.Neuron("y", 1, ["a+/a -> a", "a+/a -> a^2"]),
            snp.Neuron("z", 0, ["a^3 -> a"]),
        ],
        [("x", "y"), ("y", "z"), ("z", "x")],
        input={"x": [0, 1]},
        output=["y"],
    )


def plastic():
    rule = snp.PlasticityRule("a", 1, "+-", 1, ("j", "m"))
    neurons = [snp.Neuron("i", 1, [rule]), *(snp.Neuron(x, 1, ["a -> a"]) for x in "jlm")]
    return snp.SpikingSystem(neurons, [("j", "l"), ("l", "i")], output=["m"])


@pytest.fixture(scope="module")
def environment():
    return learn.environment(system(), num_actions=8)


@pytest.fixture(scope="module")
def graph():
    return snp.explore(system(), max_configurations=40)


def assert_steps_are_edges(environment, graph):
    """Every edge of every expanded configuration, all at once."""
    configurations = graph.configurations()
    fields = {}
    observe = jax.jit(jax.vmap(environment.observation))
    step = jax.jit(jax.vmap(environment.step_env, in_axes=(None, 0, 0, None)))
    params = environment.params(max_steps_in_episode=50)
    states = jax.tree.map(lambda x: jnp.asarray(x)[None], environment.initial)
    known = {0: states}
    for number in range(graph.num_expanded):
        own = slice(*graph.first_edge[number : number + 2].tolist())
        num = own.stop - own.start
        state = known[number]
        assert int(state.num_choices[0]) == max(num, 1)
        assert state.action_mask[0].tolist() == [a < max(num, 1) for a in range(8)]
        repeated = jax.tree.map(lambda x: jnp.repeat(x, 8, axis=0), state)
        seen, after, _, _, info = step(None, repeated, jnp.arange(8), params)
        spikes = np.asarray(after.configuration.spikes)[:, : graph.num_columns]
        for action, target in enumerate(graph.edge_targets[own].tolist()):
            assert spikes[action].tolist() == configurations.spikes[target].tolist()
            one = jax.tree.map(lambda x, a=action: x[a : a + 1], after)
            known.setdefault(target, one)
            assert np.array_equal(seen[action], fields.setdefault(target, seen[action]))
            assert bool(info["terminated"][action]) == graph.is_halting[target]
        assert info["invalid"].tolist() == [a >= max(num, 1) for a in range(8)]
        for action in range(max(num, 1), 8):  # choice 0 instead
            assert np.array_equal(seen[action], seen[0])
    distinct = {tuple(np.asarray(x).tolist()) for x in fields.values()}
    assert len(distinct) == len(fields)
    assert np.array_equal(observe(states)[0], environment.reset()[0])


def test_observations_have_no_padding(environment):
    observation, _ = environment.reset()
    # Three neurons; timer and pending spikes of the one with a delay; the position in the input.
    assert observation.tolist() == [2, 1, 0, 0, 0, 0] and environment.observation_size == 6


def test_steps_are_edges(environment, graph):
    assert_steps_are_edges(environment, graph)


@pytest.mark.slow
def test_plasticity_is_chosen_as_well():
    own = learn.environment(plastic(), num_actions=8)
    assert_steps_are_edges(own, snp.explore(plastic()))


def test_choices_of_synapses_need_a_number_of_actions():
    with pytest.raises(ValueError, match="choose synapses.*`num_actions`"):
        learn.environment(plastic())


def test_the_path_of_the_oracle_reaches_the_target(environment, graph):
    target = graph.num_expanded - 1
    edges = graph.edges_to(target)
    actions = edges - graph.first_edge[np.asarray(graph.path_to(target)[:-1])]
    is_open = not graph.timers[target].any()
    params = environment.params(
        target=graph.spikes[target], target_reward=3.0, step_reward=-0.5, max_steps_in_episode=9
    )

    @jax.jit
    def follow(actions, params):
        def body(state, action):
            _, state, reward, done, info = environment.step_env(None, state, action, params)
            return state, (reward, done, info["terminated"])

        return jax.lax.scan(body, environment.reset(None, params)[1], actions)

    state, (rewards, done, _) = follow(jnp.asarray(actions), params)
    assert int(state.time) == len(actions) == graph.depths[target]
    if is_open:
        assert bool(done[-1]) and float(rewards[-1]) == 2.5
    assert np.all(rewards[:-1] == -0.5)
    with pytest.raises(ValueError, match="no neuron 'w'"):
        environment.params(target={"w": 1})
    with pytest.raises(ValueError, match=r"shape \(2,\). Give the spikes of 3"):
        environment.params(target=[1, 2])


def test_an_episode_begins_again(environment):
    params = environment.params(max_steps_in_episode=2)
    first, state = environment.reset(jr.key(0), params)
    step = jax.jit(environment.step)
    observation, state, reward, done, info = step(jr.key(0), state, 1, params)
    assert not done and int(state.time) == 1 and info["discount"] == 1
    observation, state, reward, done, info = step(jr.key(0), state, 99, params)
    assert done and info["truncated"] and not info["terminated"]
    assert info["invalid"] and reward == -1
    assert int(state.time) == 0 and np.array_equal(observation, first)
    assert not np.array_equal(info["final_observation"], first)
    assert np.array_equal(info["action_mask"], state.action_mask)


def test_rewards_of_your_own():
    def emitted(before, after, outputs):
        return 10 * outputs[0] + after.step - before.step

    own = learn.environment(system(), num_actions=8, reward=emitted)
    _, _, reward, _, _ = jax.jit(own.step)(None, own.reset()[1], 1, own.default_params)
    assert reward == 21  # the second rule of y


def test_an_overflow_ends_the_episode():
    source = snp.Neuron("source", 1, ["a/a -> a"])
    back = snp.Neuron("back", 1, ["a/a -> a"])
    sink = snp.Neuron("sink", 2**31 - 2**29)
    synapses = [("source", "back"), ("back", "source"), ("source", "sink", 2**28)]
    own = learn.environment(snp.SpikingSystem([source, back, sink], synapses))
    state, step = own.reset()[1], jax.jit(own.step_env)
    found = []
    for _ in range(3):
        _, state, _, done, info = step(None, state, 0, own.default_params)
        found.append((bool(done), bool(info["failed"])))
    assert found[0] == (False, False) and found[-1] == (True, True)


def test_actions_that_are_too_many_are_refused():
    many = [snp.Neuron(f"n{i}", 1, ["a -> a", "a -> lambda"]) for i in range(13)]
    with pytest.raises(ValueError, match="8.19e[+]03 ways.*`num_actions`"):
        learn.environment(snp.SpikingSystem(many))
    assert learn.environment(snp.SpikingSystem(many[:3])).num_actions == 8
    with pytest.raises(ValueError, match="`num_actions` is 0"):
        learn.environment(snp.SpikingSystem(many[:3]), num_actions=0)
    rule = snp.DivisionRule("a", "i", ("j", "k"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        dividing = snp.SpikingSystem([snp.Neuron("i", 1, [rule])])
    with pytest.raises(ValueError, match="divides or buds"):
        learn.environment(dividing)


@pytest.fixture
def usual_promotion():
    """gymnax adds truth values to numbers."""
    with jax.numpy_dtype_promotion("standard"):
        yield


def test_gymnax_takes_it(environment, usual_promotion):
    wrappers = pytest.importorskip("gymnax.wrappers", reason="gymnax is not installed")
    own = learn.gymnax_environment(environment)
    params = environment.params(max_steps_in_episode=3)
    assert own.action_space(params).n == 8
    wrapped = wrappers.LogWrapper(wrappers.FlattenObservationWrapper(own))
    observation, state = wrapped.reset(jr.key(0), params)
    assert own.observation_space(params).contains(observation)

    def body(state, action):
        observation, state, _, terminated, truncated, info = wrapped.step(
            jr.key(0), state, action, params
        )
        return state, (terminated | truncated, info["returned_episode_lengths"])

    state, (done, lengths) = jax.lax.scan(body, state, jnp.zeros(7, jnp.int32))
    assert done.tolist() == [False, False, True] * 2 + [False]
    assert int(lengths[-1]) == 3
    legacy = wrappers.LegacyStepAPIWrapper(own)
    _, state = legacy.reset(jr.key(0), params)
    found = legacy.step(jr.key(0), state, 1, params)
    plain = environment.step(jr.key(0), environment.reset()[1], 1, params)
    assert jax.tree.all(jax.tree.map(lambda a, b: jnp.array_equal(a, b), found[:4], plain[:4]))


@pytest.mark.parametrize("count", [3.5, -3, np.nan])
def test_targets_are_counts(environment, count):
    """Of a signed system also negative ones."""
    name = environment.system.neurons[1].name
    with pytest.raises(ValueError, match=f"target of '{name}' is {count}. Give an integer, 0"):
        environment.params(target={name: count})
    target = [learn.ANY, count, *[0] * (environment.system.num_neurons - 2)]
    with pytest.raises(ValueError, match=f"target of neuron 1 is {count}"):
        environment.params(target=target)
    signed = learn.environment(environment.system.replace(signed=True), num_actions=9)
    if count == -3:
        assert signed.params(target={name: count}).target[1] == -3


def test_actions_are_integers(environment):
    _, state = environment.reset()
    with pytest.raises(TypeError, match="`action` is of float"):
        environment.step(None, state, 1.5)


def test_models_that_were_not_exported_are_refused():
    network = learn.classifier(2, 2, hidden=2, key=jr.key(0))
    with pytest.raises(TypeError, match="SpikingNetwork. Export it first: .*to_system"):
        learn.environment(network)
    with pytest.raises(TypeError, match="`system` is of the type str. Give a system of neurons"):
        learn.environment("x")


def test_targets_beyond_32_bits_are_refused(environment):
    name = environment.system.neurons[0].name
    with pytest.raises(ValueError, match="does not fit into 32 bits"):
        environment.params(target={name: 2**32})
