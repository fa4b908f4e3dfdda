"""Bisimulation: whatever one system does, the other can do, now and ever after."""

from dataclasses import dataclass

import numpy as np

from ...spiking.model.environment import AnyInput
from .comparison import AbstractComparison, Pair
from .labelled import Labelled, side_by_side
from .refine import Refinement, refine
from .result import Agreement, Difference, Equivalence
from .runs import nearest_step
from .traces import difference_of, on_inputs


@dataclass(frozen=True)
class Bisimilar(AbstractComparison):
    """Bisimilar: each step of one system is answered by a step of the other that emits the same,
    and after which that holds again.

    It is finer than equal traces: it also sees *when* a system decides. For deterministic systems
    the two are the same. A halting configuration emits nothing for ever, see `SameTraces`, as also
    for the arguments. The graphs must be complete; otherwise the systems are compared as far as
    everything is known.

    ```python
    snp.equivalent(system, optimised, by=Bisimilar())
    ```

    ??? cite "Source"
        Park 1981; Milner 1989. Labels are the emissions of the outputs, and the input.
    """

    inputs: AnyInput | tuple[AnyInput, AnyInput] | None = None
    halting: bool = False

    @property
    def environment(self) -> AnyInput | tuple[AnyInput, AnyInput] | None:
        return self.inputs

    @property
    def depth(self) -> int | None:
        return None

    def compare(self, pair: Pair) -> Equivalence:
        labelled = side_by_side(*pair.graphs, inputs=pair.inputs, sees_halting=self.halting)
        cut = [graph for graph in pair.graphs if not graph.is_complete]
        known = min((graph.whole_depth for graph in cut), default=None)
        refinement = refine(labelled, max_rounds=known)
        if refinement.splits(*labelled.starts) is not None:
            difference = _game(labelled, pair, refinement)
            reason = f"they can be told apart in {len(refinement.rounds) - 1} steps"
            return Equivalence(self, Agreement.DIFFERENT, reason, difference)
        if known is None:
            num_blocks = int(refinement.rounds[-1].max()) + 1
            return Equivalence(self, Agreement.EQUAL, f"{num_blocks} classes of configurations")
        if known == 0:
            return Equivalence(self, Agreement.UNKNOWN, pair.cut)
        reason = f"they cannot be told apart in {known} steps; {pair.cut}"
        return Equivalence(self, Agreement.EQUAL_UP_TO, reason)

    def __str__(self) -> str:
        return f"bisimulation{on_inputs(self.inputs)}"


def _game(labelled: Labelled, pair: Pair, refinement: Refinement) -> Difference:
    """A play of the bisimulation game, won by one side: in every step one system moves, and the
    other answers as long as it can; no answer is better than the one shown."""
    at, paths, has_choice = list(labelled.starts), ([], []), False
    while True:
        split = refinement.splits(*at)
        assert split is not None
        blocks = refinement.rounds[split - 1]
        mover, step, answers = _move(labelled, blocks, at)
        paths[mover].append(step)
        if not len(answers):
            break
        target = int(labelled.targets[step])
        lasts = [refinement.splits(target, int(labelled.targets[x])) or 0 for x in answers]
        answer = int(answers[int(np.argmax(lasts))])
        paths[1 - mover].append(answer)
        own, _ = labelled.steps_of(np.asarray([at[mover]]))
        alike = labelled.labels[own] == labelled.labels[step]
        has_choice |= len(answers) > 1 or int(np.sum(alike)) > 1
        at[mover], at[1 - mover] = target, int(labelled.targets[answer])
    other = np.asarray([at[1 - mover]])
    near = nearest_step(labelled, other, int(labelled.labels[step]))
    if near is not None:
        paths[1 - mover].append(near)
    after = " of this play" if has_choice else ""
    return difference_of(labelled, pair, mover, (paths[mover], paths[1 - mover]), other, after)


def _move(labelled: Labelled, blocks: np.ndarray, at: list[int]) -> tuple[int, int, np.ndarray]:
    """A step of one system into a block that the other cannot reach by the same label, and the
    steps of the other one by that label. One without an answer comes first."""
    own = [labelled.steps_of(np.asarray([one]))[0] for one in at]
    found = []
    for mover in (0, 1):
        others = own[1 - mover]
        theirs = set(
            zip(
                labelled.labels[others].tolist(),
                blocks[labelled.targets[others]].tolist(),
                strict=True,
            )
        )
        for step in own[mover].tolist():
            label, block = int(labelled.labels[step]), int(blocks[labelled.targets[step]])
            if (label, block) not in theirs:
                answers = others[labelled.labels[others] == label]
                found.append((len(answers) > 0, mover, step, answers))
    _, mover, step, answers = min(found, key=lambda move: move[:3])
    return mover, step, answers
