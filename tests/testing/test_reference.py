"""The reference interpreter of networks that change: traces worked by hand, published systems with
known answers, and what always holds."""

from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import run_state_machine_as_test

import snpjax as snp
from snpjax.spiking import AnyRule
from snpjax.testing import (
    dividing_systems,
    machine_for,
    plastic_systems,
    reference,
    runs,
    systems,
)
from snpjax.testing.reference import Configuration, ReferenceNetwork
from snpjax.testing.reference_graph import explore
from snpjax.testing.reference_network import rules_of
from tests.support.helpers import case_system, load_cases


def network_of(configuration: Configuration) -> ReferenceNetwork:
    assert configuration.network is not None
    return configuration.network


def synapses_of(configuration: Configuration) -> list[tuple[int, int]]:
    """The synapses without their weights."""
    return [(source, target) for source, target, _ in network_of(configuration).synapses]


def slots_of(configuration: Configuration) -> list[list[object]]:
    """Label, spikes and timer of every slot."""
    columns = (network_of(configuration).labels, configuration.spikes, configuration.timers)
    return [list(slot) for slot in zip(*columns, strict=True)]


def labelled(configuration: Configuration) -> dict[str, int]:
    """The spikes of every label, of which there must be one neuron each."""
    labels = network_of(configuration).labels
    assert len(set(labels)) == len(labels)
    return dict(zip(labels, configuration.spikes, strict=True))


def deterministic_run(system: snp.SpikingSystem, max_steps: int = 20) -> reference.Computation:
    run = reference.run(system, max_steps=max_steps)
    for configuration in run.configurations:
        assert len(list(reference.choices(system, configuration))) == 1
    return run


# ---- division and budding, by hand ----


def relay_and(*rules: AnyRule, weight: int = 1, **more) -> snp.SpikingSystem:
    """`p` sends a spike to `i` in each of two steps, `i` has the rules and leads to `q`."""
    return snp.SpikingSystem(
        [snp.Neuron("p", 2, ["a+/a -> a"]), snp.Neuron("i", 1, rules), snp.Neuron("q")],
        [("p", "i", weight), ("i", "q", weight)],
        **more,
    )


def test_division():
    """Section 7.5: the spike that p sends while i divides is lost."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("p", 2, ["a+/a -> a"]),
            snp.Neuron("i", 1, [snp.DivisionRule("a", "j", "k")]),
            snp.Neuron("q"),
            snp.Neuron("h"),
        ],
        [("p", "i"), ("i", "q")],
        dictionary=[("h", "k")],
        rules_by_label={"j": ["a -> a"], "k": ["aa+/a^2 -> a"]},
    )
    run = deterministic_run(system)
    assert list(map(labelled, run.configurations)) == [
        {"p": 2, "i": 1, "q": 0, "h": 0},
        {"p": 1, "j": 0, "q": 0, "h": 0, "k": 0},
        {"p": 0, "j": 1, "q": 0, "h": 0, "k": 1},
        {"p": 0, "j": 0, "q": 1, "h": 0, "k": 1},
    ]
    assert run.halted
    assert synapses_of(run.configurations[0]) == [(0, 1), (1, 2)]
    for configuration in run.configurations[1:]:
        assert synapses_of(configuration) == [(0, 1), (0, 4), (1, 2), (3, 4), (4, 2)]
    assert run.emissions == ((1, 0, 0, 0, 0), (1, 0, 0, 0, 0), (0, 1, 0, 0, 0))


def test_budding():
    """Section 7.5: in step 2 the bud keeps its parent from budding again."""
    system = relay_and(snp.BuddingRule("a", "j"), snp.Rule("a^2", 2, 1))
    run = deterministic_run(system)
    assert list(map(labelled, run.configurations)) == [
        {"p": 2, "i": 1, "q": 0},
        {"p": 1, "i": 0, "q": 0, "j": 0},
        {"p": 0, "i": 1, "q": 0, "j": 0},
    ]
    assert run.halted and synapses_of(run.configurations[-1]) == [(0, 1), (1, 3), (3, 2)]


def test_general_budding():
    """The parent bears a new label, has its rules, and gets dictionary synapses as the bud does;
    weights are inherited, and a dictionary synapse weighs 1."""
    system = relay_and(
        snp.BuddingRule("a", "j", "x"),
        weight=2,
        dictionary=[("x", "q"), ("j", "q"), ("q", "j"), ("j", "j"), ("p", "x"), ("x", "nobody")],
        rules_by_label={"x": ["a^2/a -> a"]},
    )
    run = deterministic_run(system)
    assert network_of(run.configurations[1]).labels == ("p", "x", "q", "j")
    assert network_of(run.configurations[1]).synapses == (
        (0, 1, 2),  # p to i, which x keeps; the dictionary does not change it
        (1, 2, 1),  # x to q, by the dictionary
        (1, 3, 1),  # from the parent to its bud
        (2, 3, 1),  # q to j, by the dictionary
        (3, 2, 2),  # i to q, taken over
    )
    # In step 2 x gets the second spike of p, twice; in step 3 its rule applies.
    assert [c.spikes for c in run.configurations[1:]] == [(1, 0, 0, 0), (0, 2, 0, 0), (0, 1, 1, 1)]
    assert run.halted


def test_a_bud_without_relabelling_gives_its_parent_no_dictionary_synapses():
    system = relay_and(snp.BuddingRule("a", "j"), dictionary=[("q", "i"), ("i", "q"), ("q", "j")])
    after = deterministic_run(system).configurations[1]
    assert synapses_of(after) == [(0, 1), (1, 3), (2, 3), (3, 2)]


def test_initial_synapses_are_in_the_dictionary():
    """i and its child r are both of label c after step 1; the pair (c, d) is that of a synapse
    elsewhere."""
    system = snp.SpikingSystem(
        [snp.Neuron("i", 1, [snp.DivisionRule("a", "c", "d")]), snp.Neuron("c"), snp.Neuron("d")],
        [("c", "d")],
    )
    after = deterministic_run(system).configurations[1]
    assert network_of(after).labels == ("c", "c", "d", "d")
    assert synapses_of(after) == [(0, 2), (0, 3), (1, 2), (1, 3)]


def test_neighbours_that_both_divide_have_all_four_synapses():
    def neuron(name):
        return snp.Neuron(name, 1, [snp.DivisionRule("a", f"{name}1", f"{name}2")])

    after = deterministic_run(
        snp.SpikingSystem([neuron("x"), neuron("y"), neuron("z")], [("x", "y")])
    ).configurations[1]
    assert network_of(after).labels == ("x1", "y1", "z1", "x2", "y2", "z2")
    assert synapses_of(after) == [(0, 1), (0, 4), (3, 1), (3, 4)]


def test_divisions_come_before_buddings():
    """The bud of slot 0 comes after the child of slot 1, and has the synapses with both children;
    a neuron may bud while its neighbour divides."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("b", 1, [snp.BuddingRule("a", "bud")]),
            snp.Neuron("d", 1, [snp.DivisionRule("a", "left", "right")]),
        ],
        [("b", "d", 3), ("d", "b")],
    )
    after = deterministic_run(system).configurations[1]
    assert network_of(after).labels == ("b", "left", "right", "bud")
    assert network_of(after).synapses == (
        (0, 3, 1),
        (1, 0, 1),
        (2, 0, 1),
        (3, 1, 3),
        (3, 2, 3),
    )


def test_a_synapse_with_oneself():
    """A dividing neuron leaves all four synapses between its children; a bud takes over that which
    leaves its parent, who keeps that which comes in: one from the bud."""
    loop = [("i", "i", 2)]
    divided = snp.SpikingSystem([snp.Neuron("i", 1, [snp.DivisionRule("a", "j", "k")])], loop)
    after = deterministic_run(divided).configurations[1]
    assert network_of(after).synapses == ((0, 0, 2), (0, 1, 2), (1, 0, 2), (1, 1, 2))
    budded = snp.SpikingSystem([snp.Neuron("i", 1, [snp.BuddingRule("a", "j")])], loop)
    after = deterministic_run(budded).configurations[1]
    assert network_of(after).synapses == ((0, 1, 1), (1, 0, 2))


@pytest.mark.parametrize("rule", ["division", "budding", "relabelling"])
@pytest.mark.parametrize("neighbour", ["in", "out", "none"])
def test_a_neighbour_of_the_label_disables(rule, neighbour):
    """In- and out-neighbours of either label disable a division, out-neighbours of the bud's label
    a budding, in the graph before the step."""
    rules = {
        "division": snp.DivisionRule("a", "k", "j"),
        "budding": snp.BuddingRule("a", "j"),
        "relabelling": snp.BuddingRule("a", "k", "j"),
    }
    synapses = {"in": [("n", "i")], "out": [("i", "n")], "none": []}
    system = snp.SpikingSystem(
        [snp.Neuron("i", 1, [rules[rule]]), snp.Neuron("n", 0, label="j"), snp.Neuron("k")],
        synapses[neighbour],
    )
    is_disabled = (rule, neighbour) in {("division", "in"), ("division", "out"), ("budding", "out")}
    wanted = [[], [], []] if is_disabled else [[0], [], []]
    assert reference.applicable(system, reference.initial(system)) == wanted


def test_no_rule_changes_a_neuron_without_spikes():
    rules = [snp.DivisionRule("a*", "j", "k"), snp.BuddingRule("a*", "j")]
    system = snp.SpikingSystem([snp.Neuron("i", 0, rules), snp.Neuron("j", 1, rules, label="i")])
    assert reference.applicable(system, reference.initial(system)) == [[], [0, 1]]


def test_division_removes_all_spikes_and_competes_with_other_rules():
    rules = ["a^3/a -> a", snp.DivisionRule("aa+", "j", "k"), snp.BuddingRule("a^3", "j")]
    system = snp.SpikingSystem([snp.Neuron("i", 3, rules)], output="i")
    start = reference.initial(system)
    assert list(reference.choices(system, start)) == [(0,), (1,), (2,)]
    after = [reference.step(system, start, choice) for choice in reference.choices(system, start)]
    assert [(c.spikes, emitted) for c, emitted in after] == [
        ((2,), (1,)),
        ((0, 0), (0, 0)),
        ((0, 0), (0, 0)),
    ]


def test_every_slot_of_a_label_reads_its_train():
    """i divides in step 1 into two neurons of label r, which read from step 2 on."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("i", 1, [snp.DivisionRule("a", "r", "r")]),
            snp.Neuron("r", 0, ["a^9 -> a"]),
            snp.Neuron("far", 0, label="r", rules=["a^9 -> a"]),
        ],
        input={"r": [1, 2, 0, 4]},
        output="r",
    )
    run = deterministic_run(system)
    assert run.halted and run.configurations[-1].input_position == reference.horizon(system)
    assert [c.spikes for c in run.configurations] == [
        (1, 0, 0),
        (0, 1, 1, 0),
        (2, 3, 3, 2),
        (2, 3, 3, 2),
        (6, 7, 7, 6),
    ]


def test_a_closed_neuron_does_not_divide():
    system = relay_and(snp.Rule("a", 1, 1, 2), snp.DivisionRule("a^2", "j", "k"))
    run = deterministic_run(system)
    # p's spikes of steps 1 and 2 meet a closed i.
    assert [len(c.spikes) for c in run.configurations] == [3, 3, 3, 3]
    assert run.emissions[-1] == (0, 1, 0) and run.halted


# ---- plasticity, by hand ----


def test_plasticity_generator():
    """Section 7.6: intervals 3r + 1."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("i", 1, [snp.PlasticityRule("a", 1, "+-", 1, ["j", "m"])]),
            snp.Neuron("j", 0, ["a -> a"]),
            snp.Neuron("l", 0, ["a -> a"]),
            snp.Neuron("m", 1, ["a -> a"]),
        ],
        [("j", "l"), ("l", "i")],
        output="m",
    )
    start = reference.initial(system)
    to_j, to_m = reference.choices(system, start)
    assert (to_j, to_m) == (((0, (1,)), None, None, 0), ((0, (3,)), None, None, 0))

    after, emitted = reference.step(system, start, to_m)
    assert after.spikes == (0, 0, 0, 1) and emitted == (0, 0, 0, 1)
    assert synapses_of(after) == [(0, 3), (1, 2), (2, 0)]
    assert network_of(after).second == (0, None, None, None)
    (choice,) = reference.choices(system, after)
    assert choice == ((None, (3,)), None, None, 0)
    after, emitted = reference.step(system, after, choice)
    assert emitted == (0, 0, 0, 1) and synapses_of(after) == [(1, 2), (2, 0)]
    assert reference.is_halting(system, after)

    spikes, seconds = [], []
    after, _ = reference.step(system, start, to_j)
    for _ in range(2):
        spikes.append(after.spikes)
        seconds.append(network_of(after).second[0])
        (choice,) = reference.choices(system, after)
        after, _ = reference.step(system, after, choice)
    assert spikes == [(0, 1, 0, 0), (0, 0, 1, 0)] and seconds == [0, None]
    assert after.spikes == (1, 0, 0, 0) and len(list(reference.choices(system, after))) == 2


def plastic(
    *rules: AnyRule | str, spikes: int = 1, out: str = "", target: str = ""
) -> snp.SpikingSystem:
    """`x` has the rules and synapses to the neurons of `out`; `q` has one spike and the rule
    `target`, if there is one."""
    return snp.SpikingSystem(
        [
            snp.Neuron("x", spikes, rules),
            snp.Neuron("p"),
            snp.Neuron("q", 1 if target else 0, [target] if target else []),
            snp.Neuron("r"),
        ],
        [("x", name) for name in out],
    )


def test_alternatives_are_in_their_order():
    """Rules ascending, subsets in lexicographic order of slots, whatever the order of N."""
    create = snp.PlasticityRule("a+", 1, "+", 2, ["r", "p", "q"])
    delete = snp.PlasticityRule("a+", 1, "-", 1, ["p"])
    system = plastic("a -> a", create, delete, out="p").replace(synapses=[("x", "p"), ("x", "r")])
    start = reference.initial(system)
    # `+` may create (x, q) only; `-` may delete any synapse although N is {p}.
    assert reference.applicable(system, start) == [[0, 1, 2], [], [], []]
    found = [choice[0] for choice in reference.choices(system, start)]
    assert found == [0, (1, (2,)), (2, (1,)), (2, (3,))]
    free = system.replace(synapses=[])
    found = [choice[0] for choice in reference.choices(free, reference.initial(free))]
    assert found == [0, (1, (1, 2)), (1, (1, 3)), (1, (2, 3)), (2, ())]


def test_the_last_neuron_varies_fastest():
    rule = snp.PlasticityRule("a", 1, "+", 1, ["u", "v"])
    other = snp.PlasticityRule("a", 1, "+", 1, ["x", "u"])
    system = snp.SpikingSystem(
        [snp.Neuron("x", 1, [rule]), snp.Neuron("u"), snp.Neuron("v", 1, [other])]
    )
    assert list(reference.choices(system, reference.initial(system))) == [
        ((0, (1,)), None, (0, (0,))),
        ((0, (1,)), None, (0, (1,))),
        ((0, (2,)), None, (0, (0,))),
        ((0, (2,)), None, (0, (1,))),
    ]


def test_a_repeated_rule_counts_once():
    rule = snp.PlasticityRule("a", 1, "+", 1, ["p"])
    with pytest.warns(snp.ModelWarning, match="repeats"):
        system = plastic(rule, "a -> a", rule, "a -> a")
    assert reference.applicable(system, reference.initial(system)) == [[0, 1], [], [], []]


def test_created_synapses_carry_a_spike_and_existing_ones_none():
    run = deterministic_run(plastic(snp.PlasticityRule("a", 1, "+", 9, ["p", "q"]), out="q"))
    assert [c.spikes for c in run.configurations] == [(1, 0, 0, 0), (0, 1, 0, 0)]
    assert run.emissions == ((0, 0, 0, 0),), "what the created synapses carry is no emission"
    assert synapses_of(run.configurations[1]) == [(0, 1), (0, 2)] and run.halted


def test_a_synapse_created_to_a_closed_neuron_loses_its_spike():
    run = deterministic_run(
        plastic(snp.PlasticityRule("a", 1, "+", 2, ["p", "q"]), target="a -> a; 2")
    )
    assert run.configurations[1].spikes == (0, 1, 0, 0)
    assert synapses_of(run.configurations[1]) == [(0, 1), (0, 2)]


def test_nothing_to_create_or_delete():
    """The rule is used all the same, and the second half follows."""
    nothing = deterministic_run(plastic(snp.PlasticityRule("a", 1, "+", 1, ["p"]), out="p"))
    assert nothing.choices == (((0, ()), None, None, None),) and nothing.halted
    both = deterministic_run(plastic(snp.PlasticityRule("a", 1, "-+", 1, ["p"])))
    assert [choice[0] for choice in both.choices] == [(0, ()), (None, (1,))]
    assert both.configurations[-1].spikes == (0, 1, 0, 0)
    both = deterministic_run(plastic(snp.PlasticityRule("a", 1, "+-", 1, ["p"]), out="p"))
    # (x, p) was there already; the second half deletes it.
    assert [choice[0] for choice in both.choices] == [(0, ()), (None, (1,))]
    assert synapses_of(both.configurations[-1]) == []


def test_delete_and_create():
    """The candidates of the second half are computed anew: what was deleted may be created."""
    system = plastic(snp.PlasticityRule("a", 1, "-+", 1, ["p", "q"]), out="p")
    graph = explore(system, max_configurations=100)
    first, *second = [choice[0] for _, choice, _, _ in graph.edges]
    assert first == (0, (1,)) and second == [(None, (1,)), (None, (2,))]
    ends = [c for c in graph.configurations if reference.is_halting(system, c)]
    assert [(c.spikes, synapses_of(c)) for c in ends] == [
        ((0, 1, 0, 0), [(0, 1)]),
        ((0, 0, 1, 0), [(0, 2)]),
    ]


def test_no_rule_in_the_step_of_the_second_half():
    """x could fire in every step, and receives in both halves."""
    rule = snp.PlasticityRule("a^3", 1, "+-", 1, ["p"])
    system = plastic(rule, "a^{2}/a -> a", "a^{4}/a -> a", spikes=3).replace(
        input={"x": [2, 1, 1]}, output="x"
    )
    run = deterministic_run(system)
    assert [choice[0] for choice in run.choices] == [(0, (1,)), (None, (1,)), None]
    assert [c.spikes[0] for c in run.configurations] == [3, 4, 5, 6]
    assert run.halted


def test_a_second_half_is_not_halted():
    system = plastic(snp.PlasticityRule("a", 1, "+-", 1, ["p"]))
    run = deterministic_run(system)
    assert run.halted and run.steps == 2
    assert not any(reference.applicable(system, run.configurations[1]))
    assert not reference.is_halting(system, run.configurations[1])


@pytest.mark.parametrize("choice", [(None,), (1,), ((0, ()),), ((0, (2,)),), (0,), ((None, ()),)])
def test_a_choice_that_is_not_valid(choice):
    system = plastic(snp.PlasticityRule("a", 1, "+", 1, ["p"]))
    start = reference.initial(system)
    with pytest.raises(ValueError, match="'x .slot 0.' cannot select"):
        reference.step(system, start, (*choice, None, None, None))
    with pytest.raises(ValueError, match="of 1 neuron, not of 4"):
        reference.step(system, start, choice)


def test_stateful_tests():
    """Their runs have plasticity, and neurons that divide."""
    system = plastic(snp.PlasticityRule("a", 1, "+-", 1, ["p", "q"]))
    few = settings(max_examples=10, stateful_step_count=3, deadline=None, database=None)
    run_state_machine_as_test(machine_for(system, lambda c: c["p"] + c["q"] <= 1), settings=few)
    with pytest.raises(AssertionError, match="broken after step 1"):
        run_state_machine_as_test(machine_for(system, lambda c: c["q"] == 0), settings=few)
    with pytest.raises(AssertionError, match=r"broken after step 1[\s\S]*, new \(x, p\)"):
        run_state_machine_as_test(
            machine_for(system, lambda c: ~c.has_synapse("x", "p")), settings=few
        )
    growing = relay_and(snp.BuddingRule("a", "j"))
    kept = [lambda c: c["j"] == 0, lambda c: c.has_synapse("j", "q") == c.has_synapse("i", "j")]
    of_steps = [lambda s: (s.emitted("p") == 1) | (s.emitted("i") == 0)]
    run_state_machine_as_test(machine_for(growing, *kept, steps=of_steps), settings=few)
    shown = r"after step 1[\s\S]*p: a\+/a -> a, i: \[a\]_i -> \[\]_i / \[\]_j"
    with pytest.raises(AssertionError, match=shown):
        run_state_machine_as_test(
            machine_for(growing, lambda c: ~c.has_synapse("i", "j")), settings=few
        )
    with pytest.raises(AssertionError, match="broken in step 1"):
        machine = machine_for(growing, steps=[lambda s: ~s.fired("i", 0)])
        run_state_machine_as_test(machine, settings=few)


# ---- published systems ----


DYNAMIC = [
    case
    for case in load_cases("spiking", schema="snpjax-case/1")
    if case.values[0] is None or case.values[0]["variant"] in ("plasticity", "division-budding")
]

#: What the tests below check of `expected`.
CHECKED = {"deterministic", "halt_step", "steps", "neurons_per_step", "configurations"}
CHECKED |= {"emitted_by_output", "first_output_step", "labels_final", "synapses_final"}
CHECKED |= {"satisfiable", "models", "successors", "graph", "intervals"}


@pytest.mark.parametrize("case", DYNAMIC)
def test_published_answers(case):
    system, expected = case_system(case), case["expected"]
    assert expected.keys() <= CHECKED
    if case["variant"] == "division-budding":
        check_run_of_case(system, expected)
    else:
        check_graph_of_case(system, expected)


def check_run_of_case(system, expected):
    assert expected["deterministic"]
    run = deterministic_run(system, max_steps=expected["halt_step"] + 5)
    last = run.configurations[-1]
    assert run.halted and run.steps == expected["halt_step"] == expected["steps"]
    assert [len(c.spikes) for c in run.configurations] == expected["neurons_per_step"]
    for configuration, wanted in zip(
        run.configurations, expected.get("configurations", run.configurations), strict=True
    ):
        if isinstance(wanted, dict):
            assert slots_of(configuration) == wanted["neurons"]
            assert list(map(list, synapses_of(configuration))) == wanted["synapses"]
    emitted = [
        sum(x for x, name in zip(row, network_of(c).labels, strict=True) if name in system.output)
        for row, c in zip(run.emissions, run.configurations[1:], strict=True)
    ]
    if "emitted_by_output" in expected:
        assert emitted == expected["emitted_by_output"]
        steps = [step for step, spikes in enumerate(emitted, start=1) if spikes]
        assert next(iter(steps), None) == expected["first_output_step"]
        assert bool(steps) == expected["satisfiable"]
        output = system.names[system.output[0]]  # gets two spikes for each model
        assert max(c.spikes[output] for c in run.configurations) == 2 * expected["models"]
        assert Counter(network_of(last).labels) == expected["labels_final"]
        assert len(network_of(last).synapses) == expected["synapses_final"]


def check_graph_of_case(system, expected):
    graph = explore(system, max_configurations=1_000)
    wanted = expected["graph"]
    assert wanted["finite"] and len(graph.configurations) == wanted["configurations"]
    assert graph.num_expanded == len(graph.configurations)
    halting = [reference.is_halting(system, c) for c in graph.configurations]
    assert sum(halting) == wanted["halting"]
    transitions = {(source, emitted, target) for source, _, emitted, target in graph.edges}
    assert len(transitions) == wanted["transitions"]
    start = reference.initial(system)
    found = [reference.step(system, start, c)[0] for c in reference.choices(system, start)]
    assert sorted(map(repr, map(successor_of(system), found))) == sorted(
        map(repr, expected["successors"])
    )
    if "intervals" in expected:
        up_to = expected["intervals"]["up_to"]
        assert intervals_of(graph, system.names[system.output[0]], up_to) == set(
            expected["intervals"]["values"]
        )


def successor_of(system):
    """What a case file says of a successor."""

    def half(slot, number):
        if number is None:
            return None
        rule = system.neurons[slot].rules[number]
        return {"alpha": rule.alpha[1], "k": rule.k, "targets": list(rule.targets)}

    def successor(configuration):
        name = [neuron.name for neuron in system.neurons]
        return {
            "spikes": list(configuration.spikes),
            "synapses": [[name[s], name[t]] for s, t in synapses_of(configuration)],
            "pending": [half(*one) for one in enumerate(network_of(configuration).second)],
        }

    return successor


def intervals_of(graph, output: int, up_to: int) -> set[int]:
    """The steps between the first two spikes of an output, over all computations."""
    found: set[int] = set()
    todo: list[tuple[int, int | None]] = [(0, None)]  # configuration, steps since the first spike
    seen = set(todo)
    while todo:
        source, since = todo.pop()
        for start, _, emitted, target in graph.edges:
            if start != source:
                continue
            if emitted[output] and since is not None:
                found.add(since + 1)
                continue
            after = since + 1 if since is not None else 0 if emitted[output] else None
            if (after or 0) < up_to and (target, after) not in seen:
                seen.add((target, after))
                todo.append((target, after))
    return found


# ---- what always holds ----


def rule_of(system, configuration, slot, selected) -> AnyRule | None:
    """The rule that a slot uses for the first time in a step."""
    number = selected[0] if isinstance(selected, tuple) else selected
    if number is None:
        return None
    return rules_of(system, network_of(configuration).labels[slot])[number]


def growing_slots(system, configuration, choice) -> tuple[list[int], list[int]]:
    """The slots that divide, and those that bud, in their order."""
    rules = [rule_of(system, configuration, *one) for one in enumerate(choice)]
    dividing = [slot for slot, rule in enumerate(rules) if isinstance(rule, snp.DivisionRule)]
    budding = [slot for slot, rule in enumerate(rules) if isinstance(rule, snp.BuddingRule)]
    return dividing, budding


def steps_of(run):
    return zip(run.configurations, run.choices, run.emissions, run.configurations[1:], strict=False)


changing_systems = plastic_systems() | dividing_systems()


def draw_run(data, system) -> reference.Computation:
    """A run with random choices, of a length that is worth while."""
    rng = data.draw(st.randoms(use_true_random=False))

    def choose(system, configuration):
        return tuple(rng.choice(own) for own in reference.alternatives(system, configuration))

    return reference.run(system, choose, max_steps=12)


@settings(max_examples=10)
@given(plastic_systems(level="strict"), dividing_systems(level="strict"))
def test_strict_systems_are_drawn(plastic_system, dividing_system):
    for system in (plastic_system, dividing_system):
        assert system.level == "strict" and not system.is_static
    assert dividing_system.is_growing and not plastic_system.is_growing


@given(changing_systems, st.data())
def test_configurations_are_well_formed(system, data):
    run = data.draw(runs(system))
    for before, choice, emitted, after in steps_of(run):
        assert choice in set(reference.choices(system, before))
        network = network_of(after)
        size = len(network.labels)
        assert size >= len(before.spikes) and len(emitted) == size
        assert len(after.spikes) == len(after.timers) == len(after.pending) == size
        assert len(network.second) == size and min(after.spikes) >= 0
        pairs = synapses_of(after)
        assert pairs == sorted(set(pairs)) and all(0 <= slot < size for p in pairs for slot in p)
        assert not any(emitted[len(before.spikes) :]), "new neurons emit nothing"
        assert all(not (timer and x) for timer, x in zip(after.timers, emitted, strict=True))
    last = run.configurations[-1]
    if run.halted:
        assert reference.step(system, last, (None,) * len(last.spikes)) == (
            last,
            (0,) * len(last.spikes),
        )


@given(systems(max_neurons=4), st.booleans(), st.data())
def test_a_network_that_does_not_change_runs_as_a_static_one(system, divides, data):
    """An isolated neuron whose rules never apply changes nothing else."""
    rule = snp.DivisionRule("a", "j", "k") if divides else snp.PlasticityRule("a", 1, "+", 1, ["b"])
    isolated = [snp.Neuron("a", 0, [rule]), snp.Neuron("b")]
    changing = system.replace(neurons=[*system.neurons, *isolated])
    run = data.draw(runs(system, max_steps=8))
    here = reference.initial(changing)
    for before, choice, emitted, after in steps_of(run):
        options = reference.alternatives(changing, here)
        assert options == [*reference.alternatives(system, before), [None], [None]]
        here, also_emitted = reference.step(changing, here, (*choice, None, None))
        assert also_emitted == (*emitted, 0, 0)
        assert here.spikes == (*after.spikes, 0, 0) and here.timers == (*after.timers, 0, 0)
        assert here.pending == (*after.pending, 0, 0)
        assert here.input_position == after.input_position
    assert reference.is_halting(changing, here) == run.halted


def renamed(system: snp.SpikingSystem, order: list[int]) -> snp.SpikingSystem:
    """The neurons in another order, and every name and label written twice."""

    def twice(name):
        return name + name

    def rule(rule):
        match rule:
            case snp.DivisionRule():
                return snp.DivisionRule(rule.guard, twice(rule.left), twice(rule.right))
            case snp.BuddingRule():
                parent = None if rule.parent is None else twice(rule.parent)
                return snp.BuddingRule(rule.guard, twice(rule.bud), parent)
            case snp.PlasticityRule():
                targets = [*map(twice, reversed(rule.targets))]
                return snp.PlasticityRule(rule.guard, rule.consume, rule.alpha, rule.k, targets)
        return rule

    neurons = [
        snp.Neuron(twice(n.name), n.spikes, [*map(rule, n.rules)], twice(n.label))
        for n in system.neurons
    ]
    return system.replace(
        neurons=[neurons[old] for old in order],
        synapses=[(twice(x), twice(y), w) for x, y, w in reversed(system.synapses)],
        input={twice(name): train for name, train in system.input.items()},
        output=[*map(twice, system.output)],
        dictionary=[(twice(x), twice(y)) for x, y in system.dictionary],
        rules_by_label={twice(x): [*map(rule, own)] for x, own in system.rules_by_label.items()},
    )


@given(changing_systems, st.data())
def test_renaming_permutes(system, data):
    order = data.draw(st.permutations(range(system.num_neurons)))
    other = renamed(system, order)
    to = {old: new for new, old in enumerate(order)}
    there = reference.initial(other)
    for before, choice, emitted, after in steps_of(draw_run(data, system)):
        moved: list[reference.NeuronAction] = [None] * len(choice)
        for slot, selected in enumerate(choice):
            if isinstance(selected, tuple):
                selected = (selected[0], tuple(sorted(to[target] for target in selected[1])))
            moved[to[slot]] = selected
        # New neurons are in the order of their parents, which is another there.
        size = len(before.spikes)
        parents = growing_slots(system, before, choice)
        new = size
        for kind in parents:
            ranks = sorted(to[parent] for parent in kind)
            for child, parent in enumerate(kind, start=new):
                to[child] = new + ranks.index(to[parent])
            new += len(kind)
        options = [len(own) for own in reference.alternatives(system, before)]
        assert [len(own) for own in reference.alternatives(other, there)] == [
            options[slot] for slot in sorted(range(size), key=to.__getitem__)
        ]
        there, also_emitted = reference.step(other, there, tuple(moved))
        network, permuted = network_of(after), network_of(there)
        for slot, label in enumerate(network.labels):
            at = to[slot]
            assert permuted.labels[at] == label + label and also_emitted[at] == emitted[slot]
            for column in ("spikes", "timers", "pending"):
                assert getattr(there, column)[at] == getattr(after, column)[slot]
            assert permuted.second[at] == network.second[slot]
        assert set(permuted.synapses) == {(to[s], to[t], w) for s, t, w in network.synapses}


def only_divisions(system: snp.SpikingSystem) -> snp.SpikingSystem:
    """Every rule that makes neurons divides, into labels that have no rules and are in no pair of
    the dictionary."""

    def rules(label, own):
        growing = (snp.DivisionRule, snp.BuddingRule)
        return [
            snp.DivisionRule(rule.guard, f"left of {label}", f"right of {label}")
            if isinstance(rule, growing)
            else rule
            for rule in own
        ]

    return system.replace(
        neurons=[
            snp.Neuron(n.name, n.spikes, rules(n.label, n.rules), n.label) for n in system.neurons
        ],
        dictionary=[],
        rules_by_label={},
        input={x: train for x, train in system.input.items() if x in system.names},
        output=[x for x in system.output if x in system.names],
    )


dividing_only = dividing_systems().map(only_divisions)


@given(dividing_only, st.data())
def test_children_have_the_synapses_of_their_parent(system, data):
    for before, choice, _, after in steps_of(draw_run(data, system)):
        size = len(before.spikes)
        parents, _ = growing_slots(system, before, choice)
        family = {slot: {slot} for slot in range(size)}
        for child, parent in enumerate(parents, start=size):
            family[parent].add(child)
        old, new = synapses_of(before), synapses_of(after)
        for slot, members in family.items():
            targets = {x for source, target in old if source == slot for x in family[target]}
            sources = {x for source, target in old if target == slot for x in family[source]}
            for member in members:
                assert {target for source, target in new if source == member} == targets
                assert {source for source, target in new if target == member} == sources


@given(dividing_only, st.data())
def test_divisions_inherit_in_any_order(system, data):
    """Neurons divide one after another, each as the definition says."""
    for before, choice, _, after in steps_of(draw_run(data, system)):
        parents, _ = growing_slots(system, before, choice)
        children = list(enumerate(parents, start=len(before.spikes)))
        for order in (children, children[::-1], data.draw(st.permutations(children))):
            synapses = network_of(before).synapses
            for right, left in order:  # the left child has the slot of the parent
                into = [(g, i, w) for g, i, w in synapses if i == left]
                synapses = [*synapses, *((g, right, w) for g, _, w in into)]
                out = [(i, g, w) for i, g, w in synapses if i == left]
                synapses = [*synapses, *((right, g, w) for _, g, w in out)]
            assert tuple(sorted(synapses)) == network_of(after).synapses


@given(dividing_systems(), st.data())
def test_new_neurons(system, data):
    """They are in their order, and empty: whatever is sent to a neuron that divides or buds, and to
    the new ones, is lost. A bud has the synapses that left its parent."""
    for before, choice, _, after in steps_of(draw_run(data, system)):
        size, labels = len(before.spikes), list(network_of(before).labels)
        dividing, budding = growing_slots(system, before, choice)
        for slot in (*dividing, *budding):
            rule = rule_of(system, before, slot, choice[slot])
            if isinstance(rule, snp.DivisionRule):
                labels[slot] = rule.left
                labels.append(rule.right)
            else:
                assert isinstance(rule, snp.BuddingRule)
                labels[slot] = labels[slot] if rule.parent is None else rule.parent
                labels.append(rule.bud)
        assert network_of(after).labels == tuple(labels)
        for slot in (*dividing, *budding, *range(size, len(labels))):
            assert after.spikes[slot] == after.timers[slot] == after.pending[slot] == 0
        buds = dict(zip(budding, range(size + len(dividing), len(labels)), strict=True))
        now = set(network_of(after).synapses)
        assert now >= {(parent, bud, 1) for parent, bud in buds.items()}
        assert now >= {(buds.get(s, s), t, w) for s, t, w in network_of(before).synapses}


@given(plastic_systems(), st.data())
def test_neurons_edit_their_own_synapses_only(system, data):
    """And never reach beyond the synapses of the start and the targets of their rules."""
    reach = set(synapses_of(reference.initial(system)))
    for slot, neuron in enumerate(system.neurons):
        for rule in neuron.rules:
            if isinstance(rule, snp.PlasticityRule):
                reach |= {(slot, system.names[target]) for target in rule.targets}
    for before, choice, _, after in steps_of(draw_run(data, system)):
        old, new = synapses_of(before), synapses_of(after)
        assert set(new) <= reach
        for slot, selected in enumerate(choice):
            was = {target for source, target in old if source == slot}
            now = {target for source, target in new if source == slot}
            if not isinstance(selected, tuple):
                assert was == now
                continue
            half = network_of(before).second[slot]
            rule = rule_of(system, before, slot, half if half is not None else selected)
            assert isinstance(rule, snp.PlasticityRule)
            places = {system.names[name] for name in rule.targets}
            if rule.alpha[0 if half is None else 1] == "+":
                assert was <= now and now - was == set(selected[1]) <= places
                assert len(now - was) == min(rule.k, len(places - was))
            else:
                assert now <= was and was - now == set(selected[1])
                assert len(was - now) == min(rule.k, len(was))
            is_first_of_two = half is None and len(rule.alpha) == 2
            assert network_of(after).second[slot] == (selected[0] if is_first_of_two else None)


@given(changing_systems, st.data())
def test_spikes_are_conserved(system, data):
    """The sum of the changes is what was delivered less what was consumed."""
    for before, choice, emitted, after in steps_of(draw_run(data, system)):
        size = len(before.spikes)
        dividing, budding = growing_slots(system, before, choice)
        consumed = sum(before.spikes[slot] for slot in (*dividing, *budding))
        closed = {*dividing, *budding, *range(size, len(after.spikes))}
        closed |= {slot for slot, timer in enumerate(after.timers) if timer}
        # Edits of this step change nothing for neurons that emit.
        synapses = network_of(after if system.is_growing else before).synapses
        delivered = sum(w * emitted[s] for s, target, w in synapses if target not in closed)
        for slot, selected in enumerate(choice):
            rule = rule_of(system, before, slot, selected)
            if isinstance(rule, snp.Rule | snp.PlasticityRule):
                consumed += rule.consume
            if isinstance(selected, tuple):
                new = set(synapses_of(after)) - set(synapses_of(before))
                delivered += sum(s == slot and target not in closed for s, target in new)
        names = network_of(after).labels
        for name, train in system.input.items():
            entry = train[before.input_position :][:1]
            readers = [slot for slot, label in enumerate(names) if label == name]
            delivered += sum(entry) * len(set(readers) - closed)
        assert sum(after.spikes) - sum(before.spikes) == delivered - consumed


@given(changing_systems)
def test_the_graph_has_every_choice(system):
    """Its edges are the choices of each configuration, in their order, and it begins with the
    initial one."""
    graph = explore(system, max_configurations=30, max_depth=4)
    assert graph.configurations[0] == reference.initial(system)
    for number in range(graph.num_expanded):
        configuration = graph.configurations[number]
        own = [edge for edge in graph.edges if edge[0] == number]
        if reference.is_halting(system, configuration):
            assert not own
            continue
        choices = list(reference.choices(system, configuration))
        assert [choice for _, choice, _, _ in own] == choices and len(set(choices)) == len(choices)
        assert reference.first(system, configuration) == choices[0]
        for _, choice, emitted, target in own:
            after = graph.configurations[target]
            assert reference.step(system, configuration, choice) == (after, emitted)
