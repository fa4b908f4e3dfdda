"""Proof that a system is unbounded: choices that can be repeated for ever, and add spikes each
time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import gcd

import numpy as np
from jaxtyping import Int

from ...choice import NO_RULE, GivenChoices
from ...spiking.model.rule import PlasticityRule, Rule
from ...spiking.model.system import SpikingSystem
from ..systems import SpikingGraph, refuse_nets
from ..tracing import on_host


# Where loops are looked for, see `growth`.
_MAX_STARTS = 64
_MAX_ROWS = 2**12
_MAX_LOOP = 256
_MAX_PAIRS = 32


@dataclass(frozen=True, eq=False)
class Growth:
    """Choices that lead from the initial configuration to one, and from there to the same with
    more spikes, where they can be made again, for ever: the system is unbounded.

    - `prefix_rules`, `loop_rules`: the rule that each neuron selects in each step, or `NO_RULE`.
    - `prefix_subsets`, `loop_subsets`: the number of the subset that each plasticity rule takes.
    - `grows`: by how many spikes each neuron grows in a round; the others have the same spikes
      after it. In a signed system a number may be negative. Saturated neurons are left out.
    - `configuration`: the number in the graph of the configuration from which the loop starts.
    """

    system: SpikingSystem = field(repr=False)
    configuration: int
    prefix_rules: Int[np.ndarray, "prefix neurons"] = field(repr=False)
    loop_rules: Int[np.ndarray, "loop neurons"] = field(repr=False)
    grows: Mapping[str, int]
    prefix_subsets: Int[np.ndarray, "prefix neurons"] | None = field(repr=False, default=None)
    loop_subsets: Int[np.ndarray, "loop neurons"] | None = field(repr=False, default=None)

    @property
    def prefix(self) -> GivenChoices:
        """The choices of the first steps, up to `configuration`."""
        return GivenChoices(self.prefix_rules, self.prefix_subsets)

    @property
    def loop(self) -> GivenChoices:
        """The choices of one round."""
        return GivenChoices(self.loop_rules, self.loop_subsets)

    @property
    def num_steps(self) -> tuple[int, int]:
        """Steps before the loop, and of one round."""
        return len(self.prefix_rules), len(self.loop_rules)

    def replay(self, rounds: int) -> GivenChoices:
        """The choices of the steps before the loop and of n rounds of it.

        **Arguments:**

        - `rounds`: how many times the loop is repeated, 0 or more.

        **Returns:** choices for `snpjax.run(choice=...)`.
        """
        rules = np.concatenate([self.prefix_rules, *[self.loop_rules] * rounds])
        if self.prefix_subsets is None or self.loop_subsets is None:
            return GivenChoices(rules)
        subsets = np.concatenate([self.prefix_subsets, *[self.loop_subsets] * rounds])
        return GivenChoices(rules, subsets)

    def __str__(self) -> str:
        prefix, loop = self.num_steps
        more = ", ".join(f"{name} by {spikes}" for name, spikes in self.grows.items())
        every = "every step" if loop == 1 else f"every {loop} steps"
        after = f"After {prefix} step{'' if prefix == 1 else 's'}"
        return f"{after}, {every} can be repeated for ever and change {more}"


@on_host("growth")
def growth(graph: SpikingGraph) -> Growth | None:
    """Prove that the system of an incomplete graph is unbounded.

    **Arguments:**

    - `graph`: the graph of a spiking system, from `explore`, that reached a limit.

    **Returns:** a `Growth`, whose loop of choices can be repeated for ever, or `None` if no proof
    was found.

    A loop of choices from c to d = c + delta proves it if they stay valid when any multiple of
    delta is added. Guards are not monotone, so that is checked for all multiples: where a neuron's
    count carries some of delta, the selected rule must apply at each of them, or no rule at any;
    guards are ultimately periodic, hence finitely many multiples say it of all.

    An infinite graph has such pairs c, d on a path of its breadth-first tree (lemmas of König and
    Dickson), if not always with choices that can be repeated. They are looked for on the shortest
    paths to 64 of the deepest configurations and to those with the most spikes in each of the
    first 64 neurons: in the last 4096 configurations of each path, for loops of at most 256 steps,
    and at 32 places for each length. So `None` says nothing of a graph that is not complete. A
    complete one is bounded.

    **Raises:** `NotImplementedError` for a system of populations, one that divides or buds, or one
    with `compatibility` options; `TypeError` for a net or its graph, with what to use.
    """
    refuse_nets("growth", graph)
    if graph.is_complete:
        return None
    system = _provable(graph.system)
    for last in _starts(graph):
        found = _loop_on_path(graph, system, last)
        if found is not None:
            return found
    return None


def _provable(system: object) -> SpikingSystem:
    """A system of which growth can be proved. **Raises:** `NotImplementedError` for any other."""
    if not isinstance(system, SpikingSystem):
        raise NotImplementedError(
            "Growth is proved for systems given neuron by neuron. Explore `system.expand()`."
        )
    if system.is_growing:
        raise NotImplementedError("Growth is proved for systems whose neurons stay as many.")
    if system.variant is not None:
        raise NotImplementedError(
            f"Growth is proved by the definition, and the system has the variant {system.variant}."
        )
    if not replace(system.compatibility, late_consumption=False).may_be_plastic:
        raise NotImplementedError(
            f"Growth is proved by the definition, and the system has {system.compatibility}. "
            "Explore it without `compatibility`."
        )
    return system


def _starts(graph: SpikingGraph) -> list[int]:
    """Ends of the paths to look at."""
    low, high = graph.depth_starts[-2:]
    deepest = np.linspace(low, high - 1, min(_MAX_STARTS, high - low)).astype(int)
    most = min(_MAX_STARTS, graph.num_columns)
    # Sizes, because counts may grow below 0 in a signed system.
    sizes = graph.map(lambda configurations: np.abs(configurations.spikes[:, :most]))
    return list(dict.fromkeys([*deepest.tolist(), *sizes.argmax(axis=0).tolist()]))


def _loop_on_path(graph: SpikingGraph, system: SpikingSystem, last: int) -> Growth | None:
    path = np.asarray(graph.path_to(last))
    skipped = max(len(path) - _MAX_ROWS, 0)
    seen = graph.configurations(path[skipped:])
    spikes = seen.spikes.astype(np.int64)
    saturated = [system.position_of(name) for name in graph.saturate]
    spikes[:, saturated] = 0
    # A network that has changed is another configuration, whatever the spikes.
    others = [seen.timers, seen.pending, seen.step[:, None]]
    if (changing := graph.schema.changing) is not None:
        others.append(changing(seen))
    others = np.concatenate(others, axis=1)
    steps = graph.steps_to(last)
    rules, subsets = steps.rules, steps.subsets
    is_proof = _Proof(system, spikes, seen.timers, rules[skipped:])
    for length, starts in _candidates(spikes, others, signed=system.signed):
        if any(is_proof(start, length) for start in starts[: -_MAX_PAIRS - 1 : -1]):
            # The same loop may be possible earlier.
            start = next(start for start in starts if is_proof(start, length))
            delta = spikes[start + length] - spikes[start]
            grows = {system.name_of(i): int(delta[i]) for i in np.flatnonzero(delta).tolist()}
            begin = start + skipped
            return Growth(
                system=system,
                configuration=int(path[begin]),
                prefix_rules=rules[:begin],
                loop_rules=rules[begin : begin + length],
                grows=grows,
                prefix_subsets=None if subsets is None else subsets[:begin],
                loop_subsets=None if subsets is None else subsets[begin : begin + length],
            )
    return None


def _candidates(
    spikes: Int[np.ndarray, "rows neurons"], others: Int[np.ndarray, "rows fields"], *, signed: bool
) -> Iterator[tuple[int, list[int]]]:
    """Lengths, and the rows after which there are this many steps to a row with more spikes and
    nothing else different."""
    for length in range(1, min(_MAX_LOOP, len(spikes) - 1) + 1):
        delta = spikes[length:] - spikes[:-length]
        is_one = np.all(others[length:] == others[:-length], axis=1) & np.any(delta != 0, axis=1)
        if not signed:
            is_one &= np.all(delta >= 0, axis=1)
        if is_one.any():
            yield length, np.flatnonzero(is_one).tolist()


class _Proof:
    """Whether the steps from a row of a path to a later one can be repeated for ever."""

    def __init__(
        self,
        system: SpikingSystem,
        spikes: Int[np.ndarray, "rows neurons"],
        timers: Int[np.ndarray, "rows neurons"],
        rules: Int[np.ndarray, "steps neurons"],
    ):
        self.spikes, self.timers, self.rules = spikes, timers, rules

        @cache
        def same(neuron: int, selected: int, count: int, delta: int) -> bool:
            own = [x for x in system.neurons[neuron].rules if isinstance(x, Rule | PlasticityRule)]
            if selected != NO_RULE:
                return applies_always(own[selected], count, delta)
            return all(applies_never(rule, count, delta) for rule in own)

        self.same = same

    def __call__(self, start: int, length: int) -> bool:
        delta = self.spikes[start + length] - self.spikes[start]
        steps = slice(start, start + length)
        grows = np.flatnonzero(delta)
        is_open = self.timers[steps, grows] == 0  # a closed neuron selects nothing anyway
        step, which = np.nonzero(is_open)
        return all(
            map(
                self.same,
                grows[which].tolist(),
                self.rules[steps, grows][step, which].tolist(),
                self.spikes[steps, grows][step, which].tolist(),
                delta[grows[which]].tolist(),
            )
        )


def applies_always(rule: Rule | PlasticityRule, count: int, delta: int) -> bool:
    """Whether a rule applies to `count` spikes with any multiple of `delta` more."""
    return all(k >= rule.consume and k in rule.guard for k in _counts(rule, count, delta))


def applies_never(rule: Rule | PlasticityRule, count: int, delta: int) -> bool:
    """Whether a rule applies to none of these counts."""
    return not any(k >= rule.consume and k in rule.guard for k in _counts(rule, count, delta))


def _counts(rule: Rule | PlasticityRule, count: int, delta: int) -> range:
    """Enough of the counts: from `tail` on, membership in a guard has its period; and no rule
    applies to less than 1 spike."""
    if delta < 0:
        return range(count, min(count, 0) + delta - 1, delta)
    tail = max(rule.guard.tail, rule.consume)
    before = max(-((count - tail) // delta), 0)
    return range(
        count, count + delta * (before + rule.guard.period // gcd(rule.guard.period, delta)), delta
    )
