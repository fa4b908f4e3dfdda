"""Spiking neural P systems."""

from snpjax_formats.arguments import explain_arguments

from .lower.batch import SystemBatch as SystemBatch
from .lower.lower import lower as lower
from .lower.lower_division import Capacity as Capacity
from .lower.storage import bytes_needed as bytes_needed, chosen_layout as chosen_layout
from .lower.transition import Transition as Transition, transition_edges as transition_edges
from .model import compatibility as compatibility
from .model.communication_variants import Channels as Channels, Requests as Requests
from .model.compatibility import Compatibility as Compatibility
from .model.environment import AnyInput as AnyInput
from .model.guard import Guard as Guard, GuardError as GuardError
from .model.population import PopulationSystem as PopulationSystem
from .model.population_parts import Population as Population, Projection as Projection
from .model.rule import (
    AnyRule as AnyRule,
    BuddingRule as BuddingRule,
    DivisionRule as DivisionRule,
    PlasticityRule as PlasticityRule,
    RequestRule as RequestRule,
    Rule as Rule,
    RuleError as RuleError,
    SpikeQuery as SpikeQuery,
)
from .model.rule_table import ALL as ALL, UNBOUNDED as UNBOUNDED
from .model.system import Neuron as Neuron, SpikingSystem as SpikingSystem, Synapse as Synapse
from .model.template import (
    PlasticityTemplate as PlasticityTemplate,
    RuleTemplate as RuleTemplate,
)
from .model.timed_variants import (
    DendriticDelays as DendriticDelays,
    Schedule as Schedule,
    ScheduledSynapses as ScheduledSynapses,
    SynapseDelays as SynapseDelays,
)
from .model.validity import (
    InvalidSystem as InvalidSystem,
    ModelWarning as ModelWarning,
    Problem as Problem,
    check as check,
)
from .model.variants import (
    AntiSpikes as AntiSpikes,
    Astrocyte as Astrocyte,
    Astrocytes as Astrocytes,
    Exhaustive as Exhaustive,
    SynapseRules as SynapseRules,
)
from .step.program import SpikingProgram as SpikingProgram
from .step.step import (
    Selection as Selection,
    SpikingMachine as SpikingMachine,
    SpikingState as SpikingState,
    applicable as applicable,
    halted as halted,
    initial_state as initial_state,
    step as step,
)
from .view.configurations import Configurations as Configurations, Transitions as Transitions
from .view.snapshot import Network as Network
from .view.solution import (
    Solution as Solution,
    SolutionBatch as SolutionBatch,
)
from .view.solutions import Solutions as Solutions
from .view.transition_matrix import TransitionMatrix as TransitionMatrix


explain_arguments(__name__)
