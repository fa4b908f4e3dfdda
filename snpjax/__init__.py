"""snpjax: spiking neural P systems and related models, run exactly on CPUs and GPUs."""

from typing import TYPE_CHECKING

from snpjax_formats.lazy import lazily


if TYPE_CHECKING:
    from snpjax_formats import NotEnoughMemory as NotEnoughMemory, graphs as graphs

    from . import (
        learn as learn,
        numerical as numerical,
        proliferation as proliferation,
        rate as rate,
        scale as scale,
        viz as viz,
    )
    from ._version import __version__ as __version__
    from .check import (
        Agreement as Agreement,
        Bisimilar as Bisimilar,
        Certificate as Certificate,
        CertificateError as CertificateError,
        Certification as Certification,
        ConeOfInfluence as ConeOfInfluence,
        Equivalence as Equivalence,
        Estimate as Estimate,
        Family as Family,
        FamilyVerdict as FamilyVerdict,
        Group as Group,
        Growth as Growth,
        OutputProcess as OutputProcess,
        QueryError as QueryError,
        SameMarkings as SameMarkings,
        SameNumbers as SameNumbers,
        SameTraces as SameTraces,
        Status as Status,
        StubbornSets as StubbornSets,
        Symmetry as Symmetry,
        Verdict as Verdict,
        Wiring as Wiring,
        certify as certify,
        check as check,
        check_invariants as check_invariants,
        equivalent as equivalent,
        estimate as estimate,
        growth as growth,
        invariants as invariants,
        log_probability as log_probability,
        output_process as output_process,
        prove as prove,
        prove_family as prove_family,
    )
    from .choice import (
        NO_RULE as NO_RULE,
        AbstractChoice as AbstractChoice,
        FirstChoice as FirstChoice,
        GivenChoices as GivenChoices,
        UniformChoice as UniformChoice,
        WeightedChoice as WeightedChoice,
    )
    from .compilation import use_compilation_cache as use_compilation_cache
    from .explore import (
        Graph as Graph,
        MemoryLimits as MemoryLimits,
        Stop as Stop,
        explore as explore,
    )
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
    from .scale.checkpoint import Checkpoint as Checkpoint
    from .simulate import Simulation as Simulation, simulate as simulate
    from .sleptsov import SleptsovNet as SleptsovNet
    from .spiking import (
        ALL as ALL,
        AntiSpikes as AntiSpikes,
        AnyInput as AnyInput,
        Astrocyte as Astrocyte,
        Astrocytes as Astrocytes,
        BuddingRule as BuddingRule,
        Capacity as Capacity,
        Channels as Channels,
        Compatibility as Compatibility,
        DendriticDelays as DendriticDelays,
        DivisionRule as DivisionRule,
        Exhaustive as Exhaustive,
        Guard as Guard,
        GuardError as GuardError,
        InvalidSystem as InvalidSystem,
        ModelWarning as ModelWarning,
        Network as Network,
        Neuron as Neuron,
        PlasticityRule as PlasticityRule,
        PlasticityTemplate as PlasticityTemplate,
        Population as Population,
        PopulationSystem as PopulationSystem,
        Projection as Projection,
        RequestRule as RequestRule,
        Requests as Requests,
        Rule as Rule,
        RuleError as RuleError,
        RuleTemplate as RuleTemplate,
        Schedule as Schedule,
        ScheduledSynapses as ScheduledSynapses,
        Solution as Solution,
        SolutionBatch as SolutionBatch,
        SpikeQuery as SpikeQuery,
        SpikingSystem as SpikingSystem,
        Synapse as Synapse,
        SynapseDelays as SynapseDelays,
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
    from .viz.page.notebook import view as view

lazily(
    __name__,
    {
        "snpjax_formats": "NotEnoughMemory graphs",
        "._version": "__version__",
        ".check": """
            Agreement Bisimilar Certificate CertificateError Certification ConeOfInfluence
            Equivalence Estimate Family FamilyVerdict Group Growth OutputProcess QueryError
            SameMarkings SameNumbers SameTraces Status StubbornSets Symmetry Verdict Wiring certify
            check check_invariants equivalent estimate growth invariants log_probability
            output_process prove prove_family
        """,
        ".choice": "NO_RULE AbstractChoice FirstChoice GivenChoices UniformChoice WeightedChoice",
        ".compilation": "use_compilation_cache",
        ".explore": "Graph Stop MemoryLimits explore",
        ".io": """
            ReadError ReadWarning WriteError WriteWarning read read_net to_dot to_networkx write
            write_graph write_net
        """,
        ".lowering": "lower",
        ".machine": "AbstractMachine Lowered Record",
        ".results": "RESULTS",
        ".run": "RunFailed run",
        ".scale.checkpoint": "Checkpoint",
        ".simulate": "Simulation simulate",
        ".sleptsov": "SleptsovNet",
        ".spiking": """
            ALL AntiSpikes AnyInput Astrocyte Astrocytes BuddingRule Capacity
            Channels Compatibility DendriticDelays DivisionRule Exhaustive Guard GuardError
            InvalidSystem ModelWarning Network Neuron PlasticityRule PlasticityTemplate Population
            PopulationSystem Projection RequestRule Requests Rule RuleError RuleTemplate Schedule
            ScheduledSynapses Solution SolutionBatch SpikeQuery SpikingSystem Synapse SynapseDelays
            SynapseRules SystemBatch
            compatibility
        """,
        ".trajectory": "SAVE_ALL SAVE_FINAL SAVE_OUTPUTS HistoryDropped NotSaved Save Trajectory",
        ".viz.page.notebook": "view",
    },
    modules="choice io learn machine numerical proliferation rate scale sleptsov spiking viz",
)
