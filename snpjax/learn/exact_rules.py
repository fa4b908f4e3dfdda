"""The exact rules of relaxed neurons."""

import numpy as np

from ..spiking.model.rule import Rule
from ..spiking.model.rule_table import UNBOUNDED
from ..spiking.model.template import guard_of
from .relaxed import Constants, RelaxedSystem


def rules_of_neurons(model: RelaxedSystem, constants: Constants) -> list[list[Rule]]:
    """The rules of each neuron, without those that apply to no count and equal ones."""
    tables = (constants.low, constants.high, constants.consume, constants.produce)
    low, high, consume, produce = (np.asarray(table) for table in tables)
    program, is_slot = model.program, np.asarray(model.is_slot)
    period = np.ones_like(low, int) if program.period is None else np.asarray(program.period)
    number = program.number
    numbers = np.broadcast_to(np.arange(len(low))[:, None], low.shape)
    numbers = numbers if number is None else np.asarray(number)
    delay = np.zeros_like(period) if program.delay is None else np.asarray(program.delay)
    found = []
    for index in range(len(model.names)):
        rules = []
        for rule in np.unique(numbers[is_slot[:, index], index]).tolist():
            own = np.flatnonzero(is_slot[:, index] & (numbers[:, index] == rule))
            terms = [(low[slot, index], high[slot, index], period[slot, index]) for slot in own]
            guard = guard_of(
                (int(first), UNBOUNDED if np.isinf(last) else int(last), int(step))
                for first, last, step in terms
                if first <= last
            )
            if not guard.is_empty:
                first = own[0], index
                taken, sent, later = (int(x[first]) for x in (consume, produce, delay))
                rules.append(Rule(guard, taken, sent, later))
        found.append(list(dict.fromkeys(rules)))
    return found
