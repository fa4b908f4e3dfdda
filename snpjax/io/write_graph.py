"""Writing configuration graphs to the files of other tools."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from snpjax_formats.atomic import atomic_write_all

from .._text.lines import EdgeLabels
from ..check.exports.write import ExportOptions, Files, Predicate
from ..explore import Graph
from .formats import Format, GraphFormat, format_named, format_to_write
from .read import check_options


def write_graph(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    format: GraphFormat | Format | None = None,
    labels: EdgeLabels | None = None,
    predicates: Mapping[str, Predicate] | None = None,
    chain: bool = False,
    bounds: int | Mapping[str, int] | Literal["unbounded"] | None = None,
) -> tuple[Path, ...]:
    """Write a configuration graph to a file of another tool.

    Configuration 0 is the initial state everywhere, every choice is an edge, and configurations
    that were not expanded are marked, never written as halting. Files are written to a temporary
    name and renamed, in blocks, so that a graph may be larger than its text may be in memory.

    **Arguments:**

    - `graph`: a graph that `snpjax.explore` returned.
    - `path`: the file, which is replaced if it exists.
    - `format`: a name, or a `snpjax.io.Format` of your own. By default the suffix selects it:
      `.aut` Aldebaran; `.tra`, `.sta` or `.lab` PRISM, which writes all three; `.smv` NuSMV, the
      *system* as a symbolic model; `.dot` and `.svg` pictures; `.graphml`; `.json`.
    - `labels`: what stands at an edge, `"rules"` (the default) or `"emissions"` of the output
      neurons; formats that hold both have no such option.
    - `predicates`: labels of PRISM by name, as functions of configurations.
    - `chain`: PRISM's model is a Markov chain with uniform choices, not a decision process.
    - `bounds`: the largest number of spikes of each neuron in NuSMV, one for all or by name; by
      default the largest of the graph. `"unbounded"` are integers without bounds, for nuXmv.

    **Returns:** the files.

    **Raises:** `ValueError` for a suffix that is none of these, an option that the format does not
    have, what the format cannot hold, or a graph whose edges were not kept.
    """
    target = Path(path)
    known = format_to_write(target, "graph") if format is None else format_named(format, "graph")
    given = {
        "labels": labels is not None,
        "predicates": bool(predicates),
        "chain": chain,
        "bounds": bounds is not None,
    }
    check_options(known, {option for option, is_given in given.items() if is_given})
    if isinstance(bounds, str) and bounds != "unbounded":
        raise ValueError(f'`bounds` is {bounds!r}. Give numbers, or "unbounded".')
    labels = "rules" if labels is None else labels
    if labels not in get_args(EdgeLabels):
        raise ValueError(f'`labels` is {labels!r} (write "rules" or "emissions")')
    if known.writer is None:
        raise ValueError(f"{known.title} is read, not written")
    files: Files = known.writer(graph, ExportOptions(labels, predicates or {}, chain, bounds))
    paths = {suffix: target.with_suffix(suffix) if suffix else target for suffix in files}
    atomic_write_all({paths[suffix]: blocks for suffix, blocks in files.items()})
    return tuple(paths.values())
