"""A Sleptsov net run by the definitions, in plain Python: slow, and obviously right.

Nothing here imports JAX, or what the fast machine is made of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from snpjax_formats.arguments import explain_arguments


if TYPE_CHECKING:
    from ..sleptsov import Arcs, SleptsovNet

Marking: TypeAlias = tuple[int, ...]
FiringRule: TypeAlias = Literal["sleptsov", "petri", "disjoint"]

#: No regular input arc bounds a multiplicity.
UNBOUNDED = None


@dataclass(frozen=True)
class Ended:
    """How a run ended: `trace` holds (step, transition, multiplicity) of every firing."""

    status: Literal["halted", "max_steps_reached", "token_overflow", "unbounded_multiplicity"]
    steps: int
    marking: Marking
    trace: list[tuple[int, int, int]] = field(default_factory=list)
    markings: list[Marking] = field(default_factory=list)
    widest: int = 0
    culprit: tuple[int, int | None, int | None] | None = None  # transition, multiplicity, place


class Reference:
    """The arcs of a net by transition, and its priorities."""

    def __init__(self, net: "SleptsovNet") -> None:
        self.num_transitions = net.num_transitions
        self.rule: FiringRule = cast("FiringRule", net.rule.name)
        self.initial: Marking = tuple(net.marking.tolist())
        self.inputs = _by_transition(net.inputs, net.num_transitions)
        self.outputs = _by_transition(net.outputs, net.num_transitions)
        self.inhibitors = _by_transition(net.inhibitors, net.num_transitions)
        self.tests = _by_transition(net.tests, net.num_transitions)
        self.pairs = {(t, u) for t, u in net.priorities.tolist()}
        given = net.order
        self.order = self.canonical_order() if given is None else given.tolist()

    # ---- priorities ----

    def canonical_order(self) -> list[int]:
        """Layers of the longest chains above; in each by the first direct predecessor."""
        above = {t: [x for x, y in self.pairs if y == t] for t in range(self.num_transitions)}
        layer: dict[int, int] = {}
        while len(layer) < self.num_transitions:
            ready = [
                t
                for t in range(self.num_transitions)
                if t not in layer and all(x in layer for x in above[t])
            ]
            for t in ready:
                layer[t] = max((layer[x] + 1 for x in above[t]), default=0)
        order: list[int] = []
        for number in range(max(layer.values(), default=-1) + 1):
            members = [t for t in range(self.num_transitions) if layer[t] == number]
            order += sorted(members, key=lambda t: (min(map(order.index, above[t]), default=0), t))
        return order

    def beats(self, t: int, u: int) -> bool:
        """Whether transition `t` has priority over transition `u`, directly or through others."""
        seen, todo = set(), [t]
        while todo:
            x = todo.pop()
            for above, below in self.pairs:
                if above == x and below not in seen:
                    seen.add(below)
                    todo.append(below)
        return u in seen

    # ---- a step ----

    def multiplicity(self, marking: Marking, t: int) -> int | None:
        """The firing multiplicity C(t) of transition `t` in `marking`: 0 where it cannot fire,
        `UNBOUNDED` where no regular input arc bounds it."""
        if any(marking[p] >= w for p, w in self.inhibitors[t]):
            return 0
        if any(marking[p] < w for p, w in self.tests[t]):
            return 0
        return min((marking[p] // w for p, w in self.inputs[t]), default=UNBOUNDED)

    def fireable(self, marking: Marking) -> list[int]:
        """The transitions that can fire in `marking`, in order of priority."""
        return [t for t in self.order if self.multiplicity(marking, t) != 0]

    def candidates(self, marking: Marking) -> list[int]:
        """The fireable transitions of `marking` over which no fireable transition has priority."""
        able = self.fireable(marking)
        return [t for t in able if not any(self.beats(u, t) for u in able)]

    def fired(self, marking: Marking, t: int, copies: int) -> Marking:
        """The marking after transition `t` fired `copies` times in `marking`, in integers of any
        size."""
        new = list(marking)
        for p, w in self.inputs[t]:
            new[p] -= copies * w
        for p, w in self.outputs[t]:
            new[p] += copies * w
        return tuple(new)

    def places(self, t: int) -> set[int]:
        """All places with an arc to or from transition `t`."""
        kinds = (self.inputs, self.outputs, self.inhibitors, self.tests)
        return {p for kind in kinds for p, _ in kind[t]}

    def disjoint(self, marking: Marking) -> list[int]:
        """The transitions that fire together in a round from `marking`: in order of priority, each
        fireable one that shares no place with those before it."""
        taken: set[int] = set()
        accepted = []
        for t in self.fireable(marking):
            if not taken & self.places(t):
                accepted.append(t)
            taken |= self.places(t)
        return accepted

    # ---- a run ----

    def run(
        self,
        *,
        rule: FiringRule | None = None,
        max_steps: int = 10**9,
        largest: int = 2**63 - 1,
        choose: Callable[[Sequence[int], int], int] | None = None,
        marking: Marking | None = None,
        keep: bool = False,
    ) -> Ended:
        """Run the net until no transition can fire or a limit is reached.

        **Arguments:**

        - `rule`: fire the maximal number of copies of one transition (`"sleptsov"`), one copy
          (`"petri"`), or all transitions of a round that share no place (`"disjoint"`); by default
          the rule of the net.
        - `max_steps`: the largest number of steps.
        - `largest`: the largest number of tokens of a place; more end the run as `token_overflow`.
        - `choose`: `choose(candidates, step)` selects one of the candidates; by default the first
          fireable transition fires.
        - `marking`: the marking to begin with; by default that of the net.
        - `keep`: keep all markings.

        **Returns:** how the run `Ended`.
        """
        rule = rule or self.rule
        now = self.initial if marking is None else marking
        trace: list[tuple[int, int, int]] = []
        markings = [now]
        steps = widest = 0
        while True:
            able = self.fireable(now)
            if not able:
                return Ended("halted", steps, now, trace, markings, widest)
            if steps == max_steps:
                return Ended("max_steps_reached", steps, now, trace, markings, widest)
            if rule == "disjoint":
                firing = self.disjoint(now)
            elif choose is None:
                firing = able[:1]
            else:
                firing = [choose(self.candidates(now), steps)]
            new, made = now, []
            for t in firing:
                copies = 1 if rule == "petri" else self.multiplicity(now, t)
                if copies is None:
                    culprit = (t, None, None)
                    return Ended(
                        "unbounded_multiplicity", steps, now, trace, markings, widest, culprit
                    )
                new = self.fired(new, t, copies)
                made.append((steps, t, copies))
                over = [p for p, tokens in enumerate(new) if tokens > largest]
                if over:
                    culprit = (t, copies, over[0])
                    return Ended("token_overflow", steps, now, trace, markings, widest, culprit)
            trace += made
            widest = max(widest, len(firing))
            now, steps = new, steps + 1
            if keep:
                markings.append(now)

    def successors(self, marking: Marking, rule: FiringRule | None = None) -> list[Marking]:
        """The marking after each allowed choice in `marking`, in order of priority, under a firing
        `rule`, by default that of the net."""
        rule = rule or self.rule
        found = []
        for t in self.candidates(marking):
            copies = 1 if rule == "petri" else self.multiplicity(marking, t)
            assert copies is not None, "unbounded"
            found.append(self.fired(marking, t, copies))
        return found

    def reachable(self, rule: FiringRule | None = None) -> tuple[set[Marking], set[Marking]]:
        """All markings that any allowed choices reach under a firing `rule`, by default that of the
        net, and those of them in which no transition can fire."""
        seen, todo = {self.initial}, [self.initial]
        final: set[Marking] = set()
        while todo:
            marking = todo.pop()
            after = self.successors(marking, rule)
            if not after:
                final.add(marking)
            todo += [new for new in after if new not in seen]
            seen.update(after)
        return seen, final


def _by_transition(arcs: "Arcs", num_transitions: int) -> list[list[tuple[int, int]]]:
    of: list[list[tuple[int, int]]] = [[] for _ in range(num_transitions)]
    for place, transition, weight in arcs.triples():
        of[transition].append((place, weight))
    return of


explain_arguments(__name__)
