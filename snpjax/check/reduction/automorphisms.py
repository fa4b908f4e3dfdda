"""Interchangeable components of a coloured graph."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Int


#: An involution: the vertices that it moves, and where.
Exchange: TypeAlias = dict[int, int]


@dataclass(frozen=True, eq=False)
class ColouredGraph:
    """Vertices with colours, and arcs with labels. Only the first `num_columns` vertices are
    columns of configurations; the others, transitions of a net, are moved along with these."""

    num_columns: int
    colours: Sequence[Hashable]
    arcs: Mapping[tuple[int, int], Hashable]

    @cached_property
    def neighbours(self) -> list[dict[tuple[int, int], Hashable]]:
        """Of each vertex: the label of the arc to another one (1), and from it (0)."""
        found: list[dict[tuple[int, int], Hashable]] = [{} for _ in self.colours]
        for (source, target), label in self.arcs.items():
            found[source][target, 1] = label
            found[target][source, 0] = label
        return found

    @cached_property
    def refined(self) -> list[int]:
        """Colours such that vertices of one colour have the same numbers of neighbours of each
        colour: vertices of different ones cannot be exchanged."""
        colours = _numbered(self.colours)
        while True:
            finer = _numbered(
                (
                    colours[vertex],
                    _counted((way, label, colours[other]) for (other, way), label in some.items()),
                )
                for vertex, some in enumerate(self.neighbours)
            )
            if max(finer, default=0) == max(colours, default=0):
                return colours
            colours = finer

    def is_automorphism(self, exchange: Exchange) -> bool:
        """Whether an involution keeps all colours and arcs."""
        if any(self.colours[a] != self.colours[b] for a, b in exchange.items()):
            return False
        return all(
            self.neighbours[exchange[vertex]].get((exchange.get(other, other), way)) == label
            for vertex in exchange
            for (other, way), label in self.neighbours[vertex].items()
        )

    def exchange_of(self, one: int, other: int) -> list[tuple[int, int]] | None:
        """An exchange of two components, of which one has the first vertex and one the other, as
        pairs of vertices; `None` if none was found.

        Neighbours that the two do not share are exchanged, too, in order where there are several
        of one kind. Not every exchange is found that way; that it is one is checked in the end.
        """
        image: Exchange = {one: other, other: one}
        pairs = [(one, other)]
        for a, b in pairs:  # which grows
            kinds_of_a, kinds_of_b = self._kinds(a), self._kinds(b)
            if kinds_of_a.keys() != kinds_of_b.keys():
                return None
            for kind, of_a in kinds_of_a.items():
                of_b = kinds_of_b[kind]
                if any(x in image and image[x] not in of_b for x in of_a):
                    return None
                left = sorted(x for x in of_a if x not in image and x not in of_b)
                right = sorted(x for x in of_b if x not in image and x not in of_a)
                if len(left) != len(right):
                    return None
                for x, y in zip(left, right, strict=True):
                    image[x], image[y] = y, x
                    pairs.append((x, y))
        return pairs if self.is_automorphism(image) else None

    def _kinds(self, vertex: int) -> dict[Hashable, set[int]]:
        """The neighbours of a vertex by direction, label and colour."""
        found: dict[Hashable, set[int]] = {}
        for (other, way), label in self.neighbours[vertex].items():
            found.setdefault((way, label, self.refined[other]), set()).add(other)
        return found

    def components(self) -> list[Int[np.ndarray, "components columns"]]:
        """Families of interchangeable components: the columns of each, in corresponding order. No
        column is in two of them. Exchanges of the first component of a family with each other one
        were checked; they generate all permutations of the family."""
        classes: dict[int, list[int]] = {}
        for column in range(self.num_columns):
            classes.setdefault(self.refined[column], []).append(column)
        taken: set[int] = set()
        families = []
        for members in classes.values():
            left = [column for column in members if column not in taken]
            while len(left) > 1:
                family = self._family(left[0], left[1:], taken)
                if len(family) > 1:
                    families.append(np.asarray(family))
                    taken.update(column for component in family for column in component)
                left = [column for column in left[1:] if column not in taken]
        return families

    def _family(self, first: int, others: list[int], taken: set[int]) -> list[tuple[int, ...]]:
        """The component of a column and those that it can be exchanged with."""
        family: list[tuple[int, ...]] = []
        used: set[int] = set()
        for other in others:
            if other in used:
                continue
            pairs = self.exchange_of(first, other)
            if pairs is None:
                continue
            moved = [(a, b) for a, b in pairs if a < self.num_columns]
            own, theirs = (tuple(x) for x in zip(*moved, strict=True))
            if taken & {*own, *theirs} or (family and own != family[0]) or used & {*theirs}:
                continue
            family = family or [own]
            family.append(theirs)
            used |= {*own, *theirs}
        return family


def _numbered(values: Iterable[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def _counted(values: Iterable[Hashable]) -> frozenset[tuple[Hashable, int]]:
    counts: dict[Hashable, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return frozenset(counts.items())
