"""How surely does a histogram tell the division time of cells? A posterior says it.

3,000 cells are drawn from the expected histogram of a population of resting and cycling cells. The
likelihood of a proliferation model and its gradient go into numpyro, whose No-U-Turn sampler draws
the share of resting cells, and mean and deviation of the division time.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro  # pyright: ignore[reportMissingImports]
import numpyro.distributions as dist  # pyright: ignore[reportMissingImports]
from numpyro.infer import MCMC, NUTS  # pyright: ignore[reportMissingImports]

from snpjax import proliferation as pr


numpyro.enable_x64()
axis = 2.0 ** (np.arange(96) / 8)
stained = np.round(4000 * np.exp(-(((np.arange(96) - 80) / 4) ** 2))).astype(int)
truth = {"resting": 0.2, "mean": 40.0, "sd": 12.0}
model = pr.ProliferationModel(
    pr.Histogram(axis, stained),
    [pr.CellType("resting", 0.2), pr.CellType("cycling", 0.8, pr.Normal(40.0, 12.0))],
    duration=120.0,
    phi_min=8.0,
)
table = pr.expected(model).table()
cells = np.zeros(axis.size)
np.add.at(cells, np.searchsorted(axis, table.fluorescence * (1 - 1e-9)), table.total)
rng = np.random.default_rng(0)
observed = pr.Histogram(axis, rng.multinomial(3000, cells / cells.sum()))

ranges = [None, pr.Range((20.0, 90.0), (5.0, 30.0))]
measured, parameters = pr.measurement(model, observed, bins=pr.Bins(1.0, 1e4, 60), ranges=ranges)


def posterior():
    resting = numpyro.sample("resting", dist.Beta(1, 1))
    mean = numpyro.sample("mean", dist.Uniform(20, 90))
    sd = numpyro.sample("sd", dist.Uniform(5, 30))
    own = replace(
        parameters,
        proportions=jnp.stack([resting, 1 - resting]),
        first=parameters.first.at[1].set(mean),
        second=parameters.second.at[1].set(sd),
    )
    numpyro.factor("histogram", pr.log_likelihood(measured, own))


sampler = MCMC(NUTS(posterior), num_warmup=100, num_samples=200, progress_bar=False)
sampler.run(jr.key(0))
for name, draws in sampler.get_samples().items():
    mean, deviation = float(jnp.mean(draws)), float(jnp.std(draws))
    print(f"{name}: {truth[name]:g}; found {mean:.3g} +- {deviation:.2g}")
    assert abs(mean - truth[name]) < 3 * deviation < 0.5 * truth[name]
jax.config.update("jax_enable_x64", False)
