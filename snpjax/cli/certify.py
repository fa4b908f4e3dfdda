"""`snpjax certify MODEL PROOF.json`: whether a certificate proves what it says."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .ending import BAD_INPUT, FAILED, NOT_DECIDED, ended, orderly, refusals
from .models import NetOptions, SystemOptions, read_model
from .options import AsJson, File, grouped, number


if TYPE_CHECKING:
    from ..check import Certification


@orderly()
@grouped
def certify(
    *,
    file: File,
    proof: Annotated[
        Path, typer.Argument(metavar="PROOF", help="The certificate, a file of JSON.")
    ],
    seconds: Annotated[
        float, typer.Option("--seconds", help="For everything.", min=0.001, max=1e6)
    ] = 60.0,
    inputs: Annotated[
        int | None,
        number(
            "--inputs",
            "Allow any train of 0 or 1 spikes in the first N steps, at every input neuron.",
        ),
    ] = None,
    systems: SystemOptions,
    nets: NetOptions,
    as_json: AsJson = False,
) -> None:
    """Accept or reject the certificate of a proof by induction, without the search that found it.

    The invariant of the certificate has to hold initially, to be kept by every step, and to imply
    the property. The solver z3 checks this with an encoding of the model of its own, and the
    invariant is evaluated on configurations of random runs. `snpjax check --certificate PROOF`
    writes certificates. The exit status is 0 if it is accepted, 1 if it is rejected, 3 if the time
    was too short.
    """
    import snpjax as snp

    from ..check import CertificationStatus
    from ..sleptsov import SleptsovNet
    from . import data
    from .text import printable

    model = read_model(file, systems, nets, of_systems={"--inputs": inputs})
    with refusals():
        if inputs is not None:
            assert not isinstance(model, SleptsovNet)
            model = model.with_input(snp.AnyInput(inputs))
        try:
            certificate = snp.Certificate.read(proof)
        except snp.CertificateError as error:
            raise ended(f"{error}", BAD_INPUT) from None
        found = snp.certify(model, certificate, seconds=seconds)
    if as_json:
        data.print_json({"file": f"{file}", **_json(found)})
    else:
        for line in found.lines():
            typer.echo(printable(line))
    if found.status is CertificationStatus.REJECTED:
        raise typer.Exit(FAILED)
    if not found.is_accepted:
        raise typer.Exit(NOT_DECIDED)


def _json(found: "Certification") -> dict[str, Any]:
    return {
        "certificate": found.certificate.to_dict(),
        "status": found.status.value,
        "rule": found.rule or None,
        "obligation": found.obligation or None,
        "reason": found.reason or None,
        "configurations": [dict(one) for one in found.configurations],
        "num_configurations": found.num_configurations,
    }
