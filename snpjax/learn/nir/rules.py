"""Which rules make a neuron of SN P systems an integrate-and-fire neuron of NIR, and back."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from ...spiking.model.rule import Rule
from ...spiking.model.template import RuleTemplate
from ..rules import relay
from .wiring import UnitKind


#: A reset to a value takes a rule for each count at which the neuron may fire.
MAX_RULES = 1024


class NirFiring(NamedTuple):
    """When neurons fire, and what is left in them.

    - `least`: the least potential that fires.
    - `left`: the potential after firing; of `"Threshold"`, and of `"IF"` with
      `reset="subtract"`, `taken` is subtracted instead.
    - `most`: the largest potential for which there are rules.
    """

    kind: UnitKind
    least: Int[np.ndarray, " neurons"]
    left: Int[np.ndarray, " neurons"] | None = None
    taken: Int[np.ndarray, " neurons"] | None = None
    most: Int[np.ndarray, " neurons"] | None = None


def rules_of(firing: NirFiring, max_input: int) -> list[RuleTemplate | Rule]:
    """The rules of neurons that fire like this.

    **Arguments:**

    - `firing`: of the neurons of one unit.
    - `max_input`: how many spikes an input may send in a step.
    """
    least = firing.least
    if firing.kind == "Input":
        return list(relay(max_input))
    if firing.kind == "I":
        return []
    if firing.taken is not None:
        return [RuleTemplate([(least, None)], firing.taken, 1)]
    assert firing.most is not None and firing.left is not None
    rules = []
    if firing.kind == "LIF":
        for count in range(1, int(firing.most.max()) + 1):
            sent = (least <= count).astype(np.int64)
            rules.append(RuleTemplate([(count, count)], count, sent))
        return rules
    for more in range(int((firing.most - least).max()) + 1):
        count = least + more
        rules.append(RuleTemplate([(count, count)], count - firing.left, 1))
    return rules


class Tables(NamedTuple):
    """The rules of some neurons, rounded: axes as in `RelaxedSystem`, `high` -1 without end."""

    is_slot: Bool[np.ndarray, "slots neurons"]
    low: Int[np.ndarray, "slots neurons"]
    high: Int[np.ndarray, "slots neurons"]
    consume: Int[np.ndarray, "slots neurons"]
    produce: Int[np.ndarray, "slots neurons"]


def firing_of(tables: Tables, kind: UnitKind | None) -> NirFiring | str:
    """What NIR calls neurons with these rules.

    **Arguments:**

    - `tables`: the rules of the neurons of one population.
    - `kind`: the kind that the neurons were read as; `None` if they were not read.

    **Returns:** a `NirFiring`, or why there is none.
    """
    is_slot, low, high, consume, produce = tables
    num = is_slot.shape[1]
    if not is_slot.any():
        return NirFiring("I", np.zeros(num, np.int64))
    if not is_slot.any(axis=0).all():
        return "some of its neurons have rules and some have none"
    if (is_slot & (produce > 1)).any():
        return "a neuron sends several spikes at once, and one of NIR sends one"
    is_endless = is_slot & (high < 0)
    if is_endless.any():
        at = np.argmax(is_slot, axis=0), np.arange(num)
        if (is_slot.sum(axis=0) > 1).any() or not is_endless[at].all() or not produce[at].all():
            return "its rules are several, of which one is a threshold"
        return NirFiring("Threshold", np.maximum(low, consume)[at], taken=consume[at])
    if (is_slot & (low != high)).any():
        return "a guard has an upper bound, which no node of NIR has"
    return _reset_of(tables, kind)


def _reset_of(tables: Tables, kind: UnitKind | None) -> NirFiring | str:
    """Of neurons whose rules each apply to one count."""
    is_slot, low, _, consume, produce = tables
    num, most = is_slot.shape[1], int(low[is_slot].max())
    # Which count does what; the first of two rules is the one that applies.
    taken, sent = np.zeros((most + 1, num), np.int64), np.zeros((most + 1, num), np.int64)
    for slot in reversed(range(len(is_slot))):
        of = np.flatnonzero(is_slot[slot] & (consume[slot] <= low[slot]))
        taken[low[slot, of], of], sent[low[slot, of], of] = consume[slot, of], produce[slot, of]
    counts = np.arange(most + 1)[:, None]
    if not sent.any(axis=0).all():
        return "a neuron never fires"
    least = np.argmax(sent, axis=0)
    fires = counts >= least
    ends = np.where(taken.any(axis=0), most - np.argmax(taken[::-1] > 0, axis=0), 0)
    fires &= counts <= ends
    left = np.take_along_axis(counts - taken, least[None], axis=0)[0]
    if (sent != fires).any() or (fires & (counts - taken != left)).any():
        return "its rules neither subtract a number nor reset to a value"
    below = (counts > 0) & (counts < least)
    forgets = below.any() and (taken == counts)[below].all()
    if kind == "LIF" or (forgets and kind is None):
        if not (taken == counts)[below | fires].all():
            return "it forgets only some of its spikes"
        return NirFiring("LIF", least, left=left, most=ends)
    if taken[below].any():
        return "it forgets only some of its spikes"
    return NirFiring("IF", least, left=left, most=ends)
