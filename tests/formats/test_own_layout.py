"""A layout that was written outside the package: examples/diagonals.py."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from diagonals import Diagonals

import snpjax as snp
from snpjax_formats import (
    ELL,
    AbstractTimedLayout,
    Edges,
    NotEnoughMemory,
    StartingTree,
    choose,
)
from snpjax_formats.select import Including, Measured, Workload
from snpjax_formats.select.decision import Question


def band(n: int, offsets: list[int], value: np.ndarray | None = None) -> Edges:
    target = np.repeat(np.arange(n), len(offsets))
    source = target + np.tile(offsets, n)
    inside = (source >= 0) & (source < n)
    weights = None if value is None else np.resize(value, inside.sum())
    return Edges(source[inside], target[inside], weights, n, n).canonical()


@pytest.mark.parametrize("value", [None, np.array([2, -3, 1]), np.array([0.5, -2.0], np.float32)])
@pytest.mark.parametrize("shape", [(7,), (7, 3)])
def test_it_keeps_the_contract(value, shape):
    edges = band(7, [-6, -1, 0, 2], value)
    stored = Diagonals.from_edges(edges)
    dense = stored.to_dense()
    again = stored.edges()
    assert (again.source == edges.source).all() and (again.target == edges.target).all()
    assert (stored.values is None) == (value is None)
    assert stored.nbytes == Diagonals.bytes_needed(edges)
    dtype = np.float32 if value is not None and value.dtype == np.float32 else np.int32
    x = np.random.default_rng(0).integers(-5, 5, shape).astype(dtype)
    assert np.array_equal(stored.deliver(x, accumulate=dtype), dense @ x)
    assert np.array_equal(stored.deliver_transposed(x, accumulate=dtype), dense.T @ x)
    small = stored.deliver(x.astype(np.int8), accumulate=np.int32)
    assert small.dtype == jnp.int32 or dtype == np.float32


def test_it_is_differentiated_and_batched():
    edges = band(5, [-1, 0, 3], np.array([0.5, -2.0, 1.5], np.float32))
    x = jnp.arange(5.0)

    def loss(layout, x):
        return jnp.sum(layout.deliver(x, accumulate=jnp.float32) ** 2)

    stored = Diagonals.from_edges(edges)
    by_values = jax.grad(loss, allow_int=True)(stored, x).values
    by_dense = jax.grad(lambda w: jnp.sum((w @ x) ** 2))(stored.to_dense())
    diagonal, target = np.nonzero(np.asarray(stored.present))
    source = target + np.asarray(stored.offsets)[diagonal]
    np.testing.assert_allclose(by_values[diagonal, target], by_dense[target, source], rtol=1e-6)
    rows = jax.vmap(lambda x: stored.deliver(x, accumulate=jnp.float32))(jnp.eye(5))
    np.testing.assert_allclose(rows.T, stored.to_dense())


def test_what_it_cannot_hold_is_refused():
    rng = np.random.default_rng(0)
    edges = Edges(rng.integers(0, 500, 900), rng.integers(0, 500, 900), None, 500, 500).canonical()
    with pytest.raises(ValueError, match="diagonals; Diagonals has at most 64. Use ELL."):
        Diagonals.from_edges(edges)
    decision = choose(edges, chooser=Including((Diagonals,)), device="cpu")
    assert decision.layout is not Diagonals and "at most 64" in decision.refused["Diagonals"]


def test_a_run_stores_its_synapses_in_it():
    neurons = [snp.Neuron(f"n{i}", int(i == 0), ["a -> a"]) for i in range(5)]
    ring = snp.SpikingSystem(neurons, [(f"n{i}", f"n{(i + 1) % 5}") for i in range(5)])
    expected = snp.run(ring, max_steps=7)
    for layout in (Diagonals, Including((Diagonals,))):
        found = snp.run(ring, max_steps=7, layout=layout)
        assert found.configurations.tolist() == expected.configurations.tolist()


LATTICE = band(20_000, [-2, -1, 0, 1, 2])


def test_the_faster_one_is_chosen(monkeypatch):
    chooser = Including((Diagonals,))
    decision = choose(LATTICE, device="cpu", chooser=chooser)
    others = {k: us for k, us in decision.predicted.items() if k != "Diagonals"}
    assert "Diagonals" in decision.predicted and len(others) > 5
    for seconds, layout in ((1e-9, Diagonals), (1.0, min(others, key=others.__getitem__))):
        monkeypatch.setattr(Diagonals, "seconds", classmethod(lambda cls, q, s=seconds: s))
        decision = choose(LATTICE, device="cpu", chooser=chooser)
        name = layout if isinstance(layout, str) else layout.__name__
        assert decision.layout.__name__ == name.split()[0]
        assert decision.predicted["Diagonals"] == pytest.approx(1e6 * seconds)
    monkeypatch.setattr(Diagonals, "seconds", classmethod(lambda cls, question: float("nan")))
    with pytest.raises(ValueError, match="Diagonals says nan s. Give a time above 0."):
        choose(LATTICE, device="cpu", chooser=chooser)
    with pytest.raises(ValueError, match="Give a tuple of layouts"):
        Including(Diagonals)  # pyright: ignore[reportArgumentType]


def test_it_is_compared_where_the_model_was_not_trained(monkeypatch):
    """Rules of thumb decide on 5 nodes; the time of their choice is predicted all the same."""
    monkeypatch.setattr(Diagonals, "seconds", classmethod(lambda cls, question: 1e-12))
    decision = choose(band(5, [1]), device="cpu", chooser=Including((Diagonals,)))
    assert decision.layout is Diagonals and "ELL pull takes" in decision.reason
    tree = Including((Diagonals,), StartingTree())
    assert choose(LATTICE, device="cpu", chooser=tree).layout is Diagonals
    race = Including((Diagonals,), Measured(budget=1.0, most=1, folder=None))
    decision = choose(band(50, [1]), chooser=race)
    assert decision.layout is Diagonals and len(decision.measured) == 1


def test_it_may_be_all_that_fits(monkeypatch):
    free = Diagonals.bytes_needed(LATTICE)
    workload = Workload()
    for left, layout in ((free, Diagonals), (free - 1, None)):
        question = Question(LATTICE, workload, "cpu", "AMD cpu", left)
        if layout is None:
            with pytest.raises(NotEnoughMemory):
                Including((Diagonals,)).decide(question)
        else:
            decision = Including((Diagonals,)).decide(question)
            assert decision.layout is layout and "no other layout fits" in decision.reason


def test_a_layout_must_say_its_time():
    with pytest.raises(TypeError, match="abstract"):
        AbstractTimedLayout(5, 5)  # pyright: ignore
    assert ELL not in AbstractTimedLayout.__subclasses__()
