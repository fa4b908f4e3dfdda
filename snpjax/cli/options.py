"""What several commands take."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer


if TYPE_CHECKING:
    from snpjax_formats import AbstractLayout

    from ..machine import LoweringOptions
    from ..spiking import Compatibility, Transition
    from ..spiking.lower.storage import LayoutLike

File: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The model file.")]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Refuse what the definition of 2006 does not have.")
]
Inputs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--inputs",
        metavar="N",
        min=0,
        help="On every input train of 0 and 1 spikes in the first N steps, in every neuron that "
        "has a train.",
        show_default=False,
    ),
]
#: What a Python message advises where the command has `--inputs`.
NAME_INPUTS = "Name the input neurons: AnyInput(..., neurons=[...])."
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def _room(option: str, help: str) -> Any:
    most = 2**30 - 1
    return typer.Option(option, metavar="N", min=1, max=most, help=help, show_default=False)


MaxNeurons: TypeAlias = Annotated[
    int | None, _room("--neurons", "Capacity for N neurons, where they divide or bud.")
]
MaxSynapses: TypeAlias = Annotated[
    int | None, _room("--synapses", "Capacity for N synapses, where neurons divide or bud.")
]

#: Neurons that are saturated, to be read by `saturation`.
Saturate: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=N",
        help="Count the spikes of a neuron (or label) without rules up to N only; may be repeated.",
        show_default=False,
    ),
]


def saturation(texts: list[str] | None) -> dict[str, int]:
    """Neurons and where they are cut, from options NAME=N. Any other text is a usage error."""
    found = {}
    for text in texts or ():
        name, equals, most = text.rpartition("=")
        if not equals or not most.isascii() or not most.isdigit() or len(most) > 10:
            message = f"{text!r} is no NAME=N (write a neuron and the number it is counted up to)"
            raise typer.BadParameter(message, param_hint="--saturate")
        found[name] = int(most)
    return found


def layouts() -> "dict[str, type[AbstractLayout] | Transition]":
    """The forms in which a system can be stored, by the names they have on the command line."""
    from snpjax_formats import CSR, LAYOUTS, Compressed, Dense

    from ..spiking import Transition

    return {
        **{layout_name(layout): layout for layout in LAYOUTS},
        "transition-ell": Transition(Compressed),
        "transition-csr": Transition(CSR),
        "transition-dense": Transition(Dense),
    }


def layout_name(layout: "type[AbstractLayout]") -> str:
    """The name of a layout on the command line: `SlicedELL` is sliced-ell."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", layout.__name__)
    return words.lower()


def compatibility_named(name: str) -> "Compatibility":
    """The options of the simulator of that name. Any other name is a usage error that lists
    them."""
    from ..spiking.model.compatibility import SIMULATORS

    if name not in SIMULATORS:
        raise typer.BadParameter(
            f"there is no simulator {name!r} (write one of {', '.join(SIMULATORS)})",
            param_hint="--as",
        )
    return SIMULATORS[name]


def layout_named(name: str) -> "LayoutLike":
    """The layout of that name. Any other name is a usage error that lists them."""
    known = layouts()
    if name == "auto":
        return "auto"
    if name not in known:
        raise typer.BadParameter(
            f"there is no layout {name!r} (write auto, or one of {', '.join(known)})",
            param_hint="--layout",
        )
    return known[name]


def stored_in(
    system: object,
    layout: "LayoutLike",
    neurons: int | None,
    synapses: int | None,
) -> "LoweringOptions":
    """The layout, or the room of a system that divides or buds. Room for any other is a usage
    error, and so is a layout of that."""
    from ..spiking import Capacity
    from ..spiking.model.system import is_growing

    if is_growing(system) and layout != "auto":
        message = "the synapses of neurons that divide or bud are a list (leave it out)"
        raise typer.BadParameter(message, param_hint="--layout")
    if neurons is None and synapses is None:
        return {"layout": layout}
    hint = "--synapses" if neurons is None else "--neurons"
    if not is_growing(system):
        message = "no neuron of this system divides or buds (leave it out)"
        raise typer.BadParameter(message, param_hint=hint)
    return {"capacity": Capacity(neurons, synapses)}


def advised(message: str) -> str:
    """A message about room, with the advice of Python as that of the command."""
    options = {
        "explore with a larger capacity=Capacity(neurons=..., synapses=...)": (
            "--neurons and --synapses make more"
        ),
        "`Capacity(neurons=...)`": "--neurons",
        "`Capacity(synapses=...)`": "--synapses",
        "a smaller `Capacity`": "smaller --neurons and --synapses",
    }
    for text, option in options.items():
        message = message.replace(text, option)
    return message
