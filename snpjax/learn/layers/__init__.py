"""Layers of exact neurons: convolutions, pooling, recurrence, leaks, delays and normalisation."""

from .abstract import (
    AbstractLayer as AbstractLayer,
    LayerParts as LayerParts,
    NeuronGroup as NeuronGroup,
)
from .assemble import initial_configuration as initial_configuration
from .convolution import ConvSynapses as ConvSynapses
from .delays import LearnedDelays as LearnedDelays
from .leak import leaky as leaky
from .norm import Drive as Drive, SpikingNorm as SpikingNorm
from .pooling import MaxPool as MaxPool, SumPool as SumPool
from .sequential import Sequential as Sequential
from .spiking import (
    AbstractSpikingLayer as AbstractSpikingLayer,
    SpikingBlock as SpikingBlock,
    SpikingConv as SpikingConv,
    SpikingLeaky as SpikingLeaky,
    SpikingRecurrent as SpikingRecurrent,
)
