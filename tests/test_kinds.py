"""What holds for every kind of model alike: fresh states, pickles, the switches of JAX, texts, and
calls of functions that are for other kinds."""

import contextlib
import copy
import pickle
import traceback
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import jax
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import graphs, learn, proliferation as pr, rate, sleptsov, viz
from snpjax._xla import precision
from snpjax.check import coverability
from snpjax.machine import Stacked
from snpjax.viz.page import export
from tests.support.models import (
    RUNNABLE,
    net,
    populations,
    proliferation_model,
    rate_network,
    system,
)
from tests.support.public_names import public_names, value_of


def buffers(tree):
    """Where the arrays of a tree begin in memory, those of JAX on the host."""
    leaves = [x for x in jax.tree.leaves(tree) if np.size(x)]
    return [
        x.unsafe_buffer_pointer() if isinstance(x, jax.Array) else x.ctypes.data for x in leaves
    ]


# ---- states ----


@pytest.mark.parametrize("kind", RUNNABLE)
def test_states_of_init_share_no_arrays(kind):
    """So that a state may be donated, which destroys its arrays."""
    lowered = snp.lower(RUNNABLE[kind]())
    machine: Any = lowered.machine
    if isinstance(machine, Stacked):
        pytest.skip("its states come from the machines of its systems")
    with precision(lowered.widest):
        states = [machine.init(), machine.init()]
    assert all(isinstance(x, jax.Array) for x in jax.tree.leaves(states))
    for first, second in combinations([machine, *states], 2):
        assert not {*buffers(first)} & {*buffers(second)}
    assert len({*buffers(states)}) == len(buffers(states))


def test_a_donated_state_leaves_its_machine_intact():
    machine: Any = snp.lower(system()).machine
    step = jax.jit(lambda state: machine.step(state, snp.FirstChoice())[0], donate_argnums=0)
    first = np.asarray(step(machine.init()).spikes).tolist()
    assert np.asarray(step(machine.init()).spikes).tolist() == first


# ---- values ----


def _verdict():
    verdict = snp.check(system(), "always x <= 1", max_configurations=20)
    str(verdict)  # fills what is cached, such as the witness in words
    graph = verdict.graph
    assert verdict.trace and graph is not None and graph.schema
    return verdict


def _counter():
    """A system whose sink gets a spike in every second step."""
    ring = [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y", 0, ["a -> a"]), snp.Neuron("sink")]
    return snp.SpikingSystem(ring, [("x", "y"), ("y", "x"), ("x", "sink")])


#: Values of the library that are no models: what functions return, and what they take.
VALUES = {
    "solution": lambda: snp.run(system(), max_steps=2),
    "solutions": lambda: snp.run(net(), max_steps=2, paths=2),
    "solutions of a batch": lambda: snp.run(RUNNABLE["batch"](), max_steps=2),
    "solution of a rate network": lambda: snp.run(rate_network(), max_steps=2),
    "verdict": _verdict,
    "graph": lambda: _verdict().graph,
    "schemas": lambda: [system().schema(), net().schema()],
    "witness": lambda: _verdict().trace,
    "certificate": lambda: snp.prove(system(), "always x <= 5").certificate,
    "growth": lambda: snp.growth(snp.explore(_counter(), max_configurations=8)),
    "equivalence": lambda: snp.equivalent(system(), system(), max_configurations=20),
    "estimate": lambda: snp.Estimate("halted", 0.4, 0.6, 0.95, 4, 2, 0, 3),
    "output process": lambda: snp.output_process(_verdict().graph),  # pyright: ignore
    "family": lambda: snp.Family([snp.Group("c", ["a -> a"])], [snp.Wiring("c", "c", "ring")]),
    "invariants": lambda: snp.invariants(system()),
    "expected cells": lambda: pr.expected(proliferation_model()),
    "proliferation model": proliferation_model,
    "high net": lambda: sleptsov.HighNet(net(), ()),
    "choices": lambda: [snp.FirstChoice(), snp.GivenChoices([[0, 0, 0]])],
    "random choice": lambda: snp.UniformChoice(jr.key(0)),
    "options": lambda: [snp.SAVE_ALL, snp.Save(budget=4), snp.MemoryLimits(), snp.RESULTS.halted],
    "edges": lambda: graphs.AllToAll().edges(2, 2),
    "layer": lambda: learn.SpikingLayer(2, 1, key=jr.key(0), steps=2, guard=2),
}


@pytest.mark.parametrize("name", [*RUNNABLE, *VALUES])
def test_values_travel_through_a_process_pool(name):
    value = {**RUNNABLE, **VALUES}[name]()
    assert value is not None
    for copied in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert type(copied) is type(value)
        assert name == "layer" or str(copied) == str(value)  # Equinox leaves out some defaults
        assert pickle.loads(pickle.dumps(copied)) is not None
        if hasattr(type(value), "__eq__") and type(value).__eq__ is not object.__eq__:
            assert isinstance(copied == value, bool | np.bool_ | jax.Array)
    if name in RUNNABLE:
        assert repr(snp.lower(copied)) == repr(snp.lower(value))


def test_errors_travel_through_a_process_pool():
    for path in public_names().values():
        kind = value_of(path)
        if isinstance(kind, type) and issubclass(kind, Exception):
            error = kind.__new__(kind, "two\nlines", 3)
            vars(error)["graph"] = "kept"
            copied = pickle.loads(pickle.dumps(error))
            assert type(copied) is kind and copied.args == error.args, path
            assert vars(copied).items() >= vars(error).items(), path
    with pytest.raises(snp.RunFailed) as failed:
        snp.run(system(), max_steps=3, choice=snp.GivenChoices([[5, 0, 0]]))
    assert str(pickle.loads(pickle.dumps(failed.value)).solution) == str(failed.value.solution)


# ---- switches of JAX ----

SWITCHES = {
    "key reuse": lambda: jax.debug_key_reuse(True),
    "wide numbers": lambda: jax.enable_x64(True),
    "NaN": lambda: jax.debug_nans(True),
    "custom PRNG": lambda: jax.enable_custom_prng(True),
    "tracer leaks": lambda: jax.checking_leaks(),
    "transfers": lambda: contextlib.nullcontext(),  # around the compiled call only
}
_FAST = {("key reuse", "system"), ("transfers", "system"), ("transfers", "net")}
#: Of kinds whose steps have nothing in common.
_APART = ("system", "delays and inputs", "synapse rules", "division", "plastic", "net")
_APART += ("net under Disjoint", "rate network", "numerical system")


@pytest.mark.parametrize(
    "switch, kind",
    [
        pytest.param(switch, kind, marks=[] if (switch, kind) in _FAST else pytest.mark.slow)
        for switch in SWITCHES
        for kind in (RUNNABLE if switch == "wide numbers" else _APART)
        if kind != "batch"
    ],
)
def test_machines_work_under_the_switches_of_jax(switch, kind):
    with SWITCHES[switch]():
        lowered = snp.lower(RUNNABLE[kind]())
        is_disjoint = isinstance(getattr(lowered.model, "rule", None), sleptsov.Disjoint)
        has_choices = not is_disjoint and kind != "rate network"
        choice = snp.UniformChoice(jr.key(0)) if has_choices else snp.FirstChoice()
        with precision(lowered.widest):
            machine: Any = lowered.machine
            call = jax.jit(lambda m, s, c: snp.simulate(m, s, c, max_steps=3).steps)
            state = machine.init()
            steps = int(call(machine, state, choice))
            with jax.transfer_guard("disallow" if switch == "transfers" else "allow"):
                again = call(machine, state, choice)
            assert int(again) == steps
            if isinstance(choice, snp.UniformChoice) and switch == "key reuse":
                many = jax.vmap(lambda k: call(machine, state, snp.UniformChoice(k)))
                assert many(jr.split(jr.key(0), 3)).shape == (3,)


# ---- texts ----


def test_neurons_and_populations_are_found_by_name():
    assert system()["x"].spikes == 2
    with pytest.raises(KeyError, match="no neuron 'X' .did you mean 'x'"):
        system()["X"]  # noqa: B018
    cells = populations()
    assert cells["q"] is cells.populations["q"]
    with pytest.raises(KeyError, match="no population 'P' .did you mean 'p'"):
        cells["P"]  # noqa: B018


@pytest.mark.parametrize("kind", RUNNABLE)
def test_models_are_shown_in_one_short_line(kind):
    shown = repr(RUNNABLE[kind]())
    assert len(shown) < 200 and "\n" not in shown and " at 0x" not in shown


@pytest.mark.parametrize(
    ("kind", "lines"),
    {
        "inputs": ("x  2 spikes  a+/a -> a,  a^2 -> a", "synapses: (x, y), ", "input: x"),
        "synapse rules": ("(x, y)    a+/a -> a,  a{2,4}/a^2 -> a^2", "(x, out)  a -> a"),
        "division": ("x       0 spikes  [a]_x -> []_x || []_y,  a -> a",),
        "populations": ("p  3 neurons  0 to 2 spikes  a+/a", "projections: (p, q) AllToAll"),
    }.items(),
)
def test_the_text_of_a_system_shows_its_rules(kind, lines):
    headline, *rest = str(RUNNABLE[kind]()).splitlines()
    assert headline == repr(RUNNABLE[kind]())
    for line in lines:
        assert any(shown.strip().startswith(line) for shown in rest)


def test_the_text_of_a_large_system_is_short():
    names = [f"n{i}" for i in range(110)]
    rules = [f"a^{i + 2}/a -> a" for i in range(100)]
    chain = list(pairwise(names))
    large = snp.SpikingSystem([snp.Neuron(n, 1, rules) for n in names], chain, output=names)
    parts = [snp.Population(f"{'p' * 100}{i}", 2, 0, ["a -> a"]) for i in range(110)]
    for model, noun in ((large, "neuron"), (snp.PopulationSystem(parts), "population")):
        lines = str(model).splitlines()[1:]
        assert len(lines) < 30 and max(map(len, lines)) < 200
        assert f"  ... and 90 more {noun}s" in lines


def test_a_large_network_is_shown_in_one_line():
    labels = tuple(f"n{i}" for i in range(102))
    shown = str(snp.Network(labels, ((0, 1, 1),)))
    assert shown.endswith("... and 90 more neurons; 1 synapse)") and "\n" not in shown


# ---- functions of models ----

#: What is no model, or one that only a package of its own takes.
OTHERS: dict[str, Callable[[], Any]] = {
    "proliferation model": proliferation_model,
    "high net": VALUES["high net"],
    "composition": sleptsov.Composition,
    "learn layer": VALUES["layer"],
    "choice": snp.FirstChoice,
    "list": lambda: [system()],
    "None": lambda: None,
    "text": lambda: "a",
    "number": lambda: 3,
}
#: Results of the library, which some functions take instead of a model.
RESULTS: dict[str, Callable[[], Any]] = {
    "lowered": lambda: snp.lower(system()),
    "graph": lambda: snp.explore(system(), max_configurations=4),
    "solution": VALUES["solution"],
}

#: Calls that compile nothing, whatever the model.
CHEAP: dict[str, Callable[[Any, Path], Any]] = {
    "bytes_needed": lambda model, _: snp.spiking.bytes_needed(model),
    "certify": lambda model, _: snp.certify(model, None),  # pyright: ignore[reportArgumentType]
    "check_invariants": lambda model, _: snp.check_invariants(model, snp.invariants(system())),
    "coverability": lambda model, _: coverability(model, max_nodes=4),
    "environment": lambda model, _: learn.environment(model),
    "flat_size": lambda model, _: sleptsov.flat_size(model),
    "growth": lambda model, _: snp.growth(model),
    "invariants": lambda model, _: snp.invariants(model),
    "link": lambda model, _: sleptsov.link(model),
    "simulate": lambda model, _: snp.simulate(model, None, snp.FirstChoice(), max_steps=1),
    "simulate of rates": lambda model, _: rate.simulate(model, steps=1),
    "to_dot": lambda model, _: snp.to_dot(model),
    "to_networkx": lambda model, _: snp.to_networkx(model),
    "transition_edges": lambda model, _: snp.spiking.transition_edges(model),
    "write": lambda model, folder: snp.write(model, folder / "x.pli"),
    "write JSON": lambda model, folder: snp.write(model, folder / "x.snp.json"),
    "write_net": lambda model, folder: snp.write_net(model, folder / "x.lsn"),
    "write_graph": lambda model, folder: snp.write_graph(model, folder / "x.aut"),
}
#: Calls that compile a program for most models, each with the least limits.
COMPILING: dict[str, Callable[[Any, Path], Any]] = {
    "check": lambda model, _: snp.check(model, "always not halted", max_configurations=4),
    "chosen_layout": lambda model, _: snp.spiking.chosen_layout(model),
    "equivalent": lambda model, _: snp.equivalent(model, model, max_configurations=4),
    "equivalent to a system": lambda model, _: snp.equivalent(
        system(), model, max_configurations=4
    ),
    "estimate": lambda model, _: snp.estimate(
        model, "eventually halted", key=jr.key(0), max_steps=1, paths=2
    ),
    "explore": lambda model, _: snp.explore(model, max_configurations=4),
    "expected": lambda model, _: pr.expected(model),
    "log_probability": lambda model, _: snp.log_probability(model, np.zeros((1, 1), int)),
    "lower": lambda model, _: snp.lower(model),
    "output_process": lambda model, _: snp.output_process(model, max_depth=1),
    "prove": lambda model, _: snp.prove(model, "always not halted", seconds=1),
    "robustness": lambda model, _: learn.robustness(model, None, steps=1),  # pyright: ignore
    "run": lambda model, _: snp.run(model, max_steps=1),
    "simulate of cells": lambda model, _: pr.simulate(model, jr.key(0)),
    "view": lambda model, _: snp.view(model),
    "viz.graph": lambda model, _: viz.graph(model),
    "viz.net": lambda model, _: viz.net(model),
    "viz.network": lambda model, _: viz.network(model),
    "viz.page.export": lambda model, folder: export(model, folder / "x.html"),
}


def assert_answer_or_refusal(function, kinds, folder):
    """An answer, or an error of our own in one line. What lists the losses of a file has more."""
    for kind, make in kinds.items():
        try:
            function(make(), folder)
        except snp.io.WriteError:
            pass
        except (ValueError, TypeError, NotImplementedError, snp.RunFailed) as error:
            text = str(error)
            assert 20 < len(text) < 500 and "\n" not in text and "Errno" not in text, kind
            frame = traceback.extract_tb(error.__traceback__)[-1]
            assert "raise" in str(frame.line), (kind, text)


@pytest.mark.parametrize("name", CHEAP)
def test_functions_answer_or_refuse_every_kind_in_one_line(name, tmp_path):
    assert_answer_or_refusal(CHEAP[name], RUNNABLE | OTHERS, tmp_path)


@pytest.mark.parametrize("name", sorted({*COMPILING} - {"expected", "simulate of cells"}))
def test_functions_that_compile_refuse_other_kinds_in_one_line(name, tmp_path):
    assert_answer_or_refusal(COMPILING[name], OTHERS, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*CHEAP, *COMPILING])
def test_every_function_answers_or_refuses_every_kind(name, tmp_path):
    kinds = RESULTS | ({} if name in CHEAP else RUNNABLE | OTHERS)
    assert_answer_or_refusal({**CHEAP, **COMPILING}[name], kinds, tmp_path)
