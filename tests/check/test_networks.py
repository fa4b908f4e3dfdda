"""Verdicts on systems that divide or bud: labels without rules that are saturated, queries on
labels against the reference, witnesses that are shown and run."""

import itertools
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax.check.probability.path_property import reaches, visited
from snpjax.check.query.formula import Observed, Quantified, all_parts, comparisons
from snpjax.check.query.names import needs_of
from snpjax.check.query.parse import parse_query
from snpjax.spiking.model.lookup import rules_of  # rules of neurons or of labels
from snpjax.testing import (
    assert_invariant,
    dividing_systems,
    plastic_systems,
    reference,
    reference_graph,
)
from tests.check.test_check import compared, queries
from tests.support.branching import holds_in
from tests.support.changing import explore, followed, run, with_ballast
from tests.support.helpers import many
from tests.support.lassos import Lasso, is_true


KINDS = {"plasticity": plastic_systems(), "division": dividing_systems()}
MAX_CONFIGURATIONS = 40
systems = dividing_systems().map(with_ballast)


def growing(**more):
    """A clock divides its neighbour in every other step; what is sent to the sinks stays there."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("tick", 1, ["a -> a"]),
            snp.Neuron("tock", 0, ["a -> a"]),
            snp.Neuron("cell", 1, ["[a]_cell -> []_sink || []_out", "a -> lambda"]),
        ],
        [("tick", "tock"), ("tock", "tick"), ("tock", "cell")],
        rules_by_label={"out": ["a -> a"]},
        output=["out"],
        **more,
    )
    return with_ballast(system)


@pytest.fixture(scope="module")
def graph():
    """The graph of `growing`, whose sinks are counted up to two."""
    return explore(growing(), saturate={"sink": 2, "ballast 2": 1})


# ---- saturation ----


def without_rules(system):
    return [name for name, rules in rules_of(system).items() if not rules]


def cut(configuration, caps):
    """A configuration of the reference, every neuron of a label counted up to its cap."""
    labels = configuration.network.labels
    spikes = (min(k, caps.get(x, k)) for k, x in zip(configuration.spikes, labels, strict=True))
    return configuration._replace(spikes=tuple(spikes))


def as_configurations(graph):
    """Those of a graph, as the reference has them."""
    seen = graph.configurations()
    for number in range(len(seen)):
        network = seen.network(number)
        own = slice(len(network.labels))
        columns = (x[number, own].tolist() for x in (seen.spikes, seen.timers, seen.pending))
        state = reference.Configuration(*map(tuple, columns), int(seen.step[number]))
        yield state, network


@pytest.mark.slow
@settings(max_examples=2)
@given(systems, st.data())
def test_saturation_by_label_is_exact(system, data):
    """A saturated graph has what is left of every configuration when it is cut, as near to the
    initial one, and the choices between them; and nothing else."""
    caps = {label: data.draw(st.integers(1, 2), label) for label in without_rules(system)}
    whole = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    depth = whole.depths[whole.num_expanded] if whole.num_expanded < len(whole.depths) else None
    graph = explore(system, saturate=caps, max_depth=depth)
    found, edges = {}, set()
    for configuration, own in zip(whole.configurations, whole.depths, strict=True):
        if depth is None or own <= depth:
            found.setdefault(cut(configuration, caps), own)
    wanted = {(x._replace(network=None), x.network.labels, x.network.synapses): own
              for x, own in found.items()}  # fmt: skip
    known = [(x, *network) for x, network in as_configurations(graph)]
    assert dict(zip(known, graph.depths.tolist(), strict=True)) == wanted
    assert len(known) == len(wanted)
    assert graph.is_complete or depth is not None
    edges = {
        (number[:2], number[2])
        for number in zip(
            graph.sources.tolist(),
            map(tuple, graph.transitions().emissions.tolist()),
            graph.edge_targets.tolist(),
            strict=True,
        )
    }
    width = graph.transitions().emissions.shape[1]
    places = {x: number for number, x in enumerate(known)}

    def place(configuration):
        state = cut(configuration, caps)
        return places[state._replace(network=None), state.network.labels, state.network.synapses]

    expanded = [] if depth == 0 else [
        ((place(whole.configurations[source]), (*emitted, *[0] * (width - len(emitted)))),
         place(whole.configurations[target]))
        for source, _, emitted, target in whole.edges
        if depth is None or whole.depths[source] < depth
    ]  # fmt: skip
    assert set(expanded) == edges


def test_a_sink_that_is_born_is_saturated(graph):
    assert graph.is_complete
    assert graph.bounds()["sink"] == (0, 2)
    for refused, words in (("out", "Label 'out' has rules"), ("tack", "ever has the label 'tack'")):
        with pytest.raises((ValueError, KeyError), match=words):
            explore(growing(), saturate={refused: 2})
    with pytest.raises(ValueError, match="from 1 to"):
        explore(growing(), saturate={"sink": 0})


# ---- queries on labels ----


@st.composite
def conditions(draw, system):
    rules = rules_of(system)
    label = draw(st.sampled_from(list(rules)))
    name, number = f'"{label}"', draw(st.integers(0, 3))
    relation = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
    kinds = [name, f"emits({name})", f"timer({name})", "halted", "open", "mixed"]
    kind = draw(st.sampled_from([*kinds, "fires"] if rules[label] else kinds))
    match kind:
        case "halted":
            return "halted"
        case "open":
            return f"open({name})"
        case "fires":
            return f"fires({name}, {draw(st.integers(0, len(rules[label]) - 1))})"
        case "mixed":
            other = draw(st.sampled_from(list(rules)))
            return f'(2 * {name} - emits({name}) - "{other}" {relation} {number})'
    return f"({kind} {relation} {number})"


class Seen(NamedTuple):
    """A configuration of the reference and the step that led to it, if any."""

    after: reference.Configuration
    is_halting: bool
    before: reference.Configuration | None = None
    rules: tuple[int | None, ...] = ()
    emissions: tuple[int, ...] = ()

    def value(self, variable):
        """A number of all neurons that bear a label, or are of that name."""
        if variable.observed is Observed.HALTED:
            return int(self.is_halting)

        def of_all(values, configuration):
            labels = configuration.network.labels
            return [x for x, label in zip(values, labels, strict=True) if label == variable.neuron]

        match variable.observed:
            case Observed.SPIKES:
                return sum(of_all(self.after.spikes, self.after))
            case Observed.TIMER:
                return max(of_all(self.after.timers, self.after), default=0)
        if self.before is None:
            return 0
        if variable.observed is Observed.EMITS:
            return sum(of_all(self.emissions, self.after))
        return int(variable.rule in of_all(self.rules, self.before))


def rules_in(choice):
    return tuple(x[0] if isinstance(x, tuple) else x for x in choice)


def reference_holds(query, system, graph):
    """Whether a query holds by a structure made of the reference's graph, choice by choice."""
    outgoing = {}
    for source, choice, emissions, target in graph.edges:
        step = (graph.configurations[source], rules_in(choice), emissions)
        outgoing.setdefault(source, []).append((target, *step))
    states, following = {(0,): 0}, []
    for state in (listed := list(states)):
        own = outgoing.get(state[0], [(state[0],)])
        for after in own:
            if after not in states:
                states[after] = len(states)
                listed.append(after)
        following.append([states[after] for after in own])
    seen = []
    for number, *step in states:
        after = graph.configurations[number]
        seen.append(Seen(after, reference.is_halting(system, after), *step))
    holds = cache(lambda comparison, state: compared(comparison, seen[state].value))
    return holds_in(query.quantified, following, holds)[0]


def assert_witness(verdict):
    """The witness is a computation of the reference, and refutes or proves what it should."""
    query, system = parse_query(verdict.query), verdict.graph.system
    solution = verdict.replay()
    computation = followed(solution)
    made = computation.steps
    assert made <= verdict.num_steps
    halts = [reference.is_halting(system, x) for x in computation.configurations]
    seen = [Seen(computation.configurations[0], halts[0])]
    for step in range(made):
        before, after = computation.configurations[step : step + 2]
        rules = rules_in(computation.choices[step])
        seen.append(Seen(after, halts[step + 1], before, rules, computation.emissions[step]))
    if made < verdict.num_steps or verdict.loop is None and halts[-1]:  # it stays as it is
        assert halts[-1]
        seen.append(Seen(computation.configurations[-1], True))
        lasso = Lasso(tuple(range(len(seen))), len(seen) - 1)
    elif verdict.loop is not None:
        if any(comparison.is_of_step for comparison in comparisons(query.formula)):
            return  # the first time round may differ in how the loop was entered
        lasso = Lasso(tuple(range(made)), verdict.loop)
    else:
        return

    def holds(comparison, position):
        return compared(comparison, seen[position].value)

    if any(isinstance(part, Quantified) for part in all_parts(query.formula)):
        return  # other paths matter, too
    assert is_true(query.formula, lasso, holds) != query.on_all_paths


def check_against_reference(kind, data):
    system = data.draw(KINDS[kind].map(with_ballast))
    expected = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    graph = explore(system, max_configurations=MAX_CONFIGURATIONS)
    for _ in range(2):
        text = data.draw(queries(system, conditions))
        query = parse_query(text)
        needs = needs_of(query, system, saturate=None, max_depth=None)
        saturated = explore(system, max_configurations=MAX_CONFIGURATIONS, saturate=needs.saturate)
        verdicts = [snp.check(one, text) for one in (graph, saturated)]
        for verdict in verdicts:
            if verdict.witness is not None:
                assert_witness(verdict)
                assert len(str(verdict).splitlines()) > verdict.num_steps
            if verdict.graph.is_complete:
                assert verdict.is_decided
            else:
                assert verdict.is_decided or verdict.status is snp.Status.BOUNDED
        if graph.is_complete:
            assert bool(verdicts[0]) == reference_holds(query, system, expected), text
        if all(verdict.is_decided for verdict in verdicts):
            assert verdicts[0].status is verdicts[1].status


each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@pytest.mark.slow
@settings(max_examples=many(200, part=40), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_verdicts_are_those_of_the_reference(kind, data):
    check_against_reference(kind, data)


# ---- what is shown ----


def test_a_witness_shows_neurons_as_they_are_called_then(graph):
    verdict = snp.check(graph, "always sink <= 1")
    lines = str(verdict).splitlines()
    assert lines == [
        "always sink <= 1: refuted (shown by 4 steps)",
        "  step 0: tick = 1, cell = 1",
        "  step 1: tick: a -> a, cell: [a]_cell -> []_sink || []_out"
        " | tick = 0, tock = 1, sink = 0, out = 0",
        "  step 2: tock: a -> a | tick = 1, tock = 0, sink = 1, out = 1",
        "  step 3: tick: a -> a, out: a -> a | tick = 0, tock = 1, out = 0",
        "  step 4: tock: a -> a | tick = 1, tock = 0, sink >= 2, out = 1",
    ]
    replayed = verdict.replay()
    assert replayed.spikes.tolist() == verdict.spikes[-1].tolist()
    assert replayed.network(2) == verdict.configurations.network(2)
    assert verdict.rules.shape == replayed.rules.shape
    assert verdict.num_neurons == len(replayed.spikes)


@pytest.mark.slow
def test_a_witness_shows_the_synapses_that_plasticity_makes():
    neurons = [snp.Neuron("i", 1, ["a -> +-1(i, {j, k})"]), snp.Neuron("j"), snp.Neuron("k")]
    verdict = snp.check(explore(with_ballast(snp.SpikingSystem(neurons))), "always k = 0")
    assert str(verdict).splitlines()[1:] == [
        "  step 0: i = 1",
        "  step 1: i: a -> +-1(i, {j, k}), new (i, k) | i = 0, k = 1",
    ]
    assert verdict.replay().network().synapses[0] == (0, 2, 1)


@pytest.mark.slow
def test_a_replay_fits_whatever_room_there_is():
    """Choices name all slots that the search had; of those that a run has no room for yet, none may
    choose."""
    graph = explore(growing(), max_depth=2)
    verdict = snp.check(graph, "never out >= 1")
    assert verdict.replay().steps == 2
    options = {"choice": verdict.choices, "max_steps": 2, "capacity": snp.Capacity(5, 64)}
    assert snp.run(growing(), **options).spikes.tolist() == verdict.spikes[-1].tolist()
    rules = np.asarray(verdict.choices.rules).copy()
    rules[0, 40] = 0
    with pytest.raises(snp.RunFailed, match="step 1: A given choice is not a valid"):
        snp.run(growing(), **{**options, "choice": snp.GivenChoices(rules)})


@pytest.mark.slow
def test_a_replay_that_differs_is_a_bug(graph):
    verdict = snp.check(graph, "never out >= 1")
    other = snp.check(graph, "on some path next fires(cell, 1)")
    verdict = replace(verdict, witness=verdict.witness[:2])
    with pytest.raises(AssertionError, match="please report it"):
        replace(verdict, choices=other.choices).replay()


def test_names_are_labels(graph):
    for text, words in (
        ("always snk <= 1", "no label 'snk' .did you mean 'sink'"),
        ("always fires(out, 1)", "label 'out' has no rule 1 .its rules: 0 to 0"),
    ):
        with pytest.raises(snp.QueryError, match=words):
            snp.check(graph, text)
    for look in (lambda c: c["snk"] == 0, lambda c: c.timer("snk") == 0):
        with pytest.raises(KeyError, match="ever has the label 'snk'"):
            graph.where(look)
    with pytest.raises(KeyError, match="ever has the label 'snk'"):
        graph.map_transitions(lambda s: s.emitted("snk"))


def test_what_is_cut_is_not_trusted(graph):
    assert snp.check(graph, lambda c: c["sink"] <= 2).status is snp.Status.UNKNOWN
    assert snp.check(graph, lambda c: c["sink"] <= 1).is_refuted
    assert snp.check(graph, lambda c: c["out"] <= 1)
    for text in ("always sink <= 2", "always 2 * sink - out <= 4", "on some path next sink = 3"):
        assert snp.check(graph, text).is_decided == text.startswith("on")
    assert snp.check(graph, "on some path eventually sink = 3").status is snp.Status.UNKNOWN
    assert snp.check(graph, "on some path eventually 2 * sink - out >= 3")


@pytest.mark.slow
def test_too_little_room_is_said():
    verdict = snp.check(growing(), "always sink <= 0", capacity=snp.Capacity(5, 64))
    assert verdict.status is snp.Status.UNKNOWN and "Capacity(" in verdict.reason
    with pytest.raises(ValueError, match="explored already"):
        snp.check(verdict.graph, "halted", capacity=snp.Capacity(9, 64))


# ---- what else speaks of configurations ----


@pytest.mark.slow
def test_an_estimate_speaks_of_labels():
    """A neuron divides or forgets; what has a synapse to it has one to its children then."""
    cell = snp.Neuron("cell", 1, ["[a]_cell -> []_sink || []_out", "a -> lambda"])
    system = snp.SpikingSystem([snp.Neuron("hub"), cell], [("hub", "cell")])
    property = reaches(lambda c: c.has_synapse("hub", "out") & (c["sink"] == 0))
    found = snp.estimate(system, property, key=jax.random.key(0), max_steps=4, paths=500)
    assert 0.5 in found and found.undecided == 0


@pytest.mark.slow
@each_kind
@settings(max_examples=5)
@given(st.data())
def test_configurations_of_a_run_have_their_networks(kind, data):
    """Also where there was less room at first, and of many paths."""
    system = data.draw(KINDS[kind].map(with_ballast))
    room = {"capacity": snp.Capacity(6, 24)} if system.is_growing else {}
    choice = snp.UniformChoice(jax.random.key(data.draw(st.integers(0, 99))))
    names, paths = list(rules_of(system)), 3
    solution = run(system, choice=choice, paths=paths, save=snp.SAVE_ALL, **room)
    seen = visited(solution)
    rows = list(itertools.product(range(len(solution.configurations)), range(paths)))
    assert len(seen) == len(rows)
    own_paths = list(solution)
    pairs = list(itertools.product(names[:3], repeat=2))
    found = {pair: seen.has_synapse(*pair).tolist() for pair in pairs}
    spikes = {name: seen[name].tolist() for name in names}
    for number, (row, path) in enumerate(rows):
        network = own_paths[path].network(min(row, own_paths[path].steps))
        assert seen.network(number) == network
        called = [(network.labels[s], network.labels[t]) for s, t, _ in network.synapses]
        assert {pair for pair, own in found.items() if own[number]} == {*called} & {*pairs}
        own = solution.configurations[row, : len(network.labels), path].tolist()
        for name in names:
            wanted = [k for k, label in zip(own, network.labels, strict=True) if label == name]
            assert spikes[name][number] == sum(wanted)


@pytest.mark.slow
def test_a_broken_invariant_is_shown_by_labels(graph):
    with pytest.raises(AssertionError) as caught:
        assert_invariant(graph, lambda c: c["sink"] <= 1)
    text = str(caught.value)
    assert "broken after 4 steps" in text and "output of out: 0 0 1 0" in text
    assert "cell: [a]_cell -> []_sink || []_out" in text and "sink=2" in text
