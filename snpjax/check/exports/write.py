"""`write_graph`, and the formats it knows, a record each.

A new format is a record here, its writer in a module of its own, a reader in tests/graph_readers.py
and a row in docs/exploring.md.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from jaxtyping import Bool
from numpy import ndarray

from ...lines import Labels
from ...machine import SomeConfigurations
from ...whole import write_all_whole


if TYPE_CHECKING:
    from ...explore import Graph

ExportName: TypeAlias = Literal["aut", "prism", "nusmv", "dot", "graphml", "json", "svg"]
#: What holds in some configurations, see `Graph.where`.
Predicate: TypeAlias = Callable[[SomeConfigurations], Bool[ndarray, " configurations"]]
#: The files of a format, by suffix, in blocks of bytes. One file may have any suffix: `""`.
Files: TypeAlias = Mapping[str, Iterable[bytes]]


class Options(NamedTuple):
    """What `write_graph` was asked for, besides the graph."""

    labels: Labels
    predicates: Mapping[str, Predicate]
    chain: bool
    bounds: "int | Mapping[str, int] | None"


class ExportFormat(NamedTuple):
    """What people call a format, its suffixes, the function that makes its files, `module:name`,
    and which options it has a place for."""

    title: str
    suffixes: tuple[str, ...]
    writer: str
    options: tuple[str, ...] = ()


EXPORTS: dict[ExportName, ExportFormat] = {
    "aut": ExportFormat("Aldebaran", (".aut",), "aut:aut_files", ("labels",)),
    "prism": ExportFormat(
        "PRISM explicit",
        (".tra", ".sta", ".lab"),
        "prism:prism_files",
        ("labels", "predicates", "chain"),
    ),
    "nusmv": ExportFormat("NuSMV", (".smv",), "nusmv:nusmv_files", ("bounds",)),
    "dot": ExportFormat("DOT", (".dot", ".gv"), "pictures:dot_files", ("labels",)),
    "graphml": ExportFormat("GraphML", (".graphml",), "graphml:graphml_files"),
    "json": ExportFormat("JSON", (".json",), "json_graph:json_files"),
    "svg": ExportFormat("SVG", (".svg",), "pictures:svg_files", ("labels",)),
}


def write_graph(
    graph: "Graph",
    path: str | os.PathLike[str],
    *,
    format: ExportName | None = None,
    labels: Labels | None = None,
    predicates: Mapping[str, Predicate] | None = None,
    chain: bool = False,
    bounds: int | Mapping[str, int] | None = None,
) -> tuple[Path, ...]:
    """Write a configuration graph to a file of another tool.

    Configuration 0 is the initial state everywhere, every choice is an edge, and configurations
    that were not expanded are marked, never written as halting. Files are written to a temporary
    name and renamed, in blocks, so that a graph may be larger than its text may be in memory.

    **Arguments:**

    - `format`: by default the suffix says it: `.aut` Aldebaran; `.tra`, `.sta` or `.lab` PRISM,
      which writes all three; `.smv` NuSMV, the *system* as a symbolic model; `.dot` and `.svg`
      pictures; `.graphml`; `.json`.
    - `labels`: what stands at an edge, `"rules"` (the default) or `"emissions"` of the output
      neurons; formats that hold both have no such option.
    - `predicates`: labels of PRISM by name, as functions of configurations.
    - `chain`: PRISM's model is a Markov chain with uniform choices, not a decision process.
    - `bounds`: the largest number of spikes of each neuron in NuSMV, one for all or by name; by
      default the largest of the graph.

    **Returns:** the files.

    **Raises:** `ValueError` for a suffix that is none of these, an option that the format has no
    place for, what the format cannot hold, or a graph whose edges were not kept.
    """
    target = Path(path)
    name = format_of(target) if format is None else format
    if name not in EXPORTS:
        raise ValueError(f"the format is {name!r} (write one of {', '.join(EXPORTS)})")
    record = EXPORTS[name]
    given = {
        "labels": labels is not None,
        "predicates": bool(predicates),
        "chain": chain,
        "bounds": bounds is not None,
    }
    for option in (option for option, is_given in given.items() if is_given):
        if option not in record.options:
            raise ValueError(f"{record.title} has no place for `{option}` (leave it out)")
    labels = "rules" if labels is None else labels
    if labels not in get_args(Labels):
        raise ValueError(f'`labels` is {labels!r} (write "rules" or "emissions")')
    module, function = record.writer.split(":")
    writer = getattr(import_module(f".{module}", __package__), function)
    files: Files = writer(graph, Options(labels, predicates or {}, chain, bounds))
    paths = {s: target.with_suffix(s) if s else target for s in files}
    write_all_whole({paths[suffix]: blocks for suffix, blocks in files.items()})
    return tuple(paths.values())


def format_of(target: Path) -> ExportName:
    """The format that the suffix says. **Raises:** `ValueError` when it says none."""
    suffix = target.suffix.lower()
    for name, record in EXPORTS.items():
        if suffix in record.suffixes:
            return name
    suffixes = ", ".join(s for record in EXPORTS.values() for s in record.suffixes)
    raise ValueError(
        f"{os.fspath(target)}: the suffix {suffix!r} cannot be written (write {suffixes}, or give "
        "format=)"
    )
