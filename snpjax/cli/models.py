"""Files of any kind of model, for the commands that look at all computations."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from .ending import refusals
from .options import (
    FromEither,
    MaxNeurons,
    MaxSynapses,
    Parameters,
    RuleName,
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
                path_of(file, format),
                format=format,
                drop_time=self.drop_time,
                net=self.net_id,
                ignore_unknown=self.ignore_unknown,
                max_flat_size=self.max_flat_size,
                rule=rule,
            )

    def given(self) -> dict[str, object]:
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
    parameters: Parameters = None

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
        self, file: Path, nets: NetOptions, *, strict: bool, **of_systems: object
    ) -> "AnyModel":
        """See `read_model`; `of_systems` are more options that a net does not have."""
        given = {"inputs": self.inputs, "saturate": self.saturate, **of_systems}
        given |= {"neurons": self.neurons, "synapses": self.synapses}
        options = {f"--{name}": value for name, value in given.items()}
        return read_model(
            file,
            nets,
            strict=strict,
            parameters=self.parameters,
            of_systems=options,
        )


def path_of(file: Path, format: "Format | None") -> "Path | StandardInput":
    """The file, or the standard input for -, whose format has to be named: a usage error if not."""
    from ..io.source import StandardInput

    if f"{file}" != "-":
        return file
    if format is None:
        problem = "the standard input has no suffix (write --from FORMAT)"
        raise typer.BadParameter(problem, param_hint="--from")
    return StandardInput()


def read_system(
    file: Path,
    format: "Format | None",
    *,
    strict: bool,
    parameters: list[str] | None,
    allow_includes_outside: bool = False,
) -> "AnySystem":
    """The system of a file, whose parameters are those of `--set`."""
    import snpjax as snp

    given = parameters_of(parameters)
    with refusals():
        level = "strict" if strict else "extended"
        return snp.read(
            path_of(file, format),
            format=format,
            level=level,
            parameters=given,
            allow_includes_outside=allow_includes_outside,
        )


def read_model(
    file: Path,
    nets: NetOptions,
    *,
    strict: bool,
    parameters: list[str] | None,
    of_systems: Mapping[str, object],
) -> "AnyModel":
    """The system or the net of a file. An option that the other kind has is a usage error; those
    `of_systems` were given where they are neither `None`, empty nor false."""
    from ..io.formats import is_of_net

    format = format_from(nets.source_format, "system", "net")
    path_of(file, format)
    if (format.holds == "system") if format else not is_of_net(file):
        refuse_given(nets.given(), "this is a file of a spiking system (leave it out)")
        return read_system(file, format, strict=strict, parameters=parameters)
    of_systems = {"--strict": strict, "--set": parameters, **of_systems}
    refuse_given(of_systems, "this is a file of a net (leave it out)")
    return nets.read(file)


def is_net(model: object) -> bool:
    from ..sleptsov import SleptsovNet

    return isinstance(model, SleptsovNet)
