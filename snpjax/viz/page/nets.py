"""Sleptsov nets on the page: their steps, their description, and other markings."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PyTree

from ..._text.model_warning import ModelWarning
from ..._xla import precision_of
from ...choice import AbstractChoice, NumberedChoice
from ...machine import Record
from ...results import RESULTS, select_result
from ...sleptsov import SleptsovNet
from ...sleptsov.step.candidates import undominated
from ...sleptsov.step.full_scan import ScanningMachine
from ...sleptsov.view.solution import NetSolution
from ...trajectory import Save, Trajectory
from .described import exact
from .edits import Edit, Finding, number_of
from .stepping import Refused, Rest, choice_of_rest


#: Who chooses in a net: nobody in particular.
CHOOSER = -1


class NetMoment(NamedTuple):
    """A marking, the firing that led to it as a run of its own, and the transitions that may fire
    next, in order of priority."""

    state: PyTree
    solution: NetSolution
    candidates: list[int]
    is_halted: bool


class NetStepper:
    """The markings of one computation, see `Stepper`. One transition fires in a step, in its
    maximal multiplicity."""

    def __init__(self, net: SleptsovNet):
        self.net = net
        self._machine: Any = net.lower(numbered=True, count_dtype=np.int64).machine
        with precision_of(self._machine):
            state, *seen = _start(self._machine)
        self.moments = [self._moment(state, None, *seen)]

    def prepare(self) -> None:
        """Compile what a step needs."""
        self._advance(self.moments[0], {}, 0)

    def step(self, at: int, chosen: Mapping[int, int], rest: Rest) -> NetMoment:
        """The marking after that of number `at`, see `Stepper.step`. `chosen` has one transition at
        most, by `CHOOSER`; a net with a total order of its own leaves no choice."""
        if not 0 <= at < len(self.moments):
            raise Refused(f"There is no marking {at}: they are 0 to {len(self.moments) - 1}.")
        before = self.moments[at]
        for transition in chosen.values():
            if set(chosen) != {CHOOSER} or transition not in before.candidates:
                raise Refused(f"Transition {transition + 1} cannot fire now.")
        if before.is_halted:
            raise Refused(f"The net halted after {before.solution.steps} steps.")
        moment = self._advance(before, chosen, rest)
        if moment.solution.failure is not None:
            raise Refused(moment.solution.failure)
        del self.moments[at + 1 :]
        self.moments.append(moment)
        return moment

    def _advance(self, before: NetMoment, chosen: Mapping[int, int], rest: Rest) -> NetMoment:
        with precision_of(self._machine):
            choice = choice_of_rest("first" if self.net.order is not None else rest)
            if CHOOSER in chosen and self.net.order is None:
                rank = before.candidates.index(chosen[CHOOSER])
                choice = NumberedChoice(jnp.uint32(rank), jnp.zeros(1, jnp.int32))
            state, record, *seen = _advance(self._machine, before.state, choice)
        return self._moment(state, record, *seen)

    def _moment(
        self,
        state: PyTree,
        record: Record | None,
        candidates: Bool[Array, " transitions"],
        is_halted: Bool[Array, ""],
        result: Any,
    ) -> NetMoment:
        state = jax.device_get(state)
        rows = jax.tree.map(lambda x: np.asarray(x)[None], record)
        trajectory = Trajectory(
            final=state,
            states=None,
            outputs=None,
            details=None if record is None else rows.detail,
            saved=Save(every=None, outputs=False, details=record is not None),
            steps=np.asarray(state.step),
            result=jax.device_get(result),
        )
        order = self.net.priority_order
        may_fire = np.flatnonzero(np.asarray(candidates)[: len(order)])
        if self.net.order is not None:
            may_fire = may_fire[:1]
        solution = self.net.solution(trajectory)
        return NetMoment(state, solution, order[may_fire].tolist(), bool(is_halted))


@jax.jit
def _start(machine: ScanningMachine) -> tuple[Any, ...]:
    state = machine.init()
    return state, *_seen(machine, state)


@jax.jit
def _advance(machine: ScanningMachine, state: PyTree, choice: AbstractChoice) -> tuple[Any, ...]:
    state, record = machine.step(state, choice)
    return state, record, *_seen(machine, state)


def _seen(machine: ScanningMachine, state: Any) -> tuple[Any, ...]:
    """Which transitions may fire in a state, whether it halts, and its failure."""
    status, is_halted = machine.status(state), machine.halted(state)
    ended = select_result(is_halted, RESULTS.halted, RESULTS.max_steps_reached)
    result = select_result(status == RESULTS.halted, ended, status)
    candidates = undominated(machine.program, machine.columns.fireable(state.marking))
    return candidates, is_halted, result


def net_json(net: SleptsovNet) -> dict[str, Any]:
    """A net as the page draws it, see `system_json`: nodes are places, then transitions."""
    places = [
        {"name": net.place_name(p), "label": f"p {p}", "spikes": exact(int(net.marking[p]))}
        for p in range(net.num_places)
    ]
    names = [net.transition_name(t) for t in range(net.num_transitions)]
    beats: dict[int, list[str]] = {}
    for above, below in net.priorities.tolist():
        beats.setdefault(above, []).append(names[below])
    size = net.num_places
    arcs: list[list[Any]] = []
    for kind, some in (("", net.inputs), ("inhibitor", net.inhibitors), ("test", net.tests)):
        arcs += [[p, size + t, exact(w), [], kind] for p, t, w in some.triples()]
    arcs += [[size + t, p, exact(w), [], ""] for p, t, w in net.outputs.triples()]
    return {
        "kind": "net",
        "name": net.name,
        "neurons": [*places, *({"name": x, "label": f"t {t}"} for t, x in enumerate(names))],
        "rules": {f"t {t}": [f"beats {', '.join(own)}"] for t, own in beats.items()},
        "synapses": arcs,
        "environment": [],
        "input": {},
        "output": [],
        "positions": None,
        "remarks": [] if net.order is None else ["an order of its own"],
        "grows": False,
    }


def net_moment_json(
    net: SleptsovNet, moment: NetMoment, before: NetMoment | None
) -> dict[str, Any]:
    """A marking and the firing that led to it, see `moment_json`."""
    solution, size = moment.solution, net.num_places
    names = [net.transition_name(t) for t in moment.candidates]
    value: dict[str, Any] = {
        "step": solution.steps,
        "spikes": [exact(x) for x in solution.marking.tolist()],
        "timers": [],
        "pending": [],
        "options": [[CHOOSER, moment.candidates]] if moment.candidates else [],
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


def edited_net(net: SleptsovNet, edit: Edit) -> tuple[SleptsovNet | None, list[Finding]]:
    """The net with other tokens in one place, or `None`, and what is wrong with them."""
    found: list[Finding] = []
    if not 0 <= edit.neuron < net.num_places or edit.rules is not None:
        return None, [Finding("system", None, None, "only tokens are changed (edit the text)")]
    tokens = number_of(edit.spikes, "tokens", found)
    if tokens is not None and not 0 <= tokens < 2**63:
        message = f"{tokens} is no number of tokens (write an integer, 0 or more, of 64 bits)"
        found.append(Finding("spikes", None, None, message))
    if found or tokens is None:
        return None, found
    marking = net.marking.copy()
    marking[edit.neuron] = tokens
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return net.replace(marking=marking), []
