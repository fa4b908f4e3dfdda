"""The reference of cell proliferation: pure Python, slow, and meant to be obviously right.

A family is followed cell by cell, whatever draws its division times; the expectation is the renewal
equation on a fine grid of times. It shares nothing with the fast code but the words, and imports
neither JAX nor NumPy.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import mul
from typing import Any, TypeAlias

from snpjax_formats.arguments import explain_arguments


#: Draws a division time in hours.
Draw: TypeAlias = Callable[[], Any]
#: A number of hours.
Time: TypeAlias = float | Fraction


def max_divisions(phi: float, phi_min: float) -> int:
    """How often a cell can divide and leave daughters.

    **Arguments:**

    - `phi`: the fluorescence of the cell, in arbitrary units.
    - `phi_min`: the threshold; cells at or below it vanish.

    **Returns:** the number of divisions.

    **Raises:** `ValueError` for a threshold that is not positive, or infinite fluorescence.
    """
    if not phi_min > 0 or phi == math.inf:
        raise ValueError(f"`phi` is {phi} and `phi_min` {phi_min}. Pass positive, finite numbers.")
    count = 0
    while phi / 2 > phi_min:
        phi, count = phi / 2, count + 1
    return count


def family(
    first: Time, timer: Callable[[int], Time], duration: Time, last: int
) -> tuple[Counter[int], int]:
    """Follow one family, cell by cell.

    **Arguments:**

    - `first`: when the first cell divides. Times can be any numbers that add and compare.
    - `timer`: `timer(n)` is the division time of node n of the tree; 1 is the root, and 2 n and 2 n
      + 1 are the daughters of n.
    - `duration`: when cells are counted; a division at exactly this time happens.
    - `last`: how often a cell of the initial fluorescence can divide and leave daughters.

    **Returns:** the number of cells of each generation at `duration`, and the number of cells of
    generation `last` that divided and vanished.
    """
    alive: Counter[int] = Counter()
    removed = 0
    cells = [(1, 0, first)]
    while cells:
        node, generation, division = cells.pop()
        if division > duration:  # a division at exactly the end happens
            alive[generation] += 1
        elif generation == last:
            removed += 1
        else:
            for daughter in (2 * node, 2 * node + 1):
                cells.append((daughter, generation + 1, division + timer(daughter)))
    return alive, removed


def label(alive: Mapping[int, int], removed: int, last: int) -> Fraction:
    """The share of the label of the first cell that is accounted for, which is always 1.

    **Arguments:**

    - `alive`: the number of cells of each generation.
    - `removed`: the number of cells that divided and vanished.
    - `last`: the generation of the cells that vanished.

    **Returns:** the exact sum of the shares of all cells.
    """
    kept = sum((Fraction(n, 2**k) for k, n in alive.items()), Fraction(0))
    return kept + Fraction(removed, 2**last)


def first_division(start: str, draw: Draw, random_number: Callable[[], float]) -> float:
    """Draw the time of the first division of a family.

    **Arguments:**

    - `start`: the start rule: `"sync"`, `"async"`, `"residual"` or `"stretch"`.
    - `draw`: draws a division time in hours.
    - `random_number`: draws a uniform number in [0, 1).

    **Returns:** hours.

    **Raises:** `ValueError` for an unknown start rule.
    """
    if start == "sync":
        return draw()
    u = random_number()
    if start == "async":
        return u * draw() + draw()
    if start == "residual":
        return (1 - u) * draw()
    if start == "stretch":
        return (1 + u) * draw()
    raise ValueError(f"there is no start rule {start!r}")


def simulate(
    initial: Iterable[tuple[float, int]],
    types: Sequence[tuple[float, tuple[Any, ...] | None]],
    *,
    duration: float,
    phi_min: float,
    start: str,
    seed: int,
) -> list[Counter[tuple[float, int]]]:
    """Simulate a population, cell by cell.

    **Arguments:**

    - `initial`: pairs of a fluorescence and a number of cells.
    - `types`: pairs of a proportion and a law: `("normal", mean, sd)`, `("gamma", shape, scale)` or
      `("fixed", mean)` in hours, or `None` for quiescent cells.
    - `duration`: hours.
    - `phi_min`: the threshold of fluorescence; cells at or below it vanish.
    - `start`: the start rule, see `first_division`.
    - `seed`: of Python's random numbers.

    **Returns:** for each type the number of cells by initial fluorescence and generation.
    """
    rng = random.Random(seed)
    found: list[Counter[tuple[float, int]]] = [Counter() for _ in types]
    for phi, cells in initial:
        last = max_divisions(phi, phi_min)
        for _ in range(cells):
            index = rng.choices(range(len(types)), [p for p, _ in types])[0]
            draw = drawing(types[index][1], rng)
            first = first_division(start, draw, rng.random)
            alive, removed = family(first, lambda node, draw=draw: draw(), duration, last)
            assert label(alive, removed, last) == 1
            for generation, number in alive.items():
                found[index][phi, generation] += number
    return found


def drawing(law: tuple[Any, ...] | None, rng: random.Random) -> Draw:
    """A function that draws division times.

    **Arguments:**

    - `law`: as in `simulate`; quiescent cells (`None`) divide after an infinite time.
    - `rng`: the generator of random numbers.

    **Returns:** the function, whose results are in hours.
    """
    if law is None:
        return lambda: math.inf
    kind, *numbers = _parts(law, fixed=1, normal=2, gamma=2)
    if kind == "fixed":
        return lambda: numbers[0]
    if kind == "gamma":
        return lambda: rng.gammavariate(*numbers)

    def normal() -> float:
        while True:
            time = rng.gauss(*numbers)
            if time > 0:
                return time

    return normal


def _parts(law: tuple[Any, ...], **numbers: int) -> Iterator[Any]:
    """The name and the numbers of a law, for each of which `numbers` tells how many it has."""
    if not law or numbers.get(law[0]) != len(law) - 1:
        laws = " or ".join(f'"{name}" and {n} number{"s" * (n > 1)}' for name, n in numbers.items())
        raise ValueError(f"`law` is {law}. Pass {laws}.")
    return iter(law)


def density(law: tuple[Any, ...]) -> Callable[[float], float]:
    """The probability density of a division time.

    **Arguments:**

    - `law`: `("normal", mean, sd)`, cut off at 0, or `("gamma", shape, scale)`, in hours.

    **Returns:** a function of the time in hours.

    **Raises:** `ValueError` for a law that is not a name and two numbers.
    """
    kind, a, b = _parts(law, normal=2, gamma=2)
    if kind == "gamma":
        return lambda t: (
            0.0 if t <= 0 else math.exp((a - 1) * math.log(t / b) - t / b - math.lgamma(a)) / b
        )
    kept = math.erfc(-a / b / math.sqrt(2)) / 2
    return lambda t: math.exp(-(((t - a) / b) ** 2) / 2) / (math.sqrt(2 * math.pi) * b * kept)


def family_mean(
    law: tuple[Any, ...], *, duration: float, start: str, generations: int, steps: int = 400
) -> list[float]:
    """E[N_k] of one family without a threshold, from the distribution of the k-th division.

    F_k, the probability that the k-th division is not after t, is on a uniform grid the convolution
    of F_(k-1) with the density by the trapezoidal rule; a grid twice as coarse extrapolates it.

    **Arguments:**

    - `law`: as in `density`.
    - `duration`: hours.
    - `start`: the start rule, see `first_division`.
    - `generations`: how many to compute, from 0.
    - `steps`: intervals of the fine grid, an even number.

    **Returns:** the expected number of cells of each generation.
    """
    fine = _family_mean(law, duration, start, generations, steps)
    coarse = _family_mean(law, duration, start, generations, steps // 2)
    return [(4 * f - c) / 3 for f, c in zip(fine, coarse, strict=True)]


def _family_mean(
    law: tuple[Any, ...], duration: float, start: str, generations: int, steps: int
) -> list[float]:
    h = duration / steps
    f = density(law)
    times = [i * h for i in range(steps + 1)]
    density_at = [f(t) for t in times]
    reached = _first_reached(law, times, start)
    probabilities = [1.0]
    for _ in range(generations):
        probabilities.append(reached[-1])
        reached = _convolved(density_at, reached, h)
    return [2.0**k * (probabilities[k] - probabilities[k + 1]) for k in range(generations)]


def distribution(law: tuple[Any, ...]) -> Callable[[float], float]:
    """The cumulative distribution P(T <= t) of a division time.

    **Arguments:**

    - `law`: as in `density`.

    **Returns:** a function of the time in hours.
    """
    kind, a, b = _parts(law, normal=2, gamma=2)
    if kind == "gamma":
        return lambda t: _gamma_below(a, t / b)

    def above(t: float) -> float:
        return math.erfc((t - a) / b / math.sqrt(2)) / 2

    return lambda t: 1 - above(t) / above(0) if t > 0 else 0.0


def _gamma_below(a: float, x: float) -> float:
    """The regularised incomplete gamma function, by its series."""
    if x <= 0:
        return 0.0
    if x > 50 + 5 * a:
        return 1.0
    term = total = 1 / a
    n = a
    while term > 1e-15 * total:
        n += 1
        term *= x / n
        total += term
    return total * math.exp(a * math.log(x) - x - math.lgamma(a))


def _first_reached(law: tuple[Any, ...], times: list[float], start: str) -> list[float]:
    """P(the first division is not after t), as the mean over U of the law's own distribution."""
    own, f = distribution(law), density(law)
    if start == "sync":
        return [own(t) for t in times]
    nodes = [(i + 0.5) / 100 for i in range(100)]
    scaled = [1 + u for u in nodes] if start == "stretch" else nodes
    first = [sum(own(t / s) for s in scaled) / len(nodes) for t in times]
    if start != "async":
        return first
    return _convolved([f(t) for t in times], first, times[1])


def _convolved(a: list[float], b: list[float], step: float) -> list[float]:
    """The convolution on a grid of times, by the trapezoidal rule."""
    return [
        step * (math.fsum(map(mul, a, b[i::-1])) - (a[0] * b[i] + a[i] * b[0]) / 2)
        for i in range(len(a))
    ]


def hellinger(simulated: Sequence[float], observed: Sequence[float]) -> float:
    """The Hellinger distance of two histograms, in counts.

    **Arguments:**

    - `simulated`: cells of each bin, scaled to the total of `observed`.
    - `observed`: cells of each bin.

    **Returns:** the distance.

    **Raises:** `ValueError` for counts that are negative, all zero or of other bins.
    """
    if len(simulated) != len(observed) or min(*simulated, *observed, 0) < 0 or not any(simulated):
        raise ValueError("`simulated` and `observed` are not counts of the same bins.")
    scale = sum(observed) / sum(simulated)
    squares = (
        (math.sqrt(s * scale) - math.sqrt(h)) ** 2 for s, h in zip(simulated, observed, strict=True)
    )
    return math.sqrt(math.fsum(squares) / 2)


explain_arguments(__name__)
