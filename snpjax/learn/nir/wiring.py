"""The parts of a NIR graph, and the synapses between its neurons that its operators amount to."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..synapses.convolution import convolved
from ..synapses.windows import Windows, paddings


UnitKind: TypeAlias = Literal["Input", "I", "IF", "LIF", "Threshold"]
OperatorKind: TypeAlias = Literal["Linear", "Affine", "Scale", "Conv2d", "SumPool2d", "Flatten"]

#: The source of what arrives in every step, among the numbers of units.
BIAS = -1

#: The matrix from each unit, `None` for the identity.
Arriving: TypeAlias = dict[int, Float[Array, "targets sources"] | None]


class Unit(NamedTuple):
    """A node of neurons.

    - `kind`: `"Threshold"` stands for an integrator `I` with a `Threshold`, whose spikes a `Scale`
      subtracts from the potential.
    - `threshold`, `feedback`: the names of that `Threshold` and `Scale`.
    """

    name: str
    kind: UnitKind
    shape: tuple[int, ...]
    threshold: str = ""
    feedback: str = ""

    @property
    def size(self) -> int:
        """How many neurons it has."""
        return int(np.prod(self.shape))

    @property
    def sender(self) -> str:
        """The node whose output its spikes are."""
        return self.threshold or self.name


class Operator(NamedTuple):
    """A linear node.

    - `stride`, `padding`, `dilation`, `groups`: of a convolution or a pooling, as NIR has them.
    - `kernel`: its size.
    - `dims`: the first and last axis that a `Flatten` joins.
    """

    kind: OperatorKind
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] | Literal["same", "valid"] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    kernel: tuple[int, int] = (1, 1)
    dims: tuple[int, int] = (0, -1)

    @property
    def windows(self) -> Windows:
        """Of a convolution or a pooling."""
        around = paddings(self.padding, self.kernel, self.dilation)
        return Windows(self.in_shape[1:], self.kernel, self.stride, around, self.dilation)


class NirWiring(NamedTuple):
    """A graph without its numbers.

    - `units`: in order, the input first.
    - `operators`: each after those that it reads.
    - `edges`: between the names of nodes, as in NIR; without those inside of a `"Threshold"`.
    - `output`: the name of the `Output` node, and `read` the unit that it reads.
    """

    units: tuple[Unit, ...]
    operators: tuple[tuple[str, Operator], ...]
    edges: tuple[tuple[str, str], ...]
    output: str
    read: int

    @property
    def has_bias(self) -> bool:
        """Whether an operator adds numbers of its own."""
        return any(operator.kind in ("Affine", "Conv2d") for _, operator in self.operators)


def arriving_at(
    wiring: NirWiring,
    weights: Mapping[str, Float[Array, "..."]],
    biases: Mapping[str, Float[Array, "..."]],
) -> list[Arriving]:
    """What each unit receives: the matrices from all units, and from `BIAS` a column.

    **Arguments:**

    - `wiring`: the graph.
    - `weights`, `biases`: of its operators, by name.
    """
    leaving: dict[str, Arriving] = {
        unit.sender: {number: None} for number, unit in enumerate(wiring.units)
    }
    sizes = [unit.size for unit in wiring.units]

    def into(name: str) -> Arriving:
        return _sum([leaving[source] for source, target in wiring.edges if target == name], sizes)

    for name, operator in wiring.operators:
        weight, found = weights.get(name), into(name)
        moved: Arriving = {s: applied(operator, weight, x, sizes[s]) for s, x in found.items()}
        if name in biases:
            own = biases[name]
            if operator.kind == "Conv2d":
                own = jnp.repeat(own, int(np.prod(operator.out_shape[1:])))
            moved = _sum([moved, {BIAS: own[:, None]}], sizes)
        leaving[name] = moved
    return [into(unit.name) for unit in wiring.units]


def applied(
    operator: Operator,
    weight: Float[Array, "..."] | None,
    matrix: Float[Array, "inputs sources"] | None,
    size: int,
) -> Float[Array, "outputs sources"] | None:
    """An operator after a matrix; `None` for the identity of this size."""
    kind = operator.kind
    if kind == "Flatten":
        return matrix
    if kind in ("Linear", "Affine"):
        assert weight is not None
        # "highest": a product in TF32 is wrong for integers above 2^11.
        return weight if matrix is None else jnp.matmul(weight, matrix, precision="highest")
    matrix = jnp.eye(size) if matrix is None else matrix
    if kind == "Scale":
        assert weight is not None
        return jnp.reshape(weight, (-1, 1)) * matrix
    groups = operator.groups
    if kind == "SumPool2d":
        groups = operator.in_shape[0]
        weight = jnp.ones((groups, 1, *operator.kernel))
    assert weight is not None
    return convolved(matrix.T, weight, operator.windows, groups).T


def unused(name: str, names: Collection[str]) -> str:
    """A name like this one that is not among others."""
    while name in names:
        name += "_"
    return name


def _sum(terms: Sequence[Arriving], sizes: Sequence[int]) -> Arriving:
    """The sum of what arrives over several edges."""
    total: Arriving = {}
    for term in terms:
        for source, matrix in term.items():
            if source in total:
                first, second = (
                    jnp.eye(sizes[source]) if x is None else x for x in (total[source], matrix)
                )
                total[source] = first + second
            else:
                total[source] = matrix
    return total
