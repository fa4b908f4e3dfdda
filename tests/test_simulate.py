"""`simulate` under every transformation, continued runs, inputs of paths, and what is kept."""

import functools
import gc
import importlib
import inspect
import weakref

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import snpjax as snp
from snpjax import rate
from snpjax.sleptsov import EventDriven, FullScan


def generator() -> snp.SpikingSystem:
    """Generates all numbers greater than 1; path and step tell its choices apart."""
    return snp.SpikingSystem(
        [
            snp.Neuron("n1", 2, ["a^2/a -> a", "a^2 -> a; 1"]),
            snp.Neuron("n2", 1, ["a -> a"]),
            snp.Neuron("n3", 1, ["a -> a", "a^2 -> lambda"]),
        ],
        synapses=[("n1", "n2"), ("n2", "n1"), ("n1", "n3"), ("n2", "n3")],
        input={"n2": ()},
        output="n3",
    )


def uniform(seed: int = 0) -> snp.UniformChoice:
    return snp.UniformChoice(jr.key(seed))


STEPS = 12
PATHS = 8


@pytest.fixture(scope="module")
def lowered():
    return snp.lower(generator())


@pytest.fixture(scope="module")
def batch():
    return snp.run(generator(), choice=uniform(), paths=PATHS, max_steps=STEPS, save=snp.SAVE_ALL)


def states(machine, paths=PATHS):
    return jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, paths)), machine.init())


def fold(carry, state, record):
    """What the output neuron sent, as the digits of a number."""
    return jnp.where(record.made, 3 * carry + record.output[0], carry)


def digits(solution):
    found = np.zeros(PATHS, np.int32)
    for row, made in zip(
        solution.spike_trains[:, 0], np.arange(STEPS)[:, None] < solution.steps, strict=False
    ):
        found = np.where(made, 3 * found + row, found)
    return found.tolist()


def simulated(machine, state, **options):
    return snp.simulate(machine, state, uniform(), max_steps=STEPS, **options)


@pytest.mark.parametrize("unroll", [1, 3, pytest.param(8, marks=pytest.mark.slow)])
def test_it_makes_the_steps_of_run(lowered, batch, unroll):
    @jax.jit
    def run(machine):
        carry = jnp.zeros(PATHS, jnp.int32)
        return simulated(machine, states(machine), observe=fold, carry=carry, unroll=unroll)

    found = run(lowered.machine)
    assert found.steps.tolist() == batch.steps.tolist()
    assert found.state.spikes[:3].tolist() == batch.spikes.tolist()
    assert found.carry.tolist() == digits(batch)
    assert np.array_equal(np.asarray(found.result == snp.RESULTS.halted), batch.halted)


def test_under_vmap_over_keys(lowered):
    def last(key):
        end = snp.simulate(
            lowered.machine, lowered.machine.init(), snp.UniformChoice(key), max_steps=STEPS
        )
        return end.state.spikes[:3], end.steps

    spikes, steps = jax.jit(jax.vmap(last))(jr.split(jr.key(7), 5))
    for key, own, made in zip(jr.split(jr.key(7), 5), spikes, steps, strict=True):
        alone = snp.run(generator(), choice=snp.UniformChoice(key), max_steps=STEPS)
        assert alone.steps == made and alone.spikes.tolist() == own.tolist()


def test_under_scan(lowered, batch):
    """Chunks of the loop one after the other go on from the state of the one before."""

    def chunk(state, _):
        end = snp.simulate(lowered.machine, state, uniform(), max_steps=3)
        return end.state, end.steps

    end, steps = jax.lax.scan(chunk, states(lowered.machine), length=STEPS // 3)
    assert steps.sum(axis=0).tolist() == batch.steps.tolist()
    assert end.spikes[:3].tolist() == batch.spikes.tolist()


def test_under_shard_map(lowered, batch):
    mesh = jax.make_mesh((1,), ("paths",), axis_types=(jax.sharding.AxisType.Auto,))
    state, path = states(lowered.machine), jnp.arange(PATHS, dtype=jnp.uint32)
    last = jax.tree.map(lambda x: P(*[None] * (x.ndim - 1), "paths"), state)

    @jax.jit
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(last, P("paths")), out_specs=(last, P("paths"))
    )
    def run(state, path):
        carry = jnp.zeros(path.shape, jnp.int32)
        end = simulated(lowered.machine, state, path=path, observe=fold, carry=carry)
        return end.state, end.carry

    end, carry = run(state, path)
    assert end.spikes[:3].tolist() == batch.spikes.tolist()
    assert carry.tolist() == digits(batch)


def test_it_can_be_exported(lowered, batch):
    def run(state):
        end = simulated(lowered.machine, state)
        return end.state.spikes, end.steps

    state = states(lowered.machine)
    leaves, tree = jax.tree.flatten(state)
    exported = jax.export.export(jax.jit(lambda *leaves: run(jax.tree.unflatten(tree, leaves))))
    spikes, steps = exported(*leaves).call(*leaves)
    assert spikes[:3].tolist() == batch.spikes.tolist()
    assert steps.tolist() == batch.steps.tolist()


def test_gradients_in_both_modes():
    network = rate.RateNetwork(
        [rate.RatePopulation("a", 3, initial={"r": [0.1, 0.5, -0.2]})],
        [rate.RateProjection("a", "a", weights=np.float32(0.3))],
        dt=0.5,
    )
    machine = snp.lower(network).machine
    start = machine.init()

    def loss(r, **options):
        state = start._replace(variables={"a": {"r": r}})
        end = snp.simulate(machine, state, snp.FirstChoice(), max_steps=5, **options)
        return jnp.sum(end.state.variables["a"]["r"] ** 2)

    r = start.variables["a"]["r"]
    forward = jax.jacfwd(loss)(r)
    for checkpoint in (False, True):
        reverse = jax.grad(functools.partial(loss, differentiable=True, checkpoint=checkpoint))(r)
        assert np.allclose(reverse, forward, rtol=1e-5)
    step = 1e-2
    for i in range(3):
        change = step * np.eye(3, dtype=np.float32)[i]
        slope = (loss(r + change) - loss(r - change)) / (2 * step)
        assert abs(float(slope - forward[i])) < 1e-3


def test_a_path_stops_where_its_condition_holds(lowered):
    def stop(state):
        return state.spikes[2] >= 2

    found = jax.jit(lambda m, s: simulated(m, s, stop=stop))(
        lowered.machine, states(lowered.machine)
    )
    whole = snp.run(generator(), choice=uniform(), paths=PATHS, max_steps=STEPS, save=snp.SAVE_ALL)
    holds = whole.configurations[:, 2] >= 2
    first = np.where(holds.any(axis=0), holds.argmax(axis=0), whole.steps)
    assert found.steps.tolist() == first.tolist()
    rows = whole.configurations[first, :, np.arange(PATHS)]
    assert found.state.spikes[:3].T.tolist() == rows.tolist()
    is_stopped = np.asarray(found.result == snp.RESULTS.stopped)
    assert is_stopped.tolist() == holds.any(axis=0).tolist() and is_stopped.any()


def test_a_net_is_simulated_by_leaps_and_by_steps():
    net = snp.SleptsovNet(
        [7, 5, 0],
        inputs=snp.sleptsov.Arcs.of([(0, 0, 1), (1, 1, 2)]),
        outputs=snp.sleptsov.Arcs.of([(2, 0, 1), (2, 1, 1)]),
    )
    wanted = snp.run(net, count_dtype=np.int32)
    for engine in (EventDriven(), FullScan()):
        machine = snp.lower(net, engine=engine, count_dtype=np.int32).machine
        run = jax.jit(lambda m, s: snp.simulate(m, s, snp.FirstChoice(), max_steps=9))
        end = run(machine, machine.init())
        assert end.state.marking[:3].tolist() == wanted.marking.tolist() == [0, 1, 9]

        def count(carry, state, record):
            return carry + record.detail.multiplicity

        folded = snp.simulate(
            machine,
            machine.init(),
            snp.FirstChoice(),
            max_steps=9,
            observe=count,
            carry=jnp.zeros((), jnp.int32),
        )
        assert int(folded.carry) == 9 and int(folded.steps) == int(end.steps) == 2


# ---- runs that go on ----


@pytest.mark.parametrize("first, paths", [(0, None), (1, 9)])
def test_a_run_goes_on_with_the_same_bits(first, paths):
    options = {"choice": uniform(3), "save": snp.SAVE_ALL}
    whole = snp.run(generator(), max_steps=STEPS, paths=paths, **options)
    begun = snp.run(generator(), max_steps=first, paths=paths, **options)
    then = snp.run(
        generator(), max_steps=STEPS - first, paths=paths, initial=begun.state, **options
    )
    assert np.array_equal(then.steps + begun.steps, whole.steps)
    for name in ("configurations", "timer_history", "pending_history"):
        own, more = getattr(begun, name), getattr(then, name)[1:]
        length = len(getattr(whole, name))
        # A path that halted early repeats its halting configuration.
        joined = np.concatenate([own, more])[:length]
        if paths is None:
            assert joined.tolist() == getattr(whole, name).tolist()
        assert joined[-1].tolist() == getattr(whole, name)[-1].tolist()
    for x, y in zip(jax.tree.leaves(then.state), jax.tree.leaves(whole.state), strict=True):
        assert np.array_equal(x, y)


def test_runs_begin_with_other_spikes():
    system = generator()
    by_name = snp.run(system, initial={"n1": 1, "n3": 2}, max_steps=4)
    assert by_name.configurations[0].tolist() == [1, 1, 2]
    neurons = zip(system.neurons, (1, 1, 2), strict=True)
    other = snp.SpikingSystem(
        [snp.Neuron(n.name, s, n.rules) for n, s in neurons], system.synapses, output="n3"
    )
    assert by_name.configurations.tolist() == snp.run(other, max_steps=4).configurations.tolist()
    table = np.asarray([[1, 2, 0], [1, 1, 5], [2, 0, 7]])
    many = snp.run(system, paths=3, initial=table, max_steps=4, save=snp.SAVE_ALL)
    assert many.paths == 3
    for path in range(3):
        alone = snp.run(system, initial=table[:, path], max_steps=4)
        own = many.configurations[: alone.steps + 1, :, path]
        assert own.tolist() == alone.configurations.tolist()
    mixed = snp.run(system, paths=2, initial={"n3": [0, 4]}, max_steps=0, save=snp.SAVE_ALL)
    assert mixed.configurations[0].T.tolist() == [[2, 1, 0], [2, 1, 4]]


def test_inputs_are_trains_of_each_path():
    system = generator()
    trains = np.zeros((5, 1, 3), np.int64)
    trains[1, 0, 1], trains[4, 0, 2] = 1, 2
    many = snp.run(system, paths=3, inputs=trains, max_steps=STEPS, save=snp.SAVE_ALL)
    for path in range(3):
        own = system.replace(input={"n2": trains[:, 0, path].tolist()})
        alone = snp.run(own, max_steps=STEPS)
        assert many.steps[path] == alone.steps
        rows = many.configurations[: alone.steps + 1, :, path]
        assert rows.tolist() == alone.configurations.tolist()
        single = snp.run(system, inputs=trains[:, :, path], max_steps=STEPS)
        assert single.configurations.tolist() == alone.configurations.tolist()
    named = snp.run(system, inputs={"n2": trains[:, 0, 1]}, max_steps=STEPS)
    rows = many.configurations[: named.steps + 1, :, 1]
    assert named.configurations.tolist() == rows.tolist()


def test_negative_counts_of_a_signed_system():
    neurons = [snp.Neuron("x", 0, ["a -> a"]), snp.Neuron("y", -3, [])]
    system = snp.SpikingSystem(neurons, [("x", "y", 2)], signed=True)
    found = snp.run(system, initial=[1, -3], max_steps=4)
    assert found.spikes.tolist() == [0, -1]
    assert snp.run(system, initial={"x": 1}, max_steps=4).spikes.tolist() == [0, -1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"initial": [1, 2]}, r"`initial` has the shape \(2,\). Give \(3,\) or \(3, paths\)"),
        ({"initial": {"n4": 1}}, "names 'n4', which is not a neuron"),
        ({"initial": [1, -2, 0]}, "gives neuron 'n2' -2 spikes. Give 0 or more."),
        ({"initial": [1, 2**31, 0]}, "gives neuron 'n2' 2147483648 spikes. Try `count_dtype"),
        ({"initial": [0.5, 1, 2]}, "`initial` holds float64. Give whole numbers."),
        ({"inputs": [1, 0]}, r"`inputs` has the shape \(2,\). Give \(steps, 1\)"),
        ({"inputs": [[-1]]}, "`inputs` sends -1 spikes in step 1 to 'n2'. Give"),
        ({"inputs": [[2**30]]}, "too many to detect every overflow of int32"),
        ({"inputs": {"n1": [1]}}, "'n1' is not an input neuron: they are n2"),
        (
            {"inputs": np.zeros((1, 1, 3), int), "paths": 2},
            r"`inputs` is read as \(steps, inputs, paths\): it has 3 paths. Give `paths=3`",
        ),
        ({"inputs": {"n2": [[0, 1]]}, "paths": 3}, "the last axis of `inputs` .* has 2 paths"),
        ({"inputs": [[1], [1, 2]]}, "rows of `inputs` differ in length"),
        (
            {"initial": np.zeros((3, 4), int)},
            r"`paths` is None, .* `initial` .* has 4 paths. Give `paths=4`",
        ),
        ({"inputs": np.zeros((1, 1, 3), int), "initial": np.ones((3, 2), int)}, "has 3 paths, and"),
    ],
)
def test_beginnings_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        snp.run(generator(), **options)


def test_a_state_of_another_system_is_refused():
    state = snp.run(snp.SpikingSystem([snp.Neuron(f"x{i}") for i in range(20)]), max_steps=1).state
    with pytest.raises(ValueError, match="Continue a run of the same system"):
        snp.run(generator(), initial=state)
    net = snp.SleptsovNet(
        [1], inputs=snp.sleptsov.Arcs.of([(0, 0, 1)]), outputs=snp.sleptsov.Arcs.of([])
    )
    with pytest.raises(ValueError, match="no marking|Give"):
        snp.run(net, initial=[1, 2])
    with pytest.raises(ValueError, match="A net has no `inputs`"):
        snp.run(net, inputs=[[1]])


def test_a_state_of_a_system_as_long_with_padding_is_refused():
    alone = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])])
    begun = snp.run(generator(), choice=uniform(), max_steps=0, paths=4)
    for state in (begun.state, begun[3].state):
        with pytest.raises(ValueError, match="of 3 neurons, and this system has 1. Continue a run"):
            snp.run(alone, initial=state, paths=4)
    unknown = jax.tree.map(np.copy, begun[3].state)
    with pytest.raises(ValueError, match="a state of 3 or more neurons, and this system has 1"):
        snp.run(alone, initial=unknown)
    snp.run(generator(), initial=unknown)
    with pytest.raises(ValueError, match="a state of 1 neuron, and this system has 3"):
        snp.run(generator(), initial=snp.run(alone).state)
    with pytest.raises(TypeError, match="is a SolutionBatch. Give its state, `solution.state`"):
        snp.run(generator(), initial=begun)
    none = snp.sleptsov.Arcs.none()
    named = snp.SleptsovNet([1], inputs=none, outputs=none, place_names=["tank"])
    assert snp.run(named, initial={"tank": 7}, max_steps=0).tokens == {"tank": 7}
    nets = [snp.SleptsovNet([1] * num, inputs=none, outputs=none) for num in (3, 1)]
    with pytest.raises(ValueError, match="of a net with 3 places, and this net has 1"):
        snp.run(nets[1], initial=snp.run(nets[0]).state)
    with pytest.raises(ValueError, match="a state of another net, and this net has 1"):
        snp.run(nets[1], initial=jax.tree.map(np.copy, snp.run(nets[0]).state))


# ---- what is kept ----


def test_a_second_run_does_not_lower_again(monkeypatch):
    module = importlib.import_module("snpjax.spiking.lower.lower")
    calls = []
    original = module.lower_columns
    monkeypatch.setattr(
        module, "lower_columns", lambda *a, **k: calls.append(1) or original(*a, **k)
    )
    system = generator()
    for max_steps in (1, 2, 50):
        snp.run(system, max_steps=max_steps)
        snp.run(system, max_steps=max_steps, choice=uniform(max_steps))
    assert len(calls) == 1
    snp.run(system, max_steps=1, faithful=True)
    assert len(calls) == 2
    kept = snp.lower(system)
    assert len(calls) == 3 and kept.nbytes > 0
    snp.run(kept, max_steps=3)
    assert len(calls) == 3
    assert (
        snp.run(kept, max_steps=3).spikes.tolist() == snp.run(system, max_steps=3).spikes.tolist()
    )
    watched = weakref.ref(system)
    del system, kept
    gc.collect()
    assert watched() is None  # what is kept does not keep the system


def test_numbers_of_paths_share_programs():
    from snpjax.advance import advance

    system = generator()
    snp.run(system, choice=uniform(), paths=100, max_steps=STEPS)
    size = len(advance._programs)
    for paths in (101, 102, 104):
        solution = snp.run(system, choice=uniform(), paths=paths, max_steps=STEPS)
        assert solution.spikes.shape == (3, paths) and solution.steps.shape == (paths,)
    assert len(advance._programs) == size


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"grwo": True}, TypeError, "Did you mean `grow`"),
        ({"choice": 0}, TypeError, r"`choice` is 0. Give snp.FirstChoice\(\)"),
        ({"choice": jr.key(0)}, TypeError, "is a key. .* `choice=snp.Uniform"),
        ({"choice": snp.FirstChoice}, TypeError, r"class FirstChoice. .*snp.FirstChoice\(\)`"),
        ({"choice": snp.UniformChoice}, TypeError, r"snp.UniformChoice\(\.\.\.\)`"),
        ({"save": "all"}, TypeError, "`save` is 'all'. Give snpjax.SAVE_ALL"),
        ({"seed": 3}, TypeError, r"no `seed`. Give a key: `choice=snp.UniformChoice"),
        ({"max_step": 3}, TypeError, "no `max_step`. Did you mean `max_steps`?"),
        ({"engine": FullScan()}, TypeError, "takes no `engine`. The options"),
        ({"layout": 3}, TypeError, "`layout` is 3"),
        ({"paths": 2.5}, TypeError, "`paths` is 2.5. Give an integer"),
        ({"max_steps": "9"}, TypeError, "`max_steps` is '9'. Give an integer"),
        ({"unroll": "9"}, TypeError, "`unroll` is '9'. Give an integer"),
    ],
)
def test_wrong_arguments_are_told_with_the_fix(options, error, message):
    with pytest.raises(error, match=message):
        snp.run(generator(), **options)


def test_arguments_of_run_are_known():
    own = set(inspect.signature(snp.run).parameters) - {"model", "options"}
    for name in own:
        with pytest.raises(TypeError, match=f"Did you mean `{name}`"):
            snp.run(generator(), **{f"{name}_": 1})  # pyright: ignore


def test_wrong_arguments_of_simulate_are_told(lowered):
    machine = lowered.machine
    for wrong in (lowered, lowered.model):
        with pytest.raises(TypeError, match=r"`machine` is a .* Give `snpjax.lower\(model\).mach"):
            snp.simulate(wrong, machine.init(), snp.FirstChoice(), max_steps=1)
    for wrong in (0, snp.FirstChoice):
        with pytest.raises(TypeError, match=r"`choice` is .*snp.FirstChoice\(\)"):
            snp.simulate(machine, machine.init(), wrong, max_steps=1)


def test_a_path_that_is_not_there():
    batch = snp.run(generator(), choice=uniform(), max_steps=0, paths=4)
    with pytest.raises(IndexError, match="There is no path 99. Give a path 0 to 3."):
        batch[99]
    for wrong in ("a", slice(1, 3)):
        with pytest.raises(TypeError, match=r"A path is no (str|slice). Give a path 0 to 3."):
            batch[wrong]  # pyright: ignore
    assert batch[-1].spikes.tolist() == batch[np.int64(3)].spikes.tolist()
    for row in (1, -1):
        with pytest.raises(ValueError, match=f"There is no row {row}. Give 0 to 0."):
            snp.run(generator(), max_steps=0).network(row)


def test_logits_of_another_shape_are_refused():
    for shape in ((3, 3), (2, 4)):
        choice = snp.WeightedChoice(np.zeros(shape), jr.key(0))
        with pytest.raises(ValueError, match=r"no more than 2 rules and 3 neurons"):
            snp.run(generator(), choice=choice)


def test_a_tracer_is_refused():
    system, lowered = generator(), snp.lower(generator())

    def traced(spikes):
        return snp.run(system, initial=spikes).spikes

    for transform in (jax.jit, jax.vmap):
        with pytest.raises(TypeError, match=r"`snpjax.run` .* Use `snpjax.simulate\("):
            transform(traced)(jnp.ones((2, 3), int))
    with pytest.raises(TypeError, match="simulate"):
        jax.jit(lambda: snp.run(lowered).spikes)()
    with pytest.raises(TypeError, match=r"`snpjax.explore` .* Use `snpjax.simulate\("):
        jax.jit(lambda: snp.explore(system).num_configurations)()
    assert snp.run(lowered).halted in (True, False)


class Threshold(snp.AbstractChoice):
    """A policy: a neuron takes its last applicable rule once neuron 0 holds `level` spikes."""

    level: int

    may_be_invalid = False

    def for_path(self, path):
        return self

    def select(self, applicable, step, state):
        first = snp.FirstChoice().select(applicable, step, state)
        size = applicable.shape[0]
        last = size - 1 - snp.FirstChoice().select(applicable[::-1], step, state)
        last = jnp.where(first == snp.NO_RULE, snp.NO_RULE, last)
        return jnp.where((state.spikes[0] >= self.level)[None], last, first)

    def subset(self, candidates, chosen, choosers, step):
        return snp.FirstChoice().subset(candidates, chosen, choosers, step)


def test_a_choice_may_see_the_state():
    # Rules with several terms: a policy is told alternatives by the numbers of the model.
    system = snp.SpikingSystem(
        [snp.Neuron("x", 5, ["a{3}|a{5}|a{8,9}/a -> a", "a+/a^2 -> a"]), snp.Neuron("y")],
        [("x", "y")],
    )
    first = snp.run(system, choice=snp.FirstChoice())
    high = snp.run(system, choice=Threshold(100))
    assert high.rules.tolist() == first.rules.tolist()
    policy = snp.run(system, choice=Threshold(5))
    assert policy.rules[0, 0] == 1 and policy.configurations[1, 0] == 3
    assert policy.rules[1, 0] == 0
    many = snp.run(system, choice=Threshold(5), paths=3, save=snp.SAVE_ALL)
    assert many.rules[..., 2].tolist() == policy.rules.tolist()


class LastTransition(snp.AbstractChoice):
    may_be_invalid = False

    def for_path(self, path):
        return self

    def select(self, applicable, step, state):
        size = applicable.shape[0]
        found = snp.FirstChoice().select(applicable[::-1], step, state)
        return jnp.where(found == snp.NO_RULE, snp.NO_RULE, size - 1 - found)

    def subset(self, candidates, chosen, choosers, step):
        return candidates


def test_a_choice_of_a_user_works_on_nets():
    net = snp.SleptsovNet(
        [1, 0, 0],
        inputs=snp.sleptsov.Arcs.of([(0, 0, 1), (0, 1, 1)]),
        outputs=snp.sleptsov.Arcs.of([(1, 0, 1), (2, 1, 1)]),
    )
    assert snp.run(net).marking.tolist() == [0, 1, 0]
    assert snp.run(net, choice=LastTransition()).marking.tolist() == [0, 0, 1]
    weighted = snp.WeightedChoice([[-np.inf], [0.0]], jr.key(0))
    assert snp.run(net, choice=weighted, paths=4).marking.T.tolist() == [[0, 0, 1]] * 4
    lowered = snp.lower(net, engine=EventDriven())
    with pytest.raises(ValueError, match="Lower the model with `faithful=True`"):
        snp.run(lowered, choice=LastTransition())


def adder(bits: int) -> snp.SpikingSystem:
    """Adds two binary numbers, least bit first; carries stay in the neuron."""
    rules = ["a -> a", "a^2/a -> lambda", "a^3/a^2 -> a"]
    return snp.SpikingSystem(
        [
            snp.Neuron("x", 0, ["a -> a"]),
            snp.Neuron("y", 0, ["a -> a"]),
            snp.Neuron("sum", 0, rules),
        ],
        [("x", "sum"), ("y", "sum")],
        input={"x": (), "y": ()},
        output="sum",
    )


def test_all_inputs_of_an_adder_in_one_batch():
    bits = 4
    numbers = np.arange(2**bits)
    x, y = (some.ravel() for some in np.meshgrid(numbers, numbers))
    place = np.arange(bits)[:, None]
    trains = np.stack([x >> place & 1, y >> place & 1], axis=1)
    solution = snp.run(adder(bits), paths=len(x), inputs=trains, max_steps=bits + 4)
    weights = 2 ** np.arange(bits + 1)
    sent = solution.train()[2 : bits + 3]
    sent = np.pad(sent, ((0, bits + 1 - len(sent)), (0, 0)))
    assert (weights @ sent).tolist() == (x + y).tolist()


def test_a_wide_machine_is_refused_without_wide_numbers():
    lowered = snp.lower(generator(), count_dtype=np.int64)
    with pytest.raises(ValueError, match=r"inside `jax.enable_x64\(True\)`"):
        snp.simulate(lowered.machine, lowered.initial, snp.FirstChoice(), max_steps=3)
    with jax.enable_x64(True):
        wide = snp.simulate(lowered.machine, lowered.initial, snp.FirstChoice(), max_steps=3)
    assert wide.state.spikes.dtype == np.int64 and int(wide.steps) == 3
