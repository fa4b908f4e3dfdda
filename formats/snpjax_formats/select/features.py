"""What decides between layouts: sizes, degrees and structure of a graph."""

from dataclasses import dataclass

import numpy as np

from ..edges import Edges
from ..interval import runs_of


@dataclass(frozen=True)
class Features:
    """Numbers about a graph, each computed in time linear in its edges.

    Degrees count edges into a target, or out of a source; a run is a maximal row of consecutive
    sources that one target listens to. `max_weight` is the largest absolute weight, 1 where every
    edge weighs 1.
    """

    num_sources: int
    num_targets: int
    num_edges: int
    is_iso: bool
    max_weight: float
    max_in_degree: int
    max_out_degree: int
    num_runs: int
    max_runs: int

    @property
    def density(self) -> float:
        return self.num_edges / max(self.num_sources * self.num_targets, 1)

    @property
    def mean_in_degree(self) -> float:
        return self.num_edges / max(self.num_targets, 1)

    @property
    def in_skew(self) -> float:
        """The largest in-degree over the mean one."""
        return self.max_in_degree / max(self.mean_in_degree, 1e-9)


def features_of(edges: Edges) -> Features:
    """The features of a canonical graph."""
    run_target, _, _ = runs_of(edges)
    runs = np.bincount(run_target, minlength=1)
    return Features(
        num_sources=edges.num_sources,
        num_targets=edges.num_targets,
        num_edges=len(edges),
        is_iso=edges.value is None,
        max_weight=1.0 if edges.value is None else float(np.abs(edges.value).max(initial=0)),
        max_in_degree=edges.max_in_degree(),
        max_out_degree=edges.max_out_degree(),
        num_runs=len(run_target),
        max_runs=int(runs.max()),
    )
