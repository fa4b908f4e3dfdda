"""The pictures that are compared with tests/baseline, made from plain arrays: nothing is compiled.

`python -m tests.support.viz_pictures` writes the baselines anew: look at each of them.
"""

import itertools
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import equinox as eqx
import numpy as np

import snpjax as snp
from snpjax.proliferation import Bins, CellType, Fixed, Histogram, ProliferationModel
from snpjax.sleptsov import net_of_text
from snpjax.spiking import Solution, SolutionBatch
from snpjax.spiking.step.step import SpikingState
from snpjax.viz.axes import new_figure
from snpjax.viz.proliferation import Compared


BASELINE = Path(__file__).parents[1] / "baseline"
DPI = 60
SIZE = (3.6, 2.0)  # inches
#: How far apart two pictures may be, see `distance`. Outlines are the same everywhere; texts of
#: axes, and so the sizes of axes, change with the version of matplotlib: 3.9 and 3.11 are 0.15
#: apart in a heat map, which is dark, and 0.1 in what is mostly paper.
OUTLINES, DARK, AXES = 0.1, 0.2, 0.12
_SCENES = ("network", "net")
_DARK = ("heat_map", "wide_heat_map")


def natural_numbers() -> snp.SpikingSystem:
    """The generator of all numbers above 1, with an input and weights to be seen."""
    return snp.SpikingSystem(
        [
            snp.Neuron("chooser", 2, ["a^2/a -> a", "a^2 -> a"]),
            snp.Neuron("echo", 1, ["a -> a; 1"]),
            snp.Neuron("output", 1, ["a -> a", "a^2 -> lambda"]),
        ],
        [("chooser", "echo", 2), ("echo", "chooser"), ("chooser", "output"), ("echo", "output")],
        input={"chooser": [0, 1, 2]},
        output="output",
        name="natural numbers",
    )


def adder_net():
    """A net with every kind of arc."""
    return net_of_text(
        "add: 2x y !stop -> 3sum\nclear: sum ?2x ->\nend: sum !2y -> stop\nadd > clear > end",
        {"x": 6, "y": 3, "sum": 12, "stop": 0},
    )


def solution_of(system, emissions, configurations, *, steps=None, halted=True, spike_trains=None):
    """A run that was never made: `emissions` and `configurations` are (rows, neurons[, paths])."""
    configurations = np.asarray(configurations)
    codes = [int(r._value) for r in (snp.RESULTS.halted, snp.RESULTS.max_steps_reached)]
    value = np.where(halted, *codes)
    result = eqx.tree_at(lambda r: r._value, snp.RESULTS.halted, value)
    steps = np.asarray(len(configurations) - 1 if steps is None else steps)

    def state(spikes, step):
        none = np.zeros_like(spikes)
        return SpikingState(spikes, none, none, step, snp.RESULTS.halted, np.zeros_like(step))

    trajectory = snp.Trajectory(
        final=state(configurations[-1], steps),
        states=state(configurations, np.zeros((len(configurations), *steps.shape), int)),
        outputs=spike_trains,
        details=None if emissions is None else SimpleNamespace(emissions=np.asarray(emissions)),
        saved=snp.Save(outputs=spike_trains is not None, details=emissions is not None),
        steps=steps,
        result=result,
    )
    return (Solution if steps.ndim == 0 else SolutionBatch)(trajectory, system)


def run() -> Solution:
    """Eight steps of three neurons."""
    emissions = np.asarray([[1, 1, 1], [0, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 1], [0, 0, 1]])
    configurations = np.arange(21).reshape(7, 3) % 5
    return solution_of(natural_numbers(), emissions, configurations)


def wide_run(num: int = 1_200, steps: int = 3_000) -> Solution:
    """A wave through many neurons, of which one is loud for one step."""
    neurons, step = np.arange(num), np.arange(steps)[:, None]
    emissions = ((neurons + step) % 300 == 0).astype(np.int32)
    configurations = np.concatenate([emissions * 3, emissions[:1]])
    configurations[steps // 2, num // 4] = 9
    system = snp.PopulationSystem([snp.Population("n", num)], output="n[0]")
    return solution_of(system, emissions, configurations)


def batch(paths: int = 1_000) -> SolutionBatch:
    """Paths of a geometric law of numbers and of halting times; some have neither."""
    number = np.minimum(2 + np.arange(paths) // 100, 8)
    has_none = np.arange(paths) % 20 == 0
    train = np.zeros((12, paths), np.int32)
    train[0] = 1
    train[number, np.arange(paths)] = ~has_none
    system = natural_numbers()
    configurations = np.zeros((1, 3, paths), np.int32)
    return solution_of(
        system,
        None,
        configurations,
        steps=np.where(has_none, 40, number + 1),
        halted=~has_none,
        spike_trains=train[:, None],
    )


SECONDS = {
    ("ell", "forward"): 4e-6,
    ("ell", "back"): 9e-6,
    ("csr", "forward"): 2.2e-5,
    ("csr", "back"): 1.1e-5,
    ("bit-dense", "forward"): None,
    ("dense", "forward"): 3e-3,
}


def compared() -> Compared:
    """A model of cells beside a measurement, with an expectation that is given, not computed."""
    axis = 2.0 ** np.arange(2, 12)
    stained = Histogram(axis, np.asarray([0, 0, 0, 0, 0, 5, 30, 90, 70, 20]))
    model = ProliferationModel(
        stained, [CellType("cycling", 1.0, Fixed(30.0))], duration=60.0, phi_min=2.0
    )
    found = Compared(model, stained, Bins(1.0, 4096.0, 24))
    mean = 40 * np.exp(-(((np.arange(24) - 14) / 4) ** 2))
    found.__dict__["_binned"] = (mean, np.diag(mean))
    return found


PICTURES: dict[str, Callable] = {
    "network": lambda ax: snp.viz.network(natural_numbers(), ax=ax),
    "net": lambda ax: snp.viz.net(adder_net(), ax=ax),
    "raster": lambda ax: snp.viz.raster(run(), ax=ax),
    "heat_map": lambda ax: snp.viz.heat_map(run(), ax=ax),
    "wide_raster": lambda ax: snp.viz.raster(wide_run(), ax=ax),
    "wide_heat_map": lambda ax: snp.viz.heat_map(wide_run(), ax=ax),
    "numbers": lambda ax: snp.viz.numbers(batch(), ax=ax),
    "halting_times": lambda ax: snp.viz.halting_times(batch(), ax=ax),
    "timings": lambda ax: snp.viz.timings(SECONDS, chosen=("ell", "forward"), ax=ax),
    "histogram": lambda ax: compared().histogram(ax),
    "residuals": lambda ax: compared().residuals(ax),
}


def pixels(draw: Callable, path: Path | None = None) -> np.ndarray:
    """A picture as (rows, columns) of 0 (black) to 1; also written where a path is given."""
    import matplotlib.image

    buffer = BytesIO() if path is None else path
    with new_figure(SIZE) as figure:
        figure.set_dpi(DPI)
        draw(figure.subplots())
        figure.savefig(buffer, format="png", dpi=DPI)
    if isinstance(buffer, BytesIO):
        buffer.seek(0)
    return grey(matplotlib.image.imread(buffer))


def grey(image: np.ndarray) -> np.ndarray:
    """An image in shades of grey that tell colours apart."""
    return image[..., :3] @ np.asarray([0.5, 0.3, 0.2])


def is_like(name: str, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether a picture looks as another one of the same thing."""
    if name in _SCENES:
        return distance(one, other, block=6, shift=0) < OUTLINES
    return distance(one, other, block=12, shift=2) < (DARK if name in _DARK else AXES)


def distance(one: np.ndarray, other: np.ndarray, *, block: int, shift: int) -> float:
    """The largest difference of two pictures of one size in the means of blocks of pixels; 1 is
    that of black and white. The pictures may be shifted by some pixels."""
    assert one.shape == other.shape, (one.shape, other.shape)
    rows, columns = (size - 2 * shift for size in one.shape)
    inner = other[shift : shift + rows, shift : shift + columns]
    found = []
    for down, right in itertools.product(range(2 * shift + 1), repeat=2):
        apart = one[down : down + rows, right : right + columns] - inner
        whole = apart[: rows - rows % block, : columns - columns % block]
        blocks = whole.reshape(rows // block, block, columns // block, block).mean(axis=(1, 3))
        found.append(np.abs(blocks).max())
    return float(min(found))


if __name__ == "__main__":
    BASELINE.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        pixels(draw, BASELINE / f"{name}.png")
        print(BASELINE / f"{name}.png")
