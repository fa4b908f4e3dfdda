"""The configurations of other simulators, reproduced by options of the system."""

import json
import warnings
from dataclasses import fields, replace
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest

import snpjax as snp
from snpjax.spiking import Transition, TransitionMatrix, initial_state, lower, step
from snpjax.spiking.model.compatibility import (
    CHOICES,
    DISTRIBUTED_SNP,
    PLINGUA_CORE,
    SIMULATORS,
    SN_P_FACTORY,
    SPARSE_SNP,
    SPARSE_SNP_COMPRESSED,
    SPARSE_SNP_ELL,
    TEXTBOOK,
    WEBSNAPSE_RELOADED,
    WEBSNAPSE_V1,
    WEBSNAPSE_V2,
    WEBSNAPSE_V3,
    WEBSNAPSE_V4,
)
from snpjax.testing import reference
from snpjax_formats import CSR, ELL, Dense
from tests.spiking.test_cases import websnapse_system
from tests.support.helpers import SHARED, assert_same_run, case_neurons, load_cases, needs_shared


#: The rows of cases/compatibility/peer_traces.json.
PEERS = {
    "textbook": TEXTBOOK,
    "sparse_snp Sparse": SPARSE_SNP,
    "sparse_snp ELL": SPARSE_SNP_ELL,
    "sparse_snp Compressed": SPARSE_SNP_COMPRESSED,
    "pLinguaCore": PLINGUA_CORE,
    "WebSnapse Reloaded": WEBSNAPSE_RELOADED,
    "WebSnapse v1/v2": WEBSNAPSE_V2,
    "WebSnapse v3": WEBSNAPSE_V3,
    "WebSnapse v4": WEBSNAPSE_V4,
    "sn-p-factory": SN_P_FACTORY,
}
#: Readers of these keep one of two parallel synapses, those of the others both.
MERGES_SYNAPSES = ("sparse_snp Sparse", "WebSnapse Reloaded", "WebSnapse v3")
#: The longest rows, of systems that do not halt.
MAX_STEPS = 12


def peer_rows() -> list[Any]:
    path = SHARED / "cases/compatibility/peer_traces.json"
    if not path.is_file():
        return [pytest.param(None, "", [], marks=needs_shared, id="no-cases")]
    return [
        pytest.param(system, peer, run["spikes"], id=f"{system['name']}-{peer}")
        for system in json.loads(path.read_text())["systems"]
        for peer, run in system["runs"].items()
        if run.get("spikes")  # else it rejects the system, fails, or cannot express it
    ]


def peer_system(case: dict[str, Any], peer: str) -> snp.SpikingSystem:
    synapses: dict[tuple[str, str], int] = {}
    for source, target, weight in case["synapses"]:
        before = 0 if peer in MERGES_SYNAPSES else synapses.get((source, target), 0)
        synapses[source, target] = before + weight
    return snp.SpikingSystem(
        case_neurons(case),
        [(*ends, weight) for ends, weight in synapses.items()],
        compatibility=PEERS[peer],
    )


def assert_row(configurations: list[list[int]], halted: bool, row: list[list[int]]) -> None:
    """Equal, as long as the row is; a row that ends early is one of a halted run."""
    assert configurations[: len(row)] == row
    assert len(row) >= 11 or (halted and len(row) == len(configurations))


@pytest.mark.parametrize(("case", "peer", "row"), peer_rows())
def test_reference_gives_the_configurations_of_peers(case, peer, row):
    system = peer_system(case, peer)
    run = reference.run(system, max_steps=MAX_STEPS)
    shown = [list(configuration.spikes) for configuration in run.configurations]
    if system.compatibility.late_consumption:
        held = [0] * len(system.neurons)
        for step_, chosen in enumerate(run.choices, start=1):
            for i, rule in enumerate(chosen):
                held[i] = held[i] if rule is None else system.neurons[i].rules[rule].consume
                shown[step_][i] += held[i] if run.configurations[step_].timers[i] else 0
    assert_row(shown, run.halted, row)


@pytest.mark.parametrize(("case", "peer", "row"), peer_rows())
def test_run_gives_the_configurations_of_peers(case, peer, row):
    system = peer_system(case, peer)
    solution = snp.run(in_one_shape(system), max_steps=MAX_STEPS)
    shown = solution.as_displayed().configurations[:, : len(system.neurons)].tolist()
    assert_row(shown, bool(solution.halted), row)


def in_one_shape(system: snp.SpikingSystem) -> snp.SpikingSystem:
    """With an idle neuron that has a delay, two rules and a weight, to share compilations."""
    idle = snp.Neuron("idle", 0, ["a -> a; 1", "a^3(aa)* / a -> a"])
    return snp.SpikingSystem(
        [*system.neurons, idle, snp.Neuron("sink")],
        [*system.synapses, ("idle", "sink", 2)],
        compatibility=system.compatibility,
    )


def test_the_rows_are_those_of_all_peers():
    rows = peer_rows()
    if rows[0].id == "no-cases":
        pytest.skip(needs_shared.kwargs["reason"])
    assert {row.values[1] for row in rows} == set(PEERS)
    assert len(rows) == 139


@pytest.mark.parametrize("case", load_cases("websnapse/display", schema="snpjax-display/1"))
def test_display(case):
    """What WebSnapse shows, late; and the configurations of the definition."""
    system, _ = websnapse_system(case)
    system = system.with_compatibility(WEBSNAPSE_RELOADED)
    for one in case["cases"]:
        choice = snp.GivenChoices(one["rules"])
        solution = snp.run(system, choice=choice, max_steps=len(one["rules"]))
        assert repeated(solution.configurations, len(one["spikes"])) == one["spikes"]
        assert repeated(solution.as_displayed().configurations, len(one["shown"])) == one["shown"]


def repeated(rows: np.ndarray, count: int) -> list[list[int]]:
    """The rows with the last one repeated: a halted system stays what it is."""
    return [rows[min(row, len(rows) - 1)].tolist() for row in range(count)]


# ---- single options ----


def system_of(*neurons: snp.Neuron, synapses: Any = (), **options: Any) -> snp.SpikingSystem:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return snp.SpikingSystem(
            neurons, synapses, signed=True, compatibility=snp.Compatibility(**options)
        )


def configurations(system: snp.SpikingSystem, steps: int = 8) -> list[list[int]]:
    """Those of the run, which are those of the reference."""
    solution = snp.run(system, max_steps=steps)
    assert_same_run(solution, reference.run(system, max_steps=steps))
    return solution.configurations.tolist()


def test_threshold_rules():
    neurons = snp.Neuron("x", 3, ["a -> a", "a^2 -> lambda"]), snp.Neuron("y", 0)
    synapses = [("x", "y")]
    assert configurations(system_of(*neurons, synapses=synapses)) == [[3, 0]]
    threshold = system_of(*neurons, synapses=synapses, threshold_rules=True)
    assert configurations(threshold) == [[3, 0], [2, 1], [1, 2], [0, 3]]


def test_guard_modulo():
    """Sorting numbers above 255 goes wrong in sparse_snp because of this."""
    neurons = [snp.Neuron("x", 44, ["a^300/a -> a"]), snp.Neuron("y", 300, ["a^300/a -> a"])]
    assert configurations(system_of(*neurons)) == [[44, 300], [44, 299]]
    reduced = {"guard_modulo": 256, "unchecked_consumption": "negative"}
    assert configurations(system_of(*neurons, **reduced)) == [[44, 300], [43, 300]]
    whole = snp.Neuron("x", 44, ["a^300 -> a"])  # what is consumed is not reduced
    assert configurations(system_of(whole, **reduced)) == [[44], [-256]]
    assert configurations(system_of(whole, guard_modulo=256)) == [[44]]


def test_guard_modulo_refuses_a_large_guard_with_a_period():
    neuron = snp.Neuron("x", 1, ["a^9(aa)*/a -> a"])
    with pytest.raises(snp.InvalidSystem, match="neuron 'x', rule 1: `guard_modulo` takes the"):
        system_of(neuron, guard_modulo=8)
    assert configurations(system_of(neuron, guard_modulo=256)) == [[1]]


def test_a_rule_that_only_an_option_makes_dead_or_alive_is_told_as_such():
    def codes(rule, **options):
        system = system_of(snp.Neuron("x", 0, [rule]), **options)
        return [problem.code for problem in system.problems]

    assert codes("a/a^2 -> a") == ["dead_rule"]
    assert codes("a/a^2 -> a", unchecked_consumption="negative") == []
    assert codes("a^9/a^9 -> a", guard_modulo=8) == ["dead_rule"]


def test_clamp_is_applied_when_the_step_is_over():
    """As WebSnapse v4 does: max(0, k - c + what arrives)."""
    x = snp.Neuron("x", 0, ["a*/a^3 -> a"])
    feeder = snp.Neuron("y", 1, ["a -> a^2"])
    system = system_of(feeder, x, synapses=[("y", "x")], unchecked_consumption="clamp")
    assert configurations(system, 2) == [[1, 0], [0, 0], [0, 0]]
    for layout in (Transition(Dense), Transition(CSR)):
        solution = snp.run(system, max_steps=2, layout=layout)
        assert solution.configurations.tolist() == [[1, 0], [0, 0], [0, 0]]
    assert not TransitionMatrix(system).is_exact


def test_overwrite_delayed():
    """x selects in step 1 (d = 1), and when it opens again in step 2."""
    for delay, expected in ((0, 3), (1, 2)):
        again = f"a/a -> a^2; {delay}"
        neurons = snp.Neuron("x", 2, ["a^2/a -> a; 1", again]), snp.Neuron("y", 0)
        system = system_of(*neurons, synapses=[("x", "y")], early_reopen="overwrite_delayed")
        assert configurations(system)[-1] == [0, expected]


def test_families_are_reported_by_their_members():
    """A forgetting rule that an option rewrites is no member of a consume-all family."""
    rules = ["a^5 -> lambda", "a^13 -> lambda", "a^3 -> lambda", "a^2 -> a"]
    options = {"guard_modulo": 8, "unchecked_consumption": "negative"}
    for spikes in range(9):
        system = system_of(snp.Neuron("x", spikes, rules), **options)
        for faithful in (False, True):
            solution = snp.run(system, max_steps=3, faithful=faithful)
            assert_same_run(solution, reference.run(system, max_steps=3))


# ---- what a form cannot hold ----

CLOSING = [snp.Neuron("x", 2, ["a+/a -> a; 1"]), snp.Neuron("y", 1, ["a -> a; 2"]), snp.Neuron("z")]
STAR = [("x", "y"), ("x", "z"), ("y", "x"), ("y", "z")]


def test_ordered_delivery_takes_no_layout():
    system = snp.SpikingSystem(CLOSING, STAR, compatibility=SPARSE_SNP_COMPRESSED)
    for layout in (ELL, Transition(Dense)):
        with pytest.raises(ValueError, match='keeps. Leave `layout` at "auto"'):
            snp.run(system, layout=layout)
    open_ = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])], compatibility=SPARSE_SNP_COMPRESSED)
    assert snp.run(open_, layout=ELL).halted  # nothing is ever closed


def test_order_of_synapses():
    for order, expected in ((STAR, 0), ([STAR[1], STAR[0], *STAR[2:]], 1)):
        neurons = [replace_rules(CLOSING[0], "a+/a -> a"), *CLOSING[1:]]
        system = snp.SpikingSystem(neurons, order, compatibility=SPARSE_SNP_COMPRESSED)
        assert configurations(system, 1)[-1][2] == expected


def replace_rules(neuron: snp.Neuron, *rules: str) -> snp.Neuron:
    return snp.Neuron(neuron.name, neuron.spikes, rules)


@pytest.mark.parametrize(
    "compatibility", [SPARSE_SNP_COMPRESSED, SN_P_FACTORY], ids=["ordered", "closed_receives"]
)
def test_batches(compatibility):
    systems = [
        snp.SpikingSystem(CLOSING, STAR, compatibility=compatibility),
        snp.SpikingSystem(
            [snp.Neuron("p", 4, ["a+/a -> a"]), *CLOSING[1:]],
            [("p", "z", 3), ("p", "y"), ("y", "z"), ("y", "p")],
            compatibility=compatibility,
        ),
    ]
    solutions = snp.run(snp.SystemBatch(systems), max_steps=9, save=snp.SAVE_ALL)
    for system, solution in zip(systems, solutions, strict=True):
        assert_same_run(solution, reference.run(system, max_steps=9))


def test_a_batch_has_one_way_of_making_steps():
    textbook = snp.SpikingSystem(CLOSING, STAR)
    other = textbook.with_compatibility(SN_P_FACTORY)
    batch = snp.SystemBatch([textbook, other])
    with pytest.raises(ValueError, match="System 1 of the batch is to run with Compatibility"):
        snp.run(batch)
    # Rules are rewritten before, and what is shown is no part of a run.
    late = textbook.with_compatibility(WEBSNAPSE_V3)
    assert len(snp.run(snp.SystemBatch([textbook, late]), max_steps=3)) == 2
    ordered = textbook.with_compatibility(SPARSE_SNP_COMPRESSED)
    with pytest.raises(ValueError, match="Leave `layout`"):
        snp.run(snp.SystemBatch([ordered, ordered]), layout=ELL)


def test_counts_without_end_are_watched():
    """Below the range as well as above it, and sums of emissions that wait."""
    low = -(2**31) + 2
    falling = system_of(
        snp.Neuron("x", low, ["a*/a -> a"]), unchecked_consumption="negative", negative_is_zero=True
    )
    solution = snp.run(falling, max_steps=5, throw=False)
    assert solution.result == snp.RESULTS.spike_overflow and solution.steps == 2
    assert snp.run(falling, max_steps=5, count_dtype=np.int64).spikes.tolist() == [low - 5]
    waiting = [snp.Neuron("x", 4, [snp.Rule("a+", 1, 2**29, 1)]), snp.Neuron("y", 0)]
    system = system_of(*waiting, synapses=[("x", "y")], early_reopen="accumulate")
    solution = snp.run(system, max_steps=9, throw=False)
    assert solution.result == snp.RESULTS.spike_overflow
    assert "neuron 'x', step 2" in solution.failure
    wide = snp.run(system, max_steps=9, count_dtype=np.int64)
    assert wide.spikes.tolist() == [0, 2**31]


# ---- the default ----


def traced(system: snp.SpikingSystem) -> str:
    """The step of a system as JAX writes it."""
    program = lower(system, layout=Dense)
    arrays, static = eqx.partition((program, initial_state(program)), eqx.is_array)

    def made(arrays):
        return eqx.filter(step(*eqx.combine(arrays, static), snp.FirstChoice()), eqx.is_array)

    return str(jax.make_jaxpr(made)(arrays))


OF_STEPS = {
    "closed_receives": {"closed_receives": True},
    "accumulate": {"early_reopen": "accumulate"},
    "overwrite": {"early_reopen": "overwrite"},
    "overwrite_delayed": {"early_reopen": "overwrite_delayed"},
    "negative": {"unchecked_consumption": "negative"},
    "clamp": {"unchecked_consumption": "clamp"},
    "negative_is_zero": {"negative_is_zero": True},
    "repeats_emissions": {"early_reopen": "accumulate", "repeats_emissions": True},
}
#: Rewritten into rules and synapses, or shown only.
OF_RULES = {
    "threshold_rules": {"threshold_rules": True},
    "guard_modulo": {"guard_modulo": 256},
    "needs_spikes": {"needs_spikes": True},
    "no_self_synapses": {"no_self_synapses": True},
    "late_consumption": {"late_consumption": True},
}


def test_the_default_step_has_nothing_of_it():
    """Each option of steps changes the step of a system that can feel it, and no other one."""
    closing = snp.SpikingSystem(CLOSING, STAR)
    opening = snp.SpikingSystem([replace_rules(n, "a -> a", "a^2 -> a") for n in CLOSING], STAR)
    steps = traced(closing), traced(opening)
    for options in OF_RULES.values():
        compatibility = snp.Compatibility(**options)
        assert traced(closing.with_compatibility(compatibility)) == steps[0]
    seen = {steps[0]}
    for name, options in OF_STEPS.items():
        compatibility = snp.Compatibility(**options)
        seen.add(traced(closing.with_compatibility(compatibility)))
        feels = name in ("negative", "clamp", "negative_is_zero")
        assert (traced(opening.with_compatibility(compatibility)) != steps[1]) == feels
    assert len(seen) == 1 + len(OF_STEPS)
    program = lower(closing)
    assert program.compatibility == TEXTBOOK
    assert program.ordered is None and program.most_together is None


# ---- the value ----


def test_value():
    assert snp.Compatibility() == TEXTBOOK and TEXTBOOK.is_textbook
    assert repr(TEXTBOOK) == "Compatibility()" and str(TEXTBOOK) == ""
    assert str(SN_P_FACTORY).startswith("closed_receives, unchecked_consumption=negative")
    for compatibility in SIMULATORS.values():
        assert eval(repr(compatibility), {"Compatibility": snp.Compatibility}) == compatibility
        assert snp.Compatibility(**compatibility.options) == compatibility
    names = {field.name for field in fields(snp.Compatibility)}
    assert names == {*CHOICES, "guard_modulo"}
    with pytest.raises(AttributeError):
        TEXTBOOK.closed_receives = True  # pyright: ignore


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"early_reopen": "later"}, "`early_reopen` is 'later' \\(write one of None, 'accumulate'"),
        ({"closed_receives": 1}, "`closed_receives` is 1 \\(write one of False, True\\)"),
        ({"unchecked_consumption": True}, "`unchecked_consumption` is True"),
        ({"guard_modulo": 0}, "`guard_modulo` is 0 \\(write an integer from 1"),
        ({"guard_modulo": True}, "`guard_modulo` is True"),
        ({"guard_modulo": 2.5}, "`guard_modulo` is 2.5"),
        ({"stop_at_closed_target": True, "closed_receives": True}, "excludes `closed_receives`"),
        ({"late_consumption": True, "early_reopen": "overwrite"}, "excludes `early_reopen`"),
        ({"repeats_emissions": True}, "needs `early_reopen"),
    ],
)
def test_values_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        snp.Compatibility(**options)


def test_it_is_a_part_of_the_system():
    system = snp.SpikingSystem(CLOSING, STAR, name="n", notes={"positions": {}})
    other = system.with_compatibility(WEBSNAPSE_V1)
    assert system != other and other.notes == system.notes
    assert other == snp.SpikingSystem(CLOSING, STAR, name="n", compatibility=WEBSNAPSE_V1)
    assert other.with_compatibility(TEXTBOOK) == system
    assert "; closed_receives, unchecked_consumption=negative, late_consumption)" in repr(other)
    assert repr(system).endswith("4 synapses)")
    with pytest.raises(TypeError, match="write Compatibility"):
        snp.SpikingSystem(CLOSING, compatibility="sparse-snp")  # pyright: ignore


def test_displayed_configurations_need_what_was_saved():
    system = snp.SpikingSystem(CLOSING, STAR, compatibility=WEBSNAPSE_V2)
    whole = snp.run(system, max_steps=9)
    for save, what in (
        (snp.Save(every=None), "Configurations"),
        (snp.Save(details=False), "rules"),
    ):
        with pytest.raises(snp.NotSaved, match=f"{what} were not saved"):
            snp.run(system, max_steps=9, save=save).as_displayed()
    shown = whole.as_displayed().configurations
    assert whole.configurations.tolist() != shown.tolist()
    third = snp.run(system, max_steps=9, save=snp.Save(every=3)).as_displayed()
    assert third.configurations.tolist() == shown[::3].tolist()
    for steps in range(9):
        last = snp.run(system, max_steps=steps).as_displayed()
        assert last.spikes.tolist() == shown[min(steps, len(shown) - 1)].tolist()
    batch = snp.run(system, max_steps=9, paths=2, save=snp.SAVE_ALL).as_displayed()
    for path in range(2):
        assert batch.configurations[..., path].tolist() == shown.tolist()


# ---- populations ----


def population(compatibility: snp.Compatibility, *, within: bool = False) -> snp.PopulationSystem:
    varied = snp.RuleTemplate([([1, 300, 2], [1, 300, 2])], [1, 44, 2], 1, 1)
    projections = [snp.Projection("p", "q"), snp.Projection("q", "p")]
    return snp.PopulationSystem(
        [
            snp.Population("p", 3, [3, 44, 2], [varied, "a^5 -> lambda"]),
            snp.Population("q", 2, 0, ["a -> a", "a+/a^2 -> a; 2"]),
        ],
        [*projections, snp.Projection("p", "p")] if within else projections,
        compatibility=compatibility,
    )


ON_POPULATIONS = [c for c in SIMULATORS.values() if not c.stop_at_closed_target]


@pytest.mark.parametrize("compatibility", dict.fromkeys(ON_POPULATIONS), ids=repr)
def test_populations_are_their_neurons(compatibility):
    system = population(compatibility)
    expanded = system.expand()
    assert expanded.compatibility == compatibility
    solution = snp.run(system, max_steps=12)
    computation = reference.run(expanded, max_steps=12)
    assert solution.configurations.tolist() == [list(c.spikes) for c in computation.configurations]
    assert system.with_compatibility(TEXTBOOK).compatibility == TEXTBOOK
    assert system.consumption().tolist() == expanded.consumption().tolist()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: population(SPARSE_SNP_COMPRESSED), "synapses of a projection have no order"),
        (lambda: population(WEBSNAPSE_V3, within=True), "takes single synapses"),
        (lambda: one_population(["a^9(aa)*/a -> a"], guard_modulo=8), "x = n and x >= n"),
        (lambda: one_population(["a|a^2|a^9/a -> a"], guard_modulo=8), "guards of one constant"),
        (
            lambda: one_population([snp.RuleTemplate("a{2,4}", snp.ALL)], threshold_rules=True),
            "other rules of a consume-all rule",
        ),
    ],
)
def test_what_populations_cannot_hold(build, message):
    with pytest.raises(snp.InvalidSystem, match=message):
        build()


def one_population(rules: Any, **options: Any) -> snp.PopulationSystem:
    return snp.PopulationSystem(
        [snp.Population("p", 2, 1, rules)], compatibility=snp.Compatibility(**options)
    )


def test_distributed_snp_has_thresholds():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 5, ["a^2 -> a"]), snp.Neuron("y")],
        [("x", "y")],
        compatibility=DISTRIBUTED_SNP,
    )
    assert configurations(system) == [[5, 0], [3, 1], [1, 2]]


# ---- files ----


def test_files_that_cannot_hold_it(tmp_path):
    system = snp.SpikingSystem(CLOSING, STAR, compatibility=SN_P_FACTORY)
    path = tmp_path / "model.in"
    with pytest.raises(snp.WriteError, match="compatibility closed_receives, unchecked"):
        snp.write(system, path, format="websnapse")
    assert not path.exists()
    with pytest.warns(snp.WriteWarning, match="written without these options"):
        snp.write(system, path, format="websnapse", lossy=True)
    native = tmp_path / "model.snp.json"
    snp.write(system, native)
    assert snp.read(native) == system
    assert replace(system, compatibility=TEXTBOOK) == snp.SpikingSystem(CLOSING, STAR)
