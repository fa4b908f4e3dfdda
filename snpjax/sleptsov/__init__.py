"""Sleptsov nets: places and transitions as a concurrent program."""

from ..machine import AbstractEngine as AbstractEngine
from . import programs as programs, subnets as subnets
from .arcs import Arcs as Arcs, Compressed as Compressed
from .composing import Composition as Composition
from .engines import (
    EventDriven as EventDriven,
    FullScan as FullScan,
)
from .execution import Execution as Execution
from .linking import HighNet as HighNet, Substitution as Substitution, link as link
from .names import Numbered as Numbered
from .net import SleptsovNet as SleptsovNet
from .notation import net_of_text as net_of_text
from .observed import Firings as Firings, Markings as Markings
from .programs import Program as Program
from .rules import (
    AbstractRule as AbstractRule,
    Disjoint as Disjoint,
    Petri as Petri,
    Sleptsov as Sleptsov,
)
from .solution import Culprit as Culprit, NetSolution as NetSolution
from .state import NO_TRANSITION as NO_TRANSITION
from .subnets import SubNet as SubNet
from .validity import InvalidNet as InvalidNet
