"""Digests: equal for what is equal, in every process; different for what gives other results."""

from functools import partial

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import rate
from snpjax.scale.digest import digest
from tests.support.long_calls import net, rate_network
from tests.support.meshes import generator, population
from tests.support.processes import python


def adding(number):
    return lambda x: x + number


def model_of(kind):
    return {
        "system": generator,
        "populations": population,
        "batch": lambda: snp.SystemBatch([generator(), population()]),
        "net": net,
        "rates": lambda: rate_network()[0],
        "execution": lambda: snp.sleptsov.Execution(net(), rule=snp.sleptsov.Petri()),
        "choice": lambda: snp.UniformChoice(jr.key(3)),
        "sets": lambda: [{"b", "a", "c"}, frozenset(range(9)), {"x": (1, None)}],
        "functions": lambda: [adding(3), partial(max, 2), np.add, jnp.sin, rate.identity],
        "arrays": lambda: [np.arange(3), jnp.ones(2, jnp.bfloat16), np.zeros((0, 2)), np.int8(3)],
    }[kind]()


KINDS = (
    *("system", "populations", "batch", "net", "rates", "execution", "choice"),
    *("sets", "functions", "arrays"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_things_have_equal_digests(kind):
    assert digest(model_of(kind)) == digest(model_of(kind))


def test_all_kinds_differ():
    assert len({digest(model_of(kind)) for kind in KINDS}) == len(KINDS)


def test_what_is_kept_of_a_model_does_not_count():
    """Models remember what they computed."""
    for kind in ("system", "populations", "net", "rates"):
        model = model_of(kind)
        before = digest(model)
        snp.run(model, max_steps=2)
        repr(model)
        assert digest(model) == before, kind


@pytest.mark.parametrize(
    "one, other",
    [
        (1, 1.0),
        (1, True),
        ("1", 1),
        ("ab", ["a", "b"]),
        (["ab", "c"], ["a", "bc"]),
        ([[1], 2], [[1, 2]]),
        ((1,), [1]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),  # neurons by name are in their order
        (None, "None"),
        (np.arange(3), np.arange(3, dtype=np.int16)),
        (np.arange(4), np.arange(4).reshape(2, 2)),
        (0.0, -0.0),
        (jr.key(0), jr.key(1)),
        (jr.key(0), jr.key(0, impl="rbg")),
        (adding(1), adding(2)),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x: x.real, lambda x: x.imag),
        (partial(max, 1), partial(max, 2)),
        (np.int32, np.int64),
        (snp.UniformChoice(jr.key(0)), snp.FirstChoice()),
        (generator(), generator().replace(output="n1")),
        (snp.Save(every=2), snp.Save(every=3)),
    ],
)
def test_different_things_have_different_digests(one, other):
    assert digest(one) != digest(other)


def test_what_says_nothing_about_results_is_left_out():
    noted = generator().replace(notes={"positions": {"n1": [0, 1]}})
    assert digest(noted) == digest(generator())


def test_keys_may_be_left_out():
    one, other = (snp.UniformChoice(jr.key(seed)) for seed in range(2))
    assert digest(one) != digest(other)
    assert digest(one, keys=False) == digest(other, keys=False)


def test_things_that_contain_themselves():
    one, other = ([1, 2] for _ in range(2))
    one.append(one)
    other.append(other)
    assert digest(one) == digest(other) != digest([1, 2, [1, 2]])


@pytest.mark.slow
def test_other_processes_find_the_same():
    """Where strings have other hashes, and functions other addresses."""
    code = (
        "from tests.scale.test_digest import KINDS, digest, model_of\n"
        "print(*[digest(model_of(kind)) for kind in KINDS])"
    )
    assert python("-c", code).split() == [digest(model_of(kind)) for kind in KINDS]
