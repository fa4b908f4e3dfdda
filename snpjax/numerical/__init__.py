"""Numerical spiking neural P systems: neurons hold real variables, rules are linear functions."""

from snpjax_formats.arguments import explain_arguments

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


explain_arguments(__name__)
