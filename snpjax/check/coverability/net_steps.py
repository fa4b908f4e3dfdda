"""Petri nets as steps between markings."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...sleptsov.model.execution import Execution
from ...sleptsov.model.net import SleptsovNet
from ...sleptsov.model.rules import Petri
from .tree import OMEGA, AbstractSteps, Counts


class NetSteps(AbstractSteps):
    """One transition fires once in each step."""

    def __init__(self, execution: Execution):
        _check(execution)
        net = execution.net
        self.initial = tuple(net.marking.tolist())
        self.may_grow = np.ones(net.num_places, bool)
        shape = net.num_transitions, net.num_places
        consumed, self.change = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        np.add.at(consumed, (net.inputs.transition, net.inputs.place), net.inputs.weight)
        self.needed = consumed.copy()
        np.maximum.at(self.needed, (net.tests.transition, net.tests.place), net.tests.weight)
        np.add.at(self.change, (net.outputs.transition, net.outputs.place), net.outputs.weight)
        self.change -= consumed

    def successors(self, counts: Counts) -> Iterator[tuple[int, Counts]]:
        marking = np.array(counts)
        fireable = np.flatnonzero((marking >= self.needed).all(axis=1))
        for transition in fireable.tolist():
            after = np.where(marking == OMEGA, OMEGA, marking + self.change[transition])
            yield transition, tuple(after.tolist())

    def taken(self, counts: Counts, action: int) -> dict[int, int]:
        needed = self.needed[action].tolist()
        return {i: needed[i] for i, count in enumerate(counts) if count == OMEGA and needed[i]}

    def can_repeat(self, path: list[Counts], actions: list[Any], grows: list[int]) -> bool:
        return True  # what is fireable stays so with more tokens


def _check(execution: Execution) -> None:
    net: SleptsovNet = execution.net
    if not isinstance(execution.rule, Petri):
        raise NotImplementedError(
            f"Coverability is decided for the rule Petri(), and this net has {execution.rule!r}, "
            "whose larger markings fire more at once. Pass `Execution(net, rule=Petri())`, or show "
            "unboundedness with `snpjax.explore`."
        )
    if net.order is not None:
        raise NotImplementedError(
            "The net comes with a total order of its transitions, which does not say between which "
            "of them there is a choice. Leave out `order`."
        )
    for kind, arcs in (("inhibitor arc", net.inhibitors), ("priority", net.priorities)):
        if len(arcs):
            raise NotImplementedError(
                f"Coverability is decided for nets that are monotone, and this one has a {kind}: "
                "a larger marking may do less. Explore the net instead."
            )
