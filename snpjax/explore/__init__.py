"""All paths at once: the configuration graph of a system."""

from snpjax_formats.arguments import explain_arguments

from .counted import (
    NamedActions as NamedActions,
    NamedCounts as NamedCounts,
    schema_of_counts as schema_of_counts,
)
from .explore import Inputs as Inputs, explore as explore
from .graph import Graph as Graph, Stop as Stop
from .language import Generated as Generated
from .memory_limits import MemoryLimits as MemoryLimits
from .patience import Patience as Patience


explain_arguments(__name__)
