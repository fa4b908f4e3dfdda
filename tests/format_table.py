"""What each format holds: the table of docs/files.md, computed by writing and reading.

PYTHONPATH=.:formats python -m tests.format_table
"""

import tempfile
import warnings
from pathlib import Path
from typing import get_args
from unittest import mock

import snpjax as snp
from snpjax import graphs
from snpjax.io.formats import FORMATS, Format
from snpjax.spiking.variants import AntiSpikes, Astrocyte, Astrocytes, Exhaustive, SynapseRules


WRITTEN: dict[Format, str] = {
    "native": "model.snp.json",
    "plingua": "model.pli",
    "websnapse": "model.json",
    "factory-yaml": "model.yaml",
    "cusnp": "model.in",
}

RELAY = snp.Neuron("q", 0, ["a -> a"])
GROWING = snp.Neuron("p", 1, [snp.DivisionRule("a", "l", "m")])
PLASTIC = snp.Neuron("p", 1, [snp.PlasticityRule("a", 1, "+", 1, ["q"])])


def one(*rules: snp.Rule | snp.DivisionRule | snp.BuddingRule | str, **keywords):
    """Neuron p with these rules and a synapse to q."""
    return snp.SpikingSystem([snp.Neuron("p", 3, rules), RELAY], [("p", "q")], **keywords)


#: A system that has one thing more than the plainest.
FEATURES = {
    "exact guards, forgetting, delays": one("a^2 -> a; 2", "a -> lambda"),
    "guards `a*`": one("a*/a -> a"),
    "any other guard": one("a(aa)*|a{4,6}/a -> a"),
    "p > c": one("a -> a^2"),
    "self-synapses": snp.SpikingSystem([RELAY], [("q", "q")]),
    "weights": snp.SpikingSystem([snp.Neuron("p", 1, ["a -> a"]), RELAY], [("p", "q", 3)]),
    "negative weights and spikes": snp.SpikingSystem(
        [snp.Neuron("p", -1, ["a -> a"]), RELAY], [("p", "q", -2)], signed=True
    ),
    "one output": one("a -> a", output="q"),
    "several outputs": one("a -> a", output=("p", "q")),
    "one input train": one("a -> a", input={"p": (1, 0, 2)}),
    "several input trains": one("a -> a", input={"p": (1, 0, 2), "q": (0, 1)}),
    "trains of more than 9 spikes": one("a -> a", input={"p": (0, 12)}),
    "division": snp.SpikingSystem(
        [GROWING, RELAY], [("p", "q")], rules_by_label={"l": ["a -> a"]}, dictionary=[("q", "m")]
    ),
    "budding": one(snp.BuddingRule("a{2}", "l")),
    "plasticity": snp.SpikingSystem([PLASTIC, RELAY]),
    "several neurons of one label": snp.SpikingSystem(
        [snp.Neuron("p", 1, ["a -> a"], "l"), snp.Neuron("q", 1, ["a -> a"], "l")]
    ),
    "any text as a name": snp.SpikingSystem([snp.Neuron('a "b" {1},\u00e9', 2, ["a -> a"])]),
    "options of a simulator": one("a -> a", compatibility=snp.Compatibility(closed_receives=True)),
    "anti-spikes": one("a -> -a", variant=AntiSpikes()),
    "exhaustive use of rules": one("a+/a -> a", variant=Exhaustive()),
    "astrocytes": one("a -> a", variant=Astrocytes([Astrocyte([("p", "q")], 1)])),
    "rules on synapses": snp.SpikingSystem(
        [snp.Neuron("p", 1), snp.Neuron("q")], variant=SynapseRules({("p", "q"): ["a -> a"]})
    ),
    "positions (notes)": one("a -> a", notes={"positions": {"p": [0, 1], "q": [2, 3]}}),
    "populations, projections": snp.PopulationSystem(
        [
            snp.Population("p", 3, 1, ["a -> a"], [1, 2, 3]),
            snp.Population("q", 3, 0, (), [1, 2, 3]),
        ],
        [snp.Projection("p", "q", graphs.OneToOne())],
    ),
}


def outcome(format: Format, system: snp.SpikingSystem | snp.PopulationSystem) -> str:
    """`kept`, `renamed`, `listed` or `lost`, by writing and reading the system."""
    # P-Lingua files make populations of families that are large; here one is.
    families = mock.patch("snpjax.io.plingua.read.LISTED_INSTANCES", 2)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), families:
        warnings.simplefilter("ignore", snp.ModelWarning)
        path = Path(folder, WRITTEN[format])
        try:
            snp.write(system, path, format=format)
        except snp.WriteError:
            return "lost"
        again = snp.read(path, format=format)
    if isinstance(system, snp.PopulationSystem):
        if isinstance(again, snp.PopulationSystem):
            assert again.expand() == system.expand()
            return "kept"
        assert _with_names_of(again, system.expand()) == system.expand()
        return "listed"
    assert isinstance(again, snp.SpikingSystem)
    if again == system:
        return "kept" if again.notes.keys() >= system.notes.keys() else "left out"
    assert _with_names_of(again, system) == system
    return "renamed"


def _with_names_of(system: snp.SpikingSystem, other: snp.SpikingSystem) -> snp.SpikingSystem:
    """A static system with its neurons named as those of another one."""
    names = {x.name: y.name for x, y in zip(system.neurons, other.neurons, strict=True)}
    return snp.SpikingSystem(
        [
            snp.Neuron(names[n.name], n.spikes, n.rules, m.label)
            for n, m in zip(system.neurons, other.neurons, strict=True)
        ],
        [(names[x], names[y], weight) for x, y, weight in system.synapses],
        input={names[name]: train for name, train in system.input.items()},
        output=[names[name] for name in system.output],
        compatibility=system.compatibility,
    )


def table() -> str:
    """The table in Markdown."""
    formats = [format for format in get_args(Format) if format in WRITTEN]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        rows = [
            [feature, *(outcome(format, system) for format in formats)]
            for feature, system in FEATURES.items()
        ]
    lines = [["a system with", *(FORMATS[format].title for format in formats)], ["---"] * 6, *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    print(table())
