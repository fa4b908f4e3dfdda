"""The arguments of operations that the page asks for, as JSON, and names that are free."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ..._text.surrogates import HALF, lone_surrogate
from ...drawing.coordinates import COORDINATE_RANGE, is_coordinate


#: An operation: `{"do": "connect", "synapses": [[0, 1, 1]]}`.
Operation: TypeAlias = Mapping[str, Any]

#: The longest name, and the most things that one operation takes.
_MAX_NAME, _MAX_ITEMS = 200, 50_000


class Refused(ValueError):
    """A request that cannot be answered, such as a step by a rule that does not apply."""


def listed(operation: Operation, name: str, most: int = _MAX_ITEMS) -> list[Any]:
    """A list, empty where there is none."""
    value = operation.get(name, [])
    if not isinstance(value, list) or len(value) > most:
        raise Refused(f"`{name}` is {value!r:.60}. Give a list of up to {most:,}.")
    return value


def integer(value: Any, name: str) -> int:
    """An integer, or the text of one that is too large for a browser."""
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) < 4_000:
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused(f"`{name}` is {value!r:.60}. Give an integer.")
    return value


def numbered(value: Any, name: str, count: int) -> int:
    """The number of one of `count` nodes."""
    number = integer(value, name)
    if not 0 <= number < count:
        raise Refused(f"There is no node {number} among {count}.")
    return number


def node(operation: Operation, name: str, count: int) -> int:
    """The number of a node."""
    return numbered(operation.get(name), name, count)


def nodes(operation: Operation, name: str, count: int) -> list[int]:
    """The numbers of nodes, each once."""
    return list(dict.fromkeys(numbered(x, name, count) for x in listed(operation, name)))


def tuples(operation: Operation, name: str, size: int, count: int) -> list[tuple[int, ...]]:
    """The ends of edges, and further numbers of each."""
    found = []
    for item in listed(operation, name):
        if not isinstance(item, list) or len(item) != size:
            raise Refused(f"`{name}` has {item!r:.60}. Give lists of {size} numbers.")
        ends = [numbered(end, name, count) for end in item[:2]]
        found.append((*ends, *(integer(x, name) for x in item[2:])))
    return found


def name_in(value: Any) -> str:
    """A name that somebody wrote."""
    if not isinstance(value, str) or not value.strip() or len(value) > _MAX_NAME:
        raise Refused(f"{value!r:.60} is not a name. Give one of up to {_MAX_NAME} characters.")
    if lone_surrogate(value) is not None:
        raise Refused(f"The name contains {HALF}. Write another one.")
    return value.strip()


def point(value: Any) -> list[float]:
    """A place in the drawing."""
    if isinstance(value, list) and len(value) == 2:
        if all(map(is_coordinate, value)):
            return [float(x) for x in value]
    raise Refused(f"{value!r:.60} is not a place. Give [x, y], numbers {COORDINATE_RANGE}.")


def free_name(taken: Iterable[str], *, like: str = "n1") -> str:
    """A name that is not taken: the one that is wanted, or with the next number at its end."""
    taken = set(taken)
    if like not in taken:
        return like
    stem = like.rstrip("0123456789")
    number = int(like[len(stem) :] or 1)
    stem = stem if like != stem else f"{stem}_"
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"
