"""What a file holds, told by its text: a file of the wrong kind is named for what it is."""

import re
from typing import Literal, NamedTuple, TypeAlias

from snpjax_formats.strict_json import JsonError, parse_json

from .errors import Diagnostic, ReadError
from .source import Source


#: What the files of a format of `snpjax.io.Format` hold: a spiking system, a net, or a graph of
#: configurations.
Holds: TypeAlias = Literal["system", "net", "graph"]
#: What a file may hold.
Kind: TypeAlias = Literal[
    "system", "net", "graph", "numerical", "proliferation", "cell types", "histogram"
]

_TITLES: dict[Kind, str] = {
    "system": "a file of a spiking system",
    "net": "a file of a net",
    "graph": "a configuration graph",
    "numerical": "a numerical SN P system, whose values are real numbers",
    "proliferation": "a proliferation model",
    "cell types": "a table of cell types",
    "histogram": "a histogram",
}
#: What to do in Python. Graphs are only written.
_READERS: dict[Kind, str] = {
    "system": "use: snp.read",
    "net": "use: snp.read_net",
    "graph": "graphs are written, not read; give the model",
    "numerical": "use: snp.io.read_numerical",
    "proliferation": "use: snpjax.io.proliferation.read_model",
    "cell types": "use: snpjax.io.proliferation.read_types",
    "histogram": "use: snpjax.io.proliferation.read_histogram",
}

# A rule of the ESNP dialect begins with [, too, but not with a list of numbers.
_JSON = re.compile(r"\s*(\{|\[\s*([\[{\"\]]|-?\d[\d.eE+-]*\s*[],]))")
#: The root element of PNML, after declarations and comments.
_PNML = re.compile(r"(?:\s|<\?[^>]*>|(?><!--.*?-->))*+<(?:\w+:)?pnml\b", re.DOTALL)
_PLINGUA = re.compile(r"^\s*@model\b", re.IGNORECASE | re.MULTILINE)
_GRAPH = re.compile(r'\s*\{\s*"schema"\s*:\s*"snpjax-graph/')
_KEYS = re.compile(r'"(schema|neurons|nodes|synapses|edges|populations)"\s*:')
#: Of a node of Numerical WebSnapse.
_NUMERICAL = ('"nodes"', '"var_"', '"prf"')
_YAML = re.compile(r"^(neurons|populations)\s*:", re.MULTILINE)
_NUM_LINES = 20  # of columns of numbers that are examined


class Told(NamedTuple):
    """What a text shows: a kind, and the name of the format, where one has to be given."""

    kind: Kind
    format: str | None = None


class WrongKind(ReadError):
    """A file of another kind of model than is read. `kind` is what it holds, and `format` what its
    text shows and its suffix does not."""

    def __init__(self, path: str, kind: Kind, format: str | None = None):
        self.path, self.kind, self.format = path, kind, format
        super().__init__([Diagnostic(path, None, None, wrong_kind_text(kind, _READERS[kind]))])


def wrong_kind_text(kind: Kind, advice: str) -> str:
    """What is said about a file of the wrong kind."""
    return f"this is {_TITLES[kind]} ({advice})"


#: How a file holds a numerical SN P system: as what the program saves and is read, or otherwise.
NumericalForm: TypeAlias = Literal["nodes", "request", "matrices"]


def is_json(text: str) -> bool:
    """Whether a text is JSON by its first characters."""
    return _JSON.match(text) is not None


def is_pnml(source: Source) -> bool:
    """Whether a text is XML with the root element of PNML."""
    return _PNML.match(source.text[:65_536]) is not None


def is_greatspn(source: Source) -> bool:
    """Whether a `.net` file is of GreatSPN, not of Tina."""
    return source.text.startswith("|")


def told_by_text(source: Source) -> Told | None:
    """What a text shows, whatever its file is called; `None` if it shows nothing for sure. No valid
    text of another kind is taken for it."""
    text = source.text
    if is_json(text):
        return _told_by_json(text)
    if is_pnml(source):
        return Told("net", "pnml")
    if is_greatspn(source):
        return Told("net", "greatspn")
    if _PLINGUA.search(text):
        return Told("system", "plingua")
    yaml = _YAML.search(text)
    if yaml is not None:
        of_system = yaml[1] == "neurons"
        return Told("system", "factory-yaml") if of_system else Told("proliferation", "yaml")
    return _told_by_columns(text)


def _told_by_json(text: str) -> Told | None:
    if _GRAPH.match(text):
        return Told("graph")
    keys = set(_KEYS.findall(text))
    if "schema" in keys:
        return Told("system", "native")
    if all(key in text for key in _NUMERICAL) and _is_of_nodes(text):
        return Told("numerical")
    if keys - {"populations"}:
        return Told("system", "websnapse")
    return Told("proliferation", "json") if keys else None


def _is_of_nodes(text: str) -> bool:
    try:
        return numerical_form(parse_json(text)) == "nodes"
    except JsonError:
        return False


def numerical_form(value: object) -> NumericalForm | None:
    """Which form of a numerical SN P system a decoded file has; `None` if it is of another kind."""
    if not isinstance(value, dict):
        return None
    if "NSNP" in value:
        return "request"
    if {"C", "VL", "F", "L"} <= value.keys():
        return "matrices"
    nodes = value.get("nodes", value.get("neurons"))
    first = nodes[0] if isinstance(nodes, list) and nodes else None
    data = first.get("data") if isinstance(first, dict) else None
    return "nodes" if isinstance(data, dict) and {"var_", "prf"} <= data.keys() else None


def numerical_text(form: NumericalForm) -> str:
    """What is said about such a file where another form or kind is read."""
    fix = "save it with its nodes and edges, as Numerical WebSnapse does"
    what = {
        "nodes": "(leave the format out, or use: snp.io.read_numerical)",
        "request": f"as a request to its server ({fix})",
        "matrices": f"as matrices ({fix})",
    }
    return f"this is a numerical SN P system (NSNP) {what[form]}"


def _told_by_columns(text: str) -> Told | None:
    """Of columns of numbers, by how many there are in the first lines; a few lines may be wrong."""
    lines = (line.split() for line in text[:10_000].splitlines())
    rows = [words for words in lines if words and not words[0].startswith("#")][:_NUM_LINES]
    numbers = [found for found in map(_numbers, rows) if found]
    is_table = len({len(found) for found in numbers}) == 1 and 2 * len(numbers) >= len(rows)
    if not is_table:
        return None
    if len(numbers[0]) == 2:
        return Told("histogram")
    has_proportions = abs(sum(found[0] for found in numbers) - 1) < 1e-6
    return Told("cell types") if len(numbers[0]) == 3 and has_proportions else None


def _numbers(words: list[str]) -> list[float]:
    """Nothing for words that are not all numbers."""
    try:
        return [float(word) for word in words]
    except ValueError:
        return []
