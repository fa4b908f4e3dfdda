"""Sleptsov nets: places and transitions as a concurrent program."""

from snpjax_formats.arguments import explain_arguments

from ..machine import AbstractEngine as AbstractEngine
from . import programs as programs, subnets as subnets
from .composing import Composition as Composition
from .linking import HighNet as HighNet, Substitution as Substitution, link as link
from .model.arcs import Arcs as Arcs, CompressedArcs as CompressedArcs
from .model.engines import (
    EventDriven as EventDriven,
    FullScan as FullScan,
)
from .model.execution import Execution as Execution
from .model.names import Numbered as Numbered
from .model.net import SleptsovNet as SleptsovNet
from .model.notation import net_of_text as net_of_text
from .model.rules import (
    AbstractRule as AbstractRule,
    Disjoint as Disjoint,
    Petri as Petri,
    Sleptsov as Sleptsov,
)
from .model.validity import InvalidNet as InvalidNet
from .programs import Program as Program
from .sizes import FlatSize as FlatSize, flat_size as flat_size
from .step.state import NO_TRANSITION as NO_TRANSITION, NetState as NetState
from .subnets import SubNet as SubNet
from .view.configurations import Firings as Firings, Markings as Markings
from .view.solution import (
    Culprit as Culprit,
    NetSolution as NetSolution,
    NetSolutionBatch as NetSolutionBatch,
)


explain_arguments(__name__)
