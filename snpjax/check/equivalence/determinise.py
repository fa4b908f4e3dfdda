"""All traces of two labelled graphs at once, by the configurations that each may lead to."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from .labelled import Labelled


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
