"""What the tests of shared work compute, on any mesh and in any number of processes: numbers that
JSON keeps to the bit."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from snpjax import learn, proliferation as pr


AXIS = 2.0 ** np.arange(1, 7)
TYPES = (
    pr.CellType("rest", 0.2),
    pr.CellType("slow", 0.3, pr.Normal(70.0, 20.0)),
    pr.CellType("fast", 0.5, pr.Normal(35.0, 10.0)),
)


@functools.cache
def population(cells: int = 61) -> pr.ProliferationModel:
    """A prime number of cells, the half of them in a channel that divides most."""
    counts = [0, 3, 5, 9, cells - 17 - cells // 2, cells // 2]
    return pr.ProliferationModel(pr.Histogram(AXIS, counts), TYPES, duration=150.0)


def sampled(mesh: Any = None, sampler: Any = pr.simulate, cells: int = 61, **options: Any) -> list:
    """Histograms of three runs."""
    found = sampler(population(cells), jr.key(1), **{"runs": 3, **options}, mesh=mesh)
    by_type = None if found.by_type is None else found.by_type.tolist()
    return [found.counts.tolist(), found.type_generation.tolist(), found.draws, by_type]


@functools.cache
def measured() -> pr.Histogram:
    """What comes of many cells of two types."""
    table = pr.expected(dividing(0.25, 38.0, 12.0)).table()
    counts = np.zeros(AXIS.size)
    counts[np.searchsorted(AXIS, table.fluorescence)] = table.total
    return pr.Histogram(AXIS, np.round(counts * 1000).astype(int))


def dividing(quiescent: float, mean: float, sd: float) -> pr.ProliferationModel:
    types = pr.CellType("rest", quiescent), pr.CellType("go", 1 - quiescent, pr.Normal(mean, sd))
    start = pr.Histogram(AXIS, [0, 0, 0, 0, 200, 800])
    return pr.ProliferationModel(start, types, duration=120.0, phi_min=1.0)


def calibrated(mesh: Any = None, **options: Any) -> list:
    """The best fit and the values of three starts."""
    options = {"starts": 3, **options}
    found = pr.calibrate(
        dividing(0.6, 60.0, 20.0),
        measured(),
        bins=pr.Bins(1.0, 100.0, 12),
        bounds={"go": {"mean": (20.0, 120.0), "sd": (4.0, 40.0)}},
        mesh=mesh,
        **options,
    )
    return [found.values, found.starts, found.evaluations, found.point.tolist()]


class Descent(eqx.Module):
    """Steps downhill with momentum, by what `fit` asks of an optimiser."""

    rate: jax.Array

    def init(self, parameters: Any) -> Any:
        return jax.tree.map(jnp.zeros_like, parameters)

    def update(self, slopes: Any, state: Any, parameters: Any) -> Any:
        del parameters
        state = jax.tree.map(lambda m, g: np.float32(0.9) * m + g, state, slopes)
        return jax.tree.map(lambda m: -self.rate * m, state), state


def lost(network: eqx.nn.MLP, x: jax.Array, y: jax.Array, key: jax.Array) -> jax.Array:
    """A loss whose bits depend on the order of its sums."""
    noise = np.float32(0.1) * jr.normal(key, x.shape)
    return jnp.mean(jnp.exp(jax.vmap(network)(x + noise) - y) ** 2)


def trained(mesh: Any = None, *, broken: int | None = None, **options: Any) -> list:
    """Losses and parameters of two epochs; `broken` is a sample whose loss is infinite."""
    options = {"epochs": 2, "parts": 4, **options}
    network = eqx.nn.MLP(3, 2, 5, 1, activation=jnp.tanh, key=jr.key(0))
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(50, size)).astype(np.float32) for size in (3, 2))
    if broken is not None:
        y[broken] = -1e30
    found = learn.fit(
        network,
        lost,
        Descent(jnp.asarray(0.01, jnp.float32)),
        (x, y),
        key=jr.key(5),
        batch_size=24,
        validation=(x[:30], y[:30]),
        mesh=mesh,
        **options,
    )
    models = found.model, found.best
    leaves = [jax.tree.leaves(eqx.filter(model, eqx.is_array)) for model in models]
    losses = found.losses.tolist(), found.validation_losses.tolist()
    return [*losses, [[x.tolist() for x in of] for of in leaves]]


SPACE = learn.Space(neurons=3, rules=2, most=3, most_produced=2, most_weight=2, inputs=1)
STEPS = 5
TRAINS = np.asarray([[[2], [0], [1]], [[1], [3], [1]]])
WEIGHTS = np.random.default_rng(1).normal(size=2 * STEPS).astype(np.float32)


def fitness(emitted: jax.Array) -> jax.Array:
    """One whose bits depend on the order of its sums."""
    spikes = emitted.astype(jnp.float32).ravel()
    return jnp.sum(jnp.sin(spikes * WEIGHTS)) + jnp.mean(jnp.exp(-spikes))


def evolved(mesh: Any = None, **options: Any) -> list:
    """The best system, of a population that two or four devices do not share evenly."""
    options = {"generations": 3, "population": 21, **options}
    found = learn.evolve(
        SPACE, fitness, steps=STEPS, key=jr.key(7), input=TRAINS, mesh=mesh, **options
    )
    return [f"{found.system}", found.fitness, found.history.tolist()]
