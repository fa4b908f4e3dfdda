"""Systems as graphs for other programs: networkx, GraphML, and DOT for drawings.

They are written and not read: rules are texts there.
"""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from .._text.counts import plural
from .._text.optional import networkx
from .._text.quoting import dot_quoted, without_controls
from ..spiking.model.population import AnySystem, PopulationSystem
from ..spiking.model.rule import AnyRule, rule_text
from ..spiking.model.system import Neuron, SpikingSystem
from .losses import Losses


if TYPE_CHECKING:
    import networkx as nx

_MAX_RULES = 10  # of a neuron in a drawing
_MAX_TRAIN = 20  # steps of an input train in a drawing


def to_networkx(system: AnySystem) -> "nx.DiGraph":
    """The network as a `networkx.DiGraph` whose nodes are the names of the neurons.

    Nodes have `name`, `spikes`, `rules` (a tuple of texts), `label`, `input` (the train as a tuple,
    `None` without one) and `is_output`; edges have `weight`; the graph has `name`, `level`,
    `signed`, `dictionary` and `rules_by_label`. Where neurons divide or bud, inputs and outputs are
    those of the labels.

    **Arguments:**

    - `system`: a `SpikingSystem` or a `PopulationSystem`, whose neurons are listed.

    **Returns:** a new graph.

    **Raises:** `ImportError` when networkx is not installed.
    """
    system = _listed(system)
    by_label = {label: _rules(its, label) for label, its in system.rules_by_label.items()}
    graph = networkx().DiGraph(
        name=system.name,
        level=system.level,
        signed=system.signed,
        dictionary=system.dictionary,
        rules_by_label=by_label,
    )
    for neuron in system.neurons:
        train = system.input.get(_called(system, neuron))
        graph.add_node(
            neuron.name,
            name=neuron.name,
            spikes=int(neuron.spikes),
            rules=_rules(neuron.rules, neuron.label),
            label=neuron.label,
            input=None if train is None else tuple(map(int, train)),
            is_output=_called(system, neuron) in system.output,
        )
    for source, target, weight in system.synapses:
        graph.add_edge(source, target, weight=int(weight))
    return graph


def to_dot(system: AnySystem) -> str:
    """Write the network in the language DOT, which Graphviz draws.

    Each neuron is a box with its name, its spikes and its first rules. Output neurons have a double
    border, an arrow leads from the train to an input neuron, and synapses show their weight if it
    is not 1. Invisible characters are shown as escapes, `\\x00`.

    **Arguments:**

    - `system`: a `SpikingSystem` or a `PopulationSystem`, whose neurons are listed.

    **Returns:** the text of one `digraph`.
    """
    system = _listed(system)
    numbers = {neuron.name: number for number, neuron in enumerate(system.neurons)}
    lines = ["digraph {", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    if system.name:
        lines.append(f"  label={dot_quoted(system.name)};")
    outputs = set(system.output)
    for number, neuron in enumerate(system.neurons):
        border = ", peripheries=2" if _called(system, neuron) in outputs else ""
        lines.append(f"  n{number} [label={dot_quoted(*_lines(neuron))}{border}];")
    for number, neuron in enumerate(system.neurons):
        train = system.input.get(_called(system, neuron))
        if train is None:
            continue
        spikes = " ".join(map(str, train[:_MAX_TRAIN])) + " ..." * (len(train) > _MAX_TRAIN)
        lines.append(
            f"  i{number} [shape=plaintext, label={dot_quoted(f'input {spikes}'.strip())}];"
        )
        lines.append(f"  i{number} -> n{number} [style=dashed];")
    for source, target, weight in system.synapses:
        label = "" if weight == 1 else f' [label="{int(weight)}"]'
        lines.append(f"  n{numbers[source]} -> n{numbers[target]}{label};")
    return "\n".join([*lines, "}"]) + "\n"


def write_dot(system: SpikingSystem, losses: Losses) -> str:
    """The text of a DOT file, see `to_dot`."""
    _lose_growth(system, losses)
    return to_dot(system)


def write_graphml(system: SpikingSystem, losses: Losses) -> str:
    """The text of a GraphML file: the attributes of `to_networkx`, rules as lines of one text,
    trains as numbers with blanks between, nodes numbered `n0`, `n1`, ....

    **Raises:** `ImportError` when networkx is not installed.
    """
    _lose_growth(system, losses)
    library = networkx()

    def text(value: str, what: str) -> str:
        escaped = without_controls(value)
        if escaped != value:
            losses.add(f"characters of {what} {value!r} that XML cannot hold", "written as escapes")
        return escaped

    given = to_networkx(system)
    numbers = {name: f"n{number}" for number, name in enumerate(given)}
    name = text(system.name, "the name")
    graph = library.DiGraph(name=name, level=system.level, signed=system.signed)
    for name, attributes in given.nodes(data=True):
        train = attributes.pop("input")
        attributes["name"] = text(name, "the name")
        attributes["rules"] = text("\n".join(attributes["rules"]), "the rules of neuron")
        attributes["label"] = text(attributes["label"], "the label")
        if train is not None:
            attributes["input"] = " ".join(map(str, train))
        graph.add_node(numbers[name], **attributes)
    graph.add_edges_from(
        (numbers[x], numbers[y], weight) for x, y, weight in given.edges(data=True)
    )
    stream = BytesIO()
    library.write_graphml_xml(graph, stream)
    return stream.getvalue().decode()


def _listed(system: AnySystem) -> SpikingSystem:
    return system.expand() if isinstance(system, PopulationSystem) else system


def _lose_growth(system: SpikingSystem, losses: Losses) -> None:
    for label, rules in system.rules_by_label.items():
        losses.add(
            f"{plural(len(rules), 'rule')} of label {label!r}, which no neuron bears", "left out"
        )
    for pair in system.dictionary:
        losses.add(f"pair ({', '.join(pair)}) of the dictionary", "left out")
    there = {_called(system, neuron) for neuron in system.neurons}
    for what, names in (("input", system.input), ("output", system.output)):
        for name in names:
            if name not in there:
                losses.add(f"the {what} of label {name!r}, which no neuron bears", "left out")


def _called(system: SpikingSystem, neuron: Neuron) -> str:
    """What inputs and outputs name a neuron by."""
    return neuron.label if system.is_growing else neuron.name


def _rules(rules: Sequence[AnyRule | str], label: str) -> tuple[str, ...]:
    return tuple(rule if isinstance(rule, str) else rule_text(rule, label) for rule in rules)


def _lines(neuron: Neuron) -> list[str]:
    """What stands in the box of a neuron."""
    lines = [neuron.name]
    if neuron.label != neuron.name:
        lines.append(f"label {neuron.label}")
    if neuron.spikes:
        lines.append("1 spike" if neuron.spikes == 1 else f"{int(neuron.spikes)} spikes")
    lines += _rules(neuron.rules[:_MAX_RULES], neuron.label)
    if len(neuron.rules) > _MAX_RULES:
        lines.append(f"and {len(neuron.rules) - _MAX_RULES} more rules")
    return lines
