"""Options of commands whose work is spread over devices."""

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .ending import BAD_INPUT, ended
from .options import flag, value
from .signals import stop_orderly
from .streams import replace_streams


if TYPE_CHECKING:
    from jax.sharding import Mesh


@dataclass(frozen=True)
class DeviceOptions:
    """Which devices share the work, and with which other processes."""

    devices: Annotated[
        str | None, value("--devices", "N", "Spread the work over N devices, or over all.")
    ] = None
    distributed: Annotated[
        bool,
        flag(
            "--distributed",
            "Share the work with the same command on other hosts (Slurm, Open MPI, Kubernetes).",
        ),
    ] = False

    def mesh(self, axis: str) -> "Mesh | None":
        """The mesh that was requested. Of several processes only the first one prints."""
        number = self._number()
        if number is None and not self.distributed:
            return None
        import jax

        if self.distributed:
            from ..scale import initialize

            try:
                initialize()
            except (RuntimeError, ValueError) as error:
                raise ended(f"error: {error}", BAD_INPUT) from None
            # JAX takes the streams, and SIGTERM, of which it only takes note.
            replace_streams()
            stop_orderly()
            if jax.process_index() > 0:
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
        found = jax.devices()
        if number is not None and number > len(found):
            fix = "give a smaller number"
            if found[0].platform == "cpu":
                fix = f"{fix}, or set JAX_NUM_CPU_DEVICES={number} to split this CPU"
            message = (
                f"there is {len(found)} here" if len(found) == 1 else f"there are {len(found)}"
            )
            raise typer.BadParameter(f"{message} ({fix})", param_hint="--devices")
        number = number or len(found)
        return jax.make_mesh((number,), (axis,), devices=found[:number])

    def _number(self) -> int | None:
        """`None` stands for all of them, or for none given."""
        given = self.devices
        if given is None or given == "all":
            return None if given is None or self.distributed else _all()
        if not given.isdecimal() or int(given) < 1:
            raise typer.BadParameter(
                f"{given!r} is not a number of devices (write 1 or more, or all)",
                param_hint="--devices",
            )
        return int(given)


def _all() -> int:
    import jax

    return jax.device_count()


def is_first() -> bool:
    """Whether this is the process that writes files."""
    import jax

    return jax.process_index() == 0
