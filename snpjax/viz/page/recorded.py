"""A finished run as one file, which needs no server."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snpjax_formats.atomic import atomic_write

from ... import __version__
from .assets import one_file
from .models import next_rows, opened_json, stepper_of
from .stepping import Rest
from .texts import FileModel, OpenedModel, opened_system


def export(
    system: FileModel,
    path: str | os.PathLike[str],
    *,
    max_steps: int = 100,
    seed: int | None = 0,
) -> None:
    """Write one file that shows a run of a system or net in any browser, without a server.

    **Arguments:**

    - `system`: a system, which may be of populations, or a net.
    - `path`: the HTML file, which is replaced if it exists.
    - `max_steps`: the largest number of steps, at most 20,000; fewer are shown if the run halts or
      fails, and the page gives the reason.
    - `seed`: of the choices, which are those of `snpjax.run` with
      `UniformChoice(jax.random.key(seed))`; `None` takes the first applicable rule.

    **Raises:** `ReadError` for a system that is too large to be drawn, `ValueError` for one that
    cannot be run, `OSError` if the file cannot be written.
    """
    rest = "first" if seed is None else seed
    text = recorded_page(opened_system(system), max_steps=max_steps, rest=rest)
    atomic_write(Path(path), text)


def recorded_page(found: OpenedModel, *, max_steps: int, rest: Rest) -> str:
    """A page that shows one computation of a model.

    **Arguments:**

    - `found`: the opened model.
    - `max_steps`: the largest number of steps.
    - `rest`: the choices: `"first"`, or the seed of random ones.

    **Returns:** the HTML text.

    **Raises:** `Refused` for a system that cannot be run.
    """
    stepper = stepper_of(found.system)
    steps = 0 if stepper.moments[0].is_halted else max_steps
    rows, refused = next_rows(found.system, stepper, 0, steps, {}, rest)
    run = {
        "rows": [stepper.row_json(stepper.moments[0], None), *rows],
        "refused": f"{refused}" if refused else None,  # the page shows what there is, and says so
        "rest": rest,
    }
    return page_of(found, run)


def page_of(found: OpenedModel, run: Mapping[str, Any]) -> str:
    """A page that shows what was recorded of a model.

    **Arguments:**

    - `found`: the opened model.
    - `run`: the `rows` of a computation; optionally its name as a `branch`, the other `branches`,
      the `graph` and the `verdict`, as the page has them.

    **Returns:** the HTML text.
    """
    value: dict[str, Any] = {
        **opened_json(found),
        "version": __version__,
        "formats": [],
        "model": 0,
        "format": None,
        "edited": False,
        **run,
    }
    return one_file(value, title=f"{found.system.name or found.name} · snpjax")
