"""Configuration graphs of tiny models, searched in Python: with or without reductions."""

from collections.abc import Callable, Hashable

import numpy as np

import snpjax as snp
from snpjax.check.reduction.canonical_machine import sorted_fields
from snpjax.check.reduction.plan import field_of_step, fields_of
from snpjax.explore import Graph, Stop
from snpjax.explore.edges import GraphEdges
from snpjax.explore.packing import Packing
from snpjax.explore.space import packed
from snpjax.explore.stored import OneStore
from snpjax.sleptsov import Execution
from snpjax.testing import reference
from snpjax_formats import device_array


#: Which of the enabled transitions are followed: a row for each marking.
Followed = Callable[[np.ndarray, np.ndarray], np.ndarray]


class TooLarge(Exception):
    """More configurations than a tiny search looks at."""


def graph_of_net(
    execution: Execution, *, followed: Followed | None = None, families=(), most: int = 600
) -> Graph:
    """Of a net under `Petri()`."""
    net = execution.net
    low, effect = (np.zeros((net.num_transitions, net.num_places), int) for _ in range(2))
    high = np.full(low.shape, 2**31)
    for arcs in (net.inputs, net.tests):
        np.maximum.at(low, (arcs.transition, arcs.place), arcs.weight)
    np.minimum.at(high, (net.inhibitors.transition, net.inhibitors.place), net.inhibitors.weight)
    np.add.at(effect, (net.outputs.transition, net.outputs.place), net.outputs.weight)
    np.subtract.at(effect, (net.inputs.transition, net.inputs.place), net.inputs.weight)

    def successors(level: list[bytes]) -> list[list[bytes]]:
        rows = np.stack([np.frombuffer(key, np.int64) for key in level])
        enabled = np.all((rows[:, None] >= low) & (rows[:, None] < high), axis=2)
        chosen = enabled if followed is None else followed(rows, enabled)
        after = rows[:, None] + effect
        if families:
            flat = after.reshape(-1, net.num_places).T
            after = sorted_fields(flat, families).T.reshape(after.shape)
        return [
            [target[t].tobytes() for t in np.flatnonzero(own)]
            for target, own in zip(after, chosen, strict=True)
        ]

    first = net.marking.astype(np.int64)[:, None]
    keys, depths, edges = _searched(sorted_fields(first, families).tobytes(), successors, most)
    return _graph(execution, [np.frombuffer(key, np.int64)[:, None] for key in keys], depths, edges)


def graph_of_system(system: snp.SpikingSystem, *, families=(), most: int = 600) -> Graph:
    """Of an SN P system of the definition, by the reference interpreter."""
    size = system.num_neurons
    wide = tuple(np.concatenate([x, size + x, 2 * size + x], axis=1) for x in families)

    def canonical(some: reference.Configuration) -> reference.Configuration:
        fields = np.asarray([*some.spikes, *some.timers, *some.pending])[:, None]
        parts = sorted_fields(fields, wide)[:, 0].reshape(3, size).tolist()
        spikes, timers, pending = map(tuple, parts)
        return some._replace(spikes=spikes, timers=timers, pending=pending)

    def successors(level):
        return [
            []
            if reference.is_halting(system, some)
            else [
                canonical(reference.step(system, some, choice)[0])
                for choice in reference.choices(system, some)
            ]
            for some in level
        ]

    first = canonical(reference.initial(system))
    keys, depths, edges = _searched(first, successors, most)
    columns = [np.asarray([x.spikes, x.timers, x.pending]).T for x in keys]
    return _graph(system, columns, depths, edges)


def _searched(
    first: Hashable, successors: Callable[[list], list[list]], most: int
) -> tuple[list, list[int], list[list[int]]]:
    """Configurations, the number of those at each depth, and the successors of each."""
    found, level, depths, edges = {first: 0}, [first], [1], []
    while level:
        next_level = []
        for targets in successors(level):
            for target in targets:
                if target not in found:
                    found[target] = len(found)
                    next_level.append(target)
            edges.append([found[target] for target in targets])
        if len(found) > most:
            raise TooLarge
        depths.append(len(next_level))
        level = next_level
    return list(found), depths[:-1], edges


def _graph(model, columns: list[np.ndarray], depths: list[int], edges: list[list[int]]) -> Graph:
    """The graph of these configurations, each a row of fields for every column."""
    machine = model.enumerable(saturate={}, clock=0, at_least=np.dtype(np.int32))
    places = fields_of(machine)
    packing = Packing.full_width(1 + field_of_step(machine), machine.encoding.dtype)
    fields = np.zeros((packing.num_fields, len(columns)), np.uint32)
    for number, values in enumerate(columns):
        for column, own in enumerate(values):
            at = places[column]
            fields[at, number] = own[: len(at)]
    is_new, known = [], {0}
    for targets in edges:
        for target in targets:
            is_new.append(target not in known)
            known.add(target)
    return Graph(
        model,
        machine,
        packing,
        OneStore(packed(packing, device_array(fields))),
        np.cumsum([0, *depths]),
        GraphEdges(
            len(columns),
            [np.asarray([len(own) for own in edges], np.int32)],
            [np.asarray([x for own in edges for x in own], np.int32)],
            [(np.packbits(np.asarray(is_new, np.uint8)), len(is_new))],
        ),
        Stop.COMPLETE,
    )
