"""Spiking neural P systems."""

from .batch import Solutions as Solutions, SystemBatch as SystemBatch
from .compatibility import Compatibility as Compatibility
from .environment import AnyInput as AnyInput
from .growing import Capacity as Capacity
from .guard import Guard as Guard, GuardError as GuardError
from .lower import (
    SpikingProgram as SpikingProgram,
    bytes_needed as bytes_needed,
    chosen_layout as chosen_layout,
    lower as lower,
)
from .machine import SpikingMachine as SpikingMachine
from .matrix import TransitionMatrix as TransitionMatrix
from .networks import Network as Network
from .population import (
    Population as Population,
    PopulationSystem as PopulationSystem,
    Projection as Projection,
)
from .rule import (
    BuddingRule as BuddingRule,
    DivisionRule as DivisionRule,
    PlasticityRule as PlasticityRule,
    Rule as Rule,
    RuleError as RuleError,
)
from .slots import ALL as ALL
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
from .template import RuleTemplate as RuleTemplate
from .transition import Transition as Transition, transition_edges as transition_edges
from .validity import (
    InvalidSystem as InvalidSystem,
    ModelWarning as ModelWarning,
    Problem as Problem,
    check as check,
)
from .variants import (
    AntiSpikes as AntiSpikes,
    Astrocyte as Astrocyte,
    Astrocytes as Astrocytes,
    Exhaustive as Exhaustive,
    SynapseRules as SynapseRules,
)
