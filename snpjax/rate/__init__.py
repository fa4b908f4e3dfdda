"""Rate-coded networks: neurons that send numbers, on the same layouts."""

from snpjax_formats.arguments import explain_arguments

from .equation import (
    Derivative as Derivative,
    Update as Update,
    identity as identity,
    leaky as leaky,
)
from .integrator import (
    AbstractIntegrator as AbstractIntegrator,
    Diffrax as Diffrax,
    Euler as Euler,
    ExponentialEuler as ExponentialEuler,
)
from .machine import Delivery as Delivery, RateMachine as RateMachine, RateState as RateState
from .model import (
    RatePopulation as RatePopulation,
    RateProjection as RateProjection,
    Uniform as Uniform,
)
from .network import InvalidNetwork as InvalidNetwork, RateNetwork as RateNetwork
from .plasticity import Plasticity as Plasticity, hebb as hebb, oja as oja
from .simulate import simulate as simulate
from .solution import RateSolution as RateSolution


explain_arguments(__name__)
