"""Make the pictures of the documentation: `python docs/make_pictures.py` (needs matplotlib).

They are written to docs/pictures, and but for measured times are the same files each time. Look at
them afterwards.
"""

import os
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import snpjax as snp
from snpjax import graphs
from snpjax.cli.options import option_name
from snpjax.drawing.scene import to_svg
from snpjax.io.proliferation import read_model
from snpjax.proliferation import calibrate
from snpjax.sleptsov.view.picture import net_scene
from snpjax.spiking.view.picture import network_scene
from snpjax.viz import save
from snpjax.viz.axes import new_figure
from snpjax.viz.graph import graph_scene
from snpjax.viz.proliferation import draw
from snpjax_formats import COO, CSR, ELL, AbstractLayout, Dense, SlicedELL


DOCS = Path(__file__).resolve().parent
PICTURES = DOCS / "pictures"
EXAMPLES = DOCS.parent / "examples"


def networks() -> None:
    """A generator, a layered network, and populations."""
    for name in ("natural_numbers", "sorting"):
        system = snp.read(EXAMPLES / f"{name}.pli")
        save(to_svg(network_scene(system)), PICTURES / f"{name}.svg")
    save(to_svg(network_scene(sorter(5_000))), PICTURES / "populations.svg")


def sorter(num: int) -> snp.PopulationSystem:
    """The sorting system of `num` numbers, as populations."""
    count = np.arange(1, num + 1)
    return snp.PopulationSystem(
        [
            snp.Population("in", num, count[::-1].copy(), ["a+/a -> a"]),
            snp.Population(
                "s",
                num,
                0,
                [
                    snp.RuleTemplate(count, count, 1),
                    snp.RuleTemplate([(1, count - 1), (count + 1, num)], snp.ALL),
                ],
            ),
            snp.Population("place", num),
        ],
        [
            snp.Projection("in", "s"),
            snp.Projection("s", "place", graphs.Intervals(num - count, np.full(num, num))),
        ],
        output="place",
        name="sorting",
    )


def runs() -> None:
    """A raster above a heat map: the generator, and 300 numbers being sorted."""
    generator = snp.read(EXAMPLES / "natural_numbers.pli")
    choice = snp.UniformChoice(jax.random.key(3))
    small = snp.run(generator, max_steps=30, choice=choice)
    large = snp.run(sorter(300), max_steps=400)
    for solution, name, size in ((small, "run", (7, 2.4)), (large, "large_run", (7, 5.5))):
        with new_figure(size) as figure:
            upper, lower = figure.subplots(2, 1)
            snp.viz.raster(solution, ax=upper)
            snp.viz.heat_map(solution, ax=lower)
            save(figure, PICTURES / f"{name}.png", dpi=130)
    batch = snp.run(generator, max_steps=12, choice=choice, paths=4096)
    with new_figure((7, 2.4)) as figure:
        left, right = figure.subplots(1, 2)
        snp.viz.numbers(batch, ax=left)
        snp.viz.halting_times(batch, ax=right)
        save(figure, PICTURES / "paths.png", dpi=130)


def ring(num: int) -> snp.SpikingSystem:
    """Neurons that pass spikes around, and may keep or lose some."""
    rules = ["a^2/a -> a", "a^2 -> a", "a -> a", "a^3 -> lambda"]
    neurons = [snp.Neuron(f"n{i}", 2 - i % 2, rules) for i in range(num)]
    synapses = [(f"n{i}", f"n{(i + 1) % num}") for i in range(num)]
    return snp.SpikingSystem(neurons, [*synapses, ("n0", f"n{num // 2}")])


def explored() -> None:
    """Every configuration: a few as boxes with the way to a halting one, many as dots."""
    graph = snp.explore(snp.read(EXAMPLES / "natural_numbers.pli"))
    halting = int(graph.halting()[0])
    save(to_svg(graph_scene(graph, witness=halting)), PICTURES / "graph.svg")
    large = snp.explore(ring(8), max_configurations=700)
    with new_figure((7, 3)) as figure:
        snp.viz.graph(large, witness=large.num_expanded - 1, ax=figure.subplots())
        save(figure, PICTURES / "large_graph.png", dpi=90)


def nets() -> None:
    """A division by 2."""
    net = snp.read_net(EXAMPLES / "half.lsn")
    save(to_svg(net_scene(net)), PICTURES / "half.svg")


def timings() -> None:
    """Layouts measured here and now, so that this picture is another one each time; the fastest is
    marked."""
    seconds = {}
    for num in (1_000, 4_000):
        edges = graphs.RandomInDegree(32, 0).edges(num, num).canonical()
        x = jnp.asarray(np.random.default_rng(0).random(num) < 0.3, jnp.int32)
        for layout in (ELL, SlicedELL, CSR, COO, Dense):
            stored = layout.from_edges(edges)
            seconds[option_name(layout), f"{num:,} neurons"] = least_seconds(stored, x)
    chosen = min((name for name in seconds if name[1].startswith("4")), key=lambda n: seconds[n])
    with new_figure((5, 2.4)) as figure:
        snp.viz.timings(seconds, chosen=chosen, ax=figure.subplots())
        save(figure, PICTURES / "timings.png", dpi=130)


def least_seconds(stored: AbstractLayout, x: jax.Array) -> float:
    """Seconds of one delivery, the least of several."""
    deliver = jax.jit(lambda stored, x: stored.deliver(x, accumulate=jnp.int32))
    deliver(stored, x).block_until_ready()

    def once() -> float:
        began = time.perf_counter()
        deliver(stored, x).block_until_ready()
        return time.perf_counter() - began

    return min(once() for _ in range(30))


def proliferation() -> None:
    """A fitted model and the measured histogram."""
    file = read_model(EXAMPLES / "proliferation.model.json")
    guess, measured = file.model(), file.histogram("target")
    assert file.bins is not None
    fit = calibrate(guess, measured, bins=file.bins, bounds=file.bounds, starts=2)
    save(draw(fit.model, measured), PICTURES / "proliferation.png", dpi=100)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    PICTURES.mkdir(exist_ok=True)
    for make in (networks, runs, explored, nets, timings, proliferation):
        make()
    for path in sorted(PICTURES.iterdir()):
        print(f"{path.relative_to(DOCS)}: {path.stat().st_size:,} bytes")
