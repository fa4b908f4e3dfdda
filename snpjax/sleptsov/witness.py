"""Firings that show something of a net: step by step in words, and as a run."""

from typing import Any

import numpy as np
from jaxtyping import Int

from ..choice import NO_RULE, GivenChoices
from ..run import run
from ..trajectory import Save
from .execution import Execution
from .observed import Markings
from .rules import AbstractRule, Petri
from .solution import NetSolution


class NetWitness:
    """Markings one after the other, and the transitions between them, see
    `explore.observed.Witness`."""

    def __init__(self, rule: AbstractRule, some: Markings, choices: GivenChoices):
        self.net, self.rule = some.net, rule
        self.some, self.choices = some, choices

    @property
    def num_neurons(self) -> int:
        """Where one transition fires at a time, one thing is chosen."""
        return 1

    @property
    def counts(self) -> Int[np.ndarray, "markings places"]:
        return self.some.marking

    @property
    def selected(self) -> Int[np.ndarray, "steps 1"]:
        """The transition that fires in each step, or `NO_RULE`."""
        return np.asarray(self.choices.rules)[: max(len(self.some) - 1, 0), :1]

    def initial(self) -> list[str]:
        return self.some.texts(0) or ["no tokens"]

    def changes(self, step: int) -> list[str]:
        return self.some.texts(step, step - 1) or ["no change"]

    def made(self, step: int) -> list[str]:
        """The transition that led to a marking, and in how many copies."""
        transition, copies = int(self.selected[step - 1, 0]), self.copies(step)
        if transition == NO_RULE:
            return []
        name = self.net.transition_name(transition)
        return [name if copies == 1 else f"{name} x {copies}"]

    def copies(self, step: int) -> int:
        """In how many copies the transition of a step fires: as often as there are tokens."""
        transition = int(self.selected[step - 1, 0])
        if transition == NO_RULE:
            return 0
        if isinstance(self.rule, Petri):
            return 1
        own = self.net.inputs.transition == transition
        tokens = self.some.marking[step - 1, self.net.inputs.place[own]]
        return int((tokens // self.net.inputs.weight[own]).min())

    def as_json(self) -> dict[str, Any]:
        """`witness`: the markings; `firings`: transition and multiplicity, null for none."""
        steps = range(1, len(self.some))
        names = [self.net.transition_name(t) for t in self.selected[:, 0].tolist()]
        pairs = [[name, self.copies(step)] for step, name in zip(steps, names, strict=True)]
        firings = [pair if pair[1] else None for pair in pairs]
        return {"witness": self.counts.tolist(), "firings": firings}

    def replay(self, machine: Any) -> NetSolution:
        del machine
        return run(
            Execution(self.net, rule=self.rule),
            choice=self.choices,
            max_steps=max(len(self.some) - 1, 0),
            save=Save(every=1, outputs=False, details=True, budget=2**62),
        )

    def is_made_by(self, solution: NetSolution) -> bool:
        """Whether a run goes through these markings."""
        step = np.minimum(np.arange(len(self.some)), solution.steps)  # where it has halted it stays
        assert solution.markings is not None
        return np.array_equal(solution.markings[step], self.some.marking)
