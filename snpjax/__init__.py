"""snpjax: spiking neural P systems and related models, run exactly on CPUs and GPUs."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import TYPE_CHECKING, Any

from snpjax_formats import graphs as graphs

from .check import (
    Agreement as Agreement,
    Bisimilar as Bisimilar,
    Equivalence as Equivalence,
    Estimate as Estimate,
    Growth as Growth,
    QueryError as QueryError,
    SameNumbers as SameNumbers,
    SameTraces as SameTraces,
    Status as Status,
    Verdict as Verdict,
    check as check,
    check_invariants as check_invariants,
    equivalent as equivalent,
    estimate as estimate,
    growth as growth,
    invariants as invariants,
)
from .choice import (
    NO_RULE as NO_RULE,
    AbstractChoice as AbstractChoice,
    FirstChoice as FirstChoice,
    GivenChoices as GivenChoices,
    UniformChoice as UniformChoice,
    WeightedChoice as WeightedChoice,
)
from .explore import Graph as Graph, Stop as Stop, explore as explore
from .io import (
    ReadError as ReadError,
    ReadWarning as ReadWarning,
    WriteError as WriteError,
    WriteWarning as WriteWarning,
    read as read,
    read_net as read_net,
    to_dot as to_dot,
    to_networkx as to_networkx,
    write as write,
    write_graph as write_graph,
    write_net as write_net,
)
from .lowering import lower as lower
from .machine import AbstractMachine as AbstractMachine, Lowered as Lowered, Record as Record
from .results import RESULTS as RESULTS
from .run import RunFailed as RunFailed, run as run
from .simulate import Simulation as Simulation, simulate as simulate
from .sleptsov import SleptsovNet as SleptsovNet
from .spiking import (
    ALL as ALL,
    NO_NUMBER as NO_NUMBER,
    AntiSpikes as AntiSpikes,
    AnyInput as AnyInput,
    Astrocyte as Astrocyte,
    Astrocytes as Astrocytes,
    BuddingRule as BuddingRule,
    Capacity as Capacity,
    Compatibility as Compatibility,
    DivisionRule as DivisionRule,
    Exhaustive as Exhaustive,
    Guard as Guard,
    GuardError as GuardError,
    InvalidSystem as InvalidSystem,
    ModelWarning as ModelWarning,
    Network as Network,
    Neuron as Neuron,
    PlasticityRule as PlasticityRule,
    Population as Population,
    PopulationSystem as PopulationSystem,
    Projection as Projection,
    Rule as Rule,
    RuleError as RuleError,
    RuleTemplate as RuleTemplate,
    Solution as Solution,
    SolutionBatch as SolutionBatch,
    SpikingSystem as SpikingSystem,
    Synapse as Synapse,
    SynapseRules as SynapseRules,
    SystemBatch as SystemBatch,
    compatibility as compatibility,
)
from .trajectory import (
    SAVE_ALL as SAVE_ALL,
    SAVE_FINAL as SAVE_FINAL,
    SAVE_OUTPUTS as SAVE_OUTPUTS,
    HistoryDropped as HistoryDropped,
    NotSaved as NotSaved,
    Save as Save,
    Trajectory as Trajectory,
)


if TYPE_CHECKING:
    from . import learn as learn, proliferation as proliferation, rate as rate, viz as viz

# They are imported when they are used: most commands need neither.
_LATER = ("learn", "proliferation", "rate", "viz")

_MODULES = ("choice", "compatibility", "graphs", "io", "machine", "sleptsov", "spiking")

try:
    __version__ = version("snpjax")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    own = {name: value for name, value in globals().items() if not name.startswith("_")}
    public = {
        name
        for name, value in own.items()
        if name in _MODULES
        or not isinstance(value, ModuleType)
        and name not in ("Any", "ModuleType", "PackageNotFoundError", "TYPE_CHECKING")
        and value not in (import_module, version)
    }
    return sorted({*public, *_LATER, "__version__"})
