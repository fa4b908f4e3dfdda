"""What a graph is stored for: what will be multiplied by it, and how."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import DTypeLike


#: Counts are drawn up to here where no largest one is known.
LARGEST_COUNT = 7


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The products that a layout will compute.

    **Arguments:**

    - `batch`: columns of x, 1 where x has no batch.
    - `accumulate`: the type of the sums.
    - `max_input`: the largest entry of x, all being integers from 0 on, if it is known; 1 allows
      layouts of bits.
    - `activity`: the expected share of entries of x that are not 0.
    - `gradients`: the transposed product is wanted as often as the product.
    - `trained`: weights are changed, by `edge_products`, so that they must be stored as they are.
      A layout of pairs, such as Dense, may be chosen: its entries without an edge must stay 0.

    **Raises:** `ValueError` for what is out of range.
    """

    batch: int = 1
    accumulate: DTypeLike = np.int32
    max_input: int | None = None
    activity: float = 1.0
    gradients: bool = False
    trained: bool = False

    def __post_init__(self) -> None:
        problems = []
        if self.batch < 1:
            problems.append(f"`batch` is {self.batch}; give 1 or more")
        if not 0 <= self.activity <= 1:
            problems.append(f"`activity` is {self.activity}; give a share from 0 to 1")
        if self.max_input is not None and self.max_input < 0:
            problems.append(f"`max_input` is {self.max_input}; give 0 or more, or None")
        if problems:
            raise ValueError(f"{'. '.join(problems)}.")

    @property
    def sums_floats(self) -> bool:
        return np.issubdtype(np.dtype(self.accumulate), np.inexact)

    def inputs(self, count: int, num_sources: int, rng: np.random.Generator) -> np.ndarray:
        """Draw random vectors to multiply.

        **Arguments:**

        - `count`: how many.
        - `num_sources`: their length.
        - `rng`: the generator of random numbers.

        **Returns:** `(count, sources, *batch)` values, of which a share of `activity` is not 0;
        counts are at most `max_input`, or 7 if it is unknown.
        """
        shape = (count, num_sources, *([self.batch] if self.batch > 1 else []))
        active = rng.random(shape, np.float32) < self.activity
        if self.sums_floats:
            x = np.where(active, rng.standard_normal(shape, np.float32), np.float32(0))
            return x.astype(self.accumulate)
        largest = LARGEST_COUNT if self.max_input is None else max(self.max_input, 1)
        return np.where(active, rng.integers(1, largest + 1, shape), 0).astype(np.int32)

    @property
    def item_bytes(self) -> int:
        return np.dtype(self.accumulate).itemsize
