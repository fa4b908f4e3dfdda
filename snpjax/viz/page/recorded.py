"""A finished run as one file, which needs no server."""

import os
from pathlib import Path
from typing import Any

from ... import __version__
from ..._text.atomic import atomic_write
from ...io.errors import MAX_SHOWN
from ...sleptsov import SleptsovNet
from ...spiking import PopulationSystem, SpikingSystem
from .assets import one_file
from .models import model_json, refuse_beyond, row_json, stepper_of
from .stepping import Refused, Rest
from .texts import OpenedModel, diagnostics_json, opened_system


def export(
    system: SpikingSystem | PopulationSystem | SleptsovNet,
    path: str | os.PathLike[str],
    *,
    max_steps: int = 100,
    seed: int | None = 0,
) -> None:
    """Write one file that shows a run of a system or net in any browser, without a server.

    **Arguments:**

    - `max_steps`: fewer are made where it halts, or the page says why; at most 20,000.
    - `seed`: of the choices, which are those of `snpjax.run` with
      `UniformChoice(jax.random.key(seed))`; `None` takes the first applicable rule.

    **Raises:** `ReadError` for a system that is too large to be drawn, `ValueError` for one that
    cannot be run, `OSError` if the file cannot be written.
    """
    rest = "first" if seed is None else seed
    text = recorded_page(opened_system(system), max_steps=max_steps, rest=rest)
    atomic_write(Path(path), text)


def recorded_page(found: OpenedModel, *, max_steps: int, rest: Rest) -> str:
    """A page that shows one computation of a model, up to `max_steps` steps.

    **Raises:** `Refused` for a system that cannot be run.
    """
    stepper = stepper_of(found.system)
    refused = None
    while not stepper.moments[-1].is_halted and len(stepper.moments) <= max_steps:
        try:
            refuse_beyond(found.system, len(stepper.moments) - 1)
            stepper.step(len(stepper.moments) - 1, {}, rest)
        except Refused as error:  # the page shows what there is, and says so
            refused = f"{error}"
            break
    before = [None, *stepper.moments]
    rows = [
        row_json(found.system, moment, previous)
        for moment, previous in zip(stepper.moments, before, strict=False)
    ]
    value: dict[str, Any] = {
        "version": __version__,
        "formats": [],
        "read": True,
        "model": 0,
        "name": found.name,
        "text": found.text,
        "format": None,
        "edited": False,
        "findings": diagnostics_json(found.warnings[:MAX_SHOWN]),
        "more": max(len(found.warnings) - MAX_SHOWN, 0),
        "system": model_json(found.system),
        "rows": rows,
        "refused": refused,
        "rest": rest,
    }
    return one_file(value, title=f"{found.system.name or found.name} · snpjax")
