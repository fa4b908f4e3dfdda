"""Tables too large for a picture in blocks of rows and columns, a number each."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Num


#: More rows or columns than these no picture of a page has pixels for.
MAX_ROWS, MAX_COLUMNS = 500, 1_400


class BlockMaxima(NamedTuple):
    """`values` of blocks of `rows` times `columns` numbers; the last ones may be smaller."""

    values: Num[np.ndarray, "block_rows block_columns"]
    rows: int
    columns: int

    @property
    def are_single(self) -> bool:
        return self.rows == self.columns == 1


def largest(
    table: Num[np.ndarray, "rows columns"],
    *,
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
) -> BlockMaxima:
    """The number of largest size in each block, so that none is lost that stands out; the positive
    one of two."""
    rows = -(-table.shape[0] // max_rows) or 1
    columns = -(-table.shape[1] // max_columns) or 1
    if 0 in table.shape or rows == columns == 1:
        return BlockMaxima(table, 1, 1)
    row_starts = np.arange(0, table.shape[0], rows)
    column_starts = np.arange(0, table.shape[1], columns)

    def of(reduce: np.ufunc) -> np.ndarray:
        return reduce.reduceat(reduce.reduceat(table, row_starts, axis=0), column_starts, axis=1)

    high = of(np.maximum)
    if not np.any(table < 0):
        return BlockMaxima(high, rows, columns)
    low = of(np.minimum)
    return BlockMaxima(np.where(-low > high, low, high), rows, columns)
