"""What the tests of layouts share: dense oracles, and both products in one compilation."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from snpjax_formats import Edges


#: Axes of the inputs after that of the nodes.
BATCHES = [(), (3,)]


def dense_of(edges: Edges) -> np.ndarray:
    """`(targets, sources)` sums of the weights, entry by entry."""
    dense = np.zeros((edges.num_targets, edges.num_sources), np.int64)
    value = np.ones(len(edges), int) if edges.value is None else edges.value
    for s, t, v in zip(edges.source, edges.target, value, strict=True):
        dense[t, s] += v
    return dense


@eqx.filter_jit
def products(stored, xs, gs=(), accumulate=jnp.int32):
    """Both products of several inputs, in one compilation."""
    ys = [stored.deliver(x, accumulate=accumulate) for x in xs]
    return ys, [stored.deliver_transposed(g, accumulate=accumulate) for g in gs]


def check_products(stored, dense, *, most: int = 50, seed: int = 0) -> None:
    """Both products of integers from -most to most, with and without a batch, and the edges."""
    random = np.random.default_rng(seed)
    xs, gs = (
        [random.integers(-most, most, (size, *batch), np.int32, endpoint=True) for batch in BATCHES]
        for size in (stored.num_sources, stored.num_targets)
    )
    ys, zs = products(stored, xs, gs)
    for x, g, y, z in zip(xs, gs, ys, zs, strict=True):
        assert y.dtype == jnp.int32 and y.tolist() == np.tensordot(dense, x, 1).tolist()
        assert z.dtype == jnp.int32 and z.tolist() == np.tensordot(dense.T, g, 1).tolist()
        assert (g * np.asarray(y)).sum() == (np.asarray(z) * x).sum(), "<g, W x> is <W^T g, x>"
    assert stored.to_dense().tolist() == dense.tolist()
    out = stored.edges()
    keys = list(zip(out.target.tolist(), out.source.tolist(), strict=True))
    assert keys == sorted(set(keys)), "canonical: sorted by (target, source), no duplicates"
