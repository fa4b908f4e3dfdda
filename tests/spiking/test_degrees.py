"""Degrees of neurons, of which no list is made."""

import numpy as np
import pytest

import snpjax as snp
from snpjax import graphs
from snpjax.spiking.lower.degrees import degrees_of


@pytest.mark.parametrize(
    "graph",
    [
        graphs.AllToAll(2),
        graphs.Intervals([[0, 1, 5], [2, 1, 6]], [[1, 4, 5], [6, 1, 6]], weight=2),
        graphs.Intervals([0, 1, 2, 0, 3, 3], [2, 3, 3, 0, 3, 3], by="target"),
        graphs.Pairs([0, 0, 2], [5, 1, 5], [2, 7, 1]),
        graphs.Blocks([[2, 0], [0, 1], [1, 1]]),
        graphs.RandomInDegree(2, seed=3),
        graphs.RandomPairs(0.4, seed=3),
    ],
    ids=lambda graph: type(graph).__name__,
)
def test_degrees_of_graphs(graph):
    populations = [snp.Population("x", 3), snp.Population("y", 6)]
    system = snp.PopulationSystem(populations, [snp.Projection("x", "y", graph)])
    edges = graph.edges(3, 6)
    entering, leaving = degrees_of(system)
    assert entering.tolist() == [0, 0, 0, *np.bincount(edges.target, minlength=6)]
    assert leaving.tolist() == [*np.bincount(edges.source, minlength=3), *[0] * 6]
