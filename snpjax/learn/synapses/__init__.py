"""Synapses between two populations: all-to-all, one-to-one, convolutions, and learned delays."""

from .abstract import AbstractSynapses as AbstractSynapses, SynapseList as SynapseList
from .convolution import ConvSynapses as ConvSynapses
from .delays import LearnedDelays as LearnedDelays
from .linear import LinearSynapses as LinearSynapses, OneToOneSynapses as OneToOneSynapses
