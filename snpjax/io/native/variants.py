"""The variant of a system in the native JSON: how its steps differ from those of the definition.

`{"kind": "anti_spikes"}`, `{"kind": "exhaustive"}`, `{"kind": "astrocytes", "astrocytes":
[{"synapses": [[from, to]], "threshold": n}]}` or `{"kind": "synapse_rules", "synapses": [{"from":
s, "to": t, "rules": rules}]}`, where `"to": null` is the environment.
"""

from collections.abc import Callable

from ...spiking.model.system import SpikingSystem
from ...spiking.model.validity import Place
from ...spiking.model.variants import (
    AntiSpikes,
    Astrocyte,
    Astrocytes,
    Exhaustive,
    RuledSynapse,
    SynapseRules,
    Variant,
)
from ..json_checks import Findings, abbreviated
from ..json_text import JsonPath
from .rules import ReadRule, RuleReader
from .texts import as_lines, as_string, as_strings


_PATH = ("variant",)
_KEYS = {
    "anti_spikes": ("kind",),
    "exhaustive": ("kind",),
    "astrocytes": ("kind", "astrocytes"),
    "synapse_rules": ("kind", "synapses"),
}
_OF_ASTROCYTE = ("synapses", "threshold")
_OF_SYNAPSE = ("from", "to", "rules")
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
        self.paths: list[JsonPath] = []  # of astrocytes, or of synapses
        self.rules_of: list[list[ReadRule]] = []
        self.pairs: list[RuledSynapse] = []
        self.may_be_signed = False  # after a mistake: anti-spikes may have been meant

    def read(self, value: object) -> Variant | None:
        """`None` where the definition holds, or after a mistake."""
        if value is None:
            return None
        kind = value.get("kind") if isinstance(value, dict) else None
        keys = _KEYS.get(kind) if isinstance(kind, str) else None
        self.may_be_signed = keys is None
        entries = self.findings.mapping(value, _PATH, '"variant"', keys)
        if entries is None or not self.findings.required(entries, "kind", _PATH, '"variant"'):
            self.may_be_signed |= kind == "anti_spikes"
            return None
        match kind:
            case "anti_spikes":
                return AntiSpikes()
            case "exhaustive":
                return Exhaustive()
            case "astrocytes":
                return self._astrocytes(entries)
            case "synapse_rules":
                return self._synapse_rules(entries)
        message = f"the kind of variant is {abbreviated(kind)} (write one of {', '.join(_KEYS)})"
        self.findings.error((*_PATH, "kind"), message)
        return None

    def _items(self, entries: dict[str, object], key: str) -> list[tuple[JsonPath, object]]:
        if not self.findings.required(entries, key, _PATH, '"variant"'):
            return []
        items = self.findings.sequence(entries[key], (*_PATH, key), f'"{key}"') or []
        return [((*_PATH, key, index), item) for index, item in enumerate(items)]

    def _astrocytes(self, variant: dict[str, object]) -> Astrocytes:
        found = []
        for path, item in self._items(variant, "astrocytes"):
            entries = self._entries(item, path, "the astrocyte", _OF_ASTROCYTE, _OF_ASTROCYTE)
            if entries is None:
                continue
            threshold = self.findings.integer(
                entries["threshold"], (*path, "threshold"), "the threshold"
            )
            pairs = self._pairs(entries["synapses"], (*path, "synapses"), len(found) + 1)
            if threshold is not None and pairs is not None:
                found.append(Astrocyte(pairs, threshold))
                self.paths.append(path)
        return Astrocytes(found)

    def _pairs(self, value: object, path: JsonPath, number: int) -> list[tuple[str, str]] | None:
        """The synapses of an astrocyte; `None` if one is none, or names no neuron."""
        items = self.findings.sequence(value, path, '"synapses"')
        pairs = []
        for index, item in enumerate(items or ()):
            here = (*path, index)
            names = self.findings.texts(item, here, "a synapse of an astrocyte")
            if names is not None and len(names) != 2:
                message = f"a synapse of an astrocyte has {len(names)} items (write [from, to])"
                self.findings.error(here, message)
            elif names is not None:
                what = f"astrocyte {number}, synapse ({names[0]}, {names[1]})"
                known = [self.is_known(x, (*here, end), what) for end, x in enumerate(names)]
                if all(known):
                    pairs.append((names[0], names[1]))
        return None if items is None or len(pairs) < len(items) else pairs

    def _synapse_rules(self, variant: dict[str, object]) -> SynapseRules:
        found = []
        for path, item in self._items(variant, "synapses"):
            entries = self._entries(item, path, "the synapse", _OF_SYNAPSE, _OF_SYNAPSE)
            if entries is None:
                continue
            source = self.findings.text(entries["from"], (*path, "from"), '"from"')
            target = entries["to"]
            if target is not None:
                target = self.findings.text(target, (*path, "to"), '"to"')
            rules = self.rules.read_spiking(entries["rules"], (*path, "rules"))
            if source is None or (target is None and entries["to"] is not None):
                continue
            what = f"synapse ({source}, {'the environment' if target is None else target})"
            is_known = self.is_known(source, (*path, "from"), what)
            if target is not None:
                is_known &= self.is_known(target, (*path, "to"), what)
            if is_known:
                self.pairs.append((source, target))
                self.rules_of.append(rules)
                self.paths.append(path)
                found.append(((source, target), [rule.rule for rule in rules]))
        return SynapseRules(found)

    def _entries(
        self,
        item: object,
        path: JsonPath,
        what: str,
        keys: tuple[str, ...],
        required: tuple[str, ...],
    ) -> dict[str, object] | None:
        entries = self.findings.mapping(item, path, what, keys)
        if entries is None:
            return None
        is_whole = [self.findings.required(entries, key, path, what) for key in required]
        return entries if all(is_whole) else None

    # Places

    def added_synapses(self, given: set[tuple[str, str]]) -> list[JsonPath]:
        """Where the synapses with rules stand that a system has besides the given ones."""
        return [
            path
            for path, pair in zip(self.paths, self.pairs, strict=False)
            if pair[1] is not None and pair not in given
        ]

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
        return (*path, "threshold") if code == "bad_number" else path


def variant_text(system: SpikingSystem, rules: Callable[..., str]) -> str:
    """The JSON of the variant; `rules` makes that of a list of rules."""
    match system.variant:
        case AntiSpikes():
            return '{"kind": "anti_spikes"}'
        case Exhaustive():
            return '{"kind": "exhaustive"}'
        case Astrocytes(astrocytes):
            items = []
            for astrocyte in astrocytes:
                pairs = ", ".join(map(as_strings, astrocyte.synapses))
                items.append(f'{{"synapses": [{pairs}], "threshold": {int(astrocyte.threshold)}}}')
            return f'{{"kind": "astrocytes", "astrocytes": {as_lines("[", items, "]")}}}'
        case SynapseRules(ruled):
            items = []
            for (source, target), own in ruled:
                to = "null" if target is None else as_string(target)
                listed = rules(own, "", f"synapse ({source}, {to})")
                items.append(f'{{"from": {as_string(source)}, "to": {to}, "rules": {listed}}}')
            return f'{{"kind": "synapse_rules", "synapses": {as_lines("[", items, "]")}}}'
    raise AssertionError(f"{system.variant!r} is not written; please report a bug of snpjax")
