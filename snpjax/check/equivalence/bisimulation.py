"""Bisimulation: whatever one system does, the other can do, now and ever after. It is decided by
partition refinement, all configurations of a round at once."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Int, UInt64

from ...spiking.model.environment import AnyInput
from .comparison import AbstractComparison, Pair
from .labelled import Labelled, side_by_side
from .result import Agreement, Difference, Equivalence
from .runs import nearest_step
from .traces import difference_of, on_inputs


#: The rounds of a refinement: `rounds[k][i]` is the block of configuration i, which has the
#: configurations that cannot be told apart from it within k steps. If no round tells the initial
#: configurations apart, the last blocks are bisimilarity, unless `max_rounds` came first.
Rounds: TypeAlias = list[Int[np.ndarray, " configurations"]]


@dataclass(frozen=True)
class Bisimilar(AbstractComparison):
    """Bisimilar: each step of one system is answered by a step of the other that emits the same,
    and after which that holds again.

    It is finer than equal traces: it also sees *when* a system decides. For deterministic systems
    the two are the same. A halting configuration emits nothing for ever, see `SameTraces`, as also
    for the arguments. Steps of nets are labelled by the name of the transition and its
    multiplicity. The graphs must be complete; otherwise the systems are compared as far as
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
        rounds = refine(labelled, max_rounds=known)
        if _split_in(rounds, *labelled.starts) is not None:
            difference = _game(labelled, pair, rounds)
            reason = f"they can be told apart in {len(rounds) - 1} steps"
            return Equivalence(self, Agreement.DIFFERENT, reason, difference)
        if known is None:
            num_blocks = int(rounds[-1].max()) + 1
            return Equivalence(self, Agreement.EQUAL, f"{num_blocks} classes of configurations")
        if known == 0:
            return Equivalence(self, Agreement.UNKNOWN, pair.cut)
        reason = f"they cannot be told apart in {known} steps; {pair.cut}"
        return Equivalence(self, Agreement.EQUAL_UP_TO, reason)

    def __str__(self) -> str:
        return f"bisimulation{on_inputs(self.inputs)}"


def _game(labelled: Labelled, pair: Pair, rounds: Rounds) -> Difference:
    """A play of the bisimulation game, won by one side: in every step one system moves, and the
    other answers as long as it can; no answer is better than the one shown."""
    at, paths, has_choice = list(labelled.starts), ([], []), False
    while True:
        split = _split_in(rounds, *at)
        assert split is not None
        blocks = rounds[split - 1]
        mover, step, answers = _move(labelled, blocks, at)
        paths[mover].append(step)
        if not len(answers):
            break
        target = int(labelled.targets[step])
        lasts = [_split_in(rounds, target, int(labelled.targets[x])) or 0 for x in answers]
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


def refine(labelled: Labelled, *, max_rounds: int | None = None) -> Rounds:
    """Refine until the initial configurations are told apart, nothing changes, or `max_rounds`.

    Two configurations of a block stay together when the same labels lead to the same blocks.
    Signatures are compared by their hashes, and then in full within each block: no two different
    ones are ever merged.

    ??? cite "Source"
        Kanellakis and Smolka 1990, the naive method, by signatures as in Blom and Orzan 2003: its
        rounds are what the witness is made of. A round takes time in the number of steps; there are
        at most as many as configurations, and rarely more than a few tens.
    """
    rounds = [np.zeros(labelled.num_configurations, np.int64)]
    one, other = labelled.starts
    while max_rounds is None or len(rounds) <= max_rounds:
        blocks = _split(labelled, rounds[-1])
        if blocks.max(initial=0) == rounds[-1].max(initial=0):
            break
        rounds.append(blocks)
        if blocks[one] != blocks[other]:
            break
    return rounds


def _split_in(rounds: Rounds, one: int, other: int) -> int | None:
    """The first round that tells two configurations apart."""
    return next((k for k, blocks in enumerate(rounds) if blocks[one] != blocks[other]), None)


def _split(
    labelled: Labelled, blocks: Int[np.ndarray, " configurations"]
) -> Int[np.ndarray, " configurations"]:
    """The blocks of the next round."""
    source = np.repeat(np.arange(labelled.num_configurations), np.diff(labelled.first_step))
    pair = labelled.labels * (int(blocks.max(initial=0)) + 1) + blocks[labelled.targets]
    order = np.lexsort((pair, source))
    pair = pair[order]  # sources were ascending before
    is_new = np.ones(len(pair), bool)
    is_new[1:] = (source[1:] != source[:-1]) | (pair[1:] != pair[:-1])
    pair = pair[is_new]
    starts = np.concatenate([[0], np.cumsum(is_new)])[labelled.first_step]
    for seed in range(16):
        totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_hash(pair, seed))])
        own = totals[starts[1:]] - totals[starts[:-1]]
        _, first, found = np.unique(
            own + _hash(blocks, seed + 16), return_index=True, return_inverse=True
        )
        # Every configuration has to have the block and the signature of the one that it is like.
        like, counts = first[found], np.diff(starts)
        if np.array_equal(blocks, blocks[like]) and np.array_equal(counts, counts[like]):
            place = np.arange(len(pair)) + np.repeat(starts[like] - starts[:-1], counts)
            if np.array_equal(pair, pair[place]):
                return found
    raise AssertionError("Hashes of signatures are equal for 16 seeds; please report this as a bug")


def _hash(values: Int[np.ndarray, " some"], seed: int) -> UInt64[np.ndarray, " some"]:
    """Steele, Lea and Flood 2014 (SplitMix64)."""
    x = values.astype(np.uint64) + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 & (2**64 - 1))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
