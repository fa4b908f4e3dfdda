"""Verdicts on equivalence are those of brute force, and what tells systems apart is replayed."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import snpjax as snp
from snpjax.check.equivalence import (
    Agreement,
    Bisimilar,
    SameNumbers,
    SameTraces,
    equivalent,
)
from snpjax.explore import explore
from snpjax.testing import reference, reference_graph, rules, systems
from tests.support.helpers import many, with_ballast


#: One compilation of each function for all systems here.
CHUNKS = (64,)
STEPS = 4
MAX_CONFIGURATIONS = 40


# ---- brute force ----


def traces(system, steps):
    """All output traces of this many steps, by following every choice."""
    columns = [system.names[name] for name in system.output]
    reached = {(): {reference.initial(system)}}
    for _ in range(steps):
        following = {}
        for trace, configurations in reached.items():
            for configuration in configurations:
                for emitted, after in moves(system, configuration, columns):
                    following.setdefault((*trace, emitted), set()).add(after)
        reached = following
    return set(reached)


def moves(system, configuration, columns):
    """Output and next configuration of every choice; a halting one is made for ever."""
    made = set()
    for choice in reference.choices(system, configuration):
        after, emissions = reference.step(system, configuration, choice)
        made.add((tuple(emissions[i] for i in columns), after))
    return made


def are_bisimilar(first, second, steps=None):
    """By the definition: all pairs, less those with a step that has no answer, until nothing
    changes or `steps` times."""
    columns = [[one.names[name] for name in one.output] for one in (first, second)]
    found = []
    for one, own in zip((first, second), columns, strict=True):
        graph = reference_graph.explore(
            one, max_configurations=20 * MAX_CONFIGURATIONS, max_depth=steps
        )
        found.append({c: moves(one, c, own) for c in graph.configurations})
        # Those at the end need no steps when so few are compared.
    left, right = found
    pairs = set(itertools.product(left, right))
    for _ in itertools.count() if steps is None else range(steps):
        kept = {
            (x, y)
            for x, y in pairs
            if all(
                any(a == b and (p, q) in pairs or q not in right for b, q in right[y])
                for a, p in left[x]
            )
            and all(any(a == b and (p, q) in pairs for a, p in left[x]) for b, q in right[y])
        }
        if kept == pairs:
            break
        pairs = kept
    return (reference.initial(first), reference.initial(second)) in pairs


def numbers(system, up_to):
    """The intervals between the first two spikes of the first output, by closure."""
    column = [system.names[system.output[0]]]
    silent, grown = set(), {reference.initial(system)}
    while silent != grown:
        silent = grown
        more = {after for c in silent for (x,), after in moves(system, c, column) if not x}
        grown = silent | more
        assert len(grown) < 10 * MAX_CONFIGURATIONS
    now = {after for c in silent for (x,), after in moves(system, c, column) if x}
    found = set()
    for number in range(1, up_to + 1):
        steps = [step for c in now for step in moves(system, c, column)]
        if any(x for (x,), _ in steps):
            found.add(number)
        now = {after for (x,), after in steps if not x}
    return found


# ---- pairs of systems ----


@st.composite
def pairs(draw, *, inputs=False):
    """A system, and one that differs from it a little; often not from outside."""
    first = draw(systems(min_neurons=1, max_neurons=3, max_rules=3, max_delay=2, min_outputs=1))
    first = first.replace(input={}) if not inputs else first.replace(input={"n0": ()})
    neurons = list(first.neurons)
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(neurons) - 1))
        own = list(neurons[place].rules)
        if own and draw(st.booleans()):
            own.pop(draw(st.integers(0, len(own) - 1)))
        if draw(st.booleans()):
            own.insert(draw(st.integers(0, len(own))), draw(rules(max_delay=2)))
        spikes = neurons[place].spikes + draw(st.sampled_from([0, 0, 1]))
        neurons[place] = snp.Neuron(neurons[place].name, spikes, own)
    return first, first.replace(neurons=neurons)


def compared(first, second, by, **arguments):
    return equivalent(with_ballast(first), with_ballast(second), by=by, chunks=CHUNKS, **arguments)


def replayed(system, run):
    """The emissions of the outputs in a run of a witness, by the reference, padded after a halt."""
    system = with_ballast(system.replace(input={**system.input, **run.inputs}))
    columns = [system.names[name] for name in system.output]
    given = np.asarray(run.choice.rules)[:, : system.num_neurons].tolist()
    configuration, trace = reference.initial(system), []
    for step in range(run.steps):
        choice = [None if x == snp.NO_RULE else x for x in given[step]]
        configuration, emissions = reference.step(system, configuration, tuple(choice))
        trace.append(tuple(emissions[i] for i in columns))
    assert trace == list(zip(*run.outputs.values(), strict=True))
    return tuple(row[:-1] for row in trace)  # without that of the ballast


def assert_trace_difference(first, second, found, steps):
    """The trace shown is one of one system only, and no shorter one is."""
    difference, both = found.difference, (first, second)
    one, other = both[difference.shown_by], both[1 - difference.shown_by]
    shown, near = difference.runs[difference.shown_by], difference.runs[1 - difference.shown_by]
    trace, other_trace = replayed(one, shown), replayed(other, near)
    assert shown.inputs == dict(zip(shown.inputs, near.inputs.values(), strict=True))
    one = one.replace(input={**one.input, **shown.inputs})
    other = other.replace(input={**other.input, **near.inputs})
    length = len(trace)
    assert 1 <= length <= steps
    assert trace in traces(one, length) and trace not in traces(other, length)
    assert other_trace in traces(other, length) and other_trace[:-1] == trace[:-1]
    assert str(length) in found.reason and difference.statement in str(found)
    return length


# ---- traces ----


def check_traces(pair):
    first, second = pair
    found = compared(first, second, SameTraces(steps=STEPS), max_configurations=4_000)
    if traces(first, STEPS) == traces(second, STEPS):
        assert found.verdict is Agreement.EQUAL and found
        return
    assert found.verdict is Agreement.DIFFERENT and not found
    length = assert_trace_difference(first, second, found, STEPS)
    assert traces(first, length - 1) == traces(second, length - 1)


@settings(max_examples=12)
@given(pairs())
def test_traces_equal_brute_force(pair):
    check_traces(pair)


@pytest.mark.slow
@settings(max_examples=many(3_000, part=32), suppress_health_check=[HealthCheck.too_slow])
@given(pairs())
def test_traces_of_many_pairs(pair):
    check_traces(pair)


def check_traces_on_any_input(pair):
    length = 2
    by = SameTraces(inputs=snp.AnyInput(length, neurons=("n0",)), steps=STEPS)
    found = compared(*pair, by, max_configurations=4_000)
    trains = itertools.product((0, 1), repeat=length)
    fed = [[one.replace(input={"n0": train}) for one in pair] for train in trains]
    same = all(traces(one, STEPS) == traces(other, STEPS) for one, other in fed)
    assert found.verdict is (Agreement.EQUAL if same else Agreement.DIFFERENT)
    if not same:
        assert_trace_difference(*pair, found, STEPS)


@settings(max_examples=10)
@given(pairs(inputs=True))
def test_traces_on_any_input_equal_brute_force(pair):
    check_traces_on_any_input(pair)


@pytest.mark.slow
@settings(max_examples=many(1_500, part=32), suppress_health_check=[HealthCheck.too_slow])
@given(pairs(inputs=True))
def test_traces_of_many_pairs_on_any_input(pair):
    check_traces_on_any_input(pair)


# ---- bisimulation ----


def is_small(system):
    graph = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    return graph.num_expanded == len(graph.configurations)


def check_bisimulation(pair):
    first, second = pair
    assume(is_small(first) and is_small(second))
    found = compared(first, second, Bisimilar())
    same = are_bisimilar(first, second)
    assert found.verdict is (Agreement.EQUAL if same else Agreement.DIFFERENT)
    if same:  # it is finer than traces
        assert compared(first, second, SameTraces())
        return
    difference = found.difference
    shown = [replayed(one, run) for one, run in zip(pair, difference.runs, strict=True)]
    assert shown[0] != shown[1] and shown[0][:-1] == shown[1][:-1]
    assert difference.statement in str(found)


@pytest.mark.slow
@given(pairs())
def test_bisimulation_equals_the_greatest_fixpoint(pair):
    check_bisimulation(pair)


@pytest.mark.slow
@settings(
    max_examples=many(3_000, part=40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(pairs())
def test_bisimulation_of_many_pairs(pair):
    check_bisimulation(pair)


@settings(max_examples=10)
@given(pairs(), st.integers(0, 3))
def test_what_is_cut_is_never_called_equal(pair, depth):
    first, second = pair
    found = compared(first, second, Bisimilar(), max_depth=depth)
    by_traces = compared(first, second, SameTraces(), max_depth=depth)
    is_cut = not all(
        explore(with_ballast(x), max_depth=depth, chunks=CHUNKS).is_complete for x in pair
    )
    if are_bisimilar(first, second, depth):
        if is_cut:
            expected = Agreement.EQUAL_UP_TO if depth else Agreement.UNKNOWN
            assert found.verdict is expected and str(depth) in found.reason or not depth
            assert by_traces.verdict is expected
        else:  # no limit was in the way
            assert bool(found) == are_bisimilar(first, second)
    else:
        assert found.verdict is Agreement.DIFFERENT
    if is_cut:
        assert not found and not by_traces


# ---- numbers ----


@settings(max_examples=15)
@given(pairs())
def test_numbers_equal_brute_force(pair):
    first, second = (one.replace(output=one.output[:1]) for one in pair)
    assume(is_small(first) and is_small(second))
    found = equivalent(
        with_ballast(first).replace(output=first.output),
        with_ballast(second).replace(output=second.output),
        by=SameNumbers(6),
        chunks=CHUNKS,
    )
    wanted = [numbers(one, 6) for one in (first, second)]
    if wanted[0] == wanted[1]:
        assert found.verdict is Agreement.EQUAL
        return
    assert found.verdict is Agreement.DIFFERENT
    difference = found.difference
    (train,) = difference.run.outputs.values()
    one, other = np.flatnonzero(train)
    assert other - one == min(wanted[0] ^ wanted[1]) and other == len(train) - 1
    assert other - one in wanted[difference.shown_by]
    solution = difference.run.replay()
    assert solution.interval() == other - one


def test_numbers_of_unbounded_systems():
    """A number is missing only where nothing can be missing."""

    def grower(*more):
        return snp.SpikingSystem(
            [
                snp.Neuron("a", 1, ["a+/a -> a"]),
                snp.Neuron("b", 1, ["a+/a -> a^2"]),
                snp.Neuron("c", 2, ["a^2/a -> a", "a -> a", *more]),
            ],
            [("a", "b"), ("b", "a")],
            output="c",
        )

    one, other = grower(), grower("a -> a; 2")
    by = SameNumbers(5)
    found = compared_numbers(one, other, by, max_depth=9)
    assert found.verdict is Agreement.DIFFERENT and "computes 3" in str(found)
    assert compared_numbers(one, one, by, max_depth=0).verdict is Agreement.UNKNOWN
    assert compared_numbers(other, other, by, max_depth=3).verdict is Agreement.EQUAL_UP_TO


def compared_numbers(one, other, by, **arguments):
    return equivalent(one, other, by=by, chunks=CHUNKS, **arguments)


# ---- relations that always hold ----


def renamed(system):
    """Other names, in another order."""
    name = {neuron.name: f"other {neuron.name}" for neuron in system.neurons}
    return system.replace(
        neurons=[
            snp.Neuron(name[neuron.name], neuron.spikes, neuron.rules)
            for neuron in reversed(system.neurons)
        ],
        synapses=[(name[x], name[y], weight) for x, y, weight in reversed(system.synapses)],
        output=[name[x] for x in system.output],
        input={name[x]: train for x, train in system.input.items()},
    )


def with_isolated(system):
    rule = snp.Rule("a{3}", 3, 1)
    return system.replace(neurons=[snp.Neuron("idle", 1, [rule]), *system.neurons])


def with_split_guards(system):
    """Each rule as two, of its counts below 3 and the others: never both apply."""

    def split(rule):
        low = snp.Guard.interval(0, 2)
        return [
            snp.Rule(guard, rule.consume, rule.produce, rule.delay)
            for guard in (rule.guard & low, rule.guard - low)
        ]

    return system.replace(
        neurons=[
            snp.Neuron(
                x.name, x.spikes, [part for rule in reversed(x.rules) for part in split(rule)]
            )
            for x in system.neurons
        ]
    )


@pytest.mark.parametrize("change", [renamed, with_isolated, with_split_guards])
@settings(max_examples=4)
@given(system=systems(min_neurons=1, max_neurons=3, max_rules=3, max_delay=2, min_outputs=1))
def test_what_changes_nothing(change, system):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        other = change(system)
    for by in (SameTraces(max_subsets=2_000), Bisimilar()):
        found = compared(system, other, by, max_configurations=MAX_CONFIGURATIONS)
        assert found.verdict is not Agreement.DIFFERENT, str(found)
        assert found or not is_small(system)


def test_a_sink_changes_nothing():
    """It counts for ever, and what is in it does not matter: saturated the system is finite."""
    ring = [snp.Neuron("m", 1, ["a -> a"]), snp.Neuron("k", 0, ["a -> a"])]
    system = snp.SpikingSystem(ring, [("m", "k"), ("k", "m")], output="k")
    other = system.replace(
        neurons=[*ring, snp.Neuron("sink")], synapses=[*system.synapses, ("k", "sink", 2)]
    )
    found = compared(system, other, Bisimilar(), max_configurations=MAX_CONFIGURATIONS)
    assert found.verdict is Agreement.EQUAL_UP_TO and "39 steps" in found.reason
    graph = explore(other, saturate={"sink": 1}, chunks=CHUNKS)
    assert equivalent(system, graph, by=Bisimilar(), chunks=CHUNKS)


SERIAL = ["a -> a", "a^2/a -> lambda", "a^3/a^2 -> a"]


def adder(rules=SERIAL, **more):
    """Adds two trains bit by bit, the carry stays in the neuron."""
    return snp.SpikingSystem(
        [snp.Neuron("x", 0, ["a -> a"]), snp.Neuron("y", 0, ["a -> a"]), snp.Neuron("s", 0, rules)],
        [("x", "s"), ("y", "s")],
        input={"x": (), "y": ()},
        output="s",
        **more,
    )


ANY = snp.AnyInput(3, neurons=("x", "y"))


def test_a_delay_line_shifts():
    """At the input or at the output of the neuron that adds."""
    rules = ["a -> a", "a^2 -> a^2"]
    both = [snp.Neuron("s", 0, SERIAL), snp.Neuron("line", 0, rules)]
    before = snp.SpikingSystem(both, [("line", "s")], input={"line": ()}, output="s")
    after = snp.SpikingSystem(both, [("s", "line")], input={"s": ()}, output="line")
    inputs = [snp.AnyInput(3, most=2, neurons=(name,)) for name in ("line", "s")]
    for by in (SameTraces, Bisimilar):
        assert compared(before, after, by(inputs=tuple(inputs)))
    plain = snp.SpikingSystem(both, [], input={"s": ()}, output="s")
    found = compared(before, plain, SameTraces(inputs=tuple(inputs)))
    # One spike leaves the neuron in step 2, and a step later through the line.
    assert [one.steps for one in found.difference.runs] == [2, 2]


MUTANTS = [
    [*SERIAL[:i], *changed, *SERIAL[i + 1 :]]
    for i, changes in enumerate(
        [
            [[], ["a -> lambda"], ["a -> a; 1"], ["a -> a^2"]],
            [[], ["a^2/a -> a"], ["a^2 -> lambda"], ["a^2/a -> lambda", "a^2 -> a"]],
            [[], ["a^3/a -> a"], ["a^3 -> a"], ["a^3/a^2 -> lambda"], ["a^2a*/a^2 -> a"]],
        ]
    )
    for changed in changes
]


@pytest.mark.parametrize("rules", MUTANTS, ids=str)
def test_every_mutant_is_caught(rules):
    for by in (Bisimilar(inputs=ANY), SameTraces(inputs=ANY)):
        found = compared(adder(), adder(rules), by)
        assert found.verdict is Agreement.DIFFERENT
    assert_trace_difference(adder(), adder(rules), found, 8)


def test_a_witness_is_run():
    found = compared(adder(), adder(MUTANTS[0]), SameTraces(inputs=ANY))
    for one in found.difference.runs:
        solution = one.replay()
        trains = np.zeros((one.steps, 2), int)
        trains[: solution.steps] = solution.spike_trains
        assert trains.T.tolist() == [list(train) for train in one.outputs.values()]
        assert solution.system.input["x"] == one.inputs["x"]


def test_bisimulation_sees_when_a_system_decides():
    """Traces do not: both emit 1 and then either 1 or nothing."""
    late = snp.SpikingSystem(
        [snp.Neuron("n", 2, ["a^2/a -> a", "a -> a", "a -> lambda"])], output="n"
    )
    early = snp.SpikingSystem(
        [snp.Neuron("n", 2, ["a^2/a -> a", "a^2 -> a", "a -> a"])], output="n"
    )
    assert compared(late, early, SameTraces())
    found = compared(late, early, Bisimilar())
    assert found.verdict is Agreement.DIFFERENT and "play" in str(found)


def test_a_halt_is_seen_on_request():
    halts = snp.SpikingSystem([snp.Neuron("n", 1, ["a -> a"]), snp.Neuron("m")], output="n")
    ring = snp.Neuron("m", 1, ["a -> a"]), snp.Neuron("k", 0, ["a -> a"])
    goes_on = snp.SpikingSystem(
        [snp.Neuron("n", 1, ["a -> a"]), *ring], [("m", "k"), ("k", "m")], output="n"
    )
    for by in (SameTraces, Bisimilar):
        assert compared(halts, goes_on, by())
        found = compared(halts, goes_on, by(halting=True))
        assert found.verdict is Agreement.DIFFERENT and "halt" in str(found.difference)


# ---- arguments ----


def test_inputs_are_matched():
    by = SameTraces(inputs=snp.AnyInput(3))
    other = renamed(adder())
    assert equivalent(adder(), other, by=by, chunks=CHUNKS)  # by order
    assert equivalent(adder(), adder().replace(input={"y": (), "x": ()}), by=by, chunks=CHUNKS)
    names = ANY, snp.AnyInput(3, neurons=("other y", "other x"))
    assert equivalent(adder(), other, by=SameTraces(inputs=names), chunks=CHUNKS)
    with pytest.raises(ValueError, match="2 input neurons, the second 1"):
        equivalent(adder(), other.replace(input={"other x": ()}), by=by)
    with pytest.raises(ValueError, match="differ"):
        equivalent(adder(), adder(), by=SameTraces(inputs=(snp.AnyInput(3), snp.AnyInput(4))))


def test_outputs_are_matched():
    for by in (SameTraces(), Bisimilar(), SameNumbers(3)):
        with pytest.raises(ValueError, match="output"):
            compared(adder(), adder().replace(output=["s", "x"]), by)


def test_a_limit_of_subsets_is_said():
    by = SameTraces(inputs=ANY, max_subsets=3)
    found = compared(adder(), adder(), by)
    assert found.verdict is Agreement.EQUAL_UP_TO and "max_subsets" in found.reason


def test_graphs_may_be_given():
    system = with_ballast(adder())
    graph = explore(system, chunks=CHUNKS)
    assert equivalent(graph, system, chunks=CHUNKS)
    with pytest.raises(ValueError, match="listed"):
        equivalent(graph, system, by=SameTraces(inputs=snp.AnyInput(2)))


def test_both_models_are_checked_before_the_first_is_explored():
    system = snp.SpikingSystem([snp.Neuron("n", 1, ["a -> a"])])

    def explored(*_):
        raise AssertionError("the first model was explored")

    with pytest.raises(NotImplementedError, match="objects of the type Rule"):
        equivalent(system, snp.Rule("a", 1, 1), progress=explored)  # pyright: ignore
