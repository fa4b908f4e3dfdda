"""What several commands take."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer


if TYPE_CHECKING:
    from snpjax_formats import AbstractLayout

    from ..choice import AbstractChoice
    from ..io.formats import Format, Holds
    from ..machine import LoweringOptions
    from ..scale.checkpoint import Checkpoint
    from ..sleptsov import AbstractRule
    from ..spiking import Compatibility, Transition
    from ..spiking.lower.storage import LayoutLike

ValueT = TypeVar("ValueT")

# Help texts list these without importing JAX. Tests compare them with the tables themselves.
#: Layouts: `auto` and the keys of `layouts()`.
LAYOUT_NAMES = (
    *("auto", "dense", "int8-dense", "float32-dense", "bit-dense", "ell", "ellpackr"),
    *("sliced-ell", "hybrid", "bit-gather", "compressed", "csr", "csc", "coo", "bsr"),
    *("interval", "sum", "two-way", "transition-ell", "transition-csr", "transition-dense"),
)
#: Simulators that `--as` names.
SIMULATOR_NAMES = (
    *("textbook", "plingua-core", "esnp-cuda", "esnp-python", "sparse-snp", "sparse-snp-ell"),
    *("sparse-snp-compressed", "websnapse-reloaded", "websnapse-v1", "websnapse-v2"),
    *("websnapse-v3", "websnapse-v4", "sn-p-factory", "distributed-snp"),
)
#: Formats that can be read.
SYSTEM_FORMATS = tuple("native plingua esnp websnapse xmp factory-xml factory-yaml cusnp".split())
NET_FORMATS = tuple("lsn hsn mcc msn greatspn net ndr pnml tapn pipe".split())

#: The largest number of steps or capacity, and the largest seed.
MOST, MOST_SEED = 2**30, 2**32 - 1


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help)


def number(name: str, help: str, *, least: int = 0, most: int | None = None) -> Any:
    """An option whose value is a number N."""
    return typer.Option(name, metavar="N", min=least, max=most, help=help)


def value(name: str, metavar: str, help: str) -> Any:
    """An option whose value is a text or a file; `name` may be several, separated by slashes."""
    return typer.Option(*name.split("/"), metavar=metavar, help=help)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command of which a parameter that is a dataclass stands for an option a field."""
    groups: dict[str, type] = {}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        group = parameter.annotation
        if not (isinstance(group, type) and is_dataclass(group)):
            parameters.append(parameter)
            continue
        groups[parameter.name] = group
        for x in fields(group):
            option = inspect.Parameter(x.name, parameter.kind, default=x.default, annotation=x.type)
            parameters.append(option)

    @wraps(command)
    def with_groups(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{x.name: given.pop(x.name) for x in fields(group)})
        command(**given)

    with_groups.__dict__["__signature__"] = inspect.Signature(parameters)
    with_groups.__annotations__ = {x.name: x.annotation for x in parameters}
    return with_groups


File: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="The model file, or - for the standard input.")
]
From: TypeAlias = Annotated[
    str | None,
    value(
        "--from",
        "FORMAT",
        "The format of the file, if its suffix does not determine it: "
        f"{', '.join(SYSTEM_FORMATS)}.",
    ),
]
FromEither: TypeAlias = Annotated[
    str | None,
    value(
        "--from",
        "FORMAT",
        "The format of the file, if its suffix does not determine it: of a system "
        f"{', '.join(SYSTEM_FORMATS)}; of a net {', '.join(NET_FORMATS)}.",
    ),
]
RuleName: TypeAlias = Annotated[
    str | None,
    value(
        "--rule",
        "RULE",
        "How transitions of a net fire: petri (once), sleptsov (in maximal multiplicity) or "
        "disjoint (those that share no place together).  [default: that of the format]",
    ),
]
Parameters: TypeAlias = Annotated[
    list[str] | None,
    value(
        "--set",
        "NAME=VALUE",
        "P-Lingua: give a parameter of main, or a variable that is defined before the modules, "
        "this value; may be repeated.",
    ),
]
Strict: TypeAlias = Annotated[
    bool, flag("--strict", "Refuse what is not in the definition of 2006.")
]
Layout: TypeAlias = Annotated[
    str,
    value(
        "--layout",
        "NAME",
        f"How synapses are stored; changes no result. One of {', '.join(LAYOUT_NAMES)}.",
    ),
]
CheckpointFolder: TypeAlias = Annotated[
    Path | None,
    value(
        "--checkpoint",
        "FOLDER",
        "Save the progress once a minute; the same command continues from there.",
    ),
]
AsJson: TypeAlias = Annotated[bool, flag("--json", "Print one JSON object.")]

_capacity = partial(number, least=1, most=MOST - 1)
MaxNeurons: TypeAlias = Annotated[
    int | None, _capacity("--neurons", "Capacity for N neurons, where they divide or bud.")
]
MaxSynapses: TypeAlias = Annotated[
    int | None, _capacity("--synapses", "Capacity for N synapses, where neurons divide or bud.")
]


def one_of(
    known: Mapping[str, ValueT], name: str, what: str, option: str, *, that: str = ""
) -> ValueT:
    """What an option names. Any other name is a usage error that lists them."""
    if name in known:
        return known[name]
    message = f"there is no {what} {name!r}{that} (write one of {', '.join(known)})"
    raise typer.BadParameter(message, param_hint=option)


def format_from(name: str | None, *holds: "Holds") -> "Format | None":
    """The format that `--from` names, of a file that holds one of these. One that is not read is a
    usage error."""
    from ..io.formats import FORMATS

    if name is None:
        return None
    readable = {x.name: x for x in FORMATS if x.reader and x.holds in holds}
    return one_of(readable, name, "format", "--from", that=" that is read here")


def rule_of(name: str | None) -> "AbstractRule | None":
    """The rule that `--rule` names. Any other name is a usage error that lists them."""
    from ..sleptsov.model.rules import RULES

    return None if name is None else one_of(RULES, name, "firing rule", "--rule")


def parameters_of(texts: list[str] | None) -> dict[str, int | str] | None:
    """The values that `--set` gives to parameters, texts where they are no integers."""
    if not texts:
        return None
    found: dict[str, int | str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or not equals or not value:
            message = f"{text!r} is no NAME=VALUE (write a parameter and its value)"
            raise typer.BadParameter(message, param_hint="--set")
        if name in found:
            message = f"{name!r} is set twice (leave one out)"
            raise typer.BadParameter(message, param_hint="--set")
        is_integer = re.fullmatch(r"[+-]?[0-9]{1,1000}", value)
        found[name] = int(value) if is_integer else value
    return found


def refuse_given(options: Mapping[str, object], why: str) -> None:
    """A usage error if any of the options was given, which is neither `None`, empty nor false."""
    for option, given in options.items():
        if given is not None and given is not False and given != []:
            raise typer.BadParameter(why, param_hint=option)


def checkpoint_in(folder: Path | None) -> "Checkpoint | None":
    """The checkpoints of a command, in that folder."""
    from ..scale.checkpoint import Checkpoint

    return None if folder is None else Checkpoint(folder)


def choice_of(seed: int | None) -> "AbstractChoice":
    """The choice by a seed; without one, the first."""
    import jax.random as jr
    import numpy as np

    from snpjax_formats import device_array

    from ..choice import FirstChoice, UniformChoice

    if seed is None:
        return FirstChoice()
    # `jr.key(seed)`, which compiles a program.
    words = device_array(np.asarray([0, seed], np.uint32))
    return UniformChoice(jr.wrap_key_data(words, impl="threefry2x32"))


def layouts() -> "dict[str, type[AbstractLayout] | Transition]":
    """The forms in which a system can be stored, by the names they have on the command line."""
    from snpjax_formats import CSR, LAYOUTS, Compressed, Dense

    from ..spiking import Transition

    return {
        **{option_name(layout): layout for layout in LAYOUTS},
        "transition-ell": Transition(Compressed),
        "transition-csr": Transition(CSR),
        "transition-dense": Transition(Dense),
    }


def option_name(cls: type) -> str:
    """The name of a class on the command line: `SlicedELL` is sliced-ell."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__)
    return words.lower()


def compatibility_named(name: str) -> "Compatibility":
    """The options of the simulator of that name. Any other name is a usage error that lists
    them."""
    from ..spiking.model.compatibility import SIMULATORS

    return one_of(SIMULATORS, name, "simulator", "--as")


def layout_named(name: str) -> "LayoutLike":
    """The layout of that name. Any other name is a usage error that lists them."""
    return one_of({"auto": "auto", **layouts()}, name, "layout", "--layout")


def stored_in(
    system: object,
    layout: "LayoutLike",
    neurons: int | None,
    synapses: int | None,
) -> "LoweringOptions":
    """The layout, or the capacity of a system that divides or buds. A capacity for any other is a
    usage error, and so is a layout for that one."""
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


#: What messages advise in Python, and what the command has for it.
_ADVICE = {
    "explore with a larger capacity=Capacity(neurons=..., synapses=...)": (
        "--neurons and --synapses make more"
    ),
    "Try `grow=True`, or": "Leave --no-grow out, or give",
    "`Capacity(neurons=...)`": "--neurons",
    "`Capacity(synapses=...)`": "--synapses",
    "a smaller `Capacity`": "smaller --neurons and --synapses",
    "Name the input neurons: AnyInput(..., neurons=[...]).": "--inputs needs one.",
    "under `Petri()`": "with --rule petri",
    "under Sleptsov() or Petri()": "with --rule sleptsov or --rule petri",
    "under Petri()": "with --rule petri",
    "same_axis=False": "--any-axis",
    "sum over the paths with `observe=`": "let `snpjax estimate` answer a query",
    "share them among devices with `mesh=`": "share them among --devices",
    "keep less with `save=`": "make fewer --steps",
    "Run fewer `paths` at a time, or keep less of them with `save=`.": "Try fewer --paths.",
    "has no option `parameters`": "has no option --set",
    "has no option `allow_includes_outside`": "has no option --allow-includes-outside",
    "has no option `drop_time`": "has no option --drop-time",
    "has no option `net`": "has no option --net",
    "give `chosen`": "give --chosen NEURON or --chosen all",
    "`chosen`": "`--chosen`",
    "has no option `ignore_unknown`": "has no option --ignore-unknown",
    "has no option `max_flat_size`": "has no option --max-flat-size",
    "`chosen` is for questions": "`--chosen` is for questions",
    "Leave out `reductions`, or `mesh` and `checkpoint`.": (
        "Leave out --reduce, or --devices and --checkpoint."
    ),
    "Leave out `reductions`.": "Leave out --reduce.",
    "Leave out `memory` and `exact`, or `mesh`.": (
        "Leave out --memory, --host-memory, --spill-folder and --fingerprints, or --devices."
    ),
}


def advised(message: str, *, count_dtype: str = "Try --int64.") -> str:
    """A message of Python with the advice of the command; `count_dtype` is that on overflow."""
    message = message.replace("Run with `count_dtype=numpy.int64`.", count_dtype)
    for text, option in _ADVICE.items():
        message = message.replace(text, option).replace(_capital(text), _capital(option))
    return message


def _capital(text: str) -> str:
    """Of a sentence that begins so."""
    return text[0].upper() + text[1:]
