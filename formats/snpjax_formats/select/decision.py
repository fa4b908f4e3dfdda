"""The question that a chooser answers, and the answer, which explains itself."""

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..edges import Edges
from ..layout import AbstractLayout
from .device import Device
from .features import Features, features_of
from .workload import Workload


@dataclass(frozen=True, eq=False)
class Question:
    """Which layout suits a canonical graph, a workload and a device with this many free bytes."""

    edges: Edges
    workload: Workload
    device: Device
    kind: str  # as `device_of` reports it
    free: int | None

    @cached_property
    def features(self) -> Features:
        return features_of(self.edges)


@dataclass(frozen=True)
class Decision:
    """A layout and why it was chosen.

    - `direction`: whether targets pull, sources push, or all pairs are one product.
    - `predicted`, `measured`: microseconds of one product for each candidate, where they are known.
    - `refused`: why the others were none.
    - `chooser`: who decided, with the version of what it knows.
    """

    layout: type[AbstractLayout]
    reason: str
    question: Question = field(compare=False, repr=False)
    direction: str | None = None
    predicted: Mapping[str, float] | None = None
    measured: Mapping[str, float] | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
    chooser: str = "tree"

    @property
    def features(self) -> Features:
        """Of the graph; computed when they are first asked for."""
        return self.question.features

    def __str__(self) -> str:
        return f"{self.layout.__name__}: {self.reason}"

    def explanation(self) -> str:
        """The decision in a few lines: what the others would cost, and why some are none."""
        f = self.features
        lines = [
            str(self),
            f"  decided by {self.chooser}",
            f"  {f.num_sources:,} sources, {f.num_targets:,} targets, {f.num_edges:,} edges: "
            f"in-degree {f.into.mean:.3g} on average and {f.into.most:,} at most, out-degree "
            f"{f.out_of.most:,} at most, {f.num_runs:,} runs of sources",
        ]
        for what, times in (("measured", self.measured), ("predicted", self.predicted)):
            ordered = sorted((times or {}).items(), key=lambda pair: pair[1])
            if ordered:
                _, least = ordered[0]
                lines.append(f"  {what}, microseconds of one product and times the least:")
                lines += [f"    {name:20} {us:12.2f} {us / least:8.2f}" for name, us in ordered]
        if self.refused:
            lines.append("  not considered:")
        lines += [f"    {name:20} {why}" for name, why in sorted(self.refused.items())]
        return "\n".join(lines)


class AbstractTimedLayout(AbstractLayout):
    """A layout that says how long its product takes, so that `Including` can consider it beside the
    layouts that a model was trained on."""

    @classmethod
    @abc.abstractmethod
    def seconds(cls, question: Question) -> float:
        """The predicted seconds of one product, or of a product and a transposed one where
        `question.workload.gradients`; for a graph to which `obstacle` does not object."""


class AbstractChooser(abc.ABC):
    """Decides which layout stores a graph."""

    @abc.abstractmethod
    def decide(self, question: Question) -> Decision:
        """**Raises:** `NotEnoughMemory` if no layout fits, with the bytes that each would need."""
