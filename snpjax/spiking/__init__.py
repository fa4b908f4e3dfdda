"""Spiking neural P systems."""

from .guard import Guard as Guard, GuardError as GuardError
from .lower import (
    SpikingProgram as SpikingProgram,
    Transition as Transition,
    lower as lower,
    transition_edges as transition_edges,
)
from .machine import SpikingMachine as SpikingMachine
from .matrix import TransitionMatrix as TransitionMatrix
from .rule import (
    BuddingRule as BuddingRule,
    DivisionRule as DivisionRule,
    PlasticityRule as PlasticityRule,
    Rule as Rule,
    RuleError as RuleError,
)
from .solution import NO_NUMBER as NO_NUMBER, Solution as Solution
from .step import (
    Selection as Selection,
    SpikingState as SpikingState,
    applicable as applicable,
    halted as halted,
    initial_state as initial_state,
    step as step,
)
from .system import Neuron as Neuron, SpikingSystem as SpikingSystem, Synapse as Synapse
from .validity import (
    InvalidSystem as InvalidSystem,
    ModelWarning as ModelWarning,
    Problem as Problem,
    check as check,
)
