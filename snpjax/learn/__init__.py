"""Learning: gradients through exact systems, and the exact system back."""

from snpjax_formats.arguments import explain_arguments

from .adam import Adam as Adam
from .arrays import from_arrays as from_arrays, to_arrays as to_arrays
from .cells import (
    ConvSNP as ConvSNP,
    GSNPCell as GSNPCell,
    LSTMSNPCell as LSTMSNPCell,
    NonlinearSNP as NonlinearSNP,
)
from .classify import (
    CountEncoder as CountEncoder,
    CrossEntropy as CrossEntropy,
    classifier as classifier,
    count_encoder as count_encoder,
)
from .coding import (
    by_class as by_class,
    count_train as count_train,
    delta_train as delta_train,
    even_train as even_train,
    first_spike as first_spike,
    latencies as latencies,
    latency_train as latency_train,
    nearest_counts as nearest_counts,
    population_counts as population_counts,
    rate_train as rate_train,
    total as total,
)
from .environment import (
    ANY as ANY,
    Environment as Environment,
    EnvironmentParams as EnvironmentParams,
    EnvironmentState as EnvironmentState,
    environment as environment,
    gymnax_environment as gymnax_environment,
)
from .eprop import eprop_loss as eprop_loss
from .evolve import Evolved as Evolved, evolve as evolve
from .export import Rounding as Rounding, rounding as rounding, to_system as to_system
from .exported import register_for_export as register_for_export
from .firing import FiringWarning as FiringWarning, PopulationFiring as PopulationFiring
from .fit import (
    ChecksColumns as ChecksColumns,
    Fitted as Fitted,
    NotFinite as NotFinite,
    Optimiser as Optimiser,
    fit as fit,
)
from .genome import Space as Space
from .layers import (
    AbstractLayer as AbstractLayer,
    AbstractSpikingLayer as AbstractSpikingLayer,
    Drive as Drive,
    LayerParts as LayerParts,
    MaxPool as MaxPool,
    NeuronGroup as NeuronGroup,
    Sequential as Sequential,
    SpikingBlock as SpikingBlock,
    SpikingConv as SpikingConv,
    SpikingLayer as SpikingLayer,
    SpikingLeaky as SpikingLeaky,
    SpikingNorm as SpikingNorm,
    SpikingRecurrent as SpikingRecurrent,
    SumPool as SumPool,
    chain as chain,
    initial_configuration as initial_configuration,
    leaky as leaky,
)
from .losses import (
    class_targets as class_targets,
    cross_entropy as cross_entropy,
    mean_square as mean_square,
    rate_penalty as rate_penalty,
    spike_penalty as spike_penalty,
)
from .network import (
    AbstractPopulationNetwork as AbstractPopulationNetwork,
    SpikingNetwork as SpikingNetwork,
)
from .nir import NirNetwork as NirNetwork, from_nir as from_nir, to_nir as to_nir
from .plastic import (
    PlasticConstants as PlasticConstants,
    RelaxedPlasticity as RelaxedPlasticity,
    RelaxedSynapses as RelaxedSynapses,
)
from .population import PopulationRun as PopulationRun, SpikingPopulation as SpikingPopulation
from .quantisation import (
    BINARY as BINARY,
    TERNARY as TERNARY,
    bit_levels as bit_levels,
    quantise as quantise,
)
from .recording import Recording as Recording, record as record
from .reinforce import reinforce_loss as reinforce_loss
from .relaxed import (
    Constants as Constants,
    RelaxedSystem as RelaxedSystem,
    constants_of as constants_of,
    relax as relax,
)
from .replay import Replay as Replay, replay as replay
from .response import Response as Response
from .robustness import (
    CaseDecision as CaseDecision,
    Decoder as Decoder,
    Robustness as Robustness,
    SpikeBox as SpikeBox,
    robustness as robustness,
)
from .rules import SENDER as SENDER, relay as relay
from .run import RelaxedSolution as RelaxedSolution, run as run
from .step import (
    Emitted as Emitted,
    RelaxedState as RelaxedState,
    initial_state as initial_state,
    step as step,
)
from .surrogate import (
    AbstractSurrogate as AbstractSurrogate,
    Arctan as Arctan,
    FastSigmoid as FastSigmoid,
    Smooth as Smooth,
    StraightThrough as StraightThrough,
    Triangular as Triangular,
)
from .synapses import (
    AbstractSynapses as AbstractSynapses,
    ConvSynapses as ConvSynapses,
    LearnedDelays as LearnedDelays,
    LinearSynapses as LinearSynapses,
    OneToOneSynapses as OneToOneSynapses,
    SynapseList as SynapseList,
)
from .trainable import trainable as trainable
from .truncated import truncated_loss as truncated_loss
from .verify import verify as verify
from .weights import WeightSet as WeightSet


explain_arguments(__name__)
