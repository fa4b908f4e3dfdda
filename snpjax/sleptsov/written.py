"""Markings and firings of a net as other programs get them: tables, and lines of text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..lines import Column, EdgeStyle, Table, numbers, one_of, text
from .net import SleptsovNet
from .observed import Firings, Markings


Some = TypeVar("Some", Markings, Firings)


@dataclass(frozen=True)
class WrittenNet:
    """How a net, its markings and its firings are written, see `explore.observed.Written`. Columns
    are places."""

    net: SleptsovNet

    @property
    def title(self) -> str:
        return self.net.name

    @property
    def legend(self) -> str:
        return "<" + ",".join(self.columns(self.net.num_places)) + ">"

    def width(self, map: Callable[[Callable[[Any], np.ndarray]], np.ndarray]) -> int:
        del map  # places stay as many
        return self.net.num_places

    def cut(self, some: Some, width: int) -> Some:
        del width
        return some

    def columns(self, width: int) -> list[str]:
        return list(self.net.place_names)[:width]

    def names_at_edges(self) -> list[str]:
        return list(self.net.transition_names)

    def lists(self, width: int) -> dict[str, list[str]]:
        return {"places": self.columns(width), "transitions": self.names_at_edges()}

    def rules(self) -> None:
        return None

    def tables(self, some: Markings) -> dict[str, Table]:
        return {"marking": Table("tokens", some.marking)}

    def step_tables(self, steps: Firings) -> dict[str, Table]:
        return {
            "transition": Table("transition", steps.transition),
            "multiplicity": Table("multiplicity", steps.multiplicity),
        }

    def changing(self, some: Markings) -> None:
        del some
        return None

    def drawn(self, some: Markings, written: Callable[[str], str]) -> list[Column]:
        """`<2,0,1>`, the tokens in the order of the places."""
        del written
        columns: list[Column] = [b"<"]
        for place in range(some.marking.shape[1]):
            columns += [b"," if place else b"", numbers(some.marking[:, place])]
        return [*columns, b">"]

    def labelled(self, steps: Firings, style: EdgeStyle, names: Mapping[str, str]) -> list[Column]:
        """The transition, and in how many copies it fires if these are several and the format can
        say so. Nothing leaves a net, so that this is what stands at edges in any case."""
        name = one_of(steps.transition, lambda t: names[self.net.transition_name(t)])
        if not style.times:
            return [name]
        is_several = steps.multiplicity > 1
        return [name, text(style.times, is_several), numbers(steps.multiplicity, is_several)]
