"""Functions that `jax.export` stores, loaded in another process; and models in files."""

import json
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import export

import snpjax as snp
from snpjax import learn
from snpjax.learn import exported
from snpjax.learn.synapses.windows import Windows
from tests.support.processes import environment, python


pytest.importorskip("flatbuffers", reason="no flatbuffers (pip install '.[export]')")


COUNTS = np.asarray([[3.0, 1, 0, 2, 5], [2, 2, 1, 0, 4], [1, 3, 1, 1, 0]], np.float32)


def network(key, **options):
    rules = (learn.SENDER, "a{2,}/a^2 -> a", "a+/a -> a")
    options = {"weight_range": (0, 3), "steps": 6, **options}
    return learn.SpikingNetwork((3, 4, 2), rules, key=key, **options)


def shapes_of(tree):
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), tree)


LOADER = """
import json, sys
import jax
jax.config.update("jax_platforms", "cpu")
import numpy as np
from jax import export

folder, counts = sys.argv[1], np.asarray(json.loads(sys.argv[2]), np.float32)
load = lambda name: export.deserialize(bytearray(open(f"{folder}/{name}", "rb").read()))
found = {"forward": [load("forward").call(counts[:, :n]).tolist() for n in (1, 5)]}
assert "snpjax" not in sys.modules  # arrays need no registration

import jax.random as jr
import snpjax as snp
from snpjax import learn

learn.register_for_export()
rules = (learn.SENDER, "a{2,}/a^2 -> a", "a+/a -> a")
model = learn.SpikingNetwork((3, 4, 2), rules, key=jr.key(1), weight_range=(0, 3), steps=6).model
solution = load("solution").call(model, np.pad(counts, ((0, 6), (0, 0))))
assert isinstance(solution, learn.RelaxedSolution)
found["solution"] = [solution.spikes.tolist(), solution.outputs.tolist()]
machine = snp.lower(snp.SpikingSystem([snp.Neuron("x", 3, ["a+/a -> a"])], output="x")).machine
state, result = load("step").call(machine.init())
found["step"] = [state.spikes.tolist(), bool(result == snp.RESULTS.halted)]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_functions_are_loaded_by_another_process(tmp_path):
    learn.register_for_export()
    learn.register_for_export()  # once more changes nothing
    made = network(jr.key(0))
    paths = export.symbolic_shape("paths")[0]
    stored = export.export(jax.jit(lambda counts: made(counts)))(
        jax.ShapeDtypeStruct((3, paths), jnp.float32)
    )
    (tmp_path / "forward").write_bytes(stored.serialize())

    def solved(model, spikes):
        return learn.run(model, steps=6, spikes=spikes)

    model = network(jr.key(1)).model
    spikes = jnp.pad(COUNTS, ((0, 6), (0, 0)))
    arrays = jax.jit(solved)
    stored = export.export(arrays)(shapes_of(model), shapes_of(spikes))
    (tmp_path / "solution").write_bytes(stored.serialize())

    system = snp.SpikingSystem([snp.Neuron("x", 3, ["a+/a -> a"])], output="x")
    machine = snp.lower(system).machine

    def stepped(state):
        new = machine.step(state, snp.FirstChoice())[0]
        return new, machine.status(new)

    stored = export.export(jax.jit(stepped))(shapes_of(machine.init()))
    (tmp_path / "step").write_bytes(stored.serialize())

    told = python("-c", LOADER, str(tmp_path), json.dumps(COUNTS.tolist()), env=environment())
    found = json.loads(told)
    for number, size in enumerate((1, 5)):
        assert found["forward"][number] == made(jnp.asarray(COUNTS[:, :size])).tolist()
    assert np.any(np.asarray(found["forward"][1]) > 0)
    own = solved(model, spikes)
    assert found["solution"] == [own.spikes.tolist(), own.outputs.tolist()]
    state, result = stepped(machine.init())
    assert found["step"] == [state.spikes.tolist(), bool(result == snp.RESULTS.halted)]


class Scaled(eqx.Module):
    """One of a user's own."""

    values: jax.Array
    name: str = eqx.field(static=True)
    action: object = eqx.field(static=True, default=None)


class Pair(NamedTuple):
    first: Scaled
    second: jax.Array


def test_own_classes_are_registered():
    learn.register_for_export(Scaled, Pair)

    def doubled(pair):
        return pair._replace(second=pair.second * 2)

    pair = Pair(Scaled(jnp.ones(2), "two"), jnp.arange(3.0))
    stored = export.export(jax.jit(doubled))(shapes_of(pair)).serialize()
    found = export.deserialize(stored).call(pair)
    assert found.first.name == "two" and found.second.tolist() == [0, 2, 4]
    with pytest.raises(TypeError, match="int is neither an equinox module nor a named tuple"):
        learn.register_for_export(int)
    other = Pair(Scaled(jnp.ones(2), "two", print), jnp.arange(3.0))
    with pytest.raises(TypeError, match="A static field has the value <built-in function print>"):
        export.export(jax.jit(doubled))(shapes_of(other)).serialize()


def test_a_file_names_no_other_classes():
    learn.register_for_export()
    results = shapes_of(snp.RESULTS.halted)
    stored = export.export(jax.jit(lambda result: result))(results).serialize()
    forged = bytes(stored).replace(b"snpjax.results:RESULTS", b"string.module:RESULTS!")
    assert forged != bytes(stored)
    with pytest.raises(ValueError, match="string.module:RESULTS!.* is of no registered class"):
        export.deserialize(bytearray(forged))


def nested(value, depth=200):
    return nested({"tuple": [value]}, depth - 1) if depth else value


@pytest.mark.parametrize(
    "value",
    [
        # What a module of snpjax has imported is reached through its attributes.
        {"fields": ["snpjax.scale.hosts:subprocess.Popen", {"args": {"tuple": ["", "true"]}}]},
        {"value": ["snpjax.scale.hosts:subprocess.Popen", {"args": {"tuple": ["true"]}}]},
        {"value": ["snpjax.learn.network:SpikingNetwork", {}]},
        {"value": ["snpjax.spiking.model.compatibility:Compatibility", {"threshold_rules": True}]},
        {"class": "snpjax.scale.hosts:subprocess.Popen"},
        {"tuple": ["snpjax.scale.hosts:subprocess.Popen", "true"], "class": "x"},
        {"dtype": "O"},
        {"dtype": "i4,i4"},
        {"float": "1"},
        [1],
        nested(1),
    ],
)
def test_a_forged_field_builds_nothing(monkeypatch, value):
    learn.register_for_export(Scaled)
    scaled = shapes_of(Scaled(jnp.ones(2), "two"))
    monkeypatch.setattr(exported, "_encoded", lambda value_of_field: value)
    forged = export.export(jax.jit(lambda scaled: scaled))(scaled).serialize()
    with pytest.raises(ValueError, match="is of no registered class|nested more than 100 deep"):
        export.deserialize(forged)


@pytest.mark.parametrize(
    "stored",
    [
        {"children": [], "static": {}},
        {"children": ["values", "values"], "static": {}},
        {"children": ["__class__"], "static": {}},
        {"children": ["values"], "static": {"__class__": 1}},
        {"children": ["values"]},
        [],
    ],
)
def test_a_forged_list_of_fields_is_refused(monkeypatch, stored):
    learn.register_for_export(Scaled)
    scaled = shapes_of(Scaled(jnp.ones(2), "two"))
    monkeypatch.setattr(exported, "_text_of", lambda cls, aux: stored)
    forged = export.export(jax.jit(lambda scaled: scaled))(scaled).serialize()
    with pytest.raises(ValueError, match="has a Scaled of another form: "):
        export.deserialize(forged)


class Limit(NamedTuple):
    least: float
    names: tuple[str, ...]


def test_static_fields_of_registered_classes():
    learn.register_for_export(Scaled, Limit)
    windows = Windows((4, 4), (2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1))
    action = (Limit(-np.inf, ("x",)), windows, jnp.dtype("bfloat16"), snp.RESULTS, None, True)
    scaled = Scaled(jnp.ones(2), "two", action)
    stored = export.export(jax.jit(lambda scaled: scaled))(shapes_of(scaled)).serialize()
    assert jax.tree.structure(export.deserialize(stored).call(scaled)) == jax.tree.structure(scaled)
