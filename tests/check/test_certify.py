"""The checker of certificates: its steps are those of the reference, what it accepts is true."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
import z3
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.check import CertificationStatus, model_digest
from snpjax.check.certificate.certify import certify
from snpjax.check.certificate.step_formulas import NetStepFormulas, SystemStepFormulas
from snpjax.check.query.formula import Observed, Variable
from snpjax.sleptsov import Arcs, Execution, Petri, Sleptsov, SleptsovNet
from snpjax.testing import nets, reference, systems
from snpjax.testing.reference_sleptsov import Reference
from tests.cli.test_cli import invoke, succeed
from tests.support.helpers import many


SPIKES, TIMER, PENDING = Observed.SPIKES, Observed.TIMER, Observed.PENDING
STEP = Variable(Observed.STEP)
RULES = {"sleptsov": Sleptsov(), "petri": Petri()}


# ---- one step ----


def successors(relation, numbers):
    """Every configuration that one step of a relation leads to, and whether the first halts."""
    now, then = relation.configuration(), relation.configuration()
    steps = [[made, *(then[x] == after[x] for x in then)] for made, after in relation.steps(now)]
    solver = z3.Solver()
    solver.add([now[variable] == number for variable, number in numbers.items()])
    solver.add(list(relation.in_range(now)))
    assert solver.check() == z3.sat, "this configuration is in range"
    halts = z3.is_true(solver.model().eval(relation.is_halting(now), model_completion=True))
    solver.add(z3.Or([z3.And(step) for step in steps]))
    found = set()
    while solver.check() == z3.sat:
        model: Any = solver.model()
        values = {x: model.eval(then[x], model_completion=True).as_long() for x in numbers}
        found.add(tuple(values.values()))
        solver.add(z3.Or([then[x] != value for x, value in values.items()]))
        in_range = z3.And(list(relation.in_range(then)))
        assert z3.is_true(model.eval(in_range, model_completion=True))
    return found, halts


@st.composite
def configurations(draw, system):
    """Any configuration of a system, whether it can be reached or not."""
    spikes, timers, pending = [], [], []
    for neuron in system.neurons:
        spikes.append(draw(st.integers(0, 6)))
        closing = [r for r in neuron.rules if isinstance(r, snp.Rule) and r.delay]
        rule = draw(st.sampled_from([None, *closing]))
        timers.append(0 if rule is None else draw(st.integers(1, rule.delay)))
        pending.append(0 if rule is None else rule.produce)
    step = draw(st.integers(0, reference.horizon(system) + 1))
    position = min(step, reference.horizon(system))
    now = reference.Configuration(tuple(spikes), tuple(timers), tuple(pending), position)
    return now, step


def assert_steps_of_a_system(system, now, step):
    def numbers(configuration, step):
        found = {STEP: step}
        for i, neuron in enumerate(system.neurons):
            parts = configuration.spikes, configuration.timers, configuration.pending
            for kind, part in zip((SPIKES, TIMER, PENDING), parts, strict=True):
                found[Variable(kind, neuron.name)] = part[i]
        return found

    is_halting = reference.is_halting(system, now)
    later = step + (not is_halting)
    expected = {
        tuple(numbers(reference.step(system, now, choice)[0], later).values())
        for choice in reference.choices(system, now)
    }
    relation = SystemStepFormulas(z3, system, counts_steps=True)
    assert successors(relation, numbers(now, step)) == (expected, is_halting)


@settings(max_examples=25)
@given(systems(max_neurons=4), st.data())
def test_steps_of_systems_are_those_of_the_reference(system, data):
    assert_steps_of_a_system(system, *data.draw(configurations(system)))


@pytest.mark.slow
@settings(max_examples=many(600, part=12))
@given(systems(max_neurons=4), st.data())
def test_many_steps_of_systems(system, data):
    assert_steps_of_a_system(system, *data.draw(configurations(system)))


def test_steps_of_a_signed_system():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 3, ["a+/a -> a; 1", "a^2/a^2 -> a"]), snp.Neuron("y", 1, ["a -> a"])],
        [("x", "y", -2), ("y", "x", 3), ("y", "y", 2)],
        input={"y": [0, 2]},
        signed=True,
    )
    for spikes in ((3, 1), (0, -2), (2, 0), (-1, 1)):
        for timer in (0, 1):
            for step in (0, 1, 5):
                position = min(step, 2)
                pending = (timer, 0)
                now = reference.Configuration(spikes, (timer, 0), pending, position)
                assert_steps_of_a_system(system, now, step)


def assert_steps_of_a_net(net, marking, rule):
    own, execution = Reference(net), Execution(net, rule=RULES[rule])
    places = [Variable(SPIKES, name) for name in net.place_names]

    def numbers(marking, step):
        return {STEP: step, **dict(zip(places, marking, strict=True))}

    candidates = own.candidates(marking)
    expected = {tuple(numbers(x, 4).values()) for x in own.successors(marking, rule)}
    relation = NetStepFormulas(z3, execution, counts_steps=True)
    found = successors(relation, numbers(marking, 3))
    assert found == (expected or {(3, *marking)}, not candidates)


def draw_steps_of_a_net(data, rule):
    """Under `petri` also those of transitions that consume nothing."""
    net = data.draw(nets(bounded=rule == "sleptsov"))
    assert_steps_of_a_net(net, tuple(data.draw(st.integers(0, 6)) for _ in net.place_names), rule)


@settings(max_examples=25)
@given(st.sampled_from(list(RULES)), st.data())
def test_steps_of_nets_are_those_of_the_reference(rule, data):
    draw_steps_of_a_net(data, rule)


@pytest.mark.slow
@settings(max_examples=many(600, part=12))
@given(st.sampled_from(list(RULES)), st.data())
def test_many_steps_of_nets(rule, data):
    draw_steps_of_a_net(data, rule)


# ---- certificates ----


RING = snp.SpikingSystem(
    [snp.Neuron("n1", 1, ["a -> a"]), snp.Neuron("n2", 0, ["a -> a", "a -> lambda"])],
    [("n1", "n2"), ("n2", "n1")],
)
DELAYED = snp.SpikingSystem(
    [snp.Neuron("s", 1, ["a -> a; 2"]), snp.Neuron("t", 0, ["a -> a; 1"])],
    [("s", "t"), ("t", "s")],
)
COUNTER = snp.SpikingSystem(  # t grows for ever, by twos
    [snp.Neuron("s", 2, ["a^2/a^2 -> a^2"]), snp.Neuron("t")], [("s", "t"), ("s", "s")]
)
DRIVEN = snp.SpikingSystem(
    [snp.Neuron("x", 0, ["a -> a"]), snp.Neuron("y")], [("x", "y")], input={"x": [1, 0, 1]}
)
BUFFER = SleptsovNet(  # a producer and a consumer with a buffer without bound
    [1, 0, 0, 1],
    inputs=Arcs.of([(0, 0, 1), (1, 1, 1), (2, 2, 1), (3, 2, 1)]),
    outputs=Arcs.of([(1, 0, 1), (0, 1, 1), (2, 1, 2), (3, 2, 1)]),
    place_names=["idle", "ready", "buffer", "consumer"],
)
PETRI, SLEPTSOV = Execution(BUFFER, rule=Petri()), Execution(BUFFER)


def certified(system, property, invariant, *, k=1, **options):
    options = {"samples": 200, **options}
    found = certify(
        system, snp.Certificate(property, invariant, model_digest(system), k=k), **options
    )
    name = system.schema().rule
    rule = f" under the {name.capitalize()} rule" if name else ""
    assert str(found).startswith(f"{property}: {found.status.value}{rule}\n")
    return found


TRUE = [
    (RING, "always n1 <= 1", "n1 + n2 <= 1"),
    (RING, "never n1 + n2 > 1", "n1 <= 1 and n2 <= 1 and (n1 = 0 or n2 = 0)"),
    (DELAYED, "always s + t <= 1", "s + pending(s) + t + pending(t) = 1"),
    (DELAYED, "never halted", "s + pending(s) + t + pending(t) = 1"),
    (DELAYED, "always (open(s) or open(t))", "s + pending(s) + t + pending(t) = 1"),
    (DELAYED, "always timer(s) <= 2", "0 = 0"),
    (COUNTER, "always t mod 2 = 0", "s = 2 and t mod 2 = 0"),
    (COUNTER, "never t mod 4 = 3", "s mod 2 = 0 and t mod 2 = 0"),
    (COUNTER, "always t = 2 * step", "s = 2 and t = 2 * step"),
    (DRIVEN, "always y <= 2", "(step = 0 implies x + y = 0) and (step <= 2 implies x + y <= 1) "
     "and x + y <= 2"),
    (PETRI, "always ready <= 1", "idle + ready = 1"),
    (PETRI, "always not halted", "idle + ready = 1"),
    (SLEPTSOV, "never consumer != 1", "consumer = 1"),
]  # fmt: skip


@pytest.mark.parametrize(("system", "property", "invariant"), TRUE)
def test_true_invariants_are_accepted(system, property, invariant):
    found = certified(system, property, invariant)
    assert found and found.status is CertificationStatus.ACCEPTED, str(found)
    assert 0 < found.num_configurations <= 200


@pytest.mark.parametrize(
    ("system", "property", "invariant", "obligation", "shown"),
    [
        (RING, "always n1 <= 0", "n1 + n2 <= 1", "property", "n1 = 1, n2 = 0"),
        (RING, "always n1 <= 1", "n1 + n2 <= 0", "initial", "n1 = 1, n2 = 0"),
        (RING, "always n1 + n2 >= 1", "n1 = 1 or n2 = 1", "step", "after one step: "),
        (DELAYED, "always s <= 1", "s + t <= 1", "step", None),
        (COUNTER, "always t mod 4 = 0", "t mod 4 = 0", "step", None),
        (DRIVEN, "always y <= 1", "y <= 1", "step", None),
        (PETRI, "always buffer <= 9", "buffer <= 9", "step", "after one step"),
    ],
)
def test_what_fails_is_shown(system, property, invariant, obligation, shown):
    found = certified(system, property, invariant)
    assert not found and found.status is CertificationStatus.REJECTED
    assert found.obligation == obligation and "it is false that" in found.reason
    assert shown is None or shown in str(found)
    assert len(found.configurations) == (2 if obligation == "step" else 1)


def test_a_bound_that_the_unrolled_steps_need():
    """That two neurons of a ring never spike together is inductive for three steps, not for two:
    its third neuron is not bound."""
    neurons = [snp.Neuron(name, int(name == "s"), ["a -> a"]) for name in "stu"]
    system = snp.SpikingSystem(neurons, [("s", "t"), ("t", "u"), ("u", "s")])
    claim = "s + t + u <= 1"
    assert certified(system, f"always {claim}", claim)
    claim = "not (s = 1 and t = 1) and s <= 1 and t <= 1"
    assert certified(system, f"always ({claim})", claim).obligation == "step"
    assert certified(system, f"always ({claim})", claim, k=2).obligation == "step"
    assert certified(system, f"always ({claim})", claim, k=3)


def test_a_false_property_is_not_inductive_for_any_k():
    for k in (1, 2, 3, 6):
        found = certified(COUNTER, "always t <= 6", "t <= 6 and s = 2", k=k)
        assert found.obligation == ("step" if k <= 4 else "initial")


def test_k_and_the_step_are_named():
    neurons = [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y", 0, ["a -> a"])]
    swap = snp.SpikingSystem(neurons, [("x", "y"), ("y", "x")])
    found = certified(swap, "always x <= 1", "x = 1 and y = 0", k=2)
    assert found.obligation == "initial"
    assert [*found.lines()][1:] == [
        "  it is false that the invariant holds after step 1 (k = 2: it has to hold in the first 2 "
        "configurations)",
        "  configuration: x = 1, y = 0",
        "  after one step: x = 0, y = 1",
    ]
    found = certified(swap, "always x <= 1", "x <= 1", k=2)
    assert found and "in the first 2 configurations, in that after any 2 in which it" in str(found)
    found = certified(COUNTER, "always t <= 6", "t <= 6 and s = 2", k=2)
    assert "holds after any 2 consecutive configurations in which it holds" in found.reason
    assert "\n  after 2 steps: s = 2, t = " in str(found)


def test_mistakes_in_texts_are_shown_on_lines():
    found = certified(RING, "always n1 <= 1", "n1 <=")
    assert [*found.lines()][-2:] == ["    n1 <=", "         ^"]


@pytest.mark.parametrize(
    ("property", "invariant", "words"),
    [
        ("always n1 <= 1", "n1 + n3 <= 1", "invariant:1:6: there is no neuron 'n3'"),
        ("always n3 <= 1", "n1 <= 1", "property:1:8: there is no neuron 'n3'"),
        ("always n1 <= 1", "n1 <=", "invariant:1:6: expected"),
        ("always n1 <= 1", "always n1 <= 1", "this speaks of paths"),
        ("always n1 <= 1", "on some path n1 <= 1", "says nothing of paths"),
        ("always n1 <= 1", "emits(n1) <= 1", "`emits` is not supported"),
        ("always n1 <= 1", "in_flight(n1) <= 1", "`in_flight` is not supported"),
        ("eventually n1 = 0", "n1 <= 1", "the property has another form"),
        ("on some path always n1 = 0", "n1 <= 1", "the property has another form"),
        ("always n1 <= 1 and n2 <= 1", "n1 <= 1", "the property has another form"),
        ("always next n1 <= 1", "n1 <= 1", "this speaks of paths"),
    ],
)
def test_what_is_no_certificate_of_this_model(property, invariant, words):
    found = certified(RING, property, invariant)
    assert found.status is CertificationStatus.REJECTED and words in found.reason
    assert not found.obligation and not found.configurations


def test_a_certificate_of_another_model_is_rejected():
    other = RING.replace(neurons=[snp.Neuron("n1", 0, ["a -> a"]), RING.neurons[1]])
    own = snp.Certificate("always n1 <= 1", "n1 + n2 <= 1", model_digest(RING))
    assert certify(RING, own, samples=10)
    found = certify(other, own)
    assert found.status is CertificationStatus.REJECTED and "another model" in found.reason


def test_a_solver_without_time_accepts_nothing():
    found = certified(RING, "always n1 <= 1", "n1 + n2 <= 1", seconds=0)
    assert found.status is CertificationStatus.UNKNOWN and not found.is_accepted
    assert "did not decide within 0 s" in found.reason
    with pytest.raises(ValueError, match="neither accepted nor rejected"):
        bool(found)


@pytest.mark.parametrize("name", ["initial", "property", "step"])
def test_an_undecided_obligation_is_unknown(monkeypatch, name):
    """Whichever it is."""
    number, wanted = 0, ["initial", "property", "step"].index(name)
    check = z3.Solver.check

    def checked(solver, *more):
        nonlocal number
        number += 1
        return z3.unknown if number > wanted else check(solver, *more)

    monkeypatch.setattr(z3.Solver, "check", checked)
    found = certified(RING, "always n1 <= 1", "n1 + n2 <= 1")
    assert found.status is CertificationStatus.UNKNOWN and found.obligation == name


def test_a_run_that_leaves_the_invariant_rejects_it(monkeypatch):
    """The runs are not those of the solver: if that is wrong, they show it."""
    monkeypatch.setattr(z3.Solver, "check", lambda *_: z3.unsat)
    for system in (COUNTER, PETRI, SLEPTSOV):
        name = "t" if system is COUNTER else "buffer"
        found = certified(system, f"always {name} <= 3", f"{name} <= 3")
        assert found.status is CertificationStatus.REJECTED and found.obligation == "runs"
        assert re.search(rf"configuration: .*\b{name} = [4-9]", str(found))


def test_any_input_is_that_of_an_environment():
    system = DRIVEN.with_input(snp.AnyInput(3))
    total = 'x + y + "environment of x" <= 3'
    assert certified(system, "always y <= 3", total)
    assert not certified(system, "always y <= 2", total)


# ---- the command ----


@pytest.fixture
def files(tmp_path):
    """A system that grows for ever, and a certificate of it."""
    model, proof = tmp_path / "counter.snp.json", tmp_path / "proof.json"
    snp.write(COUNTER, model)
    own = snp.Certificate("always t mod 2 = 0", "s = 2 and t mod 2 = 0", model_digest(COUNTER))
    own.write(proof)
    return model, proof, own


def test_command(files):
    model, proof, own = files
    assert "always t mod 2 = 0: accepted" in succeed("certify", model, proof)
    replace(own, invariant="t mod 4 = 0").write(proof)
    result = invoke("certify", model, proof)
    assert result.exit_code == 1 and "rejected" in result.output
    assert "after one step: s = " in result.output


def test_command_json(files):
    model, proof, own = files
    found = json.loads(succeed("certify", model, proof, "--json"))
    assert (found["status"], found["obligation"]) == ("accepted", None)
    assert found["certificate"] == own.to_dict() and found["num_configurations"] > 100
    replace(own, model="sha256:0").write(proof)
    result = invoke("certify", model, proof, "--json")
    assert result.exit_code == 1 and "another model" in json.loads(result.stdout)["reason"]


def test_command_without_time(files, monkeypatch):
    monkeypatch.setattr(z3.Solver, "check", lambda *_: z3.unknown)
    result = invoke("certify", *files[:2])
    assert result.exit_code == 3 and "did not decide within 60 s" in result.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "1:2: not well-formed"),
        ("{}", "this is not a certificate"),
        (None, "no such file"),
    ],
)
def test_command_on_what_is_no_certificate(files, text, words):
    model, proof, _ = files
    proof.unlink() if text is None else proof.write_text(text)
    result = invoke("certify", model, proof)
    assert result.exit_code == 2 and words in result.output and f"{proof}" in result.output


def test_command_refuses_what_it_does_not_support(files, tmp_path):
    model, proof, _ = files
    snp.write(COUNTER.replace(variant=snp.Exhaustive()), model)
    result = invoke("certify", model, proof)
    assert result.exit_code == 2 and "the variant `Exhaustive`" in result.output


def test_the_certificate_of_a_proof_is_written(files, tmp_path):
    model, _, _ = files
    proof = tmp_path / "own.json"
    arguments = ("check", model, "always t mod 2 = 0", "--prove")
    assert "proved" in succeed(*arguments, "--certificate", proof)
    assert "accepted" in succeed("certify", model, proof)
    (query,) = json.loads(succeed(*arguments, "--json"))["queries"]
    assert query["certificate"] == snp.Certificate.read(proof).to_dict()
    result = invoke("check", model, "always t >= 0", "always s >= 0", "--certificate", proof)
    assert result.exit_code == 2 and "give one query" in result.output


def test_a_complete_graph_has_no_certificate(tmp_path):
    model, proof = tmp_path / "ring.snp.json", tmp_path / "proof.json"
    snp.write(RING, model)
    result = invoke("check", model, "always n1 <= 1", "--certificate", proof)
    assert result.exit_code == 2 and "use --prove" in result.output and not proof.exists()
