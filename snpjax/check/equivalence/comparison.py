"""What a comparison of two systems or nets is, and which neurons get the same input."""

import abc
from dataclasses import dataclass
from typing import Any

from ...explore import Graph
from ...sleptsov.model.net import AbstractRunnableNet
from ...spiking.model.environment import AnyInput
from ...spiking.model.population import AnySystem
from .result import SIDES, Equivalence


@dataclass(frozen=True, eq=False)
class Pair:
    """Two systems to compare, or two nets.

    - `systems`: as they were given.
    - `graphs`: their configurations, with an environment if any input is compared.
    - `inputs`: the neurons that get it, matched by order.
    """

    systems: tuple[Any, Any]
    graphs: tuple[Graph[Any, Any], Graph[Any, Any]]
    inputs: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def noun(self) -> str:
        """What is compared."""
        return "net" if isinstance(self.systems[0], AbstractRunnableNet) else "system"

    @property
    def cut(self) -> str:
        """Why not everything is known."""
        both = zip(SIDES, self.graphs, strict=True)
        found = [(f"the {name}", graph.reason) for name, graph in both if not graph.is_complete]
        if len(found) == 2 and found[0][1] == found[1][1]:
            found = [("either", found[0][1])]
        texts = (f"not all of {which} {self.noun} is known, because {why}" for which, why in found)
        return "; ".join(texts)


class AbstractComparison(abc.ABC):
    """In which sense two systems are to be equivalent."""

    @property
    @abc.abstractmethod
    def environment(self) -> AnyInput | tuple[AnyInput, AnyInput] | None:
        """Any input of the systems, instead of their own trains."""

    @property
    @abc.abstractmethod
    def depth(self) -> int | None:
        """How far configurations are needed; `None`: all of them."""

    @abc.abstractmethod
    def compare(self, pair: Pair) -> Equivalence:
        """The verdict on two systems.

        **Arguments:**

        - `pair`: the systems, their environment and their graphs, explored as `environment` and
          `depth` require.

        **Returns:** an `Equivalence`.
        """


def matched(
    systems: tuple[AnySystem, AnySystem],
    inputs: AnyInput | tuple[AnyInput, AnyInput] | None,
) -> tuple[AnyInput, AnyInput] | None:
    """The environment of each system, with the names of the neurons that it feeds: the same names
    where both systems have them, otherwise by order.

    **Raises:** `ValueError` if they do not match.
    """
    if inputs is None:
        return None
    pair = inputs if isinstance(inputs, tuple) else (inputs, inputs)
    names = [one.neurons_of(system) for one, system in zip(pair, systems, strict=True)]
    if not all(one.neurons for one in pair) and set(names[0]) == set(names[1]):
        names[1] = names[0]
    if len(names[0]) != len(names[1]):
        raise ValueError(
            f"The first system has {len(names[0])} input neurons, the second {len(names[1])}. Name "
            "those that correspond: inputs=(AnyInput(5, neurons=[...]), AnyInput(5, neurons=[...]))"
            "."
        )
    first, second = pair
    if (first.length, first.most) != (second.length, second.most):
        raise ValueError(f"{first} and {second} differ. Both systems get the same trains.")
    made = [AnyInput(first.length, first.most, tuple(some)) for some in names]
    return made[0], made[1]
