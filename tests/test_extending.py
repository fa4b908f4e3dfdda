"""What is written outside the package, with the examples of docs/extending.md."""

import ast
import re
from importlib import import_module
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax_formats import ELL, Edges
from tests.support.code_blocks import differing
from tests.support.helpers import REPOSITORY


#: Where an extension imports from.
PUBLIC = {
    "snpjax",
    "snpjax.choice",
    "snpjax.explore",
    "snpjax.io",
    "snpjax.machine",
    "snpjax.sleptsov",
    "snpjax.spiking",
    "snpjax_formats",
    "snpjax_formats.select",
}
PAGE = REPOSITORY / "docs/extending.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def executed():
    """The names that the page defines, and outputs that differ from what it states."""
    names: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snpjax_formats.select.device._processor", lambda: "unknown cpu")
        return names, differing(PAGE, names)


@pytest.fixture(scope="module")
def page(executed):
    return executed[0]


def test_outputs_of_the_page_are_what_its_code_prints(executed):
    """It is executed here, since the names that it defines are tested."""
    assert executed[1] == []


OUTSIDE = (
    PAGE,
    REPOSITORY / "examples/diagonals.py",
    REPOSITORY / "examples/19_own_layout.py",
    REPOSITORY / "tests/explore/test_explorable.py",
)


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.name)
def test_extensions_import_public_names_only(path: Path):
    source = "\n".join(blocks()) if path == PAGE else path.read_text()
    found = 0
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in getattr(node, "names", ())]
        if isinstance(node, ast.Import):
            assert all(name in PUBLIC for name in names if name.startswith("snpjax"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("snpjax"):
            assert node.module in PUBLIC, node.module
            for name in names:
                assert not name.startswith("_") and hasattr(import_module(node.module), name), name
                found += 1
    assert found


# ---- a layout ----


@pytest.mark.parametrize("value", [None, np.array([2, -3, 1, 4]), np.array([0.5, -2, 1, 3], "f4")])
@pytest.mark.parametrize("shape", [(6,), (6, 3)])
def test_the_layout_of_the_page_keeps_the_contract(page, value, shape):
    layout = page["OneSource"]
    edges = Edges(np.array([5, 0, 0, 2]), np.array([0, 1, 3, 4]), value, 6, 5)
    stored, dense = layout.from_edges(edges), ELL.from_edges(edges).to_dense()
    assert np.array_equal(stored.to_dense(), dense)
    assert stored.nbytes == layout.bytes_needed(edges) and (stored.values is None) == (
        value is None
    )
    dtype = np.float32 if value is not None and value.dtype == np.float32 else np.int32
    x = np.random.default_rng(0).integers(-5, 5, shape).astype(dtype)
    assert np.array_equal(stored.deliver(x, accumulate=dtype), dense @ x)
    assert np.array_equal(stored.deliver_transposed(x[:5], accumulate=dtype), dense.T @ x[:5])
    if dtype == np.float32:
        loss = lambda layout: jnp.sum(layout.deliver(x, accumulate=dtype) ** 2)  # noqa: E731
        (target,) = np.nonzero(np.asarray(stored.source) < 6)
        by_dense = jax.grad(lambda w: jnp.sum((w @ x) ** 2))(jnp.asarray(dense))
        found = jax.grad(loss, allow_int=True)(stored).values[target]
        np.testing.assert_allclose(found, by_dense[target, stored.source[target]], rtol=1e-6)
    with pytest.raises(ValueError, match="A target has 2 sources, not one. Use ELL."):
        layout.from_edges(Edges(np.array([0, 1]), np.array([0, 0]), None, 6, 5))


def test_sizes_that_are_no_static_fields_are_refused(page):
    class Leaky(page["OneSource"]):
        num_targets: int

    edges = Edges(np.array([0]), np.array([1]), None, 2, 2)
    with pytest.raises(TypeError, match=r"`num_targets` of Leaky .* `equinox.field\(static=True\)"):
        Leaky.from_edges(edges)


def test_a_layout_that_is_not_returned_is_told(page):
    class Forgetful(page["OneSource"]):
        @classmethod
        def from_edges(cls, edges, *, max_input=None):
            super().from_edges(edges, max_input=max_input)

    system = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")], [("x", "y")])
    with pytest.raises(TypeError, match="`Forgetful.from_edges` returned NoneType. Return the la"):
        snp.run(system, layout=Forgetful)


# ---- a choice ----


def test_the_policy_of_the_page_in_batches(page):
    policy = page["Overflowing"](3)
    run = snp.run(page["tank"], choice=policy, paths=9, save=snp.SAVE_ALL)
    assert run.rules[:, 0].T.tolist() == [[1, 1, 0]] * 9
    net = snp.run(page["net"], choice=policy, paths=9, save=snp.SAVE_ALL)
    assert net.fired.T.tolist() == [[1, 0]] * 9
    machine = snp.lower(page["net"], faithful=True, count_dtype=np.int32).machine

    @jax.jit
    def ended(level):
        policy = page["Overflowing"](level)
        return snp.simulate(machine, machine.init(), policy, max_steps=9)

    assert [int(ended(jnp.asarray(level)).steps) for level in (3, 9)] == [2, 1]


class Answering(snp.AbstractChoice):
    """Answers with what it was given."""

    answer: object = eqx.field(static=True)

    def for_path(self, path):
        return self

    def select(self, applicable, step, state):
        return self.answer(applicable)

    def subset(self, candidates, chosen, choosers, step):
        raise AssertionError


def test_answers_of_another_shape_or_type_are_refused(page):
    for model in (page["tank"], page["net"]):
        for answer, told in (
            (lambda x: jnp.zeros(x.shape, jnp.int32), r"int32 of shape \(\d+, \d+\)"),
            (lambda x: jnp.zeros(x.shape[1:]), r"float\d+ of shape \(\d+,\)"),
            (lambda x: jnp.any(x, axis=0), r"bool of shape"),
        ):
            fix = rf"`Answering.select` returns {told}.*. Return an integer for each chooser"
            with pytest.raises(TypeError, match=fix):
                snp.run(model, choice=Answering(answer))
        small = Answering(lambda x: jnp.where(jnp.any(x, 0), jnp.argmax(x, 0), -1).astype("int8"))
        assert snp.run(model, choice=small).halted


def test_a_choice_without_a_method_is_told():
    class Halfway(snp.AbstractChoice):
        def for_path(self, path):
            return self

    with pytest.raises(TypeError, match="abstract methods.*select.*subset"):
        Halfway()  # pyright: ignore


# ---- a machine ----


def test_the_ring_of_the_page_runs(page):
    ring, key = page["Ring"]((2, 0, 1)), jr.key(3)
    many = snp.run(ring, choice=snp.UniformChoice(key), paths=5)
    assert many.requests.shape == (3, 5) and not many.requests.any() and many.failure is None
    assert many.steps[0] == snp.run(ring, choice=snp.UniformChoice(key)).steps
    assert snp.run(ring).steps == 5  # the first alternative is to serve
    lowered = snp.lower(ring)
    start = lowered.machine.init()
    ended = jax.jit(lambda: snp.simulate(lowered.machine, start, snp.FirstChoice(), max_steps=3))()
    assert ended.steps == 3 and ended.state.requests.tolist() == [0, 0, 1]


def test_choices_that_the_ring_refuses(page):
    ring = page["Ring"]((2, 0, 1))
    for wrong in ([[0], [0], [0]], [[2]], [[None]], [[0, 1]]):
        with pytest.raises(snp.RunFailed, match="A given action is not possible"):
            snp.run(ring, choice=snp.GivenChoices(wrong))
    after_the_halt = snp.GivenChoices([[0], [0], [1], [1], [0], [0], [1]])
    assert snp.run(ring, choice=after_the_halt).steps == 5
    with pytest.raises(ValueError, match="name more than 1 neuron"):
        snp.run(ring, choice=snp.GivenChoices(np.zeros((1, 20), int)))


def test_what_becomes_of_counts_and_actions(page, tmp_path):
    graph = page["graph"]
    requests, tokens = graph.configurations().counts[:, :3], graph.configurations()["token"]
    assert len({(*x, t) for x, t in zip(requests.tolist(), tokens.tolist(), strict=True)}) == 17
    assert graph.bounds()["s0"] == (0, 2) and graph.unused_rules() == []
    verdict = snp.check(graph, "always s0 = 2")
    assert verdict.rules.tolist() == [[0]] and "serve" in str(verdict)
    for suffix in ("aut", "json", "tra", "dot", "graphml"):
        assert snp.write_graph(graph, tmp_path / f"ring.{suffix}")
    with pytest.raises(snp.QueryError, match="there is no 's9'"):
        snp.check(graph, "always s9 = 1")
    with pytest.raises(ValueError, match="neither `saturate` nor `clock`"):
        snp.explore(page["Ring"]((1,)), clock=3)


class Sometimes(eqx.Module):
    """A machine that was given nothing for a search."""


class Unfinished:
    def enumerable(self, *, saturate, clock, at_least=None):
        return Sometimes()

    def schema(self):
        raise AssertionError


class Half:
    """A model that nobody can read the solution of."""

    def lower(self, *, numbered: bool = False, paths: int = 1):
        raise AssertionError


def test_what_a_model_lacks_is_told():
    with pytest.raises(TypeError, match="A Sometimes cannot be explored. Give it `encoding`, `alt"):
        snp.explore(Unfinished())  # pyright: ignore
    for call in (snp.explore, lambda x: snp.check(x, "always a = 1")):
        with pytest.raises(TypeError, match="a model with `enumerable` and `schema`"):
            call(Sometimes())
    with pytest.raises(TypeError, match="or a model with `lower`, `solution` and `solutions`"):
        snp.run(Sometimes())  # pyright: ignore
    with pytest.raises(TypeError, match="A Half cannot be run. Give it `solution` and `solut"):
        snp.run(Half())  # pyright: ignore
    with pytest.raises(TypeError, match="`model` is the class SpikingSystem. Give an object of it"):
        snp.run(snp.SpikingSystem)  # pyright: ignore
    Half.solution = Half.solutions = lambda self, trajectory: None  # pyright: ignore
    with pytest.raises(TypeError, match="of a Half takes no `engine`. Its lowering takes no opt"):
        snp.run(Half(), engine=1)  # pyright: ignore


def test_what_cannot_be_explored_is_told():
    system = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])])
    lowered = snp.lower(system)
    assert repr(lowered) == f"Lowered({system!r}, {lowered.nbytes:,} bytes)"
    with pytest.raises(TypeError, match="A Lowered cannot be explored. .* `lowered.model`"):
        snp.explore(lowered)  # pyright: ignore
    with pytest.raises(TypeError, match="A SystemBatch cannot be explored. Pass a system"):
        snp.explore(snp.SystemBatch([system]))  # pyright: ignore
    with pytest.raises(TypeError, match="An int cannot be explored"):
        snp.explore(3)  # pyright: ignore
    for options, message in (
        ({"inputs": 3}, r"`inputs` is 3. .* or snp.AnyInput\(3\)"),
        ({"saturate": 3}, "`saturate` is 3. Give numbers by neuron"),
        ({"max_configurations": 2.5}, "`max_configurations` is 2.5. Give an integer"),
        ({"max_depth": "a"}, "`max_depth` is 'a'. Give an integer"),
    ):
        with pytest.raises(TypeError, match=message):
            snp.explore(system, **options)
