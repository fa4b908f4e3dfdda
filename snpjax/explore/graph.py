"""The configuration graph: what exploration found, and what can be read off it."""

import enum
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int, UInt32


if TYPE_CHECKING:
    from .search import Enumerable


class Stop(enum.Enum):
    """Why an exploration ended."""

    COMPLETE = "every configuration was found, and every choice followed"
    MAX_CONFIGURATIONS = "the limit of configurations was reached"
    MAX_DEPTH = "the limit of depth was reached"
    OVERFLOW = "a number of spikes left the range of 32 bits"
    TOO_MANY_CHOICES = "a configuration has 2^31 choices or more"
    OUT_OF_MEMORY = "the device has no memory for more"


@dataclass(frozen=True, eq=False)
class Graph:
    """Configurations, numbered breadth-first from 0, the initial one, and the choices between them.

    The successors of a configuration stand in the order of its choices, so that numbers depend on
    the system only. The first `num_expanded` configurations have all their choices here; the
    others, if any, were not followed.

    - `fields`: `(configurations, fields)`, see `spikes`, `timers`, `pending`.
    - `depth_starts`: number of the first configuration at each depth, and the end.
    - `first_edge`: the choices of configuration i are edges `first_edge[i]` to
      `first_edge[i + 1]`; halting configurations have none.
    - `targets`: the configuration that each edge leads to.
    - `parents`, `parent_choices`: from where, and by which of its choices, each configuration was
      found first; a shortest path.
    """

    machine: "Enumerable"
    num_fields: int
    fields: UInt32[np.ndarray, "configurations fields"] = field(repr=False)
    depth_starts: Int[np.ndarray, " depths"] = field(repr=False)
    first_edge: Int[np.ndarray, " expanded"] = field(repr=False)
    targets: Int[np.ndarray, " edges"] | None = field(repr=False)
    parents: Int[np.ndarray, " configurations"] = field(repr=False)
    parent_choices: UInt32[np.ndarray, " configurations"] = field(repr=False)
    stop: Stop

    @property
    def num_configurations(self) -> int:
        return len(self.parents)

    @property
    def num_expanded(self) -> int:
        return len(self.first_edge) - 1

    @property
    def num_choices(self) -> int:
        """Choice vectors over all expanded configurations."""
        return int(self.first_edge[-1])

    @property
    def is_complete(self) -> bool:
        return self.stop is Stop.COMPLETE

    @property
    def depth(self) -> int:
        """The largest distance from the initial configuration."""
        return len(self.depth_starts) - 2

    @cached_property
    def is_halting(self) -> Bool[np.ndarray, " expanded"]:
        """Of the expanded configurations."""
        return np.diff(self.first_edge) == 0

    @cached_property
    def sources(self) -> Int[np.ndarray, " edges"]:
        """The configuration that each edge leaves."""
        return np.repeat(np.arange(self.num_expanded), np.diff(self.first_edge))
