"""What makes a spiking neural P system valid, at the levels *strict* and *extended*.

*Strict* is the definition of Ionescu, Paun and Yokomori; *extended* also accepts what published
systems use beside it: weights, self-synapses, p > c, forgetting with any guard. All problems are
found in one pass.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from ..._text.model_warning import ModelWarning as ModelWarning
from ..._text.nearest import misspelt_positions, near_match, nearest
from ..._text.pickling import PickledError
from .communication_variants import Channels, Requests
from .guard import Guard, as_integer
from .rule import (
    ALPHAS,
    ONE_CHANNEL,
    AnyRule,
    BuddingRule,
    DivisionRule,
    PlasticityRule,
    RequestRule,
    Rule,
    is_count,
    rule_text,
)
from .rule_syntax import parse_rule
from .variants import AntiSpikes


if TYPE_CHECKING:
    from .system import Neuron, SpikingSystem

Level: TypeAlias = Literal["strict", "extended"]
Severity: TypeAlias = Literal["error", "warning"]

MAX_PROBLEMS = 10_000  # those of a broken file with millions of lines would take gigabytes

#: Outcome of every code at (strict, extended); None accepts.
SEVERITIES: dict[str, tuple[Severity | None, Severity | None]] = {
    "unknown_neuron": ("error", "error"),
    "duplicate_neuron": ("error", "error"),
    "duplicate_synapse": ("error", "error"),
    "bad_number": ("error", "error"),
    "bad_guard": ("error", "error"),
    "forgetting_delay": ("error", "error"),
    "self_synapse": ("error", None),
    "produce_exceeds_consume": ("error", None),
    "forgetting_guard": ("error", None),
    "forgetting_overlap": ("error", None),
    "weighted_synapse": ("error", None),
    "negative_weight": ("error", "error"),
    "output_out_degree": ("warning", None),
    "dead_rule": ("warning", "warning"),
    "duplicate_rule": ("warning", "warning"),
    "unknown_position": ("warning", "warning"),
    # of networks that change
    "mixed_dynamics": ("error", "error"),
    "dynamic_options": ("error", "error"),
    "label_rules": ("error", "error"),
    "unused_label": ("warning", "warning"),
    "budding_parent": ("error", None),
    "plasticity_targets": ("error", "error"),
    "plastic_weight": ("error", "error"),
    # of variants
    "variant": ("error", None),
    "variant_options": ("error", "error"),
    "anti_spikes": ("error", "error"),
    "astrocyte": ("error", "error"),
    "synapse_rules": ("error", "error"),
    "channel": ("error", "error"),
    "unused_channel": ("warning", "warning"),
    "request": ("error", "error"),
    "timed_synapse": ("error", "error"),
}


@dataclass(frozen=True)
class Place:
    """What a problem is about: positions in the system's own tuples, or a name for `input`,
    `output`, `label`.

    `Place("rule", 2, 0)` is the first rule of the third neuron; `Place("rule", "j", 0)` that of the
    label j. In a system of populations `index` counts populations and projections, and `part` leads
    on from there: `("consume", 5)` is what the sixth neuron consumes. For `variant`, `index` counts
    its astrocytes, its channels, its synapses with rules, its delays or its schedules, and `rule`
    the rules of one.
    """

    kind: Literal[
        "neuron",
        "rule",
        "synapse_source",
        "synapse_target",
        "synapse",
        "input",
        "output",
        "variant",
    ]
    index: int | str
    rule: int | None = None
    part: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """One finding: `code` of the validity table, what it is about, and a message that says the fix.

    `first` is the earlier of the two places when the problem is a repetition.
    """

    code: str
    severity: Severity
    place: Place
    message: str
    first: Place | None = None

    def __str__(self) -> str:
        return self.message


class InvalidSystem(PickledError, ValueError):
    """A system refused when it is built, with every problem at once in `problems`."""

    def __init__(self, problems: tuple[Problem, ...]):
        self.problems = problems
        super().__init__("\n".join(f"{problem}" for problem in problems))


def check(system: "SpikingSystem") -> tuple[Problem, ...]:
    """Find the problems of a system at its level.

    **Arguments:**

    - `system`: a system of neurons; its `level` decides what is an error and what a warning.

    **Returns:** the problems in the order neurons, rules, synapses, input, output, variant; at most
    `MAX_PROBLEMS` errors and as many warnings. A system without errors is valid.
    """
    column = ("strict", "extended").index(system.level)
    found = []
    room = {"error": MAX_PROBLEMS, "warning": MAX_PROBLEMS}

    def severity_of(code: str) -> Severity | None:
        """That of a problem which is still told."""
        severity = SEVERITIES[code][column]
        return severity if severity is not None and room[severity] else None

    for code, place, message, first in _findings(system, severity_of):
        severity = severity_of(code)
        if severity is not None:
            room[severity] -= 1
            text = message if isinstance(message, str) else message()
            found.append(Problem(code, severity, place, text, first))
            if not room["error"]:
                break
    return tuple(found)


#: Code, place, message and first place. A message that is rarely wanted is made when it is.
_Finding: TypeAlias = tuple[str, Place, str | Callable[[], str], Place | None]


def _findings(system: "SpikingSystem", severity_of: Callable[[str], object]) -> Iterator[_Finding]:
    yield from _check_neurons(system)
    yield from _check_rules(system, severity_of)
    yield from _check_dynamics(system)
    yield from _check_synapses(system)
    yield from _check_environment(system)
    for name, message in misspelt_positions(system.notes.get("positions"), system.names, "neuron"):
        yield "unknown_position", Place("neuron", system.names[name]), message, None
    if system.variant is not None:
        from .variant_validity import check_variant  # which makes findings as this module does

        yield from check_variant(system)


def _check_neurons(system: "SpikingSystem") -> Iterator[_Finding]:
    seen: dict[str, int] = {}
    for index, neuron in enumerate(system.neurons):
        first = seen.setdefault(neuron.name, index)
        if first == index and type(neuron.spikes) is int and neuron.spikes >= 0:
            continue
        place = Place("neuron", index)
        if first != index:
            message = f"neuron {neuron.name!r} is declared twice (give each neuron its own name)"
            yield "duplicate_neuron", place, message, Place("neuron", first)
        if not (is_count(neuron.spikes) or (system.signed and is_integer(neuron.spikes))):
            message = (
                f"neuron {neuron.name!r} starts with {neuron.spikes!r} spikes "
                "(write an integer, 0 or more)"
            )
            yield "bad_number", place, message, None


def _check_rules(
    system: "SpikingSystem", severity_of: Callable[[str], object]
) -> Iterator[_Finding]:
    sound: set[tuple[int, ...]] = set()  # many neurons have the same rules, which are few objects
    for owner, label, rules in _owners(system):
        key = tuple(map(id, rules))
        if key not in sound:
            is_sound = True  # nothing that is told
            for finding in _check_rules_of(system, owner, label, rules):
                if severity_of(finding[0]) is not None:
                    is_sound = False
                    yield finding
            if is_sound:
                sound.add(key)


def _check_rules_of(
    system: "SpikingSystem", owner: int | str, label: str, rules: tuple[AnyRule | str, ...]
) -> Iterator[_Finding]:
    has_anti_spikes = isinstance(system.variant, AntiSpikes)
    owner_text = _owner_text(system, owner)
    seen: dict[AnyRule, Place] = {}
    for number, rule in enumerate(rules):
        place = Place("rule", owner, number)
        here = f"{owner_text}, rule {number + 1}"
        if isinstance(rule, str):
            yield "bad_guard", place, f"{here}: {parse_failure(rule, label)}", None
            continue
        first = seen.setdefault(rule, place)
        if first is not place:
            yield "duplicate_rule", place, partial(_repetition, rule, label, here), first
        numbers = list(bad_numbers(rule, has_anti_spikes))
        for name, value, fix in numbers:
            yield "bad_number", place, f"{here}: {name} is {value!r} ({fix})", None
        if numbers:
            continue
        try:
            if not can_apply(*system.compatibility.counts(rule)):
                message = (
                    f"{here}: {rule_text(rule, label)} can never apply "
                    "(no count in its guard is large enough)"
                )
                yield "dead_rule", place, message, None
        except ValueError as error:
            yield "bad_guard", place, f"{here}: {error}", None
        if isinstance(rule, RequestRule) and not isinstance(system.variant, Requests):
            message = f"{here}: {rule} is a request (build the system with variant=Requests())"
            yield "request", place, message, None
        if isinstance(rule, Rule):
            yield from _check_spiking_rule(rule, place, here)
            if rule.sign < 0 and not has_anti_spikes:
                message = (
                    f"{here}: {rule_text(rule)} is of anti-spikes "
                    "(build the system with variant=AntiSpikes())"
                )
                yield "anti_spikes", place, message, None
            if rule.channel is not None and not isinstance(system.variant, Channels):
                message = (
                    f"{here}: {rule_text(rule)} sends along a channel "
                    "(build the system with variant=Channels(...))"
                )
                yield "channel", place, message, None
    yield from _check_overlap(owner, owner_text, rules)


def _repetition(rule: AnyRule, label: str, here: str) -> str:
    return f"{here} repeats {rule_text(rule, label)} (remove one; it counts once)"


def _owners(
    system: "SpikingSystem",
) -> Iterator[tuple[int | str, str, tuple[AnyRule | str, ...]]]:
    """What has rules: its place, its label and the rules."""
    for index, neuron in enumerate(system.neurons):
        yield index, neuron.label, neuron.rules
    for label, rules in system.rules_by_label.items():
        yield label, label, rules


def _owner_text(system: "SpikingSystem", owner: int | str) -> str:
    is_label = isinstance(owner, str)
    return f"label {owner!r}" if is_label else f"neuron {system.neurons[owner].name!r}"


def _check_spiking_rule(rule: Rule, place: Place, here: str) -> Iterator[_Finding]:
    if rule.is_forgetting and rule.delay:
        message = f"{here}: a forgetting rule has no delay (remove the delay {rule.delay})"
        yield "forgetting_delay", place, message, None
    if rule.produce > rule.consume:
        yield "produce_exceeds_consume", place, partial(_excess, rule, here), None
    if rule.is_forgetting and not rule.guard.is_exactly(rule.consume):
        yield "forgetting_guard", place, partial(_inexact, rule, here), None


def _excess(rule: Rule, here: str) -> str:
    return (
        f"{here} produces {rule.produce} but consumes {rule.consume} "
        '(produce at most that many, or use level "extended")'
    )


def _inexact(rule: Rule, here: str) -> str:
    return (
        f"{here}: the guard {rule.guard} of a forgetting rule is not exactly the "
        f'{rule.consume} spikes it removes (let the guard be exactly that, or use level "extended")'
    )


def _check_overlap(
    owner: int | str, owner_text: str, rules: tuple[AnyRule | str, ...]
) -> Iterator[_Finding]:
    firing = [r.guard for r in rules if isinstance(r, Rule) and not r.is_forgetting]
    if not firing:
        return
    fires: list[Guard] | None = None
    for number, rule in enumerate(rules):
        if isinstance(rule, Rule) and rule.is_forgetting and is_count(rule.consume):
            if fires is None:
                fires = _joined(set(firing))
            if any(rule.consume in guard for guard in fires):
                message = (
                    f"{owner_text}, rule {number + 1} forgets {rule.consume} spikes, at which a "
                    'firing rule applies too (make the guards disjoint, or use level "extended")'
                )
                yield "forgetting_overlap", Place("rule", owner, number), message, None


def _joined(guards: set[Guard]) -> list[Guard]:
    """Few guards with the same counts."""
    # Small ones first: thousands of guards may be joined. Those with periods are left apart, for
    # together they may pass the limit of guards.
    plain = sorted((guard for guard in guards if guard.period == 1), key=lambda guard: guard.tail)
    joined = [reduce(or_, plain)] if plain else []
    return joined + [guard for guard in guards if guard.period > 1]


def _check_dynamics(system: "SpikingSystem") -> Iterator[_Finding]:
    grows: Place | None = None
    rewires: Place | None = None
    rules_of_label: dict[str, tuple[int, tuple[AnyRule | str, ...]]] = {}
    for index, neuron in enumerate(system.neurons):
        first, rules = rules_of_label.setdefault(neuron.label, (index, neuron.rules))
        if rules != neuron.rules and neuron.name != system.neurons[first].name:
            message = (
                f"neurons {system.neurons[first].name!r} and {neuron.name!r} share the label "
                f"{neuron.label!r} but not their rules (rules belong to the label)"
            )
            yield "label_rules", Place("neuron", index), message, Place("neuron", first)
        if neuron.label in system.rules_by_label:
            message = (
                f"label {neuron.label!r} has rules of its own although neuron {neuron.name!r} "
                "bears it (give the rules to the neuron)"
            )
            yield "label_rules", Place("neuron", index), message, None
    for owner, label, rules in _owners(system):
        if not rules or {*map(type, rules)} == {Rule}:
            continue
        for number, rule in enumerate(rules):
            if isinstance(rule, Rule):
                continue
            place = Place("rule", owner, number)
            here = f"{_owner_text(system, owner)}, rule {number + 1}"
            if isinstance(rule, DivisionRule | BuddingRule):
                grows = grows or place
            if isinstance(rule, BuddingRule) and rule.parent is not None:
                message = (
                    f"{here} relabels its parent to {rule.parent!r} "
                    '(keep the label, or use level "extended")'
                )
                yield "budding_parent", place, message, None
            if isinstance(rule, PlasticityRule):
                rewires = rewires or place
                name = label if isinstance(owner, str) else system.neurons[owner].name
                yield from _check_targets(rule, name, place, here, system.names)
    if grows and rewires:
        message = (
            "plasticity cannot be combined with division or budding: its rules name neurons, and "
            "where these divide no definition says which of those with that label a new synapse "
            "leads to (use one of them)"
        )
        yield "mixed_dynamics", max(grows, rewires, key=str), message, min(grows, rewires, key=str)
    yield from _check_unused_labels(system)
    changes = grows or rewires
    compatibility = system.compatibility
    if grows and not compatibility.is_textbook:
        message = (
            "division and budding follow the definition only "
            f"(remove the compatibility {compatibility})"
        )
        yield "dynamic_options", grows, message, None
    elif rewires and not compatibility.may_be_plastic:
        message = (
            "of all compatibility options plasticity may have `delete_within_N` only "
            f"(remove the others of {compatibility})"
        )
        yield "dynamic_options", rewires, message, None
    if changes and system.signed and not isinstance(system.variant, AntiSpikes):
        message = (
            "with division, budding and plasticity counts are never negative (remove signed=True)"
        )
        yield "dynamic_options", changes, message, None


def _check_unused_labels(system: "SpikingSystem") -> Iterator[_Finding]:
    """Report rules of labels that no neuron can come to bear, where a similar label has none."""
    if not system.rules_by_label:
        return
    labels = possible_labels(system.neurons, system.rules_by_label)
    with_rules = {label for _, label, rules in _owners(system) if rules}
    without_rules = [label for label in labels if label not in with_rules]
    for label, rules in system.rules_by_label.items():
        hint = near_match(label, without_rules) if rules and label not in labels else None
        if hint is not None:
            message = f"label {label!r} has rules, but no neuron can come to bear it ({hint})"
            yield "unused_label", Place("rule", label, 0), message, None


def _check_targets(
    rule: PlasticityRule, name: str, place: Place, here: str, names: dict[str, int]
) -> Iterator[_Finding]:
    if not rule.targets:
        yield "plasticity_targets", place, f"{here}: the set of targets is empty (name some)", None
    for target, times in Counter(rule.targets).items():
        if target == name:
            message = f"{here}: the targets hold the neuron {name!r} itself (remove it)"
            yield "plasticity_targets", place, message, None
        elif target not in names:
            yield "unknown_neuron", place, f"{here}: {unknown_neuron(target, names)}", None
        if times > 1:
            message = f"{here}: the targets hold {target!r} {times} times (name it once)"
            yield "plasticity_targets", place, message, None


def possible_labels(
    neurons: "Sequence[Neuron]", rules_by_label: Mapping[str, Sequence[AnyRule | str]]
) -> dict[str, None]:
    """The labels that neurons have, or may come to have by division and budding, in order of
    discovery."""
    rules_of = {**{neuron.label: neuron.rules for neuron in neurons}, **rules_by_label}
    found = dict.fromkeys(neuron.label for neuron in neurons)
    new = list(found)
    while new:
        for rule in rules_of.get(new.pop(), ()):
            if isinstance(rule, DivisionRule | BuddingRule):
                born = dict.fromkeys(rule.born)
                new += [label for label in born if label not in found]
                found |= born
    return found


_FEW = 1_000  # synapses, for which arrays are not worth their import


def _are_plain_synapses(system: "SpikingSystem") -> bool:
    """Whether all synapses are between different neurons, different, and weigh 1."""
    weights = [weight for _, _, weight in system.synapses]
    if len(weights) < _FEW or weights.count(1) < len(weights) or {*map(type, weights)} != {int}:
        return False
    import numpy as np

    try:
        edges = system.edges
    except KeyError:
        return False
    pairs = np.sort(edges.source * np.int64(edges.num_targets) + edges.target)
    return bool(np.all(edges.source != edges.target) and np.all(pairs[1:] != pairs[:-1]))


def _check_synapses(system: "SpikingSystem") -> Iterator[_Finding]:
    if _are_plain_synapses(system):
        return
    names = system.names
    created = {
        (neuron.name, target)
        for neuron in system.neurons
        for rule in neuron.rules
        if isinstance(rule, PlasticityRule) and "+" in str(rule.alpha)
        for target in rule.targets
    }
    seen: dict[tuple[str, str], int] = {}
    for index, (source, target, weight) in enumerate(system.synapses):
        first = seen.setdefault((source, target), index)
        is_plain = weight == 1 and type(weight) is int and source != target and first == index
        if is_plain and source in names and target in names:
            continue
        here = f"synapse ({source}, {target})"
        place = Place("synapse", index)
        if source not in names:
            message = f"{here}: {unknown_neuron(source, names)}"
            yield "unknown_neuron", Place("synapse_source", index), message, None
        if target not in names:
            message = f"{here}: {unknown_neuron(target, names)}"
            yield "unknown_neuron", Place("synapse_target", index), message, None
        if first != index:
            message = f"{here} is listed twice (remove one)"
            yield "duplicate_synapse", place, message, Place("synapse", first)
        if source == target:
            message = f'{here} leads to its own neuron (remove it, or use level "extended")'
            yield "self_synapse", place, message, None
        if weight == 1 and is_integer(weight):
            continue
        if not is_integer(weight) or weight == 0:
            message = f"{here} has weight {weight!r} (write an integer other than 0)"
            yield "bad_number", place, message, None
        elif weight < 0 and not system.signed:
            message = f"{here} has the negative weight {weight} (declare the system signed=True)"
            yield "negative_weight", place, message, None
        elif (source, target) in created:
            message = (
                f"{here} has weight {weight}, and the plasticity of {source!r} may create it "
                "again, for which no definition says a weight (give it weight 1, or leave "
                f"{target!r} out of the targets)"
            )
            yield "plastic_weight", place, message, None
        else:
            message = f'{here} has weight {weight} (use weight 1, or level "extended")'
            yield "weighted_synapse", place, message, None


def _check_environment(system: "SpikingSystem") -> Iterator[_Finding]:
    names, what = cast(Mapping[str, object], system.names), "neuron"
    if system.is_growing:
        names, what = possible_labels(system.neurons, system.rules_by_label), "label"
    for name, train in system.input.items():
        place = Place("input", name)
        if name not in names:
            yield "unknown_neuron", place, f"input: {unknown_neuron(name, names, what)}", None
        for step, spikes in enumerate(train, start=1):
            if not (is_count(spikes) or (system.signed and is_integer(spikes))):
                message = (
                    f"input of neuron {name!r}: {spikes!r} spikes in step {step} "
                    "(write an integer, 0 or more)"
                )
                yield "bad_number", place, message, None
                break
    sources = {source for source, _, _ in system.synapses} if system.output else set()
    for name in system.output:
        place = Place("output", name)
        if name not in names:
            yield "unknown_neuron", place, f"output: {unknown_neuron(name, names, what)}", None
        elif name in sources:
            message = (
                f"output neuron {name!r} has outgoing synapses (definitions ask for out-degree 0)"
            )
            yield "output_out_degree", place, message, None


def is_integer(value: object) -> bool:
    return as_integer(value) is not None and not isinstance(value, bool)


def unknown_neuron(name: str, names: Mapping[str, object], what: str = "neuron") -> str:
    """The message for a name that no neuron has, with the nearest names."""
    hint = nearest(str(name), names, f"{what}s") if names else "no neuron is declared"
    return f"there is no {what} {name!r} ({hint})"


def bad_numbers(rule: AnyRule, has_anti_spikes: bool) -> Iterator[tuple[str, object, str]]:
    """The numbers of a rule that are none: what they are of, the value and the fix."""
    if isinstance(rule, Rule | PlasticityRule) and not (
        is_count(rule.consume) and rule.consume >= 1
    ):
        yield "the number of spikes consumed", rule.consume, "write an integer, 1 or more"
    if isinstance(rule, Rule):
        may_be_negative = has_anti_spikes and is_integer(rule.produce)
        if not (is_count(rule.produce) or may_be_negative):
            fix = "write an integer, 0 or more"
            if is_integer(rule.produce):
                fix += "; anti-spikes are of systems with variant=AntiSpikes()"
            yield "the number of spikes produced", rule.produce, fix
        if not is_integer(rule.sign) or abs(rule.sign) != 1:
            yield "the sign", rule.sign, "write 1, or -1 for anti-spikes"
        if rule.channel is not None and not (isinstance(rule.channel, str) and rule.channel):
            yield "the channel", rule.channel, f"write one text; {ONE_CHANNEL}"
        if not is_count(rule.delay):
            yield "the delay", rule.delay, "write an integer, 0 or more"
        elif rule.delay >= 2**31:
            yield "the delay", "too large", "write less than 2147483648 steps"
    if isinstance(rule, PlasticityRule):
        if not (is_count(rule.k) and rule.k >= 1):
            yield "the number k of synapses", rule.k, "write an integer, 1 or more"
        if rule.alpha not in ALPHAS:
            yield "the kind of plasticity", rule.alpha, f"write one of {', '.join(ALPHAS)}"


def can_apply(guard: Guard, least: int) -> bool:
    """Whether there is a count from `least` on in the guard."""
    if not guard.is_finite:
        return True
    return guard.tail > least  # the tail of a finite guard is one more than its largest count


def parse_failure(text: str, label: str | None) -> str:
    """Why the text of a rule does not parse."""
    try:
        parse_rule(text, label)
    except ValueError as error:
        return str(error)
    raise AssertionError(f"{text!r} parses; please report this as a bug of snpjax")
