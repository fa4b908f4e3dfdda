"""Files of any kind of model, for the commands that look at all computations."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from .ending import refusals
from .options import (
    NET_FORMATS,
    SYSTEM_FORMATS,
    FromEither,
    MaxNeurons,
    MaxSynapses,
    Parameters,
    RuleName,
    Strict,
    flag,
    format_from,
    number,
    parameters_of,
    refuse_given,
    rule_of,
    value,
)


if TYPE_CHECKING:
    from ..io.formats import Format
    from ..io.source import StandardInput
    from ..sleptsov import SleptsovNet
    from ..spiking.model.population import AnySystem

    AnyModel: TypeAlias = AnySystem | SleptsovNet


@dataclass(frozen=True)
class SystemOptions:
    """Options of commands that read systems."""

    parameters: Parameters = None
    allow_includes_outside: Annotated[
        bool,
        flag(
            "--allow-includes-outside",
            "P-Lingua: let @include name files outside the folder of the file.",
        ),
    ] = False
    strict: Strict = False

    def read(self, file: Path, format: "Format | None") -> "AnySystem":
        import snpjax as snp

        parameters = parameters_of(self.parameters)
        with refusals():
            return snp.read(
                path_of(file, format),
                format=format,
                level="strict" if self.strict else "extended",
                parameters=parameters,
                allow_includes_outside=self.allow_includes_outside,
            )

    def values(self) -> dict[str, object]:
        """Return the values of the options that files of nets do not have."""
        options = {"--strict": self.strict, "--set": self.parameters}
        return {**options, "--allow-includes-outside": self.allow_includes_outside}


@dataclass(frozen=True)
class NetOptions:
    """Options of commands that read nets."""

    source_format: FromEither = None
    drop_time: Annotated[
        bool, flag("--drop-time", "Ignore the times, rates or weights of a net.")
    ] = False
    net_id: Annotated[
        str | None, value("--net", "ID", "PNML: the net to read, if there are several.")
    ] = None
    ignore_unknown: Annotated[
        bool,
        flag(
            "--ignore-unknown",
            "PNML: list unknown elements and attributes, and ignore them.",
        ),
    ] = False

    max_flat_size: Annotated[
        int | None,
        number("--max-flat-size", "HSN, .ndr: link up to N nodes, arcs and priorities.", least=1),
    ] = None

    rule: RuleName = None

    def read(self, file: Path) -> "SleptsovNet":
        import snpjax as snp

        rule = rule_of(self.rule)
        format = format_from(self.source_format, "net")
        with refusals():
            return snp.read_net(
                path_of(file, format, NET_FORMATS),
                format=format,
                drop_time=self.drop_time,
                net=self.net_id,
                ignore_unknown=self.ignore_unknown,
                max_flat_size=self.max_flat_size,
                rule=rule,
            )

    def values(self) -> dict[str, object]:
        """Return the values of the options that files of systems do not have."""
        options = {"--drop-time": self.drop_time, "--net": self.net_id}
        options |= {"--ignore-unknown": self.ignore_unknown}
        return {**options, "--max-flat-size": self.max_flat_size, "--rule": self.rule}


@dataclass(frozen=True)
class AllPathsOptions:
    """Options of commands that look at all computations."""

    inputs: Annotated[
        int | None,
        number(
            "--inputs",
            "Allow any train of 0 or 1 spikes in the first N steps, at every input neuron.",
        ),
    ] = None
    saturate: Annotated[
        list[str] | None,
        value(
            "--saturate",
            "NAME=N",
            "Count the spikes of a neuron (or label) without rules up to N only; may be repeated.",
        ),
    ] = None
    neurons: MaxNeurons = None
    synapses: MaxSynapses = None

    def saturation(self) -> dict[str, int]:
        """Neurons and where they are cut. A text other than NAME=N is a usage error."""
        found = {}
        for text in self.saturate or ():
            name, equals, most = text.rpartition("=")
            if not equals or not most.isascii() or not most.isdigit() or len(most) > 10:
                fix = "write a neuron and the number it is counted up to"
                message = f"{text!r} is no NAME=N ({fix})"
                raise typer.BadParameter(message, param_hint="--saturate")
            found[name] = int(most)
        return found

    def read(
        self, file: Path, systems: SystemOptions, nets: NetOptions, **of_systems: object
    ) -> "AnyModel":
        """See `read_model`; `of_systems` are more options that a net does not have."""
        given = {"inputs": self.inputs, "saturate": self.saturate, **of_systems}
        given |= {"neurons": self.neurons, "synapses": self.synapses}
        options = {f"--{name}": value for name, value in given.items()}
        return read_model(file, systems, nets, of_systems=options)


def path_of(
    file: Path,
    format: "Format | None",
    formats: tuple[str, ...] = (*SYSTEM_FORMATS, *NET_FORMATS),
) -> "Path | StandardInput":
    """The file, or the standard input for -, whose format has to be named: a usage error if not."""
    from ..io.source import StandardInput

    if f"{file}" != "-":
        return file
    if format is None:
        problem = (
            f"the standard input has no suffix (write --from FORMAT: one of {', '.join(formats)})"
        )
        raise typer.BadParameter(problem, param_hint="--from")
    return StandardInput()


def read_model(
    file: Path,
    systems: SystemOptions,
    nets: NetOptions,
    *,
    of_systems: Mapping[str, object],
) -> "AnyModel":
    """The system or the net of a file. An option that the other kind has is a usage error; those
    `of_systems` were given where they are neither `None`, empty nor false."""
    from ..io.formats import is_of_net

    format = format_from(nets.source_format, "system", "net")
    path_of(file, format)
    if (format.holds == "system") if format else not is_of_net(file):
        refuse_given(nets.values(), "this is a file of a spiking system (leave it out)")
        return systems.read(file, format)
    refuse_given({**systems.values(), **of_systems}, "this is a file of a net (leave it out)")
    return nets.read(file)


def is_net(model: object) -> bool:
    from ..sleptsov import SleptsovNet

    return isinstance(model, SleptsovNet)
