"""What the shape of a layout depends on: degrees, and nothing of which edges there are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Int

from .edges import Edges


@dataclass(frozen=True, eq=False)
class DegreeProfile:
    """The degrees of a canonical graph, or of several graphs that are to have layouts of one shape.

    `targets[d]` is how many targets have more than d sources. Of several graphs every number is the
    largest, so that there is room for each of them.
    """

    num_targets: int
    num_edges: int
    targets: Int[np.ndarray, " degrees"]
    max_out_degree: int
    value_dtype: np.dtype | None  # of the weights, if any graph has some

    @classmethod
    def of(cls, edges: Edges) -> "DegreeProfile":
        degrees = np.bincount(edges.target, minlength=edges.num_targets)
        exactly = np.bincount(degrees, minlength=1)
        return cls(
            num_targets=edges.num_targets,
            num_edges=len(edges),
            targets=np.cumsum(exactly[:0:-1])[::-1],
            max_out_degree=edges.max_out_degree(),
            value_dtype=None if edges.value is None else edges.value.dtype,
        )

    @classmethod
    def covering(cls, profiles: Sequence["DegreeProfile"]) -> "DegreeProfile":
        """Of all graphs with these profiles, which have equally many targets."""
        most = max(len(profile.targets) for profile in profiles)
        targets = [np.pad(p.targets, (0, most - len(p.targets))) for p in profiles]
        return cls(
            num_targets=profiles[0].num_targets,
            num_edges=max(profile.num_edges for profile in profiles),
            targets=np.max(targets, axis=0),
            max_out_degree=max(profile.max_out_degree for profile in profiles),
            value_dtype=next((p.value_dtype for p in profiles if p.value_dtype), None),
        )

    @property
    def max_in_degree(self) -> int:
        return len(self.targets)

    @cached_property
    def in_degrees(self) -> Int[np.ndarray, " num_targets"]:
        """The in-degrees of all targets in some order; of several graphs, the largest of every
        rank."""
        exactly = -np.diff(self.targets, append=0)
        degrees = np.repeat(np.arange(1, len(self.targets) + 1), exactly)
        return np.pad(degrees, (0, self.num_targets - len(degrees)))

    def up_to(self, width: int) -> "DegreeProfile":
        """Of the first `width` edges of each target."""
        targets = self.targets[:width]
        return replace(self, targets=targets, num_edges=int(targets.sum()))

    def beyond(self, width: int) -> "DegreeProfile":
        """Of the edges of each target behind the first `width`."""
        targets = self.targets[width:]
        return replace(self, targets=targets, num_edges=int(targets.sum()))
