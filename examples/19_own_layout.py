"""A layout of your own: a run stores its synapses in it, and the automatic choice considers it.

`diagonals.py` has the layout, written from the contract in `snpjax_formats.layout`.
"""

import numpy as np
from diagonals import Diagonals

import snpjax as snp
from snpjax_formats import ELL, Edges, choose
from snpjax_formats.select import Including


# A spike travels round a ring of neurons, whose synapses are two diagonals.
n = 1_000
neurons = [snp.Neuron(f"n{i}", int(i == 0), ["a -> a"]) for i in range(n)]
ring = snp.SpikingSystem(neurons, [(f"n{i}", f"n{(i + 1) % n}") for i in range(n)])
expected = snp.run(ring, max_steps=50, layout=ELL).spikes
assert (snp.run(ring, max_steps=50, layout=Diagonals).spikes == expected).all()

# `layout="auto"` does not consider it, but a chooser that includes it does: it compares the time
# that the layout estimates with the times that a model predicts for the others.
chooser = Including((Diagonals,))
assert (snp.run(ring, max_steps=50, layout=chooser).spikes == expected).all()

# Every node of a row listens to itself and to four nodes on either side.
size = 100_000
target = np.repeat(np.arange(size), 9)
source = target + np.tile(np.arange(-4, 5), size)
inside = (source >= 0) & (source < size)
edges = Edges(source[inside], target[inside], None, size, size)
decision = choose(edges, device="cpu", chooser=chooser)
print(decision.explanation())
assert decision.predicted is not None and "Diagonals" in decision.predicted
