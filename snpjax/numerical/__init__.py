"""Numerical spiking neural P systems: neurons hold real variables, rules are linear functions."""

from snpjax_formats.keywords import suggest_keywords

from .machine import NumericalMachine as NumericalMachine, NumericalState as NumericalState
from .model import (
    InvalidNumericalSystem as InvalidNumericalSystem,
    NumericalInput as NumericalInput,
    NumericalNeuron as NumericalNeuron,
    NumericalSystem as NumericalSystem,
    Production as Production,
)
from .solution import (
    NumericalSolution as NumericalSolution,
    NumericalSolutionBatch as NumericalSolutionBatch,
)


suggest_keywords(__name__)
