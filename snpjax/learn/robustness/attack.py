"""A search for inputs with another answer: what it finds was run, and nothing is proved."""

import numpy as np
from jaxtyping import Int

from .box import SpikeBox
from .classifier import Classifier


_ROUNDS = 3


def attacked(
    classifier: Classifier,
    box: SpikeBox,
    cases: Int[np.ndarray, " some"],
    answers: Int[np.ndarray, " some"],
) -> dict[int, Int[np.ndarray, " inputs"]]:
    """Inputs of some cases with another answer, by case.

    In each round the effect of every single change on the lead of the answer is measured, and
    inputs with the first 1, 2, 3, ... of the best changes are run.
    """
    found: dict[int, Int[np.ndarray, " inputs"]] = {}
    for case, answer in zip(cases.tolist(), answers.tolist(), strict=True):
        own = box.case(case)
        start = own.centre[:, 0]
        for _ in range(_ROUNDS):
            best, spikes = _round(classifier, own, start, answer)
            if best < 0:
                found[case] = spikes
            if best < 0 or (spikes == start).all():
                break
            start = spikes
    return found


def _round(
    classifier: Classifier, box: SpikeBox, start: Int[np.ndarray, " inputs"], answer: int
) -> tuple[int, Int[np.ndarray, " inputs"]]:
    """The smallest lead that is found near an input, and where."""
    rows = np.arange(len(start))
    ends = np.concatenate([np.repeat(start[:, None], 2 * len(start), axis=1)], axis=1)
    ends[rows, 2 * rows], ends[rows, 2 * rows + 1] = box.low[:, 0], box.high[:, 0]
    one = start[:, None] + np.sign(ends - start[:, None])
    effects = _lead(classifier, np.concatenate([start[:, None], one], axis=1), answer)
    order = np.argsort(effects[1:], kind="stable")
    tried, spikes = [start], start.copy()
    for column in order.tolist():
        row = column // 2
        if effects[1 + column] > effects[0]:
            break
        # As far as the budget allows towards the better end of this input.
        spikes = spikes.copy()
        spikes[row] = ends[row, column]
        if box.changes is not None:
            used = np.abs(np.delete(spikes - box.centre[:, 0], row)).sum()
            rest = box.changes - used
            centre = box.centre[row, 0]
            spikes[row] = np.clip(spikes[row], centre - rest, centre + rest)
        if not box.contains(spikes[:, None]).all():
            break
        tried.append(spikes)
    candidates = np.unique(np.stack(tried, axis=1), axis=1)
    leads = _lead(classifier, candidates, answer)
    best = int(leads.argmin())
    return int(leads[best]), candidates[:, best]


def _lead(
    classifier: Classifier, spikes: Int[np.ndarray, "inputs paths"], answer: int
) -> Int[np.ndarray, " paths"]:
    """How far the answer's number is above the best other one; negative if it is not the answer."""
    numbers = classifier.numbers(spikes)
    ahead = numbers[answer] - numbers - classifier.required(answer)[:, None]
    return np.delete(ahead, answer, axis=0).min(axis=0)
