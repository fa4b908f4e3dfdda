"""Variants of time in the native JSON.

`{"kind": "synapse_delays", "delays": [{"from": s, "to": t, "delay": d}]}`, `{"kind":
"dendritic_delays", "delays": [{"neuron": t, "delay": d}]}` or `{"kind": "scheduled_synapses",
"schedules": [{"from": s, "to": t, "start": n, "stop": n, "reference": r}]}`, where the stop and the
reference may be left out, or null.
"""

from typing import TYPE_CHECKING

from ...spiking.model.timed_variants import (
    DendriticDelays,
    Schedule,
    ScheduledSynapses,
    SynapseDelays,
    SynapsePair,
    TimedVariant,
)
from ..json_checks import Entries
from .texts import as_lines, as_string


if TYPE_CHECKING:
    from .variants import VariantReader

TIMED_KEYS = {
    "synapse_delays": ("kind", "delays"),
    "dendritic_delays": ("kind", "delays"),
    "scheduled_synapses": ("kind", "schedules"),
}


def read_timed(reader: "VariantReader", kind: object, variant: Entries) -> TimedVariant | None:
    """The variant of a kind; `None` for another kind."""
    match kind:
        case "synapse_delays":
            return SynapseDelays(_synapse_delays(reader, variant))
        case "dendritic_delays":
            return DendriticDelays(_dendritic_delays(reader, variant))
        case "scheduled_synapses":
            return ScheduledSynapses(_schedules(reader, variant))
    return None


def _synapse_delays(reader: "VariantReader", variant: Entries) -> list[tuple[SynapsePair, int]]:
    found = []
    for entries in reader.parts(variant, "delays", "the delay", ("from", "to", "delay")):
        delay = entries.integer("delay", "the delay")
        pair = _pair(reader, entries)
        if pair is not None and delay is not None:
            found.append((pair, delay))
            reader.took(entries.path, number="delay")
    return found


def _dendritic_delays(reader: "VariantReader", variant: Entries) -> list[tuple[str, int]]:
    found = []
    for entries in reader.parts(variant, "delays", "the delay", ("neuron", "delay")):
        delay, name = entries.integer("delay", "the delay"), entries.text("neuron")
        if name is None or not reader.is_known(name, entries.at("neuron"), "a dendrite"):
            continue
        if delay is not None:
            found.append((name, delay))
            reader.took(entries.path, number="delay")
    return found


def _schedules(reader: "VariantReader", variant: Entries) -> list[Schedule]:
    found = []
    keys, optional = ("from", "to", "start"), ("stop", "reference")
    for entries in reader.parts(variant, "schedules", "the schedule", keys, optional):
        start, pair = entries.integer("start", "the start"), _pair(reader, entries)
        has = {key: entries.values.get(key) is not None for key in optional}
        stop = entries.integer("stop", "the stop") if has["stop"] else None
        reference = entries.text("reference") if has["reference"] else None
        is_known = True
        if reference is not None:
            is_known = reader.is_known(reference, entries.at("reference"), "a reference")
        is_read = has == {"stop": stop is not None, "reference": reference is not None}
        if pair is not None and start is not None and is_read and is_known:
            found.append(Schedule(*pair, start, stop, reference))
            reader.took(entries.path)
    return found


def _pair(reader: "VariantReader", entries: Entries) -> SynapsePair | None:
    """The ends of a synapse; `None` if one is not a neuron."""
    source, target = entries.text("from"), entries.text("to")
    if source is None or target is None:
        return None
    here = f"synapse ({source}, {target})"
    ends = (("from", source), ("to", target))
    is_known = [reader.is_known(name, entries.at(key), here) for key, name in ends]
    return (source, target) if all(is_known) else None


def timed_text(variant: TimedVariant) -> str:
    """The JSON of the variant."""
    match variant:
        case SynapseDelays(delays):
            kind, key = "synapse_delays", "delays"
            items = [f'{{{_ends(*pair)}, "delay": {int(delay)}}}' for pair, delay in delays]
        case DendriticDelays(delays):
            kind, key = "dendritic_delays", "delays"
            items = [f'{{"neuron": {as_string(x)}, "delay": {int(delay)}}}' for x, delay in delays]
        case _:
            kind, key = "scheduled_synapses", "schedules"
            items = list(map(_schedule_text, variant.schedules))
    return f'{{"kind": "{kind}", "{key}": {as_lines("[", items, "]")}}}'


def _schedule_text(schedule: Schedule) -> str:
    text = f'{_ends(schedule.source, schedule.target)}, "start": {int(schedule.start)}'
    if schedule.stop is not None:
        text += f', "stop": {int(schedule.stop)}'
    if schedule.reference is not None:
        text += f', "reference": {as_string(schedule.reference)}'
    return f"{{{text}}}"


def _ends(source: str, target: str) -> str:
    return f'"from": {as_string(source)}, "to": {as_string(target)}'
