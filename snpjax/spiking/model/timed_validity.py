"""What is wrong with a variant of time: findings as `validity` makes them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .rule import is_count
from .timed_variants import DendriticDelays, Schedule, SynapseDelays, TimedVariant
from .validity import Place, unknown_neuron


if TYPE_CHECKING:
    from .system import SpikingSystem
    from .validity import _Finding

#: Steps are counted in 32 bits.
MAX_TIME = 2**30


def check_timed(system: "SpikingSystem", variant: TimedVariant) -> Iterator["_Finding"]:
    """The problems of delays and schedules."""
    existing = {(source, target) for source, target, _ in system.synapses}
    seen: dict[object, Place] = {}

    def check_pair(number: int, source: str, target: str, here: str) -> Iterator["_Finding"]:
        place = Place("variant", number)
        unknown = [name for name in (source, target) if name not in system.names]
        for name in unknown:
            yield "unknown_neuron", place, f"{here}: {unknown_neuron(name, system.names)}", None
        if not unknown and (source, target) not in existing:
            message = f"{here}: there is no such synapse (add it to the system)"
            yield "timed_synapse", place, message, None

    def check_once(number: int, what: object, here: str) -> Iterator["_Finding"]:
        place = Place("variant", number)
        if what in seen:
            yield "timed_synapse", place, f"{here} has two delays (remove one)", seen[what]
        seen.setdefault(what, place)

    match variant:
        case SynapseDelays(delays):
            for number, ((source, target), delay) in enumerate(delays):
                here = f"synapse ({source}, {target})"
                yield from check_pair(number, source, target, here)
                yield from check_once(number, (source, target), here)
                yield from _check_time(number, "the delay", delay, here)
        case DendriticDelays(delays):
            for number, (name, delay) in enumerate(delays):
                here = f"the dendrite of neuron {name!r}"
                if name not in system.names:
                    message = f"{here}: {unknown_neuron(name, system.names)}"
                    yield "unknown_neuron", Place("variant", number), message, None
                yield from check_once(number, name, here)
                yield from _check_time(number, "the delay", delay, here)
        case _:
            for number, schedule in enumerate(variant.schedules):
                here = f"schedule {number + 1}, synapse ({schedule.source}, {schedule.target})"
                yield from check_pair(number, schedule.source, schedule.target, here)
                yield from _check_schedule(system, number, schedule, here)


def _check_schedule(
    system: "SpikingSystem", number: int, schedule: Schedule, here: str
) -> Iterator["_Finding"]:
    start, stop, reference = schedule[2:]
    wrong = [*_check_time(number, "the start", start, here)]
    if stop is not None:
        wrong += _check_time(number, "the stop", stop, here)
    yield from wrong
    if not wrong and stop is not None and stop <= start:
        message = (
            f"{here}: it stops at {stop} before it starts at {start} (write a stop after the "
            "start, or None)"
        )
        yield "timed_synapse", Place("variant", number), message, None
    if reference is not None and reference not in system.names:
        message = f"{here}, reference: {unknown_neuron(reference, system.names)}"
        yield "unknown_neuron", Place("variant", number), message, None


def _check_time(number: int, what: str, value: object, here: str) -> Iterator["_Finding"]:
    if not is_count(value) or value >= MAX_TIME:  # pyright: ignore[reportOperatorIssue]
        message = f"{here}: {what} is {value!r} (write a number of steps, 0 or more and below 2^30)"
        yield "bad_number", Place("variant", number), message, None
