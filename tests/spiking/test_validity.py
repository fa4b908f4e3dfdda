"""Every code of the validity table at both levels; all problems at once, with place and fix."""

import warnings
from typing import get_args

import pytest

import snpjax as snp
from snpjax.spiking.model.communication_variants import Channels, Requests
from snpjax.spiking.model.renaming import renamed
from snpjax.spiking.model.timed_variants import DendriticDelays, ScheduledSynapses, SynapseDelays
from snpjax.spiking.model.validity import SEVERITIES, Place
from snpjax.spiking.model.variants import (
    AntiSpikes,
    Astrocyte,
    Astrocytes,
    Exhaustive,
    SynapseRules,
    Variant,
)


def system(level, neurons=None, synapses=(("x", "y"),), **kwargs):
    default = [snp.Neuron("x", 2, ["a^2/a -> a"]), snp.Neuron("y", 0, ["a -> lambda"])]
    return snp.SpikingSystem(
        default if neurons is None else neurons, synapses, level=level, **kwargs
    )


def with_rules(*rules, **kwargs):
    neurons = [snp.Neuron("x", 2, rules), snp.Neuron("y")]
    return lambda level: system(level, neurons, **kwargs)


def problems(build, level="extended"):
    """What is wrong with a system that is refused."""
    with pytest.raises(snp.InvalidSystem) as refusal:
        build(level)
    return refusal.value.problems


y = snp.Neuron("y")
delayed_on_synapse = SynapseRules({("x", "y"): ["a -> a; 1"]})
#: code: (what shows it, a word the message must contain besides the names)
SHOWS = {
    "unknown_neuron": (lambda level: system(level, synapses=[("x", "why")]), "'why'"),
    "duplicate_neuron": (lambda level: system(level, [snp.Neuron("x"), y, y], ()), "'y'"),
    "duplicate_synapse": (lambda level: system(level, synapses=[("x", "y")] * 2), "remove one"),
    "bad_number": (lambda level: system(level, [snp.Neuron("x", -1), y]), "-1 spikes"),
    "bad_guard": (with_rules("a{2 -> a"), "rule 1"),
    "forgetting_delay": (with_rules(snp.Rule("a", 1, 0, 2)), "no delay"),
    "self_synapse": (lambda level: system(level, synapses=[("x", "x")]), "(x, x)"),
    "produce_exceeds_consume": (with_rules("a^2/a -> a^2"), "produces 2 but consumes 1"),
    "forgetting_guard": (with_rules("a^3/a -> lambda"), "not exactly"),
    "forgetting_overlap": (with_rules("a+ /a -> a", "a^2 -> lambda"), "forgets 2 spikes"),
    "weighted_synapse": (lambda level: system(level, synapses=[("x", "y", 3)]), "weight 3"),
    "negative_weight": (lambda level: system(level, synapses=[("x", "y", -1)]), "signed=True"),
    "output_out_degree": (lambda level: system(level, output="x"), "out-degree 0"),
    "dead_rule": (with_rules("a/a^2 -> a"), "can never apply"),
    "duplicate_rule": (with_rules("a -> a", "a -> a"), "repeats"),
    "mixed_dynamics": (
        with_rules(snp.DivisionRule("a", "u", "v"), snp.PlasticityRule("a^2", 2, "+", 1, ["y"])),
        "cannot be combined",
    ),
    "label_rules": (
        lambda level: system(
            level, [snp.Neuron("x", 0, ["a -> a"], "l"), snp.Neuron("z", 0, (), "l"), y], ()
        ),
        "label 'l'",
    ),
    "unused_label": (
        lambda level: system(
            level,
            [snp.Neuron("x", 0, ["[a]_x -> []_child || []_child"]), y],
            (),
            rules_by_label={"chidl": ["a -> a"]},
        ),
        "label 'chidl' has rules, but no neuron can come to bear it (did you mean 'child'?)",
    ),
    "unknown_position": (
        lambda level: system(level, notes={"positions": {"x": [0, 0], "Y": [1, 1], "out": [2, 2]}}),
        "there is no neuron 'Y' (did you mean 'y'?)",
    ),
    "budding_parent": (with_rules(snp.BuddingRule("a", "u", parent="v")), "relabels"),
    "plasticity_targets": (with_rules(snp.PlasticityRule("a", 1, "+", 1, ())), "empty"),
    "plastic_weight": (with_rules("a -> +1(x, {y})", synapses=[("x", "y", 2)]), "weight 1"),
    "dynamic_options": (
        with_rules("[a]_x -> []_u || []_v", compatibility=snp.compatibility.WEBSNAPSE_V2),
        "remove the compatibility closed_receives, late_consumption",
    ),
    "variant": (lambda level: system(level, variant=Exhaustive()), 'level "extended"'),
    # At level strict any variant is a problem by itself.
    "variant_options": (
        lambda _: with_rules("a -> +1(x, {y})", variant=Exhaustive())("extended"),
        "cannot be combined",
    ),
    "anti_spikes": (with_rules("ā -> a"), "variant=AntiSpikes()"),
    "astrocyte": (
        lambda _: system("extended", variant=Astrocytes([Astrocyte([("y", "x")], 1)])),
        "no such synapse",
    ),
    "timed_synapse": (
        lambda _: system("extended", variant=SynapseDelays({("y", "x"): 1})),
        "no such synapse",
    ),
    "synapse_rules": (
        lambda _: system("extended", [snp.Neuron("x"), y], variant=delayed_on_synapse),
        "no delay",
    ),
    "channel": (with_rules("a -> a(1)"), "variant=Channels(...)"),
    "unused_channel": (
        lambda _: system(
            "extended",
            [snp.Neuron("x", 0, ["a -> a(2)"]), y],
            variant=Channels({"1": [("x", "y")]}),
        ),
        "is lost",
    ),
    "request": (with_rules("a/Q(a, y)"), "variant=Requests()"),
}


def test_every_code_is_shown():
    assert SHOWS.keys() == SEVERITIES.keys()


@pytest.mark.parametrize("column, level", [(0, "strict"), (1, "extended")])
@pytest.mark.parametrize("code", SHOWS)
def test_code(code, column, level):
    build, word = SHOWS[code]
    severity = SEVERITIES[code][column]
    if severity == "error":
        with pytest.raises(snp.InvalidSystem) as refusal:
            build(level)
        found = refusal.value.problems
    else:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = build(level).problems
        assert len(caught) == len(found) == (severity == "warning")
        if severity is None:
            return
        assert issubclass(caught[0].category, snp.ModelWarning) and word in str(caught[0].message)
    assert [problem.code for problem in found] == [code]
    assert word in str(found[0])


def test_all_problems_are_reported_at_once():
    with pytest.raises(snp.InvalidSystem) as refusal:
        snp.SpikingSystem(
            [snp.Neuron("x", -1, ["a(", snp.Rule("a", 0, -2, -3)]), snp.Neuron("x", 1.5)],
            [("x", "z"), ("x", "x", 0), ("x", "z", True)],
            input={"w": [1], "x": [1, -1]},
            output=["v", "x"],
            level="strict",
        )
    codes = [problem.code for problem in refusal.value.problems]
    assert sorted(codes) == sorted(
        [
            *["duplicate_neuron", "bad_number", "bad_number"],  # x twice, -1 and 1.5 spikes
            *["bad_guard", "bad_number", "bad_number", "bad_number"],  # rules 1 and 2
            *["unknown_neuron", "self_synapse", "bad_number"],  # z, (x, x), its weight 0
            *[
                "unknown_neuron",
                "duplicate_synapse",
                "bad_number",
            ],  # z, (x, z) again, its weight True
            *["unknown_neuron", "bad_number", "unknown_neuron"],  # inputs w and x, output v
        ]
    )
    lines = str(refusal.value).splitlines()
    assert len(lines) == len(codes)
    assert "there is no neuron 'v' (the only one is 'x')" in lines[-1]


def test_repetition_says_both_places():
    with pytest.raises(snp.InvalidSystem) as refusal:
        system("extended", synapses=[("x", "y"), ("y", "x"), ("x", "y")])
    (problem,) = refusal.value.problems
    assert problem.place.index == 2 and problem.first.index == 0


@pytest.mark.parametrize(
    "rule, word",
    [
        ("a -> +0(x, {y})", "number k of synapses is 0"),
        (snp.PlasticityRule("a", 1, "+", -1, ["y"]), "number k of synapses is -1"),
        (snp.PlasticityRule("a", 1, "+", 1.5, ["y"]), "number k of synapses is 1.5"),
        (snp.PlasticityRule("a", 1, "+", True, ["y"]), "number k of synapses is True"),
        (snp.PlasticityRule("a", 1, "*", 1, ["y"]), "kind of plasticity"),
        ("a -> -1(x, {})", "empty"),
        ("a -> -1(x, {x, y})", "'x' itself"),
        ("a -> -1(x, {y, y, y})", "'y' 3 times"),
        ("a -> -1(x, {why})", "no neuron 'why' (the neurons are 'x', 'y')"),
    ],
)
@pytest.mark.parametrize("level", ["strict", "extended"])
def test_plasticity(rule, word, level):
    (problem,) = problems(with_rules(rule), level)
    assert word in problem.message and "neuron 'x', rule 1" in problem.message
    assert problem.place == Place("rule", 0, 0)


def test_plasticity_and_growth_exclude_each_other_wherever_they_stand():
    growth = {"u": ["[a]_u -> []_u / []_v"]}
    (problem,) = problems(with_rules("a -> +1(x, {y})", rules_by_label=growth))
    assert problem.code == "mixed_dynamics"
    assert {problem.place, problem.first} == {Place("rule", 0, 0), Place("rule", "u", 0)}


_REASONS = {
    "plasticity": {
        Exhaustive(): "creates and deletes synapses once",
        Astrocytes([]): "controls a synapse that is created",
        SynapseRules({}): "that is created has no rules",
        Channels({}): "which channel a synapse that is created belongs",
        Requests(): "no synapses to create",
        SynapseDelays({}): "which delay a synapse that is created has",
        DendriticDelays({}): "that is created ends at the dendrite",
        ScheduledSynapses([]): "that its schedule ends",
    },
    "division and budding": {
        AntiSpikes(): "at which anti-spikes a neuron divides",
        Exhaustive(): "is empty",
        Astrocytes([]): "controls the synapses of a new neuron",
        SynapseRules({}): "which rules the synapses of a new neuron have",
        Channels({}): "which channels the synapses of a new neuron belong",
        Requests(): "several or none may come to bear its label",
        SynapseDelays({}): "which delays the synapses of a new neuron have",
        DendriticDelays({}): "which delay the dendrite of a new neuron has",
        ScheduledSynapses([]): "which schedules the synapses of a new neuron have",
    },
}


@pytest.mark.parametrize("what", _REASONS)
def test_a_variant_says_why_the_network_does_not_change(what):
    allowed = {AntiSpikes} if what == "plasticity" else set()
    assert {*map(type, _REASONS[what])} | allowed == {*get_args(Variant)}
    rule = {"plasticity": "a -> +1(x, {y})", "division and budding": "[a]_x -> []_u || []_v"}[what]
    for variant, reason in _REASONS[what].items():
        found = problems(with_rules(rule, variant=variant))
        (problem,) = [p for p in found if p.code == "variant_options"]
        name = type(variant).__name__
        assert f"{name} cannot be combined with {what}: " in problem.message
        assert reason in problem.message and problem.place == Place("rule", 0, 0)
    assert not with_rules("a -> +1(x, {y})", variant=AntiSpikes())("extended").problems


@pytest.mark.parametrize("rule", ["[a]_x -> []_u || []_v", "a -> +1(x, {y})"])
def test_networks_that_change_have_no_negative_counts(rule):
    (problem,) = problems(with_rules(rule, signed=True))
    assert (problem.code, problem.place) == ("dynamic_options", Place("rule", 0, 0))


def test_plasticity_may_have_one_option_of_a_simulator():
    within = snp.Compatibility(delete_within_N=True)
    rule = "a -> +1(x, {y})"
    assert with_rules(rule, compatibility=within)("extended").problems == ()
    more = snp.Compatibility(delete_within_N=True, closed_receives=True)
    (problem,) = problems(with_rules(rule, compatibility=more))
    assert problem.code == "dynamic_options" and "only (remove the others of" in problem.message
    (problem,) = problems(with_rules("[a]_x -> []_u || []_v", compatibility=within))
    assert problem.code == "dynamic_options" and "remove the compat" in problem.message


@pytest.mark.parametrize("alpha", ["+", "+-", "-+"])
def test_a_synapse_that_plasticity_may_create_again_has_weight_1(alpha):
    rule = f"a -> {alpha}1(x, {{y}})"
    (problem,) = problems(with_rules(rule, synapses=[("y", "x", 3), ("x", "y", 3)]))
    assert (problem.code, problem.place) == ("plastic_weight", Place("synapse", 1))
    assert "no definition says a weight" in problem.message


def test_a_synapse_that_plasticity_may_only_delete_has_any_weight():
    assert not with_rules("a -> -1(x, {y})", synapses=[("x", "y", 3)])("extended").problems


@pytest.mark.parametrize("rule", ["[∅]_x -> []_u || []_v", "[∅]_x -> []_x / []_u", "∅/a -> +1 {y}"])
def test_rules_of_change_that_can_never_apply(rule):
    with pytest.warns(snp.ModelWarning, match="neuron 'x', rule 1: .* can never apply") as caught:
        built = with_rules(rule)("strict")
    assert built.rule_text(0, 0) in str(caught[0].message)


def test_what_is_legal_in_systems_that_grow():
    """A neighbour's label, a pair naming a label that no neuron has yet, rules of such labels,
    labels without rules."""
    built = with_rules(
        *["[a]_x -> []_u || []_y", "[a^2]_x -> []_x / []_w"],
        dictionary=[("u", "nobody"), ("w", "w")],
        rules_by_label={"u": ["a -> a"], "never": ["[a]_never -> []_x || []_never"]},
    )("strict")
    assert not built.problems and not built.is_static and "dynamic" in repr(built)
    assert [built.rule_text(0, rule) for rule in range(2)] == [
        "[a]_x -> []_u || []_y",
        "[a^2]_x -> []_x / []_w",
    ]


def test_input_and_output_name_labels_of_systems_that_grow():
    growing = {
        "rules_by_label": {
            "u": ["[a]_u -> []_bud1 / []_bud2"],
            "bud2": ["[a]_bud2 -> []_bud3 || []_u"],
            "never": ["[a]_never -> []_w || []_w"],
        }
    }
    names = ["x", "y", "u", "bud1", "bud2", "bud3"]
    built = with_rules(
        "[a]_x -> []_u || []_y", output=names, input=dict.fromkeys(names, [1]), **growing
    )("extended")
    assert built.output == tuple(names)
    for name, hint in [
        ("never", "the first labels are"),
        ("w", "the first"),
        ("bud4", "did you mean 'bud"),
    ]:
        build = with_rules("[a]_x -> []_u || []_y", output=name, input={name: [1]}, **growing)
        codes = problems(build)
        assert [(p.code, p.place.kind) for p in codes] == [
            ("unknown_neuron", "input"),
            ("unknown_neuron", "output"),
        ]
        assert all(f"no label {name!r}" in p.message and hint in p.message for p in codes)


def test_labels_are_no_names_where_nothing_grows():
    neurons = [snp.Neuron("x", 1, ["a -> +1(l, {y})"], "l"), snp.Neuron("y")]
    (problem,) = problems(lambda level: system(level, neurons, (), output="l"))
    assert problem.code == "unknown_neuron"


def test_a_rule_is_written_for_its_own_neuron():
    rules = ["[a]_y -> []_u || []_v", "a -> +1(y, {z})"]
    neurons = [snp.Neuron("x", 1, rules, "l"), snp.Neuron("z")]
    found = problems(
        lambda level: system(level, neurons, (), rules_by_label={"u": ["[a]_l -> []_u / []_v"]})
    )
    assert [(p.code, p.place) for p in found] == [
        ("bad_guard", Place("rule", 0, 0)),
        ("bad_guard", Place("rule", 0, 1)),
        ("bad_guard", Place("rule", "u", 0)),
    ]
    for problem, owner, label in zip(found, "yyl", "llu", strict=True):
        assert f"it is written for neuron {owner!r} (write {label!r} there" in problem.message


def test_arguments_of_the_wrong_type():
    with pytest.raises(TypeError, match="write '7'"):
        snp.Neuron(7)
    with pytest.raises(ValueError, match="level"):
        system("loose")
    with pytest.raises(TypeError, match="'x' is not a neuron"):
        snp.SpikingSystem(["x"])
    with pytest.raises(TypeError, match="5 is not a rule"):
        snp.Neuron("x", 1, [5])
    for synapse in [("x",), ("x", "y", 1, 2), "xy", 7]:
        with pytest.raises(TypeError, match="not a synapse"):
            system("extended", synapses=[synapse])
    with pytest.raises(snp.InvalidSystem, match="delay is 'too large'"):
        with_rules(snp.Rule("a", 1, 1, 2**31))("extended")


@pytest.mark.parametrize(
    "text, canonical, values",
    [
        ("a^2/a -> a; 1", "a^2/a -> a; 1", (1, 1, 1)),
        ("a^3 -> lambda", "a^3 -> lambda", (3, 0, 0)),
        ("a(aa)*/a -> a^2", "a(aa)*/a -> a^2", (1, 2, 0)),
        ("a→a", "a -> a", (1, 1, 0)),
        (r"a^{2}/a \to \lambda", "a^2/a -> lambda", (1, 0, 0)),
        ("a{5}-->#", "a^5 -> lambda", (5, 0, 0)),
        (" aa / a -> 0 ", "a^2/a -> lambda", (1, 0, 0)),
        ("a/a->a;0", "a -> a", (1, 1, 0)),
    ],
)
def test_rule_text(text, canonical, values):
    rule = snp.Rule.parse(text)
    assert (rule.consume, rule.produce, rule.delay) == values
    assert str(rule) == canonical
    assert snp.Rule.parse(canonical) == rule


@pytest.mark.parametrize(
    "text, position, word",
    [
        ("a^2/a", 5, "no arrow"),
        ("a{2/a -> a", 1, "brace"),
        ("a -> b", 5, "b"),
        ("a -> ", 4, "missing"),
        (" -> a", 0, "missing"),
        ("a -> a; x", 7, "delay"),
        ("a -> a; -1", 7, "delay"),
        ("a -> a; " + "9" * 5000, 7, "too large"),
        ("a/a* -> a", 2, "one number"),
        ("a/a|aa -> a", 2, "one number"),
        ("[a]_i -> []_x || []_y", 0, "give it to a neuron, or write DivisionRule"),
        (" [a]_i -> []_i / []_y", 1, "BuddingRule"),
        ("a -> +1(i, {x})", 0, "PlasticityRule"),
    ],
)
def test_bad_rule_text_is_located(text, position, word):
    with pytest.raises(snp.RuleError, match=f"at character {position + 1}") as error:
        snp.Rule.parse(text)
    assert error.value.position == position and word in str(error.value)


def test_a_neuron_that_is_declared_twice_is_one_problem():
    """Its name is also the label of the other one, which has other rules."""
    with pytest.raises(snp.InvalidSystem) as caught:
        snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y"), snp.Neuron("x", 2)])
    assert [problem.code for problem in caught.value.problems] == ["duplicate_neuron"]


def test_iterators_are_read_once():
    """Neurons, rules and synapses that can be read only once are all there."""
    neurons = (snp.Neuron(name, 1, iter(["a -> a", "a -> lambda"])) for name in "ab")
    variant = SynapseDelays({("a", "b"): 2})
    system = snp.SpikingSystem(neurons, iter([("a", "b")]), output=iter("b"), variant=variant)
    assert system.num_neurons == 2 and system.num_rules == 4
    assert [tuple(synapse) for synapse in system.synapses] == [("a", "b", 1)]
    assert system.output == ("b",)


def test_positions_follow_new_names():
    first = system("extended", notes={"positions": {"x": [0, 0], "out": [1, 1]}, "other": 3})
    notes = renamed(first, {"x": "z"}, {}).notes
    assert notes == {"positions": {"z": [0, 0], "out": [1, 1]}, "other": 3}
