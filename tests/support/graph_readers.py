"""Readers of exported graphs, written from the descriptions of the formats and sharing nothing with
the writers."""

import itertools
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lark import Lark, Transformer


@dataclass
class ReadGraph:
    """What a file says: edges are `(source, label, target)` in the order of the file."""

    num_configurations: int
    edges: list[tuple[int, str, int]]
    initial: int = 0
    halting: set[int] = field(default_factory=set)
    unexpanded: set[int] = field(default_factory=set)
    configurations: list[Any] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


# ---- Aldebaran ----


def read_aut(path: Path) -> ReadGraph:
    """CADP, manual page aut: a header, then a transition a line."""
    text = path.read_bytes().decode("ascii")
    head, *rest = text.splitlines()
    match = re.fullmatch(r"des \((\d+), (\d+), (\d+)\)", head)
    assert match, head
    initial, num_edges, num_states = map(int, match.groups())
    edges, unexpanded = [], set()
    for line in rest:
        match = re.fullmatch(r'\((\d+), "([^"]*)", (\d+)\)', line)
        assert match, line
        source, label, target = int(match[1]), match[2], int(match[3])
        assert len(label) < 5000
        if label == "unexpanded":
            assert source == target
            unexpanded.add(source)
        else:
            edges.append((source, unquote(label), target))
    assert num_edges == len(rest)
    leaving = {source for source, _, _ in edges}
    halting = set(range(num_states)) - leaving - unexpanded
    return ReadGraph(num_states, edges, initial, halting, unexpanded)


# ---- PRISM ----


def read_prism(path: Path) -> ReadGraph:
    """PRISM manual, Explicit Model Files, as strictly as its importer reads them."""
    label_names, labels = _prism_labels(path.with_suffix(".lab"))
    variables, states = _prism_states(path.with_suffix(".sta"))
    head, *rows = [line.split(" ") for line in path.with_suffix(".tra").read_text().splitlines()]
    sizes = [int(x) for x in head]
    is_chain = len(sizes) == 2
    assert sizes[0] == len(states) and sizes[-1] == len(rows)
    edges: list[tuple[int, str, int]] = []
    total: dict[Any, float] = {}
    loops = set()
    for row in rows:
        if is_chain:
            source, target, probability, action = int(row[0]), int(row[1]), row[2], ""
            state = source
            assert len(row) == 3
        else:
            source, choice, target, probability, action = row
            source, target = int(source), int(target)
            state = (source, int(choice))
            assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", action), action
        assert 0 <= source < sizes[0] and 0 <= target < sizes[0]
        total[state] = total.get(state, 0) + float(probability)
        marks = labels.get(source, set())
        if marks & {"halting", "unexpanded"}:
            assert source == target and source not in loops and float(probability) == 1
            loops.add(source)
        else:
            edges.append((source, action if not is_chain else probability, target))
    if not is_chain:
        assert sizes[1] == len(total)
    assert all(abs(x - 1) < 1e-9 for x in total.values())
    assert {s if is_chain else s[0] for s in total} == set(range(sizes[0])), "deadlocks"
    of = {name: {s for s, own in labels.items() if name in own} for name in label_names}
    assert of["deadlock"] <= of["halting"]
    (initial,) = of["init"]
    return ReadGraph(
        sizes[0],
        edges,
        initial,
        of["halting"],
        of["unexpanded"],
        states,
        {"variables": variables, "labels": of},
    )


# ---- Storm ----


def read_drn(path: Path) -> ReadGraph:
    """Storm's DRN: a header, then states with their labels, actions and targets."""
    head, _, body = path.read_bytes().decode("ascii").partition("@model\n")
    match = re.fullmatch(
        r"@type: (MDP|DTMC)\n@parameters\n\n@reward_models\n\n"
        r"@nr_states\n(\d+)\n@nr_choices\n(\d+)\n",
        head,
    )
    assert match, head
    is_chain, num_states, num_choices = match[1] == "DTMC", int(match[2]), int(match[3])
    labels: list[set[str]] = []
    actions: list[tuple[int, str]] = []
    edges: list[tuple[int, str, int]] = []
    for line in body.splitlines():
        words = line.split()
        if line.startswith("state "):
            assert int(words[1]) == len(labels)
            labels.append(set(words[2:]))
        elif line.startswith("\taction "):
            actions.append((len(labels) - 1, words[1]))
        else:
            assert line.startswith("\t\t") and words[1] == ":"
            source, action = actions[-1]
            assert source == len(labels) - 1 and (is_chain or float(words[2]) == 1)
            if labels[source] & {"halting", "unexpanded"}:
                assert int(words[0]) == source and float(words[2]) == 1
            else:
                edges.append((source, words[2] if is_chain else action, int(words[0])))
    assert len(labels) == num_states and len(actions) == num_choices
    of = {name: {s for s, own in enumerate(labels) if name in own} for name in set().union(*labels)}
    return ReadGraph(
        num_states,
        edges,
        min(of["init"]),
        of.get("halting", set()),
        of.get("unexpanded", set()),
        extra={"labels": {"deadlock": set(), **of}},
    )


def _prism_states(path: Path) -> tuple[list[str], list[tuple[int, ...]]]:
    head, *rest = path.read_text().splitlines()
    variables = head.removeprefix("(").removesuffix(")").split(",")
    assert all(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) for name in variables)
    assert len(set(variables)) == len(variables)
    states = []
    for number, line in enumerate(rest):
        match = re.fullmatch(r"(\d+):\(([-0-9,]+)\)", line)
        assert match and int(match[1]) == number, line
        states.append(tuple(map(int, match[2].split(","))))
        assert len(states[-1]) == len(variables)
    assert len(set(states)) == len(states), "PRISM tells states by their variables"
    return variables, states


def _prism_labels(path: Path) -> tuple[list[str], dict[int, set[str]]]:
    head, *rest = path.read_text().splitlines()
    names = {}
    for part in head.split():
        match = re.fullmatch(r'(\d+)="([A-Za-z_][A-Za-z0-9_]*)"', part)
        assert match and int(match[1]) == len(names), head
        names[int(match[1])] = match[2]
    labels: dict[int, set[str]] = {}
    for line in rest:
        state, own = line.split(":")
        labels[int(state)] = {names[int(x)] for x in own.split()}
        assert labels[int(state)]
    return list(names.values()), labels


# ---- JSON, GraphML, DOT ----


_LISTS = ["spikes", "timers", "pending"]


def read_json(path: Path) -> ReadGraph:
    value = json.loads(path.read_text())
    assert value["schema"] == "snpjax-graph/1"
    nodes = value["configurations"]
    unexpanded = {i for i, node in enumerate(nodes) if not node["expanded"]}
    assert unexpanded == set(range(value["num_expanded"], len(nodes)))
    assert value["complete"] == (value["stop"] == "COMPLETE")
    label = "rules" if "neurons" in value else "transition"
    edges = [(x["source"], json.dumps(x[label]), x["target"]) for x in value["edges"]]
    halting = {i for i, node in enumerate(nodes) if node["halting"]}
    lists = _LISTS if "neurons" in value else ["marking"]
    states = [(*(x for key in lists for x in node[key]), node["step"]) for node in nodes]
    return ReadGraph(len(nodes), edges, 0, halting, unexpanded, states, value)


def read_graphml(path: Path) -> ReadGraph:
    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = ElementTree.parse(path).getroot()
    (graph,) = root.findall(f"{space}graph")

    def data(element):
        return {x.attrib["key"]: x.text or "" for x in element.findall(f"{space}data")}

    nodes = {x.attrib["id"]: data(x) for x in graph.findall(f"{space}node")}
    number = {name: i for i, name in enumerate(nodes)}
    is_net = "places" in data(graph)
    label = "transition" if is_net else "rules"
    edges = [
        (number[x.attrib["source"]], data(x)[label], number[x.attrib["target"]])
        for x in graph.findall(f"{space}edge")
    ]
    halting = {number[name] for name, own in nodes.items() if own["halting"] == "true"}
    unexpanded = {number[name] for name, own in nodes.items() if own["expanded"] == "false"}
    states = [
        tuple(
            int(x)
            for key in (*(["marking"] if is_net else _LISTS), "step")
            for x in own[key].split()
        )
        for own in nodes.values()
    ]
    return ReadGraph(len(nodes), edges, number["n0"], halting, unexpanded, states, data(graph))


def read_dot(path: Path) -> ReadGraph:
    nodes, edges, initial, halting, unexpanded = 0, [], None, set(), set()
    for line in path.read_text().splitlines():
        if match := re.fullmatch(r'  (\d+) \[label="((?:[^"\\]|\\.)*)"(.*)\];', line):
            assert int(match[1]) == nodes
            if "peripheries=2" in match[3]:
                halting.add(nodes)
            if "dashed" in match[3]:
                unexpanded.add(nodes)
            nodes += 1
        elif match := re.fullmatch(r'  (\d+) -> (\d+) \[label="((?:[^"\\]|\\.)*)"(.*)\];', line):
            edges.append((int(match[1]), match[3], int(match[2])))
        elif match := re.fullmatch(r"  start -> (\d+);", line):
            initial = int(match[1])
    assert initial is not None
    return ReadGraph(nodes, edges, initial, halting, unexpanded)


# ---- NuSMV ----

#: The part of the language that is written, with the precedences of the NuSMV 2.6 manual, section
#: 2.2.3: `!`, unary `-`, `mod` and `*`, `+` and `-`, comparisons, `&`, `|`.
_GRAMMAR = r"""
start: "MODULE" "main" section*
section: "VAR" declaration* -> var
    | "IVAR" declaration* -> ivar
    | "DEFINE" (NAME ":=" expression ";")* -> define
    | "ASSIGN" assignment* -> assign
    | "TRANS" expression ";" -> trans
declaration: NAME ":" type ";"
type: NUMBER ".." NUMBER -> range
    | "boolean" -> boolean
    | "integer" -> integer
assignment: "init" "(" NAME ")" ":=" expression ";" -> init
    | "next" "(" NAME ")" ":=" expression ";" -> next
?expression: either
?either: both | either "|" both -> or_
?both: comparison | both "&" comparison -> and_
?comparison: sum | sum COMPARE sum -> compare
?sum: product | sum "+" product -> add | sum "-" product -> sub
?product: unary | product "*" unary -> mul | product "mod" unary -> mod
    | product "/" unary -> div
?unary: atom | "-" unary -> neg | "!" unary -> not_
?atom: "case" (expression ":" expression ";")+ "esac" -> case
    | "TRUE" -> true
    | "FALSE" -> false
    | NUMBER -> number
    | NAME -> name
    | "(" expression ")"
COMPARE: "<=" | ">=" | "!=" | "=" | "<" | ">"
NUMBER: /-?[0-9]+/
NAME: /[A-Za-z_][A-Za-z0-9_$#-]*/
%ignore /\s+/
%ignore /--[^\n]*/
"""
_PARSER = Lark(_GRAMMAR, parser="lalr")


def _c_mod(x: int, y: int) -> int:
    """As in C, which NuSMV follows since 2.4."""
    return abs(x) % abs(y) * (1 if x >= 0 else -1)


def _c_div(x: int, y: int) -> int:
    """As in C."""
    return abs(x) // abs(y) * (1 if (x >= 0) == (y >= 0) else -1)


class _ToPython(Transformer):
    """Expressions as Python, over a dictionary `v`."""

    def __init__(self) -> None:
        super().__init__()
        self.vars: dict[str, range] = {}
        self.ivars: dict[str, range] = {}
        self.defines: dict[str, str] = {}
        self.inits: dict[str, str] = {}
        self.nexts: dict[str, str] = {}
        self.constraints: list[str] = []

    def number(self, x):
        return f"({x[0]})"

    def name(self, x):
        return f"v[{str(x[0])!r}]"

    def true(self, x):
        return "True"

    def false(self, x):
        return "False"

    def case(self, x):
        text = "_no_case()"
        for when, what in reversed(list(zip(x[::2], x[1::2], strict=True))):
            text = f"({what} if {when} else {text})"
        return text

    def compare(self, x):
        operator = {"=": "=="}.get(str(x[1]), str(x[1]))
        return f"({x[0]} {operator} {x[2]})"

    def or_(self, x):
        return f"({x[0]} or {x[1]})"

    def and_(self, x):
        return f"({x[0]} and {x[1]})"

    def not_(self, x):
        return f"(not {x[0]})"

    def add(self, x):
        return f"({x[0]} + {x[1]})"

    def sub(self, x):
        return f"({x[0]} - {x[1]})"

    def mul(self, x):
        return f"({x[0]} * {x[1]})"

    def mod(self, x):
        return f"_c_mod({x[0]}, {x[1]})"

    def div(self, x):
        return f"_c_div({x[0]}, {x[1]})"

    def neg(self, x):
        return f"(-{x[0]})"

    def range(self, x):
        low, high = map(int, x)
        assert low < high, "NuSMV wants two values or more"
        return range(low, high + 1)

    def integer(self, x):
        return range(-(2**62), 2**62)

    def boolean(self, x):
        return (False, True)

    def declaration(self, x):
        return str(x[0]), x[1]

    def var(self, x):
        self._declare(self.vars, x)

    def ivar(self, x):
        self._declare(self.ivars, x)

    def define(self, x):
        self._declare(self.defines, zip(map(str, x[::2]), x[1::2], strict=True))

    def _declare(self, own, pairs):
        for name, value in pairs:
            assert name not in {*self.vars, *self.ivars, *self.defines, *_RESERVED}, name
            own[name] = value

    def init(self, x):
        assert x[0] not in self.inits
        self.inits[str(x[0])] = x[1]

    def next(self, x):
        assert x[0] not in self.nexts
        self.nexts[str(x[0])] = x[1]

    def trans(self, x):
        self.constraints.append(x[0])


#: Of the manual's list of keywords those that a name could meet.
_RESERVED = set(
    """MODULE DEFINE VAR IVAR INIT TRANS INVAR SPEC ASSIGN array boolean integer real word word1
    bool signed unsigned extend resize sizeof EX AX EF AF EG AG E F O G H X Y Z A U S V T BU EBF ABF
    EBG ABG case esac mod next init union in xor xnor self TRUE FALSE count abs max min process
    """.split()
)


class Smv:
    """A NuSMV model, explored state by state."""

    def __init__(self, text: str):
        tree = _PARSER.parse(text)
        parts = _ToPython()
        parts.transform(tree)
        assert set(parts.vars) == set(parts.inits) == set(parts.nexts)
        self.ranges, self.inputs = parts.vars, parts.ivars
        environment = {"_c_mod": _c_mod, "_c_div": _c_div, "_no_case": _no_case}

        def compiled(source):
            return eval(f"lambda v: {source}", environment)

        self.defines = {name: compiled(source) for name, source in parts.defines.items()}
        self.nexts = {name: compiled(source) for name, source in parts.nexts.items()}
        self.inits = {name: compiled(source) for name, source in parts.inits.items()}
        # A constraint on one input alone is looked at before the others are combined with it.
        self.constraints = [
            (compiled(source), self._inputs_of(source, parts.defines))
            for source in parts.constraints
        ]

    def _inputs_of(self, source: str, defines: dict[str, str]) -> set[str]:
        names = set(re.findall(r"v\['([^']*)'\]", source))
        found = names & set(self.inputs)
        for name in names & set(defines):
            found |= self._inputs_of(defines[name], defines)
        return found

    def values(self, state: tuple, inputs: dict[str, Any]) -> "_Values":
        return _Values(self.defines, {**dict(zip(self.ranges, state, strict=True)), **inputs})

    def initial(self) -> tuple:
        return tuple(self.inits[name]({}) for name in self.ranges)

    def steps(self, state: tuple):
        """The values of all inputs that are allowed, with the next state."""
        allowed = []
        for name, values in self.inputs.items():
            own = [accept for accept, inputs in self.constraints if inputs == {name}]
            allowed.append(
                [x for x in values if all(f(self.values(state, {name: x})) for f in own)]
            )
        for combination in itertools.product(*allowed):
            inputs = dict(zip(self.inputs, combination, strict=True))
            values = self.values(state, inputs)
            if all(accept(values) for accept, _ in self.constraints):
                after = tuple(self.nexts[name](values) for name in self.ranges)
                for name, x in zip(self.ranges, after, strict=True):
                    assert x in self.ranges[name], f"{name} gets {x}"
                yield values, after

    def explore(self, max_states: int = 10_000) -> tuple[list[tuple], list[tuple]]:
        """All states, and `(source, values, target)` of all transitions."""
        states, transitions = {self.initial(): 0}, []
        queue = list(states)
        for state in queue:
            found = list(self.steps(state))
            assert found, "a state without successor"
            for values, after in found:
                if after not in states:
                    states[after] = len(states)
                    queue.append(after)
                transitions.append((states[state], values, states[after]))
            assert len(states) <= max_states
        return queue, transitions


class _Values(dict):
    """Values of variables, and of definitions when they are asked for."""

    def __init__(self, defines, values):
        super().__init__(values)
        self._defines = defines

    def __missing__(self, name):
        self[name] = value = self._defines[name](self)
        return value


def _no_case():
    raise AssertionError("no case applies")


def read_smv(path: Path) -> Smv:
    return Smv(path.read_text())
