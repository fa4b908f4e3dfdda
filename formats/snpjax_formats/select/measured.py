"""The chooser that asks the device itself."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import cache
from .candidates import BY_NAME, feasible
from .decision import AbstractChooser, Decision, Question
from .heuristic import too_large
from .learned import Learned
from .timing import INPUTS, race


@dataclass(frozen=True)
class Measured(AbstractChooser):
    """Times the most promising layouts with the graph itself, and remembers the times for graphs
    that are alike.

    **Arguments:**

    - `budget`: seconds after which no further layout and no further round is begun; compilation is
      most of it.
    - `most`: how many are timed: those with the least predicted times, or, where nothing predicts
      them, those that read the fewest numbers.
    - `folder`: where times are kept; by default `cache_folder()`. `None` keeps nothing.

    What it decides depends on the machine's mood: for the same answer each time leave it out, or
    keep the folder.
    """

    budget: float = 10.0
    most: int = 4
    folder: "Path | None | str" = "default"

    def __post_init__(self) -> None:
        if self.most < 1 or not self.budget > 0:
            raise ValueError(
                f"`most` is {self.most} and `budget` {self.budget}. Give 1 or more layouts and a "
                "time above 0."
            )

    def decide(self, question: Question) -> Decision:
        folder = cache.cache_folder() if self.folder == "default" else self.folder
        folder = None if folder is None else Path(folder)
        candidates, refused = feasible(question.features, question.workload, free=question.free)
        if not candidates:
            raise too_large(question, {})
        key = cache.key_of(question)
        seconds = None if folder is None else cache.read(folder, key)
        if seconds is not None and not seconds.keys() <= {c.name for c in candidates}:
            seconds = None
        remembered = seconds is not None
        predicted = Learned().decide(question).predicted
        if seconds is None:
            # Without a model those that read least come first.
            chosen = sorted(candidates, key=lambda c: c.stored(question.features))
            if predicted is not None:
                chosen = [BY_NAME[name] for name in predicted if BY_NAME[name] in candidates]
            edges, workload = question.edges, question.workload
            x = workload.inputs(INPUTS, edges.num_sources, np.random.default_rng(0))
            times = race(chosen[: self.most], edges, workload, x, budget=self.budget)
            seconds = {name: timing.least for name, timing in times.items()}
            if folder is not None:
                cache.write(folder, key, seconds)
        name = min(seconds, key=seconds.__getitem__)
        best = BY_NAME[name]
        measured = {name: 1e6 * x for name, x in sorted(seconds.items(), key=lambda x: x[1])}
        how = "measured before on a graph like this" if remembered else "measured now"
        return Decision(
            best.layout,
            f"{measured[name]:.3g} us a product, {how}, the least of {len(measured)}",
            question,
            direction=best.direction,
            predicted=predicted,
            measured=measured,
            refused=refused,
            chooser=f"timing on {question.kind}",
        )
