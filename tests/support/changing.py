"""What the tests of networks that change share: systems that share compilations, and comparison of
runs and graphs with the reference."""

import random
import warnings
from collections.abc import Sequence

import numpy as np
from jaxtyping import Array

import snpjax as snp
from snpjax import Capacity, Network
from snpjax.testing import reference
from snpjax.testing.reference_graph import ReferenceGraph


#: Every run is at most this long, so that all share one compilation.
MAX_STEPS = 8
#: Every system that does not grow has this many neurons.
SIZE = 12
#: Room for all random systems that grow.
ROOM = Capacity(neurons=64, synapses=256)

# Terms of one rule, all of which can apply, periodic and delayed; and a count above 127, so that
# searches of all systems count in 16 bits.
_RULE = snp.Rule("a{9,10}|a{12}|a{15,17}|a{20}|a{25,28}|a{33}|a{201}(aaaa)*", 9, 1, 1)


def with_ballast(system: snp.SpikingSystem) -> snp.SpikingSystem:
    """`system` and inert neurons that have one of everything, so that random systems share one
    compilation: they never fire, and have no synapse with the others."""
    first = snp.Neuron("ballast 1", 0, [_RULE])
    others = [snp.Neuron("ballast 2")]
    weighted = [(first.name, others[0].name, 2)]
    if not system.is_growing:
        others += [snp.Neuron(f"ballast {number}") for number in range(3, 6)]
        names = [neuron.name for neuron in (first, *others)]
        changing = snp.PlasticityRule("a{40}", 40, "+", 1, [*system.names][:1] + names)
        others.append(snp.Neuron("ballast 6", 0, [changing]))
        left = SIZE - len(system.neurons) - len(others) - 1
        others += [snp.Neuron(f"ballast {7 + number}") for number in range(left)]
        if left:
            weighted.append(("ballast 6", "ballast 7", 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return system.replace(
            neurons=[*system.neurons, first, *others],
            synapses=[*system.synapses, *weighted],
            input={**system.input, first.name: (0, 0)},
            output=[*system.output, first.name],
            level="extended",
        )


def run(system: snp.SpikingSystem, **options):
    """All systems of a kind share one compilation."""
    return snp.run(system, **{"max_steps": MAX_STEPS, **_room(system), **options})


def explore(system: snp.SpikingSystem, **options) -> snp.Graph:
    """One compilation of each function for all systems of a kind."""
    return snp.explore(system, **{"chunks": (16,), **_room(system), **options})


def _room(system: snp.SpikingSystem) -> dict[str, Capacity]:
    return {"capacity": ROOM} if system.is_growing else {}


def random_run(system: snp.SpikingSystem, seed: int) -> reference.Computation:
    """A computation of the reference."""
    source = random.Random(seed)

    def choose(
        system: snp.SpikingSystem, configuration: reference.Configuration
    ) -> reference.Choice:
        return tuple(source.choice(own) for own in reference.alternatives(system, configuration))

    return reference.run(system, choose, max_steps=MAX_STEPS)


def given_choices(
    system: snp.SpikingSystem, *computations: reference.Computation
) -> snp.GivenChoices:
    """The choices of a computation of the reference, or of one for each path."""
    tables = [_choices(system, computation) for computation in computations]
    if len(tables) == 1:
        return snp.GivenChoices(*tables[0])
    steps, size = np.max([rules.shape for rules, _ in tables], axis=0)
    shape = (steps, size, len(tables))
    rules, subsets = np.full(shape, snp.NO_RULE), np.zeros(shape, int)
    for path, own in enumerate(tables):
        for table, some in zip((rules, subsets), own, strict=True):
            table[: len(some), : some.shape[1], path] = some
    return snp.GivenChoices(rules, subsets)


def _choices(
    system: snp.SpikingSystem, computation: reference.Computation
) -> tuple[np.ndarray, np.ndarray]:
    rules, subsets = [], []
    for configuration, choice in zip(
        computation.configurations[:-1], computation.choices, strict=True
    ):
        options = reference.alternatives(system, configuration)
        own = [numbered(*x) for x in zip(options, choice, strict=True)]
        rules.append([rule for rule, _ in own])
        subsets.append([subset for _, subset in own])
    return padded(rules, snp.NO_RULE), padded(subsets, 0)


def numbered(
    options: Sequence[reference.NeuronAction], selected: reference.NeuronAction
) -> tuple[int, int]:
    """The number of a rule, and that of the targets among those that this rule may take."""
    if not isinstance(selected, tuple):
        return snp.NO_RULE if selected is None else selected, 0
    rule, _ = selected
    own = [x for x in options if isinstance(x, tuple) and x[0] == rule]
    return snp.NO_RULE if rule is None else rule, own.index(selected)


def padded(rows: Sequence[Sequence[int]], empty: int, size: int | None = None) -> np.ndarray:
    """Rows of different lengths as a table."""
    widest = max(map(len, rows), default=0) if size is None else size
    table = np.full((len(rows), widest), empty)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


def network_of(configuration: reference.Configuration) -> Network:
    """The network of the reference, as a solution gives it."""
    assert configuration.network is not None
    return Network(configuration.network.labels, configuration.network.synapses)


def sent_to_outputs(
    system: snp.SpikingSystem, computation: reference.Computation
) -> list[list[int]]:
    """What the output neurons, or all of a label, emit in every step."""
    called = [[neuron.name for neuron in system.neurons]] * computation.steps
    if system.is_growing:
        called = [network_of(after).labels for after in computation.configurations[1:]]
    return [
        [sum(x for x, label in zip(row, labels, strict=True) if label == name)
         for name in system.output]
        for row, labels in zip(computation.emissions, called, strict=True)
    ]  # fmt: skip


def assert_same_run(solution: snp.Solution, computation: reference.Computation) -> None:
    """Every configuration with its network, every rule, subset and emission of a run is that of the
    reference."""
    system, steps = solution.system, computation.steps
    assert isinstance(system, snp.SpikingSystem)
    assert solution.steps == steps
    assert solution.halted == computation.halted
    size = len(solution.spikes)
    for name, history, final in (
        ("spikes", solution.configurations, solution.spikes),
        ("timers", solution.timer_history, solution.timers),
        ("pending", solution.pending_history, solution.pending),
    ):
        wanted = padded([getattr(x, name) for x in computation.configurations], 0, size)
        assert history.tolist() == wanted.tolist(), name
        assert final.tolist() == wanted[-1].tolist(), name
    wanted = padded(_choices(system, computation)[0].tolist(), snp.NO_RULE, size)
    assert solution.rules.tolist() == wanted.tolist()
    wanted = padded(computation.emissions, 0, size)
    assert solution.emissions.tolist() == wanted.tolist()
    assert solution.spike_trains.tolist() == sent_to_outputs(system, computation)
    for row, configuration in enumerate(computation.configurations):
        assert solution.network(row) == network_of(configuration), row
    assert solution.network() == network_of(computation.configurations[-1])


def assert_rests(batch: snp.SolutionBatch) -> None:
    """After its end a path repeats its last configuration, and sends nothing."""
    for path, steps in enumerate(batch.steps.tolist()):
        for history in (batch.configurations, batch.timer_history, batch.pending_history):
            assert (history[steps:, :, path] == history[steps, :, path]).all()
        assert (batch.rules[steps:, :, path] == snp.NO_RULE).all()
        assert not batch.emissions[steps:, :, path].any()
        assert not batch.spike_trains[steps:, :, path].any()


def followed(solution: snp.Solution) -> reference.Computation:
    """The computation of the reference with the choices that a run made.

    **Raises:** `ValueError` if one of them is not valid.
    """
    system = solution.system
    assert isinstance(system, snp.SpikingSystem)
    row = 0

    def choose(
        system: snp.SpikingSystem, configuration: reference.Configuration
    ) -> reference.Choice:
        nonlocal row
        before, after = (_synapses(solution.network(x)) for x in (row, row + 1))
        options = reference.alternatives(system, configuration)
        selected = [None if rule == snp.NO_RULE else rule for rule in solution.rules[row].tolist()]
        row += 1
        changed = sorted(before ^ after)
        return tuple(
            (selected[slot], tuple(target for source, target in changed if source == slot))
            if any(isinstance(x, tuple) and x[0] == selected[slot] for x in own)
            else selected[slot]
            for slot, own in enumerate(options)
        )

    return reference.run(system, choose, max_steps=solution.steps)


class Path(snp.AbstractChoice):
    """Another path than 0 in a single run."""

    choice: snp.UniformChoice
    path: Array  # an array: all paths share one compilation

    may_be_invalid = False
    tells_numbers = False

    def for_path(self, path: object) -> snp.AbstractChoice:
        del path
        return self.choice.for_path(self.path)

    def select(self, applicable: object, step: object, state: object) -> Array:
        raise AssertionError

    def subset(self, candidates: object, chosen: object, choosers: object, step: object) -> Array:
        raise AssertionError


def _synapses(network: Network) -> set[tuple[int, int]]:
    return {(source, target) for source, target, _ in network.synapses}


def assert_same_graph(graph: snp.Graph, expected: ReferenceGraph) -> None:
    """Configurations with their networks, in their order, and every choice of every step."""
    system = graph.system
    seen = graph.configurations()
    size = seen.spikes.shape[1]
    for name in ("spikes", "timers", "pending"):
        wanted = padded([getattr(x, name) for x in expected.configurations], 0, size)
        assert getattr(seen, name).tolist() == wanted.tolist(), name
    assert seen.step.tolist() == [x.input_position for x in expected.configurations]
    for number, configuration in enumerate(expected.configurations):
        assert seen.network(number) == network_of(configuration), number
    assert graph.num_expanded == expected.num_expanded
    assert graph.depths.tolist() == list(expected.depths)
    assert graph.sources.tolist() == [source for source, _, _, _ in expected.edges]
    assert graph.targets is not None
    assert graph.targets.tolist() == [target for _, _, _, target in expected.edges]
    steps = graph.transitions()
    rules, subsets = [], []
    for source, choice, _, _ in expected.edges:
        options = reference.alternatives(system, expected.configurations[source])
        own = [numbered(*x) for x in zip(options, choice, strict=True)]
        rules.append([rule for rule, _ in own])
        subsets.append([subset for _, subset in own])
    assert steps.rules.tolist() == padded(rules, snp.NO_RULE, size).tolist()
    if system.is_growing:
        assert steps.subsets is None
    else:
        assert steps.subsets is not None
        assert steps.subsets.tolist() == padded(subsets, 0, size).tolist()
    wanted = padded([emitted for _, _, emitted, _ in expected.edges], 0, size)
    assert steps.emissions.tolist() == wanted.tolist()
