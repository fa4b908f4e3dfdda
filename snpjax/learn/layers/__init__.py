"""Layers of exact neurons: dense, convolutions, pooling, recurrence, leaks and normalisation."""

from ..synapses import ConvSynapses as ConvSynapses, LearnedDelays as LearnedDelays
from .abstract import (
    AbstractLayer as AbstractLayer,
    LayerParts as LayerParts,
    NeuronGroup as NeuronGroup,
)
from .assemble import initial_configuration as initial_configuration
from .leak import leaky as leaky
from .norm import Drive as Drive, SpikingNorm as SpikingNorm
from .pooling import MaxPool as MaxPool, SumPool as SumPool
from .sequential import Sequential as Sequential, chain as chain
from .spiking import (
    AbstractSpikingLayer as AbstractSpikingLayer,
    SpikingBlock as SpikingBlock,
    SpikingConv as SpikingConv,
    SpikingLayer as SpikingLayer,
    SpikingLeaky as SpikingLeaky,
    SpikingRecurrent as SpikingRecurrent,
)
