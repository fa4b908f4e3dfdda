"""What the interpreter of traced programs finds is what the compiler's program finds."""

import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from jax.extend.core import jaxprs_in_params

from snpjax._tiered import Interpreted, NotInterpretable, estimated_sum, interpreter
from snpjax._tiered.rule import words_of_key
from snpjax._xla import materialize, one_kernel


def no_tick():
    pass


I32 = hnp.arrays(np.int32, (3, 4), elements=st.integers(-(2**31), 2**31 - 1))
SMALL = hnp.arrays(np.int32, (3, 4), elements=st.integers(-3, 3))
U32 = hnp.arrays(np.uint32, (3, 4), elements=st.integers(0, 2**32 - 1))
U8 = hnp.arrays(np.uint8, (3, 4))
BITS = hnp.arrays(bool, (3, 4))
F32 = hnp.arrays(np.float32, (3, 4), elements=st.floats(width=32, allow_subnormal=False))
ROWS = hnp.arrays(np.int32, (5,), elements=st.integers(-2, 5))
PLACES = hnp.arrays(np.int32, (5, 2), elements=st.integers(-2, 5))
ONE = st.integers(-5, 6).map(np.int32)
SHIFTS = hnp.arrays(np.int32, (3, 4), elements=st.integers(0, 40))
TYPES = {
    id(strategy): (shape, dtype)
    for strategies, shape, dtype in (
        ((I32, SMALL, SHIFTS), (3, 4), np.int32),
        ((U32,), (3, 4), np.uint32),
        ((U8,), (3, 4), np.uint8),
        ((BITS,), (3, 4), bool),
        ((F32,), (3, 4), np.float32),
        ((ROWS,), (5,), np.int32),
        ((PLACES,), (5, 2), np.int32),
        ((ONE,), (), np.int32),
    )
    for strategy in strategies
}
CLIP, FILL = lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP


def gathered(mode, operand_batch=False):
    def one(x, at):
        return x.at[at].get(mode=mode)

    return (lambda x, at: jax.vmap(one, in_axes=(1, 0))(x[:, :2], at[:2])) if operand_batch else one


def scattered(kind, mode):
    def one(x, at):
        return getattr(x.at[at[:, 0], at[:, 1]], kind)(jnp.arange(5, dtype=x.dtype), mode=mode)

    return one


def windows(x, at):
    """Of two rows and columns each."""
    numbers = lax.GatherDimensionNumbers((1, 2), (), (0, 1))
    return lax.gather(x, at, numbers, (2, 2), mode="fill", fill_value=7)


def window_sums(x, at):
    numbers = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))
    updates = jnp.arange(20, dtype=x.dtype).reshape(5, 2, 2)
    return lax.scatter_add(x, at, updates, numbers, mode="drop")


def by_own_row(x, at):
    """A batch of gathers and scatters, each in a row of its own."""
    at = jnp.clip(at[:3, :1], 0, 3)
    numbers = lax.GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
    found = lax.gather(x, at, numbers, (1, 1), mode="promise_in_bounds")
    numbers = lax.ScatterDimensionNumbers((), (1,), (1,), (0,), (0,))
    return lax.scatter_max(x, at, found + 1, numbers)


def folded(x):
    key = jr.wrap_key_data(x[0, :2])
    keys = jax.vmap(jr.fold_in, (None, 0))(key, x[:, 0])
    keys = keys.at[jnp.array([2, 0])].get(mode="promise_in_bounds")
    chosen = jnp.where(x[:2, 1] > 3, keys, key)
    return jr.key_data(chosen), chosen[0]


def halved(x):
    return lax.while_loop(lambda c: c[1] > 0, lambda c: (c[0] + x, c[1] // 2), (x, x[0, 0]))


def stepped(x, reverse=False):
    return lax.scan(lambda c, row: (c + row, (c, row[0])), x[0], x, reverse=reverse)


def recorded(x, i):
    """Rows are written to a buffer that is given; another one is also read."""

    def step(carry):
        row, buffer, other = carry
        other = lax.dynamic_update_slice(other, other[:1] + buffer[0, 0] * 0 + 1, (row, 0))
        return row + 1, lax.dynamic_update_slice(buffer, other[:1], (row, 0)), other

    end = lax.while_loop(lambda carry: carry[0] < 3, step, (i, x, x))
    scanned = lax.scan(lambda c, r: (lax.dynamic_update_slice(c, r[None], (r[0], 0)), c), x, x)
    only = lax.fori_loop(0, 3, lambda n, c: lax.dynamic_update_slice(c, x[:1] + n, (n, 0)), x)
    return end, scanned, only, x


CASES = {
    "add": (lambda x, y: x + y, I32, I32),
    "add bytes": (lambda x, y: x + y, U8, U8),
    "sub": (lambda x, y: x - y, U32, U32),
    "mul": (lambda x, y: x * y, I32, I32),
    "neg": (lambda x, y: (-x, -y), I32, U32),
    "abs": (jnp.abs, I32),
    "sign": (jnp.sign, I32),
    "floor": (lambda x: jnp.floor(x).astype(jnp.int32), F32),
    "max and min": (lambda x, y: (jnp.maximum(x, y), jnp.minimum(x, y)), I32, I32),
    "bits": (lambda x, y: (x & y, x | y, x ^ y, ~x), I32, I32),
    "flags": (lambda x, y: (x & y, x | y, x ^ y, ~x), BITS, BITS),
    "comparisons": (lambda x, y: (x == y, x != y, x < y, x <= y, x > y, x >= y), SMALL, SMALL),
    "left shift": (lax.shift_left, I32, SHIFTS),
    "arithmetic shift unsigned": (lambda x: lax.shift_right_arithmetic(x, x & 63), U32),
    "arithmetic shift": (lax.shift_right_arithmetic, I32, SHIFTS),
    "logical shift": (lax.shift_right_logical, I32, SHIFTS),
    "div": (lax.div, I32, SMALL),
    "div unsigned": (lambda x, y: lax.div(x, y & 3), U32, U32),
    "rem": (lax.rem, I32, SMALL),
    "floor division": (lambda x, y: (x // y, x % y), I32, SMALL),
    "clamp": (lambda x: lax.clamp(-1, x, 2), SMALL),
    "select": (lambda c, x, y: jnp.where(c, x, y), BITS, I32, I32),
    "select of three": (lambda c, x, y: lax.select_n(jnp.abs(c) % 3, x, y, c), SMALL, I32, I32),
    "count of ones": (lax.population_count, U32),
    "leading zeros": (lax.clz, I32),
    "leading zeros of bytes": (lax.clz, U8),
    "power": (lambda x: lax.integer_pow(x, 3), I32),
    "converted": (lambda x: (x.astype(jnp.uint8), x.astype(bool), x.astype(jnp.int16)), I32),
    "floats converted": (lambda x: (x.astype(jnp.int32), x.astype(jnp.uint8)), F32),
    "floats compared": (lambda x, y: x.astype(jnp.float32) < y.astype(jnp.float32), I32, I32),
    "estimates": (lambda x: (estimated_sum(x) > 3e4, estimated_sum(x[:0]) > 0), U8),
    "bits as bytes": (lambda x: lax.bitcast_convert_type(x, jnp.uint8), I32),
    "bytes as words": (lambda x: lax.bitcast_convert_type(x, jnp.uint32), U8),
    "bits of others": (lambda x: lax.bitcast_convert_type(x, jnp.uint32), I32),
    "sums": (lambda x: (jnp.sum(x, 0), x.sum(), jnp.prod(x, 1)), I32),
    "sums of bytes": (lambda x: (x.sum(0, dtype=jnp.uint8), x.max(1), x.min()), U8),
    "any": (lambda x: (x.any(0), x.all(1), x.any()), BITS),
    "places": (lambda x: (jnp.argmax(x, 0), jnp.argmin(x, 1)), SMALL),
    "running": (lambda x: (jnp.cumsum(x, 0), lax.cumprod(x, 1), lax.cummax(x), lax.cummin(x)), I32),
    "running back": (lambda x: lax.cumsum(x, 1, reverse=True), I32),
    "product": (lambda x, y: x @ y.T, I32, I32),
    "product by rows": (lambda x, y: jnp.einsum("ab,ab->a", x, y), I32, I32),
    "product wide": (lambda x, y: jnp.matmul(x, y.T, preferred_element_type=jnp.int32), U8, U8),
    "keys": (folded, U32),
    "words as keys": (lambda x: jr.wrap_key_data(x[:, :2]), U32),
    "shapes": (lambda x: (x.reshape(2, 6), x[None], x[:1].squeeze(0), x.T, x[::-1]), I32),
    "broadcast": (
        lambda x: (
            jnp.broadcast_to(x[:, :1], (3, 5)),
            jnp.zeros((2, 3), jnp.int32).at[0].set(x[0, 0]),
        ),
        I32,
    ),
    "broadcast large": (lambda x: jnp.broadcast_to(x[:1, :1], (300, 300)), I32),
    "iota": (lambda x: x + lax.broadcasted_iota(jnp.int32, (3, 4), 1), I32),
    "joined": (lambda x, y: (jnp.concatenate([x, y], 1), jnp.stack([x, y], 1)), I32, I32),
    "unstacked": (lambda x: (*x, *x.T), I32),
    "split": (lambda x: jnp.split(x, [1, 2], axis=1), I32),
    "padded": (lambda x: lax.pad(x, np.int32(9), ((1, 2, 0), (0, 1, 2))), I32),
    "copy": (jnp.copy, I32),
    "slices": (lambda x: (x[1:3, ::2], x[2:2]), I32),
    "moved slice": (lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 2)), I32, ONE),
    "moved update": (lambda x, i: lax.dynamic_update_slice(x, x[:2, :2] + 1, (i, i)), I32, ONE),
    "rows": (gathered(FILL), I32, ROWS),
    "rows of bytes": (gathered(FILL), U8, ROWS),
    "rows of flags": (gathered(FILL), BITS, ROWS),
    "rows clipped": (gathered(CLIP), I32, ROWS),
    "rows of rows": (gathered(CLIP), I32, PLACES),
    "columns": (lambda x, at: x[:, at], I32, ROWS),
    "elements": (lambda x, at: x.at[at[:, 0], at[:, 1]].get(mode="fill"), I32, PLACES),
    "batch of gathers": (gathered(CLIP, True), I32, PLACES),
    "windows": (windows, I32, PLACES),
    "sums of windows": (window_sums, I32, PLACES),
    "own rows": (by_own_row, I32, PLACES),
    **{
        f"{kind} {mode}": (scattered(kind, mode), I32, PLACES)
        for kind in ("set", "add", "multiply", "min", "max", "subtract")
        for mode in ("drop", "clip")
    },
    "sorted": (lambda x: (jnp.sort(x, 0), jnp.argsort(x, 1)), SMALL),
    "sorted by two": (lambda x, y: lax.sort([x, y, x - y], num_keys=2), SMALL, SMALL),
    "places in order": (lambda x, at: jnp.searchsorted(jnp.sort(x[0]), at), SMALL, ROWS),
    "places after": (lambda x, at: jnp.searchsorted(jnp.sort(x[0]), at, side="right"), SMALL, ROWS),
    "branches": (lambda x, i: lax.switch(i, [jnp.abs, jnp.sign, lambda x: x], x), I32, ONE),
    "while": (halved, SMALL),
    "buffers": (recorded, I32, ONE),
    "scan": (stepped, I32),
    "scan back": (lambda x: stepped(x, reverse=True), I32),
    "platform": (lambda x: lax.platform_dependent(x, cpu=lambda x: -x, cuda=lambda x: -x), I32),
    "materialized": (lambda x: materialize(x[0, 0] == x[0, 0], lambda: x + 1), I32),
    "one kernel": (lambda x: one_kernel(lambda x: x + 1, x), I32),
    "barrier": (lambda x: lax.optimization_barrier((x, x + 1)), I32),
    "wide": (lambda x: (x.astype(jnp.int64) * 2**33, x.astype(jnp.int64) // 3), I32),
}


def as_arrays(results):
    """Of both kinds, with the words of keys."""
    leaves = jax.tree.leaves(results)
    is_key = [jnp.issubdtype(x.dtype, jax.dtypes.prng_key) for x in leaves]
    return [np.asarray(jr.key_data(x) if key else x) for x, key in zip(leaves, is_key, strict=True)]


def interpreted(traced, arguments):
    return Interpreted(traced.jaxpr, no_tick)(*arguments)


@pytest.mark.parametrize("name", CASES)
def test_every_primitive_does_what_the_compiled_program_does(name):
    function, *strategies = CASES[name]
    jitted = jax.jit(function)

    @settings(max_examples=12)
    @given(st.tuples(*strategies))
    def holds(arguments):
        with jax.enable_x64(name == "wide"), np.errstate(all="ignore"):
            found = interpreted(jitted.trace(*arguments), arguments)
            wanted = as_arrays(jitted(*arguments))
        assert len(found) == len(wanted)
        for own, other in zip(found, wanted, strict=True):
            if own.dtype == np.uint64:
                own = words_of_key(own)
            assert own.dtype == other.dtype and own.shape == other.shape
            assert np.array_equal(own, other), name

    holds()


def test_every_rule_has_a_case():
    rules = dict(interpreter._RULES)
    met = set()
    for name, (function, *strategies) in CASES.items():
        with jax.enable_x64(name == "wide"):
            shapes = [jax.ShapeDtypeStruct(*TYPES[id(strategy)]) for strategy in strategies]
            _collect(jax.jit(function).trace(*shapes).jaxpr.jaxpr, met)
    of_newer = {"unstack"} if jax.__version_info__ < (0, 11) else set()
    assert rules.keys() - met == of_newer


def _collect(jaxpr, met):
    for eqn in jaxpr.eqns:
        met.add(eqn.primitive.name.replace("-", "_"))
        for inner in jaxprs_in_params(eqn.params):
            _collect(inner, met)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * x[0, 0]).astype(int),
        lambda x: (x + 1).astype(int),
        lambda x: x.sum().astype(int),
        lambda x: (x @ x).astype(int),
        lambda x: (x / 3).astype(int),
        lambda x: (x**3).astype(int),
        lambda x: jnp.cumsum(x) > 1,
        lambda x: x.astype(jnp.bfloat16) > 1,
        lambda x: jnp.max(x[:0].astype(int), initial=3),
    ],
)
def test_what_might_differ_is_refused(function):
    """Arithmetic of floats, which compilers reorder and fuse, and what XLA defines otherwise."""
    traced = jax.jit(function).trace(np.eye(3, dtype=np.float32))
    with pytest.raises(NotInterpretable):
        Interpreted(traced.jaxpr, no_tick)


@pytest.mark.parametrize(
    "function", [jnp.exp, lambda x: jnp.linalg.inv(x), lambda x: jax.pure_callback(abs, x, x)]
)
def test_what_is_not_in_the_tables_is_refused(function):
    traced = jax.jit(function).trace(np.eye(3, dtype=np.float32))
    with pytest.raises(NotInterpretable, match="primitive"):
        Interpreted(traced.jaxpr, no_tick)
