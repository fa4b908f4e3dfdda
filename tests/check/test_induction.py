"""Proofs by induction: never against the graph, certified, and refused where there are none."""

import itertools
import os
import re
import signal
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import z3
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.sparse import csr_array
from unbounded_systems import examples

import snpjax as snp
from snpjax.check import Certificate, CertificationStatus, model_digest, satisfiability
from snpjax.check.certificate import certify as certify_module
from snpjax.check.induction import prove as prove_module
from snpjax.check.induction.conditions import text_of
from snpjax.check.induction.facts import (
    few_facts,
    more_facts,
    siphons_of,
    strongest,
    traps_of,
)
from snpjax.check.induction.invariance import invariance_of
from snpjax.check.induction.minimal import k_inductive, minimised
from snpjax.check.induction.models import relation_of
from snpjax.check.induction.relation import holds
from snpjax.check.induction.samples import Samples
from snpjax.check.induction.solver import Clock, OutOfTime, StepSolver
from snpjax.check.induction.spiking import SpikingRelation
from snpjax.check.induction.strengthening import Refuted, Strengthening
from snpjax.check.query.formula import And, Observed, Variable
from snpjax.check.query.parse import parse_query
from snpjax.explore import Patience
from snpjax.sleptsov import Disjoint, Execution, Petri, Sleptsov, SleptsovNet, net_of_text
from snpjax.testing import nets, reference, systems
from snpjax.testing.reference_graph import explore
from snpjax.testing.reference_sleptsov import Reference
from tests.support.command import invoke
from tests.support.helpers import many


EXAMPLES = {example.name: example for example in examples()}
#: Seconds for what is decided at once, and takes long where eight others use the processor: more
#: than a test may take.
AMPLE = 1_000
COUNTDOWN = snp.SpikingSystem(
    [snp.Neuron("c", 3, ["a+/a -> a"]), snp.Neuron("o")], [("c", "o")], output="o"
)


def state_of(relation, configuration):
    """A configuration of the reference as values of a relation's variables."""
    if not isinstance(relation, SpikingRelation):
        return configuration
    timers = [configuration.timers[i] for i in relation.delayed]
    pending = [configuration.pending[i] for i in relation.delayed]
    step = [configuration.input_position] if relation.last else []
    return (*configuration.spikes, *timers, *pending, *step)


def graph_of(model, most):
    """Every configuration with its successors by the reference, or `None` if there are more."""
    if isinstance(model, snp.SpikingSystem):
        found = explore(model, max_configurations=most)
        if found.num_expanded < len(found.configurations):
            return None
        after = {c: set() for c in found.configurations}
        for source, _, _, target in found.edges:
            after[found.configurations[source]].add(found.configurations[target])
        return {c: some or {c} for c, some in after.items()}
    net, rule = model.net, "petri" if isinstance(model.rule, Petri) else "sleptsov"
    known, todo = {}, [Reference(net).initial]
    while todo:
        marking = todo.pop()
        if marking not in known:
            known[marking] = {*Reference(net).successors(marking, rule)} or {marking}
            todo += known[marking]
        if len(known) > most:
            return None
    return known


def executions():
    rules = st.sampled_from([Petri(), Sleptsov()])
    return st.builds(Execution, nets(max_places=3, max_transitions=4, bounded=True), rule=rules)


def small_models():
    return systems(min_neurons=1, max_neurons=3, max_rules=2, max_spikes=3) | executions()


def names_of(model):
    if isinstance(model, snp.SpikingSystem):
        return [neuron.name for neuron in model.neurons]
    return list(model.net.place_names)


@st.composite
def conditions(draw, model):
    """A condition on one configuration."""
    name = st.sampled_from([f'"{x}"' for x in names_of(model)])
    some = [name, st.builds("{} + {}".format, name, name), st.builds("{} - {}".format, name, name)]
    if isinstance(model, snp.SpikingSystem):
        some += [st.builds("timer({})".format, name), st.builds("pending({})".format, name)]
    number = st.integers(0, 4).map(str)
    relation = st.sampled_from(["=", "!=", "<=", ">="])
    compared = st.builds("{} {} {}".format, st.one_of(some), relation, number)
    remainder = st.builds("{} mod {} = {}".format, name, st.integers(2, 3), st.integers(0, 1))
    condition = st.one_of(compared, compared, remainder, st.just("halted"))
    pair = st.builds("({} {} {})".format, condition, st.sampled_from(["and", "or"]), condition)
    return draw(st.one_of(condition, pair))


# ---- the relation ----


def check_relation(model, most):
    """On numbers the relation is that of the reference, and as formulas, too."""
    graph, relation = graph_of(model, most), relation_of(model)
    if graph is None:
        return
    assert state_of(relation, next(iter(graph))) == relation.initial
    solver = StepSolver(relation, Clock(AMPLE))
    for configuration, after in itertools.islice(graph.items(), 12):
        state = state_of(relation, configuration)
        expected = {state_of(relation, c) for c in after}
        own = itertools.product(*(x or [None] for x in relation.alternatives(state)))
        assert {relation.step(state, choice) for choice in own} == expected
        assert relation.is_halting(state) == (
            reference.is_halting(model, configuration)
            if isinstance(model, snp.SpikingSystem)
            else not Reference(model.net).fireable(configuration)
        )
        now = solver.is_state(state, 0)
        for other in expected:
            assert solver.is_satisfiable(*now, *solver.is_state(other, 1))
            assert relation.step(state, solver.choice(state, solver.marked())) == other
        none = [z3.Not(z3.And(*solver.is_state(other, 1))) for other in expected]
        assert not solver.is_satisfiable(*now, *none)
        halting = relation.halting(z3, solver.frames[0])
        assert solver.is_satisfiable(*now, halting) == relation.is_halting(state)


@given(small_models())
@settings(max_examples=15)
def test_relation_is_that_of_the_reference(model):
    check_relation(model, 60)


@pytest.mark.slow
@given(small_models())
@settings(max_examples=many(150, part=3))
def test_relation_is_that_of_the_reference_on_many(model):
    check_relation(model, 60)


@given(systems(min_neurons=1, max_neurons=3, signed=True))
@settings(max_examples=10)
def test_relation_of_signed_systems(model):
    check_relation(model, 40)


# ---- never against the graph ----


def check_verdict(model, condition, seconds):
    """Whether a verdict was reached, which the graph does not contradict."""
    graph = graph_of(model, 400)
    if graph is None:
        return False
    relation = relation_of(model)
    wanted = parse_query(f"always {condition}").formula.part
    is_true = all(holds(wanted, relation, state_of(relation, c)) for c in graph)
    verdict = snp.prove(model, f"always {condition}", seconds=seconds)
    assert "not accepted: it is false" not in verdict.reason
    if verdict.is_decided:
        assert verdict.is_proved == is_true, (verdict, graph)
    if verdict.is_refuted:
        assert not holds(wanted, relation, verdict.computation.states[-1])
    if verdict.is_proved:
        invariant = parse_query(verdict.certificate.invariant).formula
        assert all(holds(invariant, relation, state_of(relation, c)) for c in graph)
    return verdict.is_decided


@given(st.data())
@settings(max_examples=12)
def test_verdicts_are_those_of_the_graph(data):
    model = data.draw(small_models())
    if names_of(model):
        check_verdict(model, data.draw(conditions(model)), 2)


@pytest.mark.slow
def test_verdicts_are_those_of_the_graph_on_many():
    decided, total = 0, 0

    @given(st.data())
    @settings(max_examples=many(200, part=4))
    def sweep(data):
        nonlocal decided, total
        model = data.draw(small_models())
        total += 1
        decided += check_verdict(model, data.draw(conditions(model)), 2)

    sweep()
    assert decided > total // 2


@given(st.data())
@settings(max_examples=20)
def test_facts_hold_of_the_graph(data):
    model = data.draw(small_models())
    graph, relation = graph_of(model, 200), relation_of(model)
    if graph is None:
        return
    wanted = parse_query("always 0 = 0").formula.part
    samples = Samples(relation, wanted, Clock(0.001))
    solver = StepSolver(relation, Clock(AMPLE))
    few = few_facts(relation, samples.kept, wanted)
    found = strongest(solver, few, [])
    found |= strongest(solver, more_facts(relation, samples.kept, wanted, few), [])
    for condition in found:
        read = parse_query(text_of(condition)).formula
        for configuration in graph:
            state = state_of(relation, configuration)
            assert holds(condition, relation, state) and holds(read, relation, state)


def places_of(condition, relation):
    return {relation.positions[v] for v, _ in condition.terms}


@given(executions(), st.data())
def test_traps_and_siphons(execution, data):
    """No step leaves them, from any marking; and the siphon is the union of all that are empty."""
    net, relation = execution.net, relation_of(execution)
    traps, siphons = list(traps_of(relation)), list(siphons_of(relation))
    for condition in [*traps, *siphons]:
        assert holds(condition, relation, relation.initial)
        for _ in range(4):
            tokens = st.lists(st.integers(0, 4), min_size=net.num_places, max_size=net.num_places)
            marking = tuple(data.draw(tokens))
            if holds(condition, relation, marking):
                for (fired,) in itertools.product(*relation.alternatives(marking)):
                    after = relation.step(marking, (fired,))
                    assert holds(condition, relation, after), (condition, marking, fired)
    empty = [p for p in range(net.num_places) if not net.marking[p]]
    takes = [
        {int(p) for kind in (net.inputs, net.tests) for p, t, _ in kind.triples() if t == own}
        for own in range(net.num_transitions)
    ]
    puts = [
        {int(p) for p, t, _ in net.outputs.triples() if t == own}
        for own in range(net.num_transitions)
    ]
    union = set()
    for size in range(1, len(empty) + 1):
        for some in map(set, itertools.combinations(empty, size)):
            if all(takes[t] & some for t in range(net.num_transitions) if puts[t] & some):
                union |= some
    assert union == {p for condition in siphons for p in places_of(condition, relation)}


def check_strengthening(model, condition):
    """Without facts and samples, clauses are found where the condition holds, and a computation
    where it does not."""
    graph, relation = graph_of(model, 200), relation_of(model)
    if graph is None:
        return
    wanted = parse_query(f"always {condition}").formula.part
    is_true = all(holds(wanted, relation, state_of(relation, c)) for c in graph)
    samples = Samples(relation, wanted, Clock(0))
    if samples.broken is not None:
        assert not is_true
        return
    assert samples.kept == [relation.initial]
    frames = Strengthening(StepSolver(relation, Clock(2)), wanted, [], samples)
    try:
        clauses = frames.run()
    except OutOfTime:
        return
    except Refuted as found:
        states, choices = found.computation
        assert not is_true and not holds(wanted, relation, states[-1])
        for before, choice, after in zip(states, choices, states[1:], strict=False):
            assert all(
                a in own if own else a is None
                for a, own in zip(choice, relation.alternatives(before), strict=True)
            )
            assert relation.step(before, choice) == after
        return
    assert is_true
    for configuration in graph:
        assert all(holds(x, relation, state_of(relation, configuration)) for x in clauses)
    invariant = text_of(And((wanted, *clauses)))
    certificate = Certificate(f"always {condition}", invariant, model_digest(model))
    assert snp.certify(model, certificate, samples=50)


@given(st.data())
@settings(max_examples=15)
def test_strengthening_is_right(data):
    model = data.draw(small_models())
    if names_of(model):
        check_strengthening(model, data.draw(conditions(model)))


@pytest.mark.slow
@given(st.data())
@settings(max_examples=many(150, part=3))
def test_strengthening_is_right_on_many(data):
    model = data.draw(small_models())
    if names_of(model):
        check_strengthening(model, data.draw(conditions(model)))


def test_k_induction():
    """Nothing comes through a chain of four: that takes as many steps to see."""
    names = ["a", "b", "c", "d"]
    chain = snp.SpikingSystem(
        [*(snp.Neuron(name, 0, ["a -> a"]) for name in names), snp.Neuron("e", 0, ["a^2 -> a"])],
        [*itertools.pairwise(names), ("d", "e")],
    )
    wanted = parse_query("always d = 0").formula.part
    for most, expected in [(3, False), (4, True)]:
        solver = StepSolver(relation_of(chain), Clock(AMPLE))
        assert k_inductive(solver, [wanted], [], most) == expected
    assert minimised(solver, [wanted], []) == [wanted]
    certificate = Certificate("always d = 0", "d = 0", model_digest(chain), k=4)
    assert snp.certify(chain, certificate)
    assert not snp.certify(chain, replace(certificate, k=3))


def test_proofs_by_k_induction_are_certified(monkeypatch):
    monkeypatch.setattr(prove_module._Search, "_facts", lambda *_: {})
    chain = snp.SpikingSystem(
        [snp.Neuron("a", 0, ["a -> a"]), snp.Neuron("b", 0, ["a -> a"]), snp.Neuron("c")],
        [("a", "b"), ("b", "c")],
    )
    verdict = snp.prove(chain, "always b = 0")
    assert verdict.is_proved and verdict.certificate.k == 2
    assert verdict.certificate.invariant == "b = 0"


@pytest.fixture
def only_lists(monkeypatch):
    """Nothing but the list of all configurations is found in time."""

    def gives_up(self):
        raise OutOfTime

    monkeypatch.setattr(prove_module._Search, "_facts", lambda *_: {})
    monkeypatch.setattr(prove_module._Search, "_unrolled", lambda *_: None)
    monkeypatch.setattr(Strengthening, "run", gives_up)


@pytest.mark.usefixtures("only_lists")
def test_few_configurations_are_listed():
    verdict = snp.prove(COUNTDOWN, "always c + o = 3")
    assert verdict.is_proved and verdict.certificate.facts[0] == "the property"


@pytest.mark.usefixtures("only_lists")
def test_lists_tell_when_input_arrives():
    """Two equal counts of spikes, before and after the input, have other successors."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("n0", 3, ["a^3 -> a; 1", "aa/a^2 -> lambda", "a^2 -> a^2"]),
            snp.Neuron("n1"),
            snp.Neuron("n2", 2),
        ],
        [("n1", "n1"), ("n1", "n2"), ("n2", "n1")],
        input={"n1": [1]},
    )
    query = "always (n0 - n1 >= 0 - 1)"
    assert snp.prove(system, query)
    assert snp.check(system, query, max_depth=0)


@pytest.mark.usefixtures("only_lists")
@given(st.data())
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lists_are_inductive(data):
    model = data.draw(small_models())
    if names_of(model):
        check_verdict(model, data.draw(conditions(model)), 2)


@given(st.data(), st.randoms(use_true_random=False), st.sampled_from([0.02, 0.1, 0.3, 0.7]))
@settings(max_examples=20)
def test_questions_without_an_answer_contradict_nothing(data, random, share):
    """Whichever part of the search ends early."""
    model = data.draw(small_models())
    if not names_of(model):
        return
    condition, ask = data.draw(conditions(model)), StepSolver.is_satisfiable

    def is_satisfiable(self, *assumptions):
        if random.random() < share:
            raise OutOfTime
        return ask(self, *assumptions)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StepSolver, "is_satisfiable", is_satisfiable)
        check_verdict(model, condition, 2)


# ---- systems from the literature ----


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=[pytest.mark.slow] * (x in ("module SUB", "philosophers")))
        for x in EXAMPLES
    ],
)
def test_examples_are_proved(name):
    example = EXAMPLES[name]
    verdict = snp.prove(example.system, example.query, seconds=AMPLE)
    assert verdict.is_proved and verdict.graph is None and verdict.certificate is not None
    assert verdict.certificate.property == example.query
    assert snp.certify(example.system, verdict.certificate, samples=100)
    rule = f" under the {verdict.rule.capitalize()} rule" if verdict.rule else ""
    assert bool(rule) == isinstance(example.system, Execution | SleptsovNet)
    assert str(verdict).startswith(f"{example.query}: proved{rule} (by induction: ")


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_that_are_broken_are_refuted(name):
    example = EXAMPLES[name]
    verdict = snp.prove(example.system, example.broken, seconds=AMPLE)
    assert verdict.is_refuted and verdict.certificate is None
    relation = relation_of(example.system)
    condition = invariance_of(parse_query(example.broken)).condition
    *before, last = verdict.computation.states
    assert not holds(condition, relation, last)
    assert all(holds(condition, relation, state) for state in before)
    assert verdict.replay().steps == verdict.num_steps == len(before)
    assert len(list(verdict.lines())) > verdict.num_steps or verdict.num_steps > 40


def test_strengthening_finds_clauses():
    """Facts are not enough: who has the token may begin only where the other one rests."""
    net = net_of_text(
        "ask1: free1 -> want1\nenter1: want1 !in2 -> in1\nleave1: in1 -> free1 count\n"
        "ask2: free2 -> want2\nenter2: want2 !in1 -> in2\nleave2: in2 -> free2 count",
        {"free1": 1, "free2": 1},
    )
    verdict = snp.prove(Execution(net, rule=Petri()), "never (in1 >= 1 and in2 >= 1)")
    assert verdict.is_proved


def test_input_trains_and_any_input():
    adder = snp.SpikingSystem(
        [snp.Neuron("add", 0, ["a -> a", "a^2/a -> lambda", "a^3/a^2 -> a"]), snp.Neuron("s")],
        [("add", "s")],
        input={"add": [2, 2, 1]},
    )
    assert snp.prove(adder, "always add <= 3")
    assert snp.prove(adder, "always s <= 3")
    assert not snp.prove(adder, "always add <= 2")
    assert snp.prove(adder, "always add <= 3", inputs=snp.AnyInput(50, most=2))
    assert not snp.prove(adder, "always add <= 3", inputs=snp.AnyInput(50, most=3))
    assert snp.prove(adder, "always (step >= 1 or add = 0)")
    assert not snp.prove(adder, "always (step >= 2 or add = 0)")


# ---- `check` and the command ----


@pytest.mark.slow
def test_check_proves_where_a_limit_ends_the_search():
    example = EXAMPLES["growing ring"]
    limits = {"max_configurations": 50, "saturate": {"s": 10**6}, "reductions": ()}
    query = "always n1 + n2 + n3 + n4 <= 1"
    verdict = snp.check(example.system, query, **limits)
    assert verdict.is_proved and verdict.certificate and verdict.num_configurations == 50
    assert snp.check(example.system, query, induction=False, **limits).status.value == "bounded"
    verdict = snp.check(example.system, "always s <= 20", **limits)
    assert verdict.is_refuted and verdict.replay().spikes_of("s") == 21


def test_some_path():
    some = snp.prove(COUNTDOWN, "on some path eventually o = 3")
    assert some.is_proved and some.num_steps == 3
    none = snp.prove(COUNTDOWN, "on some path eventually o = 4")
    assert none.is_refuted and none.certificate.property == "always (o != 4)"
    assert "o != 4 and c + o = 3" in str(none)


def test_populations_are_proved_neuron_by_neuron():
    chain = snp.PopulationSystem(
        [snp.Population("n", 3, spikes=[1, 0, 0], rules=["a -> a"])],
        [snp.Projection("n", "n", csr_array(np.roll(np.eye(3, dtype=int), 1, axis=1)))],
    )
    assert snp.prove(chain, 'always "n[0]" + "n[1]" + "n[2]" = 1')


def test_command(tmp_path):
    path = tmp_path / "ring.snp.json"
    snp.write(EXAMPLES["growing ring"].system, path)
    done = invoke("check", path, "always n1 + n2 <= 1", "--prove", "--seconds", 10)
    assert done.exit_code == 0 and "proved (by induction: n1 + n2 <= 1 and " in done.output
    done = invoke("check", path, "always n1 + n2 <= 1", "--prove", "--json")
    assert done.exit_code == 0 and '"property": "always n1 + n2 <= 1"' in done.output
    done = invoke("check", path, "always s <= 1", "--prove")
    assert done.exit_code == 1 and "shown by 16 steps" in done.output
    done = invoke("check", path, "eventually s = 1", "--prove")
    assert done.exit_code == 2 and "query:1:1: only what holds of every" in done.output


# ---- what is refused ----

REFUSED = {
    r"bounded number of neurons.*neuron 'i' has the rule \[a\]_i": lambda: snp.SpikingSystem(
        [snp.Neuron("i", 1, ["[a]_i -> []_i || []_i"])]
    ),
    "bounded number of neurons": lambda: snp.SpikingSystem(
        [snp.Neuron("i", 1, ["a -> +1(i, {j})"]), snp.Neuron("j")]
    ),
    "the variant `AntiSpikes`": lambda: snp.SpikingSystem(
        [snp.Neuron("i")], variant=snp.AntiSpikes()
    ),
    "nets under `Disjoint`": lambda: Execution(net_of_text("t: i -> j"), rule=Disjoint()),
    "transition 't'": lambda: net_of_text("t: -> i"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("words", REFUSED)
def test_other_models_are_refused(words):
    with pytest.raises(NotImplementedError, match=words):
        snp.prove(REFUSED[words](), "always i <= 1")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("eventually c = 0", "query:1:1: only what holds of every configuration"),
        ("always c = 0 or c = 1", "`always` takes only `c = 0` (write `always (c = 0 or c = 1)`)"),
        ("never c = 0 and c = 1 implies c = 2", "(write `never (c = 0 and c = 1 implies c = 2)`)"),
        ("G (c = 0) | c = 1", "`G` takes only `c = 0` (write `G ((c = 0) | c = 1)`)"),
        ("(always c = 0) or c = 1", "query:1:1: only what holds of every configuration"),
        ("always (c = 1 implies next c = 0)", "query:1:1: only what holds of every configuration"),
        ("always emits(o) <= 1", "query:1:14: `emits` speaks of a step"),
        ("always in_flight(o) = 0", "query:1:18: `in_flight` is 0"),
        ("always c + step = 3", "query:1:12: `step` is not compared with a constant"),
        ("always d = 1", "query:1:8: there is no neuron 'd'"),
    ],
)
def test_other_queries_are_refused(query, words):
    with pytest.raises(snp.QueryError, match=re.escape(words)):
        snp.prove(COUNTDOWN, query)


def test_bad_arguments():
    with pytest.raises(ValueError, match="`seconds` is 0. Give a positive number"):
        snp.prove(COUNTDOWN, "always o <= 3", seconds=0)
    with pytest.raises(TypeError, match="Give a text, such as"):
        snp.prove(COUNTDOWN, lambda c: c["o"] <= 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="Pass a system of neurons, or a net"):
        snp.prove("ring", "always o <= 3")  # pyright: ignore[reportArgumentType]


def test_missing_solver(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(ImportError, match=r"z3-solver is not installed \(pip install"):
        snp.prove(COUNTDOWN, "always o <= 3")
    verdict = snp.check(COUNTDOWN, "always o <= 3", max_depth=1)
    assert verdict.status is snp.Status.BOUNDED and "z3-solver is not installed" in verdict.reason


# ---- honesty ----


def test_time_out_is_not_proved(monkeypatch):
    hard = EXAMPLES["module SUB"]
    verdict = snp.prove(hard.system, hard.query, seconds=0.001)
    assert not verdict.is_decided and "0.001 seconds" in verdict.reason

    def gives_up(self, *assumptions):
        raise OutOfTime

    monkeypatch.setattr(StepSolver, "is_satisfiable", gives_up)
    verdict = snp.prove(hard.system, hard.query)
    assert verdict.status is snp.Status.BOUNDED and verdict.depth > 10
    assert verdict.certificate is None and "no invariant was found" in verdict.summary


@pytest.fixture
def ctrl_c():
    """Python handles Ctrl-C as usual, also in a background job, in which the shell turns it off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_between_two_questions_ends_the_search(monkeypatch):
    hard = EXAMPLES["module SUB"]
    asked, ask = [], StepSolver.is_satisfiable

    def interrupted(self, *assumptions):
        asked.append(None)
        if len(asked) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return ask(self, *assumptions)

    monkeypatch.setattr(StepSolver, "is_satisfiable", interrupted)
    verdict = snp.prove(hard.system, hard.query, seconds=AMPLE)
    assert verdict.status is snp.Status.BOUNDED and verdict.depth > 0
    assert "interrupted" in verdict.reason and "seconds" not in verdict.reason
    with pytest.raises(KeyboardInterrupt):  # as before
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)


def cubes():
    """A solver with a question that it does not answer for a long time."""
    a, b, c = z3.Ints("a b c")
    solver = z3.Solver()
    solver.add(a**3 + b**3 + c**3 == 114, a * b * c != 0)
    return solver


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("delay", [0.05, 0.3])
@pytest.mark.parametrize("is_patient", [True, False])
def test_ctrl_c_within_a_question_ends_it(delay, is_patient):
    """Whether it comes at once or later, and both what it does by itself and in a search."""
    patience = Patience(None)
    pressed = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    with patience.until_interrupted() if is_patient else pytest.raises(KeyboardInterrupt):
        pressed.start()
        assert satisfiability.is_satisfiable(cubes(), AMPLE, patience=patience) is None
    assert patience.is_interrupted == is_patient
    pressed.join()


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("is_asked", [True, False])
def test_ctrl_c_before_a_question_reaches_z3_ends_it_too(monkeypatch, is_asked):
    class Interrupted(threading.Thread):
        def start(self):
            super().start()
            os.kill(os.getpid(), signal.SIGINT)

        def run(self):
            time.sleep(0 if is_asked else 0.3)
            super().run()

    class Late(z3.Solver):
        def check(self, *assumptions):
            time.sleep(0.3)
            return super().check(*assumptions)

    monkeypatch.setattr(satisfiability, "Thread", Interrupted)
    solver = Late()
    solver.add(cubes().assertions())
    with pytest.raises(KeyboardInterrupt):
        satisfiability.is_satisfiable(solver, AMPLE)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_a_certificate_is_checked_leaves_it_open(monkeypatch):
    example = EXAMPLES["growing ring"]
    ask = certify_module.is_satisfiable

    def interrupted(solver, seconds, *, patience):
        os.kill(os.getpid(), signal.SIGINT)
        return ask(solver, seconds, patience=patience) if not patience.is_interrupted else None

    monkeypatch.setattr(certify_module, "is_satisfiable", interrupted)
    verdict = snp.prove(example.system, example.query, seconds=AMPLE)
    assert verdict.status is snp.Status.UNKNOWN and "interrupted" in verdict.reason


def test_wrong_relation_is_not_proved(monkeypatch):
    """The prover forgets that spikes arrive: its invariant is not accepted."""
    right = SpikingRelation.steps

    def wrong(self, z3, now, after, marks):
        spikes = Variable(Observed.SPIKES, "o")
        facts = [x for x in right(self, z3, now, after, marks) if str(after[spikes]) not in str(x)]
        return [*facts, after[spikes] == now[spikes]]

    far = snp.SpikingSystem(
        [snp.Neuron("c", 10**6, ["a+/a -> a"]), snp.Neuron("o", 10**6), snp.Neuron("d", 5)],
        [("c", "o")],
    )
    query = f"always o <= {10**6 + 500_000}"
    monkeypatch.setattr(SpikingRelation, "steps", wrong)
    verdict = snp.prove(far, query, seconds=AMPLE)
    assert verdict.status is snp.Status.UNKNOWN and "not accepted" in verdict.reason
    assert "every step keeps the invariant" in verdict.reason


def test_checker_without_an_answer_is_not_proved(monkeypatch):
    def undecided(system, certificate, *options):
        return snp.Certification(
            CertificationStatus.UNKNOWN, certificate, "step", "the solver did not decide"
        )

    example = EXAMPLES["growing ring"]
    monkeypatch.setattr(prove_module, "certified", undecided)
    verdict = snp.prove(example.system, example.query)
    assert verdict.status is snp.Status.UNKNOWN and "did not decide" in verdict.reason


def test_certificates_name_their_model():
    example = EXAMPLES["even numbers"]
    certificate = snp.prove(example.system, example.query).certificate
    assert isinstance(certificate, Certificate)
    assert certificate.model == model_digest(example.system)
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_empty_models():
    empty = snp.SpikingSystem([])
    assert snp.prove(empty, "always halted")
    assert snp.prove(net_of_text("", {"p": 3}, places=["p"]), "always p = 3")


def test_no_depth_is_claimed_before_the_first_step_was_examined():
    """Sixty neurons send in one step what breaks the condition."""
    senders = [snp.Neuron(f"n{i}", 2, ["a^2/a -> lambda", "a^2 -> a"]) for i in range(60)]
    system = snp.SpikingSystem(
        [*senders, snp.Neuron("z")], [(neuron.name, "z") for neuron in senders]
    )
    for seconds in (0.3, 1.0):
        verdict = snp.prove(system, "always z <= 59", seconds=seconds)
        assert verdict.is_refuted or (verdict.depth == 0 and not verdict.is_decided)
