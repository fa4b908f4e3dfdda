"""Programs are evaluated first and compiled meanwhile, with one result."""

import threading

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax._tiered import programs, tiered
from snpjax.choice import NO_RULE
from tests.support.helpers import REPOSITORY


@pytest.fixture
def impatient(monkeypatch):
    """Programs are compiled after their first evaluation."""
    monkeypatch.setattr(programs, "PATIENCE", 1e-9)


def compiling():
    return [thread for thread in threading.enumerate() if thread.name == programs._THREAD]


def compiled():
    for thread in compiling():
        thread.join()


def test_a_program_is_evaluated_and_then_compiled(impatient):
    calls = []

    @tiered(static_argnames=("n",))
    def times(x, *, n):
        calls.append(n)
        return {"product": x * n, "key": jr.fold_in(jr.wrap_key_data(x[:2].astype(jnp.uint32)), n)}

    x = np.arange(5, dtype=np.int32)
    first = times(x, n=3)
    compiled()
    second = times(x, n=3)
    assert calls == [3], "the compiled program was traced again"
    assert times.jitted._cache_size() == 1
    for found in (first, second):
        assert isinstance(found["product"], jax.Array)
        assert found["product"].tolist() == [0, 3, 6, 9, 12]
    assert jr.key_data(first["key"]).tolist() == jr.key_data(second["key"]).tolist()


def test_short_work_compiles_nothing():
    @tiered()
    def counted(x):
        return jax.lax.while_loop(lambda x: x < 50, lambda x: x + 1, x)

    assert int(counted(np.int32(7))) == 50
    assert not compiling() and counted.jitted._cache_size() == 0


def test_a_long_loop_goes_on_in_the_compiled_program(monkeypatch):
    """Its first iterations are evaluated, and given up when the program is there."""
    monkeypatch.setattr(programs, "PATIENCE", 0.01)

    @tiered()
    def counted(x):
        return jax.lax.while_loop(lambda x: x < 2**27, lambda x: x + 1, x)

    assert int(counted(np.int32(0))) == 2**27  # which would take Python minutes
    assert counted.jitted._cache_size() == 1


def test_what_cannot_be_evaluated_is_compiled():
    @tiered()
    def total(x):
        return jnp.sum(jnp.exp(x))

    x = np.linspace(0, 1, 7, dtype=np.float32)
    assert float(total(x)) == float(jax.jit(lambda x: jnp.sum(jnp.exp(x)))(x))
    assert total.jitted._cache_size() == 1


def test_sums_of_floats_are_compiled():
    @tiered()
    def total(x):
        return jnp.sum(x)

    total(np.ones(3, np.float32))
    assert total.jitted._cache_size() == 1


def test_constant_loops_are_not_unrolled_by_tracing(impatient):
    @tiered()
    def added(x):
        return x + jax.lax.fori_loop(0, 1000, lambda i, y: y + i, np.int32(0))

    assert int(added(np.int32(1))) == 499_501


def test_static_arguments_have_their_names():
    @tiered(static_argnames=("a", "b"))
    def digits(x, *, a=1, b=2):
        return 100 * x + 10 * a + b

    assert [int(digits(np.int32(1), **some)) for some in ({}, {"a": 3}, {"b": 3})] == [
        112,
        132,
        113,
    ]


def test_nothing_is_compiled_without_address_space(impatient, monkeypatch):
    """LLVM would end the process; what is evaluated within the patience has its answer."""
    monkeypatch.setattr("snpjax._xla.address_space_left", lambda: 2**20)

    @tiered()
    def twice(x):
        return x * 2

    @tiered()
    def half(x):
        return x / 2

    with pytest.raises(snp.NotEnoughMemory, match="address space, .* leave 1,048,576. Raise them"):
        twice(np.int32(4))
    with pytest.raises(snp.NotEnoughMemory, match="address space"):
        half(np.float32(4))  # which is not evaluated
    assert twice.jitted._cache_size() == half.jitted._cache_size() == 0
    monkeypatch.setattr(programs, "PATIENCE", 10.0)
    assert int(tiered()(lambda x: x * 3)(np.int32(4))) == 12


def test_few_programs_are_kept(monkeypatch):
    monkeypatch.setattr(programs, "_MOST_PROGRAMS", 3)

    @tiered()
    def double(x):
        return x + x

    for size in (1, 2, 3, 4, 1):
        assert double(np.ones(size, np.int32)).tolist() == [2] * size
    assert len(double._programs) == 3


def test_choices_by_floats_are_the_same_however_they_are_made(monkeypatch):
    """A user's choice may compute with floats, whose rounding decides."""

    class Scored(snp.AbstractChoice):
        scores: jax.Array

        def for_path(self, path):
            return self

        def subset(self, candidates, chosen, choosers, step):
            return candidates

        def select(self, applicable, step, state):
            number = jnp.arange(len(applicable), dtype=jnp.float32)[:, None]
            spikes = state.spikes.astype(jnp.float32)[None]
            score = self.scores[0] * spikes * number + self.scores[1] * spikes * spikes - number / 3
            best = jnp.argmax(jnp.where(applicable, score, -jnp.inf), axis=0).astype(jnp.int32)
            return jnp.where(applicable.any(0), best, NO_RULE)

    rules = ["a{2,}/a^2 -> a", "a+/a -> a", "a{3,}/a^3 -> a^2"]
    neurons = [snp.Neuron(f"n{i}", 7 + i % 5, rules) for i in range(9)]
    pairs = [(f"n{i}", f"n{(i + k) % 9}") for i in range(9) for k in (1, 2, 4)]
    system = snp.SpikingSystem(neurons, pairs, output="n0")
    choice = Scored(jnp.asarray([0.1234567, 0.0098765], jnp.float32))
    found = []
    for patience in (100, 0):
        monkeypatch.setattr(programs, "PATIENCE", patience)
        found.append(snp.run(system, max_steps=40, choice=choice).rules.tolist())
    assert found[0] == found[1]


def test_a_tracer_is_traced():
    @tiered()
    def double(x):
        return 2 * x

    assert jax.vmap(double)(jnp.arange(3)).tolist() == [0, 2, 4]


def test_wide_numbers():
    @tiered()
    def square(x):
        return x * x

    with jax.enable_x64(True):
        found = square(np.asarray([2**31], np.int64))
    assert found.dtype == np.int64 and int(found[0]) == 2**62


def test_an_error_of_the_function_is_the_callers():
    @tiered()
    def wrong(x):
        return x + jnp.zeros(x.shape[0] + 1)

    with pytest.raises(TypeError, match="shapes"):
        wrong(np.zeros(2))


def test_a_run_and_a_search_change_the_program_in_the_middle(impatient, monkeypatch):
    """With one result, whichever calls are evaluated."""
    system = snp.read(REPOSITORY / "examples" / "natural_numbers.pli")
    choice = snp.UniformChoice(jr.key(3))

    def results():
        graph = snp.explore(system)
        trains = snp.run(system, max_steps=70, choice=choice).spikes
        return trains.tolist(), graph.targets.tolist(), graph.spikes.tolist()

    evaluated = results()
    compiled()
    assert results() == evaluated
    monkeypatch.setattr(programs, "PATIENCE", 0)
    assert results() == evaluated
