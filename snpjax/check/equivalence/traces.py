"""Trace equivalence: the same output on the same input. It is decided for all traces at once, by
the configurations that each may lead to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from ...spiking.model.environment import AnyInput
from .comparison import AbstractComparison, Pair
from .labelled import Labelled, side_by_side
from .result import SIDES, Agreement, Difference, Equivalence
from .runs import answers, nearest_step, path_along, reached_along, run_along


@dataclass(frozen=True)
class SameTraces(AbstractComparison):
    """The same sets of output traces: what the outputs emit, step by step, for ever.

    A system that has halted emits nothing for ever, so that a halt is not seen unless `halting`
    says so, and a trace may be continued by zeros. Outputs are compared in the order of
    `system.output`, and step by step: a delay is a difference.

    Of nets: the same sequences of firings, each the name of a transition and its multiplicity. With
    `halting` the same ones that end in a halt, too.

    **Arguments:**

    - `inputs`: compare on every train of input, `AnyInput(length)`: for each of them the sets of
      outputs must be the same. By default each system runs on its own trains. Neurons are matched
      by name where both systems have input neurons of the same names, otherwise by order; a pair
      `(AnyInput, AnyInput)` names them for each system.
    - `steps`: compare this many steps only. No more of the graphs is explored then.
    - `halting`: a halt is seen, too.
    - `max_subsets`: how many subsets of configurations are held before the comparison stops. There
      are few unless the systems are nondeterministic.

    ```python
    snp.equivalent(adder, other, by=SameTraces(inputs=snp.AnyInput(6)))
    ```

    ??? cite "Source"
        Trace equivalence as in van Glabbeek 1990, section 2; decided by determinising both.
    """

    inputs: AnyInput | tuple[AnyInput, AnyInput] | None = None
    steps: int | None = None
    halting: bool = False
    max_subsets: int = 1_000_000

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps < 1:
            raise ValueError(f"`steps` is {self.steps}. Give a number of steps, 1 or more.")

    @property
    def environment(self) -> AnyInput | tuple[AnyInput, AnyInput] | None:
        return self.inputs

    @property
    def depth(self) -> int | None:
        return self.steps

    def compare(self, pair: Pair) -> Equivalence:
        labelled = side_by_side(*pair.graphs, inputs=pair.inputs, sees_halting=self.halting)
        found = compare_traces(labelled, max_steps=self.steps, max_subsets=self.max_subsets)
        if found.word is not None:
            difference = difference_along(labelled, pair, found.shown_by, found.word)
            reason = f"they differ in step {len(found.word)}"
            return Equivalence(self, Agreement.DIFFERENT, reason, difference)
        if found.compared_up_to is None:
            return Equivalence(self, Agreement.EQUAL, "all their traces are the same")
        return self._bounded(pair, found.compared_up_to, found.num_subsets)

    def _bounded(self, pair: Pair, compared: int, num_subsets: int) -> Equivalence:
        reason = f"their traces of at most {compared} steps are the same"
        if compared == self.steps:  # as was asked
            return Equivalence(self, Agreement.EQUAL, reason)
        why = pair.cut
        if num_subsets > self.max_subsets:
            why = "there are more subsets of configurations. Try increasing `max_subsets`"
        if compared == 0:
            return Equivalence(self, Agreement.UNKNOWN, why)
        return Equivalence(self, Agreement.EQUAL_UP_TO, f"{reason}; {why}")

    def __str__(self) -> str:
        most = "" if self.steps is None else f" of at most {self.steps} steps"
        return f"output traces{most}{on_inputs(self.inputs)}"


def on_inputs(inputs: AnyInput | tuple[AnyInput, AnyInput] | None) -> str:
    """On which input systems are compared, in words."""
    if inputs is None:
        return ""
    one = inputs[0] if isinstance(inputs, tuple) else inputs
    return f" on any input of 0 to {one.most} spikes a step for {one.length} steps"


def difference_along(
    labelled: Labelled, pair: Pair, shown_by: int, word: Sequence[int]
) -> Difference:
    """The runs that show that one system alone has a trace, whose last step the other one lacks."""
    start, other_start = labelled.starts[shown_by], labelled.starts[1 - shown_by]
    others = reached_along(labelled, other_start, word[:-1])
    step = nearest_step(labelled, others, word[-1])
    last = [] if step is None else [int(labelled.labels[step])]
    path = path_along(labelled, start, word)
    other_path = path_along(labelled, other_start, [*word[:-1], *last])
    assert path is not None and other_path is not None
    return difference_of(labelled, pair, shown_by, (path, other_path), others)


def difference_of(
    labelled: Labelled,
    pair: Pair,
    shown_by: int,
    paths: tuple[list[int], list[int]],
    others: Int[np.ndarray, " some"],
    after: str = "",
) -> Difference:
    """A difference by the path that shows it and the nearest one of the other system, and the
    configurations in which that one may be before the last step; `after`: what was before, in
    words."""
    path, other_path = paths
    label = int(labelled.labels[path[-1]])
    runs = [run_along(labelled, pair, shown_by, path)]
    runs.insert(1 - shown_by, run_along(labelled, pair, 1 - shown_by, other_path))
    instead = " or ".join(_does(labelled, x) for x in answers(labelled, others, label))
    noun = pair.noun
    statement = (
        f"In step {len(path)}{after} the {SIDES[shown_by]} {noun} can {_does(labelled, label)}, "
        f"the {SIDES[1 - shown_by]} can only {instead or 'do nothing'}."
    )
    return Difference(statement, shown_by, (runs[0], runs[1]), noun)


def _does(labelled: Labelled, label: int) -> str:
    """What a system does in a step, in words."""
    if labelled.is_halt(label):
        return "halt"
    spikes = labelled.output_of(label)
    if labelled.transitions is not None:
        number, copies = spikes
        name = labelled.transitions[number - 1]
        return f"fire {name}" if copies == 1 else f"fire {name} x {copies}"
    return f"emit {spikes[0] if len(spikes) == 1 else spikes}"


@dataclass(frozen=True)
class Determinised:
    """What determinising two graphs side by side found.

    - `word`: the labels of a shortest trace that only one of them has; `None` if none was found.
    - `shown_by`: 0 or 1, the graph that has it.
    - `compared_up_to`: all traces of at most this many steps were compared; `None`: all traces.
    - `num_subsets`: how many pairs of subsets were met.
    """

    word: list[int] | None
    shown_by: int
    compared_up_to: int | None
    num_subsets: int


@dataclass(frozen=True, eq=False)
class _Level:
    """The subsets that traces of one length lead to, if no shorter one does.

    A subset holds configurations of both graphs, those that one trace leads to; `members` are
    sorted within each, `owner` is the subset of each member. What a graph can do is unknown
    (`is_open`) where a configuration on the way is open.
    """

    owner: Int[np.ndarray, " members"]
    members: Int[np.ndarray, " members"]
    is_open: Bool[np.ndarray, "subsets graphs"]
    parents: Int[np.ndarray, " subsets"]  # in the level before
    labels: Int[np.ndarray, " subsets"]  # of the step from there

    def __len__(self) -> int:
        return len(self.parents)


def compare_traces(
    labelled: Labelled, *, max_steps: int | None = None, max_subsets: int = 1_000_000
) -> Determinised:
    """Whether two graphs have the same traces: breadth-first, so that the trace found is a shortest
    one, and the least of those.

    A trace is any sequence of labels from the initial configuration on. Since halting
    configurations step for ever, graphs with the same finite traces have the same infinite ones.

    ??? cite "Source"
        Rabin and Scott 1959, the subset construction, of both graphs together. Differs from it in:
        1. open configurations may do anything.
    """
    levels = [_first(labelled)]
    seen: set[bytes] = set()
    _unseen(levels[0], seen)
    compared = 0 if levels[0].is_open.any() else None
    while len(levels[-1]):
        steps = len(levels) - 1
        if steps == max_steps or len(seen) > max_subsets:
            return Determinised(None, 0, _least(compared, steps), len(seen))
        following, shown_by = _following(labelled, levels[-1])
        if len(shown := np.flatnonzero(shown_by >= 0)):
            word = _word([*levels, following], int(shown[0]))
            return Determinised(word, int(shown_by[shown[0]]), len(word) - 1, len(seen))
        if following.is_open.any():
            compared = _least(compared, steps + 1)
        # Where neither can lack anything, nothing can be found.
        is_wanted = ~following.is_open.all(axis=1)
        levels.append(_some(following, is_wanted & _unseen(following, seen)))
    return Determinised(None, 0, compared, len(seen))


def _least(compared: int | None, steps: int) -> int:
    return steps if compared is None else min(compared, steps)


def _first(labelled: Labelled) -> _Level:
    starts = np.asarray(labelled.starts)
    nothing = np.zeros(1, np.int64)
    is_open = labelled.is_open[starts][None]
    return _Level(np.zeros(2, np.int64), starts, is_open, nothing, nothing)


def _following(labelled: Labelled, level: _Level) -> tuple[_Level, Int[np.ndarray, " subsets"]]:
    """The subsets one step later, and which graph alone can make the step, or -1."""
    steps, of_member = labelled.steps_of(level.members)
    group = level.owner[of_member] * labelled.num_labels + labelled.labels[steps]
    targets = labelled.targets[steps]
    order = np.lexsort((targets, group))
    group, targets = group[order], targets[order]
    is_new = np.ones(len(group), bool)
    is_new[1:] = (group[1:] != group[:-1]) | (targets[1:] != targets[:-1])
    group, targets = group[is_new], targets[is_new]
    groups, owner = np.unique(group, return_inverse=True)
    parents, labels = np.divmod(groups, labelled.num_labels)

    side = labelled.side_of(targets)
    has = np.zeros((len(groups), 2), bool)
    has[owner, side] = True
    is_open = level.is_open[parents]
    lacks = ~has & ~is_open
    shown_by = np.where(lacks[:, 1], 0, np.where(lacks[:, 0], 1, -1))
    is_unknown = labelled.is_open[targets]
    is_open[owner[is_unknown], side[is_unknown]] = True
    return _Level(owner, targets, is_open, parents, labels), shown_by


def _unseen(level: _Level, seen: set[bytes]) -> Bool[np.ndarray, " subsets"]:
    """Which subsets were not met before; they are now."""
    # Whole subsets are the keys, so that none is ever taken for another. This loop is over subsets,
    # which are as few as `max_subsets`.
    ends = np.searchsorted(level.owner, np.arange(len(level)), side="right").tolist()
    is_new, start = np.zeros(len(level), bool), 0
    for number, end in enumerate(ends):
        key = level.members[start:end].tobytes() + level.is_open[number].tobytes()
        is_new[number] = key not in seen
        seen.add(key)
        start = end
    return is_new


def _some(level: _Level, wanted: Bool[np.ndarray, " subsets"]) -> _Level:
    is_member = wanted[level.owner]
    number = np.cumsum(wanted) - 1
    return _Level(
        number[level.owner[is_member]],
        level.members[is_member],
        level.is_open[wanted],
        level.parents[wanted],
        level.labels[wanted],
    )


def _word(levels: list[_Level], number: int) -> list[int]:
    """The labels on the way to a subset of the last level."""
    word = []
    for level in reversed(levels[1:]):
        word.append(int(level.labels[number]))
        number = int(level.parents[number])
    return word[::-1]
