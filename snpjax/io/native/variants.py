"""The variant of a system in the native JSON: how its steps differ from those of the definition.

`{"kind": "anti_spikes"}`, `{"kind": "exhaustive"}`, `{"kind": "requests"}`, `{"kind":
"astrocytes", "astrocytes": [{"synapses": [[from, to]], "threshold": n}]}`, `{"kind":
"synapse_rules", "synapses": [{"from": s, "to": t, "rules": rules}]}`, where `"to": null` is the
environment, or `{"kind": "channels", "channels": [{"channel": label, "synapses": [[from, to]]}]}`;
those of time are in `timed_variants.py`.
"""

from collections.abc import Callable

from ...spiking.model.communication_variants import Channels, Requests
from ...spiking.model.system import SpikingSystem
from ...spiking.model.timed_variants import DendriticDelays, ScheduledSynapses, SynapseDelays
from ...spiking.model.validity import Place
from ...spiking.model.variants import (
    AntiSpikes,
    Astrocyte,
    Astrocytes,
    Exhaustive,
    RuledSynapse,
    SynapseRules,
    Variant,
    added_synapses,
)
from ..json_checks import Entries, Findings
from ..json_text import JsonPath
from .rules import ReadRule, RuleReader
from .texts import as_lines, as_string, as_strings
from .timed_variants import TIMED_KEYS, read_timed, timed_text


_PATH = ("variant",)
_KEYS = {
    "anti_spikes": ("kind",),
    "exhaustive": ("kind",),
    "astrocytes": ("kind", "astrocytes"),
    "synapse_rules": ("kind", "synapses"),
    "channels": ("kind", "channels"),
    "requests": ("kind",),
    **TIMED_KEYS,
}
_OF_ASTROCYTE = ("synapses", "threshold")
_OF_SYNAPSE = ("from", "to", "rules")
_OF_CHANNEL = ("channel", "synapses")
#: Problems of what goes together with the variant, not of a part of it.
_OF_WHOLE = ("variant", "variant_options")


class VariantReader:
    """Reads the variant, and knows where its parts stand.

    - `is_known`: whether a neuron has a name, at a path; if not, it notes that.
    """

    def __init__(
        self,
        findings: Findings,
        rules: RuleReader,
        is_known: Callable[[str, JsonPath, str], bool],
    ):
        self.findings, self.rules, self.is_known = findings, rules, is_known
        self.paths: list[JsonPath] = []  # of astrocytes, channels, synapses, delays or schedules
        self.number = ""  # the key of the number of each, if there is one
        self.rules_of: list[list[ReadRule]] = []
        self.path_of: dict[RuledSynapse, JsonPath] = {}  # of synapses that belong to the system
        self.may_be_signed = False  # after a mistake: anti-spikes may have been meant

    def read(self, value: object) -> Variant | None:
        """`None` where the definition holds, or after a mistake."""
        if value is None:
            return None
        kind = value.get("kind") if isinstance(value, dict) else None
        keys = _KEYS.get(kind) if isinstance(kind, str) else None
        self.may_be_signed = keys is None
        entries = self.findings.entries(value, _PATH, '"variant"', keys, required=("kind",))
        if entries is None:
            self.may_be_signed |= kind == "anti_spikes"
            return None
        match kind:
            case "anti_spikes":
                return AntiSpikes()
            case "exhaustive":
                return Exhaustive()
            case "requests":
                return Requests()
            case "astrocytes":
                return self._astrocytes(entries)
            case "synapse_rules":
                return self._synapse_rules(entries)
            case "channels":
                return self._channels(entries)
        timed = read_timed(self, kind, entries)
        if timed is not None:
            return timed
        fix = f"write one of {', '.join(_KEYS)}"
        return self.findings.wrong(kind, (*_PATH, "kind"), "the kind of variant", fix)

    def parts(
        self,
        variant: Entries,
        key: str,
        what: str,
        keys: tuple[str, ...],
        optional: tuple[str, ...] = (),
    ) -> list[Entries]:
        """The parts of the variant, such as astrocytes; those without one of the `keys` are left
        out."""
        items, known = variant.items(key) if variant.has(key) else [], (*keys, *optional)
        found = [self.findings.entries(item, path, what, known, keys) for path, item in items]
        return [entries for entries in found if entries is not None]

    def took(self, path: JsonPath, number: str = "") -> None:
        """Note where the next part of the variant stands, and the key of its number."""
        self.paths.append(path)
        self.number = number

    def _astrocytes(self, variant: Entries) -> Astrocytes:
        found = []
        for entries in self.parts(variant, "astrocytes", "the astrocyte", _OF_ASTROCYTE):
            threshold = entries.integer("threshold", "the threshold")
            pairs = self._pairs(entries, f"astrocyte {len(found) + 1}", "an astrocyte")
            if threshold is not None and pairs is not None:
                found.append(Astrocyte(pairs, threshold))
                self.took(entries.path, number="threshold")
        return Astrocytes(found)

    def _channels(self, variant: Entries) -> Channels:
        found = []
        for entries in self.parts(variant, "channels", "the channel", _OF_CHANNEL):
            label = entries.text("channel")
            pairs = self._pairs(entries, f"channel {label!r}", "a channel")
            if label is not None and pairs is not None:
                found.append((label, pairs))
                self.took(entries.path)
        return Channels(found)

    def _pairs(self, part: Entries, name: str, kind: str) -> list[tuple[str, str]] | None:
        """The synapses of an astrocyte or a channel; `None` if one is none, or names no neuron."""
        items, pairs = part.items("synapses"), []
        for path, item in items:
            pair = self.findings.pair(
                item, path, f"a synapse of {kind}", "items (write [from, to])"
            )
            if pair is not None:
                here = f"{name}, synapse ({pair[0]}, {pair[1]})"
                if all([self.is_known(x, (*path, end), here) for end, x in enumerate(pair)]):
                    pairs.append(pair)
                    self.path_of.setdefault(pair, path)
        is_list = isinstance(part.values["synapses"], list)
        return pairs if is_list and len(pairs) == len(items) else None

    def _synapse_rules(self, variant: Entries) -> SynapseRules:
        found = []
        for entries in self.parts(variant, "synapses", "the synapse", _OF_SYNAPSE):
            source, is_inside = entries.text("from"), entries.values["to"] is not None
            target = entries.text("to") if is_inside else None
            rules = self.rules.read_spiking(entries.values["rules"], entries.at("rules"))
            if source is None or (target is None and is_inside):
                continue
            what = f"synapse ({source}, {'the environment' if target is None else target})"
            is_known = self.is_known(source, entries.at("from"), what)
            if target is not None:
                is_known &= self.is_known(target, entries.at("to"), what)
            if is_known:
                self.path_of.setdefault((source, target), entries.path)
                self.rules_of.append(rules)
                self.paths.append(entries.path)
                found.append(((source, target), [rule.rule for rule in rules]))
        return SynapseRules(found)

    # Places

    def added_synapses(
        self, variant: Variant | None, given: set[tuple[str, str]]
    ) -> list[JsonPath]:
        """Where the synapses of the variant stand that a system has besides the given ones."""
        return [self.path_of[pair] for pair in added_synapses(variant) if pair not in given]

    def rule(self, place: Place) -> ReadRule | None:
        """The rule of a synapse that a problem is about, if it is."""
        if place.kind != "variant" or place.rule is None:
            return None
        assert isinstance(place.index, int)
        return self.rules_of[place.index][place.rule]

    def path(self, place: Place, code: str) -> JsonPath:
        """Where a problem of the variant is."""
        if code in _OF_WHOLE or not self.paths:
            return _PATH
        assert isinstance(place.index, int)
        path = self.paths[place.index]
        return (*path, self.number) if code == "bad_number" and self.number else path


def variant_text(system: SpikingSystem, rules: Callable[..., str]) -> str:
    """The JSON of the variant; `rules` makes that of a list of rules."""
    match system.variant:
        case AntiSpikes():
            return '{"kind": "anti_spikes"}'
        case Exhaustive():
            return '{"kind": "exhaustive"}'
        case Requests():
            return '{"kind": "requests"}'
        case Astrocytes(astrocytes):
            items = []
            for astrocyte in astrocytes:
                pairs = ", ".join(map(as_strings, astrocyte.synapses))
                items.append(f'{{"synapses": [{pairs}], "threshold": {int(astrocyte.threshold)}}}')
            return f'{{"kind": "astrocytes", "astrocytes": {as_lines("[", items, "]")}}}'
        case Channels(channels):
            items = []
            for label, own in channels:
                pairs = ", ".join(map(as_strings, own))
                items.append(f'{{"channel": {as_string(label)}, "synapses": [{pairs}]}}')
            return f'{{"kind": "channels", "channels": {as_lines("[", items, "]")}}}'
        case SynapseRules(ruled):
            items = []
            for (source, target), own in ruled:
                to = "null" if target is None else as_string(target)
                listed = rules(own, "", f"synapse ({source}, {to})")
                items.append(f'{{"from": {as_string(source)}, "to": {to}, "rules": {listed}}}')
            return f'{{"kind": "synapse_rules", "synapses": {as_lines("[", items, "]")}}}'
        case SynapseDelays() | DendriticDelays() | ScheduledSynapses() as timed:
            return timed_text(timed)
    raise AssertionError(f"{system.variant!r} is not written; please report a bug of snpjax")
