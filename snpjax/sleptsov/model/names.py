"""Names of places and transitions, created on demand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload


@dataclass(frozen=True)
class Numbered(Sequence[str]):
    """The names prefix + number, counted from `first`: `Numbered("p", 3)` is p1, p2, p3."""

    prefix: str
    size: int
    first: int = 1

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        numbers = range(self.first, self.first + self.size)[index]
        if isinstance(numbers, range):
            return tuple(f"{self.prefix}{number}" for number in numbers)
        return f"{self.prefix}{numbers}"

    def __iter__(self) -> Iterator[str]:
        return (f"{self.prefix}{n}" for n in range(self.first, self.first + self.size))

    def find(self, name: str) -> int | None:
        """The position of a name."""
        digits = name.removeprefix(self.prefix)
        if not name.startswith(self.prefix) or not digits.isascii() or not digits.isdigit():
            return None
        position = int(digits) - self.first
        is_one = 0 <= position < self.size and name == self[position]
        return position if is_one else None


Names: TypeAlias = Numbered | tuple[str, ...]


def names_of(given: Sequence[str] | None, prefix: str, count: int) -> Names:
    """The names that were given, or numbers from 1."""
    if given is None:
        return Numbered(prefix, count)
    return given if isinstance(given, Numbered) else tuple(given)


def same_names(some: Names, others: Names) -> bool:
    """Whether they are equal, name by name."""
    if isinstance(some, Numbered) and isinstance(others, Numbered):
        return some == others or (some.size == others.size == 0)
    return len(some) == len(others) and all(x == y for x, y in zip(some, others, strict=True))
