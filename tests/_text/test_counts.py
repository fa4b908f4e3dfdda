"""Counts with their nouns, and where they are shown."""

import pytest

import snpjax as snp
from snpjax._text.counts import plural


@pytest.mark.parametrize(
    ("count", "nouns", "text"),
    [
        (0, ("neuron",), "0 neurons"),
        (1, ("neuron",), "1 neuron"),
        (2000, ("neuron",), "2,000 neurons"),
        (1, ("axis", "axes"), "1 axis"),
        (2, ("axis", "axes"), "2 axes"),
    ],
)
def test_plural(count, nouns, text):
    assert plural(count, *nouns) == text


def test_one_of_each_in_the_text_of_a_model():
    system = snp.SpikingSystem([snp.Neuron("n", 1, ["a -> a"])])
    assert repr(system) == "SpikingSystem(1 neuron, 1 rule, 0 synapses)"
    populations = snp.PopulationSystem([snp.Population("n", 1)], [])
    assert repr(populations) == "PopulationSystem(1 neuron: n[1]; 0 synapses)"
    net = snp.sleptsov.net_of_text("t: p -> q")
    assert (
        repr(net) == "SleptsovNet(2 places, 1 transition, 2 arcs, 0 priorities, the Sleptsov rule)"
    )
