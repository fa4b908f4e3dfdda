"""Sums of decision trees, as arrays that NumPy walks."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees of all outputs, node by node.

    Axes: `nodes`, those of one tree after the other; `trees`. A node without children names itself
    as both. Where `x[feature] <= threshold` the left child is next.
    """

    feature: Int[np.ndarray, " nodes"]
    threshold: Float[np.ndarray, " nodes"]
    left: Int[np.ndarray, " nodes"]
    right: Int[np.ndarray, " nodes"]
    value: Float[np.ndarray, " nodes"]
    root: Int[np.ndarray, " trees"]
    output: Int[np.ndarray, " trees"]

    def __post_init__(self) -> None:
        nodes = len(self.feature)
        for name in ("left", "right", "root"):
            index = getattr(self, name)
            if np.any((index < 0) | (index >= nodes)):
                raise ValueError(f"`{name}` names a node that is not there")
        if np.any(self.left < np.arange(nodes)) or np.any(self.right < np.arange(nodes)):
            raise ValueError("a node is its own ancestor")

    def of(self, outputs: Int[np.ndarray, " rows"]) -> Bool[np.ndarray, "rows trees"]:
        """Which trees belong to the output of each row."""
        return self.output[None] == np.asarray(outputs)[:, None]

    def sums(
        self, x: Float[np.ndarray, "rows inputs"], outputs: Int[np.ndarray, " rows"]
    ) -> Float[np.ndarray, " rows"]:
        """For each row the sum of the trees of its output."""
        x = x.astype(np.float32)  # as the thresholds were found
        row, tree = np.nonzero(self.of(outputs))
        node = self.root[tree]
        while True:
            goes_left = x[row, self.feature[node]] <= self.threshold[node]
            following = np.where(goes_left, self.left[node], self.right[node])
            if np.array_equal(following, node):
                break
            node = following
        return np.bincount(row, self.value[node], minlength=len(x))
