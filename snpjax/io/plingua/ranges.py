"""The ranges of P-Lingua statements: which values, and how many instances in all."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..source import Mistake
from . import tree
from .expression import Scope


# Instances of statements under ranges, in a whole file: of regular families, of one of their
# statements (for which about a hundred bytes each are needed for a while), and of those that are
# made one by one, some hundred bytes each.
MAX_INSTANCES = 20_000_000
MAX_AT_ONCE = 5_000_000
MAX_LISTED = 3_000_000


class Ranges:
    """Counts the instances of a file, so that too many are refused before they are made."""

    def __init__(self) -> None:
        self._instances = 0

    def reserve(self, statement: tree.Statement, scope: Scope) -> None:
        """Count the instances of a statement before any is made; refuse too many."""
        level = len(statement.bounds) - 1
        size = self._size(statement.bounds, level, scope)
        self._check_size(size, statement.bounds[level])
        if size and isinstance(statement.instruction, tree.Block):
            inner = self._inner_size(statement, statement.instruction, scope)
            self._check_size(size * inner, statement.bounds[level])
        self._instances += size

    def _size(self, bounds: tuple[tree.Bounds, ...], level: int, scope: Scope) -> int:
        span = values(bounds[level], scope)
        size = max(0, span.stop - span.start)  # len() fails on a range above 2^63
        self._check_size(size, bounds[level])
        if level == 0 or size == 0:
            return size
        variable = bounds[level].variable
        scope[variable] = span.start
        if not any(variable in _names(inner) for inner in bounds[:level]):
            return size * self._size(bounds, level - 1, scope)
        total = 0
        for value in span:
            scope[variable] = value
            total += self._size(bounds, level - 1, scope)
            self._check_size(total, bounds[level])
        return total

    def _inner_size(self, statement: tree.Statement, block: tree.Block, scope: Scope) -> int:
        """Instances of one pass through a block, as far as its own variables do not matter."""
        own = {bounds.variable for bounds in statement.bounds}
        total = 0
        for inner in block.statements:
            if isinstance(inner.instruction, tree.Let | tree.Call):
                return total
            if inner.bounds and not any(own & _names(bounds) for bounds in inner.bounds):
                with shadowed(inner, scope):
                    total += self._size(inner.bounds, len(inner.bounds) - 1, scope)
        return total

    def _check_size(self, size: int, bounds: tree.Bounds) -> None:
        if self._instances + size > MAX_LISTED:
            message = (
                f"these ranges make more than {MAX_LISTED:,} instances in this file "
                "(use smaller ranges)"
            )
            raise Mistake(bounds.offset, message)


@contextmanager
def shadowed(statement: tree.Statement, scope: Scope) -> Iterator[None]:
    """What the variables of a statement's ranges hide in a scope comes back after it."""
    variables = [bounds.variable for bounds in statement.bounds]
    hidden = {name: scope[name] for name in variables if name in scope}
    try:
        yield
    finally:
        for name in variables:
            scope.pop(name, None)
        scope.update(hidden)


def _names(bounds: tree.Bounds) -> frozenset[str]:
    return bounds.low.names | bounds.high.names


def values(bounds: tree.Bounds, scope: Scope) -> range:
    low = bounds.low.count(scope, "the lower bound of the range")
    high = bounds.high.count(scope, "the upper bound of the range")
    return range(low + bounds.low_shift, high + bounds.high_shift + 1)


def differ(condition: tree.Filter, scope: Scope) -> bool:
    return condition.left.value(scope) != condition.right.value(scope)
