"""Modules of the literature, ready to be inserted into a system on the page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...spiking import Neuron, SpikingSystem


class PaletteModule(NamedTuple):
    """An entry of the palette.

    - `title`, `help`: what it is called, and one sentence of what it does.
    - `make`: builds it; of a module with a size it takes the size.
    - `sizes`: the smallest, the usual and the largest size, or `None`.
    """

    title: str
    help: str
    make: Callable[..., SpikingSystem]
    sizes: tuple[int, int, int] | None = None


_INSTRUCTION = ["a^2 -> a", "a -> lambda"]
_REGISTER = ["a{3}(aa)*/a^3 -> a", "a -> a; 1"]
_AND, _OR = ["a^2 -> a", "a^3 -> a", "a^4 -> a^2"], ["a^2 -> a", "a^3 -> a^2", "a^4 -> a^2"]
#: How far neurons of a module are apart, across and down.
ROOM = _COLUMN, _ROW = 190.0, 120.0


def _system(
    columns: Sequence[Mapping[str, Sequence[str]]],
    synapses: Sequence[tuple[str, str]],
    output: Sequence[str] = (),
) -> SpikingSystem:
    """A system whose neurons stand in columns, with their rules."""
    places = {
        name: [x * _COLUMN, (y - (len(column) - 1) / 2) * _ROW]
        for x, column in enumerate(columns)
        for y, name in enumerate(column)
    }
    neurons = [Neuron(name, 0, rules) for column in columns for name, rules in column.items()]
    return SpikingSystem(neurons, synapses, output=output, notes={"positions": places})


def _add() -> SpikingSystem:
    return _system(
        [
            {"l": _INSTRUCTION},
            {
                "c1": ["a -> a; 1"],
                "c2": ["a -> a", "a -> a; 1"],
                "c3": ["a -> a"],
                "c4": ["a -> a"],
            },
            {"l_next": _INSTRUCTION, "l_other": _INSTRUCTION, "r": _REGISTER},
        ],
        [("l", f"c{i}") for i in range(1, 5)]
        + [("c1", "l_next"), ("c2", "l_next"), ("c2", "l_other"), ("c3", "l_other")]
        + [("c3", "r"), ("c4", "r")],
    )


def _sub() -> SpikingSystem:
    return _system(
        [
            {"l": _INSTRUCTION},
            {"c1": ["a -> a"], "r": _REGISTER, "c2": ["a -> a; 1"]},
            {"l_positive": _INSTRUCTION, "l_zero": _INSTRUCTION},
        ],
        [("l", "c1"), ("l", "c2"), ("l", "r"), ("c1", "l_positive"), ("c2", "l_zero")]
        + [("r", "l_positive"), ("r", "l_zero")],
    )


def _fin() -> SpikingSystem:
    return _system(
        [
            {"l_halt": ["a^2 -> a"]},
            {"r": ["a{3}(aa)*/a^2 -> a", "a -> lambda"]},
            {"d": ["a -> a"]},
            {"out": ["a -> a", "a^2 -> lambda"]},
        ],
        [("l_halt", "r"), ("r", "out"), ("r", "d"), ("d", "out")],
        ["out"],
    )


def _adder_bit() -> SpikingSystem:
    rules = ["a -> a", "a^2/a -> lambda", "a^3/a^2 -> a"]
    return _system([{"adder": rules}], [], ["adder"])


def _sorter(size: int) -> SpikingSystem:
    inputs, sorters = [f"in{i}" for i in range(size)], [f"s{i}" for i in range(size)]
    places = [f"place{i}" for i in range(size)]

    def rules(sorter: int) -> list[str]:
        fires = size - sorter  # where that many inputs spike at once
        others = [f"a^{n} -> lambda" for n in range(1, size + 1) if n != fires]
        return [f"a^{fires} -> a", *others]

    return _system(
        [
            dict.fromkeys(inputs, ["a+/a -> a"]),
            {name: rules(j) for j, name in enumerate(sorters)},
            dict.fromkeys(places, []),
        ],
        [(x, s) for x in inputs for s in sorters]
        + [(s, places[j]) for i, s in enumerate(sorters) for j in range(i, size)],
    )


def _gate(name: str, rules: list[str]) -> Callable[[], SpikingSystem]:
    return lambda: _system([{name: rules}], [])


#: The modules of the palette, by name. In gates two spikes mean true and one means false, and
#: both inputs arrive in the same step.
PALETTE: Mapping[str, PaletteModule] = {
    "add": PaletteModule("ADD", "l adds 1 to register r and goes on with l_next or l_other.", _add),
    "sub": PaletteModule(
        "SUB", "l subtracts 1 from register r, or goes on with l_zero at 0.", _sub
    ),
    "fin": PaletteModule("FIN", "Two output spikes as many steps apart as register r holds.", _fin),
    "adder bit": PaletteModule(
        "Adder bit", "Adds two binary numbers, lowest digits first.", _adder_bit
    ),
    "sorter": PaletteModule(
        "Sorter", "Sorts the spikes of its inputs, least first.", _sorter, (2, 3, 12)
    ),
    "and": PaletteModule("AND", "True if both inputs are.", _gate("and", _AND)),
    "or": PaletteModule("OR", "True if an input is.", _gate("or", _OR)),
    "not": PaletteModule(
        "NOT", "True if the input is not.", _gate("not", ["a -> a^2", "a^2 -> a"])
    ),
}


def palette_json() -> list[dict[str, Any]]:
    """The palette, for the page."""
    return [
        {"name": name, "title": module.title, "help": module.help, "sizes": module.sizes}
        for name, module in PALETTE.items()
    ]


def module_of(name: str, size: int | None) -> SpikingSystem:
    """A module of the palette.

    **Raises:** `ValueError` for an unknown module, and a size that it cannot have.
    """
    if name not in PALETTE:
        raise ValueError(f"There is no module {name!r:.60}. Give one of {', '.join(PALETTE)}.")
    module = PALETTE[name]
    if module.sizes is None:
        return module.make()
    least, usual, most = module.sizes
    chosen = usual if size is None else size
    if not least <= chosen <= most:
        raise ValueError(f"{module.title} of size {chosen}: give a size from {least} to {most}.")
    return module.make(chosen)
