"""Rate-coded networks against one neuron and one edge at a time, on every layout."""

import importlib.util
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import rate
from snpjax.testing import reference_rate as reference
from snpjax_formats import (
    BSR,
    COO,
    CSC,
    CSR,
    ELL,
    ELLPACKR,
    Compressed,
    Dense,
    Edges,
    Hybrid,
    Interval,
    NotEnoughMemory,
    SlicedELL,
    TwoWay,
    graphs,
)


LAYOUTS = (Dense, ELL, ELLPACKR, SlicedELL, Hybrid, Compressed, CSR, CSC, COO, BSR, TwoWay)
SIZES = (3, 4)
STEPS = 6
GAINS = {
    "identity": (rate.identity, lambda x: x),
    "relu": (jax.nn.relu, lambda x: max(x, 0.0)),
    "tanh": (jnp.tanh, np.tanh),
}
NUMBERS = st.floats(-1, 1, width=32).map(lambda x: round(x, 3))


#: Few, so that programs are shared: the gain of each population, and whether it is an update.
KINDS = ((("relu", False), ("tanh", False)), (("identity", False), ("tanh", True)))
FIRST = snp.FirstChoice()
DELAY = 2  # of the second projection


@st.composite
def networks(draw, *, plastic: bool = False):
    """Two populations and two projections, as the reference takes them, and their kinds."""
    kinds = draw(st.sampled_from(KINDS))
    populations = [
        reference.ReferencePopulation(
            [draw(NUMBERS) for _ in range(size)],
            [draw(NUMBERS) for _ in range(size)],
            None if is_update else draw(st.sampled_from([1.5, 10.0, 40.0])),
            GAINS[gain][1],
            [[draw(NUMBERS) for _ in range(size)] for _ in range(draw(st.integers(0, 2)))],
        )
        for size, (gain, is_update) in zip(SIZES, kinds, strict=True)
    ]
    projections = []
    for pre, post, delay in ((0, 1, 0), (1, 1, 0 if plastic else DELAY)):
        pairs = st.tuples(st.integers(0, SIZES[pre] - 1), st.integers(0, SIZES[post] - 1))
        chosen = sorted(draw(st.sets(pairs, max_size=8)), key=lambda e: (e[1], e[0]))
        # A weight of 0 is no edge in some layouts.
        weight = NUMBERS.map(lambda x: x or 0.5)
        edges = [(s, t, draw(weight), delay) for s, t in chosen]
        hebb = 0.05 if plastic else None
        projections.append(reference.ReferenceProjection(pre, post, edges, hebb))
    return kinds, populations, projections


UPDATES = {
    name: rate.Update(lambda v, x, p, gain=gain: {"r": gain(sum(x.values()) + p["b"])})
    for name, (gain, _) in GAINS.items()
}


def built(drawn, *, layout, integrator=None, dt=1.0):
    """The same network, its arrays of one shape whatever was drawn, so that programs are shared."""
    kinds, populations, projections = drawn
    integrator = rate.Euler() if integrator is None else integrator
    made = []
    for i, ((gain, is_update), p) in enumerate(zip(kinds, populations, strict=True)):
        drive = np.zeros((2, SIZES[i]))
        drive[: len(p.drive)] = np.reshape(p.drive, (-1, SIZES[i]))
        equation = UPDATES[gain] if is_update else rate.leaky(GAINS[gain][0])
        parameters = {"b": p.b} if p.tau is None else {"tau": p.tau, "b": p.b}
        parameters = {k: np.asarray(v) for k, v in parameters.items()}
        initial = {"r": np.asarray(p.initial)}
        made.append(
            rate.RatePopulation(f"p{i}", SIZES[i], equation, initial, parameters, drive=drive)
        )
    joined = []
    for i, p in enumerate(projections):
        columns = (np.asarray([e[column] for e in p.edges]) for column in range(3))
        source, target, value = columns
        edges = Edges(
            source.astype(int), target.astype(int), value.astype(float), SIZES[p.pre], SIZES[p.post]
        )
        plasticity = None if p.hebb is None else rate.hebb(p.hebb)
        delay = dt * DELAY if i == 1 and plasticity is None else 0.0
        joined.append(
            rate.RateProjection(
                f"p{p.pre}", f"p{p.post}", edges, delay=delay, plasticity=plasticity, layout=layout
            )
        )
    return rate.RateNetwork(made, joined, dt=dt, integrator=integrator)


def assert_same(network, run):
    machine = snp.lower(network).machine
    state, rates = rate.simulate(machine, steps=STEPS)
    for p in range(len(SIZES)):
        expected = np.asarray([row[p] for row in run.rates])
        np.testing.assert_allclose(rates[f"p{p}"]["r"], expected[1:], rtol=2e-5, atol=2e-5)
    return machine, state


def check_layout(layout, drawn):
    assert_same(built(drawn, layout=layout), reference.run(*drawn[1:], steps=STEPS, dt=1.0))


def check_learning(layout, drawn):
    run = reference.run(*drawn[1:], steps=STEPS, dt=1.0)
    machine, state = assert_same(built(drawn, layout=layout), run)
    for number in range(len(machine.deliveries)):
        edges = machine.edges(number, state)
        np.testing.assert_allclose(edges.value, run.weights[number], rtol=1e-5, atol=1e-5)


@settings(max_examples=20)
@given(networks())
def test_a_network_is_the_reference(drawn):
    check_layout("auto", drawn)


@settings(max_examples=20)
@given(networks())
def test_exponential_euler_is_the_reference(drawn):
    run = reference.run(*drawn[1:], steps=STEPS, dt=1.0, is_exponential=True)
    assert_same(built(drawn, layout=ELL, integrator=rate.ExponentialEuler()), run)


@settings(max_examples=20)
@given(networks(plastic=True))
def test_weights_learn_as_in_the_reference(drawn):
    check_learning(COO, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=8)
@given(drawn=networks())
def test_every_layout_is_the_reference(layout, drawn):
    check_layout(layout, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=8)
@given(drawn=networks(plastic=True))
def test_every_layout_learns_as_the_reference(layout, drawn):
    check_learning(layout, drawn)


def test_edges_of_one_projection_have_delays_of_their_own():
    chain = Edges(np.zeros(3, int), np.arange(3), np.array([1.0, 2.0, 3.0]), 1, 3)
    pulse = rate.RatePopulation(
        "pulse", 1, rate.Update(lambda v, x, p: {"r": x["drive"]}), drive=np.ones((1, 1))
    )
    line = rate.RatePopulation("line", 3, rate.Update(lambda v, x, p: {"r": x["exc"]}))
    projection = rate.RateProjection("pulse", "line", chain, delay=np.array([2.0, 0.0, 5.0]))
    machine = snp.lower(rate.RateNetwork([pulse, line], [projection], dt=1.0)).machine
    _, rates = rate.simulate(machine, steps=8)
    expected = np.zeros((8, 3))
    expected[[3, 1, 6], [0, 1, 2]] = [1, 2, 3]
    np.testing.assert_array_equal(rates["line"]["r"], expected)


def simple(**options):
    """Neuron `out` follows `in`, which is 1 from the first step on."""
    return rate.RateNetwork(
        [
            rate.RatePopulation(
                "in", 1, rate.Update(lambda v, x, p: {"r": v["r"]}), {"r": 1.0}, {}
            ),
            rate.RatePopulation("out", 1, rate.leaky(rate.identity)),
        ],
        [rate.RateProjection("in", "out", weights=2.0, **options)],
        dt=1.0,
    )


def test_a_delay_is_kept_and_a_step_is_a_machine():
    rates = snp.run(simple(delay=3.0), max_steps=20).rates["out"]["r"][:, 0]
    # Before the start the rate is the initial one.
    np.testing.assert_allclose(rates, 2 * (1 - 0.9 ** np.arange(1, 21)), rtol=1e-5)
    machine = snp.lower(simple()).machine
    state, record = machine.step(machine.init(), snp.FirstChoice())
    assert float(state.variables["out"]["r"][0]) == pytest.approx(0.2)
    assert bool(record.made) and not bool(machine.halted(state))
    solution = snp.run(simple(), max_steps=20, paths=2)
    assert solution.rates["out"]["r"].shape == (20, 1, 2)
    np.testing.assert_array_equal(solution.rates["out"]["r"][..., 0], rates[:, None])
    assert solution.times[-1] == 20 and "20 steps" in repr(solution)
    seldom = snp.run(simple(delay=3.0), max_steps=20, save=snp.Save(every=6))
    assert seldom.times.tolist() == [6, 12, 18]
    np.testing.assert_array_equal(seldom.rates["out"]["r"][:, 0], rates[5::6])
    for lookup, message in (
        (lambda: seldom.rates["outt"], "no population 'outt': did you mean 'out'?"),
        (lambda: seldom.rates["out"]["v"], "variable of population 'out' called 'v': the only"),
        (lambda: seldom.variables["in"]["q"], "population 'in' called 'q': the only one is 'r'"),
    ):
        with pytest.raises(KeyError, match=re.escape(message)):
            lookup()
    once = snp.run(simple(), max_steps=20, save=snp.SAVE_FINAL)
    assert once.variables["out"]["r"][0] == rates[-1]
    with pytest.raises(snp.NotSaved, match="Rates were not saved"):
        once.rates  # noqa: B018


def test_paths_learn_apart():
    edges = Edges(np.zeros(2, int), np.arange(2), np.array([0.5, 1.0]), 1, 2)
    network = rate.RateNetwork(
        [
            rate.RatePopulation("x", 1, initial={"r": 1.0}),
            rate.RatePopulation("y", 2, rate.leaky(rate.identity)),
        ],
        [rate.RateProjection("x", "y", edges, plasticity=rate.hebb(0.1, high=1.01), layout=COO)],
    )
    one, two = (snp.run(network, max_steps=STEPS, paths=paths) for paths in (None, 2))
    np.testing.assert_allclose(two.variables["y"]["r"][:, 1], one.variables["y"]["r"], rtol=1e-6)
    for path in range(2):
        state = jax.tree.map(lambda x, path=path: x[..., path], two.state)
        learned = snp.lower(network).machine.edges(0, state)
        expected = snp.lower(network).machine.edges(0, one.state)
        np.testing.assert_allclose(learned.value, expected.value, rtol=1e-6)
    assert 0.5 < expected.value[0] < 1 and expected.value[1] == pytest.approx(1.01)


@pytest.mark.parametrize("layout", [Dense, BSR])
def test_pairs_without_an_edge_stay_none(layout):
    """In what plasticity changes and in gradients; an edge of weight 0 stays one."""
    pairs = np.array([0, 1, 2]), np.array([1, 2, 2])
    edges = Edges(*pairs, np.array([0.0, 0.5, 1.0]), 3, 3)
    learning = rate.Plasticity(lambda w, products, pre, post: w + products(pre + 1, post + 1) - 2)
    network = rate.RateNetwork(
        [rate.RatePopulation("x", 3, rate.leaky(rate.identity), {"r": np.array([1.0, 2.0, 3.0])})],
        [rate.RateProjection("x", "x", edges, plasticity=learning, layout=layout)],
    )
    machine = snp.lower(network).machine
    state, _ = machine.step(machine.init(), FIRST)
    r = np.asarray(state.variables["x"]["r"])
    listed = machine.edges(0, state)
    np.testing.assert_array_equal((listed.source, listed.target), pairs)
    new = edges.value + (r[pairs[0]] + 1) * (r[pairs[1]] + 1) - 2
    np.testing.assert_allclose(listed.value, new, rtol=1e-5)
    assert all(np.count_nonzero(x) == 3 for x in jax.tree.leaves(state.weights))
    assert machine.edges(0).value.tolist() == edges.value.tolist()
    slopes = eqx.filter_grad(lambda m: jnp.sum(m.step(state, FIRST)[0].variables["x"]["r"]))(
        machine
    )
    assert all(np.count_nonzero(x) == 0 for x in jax.tree.leaves(slopes.deliveries))
    fixed = snp.lower(
        rate.RateNetwork(network.populations, [rate.RateProjection("x", "x", edges, layout=layout)])
    ).machine
    total = lambda m: jnp.sum(m.step(m.init(), FIRST)[0].variables["x"]["r"])  # noqa: E731
    (slopes,) = jax.tree.leaves(eqx.filter_grad(total)(fixed).deliveries)
    assert np.count_nonzero(slopes) == 3


def test_gradients_are_finite_differences():
    machine = snp.lower(simple()).machine
    with jax.enable_x64(True):
        machine = jax.tree.map(
            lambda x: x.astype(jnp.float64) if jnp.issubdtype(x.dtype, jnp.inexact) else x, machine
        )

        @eqx.filter_jit
        def loss(machine, checkpoint=False):
            _, rates = rate.simulate(machine, steps=7, checkpoint=checkpoint)
            return jnp.sum(jnp.sin(rates["out"]["r"]))

        gradient = eqx.filter_grad(loss)(machine)
        again = eqx.filter_grad(loss)(machine, True)
        small = 1e-6
        for where in (
            lambda m: m.populations["in"].initial["r"],
            lambda m: m.populations["out"].parameters["tau"],
            lambda m: m.populations["out"].parameters["b"],
            lambda m: m.deliveries[0].layout.factor,
        ):
            high, low = (
                loss(eqx.tree_at(where, machine, where(machine) + sign * small)) for sign in (1, -1)
            )
            expected = (high - low) / (2 * small)
            assert float(jnp.sum(where(gradient))) == pytest.approx(float(expected), rel=1e-6)
            assert float(jnp.sum(where(again))) == pytest.approx(float(expected), rel=1e-6)


def test_float64_where_it_is_asked_for():
    network = rate.RateNetwork(
        [
            rate.RatePopulation(
                "a", 2, rate.leaky(rate.identity), {"r": 1.0}, {"tau": 3.0, "b": 0.0}
            )
        ],
        dtype=np.float64,
    )
    rates = snp.run(network, max_steps=30).rates["a"]["r"]
    assert rates.dtype == np.float64
    np.testing.assert_allclose(rates[-1], (1 - 1 / 3) ** 30, rtol=1e-13)


def test_a_structure_is_not_listed():
    n = 100_000
    many = rate.RateNetwork(
        [
            rate.RatePopulation(
                "a", n, rate.leaky(rate.identity), {"r": 1.0}, {"tau": 1.0, "b": 0.0}
            )
        ],
        [rate.RateProjection("a", "a", graphs.AllToAll(), weights=1 / n)],
    )
    machine = snp.lower(many).machine
    assert sum(x.nbytes for x in jax.tree.leaves(machine.deliveries)) < 100


def test_stiff_neurons_need_the_exponential_method():
    network = [
        rate.RatePopulation("a", 1, rate.leaky(rate.identity), {"r": 1.0}, {"tau": 0.1, "b": 3})
    ]
    with pytest.raises(snp.RunFailed, match="ExponentialEuler"):
        snp.run(rate.RateNetwork(network), max_steps=60)
    stiff = rate.RateNetwork(network, integrator=rate.ExponentialEuler())
    assert snp.run(stiff, max_steps=60).variables["a"]["r"] == pytest.approx(3)


def test_everything_wrong_is_said_at_once():
    with pytest.raises(rate.InvalidNetwork) as caught:
        rate.RateNetwork(
            [
                rate.RatePopulation("a", -1, initial={"v": 0.0}),
                rate.RatePopulation("a", 2, parameters={"tau": [1.0, 2.0, 3.0], "b": np.nan}),
                rate.RatePopulation("b", 2, drive=np.zeros((4, 3)), drive_every=0),
            ],
            [
                rate.RateProjection("a", "c", delay=-1.0),
                rate.RateProjection("b", "b", graphs.AllToAll(), weights=np.ones(3), delay=0.5),
                rate.RateProjection("b", "b", np.eye(3)),
                rate.RateProjection("b", "b", 7, layout="dense"),
                rate.RateProjection("b", "b", np.eye(2), weights=2.0, delay=np.zeros(7)),
                rate.RateProjection("b", "b", 2 * np.eye(2), weights=2.0),
                rate.RateProjection("b", "b", 7),
            ],
            dt=1.0,
            dtype=np.int32,
            record=[("b", "v"), ("B", "r")],
            integrator="euler",  # pyright: ignore[reportArgumentType]
        )
    text = str(caught.value)
    for part in (
        "'a' is there 2 times",
        "`size` is -1",
        "no `r`",
        "(3,), not () or (2,)",
        "`parameters['b']` is not finite",
        "`integrator` is 'euler'",
        "`drive` has shape (4, 3), not (rows, 2)",
        "`drive_every` is 0",
        "no population 'c'",
        "`delay` is negative",
        "not a multiple of dt",
        "`graph` is from 3 to 3",
        "`layout` is 'dense'",
        "`delay` has shape (7,)",
        "weights of its own",
        "`graph` is an int",
        "`dtype` is int32",
        "`record` names ('b', 'v'): there is no variable 'v' (the only one is 'r')",
        "`record` names ('B', 'r'): there is no population 'B' (did you mean 'b'?)",
    ):
        assert part in text, part
    assert len(caught.value.problems) == 19
    with pytest.raises(rate.InvalidNetwork, match="`dt` is 0"):
        rate.RateNetwork([], dt=0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: rate.RatePopulation("a", 2, "tau*dr/dt + r = sum(exc)"), "`equation` of .*leaky"),
        (lambda: rate.RatePopulation("a", 2, lambda v, x, p: v), "`equation` of population 'a'"),
        (lambda: rate.Derivative("-r"), "`function` of Derivative is '-r'. Give a function"),
        (lambda: rate.Update("exc"), "`function` of Update is 'exc'. Give a function"),
        (lambda: rate.Plasticity("w"), "`function` of a Plasticity is 'w'. Give a function"),
        (lambda: rate.RateProjection("a", "b", plasticity="oja"), "`plasticity` is 'oja'. Give"),
    ],
)
def test_texts_in_place_of_functions_are_refused_at_once(build, message):
    with pytest.raises(TypeError, match=message):
        build()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": {"tua": 1.0}}, "reads the parameter 'tau', which .* .did you mean 'tua'"),
        ({"parameters": {"tau": 1.0, "gian": 2}}, "the parameter 'gain', .* .did you mean 'gian'"),
        ({"target": "ecx"}, "reads the input 'exc', which does not exist .did you mean 'ecx'"),
        ({"initial": {"r": 0.0, "R": 0.0}}, "nothing for 'R' of `initial` .did you mean 'r'"),
        ({"equation": lambda v, x, p: {"r": v["r"], "rr": v["r"]}}, "gives 'rr', which is not in"),
        ({"equation": lambda v, x, p: {"r": v["R"]}}, "the variable 'R', .* .did you mean 'r'"),
        ({"equation": lambda v, x, p: {"r": {}["q"]}}, "'q'"),
    ],
)
def test_misspelt_names_of_equations_are_refused(options, message):
    def slope(variables, inputs, parameters):
        drive = parameters.get("gain", 1.0) * inputs.get("exc", 0.0)
        return {"r": (drive - variables["r"]) / parameters["tau"]}

    target = options.pop("target", "exc")
    options = {"parameters": {"tau": 1.0, "unused": 2.0}, "equation": slope} | options
    options["equation"] = rate.Derivative(options["equation"])
    network = rate.RateNetwork(
        [rate.RatePopulation("a", 2, **options)], [rate.RateProjection("a", "a", target=target)]
    )
    with pytest.raises((ValueError, KeyError), match=message):
        machine = snp.lower(network).machine
        jax.eval_shape(machine.step, machine.init(), snp.FirstChoice())


def test_states_of_other_networks_are_refused():
    one, other = (rate.RateNetwork([rate.RatePopulation(name, 2)]) for name in ("out", "outt"))
    state = snp.lower(one).machine.init()
    with pytest.raises(ValueError, match="another network: .* 'out' .did you mean 'outt'"):
        snp.run(other, max_steps=1, initial=state)


def test_what_cannot_be_lowered():
    def network(**options):
        return rate.RateNetwork(
            [rate.RatePopulation("a", 4)], [rate.RateProjection("a", "a", **options)], dt=1.0
        )

    with pytest.raises(ValueError, match="Interval stores neither weights"):
        snp.lower(network(graph=np.eye(4), layout=Interval))
    with pytest.raises(TypeError, match="takes no `count_dtype`. The options .* are `layout`"):
        snp.run(network(), count_dtype=np.int32)
    with pytest.raises(ValueError, match="chooses nothing"):
        snp.run(network(), choice=snp.GivenChoices([[0]]))
    wrong = rate.Update(lambda v, x, p: {"q": v["r"]})
    with pytest.raises(ValueError, match="gives nothing for 'r' of .initial. .the only one is 'q'"):
        snp.run(rate.RateNetwork([rate.RatePopulation("a", 1, wrong)]), max_steps=1)
    many = snp.lower(network(weights=1.0, delay=np.arange(16.0))).machine
    assert len(many.deliveries) == 16 and many.rows == {"a": 16}


def test_too_large_for_the_device(monkeypatch):
    monkeypatch.setattr("snpjax_formats.memory.free_bytes", lambda: 100)
    network = rate.RateNetwork(
        [rate.RatePopulation("a", 30)],
        [rate.RateProjection("a", "a", weights=rate.Uniform(0, 1), layout=ELL)],
    )
    with pytest.raises(NotEnoughMemory, match="ELL .* needs .* bytes"):
        snp.lower(network)


def test_oja_learns_the_direction_of_most_variance():
    rng = np.random.default_rng(0)
    direction = np.array([0.6, -0.8])
    drive = rng.standard_normal((1000, 1)) * direction + 0.1 * rng.standard_normal((1000, 2))
    network = rate.RateNetwork(
        [
            # Shown for four steps each: a rate passes a projection in one.
            rate.RatePopulation(
                "x", 2, rate.Update(lambda v, x, p: {"r": x["drive"]}), drive=drive, drive_every=4
            ),
            rate.RatePopulation("y", 1, rate.Update(lambda v, x, p: {"r": x["exc"]})),
        ],
        [
            rate.RateProjection(
                "x", "y", weights=rate.Uniform(0.1, 0.2), plasticity=rate.oja(0.02), layout=COO
            )
        ],
    )
    solution = snp.run(network, max_steps=4000, save=snp.SAVE_FINAL)
    found = snp.lower(network).machine.edges(0, solution.state).value
    # In one step of four the picture is new and the response is not, so that it only forgets.
    assert 0.7 < np.linalg.norm(found) < 1
    assert abs(found @ direction) / np.linalg.norm(found) > 0.98


@pytest.mark.skipif(importlib.util.find_spec("diffrax") is None, reason="diffrax is not installed")
def test_a_solver_of_diffrax():
    import diffrax  # pyright: ignore[reportMissingImports]

    population = rate.RatePopulation(
        "a", 1, rate.leaky(rate.identity), {"r": 1.0}, {"tau": 5.0, "b": 0}
    )
    network = rate.RateNetwork([population], integrator=rate.Diffrax(diffrax.Tsit5()))
    assert snp.run(network, max_steps=10).variables["a"]["r"] == pytest.approx(np.exp(-2), rel=1e-5)
    machine = snp.lower(network).machine
    terms = diffrax.ODETerm(lambda t, y, args: machine.derivative(y))
    start = machine.init().variables
    found = diffrax.diffeqsolve(terms, diffrax.Tsit5(), 0, 10, 0.5, start)
    assert found.ys["a"]["r"][-1] == pytest.approx(np.exp(-2), rel=1e-5)


def test_what_is_no_differential_equation():
    machine = snp.lower(simple()).machine
    with pytest.raises(ValueError, match="not a differential equation"):
        machine.derivative(machine.init().variables)
