"""Trace equivalence: the same output on the same input."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ...spiking.model.environment import AnyInput
from .comparison import AbstractComparison, Pair
from .determinise import compare_traces
from .labelled import Labelled, side_by_side
from .result import SIDES, Agreement, Difference, Equivalence
from .runs import answers, nearest_step, path_along, reached_along, run_along


@dataclass(frozen=True)
class SameTraces(AbstractComparison):
    """The same sets of output traces: what the outputs emit, step by step, for ever.

    A system that has halted emits nothing for ever, so that a halt is not seen unless `halting`
    says so, and a trace may be continued by zeros. Outputs are compared in the order of
    `system.output`, and step by step: a delay is a difference.

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
    statement = (
        f"In step {len(path)}{after} the {SIDES[shown_by]} system can {_does(labelled, label)}, "
        f"the {SIDES[1 - shown_by]} can only {instead or 'do nothing'}."
    )
    return Difference(statement, shown_by, (runs[0], runs[1]))


def _does(labelled: Labelled, label: int) -> str:
    """What a system does in a step, in words."""
    if labelled.is_halt(label):
        return "halt"
    spikes = labelled.output_of(label)
    return f"emit {spikes[0] if len(spikes) == 1 else spikes}"
