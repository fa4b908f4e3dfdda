"""NuSMV: a Sleptsov net as a symbolic model, one firing a transition of it."""

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from ..._text.quoting import printable
from ..._text.rule_text import rule_text
from ...sleptsov.model.net import SleptsovNet
from ...sleptsov.model.rules import AbstractRule, Petri
from .identifiers import identifiers
from .smv_text import case, number_range


def net_to_nusmv(
    net: SleptsovNet,
    *,
    bounds: int | Mapping[str, int] | Literal["unbounded"],
    rule: AbstractRule | None = None,
    clock: int = 0,
) -> str:
    """A net in the language of NuSMV 2.6 and nuXmv, under `Sleptsov()` or `Petri()`.

    The state is `tokens_p1` of every place, and `step` up to the clock. `can_t1` says that a
    transition can fire, `may_t1` that none that can beats it, `fires_t1` that it does, in
    `copies_t1` copies; the input variable `choice` is its number, -1 for none. A halting marking
    loops.

    A number of tokens that would leave its bounds sets `overflow`, see `to_nusmv`.

    **Arguments:**

    - `bounds`: the largest number of tokens of each place, one for all or by name; or
      `"unbounded"`, see `to_nusmv`.
    - `rule`: of the steps, by default that of the net.

    **Raises:** `ValueError` for a place without bound or beyond it from the start.

    ??? cite "Source"
        NuSMV 2.6 user manual, chapter 2. Not run by NuSMV itself: the tests read it back.
    """
    return "\n".join(_Model(net, bounds, rule or net.rule, clock).lines()) + "\n"


class _Model:
    """The parts of the text; places and transitions by identifiers."""

    def __init__(
        self,
        net: SleptsovNet,
        bounds: int | Mapping[str, int] | Literal["unbounded"],
        rule: AbstractRule,
        clock: int,
    ):
        self.net, self.rule, self.clock = net, rule, clock
        self.places = identifiers(list(net.place_names))
        self.transitions = identifiers(list(net.transition_names))
        names = list(net.place_names)
        self.is_bounded = bounds != "unbounded"
        if bounds == "unbounded":
            self.high: list[int | None] = [None] * len(names)
            self.beaten_by = _closure(net)
            return
        by_name = bounds if isinstance(bounds, Mapping) else dict.fromkeys(names, bounds)
        problems = [
            f"{name!r} begins with {tokens} tokens and its bound is {by_name.get(name)}"
            for name, tokens in zip(names, net.marking.tolist(), strict=True)
            if not tokens <= by_name.get(name, -1) < 2**31 - 1
        ]
        if problems:
            raise ValueError(
                f"Give every place its largest number of tokens: {'; '.join(problems)}."
            )
        self.high = [by_name[name] for name in names]
        self.beaten_by = _closure(net)

    def lines(self) -> Iterator[str]:
        yield f"-- {printable(self.net.name or 'Sleptsov net')}"
        yield f"-- Steps are those of {rule_text(self.rule.name)}."
        yield "-- One transition is one firing. tokens_... are the tokens of a place:"
        for what, names, ids in (
            ("place", self.net.place_names, self.places),
            ("transition", self.net.transition_names, self.transitions),
        ):
            for name, own in zip(names, ids, strict=True):
                if name != own:
                    yield f"-- {own} is {what} {printable(name)}"
        yield "MODULE main"
        if self.transitions:
            yield "IVAR"
            yield f"  choice : -1..{len(self.transitions) - 1};"
        yield "VAR"
        for own, high in zip(self.places, self.high, strict=True):
            yield f"  tokens_{own} : {'integer' if high is None else number_range(0, high)};"
        if self.clock:
            yield f"  step : {number_range(0, self.clock)};"
        if self.is_bounded:
            yield "  overflow : boolean;"
        yield "DEFINE"
        if not self.is_bounded:
            yield "  overflow := FALSE;"
        for t in range(len(self.transitions)):
            yield from self.defines(t)
        for p in range(len(self.places)):
            yield f"  next_tokens_{self.places[p]} := {self.after(p)};"
        can = [f"can_{own}" for own in self.transitions]
        yield f"  halting := !({' | '.join([*can, 'overflow'])});"
        yield "ASSIGN"
        yield from self.assigns()
        if self.transitions:
            yield from self.constraint()

    def defines(self, t: int) -> Iterator[str]:
        """When a transition fires, and in how many copies."""
        net, own = self.net, self.transitions[t]
        conditions = [
            f"tokens_{self.places[p]} {relation} {weight}"
            for arcs, relation in ((net.inputs, ">="), (net.tests, ">="), (net.inhibitors, "<"))
            for p, weight in self.arcs(arcs, t)
        ]
        yield f"  can_{own} := {' & '.join(conditions) or 'TRUE'};"
        above = "".join(f" & !can_{self.transitions[u]}" for u in self.beaten_by[t])
        yield f"  may_{own} := can_{own}{above};"
        yield f"  fires_{own} := !overflow & may_{own} & choice = {t};"
        copies = "1"
        if not isinstance(self.rule, Petri):
            fits = [
                f"tokens_{self.places[p]}" + ("" if weight == 1 else f" / {weight}")
                for p, weight in self.arcs(net.inputs, t)
            ]
            for number, other in enumerate(fits[:-1]):
                yield f"  least_{own}_{number} := {self.least(own, number, other)};"
            copies = self.least(own, len(fits) - 1, fits[-1])
        yield f"  copies_{own} := {copies};"

    def least(self, own: str, number: int, other: str) -> str:
        """The least of the first ones."""
        if number == 0:
            return other
        before = f"least_{own}_{number - 1}"
        return case([(f"{before} <= {other}", before)], other)

    def arcs(self, arcs, t: int) -> list[tuple[int, int]]:
        """Place and weight of every arc of a transition."""
        own = np.flatnonzero(arcs.transition == t)
        return list(zip(arcs.place[own].tolist(), arcs.weight[own].tolist(), strict=True))

    def after(self, p: int) -> str:
        """The tokens of a place after a firing."""
        gain: dict[int, int] = {}
        for arcs, sign in ((self.net.inputs, -1), (self.net.outputs, 1)):
            for at in np.flatnonzero(arcs.place == p).tolist():
                t = int(arcs.transition[at])
                gain[t] = gain.get(t, 0) + sign * int(arcs.weight[at])
        signs = {1: "", -1: "-"}
        moves = [
            (f"fires_{own}", f"{signs.get(each, f'{each} * ')}copies_{own}")
            for own, each in ((self.transitions[t], each) for t, each in sorted(gain.items()))
            if each
        ]
        tokens = f"tokens_{self.places[p]}"
        return f"{tokens} + {case(moves, '0')}" if moves else tokens

    def assigns(self) -> Iterator[str]:
        leaves = ["overflow"]
        tokens = self.net.marking.tolist()
        for own, high, first in zip(self.places, self.high, tokens, strict=True):
            yield f"  init(tokens_{own}) := {first};"
            if high is None:
                yield f"  next(tokens_{own}) := next_tokens_{own};"
                continue
            leaves.append(f"next_tokens_{own} > {high}")
            cases = [("overflow", f"tokens_{own}"), (leaves[-1], f"{high}")]
            yield f"  next(tokens_{own}) := {case(cases, f'next_tokens_{own}')};"
        if self.clock:
            yield "  init(step) := 0;"
            stays = f"halting | overflow | step = {self.clock}"
            yield f"  next(step) := {case([(stays, 'step')], 'step + 1')};"
        if self.is_bounded:
            yield "  init(overflow) := FALSE;"
            yield f"  next(overflow) := {' | '.join(leaves)};"

    def constraint(self) -> Iterator[str]:
        """The choice is a transition that may fire if there is one."""
        every = [f"choice = {t} & may_{own} & !overflow" for t, own in enumerate(self.transitions)]
        none = " | ".join(f"can_{own}" for own in self.transitions)
        every.append(f"choice = -1 & (overflow | !({none}))")
        yield "TRANS"
        yield "  " + "\n  | ".join(every) + ";"


def _closure(net: SleptsovNet) -> list[list[int]]:
    """The transitions that beat each one, directly or through others."""
    over, under = net.priorities.T
    shape = (net.num_transitions, net.num_transitions)
    above = csr_array((np.ones(len(over)), (under, over)), shape=shape)
    found = (breadth_first_order(above, t, return_predecessors=False) for t in range(shape[0]))
    return [sorted(own[1:].tolist()) for own in found]
