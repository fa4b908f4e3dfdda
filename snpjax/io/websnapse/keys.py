"""The keys of each generation of WebSnapse JSON."""

from dataclasses import dataclass

from ..json_checks import Findings, abbreviated
from ..json_text import Key
from ..kinds import numerical_form, numerical_text


_ACCEPTED = '"neurons" and "synapses", or "nodes" and "edges" of the old schema'


@dataclass(frozen=True, slots=True)
class Keys:
    """What the parts are called; `neuron` and `synapse` are the keys an entry may have."""

    neurons: str
    synapses: str
    neuron: tuple[str, ...]
    synapse: tuple[str, str, str]  # source, target, weight

    @property
    def top(self) -> tuple[str, ...]:
        return self.neurons, self.synapses, "expected", "rule_dict"


_NEURON = ("id", "type", "position", "content", "rules")
_OLD_NEURON = (*_NEURON, "spiketrain", "x", "y")
NEW = Keys("neurons", "synapses", _NEURON, ("from", "to", "weight"))


def keys_of(findings: Findings, value: object) -> Keys | None:
    """The keys that a decoded file uses; old ones with a warning, others with an error."""
    if not isinstance(value, dict):
        return findings.wrong(value, (), "this", f"a WebSnapse model has {_ACCEPTED}")
    form = numerical_form(value)
    if form is not None:
        findings.error((), numerical_text(form))
        return None
    found = []
    for new, old in (("neurons", "nodes"), ("synapses", "edges")):
        names = [name for name in (new, old) if name in value]
        if len(names) == 2:
            message = f'the model has both "{new}" and "{old}" (merge them into "{new}")'
            findings.error((Key(old),), message)
            return None
        if not names:
            keys = ", ".join(abbreviated(key) for key in list(value)[:5]) or "none"
            message = (
                f'there is no "{new}" among the keys {keys} (WebSnapse models have {_ACCEPTED})'
            )
            findings.error((), message)
            return None
        found.append(names[0])
    neurons, synapses = found
    if (neurons, synapses) == (NEW.neurons, NEW.synapses):
        return NEW
    old = neurons if neurons != NEW.neurons else synapses
    message = f'this is the old schema of WebSnapse, with "{old}" (save it again to get "neurons")'
    findings.warning((Key(old),), message)
    return Keys(
        neurons,
        synapses,
        _OLD_NEURON if neurons == "nodes" else _NEURON,
        ("source", "target", "label") if synapses == "edges" else NEW.synapse,
    )
