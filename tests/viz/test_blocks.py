"""What a large table becomes in a picture."""

import numpy as np
from hypothesis import given, strategies as st

from snpjax.viz.blocks import largest


@given(
    st.integers(0, 12),
    st.integers(0, 12),
    st.integers(1, 5),
    st.integers(1, 5),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_blocks_keep_what_stands_out(rows, columns, max_rows, max_columns, signed, seed):
    table = np.random.default_rng(seed).integers(-9 * signed, 10, (rows, columns))
    found = largest(table, max_rows=max_rows, max_columns=max_columns)
    if 0 in table.shape:
        assert found.are_single
        return
    assert found.values.shape[0] <= max_rows and found.values.shape[1] <= max_columns
    for i, row in enumerate(found.values.tolist()):
        for j, value in enumerate(row):
            block = table[i * found.rows : (i + 1) * found.rows]
            block = block[:, j * found.columns : (j + 1) * found.columns].ravel().tolist()
            assert value == max(block, key=lambda x: (abs(x), x))
