"""A computation of the original model for one of a reduced model."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt, UInt32

from snpjax_formats import device_array

from ..._tiered import tiered
from ...choice import NumberedChoice, num_alternatives
from ...explore import Graph, Stop
from ...explore.edges import GraphEdges
from ...explore.packing import Packing
from ...explore.space import packed
from ...explore.stored import OneStore
from ...explore.successors import NO_EDGE
from ...machine import Enumerable, Explorable, LoweringOptions
from ...results import RESULTS
from ..query.names import Needs
from .canonical_machine import sorted_fields
from .plan import ReducedModel, field_of_step, fields_of


#: Choices of one configuration that are tried together.
_TOGETHER = 256
#: A loop is followed this many times until it meets itself.
_MOST_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class LiftedPath:
    """A computation of the original model: configurations 0, 1, ... of `graph` one after the other,
    `edges` between them, and the position of its loop."""

    graph: Graph[Any, Any]
    edges: Int[np.ndarray, " steps"]
    loop: int | None


class _Projection:
    """The fields of a reduced model that configurations of the original one have."""

    def __init__(self, original: Enumerable, graph: Graph[Any, Any], model: ReducedModel) -> None:
        self.num_fields = graph.packing.num_fields
        own = fields_of(graph.machine)
        theirs = fields_of(original)
        kept = np.arange(len(theirs)) if model.kept is None else np.flatnonzero(model.kept)
        pairs = [
            (mine, other)
            for column, of in enumerate(kept.tolist())
            if column < len(own)
            for mine, other in zip(own[column], theirs[of], strict=True)
        ]
        self.to, self.of = np.asarray(pairs, np.int64).reshape(-1, 2).T
        self.families = tuple(model.families_of(graph.machine))
        self.step_to, self.step_of = field_of_step(graph.machine), field_of_step(original)
        self.last_step = int(graph.machine.encoding.last_step)

    def __call__(self, fields: Int[np.ndarray, "fields some"]) -> Int[np.ndarray, "fields_ some"]:
        found = np.zeros((self.num_fields, fields.shape[1]), np.int64)
        found[self.to] = fields[self.of]
        found[self.step_to] = np.minimum(fields[self.step_of], self.last_step)
        return sorted_fields(found, self.families)


def lifted(
    original: Explorable[Any, Any],
    model: ReducedModel,
    graph: Graph[Any, Any],
    path: tuple[int, ...],
    loop: int | None,
    needs: Needs,
) -> LiftedPath:
    """A computation of the original model that runs through the configurations of `path`.

    In every configuration of the original model some choice leads to one that the reduced model
    has as the next one of the path. Where there is a loop it is followed until it closes in the
    original model; where neurons outside the cone of influence never repeat, it closes in what the
    query reads.

    - `graph`: of the reduced model.
    - `needs`: how the original model is explored for the query.
    """
    machine = original.enumerable(
        saturate=needs.saturate,
        clock=needs.clock,
        at_least=np.dtype(np.int32),
        **graph.lowering,  # pyright: ignore[reportCallIssue]
    )
    search = _Search(machine, _Projection(machine, graph, model))
    wanted = _fields(graph, np.asarray(path))
    rows, choices = [np.asarray(_start(machine))], []
    for target in wanted.T[1:]:
        search.extend(rows, choices, target)
    if loop is not None:
        around = wanted.T[loop + 1 :]
        loop = search.close(rows, choices, loop, around)
    found = path_graph(original, machine, rows, choices, needs, graph.lowering)
    is_made = np.asarray(choices, np.int64) != NO_EDGE
    return LiftedPath(found, np.where(is_made, np.arange(len(choices)), NO_EDGE), loop)


class _Search:
    """Steps of the original model that lead where the reduced one goes."""

    def __init__(self, machine: Enumerable, projected: _Projection) -> None:
        self.machine, self.projected = machine, projected
        self.choosers = device_array(machine.choosers())

    def extend(self, rows: list[np.ndarray], choices: list[int], target: np.ndarray) -> None:
        """Add the configuration after the last one, and the choice, or `NO_EDGE` after a halt."""
        fields = device_array(rows[-1])
        is_halted, total = (np.asarray(x) for x in _choices(self.machine, self.choosers, fields))
        if is_halted:
            rows.append(rows[-1])
            choices.append(NO_EDGE)
            return
        for start in range(0, int(total), _TOGETHER):
            numbers = device_array(start + np.arange(_TOGETHER), np.uint32)
            made = _successors(self.machine, self.choosers, fields, numbers)
            after, is_good = (np.asarray(x) for x in made)
            is_good = is_good & (start + np.arange(_TOGETHER) < total)
            fits = np.all(self.projected(after.astype(np.int64)) == target[:, None], axis=0)
            fits &= is_good
            if fits.any():
                number = int(np.argmax(fits))
                rows.append(after[:, number])
                choices.append(start + number)
                return
        raise AssertionError(
            "A step of the reduced model is none of the original one. This is a bug of snpjax, "
            "please report it."
        )

    def close(
        self, rows: list[np.ndarray], choices: list[int], start: int, around: np.ndarray
    ) -> int:
        """Follow a loop from position `start` until a configuration at its beginning comes again;
        the position of that. If none does, the last round is the loop."""
        starts = {rows[start].tobytes(): start}
        for _ in range(_MOST_ROUNDS):
            known = starts.get(rows[-1].tobytes())
            if known is not None:
                return known
            starts[rows[-1].tobytes()] = len(rows) - 1
            for target in around:
                self.extend(rows, choices, target)
        return len(rows) - 1 - len(around)


def _fields(
    graph: Graph[Any, Any], numbers: Int[np.ndarray, " some"]
) -> Int[np.ndarray, "fields some"]:
    """The fields of some configurations of a graph."""
    dtype = graph.machine.encoding.dtype
    fields = graph.packing.unpack(graph.words.of(numbers), dtype)
    return np.asarray(fields).astype(np.int64)


@tiered()
def _start(machine: Enumerable) -> UInt[Array, " fields"]:
    return machine.encode(machine.init())


@tiered()
def _choices(
    machine: Enumerable, choosers: Int[Array, " choosers"], fields: UInt[Array, " fields"]
) -> tuple[Bool[Array, ""], Int[Array, ""]]:
    """Whether a configuration halts, and how many choices it has."""
    state = machine.decode(fields)
    counts = num_alternatives(machine.alternatives(state), choosers)
    return machine.halted(state), jnp.prod(counts, dtype=jnp.uint32)


@tiered()
def _successors(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    fields: UInt[Array, " fields"],
    numbers: UInt32[Array, " some"],
) -> tuple[UInt[Array, "fields some"], Bool[Array, " some"]]:
    """The configurations after one, by some choices, and which steps do not fail."""
    many = jnp.broadcast_to(fields[:, None], (len(fields), len(numbers)))
    state, _ = machine.step(machine.decode(many), NumberedChoice(numbers, choosers))
    return machine.encode(state), machine.status(state) == RESULTS.halted


def path_graph(
    model: Explorable[Any, Any],
    machine: Enumerable,
    rows: list[np.ndarray],
    choices: list[int],
    needs: Needs,
    lowering: LoweringOptions,
) -> Graph[Any, Any]:
    """A computation as a graph: configurations by their fields, and the numbers of the choices
    between them, or `NO_EDGE` after a halt. Its other successors are not in the graph."""
    num = len(rows)
    packing = Packing.full_width(len(rows[0]), machine.encoding.dtype)
    words = packed(packing, device_array(np.stack(rows, axis=1)))
    is_made = np.asarray([choice != NO_EDGE for choice in choices], bool)
    made = int(is_made.sum())  # halts come last
    edges = GraphEdges(
        num - 1,
        [is_made.astype(np.int32)],
        [np.arange(1, made + 1, dtype=np.int32)],
        [(np.packbits(np.ones(made, np.uint8)), made)],
        np.asarray(choices[:made], np.int64),
    )
    return Graph(
        model,
        machine,
        packing,
        OneStore(words),
        np.arange(num + 1),
        edges,
        Stop.ONE_COMPUTATION,
        dict(needs.saturate),
        needs.clock,
        lowering,
    )
