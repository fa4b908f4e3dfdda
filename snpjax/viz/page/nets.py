"""Sleptsov nets on the page: their steps, their description, and other markings."""

import warnings
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from ..._text.model_warning import ModelWarning
from ..._text.rule_text import rule_text
from ..._xla import precision_of
from ...choice import NumberedChoice
from ...sleptsov import SleptsovNet
from ...sleptsov.step.candidates import undominated
from ...sleptsov.step.full_scan import ScanningMachine
from ...sleptsov.view.positions import given_positions
from ...sleptsov.view.solution import NetSolution
from .described import exact
from .edits import Edit, Finding, number_of
from .moment import Moment
from .stepping import AbstractStepper, Reached, Rest, advanced, begun, choice_of_rest


#: Who chooses in a net: nobody in particular.
CHOOSER = -1
_ORDERED = "total order of the transitions"


class NetStepper(AbstractStepper[NetSolution]):
    """The markings of a net. One transition fires in a step, by the rule of the net: `CHOOSER`
    selects it, in order of priority. A net with a total order leaves no choice."""

    words = ("marking", "net")

    def __init__(self, net: SleptsovNet):
        self.net = net
        machine = net.lower(numbered=True, count_dtype=np.int64).machine
        with precision_of(machine):
            self.moments = [self._moment(machine, begun(machine, _candidates))]

    def name_of(self, moment: Moment[NetSolution], chooser: int) -> str:
        del moment, chooser  # there is one
        return "The net"

    def not_now(self, moment: Moment[NetSolution], chooser: int, rule: int) -> str:
        is_known = chooser == CHOOSER and 0 <= rule < self.net.num_transitions
        name = self.net.transition_name(rule) if is_known else f"{rule + 1}"
        able = [self.net.transition_name(t) for t in moment.options.get(CHOOSER, ())]
        some = f"Choose one of: {', '.join(able)}." if able else "None can."
        return f"Transition {name} cannot fire now. {some}"

    def after(
        self,
        before: Moment[NetSolution],
        numbers: Mapping[int, int],
        rest: Rest,
        subsets: Mapping[int, int],
    ) -> Moment[NetSolution]:
        del subsets  # there are none in a net
        machine = before.machine
        with precision_of(machine):
            choice = choice_of_rest("first" if self.net.order is not None else rest)
            if numbers and self.net.order is None:
                choice = NumberedChoice(jnp.uint32(numbers[CHOOSER]), jnp.zeros(1, jnp.int32))
            return self._moment(machine, advanced(machine, before.state, choice, _candidates))

    def row_json(
        self, moment: Moment[NetSolution], before: Moment[NetSolution] | None
    ) -> dict[str, Any]:
        net, solution, size = self.net, moment.solution, self.net.num_places
        candidates = list(moment.options.get(CHOOSER, ()))
        names = [net.transition_name(t) for t in candidates]
        value: dict[str, Any] = {
            "step": solution.steps,
            "spikes": [exact(x) for x in solution.marking.tolist()],
            "timers": [],
            "pending": [],
            "flights": [],
            "options": [[CHOOSER, candidates]] if candidates else [],
            "subsets": [],
            "taken": [],
            "texts": [[CHOOSER, names]],
            "halted": moment.is_halted,
            "fired": [],
            "emitted": [],
            "outputs": [],
        }
        if before is not None:
            transition, copies = int(solution.fired[0]), int(solution.multiplicities[0])
            text = "fires" if copies == 1 else f"fires in {copies:,} copies"
            value["fired"] = [[size + transition, 0, text]]
            value["emitted"] = [[size + transition, exact(copies)]]
        return value

    def _moment(self, machine: Any, made: Reached) -> Moment[NetSolution]:
        made, order = jax.device_get(made), self.net.priority_order
        may_fire = np.flatnonzero(np.asarray(made.seen)[: len(order)])
        if self.net.order is not None:
            may_fire = may_fire[:1]
        solution = self.net.solution(made.trajectory(has_outputs=False))
        ranks = {transition: rank for rank, transition in enumerate(order[may_fire].tolist())}
        options = {CHOOSER: ranks} if ranks else {}
        ended = bool(made.is_halted)
        return Moment(machine, made.state, options, solution, ended, None, {}, {})


def _candidates(machine: ScanningMachine, state: Any) -> Bool[Array, " transitions"]:
    """Which transitions may fire in a state."""
    return undominated(machine.program, machine.columns.fireable(state.marking))


def net_json(net: SleptsovNet) -> dict[str, Any]:
    """A net as the page draws it, see `system_json`: nodes are places, then transitions.

    Transitions have the nodes that they have priority over, `beats`, and in a net with a total
    order their position in it, `rank`, from 1. There only given priorities are shown.
    """
    places = [
        {"name": net.place_name(p), "label": f"p {p}", "spikes": exact(int(net.marking[p]))}
        for p in range(net.num_places)
    ]
    names = [net.transition_name(t) for t in range(net.num_transitions)]
    size, positions = net.num_places, given_positions(net)
    transitions: list[dict[str, Any]] = [
        {"name": x, "label": f"t {t}"} for t, x in enumerate(names)
    ]
    if net.order is None or len(net.priorities):
        for transition in transitions:
            transition["beats"] = []
    for above, below in net.priorities.tolist():
        transitions[above]["beats"].append(size + below)
    for rank, own in enumerate([] if net.order is None else net.order.tolist(), start=1):
        transitions[own]["rank"] = rank
    arcs: list[list[Any]] = []
    for kind, some in (("", net.inputs), ("inhibitor", net.inhibitors), ("test", net.tests)):
        arcs += [[p, size + t, exact(w), [], kind] for p, t, w in some.triples()]
    arcs += [[size + t, p, exact(w), [], ""] for p, t, w in net.outputs.triples()]
    return {
        "kind": "net",
        "name": net.name,
        "neurons": [*places, *transitions],
        "rules": {
            one["label"]: [f"beats {', '.join(names[node - size] for node in one['beats'])}"]
            for one in transitions
            if one.get("beats")
        },
        "synapses": arcs,
        "environment": [],
        "input": {},
        "output": [],
        "astrocytes": [],
        "positions": None if positions is None else positions.tolist(),
        "remarks": [rule_text(net.rule.name), *([] if net.order is None else [_ORDERED])],
        "grows": False,
        "changes": False,
    }


def edited_net(net: SleptsovNet, edit: Edit) -> tuple[SleptsovNet | None, list[Finding]]:
    """The net with other tokens in one place, or `None`, and what is wrong with them."""
    found: list[Finding] = []
    if not 0 <= edit.neuron < net.num_places or edit.rules is not None:
        return None, [Finding("system", None, None, "only tokens are changed (edit the text)")]
    tokens = number_of(edit.spikes, "tokens", found)
    if tokens is not None and not 0 <= tokens < 2**63:
        message = f"{tokens} is not a number of tokens (write an integer, 0 or more, of 64 bits)"
        found.append(Finding("spikes", None, None, message))
    if found or tokens is None:
        return None, found
    marking = net.marking.copy()
    marking[edit.neuron] = tokens
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return net.replace(marking=marking), []
