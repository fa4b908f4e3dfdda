"""What can be proved of all computations of a system, and computed from its graph."""

from snpjax_formats.arguments import explain_arguments

from .certificate.certificate import (
    Certificate as Certificate,
    CertificateError as CertificateError,
)
from .certificate.certify import (
    Certification as Certification,
    CertificationStatus as CertificationStatus,
    certify as certify,
)
from .certificate.model_digest import model_digest as model_digest
from .check import check as check
from .coverability.coverability import (
    Coverability as Coverability,
    Pumping as Pumping,
    coverability as coverability,
)
from .equivalence import (
    AbstractComparison as AbstractComparison,
    Agreement as Agreement,
    Bisimilar as Bisimilar,
    Difference as Difference,
    Equivalence as Equivalence,
    NetRun as NetRun,
    OneRun as OneRun,
    SameMarkings as SameMarkings,
    SameNumbers as SameNumbers,
    SameTraces as SameTraces,
    equivalent as equivalent,
)
from .families.family import Family as Family, Group as Group, Wiring as Wiring
from .families.prove_family import FamilyVerdict as FamilyVerdict, prove_family as prove_family
from .induction.prove import prove as prove
from .probability.markov import (
    Quantity as Quantity,
    halting_distribution as halting_distribution,
    halting_time as halting_time,
    halting_time_range as halting_time_range,
    reach_probability as reach_probability,
    reach_probability_range as reach_probability_range,
)
from .probability.output_process import (
    OutputProcess as OutputProcess,
    log_probability as log_probability,
    output_process as output_process,
)
from .probability.path_property import (
    Judged as Judged,
    PathProperty as PathProperty,
    emits as emits,
    halts as halts,
    reaches as reaches,
)
from .probability.statistical import Estimate as Estimate, estimate as estimate
from .query.errors import QueryError as QueryError
from .query.names import Needs as Needs, needs_of as needs_of
from .query.number_query import NumberQuery as NumberQuery, parse_property as parse_property
from .query.parse import parse_query as parse_query
from .query.printing import to_nuxmv as to_nuxmv, to_prism as to_prism
from .reduction import (
    AbstractReduction as AbstractReduction,
    ConeOfInfluence as ConeOfInfluence,
    StubbornSets as StubbornSets,
    Symmetry as Symmetry,
)
from .structural.cycles import CycleVerdict as CycleVerdict, check_cycles as check_cycles
from .structural.invariants import (
    ConservedSum as ConservedSum,
    Cycle as Cycle,
    Invariants as Invariants,
    InvariantVerdict as InvariantVerdict,
    check_invariants as check_invariants,
    invariants as invariants,
)
from .unboundedness.growth import Growth as Growth, growth as growth
from .verdict import Status as Status, Verdict as Verdict


explain_arguments(__name__)
