"""Learning: gradients through exact systems, and the exact system back."""

from .coding import (
    counted as counted,
    first_spike as first_spike,
    latency_train as latency_train,
    rate_train as rate_train,
    total as total,
)
from .export import Rounding as Rounding, rounding as rounding, to_system as to_system
from .network import SENDER as SENDER, SpikingNetwork as SpikingNetwork
from .reinforce import reinforce as reinforce
from .relaxed import (
    Constants as Constants,
    RelaxedSystem as RelaxedSystem,
    constants_of as constants_of,
    relax as relax,
)
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
