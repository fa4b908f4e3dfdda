"""What `run` returns for a Sleptsov net, with the net's names."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Int

from ..._text.counts import plural
from ...results import RESULTS, codes_of
from ...trajectory import (
    AbstractCheckedRun,
    AbstractManyPaths,
    AbstractOnePath,
    NotSaved,
    Trajectory,
    with_size,
)
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


@dataclass(frozen=True, eq=False, repr=False)
class AbstractNetSolution(AbstractCheckedRun):
    """What runs of a net with one path and with many have in common.

    Axes: `places` and `transitions` in the order of the net; `paths` is last, and only there in a
    batch. A step is a firing, or a round under `Disjoint`. A history that was not saved raises
    `NotSaved`.
    """

    net: SleptsovNet
    rule: AbstractRule

    @property
    def state(self) -> NetState:
        """The final state as the machine has it, to continue from: `run(net, initial=state)`."""
        return with_size(self.trajectory.final, self.net.num_places)

    @property
    def marking(self) -> Int[np.ndarray, "places *paths"]:
        """The final marking; where a step failed, the one before it."""
        return self.trajectory.final.marking[: self.net.num_places]

    @property
    def markings(self) -> Int[np.ndarray, "rows places *paths"]:
        """The initial marking, then those after every `saved.every`-th step."""
        if self.trajectory.states is None:
            raise self.trajectory.not_saved("states", "Markings", "save=snp.SAVE_ALL")
        return self.trajectory.states.marking[:, : self.net.num_places]

    @property
    def fired(self) -> Int[np.ndarray, "steps *paths"]:
        """Which transition fired in each step; `NO_TRANSITION` after a path's end.

        **Raises:** `ValueError` under `Disjoint`, by which several fire in a step; `NotSaved`.
        """
        if isinstance(self._details, Round):
            raise ValueError("Under `Disjoint` several transitions fire in a step. Use `trace`.")
        return self._trace[0]

    @property
    def multiplicities(self) -> Int[np.ndarray, "..."]:
        """In how many copies it fired, and 0 after a path's end: `(steps, *paths)`. Under
        `Disjoint` of each transition: `(steps, transitions, *paths)`."""
        return self._trace[1]

    @cached_property
    def counts(self) -> Int[np.ndarray, "transitions *paths"]:
        """How often each transition fired, copies not counted.

        **Raises:** `NotSaved` unless the rule is `Disjoint` or `counts=True` was passed.
        """
        fired = self.state.fired
        if fired is None:
            raise NotSaved("Firings", "snp.sleptsov.Execution(net, counts=True)")
        counts = np.zeros((self.net.num_transitions, *fired.shape[1:]), np.int64)
        counts[self.net.priority_order] = fired[: self.net.num_transitions]
        return counts

    def _failure(self, failed: Int[np.ndarray, " failed"]) -> str:
        net, trajectory = self.net, self.trajectory
        codes = np.ravel(codes_of(trajectory.result))
        refused = failed[codes[failed] == _REFUSED]
        if len(refused):
            step = int(np.ravel(trajectory.steps)[refused[0]]) + 1
            of_path = f", path {refused[0]}" if trajectory.steps.ndim else ""
            return (
                f"step {step}{of_path}: the given transition cannot fire, or one that can beats "
                "it. Give in every step one of the transitions that none of them beats, and none "
                "(`NO_RULE`) where the net has halted."
            )
        path = int(failed[0])
        culprits = self._culprits
        culprit = culprits[path]
        assert culprit is not None
        step = int(np.ravel(trajectory.steps)[path]) + 1  # the one that could not be made
        where = f"transition {net.transition_name(culprit.transition)!r}, step {step}"
        if trajectory.steps.ndim == 1:
            where += f", path {path} ({len(failed)} of {len(culprits)} paths failed)"
        if culprit.place is None:
            return f"{where}: {RESULTS[RESULTS.unbounded_multiplicity]}"
        what = (
            f"{where}: fired in {culprit.multiplicity:,} copies it would put more tokens into "
            f"place {net.place_name(culprit.place)!r} than its count type can hold."
        )
        is_widest = trajectory.final.marking.dtype == np.int64
        return f"{what} 64 bits are the widest type." if is_widest else f"{what} {_WIDER}"

    def _place(self, place: str | int) -> int:
        return self.net.place(place) if isinstance(place, str) else place

    @property
    def _details(self) -> Any:
        if self.trajectory.details is None:
            raise self.trajectory.not_saved(
                "details", "Traces", "save=snp.Save(every=None, details=True)"
            )
        return self.trajectory.details

    @cached_property
    def _trace(self) -> tuple[Int[np.ndarray, "..."], Int[np.ndarray, "..."]]:
        """Which transition fired in each step, if one does, and in how many copies."""
        net, details, steps = self.net, self._details, self.trajectory.steps
        order = net.priority_order
        if isinstance(details, Round):
            rounds = details.multiplicities
            multiplicities = np.zeros(
                (len(rounds), net.num_transitions, *rounds.shape[2:]), np.int64
            )
            multiplicities[:, order] = rounds[:, : net.num_transitions]
            return np.zeros(0, np.int64), multiplicities
        multiplicities = details.multiplicity
        is_made = np.arange(len(multiplicities)).reshape(-1, *[1] * steps.ndim) < steps
        if len(order) == 0:
            return np.full(multiplicities.shape, NO_TRANSITION), np.zeros_like(multiplicities)
        fired = np.where(is_made, order[details.transition], NO_TRANSITION)
        return fired, np.where(is_made, multiplicities, 0)

    @cached_property
    def _culprits(self) -> tuple[Culprit | None, ...]:
        net, trajectory = self.net, self.trajectory
        final, codes = trajectory.final, np.ravel(trajectory.result._value)
        columns = [np.ravel(x) for x in (final.transition, final.multiplicity, final.place)]
        found: list[Culprit | None] = [None] * codes.size
        for path in np.flatnonzero((codes == _OVERFLOW) | (codes == _UNBOUNDED)).tolist():
            transition, copies, place = (int(x[path]) for x in columns)
            by = int(net.priority_order[transition])
            is_unbounded = codes[path] == _UNBOUNDED
            found[path] = Culprit(by, None, None) if is_unbounded else Culprit(by, copies, place)
        return tuple(found)


@final
class NetSolution(AbstractNetSolution, AbstractOnePath):
    """A run of a net, as host arrays: one path. See `AbstractNetSolution`."""

    @property
    def firings(self) -> int:
        """How many transitions fired, copies not counted; more than `steps` under `Disjoint`."""
        return self.steps if self.state.widest is None else int(self.counts.sum())

    @property
    def widest(self) -> int:
        """The most that fired in one step: under `Disjoint` in one round, else 1, or 0 if none."""
        return min(self.steps, 1) if self.state.widest is None else int(self.state.widest)

    @property
    def culprit(self) -> Culprit | None:
        """What failed; `None` for no failure."""
        return self._culprits[0]

    @property
    def tokens(self) -> Mapping[str, int]:
        """The final marking by name: the places that hold tokens."""
        held = np.flatnonzero(self.marking).tolist()
        return {self.net.place_name(p): int(self.marking[p]) for p in held}

    def tokens_in(self, place: str | int) -> int:
        """The tokens of a place in the final marking.

        **Raises:** `ValueError` for a name that the net does not have.
        """
        return int(self.marking[self._place(place)])

    @property
    def trace(self) -> list[tuple[int, int, int]]:
        """(step, transition, multiplicity) of every firing, steps from 0.

        **Raises:** `NotSaved`.
        """
        if not isinstance(self._details, Round):
            pairs = zip(self.fired.tolist(), self.multiplicities.tolist(), strict=True)
            return [(step, t, c) for step, (t, c) in enumerate(pairs)]
        position = np.empty(self.net.num_transitions, np.int64)
        position[self.net.priority_order] = np.arange(self.net.num_transitions)
        step, transition = np.nonzero(self.multiplicities)
        order = np.lexsort((position[transition], step))
        found = zip(step[order].tolist(), transition[order].tolist(), strict=True)
        return [(s, t, int(self.multiplicities[s, t])) for s, t in found]

    def __repr__(self) -> str:
        lines = [f"NetSolution of {self.net!r}: {self.ending}"]
        if self.failure is not None:
            lines.append(f"  {self.failure}")
        held = list(self.tokens.items())
        first = ", ".join(f"{name}={tokens}" for name, tokens in held[:12])
        more = f", and {len(held) - 12:,} more" if len(held) > 12 else ""
        lines.append(f"  final marking: {first or 'empty'}{more}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from .picture import net_solution_html

        return net_solution_html(self)


@final
class NetSolutionBatch(AbstractNetSolution, AbstractManyPaths[NetSolution]):
    """Many runs of a net side by side, as host arrays whose last axis is `paths`. See
    `AbstractNetSolution`. `batch[path]` is the `NetSolution` of one path, cut to its own length.
    """

    @property
    def firings(self) -> Int[np.ndarray, " paths"]:
        """How many transitions fired, copies not counted; more than `steps` under `Disjoint`."""
        return self.steps if self.state.widest is None else self.counts.sum(axis=0)

    @property
    def culprits(self) -> tuple[Culprit | None, ...]:
        """What failed in each path; `None` for no failure."""
        return self._culprits

    def tokens_in(self, place: str | int) -> Int[np.ndarray, " paths"]:
        """The tokens of a place in the final markings.

        **Raises:** `ValueError` for a name that the net does not have.
        """
        return self.marking[self._place(place)]

    def _solution(self, trajectory: Trajectory) -> NetSolution:
        return NetSolution(trajectory, self.net, self.rule)

    def __repr__(self) -> str:
        return f"NetSolutionBatch({plural(self.paths, 'path')} of {self.net!r}: {self.ending})"


_OVERFLOW = int(RESULTS.token_overflow._value)
_UNBOUNDED = int(RESULTS.unbounded_multiplicity._value)
_REFUSED = int(RESULTS.choice_refused._value)


_WIDER = "Run with `count_dtype=numpy.int64`."
