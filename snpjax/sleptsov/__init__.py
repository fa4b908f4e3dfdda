"""Sleptsov nets: places and transitions as a concurrent program."""

from ..machine import AbstractEngine as AbstractEngine
from .model import programs as programs, subnets as subnets
from .model.arcs import Arcs as Arcs, Compressed as Compressed
from .model.composing import Composition as Composition
from .model.engines import (
    EventDriven as EventDriven,
    FullScan as FullScan,
)
from .model.execution import Execution as Execution
from .model.linking import HighNet as HighNet, Substitution as Substitution, link as link
from .model.names import Numbered as Numbered
from .model.net import SleptsovNet as SleptsovNet
from .model.notation import net_of_text as net_of_text
from .model.programs import Program as Program
from .model.rules import (
    AbstractRule as AbstractRule,
    Disjoint as Disjoint,
    Petri as Petri,
    Sleptsov as Sleptsov,
)
from .model.subnets import SubNet as SubNet
from .model.validity import InvalidNet as InvalidNet
from .step.state import NO_TRANSITION as NO_TRANSITION
from .view.configurations import Firings as Firings, Markings as Markings
from .view.solution import Culprit as Culprit, NetSolution as NetSolution
