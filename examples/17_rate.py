"""Two populations of rate-coded neurons, a common benchmark of simulators."""

import numpy as np

import snpjax as snp
from snpjax import rate


# `exc` are leaky neurons with random excitatory synapses among them; `inh` inhibits them.
n = 200
weights = rate.Uniform(0, 4 / n, seed=1)
network = rate.RateNetwork(
    [
        rate.RatePopulation("exc", n, rate.leaky(), parameters={"tau": 20.0, "b": 1.0}),
        rate.RatePopulation("inh", n // 4, rate.leaky(), parameters={"tau": 10.0, "b": 0.0}),
    ],
    [
        rate.RateProjection("exc", "exc", snp.graphs.RandomPairs(0.2, 0), weights=weights),
        rate.RateProjection("exc", "inh", weights=1 / n, delay=2.0),
        rate.RateProjection("inh", "exc", weights=-8 / n),
    ],
    dt=1.0,
    integrator=rate.ExponentialEuler(),
)
solution = snp.run(network, max_steps=1000)
rates = solution.rates["exc"]["r"]
print(solution)
print(f"mean rate after 10, 100 and 1,000 ms: {rates[[9, 99, 999]].mean(axis=1).round(3)}")

# At rest every rate equals its input W r + b, where W comes from the list of edges.
edges = network.projections[0].edges(n, n)
excited = np.bincount(edges.target, edges.value * rates[-1][edges.source], minlength=n)
held = 8 / n * solution.rates["inh"]["r"][-1].sum()
np.testing.assert_allclose(rates[-1], np.maximum(excited - held + 1, 0), rtol=1e-3)
