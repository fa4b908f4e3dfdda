"""The NIR graphs of networks of populations: their nodes, and the weights of these."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from snpjax_formats import Sum

from ..export import to_system
from ..layers.abstract import AbstractLayer
from ..layers.pooling import AbstractPool
from ..layers.sequential import Sequential
from ..layers.spiking import AbstractSpikingLayer
from ..network import SpikingNetwork
from ..relaxed import RelaxedSystem, constants_of, relax
from ..synapses.abstract import SynapseList
from ..synapses.convolution import ConvSynapses
from ..synapses.windows import Windows, paddings
from .wiring import NirWiring, Operator, Unit, UnitKind, unused


class PopulationGraph(NamedTuple):
    """A network of populations as a graph.

    - `wiring`: the nodes and edges, with a unit for each population.
    - `weights`: of the operators, by name.
    - `model`: the rules of the neurons, in the order of the units.
    """

    wiring: NirWiring
    weights: dict[str, Float[np.ndarray, "..."]]
    model: RelaxedSystem


def graph_of_network(network: SpikingNetwork) -> PopulationGraph:
    """A `Linear` for each projection between the populations of a network.

    **Arguments:**

    - `network`: the network; its parameters are rounded.

    **Raises:** `ValueError` for a projection to the inputs, which NIR cannot express.
    """
    if any(target == 0 for _, target in network.projections):
        raise ValueError("A projection leads to the input population. NIR has inputs without one.")
    nodes, sizes = _Nodes(), network.sizes
    nodes.add_unit("input", "Input", sizes[:1])
    names = ["input", *(f"population_{p}" for p in range(1, len(sizes)))]
    for name, size in zip(names[1:], sizes[1:], strict=True):
        nodes.add_unit(name, "I", (size,))
    synapses = constants_of(network.model).synapses
    assert isinstance(synapses, Sum)
    for (source, target), part in zip(network.projections, synapses.parts, strict=True):
        name, matrix = f"linear_{source}_{target}", part.to_dense().astype(np.float32)
        nodes.edges.append((nodes.add_linear(name, names[source], matrix), names[target]))
    return PopulationGraph(nodes.wiring(names[-1]), nodes.weights, network.model)


def graph_of_layers(network: Sequential, *, round: bool) -> PopulationGraph:
    """Layers as nodes: a convolution of images as a `Conv2d`, a pooling of images as a `SumPool2d`,
    and other synapses as a `Linear` of flat neurons.

    **Arguments:**

    - `network`: the network.
    - `round`: see `to_system`.

    **Raises:** `ValueError` for what `to_system` refuses, and for synapses with delays.
    """
    system = to_system(network, round=round)
    nodes, images = _Nodes(), [_images_of(layer) for layer in network.layers]
    shape = (network.source.size,) if images[0] is None else images[0][0].in_shape
    sent = [nodes.add_unit("input", "Input", shape)]  # the node of each population
    for number, (layer, image) in enumerate(zip(network.layers, images, strict=True), 1):
        name, parts = f"population_{number}", layer.parts()
        sizes = layer.in_size, layer.out_size
        if image is not None and image[0].in_shape == nodes.shapes[sent[-1]]:
            arriving = [nodes.add(f"{image[0].kind.lower()}_{number}", sent[-1], *image)]
        else:
            own = _matrix(parts.synapses, *sizes, name)
            arriving = [nodes.add_linear(f"linear_{number - 1}_{number}", sent[-1], own)]
        if parts.neurons is None:
            sent.append(arriving[0])
            continue
        for (start, end), skip in zip(network.places, network.skips, strict=True):
            if end == number:
                own = _matrix(skip.exact().wiring(), skip.in_size, skip.out_size, name)
                arriving.append(nodes.add_linear(f"linear_{start}_{end}", sent[start], own))
        is_flat = len(arriving) > 1 or parts.recurrent is not None
        arriving = [nodes.flat(node) if is_flat else node for node in arriving]
        sent.append(nodes.add_unit(name, "I", nodes.shapes[arriving[0]]))
        if parts.recurrent is not None:
            own = _matrix(parts.recurrent, layer.out_size, layer.out_size, name)
            arriving.append(nodes.add_linear(f"linear_{number}_{number}", name, own))
        nodes.edges += [(node, name) for node in arriving]
    return PopulationGraph(nodes.wiring(sent[-1]), nodes.weights, relax(system))


class _Nodes:
    """The nodes of a graph under construction, and the shapes of what they put out."""

    def __init__(self):
        self.units: list[Unit] = []
        self.operators: list[tuple[str, Operator]] = []
        self.edges: list[tuple[str, str]] = []
        self.weights: dict[str, Float[np.ndarray, "..."]] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def add_unit(self, name: str, kind: UnitKind, shape: tuple[int, ...]) -> str:
        self.units.append(Unit(name, kind, shape))
        self.shapes[name] = shape
        return name

    def add(
        self,
        name: str,
        source: str,
        operator: Operator,
        weight: Float[np.ndarray, "..."] | None = None,
    ) -> str:
        """Add an operator behind a node."""
        name = unused(name, self.shapes)
        self.operators.append((name, operator))
        self.edges.append((source, name))
        self.shapes[name] = operator.out_shape
        if weight is not None:
            self.weights[name] = weight
        return name

    def add_linear(
        self, name: str, source: str, matrix: Float[np.ndarray, "targets sources"]
    ) -> str:
        """Add a `Linear` behind a node."""
        operator = Operator("Linear", matrix.shape[1:], matrix.shape[:1])
        return self.add(name, self.flat(source), operator, matrix)

    def flat(self, node: str) -> str:
        """A node whose output is that of another one on one axis."""
        shape, name = self.shapes[node], f"flatten_{node}"
        if len(shape) == 1 or name in self.shapes:
            return node if len(shape) == 1 else name
        return self.add(name, node, Operator("Flatten", shape, (int(np.prod(shape)),)))

    def wiring(self, last: str) -> NirWiring:
        edges = (*self.edges, (last, "output"))
        read = len(self.units) - 1
        return NirWiring(tuple(self.units), tuple(self.operators), edges, "output", read)


def _images_of(layer: AbstractLayer) -> tuple[Operator, Float[np.ndarray, "..."] | None] | None:
    """The operator of a layer that reads images, and its weights; `None` of other layers."""
    if isinstance(layer, AbstractPool):
        operator = _operator("SumPool2d", layer.channels, layer.channels, layer.windows)
        return None if operator is None else (operator, None)
    if not isinstance(layer, AbstractSpikingLayer):
        return None
    synapses, _, _ = layer.exact(None if layer.norm is None else layer.norm.running)
    if not isinstance(synapses, ConvSynapses):
        return None
    operator = _operator("Conv2d", synapses.in_channels, synapses.channels, synapses.windows)
    if operator is None:
        return None
    return operator._replace(groups=synapses.groups), np.asarray(synapses.weight)


def _operator(
    kind: Literal["Conv2d", "SumPool2d"], ins: int, outs: int, windows: Windows
) -> Operator | None:
    """An operator on images; `None` for windows along one axis, and for those that NIR has not:
    its paddings are the same at both ends, or `"same"` with a stride of 1."""
    if len(windows.size) != 2:
        return None
    (top, bottom), (left, right) = windows.padding
    kernel, stride, dilation = (
        (rows, columns) for rows, columns in (windows.kernel, windows.stride, windows.dilation)
    )
    is_even = top == bottom and left == right
    if not is_even and (stride != (1, 1) or windows.padding != paddings("same", kernel, dilation)):
        return None
    return Operator(
        kind,
        (ins, *windows.size),
        (outs, *windows.out_shape),
        stride=stride,
        padding=(top, left) if is_even else "same",
        dilation=dilation,
        kernel=kernel,
    )


def _matrix(
    synapses: SynapseList, sources: int, targets: int, name: str
) -> Float[np.ndarray, "targets sources"]:
    """The weights of synapses between all pairs."""
    if synapses.delay.any():
        raise ValueError(
            f"Synapses to {name!r} have delays, and every edge of the graph takes one step. Train "
            "without `delays`."
        )
    matrix = np.zeros((targets, sources), np.float32)
    np.add.at(matrix, (synapses.target, synapses.source), synapses.weight)
    return matrix
