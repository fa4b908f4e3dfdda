"""What a run of a Sleptsov net gives back, with the net's names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ...results import RESULTS
from ...trajectory import Trajectory
from ..model.net import SleptsovNet
from ..model.rules import AbstractRule
from ..step.state import NO_TRANSITION, NetState, Round


@dataclass(frozen=True)
class Culprit:
    """What failed: a transition, in how many copies it would have fired (`None`: without bound),
    and the first place that its tokens do not fit in (`None`: it is not that)."""

    transition: int
    multiplicity: int | None
    place: int | None


@dataclass(frozen=True, eq=False)
class NetSolution:
    """A run of a net, as host arrays.

    Axes: `places` and `transitions` in the order of the net; `paths` is last, and only there when
    the run was a batch.

    - `result`: a `RESULTS`; in a batch one per path.
    - `steps`: firings made, or rounds under `Disjoint`: `int`, or `(paths,)`.
    - `marking`: the final marking; where a step failed, the one before it.
    - `markings`: the initial marking, then those after every `every`-th step; `None` if not saved.
    - `fired`, `multiplicities`: the trace: which transition fired in each step, and in how many
      copies; `NO_TRANSITION` and 0 after a path's end. `None` if not saved. Under `Disjoint`
      `fired` is `None` and `multiplicities` has an axis of transitions.
    - `counts`: how often each transition fired, copies not counted; `None` unless asked for.
    - `widest`: the most that fired in one round, under `Disjoint`.
    - `culprits`: what failed; `None` for no failure. In a batch one per path.
    - `failure`: the first failure in words, or `None`.
    - `state`: the final state as the machine has it, to go on from: `run(net, initial=state)`.
    """

    net: SleptsovNet
    rule: AbstractRule
    result: Any
    steps: "int | Int[np.ndarray, ' paths']"
    marking: Int[np.ndarray, "places *paths"]
    every: int | None
    markings: Int[np.ndarray, "rows places *paths"] | None
    fired: Int[np.ndarray, "steps *paths"] | None
    multiplicities: Int[np.ndarray, "steps *paths"] | None
    counts: Int[np.ndarray, "transitions *paths"] | None
    widest: "int | Int[np.ndarray, ' paths'] | None"
    culprits: "Culprit | None | tuple[Culprit | None, ...]"
    failure: str | None
    state: NetState

    @property
    def paths(self) -> int | None:
        """Number of paths of a batch; `None` for a single run."""
        return None if self.marking.ndim == 1 else self.marking.shape[1]

    @property
    def halted(self) -> "bool | np.ndarray":
        """Whether nothing can fire any more; in a batch one per path."""
        halted = np.asarray(self.result == RESULTS.halted)
        return bool(halted) if halted.ndim == 0 else halted

    @property
    def firings(self) -> "int | Int[np.ndarray, ' paths']":
        """How many transitions fired, copies not counted; more than `steps` under `Disjoint`."""
        if self.widest is None or self.counts is None:
            return self.steps
        total = self.counts.sum(axis=0, dtype=np.int64)
        return int(total) if total.ndim == 0 else total

    @property
    def tokens(self) -> "Mapping[str, int]":
        """The final marking by name, of a single run: places that hold something."""
        if self.paths is not None:
            raise ValueError("A batch has many final markings. Use `marking[:, path]`.")
        held = np.flatnonzero(self.marking).tolist()
        return {self.net.place_name(p): int(self.marking[p]) for p in held}

    def tokens_in(self, place: str | int) -> "int | Int[np.ndarray, ' paths']":
        """The tokens of a place in the final marking.

        **Raises:** `ValueError` for a name that the net does not have.
        """
        number = self.net.place(place) if isinstance(place, str) else place
        tokens = self.marking[number]
        return int(tokens) if np.ndim(tokens) == 0 else tokens

    @property
    def trace(self) -> list[tuple[int, int, int]]:
        """(step, transition, multiplicity) of every firing of a single run, steps from 0.

        **Raises:** `ValueError` if the trace was not saved.
        """
        if self.multiplicities is None or self.paths is not None:
            raise ValueError(
                "There is no trace. Run one path with `save=Save(every=None, details=True)`."
            )
        if self.fired is not None:
            pairs = zip(self.fired.tolist(), self.multiplicities.tolist(), strict=True)
            return [(step, t, c) for step, (t, c) in enumerate(pairs)]
        position = np.empty(self.net.num_transitions, np.int64)
        position[self.net.priority_order] = np.arange(self.net.num_transitions)
        step, transition = np.nonzero(self.multiplicities)
        order = np.lexsort((position[transition], step))
        found = zip(step[order].tolist(), transition[order].tolist(), strict=True)
        return [(s, t, int(self.multiplicities[s, t])) for s, t in found]

    def __repr__(self) -> str:
        if self.paths is not None:
            return (
                f"NetSolution({self.paths} paths of {self.net!r}: {int(np.sum(self.halted))} "
                f"halted, steps {np.min(self.steps)} to {np.max(self.steps)})"
            )
        lines = [f"NetSolution of {self.net!r}: {describe_end(self)}"]
        if self.failure is not None:
            lines.append(f"  {self.failure}")
        held = list(self.tokens.items())
        shown = ", ".join(f"{name}={tokens}" for name, tokens in held[:12])
        more = f", and {len(held) - 12:,} more" if len(held) > 12 else ""
        lines.append(f"  final marking: {shown or 'empty'}{more}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from .picture import net_solution_html

        return net_solution_html(self)


def describe_end(solution: NetSolution) -> str:
    """How a single run ended, in words."""
    steps = f"{solution.steps:,} step{'' if solution.steps == 1 else 's'}"
    if solution.failure is not None:
        return f"failed after {steps}"
    return f"halted after {steps}" if solution.halted else f"not halted after {steps}"


def solve(net: SleptsovNet, rule: AbstractRule, trajectory: Trajectory) -> NetSolution:
    """Cut a trajectory's padding, and number transitions as the net does."""
    final, initial, steps = trajectory.final, trajectory.initial, trajectory.steps
    places, order = slice(net.num_places), net.priority_order
    markings = None
    if trajectory.states is not None:
        assert initial is not None
        rows = (initial.marking[None], trajectory.states.marking)
        markings = np.concatenate(rows)[:, places]
    fired, multiplicities = _trace(net, trajectory.details, steps)
    counts = None
    if final.fired is not None:
        counts = np.zeros((net.num_transitions, *final.fired.shape[1:]), np.int64)
        counts[order] = final.fired[: net.num_transitions]
    widest = final.widest
    culprits = _culprits(net, trajectory)
    return NetSolution(
        net=net,
        rule=rule,
        result=trajectory.result,
        steps=_plain(steps),
        marking=final.marking[places],
        every=trajectory.every,
        markings=markings,
        fired=fired,
        multiplicities=multiplicities,
        counts=counts,
        widest=None if widest is None else _plain(widest),
        culprits=culprits if steps.ndim else culprits[0],
        failure=_failure(net, trajectory, culprits),
        state=final,
    )


def _plain(number: Int[np.ndarray, "*paths"]) -> "int | Int[np.ndarray, ' paths']":
    return int(number) if np.ndim(number) == 0 else number


def _trace(
    net: SleptsovNet, details: Any, steps: Int[np.ndarray, "*paths"]
) -> tuple[Int[np.ndarray, "..."] | None, Int[np.ndarray, "..."] | None]:
    if details is None:
        return None, None
    order = net.priority_order
    if isinstance(details, Round):
        rounds = details.multiplicities
        multiplicities = np.zeros((len(rounds), net.num_transitions, *rounds.shape[2:]), np.int64)
        multiplicities[:, order] = rounds[:, : net.num_transitions]
        return None, multiplicities
    multiplicities = details.multiplicity
    is_made = np.arange(len(multiplicities)).reshape(-1, *[1] * steps.ndim) < steps
    if len(order) == 0:
        return np.full(multiplicities.shape, NO_TRANSITION), np.zeros_like(multiplicities)
    fired = np.where(is_made, order[details.transition], NO_TRANSITION)
    return fired, np.where(is_made, multiplicities, 0)


def _culprits(net: SleptsovNet, trajectory: Trajectory) -> tuple[Culprit | None, ...]:
    final, codes = trajectory.final, np.ravel(trajectory.result._value)
    columns = [np.ravel(x) for x in (final.transition, final.multiplicity, final.place)]
    found: list[Culprit | None] = [None] * codes.size
    for path in np.flatnonzero(_is_failure(trajectory)).tolist():
        transition, copies, place = (int(x[path]) for x in columns)
        by = int(net.priority_order[transition])
        is_unbounded = codes[path] == _UNBOUNDED
        found[path] = Culprit(by, None, None) if is_unbounded else Culprit(by, copies, place)
    return tuple(found)


def _is_failure(trajectory: Trajectory) -> Bool[np.ndarray, " paths"]:
    codes = np.ravel(trajectory.result._value)
    return (codes == _OVERFLOW) | (codes == _UNBOUNDED)


_OVERFLOW = int(RESULTS.token_overflow._value)
_UNBOUNDED = int(RESULTS.unbounded_multiplicity._value)
_REFUSED = int(RESULTS.choice_refused._value)


def _failure(
    net: SleptsovNet, trajectory: Trajectory, culprits: tuple[Culprit | None, ...]
) -> str | None:
    refused = np.flatnonzero(np.ravel(trajectory.result._value) == _REFUSED)
    if len(refused):
        step = int(np.ravel(trajectory.steps)[refused[0]]) + 1
        of_path = f", path {refused[0]}" if trajectory.steps.ndim else ""
        return (
            f"step {step}{of_path}: the given transition cannot fire, or one that can beats it. "
            "Give in every step one of the transitions that none of them beats, and none "
            "(`NO_RULE`) where the net has halted."
        )
    failed = np.flatnonzero(_is_failure(trajectory)).tolist()
    if not failed:
        return None
    path = failed[0]
    culprit = culprits[path]
    assert culprit is not None
    step = int(np.ravel(trajectory.steps)[path]) + 1  # the one that could not be made
    where = f"transition {net.transition_name(culprit.transition)!r}, step {step}"
    if trajectory.steps.ndim == 1:
        where += f", path {path} ({len(failed)} of {len(culprits)} paths failed)"
    if culprit.place is None:
        return f"{where}: {RESULTS[RESULTS.unbounded_multiplicity]}"
    what = (
        f"{where}: fired in {culprit.multiplicity:,} copies it would put more tokens into place "
        f"{net.place_name(culprit.place)!r} than its count type can hold."
    )
    is_widest = trajectory.final.marking.dtype == np.int64
    return f"{what} 64 bits are the most there are." if is_widest else f"{what} {_WIDER}"


_WIDER = "Try 64-bit counts, `numpy.int64`."
