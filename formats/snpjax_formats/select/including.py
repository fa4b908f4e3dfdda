"""A chooser that also considers layouts from outside the package."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..free_memory import NotEnoughMemory
from ..layout import AbstractLayout
from .candidates import CANDIDATES
from .decision import AbstractChooser, AbstractTimedLayout, Decision, Question
from .learned import Learned, model_for


@dataclass(frozen=True)
class Including(AbstractChooser):
    """What `otherwise` chooses, or one of your own layouts that says it is faster.

    Times are compared with those that were measured or predicted for the layouts of the package.
    Where `otherwise` predicts none, which
    is so for graphs unlike those that the model was trained on, the model is asked all the same:
    the further a graph is from those, the rougher.

    **Arguments:**

    - `layouts`: classes that say how long they take, `AbstractTimedLayout`.
    - `otherwise`: who chooses among the layouts of the package.
    """

    layouts: tuple[type[AbstractTimedLayout], ...]
    otherwise: AbstractChooser = field(default=Learned())

    def __post_init__(self) -> None:
        if not isinstance(self.layouts, tuple):
            raise ValueError(f"`layouts` is {self.layouts!r:.60}. Give a tuple of layouts.")

    def decide(self, question: Question) -> Decision:
        own, refused = _times(self.layouts, question)
        try:
            decision = self.otherwise.decide(question)
        except NotEnoughMemory:
            if not own:
                raise
            best = min(own, key=own.__getitem__)
            reason = f"it says {own[best]:.3g} us a product, and no other layout fits"
            return Decision(
                best, reason, question, predicted=_named(own), refused=refused, chooser="itself"
            )
        refused = {**decision.refused, **refused}
        if not own:
            return replace(decision, refused=refused)
        predicted = decision.predicted or _extrapolated(decision.layout, decision.question)
        others = decision.measured or predicted
        if not others:
            missing = f"nothing predicts the time of {decision.layout.__name__} to compare with"
            return replace(decision, refused={**refused, **dict.fromkeys(_named(own), missing)})
        decision = replace(decision, predicted={**predicted, **_named(own)}, refused=refused)
        best, name = min(own, key=own.__getitem__), min(others, key=others.__getitem__)
        if own[best] >= others[name]:
            return decision
        reason = f"it says {own[best]:.3g} us a product, {name} takes {others[name]:.3g} us"
        return replace(decision, layout=best, reason=reason, direction=None)


def _times(
    layouts: tuple[type[AbstractTimedLayout], ...], question: Question
) -> tuple[dict[type[AbstractTimedLayout], float], dict[str, str]]:
    """Microseconds of those that can store the graph, and why the others cannot."""
    times: dict[type[AbstractTimedLayout], float] = {}
    refused: dict[str, str] = {}
    edges, free = question.edges, question.free
    for layout in layouts:
        problem = layout.obstacle(edges, max_input=question.workload.max_input)
        if problem is None and free is not None and (needed := layout.bytes_needed(edges)) > free:
            problem = f"needs {needed:,} bytes, but {free:,} are free"
        if problem is not None:
            refused[layout.__name__] = problem
            continue
        seconds = layout.seconds(question)
        if not (math.isfinite(seconds) and seconds > 0):
            raise ValueError(f"{layout.__name__} says {seconds} s. Give a time above 0.")
        times[layout] = 1e6 * seconds
    return times, refused


def _named(times: Mapping[type[AbstractTimedLayout], float]) -> dict[str, float]:
    return {layout.__name__: us for layout, us in times.items()}


def _extrapolated(layout: type[AbstractLayout], question: Question) -> dict[str, float]:
    """What the model predicts for a layout, whether it was trained on such graphs or not."""
    model = model_for(question)
    some = [c for c in CANDIDATES if c.layout is layout and model and c.name in model.names]
    if model is None or not some:
        return {}
    seconds = model.predict(question.features, question.workload, question.kind, some)
    return {c.name: float(1e6 * s) for c, s in zip(some, seconds, strict=True)}
