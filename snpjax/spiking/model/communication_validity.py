"""What is wrong with channels and requests: findings as `validity` makes them."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .communication_variants import Channels
from .rule import RequestRule, Rule, is_count
from .validity import Place, unknown_neuron


if TYPE_CHECKING:
    from .system import SpikingSystem
    from .validity import _Finding


def check_channels(system: "SpikingSystem", variant: Channels) -> Iterator["_Finding"]:
    """The problems of channels, of what belongs to them and of what sends along them."""
    seen: dict[object, Place] = {}
    for number, (label, synapses) in enumerate(variant.channels):
        place = Place("variant", number)
        if not (isinstance(label, str) and label):
            yield "channel", place, f"the channel {label!r} has no name (write a text)", None
        if label in seen:
            message = f"channel {label!r} is declared twice (write its synapses in one list)"
            yield "channel", place, message, seen[label]
        seen.setdefault(label, place)
        for (source, target), times in Counter(synapses).items():
            if times > 1:
                message = f"channel {label!r} has synapse ({source}, {target}) twice (remove one)"
                yield "channel", place, message, None
    for number, (source, target, _) in enumerate(system.synapses):
        if (source, target) not in variant.channels_of_synapse:
            message = f"synapse ({source}, {target}) belongs to no channel (add it to one)"
            yield "channel", Place("synapse", number), message, None
    leaving = {
        (source, label) for (source, _), own in variant.channels_of_synapse.items() for label in own
    }
    for index, neuron in enumerate(system.neurons):
        for number, rule in enumerate(neuron.rules):
            place = Place("rule", index, number)
            here = f"neuron {neuron.name!r}, rule {number + 1}"
            if not isinstance(rule, Rule):
                continue
            if rule.delay:
                message = f"{here}: with channels rules have no delay (remove '; {rule.delay}')"
                yield "channel", place, message, None
            if rule.is_forgetting and rule.channel is not None:
                message = f"{here}: {rule} forgets, and sends nothing (remove the channel)"
                yield "channel", place, message, None
            elif not rule.is_forgetting and rule.channel is None:
                message = (
                    f"{here}: {rule} names no channel to send along (name one, as a -> a(1) does)"
                )
                yield "channel", place, message, None
            elif (
                not rule.is_forgetting
                and (neuron.name, rule.channel) not in leaving
                and neuron.name not in system.output
            ):
                message = (
                    f"{here}: no synapse of channel {rule.channel!r} leaves neuron "
                    f"{neuron.name!r}, so that what {rule} sends is lost (add one)"
                )
                yield "unused_channel", place, message, None


def check_requests(system: "SpikingSystem") -> Iterator["_Finding"]:
    """The problems of requests, and of what does not go together with them."""
    for index, neuron in enumerate(system.neurons):
        for number, rule in enumerate(neuron.rules):
            place = Place("rule", index, number)
            here = f"neuron {neuron.name!r}, rule {number + 1}"
            if isinstance(rule, RequestRule):
                for code, message in _check_queries(system, neuron.name, rule):
                    yield code, place, f"{here}: {message}", None
            elif isinstance(rule, Rule):
                message = (
                    f"{here}: {rule} is not a request, and spikes move on request only "
                    "(write a^2/Q(a, j))"
                )
                yield "request", place, message, None
    if system.synapses:
        message = "spikes move on request only, along no synapses (remove the synapses)"
        yield "request", Place("synapse", 0), message, None
    if system.output:
        message = (
            "nothing is emitted on request (remove the output, and read what the neuron "
            f"{system.output[0]!r} holds)"
        )
        yield "request", Place("output", system.output[0]), message, None
    if system.signed:
        message = "the variant Requests has no negative counts (remove signed=True)"
        yield "variant_options", Place("variant", 0), message, None


def _check_queries(
    system: "SpikingSystem", name: str, rule: RequestRule
) -> Iterator[tuple[str, str]]:
    """The codes and messages of one request."""
    if not rule.queries:
        yield "request", f"{rule} has no queries (write a^2/Q(a, j))"
    for count, asked in rule.queries:
        if count is not None and not (is_count(count) and count >= 1):
            fix = "write an integer, 1 or more, or None for all"
            yield "bad_number", f"the number of spikes asked for is {count!r} ({fix})"
        if asked == name:
            yield "request", f"the neuron {name!r} asks itself (ask others)"
        elif asked not in system.names:
            yield "unknown_neuron", unknown_neuron(asked, system.names)
    for asked, times in Counter(query.neuron for query in rule.queries).items():
        if times > 1:
            yield "request", f"it asks neuron {asked!r} {times} times (write one query)"
