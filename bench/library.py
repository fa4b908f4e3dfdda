"""The sparse product of a well-kept library: CSR by scipy on a CPU, by cuSPARSE on a GPU."""

import numpy as np
from figures import Anchor, Clock, Missing, is_cpu

from snpjax_formats import Edges


def csr_product(
    edges: Edges, value: np.ndarray, x: np.ndarray, expected: np.ndarray, loops: int
) -> Anchor:
    """`loops` products; on a GPU by the clock of the device. The answer is checked first."""
    row_ptr = np.searchsorted(edges.target, np.arange(edges.num_targets + 1)).astype(np.int32)
    parts, shape = (value, edges.source, row_ptr), (edges.num_targets, edges.num_sources)
    tolerance = 0 if expected.dtype.kind == "i" else 1e-4
    if is_cpu():
        import scipy.sparse

        matrix = scipy.sparse.csr_array(parts, shape=shape)
        np.testing.assert_allclose(matrix @ x, expected, rtol=tolerance)

        def products() -> None:
            for _ in range(loops):
                _ = matrix @ x

        return Anchor("scipy", products)
    try:
        import cupy  # pyright: ignore[reportMissingImports]
        import cupyx.scipy.sparse as sparse  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise Missing("no cuSPARSE: CuPy is not installed") from None
    there = sparse.csr_matrix(tuple(map(cupy.asarray, parts)), shape=shape)
    vector = cupy.asarray(x.astype(np.float32))
    np.testing.assert_allclose((there @ vector).get(), expected, rtol=tolerance)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()

    def on_device() -> Clock:
        begin.record()
        for _ in range(loops):
            _ = there @ vector
        end.record()
        end.synchronize()
        seconds = cupy.cuda.get_elapsed_time(begin, end) / 1e3
        return Clock(seconds, seconds)

    return Anchor("cuSPARSE", on_device)
