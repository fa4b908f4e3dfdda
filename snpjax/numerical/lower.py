"""From a numerical system to arrays."""

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from snpjax_formats import (
    AbstractLayout,
    Edges,
    Float32Dense,
    Int8Dense,
    Workload,
    check_free,
    choose,
    fitting,
    free_bytes,
)

from .._xla import precision
from ..machine import AbstractStorage, LayoutLike, Lowered
from .machine import NumericalMachine
from .model import NumericalSystem


if TYPE_CHECKING:
    from .solution import NumericalSolution, NumericalSolutionBatch

#: Layouts that multiply in narrower numbers than float64.
_NARROW = (Int8Dense, Float32Dense)


def lowered(
    system: NumericalSystem, layout: LayoutLike, paths: int
) -> "Lowered[NumericalSolution, NumericalSolutionBatch]":
    neurons = system.neurons
    size = len(neurons)
    variables = max((len(neuron.variables) for neuron in neurons), default=0)
    productions = max(max((len(neuron.productions) for neuron in neurons), default=0), 1)
    needed = 8 * 2 * size * (variables + 1) * (productions + 1)
    what = f"{size:,} neurons with up to {variables:,} variables and {productions:,} functions need"
    check_free(needed, free_bytes(), what, "Split the neurons that have the most.")

    initial = np.zeros((variables, size))
    is_variable = np.zeros((variables, size), bool)
    coefficients = np.zeros((productions, variables, size))
    reads = np.zeros((productions, variables, size), bool)
    threshold = np.full((productions, size), -np.inf)
    has = np.zeros((productions, size), bool)
    for i, neuron in enumerate(neurons):
        initial[: len(neuron.variables), i] = [float(x) for x in neuron.variables.values()]
        is_variable[: len(neuron.variables), i] = True
        slot = {name: k for k, name in enumerate(neuron.variables)}
        for r, production in enumerate(neuron.productions):
            has[r, i] = True
            if production.threshold is not None:
                threshold[r, i] = float(production.threshold)
            for name in production.variables:
                coefficients[r, slot[name], i] = float(production.coefficients[name])
                reads[r, slot[name], i] = True

    length = max((len(given.values) for given in system.inputs.values()), default=0)
    train = np.zeros((length + 1, len(system.inputs)))
    for j, given in enumerate(system.inputs.values()):
        train[: len(given.values), j] = [float(x) for x in given.values]
    with precision(np.float64):
        machine = NumericalMachine(
            initial=jnp.asarray(initial),
            coefficients=jnp.asarray(coefficients),
            threshold=jnp.asarray(threshold),
            train=jnp.asarray(train),
            reads=jnp.asarray(reads),
            has=jnp.asarray(has),
            is_variable=jnp.asarray(is_variable),
            synapses=_stored(_edges(system), layout, paths),
        )
    return Lowered(system, machine, alternatives=(productions, size))


def _edges(system: NumericalSystem) -> Edges:
    """From neurons and then inputs, to neurons and then outputs."""
    number = {neuron.name: i for i, neuron in enumerate(system.neurons)}
    size = len(number)
    pairs = [(number[s], number[t]) for s, t in system.synapses]
    for j, given in enumerate(system.inputs.values()):
        pairs += [(size + j, number[target]) for target in given.targets]
    for j, sources in enumerate(system.senders.values()):
        pairs += [(number[source], size + j) for source in sources]
    source, target = np.asarray(pairs, np.int32).reshape(-1, 2).T
    num_sources, num_targets = size + len(system.inputs), size + len(system.senders)
    return Edges(source, target, None, num_sources, num_targets).canonical()


def _stored(edges: Edges, layout: LayoutLike, paths: int) -> AbstractLayout:
    if isinstance(layout, AbstractStorage):
        name = type(layout).__name__
        raise ValueError(f"`layout` is {name}, which stores no numbers. Use ELL.")
    if not isinstance(layout, type):
        chooser = None if isinstance(layout, str) else layout
        workload = Workload(accumulate=np.float64, batch=paths)
        layout = choose(edges, workload=workload, chooser=chooser).layout
    if issubclass(layout, _NARROW):
        raise ValueError(f"{layout.__name__} does not multiply in float64. Use Dense or ELL.")
    return fitting(layout, edges)
