"""Odd systems that formats hold."""

import numpy as np

import snpjax as snp
from snpjax import (
    AntiSpikes,
    Astrocyte,
    Astrocytes,
    BuddingRule,
    Channels,
    DivisionRule,
    Exhaustive,
    Neuron,
    PlasticityRule,
    RequestRule,
    Requests,
    Rule,
    SpikingSystem,
    SynapseRules,
)


WEBSNAPSE = [
    SpikingSystem([]),
    SpikingSystem([Neuron('é\n"\\\u2028', 10**15)], output='é\n"\\\u2028'),
    SpikingSystem([Neuron("x"), Neuron("y")], [("x", "x", 5), ("x", "y")], output=["y", "x"]),
    SpikingSystem([Neuron("x_{1}"), Neuron("x_1")], [("x_1", "x_{1}")], output="x_1"),
    SpikingSystem([Neuron("x", 1, ["a -> a"])], level="strict", input={"x": [0, 0]}),
    SpikingSystem([Neuron("out_x"), Neuron("x"), Neuron("in_x")], output="x", input={"x": [1]}),
    SpikingSystem(
        [Neuron("i,1", 1, [DivisionRule("a+", "j_{1}", "i,1"), "a^2 -> a"]), Neuron("q")],
        [("i,1", "q", 3)],
        dictionary=[("j_{1}", "q"), ("q", "j_{1}")],
        rules_by_label={"j_{1}": ["a -> a^3; 2", DivisionRule("a(aa)*", "q", "k")]},
        input={"i,1": [1, 2]},
        output="q",
    ),
    *(
        SpikingSystem([Neuron(x)])
        for x in ("", "'", "\n", "\x00", "\x7f", "\ufeff", "\u2028", "\U0001d4d0", "x: #")
    ),
]
NATIVE = [
    SpikingSystem([Neuron("x", 1, ["a(aa)*/a^3 -> a^2; 4", Rule("a*", 7)], label="y")], name="é"),
    SpikingSystem([Neuron('"\n\\é', 2), Neuron("\u2028")], [('"\n\\é', "\u2028", 5)]),
    SpikingSystem([Neuron("x", -4)], [("x", "x", -2)], signed=True, input={"x": [0, -1]}),
    SpikingSystem([Neuron("x", np.int64(3))], input={"x": [np.int32(1)]}),  # pyright: ignore
    SpikingSystem([Neuron("x", 0, [Rule("a+", 10**7, 10**8, 10**9)])], output="x"),
    SpikingSystem([Neuron("x", 0, [PlasticityRule(None, 2, "-+", 3, ["y"])]), Neuron("y")]),
    SpikingSystem(
        [Neuron("i", 1, [DivisionRule("a+", "j", "k"), BuddingRule("a", "j")])],
        dictionary=[("j", "nowhere")],
        rules_by_label={
            "j": ["a -> a", BuddingRule("aa", "k", "x")],
            "k": [BuddingRule("a", "j")],
        },
    ),
    SpikingSystem([Neuron("x", 1, ["a -> a"])], level="strict"),
    SpikingSystem(
        [Neuron("x", -2, ["ā^2/ā -> a", Rule("a+", 10**7, -3, 2, -1)])],
        [("x", "x", -1)],
        variant=AntiSpikes(),
    ),
    SpikingSystem([Neuron("x", 1, ["a+/a -> a"])], variant=Exhaustive()),
    SpikingSystem(
        [Neuron("x", -1, ["ā -> a", "a/a -> +-1(x, {y})"]), Neuron("y")],
        [("x", "x", -2)],
        variant=AntiSpikes(),
    ),
    SpikingSystem(
        [Neuron("x"), Neuron("y")],
        [("x", "y", 2), ("y", "x")],
        variant=Astrocytes([Astrocyte([("x", "y"), ("y", "x")], 3)]),
    ),
    SpikingSystem(
        [Neuron("x", 4), Neuron("y")],
        [("y", "x"), ("x", "y", 2)],
        variant=SynapseRules(
            {
                ("x", "y"): ["a -> a", Rule("a+", 10**7, 1)],
                ("x", None): [],
                ("y", "y"): ["a -> a"],
            }
        ),
    ),
    SpikingSystem(
        [
            Neuron("x", 4, ["a -> a(1)", Rule("a+", 10**7, 1, channel="2"), "a^2 -> lambda"]),
            Neuron("y", 0, ['a+/a -> a("a;")']),
        ],
        [("x", "y", 2)],
        output="y",
        variant=Channels({"2": [("x", "y")], "1": [("x", "y"), ("x", "x")], "a;": []}),
    ),
    SpikingSystem(
        [
            Neuron("x", 4, ['a+/Q(a^2, y)(a^inf, "a b")', RequestRule(2, [(10**6, "y")])]),
            Neuron("y"),
            Neuron("a b"),
        ],
        variant=Requests(),
    ),
    *(
        SpikingSystem([Neuron("x", 1, ["a -> a"])], compatibility=compatibility)
        for compatibility in dict.fromkeys(snp.compatibility.SIMULATORS.values())
    ),
]
ODD: dict[str, list[SpikingSystem]] = {
    "native": [*NATIVE, *WEBSNAPSE],
    "websnapse": WEBSNAPSE,
    "factory-yaml": WEBSNAPSE,
}
