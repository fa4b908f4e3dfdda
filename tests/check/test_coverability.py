"""Karp-Miller trees against plain searches in pure Python."""

import random
from collections import deque

import numpy as np
import pytest

import snpjax as snp
from snpjax.check import coverability
from snpjax.sleptsov import Arcs, Execution, Petri, SleptsovNet
from snpjax.testing import reference
from tests.support.helpers import many, quietly


LIMIT = 400  # configurations of a plain search


def drawn_net(seed: int) -> SleptsovNet:
    draw = random.Random(seed)
    places, transitions = draw.randint(2, 4), draw.randint(2, 4)

    def arcs(chance: float, most: int) -> Arcs:
        return Arcs.of(
            (p, t, draw.randint(1, most))
            for p in range(places)
            for t in range(transitions)
            if draw.random() < chance
        )

    return quietly(
        SleptsovNet,
        [draw.randint(0, 2) for _ in range(places)],
        inputs=arcs(0.4, 2),
        outputs=arcs(0.35, 2),
        tests=arcs(0.1, 2),
        num_transitions=transitions,
    )


def net_successors(net: SleptsovNet, marking: tuple[int, ...]):
    """By the definition: one transition fires once."""
    for t in range(net.num_transitions):
        taken = {p: w for p, own, w in net.inputs.triples() if own == t}
        tested = {p: w for p, own, w in net.tests.triples() if own == t}
        if all(marking[p] >= w for some in (taken, tested) for p, w in some.items()):
            after = list(marking)
            for p, w in taken.items():
                after[p] -= w
            for p, own, w in net.outputs.triples():
                after[p] += w if own == t else 0
            yield t, tuple(after)


def searched(initial, successors):
    """Everything that is reachable, up to a limit, and whether that is all."""
    seen, waiting = {initial}, deque([initial])
    while waiting:
        for _, after in successors(waiting.popleft()):
            if after not in seen:
                if len(seen) >= LIMIT:
                    return seen, False
                seen.add(after)
                waiting.append(after)
    return seen, True


def check_net(seed: int) -> str:
    net = drawn_net(seed)
    found = coverability(Execution(net, rule=Petri()), max_nodes=5000)
    seen, is_all = searched(
        tuple(net.marking.tolist()), lambda marking: net_successors(net, marking)
    )
    assert found.is_complete
    for marking in seen:
        assert found.covers(dict(zip(net.place_names, marking, strict=True)))
    if is_all:
        assert found.is_bounded
        most = np.max(list(seen), axis=0).tolist()
        assert found.bounds == dict(zip(net.place_names, most, strict=True))
    else:
        bounds = [found.bounds[name] for name in net.place_names]
        for marking in seen:
            assert all(b is None or n <= b for n, b in zip(marking, bounds, strict=True))
    for name in found.unbounded:
        marking = tuple(net.marking.tolist())
        pumping = found.pumping(name, 37)
        for t in np.asarray(pumping.choice.rules)[: pumping.num_steps, 0].tolist():
            marking = dict(net_successors(net, marking))[t]
        assert marking[net.place(name)] >= 37
    return "bounded" if found.is_bounded else "unbounded"


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_nets_are_what_a_plain_search_finds(start):
    assert {check_net(seed) for seed in range(start, start + 20)} == {"bounded", "unbounded"}


@pytest.mark.slow
def test_many_nets_are_what_a_plain_search_finds():
    for seed in range(1000, 1000 + many(2000)):
        check_net(seed)


def drawn_system(seed: int) -> snp.SpikingSystem:
    """Some neurons are monotone, others are not."""
    draw = random.Random(seed)
    names = [f"n{i}" for i in range(draw.randint(2, 4))]
    rules = [["a+/a -> a"], ["a{2,}/a -> a", "a+/a -> a^2"], ["a -> a"], ["a^2/a -> a"], []]
    rules += [["a{2,}/a^2 -> a"], ["a -> a; 1"], ["a -> a", "a -> lambda"], []]
    neurons = [snp.Neuron(name, draw.randint(0, 2), draw.choice(rules)) for name in names]
    synapses = [(x, y) for x in names for y in names if x != y and draw.random() < 0.45]
    if draw.random() < 0.7:  # a ring keeps going
        synapses = list(dict.fromkeys([*synapses, ("n0", "n1"), ("n1", "n0")]))
    train = {draw.choice(names): [1, 0, 1]} if draw.random() < 0.3 else {}
    return quietly(snp.SpikingSystem, neurons, synapses, input=train)


def system_successors(system, configuration):
    if not reference.is_halting(system, configuration):
        for choice in reference.choices(system, configuration):
            yield choice, reference.step(system, configuration, choice)[0]


def check_system(seed: int) -> str:
    system = drawn_system(seed)
    found = coverability(system, max_nodes=800)
    seen, is_all = searched(reference.initial(system), lambda own: system_successors(system, own))
    names = [neuron.name for neuron in system.neurons]
    if is_all:
        assert not found.unbounded
    if found.is_complete:
        for own in seen:
            assert found.covers(dict(zip(names, own.spikes, strict=True)))
        if is_all:
            most = np.max([own.spikes for own in seen], axis=0).tolist()
            assert found.bounds == dict(zip(names, most, strict=True))
    for name in found.unbounded:
        pumping = found.pumping(name, 23)
        run = snp.run(system, choice=pumping.choice, max_steps=pumping.num_steps)
        assert run.spikes_of(name) >= 23
    return "unknown" if found.is_bounded is None else str(found.is_bounded)


def test_systems_are_what_a_plain_search_finds():
    assert {"True", "False"} <= {check_system(seed) for seed in range(12)}


@pytest.mark.slow
def test_many_systems_are_what_a_plain_search_finds():
    outcomes = [check_system(seed) for seed in range(1000, 1000 + many(400))]
    assert {outcomes.count(x) > len(outcomes) // 20 for x in ("True", "False")} == {True}


def test_one_pump_feeds_another():
    """q grows only with tokens of p, which grows first."""
    net = SleptsovNet(
        [1, 0, 0],
        inputs=Arcs.of([(0, 0, 1), (1, 1, 3)]),
        outputs=Arcs.of([(0, 0, 1), (1, 0, 1), (2, 1, 1)]),
        place_names=["run", "p", "q"],
    )
    found = coverability(Execution(net, rule=Petri()))
    assert found.bounds == {"run": 1, "p": None, "q": None} and not found.is_bounded
    assert found.covers({"p": 10**6, "q": 10**9}) and not found.covers({"run": 2})
    assert repr(found).startswith("Coverability(") and "unbounded p, q" in repr(found)
    with pytest.raises(ValueError, match="'run' is not known to be unbounded. Pass one of p, q"):
        found.pumping("run", 5)
    with pytest.raises(ValueError, match=r"no 'x' \(the names are 'run', 'p', 'q'\)"):
        found.covers({"x": 1})
    pumping = found.pumping("q", 10)
    assert pumping.num_steps >= 40
    own = Execution(net, rule=Petri())
    run = snp.run(own, choice=pumping.choice, max_steps=pumping.num_steps)
    assert run.marking[2] >= 10


def test_a_tree_that_is_cut_off_claims_nothing():
    net = SleptsovNet([3, 0], inputs=Arcs.of([(0, 0, 1)]), outputs=Arcs.of([(1, 0, 1)]))
    for options in ({"max_nodes": 2}, {"seconds": -1.0}):
        found = coverability(Execution(net, rule=Petri()), **options)
        assert not found.is_complete and found.is_bounded is None and found.unbounded == ()
        with pytest.raises(ValueError, match="bounds are not known"):
            _ = found.bounds
        with pytest.raises(ValueError, match="not known"):
            found.covers({"p2": 3})


def test_spikes_that_a_guard_will_remove_are_no_growth():
    """The counter grows for four steps, and forgets all spikes in the fifth."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("left", 1, ["a -> a"]),
            snp.Neuron("right", 0, ["a -> a"]),
            snp.Neuron("counter", 0, ["a^5 -> lambda"]),
        ],
        [("left", "right"), ("right", "left"), ("left", "counter"), ("right", "counter")],
    )
    found = coverability(system)
    assert found.is_bounded and found.bounds == {"left": 1, "right": 1, "counter": 5}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SleptsovNet([1], inputs=Arcs.of([(0, 0, 1)]), outputs=Arcs.none()), "rule Petri"),
        (
            Execution(
                SleptsovNet(
                    [1, 0],
                    inputs=Arcs.of([(0, 0, 1)]),
                    outputs=Arcs.of([(1, 0, 1)]),
                    inhibitors=Arcs.of([(1, 0, 1)]),
                ),
                rule=Petri(),
            ),
            "an? inhibitor arc",
        ),
        (
            quietly(
                snp.SpikingSystem,
                [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")],
                [("x", "y", -1)],
                signed=True,
            ),
            "signed",
        ),
        ("net.pnml", "`model` is of the type str. Pass a net"),
    ],
)
def test_models_that_are_not_monotone(model, message):
    with pytest.raises((NotImplementedError, TypeError), match=message):
        coverability(model)


def test_a_net_with_a_total_order_is_refused():
    net = SleptsovNet(
        [1, 0],
        inputs=Arcs.of([(0, 0, 1), (0, 1, 1)]),
        outputs=Arcs.of([(1, 0, 1), (0, 1, 1), (1, 1, 1)]),
        order=[0, 1],
    )
    with pytest.raises(NotImplementedError, match="total order"):
        coverability(Execution(net, rule=Petri()))
