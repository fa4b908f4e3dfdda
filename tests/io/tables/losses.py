"""Systems that a format cannot hold, and the beginnings of what it loses."""

import warnings

import snpjax as snp
from snpjax import BuddingRule, DivisionRule, Neuron, PlasticityRule, Rule, SpikingSystem


_ANTI = SpikingSystem([Neuron("x", 0, ["a -> -a", "-a -> a"])], variant=snp.AntiSpikes())
WEBSNAPSE = [
    (
        _ANTI,
        [
            *("the variant AntiSpikes", "counts below 0 (signed=True)"),
            *(f"the anti-spikes of {rule} of neuron 'x'" for rule in _ANTI.neurons[0].rules),
        ],
    ),
    (
        SpikingSystem([Neuron("x", -4)], [("x", "x", -2)], signed=True, input={"x": [0, -1]}),
        [
            "counts below 0 (signed=True) (written without it)",
            "the -4 spikes of neuron 'x' (written as 0)",
            "synapse (x, x) with weight -2 (left out)",
            "input below 0 of neuron 'x' (written as 0)",
        ],
    ),
    (
        SpikingSystem([Neuron("x", 0, ["a -> a", BuddingRule("a", "j")])]),
        ["the budding rule [a] -> [] / []_j of neuron 'x', rule 2 (left out)"],
    ),
    (
        SpikingSystem([Neuron("x", 0, [PlasticityRule("a", 1, "+", 1, ["y"])]), Neuron("y")]),
        ["the plasticity rule a -> +1 {y} of neuron 'x', rule 1 (left out)"],
    ),
    (
        SpikingSystem([Neuron("x", label="y")]),
        ["label 'y' of neuron 'x' (its name is its label)"],
    ),
    *(
        # Only a label that nothing makes would make k.
        (
            SpikingSystem([Neuron("x")], rules_by_label={"j": [rule]}, dictionary=[("x", "k")]),
            [
                "the rules of label 'j', which no division makes (left out)",
                "the pair (x, k) of the dictionary with label 'k', which no division makes (left",
            ],
        )
        for rule in (DivisionRule("a", "k", "k"), "a -> a")
    ),
    (
        SpikingSystem(
            [Neuron("x", 0, [DivisionRule("a", "j", "k")]), Neuron("y")], dictionary=[("x", "y")]
        ),
        ["the pair (x, y) of the dictionary, whose neurons have no synapse (left out)"],
    ),
    (
        SpikingSystem([Neuron("x_{1}", 0, [DivisionRule("a", "x_1", "{")]), Neuron("x_{1}'")]),
        ["label name 'x_1' (written as \"x_1''\")", "label name '{' (written as 'x')"],
    ),
    (
        SpikingSystem([Neuron("x", 0, [Rule("a+", 1, 10**20)])]),
        ["the large numbers of a+/a -> a^100000000000000000000 of neuron 'x', rule 1 (the rule is"],
    ),
    (
        SpikingSystem(
            [Neuron("x", 1, ["[a]_x -> []_y || []_z"])], output=("x", "z"), input={"y": [1]}
        ),
        [
            "the input of label 'y', which no neuron bears from the start (left out)",
            "the output of label 'z', which no neuron bears from the start (left out)",
        ],
    ),
]
PLINGUA = [
    (
        _ANTI,
        [
            *("the variant AntiSpikes", "the declaration that counts may be negative"),
            *("neuron 'x', rule 1, a -> ā: it has anti-spikes", "neuron 'x', rule 2, ā -> a: it"),
        ],
    ),
    (SpikingSystem([Neuron("x")], variant=snp.SynapseDelays({})), ["the variant SynapseDelays"]),
    (SpikingSystem([Neuron("x")], [("x", "x", 3)]), ["weight 3 of synapse (x, x)"]),
    (
        SpikingSystem([Neuron("x", -2)], signed=True),
        ["the declaration that counts may be negative", "the spikes of neuron 'x'"],
    ),
    (
        SpikingSystem([Neuron(x) for x in "xy"], input={"x": [1], "y": [0, 2]}),
        ["the input of neuron 'y'"],
    ),
    (
        SpikingSystem([Neuron("x", 0, [PlasticityRule(None, 1, "+", 1, ["y"])]), Neuron("y")]),
        ["neuron 'x', rule 1, the plasticity rule"],
    ),
    (SpikingSystem([Neuron("x", label="y")]), ["label 'y' of neuron 'x'"]),
    (
        SpikingSystem([Neuron("x")], rules_by_label={"z": ["a -> a"]}),
        ["the rules of label 'z'"],
    ),
    (
        SpikingSystem([Neuron("x", 10**100, [Rule("a+", 10**100, 1)])]),
        ["the spikes of neuron 'x'", "neuron 'x', rule 1: a number of more than 100 digits"],
    ),
]
CUSNP = [
    (
        _ANTI,
        [
            *("the variant AntiSpikes", "that counts may be negative (signed)"),
            *("neuron 'x', rule 1: a -> ā", "neuron 'x', rule 2: ā -> a"),
        ],
    ),
    (
        SpikingSystem(
            [
                Neuron("p", 2, ["a(aa)+/a -> a", "a+/a^2 -> a"]),
                Neuron("q", -1, [Rule({1, 3}, 1)]),
            ],
            [("p", "q", 2), ("q", "p", -1)],
            input={"p": [1, 0, 2]},
            output="q",
            signed=True,
        ),
        [
            "that counts may be negative (signed) (left out)",
            "guard a{3}(aa)* of neuron 'p', rule 1 (the rule is left out)",
            "-1 spikes of neuron 'q' (0 is written)",
            "guard a|a{3} of neuron 'q', rule 1 (the rule is left out)",
            "weight 2 of synapse (p, q) (1 is written)",
            "weight -1 of synapse (q, p) (1 is written)",
            "input of neuron 'p' (left out)",
            "output neuron 'q' (left out)",
        ],
    ),
    (
        SpikingSystem(
            [Neuron("i", 1, [DivisionRule("a", "j", "k"), BuddingRule("aa", "j")])],
            dictionary=[("j", "k")],
            rules_by_label={"j": ["a -> a"]},
        ),
        [
            "neuron 'i', rule 1: [a]_i -> []_j || []_k (left out)",
            "neuron 'i', rule 2: [a^2]_i -> []_i / []_j (left out)",
            "1 rule of label 'j' (left out)",
            "pair (j, k) of the dictionary (left out)",
        ],
    ),
    (
        SpikingSystem([Neuron("x", 1, [Rule("a{4,}", 3, 1)])]),
        ["guard a{4,} of neuron 'x', rule 1"],
    ),
]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", snp.ModelWarning)
    _EMPTY = SpikingSystem([Neuron("x", 0, [Rule("∅", 1), DivisionRule("∅", "j", "k")])])
    WEBSNAPSE.append(
        (_EMPTY, [f"the empty guard of neuron 'x', rule {i} (the rule is left" for i in (1, 2)])
    )
    PLINGUA.append(
        (
            SpikingSystem([Neuron("x", 0, [Rule(set(), 1, 1)])]),
            ["neuron 'x', rule 1, ∅/a -> a: its guard has no text (left out)"],
        )
    )

LOSSES = {"websnapse": WEBSNAPSE, "factory-yaml": WEBSNAPSE, "plingua": PLINGUA, "cusnp": CUSNP}
