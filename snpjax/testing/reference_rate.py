"""Rate-coded networks in pure Python, one neuron and one edge at a time.

Written from the specification, to compare other implementations with; imports nothing of JAX.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from snpjax_formats.arguments import explain_arguments


#: `gain(x)` of a number.
Gain = Callable[[float], float]


@dataclass(frozen=True)
class ReferencePopulation:
    """Neurons with `tau dr/dt = -r + gain(inputs + b)`, or, where `tau` is `None`, with
    `r = gain(inputs + b)` in each step. `drive[t][i]` arrives at neuron i in step t."""

    initial: Sequence[float]
    b: Sequence[float]
    tau: float | None
    gain: Gain
    drive: Sequence[Sequence[float]] = ()


@dataclass(frozen=True)
class ReferenceProjection:
    """Edges (source, target, weight, delay in steps); `hebb` is the rate at which weights grow."""

    pre: int
    post: int
    edges: Sequence[tuple[int, int, float, int]]
    hebb: float | None = None


@dataclass
class RateRun:
    """`rates[t][p][i]` is the rate of neuron i of population p before step t, the last row after
    the last step; `weights[j][e]` the final weight of edge e of projection j."""

    rates: list[list[list[float]]] = field(default_factory=list)
    weights: list[list[float]] = field(default_factory=list)


def run(
    populations: Sequence[ReferencePopulation],
    projections: Sequence[ReferenceProjection],
    *,
    steps: int,
    dt: float,
    is_exponential: bool = False,
) -> RateRun:
    """Compute the rates of all neurons by the explicit or the exponential Euler method.

    **Arguments:**

    - `populations`: the neurons and their equations.
    - `projections`: the edges between populations, by the numbers of the populations.
    - `steps`: the number of steps.
    - `dt`: the length of a step in the unit of `tau`.
    - `is_exponential`: use the exponential Euler method.

    **Returns:** the `RateRun`.
    """
    made = RateRun([[list(p.initial) for p in populations]])
    made.weights = [[weight for _, _, weight, _ in p.edges] for p in projections]
    for step in range(steps):
        total = _arriving(populations, projections, made, step)
        new = [
            [_next(p, r, x, dt, is_exponential) for r, x in zip(rates, inputs, strict=True)]
            for p, rates, inputs in zip(populations, made.rates[step], total, strict=True)
        ]
        made.rates.append(new)
        for projection, weights in zip(projections, made.weights, strict=True):
            if projection.hebb is not None:
                for e, (source, target, _, _) in enumerate(projection.edges):
                    pre, post = new[projection.pre][source], new[projection.post][target]
                    weights[e] += projection.hebb * pre * post
    return made


def _arriving(
    populations: Sequence[ReferencePopulation],
    projections: Sequence[ReferenceProjection],
    made: RateRun,
    step: int,
) -> list[list[float]]:
    """What each neuron receives in a step, its own `b` included."""
    total = [list(p.b) for p in populations]
    for population, of in zip(populations, total, strict=True):
        if step < len(population.drive):
            for i, x in enumerate(population.drive[step]):
                of[i] += x
    for projection, weights in zip(projections, made.weights, strict=True):
        for weight, (source, target, _, delay) in zip(weights, projection.edges, strict=True):
            before = made.rates[max(step - delay, 0)]
            total[projection.post][target] += weight * before[projection.pre][source]
    return total


def _next(p: ReferencePopulation, r: float, x: float, dt: float, is_exponential: bool) -> float:
    if p.tau is None:
        return p.gain(x)
    goal = p.gain(x)
    if is_exponential:
        return goal + (r - goal) * math.exp(-dt / p.tau)
    return r + dt / p.tau * (goal - r)


explain_arguments(__name__)
