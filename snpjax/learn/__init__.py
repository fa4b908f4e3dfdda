"""Learning: gradients through exact systems, and the exact system back."""

from .export import Rounding as Rounding, rounding as rounding, to_system as to_system
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
