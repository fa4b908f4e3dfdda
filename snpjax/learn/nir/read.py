"""Reading NIR graphs."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from snpjax_formats import Sum
from snpjax_formats.articles import kind_of

from ..._text.optional import nir
from ...spiking.model.population import PopulationSystem
from ...spiking.model.population_parts import Population
from ..relaxed import MAX_COUNT, relax
from ..surrogate import AbstractSurrogate
from .network import NirNetwork, matrices_of
from .rules import MAX_RULES, NirFiring, rules_of
from .wiring import BIAS, Arriving, NirWiring, Operator, Unit, unused


if TYPE_CHECKING:
    from nir import NIRGraph


#: What firing leaves in a node `IF`: its `v_reset`, or the potential less its `v_threshold`.
Reset: TypeAlias = Literal["v_reset", "subtract"]

_REASONS = {
    "AvgPool2d": "an average is not always an integer. Use SumPool2d, with a larger threshold",
    "CubaLI": "its current decays by a factor. Use I",
    "CubaLIF": "its current decays by a factor. Use IF",
    "Conv1d": "write it as a Conv2d with a kernel of one row",
    "Delay": "every edge takes one step. Leave it out, or use an IF for each step",
    "LI": "its potential decays by a factor. Use I",
    "Threshold": "only an I with a Scale from the Threshold back to it is a neuron. Use IF",
}
_UNITS = ("Input", "I", "IF", "LIF")
_OPERATORS = ("Linear", "Affine", "Scale", "Conv2d", "SumPool2d", "Flatten")


def from_nir(
    graph: "NIRGraph | str | os.PathLike[str]",
    /,
    *,
    dt: float = 1.0,
    reset: Reset = "v_reset",
    max_input: int = 1,
    round: bool = False,
    weight_range: tuple[float, float] | None = None,
    surrogate: AbstractSurrogate | None = None,
) -> NirNetwork:
    """Read a NIR graph as an exact SN P system with gradients.

    NIR describes neurons by differential equations and leaves their discretisation to the reader.
    Here it is the explicit Euler method, with a step of length `dt`: from the spikes z of a step
    follow the potentials of the next one,

    - `I`, `IF`: v + dt R I(z)
    - `LIF`: v + dt / tau (v_leak - v + R I(z)), which for tau = dt is v_leak + R I(z)

    A neuron fires in the step in which its potential is above `v_threshold`, and what `reset` says
    is left. Potentials begin at 0. `Linear`, `Affine`, `Scale`, `Conv2d`, `SumPool2d` and `Flatten`
    take no time, so every edge from neurons to neurons, recurrent or not, takes one step, as does
    the input. All this is exact where potentials stay integers:

    - weights, biases, dt R and `v_reset` are integers, and 0 <= `v_reset` <= `v_threshold`;
    - of an `LIF`, tau = dt, `v_leak` = 0, and no weight or bias is negative.

    An `I` whose spikes a `Threshold` makes, with a negative `Scale` from there back to it, is a
    neuron that subtracts a number when it fires: the rule `a{n,}/a^c -> a`. An `I` by itself counts
    what it receives. Graphs inside of a graph are inlined, with their names in front.

    **Arguments:**

    - `graph`: a `nir.NIRGraph` with one input and one output, or the path of a file.
    - `dt`: the length of a step, in the unit of the time constants.
    - `reset`: `"v_reset"`, the equation of NIR; or `"subtract"`, where firing subtracts
      `v_threshold` from the potential of an `IF`, as other libraries have it. With `"v_reset"` each
      neuron has a rule for each potential at which it may fire; with `"subtract"` it has one.
    - `max_input`: the largest number of spikes that an input sends in a step.
    - `round`: accept weights and biases that are not integers; runs round them.
    - `weight_range`: the smallest and the largest weight and bias in training, for which there are
      rules. By default there are rules for the weights of the graph.
    - `surrogate`: see `relax`.

    **Returns:** a `NirNetwork`.

    **Raises:** `ValueError` with all nodes that have no exact counterpart, each with the reason;
    `ImportError` without nir, which the extra `nir` installs.
    """
    library = nir()
    if isinstance(graph, str | os.PathLike):
        graph = _file(graph)
    elif not isinstance(graph, library.NIRGraph):
        raise TypeError(f"`graph` is {kind_of(graph)}. Give a nir.NIRGraph or a path.")
    if max_input < 1 or not dt > 0 or reset not in ("v_reset", "subtract"):
        raise ValueError(
            f"`max_input` is {max_input}, `dt` {dt} and `reset` {reset!r}. Give at least 1, a "
            "positive number, and 'v_reset' or 'subtract'."
        )
    found = _Reading(graph, dt, reset, round)
    wiring, weights, biases, gains, firing = found.parts()
    numbers = [np.asarray(x) for x in (*weights.values(), *biases.values())]
    lowest = min((float(x.min()) for x in numbers if x.size), default=0.0)
    given = weight_range or (-np.inf if lowest < 0 else 0.0, np.inf)
    is_range = weight_range is None or all(float(x).is_integer() for x in weight_range)
    highest = max((float(x.max()) for x in numbers if x.size), default=0.0)
    if not is_range or not given[0] <= lowest <= highest <= given[1]:
        raise ValueError(
            f"`weight_range` is {weight_range}, and the graph has weights from {lowest:g} to "
            f"{highest:g}. Give two integers that include these."
        )
    whole, steady = (
        {name: np.round(np.asarray(x)) for name, x in table.items()} for table in (weights, biases)
    )
    largest = arriving = jax.tree.map(np.asarray, matrices_of(wiring, whole, steady, gains))
    if weight_range is not None:
        end = max(map(abs, given))
        whole, steady = (
            {name: np.full_like(x, end) for name, x in table.items()} for table in (whole, steady)
        )
        largest = matrices_of(wiring, whole, steady, gains)
    firing = found.bounded(
        wiring.units, firing, arriving, most_arriving(wiring, largest, max_input), given[0]
    )
    found.finish()

    populations = [
        Population(unit.name, unit.size, 0, rules_of(own, max_input), range(unit.size))
        for unit, own in zip(wiring.units, firing, strict=True)
    ]
    if wiring.has_bias:
        name = unused("bias", {unit.name for unit in wiring.units})
        populations.append(Population(name, 2, 1, ["a -> a"], range(2)))
    output = wiring.units[wiring.read].name
    system = PopulationSystem(populations, output=output, signed=given[0] < 0)
    bounds = (-np.inf if given[0] < 0 else 0.0, np.inf)
    neurons = relax(system, surrogate=surrogate, weight_range=bounds)
    size = neurons.program.num_neurons
    none = Sum(parts=(), source_starts=(), target_starts=(), num_sources=size, num_targets=size)
    neurons = eqx.tree_at(lambda m: (m.synapses, m.is_synapse), neurons, (none, none))
    return NirNetwork(weights, biases, neurons, gains, wiring, dt, given)


def most_arriving(
    wiring: NirWiring, arriving: Sequence[Arriving], max_input: int
) -> list[Int[np.ndarray, " neurons"]]:
    """The most that the potential of each neuron may increase by in a step."""
    found = []
    for unit, own in zip(wiring.units, arriving, strict=True):
        total = np.zeros(unit.size)
        for source, matrix in own.items():
            size = 1 if source == BIAS else wiring.units[source].size
            dense = np.eye(size) if matrix is None else np.asarray(matrix)
            total += np.maximum(dense, 0).sum(axis=1) * (max_input if source == 0 else 1)
        found.append(np.rint(total).astype(np.int64))
    return found


def _file(path: str | os.PathLike[str]) -> "NIRGraph":
    if not os.path.exists(path):
        raise ValueError(f"{os.fspath(path)}: there is no such file. Check the name.")
    _check_apart(path)
    try:
        return nir().read(path, type_check=False)  # `from_nir` checks more
    except Exception as error:  # the library has no exceptions of its own
        raise ValueError(
            f"{os.fspath(path)}: this is not a NIR graph that nir {nir().version} reads: "
            f"{str(error) or type(error).__name__}. Check it with `nir.read`."
        ) from error


_NOT_TESTED = 77
#: Reads the file in a process without JAX; `-P` keeps modules of the working directory out, unless
#: this process has them. It ends with 1 for any exception of reading.
_READ_APART = f"""
import os, sys
sys.path[:] = sys.argv[2:]
try:
    import nir
except BaseException:
    os._exit({_NOT_TESTED})
nir.read(sys.argv[1], type_check=False)
"""


def _check_apart(path: str | os.PathLike[str]) -> None:
    """Test a file in a process of its own, because a damaged one can end the process in h5py.

    Errors that are exceptions come again where the file is read. Nothing is tested where there is
    no interpreter to start, or where the process cannot import nir.

    **Raises:** `ValueError` if the process crashes.
    """
    if not sys.executable:
        return
    command = [sys.executable, "-P", "-c", _READ_APART, os.path.abspath(path), *map(str, sys.path)]
    end = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if end.returncode not in (0, 1, _NOT_TESTED):
        code = end.returncode
        how = f"signal {-code}" if code < 0 else f"status {code}"
        raise ValueError(
            f"{os.fspath(path)}: the file is damaged: reading it ended a process with {how}. Write "
            "it again."
        )


class _Parts(NamedTuple):
    wiring: NirWiring
    weights: dict[str, Any]
    biases: dict[str, Any]
    gains: dict[str, Any]
    firing: list[NirFiring]


class _Reading:
    """The nodes of a graph, and what is wrong with them."""

    def __init__(self, graph: "NIRGraph", dt: float, reset: Reset, round: bool):
        self.dt, self.reset, self.round = dt, reset, round
        self.problems: list[str] = []
        self.nodes: dict[str, Any] = {}
        self.edges: list[tuple[str, str]] = []
        self.inline(graph, "")

    def problem(self, name: str, reason: str) -> None:
        """Note what is wrong with a node."""
        kind = type(self.nodes[name]).__name__ if name in self.nodes else "unknown"
        self.problems.append(f"Node {name!r} ({kind}): {reason}.")

    def finish(self) -> None:
        """Raise what is wrong."""
        if self.problems:
            raise ValueError("The graph is not an exact SN P system:\n" + "\n".join(self.problems))

    def inline(self, graph: Any, prefix: str) -> None:
        """Add the nodes of a graph; those inside of it in place of their graph."""
        starts: dict[str, str] = {}
        stops: dict[str, str] = {}
        for name, node in graph.nodes.items():
            own = prefix + name
            if type(node).__name__ != "NIRGraph":
                self.nodes[own] = node
                continue
            self.inline(node, own + ".")
            for ends, kind in ((starts, "Input"), (stops, "Output")):
                inner = [n for n, x in node.nodes.items() if type(x).__name__ == kind]
                if len(inner) != 1:
                    self.nodes[own] = node
                    self.problem(own, f"it has {len(inner)} nodes {kind}. Give it one")
                ends[own] = f"{own}.{inner[0] if inner else ''}"
        for source, target in graph.edges:
            edge: tuple[str, str] = prefix + source, prefix + target
            self.edges.append((stops.get(edge[0], edge[0]), starts.get(edge[1], edge[1])))
        for inner in (*starts.values(), *stops.values()):
            self.bypass(inner)

    def bypass(self, name: str) -> None:
        """Leave out a node that passes on what it receives."""
        before = [s for s, t in self.edges if t == name]
        after = [t for s, t in self.edges if s == name]
        self.edges = [edge for edge in self.edges if name not in edge]
        self.edges += [(s, t) for s in before for t in after]
        self.nodes.pop(name, None)

    def sort(self) -> None:
        """Order the nodes as edges lead to them from the input: files keep no order of nodes."""
        order = dict.fromkeys(self.of_kind("Input"))
        waiting = list(order)
        while waiting:
            name = waiting.pop(0)
            found = [t for s, t in self.edges if s == name and t not in order]
            order |= dict.fromkeys(found)
            waiting += dict.fromkeys(found)
        rest = sorted(set(self.nodes) - set(order))
        self.nodes = {name: self.nodes[name] for name in (*order, *rest)}

    def of_kind(self, *kinds: str) -> list[str]:
        """The nodes of these kinds."""
        return [name for name, node in self.nodes.items() if type(node).__name__ in kinds]

    def parts(self) -> _Parts:
        """Everything about the graph but the bounds of potentials. **Raises:** `ValueError`."""
        for source, target in self.edges:
            for name in {source, target} - set(self.nodes):
                self.problem(
                    name, f"the edge {(source, target)} names it, but there is no such node"
                )
        for edge, times in Counter(self.edges).items():
            if times > 1:
                self.problems.append(f"The edge {edge} is there {times} times. Give it once.")
        for kind in ("Input", "Output"):
            if len(self.of_kind(kind)) != 1:
                self.problems.append(f"There are {len(self.of_kind(kind))} nodes {kind}. Give one.")
        self.finish()
        self.sort()
        composed = self.composed()
        inside = {name for pair in composed.values() for name in pair}
        for name, node in self.nodes.items():
            kind = type(node).__name__
            if kind not in (*_UNITS, *_OPERATORS, "Output") and name not in inside:
                self.problem(name, _REASONS.get(kind, "no neuron is its exact counterpart"))
        (output,), (start,) = self.of_kind("Output"), self.of_kind("Input")
        names = [start, *(n for n in self.of_kind(*_UNITS) if n != start)]
        units = [self.unit(name, composed) for name in names]
        firing = [self.firing(unit) for unit in units]
        gains = {
            unit.name: jnp.asarray(self.gain(unit), jnp.int32)
            for unit in units
            if unit.name != start
        }
        edges = [
            e for e in self.edges if not any(self.is_inside(e, u) for u in units if u.threshold)
        ]
        if any(target == start for _, target in edges):
            self.problem(start, "an edge leads to it. Remove that edge")
        operators, weights, biases = self.operators(units, edges, inside)
        self.finish()
        read = self.read(output, units, dict(operators), edges)
        self.finish()
        wiring = NirWiring(tuple(units), tuple(operators), tuple(edges), output, read)
        return _Parts(wiring, weights, biases, gains, firing)

    def composed(self) -> dict[str, tuple[str, str]]:
        """The integrators with the threshold and the feedback that make neurons of them."""
        after: dict[str, list[str]] = {name: [] for name in self.nodes}
        before: dict[str, list[str]] = {name: [] for name in self.nodes}
        for source, target in self.edges:
            after[source].append(target)
            before[target].append(source)
        found = {}
        for name in self.of_kind("I"):
            for threshold in after[name]:
                backs = [
                    scale
                    for scale in after[threshold]
                    if scale in self.of_kind("Scale")
                    and before[scale] == [threshold]
                    and after[scale] == [name]
                    and np.all(np.asarray(self.nodes[scale].scale) < 0)
                ]
                is_alone = after[name] == [threshold] and before[threshold] == [name]
                if threshold in self.of_kind("Threshold") and is_alone and backs:
                    found[name] = threshold, backs[0]
        return found

    def is_inside(self, edge: tuple[str, str], unit: Unit) -> bool:
        """Whether an edge is one of the three that make a neuron of an integrator."""
        around = (unit.name, unit.threshold), (unit.threshold, unit.feedback)
        return edge in (*around, (unit.feedback, unit.name))

    def unit(self, name: str, composed: Mapping[str, tuple[str, str]]) -> Unit:
        """A node of neurons."""
        node: Any = self.nodes[name]
        kind: Any = type(node).__name__
        if kind == "Input":
            return Unit(name, "Input", _shape(node.input_type["input"]))
        if name in composed:
            return Unit(name, "Threshold", np.shape(node.r), *composed[name])
        return Unit(name, kind, np.shape(node.r))

    def gain(self, unit: Unit) -> Int[np.ndarray, " neurons"]:
        """What a unit multiplies its input by."""
        node: Any = self.nodes[unit.name]
        gain = np.ravel(np.asarray(node.r, np.float64))
        what = "r"
        if unit.kind != "LIF":
            gain, what = gain * self.dt, "dt r"
        gain = self.integers(unit.name, what, gain)
        if (gain < 1).any():
            self.problem(unit.name, f"{what} is {gain.min()}. Give at least 1")
        return gain

    def firing(self, unit: Unit) -> NirFiring:
        """When the neurons of a unit fire."""
        node, name = self.nodes[unit.name], unit.name
        zeros = np.zeros(unit.size, np.int64)
        if unit.kind in ("Input", "I"):
            return NirFiring(unit.kind, zeros)
        given: Any = self.nodes[unit.threshold].threshold if unit.threshold else node.v_threshold
        threshold = np.ravel(np.asarray(given, np.float64))
        if not np.isfinite(threshold).all():
            self.problem(name, "a threshold is not finite")
            return NirFiring(unit.kind, zeros, zeros)
        least = np.floor(threshold).astype(np.int64) + 1
        if (least < 1).any():
            self.problem(name, f"the threshold {threshold.min():g} fires at 0. Give at least 0")
            least = np.maximum(least, 1)
        if unit.kind == "Threshold":
            scale = np.ravel(np.asarray(self.nodes[unit.feedback].scale, np.float64))
            taken = self.integers(unit.feedback, "scale, times dt r,", -scale * self.gain(unit))
            if (taken > least).any():
                self.problem(name, "firing subtracts more than the potential that fires")
            return NirFiring(unit.kind, least, taken=taken)
        if unit.kind == "LIF":
            tau = np.asarray(node.tau, np.float64)
            if not np.allclose(tau, self.dt, rtol=1e-6, atol=0):
                self.problem(
                    name,
                    f"its potential decays by the factor 1 - dt / tau, where tau is "
                    f"{tau.ravel()[0]:g} and dt {self.dt:g}. Only tau = dt is exact; or use IF",
                )
            if np.any(np.asarray(node.v_leak) != 0):
                self.problem(name, "`v_leak` is not 0. Add it to a bias")
            return NirFiring("LIF", least, left=zeros)
        if self.reset == "subtract":
            taken = self.integers(name, "v_threshold", threshold)
            if (taken < 1).any():
                self.problem(name, "with reset='subtract', `v_threshold` must be at least 1")
            return NirFiring("IF", least, taken=np.maximum(taken, 1))
        left = self.integers(name, "v_reset", np.ravel(np.asarray(node.v_reset, np.float64)))
        if ((left < 0) | (left >= least)).any():
            self.problem(name, "`v_reset` is not between 0 and `v_threshold`")
            left = np.clip(left, 0, least - 1)
        return NirFiring("IF", least, left=left)

    def operators(
        self, units: Sequence[Unit], edges: Sequence[tuple[str, str]], inside: set[str]
    ) -> tuple[list[tuple[str, Operator]], dict[str, Any], dict[str, Any]]:
        """The linear nodes in order, with their weights and biases."""
        names = [name for name in self.of_kind(*_OPERATORS) if name not in inside]
        before = {name: [s for s, t in edges if t == name] for name in names}
        within = {name: [s for s in sources if s in names] for name, sources in before.items()}
        try:
            order = list(TopologicalSorter(within).static_order())
        except CycleError as error:
            self.problem(error.args[1][0], "it is in a cycle without neurons. Put an IF there")
            return [], {}, {}
        shapes = {unit.sender: unit.shape for unit in units}
        found, weights, biases = [], {}, {}
        for name in order:
            given = {shapes[source] for source in before[name] if source in shapes}
            if len(given) != 1:
                if not before[name] or given:
                    why = (
                        f"it receives the shapes {sorted(given)}"
                        if given
                        else "nothing leads to it"
                    )
                    self.problem(name, f"{why}. Give it inputs of one shape")
                continue
            (shape,) = given
            operator = self.operator(name, shape)
            if operator is None:
                continue
            shapes[name] = operator.out_shape
            found.append((name, operator))
            for table, field in ((weights, "weight"), (biases, "bias")):
                values = getattr(self.nodes[name], field, None)
                if operator.kind == "Scale" and field == "weight":
                    values = self.nodes[name].scale
                if values is not None:
                    values = np.asarray(values, np.float64)
                    if not self.round:
                        self.integers(name, field, values)
                    elif not np.isfinite(values).all():
                        self.problem(name, f"`{field}` is not finite")
                    table[name] = jnp.asarray(values, jnp.float32)
        for unit in units:
            for source, target in edges:
                if source == unit.name and unit.kind == "I" and not self.is_read(target, edges):
                    self.problem(
                        unit.name, "it sends its potential, which is not spikes. Use IF, or read it"
                    )
                if target == unit.name and shapes.get(source, unit.shape) != unit.shape:
                    self.problem(
                        unit.name,
                        f"it has the shape {unit.shape}, but {source!r} the shape {shapes[source]}",
                    )
        return found, weights, biases

    def is_read(self, name: str, edges: Sequence[tuple[str, str]]) -> bool:
        """Whether a node is the output, or leads to it over nodes `Flatten` only."""
        after = [target for source, target in edges if source == name]
        if name in self.of_kind("Flatten"):
            return all(self.is_read(target, edges) for target in after)
        return name in self.of_kind("Output")

    def operator(self, name: str, shape: tuple[int, ...]) -> Operator | None:
        """A linear node that receives this shape."""
        node: Any = self.nodes[name]
        kind: Any = type(node).__name__
        if kind == "Flatten":
            first, last = int(node.start_dim), int(node.end_dim)
            stop = last % len(shape) + 1
            joined = (*shape[:first], int(np.prod(shape[first:stop])), *shape[stop:])
            return Operator(kind, shape, joined, dims=(first, last))
        wanted: tuple[int, ...] = shape
        if kind in ("Linear", "Affine"):
            matrix = np.shape(node.weight)
            if len(matrix) != 2:
                self.problem(name, f"its weight has {len(matrix)} axes. Give 2")
                return None
            wanted, operator = (matrix[1],), Operator(kind, shape, (matrix[0],))
            if kind == "Affine" and np.shape(node.bias) != (matrix[0],):
                self.problem(name, f"its bias has the shape {np.shape(node.bias)}")
        elif kind == "Scale":
            wanted, operator = np.shape(node.scale), Operator(kind, shape, shape)
        elif len(shape) != 3:
            self.problem(name, f"it receives the shape {shape}. Give it channels of images")
            return None
        elif kind == "SumPool2d":
            kernel, stride, padding = map(_pair, (node.kernel_size, node.stride, node.padding))
            operator = Operator(kind, shape, shape, stride, padding, kernel=kernel)
            operator = operator._replace(out_shape=(shape[0], *operator.windows.out_shape))
        else:
            weight, groups = np.shape(node.weight), int(node.groups)
            stride, dilation, kernel = map(_pair, (node.stride, node.dilation, weight[2:]))
            padding: Any = node.padding if isinstance(node.padding, str) else _pair(node.padding)
            if padding == "same" and stride != (1, 1):
                self.problem(name, "padding 'same' has no other stride than 1")
            operator = Operator(kind, shape, shape, stride, padding, dilation, groups, kernel)
            operator = operator._replace(out_shape=(weight[0], *operator.windows.out_shape))
            wanted = weight[1] * groups, *shape[1:]
        if wanted != shape:
            self.problem(name, f"it takes the shape {wanted}, but receives {shape}")
            return None
        if min(operator.out_shape, default=1) < 1:
            self.problem(name, f"it makes the shape {operator.out_shape} of {shape}")
            return None
        return operator

    def read(
        self,
        output: str,
        units: Sequence[Unit],
        operators: Mapping[str, Operator],
        edges: Sequence[tuple[str, str]],
    ) -> int:
        """The unit that the output reads."""
        name = output
        while name == output or (name in operators and operators[name].kind == "Flatten"):
            before = [source for source, target in edges if target == name]
            if len(before) != 1:
                self.problem(name, f"it reads {len(before)} nodes. Give one")
                return 0
            (name,) = before
        numbers = {unit.sender: number for number, unit in enumerate(units)}
        wanted = _shape(self.nodes[output].output_type["output"])
        if name in numbers and np.prod(wanted) != units[numbers[name]].size:
            self.problem(
                output, f"it has the shape {wanted}, but reads {units[numbers[name]].shape}"
            )
        if numbers.get(name, 0) == 0:
            self.problem(output, f"it reads {name!r}, which has no neurons. Put an IF or I between")
        return numbers.get(name, 0)

    def bounded(
        self,
        units: Sequence[Unit],
        firing: Sequence[NirFiring],
        arriving: Sequence[Arriving],
        most: Sequence[Int[np.ndarray, " neurons"]],
        lowest: float,
    ) -> list[NirFiring]:
        """With the largest potentials; neurons that are not sent spikes have none."""
        found = []
        for unit, own, received, largest in zip(units, firing, arriving, most, strict=True):
            name = unit.name
            if own.taken is not None or own.kind in ("Input", "I"):
                found.append(own)
                continue
            if own.kind == "LIF":
                lows = [
                    0.0 if x is None else float(np.min(x, initial=0)) for x in received.values()
                ]
                if min([lowest if np.isfinite(lowest) else 0.0, *lows]) < 0:
                    self.problem(
                        name,
                        "a weight to it is negative, and no rule forgets a negative potential. "
                        "Use IF",
                    )
                ends = largest
            else:
                ends = own.least - 1 + largest
            ends = np.maximum(ends, own.least)
            number = int(ends.max()) if own.kind == "LIF" else int((ends - own.least).max()) + 1
            if not number <= MAX_RULES:
                self.problem(
                    name,
                    f"it needs {number} rules, more than {MAX_RULES}, to reset potentials of up to "
                    f"{ends.max()}. Use reset='subtract', or smaller weights",
                )
                ends = own.least
            found.append(own._replace(most=ends))
        return found

    def integers(self, name: str, field: str, values: np.ndarray) -> Int[np.ndarray, "..."]:
        """Numbers that should be integers; those of float32 may be a little off."""
        if not np.isfinite(values).all():
            self.problem(name, f"`{field}` is not finite")
            return np.ones(values.shape, np.int64)
        whole = np.rint(values)
        off = np.abs(values - whole) > 1e-6 * np.maximum(np.abs(values), 1)
        if off.any():
            at = tuple(map(int, np.argwhere(off)[0]))
            place = f"{field}[{', '.join(map(str, at))}]" if at else field
            self.problem(
                name,
                f"{place} is {values[at]:g}, which is not an integer. Multiply the weights, biases "
                "and thresholds by a common factor",
            )
        elif np.abs(whole).max(initial=0) >= MAX_COUNT:
            self.problem(name, f"`{field}` has a number of 2^24 or more. Use smaller ones")
            return np.ones(values.shape, np.int64)
        return whole.astype(np.int64)


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in np.ravel(np.asarray(shape)))


def _pair(number: Any) -> tuple[int, int]:
    first, second = np.broadcast_to(np.asarray(number), (2,)).tolist()
    return int(first), int(second)
