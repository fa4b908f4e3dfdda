"""The part of the reference interpreter that is for variants of time: spikes that arrive later, and
synapses that exist in some steps only."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from snpjax_formats.arguments import explain_arguments

from ..spiking.model.system import SpikingSystem
from ..spiking.model.timed_variants import DendriticDelays, ScheduledSynapses, SynapseDelays


class ReferenceTiming(NamedTuple):
    """- `in_flight`: (steps, neuron, spikes), ascending: what arrives in that many steps, 1 being
      the next one; sums of 0 are left out.
    - `ages`: of the reference neurons of schedules in order: in the next step their last emission
      will have been that many steps ago, `None` before the first; no more than where nothing
      changes after.
    """

    in_flight: tuple[tuple[int, int, int], ...] = ()
    ages: tuple[int | None, ...] = ()


def initial_timing(system: SpikingSystem) -> ReferenceTiming | None:
    """The initial timing: nothing is in flight, and no reference neuron has emitted.

    **Arguments:**

    - `system`: a system.

    **Returns:** the timing; `None` without a variant of time.
    """
    match system.variant:
        case SynapseDelays() | DendriticDelays():
            return ReferenceTiming()
        case ScheduledSynapses():
            return ReferenceTiming((), (None,) * len(references(system)))
    return None


def references(system: SpikingSystem) -> list[str]:
    """The neurons that schedules count from.

    **Arguments:**

    - `system`: a system of the variant `ScheduledSynapses`.

    **Returns:** their names, in order of first appearance.

    **Raises:** `TypeError` for a system of another variant.
    """
    if not isinstance(system.variant, ScheduledSynapses):
        raise TypeError("`system` is not of the variant ScheduledSynapses, so it has no schedules.")
    names = dict.fromkeys(schedule.reference for schedule in system.variant.schedules)
    return [name for name in names if name is not None]


def schedule_end(system: SpikingSystem) -> int:
    """The step from which schedules that count from the beginning no longer change.

    **Arguments:**

    - `system`: a system.

    **Returns:** the number of this step; 0 without such schedules.
    """
    if not isinstance(system.variant, ScheduledSynapses):
        return 0
    return _last(system.variant, None)


def _last(variant: ScheduledSynapses, reference: str | None) -> int:
    """The last age at which a schedule of a reference changes."""
    own = [schedule for schedule in variant.schedules if schedule.reference == reference]
    return max((max(schedule.start, schedule.stop or 0) for schedule in own), default=0)


class TimedDelivery(NamedTuple):
    """- `synapses`: by the positions of their neurons, those that deliver at once.
    - `arriving`: (neuron, spikes) that were in flight.
    - `timing`: afterwards.
    """

    synapses: list[tuple[int, int, int]]
    arriving: list[tuple[int, int]]
    timing: ReferenceTiming


def delivered_in_time(
    system: SpikingSystem, timing: ReferenceTiming, step: int, emissions: Sequence[int]
) -> TimedDelivery:
    """What a step delivers under a variant of time.

    **Arguments:**

    - `system`: a system of one of these variants.
    - `timing`: the timing before the step.
    - `step`: the number of the step, the first being 1; at most `schedule_end(system) + 1`.
    - `emissions`: the spikes that each neuron emits in the step.

    **Returns:** the synapses that deliver at once, the spikes that arrive late, and the next
    timing.
    """
    names = system.names
    if isinstance(system.variant, ScheduledSynapses):
        now: dict[str | None, int | None] = {
            name: 0 if emissions[names[name]] != 0 else age
            for name, age in zip(references(system), timing.ages, strict=True)
        }
        after = tuple(
            None if age is None else min(age + 1, max(_last(system.variant, name), 1))
            for name, age in now.items()
        )
        now[None] = step
        existing = [
            (names[source], names[target], weight)
            for source, target, weight in system.synapses
            if _exists(system.variant, source, target, now)
        ]
        return TimedDelivery(existing, [], ReferenceTiming((), after))
    at_once: list[tuple[int, int, int]] = []
    in_flight: Counter[tuple[int, int]] = Counter()
    arriving: list[tuple[int, int]] = []
    for steps, neuron, spikes in timing.in_flight:
        if steps == 1:
            arriving.append((neuron, spikes))
        else:
            in_flight[steps - 1, neuron] += spikes
    for source, target, weight in system.synapses:
        delay = _delay(system, source, target)
        if delay == 0:
            at_once.append((names[source], names[target], weight))
        else:
            in_flight[delay, names[target]] += weight * emissions[names[source]]
    listed = sorted((steps, neuron, k) for (steps, neuron), k in in_flight.items() if k != 0)
    return TimedDelivery(at_once, arriving, ReferenceTiming(tuple(listed)))


def _delay(system: SpikingSystem, source: str, target: str) -> int:
    match system.variant:
        case SynapseDelays(delays):
            return dict(delays).get((source, target), 0)
        case DendriticDelays(delays):
            return dict(delays).get(target, 0)
    return 0


def _exists(
    variant: ScheduledSynapses, source: str, target: str, now: dict[str | None, int | None]
) -> bool:
    own = [s for s in variant.schedules if (s.source, s.target) == (source, target)]
    for schedule in own:
        age = now[schedule.reference]
        if age is None or age < schedule.start:
            continue
        if schedule.stop is None or age < schedule.stop:
            return True
    return not own


explain_arguments(__name__)
