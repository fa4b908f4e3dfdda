"""Whether the answer of an exact network is the same for all inputs near given ones."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from ..._text.counts import plural
from ...check.verdict import Status
from ...spiking.model.system import SpikingSystem
from ..arguments import check_system
from .attack import attacked
from .bounds import NetworkBounds, TooManySpikes
from .box import SpikeBox
from .classifier import Classifier, Decoder
from .solver import TooManyPieces, other_input


_CASES = 64  # whose bounds are computed together


class CaseDecision(NamedTuple):
    """What is known of one case, how it was found, and why it is not known."""

    status: Status
    by: str
    reason: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Robustness:
    """For each case, whether its answer is the same for all inputs of its box.

    - `box`: the inputs that were considered.
    - `answers`: `(cases,)`, the answer at the centre of each box: the number of an output.
    - `decisions`: of each case: `Status.PROVED`, `REFUTED` or `UNKNOWN`, by which method, and why
      it is not known.
    - `counterexamples`: `(inputs, cases)`, masked where there is none: spikes with another answer,
      which were run.
    - `other_answers`: `(cases,)`, that answer; masked where there is none.
    """

    box: SpikeBox
    answers: Int[np.ndarray, " cases"]
    decisions: tuple[CaseDecision, ...]
    counterexamples: np.ma.MaskedArray
    other_answers: np.ma.MaskedArray

    @property
    def proved(self) -> Bool[np.ndarray, " cases"]:
        """Of which cases it is proved."""
        return self._are(Status.PROVED)

    @property
    def refuted(self) -> Bool[np.ndarray, " cases"]:
        """Which cases have a counterexample."""
        return self._are(Status.REFUTED)

    @property
    def unknown(self) -> Bool[np.ndarray, " cases"]:
        """Which cases are not decided."""
        return self._are(Status.UNKNOWN)

    def _are(self, status: Status) -> Bool[np.ndarray, " cases"]:
        return np.array([decision.status is status for decision in self.decisions], bool)

    def __repr__(self) -> str:
        total = len(self.decisions)
        return (
            f"Robustness({plural(total, 'case')}: {self.proved.sum()} proved, "
            f"{self.refuted.sum()} refuted, {self.unknown.sum()} unknown)"
        )


def robustness(
    system: SpikingSystem,
    box: SpikeBox,
    /,
    *,
    steps: int,
    decoder: Decoder | None = None,
    inputs: Sequence[str] | None = None,
    enumerate_up_to: int = 4096,
    seconds: float = 1.0,
) -> Robustness:
    """Decide for each case whether all inputs of its box have the same answer.

    The answer is the first output with the largest number. Boxes of few inputs are enumerated, by
    runs of the system. For the others, bounds on every neuron in every step decide, then a search
    for a counterexample, then the solver z3, which sees only what the bounds leave open.

    **Arguments:**

    - `system`: a network without delays, such as `to_system` exports, with an output neuron for
      each answer. Each neuron takes its first applicable rule.
    - `box`: the inputs of each case, as `SpikeBox.around(counts)` makes them: `counts` is
      `(inputs, cases)`.
    - `steps`: how many steps a run makes.
    - `decoder`: the number of an output: its spikes in the end, or those that it sent. By default
      those that it sent if the outputs have rules, and its spikes in the end if they have none.
    - `inputs`: the names of the neurons that hold the input, in the order of the rows of the box;
      by default those that no synapse reaches.
    - `enumerate_up_to`: the largest number of inputs of one case that are all run.
    - `seconds`: for the solver, for each case; 0 leaves it out. Without z3 (the extra `prove`) the
      cases that need it are unknown.

    **Returns:** a `Robustness`. Counterexamples were run; a proof is by enumeration, by exact
    bounds in 64-bit integers, or by the solver.

    **Raises:** `ValueError` for a system with delays, a network that changes or fewer than two
    outputs, for outputs with and without rules if no `decoder` is passed, and for a box of another
    number of inputs; `KeyError` for an unknown input; `TypeError` for a model that was not
    exported.

    ??? cite "Source"
        Interval propagation: Gowal et al. 2018. Encoding for solvers: Katz et al. 2017 (Reluplex).
        Here with integer spike counts and ultimately periodic guards instead of real numbers.
    """
    check_system(system)
    if not isinstance(box, SpikeBox):
        kind = type(box).__name__
        raise TypeError(f"`box` is of the type {kind}. Give `SpikeBox.around(counts)`.")
    classifier = Classifier.of(system, inputs, steps, decoder)
    if box.num_inputs != len(classifier.inputs):
        raise ValueError(
            f"The box has {box.num_inputs} inputs, and the system {len(classifier.inputs)}: "
            f"{', '.join(system.neurons[at].name for at in classifier.inputs[:8])}"
            f"{', ...' if len(classifier.inputs) > 8 else ''}. Pass `inputs=` or another box; the "
            "counts of a box are (inputs, cases)."
        )
    cases = _Cases(classifier, box)
    cases.enumerate(enumerate_up_to)
    cases.propagate()
    cases.attack()
    if seconds > 0:
        cases.solve(seconds)
    return cases.result()


class _Cases:
    """The cases of a box while they are decided, one method after the other."""

    def __init__(self, classifier: Classifier, box: SpikeBox):
        self.classifier, self.box = classifier, box
        self.answers = classifier.numbers(box.centre).argmax(axis=0)
        self.decisions: list[CaseDecision | None] = [None] * box.num_cases
        self.counterexamples: dict[int, Int[np.ndarray, " inputs"]] = {}
        self.reasons = ["the solver was not used"] * box.num_cases

    @property
    def undecided(self) -> Int[np.ndarray, " some"]:
        return np.flatnonzero([decision is None for decision in self.decisions])

    def refute(self, case: int, spikes: Int[np.ndarray, " inputs"], by: str) -> None:
        """**Raises:** `RuntimeError` if the system does not confirm it."""
        (other,) = self.classifier.numbers(spikes[:, None]).argmax(axis=0)
        inside = self.box.case(case).contains(spikes[:, None]).all()
        if other == self.answers[case] or not inside:
            raise RuntimeError(
                f"A counterexample of case {case}, found by {by}, was not confirmed by its run. "
                "This is a defect of snpjax; please report it."
            )
        self.counterexamples[case] = spikes
        self.decisions[case] = CaseDecision(Status.REFUTED, by)

    def enumerate(self, limit: int) -> None:
        """Run all inputs of each box that has few."""
        members = {}
        for case in self.undecided.tolist():
            own = self.box.members(case, limit)
            if own is not None:
                members[case] = own
        if not members:
            return
        answers = self.classifier.numbers(np.concatenate(list(members.values()), axis=1))
        start, answers = 0, answers.argmax(axis=0)
        for case, own in members.items():
            differs = answers[start : start + own.shape[1]] != self.answers[case]
            start += own.shape[1]
            if differs.any():
                self.refute(case, own[:, int(differs.argmax())], "enumeration")
            else:
                self.decisions[case] = CaseDecision(Status.PROVED, "enumeration")

    def propagate(self) -> None:
        """Compute bounds, many cases together."""
        undecided = self.undecided
        for start in range(0, len(undecided), _CASES):
            some = undecided[start : start + _CASES]
            try:
                bounds = NetworkBounds.of(self.classifier, self.box.cases(some))
            except TooManySpikes as error:
                for case in some.tolist():
                    self.reasons[case] = str(error)
                continue
            is_proved = (bounds.lead(self.answers[some]) >= 0).all(axis=0)
            for case in some[is_proved].tolist():
                self.decisions[case] = CaseDecision(Status.PROVED, "bounds")

    def attack(self) -> None:
        """Search for counterexamples."""
        undecided = self.undecided
        found = attacked(self.classifier, self.box, undecided, self.answers[undecided])
        for case, spikes in found.items():
            self.refute(case, spikes, "search")

    def solve(self, seconds: float) -> None:
        """Ask the solver."""
        for case in self.undecided.tolist():
            answer = self.answers[[case]]
            began = time.perf_counter()
            try:
                bounds = NetworkBounds.of(self.classifier, self.box.case(case))
                lead = bounds.lead(answer)[:, 0]
                rest = seconds - (time.perf_counter() - began)
                spikes = other_input(bounds, int(answer[0]), lead, rest)
            except (TooManySpikes, TooManyPieces, TimeoutError, ImportError) as error:
                self.reasons[case] = str(error)
                continue
            if spikes is None:
                self.decisions[case] = CaseDecision(Status.PROVED, "solver")
            else:
                self.refute(case, spikes, "solver")

    def result(self) -> Robustness:
        shape = self.box.centre.shape
        spikes = _masked(shape)
        for case, found in self.counterexamples.items():
            spikes[:, case] = found
        others = _masked(shape[1:])
        cases = np.array(sorted(self.counterexamples), np.int64)
        others[cases] = self.classifier.numbers(spikes.data[:, cases]).argmax(axis=0)
        decisions = tuple(
            CaseDecision(Status.UNKNOWN, "", reason) if decision is None else decision
            for decision, reason in zip(self.decisions, self.reasons, strict=True)
        )
        return Robustness(self.box, self.answers, decisions, spikes, others)


def _masked(shape: tuple[int, ...]) -> np.ma.MaskedArray:
    return np.ma.masked_array(np.zeros(shape, np.int64), mask=True)
