"""Variants of the model, which make a step in another way than the definition: the argument
`variant` of a `SpikingSystem`."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple, TypeAlias

from .communication_variants import Channels, Requests
from .rule import AnyRule, Rule, RuleError
from .rule_syntax import parse_rule
from .timed_variants import TimedVariant


#: Source and target of a synapse; the target `None` is the environment.
RuledSynapse: TypeAlias = tuple[str, str | None]

#: More alternatives of one neuron are refused: each is a rule of the program.
MAX_ALTERNATIVES = 4096


@dataclass(frozen=True)
class AntiSpikes:
    """Neurons hold spikes or anti-spikes, which annihilate each other at once: a count is negative
    where they are anti-spikes.

    A rule of anti-spikes (`Rule(..., sign=-1)`, written `ā^2/ā -> a`) tests its guard on their
    number and removes them; a negative production sends anti-spikes. Initial spikes and input may
    be negative, and so may weights: the system is `signed`. Plasticity rules test and consume
    spikes, and a synapse that is created brings a spike.

    ??? cite "Source"
        Pan, Paun 2009, "Spiking neural P systems with anti-spikes". Differs from it in: 1. extended
        rules; 2. annihilation needs no rule of its own, and happens before any rule is selected.
        Together with plasticity: Yang, Li, Huang, Peng, Wang 2019, "Spiking neural P systems with
        structural plasticity and anti-spikes", to be compared with what stands here.
    """


@dataclass(frozen=True)
class Exhaustive:
    """The rule that a neuron with k spikes selects is used n = floor(k / c) times at once: n c
    spikes are consumed, and n p spikes leave together.

    Emissions have no bound then. A step that would emit more than is safe to count ends the run as
    an overflow does.

    ??? cite "Source"
        Ionescu, Paun, Yokomori 2007, "Spiking neural P systems with an exhaustive use of rules".
    """


@dataclass(frozen=True)
class Astrocyte:
    """An astrocyte that controls `synapses`, `(source, target)` by name.

    With n spikes on them in a step, counted with weights: they all pass where n < `threshold`, they
    are all suppressed where n > `threshold`, and where n = `threshold` either is chosen.
    """

    synapses: tuple[tuple[str, str], ...]
    threshold: int

    def __init__(self, synapses: Sequence[tuple[str, str]], threshold: int) -> None:
        object.__setattr__(self, "synapses", tuple((x, y) for x, y in synapses))
        object.__setattr__(self, "threshold", threshold)


@dataclass(frozen=True)
class Astrocytes:
    """Hybrid astrocytes, each of which controls synapses; none is controlled by two.

    The astrocyte of index a chooses as neuron number (number of neurons) + a would, among two
    subsets: 0 passes, 1 suppresses. So `GivenChoices` have a column for it after those of the
    neurons: no rule, and that number in `subsets`. It matters only where n is the threshold.

    ??? cite "Source"
        Pan, Wang, Hoogeboom 2012, "Spiking neural P systems with astrocytes". Differs from it in:
        1. a synapse belongs to one astrocyte at most; 2. where nothing is on the synapses nothing
        is chosen, whatever the threshold.
    """

    astrocytes: tuple[Astrocyte, ...]

    def __init__(self, astrocytes: Sequence[Astrocyte]) -> None:
        for astrocyte in astrocytes:
            if not isinstance(astrocyte, Astrocyte):
                raise TypeError(
                    f"{astrocyte!r} is not an astrocyte (write Astrocyte(synapses, threshold))"
                )
        object.__setattr__(self, "astrocytes", tuple(astrocytes))


class Alternative(NamedTuple):
    """What a neuron may do whose synapses have rules: remove `consume` spikes, and use these rules,
    one for each of its synapses, or `None` where no rule that consumes this many is applicable."""

    consume: int
    rules: tuple[Rule | None, ...]


@dataclass(frozen=True)
class SynapseRules:
    """Rules sit on synapses, and neurons hold spikes only.

    In a step each neuron takes one c for which a synapse of it has an applicable rule; each of its
    synapses that has applicable rules consuming c uses one of them. The c spikes are removed once,
    and each rule delivers its own p to its own target, by the weight of the synapse. There are no
    delays.

    **Arguments:**

    - `rules`: `{("i", "j"): ["a/a -> a", ...], ("o", None): [...]}`, where `None` is the
      environment: what is sent there is the emission of the neuron. These synapses need not be
      given to the system again, but for those of other weights or without rules.

    What a neuron may do is numbered, and these numbers are its "rules" in solutions and choices: by
    c in the order of its first rule, and for one c all combinations of a rule or `None` for each
    synapse, synapses and rules in order of declaration, `None` last, the last synapse varying
    fastest; `alternatives` lists them. All that are applicable are equally likely.

    ??? cite "Source"
        Song, Pan, Paun 2014, "Spiking neural P systems with rules on synapses". Differs from it in:
        1. extended rules; 2. weights.
    """

    rules: tuple[tuple[RuledSynapse, tuple[AnyRule | str, ...]], ...]

    def __init__(
        self,
        rules: Mapping[RuledSynapse, Sequence[AnyRule | str]]
        | Mapping[tuple[str, str], Sequence[AnyRule | str]]
        | Sequence[tuple[RuledSynapse, Sequence[AnyRule | str]]],
    ) -> None:
        pairs = rules.items() if isinstance(rules, Mapping) else rules
        listed = (((s, t), (own,) if isinstance(own, str) else own) for (s, t), own in pairs)
        parsed = tuple((pair, tuple(map(_parsed, own))) for pair, own in listed)
        object.__setattr__(self, "rules", parsed)

    @cached_property
    def leaving(self) -> dict[str, dict[str | None, tuple[Rule, ...]]]:
        """The synapses of every neuron that has any, with their rules; a repeated rule counts
        once."""
        found: dict[str, dict[str | None, tuple[Rule, ...]]] = {}
        for (source, target), rules in self.rules:
            own = (rule for rule in rules if isinstance(rule, Rule))
            found.setdefault(source, {})[target] = tuple(dict.fromkeys(own))
        return found

    def num_alternatives(self, source: str) -> int:
        """How many `alternatives` there are."""
        synapses = self.leaving.get(source, {}).values()
        consumed = dict.fromkeys(rule.consume for rules in synapses for rule in rules)
        return sum(
            prod(1 + sum(rule.consume == c for rule in rules) for rules in synapses) - 1
            for c in consumed
        )

    def alternatives(self, source: str) -> tuple[Alternative, ...]:
        """All that a neuron may do at any number of spikes, by number."""
        synapses = self.leaving.get(source, {}).values()
        consumed = dict.fromkeys(rule.consume for rules in synapses for rule in rules)
        return tuple(
            Alternative(c, combination)
            for c in consumed
            for combination in itertools.product(
                *([*(rule for rule in rules if rule.consume == c), None] for rules in synapses)
            )
            if any(rule is not None for rule in combination)
        )

    def text(self, source: str, number: int) -> str:
        """An alternative of a neuron in the notation of papers: its rules with their targets.

        **Arguments:**

        - `source`: the name of the neuron.
        - `number`: the number of the alternative.
        """
        rules = self.alternatives(source)[number].rules
        return ", ".join(
            f"{rule} ({'environment' if target is None else target})"
            for target, rule in zip(self.leaving[source], rules, strict=True)
            if rule is not None
        )


Variant: TypeAlias = (
    AntiSpikes | Exhaustive | Astrocytes | SynapseRules | Channels | Requests | TimedVariant
)


def added_synapses(variant: Variant | None) -> list[tuple[str, str]]:
    """The synapses that a variant names, and that its system does not have to list again."""
    if isinstance(variant, SynapseRules):
        return [(source, target) for (source, target), _ in variant.rules if target is not None]
    return list(variant.channels_of_synapse) if isinstance(variant, Channels) else []


def _parsed(rule: AnyRule | str) -> AnyRule | str:
    """A text that does not parse is kept: the system reports it with its synapse."""
    try:
        return parse_rule(rule) if isinstance(rule, str) else rule
    except RuleError:
        return rule
