"""Equivalence of systems whose neurons divide or bud: outputs are labels."""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax.check.equivalence import Agreement, Bisimilar, SameTraces, equivalent
from snpjax.check.equivalence.runs import run_of_edges
from snpjax.spiking.model.validity import possible_labels  # labels that are born
from snpjax.testing import dividing_systems, reference
from tests.spiking.test_plasticity import wanderer
from tests.support.changing import ROOM, network_of, with_ballast
from tests.support.helpers import many


STEPS = 3


def traces(system, steps):
    """All output traces of this many steps, by following every choice."""
    reached = {(): {reference.initial(system)}}
    for _ in range(steps):
        following = {}
        for trace, configurations in reached.items():
            for configuration in configurations:
                for choice in reference.choices(system, configuration):
                    after, emissions = reference.step(system, configuration, choice)
                    labels = network_of(after).labels
                    pairs = list(zip(labels, emissions, strict=True))
                    emitted = tuple(
                        sum(x for label, x in pairs if label == name) for name in system.output
                    )
                    following.setdefault((*trace, emitted), set()).add(after)
        reached = following
    return set(reached)


def compared(first, second, by, **options):
    return equivalent(first, second, by=by, capacity=ROOM, chunks=(16,), **options)


@st.composite
def pairs(draw):
    """A system, and one in which another label is the output, or has other rules."""
    first = draw(dividing_systems(max_neurons=3).filter(lambda system: system.output))
    born = possible_labels(first.neurons, first.rules_by_label)
    others = [label for label in born if label not in first.output[1:]]
    label = draw(st.sampled_from(others))
    second = first.replace(output=[label, *first.output[1:]])
    return with_ballast(first), with_ballast(draw(st.sampled_from([first, second])))


def check_traces(pair):
    first, second = pair
    found = compared(first, second, SameTraces(steps=STEPS), max_configurations=4_000)
    own, others = traces(first, STEPS), traces(second, STEPS)
    if own == others:
        assert found.verdict is Agreement.EQUAL
        return
    assert found.verdict is Agreement.DIFFERENT
    shown = found.difference.run
    run = shown.replay()
    emitted = [tuple(row) for row in run.spike_trains.tolist()]
    trace = tuple(emitted + [(0,) * len(shown.outputs)] * (shown.steps - len(emitted)))
    assert trace == tuple(zip(*shown.outputs.values(), strict=True))
    has_it = [trace in {x[: len(trace)] for x in some} for some in (own, others)]
    assert has_it == [found.difference.shown_by == side for side in (0, 1)]


@pytest.mark.slow
@settings(max_examples=many(400, part=100), suppress_health_check=[HealthCheck.too_slow])
@given(pairs())
def test_traces_of_many_pairs(pair):
    check_traces(pair)


def dividing(first="y", second="z", **more):
    """x emits what it gets, and divides once to do so; both emit when they have a spike."""
    rules = {first: ["a -> a"], second: more.pop("rules", ["a -> a"])}
    neurons = [
        snp.Neuron("p", 2, ["a+/a -> a"]),
        snp.Neuron("x", 1, [f"[a]_x -> []_{first} || []_{second}"]),
        snp.Neuron("o", 0, ["a^2 -> a", "a -> lambda"]),
    ]
    synapses = [("p", "x"), ("x", "o")]
    return snp.SpikingSystem(neurons, synapses, output="o", rules_by_label=rules, **more)


@pytest.mark.slow
def test_names_of_labels_do_not_matter():
    one, other = dividing(), dividing("v", "w")
    for by in (SameTraces(), Bisimilar()):
        assert compared(one, other, by)
    late = dividing(rules=["a -> a; 1"])
    found = compared(one, late, SameTraces())
    assert found.verdict is Agreement.DIFFERENT
    for run in found.difference.runs:
        assert run.replay().train("o").tolist() == [*run.outputs["o"]][: run.replay().steps]
    assert "y: a -> a" in str(found)


def sender(label="g"):
    """g buds, and keeps its label; what it gets it passes on."""
    neurons = [snp.Neuron(label, 1, [f"[a]_{label} -> []_{label} / []_b", "a -> a"])]
    rules = {"b": ["a -> a"]}
    return snp.SpikingSystem(neurons, [], input={label: [0]}, output=[label], rules_by_label=rules)


@pytest.mark.slow
def test_any_input_of_labels():
    found = compared(sender(), sender("h"), SameTraces(inputs=snp.AnyInput(3)))
    assert found.verdict is Agreement.EQUAL
    trains = compared(sender(), sender().replace(output=["b"]), SameTraces(inputs=snp.AnyInput(3)))
    assert trains.verdict is Agreement.DIFFERENT
    run = trains.difference.run
    assert set(run.inputs) == {"g"} and run.replay().steps <= run.steps


def test_a_run_takes_the_subsets_of_its_edges():
    """It halts after the second target was chosen."""
    graph = snp.explore(wanderer(), chunks=(16,))
    last = int(graph.halting()[-1])
    one = run_of_edges(graph, graph.edges_to(last))
    assert one.choice.subsets is not None and one.choice.subsets.any()
    assert one.replay().network() == graph.network(last)


@pytest.mark.slow
def test_a_run_of_edges_has_the_input_of_the_environment():
    graph = snp.explore(sender(), inputs=snp.AnyInput(3), capacity=ROOM, chunks=(16,))
    last = int(graph.where(lambda some: (some.labels == "b").any(axis=1))[-1])
    run = run_of_edges(graph, graph.edges_to(last), sender(), ["g"])
    spikes = run.replay().spikes
    assert spikes.tolist() == [int(x) for x in graph.spikes[last][[0, 2]]]  # the environment is 1
    labels = graph.network(last).labels
    assert labels == ("g", "environment of g", "b") and len(run.inputs["g"]) == run.steps


def test_what_would_inherit_any_input_is_refused():
    with pytest.raises(ValueError, match="'x' turns into one with 'y'"):
        dividing(input={"x": [0]}).with_input(snp.AnyInput(2))
