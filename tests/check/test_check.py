"""Verdicts on systems: as the reference has it, with witnesses that run, and never on a truncated
graph what a complete one contradicts."""

import json
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax import Astrocyte, Astrocytes, Channels, Exhaustive, SynapseRules
from snpjax.check import reach_probability
from snpjax.check.query.formula import Observed, Quantified, all_parts, comparisons
from snpjax.check.query.names import needs_of
from snpjax.check.query.parse import parse_query
from snpjax.testing import reference, reference_graph, systems, variant_systems
from tests.cli.test_cli import invoke
from tests.explore.test_explore import CHUNKS, MAX_CONFIGURATIONS
from tests.spiking.test_timed_variants import padded
from tests.support.branching import holds_in
from tests.support.helpers import case_system, load_cases, many, with_ballast
from tests.support.lassos import Lasso, is_true


PATTERNS = [
    "always {0}",
    "never {0}",
    "eventually {0}",
    "next next {0}",
    "infinitely often {0}",
    "steady {0}",
    "{0} followed by {1}",
    "{0} preceded by {1}",
    "{0} until {1}",
    "{0} weak until {1}",
    "always ({0} implies next {1})",
    "eventually ({0} and always {1})",
    "{0} implies (eventually {1} and never {0})",
    "eventually (({0} until next {1}) or always next {0})",
    "(infinitely often {0}) implies infinitely often {1}",
    "eventually within 3 steps {0} and always for 2 steps {1}",
    "{0} followed by within 2 steps {1}",
]
#: With path quantifiers inside, of which no path alone tells the truth.
NESTED = [
    "always on some path eventually {0}",
    "eventually ({0} and on all paths next {1})",
    "({0} until on some path always {1}) or on all paths steady {0}",
]


def explored(system, **limits):
    limits = {"max_configurations": MAX_CONFIGURATIONS, **limits}
    return snp.explore(system, chunks=CHUNKS, **limits)


@st.composite
def conditions(draw, system):
    neuron = draw(st.sampled_from(system.neurons))
    name, number = f'"{neuron.name}"', draw(st.integers(0, 3))
    relation = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
    functions = [f"{function}({name})" for function in ("emits", "timer", "pending", "in_flight")]
    kinds = [name, *functions, "total", "halted", "open", "mixed"]
    kind = draw(st.sampled_from([*kinds, "fires"] if neuron.rules else kinds))
    match kind:
        case "halted":
            return "halted"
        case "open":
            return f"open({name})"
        case "fires":
            return f"fires({name}, {draw(st.integers(0, len(neuron.rules) - 1))})"
        case "total":
            some = " + ".join(f'"{neuron.name}"' for neuron in system.neurons[:3])
            return f"({some} {relation} {number})"
        case "mixed":
            return f"(2 * {name} - emits({name}) {relation} {number})"
    if draw(st.integers(0, 4)) == 0:
        modulus = draw(st.integers(1, 4))
        relation = "=" if relation == "=" else "!="
        return f"({kind} mod {modulus} {relation} {number % modulus})"
    return f"({kind} {relation} {number})"


@st.composite
def queries(draw, system, conditions=conditions):
    pattern = draw(st.sampled_from([*PATTERNS, *NESTED]))
    text = pattern.format(draw(conditions(system)), draw(conditions(system)))
    if "implies" in pattern or draw(st.booleans()):
        return text
    return f"on some path ({text})"


def value_of(variable, system, configuration, emissions, choice):
    """A variable in a configuration of the reference, after a step or none."""
    match variable.observed:
        case Observed.HALTED:
            return int(reference.is_halting(system, configuration))
    neuron = system.names[variable.neuron]
    match variable.observed:
        case Observed.SPIKES:
            return configuration.spikes[neuron]
        case Observed.TIMER:
            return configuration.timers[neuron]
        case Observed.PENDING:
            return configuration.pending[neuron]
        case Observed.IN_FLIGHT:
            timing = configuration.timing
            flights = () if timing is None else timing.in_flight
            return sum(spikes for _, target, spikes in flights if target == neuron)
        case Observed.EMITS:
            return 0 if emissions is None else emissions[neuron]
    return int(choice is not None and choice[neuron] == variable.rule)


def compared(comparison, value):
    difference = sum(x * value(variable) for variable, x in comparison.terms) - comparison.constant
    if comparison.modulus is not None:
        difference %= comparison.modulus
    return {"=": difference == 0, "<=": difference <= 0}.get(comparison.relation, difference >= 0)


def reference_holds(query, system, graph):
    """Whether a query holds by a structure made of the reference's graph, choice by choice."""
    outgoing = {}
    for source, choice, emissions, target in graph.edges:
        outgoing.setdefault(source, []).append((target, emissions, choice))
    states, following = {(0, None, None): 0}, []
    for state in (listed := list(states)):
        own = outgoing.get(state[0], [(state[0], None, None)])
        for after in own:
            if after not in states:
                states[after] = len(states)
                listed.append(after)
        following.append([states[after] for after in own])
    holds = cache(lambda comparison, state: compared(
        comparison,
        lambda v, s=[*states][state]: value_of(v, system, graph.configurations[s[0]], s[1], s[2]),
    ))  # fmt: skip
    return holds_in(query.quantified, following, holds)[0]


def assert_witness(verdict):
    """The witness runs, through its configurations, and the query is so there."""
    query, graph, system = parse_query(verdict.query), verdict.graph, verdict.graph.system
    run = verdict.replay()
    numbers = list(verdict.witness)
    steps = verdict.num_steps if verdict.loop is None else max(verdict.num_steps - 1, 0)
    caps = [graph.saturate.get(neuron.name, 2**31) for neuron in system.neurons]
    made = min(run.steps, verdict.num_steps)
    for step, spikes in enumerate(verdict.spikes.tolist()):
        at = min(step, made)
        assert spikes == np.minimum(run.configurations[at], caps).tolist()
        assert graph.configurations([numbers[step]]).timers[0].tolist() == (
            run.timer_history[at].tolist()
        )
    # Where the witness goes on in any way, it is followed by one of these.
    if verdict.loop is not None:
        assert numbers[-1] == numbers[verdict.loop]
        lasso = Lasso(tuple(range(steps + 1)), verdict.loop)
    elif reference_is_halting(graph, numbers[-1]):
        lasso = Lasso((*range(steps + 1), steps + 1), steps + 1)
    else:
        return

    def holds(comparison, position):
        def value(variable):
            at = min(position, made)
            match variable.observed:
                case Observed.HALTED:
                    return int(reference_is_halting(graph, numbers[min(position, steps)]))
                case Observed.STEP:
                    return at
            neuron = system.names[variable.neuron]
            came = 0 < position <= made
            match variable.observed:
                case Observed.SPIKES:
                    return int(run.configurations[at, neuron])
                case Observed.TIMER:
                    return int(run.timer_history[at, neuron])
                case Observed.PENDING:
                    return int(run.pending_history[at, neuron])
                case Observed.IN_FLIGHT:
                    return int(run.in_flight(at)[:, neuron].sum())
                case Observed.EMITS:
                    return int(run.emissions[position - 1, neuron]) if came else 0
            return int(came and run.rules[position - 1, neuron] == variable.rule)

        return compared(comparison, value)

    has_quantifier = any(isinstance(part, Quantified) for part in all_parts(query.formula))
    if not has_quantifier and (verdict.loop is None or not query_is_of_step(query)):
        assert is_true(query.formula, lasso, holds) != query.on_all_paths


def query_is_of_step(query):
    """Whether the first time round a loop may differ from the others in how it was entered."""
    return any(comparison.is_of_step for comparison in comparisons(query.formula))


def reference_is_halting(graph, number):
    return bool(graph.configurations([number]).is_halting[0])


def check_against_reference(system, data):
    expected = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    graph = explored(system)
    for _ in range(3):
        text = data.draw(queries(system))
        verdict = snp.check(graph, text)
        if verdict.witness is not None:
            assert_witness(verdict)
        if graph.is_complete:
            assert bool(verdict) == reference_holds(parse_query(text), system, expected), text
        else:
            assert verdict.is_decided or verdict.status is snp.Status.BOUNDED


SMALL = systems(max_neurons=4)


@settings(max_examples=8)
@given(SMALL, st.data())
def test_verdicts_are_those_of_the_reference(system, data):
    check_against_reference(with_ballast(system), data)


@settings(max_examples=6)
@given(
    variant_systems("synapse-delays", max_neurons=4) | variant_systems("dendritic-delays"),
    st.data(),
)
def test_verdicts_on_spikes_in_flight_are_those_of_the_reference(system, data):
    check_against_reference(padded(system), data)


@pytest.mark.slow
@settings(max_examples=many(2_000, part=64), suppress_health_check=[HealthCheck.too_slow])
@given(systems(max_neurons=5), st.data())
def test_many_verdicts(system, data):
    check_against_reference(with_ballast(system), data)


@pytest.mark.slow
@settings(max_examples=25)
@given(SMALL, st.data())
def test_a_part_of_the_graph_contradicts_nothing(system, data):
    """Neither a limit nor saturation changes a verdict, but to one that leaves it open."""
    system = with_ballast(system)
    whole = explored(system, max_configurations=4 * MAX_CONFIGURATIONS)
    text = data.draw(queries(system))
    verdict = snp.check(whole, text)
    part = snp.check(explored(system, max_depth=data.draw(st.integers(0, 4))), text)
    caps = {"ballast 2": 1} | {
        neuron.name: data.draw(st.integers(1, 3)) for neuron in system.neurons if not neuron.rules
    }
    saturated = snp.check(explored(system, saturate=caps), text)
    for other in (part, saturated):
        if other.is_decided and verdict.is_decided:
            assert other.status is verdict.status, text
    needs = needs_of(parse_query(text), system, saturate=None, max_depth=None)
    exact = snp.check(explored(system, saturate=needs.saturate), text)
    if verdict.is_decided and exact.graph.is_complete:
        assert exact.status is verdict.status


@settings(max_examples=12)
@given(SMALL, st.integers(0, 4), st.sampled_from([3, MAX_CONFIGURATIONS]))
def test_only_what_may_go_on_is_open(system, depth, most):
    """A halting configuration has no successors, whether it was expanded or not."""
    system = with_ballast(system)
    expected = reference_graph.explore(system, max_configurations=most, max_depth=depth)
    halts = [reference.is_halting(system, x) for x in expected.configurations]
    is_open = [not x and i >= expected.num_expanded for i, x in enumerate(halts)]
    graph = explored(system, max_configurations=most, max_depth=depth)
    assert graph.is_halting.tolist() == halts and graph.is_open.tolist() == is_open
    assert graph.halting().tolist() == np.flatnonzero(halts).tolist()
    assert graph.is_complete == (not any(is_open))
    if any(is_open):
        assert graph.num_expanded == expected.num_expanded
        assert graph.whole_depth == expected.depths[is_open.index(True)]
        return
    whole = explored(system)
    assert graph.num_expanded == whole.num_expanded == graph.num_configurations
    assert graph.targets.tolist() == whole.targets.tolist()
    assert graph.whole_depth == whole.whole_depth


@settings(max_examples=8)
@given(SMALL, st.integers(0, 4), st.integers(0, 3), st.integers(0, 2))
def test_steps_are_told_apart(system, step, spikes, place):
    """What can be in exactly this many steps."""
    system = with_ballast(system)
    now = {reference.initial(system)}
    for _ in range(step):
        now = {
            reference.step(system, x, choice)[0]
            for x in now
            if not reference.is_halting(system, x)
            for choice in reference.choices(system, x)
        }
        if len(now) > 50:
            return
    neuron = system.neurons[place % len(system.neurons)].name
    text = f'never (step = {step} and "{neuron}" > {spikes})'
    query = parse_query(text)
    needs = needs_of(query, system, saturate=None, max_depth=None)
    assert needs.clock == step + 1
    graph = explored(system, max_configurations=2_000, clock=needs.clock, max_depth=step + 1)
    verdict = snp.check(graph, text)
    exceeds = any(x.spikes[system.names[neuron]] > spikes for x in now)
    assert verdict.is_refuted == exceeds
    if exceeds:
        assert verdict.num_steps == step
    if step:
        with pytest.raises(snp.QueryError, match="explore with `clock="):
            snp.check(explored(system, max_depth=1), text)


@pytest.mark.parametrize("variant", ["exhaustive", "astrocytes", "synapse-rules", "channels"])
def test_sinks_of_variants_are_saturated(variant):
    """What nothing depends on is counted as far as the query goes: they collect spikes for ever."""
    rules = [snp.Neuron("p", 1, ["a+/a -> a"]), snp.Neuron("s"), snp.Neuron("t")]
    bare = [snp.Neuron(neuron.name, neuron.spikes) for neuron in rules]
    ring = [("p", "p"), ("p", "s"), ("p", "t")]
    system = {
        "exhaustive": lambda: snp.SpikingSystem(rules, ring, variant=Exhaustive()),
        "astrocytes": lambda: snp.SpikingSystem(
            rules, ring, variant=Astrocytes([Astrocyte([("p", "s")], 1)])
        ),
        "channels": lambda: snp.SpikingSystem(
            [snp.Neuron("p", 1, ["a+/a -> a(1)"]), *bare[1:]], variant=Channels({"1": ring})
        ),
        "synapse-rules": lambda: snp.SpikingSystem(
            bare, ring, variant=SynapseRules({pair: ["a+/a -> a"] for pair in ring})
        ),
    }[variant]()
    query = parse_query("always s <= 5")
    needs = needs_of(query, system, saturate=None, max_depth=None)
    assert needs.saturate == {"s": 6, "t": 1}
    verdict = snp.check(system, "always s <= 5")
    assert verdict.is_refuted and verdict.graph.is_complete
    assert verdict.replay().spikes[1] == 6
    assert snp.check(system, "always p = 1").is_proved


@pytest.mark.parametrize("case", load_cases("spiking", schema="snpjax-case/1"))
def test_published_verdicts(case):
    wanted = case["expected"].get("queries", ())
    for query in wanted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", snp.ModelWarning)
            system = with_ballast(case_system(case))
        by_itself = snp.check(system, query["query"], max_configurations=1_000)
        given = query.get("saturate")
        graph = snp.explore(system, max_configurations=1_000, saturate=given, chunks=CHUNKS)
        for verdict in (by_itself, snp.check(graph, query["query"])):
            assert bool(verdict) == query["holds"], query
            assert verdict.vacuous == ()
            if verdict.witness is not None:
                assert_witness(verdict)


# ---- one small system ----

RING = [snp.Neuron("n1", 1, ["a -> a"]), snp.Neuron("n2", 0, ["a -> a", "a -> lambda"])]
#: A spike goes round, until n2 forgets it.
FORGETFUL = with_ballast(snp.SpikingSystem(RING, [("n1", "n2"), ("n2", "n1")]))


#: c loses a spike a step and may send it to o or not; then nothing is left to do.
COUNTDOWN = with_ballast(
    snp.SpikingSystem(
        [snp.Neuron("c", 2, ["a+/a -> a", "a -> lambda"]), snp.Neuron("o")],
        [("c", "o")],
        output="c",
    )
)


@pytest.fixture(scope="module")
def countdown():
    return explored(COUNTDOWN)


def test_witness_of_a_safety_property(countdown):
    verdict = snp.check(countdown, "always o <= 1")
    assert verdict.is_refuted and not verdict and verdict.loop is None
    assert verdict.spikes[:, :2].tolist() == [[2, 0], [1, 1], [0, 2]]
    assert verdict.rules[:, :2].tolist() == [[0, -1], [0, -1]]
    lines = str(verdict).splitlines()
    assert lines[0] == "always o <= 1: refuted (shown by 2 steps)"
    assert lines[1:] == [
        "  step 0: c = 2",
        "  step 1: c: a+/a -> a | c = 1, o = 1",
        "  step 2: c: a+/a -> a | c = 0, o = 2",
    ]


def test_witness_tells_inputs_in_words():
    """Of the environment, which is no neuron of the user."""
    system = snp.SpikingSystem(
        [snp.Neuron("0{0}", 0, ["a+/a -> a"]), snp.Neuron("environment of o"), snp.Neuron("o")],
        [("0{0}", "o")],
        input={"0{0}": ()},
    )
    graph = snp.explore(system, inputs=snp.AnyInput(2, most=2))
    assert str(snp.check(graph, "always o + '0{0}' <= 2".replace("'", '"'))).splitlines()[1:] == [
        "  step 0: any input to 0{0} in steps 1 to 2",
        "  step 1: input to 0{0}: 1 spike | 0{0} = 1",
        "  step 2: 0{0}: a+/a -> a, input to 0{0}: 2 spikes | 0{0} = 2, o = 1",
    ]
    assert str(snp.check(graph, "eventually o >= 1")).splitlines()[1:] == [
        "  step 0: any input to 0{0} in steps 1 to 2",
        "  step 1: no input to 0{0} | no change",
        "  step 2: no input to 0{0} | no change",
        "  halts; the last configuration repeats",
    ]


def test_witness_that_halts(countdown):
    verdict = snp.check(countdown, "eventually o = 2")
    assert verdict.is_refuted and verdict.witness is not None and verdict.loop is not None
    assert verdict.witness[-1] == verdict.witness[verdict.loop]
    assert "then it has halted" in verdict.summary and "repeated from here" not in str(verdict)
    *_, before, last = str(verdict).splitlines()
    assert before.startswith(f"  step {verdict.loop}: c: ")
    assert last == "  halts; the last configuration repeats"
    assert snp.check(countdown, "eventually halted")
    assert snp.check(countdown, "steady (halted and c = 0)")


def test_steps_have_no_part_in_the_first_configuration_or_after_the_halt(countdown):
    assert snp.check(countdown, "not emits(c) and next emits(c)")
    assert snp.check(countdown, "emits(c) = 0 and not fires(c, 0) and not fires(c, 1)")
    assert snp.check(countdown, "never (fires(c, 0) and fires(c, 1))")
    assert snp.check(countdown, "steady (emits(c) = 0 and not fires(c, 0))")
    assert snp.check(countdown, "always (fires(c, 1) implies c = 0)")
    refuted = snp.check(countdown, "always (halted implies emits(c) = 1)")
    assert refuted.is_refuted and refuted.num_steps == 2
    assert refuted.rules[:, 0].tolist() == [0, 1]


def test_replay(countdown):
    run = snp.check(countdown, "always o <= 1").replay()
    assert run.halted and run.configurations[:, :2].tolist() == [[2, 0], [1, 1], [0, 2]]
    lasso = snp.check(countdown, "eventually o = 2")
    assert lasso.replay().steps == lasso.loop < lasso.num_steps
    for text in ("always o <= 2", "on some path eventually o = 3"):
        with pytest.raises(ValueError, match="no computation shows it"):
            snp.check(countdown, text).replay()


def test_a_replay_that_differs_is_a_bug(countdown):
    verdict = snp.check(countdown, "always o <= 1")
    other = snp.check(countdown, "on some path eventually (c = 0 and o = 1)")
    with pytest.raises(AssertionError, match="please report it"):
        replace(verdict, choices=other.choices).replay()


def test_a_replay_counts_beyond_what_was_cut():
    """In the search the sink is cut at 1."""
    system = snp.SpikingSystem(
        [snp.Neuron("p", 7, ["a+/a -> a"]), snp.Neuron("sink")], [("p", "sink", 2**29)]
    )
    verdict = snp.check(system, "never p = 0")
    assert verdict.replay().spikes.tolist() == [0, 7 * 2**29]


def test_some_path(countdown):
    proved = snp.check(countdown, "on some path eventually o = 2")
    assert proved and proved.witness is not None and proved.num_steps == 2
    refuted = snp.check(countdown, "on some path eventually o = 3")
    assert refuted.is_refuted and refuted.witness is None and refuted.choices is None
    for text in ("on some path always o = 0", "on some path c = 2 followed by fires(c, 1)"):
        assert not snp.check(countdown, text) if "always" in text else snp.check(countdown, text)


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        ("always (c = 5 implies next c = 4)", ("`c = 5` is never true",)),
        ("(c = 5 or c = 6) followed by halted", ("`c = 5 or c = 6` is never true",)),
        ("c = 5 preceded by c = 1", ("`c = 5` is never true",)),
        ("never (c = 5 and o = 1)", ("`c = 5` is never true",)),
        ("always (not c = 5 or o = 1)", ("`c = 5` is never true",)),
        ("never c = 5", ()),
        ("always (c = 1 implies o <= 1)", ()),
        ("c = 1 implies o = 2", ("`c = 1` is false in the initial configuration",)),
        ("c = 2 implies next c = 1", ()),
        ("next (c = 2 implies o = 2)", ("`c = 2` is never true where the query looks at it",)),
        ("next (o = 1 implies c = 1)", ()),
        ("always ((next c = 2) implies o = 1)", ("`next c = 2` is never true",)),
        ("always ((next c = 1) implies c = 2)", ()),
        ("always ((eventually o = 3) implies c = 1)", ("`eventually o = 3` is never true",)),
        ("(next c = 2) implies c = 1", ("`next c = 2` is false in the initial configuration",)),
        ("(eventually o = 2) implies c = 2", ()),
        ("(next c = 2) preceded by halted", ("`next c = 2` is never true",)),
        ("never (o = 2 and next c = 2)", ("`next c = 2` is never true",)),
        (
            "on some path eventually (o = 1 and (o = 2 implies c = 2))",
            ("`o = 2` is never true on the path shown",),
        ),
        ("on some path eventually (o = 1 and (c = 2 implies o = 2))", ()),
    ],
)
def test_vacuous_parts_are_remarked(countdown, text, remarks):
    verdict = snp.check(countdown, text)
    assert verdict.is_proved and verdict.vacuous == remarks
    assert all(remark in str(verdict) for remark in verdict.vacuous)


def test_functions_are_properties(countdown):
    verdict = snp.check(countdown, lambda c: c["o"] <= 1)
    assert verdict.is_refuted and verdict.num_steps == 2
    assert snp.check(countdown, lambda c: c["o"] + c["c"] <= 2)
    with pytest.raises(ValueError, match=r"gives int.* of shape \(\d+,\)"):
        snp.check(countdown, lambda c: c["o"])
    with pytest.raises(ValueError, match=r"shape \(\)"):
        snp.check(countdown, lambda c: True)  # pyright: ignore
    with pytest.raises(TypeError, match="is not a property"):
        snp.check(countdown, 3)  # pyright: ignore
    with pytest.raises(KeyError, match="no neuron 'x'"):
        snp.check(countdown, lambda c: c["x"] == 0)


def test_a_graph_without_edges_is_enough_for_safety():
    graph = explored(COUNTDOWN, edges=False)
    assert snp.check(graph, "always o <= 2")
    assert snp.check(graph, "on some path eventually o = 2").num_steps == 2
    with pytest.raises(ValueError, match="edges=True"):
        snp.check(graph, "eventually halted")


def test_limits_are_told():
    bounded = snp.check(COUNTDOWN, "always o <= 2", max_depth=1, induction=False)
    assert bounded.status is snp.Status.BOUNDED and bounded.depth == 1
    assert "within 1 step" in bounded.summary
    with pytest.raises(ValueError, match="is bounded"):
        bool(bounded)
    assert snp.check(COUNTDOWN, "next o <= 1", max_depth=1)  # no more has to be known
    assert snp.check(COUNTDOWN, "eventually c = 1", max_depth=1)
    assert not snp.check(COUNTDOWN, "next c = 2", max_depth=1)
    cut = snp.check(explored(COUNTDOWN, saturate={"o": 1}), "always o <= 1")
    assert cut.status is snp.Status.UNKNOWN and "saturate" in cut.reason
    with pytest.raises(ValueError, match="explored already"):
        snp.check(cut.graph, "always o <= 1", max_depth=3)


def test_overflow_is_unknown():
    system = snp.SpikingSystem(
        [snp.Neuron("p", 1, ["a+/a -> a"]), snp.Neuron("q", 0, ["a{7} -> a"])],
        [("p", "p"), ("p", "q", 2**29)],
    )
    verdict = snp.check(system, "always p = 1")
    assert verdict.status is snp.Status.UNKNOWN and "32 bits" in verdict.reason
    assert snp.check(system, "never q >= 1000").is_refuted


@pytest.mark.slow
def test_saturation_by_itself_is_exact():
    """A neuron without rules that grows for ever: as far as a query asks, it does not."""
    system = snp.SpikingSystem(
        [snp.Neuron("p", 1, ["a -> a"]), snp.Neuron("q", 1, ["a -> a"]), snp.Neuron("n")],
        [("p", "q"), ("q", "p"), ("p", "n")],
    )
    assert snp.check(system, "always p = 1", max_configurations=100)
    assert snp.check(system, "eventually always n > 20", max_configurations=100)
    assert snp.check(system, "never 2 * n = 5", max_configurations=100)
    options = {"max_configurations": 100, "induction": False}
    assert snp.check(system, "always n >= p - 1", **options).status is snp.Status.BOUNDED


def test_only_counts_that_can_be_cut_are_saturated():
    """A bound of 2^30 - 1 or more is no mistake of the user."""
    system = snp.SpikingSystem(
        [snp.Neuron("s", 1, ["a -> a"]), snp.Neuron("sink")], [("s", "s"), ("s", "sink")]
    )

    def needs(text):
        return needs_of(parse_query(text), system, saturate=None, max_depth=None)

    assert needs("always sink <= 1073741822").saturate == {"sink": 2**30 - 1}
    assert needs("always sink <= 1073741823").saturate == {}
    assert needs("always step <= 1073741822").clock == 2**30 - 1
    with pytest.raises(snp.QueryError, match="query:1:8: `step` is .* above 1,073,741,822 "):
        needs("always step <= 1073741823")
    verdict = snp.check(system, "always sink <= 1073741823", max_depth=2, induction=False)
    assert verdict.status is snp.Status.BOUNDED


def test_neurons_in_congruences_are_not_saturated():
    """A sink that is cut at some number would have one remainder for ever."""
    clock = snp.SpikingSystem([snp.Neuron("s", 3, ["a+/a -> a"]), snp.Neuron("t")], [("s", "t")])
    assert snp.check(clock, "always (s + t) mod 3 = 0")
    assert snp.check(clock, "eventually (halted and t mod 2 = 1)")
    assert not snp.check(clock, "never t mod 3 = 2")
    capped = snp.explore(clock, saturate={"t": 1})
    assert snp.check(capped, "never t mod 3 = 2").status is snp.Status.UNKNOWN
    assert snp.check(capped, "always (t mod 2 = 0 or t > 0)")


def test_remainders_of_steps_need_a_depth():
    loop = snp.SpikingSystem([snp.Neuron("s", 2, ["a+/a -> a"])], [])
    with pytest.raises(snp.QueryError, match="`step` is not compared with a constant"):
        snp.check(loop, "always (step + s) mod 2 = 0")
    assert not snp.check(loop, "always (step mod 2 = 0 implies s != 1)", max_depth=1).is_refuted


def test_pending_spikes():
    system = snp.SpikingSystem([snp.Neuron("s", 1, ["a -> a; 2"]), snp.Neuron("t")], [("s", "t")])
    assert snp.check(system, "always s + pending(s) + t = 1")
    assert snp.check(system, "always (pending(s) = 0 implies open(s))")
    assert snp.check(system, "always (open(s) implies pending(s) = 0)")


def test_names_are_checked(countdown):
    for text, column, words in (
        ("always cc = 1", 8, "did you mean 'c'"),
        ("always c = 1 or fires(c, 2)", 23, "has no rule 2 (its rules: 0 to 1)"),
        ("fires(o, 0)", 7, "its rules: none"),
    ):
        with pytest.raises(snp.QueryError) as caught:
            snp.check(countdown, text)
        assert caught.value.column == column and words in str(caught.value)
    with pytest.raises(snp.QueryError, match="give `max_depth`"):
        snp.check(COUNTDOWN, "always step >= o")
    assert snp.check(COUNTDOWN, "next step > o - 1", max_depth=3)


def test_neurons_of_populations():
    system = snp.PopulationSystem(
        [
            snp.Population("in", 3, [1, 0, 0], ["a -> a"], indices=[5, 6, 7]),
            snp.Population("out", 1, 0),
        ],
        [snp.Projection("in", "out", snp.graphs.AllToAll())],
    )
    assert snp.check(system, "never 'in{7}' > 0 and eventually 'out[0]' = 1")
    verdict = snp.check(system, "never 'out[0]' = 1")
    assert verdict.is_refuted and verdict.replay().spikes.tolist() == verdict.spikes[-1].tolist()
    with pytest.raises(snp.QueryError, match=r'of 3 neurons .name one of them: "in\{5\}"'):
        snp.check(system, "always in = 1")


def test_any_input():
    system = snp.SpikingSystem(
        [snp.Neuron("i", 0, ["a -> a"]), snp.Neuron("o")], [("i", "o")], input={"i": [1]}
    )
    inputs = snp.AnyInput(3)
    assert snp.check(system, "always o <= 3", inputs=inputs)
    verdict = snp.check(system, "always o <= 2", inputs=inputs)
    assert verdict.is_refuted and verdict.num_steps == 4
    assert_witness(verdict)


# ---- all of CTL* ----


@pytest.fixture(scope="module")
def ring():
    return explored(FORGETFUL)


def test_path_quantifiers_inside(ring):
    assert snp.check(ring, "always on some path eventually halted")
    refuted = snp.check(ring, "always on some path eventually n1 = 1")
    assert refuted.is_refuted and refuted.num_steps == 2
    assert refuted.unseen == ("`on some path eventually n1 = 1` is false",)
    assert str(refuted).endswith("\n  there `on some path eventually n1 = 1` is false")
    assert snp.check(ring, "AG EF n1 = 1").unseen == ("`EF n1 = 1` is false",)
    assert refuted.replay().halted


def test_one_path_shows_what_is_quantified_inside(ring):
    proved = snp.check(ring, "on some path next on some path always n1 = 0")
    assert proved.spikes[:, :2].tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]
    assert (proved.loop, proved.unseen) == (2, ())
    refuted = snp.check(ring, "always on all paths (n2 = 1 implies next n1 = 1)")
    assert refuted.num_steps == 2 and refuted.unseen == ()
    two = snp.check(
        ring, "on some path ((on some path next n2 = 1) and on some path always n1 < 2)"
    )
    assert two.num_steps == 0 and len(two.unseen) == 2


def test_numbers_of_steps(ring):
    refuted = snp.check(ring, "eventually within 3 steps halted")
    assert refuted.is_refuted and refuted.num_steps == 3
    assert snp.check(ring, "on some path eventually within 2 steps halted").num_steps == 2
    assert not snp.check(ring, "on some path eventually within 1 step halted")
    assert snp.check(ring, "always for 1 step not halted")
    assert snp.check(ring, "(n1 = 1 followed by within 1 step n2 = 1) and always n1 + n2 <= 1")


def test_fair_paths(ring):
    text = "infinitely often n1 = 1"
    assert not snp.check(ring, text)
    assert snp.check(ring, text, fair=["not halted"])
    strong = "infinitely often n2 = 1 implies infinitely often fires(n2, 1)"
    halts = snp.check(ring, "eventually halted", fair=[strong])
    assert halts.is_proved and halts.vacuous == ()
    refuted = snp.check(ring, "eventually n1 = 2", fair=["not halted", "n2 = 1"])
    assert refuted.is_refuted and refuted.loop == 0 and refuted.num_steps == 2
    none = snp.check(ring, "eventually n1 = 2", fair=["n1 = 7"])
    assert none.is_proved and none.vacuous == ("no path is fair",)
    assert not snp.check(ring, "on some path always n1 <= 1", fair=["n1 = 7"])
    # A configuration from which every fair path has gone is none of a fair path.
    assert snp.check(ring, "always n1 + n2 = 1", fair=["not halted"])


@pytest.mark.parametrize(
    ("fair", "column", "words"),
    [
        ("n3 = 1", 1, "there is no neuron 'n3'"),
        ("n1 =", 5, "the query ends"),
        ("on some path n1 = 1", 1, "says nothing of other paths"),
        ("n1 = 1 & EF n2 = 1", 10, "says nothing of other paths"),
        ("n1 = 1 and on all paths next n2 = 1", 12, "says nothing of other paths"),
    ],
)
def test_mistakes_in_conditions_of_fair_paths(ring, fair, column, words):
    with pytest.raises(snp.QueryError) as caught:
        snp.check(ring, "always n1 = 1", fair=[fair])
    assert words in str(caught.value) and caught.value.column == column


def test_fair_paths_need_a_query(ring):
    with pytest.raises(ValueError, match="Give a query for `fair`"):
        snp.check(ring, lambda c: c["n1"] <= 1, fair=["n1 = 1"])


def test_what_a_fair_path_compares_is_not_cut():
    """A neuron without rules is counted as far as a condition of fair paths needs it."""
    system = snp.SpikingSystem(
        [snp.Neuron("p", 1, ["a -> a"]), snp.Neuron("q", 1, ["a -> a"]), snp.Neuron("n")],
        [("p", "q"), ("q", "p"), ("p", "n")],
    )
    verdict = snp.check(system, "eventually p = 0", fair=["n < 3"], max_configurations=100)
    assert verdict.is_proved and verdict.vacuous == ("no path is fair",)


@pytest.mark.parametrize(
    "text",
    [
        "always on some path eventually n1 = 1",
        "infinitely often (n1 = 1 or n2 = 1)",
        "eventually (n1 = 2 until next n1 = 2)",
        "always for 9 steps n1 + n2 <= 1",
        "n1 = 1 followed by within 2 steps n1 = 1",
        "on all paths (steady n1 = 1 or infinitely often n2 = 1)",
        "on some path infinitely often n1 = 1",
        "on some path always for 9 steps n1 + n2 = 1",
    ],
)
@pytest.mark.parametrize("fair", [(), ("n1 = 1",)])
def test_what_depends_on_open_configurations_is_not_decided(text, fair):
    verdict = snp.check(FORGETFUL, text, fair=fair, max_depth=1)
    assert verdict.status is snp.Status.BOUNDED and verdict.witness is None


def test_what_does_not_depend_on_open_configurations_is_decided():
    for text, holds in (
        ("always for 1 step n1 + n2 = 1", True),
        ("eventually within 1 step n2 = 1", True),
        ("next on some path (n2 = 1 or next n1 = 1)", True),
        ("always on some path next n2 = 1", None),
        ("always (n1 = 1 and on some path next n2 = 1)", False),
    ):
        verdict = snp.check(FORGETFUL, text, max_depth=1)
        assert (bool(verdict) if verdict.is_decided else None) == holds, text


def test_too_many_operators_are_refused(ring):
    text = " and ".join(f"eventually (n1 = {n} and next n2 = {n})" for n in range(20))
    with pytest.raises(snp.QueryError, match="too many operators"):
        snp.check(ring, f"on some path ({text})")
    with pytest.raises(snp.QueryError, match="too many operators"):
        snp.check(ring, " and ".join(["(n1 = 1 or next n2 = 1)"] * 300))


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        ("n1 = 1 until n1 + n2 = 1", ("`n1 = 1` does not matter: the query holds whatever it is",)),
        ("n1 = 1 until n2 = 1", ()),
        (
            "n1 + n2 <= 1 weak until n1 = 5",
            ("`n1 = 5` does not matter: the query holds whatever it is",),
        ),
        (
            "next (n2 = 1 or eventually halted)",
            ("`eventually halted` does not matter: the query holds whatever it is",),
        ),
        ("always for 2 steps (n1 = 5 implies next n2 = 1)", ("`n1 = 5` is never true",)),
        ("n1 = 5 followed by within 2 steps n2 = 1", ("`n1 = 5` is never true",)),
        ("always not (n1 = 5 and next n2 = 1)", ("`n1 = 5` is never true",)),
        (
            "always on some path (n1 = 5 implies next n2 = 1)",
            ("`n1 = 5` is never true",),
        ),
        ("on some path next on some path (n1 = 5 implies next n2 = 1)", ()),
    ],
)
def test_parts_that_do_not_matter_are_remarked(ring, text, remarks):
    verdict = snp.check(ring, text)
    assert verdict.is_proved and verdict.vacuous == remarks


# ---- the command ----

MODEL = {
    "schema": "snpjax/1",
    "neurons": [{"id": "c", "spikes": 2, "rules": ["a+/a -> a", "a -> lambda"]}, {"id": "o"}],
    "synapses": [["c", "o"]],
    "output": ["c"],
}


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "countdown.snp.json"
    path.write_text(json.dumps(MODEL))
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["always o <= 2"], 0, "always o <= 2: proved (all of "),
        (["eventually halted", "always o <= 1"], 1, "always o <= 1: refuted (shown by 2 steps)"),
        (["always o <= 2", "--max-depth", 1, "--no-induction"], 3, "bounded (not decided within 1"),
        (["always o <= 2", "--max-depth", 1], 0, "always o <= 2: proved (by induction: o <= 2"),
        (["always o <= 1", "--saturate", "o=1"], 3, "always o <= 1: unknown"),
        (
            ["always o <= 2", "--max-configurations", 2, "--no-induction", "--reduce", "none"],
            3,
            "bounded",
        ),
        (["always o = = 2"], 2, "  always o = = 2\n             ^"),
        (["eventually x > 2"], 2, "error: query:1:12: there is no neuron 'x'"),
        (["eventually c = 1", "--fair", "not halted"], 0, "vacuous: no path is fair"),
        (["always o <= 2", "--fair", "x = 1"], 2, "error: query:1:1: there is no neuron 'x'"),
        (["AG EF halted"], 0, "AG EF halted: proved"),
        (["E=? [steps to halted]"], 0, ", all choices uniform; "),
        (["P < 0.5 [F halted]", "--chosen", "all"], 1, "largest with all choices open"),
        (["Pmin=? [F halted]"], 2, "error: query:1:1: all choices are random"),
        (["AG EF halted", "--chosen", "c"], 2, "`--chosen` is for questions"),
        (["P=? [F halted]", "--reduce", "cone"], 2, "from the graph. Leave out --reduce."),
        (["Pmax=? [F halted]", "--chosen", "zz"], 2, "error: `--chosen`: there is no neuron 'zz'"),
        (["Pmax=? [F halted]"], 2, "(give --chosen NEURON or --chosen all)"),
        (["P=? [F halted]", "--prove"], 2, "query:1:1: this asks for a number"),
        (["always o <= 2", "--saturate", "o"], 2, "is no NAME=N"),
        (["always o <= 2", "--saturate", "x=2"], 2, "no neuron 'x'"),
        (["always o <= 2", "--saturate", "c=2"], 2, "has rules"),
        (["always o <= 2", "--inputs", 2], 2, "--inputs needs one"),
    ],
)
def test_command(model, arguments, status, words):
    result = invoke("check", model, *arguments)
    assert result.exit_code == status and words in result.output


def test_command_on_any_input(tmp_path):
    path = tmp_path / "fed.snp.json"
    path.write_text(json.dumps({**MODEL, "input": {"c": [1]}}))
    result = invoke("check", f"{path}", "always o <= 4", "always o <= 3", "--inputs", 2)
    assert "always o <= 4: proved" in result.output and "always o <= 3: refuted" in result.output


def test_command_json(model):
    result = invoke("check", model, "always o <= 1", "never o > 5", "--json")
    first, second = json.loads(result.stdout)["queries"]
    assert first["status"] == "refuted" and second["status"] == "proved"
    assert first["witness"] == [[2, 0], [1, 1], [0, 2]]
    assert first["names"] == ["c", "o"] and first["halting"] == [False, False, True]
    assert first["rules"] == [[0, None], [0, None]] and first["loop"] is None
    assert second["witness"] is None and second["configurations"] > 0


def test_mistakes_in_several_queries_are_numbered(model):
    result = invoke("check", model, "always o <=", "always c <= 2", "never z = 1")
    assert result.exit_code == 2
    assert "query 1:1:12: expected" in result.output
    assert "query 3:1:7: there is no neuron 'z'" in result.output
    result = invoke("check", model, "always o <= 2", "always c <= 2", "--fair", "z = 1")
    assert result.exit_code == 2 and "error: query:1:1: there is no neuron 'z'" in result.output


def test_witnesses_in_json_tell_closed_neurons_apart(tmp_path):
    path = tmp_path / "closed.snp.json"
    neurons = [snp.Neuron("c", 1, ["a -> a^2; 2"]), snp.Neuron("o")]
    closing = snp.SpikingSystem(neurons, [("c", "o")])
    snp.write(closing, path)
    result = invoke("check", f"{path}", "always not (halted and c = 0)", "--json")
    (found,) = json.loads(result.stdout)["queries"]
    assert found["witness"][:2] == [[1, 0], [0, 0]]
    timers, pending = (found["quantities"][x] for x in ("timer", "pending"))
    assert timers[1] == [2, 0] and pending[1] == [2, 0]
    assert found["halting"][1:] == [False] * (len(timers) - 2) + [True]


def test_a_function_is_not_trusted_where_it_looks_at_what_is_cut():
    neurons = [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y", 0, ["a -> a"]), snp.Neuron("out")]
    ring = snp.SpikingSystem(neurons, [("x", "y"), ("y", "x"), ("y", "out")])
    graph = snp.explore(ring, saturate={"out": 3}, clock=9, chunks=CHUNKS)
    assert snp.check(graph, lambda c: c["out"] <= 3).status is snp.Status.UNKNOWN
    assert snp.check(graph, lambda c: c["out"] <= 2).is_refuted  # whatever more there is
    assert snp.check(graph, lambda c: c["x"] <= 1)
    assert snp.check(graph, lambda c: c.step <= 5).is_refuted
    assert snp.check(graph, lambda c: c.step <= 9).status is snp.Status.UNKNOWN
    with pytest.raises(ValueError, match="depends on a number that is cut in configuration"):
        reach_probability(graph, lambda c: c["out"] >= 4)


def test_a_bounded_verdict_does_not_say_never():
    ring = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])], [("x", "x")])
    verdict = snp.check(ring, "always (x > 5 implies next x = 1)", max_depth=0)
    assert verdict.vacuous == ("`x > 5` is true in no configuration that was found",)
    # What may yet be is not remarked.
    verdict = snp.check(ring, "always ((next x > 5) implies x = 1)", max_depth=0)
    assert verdict.status is snp.Status.BOUNDED and verdict.vacuous == ()


def test_progress_is_that_of_the_search():
    calls = []
    system = snp.SpikingSystem([snp.Neuron("o", 1, ["a -> a"])], output="o")
    verdict = snp.check(system, "always o <= 1", progress=lambda *numbers: calls.append(numbers))
    assert calls[-1][0] == verdict.num_configurations
    with pytest.raises(ValueError, match="explored already"):
        snp.check(snp.explore(system), "always o <= 1", progress=print)


# ---- several properties at once ----


@pytest.fixture
def emitting():
    neurons = [snp.Neuron("c", 2, ["a+/a -> a", "a -> lambda"]), snp.Neuron("o")]
    return snp.SpikingSystem(neurons, [("c", "o")], output="c")


def test_several_properties_share_a_graph(emitting):
    queries = ["AG EF halted", "eventually halted", "P=? [ F halted ]", lambda c: c["c"] <= 1]
    verdicts = snp.check(emitting, queries)
    assert isinstance(verdicts, tuple) and len({id(verdict.graph) for verdict in verdicts}) == 2
    assert verdicts[0].graph is verdicts[1].graph is verdicts[2].graph
    alone = [snp.check(emitting, query) for query in queries]
    assert [str(verdict) for verdict in verdicts] == [str(verdict) for verdict in alone]
    graph = snp.explore(emitting)
    in_graph = snp.check(graph, tuple(queries))
    assert [x.status for x in in_graph] == [x.status for x in alone]
    assert all(verdict.graph is graph for verdict in in_graph)
    assert snp.check(emitting, []) == () and snp.check(graph, []) == ()


def test_properties_that_need_other_graphs_keep_their_order(emitting, tmp_path):
    queries = ["always o <= 1", "eventually halted", "eventually o <= 1", "eventually step = 2"]
    verdicts = snp.check(emitting, queries, checkpoint=snp.Checkpoint(tmp_path))
    assert [verdict.query for verdict in verdicts] == queries
    assert [verdict.is_proved for verdict in verdicts] == [False, True, True, True]
    assert verdicts[0].graph is verdicts[2].graph is not verdicts[1].graph
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]


def test_choosers_are_for_the_questions_among_several(emitting):
    verdicts = snp.check(emitting, ["eventually halted", "Pmin=? [ F o = 2 ]"], chosen="all")
    assert verdicts[0].is_proved and verdicts[1].value == (0.0, 0.0)
    with pytest.raises(ValueError, match="`chosen` is for questions"):
        snp.check(emitting, ["eventually halted", "always o <= 2"], chosen="all")
    with pytest.raises(ValueError, match="A number is computed from the graph"):
        snp.check(emitting, ["never halted", "P=? [ F halted ]"], reductions=[snp.Symmetry()])
    with pytest.raises(TypeError, match="5 is not a property"):
        snp.check(emitting, ["never halted", 5])
