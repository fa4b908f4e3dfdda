"""What several tests share."""

import importlib.util
import json
import os
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import snpjax as snp
from snpjax import AntiSpikes, Exhaustive
from snpjax.spiking import AnyRule
from snpjax.testing import reference


REPOSITORY = Path(__file__).resolve().parents[2]
#: Systems with known answers, see tests/cases/README.md.
CASES = REPOSITORY / "tests" / "cases"
#: More of them, and model files of other programs; not part of the repository.
SHARED = REPOSITORY.parent / "shared"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the folder of published cases is not beside the repository"
)


#: Where `mkdocs build` has written the site. It has executed the tutorials and built the gallery.
SITE = os.environ.get("SNPJAX_SITE")

needs_execution = pytest.mark.skipif(
    SITE is not None, reason="the build of the site has done it; tests/test_site.py reads the site"
)


def slow(*values: Any) -> list[Any]:
    """Return parameters whose tests are marked as slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def script(path: str) -> Any:
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, REPOSITORY / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: A small system in P-Lingua. p, q = 2, 1 | 1, 0 | 1, 1 | 1, 0 | 0, 0; q emits in steps 1 and 3.
PAIR = """@model<spiking_psystems>
def main()
{
  @mu = p, q;
  @ms(p) = a*2;  @ms(q) = a;
  @marcs = (p,q), (q,p);
  @mout = q;
  [a --> a]'p "a{2}" :: 1;   [a --> #]'p;
  [a --> a]'q;               [a*2 --> #]'q;
}
"""

#: One spike comes to a ring, and goes round it for ever.
RING = """@model<spiking_psystems>
def main()
{
  @mu = s, x, y;
  @ms(s) = a;
  @marcs = (s,x), (x,y), (y,x);
  [a --> a]'s;  [a --> a]'x;  [a --> a]'y;
}
"""

#: What case files call variants.
VARIANTS = {"anti-spikes": AntiSpikes(), "exhaustive": Exhaustive()}

#: Every random run is this long, so that all share one compilation.
MAX_STEPS = 24


def many(examples: int, part: int = 8) -> int:
    """How many examples a sweep takes: all with SNPJAX_SWEEP=full, else a part of them."""
    return examples if os.environ.get("SNPJAX_SWEEP") == "full" else examples // part


def trees_equal(one: Any, other: Any) -> bool:
    """Compare trees as `equinox.tree_equal` does, but on the host, where nothing is compiled."""

    def is_same(x: Any, y: Any) -> bool:
        if not hasattr(x, "dtype"):
            return x == y
        return x.dtype == getattr(y, "dtype", None) and np.array_equal(x, y)

    leaves = jax.tree.leaves(one), jax.tree.leaves(other)
    is_like = jax.tree.structure(one) == jax.tree.structure(other)
    return is_like and all(map(is_same, *leaves))


def load_cases(folder: str, *, schema: str) -> list[Any]:
    """The cases of a folder as parameters: those of tests/cases, and those that are only beside
    the repository. One skipped parameter where there are none."""
    roots = SHARED / "cases", CASES
    paths = {path.name: path for root in roots for path in root.glob(f"{folder}/*")}
    if not paths:
        return [pytest.param(None, marks=needs_shared, id="no-cases")]
    cases = [json.loads(paths[name].read_text()) for name in sorted(paths)]
    return [pytest.param(case, id=case["name"]) for case in cases if case["schema"] == schema]


def sample_file(name: str) -> Path:
    """A model file of tests/cases/samples, or of another author beside the repository; a test is
    skipped without it."""
    paths = [root / "samples" / name for root in (CASES, SHARED)]
    path = next((path for path in paths if path.exists()), None)
    return path or pytest.skip(needs_shared.kwargs["reason"])


def case_system(case: dict[str, Any], *, level: Any = "extended") -> snp.SpikingSystem:
    """The system of a case file of schema snpjax-case/1."""
    neurons = case_neurons(case)
    names = {neuron.name for neuron in neurons}
    by_label = case.get("rules_by_label", {}).items()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return snp.SpikingSystem(
            neurons,
            [tuple(synapse) for synapse in case["synapses"]],
            input=case.get("input"),
            output=case.get("output", ()),
            level=level,
            dictionary=[tuple(pair) for pair in case.get("dictionary", ())],
            rules_by_label={x: _case_rules(rules) for x, rules in by_label if x not in names},
            variant=VARIANTS.get(case.get("variant", "")),
            name=case["name"],
        )


def case_neurons(case: dict[str, Any]) -> list[snp.Neuron]:
    """The neurons of a case file of any schema."""
    by_label = case.get("rules_by_label", {})
    return [
        snp.Neuron(n["id"], n["spikes"], _case_rules(n.get("rules") or by_label.get(n["id"], [])))
        for n in case["neurons"]
    ]


def _case_rules(rules: list[dict[str, Any]]) -> tuple[AnyRule, ...]:
    return tuple(_case_rule(rule) for rule in rules)


def _case_rule(rule: dict[str, Any]) -> AnyRule:
    match rule:
        case {"divide": [left, right]}:
            return snp.DivisionRule(rule["guard"], left, right)
        case {"bud": [_, bud]}:
            return snp.BuddingRule(rule["guard"], bud)
        case {"plasticity": change}:
            k, targets = change["k"], change["targets"]
            return snp.PlasticityRule(rule["guard"], rule["consume"], change["alpha"], k, targets)
    numbers = rule["consume"], rule["produce"], rule["delay"]
    return snp.Rule(rule["guard"], *numbers, rule.get("sign", 1))


def quietly(build, *args, **kwargs):
    """Build a system whose warnings (dead or repeated rules) are wanted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return build(*args, **kwargs)


def with_ballast(
    system: snp.SpikingSystem, *, delay: int = 1, weight: int = 2
) -> snp.SpikingSystem:
    """`system` and inert neurons that have one of everything, so that all random systems share one
    compilation.

    The added neurons never fire and have no synapse with the others; a run differs in their columns
    only.
    """
    # Seven terms of one rule, all of which can apply, periodic, delayed; and a count above 127, so
    # that searches of all systems count in 16 bits.
    rule = snp.Rule("a{9,10}|a{12}|a{15,17}|a{20}|a{25,28}|a{33}|a{201}(aaaa)*", 9, 1, delay)
    ballast = [snp.Neuron("ballast 1", 0, [rule]), snp.Neuron("ballast 2", 0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return snp.SpikingSystem(
            [*system.neurons, *ballast],
            [*system.synapses, ("ballast 1", "ballast 2", weight)],
            input={**system.input, "ballast 2": (0, 0)},
            output=[*system.output, "ballast 2"],
            level="extended",
            signed=system.signed,
        )


def assert_same_run(solution: snp.Solution, computation: reference.Computation) -> None:
    """Every configuration, rule and emission of the two runs is equal."""
    system = solution.system
    steps = computation.steps
    assert solution.steps == steps
    assert solution.halted == computation.halted
    assert solution.configurations.tolist() == [list(c.spikes) for c in computation.configurations]
    assert solution.timer_history.tolist() == [list(c.timers) for c in computation.configurations]
    assert solution.pending_history.tolist() == [
        list(c.pending) for c in computation.configurations
    ]
    assert choices_of(solution) == list(computation.choices)
    assert solution.emissions.tolist() == [list(row) for row in computation.emissions]
    columns = [system.names[name] for name in system.output]
    assert solution.spike_trains.tolist() == [
        [row[column] for column in columns] for row in computation.emissions
    ]
    final = computation.configurations[-1]
    assert solution.spikes.tolist() == list(final.spikes)
    assert solution.timers.tolist() == list(final.timers)
    assert solution.pending.tolist() == list(final.pending)


def choices_of(solution: snp.Solution) -> list[reference.Choice]:
    """The selected rules as the reference writes them."""
    rows = np.asarray(solution.rules).tolist()
    return [tuple(None if rule == snp.NO_RULE else rule for rule in row) for row in rows]


def assert_runs_down_the_chain(system: snp.SpikingSystem) -> None:
    """One spike visits ten neurons in their order."""
    computation = reference.run(system, max_steps=20)
    assert computation.halted and computation.steps == 10
    for step, configuration in enumerate(computation.configurations):
        assert configuration.spikes == tuple(int(i == step) for i in range(10))
