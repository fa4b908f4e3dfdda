"""Names and variables as queries hold them."""

import re

from .formula import Observed, Variable
from .messages import KEYWORDS


_PLAIN = re.compile(r"[^\W\d]\w*")


def name_text(name: str) -> str:
    """A name as queries hold it: quoted where it is no plain word, or a word of the language."""
    if _PLAIN.fullmatch(name) and name not in KEYWORDS:
        return name
    return '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'


def variable_text(variable: Variable) -> str:
    """A number of a configuration as queries hold it: `n1`, `timer(n1)`, `step`."""
    match variable.observed:
        case Observed.SPIKES:
            return name_text(variable.neuron)
        case Observed.STEP | Observed.HALTED | Observed.FINAL:
            return variable.observed.value
        case Observed.FIRES:
            return f"fires({name_text(variable.neuron)}, {variable.rule})"
    return f"{variable.observed.value}({name_text(variable.neuron)})"
