"""The sub-nets that programs are made of: copy, clean and move, addition, multiplication.

Each waits at rest. *Emptying* its start place starts it; it refills that place and empties its
finish place when it is done.

??? cite "Source"
    Zaitsev and Juerjens 2016, "Programming in the Sleptsov net language for systems control"; the
    nets are those of the published compiler.
"""

from dataclasses import dataclass
from functools import cache

from .model.names import Numbered
from .model.net import SleptsovNet
from .model.notation import net_of_text


@dataclass(frozen=True)
class SubNet:
    """A net with places for data and control, all by number.

    **Arguments:**

    - `net`: the net at rest. A program of sub-nets is linked first.
    - `inputs`: places that take the arguments.
    - `output`: the place of the result.
    - `start`, `finish`: control places, which hold a token each at rest.
    """

    net: SleptsovNet
    inputs: tuple[int, ...]
    output: int
    start: int
    finish: int


@cache
def copy() -> SubNet:
    """Copy: add the tokens of place p1 to p2, and keep them in p1.

    **Returns:** the sub-net; every call returns the same object.
    """
    net = _net(
        """
        t1: p1 !p4 -> p2 p3
        t2: p3 !p5 -> p1
        t3: p5 !p1 !p4 -> p4
        t4: p6 !p3 !p5 -> p5
        """,
        6,
        (4, 5, 6),
    )
    return SubNet(net, (0,), 1, 3, 5)


@cache
def clean_move() -> SubNet:
    """Clean and move: clear place p2, then move the tokens of p1 to it.

    **Returns:** the sub-net; every call returns the same object.
    """
    net = _net(
        """
        t1: p1 !p4 -> p2
        t2: p2 !p3 ->
        t3: p4 !p2 !p3 -> p3
        t4: p5 !p1 !p4 -> p4
        """,
        5,
        (3, 4, 5),
    )
    return SubNet(net, (0,), 1, 2, 4)


@cache
def add() -> SubNet:
    """Addition: p3 := p1 + p2, which consumes both.

    **Returns:** the sub-net; every call returns the same object.
    """
    net = _net(
        """
        t1: p1 !p4 -> p3
        t2: p2 !p4 -> p3
        t3: p5 !p1 !p2 !p4 -> p4
        """,
        5,
        (4, 5),
    )
    return SubNet(net, (0, 1), 2, 3, 4)


@cache
def mul() -> SubNet:
    """Multiplication: p4 := p1 * p2, which consumes both, by shifting and adding: one round for
    each bit of p2.

    A place must hold p1 times the next power of two above p2, not only the product.

    **Returns:** the sub-net; every call returns the same object.
    """
    net = _net(
        """
        t1: p6 !p3 -> p3               # one round begins
        t2: p7 !p2 !p3 -> p3           # nothing is left of p2: stop, and
        t3: p1 !p7 ->                  # clear p1
        t4: p5 !p7 -> p7
        t5: 2p2 !p6 -> p8              # halve p2
        t6: p9 !p6 -> p6
        t7: p2 p11 !p9 -> p10          # was it odd? then p10 holds a token, else p11
        t8: p12 !p9 -> p9
        t9: p1 !p11 !p12 -> p4 p13     # if so, add p1 to p4
        t10: p1 !p10 !p12 -> p13
        t11: p14 !p12 -> p12
        t12: p8 !p14 -> p2             # the half becomes p2
        t13: p15 !p14 -> p14
        t14: p13 !p15 -> 2p1           # and twice p1 becomes p1
        t15: p3 p10 !p11 !p15 -> p11 p15
        t16: p3 !p10 !p15 -> p15
        t2 > t1
        t3 > t4
        t5 > t6
        t7 > t8
        t9 > t11
        t10 > t11
        t12 > t13
        t14 > t15
        t14 > t16
        """,
        15,
        (3, 5, 6, 7, 9, 11, 12, 14, 15),
    )
    return SubNet(net, (0, 1), 3, 2, 4)


def _net(text: str, num_places: int, marked: tuple[int, ...]) -> SleptsovNet:
    marking = {f"p{place}": 1 for place in marked}
    return net_of_text(text, marking, places=Numbered("p", num_places))


#: The sub-nets by the names that high-level nets call them.
LIBRARY = {"add": add, "mul": mul, "copy": copy, "clean_move": clean_move}
