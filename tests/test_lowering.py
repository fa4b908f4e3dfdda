"""Every option of `run` with every kind of model: it is honoured, or refused in one sentence."""

import jax
import numpy as np
import pytest

import snpjax as snp
from snpjax import rate
from snpjax.numerical import NumericalNeuron, NumericalSystem, Production
from snpjax.scale import ComputedNumbers
from snpjax.sleptsov import FullScan, net_of_text
from snpjax_formats import ELL


def spiking(**options):
    neurons = [snp.Neuron("x", 2, ["a+/a -> a"]), snp.Neuron("y", 0, ["a -> a"])]
    return snp.SpikingSystem(neurons, [("x", "y")], output="y", **options)


MODELS = {
    "spiking": spiking,
    "variant": lambda: spiking(variant=snp.Exhaustive()),
    "population": lambda: snp.PopulationSystem(
        [snp.Population("p", 3, 2, rules=["a+/a -> a"])], output="p"
    ),
    "batch": lambda: snp.SystemBatch([spiking(), spiking()]),
    "net": lambda: net_of_text("t: x -> y", {"x": 1, "y": 0}),
    "numerical": lambda: NumericalSystem([NumericalNeuron("n", {"x": 1}, [Production({"x": 1})])]),
    "rate": lambda: rate.RateNetwork([rate.RatePopulation("r", 2)]),
}
OPTIONS = {
    "choice": lambda: {"choice": snp.UniformChoice(jax.random.key(0))},
    "initial": lambda: {"initial": "x"},
    "inputs": lambda: {"inputs": np.ones((2, 1), int)},
    "paths": lambda: {"paths": 2},
    "observe": lambda: {"paths": 2, "observe": ComputedNumbers(most=4)},
    "mesh": lambda: {"paths": 2, "mesh": jax.make_mesh((1,), ("paths",))},
    "save": lambda: {"save": snp.Save(every=2)},
    "grow": lambda: {"grow": False},
    "unroll": lambda: {"unroll": 2},
    "layout": lambda: {"layout": ELL},
    "count_dtype": lambda: {"count_dtype": np.int32},
    "faithful": lambda: {"faithful": True},
    "capacity": lambda: {"capacity": snp.Capacity(8, 8)},
    "engine": lambda: {"engine": FullScan()},
    "layuot": lambda: {"layuot": ELL},
}
#: Refused besides a wrong `initial` and a name that is no option.
REFUSED = {
    "spiking": "inputs capacity engine",
    "variant": "inputs capacity engine",
    "population": "inputs capacity engine",
    "batch": "inputs paths observe mesh capacity engine",
    "net": "inputs observe layout capacity",
    "numerical": "inputs observe count_dtype faithful capacity engine",
    "rate": "choice inputs observe count_dtype faithful capacity engine",
}
CELLS = [
    (model, option, option in ("initial", "layuot", *REFUSED[model].split()))
    for model in MODELS
    for option in OPTIONS
]


@pytest.mark.parametrize("model, option", [cell[:2] for cell in CELLS if cell[2]])
def test_what_a_machine_cannot_honour_is_refused(model, option):
    with pytest.raises((ValueError, TypeError)) as caught:
        snp.run(MODELS[model](), max_steps=4, **OPTIONS[option]())
    text = str(caught.value)
    name = {"mesh": "paths", "observe": "paths", "inputs": "input"} if model != "net" else {}
    assert f"`{option}`" in text or f"`{name.get(option, option)}" in text, text
    assert "\n" not in text and text[-1] in ".?", text


@pytest.mark.slow
@pytest.mark.parametrize("model, option", [cell[:2] for cell in CELLS if not cell[2]])
def test_what_a_machine_honours_changes_no_end(model, option):
    own = MODELS[model]()
    solution = snp.run(own, max_steps=4, **OPTIONS[option]())
    usual = snp.run(own, max_steps=4)
    if option == "observe":
        assert solution.paths == 2
        return
    if model == "batch":
        solution, usual = solution[0], usual[0]
    assert np.all(np.asarray(solution.steps) == np.asarray(usual.steps))
    if option == "save":
        trajectory = solution.trajectory
        assert trajectory.saved.every == 2
        if trajectory.states is not None:
            rows = {len(x) for x in jax.tree.leaves(trajectory.states)}
            assert rows == {1 + int(trajectory.steps) // 2}
