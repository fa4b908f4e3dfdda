"""The learned chooser: the least of the predicted times."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from .candidates import feasible
from .decision import AbstractChooser, Decision, Question
from .device import CPU_KINDS, is_cpu
from .heuristic import BIT_DENSITY, MAX_JOINED, StartingTree, too_large
from .model import CostModel


_MODELS = Path(__file__).with_name("models")

#: Which model knows a device best, by a part of the name that it gives itself.
_NAMED = {"H200": "h200"}
_GENERIC = {"cpu": "cpu", "gpu": "h200"}


@dataclass(frozen=True)
class Learned(AbstractChooser):
    """Predicts the time of every layout that fits and is exact, and takes the least.

    **Arguments:**

    - `path`: a model, as `snpjax formats train` writes them; by default the one for the device, or
      a generic one for a device that none was trained on, which the decision says then.
    - `otherwise`: who decides on graphs beyond those that the model was trained on.
    - `kind`: the device to predict for, `"AMD cpu"`, `"Intel cpu"` or the name of a GPU; by default
      the one that the products will run on. A named one gives the same answer on every machine.
    """

    path: Path | None = None
    otherwise: AbstractChooser = field(default=StartingTree())
    kind: str | None = None

    def decide(self, question: Question) -> Decision:
        if self.kind is not None:
            device = "cpu" if is_cpu(self.kind) else "gpu"
            question = replace(question, device=device, kind=self.kind)
        is_known = _named(question.kind) is not None or question.kind in CPU_KINDS.values()
        is_generic = self.path is None and not is_known
        model = model_for(question) if self.path is None else CostModel.read(self.path)
        if model is None:
            return self.otherwise.decide(question)
        features, workload = question.features, question.workload
        if _is_of_bits(question) or not model.covers(features, workload):
            return self.otherwise.decide(question)
        candidates, refused = feasible(features, workload, free=question.free)
        candidates = [c for c in candidates if c.name in model.names]
        if not candidates:
            raise too_large(question, {})
        seconds = model.predict(features, workload, question.kind, candidates)
        order = np.argsort(seconds, kind="stable")
        predicted = {candidates[i].name: float(1e6 * seconds[i]) for i in order}
        best, (first, *others) = candidates[order[0]], predicted.values()
        reason = f"predicted {_time(first)} a product"
        if others:
            reason += f", the next {_time(others[0])}"
        who = f"model {model.title!r}"
        if is_generic:
            reason += f" (by the generic model: none was trained on {question.kind})"
            who += ", generic"
        return Decision(
            best.layout,
            reason,
            question,
            direction=best.direction,
            predicted=predicted,
            refused=refused,
            chooser=who,
        )


def model_for(question: Question) -> CostModel | None:
    """The shipped model that knows the device best; `None` without one."""
    name = _named(question.kind) or _GENERIC[question.device]
    return CostModel.read(_MODELS / f"{name}.npz")


def _named(kind: str) -> str | None:
    return next((model for part, model in _NAMED.items() if part in kind), None)


def _is_of_bits(question: Question) -> bool:
    """Zeros and ones on a GPU, dense, with a product that takes no longer than its kernels
    take to start, which differs between a run and products alone, from which the model
    learned: sorting 1,000 numbers takes 6.9 ms by the rules of thumb and 12.1 by the model (H200,
    jax 0.11.2, 2026-11)."""
    f, is_binary = question.features, question.workload.max_input == 1
    is_small = max(f.num_sources, f.num_targets) <= MAX_JOINED
    is_dense = f.density > BIT_DENSITY
    return question.device == "gpu" and f.is_iso and is_binary and is_small and is_dense


def _time(us: float) -> str:
    return f"{us:.3g} us" if us < 1000 else f"{us / 1000:.3g} ms"
