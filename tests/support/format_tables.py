"""The tables of formats in the documentation: what there is, and what each format holds, which is
computed by writing and reading.

    PYTHONPATH=.:formats python -m tests.support.format_tables
"""

import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from unittest import mock

import snpjax as snp
from snpjax import (
    AntiSpikes,
    Astrocyte,
    Astrocytes,
    Channels,
    Exhaustive,
    Requests,
    SynapseRules,
    graphs,
)
from snpjax.io import Format, Source, formats_of, model_text
from snpjax.io.formats import Holds
from snpjax.io.read import read_net_source
from snpjax.sleptsov import Disjoint, SleptsovNet, net_of_text


RELAY = snp.Neuron("q", 0, ["a -> a"])
GROWING = snp.Neuron("p", 1, [snp.DivisionRule("a", "l", "m")])
PLASTIC = snp.Neuron("p", 1, [snp.PlasticityRule("a", 1, "+", 1, ["q"])])


def one(*rules: snp.Rule | snp.DivisionRule | snp.BuddingRule | str, **keywords):
    """Neuron p with these rules and a synapse to q."""
    return snp.SpikingSystem([snp.Neuron("p", 3, rules), RELAY], [("p", "q")], **keywords)


#: Systems that have one thing more than the plainest.
SYSTEMS = {
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
    "channels": snp.SpikingSystem(
        [snp.Neuron("p", 1, ["a -> a(1)"]), snp.Neuron("q")], variant=Channels({"1": [("p", "q")]})
    ),
    "communication on request": snp.SpikingSystem(
        [snp.Neuron("p", 1, ["a/Q(a^2, q)"]), snp.Neuron("q", 2)], variant=Requests()
    ),
    "delays on synapses": one("a -> a", variant=snp.SynapseDelays({("p", "q"): 2})),
    "dendritic delays": one("a -> a", variant=snp.DendriticDelays({"q": 1})),
    "scheduled synapses": one("a -> a", variant=snp.ScheduledSynapses([("p", "q", 1, 4, "p")])),
    "positions (notes)": one("a -> a", notes={"positions": {"p": [0, 1], "q": [2, 3]}}),
    "populations, projections": snp.PopulationSystem(
        [
            snp.Population("p", 3, 1, ["a -> a"], [1, 2, 3]),
            snp.Population("q", 3, 0, (), [1, 2, 3]),
        ],
        [snp.Projection("p", "q", graphs.OneToOne())],
    ),
}


def net(text: str, **changes: object) -> SleptsovNet:
    """The net of a text, without names unless they are among the changes."""
    plain: dict[str, object] = {"place_names": None, "transition_names": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)  # one can never fire
        return net_of_text(text, {"a": 5}).replace(**{**plain, **changes})


#: Nets that have one thing more than the plainest.
NETS = {
    "weights, plain inhibitor arcs": net("t: 2a !b -> 3c"),
    "a regular and an inhibitor arc between the same nodes": net("t: a !a -> b"),
    "inhibitor arcs with thresholds": net("t: a !3b -> b"),
    "test arcs": net("t: a ?2b -> b"),
    "priorities": net("t: a -> b\nu: a -> c\nt > u"),
    "an order without priorities": net("t: a -> b\nu: a -> c", order=[1, 0]),
    "a place that no arc touches": net_of_text(
        "t: p1 -> p2", {"p1": 2, "p3": 1}, places=["p1", "p2", "p3"]
    ).replace(place_names=None),
    "another rule than that of the format": net("t: a -> b", rule=Disjoint()),
    "names": net("t: a -> b", place_names=["in put", "{\u00e9}"], transition_names=["do: it"]),
    "line ends in names": net("t: a -> b", place_names=["in\nput", "b"]),
    "a place and a transition of one name": net(
        "t: a -> b", place_names=["a", "b"], transition_names=["a"]
    ),
    "final markings": net("t: a -> b", final_markings=[[0, 5], [1, 4]]),
    "a name of the net": net("t: a -> b", name="ours"),
    "positions (notes)": net(
        "t: a -> b", notes={"positions": {"p1": [1.0, 2.0], "p2": [3.0, 4.5], "t1": [5.0, 6.0]}}
    ),
}


def outcome_of_system(format: Format, system: snp.SpikingSystem | snp.PopulationSystem) -> str:
    """`kept`, `renamed`, `listed` or `lost`, by writing and reading the system."""
    # P-Lingua files make populations of families that are large; here one is.
    families = mock.patch("snpjax.io.plingua.read.LISTED_INSTANCES", 2)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), families:
        warnings.simplefilter("ignore", snp.ModelWarning)
        path = Path(folder, f"model{format.suffixes[0]}")
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


def outcome_of_net(format: Format, given: SleptsovNet) -> str:
    """`kept`, `lost` or `left out`, by writing and reading the net."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        text, losses = model_text(given, format)
        if losses.items:
            return "lost"
        again = read_net_source(Source("model", text), format)
        assert again == given, (format.name, given)
        noted = given.notes.get("positions", {})
        found = again.notes.get("positions", {})
    assert isinstance(noted, Mapping) and isinstance(found, Mapping)
    return "kept" if all(found.get(name) == place for name, place in noted.items()) else "left out"


def list_of_formats(holds: Holds) -> str:
    """What formats there are."""
    uses = [] if holds == "graph" else ["read", "written"]  # no graph is read
    rules = ["rule"] if holds == "net" else []
    heads = ["format", "`format=`", "suffix", *uses, *rules, "what it is"]
    lines = [heads, ["---"] * len(heads)]
    for name, format in formats_of(holds).items():
        suffixes = ", ".join(f"`{suffix}`" for suffix in format.suffixes)
        is_used = ["no" if use is None else "yes" for use in (format.reader, format.writer)]
        rule = [format.rule] * len(rules)
        lines.append(
            [format.title, f"`{name}`", suffixes, *is_used[: len(uses)], *rule, format.help]
        )
    return _markdown(lines)


def table_of_systems() -> str:
    """What formats of systems hold."""
    formats = [format for format in formats_of("system").values() if _is_kept(format)]
    lines = [["a system with", *(format.title for format in formats)], ["---"] * (len(formats) + 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        for feature, system in SYSTEMS.items():
            lines.append([feature, *(outcome_of_system(format, system) for format in formats)])
    return _markdown(lines)


def table_of_nets() -> str:
    """What formats of nets hold."""
    formats = [format for format in formats_of("net").values() if _is_kept(format)]
    lines = [["a net with", *(format.title for format in formats)], ["---"] * (len(formats) + 1)]
    for feature, given in NETS.items():
        lines.append([feature, *(outcome_of_net(format, given) for format in formats)])
    return _markdown(lines)


def _is_kept(format: Format) -> bool:
    """Whether a model can be written and read again; sub-nets are in other files."""
    return None not in (format.reader, format.writer) and "sub-nets" not in format.keeps


def _markdown(lines: Iterable[Iterable[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


#: Every table, and the page of the documentation that it stands on.
TABLES: dict[str, list[Callable[[], str]]] = {
    "files": [partial(list_of_formats, "system"), table_of_systems],
    "sleptsov_files": [partial(list_of_formats, "net"), table_of_nets],
    "exploring": [partial(list_of_formats, "graph")],
}

if __name__ == "__main__":
    for tables in TABLES.values():
        for table in tables:
            print(table())
