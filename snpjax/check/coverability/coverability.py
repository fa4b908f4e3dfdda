"""`coverability`: what can grow without bound, and bounds of what cannot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._text.counts import plural
from ..._text.nearest import nearest
from ..._text.rule_text import under_rule
from ...choice import GivenChoices
from ...sleptsov.model.execution import Execution
from ...sleptsov.model.net import SleptsovNet
from ...spiking.model.system import SpikingSystem
from ..tracing import on_host
from .net_steps import NetSteps
from .pumping import sequence
from .system_steps import SystemSteps
from .tree import OMEGA, Tree


class Pumping(NamedTuple):
    """Choices, and how many steps they are for."""

    choice: GivenChoices
    num_steps: int


@dataclass(frozen=True, eq=False, repr=False)
class Coverability:
    """The bounds of the counts of a model over all of its computations.

    - `model`: the net or the system.
    - `names`: its places or neurons.
    - `is_complete`: whether all computations were examined. If not, `reason` says why, and only
      `unbounded` is certain.
    - `num_nodes`: the nodes of the tree.
    """

    model: Execution | SpikingSystem
    names: tuple[str, ...]
    is_complete: bool
    reason: str
    num_nodes: int
    _tree: Tree = field(repr=False)

    @cached_property
    def bounds(self) -> Mapping[str, int | None]:
        """The largest count of each place or neuron, `None` where there is none.

        **Raises:** `ValueError` for a tree that is not complete.
        """
        if not self.is_complete:
            raise ValueError(f"The bounds are not known: {self.reason}. See `unbounded`.")
        return {
            n: None if most == OMEGA else most
            for n, most in zip(self.names, self._most, strict=True)
        }

    @cached_property
    def unbounded(self) -> tuple[str, ...]:
        """The places or neurons whose counts can be made as large as one likes."""
        return tuple(n for n, most in zip(self.names, self._most, strict=True) if most == OMEGA)

    @property
    def is_bounded(self) -> bool | None:
        """Whether all counts are bounded; `None` if that is not known."""
        if self.unbounded:
            return False
        return True if self.is_complete else None

    @cached_property
    def _most(self) -> list[int]:
        return np.max([node.counts for node in self._tree.nodes], axis=0).tolist()[
            : len(self.names)
        ]

    def covers(self, counts: Mapping[str, int], /) -> bool:
        """Whether a configuration with at least these counts can be reached.

        **Arguments:**

        - `counts`: by the names of places or neurons; those that are not named may be anything.

        **Raises:** `ValueError` for an unknown name, and for a tree that is not complete unless the
        answer is yes.
        """
        unknown = [name for name in counts if name not in self.names]
        if unknown:
            near = nearest(unknown[0], self.names, "names")
            raise ValueError(f"There is no {unknown[0]!r} ({near}).")
        wanted = [(self.names.index(name), count) for name, count in counts.items()]
        found = any(
            all(node.counts[at] >= count for at, count in wanted) for node in self._tree.nodes
        )
        if not found and not self.is_complete:
            raise ValueError(f"It is not known: {self.reason}. Pass a larger `max_nodes`.")
        return found

    def pumping(self, name: str, at_least: int) -> Pumping:
        """A computation that makes a count at least as large as a given number, however large.

        **Arguments:**

        - `name`: one of `unbounded`.
        - `at_least`: tokens or spikes.

        **Returns:** a `Pumping`, to be run by `snpjax.run(model, choice=found.choice,
        max_steps=found.num_steps)`.

        **Raises:** `ValueError` for a name that is not in `unbounded`, and for a computation of
        more than 10^6 steps.
        """
        if name not in self.unbounded:
            raise ValueError(
                f"{name!r} is not known to be unbounded. Pass one of {', '.join(self.unbounded)}."
                if self.unbounded
                else f"{name!r} is not known to be unbounded; nothing is."
            )
        column = self.names.index(name)
        node = next(node for node in self._tree.nodes if node.counts[column] == OMEGA)
        actions = sequence(self._tree.steps, node, {column: at_least})
        rows = [[action] if isinstance(action, int) else list(action) for action in actions]
        return Pumping(GivenChoices(rows), len(rows))

    def __repr__(self) -> str:
        rule = under_rule(self.model.schema().rule)
        what = f"Coverability({plural(self.num_nodes, 'node')}{rule}: "
        if self.unbounded:
            what += f"unbounded {', '.join(self.unbounded[:8])}"
            what += ", ..." if len(self.unbounded) > 8 else ""
        else:
            what += "bounded" if self.is_complete else "nothing known"
        return what + (")" if self.is_complete else f"; {self.reason})")


@on_host("check.coverability")
def coverability(
    model: Execution | SpikingSystem, /, *, max_nodes: int = 100_000, seconds: float | None = None
) -> Coverability:
    """Find which counts can grow without bound, and bounds of all others, by the tree of Karp and
    Miller: also where infinitely many configurations are reachable.

    **Arguments:**

    - `model`: `Execution(net, rule=Petri())` without inhibitor arcs and priorities, or an SN P
      system. Neurons that grow must consume one spike at a time, without delay, from some count
      on, and so must all neurons that they send to; neurons without rules do. If others grow, the
      tree does not come to an end.
    - `max_nodes`: of the tree.
    - `seconds`: how long to go on; `None` for as long as it takes. Ctrl-C ends it, too.

    **Returns:** a `Coverability`, which says whether it is complete.

    **Raises:** `NotImplementedError` for a model that is not monotone, with the reason.

    ??? cite "Source"
        Karp, Miller 1969.
    """
    if isinstance(model, SleptsovNet):
        model = Execution(model)
    if isinstance(model, Execution):
        steps, names = NetSteps(model), tuple(model.net.place_names)
    elif isinstance(model, SpikingSystem):
        steps, names = SystemSteps(model), tuple(neuron.name for neuron in model.neurons)
    else:
        raise TypeError(
            f"coverability: `model` is of the type {type(model).__name__}. Pass a net or a "
            "SpikingSystem."
        )
    tree = Tree(steps, max_nodes, seconds)
    return Coverability(model, names, tree.is_complete, tree.reason, len(tree.nodes), tree)
