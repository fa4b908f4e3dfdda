"""Programs that are nets: chains of additions and products, polynomials, products of matrices, and
numbers that are doubly exponential.

They are numbered as the published nets of these programs are.

??? cite "Source"
    Zaitsev, Ajima, Bartlett, Kumar 2025, section on benchmarks, and the generators of Zhao, Liu,
    Hou 2022; the double exponent after Lipton 1976.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import index
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Int

from snpjax_formats.arguments import explain_arguments

from .._text.counts import plural
from .composing import Composition
from .linking import HighNet, link
from .model.arcs import as_int64
from .model.net import SleptsovNet
from .model.notation import net_of_text
from .subnets import SubNet


# An operation of a composition, its inputs and its output.
_Call: TypeAlias = tuple[Callable[..., int], int, int, int]


@dataclass(frozen=True)
class Program:
    """A net that computes, and where its answer stands.

    **Arguments:**

    - `high`: the net with its sub-nets, or the flat one.
    - `answers`: the places of the answer, in its shape.
    - `done`: the control place that the program empties when it is done, and the tokens that it
      holds then.
    """

    high: HighNet | SleptsovNet
    answers: Int[np.ndarray, " ..."] = field(repr=False)
    done: tuple[int, int]

    @cached_property
    def net(self) -> SleptsovNet:
        """The flat net, to be run."""
        return link(self.high) if isinstance(self.high, HighNet) else self.high

    def is_done(self, marking: Any) -> Any:
        """Whether the program is at its end in a marking, `(places,)`; or in each of a batch,
        `(places, paths)`."""
        place, tokens = self.done
        done = np.asarray(marking)[place] == tokens
        return bool(done) if done.ndim == 0 else done

    def decode(self, marking: Any) -> Any:
        """The answer in a final marking.

        **Arguments:**

        - `marking`: `(places,)` tokens, or `(places, paths)` of a batch.

        **Returns:** an integer, or an array in the shape of the answer; of a batch with the axis
        of paths last.

        **Raises:** `ValueError` when the program is not at its end in this marking, so that it
        holds no answer.
        """
        tokens = np.asarray(marking)
        if tokens.ndim not in (1, 2) or len(tokens) != self.net.num_places:
            raise ValueError(
                f"The marking has the shape {tokens.shape}; that of this program has "
                f"{self.net.num_places} places."
            )
        if not np.all(self.is_done(tokens)):
            raise ValueError(
                "The program is not at its end in this marking. Run it until it halts (a larger "
                "`max_steps`), with markings of 64 bits if its numbers are large."
            )
        found = tokens[self.answers]
        return int(found) if found.ndim == 0 else found


def started(subnet: SubNet, *inputs: int) -> Program:
    """A sub-net alone, with its inputs in place and started.

    **Arguments:**

    - `subnet`: the sub-net.
    - `inputs`: the tokens of its input places, in order; integers of 0 or more.

    **Returns:** the program, whose answer is the output of the sub-net.

    **Raises:** `ValueError` for another number of inputs, or one that is negative or exceeds 64
    bits.
    """
    if len(inputs) != len(subnet.inputs):
        wanted = plural(len(subnet.inputs), "input")
        raise ValueError(f"The sub-net takes {wanted}, not {len(inputs)}.")
    marking = subnet.net.marking.copy()
    marking[list(subnet.inputs)] = _numbers("inputs", inputs)
    marking[subnet.start] = 0
    net = subnet.net.replace(marking=marking)
    return Program(net, np.array(subnet.output), (subnet.finish, 0))


def addition_chain(terms: Sequence[int]) -> Program:
    """Add at least two numbers one after the other.

    **Arguments:**

    - `terms`: integers of 0 or more.

    **Returns:** the program, whose answer is their sum.

    **Raises:** `ValueError` for fewer than two numbers, or a negative one.
    """
    return _chain("terms", terms, Composition.add)


def product_chain(factors: Sequence[int]) -> Program:
    """Multiply at least two numbers one after the other.

    **Arguments:**

    - `factors`: integers of 0 or more.

    **Returns:** the program, whose answer is their product.

    **Raises:** `ValueError` for fewer than two numbers, or a negative one.
    """
    return _chain("factors", factors, Composition.mul)


def _chain(name: str, numbers: Sequence[int], operation: Any) -> Program:
    first, *others = _numbers(name, numbers).tolist()
    if not others:
        raise ValueError("One number needs no computing. Give at least two.")
    program = Composition()
    controls = _controls(program, len(others) + 1)
    value = program.data(first)
    for t, number in enumerate(others):
        operand, result = program.data(number), program.data()
        operation(program, value, operand, result, controls[t], controls[t + 1])
        value = result
    return Program(program.high_net(), np.array(value), (controls[-1], 0))


def polynomial(coefficients: Sequence[int], x: int) -> Program:
    """Evaluate a polynomial of degree 1 or more.

    Every power is computed from the beginning, by multiplying the coefficient by `x` repeatedly.

    **Arguments:**

    - `coefficients`: integers of 0 or more; `coefficients[i]` is that of x^i.
    - `x`: an integer of 0 or more.

    **Returns:** the program, whose answer is the value.

    **Raises:** `ValueError` for fewer than two coefficients, or a negative number.
    """
    numbers = _numbers("coefficients", coefficients).tolist()
    (point,) = _numbers("x", [x]).tolist()
    degree = len(numbers) - 1
    if degree < 1:
        raise ValueError("A polynomial of degree 1 or more has at least two coefficients.")
    program = Composition()
    num_operations = degree + degree * (degree + 1) // 2
    controls = _controls(program, num_operations + 1)
    calls: list[_Call] = []  # written once all places are there
    value = previous = -1
    for power in range(degree, 0, -1):
        value = program.data(numbers[power])
        for _ in range(power):
            factor, product = program.data(point), program.data()
            calls.append((Composition.mul, value, factor, product))
            value = product
        if power < degree:
            total = program.data()
            inputs = (previous, value) if power == degree - 1 else (value, previous)
            calls.append((Composition.add, *inputs, total))
            value = total
        previous = value
    constant, result = program.data(numbers[0]), program.data()
    calls.append((Composition.add, previous, constant, result))
    _write(program, calls, controls)
    return Program(program.high_net(), np.array(result), (controls[-1], 0))


def matrix_product(a: Any, b: Any) -> Program:
    """Multiply two square matrices of size 2 or more; all entries are computed in parallel.

    **Arguments:**

    - `a`, `b`: `(size, size)` integers, 0 or more.

    **Returns:** the program, whose answer is the `(size, size)` product.

    **Raises:** `ValueError` for other shapes, or negative entries.
    """
    left, right = (as_int64(name, np.asarray(m)) for name, m in (("a", a), ("b", b)))
    size = len(left)
    if left.shape != right.shape or left.shape != (size, size) or size < 2:
        raise ValueError(
            f"The matrices have the shapes {left.shape} and {right.shape}. Give two square ones of "
            "one size, 2 or more."
        )
    _refuse_negative("a", left)
    _refuse_negative("b", right)
    program = Composition()
    start, finish = program.control(running=True), program.control()
    blocks = [
        _entry_of_product(program, left[i].tolist(), right[:, j].tolist())
        for i in range(size)
        for j in range(size)
    ]
    program.fork(start, [controls[0] for controls, _, _ in blocks])
    program.join([controls[-1] for controls, _, _ in blocks], finish)
    for controls, calls, _ in blocks:
        _write(program, calls, controls)
    answers = np.array([entry for _, _, entry in blocks]).reshape(size, size)
    return Program(program.high_net(), answers, (finish, 0))


def _entry_of_product(
    program: Composition, row: Sequence[int], column: Sequence[int]
) -> tuple[list[int], list[_Call], int]:
    """The places of one entry, a row times a column, its operations, and where it comes to be."""
    controls = [program.control() for _ in range(2 * len(row))]
    calls: list[_Call] = []
    result = None
    for x, y in zip(row, column, strict=True):
        a, b, product = program.data(x), program.data(y), program.data()
        calls.append((Composition.mul, a, b, product))
        if result is not None:
            total = program.data()
            calls.append((Composition.add, result, product, total))
            product = total
        result = product
    assert result is not None
    return controls, calls, result


def _write(program: Composition, calls: Sequence[_Call], controls: Sequence[int]) -> None:
    """Operations one after the other, between control places."""
    for (operation, *places), ends in zip(calls, pairwise(controls), strict=False):
        operation(program, *places, *ends)


_LEVEL = "a y' b c T s r zx NZ x' zy Z w I x y s' D"
_OF_LEVEL = """
    y a -> y' x+ y+ s'+ b T zy
    b zy Z -> c T zx
    c zx Z -> I+
    b zy NZ -> a
    T -> r
    r -> w D
    c zx NZ -> I
    T zy y -> zy y NZ
    r zx s' x' -> r zx x s
    r zy s' y' -> r zy y s
    T zx x -> zx x NZ
    I x -> x' a
    w F -> Z
"""
_LAST_OF_FIRST = """
    D s -> e s'
    e s -> F s'
"""
_LAST_OF_OTHERS = """
    D x- -> x'- d1
    d1 y- s -> y'- s' T- zy- d2
    d2 zy- NZ- -> d1
    d2 zy- Z- -> d3 T- zx-
    d3 zx- NZ- -> D
    d3 zx- Z- -> F
"""
_PRIORITIES = ((8, 5), (11, 5), (9, 6), (10, 6))

_MAX_LEVELS = 4096


def double_exponent(levels: int) -> Program:
    """A net that counts to 2^(2^levels), and answers with this number three times.

    Level i counts to N_i * N_i by two nested loops, and then resets their counters with a zero test
    that borrows the level below to count. At any time at most one transition can fire, and only
    once.

    **Arguments:**

    - `levels`: the number of levels, 1 or more.

    **Returns:** the program.

    **Raises:** `ValueError` for fewer than one level, or more than 4096.
    """
    levels = index(levels)
    if levels < 1:
        raise ValueError(f"{levels} levels count nothing. Give 1 or more.")
    if levels > _MAX_LEVELS:
        raise ValueError(f"`levels` is {levels}. Give at most {_MAX_LEVELS}.")
    places, lines, marking = [], [], {"I.0": 1, "x.0": 2, "y.0": 2, "s'.0": 2}
    before = 0  # transitions of the levels below
    for level in range(levels):
        own = _LEVEL + (" e F" if level == 0 else " d1 d2 d3 F")
        places += [_at_level(word, level) for word in own.split()]
        last = _LAST_OF_FIRST if level == 0 else _LAST_OF_OTHERS
        rules = [line.split() for line in (_OF_LEVEL + last).splitlines() if line]
        for number, words in enumerate(rules, start=before + 1):
            lines.append(f"t{number}: {' '.join(_at_level(word, level) for word in words)}")
        lines += [f"t{before + a} > t{before + b}" for a, b in _PRIORITIES]
        before += len(rules)
    places += [f"{name}.{levels}" for name in ("I", "x", "y", "s'")]
    net = net_of_text("\n".join(lines), marking, places=places)
    net = net.replace(place_names=None)
    answers = np.arange(net.num_places - 3, net.num_places)
    return Program(net, answers, (net.num_places - 4, 1))


def _at_level(word: str, level: int) -> str:
    if word == "->":
        return word
    return f"{word.rstrip('+-')}.{level + word.endswith('+') - word.endswith('-')}"


def _controls(program: Composition, count: int) -> list[int]:
    """Control places, the first of them running."""
    return [program.control(running=number == 0) for number in range(count)]


def _numbers(name: str, numbers: Sequence[int]) -> Int[np.ndarray, " numbers"]:
    given = as_int64(name, numbers)
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(f"`{name}` has the shape {given.shape}. Give a list of numbers.")
    _refuse_negative(name, given)
    return given


def _refuse_negative(name: str, numbers: np.ndarray) -> None:
    if np.any(numbers < 0):
        raise ValueError(f"`{name}` holds {np.min(numbers)}. Places hold 0 or more.")


explain_arguments(__name__)
