"""Writing the files of Numerical WebSnapse, which `snpjax.io.numerical` describes."""

import json
import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from snpjax_formats.atomic import atomic_write

from .._text.surrogates import HALF, lone_escape
from ..numerical.model import NumericalNeuron, NumericalSystem, Production, Real
from .numerical import NUMBER


_NODES_PER_ROW, _SPACING = 5, 240  # of the picture


def write_numerical(system: NumericalSystem, path: str | os.PathLike[str]) -> None:
    """Write a numerical SN P system to a file of Numerical WebSnapse, atomically.

    `read_numerical` reads the same system again, with two defaults of Python made explicit: a
    function without a name is named by its number, and a variable that a function does not mention
    has the coefficient 0. Fractions of more than 300 digits are rounded to float64, as runs round
    them.

    **Arguments:**

    - `system`: the system.
    - `path`: the file, which is replaced if it exists.

    **Raises:** `ValueError`, before the file is touched, for a name that is not a string, or one
    with half of a surrogate pair.
    """
    for name in _names(system):
        if not isinstance(name, str):
            raise ValueError(f"The name {name!r} is not a string. Give a `str`.")
        if lone_escape(json.dumps(name)) is not None:
            raise ValueError(f"The name {name!r} has {HALF}. Write both halves.")
    atomic_write(Path(path), json.dumps(_file(system), indent=1) + "\n")


def _names(system: NumericalSystem) -> Iterator[object]:
    for neuron in system.neurons:
        yield from (neuron.name, *neuron.variables)
        yield from (x.name for x in neuron.productions if x.name is not None)
    yield from (*system.senders, *system.inputs)


def _file(system: NumericalSystem) -> dict[str, Any]:
    numbers = count()
    neurons, inputs, outputs = (
        {name: f"{next(numbers)}" for name in names}
        for names in ([x.name for x in system.neurons], system.inputs, system.senders)
    )
    nodes = [_node(neurons[x.name], "reg", x.name, **_of_neuron(x)) for x in system.neurons]
    for name, own in inputs.items():
        train = [_number(x) for x in system.inputs[name].values]
        nodes.append(_node(own, "in", name, train=train))
    nodes += [_node(own, "out", name) for name, own in outputs.items()]
    pairs = [(neurons[source], neurons[target]) for source, target in system.synapses]
    pairs += [(inputs[x], neurons[y]) for x, own in system.inputs.items() for y in own.targets]
    pairs += [(neurons[x], outputs[y]) for y, own in system.senders.items() for x in own]
    edges = [{"id": f"{x}-{y}", "source": x, "target": y, "data": {}} for x, y in pairs]
    return {"nodes": nodes, "edges": edges}


def _node(
    number: str,
    kind: str,
    label: str,
    *,
    var_: Sequence[Any] = (),
    prf: Sequence[Any] = (),
    train: Sequence[Any] = (),
) -> dict[str, Any]:
    y, x = divmod(int(number), _NODES_PER_ROW)
    data = {"label": label, "type": kind, "var_": var_, "prf": prf, "train": train}
    return {"id": number, "data": {**data, "x": _SPACING * x, "y": _SPACING * y}}


def _of_neuron(neuron: NumericalNeuron) -> dict[str, Any]:
    functions = [_function(neuron, x, n) for n, x in enumerate(neuron.productions)]
    variables = [[name, _number(value)] for name, value in neuron.variables.items()]
    return {"var_": variables, "prf": functions}


def _function(neuron: NumericalNeuron, production: Production, number: int) -> list[Any]:
    name = f"{number}" if production.name is None else production.name
    threshold = None if production.threshold is None else _number(production.threshold)
    given = production.coefficients
    return [name, threshold, [[x, _number(given.get(x, 0))] for x in neuron.variables]]


def _number(value: Real) -> str | float:
    """A text where that says the number exactly, else a number of JSON."""
    plain = int(value) if isinstance(value, np.integer) else value
    plain = plain if isinstance(plain, int | Fraction) else float(plain)
    text = f"{Fraction(plain)}"
    is_whole = isinstance(plain, int | Fraction) or plain.is_integer()
    return text if is_whole and NUMBER.fullmatch(text) else float(plain)
